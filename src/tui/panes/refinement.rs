use ratatui::text::{Line, Span};

use crate::config::UnderstandingKind;
use crate::event::{
    AddedChunk, ChunkClass, ContextOrigin, RefinementEnd, Understanding, Unmeasured, VariantFault,
    VariedChunk,
};
use crate::tui::keys::Action;
use crate::tui::pane::Pane;
use crate::tui::state::{Change, Round, Run};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Passage, Request, Scene, View};
use crate::tui::viewport::{Content, Item, Scroll};

use super::retrieval::short;
use super::{answer, role_off};

/// Cells before the place of a chunk: selection, then its label or what became of it.
const GUTTER: usize = 8;
/// Cells of the class of a chunk, or of why it came in.
const CLASS: usize = 13;

/// How the context was repaired, round by round.
pub struct Refinement;

impl View for Refinement {
    fn title(&self, _scene: &Scene<'_>) -> String {
        Pane::Refinement.title().to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn note(&self, scene: &Scene<'_>) -> String {
        let rounds = scene.settled_run().map(|run| &run.refinement.rounds);
        let entropies: Vec<String> = rounds
            .into_iter()
            .flatten()
            .filter_map(|round| round.measured.as_ref().ok())
            .map(|measured| format!("{:.2}", measured.dse))
            .collect();
        if entropies.is_empty() {
            return String::new();
        }
        format!("DSE {}", entropies.join(" → "))
    }

    fn copied(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        copied(scene, scroll)
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        if action != Action::OpenSource {
            return None;
        }
        let chunk = scroll.selected.filter(|item| item.part > 0);
        let passage = match chunk {
            Some(item) => {
                let run = scene.run?;
                let chunk = run.refinement.chunk(item.row, item.part)?;
                Passage::of_hit(run.hit(chunk)?)
            }
            None => answer::cited(scene)?,
        };
        Some(Request::OpenSource(passage))
    }
}

/// The rephrasing of a selected chunk where it has one, else its text; the answers of a selected round.
fn copied(scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
    let run = scene.run?;
    let item = scroll.selected?;
    let round = run.refinement.rounds.get(item.row)?;
    let Some(at) = item.part.checked_sub(1) else {
        let answers = &round.measured.as_ref().ok()?.replies;
        return Some(Copied::new("the answers", answers.join("\n")));
    };

    let rephrasing = round
        .chunks
        .get(at)
        .and_then(|chunk| chunk.rephrasing.clone());
    if let Some(rephrasing) = rephrasing {
        return Some(Copied::new("the rephrasing", rephrasing));
    }
    let chunk = run.refinement.chunk(item.row, item.part)?;
    Some(Copied::new("the chunk", chunk_text(run, chunk)))
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    let Some(run) = scene.run.filter(|run| !run.refinement.rounds.is_empty()) else {
        nothing_measured(scene, cells, &mut content);
        return content;
    };
    for (row, round) in run.refinement.rounds.iter().enumerate() {
        if matches!(&round.measured, Ok(understanding) if understanding.origin == ContextOrigin::Recut)
        {
            recut_row(scene, run, cells, &mut content);
        }
        round_rows(scene, (run, row, round), cells, &mut content);
    }
    end_rows(scene, run, cells, &mut content);
    if scene.ui.scroll(Pane::Refinement).selected.is_none()
        && let Some((round, understanding)) = telling_round(run)
    {
        content.gap();
        content.line(scene.span(Tone::Quiet, format!(" answers of round {}", round.round)));
        for line in matrix(scene, (round, understanding), cells, false) {
            content.line(line);
        }
    }
    content
}

fn nothing_measured(scene: &Scene<'_>, cells: usize, content: &mut Content) {
    content.gap();
    if let Some(run) = scene.run {
        let measures = run.settings.understanding.kind != UnderstandingKind::Off;
        let says = match scene.ui.is_in_progress(run) && measures {
            true => "Measuring: each chunk is said another way, and the question asked again …"
                .to_owned(),
            false => role_off::words(scene, run, "refiner", "No rounds"),
        };
        content.paragraph(&says, scene.style(Tone::Quiet), "   ", cells);
        return;
    }
    let what = "A refiner repairs the context in rounds: whether the answer changes with the wording of a chunk, what was dropped and added \
                then, and which context was understood best.";
    content.paragraph(what, scene.style(Tone::Quiet), "   ", cells);
}

/// The best round; while refinement goes on, the last one.
fn telling_round(run: &Run) -> Option<(&Round, &Understanding)> {
    let measured = |round: &'_ Round| round.measured.is_ok();
    let best = run.refinement.finished.map(|(best, _)| best);
    let rounds = &run.refinement.rounds;
    let round = rounds
        .iter()
        .rfind(|round| measured(round) && Some(round.round) == best)
        .or_else(|| rounds.iter().rfind(|round| measured(round)))?;
    Some((round, round.measured.as_ref().ok()?))
}

fn recut_row(scene: &Scene<'_>, run: &Run, cells: usize, content: &mut Content) {
    let cut = run
        .refinement
        .recut
        .iter()
        .filter(|document| document.fault.is_none());
    let (documents, chunks, sentences) =
        cut.fold((0, 0, 0), |(documents, chunks, sentences), document| {
            (
                documents + 1,
                chunks + u64::from(document.chunks),
                sentences + u64::from(document.sentences),
            )
        });
    let (documents, chunks) = (
        text::counted(documents, "document"),
        text::counted(chunks, "chunk"),
    );
    let says = format!(
        " ✂ {documents} cut again by meaning: {} in {chunks}",
        text::counted(sentences, "sentence")
    );
    content.line(scene.span(Tone::Quiet, text::clip(&says, cells).into_owned()));
    for (document, fault) in run
        .refinement
        .recut
        .iter()
        .filter_map(|cut| Some((&cut.document, cut.fault.as_ref()?)))
    {
        content.paragraph(
            &format!("{document}: {fault}"),
            scene.style(Tone::Doubt),
            "   ",
            cells,
        );
    }
}

fn round_rows(
    scene: &Scene<'_>,
    (run, row, round): (&Run, usize, &Round),
    cells: usize,
    content: &mut Content,
) {
    let head = Item { row, part: 0 };
    let selected = scene.ui.scroll(Pane::Refinement).selected;
    match &round.measured {
        Ok(understanding) => {
            content.item(head, head_row(scene, (run, round, understanding), cells))
        }
        Err(reason) => {
            let says = format!(
                "round {}  not measured: {}",
                round.round,
                unmeasured(*reason)
            );
            for range in text::wrap(&says, cells.saturating_sub(2)) {
                content.item(head, scene.span(Tone::Doubt, format!(" {}", &says[range])));
            }
        }
    }
    if let Some((sufficient, probability)) = round.evaluated {
        content.item(head, evaluated_row(scene, sufficient, probability, cells));
    }
    if let Some(understanding) = round
        .measured
        .as_ref()
        .ok()
        .filter(|_| selected == Some(head))
    {
        for line in matrix(scene, (round, understanding), cells, true) {
            content.item(head, line);
        }
        for line in judgements(scene, understanding, cells) {
            content.item(head, line);
        }
        if let Some(change) = &round.change {
            difference(scene, (run, round, change), (head, cells), content);
        }
    }
    for (at, chunk) in round.chunks.iter().enumerate() {
        let item = Item { row, part: at + 1 };
        content.item(item, chunk_row(scene, (run, round, chunk), cells));
        if selected == Some(item) {
            chunk_details(scene, (run, round, chunk, item), cells, content);
        }
    }
    let added = round.change.iter().flat_map(|change| &change.added);
    for (at, added) in added.enumerate() {
        let item = Item {
            row,
            part: round.chunks.len() + at + 1,
        };
        content.item(item, added_row(scene, (run, round, added), cells));
        if selected == Some(item) {
            paragraph(
                scene,
                (Tone::Text, "", chunk_text(run, added.chunk)),
                (item, cells),
                content,
            );
        }
    }
}

/// What the next round's context is made of: what stays, what goes, what comes.
fn difference(
    scene: &Scene<'_>,
    (run, round, change): (&Run, &Round, &Change),
    (item, cells): (Item, usize),
    content: &mut Content,
) {
    content.item(
        item,
        scene.span(Tone::Quiet, "  what becomes of the context"),
    );
    for chunk in round.chunks.iter().map(|chunk| chunk.chunk) {
        let (sign, tone) = if change.dropped.contains(&chunk) {
            ("- ", Tone::Dropped)
        } else {
            ("  ", Tone::Text)
        };
        paragraph(
            scene,
            (tone, sign, chunk_text(run, chunk)),
            (item, cells),
            content,
        );
    }
    for added in &change.added {
        paragraph(
            scene,
            (Tone::Good, "+ ", chunk_text(run, added.chunk)),
            (item, cells),
            content,
        );
    }
}

fn head_row(
    scene: &Scene<'_>,
    (run, round, measured): (&Run, &Round, &Understanding),
    cells: usize,
) -> Line<'static> {
    let best = run
        .refinement
        .finished
        .is_some_and(|(best, _)| best == round.round);
    let (sign, tone, says) = match measured.certain {
        true => ('≤', Tone::Good, "✓ certain"),
        false => ('>', Tone::Doubt, "? uncertain"),
    };
    let mut line = Line::from(scene.span(Tone::Strong, format!(" round {}  ", round.round)));
    if cells >= 60 {
        for span in scene.bar(
            measured.dse / (measured.replies.len().max(2) as f32).ln(),
            10,
        ) {
            line.push_span(span);
        }
        line.push_span(Span::raw("  "));
    }
    line.push_span(scene.span(
        Tone::Text,
        format!("DSE {:.2} {sign} {:.2}  ", measured.dse, measured.threshold),
    ));
    line.push_span(scene.span(tone, says));
    if best {
        line.push_span(scene.span(Tone::Good, "  ★ best"));
    }
    if line.width() + 12 <= cells {
        line.push_span(scene.span(Tone::Quiet, format!("  {}", origin(measured.origin))));
    }
    line
}

