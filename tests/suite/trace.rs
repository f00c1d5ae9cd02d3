//! Runs are recorded while they happen and read back as they were.

mod summaries;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ragscope::event::{
    Event, FORMAT, FormatVersion, ModelCard, ModelRole, Outcome, Record, RunEvent, RunUsage,
    SESSION,
};
use ragscope::story::RecordedThread;
use ragscope::trace::{Recorder, list_runs, name_thread, read_run, thread_names};

use crate::support::environment::TestEnvironment;

fn record(run: &str, seq: u64, event: Event) -> Record {
    Record {
        seq,
        t_us: seq * 10,
        run: run.to_owned(),
        event,
    }
}

fn started(format: FormatVersion, question: &str, started_at: u64) -> Event {
    Event::Run(RunEvent::RunStarted {
        format,
        program: "0.1.0".to_owned(),
        question: question.to_owned(),
        preset: "naive".to_owned(),
        settings: serde_json::json!({"seed": 1}),
        models: [ModelRole::Embedder, ModelRole::Generator]
            .map(|role| ModelCard {
                role,
                file: format!("{}.gguf", role.name()),
                ..ModelCard::default()
            })
            .to_vec(),
        corpus: None,
        seed: 1,
        started_at,
        confirmed: Vec::new(),
        thread: None,
    })
}

fn finished(answer: &str) -> Event {
    Event::Run(RunEvent::RunFinished {
        outcome: Outcome::Completed,
        text: format!("So the answer is {answer}."),
        answer: answer.to_owned(),
        citations: Vec::new(),
        usage: RunUsage::default(),
    })
}

/// A run of three records.
fn run(id: &str, started_at: u64, answer: &str) -> Vec<Record> {
    vec![
        record(id, 0, started(FORMAT, "Where?", started_at)),
        record(
            id,
            1,
            Event::Run(RunEvent::TokenGenerated {
                step: 1,
                text: " Lorby".to_owned(),
                logprob: -0.25,
                entropy: 0.5,
                alternatives: Vec::new(),
            }),
        ),
        record(id, 2, finished(answer)),
    ]
}

fn write_all(folder: &Path, records: &[Record]) {
    let mut recorder = Recorder::new(folder);
    for record in records {
        recorder.write(record).expect("written");
    }
}

fn lines(records: &[Record]) -> String {
    records
        .iter()
        .map(|record| serde_json::to_string(record).expect("a record") + "\n")
        .collect()
}

fn file_with(folder: &Path, bytes: impl AsRef<[u8]>) -> PathBuf {
    let file = folder.join("run.jsonl");
    fs::write(&file, bytes).expect("written");
    file
}

#[test]
fn a_run_is_on_disk_while_it_happens_and_reads_back_as_it_was() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("sessions");
    let records = run("run-1", 100, "Lorby");
    let mut recorder = Recorder::new(&folder);
    for (count, record) in records.iter().enumerate() {
        recorder
            .write(&Record {
                run: SESSION.to_owned(),
                ..record.clone()
            })
            .expect("ignored");
        recorder.write(record).expect("written");
        assert_eq!(
            read_run(&folder.join("run-1.jsonl")).expect("a run"),
            records[..=count]
        );
    }
    assert_eq!(recorder.file(), None, "the run is over");
    assert_eq!(
        fs::read_dir(&folder).expect("the folder").count(),
        1,
        "the session is not recorded"
    );
}

#[test]
fn a_run_id_never_leaves_the_sessions_folder() {
    let home = tempfile::tempdir().expect("a folder");
    write_all(&home.path().join("sessions"), &run("../../x", 1, "y"));
    assert!(home.path().join("sessions/______x.jsonl").is_file());
}

#[test]
fn a_full_or_forbidden_disk_is_reported_once_per_run() {
    let home = tempfile::tempdir().expect("a folder");
    let blocked = home.path().join("sessions");
    fs::write(&blocked, "a file where the folder should be").expect("written");
    let mut recorder = Recorder::new(&blocked);
    let records = run("run-1", 1, "x");
    let error = recorder.write(&records[0]).expect_err("cannot be written");
    assert!(error.to_string().contains("run-1.jsonl"), "{error}");
    recorder
        .write(&records[1])
        .expect("the rest is not recorded");
}

