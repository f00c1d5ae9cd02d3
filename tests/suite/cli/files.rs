//! Files that the program keeps for itself, and those that it writes for the user.

use std::fs;
use std::path::Path;

use crate::support::environment::TestEnvironment;

#[test]
fn recordings_below_a_corpus_are_no_documents_of_it() {
    let test = TestEnvironment::new();
    for _ in 0..2 {
        test.run(["ask", ".", "Where was Tam Reeve born?"])
            .succeeds();
    }
    let ended = test.run(["index", ".", "--json"]);
    let report = ended.stdout.lines().last().expect("a report");
    assert!(report.contains("\"documents\":1"), "{report}");
    // and "." is another folder elsewhere
    assert!(!report.contains("\"folder\":\".\""), "{report}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_settings_file_is_an_error() {
    let test = TestEnvironment::new();
    let pipe = test.paths().config_file();
    fs::create_dir_all(pipe.parent().expect("a folder")).expect("made");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    test.run("config --effective")
        .exits(1)
        .reports("not a regular file");
}

#[cfg(unix)]
#[test]
fn what_is_kept_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;

    fn open_to_others(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let about = entry.metadata().expect("metadata");
            if about.permissions().mode() & 0o077 != 0 {
                found.push(entry.path().display().to_string());
            }
            if about.is_dir() {
                open_to_others(&entry.path(), found);
            }
        }
    }

    let test = TestEnvironment::new();
    let state = test.paths().state;
    fs::create_dir_all(&state).expect("made");
    fs::set_permissions(&state, PermissionsExt::from_mode(0o755)).expect("set");
    test.run(["ask", "notes", "Where was Tam Reeve born?"])
        .succeeds();

    let mut found = Vec::new();
    open_to_others(&test.path("home"), &mut found);
    // the folder that holds the four is the user's own
    assert_eq!(found, Vec::<String>::new());

    test.run([
        "eval",
        "--demo",
        "--limit",
        "1",
        "--preset",
        "closed-book",
        "--report",
        "page.html",
    ])
    .succeeds();
    let page = fs::metadata(test.path("page.html")).expect("a page");
    assert_ne!(
        page.permissions().mode() & 0o044,
        0,
        "what is saved on request is as other files"
    );
}

#[test]
fn a_question_while_the_first_index_is_made_says_so() {
    let test = TestEnvironment::new();
    let indexes = test.paths().indexes();
    fs::create_dir_all(&indexes).expect("made");
    let writer = ragscope::index::Collection::open(&[test.corpus()], &indexes).expect("an index");
    let ended = test
        .run(["ask", "notes", "Where was Tam Reeve born?"])
        .exits(1);
    let expected = "another ragscope is making the first index";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);

    drop(writer);
    test.run(["ask", "notes", "Where was Tam Reeve born?"])
        .succeeds();
}

#[test]
fn json_holds_no_character_that_a_terminal_acts_on() {
    let test = TestEnvironment::new();
    let ended = test
        .run(["ask", "notes", "where \u{9b}31m\u{202e}x\u{7f}", "--json"])
        .succeeds();
    let acts = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!ended.stdout.contains(acts), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("\\u009b31m\\u202ex\\u007f"),
        "{}",
        ended.stdout
    );

    let session = fs::read_dir(test.paths().sessions())
        .expect("sessions")
        .flatten()
        .next();
    let session = fs::read_to_string(session.expect("a session").path()).expect("text");
    assert!(!session.contains(acts));
    for line in session.lines() {
        serde_json::from_str::<ragscope::event::Record>(line).expect("a record");
    }
}

#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let test = TestEnvironment::new();
    fs::create_dir(test.path("home")).expect("made");
    fs::write(test.paths().cache, "in its place").expect("written");
    test.run(["ask", "notes", "Where was Tam Reeve born?"])
        .succeeds();
}
