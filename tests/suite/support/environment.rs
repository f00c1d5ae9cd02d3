//! The environment of a test: a folder of its own, and the program in it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Stdio};

use ragscope::config::{Layers, Paths};
use ragscope::engine::Worker;
use ragscope::event::{Event, Record, StopFlag};
use serde_json::Value;

use super::pty::Terminal;

/// The smaller of the bundled generators: most tests need a model, and not what the larger one
/// knows.
pub const SMALL_GENERATOR: &str = "ragscope-demo.Q8_0.gguf";

pub const QUESTION: &str = "Where was Tam Reeve born?";
const PEOPLE: &str =
    "# People\n\nMira Oakes was born in Harwenby. Tam Reeve was born in Lorbymouth.\n";

const PROGRAM: &str = env!("CARGO_BIN_EXE_ragscope");

/// Returns the default settings with the smaller generator, which answers step by step: over a
/// folder that is not the demo it would quote.
pub fn small_settings() -> Layers {
    let mut layers = Layers::defaults();
    for (key, value) in [
        ("generator.model", SMALL_GENERATOR),
        ("answer.prompt", "step_by_step"),
    ] {
        layers.set("test", key, value).expect("a known key");
    }
    layers
}

/// A working folder of the program, with its home in `home` and a small corpus in `notes`.
pub struct TestEnvironment {
    folder: tempfile::TempDir,
}

impl TestEnvironment {
    /// An environment with one document, `notes/people.md`.
    pub fn new() -> Self {
        let test = Self::empty();
        test.write("notes/people.md", PEOPLE);
        test
    }

    /// An environment without a corpus.
    pub fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    /// Returns the working folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of a name in the working folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder().join(name)
    }

    pub fn corpus(&self) -> PathBuf {
        self.path("notes")
    }

    /// Returns the folders in which the program keeps its data.
    pub fn paths(&self) -> Paths {
        Paths::under(self.path("home"))
    }

    /// Returns a worker of the engine with the smaller generator, which keeps its data here.
    pub fn worker(&self) -> Worker {
        Worker::new(small_settings(), self.paths(), StopFlag::default())
    }

    /// Writes a file in the working folder, and the folders above it.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.path(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(&file, content).expect("written");
        file
    }

    /// Returns the command that runs the program here, without the settings of the caller's
    /// environment.
    pub fn command(&self, arguments: impl Arguments) -> process::Command {
        let mut command = process::Command::new(PROGRAM);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RAGSCOPE_"))
        {
            command.env_remove(name);
        }
        command
            .args(arguments.words())
            .current_dir(self.folder())
            .env("RAGSCOPE_HOME", self.path("home"))
            .env("HOME", self.folder())
            .env("RAGSCOPE_GENERATOR__MODEL", SMALL_GENERATOR)
            .env("RAGSCOPE_ANSWER__PROMPT", "step_by_step")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: impl Arguments) -> CommandOutput {
        CommandOutput::from_command(&mut self.command(arguments))
    }

    /// Runs the program with a variable of the environment.
    pub fn run_with(
        &self,
        variable: (&str, impl AsRef<OsStr>),
        arguments: impl Arguments,
    ) -> CommandOutput {
        let mut command = self.command(arguments);
        CommandOutput::from_command(command.env(variable.0, variable.1))
    }

    /// Asks [`QUESTION`] over the corpus, with these flags.
    pub fn ask(&self, flags: impl Arguments) -> CommandOutput {
        self.run([vec!["ask", "notes", QUESTION], flags.words()].concat())
    }

    /// Starts the program with its output and errors on pipes.
    pub fn start(&self, arguments: impl Arguments) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started")
    }

    /// Starts the program in a terminal of this many rows and columns.
    pub fn terminal(&self, arguments: impl Arguments, size: (u16, u16)) -> Terminal {
        self.terminal_with(&[], arguments, size)
    }

    /// Starts the program in a terminal, with variables of the environment.
    pub fn terminal_with(
        &self,
        variables: &[(&str, &str)],
        arguments: impl Arguments,
        size: (u16, u16),
    ) -> Terminal {
        Terminal::start(PROGRAM, &arguments.words(), self.folder(), size, variables)
    }

    /// Returns the process of the engine that works here, once it has opened its log.
    #[cfg(target_os = "linux")]
    pub fn engine(&self) -> nix::unistd::Pid {
        let deadline = std::time::Instant::now() + super::pty::PATIENCE;
        loop {
            let processes = fs::read_dir("/proc").expect("processes").flatten();
            let numbers =
                processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
            if let Some(number) = numbers.into_iter().find(|number| self.has_engine(*number)) {
                return nix::unistd::Pid::from_raw(number);
            }
            assert!(std::time::Instant::now() < deadline, "no engine");
            std::thread::yield_now();
        }
    }

    #[cfg(target_os = "linux")]
    fn has_engine(&self, process: i32) -> bool {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let command = fs::read(folder.join("cmdline")).unwrap_or_default();
        let mut arguments = command.split(|byte| *byte == 0);
        if !arguments.any(|argument| argument == b"__engine") {
            return false;
        }
        let files = fs::read_dir(folder.join("fd")).into_iter().flatten();
        let mut targets = files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok());
        targets.any(|target| target.starts_with(self.folder()))
    }
}

