//! Numbers, reasons and states of a run as text: each is worded here and nowhere else.

use crate::event::{
    AsAsked, ChunkText, Citation, CorpusCard, DropReason, Filtered, IndexPhase, IndexProgress,
    IndexReport, LeftOut, MemoryNeed, Metadata, ModelCard, NeighbouringSentences, Operation,
    Outcome, Part, Place, PlaceUnit, Prefixes, PullPhase, PullProgress, Stage, UncertaintyMeasure,
    Utility,
};

use super::text::one_line;
use super::{FollowUp, Lookup, Mark};

/// The sign of a chunk that went no further.
pub const LOST: &str = "✗";
/// A smaller share of joined sentences is no chunking by meaning.
const FEW_JOINED: f64 = 0.1;

/// Returns `9,118` for 9118.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns `1 file` or `2 files`.
#[must_use]
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// Returns a share in 0..=1 as `42 %`.
#[must_use]
pub fn percent(share: f32) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Returns `.713` for a score below 1, `8.10` for others.
#[must_use]
pub fn score(score: f32, digits: usize) -> String {
    let text = format!("{score:.digits$}");
    if score.abs() < 1.0 {
        text.replacen("0.", ".", 1)
    } else {
        text
    }
}

/// Returns two scores with at least this many digits, and with as many more as distinguish them.
fn distinguished(one: f32, other: f32, digits: usize) -> [String; 2] {
    /// The digits of a single-precision number.
    const ALL: usize = 9;
    let texts = |digits| [one, other].map(|value| score(value, digits));
    (digits..ALL)
        .map(texts)
        .find(|[one, other]| one != other)
        .unwrap_or_else(|| texts(digits))
}

