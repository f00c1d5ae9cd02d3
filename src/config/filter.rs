//! A filter of documents: `reports/** type:pdf after:2024-01-01`, as a question is limited to some
//! of a folder's documents; and of their chunks, by phrases: `has:"wind and sail" not:storm`.

use std::fmt;
use std::str::FromStr;

use ignore::overrides::{Override, OverrideBuilder};

use crate::letters;

/// The documents that a search is limited to: those that satisfy every kind of condition. An empty
/// filter lets all through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// Globs of paths inside the corpus, one of which must match.
    globs: Vec<String>,
    /// Names or extensions of formats, in lower case, one of which must be the document's.
    types: Vec<String>,
    /// Phrases that a chunk must hold, and phrases that it must not hold.
    pub phrases: Vec<String>,
    pub excluded: Vec<String>,
    /// The first and the last day, as `2024-01-31`, `2024-01` or `2024`.
    after: Option<String>,
    before: Option<String>,
}

/// The properties of a document that a filter reads.
#[derive(Debug, Clone, Copy)]
pub struct FilteredDocument<'a> {
    /// Path inside the corpus.
    pub path: &'a str,
    /// Name of its format.
    pub format: &'a str,
    /// Date of the document, as `2024-01-31`.
    pub date: &'a str,
}

/// A filter whose globs are compiled.
pub struct Matcher<'a> {
    filter: &'a DocumentFilter,
    globs: Override,
}

impl DocumentFilter {
    /// Returns whether it lets every document through.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Compiles the globs.
    pub fn matcher(&self) -> Matcher<'_> {
        let mut globs = OverrideBuilder::new("");
        for text in &self.globs {
            // parsing has checked it
            let _ = globs.add(&anchor(text));
        }
        Matcher {
            filter: self,
            globs: globs.build().unwrap_or_else(|_| Override::empty()),
        }
    }

    /// Returns a path as a glob of it alone, with what has a meaning in globs escaped.
    pub fn escape(path: &str) -> String {
        let escape = |sign: char| match sign {
            '*' | '?' | '[' | ']' | '{' | '}' => format!("[{sign}]"),
            sign => sign.to_string(),
        };
        path.chars().map(escape).collect()
    }

    /// Returns the path that [`Self::escape`] made a glob of.
    pub fn unescape(glob: &str) -> String {
        ['*', '?', '[', ']', '{', '}']
            .into_iter()
            .fold(glob.to_owned(), |path, sign| {
                path.replace(&format!("[{sign}]"), &sign.to_string())
            })
    }

    /// Limits it to these documents and folders, unless it has globs of its own.
    pub fn limit_to(&mut self, paths: &[String]) {
        if self.globs.is_empty() {
            self.globs = paths.iter().map(|path| Self::escape(path)).collect();
        }
    }

    /// Returns the filter with each word that is no glob taken for a part of a document's name;
    /// `None` without such a word.
    pub fn in_names(&self) -> Option<Self> {
        let is_word = |text: &str| !text.contains(['*', '?', '[', '{', '/']);
        let globs = self.globs.iter().map(|text| {
            if is_word(text) {
                format!("**/*{text}*")
            } else {
                text.clone()
            }
        });
        let named = Self {
            globs: globs.collect(),
            ..self.clone()
        };
        (named != *self).then_some(named)
    }

    fn add(&mut self, term: &str) -> Result<(), String> {
        match term.split_once(':') {
            Some(("type", name)) if !name.is_empty() => {
                self.types.push(name.trim_start_matches('.').to_lowercase());
            }
            Some(("after", day)) => self.after = Some(date(day)?),
            Some(("before", day)) => self.before = Some(date(day)?),
            Some(("has", text)) if !text.is_empty() => self.phrases.push(text.to_owned()),
            Some(("not", text)) if !text.is_empty() => self.excluded.push(text.to_owned()),
            Some(("only", text)) => self.add_glob(text)?,
            Some(_) | None => self.add_glob(term)?,
        }
        Ok(())
    }

    fn add_glob(&mut self, text: &str) -> Result<(), String> {
        let added = OverrideBuilder::new("").add(&anchor(text)).err();
        if let Some(error) = added {
            let reason = match error {
                ignore::Error::Glob { err, .. } => err,
                other => other.to_string(),
            };
            return Err(format!("`{text}` is not a glob ({reason})"));
        }
        self.globs.push(text.to_owned());
        Ok(())
    }
}

