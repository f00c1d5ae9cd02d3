//! The cost of the screen: drawing, folding records, and the time from a key to its frame while
//! records arrive.
//!
//! `cargo bench --bench screen`. Medians come from criterion; 99th percentiles are printed before
//! it.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use ragscope::config::{Layers, Paths};
use ragscope::event::{Event, Record, RunEvent};
use ragscope::tui::event_loop::{After, Inputs, drive};
use ragscope::tui::state::State;
use ragscope::tui::theme::Depth;
use ragscope::tui::{App, Options};
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, TestBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const SIZE: (u16, u16) = (200, 60);
const FRAMES: usize = 2_000;
const KEYS: usize = 500;
/// Token records per second in the latency measurement: far more than any model generates.
const RECORDS_PER_S: u32 = 1_000;

fn recorded() -> Vec<Record> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/naive.jsonl");
    let text = std::fs::read_to_string(file).expect("a recorded run");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect()
}

fn app() -> App {
    let options = Options {
        config: Layers::defaults().config().expect("the defaults"),
        sets_chunks: false,
        paths: Paths::under(PathBuf::from("/nonexistent")),
        has_plain_locale: false,
        has_hyperlinks: false,
        diagnose: ragscope::eval::diagnose,
        save_folder: PathBuf::new(),
        recent_folders: Vec::new(),
        opens_folders: false,
        time_zone: jiff::tz::TimeZone::UTC,
        suggestions: Vec::new(),
    };
    let mut app = App::new(options, Depth::True).expect("a screen");
    app.resize(SIZE.0, SIZE.1);
    app
}

/// Returns a full screen: an answer of many sentences, all hits visible, one passage open.
fn full() -> App {
    let mut app = app();
    let records = recorded();
    let (last, run) = records.split_last().expect("records");
    for record in run {
        app.apply(record);
    }

    for step in 4..40 {
        for record in run.iter().filter(|record| is_of_sentence(record)) {
            let mut record = record.clone();
            if let Event::Run(
                RunEvent::StepStarted { step: of }
                | RunEvent::TokenGenerated { step: of, .. }
                | RunEvent::StepFinished { step: of, .. },
            ) = &mut record.event
            {
                *of = step;
            }
            app.apply(&record);
        }
    }
    app.apply(last);

    for key in ["3", "j", "j", "1", "j"] {
        app.handle(&press(key));
    }
    app.prepare();
    app
}

fn is_of_sentence(record: &Record) -> bool {
    matches!(
        record.event,
        Event::Run(
            RunEvent::StepStarted { step: 1 }
                | RunEvent::TokenGenerated { step: 1, .. }
                | RunEvent::StepFinished { step: 1, .. }
        )
    )
}

