//! The limits that a process sets itself before it runs what a stranger wrote.

#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(not(target_os = "linux"))]
pub use other::*;

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};

    /// Returns the address space that the process has mapped: with libraries for a GPU this is more
    /// than the largest limit.
    pub fn mapped_bytes() -> u64 {
        // proc(5) gives VmSize in KiB
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let size = status
            .lines()
            .find_map(|line| line.strip_prefix("VmSize:"))
            .and_then(|size| size.split_whitespace().next()?.parse::<u64>().ok());
        size.map_or(0, |kib| kib << 10)
    }

    /// Limits the memory of the process. Only the soft limit changes, so the next request may
    /// have more.
    pub fn memory(base_bytes: u64, bytes: u64) {
        if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_AS) {
            // a soft limit above the hard one is refused (setrlimit(2))
            let _ = setrlimit(Resource::RLIMIT_AS, (base_bytes + bytes).min(hard), hard);
        }
        // what ends the process leaves no core dump
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    }

    /// Limits the processor time of the process from now on.
    pub fn time(time: Duration) {
        let (Ok(used), Ok((_, hard))) = (
            getrusage(UsageWho::RUSAGE_SELF),
            getrlimit(Resource::RLIMIT_CPU),
        ) else {
            return;
        };
        let used_s = used.user_time().tv_sec() + used.system_time().tv_sec();
        // the limit counts whole seconds, and those used are rounded down
        let until_s = u64::try_from(used_s).unwrap_or(0) + time.as_secs() + 2;
        let _ = setrlimit(Resource::RLIMIT_CPU, until_s.min(hard), hard);
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// Returns 0: there is no limit to add it to.
    pub fn mapped_bytes() -> u64 {
        0
    }

    /// Does nothing: macOS does not enforce the limit, and Windows has none for a process alone.
    pub fn memory(_base_bytes: u64, _bytes: u64) {}

    /// Does nothing: the program ends the worker by the clock.
    pub fn time(_time: std::time::Duration) {}
}

/// Ends this process and the programs that it started.
pub fn end_group() {
    super::group::end(std::process::id());
    std::process::exit(0);
}
