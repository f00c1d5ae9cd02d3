//! LaTeX without its preamble, its comments and the marks inside of words, and with the text that
//! its commands stand for.

use std::ops::Range;

use super::columns::Tables;
use super::format::{Extract, Format};
use super::latex_commands::{Commands, comment_start};
use super::latex_tables::{add_latex_tables, argument_length};
use super::lines::lines;
use super::markup_lines::{LATEX_MARKS, heading, without_marks};
use super::unseen::{is_within, unseen_marks};
use crate::corpus::offsets::Traced;
use crate::event::Metadata;

pub(super) const FORMAT: Format =
    Format::for_lines("LaTeX", &["tex", "ltx", "latex"], |source| extract(&source));

/// Commands of headings in LaTeX, the outermost first.
#[rustfmt::skip]
const SECTIONS: [&str; 6] = [
    "part", "chapter", "section", "subsection", "subsubsection", "paragraph",
];
/// Environments whose lines stay as they are: a `%` in a listing begins no comment.
const LISTINGS: [&str; 5] = ["verbatim", "Verbatim", "lstlisting", "minted", "alltt"];
/// Maximum size of an argument that is a title.
const MAX_ARGUMENT_BYTES: usize = 2000;

/// Finds sections (`\section{Title}`) at the start of a line and the fields of the preamble.
fn extract(source: &str) -> Extract {
    const BEGIN: &str = "\\begin{document}";
    let begin = source.find(BEGIN).map_or(0, |at| at + BEGIN.len());
    // the last one: a listing may show it
    let end = source[begin..].rfind("\\end{document}");
    let body = &source[begin..end.map_or(source.len(), |end| begin + end)];
    let commands = Commands::from_source(source);
    let plain = |words: &str| without_commands(&commands.fill(words));
    let mut headings = Vec::new();
    let mut traced = Traced::with_capacity(body.len());
    let mut is_listing = false;
    let mut verbatim = Vec::new();
    for (start, line) in lines(body) {
        let has = |mark| {
            let mut listings = LISTINGS.iter();
            listings.any(|name| line.contains(&format!("{mark}{{{name}}}")))
        };
        is_listing = !has("\\end") && (is_listing || has("\\begin"));
        let comment = comment_start(line).filter(|_| !is_listing);
        let kept = &line[..comment.unwrap_or(line.len())];
        if comment.is_some() && kept.trim().is_empty() {
            continue;
        }

        if !traced.text.is_empty() {
            traced.stand_for("\n", (begin + start) as u64, 0);
        }
        let at = traced.text.len();
        let mut from = 0;
        let in_line = verbatim_parts(kept);
        let marks = unseen_marks(kept, LATEX_MARKS).into_iter();
        for mark in marks.filter(|mark| !is_listing && !is_within(&in_line, mark.start)) {
            traced.copy(&kept[from..mark.start], (begin + start + from) as u64);
            from = mark.end;
        }
        traced.copy(&kept[from..], (begin + start + from) as u64);
        let end = traced.text.len();
        if is_listing {
            verbatim.push(at..end);
            continue;
        }
        let in_line = verbatim_parts(&traced.text[at..]).into_iter();
        verbatim.extend(in_line.map(|part| at + part.start..at + part.end));
        if let Some((level, title)) = section(&body[start..]) {
            headings.push(heading(at..end, level, &plain(title)));
        }
    }
    headings.retain(|heading| !heading.title.is_empty());
    let mut tables = Tables::default();
    add_latex_tables(&traced.text, &verbatim, &plain, &mut tables);
    for (part, words) in commands.edits(&traced.text, &verbatim) {
        tables.replace(part, words);
    }
    tables.label(Extract {
        headings,
        metadata: metadata(source, &plain),
        ..Extract::from_traced(traced)
    })
}

/// Returns the fields of the preamble.
fn metadata(source: &str, plain: &dyn Fn(&str) -> String) -> Metadata {
    let mut metadata = Metadata::default();
    for field in ["title", "author", "date"] {
        let command = format!("\\{field}");
        let value = source.split(&command).skip(1).find_map(argument);
        let values = value.unwrap_or_default().split("\\and ");
        let values: Vec<String> = values.map(|value| plain(value.trim())).collect();
        metadata.set(field, &values.join(", "));
    }
    metadata
}

