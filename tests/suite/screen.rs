//! The screen without a terminal: snapshots of every pane and overlay, replay against live, every size, and that keys do what they say.

use std::path::{Path, PathBuf};

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;
use ragscope::config::{Layers, Paths};
use ragscope::event::{
    Citation, Command, CorpusCard, Event, Evidence, IndexPhase, IndexProgress, IndexReport, ModelCard, ModelRole,
    Outcome, Record, RunSummary, RunUsage, SESSION, SkippedFile, Source,
};
use ragscope::trace::{Recorder, read_run};
use ragscope::tui::app::Effect;
use ragscope::tui::terminal::Taken;
use ragscope::tui::theme::Depth;
use ragscope::tui::{App, Options, Suggestion, save, screen};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::pty::{Left, Terminal};

const SIZES: [(u16, u16); 3] = [(200, 60), (100, 30), (60, 16)];

/// The screen with what is needed to press keys and to look.
struct Screen {
    app: App,
    session_seq: u64,
    _home: tempfile::TempDir,
}

impl Screen {
    fn new() -> Self {
        Self::with(|options| App::new(options, Depth::True).expect("a screen"))
    }

    fn with(make: impl FnOnce(Options) -> App) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let app = make(options(home.path()));
        let mut screen = Self { app, session_seq: 0, _home: home };
        screen.resize(200, 60);
        screen
    }

    fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.app.resize(width, height);
        self
    }

    fn apply(&mut self, records: &[Record]) -> &mut Self {
        records.iter().for_each(|record| self.app.apply(record));
        self
    }

    fn session(&mut self, event: Event) -> &mut Self {
        self.app.apply(&Record { seq: self.session_seq, t_us: 0, run: SESSION.to_owned(), event });
        self.session_seq += 1;
        self
    }

    /// Presses keys by name, separated by spaces.
    fn press(&mut self, keys: &str) -> &mut Self {
        keys.split(' ').for_each(|key| self.app.handle(&Input::Key(key_event(key))));
        self
    }

    fn type_text(&mut self, text: &str) -> &mut Self {
        text.chars().for_each(|c| self.app.handle(&Input::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))));
        self
    }

    fn buffer(&mut self, width: u16, height: u16) -> Buffer {
        self.app.resize(width, height);
        self.app.prepare();
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        screen::draw(&self.app, &mut buffer);
        buffer
    }

    fn text(&mut self, width: u16, height: u16) -> String {
        save::rows(&self.buffer(width, height))
    }

    /// Does the screen show this?
    #[track_caller]
    fn shows(&mut self, expected: &str) -> &mut Self {
        let text = self.text(200, 60);
        assert!(text.contains(expected), "no {expected:?} on\n{text}");
        self
    }

    #[track_caller]
    fn hides(&mut self, unexpected: &str) -> &mut Self {
        let text = self.text(200, 60);
        assert!(!text.contains(unexpected), "{unexpected:?} on\n{text}");
        self
    }

    fn commands(&mut self) -> Vec<Command> {
        let effects = self.app.take_effects().into_iter();
        effects.filter_map(|effect| if let Effect::Send(command) = effect { Some(command) } else { None }).collect()
    }
}

fn options(home: &Path) -> Options {
    Options {
        config: Layers::defaults().config().expect("the defaults"),
        paths: Paths::under(home.to_owned()),
        save_folder: PathBuf::from("saved"),
        suggestions: [
            ("Where was the teacher of Mira Oakes born?", "naive", "Two steps, each from a document of its own."),
            ("Which ship carried coal in 1871?", "closed-book", "Without documents the model makes up a name."),
        ]
        .map(|(question, preset, shows)| Suggestion {
            question: question.to_owned(),
            preset: preset.to_owned(),
            shows: shows.to_owned(),
        })
        .to_vec(),
    }
}

fn key_event(name: &str) -> KeyEvent {
    let (modifiers, name) = match name.split_once('-').filter(|(_, rest)| !rest.is_empty()) {
        Some(("ctrl", rest)) => (KeyModifiers::CONTROL, rest),
        Some(("shift", rest)) => (KeyModifiers::SHIFT, rest),
        Some(("alt", rest)) => (KeyModifiers::ALT, rest),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "space" => KeyCode::Char(' '),
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "f1" => KeyCode::F(1),
        "pagedown" => KeyCode::PageDown,
        "backspace" => KeyCode::Backspace,
        sign => KeyCode::Char(sign.chars().next().expect("a sign")),
    };
    KeyEvent::new(code, modifiers)
}

