use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::{
    ChunkText, Context, DocumentLinks, DropReason, DroppedChunk, GradedChunk, Hit, RunEvent, Stage,
    saturating_u32,
};

/// The stages between the retriever and the context, in order, with what each said of its texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Funnel {
    /// The hits of the retriever, best first.
    hits: Vec<u64>,
    /// The hit that each copy says the same as.
    copies: BTreeMap<u64, u64>,
    /// The chunks of each joined text.
    members: BTreeMap<u64, Vec<u64>>,
    /// The events of the stages and the contexts.
    passes: Vec<RunEvent>,
    /// The documents behind the hits, with the links between their chunks.
    pub links: Vec<DocumentLinks>,
}

/// The number of texts that a stage kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Narrowed {
    pub stage: Stage,
    pub kept: usize,
    /// True when a filter rejected every text and kept the best all the same.
    pub fell_back: bool,
}

/// The result of one stage for a chunk.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "mark", rename_all = "snake_case")]
pub enum Mark {
    /// Among the retained hits, at this rank of the fused list.
    Hit { rank: u32, of: u32 },
    /// Not among the retained hits.
    NoHit { of: u32 },
    /// Says the same as this hit, which takes the place of both.
    Copy { of: u64 },
    /// Became part of this many joined texts.
    Joined { texts: u32 },
    /// The judges gave this score.
    Graded { score: f32, threshold: f32 },
    /// The judge finds it relevant with this probability.
    Judged { probability: f32 },
    /// Survived this stage, at this rank.
    Passed { stage: Stage, rank: u32, of: u32 },
    /// A stage dropped it, and every text that it is part of. None: it was dropped from the
    /// context.
    Fell {
        stage: Option<Stage>,
        reason: DropReason,
    },
    /// The reranker gave it this rank.
    Reranked { score: f32, rank: u32, of: u32 },
    /// Used in the context, under this label.
    Used { label: u32 },
}

impl Mark {
    /// Returns whether the chunk went no further.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::NoHit { .. } | Self::Fell { .. })
    }
}

impl Funnel {
    pub(super) fn new(hits: &[Hit]) -> Self {
        Self {
            hits: hits.iter().map(|hit| hit.chunk.id).collect(),
            copies: hits.iter().flat_map(copies_of).collect(),
            ..Self::default()
        }
    }

    /// Replaces the known links of a document.
    pub(super) fn set_links(&mut self, links: DocumentLinks) {
        self.links.retain(|known| known.document != links.document);
        self.links.push(links);
    }

    /// Adds the event of a stage or a context.
    pub(super) fn add(&mut self, event: RunEvent) {
        self.passes.push(event);
    }

    pub(super) fn add_members(&mut self, texts: &[Hit]) {
        for ChunkText { id, parts, .. } in texts.iter().map(|hit| &hit.chunk) {
            let members = parts.iter().map(|part| part.chunk).collect();
            self.members.insert(*id, members);
        }
    }

    /// Returns whether there was no stage.
    pub fn is_empty(&self) -> bool {
        self.stages().next().is_none() && self.reranked_texts().is_none()
    }

    /// The stages in their order, with what each left.
    pub fn stages(&self) -> impl Iterator<Item = Narrowed> {
        self.passes.iter().filter_map(|pass| match pass {
            RunEvent::StageFinished { stage, kept, .. } => Some(Narrowed {
                stage: *stage,
                kept: kept.len(),
                fell_back: self.fell_back(*stage),
            }),
            _ => None,
        })
    }

    fn fell_back(&self, at: Stage) -> bool {
        self.passes.iter().any(|pass| match pass {
            RunEvent::ChunksGraded { fell_back, .. } => *fell_back && at == Stage::Graded,
            RunEvent::ChunksJudged { fell_back, .. } => *fell_back && at == Stage::Judged,
            _ => false,
        })
    }

    /// The grades of a text.
    pub fn grade(&self, text: u64) -> Option<&GradedChunk> {
        self.passes.iter().rev().find_map(|pass| match pass {
            RunEvent::ChunksGraded { graded, .. } => {
                graded.iter().find(|graded| graded.chunk == text)
            }
            _ => None,
        })
    }

    /// The threshold of the grades.
    pub fn threshold(&self) -> Option<f32> {
        self.passes.iter().rev().find_map(|pass| match pass {
            RunEvent::ChunksGraded { threshold, .. } => Some(*threshold),
            _ => None,
        })
    }

    /// The number of texts that the reranker ordered.
    pub fn reranked_texts(&self) -> Option<usize> {
        self.passes.iter().rev().find_map(|pass| match pass {
            RunEvent::ChunksReranked { ranked, .. } => Some(ranked.len()),
            _ => None,
        })
    }

    /// The links of the document that holds a chunk, and the position of the chunk among them.
    pub fn links_of(&self, chunk: u64) -> Option<(&DocumentLinks, usize)> {
        self.links.iter().find_map(|document| {
            let mut chunks = document.chunks.iter();
            let position = chunks.position(|linked| linked.chunk == chunk)?;
            Some((document, position))
        })
    }

