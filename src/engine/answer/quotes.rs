//! Quotations: the sentences of the passages that fit the question best, each with its source.

use std::collections::BTreeSet;

use crate::corpus::{Format, begins_item, fold_white_space, split_words};
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Passages, Run};
use crate::event::{
    ChunkText, Citation, Evidence, FENCE, NearestSentence, Support, embedded_text, ends_in_code,
    saturating_u32,
};
use crate::index::{AskedNames, content_words, date_words};
use crate::methods::cosine;

use super::denials::{begins_with_pronoun, denies};
use super::hollow::{frames_a_text, is_end, is_name_row, says_nothing};
use super::leads::units;
use super::question_words::QuestionWords;
use super::refusals::refusal;
use super::sources::{SourceSentence, Supports};
use super::wording::{is_definition, stems, text_language};

/// Maximum number of sentences of an answer.
const MAX_QUOTES: usize = 3;
/// Least score of the others beside the best: of 60 answers in SQuAD, 90 % are in 2.1 sentences,
/// and 92 % in all three.
const MIN_RELATIVE: f32 = 0.7;
/// A sentence of a lower score has nothing to do with the question: half of those that are nearest
/// to foreign questions.
const MIN_NEAR: f32 = 0.3;
/// Sentences with fewer words of content are headings and rests.
const MIN_WORDS: usize = 2;
/// Sentences that are compared by meaning: the best by their words.
const MAX_EMBEDDED: usize = 48;
/// Weights of the question's words in a sentence and in its whole passage, beside the cosine
/// similarity; chosen on 60 answerable questions of SQuAD.
const OWN_WEIGHT: f32 = 0.6;
const PASSAGE_WEIGHT: f32 = 0.2;
/// Weight of the score by which its passage was found: of two sentences that say the same of two
/// things, the one in the place that was asked for is meant. With the words of the headings it
/// finds the sentence with the answer first for 53 in place of 44 % of 120 questions of Natural
/// Questions, among three for 86 in place of 71 %; of SQuAD 76 for 74, and 88 for 86 %.
const FOUND_WEIGHT: f32 = 0.2;
/// The score is lower by this where no passage has some name or number of the question: of 50
/// unanswerable questions of SQuAD 3 more are refused, of 200 answerable ones of two sets none.
const LACKING: f32 = 0.5;
/// A longer block of code is quoted by its lines.
const MAX_CODE_LINES: usize = 24;
/// The short answer of a refusal, as the prompts of the papers word it.
const UNKNOWN: &str = "unknown";
/// Least probability of an answer with which a refusal says that it is not said clearly: 12 of 25
/// questions that are refused from here on can be answered, and 5 of 22 below.
const UNCLEAR: f32 = 0.25;

/// The sentences of some passages that fit the question, best first.
#[derive(Default)]
pub struct RankedSentences {
    sentences: Vec<RankedSentence>,
    /// Whether a name or a number of the question is in no passage: they are about another one.
    lacks_name: bool,
}

pub struct RankedSentence {
    citation: Citation,
    /// The sentence, of a list its lead.
    source: SourceSentence,
    /// Weighted share of the question's words in the sentence and in its passage.
    by_words: f32,
    /// The part of its place, which distinguishes it from other sentences alone: the question's
    /// words and dates in the headings above it and in its path, and how well its passage was
    /// found.
    by_place: f32,
    /// Whether it and its place hold nearly all words of the question, and its passage the others.
    holds_question: bool,
    /// Cosine similarity to the question.
    similarity: f32,
    /// The block of code that it is a line of, of the best sentences.
    code: Option<String>,
}

impl RankedSentence {
    fn text(&self) -> &str {
        self.citation.quote.as_deref().unwrap_or_default().trim()
    }