/// A run written by hand, with all that a run of this kind may hold.
fn recorded() -> Vec<Record> {
    run_of("naive.jsonl")
}

fn run_of(name: &str) -> Vec<Record> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs").join(name);
    let text = std::fs::read_to_string(file).expect("a recorded run");
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

/// The same run under another name.
fn renamed(records: &[Record], name: &str) -> Vec<Record> {
    records.iter().map(|record| Record { run: name.to_owned(), ..record.clone() }).collect()
}

fn models(records: &[Record]) -> Vec<ModelCard> {
    match &records[0].event {
        Event::RunStarted { models, .. } => models.clone(),
        _ => Vec::new(),
    }
}

fn corpus() -> CorpusCard {
    CorpusCard { folder: "~/notes".to_owned(), documents: 412, chunks: 9_118, generation: 3, read_only: false }
}

fn ready() -> Screen {
    let mut screen = Screen::new();
    for model in models(&recorded()) {
        screen.session(Event::ModelLoaded { model, wall_ms: 214 });
    }
    screen.session(Event::CorpusOpened { corpus: corpus() });
    screen
}

/// A screen that has answered, the keys in the panes.
fn answered() -> Screen {
    let mut screen = ready();
    screen.apply(&recorded()).press("esc");
    screen
}

fn progress() -> Event {
    Event::IndexProgressed {
        progress: IndexProgress {
            phase: IndexPhase::Embedding,
            done: 1_203,
            total: Some(9_118),
            file: Some("people/oakes.md".to_owned()),
            rate_per_s: Some(310.4),
            left_ms: Some(25_500),
        },
    }
}

fn report() -> Event {
    let skipped =
        [("photo.md", "it is not text"), ("big/log.txt", "74,213,004 bytes are more than corpus.max_file_bytes")];
    Event::IndexFinished {
        report: IndexReport {
            corpus: corpus(),
            added: 12,
            changed: 3,
            unchanged: 397,
            removed: 1,
            embedded: 301,
            reused: 8_817,
            skipped: skipped
                .map(|(path, reason)| SkippedFile { path: path.to_owned(), reason: reason.to_owned() })
                .to_vec(),
            wall_ms: 4_210,
        },
    }
}

fn source() -> Event {
    let lines = (1..=60).map(|line| match line {
        12 => "Mira Oakes was a student of Tam Reeve at the harbour school. She kept the".to_owned(),
        13 => "notebooks of her teacher and copied the tide tables every spring.".to_owned(),
        _ if line % 5 == 0 => String::new(),
        _ => format!(
            "Line {line} of the document says something about the harbour, the tides and the people who watched them."
        ),
    });
    Event::SourceOpened {
        source: Source {
            document: "people/oakes.md".to_owned(),
            path: "/home/me/notes/people/oakes.md".to_owned(),
            lines: lines.collect(),
            from_line: 1,
            first_line: 12,
            last_line: 14,
            changed: false,
        },
    }
}

fn sessions() -> Event {
    let run = |number: u64, question: &str, answer: Option<&str>| RunSummary {
        file: format!("/state/sessions/{number}.jsonl"),
        run: number.to_string(),
        started_at: 1_795_183_391 - number * 4_000,
        question: question.to_owned(),
        preset: if number.is_multiple_of(2) { "naive" } else { "closed-book" }.to_owned(),
        answer: answer.map(str::to_owned),
    };
    Event::SessionsListed {
        folder: "/state/sessions".to_owned(),
        runs: vec![
            run(1, "Where was the teacher of Mira Oakes born?", Some("Aldmouth")),
            run(2, "Which ship carried coal in 1871?", Some("the Mira")),
            run(3, "Who taught in Lorby for eleven years?", None),
        ],
    }
}

/// A run goes through the recorder, comes back from its file and is played; at every record the screen is, cell for cell, the one
/// that showed the run while it happened.
#[test]
fn a_replayed_run_and_the_live_run_give_the_same_screens() {
    // one written by hand, one recorded from the bundled models over the demo corpus
    for name in ["naive.jsonl", "demo.jsonl"] {
        replay_and_live_are_the_same(&run_of(name));
    }
}

