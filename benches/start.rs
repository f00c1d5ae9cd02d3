//! The time from the start of the process to the first frame, and until the bundled models are
//! ready.
//!
//! The program runs in a pseudo-terminal: a frame counts when it has arrived there. `cargo bench
//! --bench start`.

#[path = "../tests/suite/support/pty.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod pty;

use std::time::Duration;

use pty::Terminal;

const RUNS: usize = 20;
/// Rows and columns.
const SIZE: (u16, u16) = (60, 200);

fn main() {
    let mut first_frames = Vec::new();
    let mut models_ready = Vec::new();
    for _ in 0..RUNS {
        let start = start();
        first_frames.push(start.first_frame);
        models_ready.push(start.models_ready);
    }
    report("first frame", &mut first_frames);
    report("bundled models ready", &mut models_ready);
}

/// Times since the start of the process.
struct Start {
    first_frame: Duration,
    /// Until the screen shows both models as ready.
    models_ready: Duration,
}

/// Starts the program with a fresh home.
fn start() -> Start {
    let home = tempfile::tempdir().expect("a folder");
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_ragscope"), &[], home.path(), SIZE, &[]);

    terminal.wait_for("ask>");
    let first_frame = terminal.started.elapsed();
    terminal.wait("both models", |screen| {
        screen.contents().matches("✓ ready").count() == 2
    });
    let models_ready = terminal.started.elapsed();

    terminal.send("\u{3}");
    let (_, left) = terminal.ended();
    assert_eq!(left, pty::Left::CLEAN);
    Start {
        first_frame,
        models_ready,
    }
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let median = ms(times[times.len() / 2]);
    let worst = ms(times[times.len() - 1]);
    println!(
        "{what:<22} median {median:>7.1} ms   worst {worst:>7.1} ms   of {} starts",
        times.len()
    );
}
