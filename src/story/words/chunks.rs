//! The way of a chunk through the stages.

use crate::event::{DropReason, Stage, saturating_u32};
use crate::story::funnel::Mark;
use crate::story::lookup::Lookup;
use crate::story::step::Step;

use super::numbers::{distinct_scores, ordinal, quantity, score};
use super::places::chunk_location;

/// The sign of a chunk that went no further.
pub const LOST: &str = "✗";

/// Fall of the log-probability of a sentence from which on the source that was left out carries it,
/// nats: it is 2.7 times less likely.
const CARRIED: f32 = 1.0;

/// Returns how much less likely a sentence is without its sources, and the source that it attends
/// to where that is not the one which carries it; `None` where it was not measured.
pub fn ablation(step: &Step) -> Option<String> {
    let first = step.ablated.first()?;
    if first.logprob_drop < CARRIED {
        return Some("no single source carries it".to_owned());
    }

    let carrying = step.ablated.iter();
    let carrying = carrying.take_while(|chunk| chunk.logprob_drop >= CARRIED);
    let times = carrying.map(|chunk| match chunk.logprob_drop.exp() {
        few if few < 9.95 => format!("[{}] {few:.1}", chunk.label),
        some if some < 1000.0 => format!("[{}] {some:.0}", chunk.label),
        _ => format!("[{}] over 1,000", chunk.label),
    });
    let times: Vec<String> = times.collect();
    let words = format!("without {} times less likely", times.join(", "));
    let attended = step.attended.first().map(|chunk| chunk.label);
    Some(match attended.filter(|label| *label != first.label) {
        Some(other) => format!("{words} ≠ attention points at [{other}]"),
        None => words,
    })
}

/// Returns why a chunk is not in the context, short enough for a column. `first_word_seconds` is
/// the setting of that name.
pub fn drop_reason(
    reason: &DropReason,
    chunk: u64,
    lookup: &Lookup,
    first_word_seconds: f32,
) -> String {
    match reason {
        DropReason::BelowK { k } => match rank_below(*k, chunk, lookup) {
            Some(rank) => format!("{}; {} fit", ordinal(rank), count_fitting(*k, lookup)),
            None => format!("only {} fit", count_fitting(*k, lookup)),
        },
        DropReason::ContextFull { .. } => "context full".to_owned(),
        DropReason::Late { .. } => format!("> {first_word_seconds} s to read"),
        DropReason::Rechunked => "re-chunked".to_owned(),
        DropReason::Unnecessary { round } => format!("pruned, round {round}"),
        DropReason::Redundant {
            duplicate_of,
            similarity,
        } => match lookup.label(*duplicate_of) {
            Some(label) => format!("same as [{label}]"),
            None => format!("duplicate {}", score(*similarity, 2)),
        },
        DropReason::BelowThreshold {
            score: own,
            threshold,
        } => {
            let [own, threshold] = distinct_scores(*own, *threshold, 2);
            format!("grade {own} < {threshold}")
        }
        DropReason::Irrelevant { probability, .. } => {
            format!("irrelevant {}", score(*probability, 2))
        }
        DropReason::Absorbed { .. } => "merged".to_owned(),
        DropReason::Excluded => "excluded".to_owned(),
    }
}

