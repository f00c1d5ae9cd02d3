//! The diagnosis of a question: the chain from the file to the answer with its evidence, the first
//! broken link, and the changes that were tried.

use std::cmp::Reverse;

use serde::Serialize;

use crate::event::{
    ChunkText, OtherFiles, Outcome, Ranked, SkippedFile, TracedChunk, TracedLookup,
};

use super::broken_link::{BrokenLink, Facts, Found, UNDERSTOOD, end};
use super::funnel::Mark;
use super::lookup::Lookup;
use super::run::Run;
use super::text::{join, one_line};
use super::words;

/// The links of the chain, in order.
const CHAIN: [&str; 6] = ["read", "chunked", "found", "kept", "understood", "said"];
/// Places in it.
const FOUND: usize = 2;
const SAID: usize = 5;
/// Files that a sentence names.
const MAX_NAMED: usize = 3;

/// The passages and answers that are expected of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expected {
    /// The passages that the answer needs.
    pub passages: Vec<String>,
    /// Answers that are right; where there is none, one is right that says what a passage does.
    pub answers: Vec<String>,
    /// The origin of a passage that nobody named, which is a guess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guess: Option<String>,
}

impl Expected {
    /// Expects this text of a user: an answer, or words of a passage.
    pub fn from_text(text: &str) -> Self {
        Self {
            passages: vec![text.to_owned()],
            answers: Vec::new(),
            guess: None,
        }
    }
}

/// A passage in the index, and how far it came in a run.
#[derive(Debug, Clone)]
pub struct FoundPassage {
    pub found: Found,
    /// The chunk that came furthest of those that hold it.
    pub chunk: TracedChunk,
    /// The other chunk of a passage that is in two.
    pub rest: Option<ChunkText>,
    pub marks: Vec<Mark>,
    /// The number of chunks that hold it.
    pub chunks: usize,
    /// The mark that says how far it came, in words.
    fate: String,
}

impl FoundPassage {
    /// Finds the chunks that hold a passage in a run; `None` where none does.
    pub fn new(run: &Run, traced: &[TracedLookup]) -> Option<Self> {
        let chunks = traced.iter().flat_map(|traced| {
            let own = |lookup: &&Lookup| lookup.step == traced.step;
            let lookup = run.index_lookups().filter(own).last();
            let with_marks = move |chunk: &TracedChunk| {
                let Some(lookup) = lookup else {
                    return (chunk.clone(), Vec::new(), String::new());
                };
                let number = lookup.number(&chunk.chunk);
                let marks = lookup.marks(number);
                let fate = end(&marks).map(|end| words::mark(end, number, lookup));
                (chunk.clone(), marks, fate.unwrap_or_default())
            };
            traced.chunks.iter().map(with_marks)
        });
        let chunks: Vec<(TracedChunk, Vec<Mark>, String)> = chunks.collect();
        let rank = |chunk: &TracedChunk| chunk.fused.or(chunk.bm25).map_or(u32::MAX, |at| at.rank);
        let (chunk, marks, fate) = chunks
            .iter()
            .max_by_key(|(chunk, marks, _)| (progress(marks), Reverse(rank(chunk))))?
            .clone();
        let mut others = chunks.iter().filter(|_| !chunk.whole);
        let rest = others.find(|(other, ..)| is_beside(&other.chunk, &chunk.chunk));
        let found = match rest {
            Some((_, marks, _)) if progress(marks) < USED => Found::InParts,
            Some(_) | None => Found::InChunk,
        };
        Some(Self {
            found,
            rest: rest.map(|(other, ..)| other.chunk.clone()),
            chunks: chunks.len() / traced.len().max(1),
            chunk,
            marks,
            fate,
        })
    }

    /// Returns how far it came, from 0.
    pub fn progress(&self) -> (Found, u32) {
        (self.found, progress(&self.marks))
    }

    /// Returns its rank among the chunks that the context takes the first of.
    pub fn rank(&self) -> Option<u32> {
        let ranks = self.marks.iter().rev().find_map(|mark| match mark {
            Mark::Reranked { rank, .. } | Mark::Hit { rank, .. } => Some(*rank),
            _ => None,
        });
        ranks.or(self.chunk.fused.map(|ranked| ranked.rank))
    }

    fn location(&self) -> String {
        words::chunk_location(&self.chunk.chunk)
    }

