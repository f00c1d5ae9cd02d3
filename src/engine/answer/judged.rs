//! Citations by judgement: the generator is asked whether the passage that comes closest states
//! what no source holds by its words, and whether a cited one does that holds only some of them.

use crate::corpus::{count_negations, named_cells};
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Passages, Run, Sentence, context};
use crate::event::{Citation, Evidence, RunEvent};
use crate::methods::{JudgementKind, ModelCalls as _};

use super::citations::WHOLE_SHARE;
use super::marks::without_marks;
use super::sources::Supports;
use super::wording::{is_entry, without_yes_or_no};

/// Statements that the generator judges: each costs about 150 tokens of prompt.
const MAX_JUDGED: usize = 4;

/// Least probability of "yes" at which a passage is cited. Of 44 uncited statements about four
/// folders, a model of 1.5 billion parameters called 17 of 22 right ones and 4 of 22 others more
/// likely, and 2 of the others come near enough to a source to be asked about
/// (`benches/experiments/2026-11-26-figures.md`). Of 15 later citations by some of the words it
/// takes 4 of 4 wrong ones back, and 2 of 9 right ones (`benches/experiments/2026-11-28.md`).
const MIN_STATED: f32 = 0.85;

/// Cites the passages that state sentences of the answer in other words, takes the citations back
/// that hold some words of a sentence and do not state it, and emits both. `uncited` and `cited`
/// are the steps of the sentences that state something; those without a citation are asked about
/// first.
///
/// # Errors
///
/// Failures of the model.
pub fn judge_citations(
    run: &mut Run<'_>,
    answer: &mut Answer,
    [uncited, cited]: [&[u32]; 2],
    passages: &Passages,
) -> Result<(), RunError> {
    let supports = Supports::new(run.question, passages);
    let sentences = || answer.sentences.iter().enumerate();
    let missing = sentences().filter(|(_, one)| uncited.contains(&one.step));
    let missing = missing.map(|(at, one)| (at, one, supports.nearest(one.text())));
    let known = sentences().filter(|(_, one)| cited.contains(&one.step));
    let known = known.map(|(at, one)| (at, one, questionable(one).cloned()));
    let near = missing
        .chain(known)
        .filter_map(|(at, one, citation)| Some((at, without_marks(one.text()), citation?)));
    let near: Vec<(usize, String, Citation)> = near.take(MAX_JUDGED).collect();
    if near.is_empty() {
        return Ok(());
    }

    let prompts = near.iter().map(|(_, statement, citation)| {
        let chunk = &passages.hits[citation.label as usize - 1].chunk;
        context::statement_prompt(run.tools.prompts, statement, &chunk.embedded_text())
    });
    let prompts: Vec<_> = prompts.collect();
    let rows = run.classify(JudgementKind::STATEMENT_HELD, &prompts)?;

    for ((at, _, citation), row) in near.into_iter().zip(rows) {
        let share = row.shares.first().copied().unwrap_or(0.0);
        let sentence = &mut answer.sentences[at];
        let is_stated = share >= MIN_STATED;
        if is_stated != sentence.citations.is_empty() || !row.names_label() {
            continue;
        }
        let evidence = Evidence::Judged { share };
        let citation = Citation {
            evidence,
            ..citation
        };
        let citations = Vec::from_iter(is_stated.then_some(citation));
        sentence.citations.clone_from(&citations);
        run.emit(RunEvent::StepCited {
            step: sentence.step,
            text: sentence.text().to_owned(),
            citations: citations.clone(),
        });
        answer.citations.extend(citations);
    }
    let sentences = &answer.sentences;
    let is_cited = |known: &Citation| sentences.iter().any(|one| one.citations.contains(known));
    answer.citations.retain(is_cited);
    Ok(())
}

/// Returns the only citation of a sentence, where its source holds some of the words, or all of
/// them and says them of somebody else. A row or an item has few of its own, and a model denies
/// what is right of it; a row names several things by its nature.
fn questionable(sentence: &Sentence) -> Option<&Citation> {
    let [citation] = sentence.citations.as_slice() else {
        return None;
    };
    let quote = citation.quote.as_deref().unwrap_or_default();
    let is_row = quote.starts_with('|') || named_cells(quote).is_some();
    let said = without_marks(sentence.text());
    // a model denies that a text states what it denies
    let denials = [without_yes_or_no(&said), quote].map(|text| count_negations(text.split(' ')));
    let are_denials = denials[0] % 2 == denials[1] % 2 && !denials.contains(&0);
    match citation.evidence {
        Evidence::Overlap { .. } if !is_row && begins_with_other(&said, quote) => Some(citation),
        Evidence::Overlap { share } if share < WHOLE_SHARE => {
            (!is_row && !are_denials && !is_entry(quote)).then_some(citation)
        }
        _ => None,
    }
}

/// Returns whether a sentence names first whom its source names behind another one: "Ana Reis
/// leaves because Tom Brandt comes" has all the words of the opposite.
fn begins_with_other(sentence: &str, source: &str) -> bool {
    let named = full_names(source);
    let sentence = full_names(sentence);
    let known = sentence.iter().find(|name| named.contains(name));
    known.is_some_and(|known| named.first() != Some(known))
}

/// Returns the names of two words or more in a text, in order, each by its last two: "When Ana Reis
/// left" names Ana Reis.
fn full_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name: Vec<&str> = Vec::new();
    for word in text.split_whitespace().chain([""]) {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let owner = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s"));
        let bare = owner.unwrap_or(bare);
        let is_name = bare.starts_with(char::is_uppercase) && bare.len() > 1;
        if is_name {
            name.push(bare);
        }
        if !is_name || owner.is_some() || word.ends_with(|c: char| !c.is_alphanumeric()) {
            if let [.., first, last] = name.as_slice() {
                names.push(format!("{first} {last}"));
            }
            name.clear();
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_names_somebody_else_first_is_questionable() {
        let source = "- The probe: Ines Okafor takes it over, because Marta Kowalska leaves.";
        for (sentence, expected) in [
            ("According to [1], Marta Kowalska takes it over.", true),
            ("Marta Kowalska comes when Ines Okafor leaves.", true),
            (
                "Ines Okafor takes it over, as Marta Kowalska leaves.",
                false,
            ),
            ("When Ines Okafor came, Marta Kowalska left.", false),
            ("Ines Okafor's time begins as Marta Kowalska leaves.", false),
            ("It is theirs now.", false),
            ("Tom Brandt, Ines Okafor and Marta Kowalska met.", false),
        ] {
            assert_eq!(begins_with_other(sentence, source), expected, "{sentence}");
        }
    }
}