fn replay_and_live_are_the_same(records: &[Record]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(folder.path());
    recorder.write(&records[0]).expect("recorded");
    let file = recorder.file().expect("a file").to_owned();
    records[1..].iter().for_each(|record| recorder.write(record).expect("recorded"));
    let read = read_run(&file).expect("read back");
    let mut replayed = Screen::with(|options| App::replaying(read, options, Depth::True).expect("a screen"));
    replayed.press("space 0 space");
    let mut live = Screen::new();
    live.press("tab");
    for (count, record) in records.iter().enumerate() {
        live.apply(std::slice::from_ref(record));
        replayed.press(".");
        for (width, height) in SIZES {
            // the input and the status line say how far the replay is
            let panes = Rect::new(0, 0, width, height - 2);
            let (live, replayed) = (live.buffer(width, height), replayed.buffer(width, height));
            for position in panes.positions() {
                assert_eq!(live[position], replayed[position], "{position} after record {count} at {width}x{height}");
            }
        }
    }
}

/// Every pane and overlay in a state worth looking at.
fn scenes() -> Vec<(&'static str, Screen)> {
    let at = |screen: Screen, keys: &str| {
        let mut screen = screen;
        screen.press(keys);
        screen
    };
    vec![
        ("loading", loading()),
        ("ready", ready()),
        ("suggestion", at(ready(), "down down")),
        ("first_indexing", first_indexing()),
        ("empty_folder", empty_folder()),
        ("indexing", indexing()),
        ("waiting", waiting()),
        ("streaming", streaming()),
        ("answered", answered()),
        ("answer_citation", at(answered(), "j j")),
        ("uncertainty", at(answered(), "2 j j")),
        ("retrieval_hit", at(answered(), "3 j j")),
        ("retrieval_dropped", at(answered(), "3 j j j j j j j j")),
        ("retrieval_zoomed", at(answered(), "3 z")),
        ("links", at(answered(), "4")),
        ("refinement", at(answered(), "5")),
        ("closed_book", closed_book()),
        ("stopped", ended(Outcome::Stopped)),
        ("limit", ended(Outcome::LimitReached)),
        (
            "failed",
            ended(Outcome::Failed {
                error: "the prompt has 2,311 tokens and the context holds 2,048".to_owned(),
                advice: "shorten the question, or raise generator.context_tokens".to_owned(),
            }),
        ),
        ("second_run", second_run()),
        ("source", opened_source()),
        ("source_reading", at(answered(), "3 j o")),
        ("prompts", at(answered(), "p j")),
        ("settings", at(answered(), "s j j j j j")),
        ("settings_changed", at(answered(), "s enter")),
        ("settings_typed", at(answered(), "s j enter 7")),
        ("sessions", listed_sessions()),
        ("help", at(answered(), "?")),
        ("help_input", at(ready(), "f1")),
        ("palette", at(answered(), "ctrl-p")),
        ("palette_typed", at(answered(), ": s o u r")),
        ("report", reported()),
        ("log", logged()),
        ("search", at(answered(), "3 / a l d")),
        ("search_taken", at(answered(), "3 / a l d enter n")),
        ("banners", at(answered(), "f m")),
        ("replay", replayed(12)),
        ("typing", typing()),
    ]
}

fn loading() -> Screen {
    let mut screen = Screen::new();
    screen.session(Event::ModelLoaded { model: models(&recorded())[1].clone(), wall_ms: 96 }).session(
        Event::ModelLoadProgressed {
            role: ModelRole::Generator,
            file: "ragscope-demo.F16.gguf".to_owned(),
            fraction: 0.43,
        },
    );
    screen
}

fn indexing() -> Screen {
    let mut screen = ready();
    screen.session(progress());
    screen
}

fn first_indexing() -> Screen {
    let mut screen = empty_folder();
    screen.session(progress());
    screen
}

fn empty_folder() -> Screen {
    let mut screen = ready();
    screen.session(Event::CorpusOpened { corpus: CorpusCard { documents: 0, chunks: 0, ..corpus() } });
    screen
}

fn waiting() -> Screen {
    let mut screen = loading();
    screen.type_text("Who was Tam Reeve?").press("enter");
    screen
}

fn streaming() -> Screen {
    let mut screen = ready();
    let records = recorded();
    let second_sentence =
        records.iter().position(|r| matches!(r.event, Event::StepStarted { step: 2 })).expect("a second sentence");
    screen.apply(&records[..second_sentence + 5]);
    screen
}