/// Returns a duration as `840 ms`, `1.2 s`, `1 min 15 s` or `2 h 05 min`.
#[must_use]
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// Returns the remaining time, without fractions that jump.
#[must_use]
pub fn time_left(ms: u64) -> String {
    match ms.div_ceil(1_000) {
        seconds @ 0..60 => format!("{seconds} s left"),
        seconds @ 60..3_600 => format!("{} min {:02} s left", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min left", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Returns a size as `11.7 MB`: powers of ten, as file managers count.
#[must_use]
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// Returns where a model runs: the host of a server, `CPU`, or `CUDA0 32/32 18.4 GB` with the layers on that device and the memory that
/// they take.
#[must_use]
pub fn device(card: &ModelCard) -> String {
    if !card.server.is_empty() {
        return card.device.clone();
    }
    if card.gpu_layers == 0 {
        return "CPU".to_owned();
    }
    let layers = format!("{} {}/{}", card.device, card.gpu_layers, card.layers);
    match card.device_bytes {
        0 => layers,
        taken => format!("{layers} {}", bytes(taken)),
    }
}

/// Returns whether a model fits, with the numbers: `needs 3.7 GB (file 2.5 GB, KV cache 1.2 GB), 6.5 GB are free`.
#[must_use]
pub fn memory(need: MemoryNeed, free_bytes: u64) -> String {
    let cache = match need.cache_bytes {
        0 => String::new(),
        cache_bytes => format!(
            " (file {}, KV cache {})",
            bytes(need.file_bytes),
            bytes(cache_bytes)
        ),
    };
    format!(
        "needs {}{cache}, {} are free",
        bytes(need.bytes()),
        bytes(free_bytes)
    )
}

/// Returns how far a download is, as `1.2 of 2.5 GB, 12.3 MB/s, 2 min 05 s left  Qwen3-4B.gguf`.
#[must_use]
pub fn pull_progress(progress: &PullProgress) -> String {
    let mut parts = Vec::new();
    match progress.phase {
        PullPhase::Listing => return format!("asking for the files of {}", progress.reference),
        PullPhase::Waiting => parts.push("waiting for another download of this file".to_owned()),
        PullPhase::Checking => parts.push("checking what is here".to_owned()),
        PullPhase::Downloading => {}
    }

    let done = bytes(progress.done_bytes);
    let total = bytes(progress.total_bytes);
    parts.push(format!("{done} of {total}"));
    let rate = progress.rate_bytes_per_s;
    parts.extend(rate.map(|rate| format!("{}/s", bytes(rate as u64))));
    parts.extend(progress.left_ms.map(time_left));
    format!("{}  {}", parts.join(", "), progress.file)
}

/// Returns lines of a file as `12` or `12-14`.
#[must_use]
pub fn lines(first: u32, last: u32) -> String {
    if last > first {
        format!("{first}-{last}")
    } else {
        first.to_string()
    }
}

/// Returns a location in a document as `people/oakes.md:12-14`, or as `report.pdf p. 12` where the
/// file is not text.
#[must_use]
pub fn location(document: &str, [first, last]: [u32; 2], place: Option<&Place>) -> String {
    let document = one_line(document);
    match place {
        None => format!("{document}:{}", lines(first, last)),
        Some(place) => {
            let member = place.member.as_deref();
            let member = member.filter(|member| !is_whole_of(member, &document));
            let member = member.map_or_else(String::new, |member| format!("/{}", one_line(member)));
            format!("{document}{member}{}", within(place))
        }
    }
}

/// Returns whether a member is all that a document holds, as of a compressed file: `notes.txt` of `docs/notes.txt.gz`.
fn is_whole_of(member: &str, document: &str) -> bool {
    let unpacked = document.strip_suffix(".gz").unwrap_or_default();
    let name = unpacked.rsplit('/').next().unwrap_or_default();
    !name.is_empty() && name == member
}

/// Returns the location of a citation: that of its chunk, as everywhere, and in parentheses the cited part
/// where that is not all of it: `people/oakes.md:12-14 (line 13)`.
#[must_use]
pub fn citation_location(citation: &Citation) -> String {
    let part = citation.lines();
    let part_place = citation.place.as_ref();
    let lines = citation.chunk_lines.unwrap_or(part);
    let place = match citation.chunk_lines {
        Some(_) => citation.chunk_place.as_ref(),
        None => part_place,
    };

    let chunk = location(&citation.file, lines, place);
    let is_whole = match (place, part_place) {
        (Some(place), Some(part)) => within(place) == within(part),
        _ => lines == part,
    };
    if is_whole {
        chunk
    } else {
        format!("{chunk} ({})", part_words(part, part_place))
    }
}

/// Returns lines of a file in words: `line 13`, `lines 13-14`, `p. 12`.
fn part_words([first, last]: [u32; 2], place: Option<&Place>) -> String {
    let [first, last] = match place {
        None => [first, last],
        Some(place) if place.unit == PlaceUnit::Line => [place.first, place.last],
        Some(place) => return within(place).trim_start().to_owned(),
    };
    let noun = if last > first { "lines" } else { "line" };
    format!("{noun} {}", lines(first, last))
}

/// Returns what a corpus holds, as `140 files, 467 chunks`, of several folders with their number.
#[must_use]
pub fn corpus_size(corpus: &CorpusCard) -> String {
    let size = format!(
        "{}, {}",
        counted(corpus.documents, "file"),
        counted(corpus.chunks, "chunk")
    );
    match corpus.folders.len() {
        0 | 1 => size,
        folders => format!("{}, {size}", counted(folders as u64, "folder")),
    }
}

/// What a bundled generator is, on documents other than the demo's.
pub const PRACTICE: &str = "practice model: often wrong about your own documents";

/// Returns whether a generator answers about documents that it was not made for.
#[must_use]
pub fn is_for_practice(generator: &ModelCard, corpus: Option<&CorpusCard>) -> bool {
    generator.practice && corpus.is_none_or(|corpus| !corpus.demo)
}

/// Returns what a document says of itself, as `Tide tables, by R. Holm, 2024-01-31`; empty when it says
/// nothing.
#[must_use]
pub fn metadata(metadata: &Metadata) -> String {
    let author = metadata
        .author
        .as_ref()
        .map(|author| format!("by {author}"));
    let parts: Vec<String> = [metadata.title.clone(), author, metadata.date.clone()]
        .into_iter()
        .flatten()
        .collect();
    parts.join(", ")
}

/// Returns the documents that a search was limited to, as `reports/**: 12 of 140 documents`.
#[must_use]
pub fn filtered(filtered: &Filtered) -> String {
    let Filtered {
        filter,
        documents,
        of,
    } = filtered;
    format!(
        "{}: {} of {}",
        one_line(filter),
        count(*documents),
        counted(*of, "document")
    )
}

/// Returns a place inside a file: ` p. 12-13`, ` Hours!2-4`, `:7`.
fn within(place: &Place) -> String {
    let numbers = lines(place.first, place.last);
    let name = place.name.as_deref().map(one_line);
    let name = name.filter(|name| !name.is_empty());
    match (place.unit, name) {
        (PlaceUnit::Page, _) => format!(" p. {numbers}"),
        (PlaceUnit::Slide, _) => format!(" slide {numbers}"),
        (PlaceUnit::Row, Some(sheet)) => format!(" {sheet}!{numbers}"),
        (PlaceUnit::Row, None) => format!(" row {numbers}"),
        (PlaceUnit::Chapter, Some(title)) if place.first == place.last => format!(" “{title}”"),
        (PlaceUnit::Chapter, _) => format!(" chapter {numbers}"),
        (PlaceUnit::Message, _) => format!(" message {numbers}"),
        (PlaceUnit::Cell, _) => format!(" cell {numbers}"),
        (PlaceUnit::Line, _) => format!(":{numbers}"),
    }
}

/// Returns the caption of a place in the text of a document, where one begins: `p. 12`, the name of a
/// sheet or a member. `None` where the place before it has the same.
#[must_use]
pub fn place_caption(place: &Place, before: Option<&Place>) -> Option<String> {
    let caption = |place: &Place| {
        let member = place.member.as_deref().map(one_line).unwrap_or_default();
        let inside = match place.unit {
            PlaceUnit::Line => String::new(),
            PlaceUnit::Row => place.name.as_deref().map(one_line).unwrap_or_default(),
            PlaceUnit::Page
            | PlaceUnit::Slide
            | PlaceUnit::Chapter
            | PlaceUnit::Message
            | PlaceUnit::Cell => within(place),
        };
        format!("{member} {}", inside.trim()).trim().to_owned()
    };
    let words = caption(place);
    let is_new = before.is_none_or(|before| caption(before) != words);
    (is_new && !words.is_empty()).then_some(words)
}

/// Returns where a chunk is in its document: `lines 12-14`, `p. 12`.
#[must_use]
pub fn chunk_place(chunk: &ChunkText) -> String {
    match chunk.place(chunk.lines) {
        None => format!("lines {}", lines(chunk.lines[0], chunk.lines[1])),
        Some(place) => within(&place).trim_start_matches([' ', ':']).to_owned(),
    }
}

/// Returns the location of a chunk.
#[must_use]
pub fn chunk_location(chunk: &ChunkText) -> String {
    location(
        &chunk.document,
        chunk.lines,
        chunk.place(chunk.lines).as_ref(),
    )
}

/// Returns what an update of the index changed, as `2 documents changed, 1 added: notes.md, …`; `None`
/// when nothing did.
#[must_use]
pub fn index_change(report: &IndexReport) -> Option<String> {
    let kinds = [
        (report.changed, "changed"),
        (report.added, "added"),
        (report.removed, "removed"),
    ];
    let mut parts: Vec<String> = Vec::new();
    for (number, done) in kinds.into_iter().filter(|(number, _)| *number > 0) {
        let number = if parts.is_empty() {
            counted(number, "document")
        } else {
            count(number)
        };
        parts.push(format!("{number} {done}"));
    }
    if parts.is_empty() {
        return None;
    }

    let named: Vec<String> = report
        .updated
        .iter()
        .take(3)
        .map(|path| one_line(path))
        .collect();
    let more = if report.updated.len() > named.len() {
        ", …"
    } else {
        ""
    };
    let names = match named.as_slice() {
        [] => String::new(),
        names => format!(": {}", names.join(", ")),
    };
    Some(format!("{}{names}{more}", parts.join(", ")))
}

/// Returns that a folder is ready for questions.
#[must_use]
pub fn index_ready(report: &IndexReport) -> String {
    let files = counted(report.corpus.documents, "file");
    let chunks = counted(report.corpus.chunks, "chunk");
    let skipped = match report.skipped.len() as u64 {
        0 => String::new(),
        skipped => format!(", {} skipped", count(skipped)),
    };
    format!("index ready: {files}, {chunks}{skipped}")
}

/// Returns the activity of an indexing phase.
#[must_use]
pub fn index_phase(phase: IndexPhase) -> &'static str {
    match phase {
        IndexPhase::Scanning => "scanning",
        IndexPhase::Reading => "reading",
        IndexPhase::Embedding => "embedding",
        IndexPhase::Writing => "writing",
        IndexPhase::Linking => "linking",
    }
}

/// Returns how much of a phase is done: `1,203 of 9,118 chunks`.
#[must_use]
pub fn index_done(progress: &IndexProgress) -> String {
    let unit = match progress.phase {
        IndexPhase::Scanning | IndexPhase::Reading => "file",
        IndexPhase::Embedding | IndexPhase::Writing | IndexPhase::Linking => "chunk",
    };
    match progress.total {
        Some(total) => format!("{} of {}", count(progress.done), counted(total, unit)),
        None => counted(progress.done, unit),
    }
}

/// Returns a rate as `3.4/s` or `1,203/s`.
#[must_use]
pub fn rate(per_s: f32) -> String {
    if per_s < 10.0 {
        format!("{per_s:.1}/s")
    } else {
        format!("{}/s", count(per_s as u64))
    }
}

/// Returns what an embedder reads in front of each text, as `, queries begin with "query: "`; empty for
/// nothing.
#[must_use]
pub fn prefixes(prefixes: &Prefixes) -> String {
    let texts = [
        ("queries", &prefixes.query),
        ("documents", &prefixes.document),
    ];
    texts
        .into_iter()
        .filter(|(_, prefix)| !prefix.is_empty())
        .map(|(what, prefix)| format!(", {what} begin with {prefix:?}"))
        .collect()
}

/// Returns what a model call is for, with the number of its texts that are begun, and of all.
#[must_use]
pub fn call(purpose: &str, begun: Option<(u32, u32)>) -> String {
    let work = match purpose {
        "answer" => "reading the prompt",
        "short answer" => "looking for the short answer",
        "rewrite follow-up" => "rewriting the follow-up question",
        "rewrite question" => "rewriting the question",
        "sampled sentences" => "sampling sentence",
        "entailment" => "comparing answers",
        "understanding" => "answering with rephrased chunk",
        "relevant" => "judging relevance",
        "rerank" => "reranking",
        "grade" | "reflect" | "critic" => "grading chunks",
        "rephrase" => "rephrasing chunk",
        "utility samples" => "sample",
        "utility" => "answer",
        other => other,
    };
    match begun {
        Some((begun, total)) => format!("{work} {begun} of {total}"),
        None => work.to_owned(),
    }
}

/// Returns what a follow-up question was understood as, or why it was used as it was asked; `None` where
/// there was nothing to understand.
#[must_use]
pub fn follow_up(follow_up: &FollowUp) -> Option<String> {
    let reason = match &follow_up.as_asked {
        None => return Some(format!("understood as: {}", follow_up.text)),
        Some(AsAsked::StandsAlone) => return None,
        Some(AsAsked::Untrained) => {
            "the bundled generator was not trained to rewrite questions".to_owned()
        }
        Some(AsAsked::Empty) => "the model wrote nothing".to_owned(),
        Some(AsAsked::NotAQuestion) => "the rewriting is not a single question".to_owned(),
        Some(AsAsked::WordsLost { words }) => format!("the rewriting lost {}", words.join(", ")),
        Some(AsAsked::NamesInvented { words }) => {
            format!("the rewriting names {}, which nobody did", words.join(", "))
        }
        Some(AsAsked::NothingAdded) => "the rewriting has nothing from the thread".to_owned(),
        Some(AsAsked::TooLong) => "the thread does not fit into the context".to_owned(),
    };
    Some(format!("used as asked: {reason}"))
}

/// Returns the name of an uncertainty measure.
#[must_use]
pub fn measure(measure: UncertaintyMeasure) -> &'static str {
    match measure {
        UncertaintyMeasure::TokenEntropy => "token entropy",
        UncertaintyMeasure::SemanticEntropy => "semantic entropy",
        UncertaintyMeasure::Probe => "probe",
        UncertaintyMeasure::TokenProbability => "least likely",
        UncertaintyMeasure::AttendedEntropy => "attended entropy",
    }
}

/// Returns what chunks by meaning made of the sentences of a corpus, and what to do where they hardly
/// joined any.
#[must_use]
pub fn joined(neighbours: NeighbouringSentences) -> String {
    let share = neighbours.joined as f64 / neighbours.pairs.max(1) as f64;
    let advice = if share < FEW_JOINED {
        ": lower chunker.min_similarity, or set a percentile such as p50"
    } else {
        ""
    };
    format!(
        "{:.0} % of neighbouring sentences joined{advice}",
        share * 100.0
    )
}

/// Returns which parts of a run were left out, and why.
#[must_use]
pub fn left_out(parts: &[Part], reason: LeftOut) -> String {
    let name = |part: &Part| match part {
        Part::Rewriter => "rewriter",
        Part::Linker => "linker",
        Part::Filter => "filter",
        Part::Reranker => "reranker",
        Part::Understanding => "understanding",
        Part::Refiner => "refiner",
        Part::Utility => "utility",
    };
    let names: Vec<&str> = parts.iter().map(name).collect();
    let names = names.join(", ");
    match reason {
        LeftOut::NotNeeded => format!("left out: {names}, the sentence is certain without"),
        LeftOut::NoTime { needed_ms, left_ms } => format!(
            "left out: {names}, about {} needed, {} of the budget left",
            duration(needed_ms),
            duration(left_ms)
        ),
    }
}

/// Returns whether an uncertainty measure is in nats; the others are in 0..=1.
#[must_use]
pub fn is_in_nats(measure: UncertaintyMeasure) -> bool {
    match measure {
        UncertaintyMeasure::TokenEntropy
        | UncertaintyMeasure::SemanticEntropy
        | UncertaintyMeasure::AttendedEntropy => true,
        UncertaintyMeasure::Probe | UncertaintyMeasure::TokenProbability => false,
    }
}

/// Returns what an operation does, in the imperative.
#[must_use]
pub fn operation(operation: Operation) -> &'static str {
    match operation {
        Operation::Engine => "engine",
        Operation::LoadModels => "load models",
        Operation::Ask => "ask",
        Operation::Open => "open",
        Operation::Index => "index",
        Operation::Link => "link",
        Operation::OpenSource => "open source",
        Operation::Search => "search",
        Operation::Embed => "embed the texts",
        Operation::ListDocuments => "list the documents",
        Operation::MeasureUtility => "measure the utility",
        Operation::TracePassage => "trace a passage",
        Operation::ListModels => "list the models",
        Operation::PullModel => "download",
        Operation::ListSessions => "list the recorded runs",
        Operation::RenameThread => "rename the thread",
        Operation::OpenRun => "open the recorded run",
        Operation::Unknown => "unknown operation",
    }
}

