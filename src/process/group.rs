//! A process leads a process group, so that it ends with the programs that it starts, and so that
//! the terminal's ctrl-c reaches only the program that the user started.

#[cfg(not(unix))]
pub use other::*;
#[cfg(unix)]
pub use unix::*;

#[cfg(unix)]
mod unix {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, ExitStatus};

    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;

    /// Makes a process that is about to start the leader of a group.
    pub fn lead(command: &mut Command) {
        // 0 gives the group the id of its leader (setpgid(2))
        command.process_group(0);
    }

    /// Ends a process and the programs that it started.
    pub fn end(leader: u32) {
        if let Ok(leader) = i32::try_from(leader) {
            let _ = killpg(Pid::from_raw(leader), Signal::SIGKILL);
        }
    }

    /// Returns the name of the signal that ended a process.
    pub fn signal(status: ExitStatus) -> Option<&'static str> {
        let signal = Signal::try_from(status.signal()?).ok()?;
        Some(signal.as_str())
    }
}

#[cfg(not(unix))]
mod other {
    use std::process::{Command, ExitStatus};

    /// Does nothing: there are no process groups.
    pub fn lead(_command: &mut Command) {}

    /// Does nothing: there are no process groups.
    pub fn end(_leader: u32) {}

    /// Returns `None`: there are no signals.
    pub fn signal(_status: ExitStatus) -> Option<&'static str> {
        None
    }
}