fn ended(outcome: Outcome) -> Screen {
    let mut screen = streaming();
    let (text, answer) = ("Mira Oakes was a student of Tam Reeve. Tam Reeve was".to_owned(), String::new());
    let event = Event::RunFinished { outcome, text, answer, citations: Vec::new(), usage: RunUsage::default() };
    let last = &recorded()[0];
    screen.apply(&[Record { seq: 99, t_us: 400_000, run: last.run.clone(), event }]).press("esc");
    screen
}

fn closed_book() -> Screen {
    let mut screen = ready();
    let records = recorded().into_iter().filter_map(|mut record| {
        match &mut record.event {
            Event::RunStarted { preset, settings, .. } => {
                "closed-book".clone_into(preset);
                settings["retriever"]["kind"] = "off".into();
            }
            Event::StepFinished { citations, .. } | Event::RunFinished { citations, .. } => citations.clear(),
            Event::QueryWritten { .. } | Event::RetrievalFinished { .. } | Event::ContextBuilt { .. } => return None,
            _ => {}
        }
        Some(record)
    });
    let records: Vec<Record> = records.collect();
    screen.apply(&records).press("esc 3");
    screen
}

fn second_run() -> Screen {
    let mut screen = answered();
    screen.apply(&renamed(&recorded()[..20], "another")).press("[");
    screen
}

fn opened_source() -> Screen {
    let mut screen = answered();
    screen.press("3 j o").session(source());
    screen
}

fn listed_sessions() -> Screen {
    let mut screen = answered();
    screen.press("S").session(sessions()).press("j");
    screen
}

fn reported() -> Screen {
    let mut screen = answered();
    screen.session(report()).press("I");
    screen
}

fn logged() -> Screen {
    let mut screen = answered();
    screen
        .session(Event::Warned { text: "the index is read only: another ragscope writes it".to_owned() })
        .session(Event::OperationFailed {
            operation: "open source".to_owned(),
            error: "people/oakes.md is gone".to_owned(),
            advice: "bring the index up to date".to_owned(),
        })
        .press("L");
    screen
}

fn replayed(steps: usize) -> Screen {
    let mut screen = Screen::with(|options| App::replaying(recorded(), options, Depth::True).expect("a screen"));
    screen.press("space");
    for _ in 0..steps {
        screen.press(".");
    }
    screen
}

fn typing() -> Screen {
    let mut screen = answered();
    screen
        .press("i")
        .type_text("A question that is so long that it needs more than one row of a narrow screen, and then a second")
        .press("ctrl-j");
    screen.type_text("line");
    screen
}

#[test]
fn every_pane_and_overlay_looks_as_it_did() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, mut screen) in scenes() {
            for (width, height) in SIZES {
                insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen.text(width, height));
            }
        }
    });
}

#[test]
fn too_small_a_screen_says_so_and_waits() {
    let mut screen = answered();
    for (width, height) in [(59, 16), (60, 15), (30, 6)] {
        let text = screen.text(width, height);
        assert!(text.contains("ragscope needs 60 x 16") && text.contains("larger"), "{text}");
    }
    screen.shows("So the answer is Aldmouth.");
}

#[test]
fn keys_do_what_they_say() {
    let mut screen = ready();
    // asking
    screen.type_text("Who was q?").shows("ask> Who was q?").press("enter");
    let ask = |question: &str, overrides: &[(&str, &str)]| Command::Ask {
        question: question.to_owned(),
        overrides: overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    };
    assert_eq!(screen.commands(), [ask("Who was q?", &[])]);
    screen.shows("starting").press("up").shows("ask> Who was q?").press("down").hides("ask> Who was q?");
    // an answer comes and is stopped
    screen.apply(&recorded()[..15]).press("esc");
    assert_eq!(screen.app.take_effects(), [Effect::Stop]);
    screen.apply(&recorded()[15..]).press("esc").shows("i to type a question");
    // asking while an answer comes stops that one first
    screen.apply(&renamed(&recorded()[..15], "b")).press("r");
    assert_eq!(
        screen.app.take_effects(),
        [Effect::Stop, Effect::Send(ask("Where was the teacher of Mira Oakes born?", &[]))]
    );
}