    /// Returns the chunk that it is in.
    fn chunk<'p>(&self, passages: &'p Passages) -> &'p ChunkText {
        &passages.hits[self.citation.label as usize - 1].chunk
    }

    /// Returns how near it is to the question by itself.
    fn score(&self) -> f32 {
        self.similarity + self.by_words
    }

    /// Returns how well it fits the question beside others.
    fn fit(&self) -> f32 {
        self.score() + self.by_place
    }
}

impl RankedSentences {
    /// Ranks the sentences of the passages by the words and by the meaning of the question.
    ///
    /// # Errors
    ///
    /// Failures of the embedder.
    pub fn new(run: &mut Run<'_>, passages: &Passages) -> Result<Self, RunError> {
        let question = QuestionWords::new(run.question, passages);
        let supports = Supports::new(run.question, passages);
        let mut sentences = rank(&question, run.question, passages, &supports);
        drop_repeats_and_titles(&mut sentences, passages, question.language);
        sentences.sort_by(|a, b| b.fit().total_cmp(&a.fit()));
        sentences.truncate(MAX_EMBEDDED);

        compare(run, &mut sentences)?;
        sentences.sort_by(|a, b| b.fit().total_cmp(&a.fit()));
        put_asked_place_first(run.question, &mut sentences, passages);
        put_newest_first(&mut sentences, &supports);

        for one in sentences.iter_mut().take(MAX_QUOTES) {
            let chunk = one.chunk(passages);
            one.code = code_around(chunk, one.text(), one.citation.first_line);
        }
        Ok(Self {
            sentences,
            lacks_name: question.lacks_name(run.question),
        })
    }

    /// Returns the sentence of each passage that is nearest to the question by its meaning.
    pub fn nearest(&self, passages: &Passages) -> Vec<NearestSentence> {
        let labelled = (1..).zip(&passages.hits);
        let nearest = labelled.filter_map(|(label, hit)| {
            let own = self
                .sentences
                .iter()
                .filter(|one| one.citation.label == label);
            let compared = own.filter(|one| one.similarity > 0.0);
            let best = compared.max_by(|a, b| a.similarity.total_cmp(&b.similarity))?;
            Some(NearestSentence {
                chunk: hit.chunk.id,
                text: best.text().to_owned(),
                similarity: best.similarity,
            })
        });
        nearest.collect()
    }

    /// Returns the best `count` sentences, each behind the names of its place; in place of an item
    /// of a list its whole passage, as a "text": one step is no answer.
    pub fn best_texts(&self, passages: &Passages, count: usize) -> Vec<(&'static str, String)> {
        let best = self.sentences.iter().take(count);
        let placed = best.map(|one| {
            let chunk = one.chunk(passages);
            if begins_item(one.text()) {
                return ("text", chunk.embedded_text());
            }
            let above = chunk.headings_at(one.source.at);
            let text = embedded_text(&chunk.document, above, one.text());
            ("sentence", text)
        });
        let mut texts: Vec<_> = placed.collect();
        texts.dedup();
        texts
    }

    /// Returns the largest score of a sentence, its similarity and its share of the question's
    /// words; less where a name is in no passage.
    pub fn score(&self) -> f32 {
        let scores = self.sentences.iter().map(RankedSentence::score);
        let lacking = if self.lacks_name { LACKING } else { 0.0 };
        (scores.fold(0.0, f32::max) - lacking).max(0.0)
    }

    /// Returns whether one of the best sentences says of all that is asked that it is not so.
    pub fn deny(&self) -> bool {
        let mut best = self.sentences.iter().take(MAX_QUOTES);
        best.any(|one| one.holds_question && denies(one.text()))
    }

    /// Keeps the sentences that hold most of the words of a text, and returns whether some hold
    /// more than half of them; otherwise keeps all.
    pub fn keep_about(&mut self, text: &str) -> bool {
        let language = text_language(text);
        let words = stems(text, language);
        let held = |one: &RankedSentence| stems(one.text(), language).intersection(&words).count();
        let most = self.sentences.iter().map(held).max().unwrap_or(0);
        let is_said = most * 2 > words.len();
        if is_said {
            self.sentences.retain(|one| held(one) == most);
        }
        is_said
    }

