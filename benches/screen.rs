//! What the screen costs: drawing, folding records, and the way from a key to its frame while records pour in.
//!
//! `cargo bench --bench screen`. Medians come from criterion; the 99th percentiles are printed before it.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use ragscope::config::{Layers, Paths};
use ragscope::event::{Event, Record};
use ragscope::tui::event_loop::{Inputs, drive};
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
/// Token records a second in the latency measurement: far more than any model writes.
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
        paths: Paths::under(PathBuf::from("/nonexistent")),
        save_folder: PathBuf::new(),
        suggestions: Vec::new(),
    };
    let mut app = App::new(options, Depth::True).expect("a screen");
    app.resize(SIZE.0, SIZE.1);
    app
}

/// A screen that is full: an answer of many sentences, every hit in sight, the passage of one opened.
fn full() -> App {
    let mut app = app();
    let records = recorded();
    let (last, run) = records.split_last().expect("records");
    run.iter().for_each(|record| app.apply(record));
    for step in 4..40 {
        for record in run.iter().filter(|record| is_of_sentence(record)) {
            let mut record = record.clone();
            match &mut record.event {
                Event::StepStarted { step: s }
                | Event::TokenGenerated { step: s, .. }
                | Event::StepFinished { step: s, .. } => *s = step,
                _ => {}
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
        Event::StepStarted { step: 1 }
            | Event::TokenGenerated { step: 1, .. }
            | Event::StepFinished { step: 1, .. }
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

fn tell(what: &str, times: &mut [Duration]) {
    let (median, late) = (percentile(times, 0.5), percentile(times, 0.99));
    eprintln!(
        "{what}: median {median:.2?}, 99th percentile {late:.2?}, over {}",
        times.len()
    );
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
    tell("draw a full 200x60 screen, all of it new", &mut times);
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    c.bench_function("draw a full 200x60 screen", |b| {
        b.iter(|| black_box(&app).draw(&mut buffer))
    });
}

fn fold(c: &mut Criterion) {
    let records = recorded();
    c.bench_function("fold a run of 35 records", |b| {
        b.iter(|| {
            let mut state = State::default();
            records
                .iter()
                .for_each(|record| state.apply(black_box(record)));
            state
        });
    });
}

/// A terminal that notes when it was drawn on.
struct Watched {
    inner: TestBackend,
    drawn: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Backend for Watched {
    type Error = core::convert::Infallible;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(
        &mut self,
        content: I,
    ) -> Result<(), Self::Error> {
        self.inner.draw(content)?;
        // the input line tells which keys this frame has answered
        let row = SIZE.1 - 2;
        let line = (0..SIZE.0)
            .map(|x| self.inner.buffer()[(x, row)].symbol())
            .collect();
        self.drawn
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

/// A screen on a thread of its own, and what moves and watches it.
struct Shown {
    keys: UnboundedSender<Input>,
    records: UnboundedSender<Record>,
    drawn: Arc<Mutex<Vec<(Instant, String)>>>,
    screen: JoinHandle<()>,
}

fn show(app: fn() -> App) -> Shown {
    let (keys, terminal_events) = unbounded_channel();
    let (records, incoming) = unbounded_channel();
    let drawn = Arc::new(Mutex::new(Vec::new()));
    let backend = Watched {
        inner: TestBackend::new(SIZE.0, SIZE.1),
        drawn: Arc::clone(&drawn),
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
            .block_on(drive(&mut terminal, &mut app(), inputs, &mut |_, _| true))
            .expect("the screen");
    });
    Shown {
        keys,
        records,
        drawn,
        screen,
    }
}

/// Types into the input while a run streams, and measures from each key to the end of the first frame that shows it.
fn key_to_frame(_: &mut Criterion) {
    let Shown {
        keys,
        records,
        drawn,
        screen,
    } = show(app);
    let pouring = std::thread::spawn(move || {
        let run = recorded();
        let writing: Vec<Record> = run
            .iter()
            .filter(|record| is_of_sentence(record))
            .cloned()
            .collect();
        run[..5]
            .iter()
            .for_each(|record| drop(records.send(record.clone())));
        for record in writing.iter().cycle() {
            if records.send(record.clone()).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_secs(1) / RECORDS_PER_S);
        }
    });
    let mut pressed = Vec::with_capacity(KEYS);
    for number in 0..KEYS {
        // each key leaves its own mark on the input line: it grows by one sign, and starts over with a long one
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
    pouring.join().expect("the records");
    let frames = drawn.lock().expect("not poisoned");
    let mut times: Vec<Duration> = pressed
        .iter()
        .filter_map(|(at, typed)| {
            let shows = |line: &str| line.matches('x').count() == *typed;
            frames
                .iter()
                .find(|(drawn, line)| drawn >= at && shows(line))
                .map(|(drawn, _)| *drawn - *at)
        })
        .collect();
    tell(
        "from a key to its frame while 1,000 records a second pour in",
        &mut times,
    );
    eprintln!("frames drawn: {}", frames.len());
}

/// Leaves the screen alone for a second and counts what was drawn after the first frame.
fn idle(_: &mut Criterion) {
    let Shown {
        keys,
        records: _records,
        drawn,
        screen,
    } = show(full);
    std::thread::sleep(Duration::from_secs(1));
    drop(keys);
    screen.join().expect("the screen");
    let frames = drawn.lock().expect("not poisoned").len();
    eprintln!(
        "frames drawn in a second in which nothing changed: {}",
        frames.saturating_sub(1)
    );
}

criterion_group!(benches, draw, fold, key_to_frame, idle);
criterion_main!(benches);
