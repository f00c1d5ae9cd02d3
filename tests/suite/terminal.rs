//! The real program in a real terminal: keys in, screen out. Waits for text, never for time.

use std::fs;
use std::path::Path;
use std::process::Command;

use ragscope::trace::list_runs;

use crate::support::environment::{QUESTION, TestEnvironment};
use crate::support::pdf;
use crate::support::pty::{Left, Terminal};

const LARGE: (u16, u16) = (40, 140);
const ENTER: &str = "\r";
const ESCAPE: &str = "\u{1b}";

/// An environment with two documents in its corpus.
fn environment() -> TestEnvironment {
    let test = TestEnvironment::empty();
    test.write(
        "notes/people.md",
        "# People\n\nMira Oakes was born in Harwenby.\n",
    );
    test.write("notes/reeve.txt", "Tam Reeve was born in Lorbymouth.\n");
    test
}

/// Type a question and ask it.
fn ask(terminal: &mut Terminal, question: &str) {
    terminal.send(question);
    terminal.wait_for(question);
    terminal.send(ENTER);
}

#[test]
fn open_index_ask_stop_zoom_open_source_and_quit() {
    let test = environment();
    // at this temperature the model never comes to an end by itself
    let endless = "answer.prompt=step_by_step generator.temperature=5 answer.max_tokens=100000 \
        answer.max_sentences=100000";
    let set: Vec<&str> = endless
        .split(' ')
        .flat_map(|setting| ["--set", setting])
        .collect();
    let mut terminal = test.terminal([&["notes"][..], &set].concat(), LARGE);
    terminal.wait_for("2 files, 2 chunks");

    ask(&mut terminal, "Where was Tam Reeve born?");
    terminal.wait_for("s1");
    terminal.send(ESCAPE);
    terminal.wait_for("stopped after");

    terminal.send(ESCAPE);
    terminal.wait_for("i to type a question");
    terminal.send("3z");
    terminal.wait_without("5 Refinement");
    terminal.wait_for("reeve.txt:1");
    terminal.send("z");
    terminal.wait_for("5 Refinement");

    terminal.send("o");
    terminal.wait_for("was born in");
    terminal.send("q");
    terminal.wait_for("5 Refinement");

    terminal.send("q");
    let (status, left) = terminal.ended();
    assert!(status.success(), "{status}");
    assert_eq!(left, Left::CLEAN);
}

#[cfg(unix)]
#[test]
fn a_document_is_opened_in_the_editor_of_the_user_and_the_screen_comes_back() {
    let test = environment();
    let typed = test.path("typed");
    let script = format!(
        "echo \"line $1 of $(basename \"$2\")\"\nread -r line\necho \"$line\" > '{}'\n",
        typed.display()
    );
    let editor = test.path("editor.sh");
    fs::write(&editor, script).expect("written");
    let editor = format!("sh '{}'", editor.display());
    let mut terminal = test.terminal_with(&[("VISUAL", &editor)], ["notes"], LARGE);
    terminal.wait_for("2 files, 2 chunks");

    ask(&mut terminal, "Where was Tam Reeve born?");
    terminal.wait_for("done in");
    terminal.send(ESCAPE);
    terminal.wait_for("i to type a question");
    terminal.send("3e");
    terminal.wait_for("line +1 of reeve.txt");

    // its keys are its own
    terminal.send("q1z\r");
    terminal.wait_for("5 Refinement");
    assert_eq!(fs::read_to_string(&typed).expect("written"), "q1z\n");
    terminal.send("1z");
    terminal.wait_without("5 Refinement");

    terminal.send("q");
    let (status, left) = terminal.ended();
    assert!(status.success(), "{status}");
    assert_eq!(left, Left::CLEAN);
}