/// Returns how a run ended, or that it has not.
#[must_use]
pub fn outcome(outcome: Option<&Outcome>) -> &'static str {
    match outcome {
        None => "in progress",
        Some(Outcome::Completed) => "completed",
        Some(Outcome::Stopped) => "stopped",
        Some(Outcome::LimitReached) => "stopped at a limit",
        Some(Outcome::Failed(_)) => "failed",
    }
}

/// Returns the answer that a utility compares with.
#[must_use]
pub fn reference(utility: &Utility) -> &'static str {
    if utility.own_answer {
        "the model's own answer"
    } else {
        "the reference answer"
    }
}

/// Returns why a chunk is not in the context, short enough for a column.
#[must_use]
pub fn drop_reason(reason: &DropReason, lookup: &Lookup) -> String {
    match reason {
        DropReason::BelowK { k } => format!("not in top {k}"),
        DropReason::ContextFull { .. } => "context full".to_owned(),
        DropReason::Rechunked => "re-chunked".to_owned(),
        DropReason::Unnecessary { round } => format!("pruned, round {round}"),
        DropReason::Redundant {
            duplicate_of,
            similarity,
        } => match lookup.label(*duplicate_of) {
            Some(label) => format!("same as [{label}]"),
            None => format!("duplicate {}", score(*similarity, 2)),
        },
        DropReason::BelowThreshold {
            score: own,
            threshold,
        } => {
            let [own, threshold] = distinguished(*own, *threshold, 2);
            format!("grade {own} < {threshold}")
        }
        DropReason::Irrelevant { probability, .. } => {
            format!("irrelevant {}", score(*probability, 2))
        }
        DropReason::Absorbed { .. } => "merged".to_owned(),
        DropReason::Excluded => "excluded".to_owned(),
    }
}

