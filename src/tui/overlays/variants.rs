//! The variants of a run: a list to choose from, and side by side once they are tried.

use ratatui::text::Line;

use crate::story::words::verdict_sign;
use crate::story::{Run, text as harmless};
use crate::tui::text;
use crate::tui::ui::Purpose;
use crate::tui::variants::{Variant, Variants as Tried};
use crate::tui::view::{
    Action, Context, Copied, Item, Page, Request, Scene, Scroll, Size, Tone, View,
};

use super::comparison::{Cell, columns_that_fit, comparable, table_rows};
use super::trials::end_row;

/// The item that begins the trials, and the one that adds a variant.
const BEGIN: Item = Item::new(usize::MAX - 1, 0);
const TYPE: Item = Item::new(usize::MAX, 0);
/// Minimum cells of an answer: where it has less, a verdict is a sign.
const MIN_ANSWER: usize = 12;
const INDENT: &str = "  ";
/// Cells of a box, `[x]`.
const BOX: usize = 3;

/// The question of a run with one setting changed each.
pub struct Variants;

impl View for Variants {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "What if: variants of this run".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, scroll: &Scroll) {
        let Some(variants) = &page.scene.ui.work.variants else {
            return;
        };
        page.text(Tone::Question, INDENT, &variants.run.question);
        page.gap();
        let columns = Columns::new(variants, page.cells);
        for (at, variant) in variants.all.iter().enumerate() {
            let line = variant_row(page, variant, &variants.run, columns);
            page.item(Item::new(at, 0), line);
        }
        if variants.end.is_some() {
            choice_rows(page, variants);
        }
        let tried = variants.all.iter().any(|variant| variant.run.is_some());
        if tried {
            page.text(Tone::Quiet, INDENT, &agreement(variants));
        }
        end_row(page, INDENT, variants.end, "stopped", &variants.activity());
        cells(page, variants, scroll);
    }

    fn size(&self) -> Size {
        Size::with_max_rows(190, 90)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Back, "close"),
            (Action::Choose, "choose or ask"),
            (Action::Copy, "copy"),
        ]
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let variants = scene.ui.work.variants.as_ref()?;
        let line = |variant: &Variant| {
            let run = variant.run.as_ref()?;
            Some(format!("{}: {}", variant.name, answer(run)))
        };
        Copied::lines("the answers", variants.all.iter().filter_map(line))
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let variants = scene.ui.work.variants.as_ref()?;
        if action == Action::Back {
            return variants.end.is_none().then_some(Request::StopTrials);
        }
        let selected = scroll.selected.filter(|_| action == Action::Choose)?;
        match selected {
            BEGIN => Some(Request::TryVariants),
            TYPE => Some(Request::Type(Purpose::Variant, String::new())),
            Item { row, .. } => match variants.all.get(row)? {
                tried if tried.run.is_some() => Some(Request::AskWith(tried.settings.clone())),
                _ if variants.end.is_none() => None,
                _ => Some(Request::ToggleVariant(row)),
            },
        }
    }

    fn is_button(&self, scene: &Scene<'_>, item: Item, cell: usize) -> bool {
        let variants = scene.ui.work.variants.as_ref();
        let variant = variants.and_then(|variants| variants.all.get(item.row));
        let is_box = (INDENT.len()..INDENT.len() + BOX).contains(&cell);
        is_box && variant.is_some_and(|variant| variant.run.is_none())
    }
}

/// Writes the rows that begin the trials, and that add a variant.
fn choice_rows(page: &mut Page<'_>, variants: &Tried) {
    let settings = "· another: type its settings, as retriever.k=8";
    page.item_hanging(TYPE, Tone::Text, INDENT, "  ", settings);
    let begin = match variants.waiting() {
        0 => return,
        1 => "▶ try the one that is chosen".to_owned(),
        chosen => format!("▶ try the {chosen} that are chosen, one after the other"),
    };
    page.item_hanging(BEGIN, Tone::Strong, INDENT, "  ", &begin);
}

