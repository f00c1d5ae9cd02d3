//! The parts that the diagnosis and the variants of a run share: both try changes, one by one.

use crate::story::words::LOST;
use crate::tui::trial::End;
use crate::tui::view::{Action, Page, Tone};

/// The keys of a list of changes.
pub const HINTS: &[(Action, &str)] = &[
    (Action::Back, "close"),
    (Action::Choose, "ask with this change"),
    (Action::Copy, "copy"),
];

/// Adds the row that says what is being tried, or how the trials ended; none where all were tried.
pub fn end_row(page: &mut Page<'_>, indent: &str, end: Option<End>, stopped: &str, activity: &str) {
    match end {
        Some(End::Finished) => {}
        Some(End::Stopped) => page.text(Tone::Warning, indent, &format!("■ {stopped}")),
        Some(End::Failed) => {
            let log = page.scene.keys_behind(Action::Log);
            let words = format!("{LOST} it failed: {log} says why");
            page.text(Tone::Bad, indent, &words);
        }
        None => {
            let stop = page.scene.keymap.sign(Action::Back);
            let elapsed = page.scene.elapsed_words();
            let words = format!("{activity} …{elapsed}   {stop} stops");
            page.text(Tone::Quiet, indent, &words);
        }
    }
}
