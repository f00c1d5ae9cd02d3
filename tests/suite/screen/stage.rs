//! A screen with keys to press and records to happen, and the events that make it interesting.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crossterm::event::{
    Event as Input, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use jiff::tz::TimeZone;
use ragscope::config::Paths;
use ragscope::event::{
    Belief, BeliefSample, Command, CorpusCard, Event, HitUtility, IndexPhase, IndexProgress,
    IndexReport, LocalModel, MachineMemory, MemoryNeed, ModelCard, ModelList, ModelRole,
    NeighbouringSentences, NotedFile, OfferedModel, OmittedBy, OmittedFiles, Problem, PullPhase,
    PullProgress, Record, RunEvent, RunSummary, SESSION, SampledUncertainty, SePerForm,
    SessionEvent, SkippedFile, Source, SourceForm, TableRow, Utility,
};
use ragscope::tui::app::Effect;
use ragscope::tui::theme::Depth;
use ragscope::tui::{App, Options, Suggestion, save};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::support::environment::{SMALL_GENERATOR, small_settings};
use crate::support::find;

/// The screen with what is needed to press keys and to look.
pub struct Screen {
    pub app: App,
    session_seq: u64,
    _home: tempfile::TempDir,
}

impl Screen {
    pub fn new() -> Self {
        Self::with(|options| App::new(options, Depth::True).expect("a screen"))
    }

    pub fn with(make: impl FnOnce(Options) -> App) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let app = make(options(home.path()));
        let mut screen = Self {
            app,
            session_seq: 0,
            _home: home,
        };
        screen.resize(200, 60);
        screen
    }

    pub fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.app.resize(width, height);
        self
    }

    pub fn apply(&mut self, records: &[Record]) -> &mut Self {
        records.iter().for_each(|record| self.app.apply(record));
        self
    }

    pub fn session(&mut self, event: SessionEvent) -> &mut Self {
        self.app.apply(&Record {
            seq: self.session_seq,
            t_us: 0,
            run: SESSION.to_owned(),
            event: event.into(),
        });
        self.session_seq += 1;
        self
    }

    /// Presses keys by name, separated by spaces.
    pub fn press(&mut self, keys: &str) -> &mut Self {
        keys.split(' ')
            .for_each(|key| self.app.handle(&Input::Key(key_event(key))));
        self
    }

    pub fn type_text(&mut self, text: &str) -> &mut Self {
        text.chars().for_each(|c| {
            self.app.handle(&Input::Key(KeyEvent::new(
                KeyCode::Char(c),
                KeyModifiers::NONE,
            )));
        });
        self
    }

    pub fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) -> &mut Self {
        self.app.handle(&Input::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        }));
        self
    }

    pub fn click(&mut self, column: u16, row: u16) -> &mut Self {
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row)
    }

    pub fn buffer(&mut self, width: u16, height: u16) -> Buffer {
        self.app.resize(width, height);
        self.app.prepare();
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.app.draw(&mut buffer);
        buffer
    }

    pub fn text(&mut self, width: u16, height: u16) -> String {
        save::rows(&self.buffer(width, height))
    }

    /// Does the screen show this?
    #[track_caller]
    pub fn shows(&mut self, expected: &str) -> &mut Self {
        let text = self.text(200, 60);
        assert!(text.contains(expected), "no {expected:?} on\n{text}");
        self
    }

    #[track_caller]
    pub fn hides(&mut self, unexpected: &str) -> &mut Self {
        let text = self.text(200, 60);
        assert!(!text.contains(unexpected), "{unexpected:?} on\n{text}");
        self
    }

    pub fn commands(&mut self) -> Vec<Command> {
        let effects = self.app.take_effects().into_iter();
        effects
            .filter_map(|effect| {
                if let Effect::Send(command) = effect {
                    Some(command)
                } else {
                    None
                }
            })
            .collect()
    }
}

