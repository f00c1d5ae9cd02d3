//! Maps positions in extracted text back to positions in its source.

use std::ops::Range;

use crate::event::saturating_u32;

/// Text with the origin of every byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Traced {
    pub(super) text: String,
    pub(super) origin: Offsets,
}

/// The positions of a text in its source, as runs of equal steps. A text without runs is its
/// source, byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offsets {
    runs: Vec<Run>,
}

/// A run of a text: from `text_start` on, every `text_step` bytes of text stand for `source_step`
/// bytes of the source from `source_start` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    text_start: usize,
    source_start: u64,
    text_step: u32,
    source_step: u32,
}

impl Run {
    /// Returns where the unit that contains the byte `at` of the text begins in the source.
    fn source(&self, at: usize) -> u64 {
        let units = (at - self.text_start) as u64 / u64::from(self.text_step.max(1));
        self.source_start + units * u64::from(self.source_step)
    }
}

impl Traced {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            origin: Offsets::default(),
        }
    }

    /// Adds text that is in the source byte for byte.
    pub(super) fn copy(&mut self, text: &str, source: u64) {
        self.add(
            text,
            Run {
                text_start: self.text.len(),
                source_start: source,
                text_step: 1,
                source_step: 1,
            },
        );
    }

    /// Adds one unit of text that stands for `source_bytes` of the source: a decoded character, an
    /// entity, a line end that a tag implies.
    pub(super) fn stand_for(&mut self, text: &str, source: u64, source_bytes: u32) {
        let text_step = saturating_u32(text.len());
        self.add(
            text,
            Run {
                text_start: self.text.len(),
                source_start: source,
                text_step,
                source_step: source_bytes,
            },
        );
    }

    /// Adds a part of another text, with the origin that it has there.
    pub(super) fn copy_part(&mut self, from: &Self, part: Range<usize>) {
        let runs = &from.origin.runs;
        let after = runs.partition_point(|run| run.text_start <= part.start);
        let Some(mut index) = after.checked_sub(1) else {
            return self.copy(&from.text[part.clone()], part.start as u64);
        };

        let mut at = part.start;
        while at < part.end {
            let next = runs.get(index + 1).map_or(part.end, |run| run.text_start);
            let end = next.min(part.end);
            let run = Run {
                text_start: self.text.len(),
                source_start: runs[index].source(at),
                ..runs[index]
            };
            self.add(&from.text[at..end], run);
            at = end;
            index += 1;
        }
    }

    fn add(&mut self, text: &str, run: Run) {
        if text.is_empty() {
            return;
        }
        if !self
            .origin
            .runs
            .last()
            .is_some_and(|last| is_continued_by(last, &run))
        {
            self.origin.runs.push(run);
        }
        self.text.push_str(text);
    }
}

fn is_continued_by(last: &Run, run: &Run) -> bool {
    let has_same_steps = last.text_step == run.text_step && last.source_step == run.source_step;
    let has_whole_units =
        (run.text_start - last.text_start).is_multiple_of(last.text_step.max(1) as usize);
    has_same_steps && has_whole_units && last.source(run.text_start) == run.source_start
}

impl Offsets {
    /// Returns whether the text is its source, byte for byte.
    pub(super) fn is_identity(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the offsets of a text that is its source without the first `bytes`.
    pub(super) fn with_skipped(bytes: u64) -> Self {
        Self {
            runs: vec![Run {
                text_start: 0,
                source_start: bytes,
                text_step: 1,
                source_step: 1,
            }],
        }
    }

    /// Returns the position in the source of the byte `at` of the text.
    pub(super) fn source(&self, at: usize) -> u64 {
        self.run(at).map_or(at as u64, |run| run.source(at))
    }

    /// Returns the part of the source that a part of the text stands for. An empty part is empty in
    /// the source, too.
    pub(super) fn source_range(&self, part: Range<usize>) -> Range<u64> {
        let start = self.source(part.start);
        if part.is_empty() {
            return start..start;
        }
        let last = part.end - 1;
        let end = self.run(last).map_or(part.end as u64, |run| {
            run.source(last) + u64::from(run.source_step)
        });
        start..end.max(start)
    }

    fn run(&self, at: usize) -> Option<&Run> {
        let after = self.runs.partition_point(|run| run.text_start <= at);
        self.runs.get(after.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_maps_back() {
        let mut traced = Traced::default();
        traced.copy("ab", 10);
        traced.copy("cd", 12);
        traced.stand_for("&", 14, 5);
        traced.stand_for("\n", 30, 0);
        traced.stand_for("é", 40, 1);
        traced.stand_for("é", 41, 1);
        assert_eq!(traced.text, "abcd&\néé");
        assert_eq!(
            traced.origin.runs.len(),
            4,
            "neighbours that continue share a run"
        );
        let cases = [
            (0..2, 10..12),
            (1..4, 11..14),
            (4..5, 14..19),
            (3..5, 13..19),
            (5..6, 30..30),
            (6..8, 40..41),
            (8..10, 41..42),
        ];
        for (part, source) in cases {
            assert_eq!(traced.origin.source_range(part.clone()), source, "{part:?}");
        }
    }

    #[test]
    fn parts_keep_their_origin() {
        let mut source = Traced::default();
        source.copy("ab", 10);
        source.stand_for("é", 12, 1);
        source.stand_for("é", 13, 1);
        source.copy("cd", 20);

        let mut parts = Traced::default();
        parts.copy_part(&source, 1..4);
        parts.copy_part(&source, 6..8);
        assert_eq!(parts.text, "bécd");
        let origins: Vec<_> = [0, 1, 3, 4].map(|at| parts.origin.source(at)).to_vec();
        assert_eq!(origins, [11, 12, 20, 21]);
    }

    #[test]
    fn text_without_runs_equals_its_source() {
        assert_eq!(Offsets::default().source_range(3..7), 3..7);
        assert_eq!(Offsets::with_skipped(3).source_range(0..4), 3..7);
    }
}
