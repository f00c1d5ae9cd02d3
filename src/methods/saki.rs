//! SAKI-RAG: sentences that attend to each other belong together.
//!
//! "SAKI-RAG: Mitigating Context Fragmentation in Long-Document RAG via Sentence-level Attention Knowledge Integration" (anonymous
//! submission to EMNLP). Section 3.1 reads the attention between the units of a document and keeps for each unit its strongest
//! relatives (equations 2 to 4); section 3.2 retrieves along two axes (algorithm 1, equations 5 and 6). A unit is a chunk.
//!
//! A document longer than a window is read in windows that overlap by half; what is kept in memory depends on the window and not on
//! the document.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::config::LinkDirection;
use crate::event::Link;

/// Windows of units, each of at most `most` tokens (yet at least two units, where there are two), the next one beginning where half of
/// the tokens are behind. `tokens` holds the length of each unit.
#[must_use]
pub fn windows(tokens: &[u32], most: u32) -> Vec<Range<usize>> {
    let mut windows: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    while windows.last().is_none_or(|last| last.end < tokens.len()) && start < tokens.len() {
        let mut sum = 0_u32;
        let fits = |length: &&u32| {
            sum = sum.saturating_add(**length);
            sum <= most
        };
        let fitting = tokens[start..].iter().take_while(fits).count().max(2);
        let end = (start + fitting).min(tokens.len());
        windows.push(start..end);
        let half = tokens[start..end]
            .iter()
            .map(|length| u64::from(*length))
            .sum::<u64>()
            / 2;
        let mut behind = 0;
        let passed = tokens[start..end].iter().take_while(|length| {
            behind += u64::from(**length);
            behind <= half
        });
        // the unit at the end of this window is met again, together with what follows it
        start = (start + passed.count().max(1)).min(end - 1).max(start + 1);
    }
    windows
}

/// Mean over windows of the attention of one unit to another.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f32,
    windows: u32,
}

/// Makes the links of a document of the attention in its windows, which come in order.
#[derive(Debug)]
pub struct LinkMaker {
    links: usize,
    direction: LinkDirection,
    /// One past the last unit that was in a window with each unit.
    reach: Vec<usize>,
    /// Rows that a further window may add to.
    open: BTreeMap<usize, HashMap<usize, Mean>>,
    /// Rows that are complete: shares of the attention to other units.
    shares: BTreeMap<usize, HashMap<usize, f32>>,
    made: Vec<Vec<Link>>,
}

impl LinkMaker {
    /// For each unit the `links` strongest are kept.
    #[must_use]
    pub fn new(links: usize, direction: LinkDirection) -> Self {
        let (open, shares) = (BTreeMap::new(), BTreeMap::new());
        Self {
            links,
            direction,
            reach: Vec::new(),
            open,
            shares,
            made: Vec::new(),
        }
    }

    /// The next window: `rows[i][j]` is the attention that unit `first + i` pays to unit `first + j`.
    pub fn window(&mut self, first: usize, rows: &[Vec<f32>]) {
        self.settle(first);
        let end = first + rows.len();
        self.reach.resize(self.reach.len().max(end), 0);
        for (at, row) in rows.iter().enumerate() {
            let unit = first + at;
            self.reach[unit] = end;
            let open = self.open.entry(unit).or_default();
            for (other, attention) in (first..).zip(row).filter(|(other, _)| *other != unit) {
                let mean = open.entry(other).or_default();
                mean.sum += if attention.is_finite() {
                    *attention
                } else {
                    0.0
                };
                mean.windows += 1;
            }
        }
    }

    /// Rows that are held at the moment: they depend on the windows and not on the document.
    #[must_use]
    pub fn held(&self) -> usize {
        self.open.len() + self.shares.len()
    }

    /// The links of every unit, strongest first, of equal ones the first unit's.
    #[must_use]
    pub fn finish(mut self) -> Vec<Vec<Link>> {
        self.settle(self.reach.len());
        self.made
    }

    /// No further window holds a unit before `first`: complete their rows, and link the units whose neighbours are all complete.
    fn settle(&mut self, first: usize) {
        let later = self.open.split_off(&first);
        for (unit, row) in std::mem::replace(&mut self.open, later) {
            self.shares.insert(unit, shares(&row));
        }
        while self.made.len() < first && self.reach[self.made.len()] <= first {
            let unit = self.made.len();
            let links = self.strongest(unit);
            self.made.push(links);
        }
        let next = self.made.len();
        // a row is needed as long as a unit that is not linked yet was in a window with it
        self.shares.retain(|unit, _| self.reach[*unit] > next);
    }

    fn strongest(&self, unit: usize) -> Vec<Link> {
        let none = HashMap::new();
        let row = self.shares.get(&unit).unwrap_or(&none);
        let mut links: Vec<Link> = row
            .iter()
            .map(|(other, share)| {
                let back = self
                    .shares
                    .get(other)
                    .and_then(|row| row.get(&unit))
                    .copied()
                    .unwrap_or(0.0);
                let weight = match self.direction {
                    LinkDirection::Both => share.max(back),
                    LinkDirection::Back => *share,
                };
                Link {
                    to: u32::try_from(*other).unwrap_or(u32::MAX),
                    weight,
                }
            })
            .filter(|link| link.weight > 0.0)
            .collect();
        links.sort_unstable_by(|a, b| b.weight.total_cmp(&a.weight).then(a.to.cmp(&b.to)));
        links.truncate(self.links);
        links
    }
}

/// The attention to other units, which adds up to 1.
fn shares(row: &HashMap<usize, Mean>) -> HashMap<usize, f32> {
    let mean = |mean: &Mean| mean.sum / mean.windows.max(1) as f32;
    let all: f32 = row.values().map(mean).sum();
    let share = |(unit, of): (&usize, &Mean)| (*unit, if all > 0.0 { mean(of) / all } else { 0.0 });
    row.iter().map(share).collect()
}