    /// Returns where the chunks that hold it are.
    fn word_places(&self) -> String {
        let location = self.location();
        match &self.rest {
            Some(rest) => format!(
                "a part in {location}, the rest in {}",
                words::chunk_location(rest)
            ),
            None if self.chunks > 1 => format!("{location}, one of {} chunks with it", self.chunks),
            None => location,
        }
    }

    /// Returns its rank in each list, and with `with_fate` why that was not enough.
    fn word_ranks(&self, with_fate: bool) -> String {
        let rank = |name: &str, ranked: Option<Ranked>| match ranked {
            Some(Ranked { rank, .. }) => format!("{name} rank {rank}"),
            None => format!("{name} none"),
        };
        let ranks = [
            rank("BM25", self.chunk.bm25),
            rank("vectors", self.chunk.vector),
            rank("fused", self.chunk.fused),
        ];
        let ranks = ranks.join(", ");
        if with_fate && !self.fate.is_empty() {
            format!("{ranks}; {}", self.fate)
        } else if with_fate {
            format!("{ranks}; nothing was retrieved")
        } else {
            ranks
        }
    }
}

/// Returns whether one of two chunks of a document follows the other.
fn is_beside(one: &ChunkText, other: &ChunkText) -> bool {
    one.id.abs_diff(other.id) == 1 && one.document == other.document
}

/// The progress of a chunk in the context.
const USED: u32 = 4;

/// Returns how far a chunk with these marks came.
fn progress(marks: &[Mark]) -> u32 {
    match (marks.first(), end(marks)) {
        (Some(Mark::Copy { .. }), _) => 1,
        (_, Some(Mark::Used { .. })) => USED,
        (_, Some(Mark::Fell { stage: None, .. })) => 3,
        (_, Some(Mark::Fell { stage: Some(_), .. })) => 2,
        _ => 0,
    }
}

/// A change of settings that the question was asked with again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    pub change: String,
    pub settings: Vec<(String, String)>,
    /// The label of the passage in the context; `None` where it was not in it.
    pub label: Option<u32>,
    /// Whether the answer holds what is expected.
    pub says: bool,
    pub answer: String,
}

impl Tried {
    /// Sums up the run with a change.
    pub fn new(
        change: &str,
        settings: Vec<(String, String)>,
        run: &Run,
        chunk: Option<&ChunkText>,
        says: bool,
    ) -> Self {
        let label = |chunk| {
            let mut lookups = run.lookups.iter().rev();
            lookups.find_map(|lookup| lookup.label(lookup.number(chunk)))
        };
        Self {
            change: change.to_owned(),
            settings,
            label: chunk.and_then(label),
            says,
            answer: answer(run),
        }
    }

    /// Returns what became of the passage and of the answer.
    pub fn result(&self) -> String {
        let used = self.label.map(|label| format!("used as [{label}]; "));
        format!("{}the answer is: {}", used.unwrap_or_default(), self.answer)
    }
}

/// Returns the answer of a run in one line, or why there is none.
fn answer(run: &Run) -> String {
    match &run.outcome {
        Some(Outcome::Failed(problem)) => format!("failed: {}", one_line(&problem.error)),
        _ => one_line(run.text.trim()),
    }
}

/// A link of the chain with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainLink {
    pub name: &'static str,
    /// `None` where a link before it is broken.
    pub holds: Option<bool>,
    pub evidence: String,
}

/// The chain of a question, and its first broken link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    pub question: String,
    pub preset: String,
    pub expected: Expected,
    pub chain: Vec<ChainLink>,
    /// `None` where the answer holds what is expected.
    pub broken: Option<BrokenLink>,
    pub finding: String,
    pub tried: Vec<Tried>,
}