#[test]
fn suggestions_fill_the_input_and_bring_their_preset() {
    let ask = |question: &str, overrides: &[(&str, &str)]| Command::Ask {
        question: question.to_owned(),
        overrides: overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    };
    let closed_book = [("preset", "closed-book")];
    let cases = [
        ("down enter", ask("Where was the teacher of Mira Oakes born?", &[])),
        ("down down enter", ask("Which ship carried coal in 1871?", &closed_book)),
        ("esc j j enter enter", ask("Which ship carried coal in 1871?", &closed_book)),
        ("ctrl-p c o a l enter enter", ask("Which ship carried coal in 1871?", &closed_book)),
    ];
    for (keys, expected) in cases {
        let mut screen = ready();
        screen.press(keys);
        assert_eq!(screen.commands(), [expected], "{keys}");
    }
}

#[test]
fn a_changed_setting_goes_with_the_next_question() {
    let mut screen = answered();
    screen.press("s / c h u n k s space t h a t enter esc").hides("Settings");
    // the first row is the preset: it is a choice
    screen.press("s enter").shows("was naive").press("r");
    let Some(Command::Ask { overrides, .. }) = screen.commands().pop() else { panic!("no question") };
    assert_eq!(overrides, [("preset".to_owned(), "closed-book".to_owned())]);
    // the second is the seed: it is typed, checked and may be taken back
    screen.apply(&renamed(&recorded(), "b")).press("s j enter backspace x enter").shows("cannot be");
    screen.press("enter backspace 7 enter").shows("was 1").press("backspace").hides("was 1");
}

#[test]
fn sources_open_at_citations_and_hits() {
    let wanted = |document: &str, first_line, last_line| Command::OpenSource {
        document: document.to_owned(),
        first_line,
        last_line,
    };
    let cases = [
        ("1 o", wanted("people/oakes.md", 12, 14)),
        ("1 j j j o", wanted("people/reeve.md", 3, 9)),
        ("2 G o", wanted("people/reeve.md", 3, 9)),
        ("3 o", wanted("people/oakes.md", 12, 14)),
        ("3 j j j o", wanted("school.md", 3, 5)),
    ];
    for (keys, expected) in cases {
        let mut screen = answered();
        screen.press(keys);
        assert_eq!(screen.commands(), [expected], "{keys}");
    }
    opened_source()
        .shows("people/oakes.md:12-14")
        .shows("12 ┃ Mira Oakes was a student")
        .press("/ t i d e s enter")
        .shows("match 1 of");
    // a replay shows what was recorded
    let mut screen = replayed(30);
    screen.press("3 j o").shows("as the run recorded it").shows("12 ┃ Mira Oakes");
}

#[test]
fn copying_says_what_was_copied() {
    let cases = [
        (
            "1 y",
            "the answer",
            "Mira Oakes was a student of Tam Reeve. Tam Reeve was born in Aldmouth. So the answer is Aldmouth.",
        ),
        ("1 j y", "sentence 1", "Mira Oakes was a student of Tam Reeve."),
        ("1 j j y", "citation [1]", "people/oakes.md:12-14"),
        ("3 y", "the query", "Where was the teacher of Mira Oakes born?"),
    ];
    for (keys, what, text) in cases {
        let mut screen = answered();
        screen.press(keys).shows(&format!("copied {what} ({} characters)", text.chars().count()));
        assert_eq!(screen.app.take_effects(), [Effect::Copy(text.to_owned())], "{keys}");
    }
}

#[test]
fn the_mouse_focuses_selects_and_scrolls() {
    let mut screen = answered();
    let mouse = |kind, column, row| Input::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
    let click = MouseEventKind::Down(MouseButton::Left);
    screen.buffer(200, 60);
    screen.app.handle(&mouse(click, 10, 36));
    screen.shows("▸3 Retrieval").shows("People › Tam Reeve › Early life");
    screen.app.handle(&mouse(click, 10, 4));
    screen.shows("▸1 Answer").shows("└ [1] people/oakes.md:12-14");
    screen.buffer(100, 30);
    screen.app.handle(&mouse(MouseEventKind::ScrollDown, 10, 20));
    let text = screen.text(100, 30);
    assert!(!text.contains("query \"") && text.contains("ships.md"), "{text}");
    screen.app.handle(&mouse(click, 3, 58));
    screen.press("m").shows("mouse released: m takes it back");
    assert_eq!(screen.app.take_effects(), [Effect::Mouse(false)]);
}