fn origin(origin: ContextOrigin) -> &'static str {
    match origin {
        ContextOrigin::Retrieved => "as found",
        ContextOrigin::Recut => "cut again",
        ContextOrigin::Refined => "repaired",
    }
}

fn evaluated_row(
    scene: &Scene<'_>,
    sufficient: bool,
    probability: Option<f32>,
    cells: usize,
) -> Line<'static> {
    let (tone, says) = match (sufficient, probability) {
        (true, _) => (Tone::Good, "✓ the model calls it sufficient"),
        (false, Some(_)) => (Tone::Doubt, "✗ the model calls it not sufficient"),
        (false, None) => (Tone::Doubt, "✗ too long to ask whether it is sufficient"),
    };
    let yes = probability.map_or(String::new(), |yes| format!("  yes {yes:.2}"));
    Line::from(vec![
        Span::raw("   "),
        scene.span(
            tone,
            text::clip(says, cells.saturating_sub(13)).into_owned(),
        ),
        scene.span(Tone::Quiet, yes),
    ])
}

fn chunk_row(
    scene: &Scene<'_>,
    (run, round, chunk): (&Run, &Round, &VariedChunk),
    cells: usize,
) -> Line<'static> {
    let dropped = round
        .change
        .as_ref()
        .is_some_and(|change| change.dropped.contains(&chunk.chunk));
    let (tone, class) = class(round, chunk);
    let sign = if dropped {
        scene.span(Tone::Doubt, "-")
    } else {
        Span::raw(" ")
    };
    let room = cells.saturating_sub(GUTTER + CLASS + 1);
    let place_tone = if dropped { Tone::Dropped } else { Tone::Text };
    let label = format!("[{}]", chunk.label);
    Line::from(vec![
        Span::raw(" "),
        sign,
        Span::raw(" "),
        scene.span(Tone::Citation, text::left(&label, GUTTER - 3)),
        scene.span(
            place_tone,
            text::left(
                &text::clip_start(&chunk_place(run, chunk.chunk), room),
                room,
            ),
        ),
        Span::raw(" "),
        scene.span(tone, class),
    ])
}