fn press(key: &str) -> Input {
    let code = if key == "tab" {
        KeyCode::Tab
    } else {
        KeyCode::Char(key.chars().next().expect("a sign"))
    };
    Input::Key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn percentile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

fn report(what: &str, times: &mut [Duration]) {
    let count = times.len();
    let median = percentile(times, 0.5);
    let p99 = percentile(times, 0.99);
    eprintln!("{what}: median {median:.2?}, 99th percentile {p99:.2?}, over {count}");
}

fn draw(c: &mut Criterion) {
    let app = full();
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("a terminal");
    let mut times: Vec<Duration> = (0..FRAMES)
        .map(|_| {
            terminal.clear().expect("cleared");
            let start = Instant::now();
            terminal
                .draw(|frame| app.draw(frame.buffer_mut()))
                .expect("drawn");
            start.elapsed()
        })
        .collect();
    report("draw a full 200x60 screen, all of it new", &mut times);

    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    c.bench_function("draw a full 200x60 screen", |b| {
        b.iter(|| black_box(&app).draw(&mut buffer));
    });
}

fn fold(c: &mut Criterion) {
    let records = recorded();
    c.bench_function("fold a run of 35 records", |b| {
        b.iter(|| {
            let mut state = State::default();
            for record in &records {
                state.apply(black_box(record));
            }
            state
        });
    });
}

/// The end of a frame, and the input line that it shows.
type Frame = (Instant, String);

/// A terminal that records its frames.
struct RecordingBackend {
    inner: TestBackend,
    frames: Arc<Mutex<Vec<Frame>>>,
}

impl Backend for RecordingBackend {
    type Error = core::convert::Infallible;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(
        &mut self,
        content: I,
    ) -> Result<(), Self::Error> {
        self.inner.draw(content)?;
        // The input line shows which keys this frame has answered.
        let row = SIZE.1 - 2;
        let line = (0..SIZE.0)
            .map(|x| self.inner.buffer()[(x, row)].symbol())
            .collect();
        self.frames
            .lock()
            .expect("not poisoned")
            .push((Instant::now(), line));
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), Self::Error> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<(), Self::Error> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> Result<Position, Self::Error> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Self::Error> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<(), Self::Error> {
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> Result<(), Self::Error> {
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> Result<Size, Self::Error> {
        self.inner.size()
    }

    fn window_size(&mut self) -> Result<WindowSize, Self::Error> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.inner.flush()
    }
}

/// A screen on its own thread, with its inputs and its frames.
struct Shown {
    keys: UnboundedSender<Input>,
    records: UnboundedSender<Record>,
    frames: Arc<Mutex<Vec<Frame>>>,
    screen: JoinHandle<()>,
}

fn show(app: fn() -> App) -> Shown {
    let (keys, terminal_events) = unbounded_channel();
    let (records, incoming) = unbounded_channel();
    let frames = Arc::new(Mutex::new(Vec::new()));
    let backend = RecordingBackend {
        inner: TestBackend::new(SIZE.0, SIZE.1),
        frames: Arc::clone(&frames),
    };

    let screen = std::thread::spawn(move || {
        let mut terminal = Terminal::new(backend).expect("a terminal");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let inputs = Inputs {
            terminal: terminal_events,
            records: incoming,
        };
        runtime
            .block_on(drive(&mut terminal, &mut app(), inputs, &mut |_, _| {
                After::Continue
            }))
            .expect("the screen");
    });
    Shown {
        keys,
        records,
        frames,
        screen,
    }
}

/// Types into the input while a run streams, and measures the time from each key to the end of the
/// first frame that shows it.
fn key_to_frame(_: &mut Criterion) {
    let Shown {
        keys,
        records,
        frames,
        screen,
    } = show(app);
    let streaming = std::thread::spawn(move || stream(&records));

    let mut pressed = Vec::with_capacity(KEYS);
    for number in 0..KEYS {
        // Each key changes the input line: it grows by one character, and is cleared when long.
        std::thread::sleep(Duration::from_micros(20_000 + number as u64 % 7 * 1_900));
        let key = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE);
        let clear = KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL);
        let typed = number % 150 + 1;
        if typed == 1 {
            drop(keys.send(Input::Key(clear)));
        }
        pressed.push((Instant::now(), typed));
        drop(keys.send(Input::Key(key)));
    }
    std::thread::sleep(Duration::from_millis(100));
    drop(keys);
    screen.join().expect("the screen");
    streaming.join().expect("the records");

    let frames = frames.lock().expect("not poisoned");
    let mut times = Vec::new();
    for (pressed, typed) in pressed {
        let answer = frames
            .iter()
            .find(|(drawn, line)| *drawn >= pressed && line.matches('x').count() == typed);
        times.extend(answer.map(|(drawn, _)| *drawn - pressed));
    }
    report(
        "from a key to its frame while 1,000 records per second arrive",
        &mut times,
    );
    eprintln!("frames drawn: {}", frames.len());
}

/// Sends the start of a run, then the records of a sentence over and over, until the screen is gone.
fn stream(records: &UnboundedSender<Record>) {
    let run = recorded();
    for record in &run[..5] {
        drop(records.send(record.clone()));
    }

    let sentence: Vec<&Record> = run.iter().filter(|record| is_of_sentence(record)).collect();
    for record in sentence.into_iter().cycle() {
        if records.send(record.clone()).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_secs(1) / RECORDS_PER_S);
    }
}

/// Leaves the screen alone for a second and counts the frames after the first.
fn idle(_: &mut Criterion) {
    let Shown {
        keys,
        records: _records,
        frames,
        screen,
    } = show(full);
    std::thread::sleep(Duration::from_secs(1));
    drop(keys);
    screen.join().expect("the screen");
    let frames = frames.lock().expect("not poisoned").len();
    eprintln!(
        "frames drawn in an idle second: {}",
        frames.saturating_sub(1)
    );
}

criterion_group!(benches, draw, fold, key_to_frame, idle);
criterion_main!(benches);
