//! The answer to a question for everything of a kind of which each has a section of its own: no
//! passage names them all, and their headings do.

use std::collections::{BTreeSet, HashSet};

use crate::corpus::language;
use crate::engine::error::RunError;
use crate::engine::run::{Passages, Run, context, documents, pins};
use crate::event::{ChunkText, Citation, Evidence, Hit, Scope, document_stem};

use super::rows::FoundEntries;
use super::scope::{asks_for_entries, has_scope, head, list_subject};
use super::sources::{citation, lines};
use super::wording::stems;

/// Fewest sections that are a list.
const MIN_SECTIONS: usize = 2;
/// Maximum number of sections that are given.
const MAX_GIVEN: usize = 24;

/// A heading of a document, with those above it.
struct Heading<'c> {
    titles: &'c [String],
    chunk: &'c ChunkText,
    at: usize,
}

/// Finds the sections below a heading that names what the question lists, in the document of one of
/// the passages, and puts their chunks in the place of the passages. `None` where the question
/// lists nothing, or no heading names it. Where sentences answer the question, a single word names
/// nothing.
///
/// # Errors
///
/// Failures of the index.
pub fn choose_sections(
    run: &mut Run<'_>,
    asked: &str,
    scope: &Scope,
    passages: &mut Passages,
    is_supported: bool,
) -> Result<Option<FoundEntries>, RunError> {
    let may_ask = has_scope(run.tools.config) && asks_for_entries(scope, asked);
    // "boats" are the title of a page about them, too, and "kinds of boats" of a list
    let is_named = |subject: &String| stems(subject, language(subject)).len() > 1;
    let subject = list_subject(scope, asked).filter(|_| may_ask);
    let subject = subject.filter(|subject| !is_supported || is_named(subject));
    let (Some(subject), Some(corpus)) = (subject, &run.tools.corpus) else {
        return Ok(None);
    };
    for document in documents(&passages.hits) {
        let mut chunks = corpus.index.document(document)?;
        chunks.retain(|chunk| !pins::is_excluded(&run.tools.config.retriever, chunk));
        let Some(found) = find_sections(&subject, &chunks) else {
            continue;
        };

        let mut hits: Vec<Hit> = Vec::new();
        let mut given = Vec::new();
        for heading in found.iter().take(MAX_GIVEN) {
            let last = hits.last();
            if last.is_none_or(|hit| hit.chunk.id != heading.chunk.id) {
                let rank = last.map_or(1, |hit| hit.fused.rank + 1);
                hits.push(Hit::with_rank(heading.chunk.clone(), rank));
            }
            let last = &hits[hits.len() - 1];
            let title = heading.titles.last();
            given.extend(title.map(|title| (format!("- {title}"), heading.cite(title, last))));
        }
        passages.hits = hits;
        run.emit_read(asked.to_owned(), &passages.hits);
        context::publish(run, passages)?;
        return Ok(Some(FoundEntries {
            lead: None,
            gap: "\n",
            given,
            left_out: found.len().saturating_sub(MAX_GIVEN),
        }));
    }
    Ok(None)
}

impl Heading<'_> {
    /// Returns the citation of its title, with its line where the chunk has it.
    fn cite(&self, title: &str, hit: &Hit) -> Citation {
        let found = hit.chunk.text[self.at..].find(title);
        let start = found.map(|from| self.at + from);
        let [first_line, last_line] = match start {
            Some(start) => lines(&hit.chunk, start..start + title.len()),
            None => hit.chunk.lines,
        };
        Citation {
            first_line,
            last_line,
            place: hit.chunk.place([first_line, last_line]),
            quote: start.map(|_| title.to_owned()),
            evidence: Evidence::Overlap { share: 1.0 },
            ..citation(hit.fused.rank, hit)
        }
    }
}

