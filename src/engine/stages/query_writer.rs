//! The query writers: what is looked up, at the start and for a doubted sentence. All but the last are the paper's ablation.

use crate::config::QueryKind;
use crate::engine::error::RunError;
use crate::engine::run::{Need, QueryWriter, Run};
use crate::event::{DoubtedRegion, Event, WordOrigin};
use crate::methods::query::{self, WrittenQuery};

/// Writes queries as the settings name it. Before the answer begins there is nothing but the question to look up.
pub struct ByKind(pub QueryKind);

impl QueryWriter for ByKind {
    fn write(&mut self, run: &mut Run<'_>, need: &Need<'_>) -> Result<String, RunError> {
        let question = || WrittenQuery::of(need.question, WordOrigin::Question);
        let last = need.confirmed.last().map(String::as_str);
        let (writer, written) = match (self.0, need.doubted) {
            (QueryKind::Question, _) | (_, None) => ("question", question()),
            (QueryKind::LastSentence, Some(_)) => (
                "last sentence",
                last.map_or_else(question, |last| {
                    WrittenQuery::of(last, WordOrigin::Sentence)
                }),
            ),
            (QueryKind::UncertainSentence, Some(doubted)) => (
                "uncertain sentence",
                WrittenQuery::of(doubted.text(), WordOrigin::UncertainRegion),
            ),
            (QueryKind::FullHistory, Some(doubted)) => {
                let written: Vec<&str> = need
                    .confirmed
                    .iter()
                    .map(String::as_str)
                    .chain([doubted.text()])
                    .collect();
                ("full history", query::full_history(need.question, &written))
            }
            (QueryKind::UncertaintyAware, Some(doubted)) => {
                let alpha = f64::from(run.tools.config.query.alpha);
                let words = query::words(&doubted.tokens);
                (
                    "uncertainty aware",
                    query::uncertainty_aware(run, need.question, last, &words, alpha)?,
                )
            }
        };
        let text = written.text();
        let region = written.region.map(|region| DoubtedRegion {
            threshold: region.threshold as f32,
            first_word: region.start.and_then(|start| u32::try_from(start).ok()),
        });
        run.emit(Event::QueryWritten {
            step: run.step,
            query: text.clone(),
            writer: writer.to_owned(),
            words: written.words,
            region,
        });
        Ok(text)
    }
}
