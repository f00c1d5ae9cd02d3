//! `ragscope search`: the chunks of a corpus that match a query, with the scores that ranked them.

use std::io;
use std::path::PathBuf;

use crate::config::DocumentFilter;
use crate::event::{Hit, Ranked, harmless, json_value};
use crate::host::search_settings;
use crate::letters;
use crate::story::text::{join, one_line};
use crate::story::{find_order, mark_orders, words};

use super::failure::{Failure, Stopped};
use super::folders::check_asked;
use super::work::Work;

/// Maximum characters of a chunk in the text output.
const MAX_CHARACTERS: usize = 200;

impl Work<'_> {
    /// Updates the indexes and prints the best chunks for a query; nothing is generated.
    pub fn search(mut self, folders: &[PathBuf], query: &str, limit: u32) -> Result<(), Stopped> {
        if query.trim().is_empty() {
            let advice = "pass it in quotes after the folder";
            return Err(Stopped::usage("the query is empty", advice));
        }
        check_asked(folders, query)?;
        self.observer.be_silent();
        self.prepare(folders)?;
        let config = self.layers.config()?;
        let mut settings = search_settings(&config, limit);
        let query = SearchQuery::new(query);
        if !query.terms.is_empty() {
            let filter = format!("{} {}", config.retriever.filter, query.terms.join(" "));
            let filter = filter.parse::<DocumentFilter>();
            let advice = "`ragscope guide searching` lists what a query can hold";
            let filter = filter.map_err(|error| Failure::usage(error, advice))?;
            let value = toml::Value::from(filter.to_string()).to_string();
            settings.push(("retriever.filter".to_owned(), value));
        }
        let text = query.text.as_str();
        let mut retrieval = self.run(|worker, publish| worker.search(text, &settings, publish))?;
        retrieval.hits.truncate(limit as usize);

        let out = &mut *self.observer.out;
        if out.json {
            let mut found = json_value(&retrieval).map_err(io::Error::from)?;
            mark_orders(&mut found, "hits");
            return Ok(out.json_line(&found)?);
        }
        if retrieval.hits.is_empty() {
            out.remark("nothing was found");
        }
        for (number, hit) in (1..).zip(&retrieval.hits) {
            out.text(&harmless(&format!(
                "{number:>2}  {}  {}\n",
                words::chunk_location(&hit.chunk),
                describe_scores(hit)
            )))?;
            out.dim(&format!("    {}\n", start_of(&hit.chunk.text)))?;
            if let Some(copies) = words::copies(hit) {
                out.dim(&harmless(&format!("    {copies}\n")))?;
            }
            if let Some(order) = find_order(&hit.chunk.text) {
                out.text(&format!("    {}\n", words::order(&order)))?;
            }
        }
        Ok(())
    }
}

/// A query as it is typed: its text, and the terms of a filter that are in it.
#[derive(Debug, PartialEq)]
struct SearchQuery {
    text: String,
    terms: Vec<String>,
}

impl SearchQuery {
    /// Splits `"a phrase"`, `-word` and `path:GLOB` from a query. Options (`-f`, `--force`) are
    /// words, and so is all of a query that has nothing else.
    fn new(query: &str) -> Self {
        let mut words: Vec<&str> = Vec::new();
        let mut terms = Vec::new();
        let mut is_quoted = false;
        let mut next = 0;
        let parts = query.split(|c: char| {
            let at = next;
            next += c.len_utf8();
            is_quoted ^= c == '"' && !letters::is_gershayim(query, at);
            c.is_whitespace() && !is_quoted
        });
        for part in parts.filter(|part| !part.is_empty()) {
            let inside = part.strip_prefix('"');
            let inside = inside.and_then(|part| part.strip_suffix('"'));
            if let Some(phrase) = inside.filter(|phrase| !phrase.trim().is_empty()) {
                terms.push(format!("has:{part}"));
                words.push(phrase);
            } else if let Some(glob) = part.strip_prefix("path:").filter(|glob| !glob.is_empty()) {
                terms.push(format!("only:{glob}"));
            } else if let Some(excluded) = part.strip_prefix('-').filter(|word| is_excluded(word)) {
                terms.push(format!("not:{excluded}"));
            } else {
                words.push(part);
            }
        }

        if words.is_empty() || is_quoted {
            return Self {
                text: query.to_owned(),
                terms: Vec::new(),
            };
        }
        Self {
            text: words.join(" "),
            terms,
        }
    }
}

/// Returns whether a word behind a dash is excluded; `-f` and `--force` are options, and `-18` is a
/// number.
fn is_excluded(word: &str) -> bool {
    let is_number = word.bytes().all(|byte| b"0123456789.,".contains(&byte));
    !is_number
        && word.starts_with(|c: char| c.is_alphanumeric() || c == '"')
        && word.chars().nth(1).is_some()
}

/// Returns the scores of a hit with its ranks in the two lists, and what found it when only one
/// did.
fn describe_scores(hit: &Hit) -> String {
    let part = |name: &str, ranked: Option<Ranked>| {
        ranked.map(|ranked| format!("{name} {:.2} (#{})", ranked.score, ranked.rank))
    };
    let lists = [part("bm25", hit.bm25), part("cosine", hit.vector)];
    let only = match (hit.bm25, hit.vector) {
        (Some(_), None) => ", by its words alone",
        (None, Some(_)) => ", by its meaning alone",
        (Some(_), Some(_)) => "",
        (None, None) => "by its name, which a better hit has",
    };
    let lists = join(lists.into_iter().flatten(), ", ");
    format!("{:.3}: {lists}{only}", hit.fused.score)
}

fn start_of(text: &str) -> String {
    let line = join(one_line(text).split_whitespace(), " ");
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_phrases_exclusions_and_paths() {
        let cases: [(&str, &str, &[&str]); 12] = [
            ("wind and sail", "wind and sail", &[]),
            ("ice at -18 °C", "ice at -18 °C", &[]),
            ("דובר צה\"ל -ים", "דובר צה\"ל", &["not:ים"]),
            (
                "\"wind and sail\" sea",
                "wind and sail sea",
                &["has:\"wind and sail\""],
            ),
            (
                "sea -storm -\"dead calm\"",
                "sea",
                &["not:storm", "not:\"dead calm\""],
            ),
            (
                "sea path:log/** path:\"my notes\"",
                "sea",
                &["only:log/**", "only:\"my notes\""],
            ),
            ("git push -f --force", "git push -f --force", &[]),
            ("compile \"-Wall\"", "compile -Wall", &["has:\"-Wall\""]),
            ("-Wall", "-Wall", &[]),
            ("path:notes", "path:notes", &[]),
            ("a \"b c", "a \"b c", &[]),
            ("a \"\" - b", "a \"\" - b", &[]),
        ];
        for (query, text, terms) in cases {
            let expected = SearchQuery {
                text: text.to_owned(),
                terms: terms.iter().map(|term| (*term).to_owned()).collect(),
            };
            assert_eq!(SearchQuery::new(query), expected);
        }
    }
}