/// `pdftoppm` is a script here that returns a picture of the page's own colour.
#[cfg(unix)]
#[test]
fn a_page_of_a_pdf_is_a_picture_as_the_terminal_takes_it() {
    let test = environment();
    let path = with_pages_of_colour(test.folder());
    // the reply to a query of Kitty's protocol, the size of a cell, the end of the replies
    let kitty = "\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[0n";
    for (setting, answer, picture) in [
        ("auto", kitty, "\x1b_Gq=2,"),
        ("auto", "\x1b[6;20;10t\x1b[0n", "48;2;200;0;0m"),
        ("iterm2", "\x1b[6;20;10t\x1b[0n", "\x1b]1337;File=inline=1;"),
        ("sixel", "\x1b[6;20;10t\x1b[0n", "\x1bP"),
        ("blocks", "", "48;2;200;0;0m"),
    ] {
        let set = format!("screen.pictures={setting}");
        let mut terminal = test.terminal_with(&[("PATH", &path)], ["notes", "--set", &set], LARGE);
        terminal.wait_for("1 file");
        ask(&mut terminal, "Where was Tam Reeve born?");
        terminal.wait_for("done in");
        // a message can stand in the place of the hints
        terminal.wait_for("f1 help");
        terminal.send(ESCAPE);
        terminal.wait_for("i to type a question");
        terminal.send("3o");
        terminal.wait_for("page as a picture");

        terminal.send("p");
        if !answer.is_empty() {
            // the last of the queries, which every terminal answers
            terminal.wait_for_written("\x1b[5n");
            terminal.send(answer);
        }
        terminal.wait_for("people.pdf p. 1   ←→ other pages · any other key returns");
        let written = terminal.written();
        assert!(written.contains(picture), "{setting}: {written:?}");
        terminal.send("\x1b[C");
        terminal.wait_for("people.pdf p. 2");
        // so does the wheel
        terminal.send("\x1b[<64;5;5M");
        terminal.wait_for("people.pdf p. 1");
        terminal.send("\x1b[<65;5;5M");
        terminal.wait_for("people.pdf p. 2");
        // there is no third page
        terminal.send("\x1b[Cq");
        terminal.wait_for("page as a picture");

        terminal.send("\x03");
        let (status, left) = terminal.ended();
        assert!(status.success(), "{status}");
        assert_eq!(left, Left::CLEAN);
    }
}

/// Writes a PDF of two pages, and a `pdftoppm` that returns one picture for each. Returns the
/// variable `PATH` that finds it.
#[cfg(unix)]
fn with_pages_of_colour(home: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;

    let notes = home.join("notes");
    fs::remove_file(notes.join("reeve.txt")).expect("removed");
    fs::remove_file(notes.join("people.md")).expect("removed");
    let pages = [
        ["Tam Reeve was born in Lorbymouth."].as_slice(),
        &["Mira Oakes was born in Harwenby."],
    ];
    fs::write(notes.join("people.pdf"), pdf::of_pages(&pages)).expect("written");

    let programs = home.join("programs");
    fs::create_dir(&programs).expect("made");
    for (page, colour) in [(1, [200, 0, 0]), (2, [0, 0, 200])] {
        let picture = image::RgbImage::from_pixel(30, 40, image::Rgb(colour));
        let file = programs.join(format!("{page}.png"));
        picture.save(file).expect("saved");
    }
    let program = programs.join("pdftoppm");
    let script = format!("#!/bin/sh\nexec cat {}/$2.png\n", programs.display());
    fs::write(&program, script).expect("written");
    let runs = fs::Permissions::from_mode(0o755);
    fs::set_permissions(program, runs).expect("made to run");
    format!("{}:/usr/bin:/bin", programs.display())
}

#[test]
fn the_terminal_comes_back_after_a_signal() {
    for (signal, code) in [("-TERM", 143), ("-HUP", 129), ("-INT", 130), ("-QUIT", 131)] {
        let test = environment();
        let terminal = test.terminal("notes", LARGE);
        terminal.wait_for("2 files, 2 chunks");
        let sent = Command::new("kill")
            .args([signal, &terminal.process().to_string()])
            .status();
        assert!(sent.expect("kill is there").success());
        let (status, left) = terminal.ended();
        assert_eq!((status.exit_code(), left), (code, Left::CLEAN), "{signal}");
    }
}

