use ratatui::text::Line;

use crate::event::{Event, Ranked, SoughtChunk, SoughtLookup};
use crate::tui::keys::Action;
use crate::tui::state::{Lookup, Run, State};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Reaction, Scene, View};
use crate::tui::viewport::{Content, Scroll};

/// The operation whose failure leaves nothing to show.
const SEEKING: &str = "seek";

/// Where the chunks went that hold a phrase: their rank in each list, and what each stage made of them.
pub struct Whereabouts;

impl View for Whereabouts {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Where a passage went".to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[(Action::Back, "close"), (Action::Search, "search")]
    }

    fn receive(&mut self, event: &Event, _state: &State) -> Reaction {
        match event {
            // the log says why
            Event::OperationFailed { operation, .. } if operation == SEEKING => Reaction::Close,
            _ => Reaction::Nothing,
        }
    }
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    let (Some(run), Some(sought)) = (scene.run, &scene.state.sought) else {
        content.gap();
        let says = "Looking for it …";
        content.paragraph(says, scene.style(Tone::Quiet), "   ", cells);
        return content;
    };
    let phrase = text::clip(&sought.phrase, cells.saturating_sub(6)).into_owned();
    content.line(scene.span(Tone::Strong, format!(" “{phrase}”")));
    for lookup in &sought.lookups {
        content.gap();
        lookup_rows(scene, run, lookup, cells, &mut content);
    }
    content
}

fn lookup_rows(
    scene: &Scene<'_>,
    run: &Run,
    sought: &SoughtLookup,
    cells: usize,
    content: &mut Content,
) {
    let step = if sought.step > 0 {
        format!(" s{} ", sought.step)
    } else {
        " query ".to_owned()
    };
    let query = text::clip(&text::one_line(&sought.query), cells.saturating_sub(12)).into_owned();
    content.line(Line::from(vec![
        scene.span(Tone::Quiet, step),
        scene.span(Tone::Text, format!("“{query}”")),
    ]));
    if sought.chunks.is_empty() {
        let says = "✗ No chunk holds these words: they are not indexed, or stand otherwise in the document.";
        content.paragraph(says, scene.style(Tone::Warning), "   ", cells);
    }
    let lookup = run
        .lookups
        .iter()
        .rfind(|lookup| lookup.step == sought.step);
    for chunk in &sought.chunks {
        chunk_rows(scene, lookup, (chunk, sought.pool), cells, content);
    }
}

fn chunk_rows(
    scene: &Scene<'_>,
    lookup: Option<&Lookup>,
    (sought, pool): (&SoughtChunk, u32),
    cells: usize,
    content: &mut Content,
) {
    let chunk = &sought.chunk;
    let part = if sought.whole {
        ""
    } else {
        "  a part of it; the next chunk holds the rest"
    };
    let at = format!("   {}{part}", text::location(&chunk.document, chunk.lines));
    content.line(scene.span(
        Tone::Strong,
        text::clip(&at, cells.saturating_sub(1)).into_owned(),
    ));
    let mut row = |name: &str, words: &str, lost: bool| {
        let tone = if lost { Tone::Warning } else { Tone::Text };
        let words = text::clip(words, cells.saturating_sub(20)).into_owned();
        content.line(Line::from(vec![
            scene.span(Tone::Quiet, format!("     {}", text::left(name, 12))),
            scene.span(tone, words),
        ]));
    };
    let listed = |ranked: Option<Ranked>, without: &str| match ranked {
        None => (format!("✗ {without}"), true),
        Some(Ranked { rank, score }) if rank > pool => (
            format!("✗ rank {rank}, score {score:.3}: the pool takes {pool}"),
            true,
        ),
        Some(Ranked { rank, score }) => (format!("rank {rank}, score {score:.3}"), false),
    };
    let (words, lost) = listed(sought.bm25, "no word of the query is in it");
    row("by words", &words, lost);
    let (words, lost) = listed(sought.vector, "no vector can be compared");
    row("by meaning", &words, lost);
    match sought.fused {
        Some(fused) => row(
            "fused",
            &format!("rank {}, score {:.3}", fused.rank, fused.score),
            false,
        ),
        None => row("fused", "✗ it is in neither pool", true),
    }
    for mark in lookup
        .map(|lookup| lookup.funnel.marks(chunk.id))
        .unwrap_or_default()
    {
        row("", &mark.to_string(), mark.is_loss());
    }
}
