//! The books of the key-value cache: which sequence holds which tokens, which cells sequences share, what may be dropped.
//!
//! llama.cpp does not say how many cells are in use or shared, so every change goes through [`Cells`], which keeps count.

/// What a cache can do. llama.cpp's own cache, or a double in tests.
pub(super) trait Memory {
    /// Let sequence `to` share the first `tokens` tokens of sequence `from`.
    fn copy(&mut self, from: usize, to: usize, tokens: usize);
    /// Drop everything of a sequence after its first `tokens` tokens. False when the cache cannot drop a part.
    fn cut(&mut self, sequence: usize, tokens: usize) -> bool;
    /// Drop everything.
    fn clear(&mut self);
    /// Tokens of a sequence.
    fn length(&self, sequence: usize) -> usize;
}

/// How much of an evaluated prompt another prompt may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Any prefix.
    Prefix,
    /// Only all of it: a recurrent or hybrid model keeps one state a sequence, which cannot be cut.
    Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Free,
    /// Somebody works in it.
    Active,
    /// Kept for a later prompt; the number says when it was last of use.
    Kept(u64),
}

#[derive(Debug)]
struct Slot {
    tokens: Vec<i32>,
    cells: Vec<u32>,
    used: Use,
}

/// The sequences of one context and the cells that they hold.
#[derive(Debug)]
pub(super) struct Cells {
    slots: Vec<Slot>,
    /// Sequences that hold each cell.
    holders: Vec<u32>,
    free: Vec<u32>,
    clock: u64,
    sharing: Sharing,
}

impl Cells {
    pub fn new(cells: usize, sequences: usize, sharing: Sharing) -> Self {
        let slots = (0..sequences)
            .map(|_| Slot {
                tokens: Vec::new(),
                cells: Vec::new(),
                used: Use::Free,
            })
            .collect();
        let free = (0..u32::try_from(cells).unwrap_or(u32::MAX))
            .rev()
            .collect();
        Self {
            slots,
            holders: vec![0; cells],
            free,
            clock: 0,
            sharing,
        }
    }

    /// All cells.
    pub fn total(&self) -> usize {
        self.holders.len()
    }

    /// Cells that hold something.
    pub fn in_use(&self) -> usize {
        self.total() - self.free.len()
    }

    pub fn free(&self) -> usize {
        self.free.len()
    }

    pub fn sequences(&self) -> usize {
        self.slots.len()
    }

    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Cells that a working sequence holds: the rest can be had.
    pub fn held(&self) -> usize {
        let mut held = vec![false; self.total()];
        for slot in self.slots.iter().filter(|slot| slot.used == Use::Active) {
            slot.cells
                .iter()
                .for_each(|cell| held[*cell as usize] = true);
        }
        held.into_iter().filter(|held| *held).count()
    }

    /// Tokens of the sequence in `slot`.
    pub fn length(&self, slot: usize) -> usize {
        self.slots[slot].tokens.len()
    }

    /// Tokens at the start of `path` that some sequence has.
    #[cfg(test)]
    pub fn known(&self, path: &[i32]) -> usize {
        self.slots
            .iter()
            .map(|slot| self.shareable(slot, path))
            .max()
            .unwrap_or(0)
    }

    /// The same among the sequences that are being worked in, whose cells stay.
    pub fn known_at_work(&self, path: &[i32]) -> usize {
        let at_work = self.slots.iter().filter(|slot| slot.used == Use::Active);
        at_work
            .map(|slot| self.shareable(slot, path))
            .max()
            .unwrap_or(0)
    }

    fn shareable(&self, slot: &Slot, path: &[i32]) -> usize {
        let common = common_prefix(&slot.tokens, path);
        match self.sharing {
            Sharing::Prefix => common,
            Sharing::Whole if common == slot.tokens.len() => common,
            Sharing::Whole => 0,
        }
    }

