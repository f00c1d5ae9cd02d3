//! Time as a ratio, so that a slow or busy machine fails no test: work is compared with other work
//! in the same test.

use std::time::{Duration, Instant};

/// Times of the shortest of this many turns are compared: what disturbs one turn rarely disturbs
/// all.
const TURNS: usize = 3;
/// Characters of a text that are passed over; longer texts are reckoned from these.
const SAMPLE_CHARS: usize = 1 << 20;
/// A pass is repeated until it takes this long: the kernel may count a thread's time in steps of
/// some milliseconds, and a shorter time could be read as zero.
const MIN_SAMPLED: Duration = Duration::from_millis(40);

/// Checks that work on `text` takes at most `passes` times as long as a pass over its characters in
/// the same build. Quadratic work on 40,000 characters is thousands of passes.
#[track_caller]
pub fn check_passes<T>(what: &str, text: &str, passes: u32, work: impl FnOnce() -> T) -> T {
    let sample = text.chars().take(SAMPLE_CHARS);
    let sample_for = |turns: u32| {
        shortest(|| {
            for _ in 0..turns {
                std::hint::black_box(sample.clone().filter(|c| c.is_alphanumeric()).count());
            }
        })
    };
    let mut turns = 1;
    let mut sampled = sample_for(turns);
    while sampled < MIN_SAMPLED {
        turns *= 2;
        sampled = sample_for(turns);
    }
    let share = text.len() as f64 / text.len().clamp(1, SAMPLE_CHARS) as f64;
    let pass = sampled.mul_f64(share / f64::from(turns));

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
    taken: Option<Duration>,
}

impl Effort {
    fn start() -> Self {
        Self {
            clock: Instant::now(),
            taken: taken(),
        }
    }

    fn time(&self) -> Duration {
        let taken = self.taken.zip(taken());
        taken.map_or_else(
            || self.clock.elapsed(),
            |(before, after)| after.saturating_sub(before),
        )
    }
}

/// Returns the time that this thread has had a processor: the first number of `schedstat`, in
/// nanoseconds.
fn taken() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
