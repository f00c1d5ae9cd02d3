//! The first broken link of the chain from a file to the answer.

use serde::{Deserialize, Serialize};

use crate::event::DropReason;

use super::funnel::Mark;

/// The place in the chain of what the model made of the passages.
pub(super) const UNDERSTOOD: usize = 4;

/// The first link of the chain that is broken, in the order of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokenLink {
    /// No file holds the passage, as far as files can be read.
    NotInCorpus,
    /// A file holds it that is not in the index.
    NotRead,
    /// One chunk holds its beginning, and the next one its end.
    Cut,
    /// The run retrieved nothing.
    NotSearched,
    /// The passage ranks below the chunks that the context takes.
    NotFound,
    /// The user's filter of documents leaves it out, or the user excluded it.
    LeftOut,
    /// A chunk of nearly the same words took its place.
    Replaced,
    /// A filter dropped it.
    Filtered,
    /// The reranker moved it below the chunks that the context takes.
    Outranked,
    /// The prompt has no room for it.
    NoRoom,
    /// The first word of the answer would have come too late.
    NoTime,
    /// A round of refinement dropped it.
    Pruned,
    /// The passage was in the prompt, and the sources were judged not to answer the question.
    Refused,
    /// The model reads the answer in the passage alone, and not among the others.
    Misled,
    /// The model does not read the answer in the passage, and knows it by itself.
    KnownWithout,
    /// The model does not read the answer in the passage.
    Unread,
}

/// The facts about a run that say which link is broken.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Whether the answer holds what is expected.
    pub is_said: bool,
    pub found: Found,
    /// The marks of the chunk that came furthest; none where nothing was retrieved.
    pub marks: &'a [Mark],
    /// Whether a filter of documents is set, and the chunk ranks among the hits without it.
    pub is_limited: bool,
    /// Whether the sources were judged not to answer the question.
    pub is_refused: bool,
    /// Whether the answer from the passage alone holds it; `None` where that was not asked.
    pub alone: Option<bool>,
    /// Whether the answer without any document holds it; `None` where that was not asked.
    pub from_memory: Option<bool>,
}

/// The place in which the text of a passage was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    Nowhere,
    /// A file that is not in the index.
    OtherFile,
    /// Two neighbouring chunks, which are not both in the context.
    InParts,
    InChunk,
}

impl BrokenLink {
    /// Returns the link that the facts show to be the first broken one; `None` where the answer
    /// holds what is expected.
    pub fn first(facts: &Facts<'_>) -> Option<Self> {
        if facts.is_said {
            return None;
        }
        match facts.found {
            Found::Nowhere => Some(Self::NotInCorpus),
            Found::OtherFile => Some(Self::NotRead),
            Found::InParts => Some(Self::Cut),
            Found::InChunk => Self::lost_at(facts).or_else(|| Some(Self::misunderstanding(facts))),
        }
    }

    /// Returns where a chunk was lost; `None` where it is in the context.
    fn lost_at(facts: &Facts<'_>) -> Option<Self> {
        match (facts.marks.first(), end(facts.marks)) {
            (None, _) | (_, None) => Some(Self::NotSearched),
            (Some(Mark::Copy { .. }), _) => Some(Self::Replaced),
            (_, Some(Mark::Used { .. })) => None,
            (_, Some(Mark::Fell { reason, .. })) => Some(Self::from_reason(reason, facts.marks)),
            _ if facts.is_limited => Some(Self::LeftOut),
            _ => Some(Self::NotFound),
        }
    }

    fn from_reason(reason: &DropReason, marks: &[Mark]) -> Self {
        match reason {
            DropReason::BelowK { k } if is_moved_below(*k, marks) => Self::Outranked,
            DropReason::BelowK { .. } => Self::NotFound,
            DropReason::ContextFull { .. } => Self::NoRoom,
            DropReason::Late { .. } => Self::NoTime,
            DropReason::Rechunked | DropReason::Unnecessary { .. } => Self::Pruned,
            DropReason::Redundant { .. }
            | DropReason::BelowThreshold { .. }
            | DropReason::Irrelevant { .. }
            | DropReason::Absorbed { .. } => Self::Filtered,
            DropReason::Excluded => Self::LeftOut,
        }
    }

    /// Returns why the answer does not hold what a passage in the context says.
    fn misunderstanding(facts: &Facts<'_>) -> Self {
        if facts.is_refused {
            Self::Refused
        } else if facts.alone == Some(true) {
            Self::Misled
        } else if facts.from_memory == Some(true) {
            Self::KnownWithout
        } else {
            Self::Unread
        }
    }

    /// Returns its place among the links of the chain (read, chunked, found, kept, understood), and
    /// its name.
    fn describe(self) -> (usize, &'static str) {
        match self {
            Self::NotInCorpus => (0, "not in the corpus"),
            Self::NotRead => (0, "not read"),
            Self::Cut => (1, "cut across chunks"),
            Self::NotSearched => (2, "not searched"),
            Self::NotFound => (2, "not found"),
            Self::LeftOut => (3, "left out by you"),
            Self::Replaced => (3, "replaced by a near copy"),
            Self::Filtered => (3, "dropped by the filter"),
            Self::Outranked => (3, "dropped by the reranker"),
            Self::NoRoom => (3, "no room in the prompt"),
            Self::NoTime => (3, "too long to read"),
            Self::Pruned => (3, "dropped by the refinement"),
            Self::Refused => (UNDERSTOOD, "refused"),
            Self::Misled => (UNDERSTOOD, "misled by the other passages"),
            Self::KnownWithout => (UNDERSTOOD, "known without the documents"),
            Self::Unread => (UNDERSTOOD, "not understood"),
        }
    }