#[test]
fn threads_are_the_runs_that_continue_one_another_with_the_name_they_were_given() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("sessions");
    let threads = || {
        let runs = list_runs(&folder).expect("a list");
        let names = thread_names(&folder).expect("names");
        RecordedThread::group(runs, &names)
    };
    assert_eq!(threads(), []);

    for (id, started_at, thread) in [
        ("a", 1, None),
        ("b", 2, None),
        ("c", 3, Some("a")),
        ("d", 4, Some("a")),
        ("e", 5, Some("deleted")),
    ] {
        let mut records = run(id, started_at, "Lorby");
        if let Event::Run(RunEvent::RunStarted { thread: of_run, .. }) = &mut records[0].event {
            *of_run = thread.map(str::to_owned);
        }
        write_all(&folder, &records);
    }
    name_thread(&folder, "a", " the\nteacher ").expect("named");
    name_thread(&folder, "a", "Mira's teacher").expect("renamed");
    // what a kill leaves of a name is none
    fs::write(folder.join("b.name-part"), "half a na").expect("written");
    fs::write(folder.join("b.name"), "").expect("written");

    let found: Vec<(String, String, Vec<String>)> = threads()
        .into_iter()
        .map(|thread| {
            let runs = thread.runs.iter().map(|run| run.run.clone()).collect();
            (thread.id.clone(), thread.title().to_owned(), runs)
        })
        .collect();
    let row = |id: &str, title: &str, runs: &[&str]| {
        let runs = runs.iter().map(|run| (*run).to_owned()).collect();
        (id.to_owned(), title.to_owned(), runs)
    };
    assert_eq!(
        found,
        [
            row("deleted", "Where?", &["e"]),
            row("a", "Mira's teacher", &["a", "c", "d"]),
            row("b", "Where?", &["b"]),
        ]
    );
}

#[test]
fn runs_are_listed_newest_first() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    assert!(
        list_runs(&folder.join("none"))
            .expect("an empty list")
            .is_empty()
    );
    write_all(folder, &run("run-a", 100, "Lorby"));
    write_all(folder, &run("run-b", 300, "x".repeat(100_000).as_str()));
    write_all(folder, &run("run-c", 200, "cut")[..2]);
    fs::write(folder.join("other.jsonl"), "no run\n").expect("written");
    fs::write(folder.join("notes.txt"), "no run").expect("written");

    let runs = list_runs(folder).expect("a list");
    let seen: Vec<_> = runs
        .iter()
        .map(|run| (run.run.as_str(), run.answer.as_ref().map(String::len)))
        .collect();
    assert_eq!(
        seen,
        [
            ("run-b", Some(100_000)),
            ("run-c", None),
            ("run-a", Some(5))
        ]
    );
    let generator = runs[0].generator.as_deref();
    assert_eq!(generator, Some("generator.gguf"));
    assert_eq!(
        (runs[2].question.as_str(), runs[2].preset.as_str()),
        ("Where?", "naive")
    );
    assert_eq!(read_run(Path::new(&runs[2].file)).expect("a run").len(), 3);
}

