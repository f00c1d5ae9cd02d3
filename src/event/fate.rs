//! Where a chunk went: its way through the stages of a lookup, as the events tell it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ChunkText, DropReason, DroppedChunk, Event, Stage};

/// What happened to a chunk, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "snake_case")]
pub enum Mark {
    /// It is among the hits that the run kept, at this rank of the fused list.
    Hit { rank: u32, of: u32 },
    /// It is not.
    NoHit { of: u32 },
    /// It became part of this many joined texts.
    Joined { texts: u32 },
    /// The judges gave this score.
    Graded { score: f32, threshold: f32 },
    /// The judge finds it relevant with this probability.
    Judged { probability: f32 },
    /// A stage left it in the race, at this rank.
    Passed { stage: Stage, rank: u32, of: u32 },
    /// A stage dropped it (and every text that it is part of).
    Fell {
        stage: Option<Stage>,
        reason: DropReason,
    },
    /// The reranker put it there.
    Reranked { score: f32, rank: u32, of: u32 },
    /// It is in the context, under this label.
    Used { label: u32 },
}

impl Mark {
    /// Was this the end of it?
    #[must_use]
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::NoHit { .. } | Self::Fell { .. })
    }
}

/// The ways of all chunks through one lookup.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fates {
    hits: Vec<u64>,
    /// The chunks of joined texts.
    joined: BTreeMap<u64, BTreeSet<u64>>,
    told: Vec<Told>,
    /// Documents were cut again, and what is found among their new chunks comes next.
    recut: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Told {
    Recut,
    Joined(Vec<u64>),
    Graded(BTreeMap<u64, f32>, f32),
    Judged(BTreeMap<u64, f32>),
    Stage(Stage, Vec<u64>, Vec<DroppedChunk>),
    Reranked(Vec<(u64, f32)>),
    Context(Vec<(u64, u32)>, Vec<DroppedChunk>),
}

impl Fates {
    /// See an event of the lookup.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::DocumentsRecut { .. } => {
                self.told.push(Told::Recut);
                self.recut = true;
            }
            // the new chunks are no chunks of the index: its own fell when their documents were cut again
            Event::RetrievalFinished { .. } if self.recut => self.recut = false,
            Event::RetrievalFinished { retrieval, .. } => {
                *self = Self {
                    hits: retrieval.hits.iter().map(|hit| hit.chunk.id).collect(),
                    ..Self::default()
                };
            }
            Event::ChunksLinked { linked, .. } => {
                linked.iter().for_each(|text| self.join(&text.hit.chunk));
                self.told.push(Told::Joined(
                    linked.iter().map(|text| text.hit.chunk.id).collect(),
                ));
            }
            Event::ChunksMerged { merged, .. } => {
                merged.iter().for_each(|hit| self.join(&hit.chunk))
            }
            Event::ChunksGraded {
                graded, threshold, ..
            } => {
                let scores = graded
                    .iter()
                    .map(|graded| (graded.chunk, graded.score))
                    .collect();
                self.told.push(Told::Graded(scores, *threshold));
            }
            Event::ChunksJudged { judged, .. } => {
                self.told.push(Told::Judged(
                    judged
                        .iter()
                        .map(|judged| (judged.chunk, judged.probability))
                        .collect(),
                ));
            }
            Event::StageFinished {
                stage,
                kept,
                dropped,
                ..
            } => {
                self.told
                    .push(Told::Stage(*stage, kept.clone(), dropped.clone()));
            }
            Event::ChunksReranked { ranked, .. } => {
                self.told.push(Told::Reranked(
                    ranked
                        .iter()
                        .map(|ranked| (ranked.chunk, ranked.score))
                        .collect(),
                ));
            }
            Event::ContextBuilt { context, .. } => {
                let labels = context
                    .chunks
                    .iter()
                    .map(|chunk| (chunk.chunk, chunk.label))
                    .collect();
                self.told
                    .push(Told::Context(labels, context.dropped.clone()));
            }
            _ => {}
        }
    }

    /// Does the next retrieval belong to this lookup still?
    #[must_use]
    pub fn awaits_recut(&self) -> bool {
        self.recut
    }

    fn join(&mut self, text: &ChunkText) {
        self.joined
            .insert(text.id, text.parts.iter().map(|part| part.chunk).collect());
    }

    /// What happened to a chunk.
    #[must_use]
    pub fn of(&self, chunk: u64) -> Vec<Mark> {
        let rank = self.hits.iter().position(|hit| *hit == chunk);
        let of = whole(self.hits.len());
        let mut marks = vec![rank.map_or(Mark::NoHit { of }, |rank| Mark::Hit {
            rank: whole(rank) + 1,
            of,
        })];
        let holds = |text: u64| {
            text == chunk
                || self
                    .joined
                    .get(&text)
                    .is_some_and(|chunks| chunks.contains(&chunk))
        };
        let best = |scores: &BTreeMap<u64, f32>| {
            scores
                .iter()
                .filter(|(text, _)| holds(**text))
                .map(|(_, score)| *score)
                .reduce(f32::max)
        };
        for told in &self.told {
            match told {
                Told::Recut => {
                    marks.retain(|mark| !matches!(mark, Mark::Used { .. }));
                    let lost = marks.iter().any(Mark::is_loss);
                    marks.extend((!lost).then_some(Mark::Fell {
                        stage: None,
                        reason: DropReason::Recut,
                    }));
                }
                Told::Joined(texts) => {
                    let texts = whole(texts.iter().filter(|text| holds(**text)).count());
                    marks.extend((texts > 0).then_some(Mark::Joined { texts }));
                }
                Told::Graded(scores, threshold) => {
                    marks.extend(best(scores).map(|score| Mark::Graded {
                        score,
                        threshold: *threshold,
                    }));
                }
                Told::Judged(judged) => {
                    marks.extend(best(judged).map(|probability| Mark::Judged { probability }))
                }
                Told::Stage(stage, kept, dropped) => {
                    let of = whole(kept.len());
                    let passed = kept.iter().position(|text| holds(*text));
                    marks.extend(match (passed, fell(dropped, holds)) {
                        (Some(rank), _) => Some(Mark::Passed {
                            stage: *stage,
                            rank: whole(rank) + 1,
                            of,
                        }),
                        (None, reason) => reason.map(|reason| Mark::Fell {
                            stage: Some(*stage),
                            reason,
                        }),
                    });
                }
                Told::Reranked(ranked) => {
                    let of = whole(ranked.len());
                    let place = ranked.iter().position(|(text, _)| holds(*text));
                    marks.extend(place.map(|rank| Mark::Reranked {
                        score: ranked[rank].1,
                        rank: whole(rank) + 1,
                        of,
                    }));
                }
                Told::Context(labels, dropped) => {
                    // a later context takes the place of the one before
                    marks.retain(|mark| !matches!(mark, Mark::Used { .. }));
                    let used = labels
                        .iter()
                        .find(|(text, _)| holds(*text))
                        .map(|(_, label)| Mark::Used { label: *label });
                    let lost = || {
                        fell(dropped, holds).map(|reason| Mark::Fell {
                            stage: None,
                            reason,
                        })
                    };
                    let told = marks.iter().any(|mark| matches!(mark, Mark::Fell { .. }));
                    marks.extend(used.or_else(|| lost().filter(|_| !told)));
                }
            }
        }
        // a relative of a hit need not be one itself
        if marks
            .iter()
            .any(|mark| matches!(mark, Mark::Joined { .. } | Mark::Used { .. }))
        {
            marks.retain(|mark| !matches!(mark, Mark::NoHit { .. }));
        }
        marks
    }
}