/// A closed window hangs up: the program ends instead of reading a terminal that is gone.
#[cfg(unix)]
#[test]
fn the_program_ends_when_its_terminal_is_closed() {
    use std::io::Read as _;

    let test = environment();
    let pair = portable_pty::native_pty_system()
        .openpty(portable_pty::PtySize::default())
        .expect("a terminal");
    let mut command = portable_pty::CommandBuilder::new(env!("CARGO_BIN_EXE_ragscope"));
    command.arg("notes");
    command.cwd(test.folder());
    command.env("RAGSCOPE_HOME", test.path("home"));
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).expect("the program");
    drop(pair.slave);

    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let mut seen = Vec::new();
    let mut bytes = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("ragscope") {
        let count = reader.read(&mut bytes).expect("the screen opens");
        assert!(
            count > 0,
            "the program ended before its terminal was closed"
        );
        seen.extend_from_slice(&bytes[..count]);
    }
    drop(reader);
    drop(pair.master);

    let deadline = std::time::Instant::now() + crate::support::pty::PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a process") {
            break status;
        }
        if std::time::Instant::now() > deadline {
            child.kill().expect("killed");
            panic!("the program still runs after its terminal was closed");
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert_ne!(status.exit_code(), 101, "it panicked");
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let test = environment();
    let mut terminal = test.terminal("notes", LARGE);
    terminal.wait_for("2 files, 2 chunks");
    for (rows, columns, expected) in [
        (60, 200, "5 Refinement"),
        (16, 60, "ask>"),
        (10, 40, "ask>"),
        (9, 40, "ragscope needs"),
        (1, 1, "r"),
        (30, 100, "ask>"),
    ] {
        terminal.resize(rows, columns);
        terminal.wait_for(expected);
    }
    terminal.send("\u{3}");
    let (status, left) = terminal.ended();
    assert!(status.success(), "{status}");
    assert_eq!(left, Left::CLEAN);
}

#[test]
fn a_question_while_the_folder_is_indexed_searches_what_is_read() {
    let test = environment();
    let notes = test.path("notes");
    for number in 0..600 {
        let text =
            format!("Ledger {number} lists the ropes and sails of the year {number}.\n").repeat(12);
        fs::write(notes.join(format!("ledger-{number}.txt")), text).expect("written");
    }
    let mut terminal = test.terminal("notes", LARGE);
    terminal.wait_for("embedding");
    ask(&mut terminal, "Where was Tam Reeve born?");
    let screen = terminal.wait_for("done in");
    assert!(screen.contains("reeve.txt"), "{screen}");
    assert!(screen.contains("found by words alone"), "{screen}");
    terminal.send("\u{3}");
    assert_eq!(terminal.ended().1, Left::CLEAN);
}

#[test]
fn escape_stops_a_measurement() {
    let test = environment();
    let set = ["notes", "--set", "utility.samples=1000"];
    let mut terminal = test.terminal(set, LARGE);
    terminal.wait_for("2 files, 2 chunks");
    ask(&mut terminal, "Where was Tam Reeve born?");
    terminal.wait_for("done in");
    terminal.send(ESCAPE);
    terminal.wait_for("i to type a question");
    terminal.send("w");
    terminal.wait_for("esc stops");
    terminal.send(ESCAPE);
    terminal.wait_for("measuring the context was stopped");
    // the engine is free for the next question
    terminal.send("r");
    terminal.wait("the second run", |screen| {
        let text = screen.contents();
        text.contains("run 2 of 2") && text.contains("done in")
    });
    terminal.send("\u{3}");
    assert_eq!(terminal.ended().1, Left::CLEAN);
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let test = environment();
    let variables = [("TERM", "dumb")];
    let mut terminal = test.terminal_with(&variables, ["notes"], LARGE);
    terminal.wait_for("/help");
    terminal.send("Where was Tam Reeve born?\r");
    let screen = terminal.wait_for("reeve.txt:1");
    assert!(!screen.contains('╭'), "{screen}");
    terminal.send("\u{4}");
    let (status, left) = terminal.ended();
    assert!(status.success(), "{status}");
    assert_eq!(left, Left::CLEAN);
}

