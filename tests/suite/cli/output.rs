//! Output that cannot be written: a full disk, a reader that has left, no output at all.

use std::fs::OpenOptions;
use std::process::{Child, Command, Stdio};

use crate::support::environment::{CommandOutput, QUESTION, TestEnvironment};

/// The commands that print and end by themselves, but for the two that take minutes.
const COMMANDS: [&str; 18] = [
    "index notes",
    "index --explain notes/people.md",
    "search notes lamp",
    "links notes",
    "threads",
    "clean --dry-run",
    "models",
    "models recommend",
    "guide",
    "guide documents",
    "formats",
    "doctor",
    "paths",
    "config",
    "config --effective",
    "completions bash",
    "man",
    "--help",
];

fn commands() -> Vec<Vec<&'static str>> {
    let mut commands: Vec<Vec<&str>> = Vec::new();
    for line in COMMANDS {
        let words: Vec<&str> = line.split(' ').collect();
        commands.push([&words[..], &["--json"]].concat());
        commands.push(words);
    }
    commands.push(vec!["ask", "notes", QUESTION]);
    commands.push(vec!["explain", "notes", QUESTION, "--expect", "lamp"]);
    commands
}

#[track_caller]
fn check_calm(command: &[&str], output: &CommandOutput) {
    let is_calm = !output.stderr.contains("panicked") && output.code.is_some_and(|code| code < 3);
    assert!(is_calm, "{command:?}: {output}");
}

/// Runs a command with this as its output.
fn run_into(test: &TestEnvironment, command: &[&str], stdout: impl Into<Stdio>) -> CommandOutput {
    let mut started = test.command(command);
    let started = started.stdout(stdout).stderr(Stdio::piped()).spawn();
    CommandOutput::from(started.and_then(Child::wait_with_output).expect("started"))
}

#[test]
fn a_full_disk_is_named_once() {
    let test = TestEnvironment::new();
    for command in commands() {
        let full = OpenOptions::new().write(true).open("/dev/full");
        let output = run_into(&test, &command, full.expect("a device"));
        check_calm(&command, &output);
        assert_eq!(output.code, Some(1), "{command:?}: {output}");
        let named = output.stderr.matches("cannot write the output").count();
        assert_eq!(named, 1, "{command:?}: {output}");
    }
}

#[test]
fn a_reader_that_has_left_ends_a_command_quietly() {
    let test = TestEnvironment::new();
    for command in commands() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = run_into(&test, &command, writer);
        // 128 and the number of SIGPIPE
        assert_eq!(output.code, Some(141), "{command:?}: {output}");
        let is_quiet = ["panicked", "error:"]
            .iter()
            .all(|word| !output.stderr.contains(word));
        assert!(is_quiet, "{command:?}: {output}");
    }
}

#[test]
fn a_command_without_output_ends_quietly() {
    let test = TestEnvironment::new();
    for command in commands() {
        let program = test.command(&command);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "exec \"$0\" \"$@\" >&-"])
            .arg(program.get_program());
        shell.args(program.get_args()).current_dir(test.folder());
        shell.stdin(Stdio::null());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let output = CommandOutput::from_command(&mut shell);
        check_calm(&command, &output);
        assert!(!output.stderr.contains("error:"), "{command:?}: {output}");
    }
}