fn fell(dropped: &[DroppedChunk], holds: impl Fn(u64) -> bool) -> Option<DropReason> {
    dropped
        .iter()
        .find(|dropped| holds(dropped.chunk))
        .map(|dropped| dropped.reason.clone())
}

fn whole(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Linked => "linked",
            Self::Alike => "alike in words",
            Self::Redundant => "redundant",
            Self::Graded => "graded",
            Self::Judged => "judged",
            Self::Merged => "merged",
        })
    }
}

/// In words of a few syllables, as a list of them reads.
impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hit { rank, of } => {
                write!(f, "found, rank {rank} of the {of} hits that are kept")
            }
            Self::NoHit { of } => write!(f, "✗ not among the {of} hits that are kept"),
            Self::Joined { texts: 1 } => write!(f, "linked: part of one joined text"),
            Self::Joined { texts } => write!(f, "linked: part of {texts} joined texts"),
            Self::Graded { score, threshold } => {
                write!(f, "graded {score:.3}, threshold {threshold:.3}")
            }
            Self::Judged { probability } => write!(f, "judged relevant with {probability:.3}"),
            Self::Passed { stage, rank, of } => write!(f, "{stage}: kept, rank {rank} of {of}"),
            Self::Fell {
                stage: Some(stage),
                reason,
            } => write!(f, "✗ {stage}: {reason}"),
            Self::Fell {
                stage: None,
                reason,
            } => write!(f, "✗ context: {reason}"),
            Self::Reranked { score, rank, of } => {
                write!(f, "reranked: score {score:.3}, rank {rank} of {of}")
            }
            Self::Used { label } => write!(f, "in the context as [{label}]"),
        }
    }
}