/// Returns why a chunk is not in the context, with the figures that decided it.
pub fn drop_reason_in_full(reason: &DropReason, chunk: u64, lookup: &Lookup) -> String {
    match reason {
        DropReason::BelowK { k } => match rank_below(*k, chunk, lookup) {
            Some(rank) => format!("ranked {rank}, and the context takes the top {k}"),
            None => format!("not in the top {k} that the context takes"),
        },
        DropReason::ContextFull {
            needed_tokens,
            available_tokens,
        } => format!(
            "does not fit: the prompt would have {needed_tokens} tokens, and {available_tokens} are available"
        ),
        DropReason::Late {
            needed_tokens,
            timely_tokens,
        } => format!(
            "not read: the prompt would have {needed_tokens} tokens, and this machine reads {timely_tokens} before the first word is due (answer.first_word_seconds)"
        ),
        DropReason::Rechunked => {
            "its document was re-chunked for this question; new chunks replace it".to_owned()
        }
        DropReason::Unnecessary { round } => format!(
            "pruned after round {round}: the model did not understand it, and the answer is the same without it"
        ),
        DropReason::Redundant {
            duplicate_of,
            similarity,
        } => format!(
            "near-duplicate of {}, cosine {}",
            name_of(*duplicate_of, lookup),
            score(*similarity, 3)
        ),
        DropReason::BelowThreshold {
            score: own,
            threshold,
        } => {
            let [own, threshold] = distinct_scores(*own, *threshold, 3);
            format!("score {own} is below the threshold {threshold}")
        }
        DropReason::Irrelevant {
            probability,
            min_probability,
        } => format!(
            "judged relevant with probability {}, below the minimum {}",
            score(*probability, 3),
            score(*min_probability, 3)
        ),
        DropReason::Absorbed { by } => format!("its chunks are part of {}", name_of(*by, lookup)),
        DropReason::Excluded => "you excluded it (retriever.excluded)".to_owned(),
    }
}

/// Returns the number of chunks that fit: fewer than `k` where others took too long to read.
fn count_fitting(k: u32, lookup: &Lookup) -> u32 {
    let Some(context) = &lookup.context else {
        return k;
    };
    let mut reasons = context.dropped.iter().map(|dropped| &dropped.reason);
    if reasons.any(|reason| matches!(reason, DropReason::Late { .. })) {
        saturating_u32(context.chunks.len())
    } else {
        k
    }
}

/// Returns the rank of a chunk below the `k` that the context takes; `None` where a stage behind
/// the search chose among them.
fn rank_below(k: u32, chunk: u64, lookup: &Lookup) -> Option<u32> {
    let hit = lookup.hit(chunk).filter(|_| lookup.funnel.is_empty())?;
    Some(hit.fused.rank).filter(|rank| *rank > k)
}

/// A text of the same lookup, by its label, else its location.
fn name_of(text: u64, lookup: &Lookup) -> String {
    if let Some(label) = lookup.label(text) {
        return format!("[{label}]");
    }
    lookup.hit(text).map_or_else(
        || "another text".to_owned(),
        |hit| chunk_location(&hit.chunk),
    )
}

/// Returns what a passage says to the model, for the reader.
pub fn order(order: &str) -> String {
    format!("addresses the model: “{order}”")
}

/// Returns what happened to a chunk at one stage.
pub fn mark(mark: &Mark, chunk: u64, lookup: &Lookup) -> String {
    match mark {
        Mark::Hit { rank, of } => format!("rank {rank} of {}", quantity((*of).into(), "hit")),
        Mark::NoHit { of } => format!("not among the {}", quantity((*of).into(), "hit")),
        Mark::Copy { of } => {
            let same = format!("says the same as {}", name_of(*of, lookup));
            match copy_dates(*of, chunk, lookup) {
                Some([own, other]) => format!("{same} of {other}, and is of {own}"),
                None => same,
            }
        }
        Mark::Joined { texts } => format!("part of {}", quantity((*texts).into(), "joined text")),
        Mark::Graded { score, threshold } => {
            format!("score {score:.3}, threshold {threshold:.3}")
        }
        Mark::Judged { probability } => format!("relevant with probability {probability:.3}"),
        Mark::Passed { rank, of, .. } => format!("kept, rank {rank} of {of}"),
        Mark::Reranked { score, rank, of } => format!("score {score:.3}, rank {rank} of {of}"),
        Mark::Fell { reason, .. } => drop_reason_in_full(reason, chunk, lookup),
        Mark::Used { label } => format!("used as [{label}]"),
    }
}

/// Returns the dates of a copy and of the hit that takes its place, where they have two.
fn copy_dates(of: u64, chunk: u64, lookup: &Lookup) -> Option<[&str; 2]> {
    let hit = lookup.hit(of)?;
    let copy = hit.copies.iter().find(|copy| copy.chunk == chunk)?;
    Some([copy.date.as_deref()?, hit.date.as_deref()?])
}