/// Returns why a chunk is not in the context, with the figures that decided it.
#[must_use]
pub fn drop_reason_in_full(reason: &DropReason, chunk: u64, lookup: &Lookup) -> String {
    match reason {
        DropReason::BelowK { k } => match lookup.hit(chunk).filter(|_| lookup.funnel.is_empty()) {
            Some(hit) => format!(
                "ranked {}, and the context takes the top {k}",
                hit.fused.rank
            ),
            None => format!("not in the top {k} that the context takes"),
        },
        DropReason::ContextFull {
            needed_tokens,
            available_tokens,
        } => format!(
            "does not fit: the prompt would have {needed_tokens} tokens, and {available_tokens} are available"
        ),
        DropReason::Rechunked => {
            "its document was re-chunked for this question; new chunks replace it".to_owned()
        }
        DropReason::Unnecessary { round } => format!(
            "pruned after round {round}: the model did not understand it, and the answer is the same without it"
        ),
        DropReason::Redundant {
            duplicate_of,
            similarity,
        } => format!(
            "near-duplicate of {}, cosine {}",
            name_of(*duplicate_of, lookup),
            score(*similarity, 3)
        ),
        DropReason::BelowThreshold {
            score: own,
            threshold,
        } => {
            let [own, threshold] = distinguished(*own, *threshold, 3);
            format!("score {own} is below the threshold {threshold}")
        }
        DropReason::Irrelevant {
            probability,
            min_probability,
        } => format!(
            "judged relevant with probability {}, below the minimum {}",
            score(*probability, 3),
            score(*min_probability, 3)
        ),
        DropReason::Absorbed { by } => format!("its chunks are part of {}", name_of(*by, lookup)),
        DropReason::Excluded => "you excluded it (retriever.excluded)".to_owned(),
    }
}