#[test]
fn a_frozen_screen_stays_while_the_run_goes_on() {
    let mut screen = ready();
    screen.apply(&recorded()[..15]).press("tab f").apply(&recorded()[15..]);
    screen.shows("frozen: f goes on").hides("So the answer is").press("f").shows("So the answer is");
}

#[test]
fn earlier_runs_stay_within_reach() {
    let mut screen = answered();
    screen
        .apply(&renamed(&recorded()[..3], "b"))
        .shows("run 2 of 2")
        .hides("Aldmouth.")
        .press("tab [")
        .shows("run 1 of 2")
        .shows("answer  Aldmouth");
    screen.press("[").shows("this is the first run").press("]").shows("run 2 of 2");
}

#[test]
fn a_recorded_run_appears_when_it_is_opened() {
    let mut screen = listed_sessions();
    screen.commands();
    screen.press("enter");
    assert_eq!(screen.commands(), [Command::OpenRun { file: "/state/sessions/2.jsonl".into() }]);
    screen.apply(&renamed(&recorded(), "2")).hides("Recorded runs").shows("run 2 of 2");
    // once more: it takes its old place
    screen.apply(&renamed(&recorded(), "2")).shows("run 2 of 2");
}

#[test]
fn only_what_happens_now_can_be_stopped() {
    let stopped = |screen: &mut Screen| screen.app.take_effects().contains(&Effect::Stop);
    // a recording that was cut off is not running
    let mut screen = listed_sessions();
    screen.press("enter").apply(&renamed(&recorded()[..15], "2")).shows("the recording ends here").press("esc");
    assert!(!stopped(&mut screen));
    // a finished recording hides no run that goes on
    screen.apply(&renamed(&recorded()[..15], "live")).press("S").session(sessions()).press("j j enter");
    screen.apply(&renamed(&recorded(), "3")).shows("answer  Aldmouth").press("esc");
    assert!(stopped(&mut screen));
    // an engine that failed ends what it was at
    let failed = ("engine".to_owned(), "it panicked".to_owned(), "start again".to_owned());
    screen.press("[").shows("being written");
    screen.session(Event::OperationFailed { operation: failed.0, error: failed.1, advice: failed.2 });
    screen.shows("✗ it panicked").press("esc");
    assert!(!stopped(&mut screen));
}

#[test]
fn a_source_comes_from_the_run_until_it_comes_from_the_file() {
    let mut screen = answered();
    screen.press("3 j o").shows("the document is being read").shows("12 ┃ Mira Oakes");
    // another document than the one that is waited for
    let Event::SourceOpened { source: mut other } = source() else { return };
    "other.md".clone_into(&mut other.document);
    screen.session(Event::SourceOpened { source: other }).shows("the document is being read");
    screen.session(source()).shows("11 │ Line 11 of the document").hides("is being read");
    // a document that cannot be read
    let mut screen = answered();
    let failed = ("open source".to_owned(), "people/oakes.md is gone".to_owned(), "update the index".to_owned());
    screen.press("3 j o").session(Event::OperationFailed { operation: failed.0, error: failed.1, advice: failed.2 });
    screen.shows("12 ┃ Mira Oakes").shows("people/oakes.md is gone");
    // a run over another folder
    let mut screen = answered();
    screen.session(Event::CorpusOpened { corpus: CorpusCard { folder: "~/other".to_owned(), ..corpus() } });
    screen.press("3 j o").shows("another folder").shows("12 ┃ Mira Oakes");
    assert!(screen.commands().is_empty());
}

#[test]
fn settings_that_no_run_reads_say_when_they_are_read() {
    let mut screen = answered();
    screen
        .press("s / o v e r l a p enter enter")
        .shows("chunker.overlap_tokens is read when a folder is indexed: set it in");
}

