//! What several modules of the suite share.

pub mod pdf;
pub mod scripted;

/// What a user reads of an error: what happened, and what to do next.
pub fn shown(error: &dyn ragscope::event::Advice) -> String {
    let problem = error.to_problem();
    match problem.advice {
        Some(advice) => format!("{}: {advice}", problem.error),
        None => problem.error,
    }
}