/// Returns where a line has verbatim text: `\verb|...|`, with any sign around it.
fn verbatim_parts(line: &str) -> Vec<Range<usize>> {
    const COMMAND: &str = "\\verb";
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(start) = line[at..].find(COMMAND).map(|start| at + start) {
        at = start + COMMAND.len();
        let rest = line[at..].trim_start_matches('*');
        let sign = rest.chars().next().filter(|c| !c.is_alphanumeric());
        let end = sign.and_then(|sign| rest[sign.len_utf8()..].find(sign).map(|end| (sign, end)));
        if let Some((sign, end)) = end {
            at = line.len() - rest.len() + sign.len_utf8() + end;
            parts.push(start..at);
        }
    }
    parts
}

/// Returns the level and the title of a section that begins here, with its commands.
fn section(text: &str) -> Option<(usize, &str)> {
    let command = text.trim_start_matches([' ', '\t']).strip_prefix('\\')?;
    let (name, rest) = command.split_at(command.find(|c: char| !c.is_ascii_alphabetic())?);
    let level = SECTIONS.iter().position(|section| *section == name)?;
    Some((level + 1, argument(rest)?))
}

/// Returns the argument in braces of a command, after its star and its options.
fn argument(text: &str) -> Option<&str> {
    let text = &text[..text.floor_char_boundary(MAX_ARGUMENT_BYTES)];
    let text = text.trim_start_matches('*');
    let text = match text.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => text,
    };

    let text = text.trim_start();
    let length = argument_length(text).filter(|_| text.starts_with('{'))?;
    Some(&text[1..length - 1])
}

/// Returns a title without the names of commands, braces and backslashes.
fn without_commands(title: &str) -> String {
    let title = without_marks(title);
    let mut parts = title.split('\\');
    let first = parts.next().unwrap_or_default().to_owned();
    let plain = parts.fold(first, |plain, part| {
        plain + part.trim_start_matches(|c: char| c.is_ascii_alphabetic())
    });
    plain.replace(['{', '}'], "").replace('~', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_text_of_latex() {
        let source = "\\title{On \\emph{Lamps}}\\author{Ann}\n\\date{January 31, 2024}\n\\begin{document}\n% no\n\\section*{One}\\label{s}\ntext 5\\% % no\r\n\n\\subsection[short]{Two \\& three}\n\\begin{verbatim}\n% kept\n\\section{no}\n\\end{verbatim}\n\\sectionmark{no}\nmore\\end{document} no";
        let found = extract(source);
        assert_eq!(
            found.text,
            "\\section*{One}\\label{s}\ntext 5% \n\n\\subsection[short]{Two & three}\n\\begin{verbatim}\n% kept\n\\section{no}\n\\end{verbatim}\n\\sectionmark{no}\nmore"
        );
        let titles: Vec<_> = found
            .headings
            .iter()
            .map(|h| (h.level, h.title.as_str()))
            .collect();
        assert_eq!(titles, [(3, "One"), (4, "Two & three")]);
        assert_eq!(found.metadata.title.as_deref(), Some("On Lamps"));
        assert_eq!(found.metadata.author.as_deref(), Some("Ann"));
        assert_eq!(found.metadata.date.as_deref(), Some("2024-01-31"));
        for words in ["text", "kept", "more"] {
            let at = found.text.find(words).expect(words);
            let origin = found.origin.source_range(at..at + words.len());
            assert_eq!(&source[origin.start as usize..origin.end as usize], words);
        }
        for torn in ["\\section{never closed", "\\", "%", "\\begin{document}"] {
            assert!(extract(torn).headings.is_empty(), "{torn}");
        }
    }

    #[test]
    fn comments_and_marks_are_left_out() {
        let cases = [
            (
                "\\newcommand{\\d}{Limpet}\\d{} is 3\\,\\% --- \\verb|a--b| \\iffalse no\\fi\n\\begin{comment}\nno\n\\section{no}\n\\end{comment}\n\\begin{verbatim}\na--b\n\\end{verbatim}",
                "Limpet is 3 % — \\verb|a--b| \n\\begin{verbatim}\na--b\n\\end{verbatim}",
            ),
            (
                "a\\-b \\verb|x\\-y| \\verb*+x\\-y+ c\\-d",
                "ab \\verb|x\\-y| \\verb*+x\\-y+ cd",
            ),
            (
                "a\\-b\\/c \\\\- d\n\\begin{verbatim}\n\\-\n\\end{verbatim}",
                "abc \\\\- d\n\\begin{verbatim}\n\\-\n\\end{verbatim}",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(extract(text).text, expected, "{text}");
        }
    }
}