    /// Returns the sentences that are quoted: those that fit nearly as well as the best one.
    pub fn fitting(&self) -> impl Iterator<Item = &RankedSentence> {
        let best = self.sentences.first().map_or(0.0, RankedSentence::fit);
        let least = (best * MIN_RELATIVE).max(MIN_NEAR);
        let quoted = self.sentences.iter().take(MAX_QUOTES);
        quoted.filter(move |one| one.fit() >= least && one.score() >= MIN_NEAR)
    }
}

/// A sentence of a passage, or several that are quoted together.
struct Quotable<'p> {
    first: SourceSentence,
    lines: [u32; 2],
    text: &'p str,
    /// The lead to it: the beginning of a list, of an item its text.
    leads: String,
    /// The sentence before one that begins with a pronoun.
    before: String,
}

/// Returns the sentences of the passages, in their order.
fn quotable<'p>(passages: &'p Passages, supports: &Supports) -> Vec<Quotable<'p>> {
    let mut all = Vec::new();
    for (passage, hit) in passages.hits.iter().enumerate() {
        let chunk = &hit.chunk;
        let own: Vec<&SourceSentence> = supports.sources_of(passage).collect();
        let units = units(chunk, &own).into_iter().filter(|unit| !unit.is_lead);
        all.extend(units.map(|unit| {
            let [first, last] = [own[unit.sentences.start], own[unit.sentences.end - 1]];
            let leads = unit.leads.iter().map(|lead| own[*lead].text.as_str());
            let before = unit.sentences.start.checked_sub(1).map(|at| own[at]);
            let before = before.filter(|_| begins_with_pronoun(&first.text));
            Quotable {
                first: first.clone(),
                lines: [first.lines[0], last.lines[1]],
                text: &chunk.text[first.at..last.at + last.text.len()],
                leads: leads.collect::<Vec<_>>().join(" "),
                before: before.map_or(String::new(), |one| one.text.clone()),
            }
        }));
    }
    all
}

/// Keeps one of equal sentences, and drops the ends that a chunk cut off, titles, and what says
/// nothing by itself.
fn drop_repeats_and_titles(
    sentences: &mut Vec<RankedSentence>,
    passages: &Passages,
    language: &str,
) {
    let all = sentences.iter().map(|one| one.text().to_owned());
    let all: BTreeSet<String> = all.collect();
    let is_title = |one: &RankedSentence| {
        let chunk = one.chunk(passages);
        let last = chunk.sections.iter().filter_map(|one| one.headings.last());
        let mut titles = chunk.headings.iter().chain(last);
        let mut starts = chunk.sections.iter().map(|section| section.at as usize);
        // a heading of Org has its state and its tags, too
        titles.any(|title| split_words(title).eq(split_words(one.text())))
            || one.text().starts_with('*') && starts.any(|start| start == one.source.at)
    };

    let mut seen = BTreeSet::new();
    sentences.retain(|one| {
        let text = one.text();
        let words = content_words(text, language).len();
        words >= MIN_WORDS
            && !says_nothing(text)
            // the end of a row that is too long for one
            && (!text.ends_with('|') || text.starts_with('|'))
            && !is_name_row(text, &all)
            && !is_title(one)
            && !all.iter().any(|other| is_end(text, other))
            && seen.insert(text.to_owned())
    });
}

/// Puts the sentences of a place that the question names in front of those of others.
fn put_asked_place_first(question: &str, sentences: &mut [RankedSentence], passages: &Passages) {
    let asked = AskedNames::new(question);
    let headings = |one: &RankedSentence| one.chunk(passages).headings_at(one.source.at);
    asked.order(
        sentences,
        |one| asked.names(&one.chunk(passages).document, headings(one)),
        |one| asked.find_in(&one.chunk(passages).document, headings(one), one.text()),
        // its place is worth as much as that of the one that it passes
        |one, other| one.by_place += other.fit() - one.fit(),
    );
}

