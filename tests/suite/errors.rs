//! Real failures: each is caused by what really causes it, and says what happened and what to do
//! next as two texts. The folder is called `notes: old`: nothing cuts a message at a colon.

use std::fs;
use std::path::{Path, PathBuf};

use ragscope::config::{Config, Layers, Paths};
use ragscope::corpus;
use ragscope::engine::Worker;
use ragscope::eval::QuestionSet;
use ragscope::event::{Ask, Flow, Operation, Outcome, Problem, SessionEvent, StopFlag};
use ragscope::index::Collection;
use ragscope::llm::gguf::Metadata;
use ragscope::llm::{self, LlamaGenerator, Prompt, Runtime, Scorer};
use ragscope::probe::Probe;
use ragscope::trace::{Journal, list_runs, read_run};
use ragscope::tui::keys::Keymap;
use ragscope::tui::theme::{Depth, Theme};

use crate::support::environment::{SMALL_GENERATOR, TestEnvironment, small_settings};

/// A folder with files, and what a case makes of it.
struct Place(TestEnvironment);

impl Place {
    fn new() -> Self {
        let place = Self(TestEnvironment::empty());
        fs::create_dir(place.folder()).expect("made");
        place
    }

    fn folder(&self) -> PathBuf {
        let root = self.0.folder().canonicalize().expect("a folder");
        root.join("notes: old")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn with(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.file(name), text).expect("written");
        self.file(name)
    }

    fn paths(&self) -> Paths {
        self.0.paths()
    }

    fn indexes(&self) -> PathBuf {
        self.paths().indexes()
    }

    fn worker(&self) -> Worker {
        self.0.worker()
    }
}

/// Checks the problem that `cause` makes. `{dir}` in the expected texts is the folder; the message
/// of the operating system or of a library is left out of `error`, which is its beginning and its
/// end.
fn check<T>(
    cause: impl FnOnce(&Place) -> Result<T, Problem>,
    error: (&str, &str),
    advice: Option<&str>,
) {
    let place = Place::new();
    let folder = place.folder().display().to_string();
    let Err(problem) = cause(&place) else {
        panic!("`{}` did not fail", error.0)
    };

    let start = error.0.replace("{dir}", &folder);
    assert!(
        problem.error.starts_with(&start) && problem.error.ends_with(error.1),
        "{problem:?}, not `{start}`…`{}`",
        error.1
    );
    let advice = advice.map(|advice| advice.replace("{dir}", &folder));
    assert_eq!(problem.advice, advice, "{problem:?}");
}

fn walk(folder: &Path, include: &[&str]) -> Result<corpus::Walked, Problem> {
    let mut settings = Config::default().corpus;
    settings.include = include.iter().map(|glob| (*glob).to_owned()).collect();
    Ok(corpus::walk(folder, &settings, &mut |_| Flow::Continue)?)
}

#[test]
fn folders_and_globs() {
    check(
        |place| walk(&place.file("gone"), &[]),
        ("there is no folder {dir}/gone", "gone"),
        Some("check the path"),
    );
    check(
        |place| walk(&place.with("a.md", "x"), &[]),
        ("{dir}/a.md is a file", ""),
        Some("give the folder that holds it (corpus.include can name single files)"),
    );
    check(
        |place| walk(&place.folder(), &["a{b: c"]),
        ("corpus.include: `a{b: c` is not a glob (", ")"),
        Some("write it as in a .gitignore file, e.g. `*.md`"),
    );
}

#[test]
fn indexes() {
    let rebuild = Some("rebuild it with `ragscope index {dir} --rebuild`");
    let indexed = |place: &Place| {
        place.with("a.md", "Ann grows apples.");
        let mut index = Collection::open(&[place.folder()], &place.indexes()).expect("an index");
        let mut embedder = super::index::common::WordEmbedder::new("one");
        super::index::common::update(&mut index, &mut embedder);
        index
    };
    let root = |place: &Place| {
        let mut entries = fs::read_dir(place.indexes()).expect("indexes");
        entries.next().expect("an index").expect("an entry").path()
    };
    let open = |place: &Place| Collection::open(&[place.folder()], &place.indexes());

    check(
        |place| Ok(Collection::open(&[place.file("gone")], &place.indexes())?),
        ("cannot open the folder {dir}/gone (", ")"),
        Some("check the path and its permissions"),
    );
    check(
        |place| {
            drop(indexed(place));
            fs::write(root(place).join("current"), "llama.cpp: 1").expect("damaged");
            Ok(open(place)?)
        },
        ("the index of {dir} is damaged (", ")"),
        rebuild,
    );
    check(
        |place| {
            let _writer = indexed(place);
            Ok(Collection::rebuild(&[place.folder()], &place.indexes())?)
        },
        ("another ragscope has the index of {dir} open", ""),
        Some("questions work meanwhile; index again when it is closed"),
    );
    check(
        |place| Ok(indexed(place).source("b.md", [1, 1])?),
        ("b.md is not in the index of {dir}", ""),
        Some("index the folder again if the file is new"),
    );
    check(
        |place| {
            let index = indexed(place);
            fs::remove_file(place.file("a.md")).expect("removed");
            Ok(index.source("a.md", [1, 1])?)
        },
        ("cannot read {dir}/a.md (", ")"),
        Some("check the file and its permissions, then try again"),
    );
}