impl Matcher<'_> {
    /// Returns whether a document is let through.
    pub fn lets_through(&self, document: FilteredDocument<'_>) -> bool {
        let DocumentFilter {
            globs,
            types,
            after,
            before,
            phrases: _,
            excluded: _,
        } = self.filter;
        let extension = document.path.rsplit_once('.').map_or("", |(_, end)| end);
        let is_of_type = |name: &String| {
            document.format.eq_ignore_ascii_case(name) || extension.eq_ignore_ascii_case(name)
        };

        // a shorter date stands for every day in it
        let up_to =
            |day: &String| &document.date[..day.len().min(document.date.len())] <= day.as_str();
        (globs.is_empty()
            || self
                .globs
                .matched(letters::fold_case(document.path), false)
                .is_whitelist())
            && (types.is_empty() || types.iter().any(is_of_type))
            && after
                .as_ref()
                .is_none_or(|day| document.date >= day.as_str())
            && before.as_ref().is_none_or(up_to)
    }
}

/// Returns a glob of whole paths without their case; `reports` and `reports/` stand for everything
/// below that folder as well.
fn anchor(text: &str) -> String {
    let text = letters::fold_case(text);
    // a backslash separates folders on Windows, and escapes nothing
    let text = if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text
    };
    // as in .gitignore, a slash in front anchors a glob to the beginning of a path
    match text.strip_suffix('/') {
        Some(folder) => format!("/{folder}/**"),
        None if text.contains(['*', '?', '[', '{']) => match text.strip_suffix(' ') {
            // a line of .gitignore loses the blanks at its end
            Some(rest) => format!("/{rest}[ ]"),
            None => format!("/{text}"),
        },
        None => format!("/{{{text},{text}/**}}"),
    }
}

/// Returns a day, month or year in its usual form.
fn date(text: &str) -> Result<String, String> {
    let is_number = |part: &str, digits: usize| {
        part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts: Vec<&str> = text.split('-').collect();

    let is_date = match parts.as_slice() {
        [year] => is_number(year, 4),
        [year, month] => is_number(year, 4) && is_number(month, 2),
        [_, _, _] => text.parse::<jiff::civil::Date>().is_ok(),
        _ => false,
    };

    if is_date {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "`{text}` is not a date like 2024-01-31, 2024-01 or 2024"
        ))
    }
}

impl FromStr for DocumentFilter {
    type Err = String;

    /// Reads terms with blanks between them; a glob or phrase with a blank in it is quoted.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut filter = Self::default();
        let mut term = String::new();
        let mut is_quoted = false;

        for character in text.chars().chain([' ']) {
            match character {
                '"' => is_quoted = !is_quoted,
                blank if blank.is_whitespace() && !is_quoted => {
                    if !term.is_empty() {
                        filter.add(&term)?;
                        term.clear();
                    }
                }
                other => term.push(other),
            }
        }

        if is_quoted {
            return Err(format!("`{text}` has a quotation mark without its end"));
        }

        Ok(filter)
    }
}