/// Puts each of the best sentences behind a newer one that says otherwise, with its place.
fn put_newest_first(sentences: &mut [RankedSentence], supports: &Supports) {
    for at in 0..sentences.len().min(MAX_QUOTES) {
        let newer = |from: usize| {
            let older = &sentences[from].source;
            let mut behind = at + 1..sentences.len();
            behind.find(|other| supports.replaces(&sentences[*other].source, older))
        };
        // the newer one may have a newer one itself
        let newer_ones = std::iter::successors(newer(at), |from| newer(*from));
        let Some(newest) = newer_ones.take(sentences.len()).last() else {
            continue;
        };
        let fit = sentences[at].fit();
        sentences[at..=newest].rotate_right(1);
        let newest = &mut sentences[at];
        newest.by_place += fit - newest.fit();
    }
}

/// Returns the block of code of a chunk that has a line, where it has several: one line of a
/// function says little.
fn code_around(chunk: &ChunkText, line: &str, number: u32) -> Option<String> {
    // the same line may stand in several blocks
    let found = || chunk.text.match_indices(line).map(|(at, _)| at);
    let has_number = |at: &usize| {
        let above = saturating_u32(chunk.text[..*at].matches('\n').count());
        chunk.lines[0] + above == number
    };
    let at = found().find(has_number).or_else(|| found().next())?;
    let (before, behind) = (&chunk.text[..at], &chunk.text[at + line.len()..]);
    let (begin, end) = if ends_in_code(before) {
        // the words behind a fence are no code
        let inside = before.rfind(FENCE).map(|at| &before[at..])?;
        (inside.split_once('\n')?.1, behind.split(FENCE).next()?)
    } else if Format::for_path(&chunk.document).is_source_code() {
        let begin = before.rsplit("\n\n").next()?;
        (begin, behind.split("\n\n").next()?)
    } else {
        return None;
    };
    let block = format!("{begin}{line}{end}");
    let block = block.trim_matches('\n').trim_end();
    let lines = block.lines().count();
    let is_short = lines > 1 && lines <= MAX_CODE_LINES;
    (is_short && !block.contains(FENCE)).then(|| block.to_owned())
}

/// Ranks the sentences of the passages by the words of the question and of their places.
fn rank(
    words: &QuestionWords,
    question: &str,
    passages: &Passages,
    supports: &Supports,
) -> Vec<RankedSentence> {
    let dates: Vec<String> = date_words(question).collect();
    let paths = passages.hits.iter().map(|hit| &hit.chunk.document);
    let by_path: Vec<_> = paths.map(|path| words.find_in_path(path, &dates)).collect();

    let ranked = quotable(passages, supports).into_iter().map(|one| {
        let source = one.first;
        let hit = &passages.hits[source.passage];
        let mut held = words.find_in(one.text);
        held.extend(words.find_in(&one.leads));
        let above = words.find_in(&hit.chunk.headings_at(source.at).join(" "));
        // what a row or a definition is about stands above them, and what a sentence is about
        // above its section, where several are in a passage
        let is_entry = one.text.starts_with('|') || is_definition(one.text);
        if is_entry || !hit.chunk.sections.is_empty() {
            held.extend(above.iter().cloned());
        }

        let (named, dated) = &by_path[source.passage];
        let in_passage = words.share(&words.by_passage[source.passage], *dated);
        let own = words.share(&held, *dated);
        held.extend(above);
        held.extend(named.iter().cloned());
        let placed = words.share(&held, *dated) - own + dated;
        // "it" is of the sentence before
        held.extend(words.find_in(&one.before));
        let citation = Citation {
            evidence: Evidence::Overlap { share: 1.0 },
            quote: Some(one.text.to_owned()),
            first_line: one.lines[0],
            last_line: one.lines[1],
            ..supports.quote(&source)
        };
        RankedSentence {
            by_words: OWN_WEIGHT * own + PASSAGE_WEIGHT * in_passage,
            by_place: OWN_WEIGHT * placed + FOUND_WEIGHT * hit.fused.score,
            holds_question: words.are_held(&held, source.passage),
            similarity: 0.0,
            code: None,
            source,
            citation,
        }
    });
    ranked.collect()
}

