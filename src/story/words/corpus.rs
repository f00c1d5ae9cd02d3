//! The corpus and its index.

use std::io::{Error, ErrorKind};

use crate::event::{
    CorpusCard, Filtered, IndexPhase, IndexProgress, IndexReport, Metadata, NeighbouringSentences,
    OmittedBy, OmittedFiles, SkippedFile,
};
use crate::story::text::{join, one_line};

use super::numbers::{count, quantity};

/// Files that are named of those that are skipped for one reason.
const MAX_NAMED: usize = 5;

/// Returns why a path cannot be opened.
pub fn why_not_found(error: &Error, what: &str) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("there is no such {what}"),
        _ => error.to_string(),
    }
}

/// Returns what a corpus holds, as `140 files, 467 chunks`, of several folders with their number.
pub fn corpus_size(corpus: &CorpusCard) -> String {
    let size = format!(
        "{}, {}",
        quantity(corpus.documents, "file"),
        quantity(corpus.chunks, "chunk")
    );
    match corpus.folders.len() {
        0 | 1 => size,
        folders => format!("{}, {size}", quantity(folders as u64, "folder")),
    }
}

/// Returns what a document says of itself, as `Tide tables, by R. Holm, 2024-01-31`; empty when it
/// says nothing.
pub fn metadata(metadata: &Metadata) -> String {
    let author = metadata.author.as_ref();
    let author = author.map(|author| format!("by {author}"));
    let parts = [metadata.title.clone(), author, metadata.date.clone()];
    join(parts.into_iter().flatten(), ", ")
}

/// Returns the documents that a search was limited to, as `reports/**: 12 of 140 documents`.
pub fn filter(filtered: &Filtered) -> String {
    let Filtered {
        filter,
        documents,
        of,
    } = filtered;
    format!(
        "{}: {} of {}",
        one_line(filter),
        count(*documents),
        quantity(*of, "document")
    )
}

/// A smaller share of joined sentences is no chunking by meaning.
const FEW_JOINED: f64 = 0.1;

/// Returns what chunks by meaning made of the sentences of a corpus, and what to do where they
/// hardly joined any.
pub fn sentence_joins(neighbours: NeighbouringSentences) -> String {
    let share = neighbours.joined as f64 / neighbours.pairs.max(1) as f64;
    let joined = format!("{:.0} % of neighbouring sentences joined", share * 100.0);
    if share < FEW_JOINED {
        joined + ": lower chunker.min_similarity, or set a percentile such as p50"
    } else {
        joined
    }
}

/// Returns what an update of the index changed, as `2 documents changed, 1 added: notes.md, …`;
/// `None` when nothing did.
pub fn index_change(report: &IndexReport) -> Option<String> {
    let kinds = [
        (report.changed, "changed"),
        (report.added, "added"),
        (report.removed, "removed"),
    ];
    let mut parts: Vec<String> = Vec::new();
    for (number, done) in kinds.into_iter().filter(|(number, _)| *number > 0) {
        let number = match parts.as_slice() {
            [] => quantity(number, "document"),
            _ => count(number),
        };
        parts.push(format!("{number} {done}"));
    }
    if parts.is_empty() {
        return None;
    }

    let named = report.updated.iter().take(3).map(|path| one_line(path));
    let named: Vec<String> = named.collect();
    let is_cut = report.updated.len() > named.len();
    let more = if is_cut { ", …" } else { "" };
    let names = match named.as_slice() {
        [] => String::new(),
        names => format!(": {}", names.join(", ")),
    };
    Some(format!("{}{names}{more}", parts.join(", ")))
}

/// Returns the files that settings leave out, with the settings that read them; `None` without
/// any.
pub fn omitted_files(omitted: &[OmittedFiles]) -> Option<String> {
    files_not_read(&[], omitted, "")
}

/// Returns the files that are not read, be it for their content or by settings; `None` without any.
/// `arguments` are the folders as `ragscope index` takes them, which lists the reasons.
pub fn files_not_read(
    skipped: &[SkippedFile],
    omitted: &[OmittedFiles],
    arguments: &str,
) -> Option<String> {
    let mut parts = Vec::new();
    if !skipped.is_empty() {
        let files = quantity(skipped.len() as u64, "file");
        let paths: Vec<&str> = skipped.iter().map(|file| file.path.as_str()).collect();
        let names = named_files(&paths);
        parts.push(format!(
            "{files} (`ragscope index {arguments}` lists the reasons): {names}"
        ));
    }
    parts.extend(omitted.iter().map(files_left_out));
    (!parts.is_empty()).then(|| format!("left out: {}", parts.join("; ")))
}

/// Returns the names of files, the first of many.
pub fn named_files(paths: &[&str]) -> String {
    let all = paths.len();
    let shown = if all > MAX_NAMED + 1 { MAX_NAMED } else { all };
    let names = join(paths[..shown].iter().map(|path| one_line(path)), ", ");
    match all - shown {
        0 => names,
        more => format!("{names} and {} more", count(more as u64)),
    }
}

fn files_left_out(omitted: &OmittedFiles) -> String {
    let (files, way_in) = match omitted.by {
        OmittedBy::IgnoreFiles => (
            quantity(omitted.files, "file") + " by .gitignore or .ignore",
            "corpus.gitignore = false",
        ),
        OmittedBy::Hidden => (
            quantity(omitted.files, "hidden file"),
            "corpus.hidden = true",
        ),
        OmittedBy::Pictures => (quantity(omitted.files, "picture"), "corpus.ocr = on"),
    };

    let is_counted = omitted.files < OmittedFiles::MAX_FILES;
    let least = if is_counted { "" } else { "at least " };
    let names = join(omitted.names.iter().map(|name| one_line(name)), ", ");
    let is_whole = omitted.names.len() as u64 == omitted.files;
    let more = if is_whole { "" } else { ", …" };
    format!("{least}{files} ({way_in} reads them): {names}{more}")
}

/// Returns that a folder is ready for questions.
pub fn index_ready(report: &IndexReport) -> String {
    let files = quantity(report.corpus.documents, "file");
    let chunks = quantity(report.corpus.chunks, "chunk");
    let skipped = match report.skipped.len() as u64 {
        0 => String::new(),
        skipped => format!(", {} skipped", count(skipped)),
    };
    format!("index ready: {files}, {chunks}{skipped}")
}

/// Returns the activity of an indexing phase.
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
pub fn index_done(progress: &IndexProgress) -> String {
    let unit = match progress.phase {
        IndexPhase::Scanning | IndexPhase::Reading => "file",
        // chunks with the same text have one vector
        IndexPhase::Embedding => "text",
        IndexPhase::Writing | IndexPhase::Linking => "chunk",
    };
    match progress.total {
        Some(total) => format!("{} of {}", count(progress.done), quantity(total, unit)),
        None => quantity(progress.done, unit),
    }
}