/// A text of the same lookup, by its label, else its location.
fn name_of(text: u64, lookup: &Lookup) -> String {
    if let Some(label) = lookup.label(text) {
        return format!("[{label}]");
    }
    lookup.hit(text).map_or_else(
        || "another text".to_owned(),
        |hit| chunk_location(&hit.chunk),
    )
}

/// Returns what happened to a chunk at one stage.
#[must_use]
pub fn mark(mark: &Mark, chunk: u64, lookup: &Lookup) -> String {
    match mark {
        Mark::Hit { rank, of } => format!("rank {rank} of {}", counted((*of).into(), "hit")),
        Mark::NoHit { of } => format!("not among the {}", counted((*of).into(), "hit")),
        Mark::Joined { texts } => format!("part of {}", counted((*texts).into(), "joined text")),
        Mark::Graded { score, threshold } => {
            format!("score {score:.3}, threshold {threshold:.3}")
        }
        Mark::Judged { probability } => format!("relevant with probability {probability:.3}"),
        Mark::Passed { rank, of, .. } => format!("kept, rank {rank} of {of}"),
        Mark::Reranked { score, rank, of } => format!("score {score:.3}, rank {rank} of {of}"),
        Mark::Fell { reason, .. } => drop_reason_in_full(reason, chunk, lookup),
        Mark::Used { label } => format!("used as [{label}]"),
    }
}