/// Sets the cosine similarity of each sentence to the question.
fn compare(run: &mut Run<'_>, sentences: &mut [RankedSentence]) -> Result<(), RunError> {
    let has_vectors = run.tools.config.retriever.kind.has_vectors();
    let question = run.question;
    let Some(corpus) = run.tools.corpus.as_mut().filter(|_| has_vectors) else {
        return Ok(());
    };

    let query = corpus.embedder.embed_queries(&[question])?;
    let query = query.first().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = sentences.iter().map(RankedSentence::text).collect();
    let vectors = corpus.embedder.embed(&texts)?;
    for (sentence, vector) in sentences.iter_mut().zip(&vectors) {
        sentence.similarity = cosine(query, vector);
    }
    Ok(())
}

/// Answers with the sentences that fit best; where `supported` is false, as what comes nearest to
/// an answer that the documents do not give.
pub fn give(run: &mut Run<'_>, ranked: RankedSentences, supported: bool) -> Answer {
    let answer = Answer::default();
    if supported {
        add_quotes(run, ranked, answer)
    } else {
        refuse(run, ranked, answer, refusal(run))
    }
}

/// Returns whether a refusal may well be wrong: a model judged the sources, and nearly accepted
/// them.
pub fn is_unclear(support: &Support) -> bool {
    support.stated.is_some() && !support.supported && support.probability >= UNCLEAR
}

/// Adds to an answer in these words that the documents do not give it, and what comes nearest.
pub fn refuse(
    run: &mut Run<'_>,
    ranked: RankedSentences,
    mut answer: Answer,
    text: &str,
) -> Answer {
    run.give_step(&mut answer, "\n\n", text.to_owned(), None);
    let mut answer = add(run, ranked, answer, false);
    if run.tools.config.answer.short {
        UNKNOWN.clone_into(&mut answer.short);
    }
    answer
}

/// Adds the sentences that fit best to an answer: one that is a mark of a source alone says nothing
/// to a reader.
pub fn add_quotes(run: &mut Run<'_>, ranked: RankedSentences, answer: Answer) -> Answer {
    add(run, ranked, answer, true)
}

/// Adds the sentences, or the blocks of code that they are in where they are an answer; what only
/// comes near is named by its line.
fn add(run: &mut Run<'_>, ranked: RankedSentences, mut answer: Answer, is_answer: bool) -> Answer {
    let mut blocks = BTreeSet::new();
    let is_frame = |one: &&RankedSentence| frames_a_text(one.text(), &one.citation);
    for sentence in ranked.fitting().filter(|one| is_answer || !is_frame(one)) {
        let text = match sentence.code.as_ref().filter(|_| is_answer) {
            Some(code) if !blocks.insert(code) => continue,
            Some(code) => format!("{FENCE}\n{code}\n{FENCE}"),
            None => format!("“{}”", quotation(sentence.text())),
        };
        run.give_step(&mut answer, "\n\n", text, Some(sentence.citation.clone()));
    }
    answer.short.clone_from(&answer.text);
    answer
}