fn options(home: &Path) -> Options {
    Options {
        config: small_settings().config().expect("the defaults"),
        sets_chunks: false,
        paths: Paths::under(home.to_owned()),
        has_plain_locale: false,
        has_hyperlinks: false,
        diagnose: ragscope::eval::diagnose,
        save_folder: PathBuf::from("saved"),
        recent_folders: Vec::new(),
        opens_folders: false,
        time_zone: TimeZone::UTC,
        suggestions: [
            (
                "Where was the teacher of Mira Oakes born?",
                "naive",
                "Two steps, each from a document of its own.",
            ),
            (
                "Which ship carried coal in 1871?",
                "closed-book",
                "Without documents the model makes up a name.",
            ),
        ]
        .map(|(question, preset, shows)| Suggestion {
            question: question.to_owned(),
            preset: Some(preset.to_owned()),
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

/// A composed run with everything that a run of this kind may contain.
pub fn recorded() -> Vec<Record> {
    run_of("naive.jsonl")
}

pub fn run_of(name: &str) -> Vec<Record> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/runs")
        .join(name);
    let text = std::fs::read_to_string(file).expect("a recorded run");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect()
}

/// The same run under another name.
pub fn renamed(records: &[Record], name: &str) -> Vec<Record> {
    records
        .iter()
        .map(|record| Record {
            run: name.to_owned(),
            ..record.clone()
        })
        .collect()
}

pub fn models(records: &[Record]) -> Vec<ModelCard> {
    match &records[0].event {
        Event::Run(RunEvent::RunStarted { models, .. }) => models.clone(),
        _ => Vec::new(),
    }
}

pub fn corpus() -> CorpusCard {
    CorpusCard {
        folders: Vec::new(),
        folder: "~/notes".to_owned(),
        documents: 412,
        chunks: 9_118,
        generation: 3,
        read_only: false,
        demo: false,
        words_only: false,
    }
}

pub fn ready() -> Screen {
    let mut screen = Screen::new();
    for model in models(&recorded()) {
        screen.session(SessionEvent::ModelLoaded {
            model,
            wall_ms: 214,
        });
    }
    screen.session(SessionEvent::CorpusOpened { corpus: corpus() });
    screen
}

/// A screen that has answered, the keys in the panes.
pub fn answered() -> Screen {
    let mut screen = ready();
    screen.apply(&recorded()).press("esc");
    screen
}

/// A run whose hits were linked, graded, reranked and merged.
pub fn funnel() -> Screen {
    let mut screen = ready();
    screen.apply(&run_of("funnel.jsonl")).press("esc");
    screen
}

pub fn progress() -> SessionEvent {
    SessionEvent::IndexProgressed {
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

pub fn report() -> SessionEvent {
    let skipped = [
        ("photo.md", "it is not text"),
        (
            "big/log.txt",
            "74,213,004 bytes are more than corpus.max_file_bytes",
        ),
    ];
    SessionEvent::IndexFinished {
        report: IndexReport {
            corpus: corpus(),
            added: 12,
            changed: 3,
            unchanged: 397,
            removed: 1,
            updated: vec!["tides.md".to_owned()],
            embedded: 301,
            reused: 8_817,
            neighbours: Some(NeighbouringSentences {
                pairs: 12_404,
                joined: 298,
            }),
            skipped: skipped
                .map(|(path, reason)| SkippedFile {
                    path: path.to_owned(),
                    reason: reason.to_owned(),
                })
                .to_vec(),
            omitted: vec![OmittedFiles {
                by: OmittedBy::IgnoreFiles,
                files: 14,
                names: vec!["drafts/".to_owned(), "old.md".to_owned()],
            }],
            noted: vec![NotedFile {
                path: "old/letter.txt".to_owned(),
                note: "read as windows-1252: it is not UTF-8".to_owned(),
            }],
            wall_ms: 4_210,
        },
    }
}

pub fn source() -> SessionEvent {
    let lines = (1..=60).map(|line| match line {
        12 => "Mira Oakes was a student of Tam Reeve at the harbour school. She kept the".to_owned(),
        13 => "notebooks of her teacher and copied the tide tables every spring.".to_owned(),
        _ if line % 5 == 0 => String::new(),
        _ => format!(
            "Line {line} of the document says something about the harbour, the tides and the people who watched them."
        ),
    });
    SessionEvent::SourceOpened {
        source: Source {
            document: "people/oakes.md".to_owned(),
            path: "/home/me/notes/people/oakes.md".to_owned(),
            lines: lines.collect(),
            from_line: 1,
            places: Vec::new(),
            form: SourceForm::Lines,
            first_line: 12,
            last_line: 14,
            changed: false,
        },
    }
}

/// A thread of two questions with a name, and one of a single question.
pub fn threads() -> SessionEvent {
    let run = |number: u64, question: &str, answer: &str| RunSummary {
        file: format!("/state/sessions/{number}.jsonl"),
        run: number.to_string(),
        started_at: 1_795_183_391 + number * 4_000,
        question: question.to_owned(),
        preset: "naive".to_owned(),
        answer: Some(answer.to_owned()),
        thread: (number == 11).then(|| "10".to_owned()),
        folders: None,
        generator: (number == 9).then(|| "llama-3b.Q4_K_M.gguf".to_owned()),
    };
    SessionEvent::SessionsListed {
        more: false,
        folder: "/state/sessions".to_owned(),
        names: BTreeMap::from([("10".to_owned(), "the teacher".to_owned())]),
        runs: vec![
            run(11, "And where was he born?", "Aldmouth"),
            run(10, "Who taught Mira Oakes?", "Tam Reeve"),
            run(9, "Who sailed?", "the Mira"),
        ],
    }
}

const PAGE: &str = "\
# Mira Oakes

People who knew her say that she *never* learned to read `tide tables` by
**heart**. [The school](school.md) kept her drawings, and the harbour master
kept the others; the chapel burned with the rest of them in the winter of 1874.

## Life

1. Born in Lorby, in the house beside the chapel
2. Harbour school
   - tide tables

Mira Oakes was a student of Tam Reeve at the harbour school. She kept the
notebooks of her teacher and copied the tide tables every spring.

| Year | Place | What she did there |
|-----:|:------|--------------------|
| 1861 | Lorby | drew ships |
| 1863 | the harbour school | kept the notebooks of her teacher and copied the tide tables every spring, as nobody else did |

> The sea is a patient reader,
> and I am not.

```text
high  05:12  17:40
low   11:20  23:51
```

- [x] drawings
- [ ] letters &#27;[31m
";

/// The source of the hit, as another text.
pub fn source_of(form: SourceForm, text: &str) -> SessionEvent {
    let SessionEvent::SourceOpened { source: opened } = source() else {
        return source();
    };
    SessionEvent::SourceOpened {
        source: Source {
            lines: text.lines().map(str::to_owned).collect(),
            form,
            ..opened
        },
    }
}

pub fn page() -> SessionEvent {
    source_of(SourceForm::Markdown, PAGE)
}

pub fn table() -> SessionEvent {
    let cells = |line: u32| match line {
        1 => "id,ship,built in,remark".to_owned(),
        _ if line.is_multiple_of(7) => format!(
            "{line},the Silver Heron,18{line},carried coal until the harbour of Lorby was closed to sail and then slate from the quarries above the town"
        ),
        _ => format!("{line},the Mira,18{line},"),
    };
    let lines: Vec<String> = (1..=80).map(cells).collect();
    let row = |(number, line): (u32, &String)| TableRow {
        first_line: number,
        last_line: number,
        header: number == 1,
        cells: line.split(',').map(str::to_owned).collect(),
    };
    let rows = (1..).zip(&lines).map(row).collect();
    source_of(SourceForm::Table { rows }, &lines.join("\n"))
}

pub fn sessions() -> SessionEvent {
    let run = |number: u64, question: &str, answer: Option<&str>| RunSummary {
        file: format!("/state/sessions/{number}.jsonl"),
        run: number.to_string(),
        started_at: 1_795_183_391 - number * 4_000,
        question: question.to_owned(),
        preset: if number.is_multiple_of(2) {
            "naive"
        } else {
            "closed-book"
        }
        .to_owned(),
        answer: answer.map(str::to_owned),
        thread: None,
        folders: None,
        generator: (number == 2).then(|| "llama-3b.Q4_K_M.gguf".to_owned()),
    };
    SessionEvent::SessionsListed {
        more: false,
        folder: "/state/sessions".to_owned(),
        names: BTreeMap::new(),
        runs: vec![
            run(
                1,
                "Where was the teacher of Mira Oakes born?",
                Some("Aldmouth"),
            ),
            run(2, "Which ship carried coal in 1871?", Some("the Mira")),
            run(3, "Who taught in Lorby for eleven years?", None),
        ],
    }
}

/// The utility of the three chunks of the recorded run: the first misled the model, the second
/// contains the answer.
pub fn utility(run: &str) -> SessionEvent {
    let context = find!(
        recorded().into_iter().map(|record| record.event),
        Event::Run(RunEvent::ContextBuilt { context, .. }) => context
    );
    let chunks: Vec<u64> = context
        .expect("a context")
        .chunks
        .iter()
        .map(|part| part.chunk)
        .collect();
    let belief = |chunks: &[u64], right: u8| {
        let sample = |place: u8| BeliefSample {
            text: if place < right { "Aldmouth" } else { "Lorby" }.to_owned(),
            weight: 0.1,
            cluster: u32::from(place >= right && right > 0),
            entailment: if place < right { 0.98 } else { 0.02 },
            matches: place < right,
        };
        let share = f32::from(right) / 10.0;
        Belief {
            chunks: chunks.to_vec(),
            soft: 0.02 + 0.96 * share,
            hard: share,
            samples: (0..10).map(sample).collect(),
            greedy: if right > 5 { "Aldmouth" } else { "Lorby" }.to_owned(),
            uncertainty: SampledUncertainty {
                discrete_semantic_entropy: if right == 0 || right == 10 { 0.0 } else { 0.61 },
                semantic_entropy: 0.6,
                degree_entropy: 0.61,
                degree: 0.42,
                eigenvalue: 2.0,
                kernel_heat: Some(1.1),
                kernel_matern: None,
                mean_logprob: -0.4,
                perplexity: 1.49,
            },
        }
    };
    let [a, b, c] = chunks[..] else {
        panic!("three chunks")
    };
    let contexts: [(&[u64], u8); 8] = [
        (&[], 3),
        (&chunks, 9),
        (&[a], 1),
        (&[b, c], 10),
        (&[b], 10),
        (&[a, c], 1),
        (&[c], 3),
        (&[a, b], 9),
    ];
    let beliefs: Vec<Belief> = contexts
        .iter()
        .map(|(chunks, right)| belief(chunks, *right))
        .collect();
    let utility_of = |(position, chunk): (usize, &u64)| HitUtility {
        label: position as u32 + 1,
        chunk: *chunk,
        alone: beliefs[2 + 2 * position].soft - beliefs[0].soft,
        left_out: beliefs[1].soft - beliefs[3 + 2 * position].soft,
    };
    let utility = Utility {
        form: SePerForm::Soft,
        references: vec!["Aldmouth".to_owned()],
        own_answer: true,
        delta: beliefs[1].soft - beliefs[0].soft,
        hits: chunks.iter().enumerate().map(utility_of).collect(),
        beliefs,
    };
    SessionEvent::UtilityMeasured {
        run: run.to_owned(),
        utility,
    }
}

/// The same utility after some chunks were measured.
pub fn utility_until(run: &str, chunks: usize) -> SessionEvent {
    let SessionEvent::UtilityMeasured { run, mut utility } = utility(run) else {
        unreachable!("it is measured")
    };
    utility.hits.truncate(chunks);
    SessionEvent::UtilityProgressed { run, utility }
}

/// The models to download for a machine that has the bundled ones alone.
pub fn offered_models() -> SessionEvent {
    let SessionEvent::ModelsListed { mut list } = model_list() else {
        panic!("a list of models");
    };
    list.local.truncate(1);
    list.local[0].source = LocalModel::BUNDLED.to_owned();
    SessionEvent::ModelsListed { list }
}

/// The models of a machine with little memory.
pub fn model_list() -> SessionEvent {
    let local = |name: &str, role: Option<ModelRole>, bytes: u64| LocalModel {
        name: name.to_owned(),
        setting: name.to_owned(),
        file: format!("/home/you/models/{name}"),
        source: "models folder".to_owned(),
        role,
        bytes,
        architecture: "llama".to_owned(),
        need: Some(MemoryNeed {
            file_bytes: bytes,
            cache_bytes: bytes / 2,
        }),
        problem: None,
    };
    let damaged = LocalModel {
        need: None,
        problem: Some(Problem::new(
            "damaged.gguf is not a usable GGUF model",
            "download it again",
        )),
        ..local("damaged.gguf", None, 3_000)
    };
    SessionEvent::ModelsListed {
        list: ModelList {
            local: vec![
                local(SMALL_GENERATOR, Some(ModelRole::Generator), 6_386_304),
                local("big.Q8_0.gguf", Some(ModelRole::Generator), 9_000_000_000),
                damaged,
            ],
            offered: vec![OfferedModel {
                name: "Qwen3 4B Instruct 2507".to_owned(),
                role: ModelRole::Generator,
                reference: "unsloth/Qwen3-4B-Instruct-2507-GGUF:Q4_K_M".to_owned(),
                need: MemoryNeed {
                    file_bytes: 2_500_000_000,
                    cache_bytes: 1_200_000_000,
                },
                fits: Some(true),
                is_best: true,
                licence: "Apache-2.0".to_owned(),
                context_tokens: 262_144,
                languages: "more than 100 languages".to_owned(),
                note: "answers at once, without a thinking block".to_owned(),
                checked: "a list".to_owned(),
            }],
            made: "2026-11-22".to_owned(),
            memory: MachineMemory {
                timely_bytes: None,
                device: "CPU".to_owned(),
                free_bytes: Some(6_500_000_000),
            },
        },
    }
}

pub fn pull_progress() -> SessionEvent {
    SessionEvent::PullProgressed {
        progress: PullProgress {
            reference: "unsloth/Qwen3-4B-Instruct-2507-GGUF:Q4_K_M".to_owned(),
            phase: PullPhase::Downloading,
            file: "Qwen3-4B-Instruct-2507-Q4_K_M.gguf".to_owned(),
            done_bytes: 1_200_000_000,
            total_bytes: 2_500_000_000,
            rate_bytes_per_s: Some(12_300_000.0),
            left_ms: Some(105_000),
        },
    }
}
