//! The funnel of a lookup: the number of texts after each stage, and its results for one of them.

use ratatui::text::Line;

use crate::event::Stage;
use crate::story::words::{self, score};
use crate::story::{Lookup, Mark, Narrowed, Rewritten};
use crate::tui::text;
use crate::tui::view::{Scene, Tone};

/// Returns `20 found → 18 not redundant → 6 graded ≥ .48 → 2 used`, wrapped at `cells`; nothing for
/// a lookup without stages.
pub(super) fn lines(scene: &Scene<'_>, lookup: &Lookup, cells: usize) -> Vec<Line<'static>> {
    let funnel = &lookup.funnel;
    if funnel.is_empty() {
        return Vec::new();
    }

    let mut steps = vec![format!("{} found", lookup.found)];
    let stages_of = |is_merged: bool| {
        let is_shown = move |of: &Narrowed| (of.stage == Stage::Merged) == is_merged;
        let stages = funnel.stages().filter(is_shown);
        stages.map(|narrowed| stage_words(lookup, narrowed))
    };

    steps.extend(stages_of(false));
    let reranked = funnel.reranked_texts();
    steps.extend(reranked.map(|texts| format!("{texts} reranked")));
    steps.extend(stages_of(true));
    let context = lookup.context.as_ref();
    steps.extend(context.map(|context| format!("{} used", context.chunks.len())));

    let line = steps.join(" → ");
    text::rows(&line, cells.saturating_sub(2))
        .map(|row| Line::from(scene.span(Tone::Quiet, format!(" {row}"))))
        .collect()
}

fn stage_words(lookup: &Lookup, narrowed: Narrowed) -> String {
    let kept = narrowed.kept;
    let all = if narrowed.fell_back {
        " (nothing passed)"
    } else {
        ""
    };

    match narrowed.stage {
        Stage::Linked => format!("{kept} linked"),
        Stage::Redundant => format!("{kept} not redundant"),
        Stage::Graded => match lookup.funnel.threshold() {
            Some(threshold) => format!("{kept} graded ≥ {}{all}", score(threshold, 2)),
            None => format!("{kept} graded{all}"),
        },
        Stage::Judged => format!("{kept} relevant{all}"),
        Stage::Merged => format!("{kept} merged"),
    }
}

/// Returns the rows about a chunk below its hit: the result of each stage.
pub(super) fn stage_rows(lookup: &Lookup, chunk: u64) -> Vec<String> {
    let mut rows = Vec::new();
    if let Some(graded) = lookup.funnel.grade(chunk) {
        let [relevance, reflected, critic] = graded.grades.map(|grade| score(grade, 2));
        rows.push(format!(
            "grades: relevance {relevance}, reflected {reflected}, critic {critic} → {}",
            score(graded.score, 2)
        ));
    }

    // Without stages the columns of the hit are complete.
    if lookup.funnel.is_empty() {
        return rows;
    }
    for mark in lookup.marks(chunk) {
        // The columns of the hit have its rank, the row above its grades, the row below its loss.
        let is_shown = matches!(mark, Mark::Hit { .. } | Mark::Graded { .. }) || mark.is_loss();
        if !is_shown {
            let stage = words::mark_stage(&mark);
            rows.push(format!("{stage}: {}", words::mark(&mark, chunk, lookup)));
        }
    }
    rows
}

/// Returns `keywords Tam Reeve birthplace  cosine .67`, or `translated Where was Tam born?`.
pub(super) fn rewriting_row(
    scene: &Scene<'_>,
    rewritten: &Rewritten,
    cells: usize,
) -> Line<'static> {
    let similarity = rewritten.similarity.map_or_else(String::new, |cosine| {
        format!("  cosine {}", score(cosine, 2))
    });
    let used = if rewritten.used { "" } else { "  ✗ not used" };
    // a translation has no words in common with the question, and is not compared with it
    let is_translated = rewritten.used && rewritten.similarity.is_none();
    let label = if is_translated {
        " translated "
    } else {
        " keywords "
    };

    let width = text::width(&similarity) + text::width(used) + text::width(label) + 2;
    let room = cells.saturating_sub(width);
    Line::from(vec![
        scene.span(Tone::Quiet, label),
        scene.span(Tone::Text, text::clip(&rewritten.text, room)),
        scene.span(Tone::Quiet, similarity),
        scene.span(Tone::Warning, used),
    ])
}
