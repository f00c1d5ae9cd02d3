//! The progress of texts that are written one after the other.

/// The texts that have begun, of all that are written, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextProgress {
    pub begun: u32,
    pub total: u32,
    /// The number that had begun when the first of them was seen, and the time of that.
    first: u32,
    since_us: u64,
    at_us: u64,
}

impl TextProgress {
    /// Texts of which `begun` have begun at a time, after what is known of them so far.
    pub fn new(known: Option<Self>, begun: u32, total: u32, at_us: u64) -> Self {
        let known = known.filter(|known| known.total == total && known.begun <= begun);
        if let Some(known) = known.filter(|known| known.begun == begun) {
            return known;
        }
        let (first, since_us) = known.map_or((begun, at_us), |known| (known.first, known.since_us));
        Self {
            begun,
            total,
            first,
            since_us,
            at_us,
        }
    }

    /// Returns the expected milliseconds until all are written; `None` before one was.
    pub fn left_ms(&self) -> Option<u64> {
        let written = u64::from(self.begun - self.first);
        let left = u64::from(self.total.saturating_sub(self.begun) + 1);
        let elapsed_ms = self.at_us.saturating_sub(self.since_us) / 1000;
        (written > 0).then(|| elapsed_ms.saturating_mul(left) / written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_texts_that_were_written() {
        let first = TextProgress::new(None, 1, 10, 5_000_000);
        assert_eq!(first.left_ms(), None);
        let fourth = TextProgress::new(Some(first), 4, 10, 11_000_000);
        assert_eq!(fourth.left_ms(), Some(14_000), "2 s each, 7 to come");
        let last = TextProgress::new(Some(fourth), 10, 10, 23_000_000);
        assert_eq!(last.left_ms(), Some(2_000));
        // other texts have times of their own
        let other = TextProgress::new(Some(fourth), 1, 10, 23_000_000);
        assert_eq!(other.left_ms(), None);
    }
}