/// What is known of a chunk in this round: its class, else whether its wording mattered.
fn class(round: &Round, chunk: &VariedChunk) -> (Tone, &'static str) {
    let class = round
        .classes
        .iter()
        .find(|known| known.chunk == chunk.chunk)
        .map(|known| known.class);
    match (class, chunk.certain) {
        (Some(ChunkClass::Certain), _) | (None, Some(true)) => (Tone::Good, "certain"),
        (Some(ChunkClass::Necessary), _) => (Tone::Strong, "necessary"),
        (Some(ChunkClass::Unnecessary), _) => (Tone::Dropped, "unnecessary"),
        (Some(ChunkClass::Unmeasured), _) | (None, None) => (Tone::Quiet, "no variant"),
        (None, Some(false)) => (Tone::Doubt, "uncertain"),
    }
}

fn added_row(
    scene: &Scene<'_>,
    (run, round, added): (&Run, &Round, &AddedChunk),
    cells: usize,
) -> Line<'static> {
    let label = round
        .chunks
        .iter()
        .find(|chunk| chunk.chunk == added.beside)
        .map_or(0, |chunk| chunk.label);
    let why = format!("like [{label}] {}", short(added.cosine, 2));
    let room = cells.saturating_sub(GUTTER + CLASS + 1);
    Line::from(vec![
        Span::raw(" "),
        scene.span(Tone::Good, text::left("+ new", GUTTER - 1)),
        scene.span(
            Tone::Text,
            text::left(
                &text::clip_start(&chunk_place(run, added.chunk), room),
                room,
            ),
        ),
        Span::raw(" "),
        scene.span(Tone::Quiet, why),
    ])
}

