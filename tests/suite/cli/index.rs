//! Indexing on the command line: folders, bad files, two processes, interrupts and damage.

use std::fs;
use std::path::PathBuf;

#[cfg(unix)]
use ragscope::event::{Event, IndexPhase, Outcome, Record, RunEvent, SessionEvent};
use ragscope::index::{Collection, Search as _};

use crate::support::environment::{QUESTION, TestEnvironment};
#[cfg(unix)]
use crate::support::find;

#[test]
fn folders_without_documents_are_said_to_be_so() {
    let test = TestEnvironment::new();
    fs::create_dir(test.path("empty")).expect("made");
    test.run("index empty").succeeds().prints("0 documents");
    test.run(["ask", "empty", QUESTION])
        .exits(1)
        .reports("no readable document");
    test.run(["ask", "empty", QUESTION, "--preset", "closed-book"])
        .succeeds()
        .prints("tokens in");
    test.run("index nowhere")
        .exits(1)
        .reports("cannot open nowhere: there is no such folder");
    test.run(["ask", "notes/people.md", QUESTION])
        .exits(1)
        .reports("people.md is a file");
}

#[test]
fn files_that_cannot_be_read_are_counted_and_the_rest_is_indexed() {
    let test = TestEnvironment::new();
    test.write("notes/image.md", b"\x00\x01\x02\xff\xfe\x00binary\x00");
    test.run("index notes")
        .succeeds()
        .prints("1 document, ")
        .prints("image.md: ");
    test.ask("").succeeds();
    test.run("index notes --json")
        .prints("\"type\":\"index_finished\"");
}

#[test]
fn files_that_settings_leave_out_are_named_in_the_report() {
    let test = TestEnvironment::new();
    test.write("notes/.gitignore", "private/\n");
    test.write(
        "notes/private/salaries.md",
        "The pump keeper earns nine crowns.",
    );
    test.write("notes/.plan.md", "Repair the pump.");
    let line = "left out: 1 file by .gitignore or .ignore (corpus.gitignore = false reads them): private/; 1 hidden file (corpus.hidden = true reads them): .plan.md\n";
    test.run("index notes").succeeds().prints(line);
    // also where nothing changed
    test.run("index notes").succeeds().prints(line);
    test.run("index notes --json")
        .prints("\"omitted\":[{\"by\":\"ignore_files\",\"files\":1,\"names\":[\"private/\"]}");
    test.run("index notes --set corpus.gitignore=false --set corpus.hidden=true")
        .succeeds()
        .does_not_print("left out");
}