impl std::fmt::Display for DropReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BelowK { k } => write!(f, "it ranks below the {k} that the context takes"),
            Self::ContextFull {
                needed_tokens,
                available_tokens,
            } => {
                write!(
                    f,
                    "the prompt would have {needed_tokens} tokens, and there is room for {available_tokens}"
                )
            }
            Self::Recut => write!(
                f,
                "its document was cut again for this question, and new chunks took its place"
            ),
            Self::Unnecessary { round } => write!(
                f,
                "pruned after round {round}: without it the answer is the same"
            ),
            Self::Redundant { cosine, .. } => {
                write!(f, "a better chunk says the same (cosine {cosine:.3})")
            }
            Self::BelowThreshold { score, threshold } => {
                write!(
                    f,
                    "its score {score:.3} is below the threshold {threshold:.3}"
                )
            }
            Self::Irrelevant {
                probability,
                least_probability,
            } => {
                write!(
                    f,
                    "the judge finds it relevant with {probability:.3}, and {least_probability} is asked for"
                )
            }
            Self::Absorbed { .. } => write!(f, "its chunks are part of a better text"),
            Self::Excluded => write!(f, "its place is excluded (retriever.excluded)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Context, ContextChunk, Fusion, Hit, Ranked, RerankedChunk, Retrieval};

    fn hit(id: u64, rank: u32) -> Hit {
        let chunk = ChunkText {
            id,
            document: "a.md".to_owned(),
            headings: Vec::new(),
            bytes: [0, 1],
            lines: [1, 1],
            tokens: 1,
            text: "x".to_owned(),
            parts: Vec::new(),
        };
        Hit {
            chunk,
            bm25: None,
            vector: None,
            fused: Ranked { score: 1.0, rank },
        }
    }

    fn retrieved(ids: &[u64]) -> Event {
        let hits = (1..).zip(ids).map(|(rank, id)| hit(*id, rank)).collect();
        let (query, fusion) = ("q".to_owned(), Fusion::Weighted);
        let retrieval = Retrieval {
            query,
            fusion,
            hits,
            bm25_found: 3,
            vector_found: 3,
            wall_us: 1,
        };
        Event::RetrievalFinished { step: 0, retrieval }
    }

    fn words(fates: &Fates, chunk: u64) -> Vec<String> {
        fates.of(chunk).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_stage_leaves_its_mark() {
        let mut fates = Fates::default();
        let dropped = |chunk, reason| DroppedChunk { chunk, reason };
        let twin = dropped(
            3,
            DropReason::Redundant {
                twin: 1,
                cosine: 0.95,
            },
        );
        let below = dropped(2, DropReason::BelowK { k: 1 });
        for event in [
            retrieved(&[1, 2, 3]),
            Event::StageFinished {
                step: 0,
                stage: Stage::Redundant,
                kept: vec![1, 2],
                dropped: vec![twin.clone()],
            },
            Event::ChunksReranked {
                step: 0,
                ranked: vec![
                    RerankedChunk {
                        chunk: 1,
                        score: 0.9,
                    },
                    RerankedChunk {
                        chunk: 2,
                        score: 0.1,
                    },
                ],
            },
            Event::ContextBuilt {
                step: 0,
                context: Context {
                    chunks: vec![ContextChunk {
                        label: 1,
                        chunk: 1,
                        tokens: 1,
                    }],
                    dropped: vec![twin, below],
                    prompt_tokens: 1,
                    available_tokens: 9,
                },
            },
        ] {
            fates.see(&event);
        }
        assert_eq!(
            words(&fates, 1),
            [
                "found, rank 1 of the 3 hits that are kept",
                "redundant: kept, rank 1 of 2",
                "reranked: score 0.900, rank 1 of 2",
                "in the context as [1]",
            ]
        );
        assert_eq!(
            words(&fates, 2).last().map(String::as_str),
            Some("✗ context: it ranks below the 1 that the context takes")
        );
        let lost = fates.of(3);
        assert_eq!(lost.len(), 2, "a loss is told once: {lost:?}");
        assert!(
            lost[1].is_loss()
                && lost[1]
                    .to_string()
                    .starts_with("✗ redundant: a better chunk")
        );
        assert_eq!(words(&fates, 9), ["✗ not among the 3 hits that are kept"]);
        // its document is cut again: what is found among the new chunks takes nothing back of what was told
        fates.see(&Event::DocumentsRecut {
            step: 0,
            documents: Vec::new(),
            similarity: 0.6,
            most_tokens: 48,
        });
        assert!(fates.awaits_recut());
        fates.see(&retrieved(&[77]));
        let after = words(&fates, 1);
        assert_eq!(
            after.first().map(String::as_str),
            Some("found, rank 1 of the 3 hits that are kept")
        );
        assert!(
            after
                .last()
                .is_some_and(|last| last.starts_with("✗ context: its document was cut again")),
            "{after:?}"
        );
        assert_eq!(
            fates.of(3).len(),
            2,
            "what was lost before stays lost for its own reason"
        );
    }
}