/// Run as a process of its own by the test below.
#[test]
#[ignore = "panics in a terminal of its own"]
fn panics_in_the_screen() {
    let _taken = Taken::take(true).expect("a terminal");
    panic!("on purpose");
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_told() {
    let home = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("this program");
    let arguments = ["screen::panics_in_the_screen", "--exact", "--ignored", "--nocapture"];
    let terminal = Terminal::start(&program.display().to_string(), &arguments, home.path(), (24, 80));
    terminal.wait_for("on purpose");
    let (_, left) = terminal.ended();
    assert_eq!(left, Left::CLEAN);
}

#[test]
fn saving_asks_for_files() {
    let mut screen = answered();
    screen.press("e E");
    let files: Vec<(String, String)> = screen
        .app
        .take_effects()
        .into_iter()
        .filter_map(|effect| {
            if let Effect::Write { path, text } = effect { Some((path.display().to_string(), text)) } else { None }
        })
        .collect();
    let [(run, markdown), (page, text)] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!(
        (run.as_str(), page.as_str()),
        ("saved/ragscope-2026-11-20-140311-teacher.md", "saved/ragscope-screen.txt")
    );
    assert!(markdown.contains("2. Tam Reeve was born in Aldmouth. [2] (0.40 nats)"), "{markdown}");
    assert!(markdown.contains("| ✗ | towns/aldmouth.md:1-22 | 2.950 (#6) | 0.602 (#5) | 0.479 |"), "{markdown}");
    assert!(text.contains("╭▸1 Answer") && text.contains("│  3 So the answer is Aldmouth.  [2]"), "{text}");
}

#[test]
fn the_palette_finds_by_letters() {
    let mut screen = answered();
    screen.press("ctrl-p z o o m enter").shows("▸1 Answer").hides("2 Uncertainty ─");
    screen.press("z ctrl-p").type_text("theme light").press("enter").shows("theme light").hides("Commands");
}

#[test]
fn pasting_goes_into_the_input_and_steers_nothing() {
    let mut screen = ready();
    screen.app.handle(&Input::Paste("one\r\ntwo\x1b[31m".to_owned()));
    screen.shows("ask> one").shows("two␛[31m").press("enter");
    assert!(matches!(screen.commands().as_slice(), [Command::Ask { question, .. }] if question == "one\ntwo␛[31m"));
}

#[test]
fn nothing_from_outside_steers_the_terminal() {
    let mut screen = hostile("\u{1b}[31m\u{202e}\u{7f}\t\r\u{9b}2J");
    for keys in ["1 j j", "3 j j", "p", "esc S", "esc I", "esc L", "esc 3 j o"] {
        screen.press(keys);
        let buffer = screen.buffer(200, 60);
        for cell in &buffer.content {
            assert!(
                !cell.symbol().chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)),
                "{:?} after {keys}",
                cell.symbol()
            );
        }
    }
}

#[test]
fn without_colours_there_are_none() {
    let mut screen = Screen::with(|options| App::new(options, Depth::None).expect("a screen"));
    screen.apply(&recorded()).press("esc 3 j j");
    for keys in ["1", "s", "esc /", "esc ctrl-p", "esc f m"] {
        screen.press(keys);
        for cell in &screen.buffer(200, 60).content {
            assert_eq!((cell.fg, cell.bg), (Default::default(), Default::default()), "{cell:?} after {keys}");
        }
    }
}

#[test]
fn panes_name_no_colour() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tui");
    let mut folders = vec![source];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("theme.rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                assert!(!text.contains("Color"), "{} names a colour: give it a role of the theme", path.display());
            }
        }
    }
}

#[test]
fn nothing_changes_by_records_that_are_unknown() {
    let mut screen = answered();
    screen.text(200, 60);
    screen.app.take_changed();
    screen.press("j");
    assert!(screen.app.take_changed());
    assert!(!screen.app.take_changed(), "nothing new to draw");
}

/// A screen over a corpus whose names and texts are all `text`.
fn hostile(text: &str) -> Screen {
    let words = |more: &str| format!("{more}{text}");
    let mut screen = ready();
    let records = recorded().into_iter().map(|mut record| {
        match &mut record.event {
            Event::RunStarted { question, preset, corpus, .. } => {
                (*question, *preset) = (words("q"), words("p"));
                if let Some(corpus) = corpus {
                    corpus.folder = words("f");
                }
            }
            Event::QueryWritten { query, writer, .. } => (*query, *writer) = (words("q"), words("w")),
            Event::RetrievalFinished { retrieval, .. } => {
                retrieval.query = words("q");
                for hit in &mut retrieval.hits {
                    hit.chunk.document = words("d");
                    hit.chunk.headings = vec![words("h")];
                    hit.chunk.text = words("t");
                }
            }
            Event::ModelCalled { purpose, prompt, .. } => (*purpose, *prompt) = (words("p"), words("r")),
            Event::TokenGenerated { text, .. } => *text = words(" "),
            Event::StepFinished { text, citations, .. } => {
                *text = words("s");
                citations.iter_mut().for_each(|citation| citation.file = words("c"));
                citations.push(Citation {
                    label: 7,
                    chunk: 0,
                    file: words("c"),
                    first_line: 0,
                    last_line: u32::MAX,
                    evidence: Evidence::Marked,
                });
            }
            Event::RunFinished { text, answer, .. } => (*text, *answer) = (words("t"), words("a")),
            _ => {}
        }
        record
    });
    let records: Vec<Record> = records.collect();
    screen.apply(&records).press("esc");
    screen.session(Event::Warned { text: words("w") });
    screen.session(Event::OperationFailed { operation: words("o"), error: words("e"), advice: words("a") });
    screen
}

