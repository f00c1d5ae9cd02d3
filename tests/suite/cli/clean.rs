//! `ragscope clean`: old leftovers go, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ragscope::config::Paths;

use crate::support::environment::TestEnvironment;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

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

/// Writes files of every kind that the program leaves behind, and some that it never removes.
fn write_leftovers(test: &TestEnvironment) {
    let Paths {
        data, state, cache, ..
    } = test.paths();
    for (path, days) in [
        (state.join("evaluations/new.jsonl"), 2),
        (state.join("evaluations/middle.jsonl"), 30),
        (state.join("evaluations/old.jsonl"), 400),
        (state.join("evaluations/held.jsonl"), 400),
        (state.join("sessions/1-a.name-part"), 2),
        (state.join("sessions/2-a.name-part"), 0),
        (state.join("sessions/kept.name"), 900),
        (cache.join("probes/old.jsonl"), 400),
        (cache.join("prompts/old.state"), 400),
        (cache.join("prompts/new.state"), 4),
        (cache.join("ragscope.log"), 900),
        (data.join("datasets/old-1"), 400),
        (data.join("datasets/new-1"), 4),
        (data.join("models/mine.gguf"), 900),
        (data.join("probes/mine.safetensors"), 900),
        (data.join("elsewhere/old.jsonl"), 900),
    ] {
        aged(&path, days);
    }
}

/// Indexes a folder that is there and one that is then gone, whose path is returned, a hundred days
/// ago.
fn index_and_lose_a_folder(test: &TestEnvironment) -> PathBuf {
    test.write("gone/a.txt", "Mira Oakes was born in Harwenby.\n");
    for folder in ["gone", "notes"] {
        test.run(["index", folder, "--set", "retriever.kind=bm25"])
            .succeeds();
    }
    let gone = test.path("gone");
    fs::remove_dir_all(&gone).expect("removed");

    let data = test.paths().data;
    for file in walkdir(&data.join("indexes")) {
        date(&file, 100);
        let folders = file.ancestors().skip(1);
        folders
            .take_while(|folder| *folder != data)
            .for_each(|folder| date(folder, 100));
    }
    gone
}

#[test]
fn cleaning_removes_old_leftovers_of_every_kind_and_nothing_else() {
    let test = TestEnvironment::new();
    let Paths {
        data, state, cache, ..
    } = test.paths();
    write_leftovers(&test);
    let newest: String = (0..10_000)
        .map(|number| format!("\"{number}?\"\n"))
        .collect();
    let history = test.write(state.join("history"), format!("\"a?\"\n{newest}"));

    // what a link leads to is none of the program's
    let outside = test.path("outside");
    aged(&outside, 900);
    #[cfg(unix)]
    for folder in [
        data.join("datasets/linked"),
        state.join("evaluations/linked.jsonl"),
    ] {
        std::os::unix::fs::symlink(&outside, folder).expect("linked");
    }

    let gone = index_and_lose_a_folder(&test);
    let held = fs::File::open(state.join("evaluations/held.jsonl")).expect("opened");
    held.lock().expect("locked");
    let home = test.folder().to_owned();
    let before = files(&home);
    let clean = |flags: &[&str]| {
        let ended = test.run([&["clean"][..], flags].concat()).succeeds();
        ended.stdout
    };

    let listed = clean(&["--dry-run"]);
    assert_eq!(files(&home), before, "a dry run removes nothing");
    let kept = clean(&["--dry-run", "--set", "record.max_days=0"]);
    let last = |output: &str| output.lines().last().unwrap_or_default().to_owned();
    let kept = last(&kept);
    assert!(kept.contains("1 unfinished file (1.0 kB)"), "{kept}");
    assert!(
        !kept.contains("evaluation") && !kept.contains("journal"),
        "{kept}"
    );

    let removed = clean(&[]);
    let sums = last(&removed);
    for sum in [
        "removed 1 evaluation (1.0 kB), 1 probe journal (1.0 kB), 1 passage folder (1.0 kB), \
         1 kept prompt (1.0 kB)",
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
            "home/cache/prompts/old.state",
            "home/data/datasets/old-1/a.txt",
            "home/state/evaluations/old.jsonl",
            "home/state/sessions/1-a.name-part",
        ]
    );
    assert_eq!(fs::read_to_string(&history).expect("read"), newest);

    // the older of two that are together larger than what is kept of a kind
    for (file, bytes, days, older, removed) in [
        (
            state.join("evaluations/large.jsonl"),
            (4 << 30) - 1500,
            10,
            state.join("evaluations/middle.jsonl"),
            "removed 1 evaluation (1.0 kB)\n",
        ),
        (
            cache.join("prompts/large.state"),
            (256 << 20) - 500,
            3,
            cache.join("prompts/new.state"),
            "removed 1 kept prompt (1.0 kB)\n",
        ),
    ] {
        let large = fs::File::create(&file).expect("created");
        large.set_len(bytes).expect("as long");
        date(&file, days);
        assert!(clean(&[]).ends_with(removed));
        assert!(!older.exists());
    }
    assert!(clean(&[]).starts_with("nothing is beyond the limits"));
}
