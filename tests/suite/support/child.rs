//! A test that continues in a process of its own: to be killed, to crash, or to be measured alone.
//!
//! The child runs the same test again and sees by [`task`] that it is the child, so that no test
//! exists only to be started by another one.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};

const TASK: &str = "RAGSCOPE_TEST_TASK";

/// Returns what the parent gave to this process; `None` where the test was not started by itself.
pub fn task() -> Option<OsString> {
    std::env::var_os(TASK)
}

/// Returns the arguments with which this program runs one test; `module` is its `module_path!()`.
pub fn arguments(module: &str, test: &str) -> [String; 4] {
    let module = module.strip_prefix("suite::").expect("a path of the suite");
    let flags = ["--exact", "--include-ignored", "--nocapture"].map(str::to_owned);
    let [exact, ignored, uncaptured] = flags;
    [format!("{module}::{test}"), exact, ignored, uncaptured]
}

/// Returns a command that runs a test in a process of its own, with its output on a pipe.
pub fn command(module: &str, test: &str, task: impl AsRef<OsStr>) -> Command {
    let command = Command::new(std::env::current_exe().expect("this program"));
    complete(command, module, test, task.as_ref())
}

/// Returns a command that runs a test as [`command`] does, after commands of a shell.
#[cfg(unix)]
pub fn command_after(shell: &str, module: &str, test: &str, task: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{shell}; exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().expect("this program"));
    complete(command, module, test, task.as_ref())
}

fn complete(mut command: Command, module: &str, test: &str, task: &OsStr) -> Command {
    command
        .args(arguments(module, test))
        .env(TASK, task)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Returns the variable that gives a task to a process that is started by other means.
pub fn variable(task: &str) -> (&'static str, &str) {
    (TASK, task)
}