impl Diagnosis {
    /// Words what the facts about a run show.
    pub fn new(
        run: &Run,
        expected: Expected,
        facts: &Facts<'_>,
        passage: Option<&FoundPassage>,
        others: &OtherFiles,
    ) -> Self {
        let broken = BrokenLink::first(facts);
        // an answer can hold what its passages do not
        let lost = BrokenLink::first(&Facts {
            is_said: false,
            ..*facts
        });
        let lost = lost.filter(|link| broken.is_some() || link.place() < UNDERSTOOD);
        let place = lost.map_or(SAID, BrokenLink::place);
        let read = match passage {
            Some(passage) => one_line(&passage.chunk.chunk.document),
            None => name_missing(&expected, others),
        };
        let evidence = [
            read,
            passage.map_or_else(String::new, FoundPassage::word_places),
            passage.map_or_else(String::new, |passage| passage.word_ranks(place == FOUND)),
            passage.map_or_else(String::new, |passage| passage.fate.clone()),
            word_answers(run, facts),
            answer(run),
        ];

        let finding = match broken {
            Some(link) => word_finding(link, passage, place, &evidence[place]),
            None => "nothing is broken: the answer holds it".to_owned(),
        };
        let chain = (0..).zip(CHAIN).zip(evidence);
        let chain = chain.map(|((at, name), evidence)| ChainLink {
            name,
            holds: match at {
                SAID => Some(facts.is_said),
                _ => (at <= place).then_some(at < place),
            },
            evidence: if at <= place || at == SAID {
                evidence
            } else {
                String::new()
            },
        });
        Self {
            question: run.standalone().to_owned(),
            preset: run.preset.clone(),
            chain: chain.collect(),
            expected,
            broken,
            finding,
            tried: Vec::new(),
        }
    }
}

/// Words the broken link with its evidence.
fn word_finding(
    link: BrokenLink,
    passage: Option<&FoundPassage>,
    place: usize,
    evidence: &str,
) -> String {
    let name = link.name();
    match passage {
        Some(passage) if place == UNDERSTOOD => {
            let (location, fate) = (passage.location(), &passage.fate);
            format!("{name}: {location} was {fate}; {evidence}")
        }
        Some(passage) if place >= FOUND => format!("{name}: {}, {evidence}", passage.location()),
        Some(_) | None => format!("{name}: {evidence}"),
    }
}

/// Returns a sign for what holds, what does not, and what is not known.
pub fn sign(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "✓",
        Some(false) => words::LOST,
        None => "·",
    }
}

impl Diagnosis {
    /// Returns it as lines of text.
    pub fn text(&self) -> String {
        let expected = self.expected.passages.iter();
        let expected = expected.map(|passage| format!("expected: “{}”", one_line(passage)));
        let mut lines: Vec<String> = expected.collect();
        lines.extend(self.expected.guess.iter().map(|guess| format!("  {guess}")));
        for link in &self.chain {
            let line = format!("  {} {:<11} {}", sign(link.holds), link.name, link.evidence);
            lines.push(line.trim_end().to_owned());
        }
        lines.push(self.finding.clone());

        if !self.tried.is_empty() {
            lines.push("tried:".to_owned());
        }
        for tried in &self.tried {
            let says = sign(Some(tried.says));
            lines.push(format!("  {says} {}: {}", tried.change, tried.result()));
        }
        lines.join("\n") + "\n"
    }
}

/// Returns that no chunk holds a passage, and the files that hold it or may.
fn name_missing(expected: &Expected, others: &OtherFiles) -> String {
    if let Some(SkippedFile { path, reason }) = &others.holding {
        return format!(
            "{} holds it and is not in the index: {reason}",
            one_line(path)
        );
    }
    let passage = expected.passages.first().map_or("", String::as_str);
    let missing = match &expected.guess {
        Some(guess) => guess.clone(),
        None => format!("no document holds “{}”", one_line(passage)),
    };
    let unreadable = &others.unreadable;
    if unreadable.is_empty() {
        return missing;
    }
    let named = unreadable.iter().take(MAX_NAMED);
    let named = named.map(|SkippedFile { path, reason }| format!("{} ({reason})", one_line(path)));
    let more = match unreadable.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let files = words::quantity(unreadable.len() as u64, "file");
    let named = join(named, ", ");
    format!("{missing}; {files} could not be read and may: {named}{more}")
}

/// Returns what the model made of a passage in its prompt.
fn word_answers(run: &Run, facts: &Facts<'_>) -> String {
    if let Some(support) = run.support.filter(|_| facts.is_refused) {
        return format!(
            "the sources were judged to answer the question with {}, and answer.min_support is {}",
            words::percent(support.probability),
            words::percent(run.settings.answer.min_support)
        );
    }
    let alone = match facts.alone {
        Some(true) => "the passage alone is answered with it",
        Some(false) => "the passage alone is not answered with it either",
        None => "",
    };
    let memory = match facts.from_memory {
        Some(true) => ", and the model says it without documents",
        Some(false) | None => "",
    };
    format!("{alone}{memory}")
}