impl fmt::Display for DocumentFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let term = |kind: &str, text: &String| {
            if text.contains(char::is_whitespace) {
                format!("{kind}\"{text}\"")
            } else {
                format!("{kind}{text}")
            }
        };
        let glob = |glob: &String| {
            let is_ambiguous = glob.contains(':') && !glob.contains(char::is_whitespace);
            term(if is_ambiguous { "only:" } else { "" }, glob)
        };

        let terms: Vec<String> = self
            .globs
            .iter()
            .map(glob)
            .chain(self.types.iter().map(|name| format!("type:{name}")))
            .chain(self.phrases.iter().map(|text| term("has:", text)))
            .chain(self.excluded.iter().map(|text| term("not:", text)))
            .chain(self.after.iter().map(|day| format!("after:{day}")))
            .chain(self.before.iter().map(|day| format!("before:{day}")))
            .collect();
        f.write_str(&terms.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(text: &str) -> DocumentFilter {
        text.parse().expect(text)
    }

    #[test]
    fn documents_that_are_let_through() {
        let report = FilteredDocument {
            path: "reports/2024/q1.pdf",
            format: "PDF",
            date: "2024-03-31",
        };
        let cases = [
            ("", true),
            ("reports/**", true),
            ("reports", true),
            ("reports/", true),
            ("reports/*", false),
            ("report", false),
            ("notes reports/2024", true),
            ("**/*.pdf", true),
            ("*.pdf", false),
            ("type:pdf", true),
            ("type:PDF", true),
            ("type:.pdf", true),
            ("type:docx type:pdf", true),
            ("type:docx", false),
            ("after:2024", true),
            ("after:2024-03-31 before:2024-03-31", true),
            ("after:2024-04", false),
            ("before:2024", true),
            ("before:2024-03", true),
            ("before:2024-03-30", false),
            ("before:2023", false),
            ("reports/** type:md", false),
        ];
        for (text, expected) in cases {
            let filter = filter(text);
            assert_eq!(filter.matcher().lets_through(report), expected, "{text}");
        }
    }

    #[test]
    fn globs_match_whatever_the_case_is_and_keep_their_blanks() {
        for (glob, path, expected) in [
            ("izmir.md", "İzmir.md", true),
            ("İZMİR.md", "izmir.md", true),
            ("i\u{307}zmir*", "İzmir.md", true),
            ("IŞIK.md", "ışık.md", true),
            ("Reports", "reports/a.md", true),
            ("\"draft* \"", "draft 2 ", true),
            ("\"draft* \"", "draft 2", false),
            ("\"Old \"", "Old /a.md", true),
            ("\"Old \"", "Old/a.md", false),
        ] {
            let filter = filter(glob);
            let document = FilteredDocument {
                path,
                format: "",
                date: "",
            };
            assert_eq!(filter.matcher().lets_through(document), expected, "{glob}");
        }
    }

    #[test]
    fn a_word_may_be_a_part_of_a_name() {
        let named = filter("q1 type:pdf").in_names().expect("a word");
        assert_eq!(named.to_string(), "**/*q1* type:pdf");
        let lets_through = |path| {
            named.matcher().lets_through(FilteredDocument {
                path,
                format: "PDF",
                date: "",
            })
        };
        assert!(lets_through("reports/2024/q1.pdf") && lets_through("my q1 notes.pdf"));
        assert!(!lets_through("q1/notes.pdf"));
        for text in ["", "type:pdf", "reports/", "q?.pdf", "has:sail"] {
            assert_eq!(filter(text).in_names(), None, "{text}");
        }
    }

    #[test]
    fn a_filter_reads_what_it_writes() {
        for text in [
            "",
            "reports/** type:pdf after:2024-01-31 before:2025",
            "\"my notes/**\" only:a:b.md",
            "type:md has:\"wind and sail\" has:sea not:storm",
        ] {
            assert_eq!(filter(text).to_string(), text);
            assert_eq!(filter(&filter(text).to_string()), filter(text));
        }
        assert!(filter("  ").is_empty());
    }

    #[test]
    fn what_is_no_filter_is_named() {
        for (text, named) in [
            ("after:soon", "`soon` is not a date"),
            ("before:2024-13-01", "2024-13-01"),
            ("after:24", "`24`"),
            ("[", "`[` is not a glob"),
            ("\"open", "quotation mark"),
        ] {
            let error = text.parse::<DocumentFilter>().expect_err(text);
            assert!(error.contains(named), "{error}");
        }
    }
}