/// Returns the words of a sentence or of a row of a table on one line: lines of a paragraph end
/// where its file wraps them.
pub fn quotation(text: &str) -> String {
    let is_quoted = text.trim_start().starts_with('>');
    let cells = match text.strip_prefix("* - ") {
        Some(listed) => Some(("\n- ", listed)),
        None => text.strip_prefix('|').map(|cells| ("\n|", cells)),
    };
    if let Some((mark, cells)) = cells.filter(|(_, cells)| cells.contains('\n')) {
        let lines: Vec<&str> = cells.lines().map(str::trim).collect();
        let lines = lines.join("\n");
        let cells: Vec<String> = lines.split(mark).map(fold_white_space).collect();
        return cells.join(" · ");
    }
    let text = text.trim_start_matches(['*', '-', '>', '#', ' ']);
    // the number of an entry of a list of references
    let is_numbered = text.starts_with('[') && begins_item(text);
    let text = text
        .split_once(' ')
        .filter(|_| is_numbered)
        .map_or(text, |(_, rest)| rest);
    let inner = text.trim().strip_prefix('|');
    let is_list = text.lines().skip(1).any(|line| begins_item(line.trim()));
    match inner.and_then(|inner| inner.strip_suffix('|')) {
        Some(row) => {
            let cells = row.split(" | ").map(fold_white_space);
            let cells: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
            cells.join(" · ")
        }
        None if is_quoted => fold_white_space(&text.replace("\n>", "\n")),
        None if is_list => join_list(text),
        None => fold_white_space(text),
    }
}

/// Returns a list with its lead on one line.
fn join_list(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines().map(str::trim) {
        let separator = match joined.chars().next_back() {
            None => "",
            Some(':' | '：') => " ",
            Some(_) if begins_item(line) => " · ",
            Some(_) => " ",
        };
        let bare = line.trim_start_matches(['*', '-', '+', '•', ' ']);
        joined.push_str(if bare.is_empty() { "" } else { separator });
        joined.push_str(bare);
    }
    fold_white_space(&joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_is_one_line_without_the_marks_of_its_format() {
        for (text, expected) in [
            ("- a rope\n  of hemp", "a rope of hemp"),
            ("## The keeper", "The keeper"),
            ("> Use a rope\n> of hemp.", "Use a rope of hemp."),
            ("Stop at\n> 5 bar.", "Stop at > 5 bar."),
            (
                "| Key: `Enter` | Description: Open  selected |",
                "Key: `Enter` · Description: Open selected",
            ),
            ("| id: 7 |  | pay: 40 |", "id: 7 · pay: 40"),
            ("a | b", "a | b"),
            ("|Gate: Arvel\n|Width: 61", "Gate: Arvel · Width: 61"),
            ("* - Gate: Arvel\n  - Width: 61", "Gate: Arvel · Width: 61"),
            ("[2] Paint it.", "Paint it."),
            (
                "Baker:\n\n* rye\n  bread\n* rolls",
                "Baker: rye bread · rolls",
            ),
            ("- Bergen\n  - Guide: A", "Bergen · Guide: A"),
            ("|", "|"),
        ] {
            assert_eq!(quotation(text), expected);
        }
    }

    #[test]
    fn a_line_of_code_is_quoted_with_its_block() {
        let of = |document: &str, text: &str| ChunkText {
            document: document.to_owned(),
            text: text.to_owned(),
            ..ChunkText::default()
        };
        let page = "Set it:\n\n```toml\n[net]\nport = 1\n\nhost = 2\n```\n\nThen start.";
        let code = "use a;\n\nfn b() {\n    c();\n}\n\nfn d() {}";
        for (document, text, line, expected) in [
            (
                "a.md",
                page,
                "port = 1",
                Some("[net]\nport = 1\n\nhost = 2"),
            ),
            ("a.md", page, "Then start.", None),
            ("a.rs", code, "c();", Some("fn b() {\n    c();\n}")),
            ("a.rs", code, "use a;", None),
            ("a.md", "```\nonly\n```", "only", None),
        ] {
            let found = code_around(&of(document, text), line, 0);
            assert_eq!(found.as_deref(), expected, "{document}: {line}");
        }
    }
}
