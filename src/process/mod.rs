//! This program again, as another process: started with a hidden subcommand, spoken with over
//! pipes.
//!
//! What can abort, hang or allocate without bound runs there: the readers of binary files, the chat
//! templates of model files, and llama.cpp behind the screen and the servers.

pub mod frame;
pub mod group;
pub mod limit;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};

/// The end of what a process wrote to stderr, which says why it ended.
const MAX_STDERR_BYTES: usize = 4 << 10;

/// A running process. It ends with the value, and so do the programs that it started.
pub struct Process {
    child: Child,
    /// Returns the end of stderr once it is closed.
    stderr: Option<JoinHandle<Vec<u8>>>,
}

/// The pipes to a process.
pub struct Pipes {
    /// Input of the process.
    pub input: ChildStdin,
    /// Output of the process.
    pub output: ChildStdout,
}

/// The end of a process.
#[derive(Debug)]
pub struct Ending {
    /// `None` where the system does not say.
    pub status: Option<ExitStatus>,
    /// The end of what it wrote to stderr.
    pub stderr: String,
}

/// The reason why a process ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Memory,
    Time,
    /// A stack that overflowed.
    Nesting,
    /// A panic, or an end from outside.
    Other,
}

impl Ending {
    /// Returns why the process ended, by its signal and the last words of Rust's runtime.
    pub fn cause(&self) -> Cause {
        // the signal that the kernel sends at the limit of processor time
        if self.status.and_then(group::signal) == Some("SIGXCPU") {
            Cause::Time
        } else if self.stderr.contains("memory allocation of") {
            Cause::Memory
        } else if self.stderr.contains("overflowed its stack") {
            Cause::Nesting
        } else {
            Cause::Other
        }
    }
}

impl Process {
    /// Starts this program with a hidden subcommand.
    ///
    /// # Errors
    /// When the system has no room for another process or thread.
    pub fn start(subcommand: &str) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(program()?);
        command
            .arg(subcommand)
            // a backtrace would push the reason out of what is kept of stderr
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        group::lead(&mut command);
        let child = command.spawn()?;

        // from here on the process ends with the value
        let mut process = Self {
            child,
            stderr: None,
        };
        let pipe = || io::Error::other("no pipe");
        let input = process.child.stdin.take().ok_or_else(pipe)?;
        let output = process.child.stdout.take().ok_or_else(pipe)?;
        let stderr = process.child.stderr.take().ok_or_else(pipe)?;
        process.stderr = Some(thread::Builder::new().spawn(move || tail(stderr))?);
        Ok((process, Pipes { input, output }))
    }

    /// Returns the id of the process, which is that of its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process, unless it has ended, and returns how it did.
    pub fn end(&mut self) -> Ending {
        group::end(self.child.id());
        let status = self.child.wait().ok();
        let stderr = self.stderr.take().and_then(|tail| tail.join().ok());
        Ending {
            status,
            stderr: String::from_utf8_lossy(&stderr.unwrap_or_default()).into_owned(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        group::end(self.child.id());
        // where there are no groups, the process alone is ended
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads stderr until it is closed, and returns its end.
fn tail(mut stderr: ChildStderr) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut part = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut part) {
        kept.extend_from_slice(&part[..count]);
        let excess = kept.len().saturating_sub(MAX_STDERR_BYTES);
        kept.drain(..excess);
    }
    kept
}

/// Returns the program to start: this one. Tests and benches are programs of their own; cargo puts
/// them into the folder `deps` beside it.
fn program() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let above = own
        .parent()
        .filter(|folder| folder.ends_with("deps"))
        .and_then(Path::parent);
    let beside =
        above.map(|folder| folder.join(format!("ragscope{}", std::env::consts::EXE_SUFFIX)));
    Ok(beside.filter(|file| file.is_file()).unwrap_or(own))
}