/// What may happen to a screen.
#[derive(Debug, Clone)]
enum Happening {
    Key(&'static str),
    Type(String),
    Size(u16, u16),
    Records(usize),
    Progress,
    Report,
    Source,
    Sessions,
    Click(u16, u16),
    Wheel(u16, u16),
}

fn happening() -> impl Strategy<Value = Happening> {
    const KEYS: &[&str] = &[
        "esc",
        "enter",
        "tab",
        "shift-tab",
        "up",
        "down",
        "space",
        "backspace",
        "pagedown",
        "ctrl-p",
        "ctrl-j",
        "ctrl-u",
        "ctrl-d",
        "1",
        "2",
        "3",
        "4",
        "5",
        "j",
        "k",
        "g",
        "G",
        "/",
        "n",
        "N",
        "y",
        "z",
        "f",
        "o",
        "i",
        "s",
        "S",
        "p",
        "r",
        "e",
        "m",
        "I",
        "L",
        "[",
        "]",
        "?",
        ":",
        "q",
        "u",
        "h",
        ".",
        ",",
        "+",
        "-",
        "0",
    ];
    prop_oneof![
        10 => prop::sample::select(KEYS).prop_map(Happening::Key),
        2 => "\\PC{0,12}".prop_map(Happening::Type),
        4 => (1_u16..250, 1_u16..80).prop_map(|(width, height)| Happening::Size(width, height)),
        3 => (0_usize..36).prop_map(Happening::Records),
        1 => Just(Happening::Progress),
        1 => Just(Happening::Report),
        1 => Just(Happening::Source),
        1 => Just(Happening::Sessions),
        1 => (0_u16..250, 0_u16..80).prop_map(|(x, y)| Happening::Click(x, y)),
        1 => (0_u16..250, 0_u16..80).prop_map(|(x, y)| Happening::Wheel(x, y)),
    ]
}

fn happens(screen: &mut Screen, size: &mut (u16, u16), happening: &Happening) {
    let mouse = |kind, column, row| Input::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
    match happening {
        Happening::Key(key) => _ = screen.press(key),
        Happening::Type(text) => _ = screen.type_text(text),
        Happening::Size(width, height) => *size = (*width, *height),
        Happening::Records(count) => _ = screen.apply(&recorded()[..(*count).min(35)]),
        Happening::Progress => _ = screen.session(progress()),
        Happening::Report => _ = screen.session(report()),
        Happening::Source => _ = screen.session(source()),
        Happening::Sessions => _ = screen.session(sessions()),
        Happening::Click(x, y) => screen.app.handle(&mouse(MouseEventKind::Down(MouseButton::Left), *x, *y)),
        Happening::Wheel(x, y) => screen.app.handle(&mouse(MouseEventKind::ScrollDown, *x, *y)),
    }
    screen.buffer(size.0, size.1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_size_and_no_state_makes_it_panic(text in "\\PC{0,40}", happenings in prop::collection::vec(happening(), 1..40)) {
        let mut screen = hostile(&text);
        let mut size = (80, 24);
        for happening in &happenings {
            happens(&mut screen, &mut size, happening);
        }
    }

    #[test]
    fn wide_signs_never_break_the_frame(text in "[a\u{3042}\u{1f468}\u{200d}\u{1f469}e\u{301}\u{fe0f} -]{0,60}", width in 60_u16..160) {
        let mut screen = hostile(&text);
        screen.press("j");
        for keys in ["1", "3", "p"] {
            let buffer = screen.press(keys).buffer(width, 26);
            for y in 3..20 {
                let edge = buffer[(width - 1, y)].symbol();
                prop_assert!(["│", "▐", "╮", "╯", " "].contains(&edge), "{edge:?} at row {y}\n{}", save::rows(&buffer));
            }
        }
    }
}
