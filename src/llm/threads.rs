//! The number of threads that write, chosen by measuring.
//!
//! A decode of a few tokens waits for memory and for the slowest of its threads, some hundred
//! times: once after each node of the graph. More threads than the memory can feed, or than other
//! programs leave free, make it slower, and no figure that the system offers says how many that
//! are. So the decodes themselves are timed: now and then, and when their time changes, some are
//! run with half and with twice as many threads, and the fastest number is kept.
//!
//! Prompts are evaluated in large batches, which are bound by arithmetic: they take all threads.

use std::collections::BTreeSet;
use std::time::Duration;

/// Tokens of the largest batch that counts as writing. llama.cpp's threads divide larger ones well.
const WRITING_TOKENS: usize = 16;
/// Decodes with each number of threads before two of them are compared.
const SAMPLES: usize = 5;
/// A number of threads is out after two decodes that took this many times the best one.
const HOPELESS: f64 = 1.6;
/// Another number has to be this much faster: changing it makes OpenMP end and start threads.
const WORTHWHILE: f64 = 0.93;
/// The change of the time of a decode that starts a comparison, either way.
const CHANGE: f64 = 1.5;
/// Decodes and seconds of decoding after which the numbers are compared again in any case: load
/// that ends cannot be seen by fewer threads than it left.
const COMPARE_AFTER_DECODES: u32 = 200;
const COMPARE_AFTER_SECONDS: f64 = 2.0;
/// Weight of the latest decode in the running means of what decodes take, lately and usually.
const LATELY: f64 = 0.25;
const USUALLY: f64 = 0.02;

/// The number of threads for each decode of a context.
#[derive(Debug)]
pub(super) enum Threads {
    /// A number that the user set.
    Fixed(u32),
    Measured(Box<Measured>),
}

impl Threads {
    /// Returns what a setting asks for: a number, or 0 to measure between 1 and the physical cores.
    ///
    /// A GPU that computes while the decode has returned leaves nothing to measure here: then it is
    /// one thread per physical core.
    pub fn from_setting(setting: u32, offload: bool) -> Self {
        match setting {
            0 if offload => Self::Fixed(usable_cores()),
            0 => Self::with_measurement(usable_cores()),
            threads => Self::Fixed(threads),
        }
    }

    /// Measures, starting with the maximum.
    fn with_measurement(max: u32) -> Self {
        Self::Measured(Box::new(Measured::new(max)))
    }

    /// Returns the number of threads for a decode of this number of tokens.
    pub fn for_batch(&self, tokens: usize) -> u32 {
        match self {
            Self::Fixed(threads) => *threads,
            Self::Measured(measured) if tokens <= WRITING_TOKENS => {
                measured.numbers[measured.next_index(tokens)]
            }
            Self::Measured(measured) => measured.numbers[0],
        }
    }

    /// Takes note of what a decode took with the number of threads that [`Self::for_batch`] gave.
    pub fn took(&mut self, tokens: usize, time: Duration) {
        if let Self::Measured(measured) = self
            && (1..=WRITING_TOKENS).contains(&tokens)
        {
            measured.took(tokens, time.as_secs_f64());
        }
    }
}

/// Decodes that are timed.
#[derive(Debug)]
pub(super) struct Measured {
    /// The numbers that are tried: the maximum, and its halves down to 1.
    numbers: Vec<u32>,
    /// Index of the number in use.
    used: usize,
    /// Times of a comparison, seconds, by number and by tokens less 1; `None` while none is made.
    samples: Option<Vec<[Vec<f64>; WRITING_TOKENS]>>,
    /// Seconds that a decode takes with the number in use, by its tokens less 1.
    usual: [Option<f64>; WRITING_TOKENS],
    /// Recent decodes against the usual ones; 1 is no change.
    change: f64,
    /// Decodes and their seconds since the last comparison.
    decodes: u32,
    seconds: f64,
}

impl Measured {
    fn new(max: u32) -> Self {
        let mut numbers = vec![max.max(1)];
        while let Some(half) = numbers.last().map(|number| number / 2)
            && half > 0
        {
            numbers.push(half);
        }

        let mut measured = Self {
            numbers,
            used: 0,
            samples: None,
            usual: [None; WRITING_TOKENS],
            change: 1.0,
            decodes: 0,
            seconds: 0.0,
        };
        measured.compare();
        measured
    }

