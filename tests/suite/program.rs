//! The real program with a home of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{self, Child, Stdio};

use ragscope::config::{Layers, Paths};
use ragscope::event::Record;
use serde_json::Value;

/// The smaller of the bundled generators: most tests need a model, and not what the larger one knows.
pub const SMALL_GENERATOR: &str = "ragscope-demo.Q8_0.gguf";

/// The default settings with the smaller generator.
pub fn small() -> Layers {
    let mut layers = Layers::defaults();
    layers
        .set("test", "generator.model", SMALL_GENERATOR)
        .expect("a known key");
    layers
}

pub const QUESTION: &str = "Where was Tam Reeve born?";
const PEOPLE: &str =
    "# People\n\nMira Oakes was born in Harwenby. Tam Reeve was born in Lorbymouth.\n";

/// The program with a home of its own, and a small corpus.
pub struct Program {
    pub home: tempfile::TempDir,
}

/// How it ended.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Program {
    pub fn new() -> Self {
        let program = Self {
            home: tempfile::tempdir().expect("a folder"),
        };
        fs::create_dir(program.corpus()).expect("made");
        fs::write(program.corpus().join("people.md"), PEOPLE).expect("written");
        program
    }

    pub fn corpus(&self) -> PathBuf {
        self.home.path().join("notes")
    }

    pub fn paths(&self) -> Paths {
        Paths::under(self.home.path().join("home"))
    }

    pub fn command(&self, arguments: &[&str]) -> process::Command {
        let mut command = process::Command::new(env!("CARGO_BIN_EXE_ragscope"));
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RAGSCOPE_"))
        {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(self.home.path())
            .env("RAGSCOPE_HOME", self.home.path().join("home"))
            .env("HOME", self.home.path())
            .env("RAGSCOPE_GENERATOR__MODEL", SMALL_GENERATOR)
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().expect("started");
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// The process of the engine that works in this home, once it has opened its log there.
    #[cfg(target_os = "linux")]
    pub fn engine(&self) -> nix::unistd::Pid {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
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
        targets.any(|target| target.starts_with(self.home.path()))
    }

    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started")
    }
}

impl Ended {
    pub fn records(&self) -> Vec<Record> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("a record a line"))
            .collect()
    }

    /// `{"error": …, "advice": …}` and nothing else, on the last line.
    pub fn failure(&self) -> (String, String) {
        let object: Value =
            serde_json::from_str(self.stdout.lines().last().expect("a line")).expect("JSON");
        let text = |key: &str| object[key].as_str().expect("text").to_owned();
        assert_eq!(
            object.as_object().map(serde_json::Map::len),
            Some(2),
            "{object}"
        );
        (text("error"), text("advice"))
    }
}
