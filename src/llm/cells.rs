//! KV-cache bookkeeping: which sequence holds which tokens, which cells are shared, what can be
//! dropped.
//!
//! llama.cpp does not say how many cells are in use or shared, so every change of its cache goes
//! through [`Cells`], which counts.

use crate::event::saturating_u32;

/// The operations of a KV cache: llama.cpp's own, or a double in tests.
pub(super) trait Memory {
    /// Makes sequence `to` share the first `tokens` tokens of sequence `from`.
    fn copy(&mut self, from: usize, to: usize, tokens: usize);
    /// Drops everything of a sequence after its first `tokens` tokens. Returns false if the cache
    /// cannot drop a part.
    fn truncate(&mut self, sequence: usize, tokens: usize) -> bool;
    /// Drops everything.
    fn clear(&mut self);
    /// Returns the number of tokens of a sequence.
    fn length(&self, sequence: usize) -> usize;
}

/// The part of an evaluated prompt that another prompt can share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Any prefix.
    Prefix,
    /// Only all of it: a recurrent or hybrid model keeps one state per sequence, which cannot be
    /// truncated.
    Whole,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CellState {
    #[default]
    Free,
    /// A job is being evaluated in it.
    Active,
    /// Kept for a later prompt; the number is the time of its last use.
    Kept(u64),
}

/// A sequence of the cache.
#[derive(Debug, Clone, Default)]
struct Slot {
    tokens: Vec<i32>,
    /// The cell of each token.
    cells: Vec<u32>,
    state: CellState,
}

/// The sequences of one context and the cells that they hold.
#[derive(Debug)]
pub(super) struct Cells {
    slots: Vec<Slot>,
    /// Number of sequences that hold each cell.
    holders: Vec<u32>,
    free: Vec<u32>,
    clock: u64,
    pub sharing: Sharing,
}

impl Cells {
    pub fn new(cells: usize, sequences: usize, sharing: Sharing) -> Self {
        Self {
            slots: vec![Slot::default(); sequences],
            holders: vec![0; cells],
            free: (0..saturating_u32(cells)).rev().collect(),
            clock: 0,
            sharing,
        }
    }

    /// Returns the number of all cells.
    pub fn total(&self) -> usize {
        self.holders.len()
    }

    /// Returns the number of cells that hold a token.
    pub fn in_use(&self) -> usize {
        self.total() - self.free.len()
    }

    pub fn free(&self) -> usize {
        self.free.len()
    }