    /// A sequence to work in that starts with as much of `path` as is known, but at most `limit` tokens. Gives the sequence;
    /// its length says how much is there. None when every sequence is being worked in.
    pub fn fork(&mut self, path: &[i32], limit: usize, memory: &mut dyn Memory) -> Option<usize> {
        self.clock += 1;
        let path = &path[..limit.min(path.len())];
        let best = (0..self.slots.len())
            .filter(|slot| self.slots[*slot].used != Use::Free)
            .max_by_key(|slot| self.shareable(&self.slots[*slot], path));
        let known = best.map_or(0, |slot| self.shareable(&self.slots[slot], path));
        if let Some(source) = best.filter(|_| known > 0) {
            let whole = known == self.slots[source].tokens.len();
            match self.slots[source].used {
                // nobody needs the shorter one when the longer one begins with it
                Use::Kept(_) if whole => {
                    self.slots[source].used = Use::Active;
                    return Some(source);
                }
                Use::Kept(_) => self.slots[source].used = Use::Kept(self.clock),
                Use::Active | Use::Free => {}
            }
            if let Some(slot) = self.empty_slot(Some(source), memory) {
                self.share(source, slot, known, memory);
                return Some(slot);
            }
            // no sequence is left but the source itself
            if self.slots[source].used != Use::Active && self.cut(source, known, memory) {
                self.slots[source].used = Use::Active;
                return Some(source);
            }
        }
        let slot = self.empty_slot(None, memory)?;
        self.slots[slot].used = Use::Active;
        Some(slot)
    }

    fn share(&mut self, from: usize, to: usize, tokens: usize, memory: &mut dyn Memory) {
        memory.copy(from, to, tokens);
        let cells = self.slots[from].cells[..tokens].to_vec();
        cells
            .iter()
            .for_each(|cell| self.holders[*cell as usize] += 1);
        let tokens = self.slots[from].tokens[..tokens].to_vec();
        self.slots[to] = Slot {
            tokens,
            cells,
            used: Use::Active,
        };
    }

    /// An unused sequence, if need be by dropping the kept one that was of use longest ago.
    fn empty_slot(&mut self, except: Option<usize>, memory: &mut dyn Memory) -> Option<usize> {
        if let Some(free) = self.slots.iter().position(|slot| slot.used == Use::Free) {
            return Some(free);
        }
        let oldest = self.oldest_kept(except)?;
        self.drop_slot(oldest, memory);
        Some(oldest)
    }

    fn oldest_kept(&self, except: Option<usize>) -> Option<usize> {
        let stamp = |slot: &Slot| match slot.used {
            Use::Kept(stamp) => Some(stamp),
            Use::Free | Use::Active => None,
        };
        let kept = self
            .slots
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != except);
        kept.filter_map(|(at, slot)| Some((stamp(slot)?, at)))
            .min()
            .map(|(_, at)| at)
    }

    /// Drop kept sequences, the ones of use longest ago first, until `cells` are free. False when they are still not.
    pub fn make_room(&mut self, cells: usize, memory: &mut dyn Memory) -> bool {
        while self.free.len() < cells {
            let Some(oldest) = self.oldest_kept(None) else {
                return false;
            };
            self.drop_slot(oldest, memory);
        }
        true
    }

    /// Drop kept sequences until those that are left hold at most `cells` cells.
    pub fn keep_at_most(&mut self, cells: usize, memory: &mut dyn Memory) {
        while self.in_use().saturating_sub(self.held()) > cells {
            let Some(oldest) = self.oldest_kept(None) else {
                return;
            };
            self.drop_slot(oldest, memory);
        }
    }

    /// Tokens were evaluated at the end of a sequence. The room was made before.
    pub fn append(&mut self, slot: usize, tokens: &[i32]) {
        for token in tokens {
            let Some(cell) = self.free.pop() else { return };
            self.holders[cell as usize] = 1;
            self.slots[slot].cells.push(cell);
            self.slots[slot].tokens.push(*token);
        }
    }

    /// Cut a sequence to its first `tokens` tokens; false (and the sequence is empty) when the cache cannot cut.
    pub fn cut(&mut self, slot: usize, tokens: usize, memory: &mut dyn Memory) -> bool {
        let cut = memory.cut(slot, tokens);
        let keep = if cut { tokens } else { 0 };
        if !cut {
            memory.cut(slot, 0);
        }
        let held = &mut self.slots[slot];
        let dropped = held.cells.split_off(keep.min(held.cells.len()));
        held.tokens.truncate(keep);
        for cell in dropped {
            self.holders[cell as usize] -= 1;
            if self.holders[cell as usize] == 0 {
                self.free.push(cell);
            }
        }
        cut
    }

    /// Work in a sequence is done: keep it for later prompts.
    pub fn release(&mut self, slot: usize) {
        self.clock += 1;
        self.slots[slot].used = if self.slots[slot].tokens.is_empty() {
            Use::Free
        } else {
            Use::Kept(self.clock)
        };
    }

    fn drop_slot(&mut self, slot: usize, memory: &mut dyn Memory) {
        self.cut(slot, 0, memory);
        self.slots[slot].used = Use::Free;
    }

    /// Forget everything.
    pub fn clear(&mut self, memory: &mut dyn Memory) {
        memory.clear();
        *self = Self::new(self.total(), self.slots.len(), self.sharing);
    }

    /// Do the books agree with the cache?
    pub fn agrees_with(&self, memory: &dyn Memory) -> bool {
        self.slots
            .iter()
            .enumerate()
            .all(|(at, slot)| slot.tokens.len() == memory.length(at))
    }
}