#[test]
fn hyperlinks_do_not_disturb_the_screen() {
    let test = environment();
    let variables = [("TERM", "xterm-kitty"), ("TERM_PROGRAM", "")];
    let mut terminal = test.terminal_with(&variables, ["notes"], LARGE);
    terminal.wait_for("2 files, 2 chunks");
    ask(&mut terminal, "Where was Tam Reeve born?");
    terminal.wait_for("done in");
    let row = |screen: &str| {
        let mut rows = screen.lines().map(str::to_owned);
        let row = rows.rfind(|row| row.contains("reeve.txt:1"))?;
        // the scores depend on whether the vectors were ready
        let (before, scores) = row.split_once("reeve.txt:1")?;
        let gap = scores.len() - scores.trim_start().len();
        Some((before.to_owned(), gap, row.chars().count()))
    };
    let linked = row(&terminal.wait_for("reeve.txt:1"));
    assert!(
        terminal.has_link("notes/reeve.txt#1"),
        "no link was written"
    );

    let mut without = test.terminal("notes", LARGE);
    without.wait_for("2 files, 2 chunks");
    ask(&mut without, "Where was Tam Reeve born?");
    without.wait_for("done in");
    assert_eq!(row(&without.wait_for("reeve.txt:1")), linked);
    assert!(!without.has_link("reeve.txt"));
    for terminal in [&mut terminal, &mut without] {
        terminal.send("\u{3}");
    }
    assert_eq!(terminal.ended().1, Left::CLEAN);
    assert_eq!(without.ended().1, Left::CLEAN);
}

#[test]
fn a_model_that_cannot_be_loaded_is_said_on_the_screen_with_what_to_do() {
    let test = environment();
    let mut terminal = test.terminal(["notes", "--model", "nothing.gguf"], LARGE);
    terminal.wait_for("nothing.gguf");
    terminal.wait_for("ragscope models");
    terminal.send("\u{3}");
    assert_eq!(terminal.ended().1, Left::CLEAN);
}

#[test]
fn a_folder_that_is_not_there_never_opens_the_screen() {
    let test = environment();
    let terminal = test.terminal(["indx"], LARGE);
    let said = terminal.wait_for("did you mean the command `index`?");
    assert!(
        said.starts_with("error: cannot open indx: there is no such folder"),
        "{said}"
    );
    let (status, left) = terminal.ended();
    assert_eq!((status.exit_code(), left), (1, Left::CLEAN));
}

#[test]
fn a_recorded_run_replays_without_an_engine() {
    let test = environment();
    let mut terminal = test.terminal("notes", LARGE);
    terminal.wait_for("2 files, 2 chunks");
    ask(&mut terminal, "Where was Tam Reeve born?");
    terminal.wait_for("done in");
    terminal.send("\u{3}");
    terminal.ended();

    let sessions = test.paths().sessions();
    let run = fs::read_dir(sessions)
        .expect("sessions")
        .next()
        .expect("a run")
        .expect("an entry")
        .path();
    let mut terminal = test.terminal(["replay", run.to_str().expect("UTF-8")], LARGE);
    terminal.wait_for("Where was Tam Reeve born?");
    terminal.wait_for("done in");
    terminal.send("q");
    let (status, left) = terminal.ended();
    assert!(status.success(), "{status}");
    assert_eq!(left, Left::CLEAN);
}

