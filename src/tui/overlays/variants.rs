//! The variants of a run side by side, while they are tried.

use ratatui::text::Line;

use crate::story::words::verdict_name;
use crate::story::{Run, text as harmless};
use crate::tui::keys::{Action, Context};
use crate::tui::page::Page;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::variants::{Variant, Variants as Tried};
use crate::tui::view::{Copied, Request, Scene, Size, View};
use crate::tui::viewport::{Item, Scroll};

use super::comparison::{Cell, columns_that_fit, comparable, table_rows};
use super::trials::{HINTS, end_row};

/// Cells of the name of a variant.
const NAME: usize = 27;
const INDENT: &str = "  ";

/// The question of a run with one setting changed each.
pub struct Variants;

impl View for Variants {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "What if: variants of this run".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let Some(variants) = &page.scene.ui.work.variants else {
            return;
        };
        page.text(Tone::Question, INDENT, &variants.run.question);
        page.gap();
        for (row, variant) in variants.all.iter().enumerate() {
            if let Some(run) = &variant.run {
                let line = variant_row(page, &variant.name, run, &variants.run);
                page.item(Item::new(row, 0), line);
            }
        }
        page.text(Tone::Quiet, INDENT, &agreement(variants));
        end_row(page, INDENT, variants.end, "stopped", &variants.activity());

        let all = std::iter::once(&variants.run).chain(variants.runs());
        let runs: Vec<&Run> = all.take(columns_that_fit(page.cells)).collect();
        if runs.len() > 1 {
            page.gap();
            let names = variants.all.iter().map(|variant| variant.name.as_str());
            let names = std::iter::once("this run").chain(names);
            let names = names.map(|name| Cell::new(Tone::Strong, name));
            table_rows(page, names.take(runs.len()).collect(), &runs);
        }
    }

    fn size(&self) -> Size {
        Size::with_max_rows(190, 90)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        HINTS
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let variants = scene.ui.work.variants.as_ref()?;
        let line = |variant: &Variant| {
            let run = variant.run.as_ref()?;
            Some(format!("{}: {}", variant.name, answer(run)))
        };
        let lines: Vec<String> = variants.all.iter().filter_map(line).collect();
        Copied::lines("the answers", &lines)
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let variants = scene.ui.work.variants.as_ref()?;
        if action == Action::Back {
            return variants.end.is_none().then_some(Request::StopTrials);
        }
        let selected = scroll.selected.filter(|_| action == Action::Choose)?;
        let variant = variants.all.get(selected.row)?;
        Some(Request::AskWith(variant.settings.clone()))
    }
}

/// Returns the row of a variant: whether its answer differs, its verdict, its answer.
fn variant_row(page: &Page<'_>, name: &str, run: &Run, own: &Run) -> Line<'static> {
    let (tone, sign) = if is_same(run, own) {
        (Tone::Text, "=")
    } else {
        (Tone::Warning, "≠")
    };
    let verdict = run.verdict.as_ref();
    let verdict = verdict.map(|verdict| verdict_name(verdict.kind));
    let words = format!("{}  {}", verdict.unwrap_or_default(), answer(run));
    let words = text::clip(words.trim_start(), page.cells.saturating_sub(NAME + 6));
    Line::from(vec![
        page.span(tone, format!("{INDENT}{sign} ")),
        page.span(Tone::Quiet, text::left(name, NAME)),
        page.span(tone, words.into_owned()),
    ])
}

/// Returns whether a run has the answer of another one, or holds its short answer.
fn is_same(run: &Run, own: &Run) -> bool {
    let [said, expected] = [run, own].map(|run| comparable(&answer(run)));
    let is_held = run.answer.is_empty() && !own.answer.is_empty() && said.contains(&expected);
    said == expected || is_held
}

/// Returns how many variants have the answer of the run.
fn agreement(variants: &Tried) -> String {
    let finished = variants
        .all
        .iter()
        .filter_map(|variant| variant.run.as_ref());
    let finished: Vec<&Run> = finished.collect();
    let same = finished.iter().filter(|run| is_same(run, &variants.run));
    let same = same.count();
    match finished.len() {
        0 => "no variant is finished yet".to_owned(),
        all if same == all && all > 1 => format!("the same answer in all {all}"),
        all => format!("the same answer in {same} of {all}"),
    }
}

/// Returns the short answer of a run, or all of it where there is none.
fn answer(run: &Run) -> String {
    if run.answer.is_empty() {
        harmless::one_line(run.text.trim())
    } else {
        run.answer.clone()
    }
}
