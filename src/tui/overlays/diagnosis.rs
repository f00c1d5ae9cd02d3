//! The diagnosis of an answer: the chain from the file to it, its first broken link, and the
//! changes that were tried, while they are.

use crate::story::{ChainLink, Diagnosis as Found, Tried, sign};
use crate::tui::diagnosing::Diagnosing;
use crate::tui::text;
use crate::tui::trial::End;
use crate::tui::ui::Purpose;
use crate::tui::view::{Action, Context, Copied, Item, Page, Request, Scene, Scroll, Tone, View};

use super::trials::{HINTS, end_row};

/// Changes of more settings are not for a question, but to find out what the model reads.
const MAX_SETTINGS: usize = 3;
/// Cells of the name of a link.
const NAME: usize = 12;
const INDENT: &str = "   ";

/// The diagnosis of a run.
pub struct Diagnosis;

impl View for Diagnosis {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Diagnosis of this answer".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let Some(diagnosing) = &page.scene.ui.work.diagnosing else {
            return;
        };
        page.text(Tone::Question, " ", &diagnosing.run().question);
        if let Some(found) = diagnosing.so_far() {
            found_rows(page, found, diagnosing.end);
        }

        page.gap();
        let stopped = "stopped; this is what was found";
        let activity = diagnosing.activity();
        end_row(page, INDENT, diagnosing.end, stopped, &activity);
        if diagnosing.end.is_some() {
            let words = "· another expected answer or passage: type it";
            page.item_hanging(another_row(diagnosing), Tone::Text, INDENT, "  ", words);
        }
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        HINTS
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let found = scene.ui.work.diagnosing.as_ref()?.so_far()?;
        Some(Copied::new("the diagnosis", found.text()))
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let diagnosing = scene.ui.work.diagnosing.as_ref()?;
        if action == Action::Back {
            return diagnosing.end.is_none().then_some(Request::StopTrials);
        }

        let selected = scroll.selected.filter(|_| action == Action::Choose)?;
        if selected == another_row(diagnosing) {
            return Some(Request::Type(Purpose::Expected, String::new()));
        }
        let tried = diagnosing.so_far()?.tried.get(selected.row)?;
        Some(Request::AskWith(tried.settings.clone()))
    }
}

/// Returns the item behind the changes that were tried.
fn another_row(diagnosing: &Diagnosing) -> Item {
    Item::new(diagnosing.so_far().map_or(0, |found| found.tried.len()), 0)
}

fn found_rows(page: &mut Page<'_>, found: &Found, end: Option<End>) {
    let expected = &found.expected;
    for passage in &expected.passages {
        let words = format!("expected “{}”", text::one_line(passage));
        page.text(Tone::Text, INDENT, &words);
    }
    if let Some(guess) = &expected.guess {
        page.text(Tone::Quiet, INDENT, guess);
    }

    page.gap();
    for link in &found.chain {
        link_rows(page, link);
    }

    // before the changes are tried, the link is known in part
    if end == Some(End::Finished) {
        page.gap();
        page.text(Tone::Strong, INDENT, &found.finding);
    }

    if !found.tried.is_empty() {
        page.gap();
        page.text(Tone::Quiet, INDENT, "tried");
    }
    for (row, tried) in found.tried.iter().enumerate() {
        tried_rows(page, row, tried);
    }
}

fn link_rows(page: &mut Page<'_>, link: &ChainLink) {
    let tone = match link.holds {
        Some(true) => Tone::Text,
        Some(false) => Tone::Warning,
        None => Tone::Quiet,
    };
    let sign = format!("{INDENT}{} ", sign(link.holds));
    let name = vec![
        page.span(tone, sign),
        page.span(Tone::Quiet, text::left(link.name, NAME)),
    ];
    let room = page.cells.saturating_sub(INDENT.len() + 2 + NAME);
    page.text_behind(name, tone, &link.evidence, room);
}

fn tried_rows(page: &mut Page<'_>, row: usize, tried: &Tried) {
    let tone = if tried.says { Tone::Strong } else { Tone::Text };
    let sign = sign(Some(tried.says));
    let words = format!("{}: {}", tried.change, tried.result());
    if tried.settings.len() > MAX_SETTINGS {
        page.text_with_sign(tone, &format!("{INDENT}{sign} "), &words);
    } else {
        let words = format!("{sign} {words}");
        page.item_hanging(Item::new(row, 0), tone, INDENT, "  ", &words);
    }
}
