//! The player of a recorded run: the times at which its records are due, and the speed.

use std::time::Duration;

use crate::event::Record;

/// Plays records by their own clock.
#[derive(Debug, Clone)]
pub struct Player {
    records: Vec<Record>,
    /// The time at which each record is due, in microseconds from the first; never decreasing.
    due_us: Vec<u64>,
    position: usize,
    clock_us: f64,
    playing: bool,
    speed: f64,
    /// The time since the end was reached, where it plays again and again.
    rest: Option<Duration>,
}

/// The limits of the speed.
const MIN_SPEED: f64 = 1.0 / 16.0;
const MAX_SPEED: f64 = 64.0;
/// The time for which the end stays before it plays again.
const REST: Duration = Duration::from_secs(4);

impl Player {
    /// Creates a player that plays from the beginning.
    pub fn new(records: Vec<Record>) -> Self {
        let first = records.first().map_or(0, |record| record.t_us);
        let due_us = records
            .iter()
            .scan(0, |latest, record| {
                *latest = record.t_us.saturating_sub(first).max(*latest);
                Some(*latest)
            })
            .collect();

        Self {
            records,
            due_us,
            position: 0,
            clock_us: 0.0,
            playing: true,
            speed: 1.0,
            rest: None,
        }
    }

    /// Plays again and again.
    pub fn repeat(&mut self) {
        self.rest = Some(Duration::ZERO);
    }

    /// Returns whether the end was shown long enough to play again.
    pub fn is_rested(&self) -> bool {
        self.playing && self.rest.is_some_and(|rest| rest >= REST)
    }

    /// Returns whether all records were returned.
    pub fn is_at_end(&self) -> bool {
        self.position == self.records.len()
    }

    /// Advances the time and returns the records that became due.
    pub fn advance(&mut self, elapsed: Duration) -> Vec<Record> {
        if !self.playing {
            return Vec::new();
        }
        if self.is_at_end() {
            self.rest = self.rest.map(|rest| rest + elapsed);
            return Vec::new();
        }

        self.clock_us += elapsed.as_secs_f64() * 1e6 * self.speed;
        let clock = self.clock_us;
        let due = self.due_us[self.position..].iter();
        let from = self.position;
        self.position += due.take_while(|due| **due as f64 <= clock).count();
        self.playing = !self.is_at_end() || self.rest.is_some();
        self.records[from..self.position].to_vec()
    }

    /// Returns the time until the next record is due; `None` while paused or at the end.
    pub fn next_due(&self) -> Option<Duration> {
        if self.playing && self.is_at_end() {
            return self.rest.map(|rest| REST.saturating_sub(rest));
        }
        let due = self.due_us.get(self.position).filter(|_| self.playing)?;
        let wait_us = (*due as f64 - self.clock_us) / self.speed;
        Some(Duration::from_secs_f64(wait_us.max(0.0) / 1e6))
    }

    /// Pauses and returns the next record.
    pub fn step(&mut self) -> Option<Record> {
        self.playing = false;
        let record = self.records.get(self.position)?.clone();
        self.clock_us = self.due_us[self.position] as f64;
        self.position += 1;
        Some(record)
    }

    /// Pauses and goes back by a record. Returns the records up to there, to be folded again.
    pub fn step_back(&mut self) -> &[Record] {
        self.playing = false;
        self.position = self.position.saturating_sub(1);
        let last = self.position.checked_sub(1);
        self.clock_us = last.map_or(0.0, |last| self.due_us[last] as f64);
        &self.records[..self.position]
    }

    /// Plays from the beginning.
    pub fn restart(&mut self) {
        self.position = 0;
        self.clock_us = 0.0;
        self.playing = true;
        self.rest = self.rest.map(|_| Duration::ZERO);
    }

    /// Plays or pauses; there is nothing to play at the end.
    pub fn toggle(&mut self) {
        self.playing = !self.playing && !self.is_at_end();
    }

    /// Changes the speed by a factor, within limits.
    pub fn change_speed(&mut self, factor: f64) {
        self.speed = (self.speed * factor).clamp(MIN_SPEED, MAX_SPEED);
    }

    /// Returns whether the run is being played.
    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// Returns the speed relative to the recorded time.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Returns the number of records returned so far, and of all.
    pub fn position(&self) -> (usize, usize) {
        (self.position, self.records.len())
    }

    /// Returns the milliseconds played so far, and of all.
    pub fn time_ms(&self) -> (u64, u64) {
        let all = self.due_us.last().copied().unwrap_or(0);
        ((self.clock_us as u64).min(all) / 1_000, all / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, RunEvent};

    fn player(times_us: &[u64]) -> Player {
        let record = |(seq, t_us): (usize, &u64)| Record {
            seq: seq as u64,
            t_us: *t_us,
            run: "r".to_owned(),
            event: Event::Run(RunEvent::Warned {
                text: String::new(),
                advice: None,
            }),
        };
        Player::new(times_us.iter().enumerate().map(record).collect())
    }

    #[test]
    fn records_come_when_they_are_due() {
        let mut player = player(&[5, 5, 1_005, 805, 2_005]);
        assert_eq!(player.advance(Duration::ZERO).len(), 2);
        assert_eq!(player.next_due(), Some(Duration::from_micros(1_000)));
        assert_eq!(player.advance(Duration::from_micros(999)).len(), 0);
        assert_eq!(player.advance(Duration::from_micros(1)).len(), 2);
        player.change_speed(2.0);
        assert_eq!(player.next_due(), Some(Duration::from_micros(500)));
        assert_eq!(player.advance(Duration::from_micros(500)).len(), 1);
        assert!(!player.is_playing() && player.next_due().is_none());
    }

    #[test]
    fn a_run_that_repeats_rests_at_its_end() {
        let mut player = player(&[0, 10]);
        player.repeat();
        assert_eq!(player.advance(Duration::from_micros(10)).len(), 2);
        assert_eq!(player.next_due(), Some(REST));
        assert!(player.advance(REST - Duration::from_secs(1)).is_empty());
        assert!(!player.is_rested());
        player.advance(Duration::from_secs(1));
        assert!(player.is_rested());
        player.restart();
        assert!(!player.is_rested());
        assert_eq!(player.advance(Duration::from_micros(10)).len(), 2);
        // space at the end stays there
        player.toggle();
        assert!(!player.is_playing() && player.next_due().is_none());
    }

    #[test]
    fn stepping_pauses_and_goes_both_ways() {
        let mut player = player(&[0, 10, 20]);
        assert_eq!(player.step().map(|record| record.seq), Some(0));
        assert_eq!(player.step().map(|record| record.seq), Some(1));
        assert_eq!(player.step_back().len(), 1);
        assert!(player.advance(Duration::from_secs(9)).is_empty());
        player.restart();
        assert_eq!(player.advance(Duration::from_secs(9)).len(), 3);
        assert!(player.step().is_none());
    }
}
