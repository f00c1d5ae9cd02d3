//! Time as a ratio, so that a slow or busy machine fails no test: work is compared with other work
//! in the same test.

use std::time::{Duration, Instant};

/// Times of the shortest of this many turns are compared: what disturbs one turn rarely disturbs
/// all.
const TURNS: usize = 3;
/// Characters of a text that are passed over; longer texts are reckoned from these.
const SAMPLE_CHARS: usize = 1 << 20;
/// Shorter texts are passed over several times: very short times are those of the measurement.
const MIN_SAMPLE_CHARS: usize = 1 << 18;

/// Checks that work on `text` takes at most `passes` times as long as a pass over its characters in
/// the same build. Quadratic work on 40,000 characters is thousands of passes.
#[track_caller]
pub fn check_passes<T>(what: &str, text: &str, passes: u32, work: impl FnOnce() -> T) -> T {
    let sample = text.chars().take(SAMPLE_CHARS);
    let turns = (MIN_SAMPLE_CHARS / text.len().clamp(1, SAMPLE_CHARS)).max(1);
    let sampled = shortest(|| {
        for _ in 0..turns {
            std::hint::black_box(sample.clone().filter(|c| c.is_alphanumeric()).count());
        }
    });
    let share = text.len() as f64 / text.len().clamp(1, SAMPLE_CHARS) as f64;
    let pass = sampled.mul_f64(share / turns as f64);

    let started = Effort::start();
    let result = work();
    let effort = started.time();
    assert!(
        effort < pass * passes,
        "{what}: {effort:?}, a pass takes {pass:?}"
    );
    result
}

/// Checks that one work takes at most `times` as long as another one.
#[track_caller]
pub fn check_times(what: &str, work: impl FnMut(), times: u32, other: impl FnMut()) {
    let work = shortest(work);
    let other = shortest(other);
    assert!(work < other * times, "{what}: {work:?}, and {other:?}");
}

fn shortest(mut work: impl FnMut()) -> Duration {
    let turns = (0..TURNS).map(|_| {
        let started = Effort::start();
        work();
        started.time()
    });
    turns.min().expect("a turn")
}

/// The time that this thread has had a processor, which other programs do not change; where the
/// system does not say, the time of the clock.
struct Effort {
    clock: Instant,
    processor: Option<Duration>,
}

impl Effort {
    fn start() -> Self {
        Self {
            clock: Instant::now(),
            processor: processor_time(),
        }
    }

    fn time(&self) -> Duration {
        match (self.processor, processor_time()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            (None, _) | (_, None) => self.clock.elapsed(),
        }
    }
}

/// Returns the time that this thread has had a processor. `schedstat` would not do: the kernel
/// counts there in steps of some milliseconds, and short work reads as nothing.
#[cfg(unix)]
fn processor_time() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};

    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(Duration::from(time))
}

#[cfg(not(unix))]
fn processor_time() -> Option<Duration> {
    None
}
