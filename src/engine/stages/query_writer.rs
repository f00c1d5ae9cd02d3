//! The query writer: writes the query of a lookup, at the start and for an uncertain sentence.
//!
//! [`QueryKind::UncertaintyAware`] is SEARAG's (section 3.2), [`QueryKind::CertainWords`] FLARE's
//! and [`QueryKind::AttendedWords`] DRAGIN's; the others are the ablations of SEARAG's paper.

use crate::config::QueryKind;
use crate::engine::error::RunError;
use crate::engine::run::{Need, Query, Run, Searched, Sentence};
use crate::event::{RunEvent, WordOrigin};
use crate::methods::query::{self, WrittenQuery};
use crate::methods::{dragin, flare};

/// Writes the query of a lookup from the rewritten question and the answer so far. Before the
/// answer begins, the query is the question.
pub fn write(run: &mut Run<'_>, rewritten: &str, need: &Need<'_>) -> Result<Query, RunError> {
    let config = run.tools.config;
    if !config.retriever.kind.is_on() {
        // nothing is searched, so there is no query to emit
        return Ok(Query {
            text: rewritten.to_owned(),
            searches: vec![Searched::new(rewritten)],
        });
    }

    let (kind, written) = match need.uncertain {
        None => (QueryKind::Question, from_question(rewritten)),
        Some(uncertain) => {
            let kind = config.query.kind;
            (
                kind,
                write_for(kind, run, rewritten, need.confirmed, uncertain)?,
            )
        }
    };
    let text = written.text();
    let searches = match need.uncertain {
        Some(uncertain) if kind == QueryKind::InTurn => {
            in_turn(rewritten, need.confirmed, uncertain)
        }
        Some(_) | None => vec![Searched::new(&text)],
    };

    run.emit(RunEvent::QueryWritten {
        step: run.step,
        query: text.clone(),
        writer: kind.name().replace('_', " "),
        words: written.words,
        region: written.region,
    });
    Ok(Query { text, searches })
}

/// Writes the query of an uncertain sentence.
fn write_for(
    kind: QueryKind,
    run: &mut Run<'_>,
    rewritten: &str,
    confirmed: &[String],
    uncertain: &Sentence,
) -> Result<WrittenQuery, RunError> {
    let last = confirmed.last().map(String::as_str);

    Ok(match kind {
        QueryKind::Question => from_question(rewritten),
        QueryKind::LastSentence => from_last(rewritten, last),
        QueryKind::UncertainSentence => from_uncertain(uncertain),
        QueryKind::FullHistory => {
            let before = confirmed.iter().map(String::as_str);
            let sentences: Vec<&str> = before.chain([uncertain.text()]).collect();
            query::full_history(rewritten, &sentences)
        }
        QueryKind::UncertaintyAware => {
            let words = query::words(&uncertain.tokens);
            query::uncertainty_aware(run, rewritten, last, &words)?
        }
        QueryKind::CertainWords => flare::certain_words(rewritten, &uncertain.tokens),
        QueryKind::AttendedWords => {
            let generator = &mut *run.tools.generator;
            dragin::attended_words(generator, rewritten, confirmed, &uncertain.tokens)?
        }
        QueryKind::InTurn => {
            let mut written = from_last(rewritten, last);
            written.words.extend(from_uncertain(uncertain).words);
            written
        }
    })
}

fn from_question(question: &str) -> WrittenQuery {
    WrittenQuery::from_text(question, WordOrigin::Question)
}

fn from_last(question: &str, last: Option<&str>) -> WrittenQuery {
    match last {
        Some(last) => WrittenQuery::from_text(last, WordOrigin::Sentence),
        None => from_question(question),
    }
}

fn from_uncertain(uncertain: &Sentence) -> WrittenQuery {
    WrittenQuery::from_text(uncertain.text(), WordOrigin::UncertainRegion)
}

/// Returns two searches whose hits are taken in turn: for what is confirmed, and for the uncertain
/// sentence.
///
/// The draft of a first sentence is from memory, and what it makes up about documents that the
/// model does not know must not take the place of what the question finds: it has one hit.
fn in_turn(question: &str, confirmed: &[String], uncertain: &Sentence) -> Vec<Searched> {
    let (base, most) = match confirmed.last() {
        Some(last) => (last.as_str(), usize::MAX),
        None => (question, 1),
    };
    vec![
        Searched::new(base),
        Searched {
            most,
            ..Searched::new(uncertain.text())
        },
    ]
}