#[test]
fn index_explains_what_is_read_of_one_file() {
    let test = TestEnvironment::new();
    test.write(
        "notes/dues.md",
        "---\nauthor: Ann\n---\n# Dues\n\n| Berth | Dues |\n|---|---|\n| North | 41 |\n",
    );
    test.run("index --explain notes/dues.md")
        .succeeds()
        .prints("notes/dues.md: Markdown, read by pulldown-cmark; 9 lines, 1 heading, 2 rows of tables; language en\nauthor: Ann\n")
        .prints("\n4 h1  # Dues\n")
        .prints("\n8 row | Berth: North | Dues: 41 |\n");

    test.write("notes/dues.json", r#"{"quay": {"north": 41}}"#);
    test.run("index --explain notes/dues.json")
        .succeeds()
        .prints("  h1  (quay)\n1     quay.north: 41\n");

    test.write(
        "notes/mail.eml",
        "From: Ann <a@b>\nSubject: Dues\n\nNorth pays 41.\n",
    );
    test.run("index --explain notes/mail.eml")
        .succeeds()
        .prints("title: Dues\n")
        .prints("[message 1]\n1 h1  Dues\n");
    test.run("index --explain notes/mail.eml --json")
        .succeeds()
        .prints(r#""place":{"unit":"message","first":1,"last":1,"name":"Dues"},"headings":[{"level":1,"title":"Dues","is_in_text":true}],"is_row":false,"text":"Dues"}"#);

    test.write("notes/quay.mp3", "x");
    test.run("index --explain notes/quay.mp3")
        .exits(1)
        .reports("nothing is read of notes/quay.mp3: a sound file is not read");
    test.run("index --explain notes")
        .exits(1)
        .reports("not a regular file");
    test.run("index --explain notes/dues.md notes").exits(2);
}

#[test]
fn the_second_process_on_a_corpus_reads_and_does_not_write() {
    let test = TestEnvironment::new();
    test.run("index notes").succeeds();
    let writer = Collection::open(&[test.corpus()], &test.paths().indexes()).expect("opened");
    assert!(!writer.card().read_only, "this process writes");
    test.ask("")
        .succeeds()
        .reports("another ragscope has this index open");
    test.run("index notes --rebuild")
        .exits(1)
        .reports("another ragscope");
}

/// Returns the folder of the one index of a test.
fn index_folder(test: &TestEnvironment) -> PathBuf {
    let mut indexes = fs::read_dir(test.paths().indexes()).expect("indexes");
    indexes.next().expect("one").expect("an entry").path()
}

#[test]
fn an_index_that_cannot_be_written_is_searched_as_it_is() {
    let test = TestEnvironment::new();
    test.run("index notes").succeeds();
    test.write("notes/new.md", "Ivo Tarn was born in Selmouth.");
    // a folder in its place cannot be locked, not even by the administrator
    let lock = index_folder(&test).join("lock");
    fs::remove_file(&lock).expect("removed");
    fs::create_dir(&lock).expect("made");

    for (output, printed) in [
        (test.run("search notes Reeve"), "people.md"),
        (test.ask(""), "answer: "),
    ] {
        output
            .succeeds()
            .prints(printed)
            .reports("answering from the last finished index");
    }
    test.run("index notes").exits(1).reports("lock");
    fs::remove_dir(&lock).expect("removed");
    test.run("search notes Selmouth")
        .succeeds()
        .prints("new.md");
}

#[test]
fn a_file_that_ended_the_program_is_skipped_until_it_changes() {
    let test = TestEnvironment::new();
    test.run("index notes").succeeds();
    test.write("notes/bad.md", "Ivo Tarn was born in Selmouth.");
    let note = index_folder(&test).join("crashes");
    fs::write(&note, "bad.md\0gone.md\0").expect("written");

    for _ in 0..2 {
        test.run("index notes")
            .succeeds()
            .prints("bad.md: ragscope stopped while it read it");
        assert!(!note.exists(), "the index remembers it");
    }
    test.write("notes/bad.md", "Ivo Tarn was born in Selmouth in May.");
    test.run("index notes").succeeds().prints("1 added");
}

#[test]
fn escape_sequences_of_documents_and_file_names_never_reach_the_output() {
    let test = TestEnvironment::new();
    let text = "Tam\u{1b}[31m Reeve was born in \u{1b}]0;title\u{7}Lorbymouth.\u{9b}2J \u{202e}x\n";
    let name = if cfg!(windows) {
        "odd.md"
    } else {
        "odd\u{1b}[2J\n\u{7}.md"
    };
    test.write(format!("notes/{name}"), text.repeat(3));
    test.write(format!("notes/bad{name}"), b"\0\0\0\xff");
    for output in [
        test.run("index notes"),
        test.ask(""),
        test.run(["ask", "notes", "\u{1b}[31mWhere?"]),
    ] {
        let said = output.succeeds().all();
        let is_harmful = |c: &char| c.is_control() && !matches!(c, '\n' | '\t') || *c == '\u{202e}';
        assert_eq!(said.chars().find(is_harmful), None, "{said:?}");
    }
}

#[test]
fn a_damaged_index_is_never_served_and_is_rebuilt_on_request() {
    let test = TestEnvironment::new();
    test.run("index notes").succeeds();
    let manifest = index_folder(&test).join("gen-1/manifest.json");
    let mut bytes = fs::read(&manifest).expect("a manifest");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&manifest, bytes).expect("written");

    for output in [test.ask(""), test.run("index notes"), test.run("doctor")] {
        let said = output.exits(1).all();
        assert!(said.contains("damaged"), "{said}");
        assert!(said.contains("--rebuild"), "{said}");
    }
    test.run("index notes --rebuild").succeeds();
    test.ask("").succeeds();
    test.run("doctor").succeeds();
}

/// A process that prints records, and their lines.
#[cfg(unix)]
struct Started {
    child: std::process::Child,
    lines: std::io::BufReader<std::process::ChildStdout>,
}

#[cfg(unix)]
impl Started {
    fn new(test: &TestEnvironment, arguments: &[&str]) -> Self {
        let mut child = test.start(arguments);
        let lines = std::io::BufReader::new(child.stdout.take().expect("piped"));
        Self { child, lines }
    }

    /// Reads records until one satisfies a condition.
    fn wait_until(&mut self, condition: impl Fn(&Event) -> bool) {
        for line in std::io::BufRead::lines(&mut self.lines) {
            let record: Record =
                serde_json::from_str(&line.expect("readable")).expect("a record a line");
            if condition(&record.event) {
                return;
            }
        }
        panic!("the program ended before");
    }

    /// Sends a signal, and returns the exit status and the rest of the output.
    fn end(mut self, signal: nix::sys::signal::Signal) -> (Option<i32>, String) {
        let id = i32::try_from(self.child.id()).expect("an id");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), signal).expect("sent");
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.lines, &mut rest).expect("readable");
        (self.child.wait().expect("ended").code(), rest)
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_cleanly_and_a_kill_loses_nothing() {
    use nix::sys::signal::Signal::{SIGINT, SIGKILL};

    const SHIPS: u64 = 120;
    let test = TestEnvironment::new();
    for ship in 0..SHIPS {
        let barrels = |port| {
            let barrels = ship * port;
            format!("Ship {ship} of harbour {port} has {barrels} barrels. ")
        };
        let text: String = (1..8).map(barrels).collect();
        test.write(format!("long/ship-{ship}.txt"), text);
    }
    let is_embedding = |event: &Event| match event {
        Event::Session(SessionEvent::IndexProgressed { progress }) => {
            progress.phase == IndexPhase::Embedding && progress.done > 0
        }
        _ => false,
    };

    let mut interrupted = Started::new(&test, &["index", "long", "--json"]);
    interrupted.wait_until(is_embedding);
    let (code, rest) = interrupted.end(SIGINT);
    assert_eq!(code, Some(130), "{rest}");
    assert!(!rest.contains("index_finished"), "{rest}");

    let mut killed = Started::new(&test, &["index", "long", "--json"]);
    killed.wait_until(is_embedding);
    killed.end(SIGKILL);

    let asked = test.run(["ask", "long", "Which ship has barrels?", "--json"]);
    let report = find!(
        asked.succeeds().events().into_iter(),
        Event::Session(SessionEvent::IndexFinished { report }) => report
    );
    let report = report.expect("the index was finished first");
    assert!(report.reused > 0, "nothing is embedded twice: {report:?}");
    assert_eq!(report.corpus.documents, SHIPS);
}

#[cfg(unix)]
#[test]
fn ctrl_c_during_an_answer_keeps_what_was_written() {
    let test = TestEnvironment::new();
    test.run("index notes").succeeds();
    let endless = "--json --set answer.max_tokens=100000 --set answer.max_sentences=100000 \
                   --set generator.temperature=5.0";
    let flags = endless.split_whitespace();
    let arguments: Vec<&str> = ["ask", "notes", QUESTION]
        .into_iter()
        .chain(flags)
        .collect();
    let mut asking = Started::new(&test, &arguments);
    asking.wait_until(|event| matches!(event, Event::Run(RunEvent::TokenGenerated { .. })));
    let (code, rest) = asking.end(nix::sys::signal::Signal::SIGINT);
    assert_eq!(code, Some(130), "{rest}");

    let last: Record =
        serde_json::from_str(rest.lines().last().expect("a line")).expect("a record");
    let Event::Run(RunEvent::RunFinished { outcome, text, .. }) = last.event else {
        panic!("{last:?}")
    };
    assert_eq!(outcome, Outcome::Stopped);
    assert!(!text.is_empty(), "what was written stays");
}