    /// Returns the number for the next decode: the one in use, or of those compared the one with
    /// the fewest samples.
    fn next_index(&self, tokens: usize) -> usize {
        let (Some(samples), Some(at)) = (&self.samples, tokens.checked_sub(1)) else {
            return self.used;
        };

        self.neighbours()
            .filter(|number| !is_hopeless(samples, at, *number))
            .min_by_key(|number| samples[*number][at].len())
            .unwrap_or(self.used)
    }

    /// Returns the number in use and its neighbours, itself first.
    fn neighbours(&self) -> impl Iterator<Item = usize> + use<> {
        let more = self.used.checked_sub(1);
        let fewer = Some(self.used + 1).filter(|number| *number < self.numbers.len());
        [Some(self.used), more, fewer].into_iter().flatten()
    }

    fn took(&mut self, tokens: usize, seconds: f64) {
        let at = tokens - 1;
        let number = self.next_index(tokens);

        if let Some(samples) = &mut self.samples {
            samples[number][at].push(seconds);
            self.choose(at);
            return;
        }

        let usual = self.usual[at].get_or_insert(seconds);
        // exponential means: the recent one forgets in a few decodes, the usual one in some fifty
        self.change += LATELY * (seconds / *usual - self.change);
        *usual += USUALLY * (seconds - *usual);
        self.decodes += 1;
        self.seconds += seconds;

        let changed = !(1.0 / CHANGE..=CHANGE).contains(&self.change);
        let due = self.decodes >= COMPARE_AFTER_DECODES && self.seconds >= COMPARE_AFTER_SECONDS;
        if changed || due {
            self.compare();
        }
    }

    /// Starts a comparison, unless there is nothing to compare.
    fn compare(&mut self) {
        self.change = 1.0;
        self.decodes = 0;
        self.seconds = 0.0;
        self.usual = [None; WRITING_TOKENS];

        let count = self.numbers.len();
        self.samples = (count > 1).then(|| vec![Default::default(); count]);
    }

    /// Ends the comparison if batches of one size have enough samples.
    fn choose(&mut self, at: usize) {
        let Some(samples) = &self.samples else {
            return;
        };
        let is_complete = self
            .neighbours()
            .all(|number| samples[number][at].len() >= SAMPLES || is_hopeless(samples, at, number));
        if !is_complete {
            return;
        }

        let now = median(&samples[self.used][at]);
        let best = self
            .neighbours()
            .filter(|number| !is_hopeless(samples, at, *number))
            .min_by(|a, b| median(&samples[*a][at]).total_cmp(&median(&samples[*b][at])))
            .unwrap_or(self.used);
        if best == self.used || median(&samples[best][at]) > now * WORTHWHILE {
            self.samples = None;
            return;
        }

        // the neighbour on the other side of the new number has not been tried
        self.used = best;
        self.compare();
    }
}

/// Returns whether the first decodes with a number were so slow that no more of them are needed.
fn is_hopeless(samples: &[[Vec<f64>; WRITING_TOKENS]], at: usize, number: usize) -> bool {
    let fastest = |times: &Vec<f64>| times.iter().copied().fold(f64::INFINITY, f64::min);
    let best = samples
        .iter()
        .map(|times| fastest(&times[at]))
        .fold(f64::INFINITY, f64::min);
    samples[number][at].len() >= 2 && fastest(&samples[number][at]) > best * HOPELESS
}

/// Restarts the program in the same process, with threads that wait for each other by spinning
/// for about 0.1 ms and asleep from then on. Does nothing where that is set already, or cannot be.
///
/// libgomp's threads spin for milliseconds at each of the hundreds of barriers of a decode. While
/// another program has a core, one of them spins until its time slice is over, which made answers
/// four times as slow as necessary. libgomp reads its settings when it is loaded, which is before
/// `main`, and offers no call to change this one.
#[cfg(target_os = "linux")]
pub fn limit_spinning() {
    use std::os::unix::process::CommandExt;

    const SPINS: (&str, &str) = ("GOMP_SPINCOUNT", "2000");
    let is_set = ["OMP_WAIT_POLICY", SPINS.0]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    if is_set {
        return;
    }

    let mut arguments = std::env::args_os();
    let Some(name) = arguments.next() else {
        return;
    };
    if let Ok(program) = std::env::current_exe() {
        // returns only if the program cannot be started: then it runs on as it is
        let _error = std::process::Command::new(program)
            .arg0(name)
            .args(arguments)
            .env(SPINS.0, SPINS.1)
            .exec();
    }
}

