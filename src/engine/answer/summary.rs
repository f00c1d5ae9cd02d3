//! The summary of a document: it is read in its order, part by part, and each part is summed up
//! while the next one waits, so that the first sentences do not wait for the last page.

use std::collections::HashMap;

use crate::engine::error::RunError;
use crate::engine::run::{Answer, Gate, Passages, Run, StepLookup, context};
use crate::event::{ChunkText, Hit, RunEvent, saturating_u32};
use crate::letters::SENTENCE_ENDS;

use super::quotes::quotation;
use super::sources::{SourceSentence, Supports};
use super::write::write_part;

/// Tokens of a part: what is read in a minute on two cores by a model of two billion parameters.
const PART_TOKENS: u32 = 1536;
/// Sections of which the first sentence is quoted, where no model sums up.
const MAX_OPENINGS: usize = 8;
/// Signs that close a quotation or a bracket behind the end of a sentence.
const CLOSING: [char; 9] = ['"', '”', '’', '»', ')', ']', '*', '_', ' '];

/// Sums up a document of the index.
pub fn summarise(
    run: &mut Run<'_>,
    gate: &mut dyn Gate,
    document: &str,
) -> Result<(Answer, Passages), RunError> {
    let chunks = match run.tools.corpus.as_ref() {
        Some(corpus) => corpus.index.document(document)?,
        None => Vec::new(),
    };
    let parts = parts(run, chunks)?;
    let count = parts.len();

    let mut answer = Answer::default();
    let mut first = Passages::default();
    let mut written: Vec<String> = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        if run.is_stopped() {
            break;
        }
        let query = format!("{document}, part {} of {count}", at + 1);
        let passages = read(run, query, part)?;
        let of_part = write_part(run, gate, &passages, &written)?;

        written.extend(of_part.sentences.iter().map(|one| one.text().to_owned()));
        answer = join(answer, of_part);
        if at == 0 {
            first = passages;
        } else {
            answer.lookups.push(StepLookup { step: 0, passages });
        }
        run.keep(answer.clone());
    }
    answer.short.clone_from(&answer.text);
    Ok((answer, first))
}

/// Quotes the first sentence of each section of one document, or of two that are compared, of few
/// sections more of each: quotations sum up nothing.
pub fn quote_openings(
    run: &mut Run<'_>,
    documents: &[String],
) -> Result<(Answer, Passages), RunError> {
    let mut chunks = Vec::new();
    if let Some(corpus) = run.tools.corpus.as_ref() {
        for document in documents {
            chunks.extend(corpus.index.document(document)?);
        }
    }
    let hits = (1..).zip(chunks);
    let hits = hits.map(|(rank, chunk)| Hit::with_rank(chunk, rank));
    let query = format!("the sections of {}", documents.join(" and "));
    let passages = read(run, query, hits.collect())?;
    let supports = Supports::new(run.question, &passages);

    let mut answer = Answer::default();
    let most = MAX_OPENINGS / documents.len().max(1);
    for document in documents {
        let mut sections = openings(&supports, &passages, |sentence| {
            let chunk = &passages.hits[sentence.passage].chunk;
            let text = sentence.text.trim_end_matches(CLOSING);
            chunk.document == *document && text.ends_with(SENTENCE_ENDS)
        });
        // a list or a table alone has no sentence
        if sections.is_empty() {
            sections = openings(&supports, &passages, |sentence| {
                passages.hits[sentence.passage].chunk.document == *document
            });
        }

        let of_each = (most / 2 / sections.len().max(1)).max(1);
        for section in sections.iter().take(most) {
            for sentence in section.iter().take(of_each) {
                let text = format!("“{}”", quotation(&sentence.text));
                run.give_step(&mut answer, "\n\n", text, Some(supports.quote(sentence)));
            }
        }
    }
    answer.short.clone_from(&answer.text);
    Ok((answer, passages))
}

/// Returns the first sentences of each section, of those that may be quoted.
fn openings<'s>(
    supports: &'s Supports,
    passages: &'s Passages,
    may_be_quoted: impl Fn(&SourceSentence) -> bool,
) -> Vec<Vec<&'s SourceSentence>> {
    let mut sections: Vec<Vec<&SourceSentence>> = Vec::new();
    let mut numbers: HashMap<&[String], usize> = HashMap::new();
    // chunks overlap, and one may begin inside of a sentence
    let is_repeated = |one: &SourceSentence| {
        let before = one
            .passage
            .checked_sub(1)
            .map(|before| &passages.hits[before]);
        before.is_some_and(|before| before.chunk.text.contains(&one.text))
    };
    let sentences = supports.sources.iter();
    for sentence in sentences.filter(|one| may_be_quoted(one) && !is_repeated(one)) {
        let headings = passages.hits[sentence.passage]
            .chunk
            .headings_at(sentence.at);
        let number = *numbers.entry(headings).or_insert(sections.len());
        match sections.get_mut(number) {
            Some(section) => section.push(sentence),
            None => sections.push(vec![sentence]),
        }
    }
    sections
}

/// Emits the passages of a part in the order of the document, and returns those that fit.
fn read(run: &mut Run<'_>, query: String, hits: Vec<Hit>) -> Result<Passages, RunError> {
    run.emit(RunEvent::QueryWritten {
        step: run.step,
        query: query.clone(),
        writer: "summary".to_owned(),
        words: Vec::new(),
        region: None,
    });

    run.emit_read(query, &hits);
    let all = saturating_u32(hits.len());
    context::choose_up_to(run, Passages::from_hits(hits), all)
}

/// Returns the chunks in parts of at most [`PART_TOKENS`] tokens that fit the prompt, or of one
/// chunk.
fn parts(run: &Run<'_>, chunks: Vec<ChunkText>) -> Result<Vec<Vec<Hit>>, RunError> {
    let mut parts = Vec::new();
    let mut part: Vec<Hit> = Vec::new();
    for (rank, chunk) in (1..).zip(chunks) {
        part.push(Hit::with_rank(chunk, rank));
        let tokens: u32 = part.iter().map(|hit| hit.chunk.tokens).sum();
        if part.len() > 1 && (tokens > PART_TOKENS || !context::fits(run, &part)?) {
            let next = part.split_off(part.len() - 1);
            parts.push(std::mem::replace(&mut part, next));
        }
    }
    // a document without text is answered by nothing, and not from memory
    parts.extend((!part.is_empty()).then_some(part));
    Ok(parts)
}

/// Returns an answer with what was written from other passages behind it.
pub fn join(answer: Answer, next: Answer) -> Answer {
    let text = [answer.text, next.text].join("\n\n").trim().to_owned();
    let mut citations = answer.citations;
    for citation in next.citations {
        if !citations.contains(&citation) {
            citations.push(citation);
        }
    }
    Answer {
        short: String::new(),
        text,
        citations,
        limit_reached: answer.limit_reached || next.limit_reached,
        lookups: [answer.lookups, next.lookups].concat(),
        sentences: [answer.sentences, next.sentences].concat(),
        given: 0,
    }
}
