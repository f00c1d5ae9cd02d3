//! What years of use leave behind: it has limits, and it makes no start slower.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use ragscope::config::Paths;
use ragscope::event::{Event, Outcome, Record, RunEvent, RunUsage};
use ragscope::trace::{list_runs, newest_runs};

use super::program::Program;
use super::pty::Terminal;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const ESCAPE: &str = "\u{1b}";

/// Writes a file, or a folder with a file in it, of 1,000 bytes, last written days ago.
fn aged(path: &Path, days: u32) {
    let is_folder = path.extension().is_none();
    let file = if is_folder {
        path.join("a.txt")
    } else {
        path.to_owned()
    };
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    fs::write(&file, [b'x'; 1000]).expect("written");
    date(&file, days);
    if is_folder {
        date(path, days);
    }
}

fn date(path: &Path, days: u32) {
    let opened = fs::File::open(path).expect("opened");
    opened
        .set_modified(SystemTime::now() - DAY * days)
        .expect("dated");
}

/// Returns every file below a folder by its path in it.
fn files(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = walkdir(folder)
        .iter()
        .map(|path| {
            path.strip_prefix(folder)
                .expect("below")
                .display()
                .to_string()
        })
        .collect();
    found.sort();
    found
}

fn walkdir(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries
        .flat_map(|entry| {
            if entry.file_type().expect("a type").is_dir() {
                walkdir(&entry.path())
            } else {
                vec![entry.path()]
            }
        })
        .collect()
}

