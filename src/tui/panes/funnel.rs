//! The funnel of a lookup: how many texts each stage left, and what it said of one of them.

use ratatui::text::Line;

use crate::event::{Mark, Stage};
use crate::tui::state::{Lookup, Narrowed, Rewritten};
use crate::tui::text;
use crate::tui::theme::Tone;

use crate::tui::view::Scene;

/// `20 found → 18 not redundant → 6 graded ≥ .48 → 2 used`, wrapped at `cells`; nothing for a lookup without stages.
pub(super) fn lines(scene: &Scene<'_>, lookup: &Lookup, cells: usize) -> Vec<Line<'static>> {
    let funnel = &lookup.funnel;
    if funnel.is_empty() {
        return Vec::new();
    }
    let mut steps = vec![format!("{} found", lookup.found)];
    steps.extend(
        funnel
            .stages
            .iter()
            .filter(|stage| stage.stage != Stage::Merged)
            .map(|stage| stage_words(lookup, stage)),
    );
    steps.extend(funnel.reranked.map(|texts| format!("{texts} reranked")));
    steps.extend(
        funnel
            .stages
            .iter()
            .filter(|stage| stage.stage == Stage::Merged)
            .map(|stage| stage_words(lookup, stage)),
    );
    steps.extend(
        lookup
            .context
            .as_ref()
            .map(|context| format!("{} used", context.chunks.len())),
    );
    let words = steps.join(" → ");
    let rows = text::wrap(&words, cells.saturating_sub(2)).into_iter();
    rows.map(|row| Line::from(scene.span(Tone::Quiet, format!(" {}", &words[row]))))
        .collect()
}

fn stage_words(lookup: &Lookup, narrowed: &Narrowed) -> String {
    let kept = narrowed.kept;
    let all = if lookup.funnel.fell_back.contains(&narrowed.stage) {
        " (nothing passed)"
    } else {
        ""
    };
    match narrowed.stage {
        Stage::Linked => format!("{kept} linked"),
        Stage::Alike => format!("{kept} unlike in words"),
        Stage::Redundant => format!("{kept} not redundant"),
        Stage::Graded => match lookup.funnel.threshold {
            Some(threshold) => format!(
                "{kept} graded ≥ {}{all}",
                super::retrieval::short(threshold, 2)
            ),
            None => format!("{kept} graded{all}"),
        },
        Stage::Judged => format!("{kept} relevant{all}"),
        Stage::Merged => format!("{kept} merged"),
    }
}

/// What the stages said of a chunk, one line each, and whether that was its end.
pub(super) fn said(lookup: &Lookup, chunk: u64) -> Vec<(String, bool)> {
    let mut said = Vec::new();
    if let Some(graded) = lookup.funnel.grades.get(&chunk) {
        let [relevance, reflected, critic] =
            graded.grades.map(|grade| super::retrieval::short(grade, 2));
        let score = super::retrieval::short(graded.score, 2);
        said.push((
            format!(
                "grades: relevance {relevance}, reflected {reflected}, critic {critic} → {score}"
            ),
            false,
        ));
    }
    let marks = lookup.funnel.marks(chunk);
    // without stages the columns of the hit say it all
    if !lookup.funnel.is_empty() {
        let told = marks.iter().filter(|mark| {
            !matches!(
                mark,
                Mark::Hit { .. } | Mark::Graded { .. } | Mark::Fell { .. }
            )
        });
        said.extend(told.map(|mark| (mark.to_string(), mark.is_loss())));
    }
    said
}

/// `keywords Tam Reeve birthplace  cosine .67`.
pub(super) fn rewritten(scene: &Scene<'_>, rewritten: &Rewritten, cells: usize) -> Line<'static> {
    let like = rewritten.cosine.map_or_else(String::new, |cosine| {
        format!("  cosine {}", super::retrieval::short(cosine, 2))
    });
    let used = if rewritten.used { "" } else { "  ✗ not used" };
    let room = cells.saturating_sub(text::width(&like) + text::width(used) + 12);
    Line::from(vec![
        scene.span(Tone::Quiet, " keywords "),
        scene.span(Tone::Text, text::clip(&rewritten.text, room).into_owned()),
        scene.span(Tone::Quiet, like),
        scene.span(Tone::Warning, used),
    ])
}