/// Does nothing: only libgomp needs it.
#[cfg(not(target_os = "linux"))]
pub fn limit_spinning() {}

/// Returns the number of physical cores that this process may use.
pub(super) fn usable_cores() -> u32 {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = physical_cores().map_or(available, |cores| cores.min(available));
    u32::try_from(cores).unwrap_or(1).max(1)
}

/// Counts the physical cores by the siblings that Linux lists for each logical one. `None` on other
/// systems.
fn physical_cores() -> Option<usize> {
    let mut cores = BTreeSet::new();
    for entry in std::fs::read_dir("/sys/devices/system/cpu").ok()?.flatten() {
        let siblings = entry.path().join("topology/thread_siblings_list");
        cores.extend(std::fs::read_to_string(siblings));
    }
    (!cores.is_empty()).then_some(cores.len())
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .get(sorted.len() / 2)
        .copied()
        .unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs decodes on a machine and returns the number of threads after each.
    fn decodes(threads: &mut Threads, count: usize, seconds: impl Fn(u32, usize) -> f64) -> u32 {
        for step in 0..count {
            let tokens = 1 + step % 3;
            let number = threads.for_batch(tokens);
            let time = seconds(number, step) * (0.9 + 0.1 * tokens as f64);
            threads.took(tokens, Duration::from_secs_f64(time));
        }
        match threads {
            Threads::Fixed(number) => *number,
            Threads::Measured(measured) => measured.numbers[measured.used],
        }
    }

    /// Noise of 5 % that no comparison may take for a difference.
    fn noisy(seconds: f64, step: usize) -> f64 {
        seconds * (1.0 + 0.05 * ((step * 7919) % 11) as f64 / 11.0)
    }

    fn scales(number: u32, step: usize) -> f64 {
        noisy(0.08 / f64::from(number), step)
    }

    fn memory_feeds_four(number: u32, step: usize) -> f64 {
        let waiting = 0.000_5 * f64::from(number);
        noisy(0.08 / f64::from(number.min(4)) + waiting, step)
    }

    fn all_cores_are_taken(number: u32, step: usize) -> f64 {
        noisy(0.02 * f64::from(number), step)
    }

    #[test]
    fn the_fastest_number_is_found() {
        type Machine = fn(u32, usize) -> f64;
        let machines: [(u32, Machine, u32); 5] = [
            (16, scales, 16),
            (16, memory_feeds_four, 4),
            (2, all_cores_are_taken, 1),
            (12, all_cores_are_taken, 1),
            (1, scales, 1),
        ];
        for (max, machine, expected) in machines {
            let mut threads = Threads::with_measurement(max);
            assert_eq!(decodes(&mut threads, 400, machine), expected, "of {max}");
        }
    }

    #[test]
    fn load_that_comes_and_goes_is_noticed() {
        let mut threads = Threads::with_measurement(8);
        assert_eq!(decodes(&mut threads, 100, scales), 8);
        assert_eq!(decodes(&mut threads, 400, all_cores_are_taken), 1);
        assert_eq!(decodes(&mut threads, 1000, scales), 8);
    }

    #[test]
    fn comparing_costs_little() {
        let mut threads = Threads::with_measurement(16);
        decodes(&mut threads, 100, scales);
        let mut slower = 0;
        for step in 0..4000 {
            let number = threads.for_batch(1);
            slower += usize::from(number != 16);
            threads.took(1, Duration::from_secs_f64(scales(number, step)));
        }
        assert!(
            slower <= 4000 / 50,
            "{slower} of 4000 decodes with fewer threads"
        );
    }

    #[test]
    fn prompts_take_all_threads_and_a_set_number_stays() {
        let mut threads = Threads::with_measurement(8);
        decodes(&mut threads, 400, all_cores_are_taken);
        assert_eq!(threads.for_batch(512), 8);

        let mut threads = Threads::Fixed(3);
        assert_eq!(decodes(&mut threads, 100, all_cores_are_taken), 3);
    }
}