    pub fn sequences(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of cells that active sequences hold: all others can be freed.
    pub fn active(&self) -> usize {
        let mut is_active = vec![false; self.total()];
        for cell in self.active_slots().flat_map(|slot| &slot.cells) {
            is_active[*cell as usize] = true;
        }
        is_active.into_iter().filter(|is_active| *is_active).count()
    }

    /// Returns the number of tokens of a sequence.
    pub fn length(&self, slot: usize) -> usize {
        self.slots[slot].tokens.len()
    }

    /// Returns the sequence that shares the longest prefix with `path`, and its tokens.
    pub fn longest_prefix_of(&self, path: &[i32]) -> (usize, &[i32]) {
        let by_prefix = |slot: &usize| self.shareable(&self.slots[*slot], path);
        let slot = (0..self.slots.len()).max_by_key(by_prefix).unwrap_or(0);
        (slot, &self.slots[slot].tokens)
    }

    /// Returns the length of the longest prefix of `path` in any sequence.
    pub fn cached_tokens(&self, path: &[i32]) -> usize {
        let cached = self.slots.iter().map(|slot| self.shareable(slot, path));
        cached.max().unwrap_or(0)
    }

    /// Returns the length of the longest prefix of `path` in an active sequence, whose cells stay.
    pub fn count_cached_in_active(&self, path: &[i32]) -> usize {
        let cached = self.active_slots().map(|slot| self.shareable(slot, path));
        cached.max().unwrap_or(0)
    }

    fn active_slots(&self) -> impl Iterator<Item = &Slot> {
        let slots = self.slots.iter();
        slots.filter(|slot| slot.state == CellState::Active)
    }

    fn shareable(&self, slot: &Slot, path: &[i32]) -> usize {
        let common = common_prefix(&slot.tokens, path);
        match self.sharing {
            Sharing::Prefix => common,
            Sharing::Whole if common == slot.tokens.len() => common,
            Sharing::Whole => 0,
        }
    }

    /// Activates a sequence that begins with as much of `path` as is cached, but at most `limit`
    /// tokens; its length says how much that is. `None` when every sequence is active.
    pub fn fork(&mut self, path: &[i32], limit: usize, memory: &mut dyn Memory) -> Option<usize> {
        self.clock += 1;
        let path = &path[..limit.min(path.len())];
        let best = (0..self.slots.len())
            .filter(|slot| self.slots[*slot].state != CellState::Free)
            .max_by_key(|slot| self.shareable(&self.slots[*slot], path));
        let cached = best.map_or(0, |slot| self.shareable(&self.slots[slot], path));

        if let Some(source) = best.filter(|_| cached > 0) {
            let is_whole = cached == self.slots[source].tokens.len();
            match self.slots[source].state {
                // The sequence itself is continued: the longer one begins with it.
                CellState::Kept(_) if is_whole => {
                    self.slots[source].state = CellState::Active;
                    return Some(source);
                }
                CellState::Kept(_) => self.slots[source].state = CellState::Kept(self.clock),
                CellState::Active | CellState::Free => {}
            }
            if let Some(slot) = self.empty_slot(Some(source), memory) {
                self.share(source, slot, cached, memory);
                return Some(slot);
            }
            // No sequence is left but the source itself.
            if self.slots[source].state != CellState::Active
                && self.truncate(source, cached, memory)
            {
                self.slots[source].state = CellState::Active;
                return Some(source);
            }
        }

        let slot = self.empty_slot(None, memory)?;
        self.slots[slot].state = CellState::Active;
        Some(slot)
    }

    fn share(&mut self, from: usize, to: usize, tokens: usize, memory: &mut dyn Memory) {
        memory.copy(from, to, tokens);
        let cells = self.slots[from].cells[..tokens].to_vec();
        for cell in &cells {
            self.holders[*cell as usize] += 1;
        }
        let tokens = self.slots[from].tokens[..tokens].to_vec();
        self.slots[to] = Slot {
            tokens,
            cells,
            state: CellState::Active,
        };
    }

    /// Returns a free sequence, if need be by dropping the least recently used one that is kept.
    fn empty_slot(&mut self, except: Option<usize>, memory: &mut dyn Memory) -> Option<usize> {
        let mut slots = self.slots.iter();
        if let Some(free) = slots.position(|slot| slot.state == CellState::Free) {
            return Some(free);
        }
        let oldest = self.oldest_kept(except)?;
        self.drop_slot(oldest, memory);
        Some(oldest)
    }

    /// Returns the least recently used of the kept sequences.
    fn oldest_kept(&self, except: Option<usize>) -> Option<usize> {
        let slots = self.slots.iter().enumerate();
        let kept = slots.filter_map(|(at, slot)| match slot.state {
            CellState::Kept(time) if Some(at) != except => Some((time, at)),
            CellState::Kept(_) | CellState::Active | CellState::Free => None,
        });
        kept.min().map(|(_, at)| at)
    }

    /// Drops kept sequences, least recently used first, until `cells` cells are free. Returns
    /// whether they are.
    pub fn make_room(&mut self, cells: usize, memory: &mut dyn Memory) -> bool {
        while self.free.len() < cells {
            let Some(oldest) = self.oldest_kept(None) else {
                return false;
            };
            self.drop_slot(oldest, memory);
        }
        true
    }

    /// Drops kept sequences, least recently used first, until they hold at most `cells` cells.
    pub fn limit_kept(&mut self, cells: usize, memory: &mut dyn Memory) {
        while self.in_use().saturating_sub(self.active()) > cells {
            let Some(oldest) = self.oldest_kept(None) else {
                return;
            };
            self.drop_slot(oldest, memory);
        }
    }

    /// Records tokens that were evaluated at the end of a sequence, for which there was room.
    pub fn append(&mut self, slot: usize, tokens: &[i32]) {
        for token in tokens {
            let Some(cell) = self.free.pop() else { return };
            self.holders[cell as usize] = 1;
            self.slots[slot].cells.push(cell);
            self.slots[slot].tokens.push(*token);
        }
    }

    /// Truncates a sequence to its first `tokens` tokens. If the cache cannot, empties it and
    /// returns false.
    pub fn truncate(&mut self, slot: usize, tokens: usize, memory: &mut dyn Memory) -> bool {
        let can_truncate = memory.truncate(slot, tokens);
        let kept = if can_truncate { tokens } else { 0 };
        if !can_truncate {
            memory.truncate(slot, 0);
        }

        let slot = &mut self.slots[slot];
        let dropped = slot.cells.split_off(kept.min(slot.cells.len()));
        slot.tokens.truncate(kept);
        for cell in dropped {
            self.holders[cell as usize] -= 1;
            if self.holders[cell as usize] == 0 {
                self.free.push(cell);
            }
        }
        can_truncate
    }

    /// Ends the activity of a sequence and keeps it for later prompts.
    pub fn release(&mut self, slot: usize) {
        self.clock += 1;
        self.slots[slot].state = if self.slots[slot].tokens.is_empty() {
            CellState::Free
        } else {
            CellState::Kept(self.clock)
        };
    }

    fn drop_slot(&mut self, slot: usize, memory: &mut dyn Memory) {
        self.truncate(slot, 0, memory);
        self.slots[slot].state = CellState::Free;
    }

    /// Drops everything.
    pub fn clear(&mut self, memory: &mut dyn Memory) {
        memory.clear();
        *self = Self::new(self.total(), self.slots.len(), self.sharing);
    }

    /// Returns whether the bookkeeping matches the cache.
    pub fn is_consistent_with(&self, memory: &dyn Memory) -> bool {
        self.slots
            .iter()
            .enumerate()
            .all(|(at, slot)| slot.tokens.len() == memory.length(at))
    }
}

/// Counts the token lists at the front, by their lengths, that fit into this many cells: at least
/// one.
pub(super) fn count_fitting(lengths: impl Iterator<Item = usize>, cells: usize) -> usize {
    let mut tokens = 0;
    let fits = |length: &usize| {
        tokens += length;
        tokens <= cells
    };
    lengths.take_while(fits).count().max(1)
}

/// Returns the length of the common prefix of two token lists.
pub(super) fn common_prefix(a: &[i32], b: &[i32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Cells, Memory, Sharing};

    /// A cache that only counts tokens.
    struct Lengths(Vec<usize>);

    impl Memory for Lengths {
        fn copy(&mut self, _from: usize, to: usize, tokens: usize) {
            self.0[to] = tokens;
        }
        fn truncate(&mut self, sequence: usize, tokens: usize) -> bool {
            self.0[sequence] = self.0[sequence].min(tokens);
            true
        }
        fn clear(&mut self) {
            self.0.fill(0);
        }
        fn length(&self, sequence: usize) -> usize {
            self.0[sequence]
        }
    }

    fn evaluate(cells: &mut Cells, memory: &mut Lengths, path: &[i32]) -> Option<(usize, usize)> {
        let slot = cells.fork(path, path.len(), memory)?;
        let reused = cells.length(slot);
        if !cells.make_room(path.len() - reused, memory) {
            cells.release(slot);
            return None;
        }
        cells.append(slot, &path[reused..]);
        memory.0[slot] = path.len();
        Some((slot, reused))
    }

    #[test]
    fn a_prefix_is_shared_and_the_least_recently_used_goes_first() {
        let mut cells = Cells::new(8, 3, Sharing::Prefix);
        let mut memory = Lengths(vec![0; 3]);
        let (first, reused) = evaluate(&mut cells, &mut memory, &[1, 2, 3, 4]).expect("room");
        assert_eq!((reused, cells.in_use()), (0, 4));
        let (second, reused) = evaluate(&mut cells, &mut memory, &[1, 2, 9]).expect("room");
        assert_eq!((reused, cells.in_use()), (2, 5));
        cells.release(first);
        cells.release(second);

        // Five more tokens do not fit beside five: the first goes, its shared cells stay.
        let (third, _) = evaluate(&mut cells, &mut memory, &[7, 7, 7, 7, 7]).expect("room");
        assert_eq!(cells.in_use(), 8);
        assert_eq!(cells.cached_tokens(&[1, 2, 3, 4]), 2);

        cells.release(third);
        cells.clear(&mut memory);
        assert_eq!(cells.in_use(), 0);
    }

    #[test]
    fn a_state_that_cannot_be_truncated_is_shared_only_whole() {
        let mut cells = Cells::new(16, 3, Sharing::Whole);
        let mut memory = Lengths(vec![0; 3]);
        let (first, _) = evaluate(&mut cells, &mut memory, &[1, 2, 3]).expect("room");
        cells.release(first);
        assert_eq!(cells.cached_tokens(&[1, 2, 9]), 0);
        assert_eq!(cells.cached_tokens(&[1, 2, 3, 4]), 3);
    }

    proptest! {
        #[test]
        fn bookkeeping_and_cache_agree_after_any_history(paths in prop::collection::vec((prop::collection::vec(0..3_i32, 1..9), 0..3_usize), 1..60)) {
            let mut cells = Cells::new(20, 4, Sharing::Prefix);
            let mut memory = Lengths(vec![0; 4]);
            let mut active = Vec::new();
            for (path, then) in paths {
                if let Some((slot, _)) = evaluate(&mut cells, &mut memory, &path) {
                    active.push(slot);
                }
                match then {
                    0 => active.drain(..).for_each(|slot| cells.release(slot)),
                    1 if !active.is_empty() => {
                        let slot = active.remove(0);
                        cells.truncate(slot, 1, &mut memory);
                        cells.release(slot);
                    }
                    _ => {}
                }
                prop_assert!(cells.is_consistent_with(&memory));
                prop_assert!(cells.active() <= cells.in_use() && cells.in_use() <= 20);
            }
            active.drain(..).for_each(|slot| cells.release(slot));
            prop_assert_eq!(cells.active(), 0);
            prop_assert!(cells.make_room(20, &mut memory));
            prop_assert_eq!(cells.in_use(), 0);
        }
    }
}