/// The arguments of the program: one line that is split at white space, or a list.
pub trait Arguments {
    fn words(&self) -> Vec<&str>;
}

impl Arguments for str {
    fn words(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Arguments for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl Arguments for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const N: usize> Arguments for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Arguments for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

impl<T: Arguments + ?Sized> Arguments for &T {
    fn words(&self) -> Vec<&str> {
        (**self).words()
    }
}

/// The end of the program, with its output.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutput {
    /// Runs a command to its end.
    pub fn from_command(command: &mut process::Command) -> Self {
        Self::from(command.output().expect("started"))
    }

    /// Checks that the program succeeded.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.exits(0)
    }

    /// Checks the exit status.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Checks that a text is in the output.
    #[track_caller]
    pub fn prints(self, part: impl AsRef<str>) -> Self {
        let part = part.as_ref();
        assert!(self.stdout.contains(part), "no {part:?} in {self}");
        self
    }

    /// Checks that a text is not in the output.
    #[track_caller]
    pub fn does_not_print(self, part: impl AsRef<str>) -> Self {
        let part = part.as_ref();
        assert!(!self.stdout.contains(part), "{part:?} in {self}");
        self
    }

    /// Checks that texts are in the output, one after the other.
    #[track_caller]
    pub fn prints_in_order(self, parts: &[&str]) -> Self {
        let mut rest = self.stdout.as_str();
        for part in parts {
            let at = rest.find(part);
            let at = at.unwrap_or_else(|| panic!("no {part:?} after\n{rest}\nin {self}"));
            rest = &rest[at + part.len()..];
        }
        self
    }

    /// Checks that a text is in what the program said beside its output.
    #[track_caller]
    pub fn reports(self, part: impl AsRef<str>) -> Self {
        let part = part.as_ref();
        assert!(self.stderr.contains(part), "no {part:?} in {self}");
        self
    }

    /// Returns the one JSON value of the output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    pub fn records(&self) -> Vec<Record> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("a record a line"))
            .collect()
    }

    /// Returns the events of the records.
    pub fn events(&self) -> Vec<Event> {
        let records = self.records().into_iter();
        records.map(|record| record.event).collect()
    }

    /// Returns what was printed and what was said beside it.
    pub fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Returns the two texts of `{"error": …, "advice": …}`, which is the last line.
    #[track_caller]
    pub fn failure(&self) -> (String, String) {
        let object: Value =
            serde_json::from_str(self.stdout.lines().last().expect("a line")).expect("JSON");
        let text = |key: &str| object[key].as_str().expect("text").to_owned();
        let fields = object.as_object().map(serde_json::Map::len);
        assert_eq!(fields, Some(2), "{object}");
        (text("error"), text("advice"))
    }
}

impl From<process::Output> for CommandOutput {
    fn from(output: process::Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

impl std::fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            code,
            stdout,
            stderr,
        } = self;
        write!(f, "status {code:?}\n{stdout}\n{stderr}")
    }
}