    /// Returns the name of the link.
    pub fn name(self) -> &'static str {
        self.describe().1
    }

    /// Returns whether the passage was in the prompt.
    pub fn is_of_model(self) -> bool {
        self.place() == UNDERSTOOD
    }

    /// Returns its place among the links of the chain.
    pub(super) fn place(self) -> usize {
        self.describe().0
    }
}

/// Returns the mark of a chunk that says how far it came.
pub(super) fn end(marks: &[Mark]) -> Option<&Mark> {
    let is_end = |mark: &&Mark| mark.is_loss() || matches!(mark, Mark::Used { .. });
    marks.iter().rev().find(is_end).or(marks.last())
}

/// Returns whether the retriever had a chunk among the best `k`, and the reranker had not.
fn is_moved_below(k: u32, marks: &[Mark]) -> bool {
    let is_retrieved = |mark: &Mark| matches!(mark, Mark::Hit { rank, .. } if *rank <= k);
    let is_lowered = |mark: &Mark| matches!(mark, Mark::Reranked { rank, .. } if *rank > k);
    marks.iter().any(is_retrieved) && marks.iter().any(is_lowered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Stage;

    #[test]
    fn the_first_broken_link_follows_from_the_facts() {
        let hit = Mark::Hit { rank: 2, of: 20 };
        let used = Mark::Used { label: 1 };
        let fell = |stage, reason| Mark::Fell { stage, reason };
        let below = |k| fell(None, DropReason::BelowK { k });
        let irrelevant = DropReason::Irrelevant {
            probability: 0.1,
            min_probability: 0.5,
        };
        let full = DropReason::ContextFull {
            needed_tokens: 9,
            available_tokens: 8,
        };
        let lowered = Mark::Reranked {
            score: 0.1,
            rank: 7,
            of: 20,
        };
        let raised = Mark::Hit { rank: 9, of: 20 };

        let lost: Vec<(Vec<Mark>, BrokenLink)> = vec![
            (vec![], BrokenLink::NotSearched),
            (vec![Mark::NoHit { of: 20 }], BrokenLink::NotFound),
            (vec![hit.clone(), below(1)], BrokenLink::NotFound),
            (
                vec![hit.clone(), lowered.clone(), below(3)],
                BrokenLink::Outranked,
            ),
            (vec![raised, lowered, below(3)], BrokenLink::NotFound),
            (
                vec![hit.clone(), fell(Some(Stage::Judged), irrelevant)],
                BrokenLink::Filtered,
            ),
            (vec![hit.clone(), fell(None, full)], BrokenLink::NoRoom),
            (
                vec![
                    hit.clone(),
                    fell(None, DropReason::Unnecessary { round: 1 }),
                ],
                BrokenLink::Pruned,
            ),
            (
                vec![hit.clone(), fell(None, DropReason::Excluded)],
                BrokenLink::LeftOut,
            ),
            (
                vec![Mark::Copy { of: 4 }, hit.clone(), used.clone()],
                BrokenLink::Replaced,
            ),
            (vec![hit.clone(), used.clone()], BrokenLink::Unread),
        ];
        let marks = [hit, used];
        let facts = Facts {
            is_said: false,
            found: Found::InChunk,
            marks: &marks,
            is_limited: false,
            is_refused: false,
            alone: Some(false),
            from_memory: Some(false),
        };
        for (marks, link) in &lost {
            let facts = Facts { marks, ..facts };
            assert_eq!(BrokenLink::first(&facts), Some(*link), "{marks:?}");
        }

        let (no_hit, yes) = ([Mark::NoHit { of: 20 }], Some(true));
        let others = [
            (
                Facts {
                    is_said: true,
                    ..facts
                },
                None,
            ),
            (
                Facts {
                    found: Found::Nowhere,
                    ..facts
                },
                Some(BrokenLink::NotInCorpus),
            ),
            (
                Facts {
                    found: Found::OtherFile,
                    ..facts
                },
                Some(BrokenLink::NotRead),
            ),
            (
                Facts {
                    found: Found::InParts,
                    ..facts
                },
                Some(BrokenLink::Cut),
            ),
            (
                Facts {
                    marks: &no_hit,
                    is_limited: true,
                    ..facts
                },
                Some(BrokenLink::LeftOut),
            ),
            (
                Facts {
                    is_refused: true,
                    alone: yes,
                    ..facts
                },
                Some(BrokenLink::Refused),
            ),
            (
                Facts {
                    alone: yes,
                    from_memory: yes,
                    ..facts
                },
                Some(BrokenLink::Misled),
            ),
            (
                Facts {
                    from_memory: yes,
                    ..facts
                },
                Some(BrokenLink::KnownWithout),
            ),
        ];
        for (facts, link) in others {
            assert_eq!(BrokenLink::first(&facts), link, "{facts:?}");
        }
    }
}