/// Length of the common start of two token lists.
pub(super) fn common_prefix(a: &[i32], b: &[i32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Cells, Memory, Sharing};

    /// A cache that only counts.
    struct Lengths(Vec<usize>);

    impl Memory for Lengths {
        fn copy(&mut self, _from: usize, to: usize, tokens: usize) {
            self.0[to] = tokens;
        }
        fn cut(&mut self, sequence: usize, tokens: usize) -> bool {
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
    fn a_prefix_is_shared_and_the_oldest_goes_first() {
        let (mut cells, mut memory) = (Cells::new(8, 3, Sharing::Prefix), Lengths(vec![0; 3]));
        let (first, reused) = evaluate(&mut cells, &mut memory, &[1, 2, 3, 4]).expect("room");
        assert_eq!((reused, cells.in_use()), (0, 4));
        let (second, reused) = evaluate(&mut cells, &mut memory, &[1, 2, 9]).expect("room");
        assert_eq!((reused, cells.in_use()), (2, 5));
        cells.release(first);
        cells.release(second);
        // six more tokens do not fit beside five: the first goes, its shared cells stay
        let (third, _) = evaluate(&mut cells, &mut memory, &[7, 7, 7, 7, 7]).expect("room");
        assert_eq!(cells.in_use(), 8);
        assert_eq!(cells.known(&[1, 2, 3, 4]), 2);
        cells.release(third);
        cells.clear(&mut memory);
        assert_eq!(cells.in_use(), 0);
    }

    #[test]
    fn a_state_that_cannot_be_cut_is_shared_only_whole() {
        let (mut cells, mut memory) = (Cells::new(16, 3, Sharing::Whole), Lengths(vec![0; 3]));
        let (first, _) = evaluate(&mut cells, &mut memory, &[1, 2, 3]).expect("room");
        cells.release(first);
        assert_eq!(cells.known(&[1, 2, 9]), 0);
        assert_eq!(cells.known(&[1, 2, 3, 4]), 3);
    }

    proptest! {
        #[test]
        fn the_books_agree_after_any_history(paths in prop::collection::vec((prop::collection::vec(0..3_i32, 1..9), 0..3_usize), 1..60)) {
            let (mut cells, mut memory) = (Cells::new(20, 4, Sharing::Prefix), Lengths(vec![0; 4]));
            let mut active = Vec::new();
            for (path, then) in paths {
                if let Some((slot, _)) = evaluate(&mut cells, &mut memory, &path) {
                    active.push(slot);
                }
                match then {
                    0 => active.drain(..).for_each(|slot| cells.release(slot)),
                    1 if !active.is_empty() => {
                        let slot = active.remove(0);
                        cells.cut(slot, 1, &mut memory);
                        cells.release(slot);
                    }
                    _ => {}
                }
                prop_assert!(cells.agrees_with(&memory));
                prop_assert!(cells.held() <= cells.in_use() && cells.in_use() <= 20);
            }
            active.drain(..).for_each(|slot| cells.release(slot));
            prop_assert_eq!(cells.held(), 0);
            prop_assert!(cells.make_room(20, &mut memory));
            prop_assert_eq!(cells.in_use(), 0);
        }
    }
}