/// Returns the headings right below the first one that names the subject and nothing else: all of
/// its words are in that heading, in those above it or in the name of the file, and those for the
/// things themselves in that heading.
fn find_sections<'c>(subject: &str, chunks: &'c [ChunkText]) -> Option<Vec<Heading<'c>>> {
    let language = language(subject);
    let (words, things) = (stems(subject, language), stems(head(subject), language));
    if things.is_empty() {
        return None;
    }

    let headings = chunks.iter().flat_map(|chunk| {
        let inside = chunk.sections.iter().map(|section| Heading {
            titles: &section.headings,
            chunk,
            at: section.at as usize,
        });
        let above = Heading {
            titles: &chunk.headings,
            chunk,
            at: 0,
        };
        std::iter::once(above).chain(inside)
    });
    let headings: Vec<Heading<'_>> = headings.collect();
    let mut tried: HashSet<&[String]> = HashSet::new();
    let mut names_subject = |heading: &Heading<'c>, depth: usize| {
        let (titles, chunk) = (heading.titles, heading.chunk);
        if !tried.insert(&titles[..depth]) {
            return false;
        }
        // with its capitals a word is a name, too, which has no stem
        let own = stems(&titles[depth - 1].to_lowercase(), language);
        let stem = document_stem(&chunk.document).replace(['-', '_'], " ");
        let place = format!("{stem}\n{}", titles[..depth - 1].join("\n"));
        let place = stems(&place, language);
        let named: BTreeSet<String> = own.union(&place).cloned().collect();
        let asked: BTreeSet<String> = words.union(&place).cloned().collect();
        things.is_subset(&own) && words.is_subset(&named) && own.is_subset(&asked)
    };

    let above = headings.iter().find_map(|heading| {
        let mut depths = 1..heading.titles.len();
        let depth = depths.find(|depth| names_subject(heading, *depth))?;
        Some(&heading.titles[..depth])
    })?;
    let mut known: HashSet<&[String]> = HashSet::new();
    let below = headings.into_iter().filter(|heading| {
        let titles = heading.titles;
        titles.len() == above.len() + 1 && titles.starts_with(above) && known.insert(titles)
    });
    let below: Vec<Heading<'_>> = below.collect();
    (below.len() >= MIN_SECTIONS).then_some(below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SectionFrom;

    #[test]
    fn the_sections_below_a_heading_that_names_all_of_the_subject_are_found() {
        let titles = |titles: &[&str]| titles.iter().map(|one| (*one).to_owned()).collect();
        let kinds = ["File Versioning", "Types of File Versioning"];
        let chunk = |headings: &[&str], inside: &[&[&str]]| ChunkText {
            document: "users/versioning.rst".to_owned(),
            headings: titles(headings),
            sections: (1..)
                .zip(inside)
                .map(|(at, headings)| SectionFrom {
                    at,
                    headings: titles(headings),
                })
                .collect(),
            ..ChunkText::default()
        };
        let chunks = [
            chunk(&kinds[..1], &[&kinds]),
            chunk(
                &[kinds[0], kinds[1], "Trash Can"],
                &[&[kinds[0], kinds[1], "Simple"]],
            ),
            chunk(&[kinds[0], kinds[1], "Simple"], &[]),
            chunk(
                &[kinds[0], kinds[1], "External"],
                &[&["File Versioning", "Settings"]],
            ),
        ];
        let all: Option<&[&str]> = Some(&["Trash Can", "Simple", "External"]);
        for (subject, expected) in [
            ("file versioning types", all),
            ("the types of versioning", all),
            ("types of versioning of the moon", None),
            ("versions of Syncthing", None),
            ("safe modes", None),
        ] {
            let found = find_sections(subject, &chunks).unwrap_or_default();
            let found = found.iter().filter_map(|heading| heading.titles.last());
            let found: Vec<&str> = found.map(String::as_str).collect();
            assert_eq!(found, expected.unwrap_or_default(), "{subject}");
        }
    }
}
