//! Helpers that several modules of the suite share.

pub mod child;
pub mod effort;
pub mod pdf;
pub mod pty;
pub mod environment;
pub mod scripted;

/// Returns an error as a user reads it, with its advice.
pub fn shown(error: &dyn ragscope::event::Advice) -> String {
    let problem = error.to_problem();
    match problem.advice {
        Some(advice) => format!("{}: {advice}", problem.error),
        None => problem.error,
    }
}

/// Returns a part of the first event that matches a pattern: `find!(events, PATTERN => PART)`.
macro_rules! find {
    ($events:expr, $pattern:pat $(if $guard:expr)? => $part:expr) => {
        Iterator::find_map(&mut $events, |event| match event {
            $pattern $(if $guard)? => Some($part),
            _ => None,
        })
    };
}
pub(crate) use find;
