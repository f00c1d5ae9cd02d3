//! How long a person waits: from the start of the process to the first frame, and until the bundled models are ready.
//!
//! The program runs in a pseudo-terminal, so a frame counts when it has arrived there. `cargo bench --bench start`.

#[path = "../tests/suite/pty.rs"]
#[allow(dead_code)] // a bench types less than the tests do
mod pty;

use std::time::Duration;

use pty::Terminal;

const RUNS: usize = 20;
/// Rows and columns of a large screen.
const SIZE: (u16, u16) = (60, 200);

fn main() {
    let (mut frames, mut ready): (Vec<Duration>, Vec<Duration>) =
        (0..RUNS).map(|_| start()).unzip();
    report("first frame", &mut frames);
    report("bundled models ready", &mut ready);
}

/// One start with a fresh home: time to the first frame and until the screen calls both models ready.
fn start() -> (Duration, Duration) {
    let home = tempfile::tempdir().expect("a folder");
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_ragscope"), &[], home.path(), SIZE);
    terminal.wait_for("ask>");
    let frame = terminal.started.elapsed();
    terminal.wait("both models", |screen| {
        screen.contents().matches("✓ ready").count() == 2
    });
    let ready = terminal.started.elapsed();
    terminal.send("\u{3}");
    let (_, left) = terminal.ended();
    assert_eq!(left, pty::Left::CLEAN);
    (frame, ready)
}

#[allow(clippy::print_stdout)] // the figures are what a bench is for
fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let (median, worst) = (ms(times[times.len() / 2]), ms(times[times.len() - 1]));
    println!(
        "{what:<22} median {median:>7.1} ms   worst {worst:>7.1} ms   of {} starts",
        times.len()
    );
}
