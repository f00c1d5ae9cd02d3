//! A folder that changes while it is watched.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use ragscope::event::{Command, Event, IndexReport, Record, SessionEvent, StopFlag};
use ragscope::host::Hub;

use crate::support::environment::{TestEnvironment, small_settings};

const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than the time after which a change is reported.
const SILENCE: Duration = Duration::from_secs(2);

/// `ragscope index FOLDER --watch`, with the lines that it prints.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    /// Starts to watch and waits until the folder is indexed.
    fn start(test: &TestEnvironment, arguments: &[&str]) -> Self {
        let mut child = test.start([&["index", "notes", "--watch"], arguments].concat());
        let output = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let watching = Self { child, lines };
        while !watching.line().contains("embedded") {}
        watching
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line")
    }

    fn is_silent(&self) -> bool {
        self.lines.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Saves as editors do: a new file, renamed over the old one.
fn save(file: &Path, text: &str) {
    let new = file.with_extension("tmp~");
    fs::write(&new, text).expect("written");
    fs::rename(&new, file).expect("renamed");
}

#[test]
fn each_change_is_one_update_and_reading_is_none() {
    let test = TestEnvironment::new();
    let notes = test.corpus();
    let watching = Watching::start(&test, &[]);

    save(&notes.join("people.md"), "# People\n\nTam Reeve left.\n");
    assert_eq!(watching.line(), "1 document changed: people.md");

    fs::create_dir(notes.join("new")).expect("made");
    for number in 0..200 {
        let text = format!("Buoy {number} is green.\n");
        fs::write(notes.join(format!("new/buoy-{number:03}.md")), text).expect("written");
    }
    assert_eq!(
        watching.line(),
        "200 documents added: new/buoy-000.md, new/buoy-001.md, new/buoy-002.md, …"
    );

    for entry in fs::read_dir(notes.join("new")).expect("a folder") {
        fs::read(entry.expect("an entry").path()).expect("read");
    }
    assert!(watching.is_silent(), "files were read, and nothing changed");

    fs::rename(notes.join("new"), test.path("elsewhere")).expect("moved");
    fs::write(notes.join("tides.md"), "High water is at nine.\n").expect("written");
    let change = watching.line();
    assert!(
        change.starts_with("1 document added, 200 removed: "),
        "{change}"
    );
}

#[test]
fn a_polled_folder_is_watched_too() {
    let test = TestEnvironment::new();
    let watching = Watching::start(&test, &["--set", "corpus.watch=poll"]);
    save(
        &test.corpus().join("people.md"),
        "# People\n\nTam Reeve left.\n",
    );
    assert_eq!(watching.line(), "1 document changed: people.md");
}

/// A folder that cannot be read is reported, and its index stays: when the folder is back, only
/// what changed is read.
#[test]
fn an_index_outlives_its_folder() {
    let test = TestEnvironment::new();
    let notes = test.corpus();
    let mut watching = Watching::start(&test, &[]);
    let errors = BufReader::new(watching.child.stderr.take().expect("a pipe"));

    // readable for nobody, also where the tests run as root
    let away = test.path("away");
    fs::rename(&notes, &away).expect("moved");
    fs::write(&notes, "no folder").expect("written");
    let is_reported = |line: std::io::Result<String>| line.expect("text").contains("is a file");
    assert!(errors.lines().any(is_reported));
    assert!(watching.is_silent(), "nothing was removed");

    fs::write(away.join("tides.md"), "High water is at nine.\n").expect("written");
    fs::remove_file(&notes).expect("removed");
    fs::rename(&away, &notes).expect("moved back");
    assert_eq!(watching.line(), "1 document added: tides.md");
}

/// Takes records until the index agrees with its folder again.
fn indexed(records: &Receiver<Record>) -> IndexReport {
    loop {
        let record = records.recv_timeout(PATIENCE).expect("a record");
        if let Event::Session(SessionEvent::IndexFinished { report }) = record.event {
            return report;
        }
    }
}

#[test]
fn the_index_of_the_screen_follows_the_open_folder() {
    let test = TestEnvironment::new();
    let (sender, records) = channel();
    // the records of the end have no reader
    let sink = Box::new(move |record| drop(sender.send(record)));
    let (hub, commands) =
        Hub::start(small_settings(), &test.paths(), &StopFlag::default(), sink).expect("started");
    commands.send(Command::Open {
        folders: vec![test.corpus()],
    });
    assert_eq!(indexed(&records).added, 1);

    save(&test.corpus().join("tides.md"), "High water is at nine.\n");
    let report = indexed(&records);
    assert_eq!(
        (report.added, report.updated),
        (1, vec!["tides.md".to_owned()])
    );

    // a folder that goes away and comes back
    let away = test.path("away");
    fs::rename(test.corpus(), &away).expect("moved");
    let is_missing =
        |event: &Event| matches!(event, Event::Session(SessionEvent::OperationFailed { .. }));
    while !is_missing(&records.recv_timeout(PATIENCE).expect("a record").event) {}
    fs::rename(&away, test.corpus()).expect("moved back");
    drop(commands);
    hub.end();
}