#[test]
fn a_thread_is_resumed_after_a_kill() {
    let test = environment();
    let mut terminal = test.terminal("notes", LARGE);
    terminal.wait_for("2 files, 2 chunks");
    ask(&mut terminal, "Where was Tam Reeve born?");
    terminal.wait_for("done in");
    ask(&mut terminal, "And where was Mira Oakes born?");
    terminal.wait("the wording", |screen| {
        let text = screen.contents();
        let has_wording = text.contains("understood as") || text.contains("asked by itself");
        has_wording && text.contains("turn 2 of 2") && text.contains("done in")
    });
    let killed = Command::new("kill")
        .args(["-KILL", &terminal.process().to_string()])
        .status()
        .expect("kill");
    assert!(killed.success());
    terminal.ended();

    let mut terminal = test.terminal("notes", LARGE);
    terminal.wait_for("2 files, 2 chunks");
    terminal.send(ESCAPE);
    terminal.wait_for("i to type a question");
    terminal.send("S");
    terminal.wait_for("2 questions");
    // by a few letters
    terminal.send("/tmreev");
    terminal.wait_for("└ And where was Mira Oakes born?");
    terminal.send(ENTER);
    terminal.wait_for("turn 2 of 2");
    terminal.send("i");
    ask(&mut terminal, "And who is older?");
    terminal.wait("the end of the third run", |screen| {
        let text = screen.contents();
        text.contains("turn 3 of 3") && text.contains("done in")
    });
    terminal.send("\u{3}");
    terminal.ended();

    let runs = list_runs(&test.paths().sessions()).expect("a list");
    let [third, second, first] = runs.as_slice() else {
        panic!("{runs:?}")
    };
    assert_eq!(first.thread, None);
    let continued = [&second.thread, &third.thread];
    assert_eq!(continued, [&Some(first.run.clone()); 2]);
}

#[test]
fn escape_sequences_of_documents_never_steer_the_terminal() {
    let test = environment();
    let odd = "Tam Reeve\u{1b}]0;stolen\u{7} was born in \u{1b}[2J\u{1b}[31mLorbymouth.\u{9b}2J\n";
    fs::write(test.path("notes/odd\u{1b}]0;stolen\u{7}.txt"), odd).expect("written");
    let mut terminal = test.terminal("notes", LARGE);
    terminal.wait_for("3 files, 3 chunks");
    ask(&mut terminal, "Where was Tam Reeve born?");
    terminal.wait_for("done in");
    let screen = terminal.wait_for("odd");
    assert!(
        screen.contains("1 Answer"),
        "the screen was cleared:\n{screen}"
    );
    assert_eq!(terminal.titles(), 0, "a document set the title");
    terminal.send("\u{3}");
    assert_eq!(terminal.ended().1, Left::CLEAN);
}

#[cfg(target_os = "linux")]
#[test]
fn a_crash_of_the_engine_names_the_model_and_the_screen_stays() {
    use nix::sys::signal::{Signal, kill};

    let test = TestEnvironment::new();
    let mut terminal = test.terminal("notes", (30, 100));
    // the header has the device once the generator is loaded
    terminal.wait_for("CPU");
    kill(test.engine(), Signal::SIGSEGV).expect("sent");
    terminal.wait_for("llama.cpp failed while it used");

    terminal.send(QUESTION);
    terminal.wait_for(QUESTION);
    terminal.send("\r");
    terminal.wait_for("done in");
    terminal.send("\x03");
    let (status, left) = terminal.ended();
    assert!(status.success(), "{status}");
    assert_eq!(left, Left::CLEAN);
}

#[cfg(unix)]
#[test]
fn a_crash_of_the_screen_restores_the_terminal() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let test = TestEnvironment::new();
    for signal in [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGABRT] {
        let terminal = test.terminal("notes", (30, 100));
        terminal.wait_for("CPU");
        let pid = i32::try_from(terminal.process()).expect("an id");
        kill(Pid::from_raw(pid), signal).expect("sent");
        terminal.wait_for("ragscope stopped: a library failed");
        let (status, left) = terminal.ended();
        assert!(!status.success(), "{status}");
        assert_eq!(left, Left::CLEAN, "{signal}");
    }
}