    /// Returns the marks of a chunk, in order; for a copy those of its hit.
    pub fn marks(&self, chunk: u64) -> Vec<Mark> {
        match self.copies.get(&chunk) {
            Some(of) if !self.hits.contains(&chunk) => {
                let mut marks = vec![Mark::Copy { of: *of }];
                marks.extend(self.marks_of_hit(*of));
                marks
            }
            _ => self.marks_of_hit(chunk),
        }
    }

    fn marks_of_hit(&self, chunk: u64) -> Vec<Mark> {
        let of = saturating_u32(self.hits.len());
        let hit = self.hits.iter().position(|hit| *hit == chunk);
        let mut marks = vec![hit.map_or(Mark::NoHit { of }, |at| Mark::Hit { rank: rank(at), of })];

        for pass in &self.passes {
            match pass {
                RunEvent::DocumentsRechunked { .. } => {
                    take_context_back(&mut marks);
                    if !marks.iter().any(Mark::is_loss) {
                        marks.push(Mark::Fell {
                            stage: None,
                            reason: DropReason::Rechunked,
                        });
                    }
                }
                // a later context replaces the one before
                RunEvent::ContextBuilt { context, .. } => {
                    take_context_back(&mut marks);
                    let is_lost = marks.iter().any(|mark| matches!(mark, Mark::Fell { .. }));
                    let mark = self.mark_of_context(context, chunk);
                    marks.extend(mark.filter(|mark| !is_lost || matches!(mark, Mark::Used { .. })));
                }
                stage => marks.extend(self.mark_of_stage(stage, chunk)),
            }
        }

        // a relative of a hit need not be a hit itself
        let is_used = |mark: &Mark| matches!(mark, Mark::Joined { .. } | Mark::Used { .. });
        if marks.iter().any(is_used) {
            marks.retain(|mark| !matches!(mark, Mark::NoHit { .. }));
        }
        marks
    }

    /// Returns the mark that a stage between the search and the context left on a chunk.
    fn mark_of_stage(&self, pass: &RunEvent, chunk: u64) -> Option<Mark> {
        let holds = |text: u64| self.holds(text, chunk);

        match pass {
            RunEvent::ChunksLinked { linked, .. } => {
                let texts = linked.iter().filter(|text| holds(text.hit.chunk.id));
                let texts = saturating_u32(texts.count());
                (texts > 0).then_some(Mark::Joined { texts })
            }
            RunEvent::ChunksGraded {
                graded, threshold, ..
            } => {
                let scores = graded.iter().filter(|graded| holds(graded.chunk));
                let best = scores.map(|graded| graded.score).reduce(f32::max);
                best.map(|score| Mark::Graded {
                    score,
                    threshold: *threshold,
                })
            }
            RunEvent::ChunksJudged { judged, .. } => {
                let judged = judged.iter().filter(|judged| holds(judged.chunk));
                let best = judged.map(|judged| judged.probability).reduce(f32::max);
                best.map(|probability| Mark::Judged { probability })
            }
            RunEvent::StageFinished {
                stage,
                kept,
                dropped,
                ..
            } => match kept.iter().position(|text| holds(*text)) {
                Some(at) => Some(Mark::Passed {
                    stage: *stage,
                    rank: rank(at),
                    of: saturating_u32(kept.len()),
                }),
                None => reason(dropped, holds).map(|reason| Mark::Fell {
                    stage: Some(*stage),
                    reason,
                }),
            },
            RunEvent::ChunksReranked { ranked, .. } => {
                let at = ranked.iter().position(|ranked| holds(ranked.chunk));
                at.map(|at| Mark::Reranked {
                    score: ranked[at].score,
                    rank: rank(at),
                    of: saturating_u32(ranked.len()),
                })
            }
            _ => None,
        }
    }

    /// Returns the place of a chunk in a context, or why it is not in it.
    fn mark_of_context(&self, context: &Context, chunk: u64) -> Option<Mark> {
        let holds = |text: u64| self.holds(text, chunk);
        let used = context.chunks.iter().find(|used| holds(used.chunk));
        let fell = |reason| Mark::Fell {
            stage: None,
            reason,
        };

        match used {
            Some(used) => Some(Mark::Used { label: used.label }),
            None => reason(&context.dropped, holds).map(fell),
        }
    }

    /// Returns whether a text is a chunk, or was joined of it and others.
    fn holds(&self, text: u64, chunk: u64) -> bool {
        let members = self.members.get(&text);
        text == chunk || members.is_some_and(|members| members.contains(&chunk))
    }
}

/// Returns the copies of a hit, each with the hit.
fn copies_of(hit: &Hit) -> impl Iterator<Item = (u64, u64)> {
    let of = hit.chunk.id;
    hit.copies.iter().map(move |copy| (copy.chunk, of))
}

/// Removes the place in a context that another context replaces.
fn take_context_back(marks: &mut Vec<Mark>) {
    marks.retain(|mark| !matches!(mark, Mark::Used { .. }));
}

/// Returns the reason that a chunk was dropped: that of the first text that contains it.
fn reason(dropped: &[DroppedChunk], holds: impl Fn(u64) -> bool) -> Option<DropReason> {
    let first = dropped.iter().find(|dropped| holds(dropped.chunk));
    first.map(|dropped| dropped.reason.clone())
}

/// The rank of a position: ranks count from 1.
fn rank(position: usize) -> u32 {
    saturating_u32(position).saturating_add(1)
}