#[test]
fn model_files() {
    let other = Some("download it again, or choose another with --model");
    let model = |place: &Place, name: &str| llm::resolve(name, &place.paths());
    check(
        |place| {
            Ok(model(
                place,
                &place.file("gone.gguf").display().to_string(),
            )?)
        },
        ("no model file at {dir}/gone.gguf", ""),
        Some("check the path, or run `ragscope models` to see what is found"),
    );
    check(
        |place| Ok(model(place, "ragscope-dem.Q8_0.gguf")?),
        (
            "no model named `ragscope-dem.Q8_0.gguf` was found (did you mean `ragscope-demo.Q8_0.gguf`",
            ")",
        ),
        Some("give the path of a GGUF file, or run `ragscope models` to see what is found"),
    );
    check(
        |place| Ok(model(place, &place.folder().display().to_string())?),
        ("{dir} is not a usable GGUF model (it is a folder)", ""),
        other,
    );
    check(
        |place| Ok(Metadata::read(&place.with("text.gguf", "only: text"))?),
        ("{dir}/text.gguf is not a usable GGUF model (", ")"),
        other,
    );
}

#[test]
fn models_that_are_asked_for_too_much() {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama.log");
    let load = |keys: &[(&str, &str)]| -> Result<LlamaGenerator, Problem> {
        let mut layers = small_settings();
        for (key, value) in keys {
            layers.set("test", key, value)?;
        }
        let settings = layers.config()?.generator;
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("assets/models")
            .join(SMALL_GENERATOR);
        let runtime = Runtime::start(&log)?;
        let stop = StopFlag::default();
        let model =
            llm::load_generator(&runtime, &file, &settings, &stop, &mut |_| Flow::Continue)?;
        Ok(model)
    };
    let devices = Runtime::start(&log).expect("llama.cpp starts").devices();
    let names: Vec<String> = devices.into_iter().map(|device| device.name).collect();
    let known = format!("set `device` to auto, or to one of {}", names.join(", "));
    check(
        |_| load(&[("generator.device", "abacus: 1")]),
        ("no device is called `abacus: 1`", ""),
        Some(&known),
    );
    check(
        |_| {
            let mut model = load(&[("generator.context_tokens", "256")])?;
            let prompt = Prompt::user("ship ".repeat(600));
            Ok(model.classify(&[prompt], &["yes"])?)
        },
        ("the prompt has ", " tokens and the context holds 256"),
        Some("shorten the question, or raise generator.context_tokens"),
    );
}

#[test]
fn settings() {
    let every = Some("`ragscope config` lists every setting");
    let set = |key: &str, value: &str| -> Result<Config, Problem> {
        let mut layers = Layers::defaults();
        layers.set("--set", key, value)?;
        Ok(layers.config()?)
    };
    check(
        |_| set("retriever.kk", "3"),
        ("--set: unknown setting `retriever.kk`", "?"),
        every,
    );
    check(
        |_| set("retriever.kind", "a: b"),
        (
            "--set: retriever.kind takes `off`, `bm25`, `vectors` or `hybrid`, not `a: b`",
            "",
        ),
        every,
    );
    check(
        |place| {
            let paths = place.paths();
            fs::create_dir_all(&paths.config).expect("made");
            fs::write(paths.config_file(), "retriever: {").expect("written");
            Ok(Layers::load(&paths)?)
        },
        ("", ""),
        Some("correct the file; `ragscope config` lists every setting"),
    );
    let error = set("preset", "naiv").expect_err("no such preset");
    assert_eq!(error.error, "unknown preset `naiv`, did you mean `naive`?");
    assert!(
        error
            .advice
            .is_some_and(|advice| advice.starts_with("choose one of closed-book, naive"))
    );
}