/// Below a selected chunk: its text, the same said another way, the answer to that, and the answer without it.
fn chunk_details(
    scene: &Scene<'_>,
    (run, round, chunk, item): (&Run, &Round, &VariedChunk, Item),
    cells: usize,
    content: &mut Content,
) {
    let replies = round
        .measured
        .as_ref()
        .map_or(&[][..], |measured| &measured.replies);
    let mut put = |tone, name: &str, words: &str| {
        paragraph(scene, (tone, name, words), (item, cells), content)
    };
    put(Tone::Text, "", chunk_text(run, chunk.chunk));
    match (&chunk.rephrasing, chunk.fault) {
        (Some(rephrasing), _) => put(Tone::Text, "said another way  ", rephrasing),
        (None, Some(fault)) => put(
            Tone::Doubt,
            "",
            &format!("{} (tried {} times)", faulty(fault), chunk.attempts),
        ),
        (None, None) => {}
    }
    if let Some([there, back]) = chunk.entailed {
        put(
            Tone::Quiet,
            "",
            &format!("entailed by the chunk {there:.2}, the chunk by it {back:.2}"),
        );
    }
    let reply = chunk.reply.and_then(|reply| replies.get(reply as usize));
    if let Some(reply) = reply {
        let tone = if chunk.certain == Some(true) {
            Tone::Good
        } else {
            Tone::Doubt
        };
        put(tone, "answer then  ", said(reply));
        put(
            Tone::Quiet,
            "answer as it is  ",
            replies.first().map_or("", |reply| said(reply)),
        );
    }
    if let Some(known) = round
        .classes
        .iter()
        .find(|known| known.chunk == chunk.chunk)
        && let Some(without) = &known.without
    {
        let agreement = known.agreement.unwrap_or_default();
        put(Tone::Text, "answer without it  ", said(without));
        put(
            Tone::Quiet,
            "",
            &format!("the same as with it: {agreement:.1} of 1"),
        );
    }
}

fn said(reply: &str) -> &str {
    if reply.trim().is_empty() {
        "(nothing)"
    } else {
        reply.trim()
    }
}

/// Words under a row, behind a quiet name.
fn paragraph(
    scene: &Scene<'_>,
    (tone, name, words): (Tone, &str, &str),
    (item, cells): (Item, usize),
    content: &mut Content,
) {
    let indent = " ".repeat(GUTTER);
    let whole = format!("{name}{}", words.trim());
    for range in text::wrap(&whole, cells.saturating_sub(GUTTER + 1)) {
        let split = name.len().clamp(range.start, range.end);
        content.item(
            item,
            Line::from(vec![
                Span::raw(indent.clone()),
                scene.span(Tone::Quiet, whole[range.start..split].to_owned()),
                scene.span(tone, whole[split..range.end].to_owned()),
            ]),
        );
    }
}