/// Returns the name of the stage that left a mark.
pub fn mark_stage(mark: &Mark) -> &'static str {
    match mark {
        Mark::Hit { .. } | Mark::NoHit { .. } => "retained",
        Mark::Copy { .. } => "copy",
        Mark::Joined { .. } => stage(Stage::Linked),
        Mark::Graded { .. } => stage(Stage::Graded),
        Mark::Judged { .. } => stage(Stage::Judged),
        Mark::Passed { stage: at, .. }
        | Mark::Fell {
            stage: Some(at), ..
        } => stage(*at),
        Mark::Reranked { .. } => "reranking",
        Mark::Used { .. } | Mark::Fell { stage: None, .. } => "context",
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Linked => "linking",
        Stage::Redundant => "redundancy",
        Stage::Graded => "grading",
        Stage::Judged => "relevance",
        Stage::Merged => "merging",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AblatedChunk, AttendedChunk, ChunkText, Hit, Retrieval};

    #[test]
    fn the_source_that_carries_a_sentence_is_named_with_its_factor() {
        let none = "no single source carries it";
        let cases: [(&[f32], &[f32], Option<&str>); 7] = [
            (&[], &[1.0], None),
            (&[0.99, -0.5], &[], Some(none)),
            (&[0.2, 0.4], &[0.9, 0.1], Some(none)),
            (&[0.1, 3.69], &[], Some("without [2] 40 times less likely")),
            (
                &[1.0, 2.0],
                &[0.2, 0.8],
                Some("without [2] 7.4, [1] 2.7 times less likely"),
            ),
            (
                &[2.3, 54.0],
                &[0.6, 0.4],
                Some("without [2] over 1,000, [1] 10 times less likely ≠ attention points at [1]"),
            ),
            (
                &[f32::MAX],
                &[1.0],
                Some("without [1] over 1,000 times less likely"),
            ),
        ];
        for (drops, shares, expected) in cases {
            let mut step = Step::default();
            let ablated = |(label, drop): (u32, &f32)| AblatedChunk {
                label,
                chunk: 0,
                logprob_drop: *drop,
            };
            let attended = |(label, share): (u32, &f32)| AttendedChunk {
                label,
                chunk: 0,
                share: *share,
            };
            step.ablate((1..).zip(drops).map(ablated).collect());
            step.attribute((1..).zip(shares).map(attended).collect());
            assert_eq!(ablation(&step).as_deref(), expected, "{drops:?}");
        }
    }

    #[test]
    fn each_reason_of_a_dropped_chunk_has_its_own_words() {
        let lookup = Lookup::default();
        let cases = [
            (DropReason::BelowK { k: 3 }, "only 3 fit"),
            (
                DropReason::ContextFull {
                    needed_tokens: 2_100,
                    available_tokens: 2_048,
                },
                "context full",
            ),
            (
                DropReason::Late {
                    needed_tokens: 900,
                    timely_tokens: 560,
                },
                "> 8 s to read",
            ),
            (DropReason::Rechunked, "re-chunked"),
            (DropReason::Unnecessary { round: 2 }, "pruned, round 2"),
            (
                DropReason::Redundant {
                    duplicate_of: 7,
                    similarity: 0.93,
                },
                "duplicate .93",
            ),
            (
                DropReason::BelowThreshold {
                    score: 0.21,
                    threshold: 0.4,
                },
                "grade .21 < .40",
            ),
            (
                DropReason::Irrelevant {
                    probability: 0.2,
                    min_probability: 0.5,
                },
                "irrelevant .20",
            ),
            (DropReason::Absorbed { by: 7 }, "merged"),
            (DropReason::Excluded, "excluded"),
        ];
        for (reason, expected) in cases {
            assert_eq!(drop_reason(&reason, 0, &lookup, 8.0), expected);
        }

        let mut found = Lookup::default();
        found.set_retrieval(Retrieval {
            hits: (1..=4)
                .map(|rank| {
                    let chunk = ChunkText {
                        id: u64::from(rank),
                        ..ChunkText::default()
                    };
                    Hit::with_rank(chunk, rank)
                })
                .collect(),
            ..Retrieval::default()
        });
        let below = |chunk, k| drop_reason(&DropReason::BelowK { k }, chunk, &found, 8.0);
        assert_eq!(below(4, 3), "4th; 3 fit");
        // a pinned chunk took its place
        assert_eq!(below(3, 3), "only 3 fit");
    }
}
