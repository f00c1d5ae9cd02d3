//! The answer to which files are about something: those that hold its words, each with a sentence.
//! No model reads them, so that none is left out to save time.

use std::collections::BTreeMap;

use crate::engine::run::{Answer, Passages, Run};
use crate::event::Citation;

use super::question_words::hold_subject;
use super::quotes::{RankedSentences, give, quotation};
use super::scope::asks_for_number;
use super::sources::Supports;

/// Maximum number of files that are listed.
const MAX_FILES: usize = 40;
/// Maximum number of characters of a sentence.
const MAX_CHARS: usize = 160;

/// Answers with the files whose passages hold the subjects, best first; where `supported` is false,
/// that there are none.
pub fn give_files(
    run: &mut Run<'_>,
    subjects: &[String],
    passages: &Passages,
    supported: bool,
) -> Answer {
    if !supported {
        // what comes near to the words of the question is about no file
        return give(run, RankedSentences::default(), false);
    }

    let found = find_files(run.question, &subjects.join(" "), passages);
    let count = asks_for_number(run.question).then(|| format!("{}:", found.len()));
    let lines = found.into_iter().map(|(file, citation)| {
        let quote = citation.as_ref().and_then(|one| one.quote.as_deref());
        let text = match quote {
            Some(quote) => format!("- {file}: “{}”", shorten(&quotation(quote))),
            None => format!("- {file}"),
        };
        (text, citation)
    });
    let mut answer = Answer::default();
    for (text, citation) in count.map(|count| (count, None)).into_iter().chain(lines) {
        run.give_step(&mut answer, "\n", text, citation);
    }
    answer
}

/// Returns the files of the passages that hold the words of a text, and the sentence of each that
/// holds most of them; copies of a passage have none of their own.
fn find_files(question: &str, text: &str, passages: &Passages) -> Vec<(String, Option<Citation>)> {
    let sentences = Supports::new(text, passages).best_quotations();
    let sentences = sentences.into_iter().map(|one| (one.label, one));
    let mut quoted: BTreeMap<u32, Citation> = sentences.collect();

    let mut found: Vec<(String, Option<Citation>)> = Vec::new();
    let labelled = (1..).zip(&passages.hits);
    let holding = hold_subject(question, text, passages);
    let holding = labelled.zip(holding).filter(|(_, holds)| *holds);
    for ((label, hit), _) in holding {
        let copies = hit.copies.iter().map(|copy| (&copy.document, None));
        let own = (&hit.chunk.document, quoted.remove(&label));
        for (file, citation) in std::iter::once(own).chain(copies) {
            if found.len() < MAX_FILES && !found.iter().any(|(known, _)| known == file) {
                found.push((file.clone(), citation));
            }
        }
    }
    found
}

/// Returns the beginning of a text, up to the last word that has room.
fn shorten(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_CHARS) else {
        return text.to_owned();
    };
    let whole = text[..end].rfind(' ').unwrap_or(end);
    format!("{}…", &text[..whole])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ChunkCopy, Hit};

    #[test]
    fn the_files_that_hold_all_words_are_found_each_once_with_their_copies() {
        let mut first = Hit::from_text(
            1,
            "cat.md",
            "# The cat Ballast\n\nIt is gone. The cat Ballast is grey.",
        );
        first.copies.push(ChunkCopy {
            chunk: 9,
            document: "old/cat.md".to_owned(),
            lines: [1, 1],
            place: None,
            date: None,
            near: false,
            other_words: Vec::new(),
        });
        let hits = vec![
            first,
            Hit::from_text(2, "ship.md", "Stones are the ballast of a ship."),
            Hit::from_text(3, "cat.md", "Who saw the cat Ballast?"),
            Hit::from_text(4, "ballast.md", "She has a cat."),
        ];
        let found = find_files(
            "Which files mention it?",
            "the cat Ballast",
            &Passages::from_hits(hits),
        );
        let quote = |citation: &Option<Citation>| citation.as_ref()?.quote.clone();
        let found: Vec<_> = found
            .iter()
            .map(|(file, one)| (file.as_str(), quote(one)))
            .collect();
        assert_eq!(
            found,
            [
                ("cat.md", Some("The cat Ballast is grey.".to_owned())),
                ("old/cat.md", None),
                ("ballast.md", Some("She has a cat.".to_owned())),
            ]
        );
        assert_eq!(shorten("ship"), "ship");
        assert_eq!(shorten(&"word ".repeat(40)).chars().count(), 160);
    }
}