/// Returns the name of the stage that left a mark.
#[must_use]
pub fn mark_stage(mark: &Mark) -> &'static str {
    match mark {
        Mark::Hit { .. } | Mark::NoHit { .. } => "retained",
        Mark::Joined { .. } => stage(Stage::Linked),
        Mark::Graded { .. } => stage(Stage::Graded),
        Mark::Judged { .. } => stage(Stage::Judged),
        Mark::Passed { stage: at, .. }
        | Mark::Fell {
            stage: Some(at), ..
        } => stage(*at),
        Mark::Reranked { .. } => "reranking",
        Mark::Used { .. } | Mark::Fell { stage: None, .. } => "context",
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Linked => "linking",
        Stage::Redundant => "redundancy",
        Stage::Graded => "grading",
        Stage::Judged => "relevance",
        Stage::Merged => "merging",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ModelRole;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "file"), "1 file");
        assert_eq!(duration(840), "840 ms");
        assert_eq!(duration(75_000), "1 min 15 s");
        assert_eq!(time_left(400), "1 s left");
        assert_eq!([score(0.7134, 3), score(8.1, 2)], [".713", "8.10"]);
        assert_eq!(distinguished(0.3, 0.4, 2), [".30", ".40"]);
        assert_eq!(distinguished(0.000_12, 0.003_4, 2), [".000", ".003"]);
        assert_eq!(distinguished(0.5, 0.5, 2), [".50", ".50"]);
        assert_eq!(
            [bytes(900), bytes(11_700_000), bytes(4_500_000_000)],
            ["0.9 kB", "11.7 MB", "4.5 GB"]
        );
        assert_eq!(
            [location("a\tb.md", [12, 14], None), lines(3, 3)],
            ["a    b.md:12-14", "3"]
        );
    }

    #[test]
    fn a_member_is_named_where_it_is_not_all_of_its_document() {
        let line_of = |member: &str| Place {
            unit: PlaceUnit::Line,
            first: 3,
            last: 4,
            name: None,
            member: Some(member.to_owned()),
        };
        let cases = [
            ("docs/notes.txt.gz", "notes.txt", "docs/notes.txt.gz:3-4"),
            ("docs/all.zip", "notes.txt", "docs/all.zip/notes.txt:3-4"),
            ("all.tar.gz", "notes.txt", "all.tar.gz/notes.txt:3-4"),
        ];
        for (document, member, expected) in cases {
            assert_eq!(location(document, [1, 9], Some(&line_of(member))), expected);
        }
    }

    #[test]
    fn a_citation_is_at_its_chunk_with_the_cited_part_in_parentheses() {
        let page = |first, last| Place {
            unit: PlaceUnit::Page,
            first,
            last,
            name: None,
            member: None,
        };
        let cases = [
            (Some([12, 14]), [13, 13], None, None, "a.md:12-14 (line 13)"),
            (
                Some([12, 14]),
                [12, 13],
                None,
                None,
                "a.md:12-14 (lines 12-13)",
            ),
            (Some([12, 14]), [12, 14], None, None, "a.md:12-14"),
            (None, [13, 13], None, None, "a.md:13"),
            (
                Some([1, 90]),
                [50, 60],
                Some(page(3, 4)),
                Some(page(4, 4)),
                "a.md p. 3-4 (p. 4)",
            ),
            (
                Some([1, 90]),
                [50, 60],
                Some(page(3, 3)),
                Some(page(3, 3)),
                "a.md p. 3",
            ),
        ];
        for (chunk_lines, [first_line, last_line], chunk_place, place, expected) in cases {
            let citation = Citation {
                label: 1,
                chunk: 1,
                chunk_lines,
                chunk_place,
                file: "a.md".to_owned(),
                first_line,
                last_line,
                place,
                quote: None,
                evidence: crate::event::Evidence::Marked,
            };
            assert_eq!(citation_location(&citation), expected);
        }
    }

    #[test]
    fn a_device_is_named_with_its_layers_and_memory() {
        let card = |device: &str, gpu_layers: u32, device_bytes: u64| -> ModelCard {
            ModelCard {
                layers: 32,
                gpu_layers,
                device: device.to_owned(),
                device_bytes,
                ..ModelCard::unknown(ModelRole::Generator)
            }
        };
        assert_eq!(device(&card("CPU", 0, 0)), "CPU");
        assert_eq!(
            device(&card("CUDA0", 20, 18_400_000_000)),
            "CUDA0 20/32 18.4 GB"
        );
        // recordings of before do not say how much memory was taken
        assert_eq!(device(&card("CUDA0", 32, 0)), "CUDA0 32/32");
    }
}