#[test]
fn themes_and_keymaps() {
    let theme = |place: &Place, text: &str| {
        let file = place.with("own.toml", text);
        Theme::load("own", file.parent().expect("a folder"), Depth::True)
    };
    let correct = Some("correct the file, or set screen.theme to another one");
    check(
        |place| theme(place, "[roles]\ncitaton = {}"),
        (
            "{dir}/own.toml: unknown role `citaton`, did you mean `citation`?",
            "",
        ),
        correct,
    );
    check(
        |place| theme(place, "[roles]\ntext = { fg = \"red: 1\" }"),
        (
            "{dir}/own.toml: role `text`: `red: 1` is neither #rrggbb nor a name in [palette]",
            "",
        ),
        correct,
    );
    check(
        |place| theme(place, "base = \"own\""),
        ("theme `own` is based on itself", ""),
        Some("change its `base`"),
    );
    check(
        |place| Keymap::load(&place.with("keymap.toml", "zoom = 3")),
        ("{dir}/keymap.toml is not a keymap (", ")"),
        Some("write each line as `action = [\"key\", …]`"),
    );
    check(
        |place| Keymap::load(&place.with("keymap.toml", "zoom = [\"s\"]")),
        ("{dir}/keymap.toml: `s` means both `", "`"),
        Some("give one of them another key"),
    );
}

#[test]
fn recorded_runs_journals_and_probes() {
    check(
        |place| read_run(&place.file("gone.jsonl")),
        ("cannot read {dir}/gone.jsonl (", ")"),
        Some("`ragscope paths` says where recorded runs are"),
    );
    check(
        |place| read_run(&place.with("run.jsonl", "{\"seq\": 0}\n")),
        ("cannot read {dir}/run.jsonl, line 1 (", ")"),
        Some("choose another file: this one is damaged, or not a recorded run"),
    );
    check(
        |place| list_runs(&place.with("sessions", "")),
        ("cannot read {dir}/sessions (", ")"),
        Some("`ragscope paths` says where recorded runs are"),
    );
    check(
        |place| Journal::<u32>::open(&place.with("file", "").join("journal"), "work"),
        ("the journal {dir}/file/journal cannot be used (", ")"),
        Some("check the disk, or delete the file to start over"),
    );
    check(
        |place| {
            let _first = Journal::<u32>::open(&place.file("journal"), "work")?;
            Journal::<u32>::open(&place.file("journal"), "work")
        },
        ("another ragscope writes the journal {dir}/journal", ""),
        Some("wait for it, or stop it"),
    );
    check(
        |place| Probe::load(&place.with("probe", "no: weights")),
        ("the probe {dir}/probe cannot be read (", ")"),
        Some("train it again with `ragscope probe train`"),
    );
}

#[test]
fn question_files() {
    check(
        |place| QuestionSet::read(&place.file("gone.jsonl"), None),
        ("the question file {dir}/gone.jsonl cannot be read (", ")"),
        Some("check the path"),
    );
    check(
        |place| QuestionSet::read(&place.with("q.jsonl", "who: me"), None),
        ("{dir}/q.jsonl is not a question file (", ")"),
        Some(
            "give JSON lines with `question` and `answers`, or a dataset that `ragscope eval --help` lists",
        ),
    );
}

#[test]
fn commands() {
    let ask = |question: &str, preset: &str, place: &Place| -> Result<Outcome, Problem> {
        let asked = Ask {
            overrides: vec![("preset".to_owned(), preset.to_owned())],
            ..Ask::new(question)
        };
        Ok(place.worker().ask(&asked, &mut |_| Flow::Continue)?)
    };
    check(
        |place| Ok(place.worker().update(&mut |_| Flow::Continue)?),
        ("no corpus is open", ""),
        Some("name a folder"),
    );
    check(
        |place| ask(" ", "closed-book", place),
        ("the question is empty", ""),
        Some("type what you want to know"),
    );
    check(
        |place| ask("Who?", "naive", place),
        (
            "no corpus is open and preset `naive` retrieves from one",
            "",
        ),
        Some("name a folder, or use --preset closed-book"),
    );
}

#[test]
fn a_failure_is_two_fields_and_an_operation_in_records() {
    let event = SessionEvent::OperationFailed {
        operation: Operation::LoadModels,
        problem: Problem::new("no model: gone", "choose another: see `ragscope models`"),
    };
    let json = serde_json::json!({
        "type": "operation_failed",
        "operation": "load_models",
        "error": "no model: gone",
        "advice": "choose another: see `ragscope models`",
    });
    assert_eq!(serde_json::to_value(&event).expect("JSON"), json);
    let read = |json| serde_json::from_value::<SessionEvent>(json).expect("an event");
    assert_eq!(read(json), event);

    // an operation of a newer program, and no advice
    let newer = serde_json::json!({
        "type": "operation_failed", "operation": "compact", "error": "no space"
    });
    assert_eq!(
        read(newer),
        SessionEvent::OperationFailed {
            operation: Operation::Unknown,
            problem: Problem::without_advice("no space"),
        }
    );
}
