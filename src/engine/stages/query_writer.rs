//! The query writer: writes the query of a lookup, at the start and for an uncertain sentence.
//!
//! [`QueryKind::UncertaintyAware`] is SEARAG's (section 3.2), [`QueryKind::CertainWords`] FLARE's
//! and [`QueryKind::AttendedWords`] DRAGIN's; the others are the ablations of SEARAG's paper.

use crate::config::QueryKind;
use crate::engine::error::RunError;
use crate::engine::run::{Need, Query, QueryWriter, Run, Searched};
use crate::event::{RunEvent, UncertainRegion, WordOrigin};
use crate::methods::dragin;
use crate::methods::flare;
use crate::methods::query::{self, WrittenQuery};

/// Writes queries as the settings name it. Before the answer begins, the query is the question.
pub struct ByKind(pub QueryKind);

impl QueryWriter for ByKind {
    fn write(
        &mut self,
        run: &mut Run<'_>,
        rewritten: &str,
        need: &Need<'_>,
    ) -> Result<Query, RunError> {
        let last = need.confirmed.last().map(String::as_str);
        let mut searches = Vec::new();
        let (writer, written) = match (self.0, need.uncertain) {
            (QueryKind::Question, _) | (_, None) => (
                "question",
                WrittenQuery::from_text(rewritten, WordOrigin::Question),
            ),
            (QueryKind::LastSentence, Some(_)) => (
                "last sentence",
                match last {
                    Some(last) => WrittenQuery::from_text(last, WordOrigin::Sentence),
                    None => WrittenQuery::from_text(rewritten, WordOrigin::Question),
                },
            ),
            (QueryKind::UncertainSentence, Some(uncertain)) => (
                "uncertain sentence",
                WrittenQuery::from_text(uncertain.text(), WordOrigin::UncertainRegion),
            ),
            (QueryKind::FullHistory, Some(uncertain)) => {
                let sentences: Vec<&str> = need
                    .confirmed
                    .iter()
                    .map(String::as_str)
                    .chain([uncertain.text()])
                    .collect();
                ("full history", query::full_history(rewritten, &sentences))
            }
            (QueryKind::UncertaintyAware, Some(uncertain)) => {
                let words = query::words(&uncertain.tokens);
                (
                    "uncertainty aware",
                    query::uncertainty_aware(run, rewritten, last, &words)?,
                )
            }
            (QueryKind::CertainWords, Some(uncertain)) => (
                "certain words",
                flare::certain_words(rewritten, &uncertain.tokens),
            ),
            (QueryKind::AttendedWords, Some(uncertain)) => {
                let written = dragin::attended_words(
                    run.tools.generator,
                    rewritten,
                    need.confirmed,
                    &uncertain.tokens,
                )?;
                ("attended words", written)
            }
            (QueryKind::InTurn, Some(uncertain)) => {
                let (base, origin, most) = match last {
                    Some(last) => (last, WordOrigin::Sentence, usize::MAX),
                    // the draft of a first sentence is from memory, and what it makes up about
                    // documents that the model does not know must not take the place of what the
                    // question finds
                    None => (rewritten, WordOrigin::Question, 1),
                };
                searches.push(Searched::of(base));
                searches.push(Searched {
                    most,
                    ..Searched::of(uncertain.text())
                });
                let mut written = WrittenQuery::from_text(base, origin);
                let uncertain =
                    WrittenQuery::from_text(uncertain.text(), WordOrigin::UncertainRegion);
                written.words.extend(uncertain.words);
                ("in turn", written)
            }
        };

        let text = written.text();
        let region = written.region.map(|region| UncertainRegion {
            threshold: region.threshold as f32,
            first_word: region.start.and_then(|start| u32::try_from(start).ok()),
        });
        run.emit(RunEvent::QueryWritten {
            step: run.step,
            query: text.clone(),
            writer: writer.to_owned(),
            words: written.words,
            region,
        });
        if searches.is_empty() {
            return Ok(Query::one(&text));
        }
        Ok(Query { text, searches })
    }
}