/// Writes the run beside its variants, as many as fit: the selected one is among them.
fn cells(page: &mut Page<'_>, variants: &Tried, scroll: &Scroll) {
    let runs = variants.runs();
    if runs.is_empty() {
        return;
    }
    let fitting = columns_that_fit(page.cells).saturating_sub(1).max(1);
    let selected = scroll.selected.map_or(0, |item| item.row);
    let at = runs.iter().position(|(at, _)| *at == selected).unwrap_or(0);
    let first = (at + 1).saturating_sub(fitting);
    let shown = || runs.iter().skip(first).take(fitting);

    let names = shown().map(|(at, _)| variants.all[*at].name.as_str());
    let names = std::iter::once("this run").chain(names);
    let names = names.map(|name| Cell::new(Tone::Strong, name)).collect();
    let beside: Vec<&Run> = std::iter::once(&variants.run)
        .chain(shown().map(|(_, run)| *run))
        .collect();
    page.gap();
    table_rows(page, names, &beside);
}

/// The columns of the list: names and verdicts as wide as the longest, where an answer has room.
#[derive(Clone, Copy)]
struct Columns {
    name: usize,
    /// 0 where verdicts are signs.
    verdict: usize,
}

impl Columns {
    fn new(variants: &Tried, cells: usize) -> Self {
        let all = variants.all.iter();
        let name = all.map(|variant| text::width(&variant.name)).max();
        let name = name.unwrap_or(0).min(cells / 2);
        let verdicts = variants.all.iter().filter_map(verdict);
        let verdict = verdicts.map(|name| text::width(&name)).max().unwrap_or(0);
        let has_room = cells > INDENT.len() + 4 + name + 2 + verdict + 2 + MIN_ANSWER;
        Self {
            name,
            verdict: if has_room { verdict } else { 0 },
        }
    }
}

fn verdict(variant: &Variant) -> Option<String> {
    let run = variant.run.as_ref()?;
    let kind = run.verdict.as_ref()?.kind;
    Some(run.search_extent().verdict_name(kind))
}

/// Returns the row of a variant: before it is tried whether it is chosen and what it changes, then
/// whether its answer differs, its verdict, its answer.
fn variant_row(page: &Page<'_>, variant: &Variant, own: &Run, columns: Columns) -> Line<'static> {
    let (tone, sign, words) = match &variant.run {
        None => {
            let sign = if variant.is_chosen { "[x]" } else { "[ ]" };
            (Tone::Quiet, sign, harmless::one_line(&variant.change))
        }
        Some(run) => {
            let (tone, sign) = if is_same(run, own) {
                (Tone::Text, " = ")
            } else {
                (Tone::Warning, " ≠ ")
            };
            let kind = run.verdict.as_ref().map(|verdict| verdict.kind);
            let name = verdict(variant).unwrap_or_default();
            let verdict = match columns.verdict {
                0 => kind.map_or_else(String::new, |kind| format!("{} ", verdict_sign(kind))),
                cells => format!("{}  ", text::left(&name, cells)),
            };
            (tone, sign, format!("{verdict}{}", answer(run)))
        }
    };
    let room = page.cells.saturating_sub(columns.name + INDENT.len() + 7);
    let is_open = variant.is_chosen || variant.run.is_some();
    let name_tone = if is_open { Tone::Text } else { Tone::Quiet };
    Line::from(vec![
        page.span(tone, format!("{INDENT}{sign} ")),
        page.span(name_tone, text::left(&variant.name, columns.name)),
        page.span(tone, format!("  {}", text::clip(&words, room))),
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
    let finished = || {
        variants
            .all
            .iter()
            .filter_map(|variant| variant.run.as_ref())
    };
    let same = finished().filter(|run| is_same(run, &variants.run));
    let same = same.count();
    match finished().count() {
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