/// W as a heat map, each row with its answer; `whole` answers take as many rows as they need.
fn matrix(
    scene: &Scene<'_>,
    (round, measured): (&Round, &Understanding),
    cells: usize,
    whole: bool,
) -> Vec<Line<'static>> {
    let name = |reply: usize| {
        let of = round
            .chunks
            .iter()
            .find(|chunk| chunk.reply == u32::try_from(reply).ok());
        of.map_or_else(|| "as is".to_owned(), |chunk| format!("[{}]", chunk.label))
    };
    let map = measured.replies.len() * 2;
    let before = GUTTER + map + 1;
    let mut lines = Vec::new();
    for (at, reply) in measured.replies.iter().enumerate() {
        let links = measured
            .matrix
            .get(at)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let first = vec![
            Span::raw("  "),
            scene.span(Tone::Quiet, text::left(&name(at), GUTTER - 2)),
            scene.span(
                Tone::Bar,
                links.iter().map(|link| heat(*link)).collect::<String>(),
            ),
            Span::raw(" "),
        ];
        let room = cells.saturating_sub(before + 1).max(8);
        let tone = if at == 0 { Tone::Strong } else { Tone::Text };
        let reply = said(reply);
        let rows: Vec<String> = match whole {
            true => text::wrap(reply, room)
                .into_iter()
                .map(|range| reply[range].to_owned())
                .collect(),
            false => vec![text::clip(reply, room).into_owned()],
        };
        let mut first = Some(first);
        for row in rows {
            let mut spans = first
                .take()
                .unwrap_or_else(|| vec![Span::raw(" ".repeat(before))]);
            spans.push(scene.span(tone, row));
            lines.push(Line::from(spans));
        }
    }
    let key = "██ the same  ▒▒ one entails the other  ·· neither";
    lines.push(Line::from(scene.span(
        Tone::Quiet,
        format!("  {}", text::clip(key, cells.saturating_sub(3))),
    )));
    lines
}

fn heat(link: f32) -> &'static str {
    match link {
        link if link >= 1.0 => "██",
        link if link > 0.0 => "▒▒",
        _ => "· ",
    }
}

/// What the judge said of each pair of distinct answers.
fn judgements(scene: &Scene<'_>, measured: &Understanding, cells: usize) -> Vec<Line<'static>> {
    let name = |reply: u32| {
        measured
            .replies
            .get(reply as usize)
            .map_or("", |reply| said(reply))
            .to_owned()
    };
    measured
        .judgements
        .iter()
        .map(|judged| {
            let numbers = format!(
                "  entails {:.2} neutral {:.2} contradicts {:.2}",
                judged.entailment, judged.neutral, judged.contradiction
            );
            let room = cells.saturating_sub(text::width(&numbers) + 7) / 2;
            let (a, b) = (name(judged.a), name(judged.b));
            let pair = format!("  {} → {}", text::clip(&a, room), text::clip(&b, room));
            Line::from(vec![
                scene.span(Tone::Text, pair),
                scene.span(Tone::Quiet, numbers),
            ])
        })
        .collect()
}

fn end_rows(scene: &Scene<'_>, run: &Run, cells: usize, content: &mut Content) {
    let measured = |round: &Round| {
        round
            .measured
            .as_ref()
            .is_ok_and(|measured| !measured.certain)
    };
    let says = match run.refinement.finished {
        Some((best, end)) => format!("The answer is written from round {best}: {}.", ended(end)),
        None if scene.ui.is_in_progress(run) => return,
        None if run.refinement.rounds.last().is_some_and(measured) => {
            role_off::words(scene, run, "refiner", "Not repaired")
        }
        None => return,
    };
    content.gap();
    content.paragraph(&says, scene.style(Tone::Quiet), " ", cells);
}

fn ended(end: RefinementEnd) -> &'static str {
    match end {
        RefinementEnd::Sufficient => "it is good enough",
        RefinementEnd::Rounds => "the best of as many rounds as the settings allow",
        RefinementEnd::Unchanged => "nothing was left to drop or to add",
        RefinementEnd::Unmeasured => "the next context could not be measured",
    }
}

fn unmeasured(reason: Unmeasured) -> &'static str {
    match reason {
        Unmeasured::NoChunk => "there is no chunk in the context",
        Unmeasured::NoVariant => {
            "no chunk could be said another way (each below says why). A larger model can, or set understanding.check_rephrasings to false"
        }
        Unmeasured::TooLong => {
            "it fits no prompt: raise generator.context_tokens, or set a smaller retriever.k"
        }
    }
}

fn faulty(fault: VariantFault) -> &'static str {
    match fault {
        VariantFault::Empty => "no variant: the model said nothing",
        VariantFault::SameWords => "no variant: the model said the same words",
        VariantFault::OtherMeaning => "no variant: the judge found another meaning in it",
        VariantFault::TooLong => "no variant: it fits no context",
    }
}

fn chunk_place(run: &Run, chunk: u64) -> String {
    run.hit(chunk).map_or_else(
        || "?".to_owned(),
        |hit| text::location(&hit.chunk.document, hit.chunk.lines),
    )
}

fn chunk_text(run: &Run, chunk: u64) -> &str {
    run.hit(chunk).map_or("", |hit| hit.chunk.text.as_str())
}
