//! Why a passage was found or not: `ragscope explain` asks a question and follows the chunks that hold a phrase.

use std::path::Path;

use serde::Serialize;

use crate::event::{Event, Fates, Mark, Ranked, Record, SoughtChunk, SoughtLookup, harmless};

use super::output::one_line;

/// A lookup of a run with the ways of its chunks.
#[derive(Debug)]
struct Followed {
    step: u32,
    query: String,
    fates: Fates,
}

/// Follows the chunks through the lookups of a run.
#[derive(Debug, Default)]
pub struct Follower {
    lookups: Vec<Followed>,
    /// How the question was rewritten, and whether that was used.
    rewritten: Option<(String, bool)>,
}

/// What became of a phrase.
#[derive(Debug, Serialize)]
pub struct Explanation {
    question: String,
    phrase: String,
    preset: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten: Option<(String, bool)>,
    lookups: Vec<Explained>,
}

#[derive(Debug, Serialize)]
struct Explained {
    step: u32,
    query: String,
    pool: u32,
    chunks: Vec<Way>,
}

#[derive(Debug, Serialize)]
struct Way {
    #[serde(flatten)]
    sought: SoughtChunk,
    marks: Vec<Mark>,
}

impl Follower {
    /// See a record of the run.
    pub fn see(&mut self, record: &Record) {
        match &record.event {
            Event::QuestionRewritten {
                rewritten, used, ..
            } => self.rewritten = Some((rewritten.clone(), *used)),
            // what is found among chunks that were cut again belongs to the same lookup
            Event::RetrievalFinished { .. }
                if self
                    .lookups
                    .last()
                    .is_some_and(|last| last.fates.awaits_recut()) => {}
            Event::RetrievalFinished { step, retrieval } => {
                let (query, fates) = (retrieval.query.clone(), Fates::default());
                self.lookups.push(Followed {
                    step: *step,
                    query,
                    fates,
                });
            }
            _ => {}
        }
        if let Some(lookup) = self.lookups.last_mut() {
            lookup.fates.see(&record.event);
        }
    }

    /// The queries whose lists are to be looked into.
    pub fn queries(&self) -> Vec<(u32, String)> {
        self.lookups
            .iter()
            .map(|lookup| (lookup.step, lookup.query.clone()))
            .collect()
    }

    /// The whole story, with what the index says of each query.
    pub fn explain(
        self,
        (question, phrase, preset): (&str, &str, &str),
        sought: Vec<SoughtLookup>,
    ) -> Explanation {
        let lookups = self
            .lookups
            .into_iter()
            .zip(sought)
            .map(|(followed, sought)| Explained {
                step: sought.step,
                query: sought.query,
                pool: sought.pool,
                chunks: sought
                    .chunks
                    .into_iter()
                    .map(|sought| Way {
                        marks: followed.fates.of(sought.chunk.id),
                        sought,
                    })
                    .collect(),
            });
        Explanation {
            lookups: lookups.collect(),
            question: question.to_owned(),
            phrase: phrase.to_owned(),
            preset: preset.to_owned(),
            rewritten: self.rewritten,
        }
    }
}

impl Explanation {
    /// For people.
    pub fn text(&self, folder: &Path) -> String {
        let mut text = String::new();
        if let Some((rewritten, used)) = &self.rewritten {
            let used = if *used { "" } else { " (not used)" };
            text.push_str(&format!("rewritten: {}{used}\n", one_line(rewritten)));
        }
        if self.lookups.is_empty() {
            text.push_str(&format!(
                "nothing was looked up: preset {} answers without documents\n",
                self.preset
            ));
        }
        for lookup in &self.lookups {
            let step = if lookup.step == 0 {
                String::new()
            } else {
                format!("sentence {}: ", lookup.step)
            };
            text.push_str(&format!("{step}query: {}\n", one_line(&lookup.query)));
            if lookup.chunks.is_empty() {
                text.push_str(&format!(
                    "  ✗ no chunk holds “{}”: it is not indexed (`ragscope index {}` says which files were skipped)\n",
                    one_line(&self.phrase),
                    folder.display()
                ));
            }
            lookup
                .chunks
                .iter()
                .for_each(|way| text.push_str(&way.text(lookup.pool)));
        }
        harmless(&text).into_owned()
    }
}

impl Way {
    fn text(&self, pool: u32) -> String {
        let SoughtChunk {
            chunk,
            whole,
            bm25,
            vector,
            fused,
        } = &self.sought;
        let part = if *whole {
            ""
        } else {
            "  (it holds a part; its neighbour holds the rest)"
        };
        let mut text = format!(
            "  {}:{}-{}{part}\n",
            one_line(&chunk.document),
            chunk.lines[0],
            chunk.lines[1]
        );
        text.push_str(&format!(
            "    by words    {}\n",
            place(*bm25, pool, "no word of the query is in it")
        ));
        text.push_str(&format!(
            "    by meaning  {}\n",
            place(*vector, pool, "no vector can be compared")
        ));
        let fused = fused.map_or_else(
            || "✗ in neither pool".to_owned(),
            |fused| format!("rank {}, score {:.3}", fused.rank, fused.score),
        );
        text.push_str(&format!("    fused       {fused}\n"));
        for mark in &self.marks {
            text.push_str(&format!("    {mark}\n"));
        }
        text
    }
}

fn place(ranked: Option<Ranked>, pool: u32, without: &str) -> String {
    match ranked {
        None => format!("✗ {without}"),
        Some(Ranked { rank, score }) if rank > pool => {
            format!("✗ rank {rank}, score {score:.3}: the pool takes {pool}")
        }
        Some(Ranked { rank, score }) => format!("rank {rank}, score {score:.3}"),
    }
}