#[test]
fn what_can_be_read_is_read() {
    let newer_minor = FormatVersion {
        minor: FORMAT.minor + 1,
        ..FORMAT
    };
    let whole = lines(&run("r", 1, "x"));
    let unknown = r#"{"seq":1,"t_us":2,"run":"r","event":{"type":"moon_risen","phase":[1]}}"#;
    let changed =
        r#"{"seq":1,"t_us":2,"run":"r","event":{"type":"token_generated","step":"first"}}"#;
    let cases = [
        ("whole", whole.clone(), 3, 0),
        ("no last line end", whole.trim_end().to_owned(), 3, 0),
        (
            "cut off in the last line",
            whole[..whole.len() - 20].to_owned(),
            2,
            0,
        ),
        (
            "unknown event",
            lines(&[record("r", 0, started(FORMAT, "q", 1))]) + unknown + "\n",
            2,
            1,
        ),
        (
            "event of a newer minor",
            lines(&[record("r", 0, started(newer_minor, "q", 1))]) + changed + "\n",
            2,
            1,
        ),
    ];
    let home = tempfile::tempdir().expect("a folder");
    for (name, text, count, unknown) in cases {
        let records = read_run(&file_with(home.path(), text))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(records.len(), count, "{name}");
        assert_eq!(
            records
                .iter()
                .filter(|record| record.event == Event::Run(RunEvent::Unknown))
                .count(),
            unknown,
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_read_says_which_file_and_line() {
    let newer = FormatVersion {
        major: FORMAT.major + 1,
        minor: 3,
    };
    let whole = lines(&run("r", 1, "x"));
    let broken: Vec<&str> = whole.lines().collect();
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("empty", Vec::new(), "line 1 (no record in it)"),
        (
            "no run",
            b"# Notes\n\ntext\n".to_vec(),
            "line 1 (a run begins with a run_started record)",
        ),
        ("not UTF-8", b"\xff\xfe\n".to_vec(), "line 1"),
        (
            "headless",
            (broken[1].to_owned() + "\n").into_bytes(),
            "line 1 (a run begins with a run_started record)",
        ),
        (
            "damaged",
            format!("{}\n{{\"seq\n{}\n", broken[0], broken[2]).into_bytes(),
            "line 2",
        ),
        (
            "newer",
            lines(&[record("r", 0, started(newer, "q", 1))]).into_bytes(),
            "has run format 3.3",
        ),
    ];
    let home = tempfile::tempdir().expect("a folder");
    for (name, bytes, expected) in cases {
        let error = read_run(&file_with(home.path(), bytes))
            .expect_err(name)
            .to_string();
        assert!(
            error.contains("run.jsonl") && error.contains(expected),
            "{name}: {error}"
        );
    }
    let error = read_run(&home.path().join("gone.jsonl"))
        .expect_err("missing")
        .to_string();
    assert!(error.contains("gone.jsonl"), "{error}");
}

#[test]
fn cleaning_removes_what_is_beyond_the_limits_and_nothing_else() {
    let test = TestEnvironment::new();
    let folder = test.paths().sessions();
    let day = Duration::from_secs(24 * 60 * 60);
    let now = SystemTime::now();
    let at = |days: u32| now - day * days;
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).expect("later").as_secs();

    // id, age in days, age of the file in days, first run of its thread
    for (id, age, file_age, thread) in [
        ("new", 2, 2, None),
        ("first", 50, 50, None),
        ("followed", 3, 3, Some("first")),
        ("old", 40, 40, None),
        ("named", 60, 60, None),
        ("open", 70, 0, None),
    ] {
        let mut records = run(id, seconds(at(age)), "Lorby");
        if let Event::Run(RunEvent::RunStarted { thread: of_run, .. }) = &mut records[0].event {
            *of_run = thread.map(str::to_owned);
        }
        write_all(&folder, &records);
        let path = folder.join(format!("{id}.jsonl"));
        let file = fs::File::options().append(true).open(path).expect("open");
        file.set_modified(at(file_age)).expect("dated");
    }
    name_thread(&folder, "named", "Mira").expect("named");
    fs::write(folder.join("other.jsonl"), "no run\n").expect("written");

    let left = || {
        let entries = fs::read_dir(&folder).expect("a list").flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name != "summaries")
            .collect();
        names.sort();
        names.join(" ")
    };
    let all = left();
    let clean = |flags: &[&str]| {
        let ended = test.run([&["clean"][..], flags].concat()).succeeds();
        ended.stdout
    };

    // flags, how the output ends, files that are left
    let some = "first.jsonl followed.jsonl named.jsonl named.name new.jsonl open.jsonl other.jsonl";
    let days = ["--set", "record.max_days=30"];
    let unlimited = ["--set", "record.max_days=0"];
    let dry = ["--set", "record.max_days=30", "--dry-run"];
    let cases: [(&[&str], &str, &str); 5] = [
        (&[], "nothing is beyond", &all),
        (&unlimited, "nothing is beyond", &all),
        (&dry, "1 run (", &all),
        (&days, "removed 1 run (", some),
        (&days, "nothing is beyond", some),
    ];
    for (flags, end, expected) in cases {
        let output = clean(flags);
        let last = output.lines().last().unwrap_or_default();
        assert!(last.starts_with(end), "{flags:?}: {output}");
        assert_eq!(left(), expected, "{flags:?}");
    }
}