#[test]
fn cleaning_removes_old_leftovers_of_every_kind_and_nothing_else() {
    let program = Program::new();
    let Paths {
        data, state, cache, ..
    } = program.paths();
    for (path, days) in [
        (state.join("evaluations/new.jsonl"), 2),
        (state.join("evaluations/middle.jsonl"), 30),
        (state.join("evaluations/old.jsonl"), 400),
        (state.join("evaluations/held.jsonl"), 400),
        (state.join("sessions/1-a.name-part"), 2),
        (state.join("sessions/2-a.name-part"), 0),
        (state.join("sessions/kept.name"), 900),
        (cache.join("probes/old.jsonl"), 400),
        (cache.join("ragscope.log"), 900),
        (data.join("datasets/old-1"), 400),
        (data.join("datasets/new-1"), 4),
        (data.join("models/mine.gguf"), 900),
        (data.join("probes/mine.safetensors"), 900),
        (data.join("elsewhere/old.jsonl"), 900),
    ] {
        aged(&path, days);
    }
    let history = state.join("history");
    fs::write(&history, "\"a?\"\n\"b?\"\n\"c?\"\n").expect("written");

    // what a link leads to is none of the program's
    let outside = program.home.path().join("outside");
    aged(&outside, 900);
    #[cfg(unix)]
    for folder in [
        data.join("datasets/linked"),
        state.join("evaluations/linked.jsonl"),
    ] {
        std::os::unix::fs::symlink(&outside, folder).expect("linked");
    }

    // an index of a folder that is gone, and one of a folder that is there
    let gone = program.home.path().join("gone");
    fs::create_dir(&gone).expect("made");
    fs::write(gone.join("a.txt"), "Mira Oakes was born in Harwenby.\n").expect("written");
    let bm25 = ["--set", "retriever.kind=bm25"];
    for folder in ["gone", "notes"] {
        let ended = program.run(&[&["index", folder][..], &bm25].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    fs::remove_dir_all(&gone).expect("removed");
    for entry in fs::read_dir(data.join("indexes"))
        .expect("a list")
        .flatten()
    {
        for file in walkdir(&entry.path()) {
            date(&file, 100);
            for folder in file
                .ancestors()
                .skip(1)
                .take_while(|folder| *folder != data)
            {
                date(folder, 100);
            }
        }
    }

    let held = fs::File::open(state.join("evaluations/held.jsonl")).expect("opened");
    held.lock().expect("locked");
    let home = program.home.path().to_owned();
    let before = files(&home);
    let clean = |flags: &[&str]| {
        let ended = program.run(&[&["clean"][..], flags].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout
    };

    let shorter = ["--set", "clean.max_history=2"];
    let listed = clean(&[&["--dry-run"][..], &shorter].concat());
    assert_eq!(files(&home), before, "a dry run removes nothing");
    let unlimited = [
        "clean.max_days=0",
        "clean.max_bytes=0",
        "clean.max_index_days=0",
        "clean.max_history=0",
    ];
    let unlimited = unlimited.map(|setting| ["--set", setting]).concat();
    let only_parts = clean(&[&["--dry-run"][..], &unlimited].concat());
    let last = |output: &str| output.lines().last().unwrap_or_default().to_owned();
    assert_eq!(
        last(&only_parts),
        "1 unfinished file (1.0 kB) would be removed; run it without --dry-run to remove them"
    );

    let removed = clean(&shorter);
    let sums = last(&removed);
    for sum in [
        "removed 1 evaluation (1.0 kB), 1 probe journal (1.0 kB), 1 passage folder (1.0 kB)",
        "1 unused index folder (",
        "1 unfinished file (1.0 kB), 1 old question (0.0 kB)",
    ] {
        assert!(sums.contains(sum), "{removed}");
    }
    assert!(
        listed.contains(&format!("{} (1 unused index folder", gone.display())),
        "{listed}"
    );

    let after = files(&home);
    let is_removed = |path: &&String| !after.contains(*path);
    let lost: Vec<&String> = before.iter().filter(is_removed).collect();
    let in_gone = |path: &&&String| path.starts_with("home/data/indexes/gone-");
    assert!(lost.iter().any(|path| in_gone(&path)), "{lost:?}");
    let others: Vec<&str> = lost
        .iter()
        .filter(|path| !in_gone(path))
        .map(|path| path.as_str())
        .collect();
    assert_eq!(
        others,
        [
            "home/cache/probes/old.jsonl",
            "home/data/datasets/old-1/a.txt",
            "home/state/evaluations/old.jsonl",
            "home/state/sessions/1-a.name-part",
        ]
    );
    assert_eq!(
        fs::read_to_string(&history).expect("read"),
        "\"b?\"\n\"c?\"\n"
    );

    let size = ["--set", "clean.max_bytes=1500"];
    assert!(clean(&size).ends_with("removed 1 evaluation (1.0 kB)\n"));
    assert!(!state.join("evaluations/middle.jsonl").exists());
    assert!(clean(&[]).starts_with("nothing is beyond the limits"));
}

/// Writes the first and the last record of a run, with as many settings as a real one has.
fn record_run(sessions: &Path, number: u64) {
    let id = format!("{:013}-{number:06x}", 1_700_000_000_000 + number * 60_000);
    let settings = serde_json::to_value(ragscope::config::Config::default()).expect("JSON");
    let question = format!("Who built ship {number}?");
    let started = serde_json::json!({"seq": 0, "t_us": 0, "run": id, "event": {
        "type": "run_started", "format": {"major": 1, "minor": 0}, "program": "0.1.0",
        "question": question, "preset": "naive", "settings": settings, "models": [],
        "corpus": null, "seed": 1, "started_at": 1_700_000_000 + number * 60,
    }});
    let finished = Record {
        seq: 1,
        t_us: 9,
        run: id.clone(),
        event: Event::Run(RunEvent::RunFinished {
            outcome: Outcome::Completed,
            text: "Tam.".to_owned(),
            answer: "Tam".to_owned(),
            citations: Vec::new(),
            usage: RunUsage::default(),
        }),
    };
    let finished = serde_json::to_string(&finished).expect("JSON");
    let text = format!("{started}\n{finished}\n");
    fs::write(sessions.join(format!("{id}.jsonl")), text).expect("written");
}

#[test]
fn a_list_is_the_same_with_and_without_its_cache() {
    let home = tempfile::tempdir().expect("a folder");
    let sessions = home.path().join("sessions");
    fs::create_dir(&sessions).expect("made");
    let cache = sessions.join("summaries");
    let file = |number: u64| {
        let entries = fs::read_dir(&sessions).expect("a list").flatten();
        let ending = format!("-{number:06x}.jsonl");
        let mut paths = entries.map(|entry| entry.path());
        let is_it = |path: &std::path::PathBuf| path.display().to_string().ends_with(&ending);
        paths.find(is_it).expect("a run")
    };
    let check = |what: &str, expected: usize| {
        let cached = list_runs(&sessions).expect("listed");
        assert_eq!(cached.len(), expected, "{what}");
        let kept = fs::read(&cache).expect("a cache");
        fs::remove_file(&cache).expect("removed");
        assert_eq!(list_runs(&sessions).expect("listed"), cached, "{what}");
        fs::write(&cache, kept).expect("written");
    };

    (0..1100).for_each(|number| record_run(&sessions, number));
    fs::write(sessions.join("other.jsonl"), "no run\n").expect("written");
    check("new", 1100);
    record_run(&sessions, 1100);
    check("added", 1101);
    let newest = newest_runs(&sessions, 300).expect("listed");
    let all = list_runs(&sessions).expect("listed");
    assert_eq!(newest.as_deref(), Some(&all[..300]));
    assert_eq!(newest_runs(&sessions, 1101).expect("listed"), None);

    let text = fs::read_to_string(file(7)).expect("read");
    fs::write(
        file(7),
        text.replace("\"answer\":\"Tam\"", "\"answer\":\"Mira\""),
    )
    .expect("written");
    let answers = |name: &str| {
        let runs = list_runs(&sessions).expect("listed");
        runs.iter()
            .filter(|run| run.answer.as_deref() == Some(name))
            .count()
    };
    assert_eq!((answers("Tam"), answers("Mira")), (1100, 1));
    check("changed", 1101);

    let whole = fs::read(&cache).expect("a cache");
    fs::write(&cache, &whole[..whole.len() / 2]).expect("torn");
    check("torn", 1101);
    (10..1100).for_each(|number| fs::remove_file(file(number)).expect("removed"));
    check("removed", 11);
    let _ = list_runs(&sessions).expect("listed");
    let rewritten = fs::metadata(&cache).expect("a cache").len();
    assert!(
        rewritten < whole.len() as u64 / 20,
        "{rewritten} of {}",
        whole.len()
    );
    check("rewritten", 11);

    fs::rename(&sessions, home.path().join("moved")).expect("moved");
    let moved = list_runs(&home.path().join("moved")).expect("listed");
    assert_eq!(moved.len(), 11);
    assert!(moved.iter().all(|run| Path::new(&run.file).is_file()));
}

/// Returns how long the screen takes until it can be typed into, then until the list of threads shows
/// `thread`, and then until it says `whole`.
fn start_and_list(program: &Program, thread: &str, whole: &str) -> [Duration; 3] {
    let binary = env!("CARGO_BIN_EXE_ragscope");
    let mut terminal = Terminal::start(binary, &["notes"], program.home.path(), (40, 140));
    terminal.wait_for("ask>");
    let started = terminal.started.elapsed();

    terminal.wait_for("1 file,");
    terminal.send(ESCAPE);
    terminal.wait_without("enter ask");
    let pressed = Instant::now();
    terminal.send("S");
    terminal.wait_for(thread);
    let listed = pressed.elapsed();
    terminal.wait_for(whole);
    let complete = pressed.elapsed();
    terminal.send(ESCAPE);
    terminal.wait_without("Recorded threads");
    terminal.send("q");
    terminal.ended();
    [started, listed, complete]
}

/// `RAGSCOPE_RUNS` sets how many runs the home holds.
#[test]
#[ignore = "writes 100,000 files"]
fn a_home_of_years_starts_as_fast_as_an_empty_one() {
    let runs =
        std::env::var("RAGSCOPE_RUNS").map_or(100_000, |runs| runs.parse().expect("a number"));
    let none = "No run has been recorded";
    let empty = Program::new();
    let _ = start_and_list(&empty, none, none);
    let [empty_start, empty_list, _] = start_and_list(&empty, none, none);

    let program = Program::new();
    let _ = start_and_list(&program, none, none);
    let sessions = program.paths().sessions();
    fs::create_dir_all(&sessions).expect("made");
    (0..runs).for_each(|number| record_run(&sessions, number));
    let newest = format!("Who built ship {}?", runs - 1);
    let all = format!("Recorded threads ({runs})");
    let [start, first_list, first_whole] = start_and_list(&program, &newest, &all);
    let [_, list, whole] = start_and_list(&program, &newest, &all);
    let began = Instant::now();
    let threads = program.run(&["threads"]).stdout;
    let printed = began.elapsed();
    assert_eq!(threads.lines().count() as u64, 2 * runs);

    println!("home with      start  newest listed, all  a second time  threads");
    println!("no run         {empty_start:.2?}  {empty_list:.2?}");
    println!(
        "{runs} runs  {start:.2?}  {first_list:.2?}, {first_whole:.2?}  {list:.2?}, {whole:.2?}  {printed:.2?}"
    );
    assert!(
        start < empty_start * 2 + Duration::from_millis(500),
        "{start:?}"
    );
    for listed in [first_list, list] {
        assert!(
            listed < empty_list + Duration::from_millis(500),
            "{listed:?}"
        );
    }
}
