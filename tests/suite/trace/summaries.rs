//! Lists of many recorded runs, and the cache of their summaries.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ragscope::event::{Event, Outcome, Record, RunEvent, RunUsage};
use ragscope::trace::{list_runs, newest_runs};

use crate::support::environment::TestEnvironment;

const ESCAPE: &str = "\u{1b}";

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

/// Returns how long the screen takes until it can be typed into, then until the list of threads
/// shows `thread`, and then until it says `whole`.
fn start_and_list(test: &TestEnvironment, thread: &str, whole: &str) -> [Duration; 3] {
    let mut terminal = test.terminal("notes", (40, 140));
    terminal.wait_for("ask>");
    let started = terminal.started.elapsed();

    terminal.wait_for("1 file,");
    terminal.send(ESCAPE);
    terminal.wait_for("i to type a question");
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
    let empty = TestEnvironment::new();
    let _ = start_and_list(&empty, none, none);
    let [empty_start, empty_list, _] = start_and_list(&empty, none, none);

    let test = TestEnvironment::new();
    let _ = start_and_list(&test, none, none);
    let sessions = test.paths().sessions();
    fs::create_dir_all(&sessions).expect("made");
    (0..runs).for_each(|number| record_run(&sessions, number));
    let newest = format!("Who built ship {}?", runs - 1);
    let all = format!("Recorded threads ({runs})");
    let [start, first_list, first_whole] = start_and_list(&test, &newest, &all);
    let [_, list, whole] = start_and_list(&test, &newest, &all);
    let began = Instant::now();
    let threads = test.run(["threads"]).stdout;
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
