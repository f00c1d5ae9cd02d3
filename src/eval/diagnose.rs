//! Finds where the answer to a question went wrong: from a run, and from runs with other settings.

use std::collections::HashSet;

use crate::config::{Config, FilterKind, Location, LocationPart, RerankerKind};
use crate::corpus::language;
use crate::engine::without_marks;
use crate::event::{ChunkText, OtherFiles};
use crate::index::content_words;
use crate::letters;
use crate::story::{
    BrokenLink, Diagnosis, Expected, Facts, Found, FoundPassage, Inquiry, PassageTrace, Run,
    Settings, Tried, words,
};

/// Chunks that are searched for a passage that nobody named.
const WIDE: u32 = 50;
/// Passages of them whose answers are compared.
const MAX_GUESSES: usize = 3;
/// Changes that are tried beside the answers from the passage alone and from memory.
const MAX_CHANGES: usize = 3;
/// Words of a passage, which an answer can say in part; what is shorter it says whole.
const MIN_PASSAGE_WORDS: usize = 5;

/// The settings of an answer from what is pinned and nothing else, whatever its support.
const BARE: [(&str, &str); 15] = [
    ("rewriter.kind", "off"),
    ("retriever.at_start", "true"),
    ("retriever.filter", ""),
    ("retriever.excluded", "[]"),
    ("retriever.k", "1"),
    ("linker.kind", "off"),
    ("filter.kind", "off"),
    ("reranker.kind", "off"),
    ("understanding.kind", "off"),
    ("refiner.kind", "off"),
    ("gate.kind", "off"),
    ("query.kind", "question"),
    ("utility.kind", "off"),
    ("answer.min_support", "0"),
    ("stages.when", "always"),
];

/// Returns the bare settings of a run, with these on top.
fn bare(run: &Run, settings: &[(&str, &str)]) -> Settings {
    let is_off = !run.settings.retriever.kind.is_on();
    let searching = [("retriever.kind", "hybrid")];
    let searching = searching.iter().filter(|_| is_off);
    let all = BARE.iter().chain(searching).chain(settings);
    all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// Returns the settings whose context is these chunks.
pub(super) fn only(run: &Run, chunks: &[&ChunkText]) -> Settings {
    let location = |chunk: &&ChunkText| Location {
        document: chunk.document.clone(),
        part: LocationPart::Bytes(chunk.bytes),
    };
    let pinned: Vec<String> = chunks.iter().map(|one| location(one).to_string()).collect();
    let pinned = toml::Value::from(pinned).to_string();
    bare(run, &[("retriever.pinned", &pinned)])
}

/// Names the first broken link of a run, and tries what changes it. Without `expected`, a passage
/// is searched that answers the question.
///
/// # Errors
/// Failures of the inquiry.
pub fn diagnose<E>(
    run: &Run,
    expected: Option<Expected>,
    inquiry: &mut dyn Inquiry<Error = E>,
) -> Result<Diagnosis, E> {
    let expected = match expected {
        Some(expected) => expected,
        None => guess(run, inquiry)?,
    };
    let located = Located::new(run, &expected, inquiry)?;
    let mut facts = located.facts(run, &expected);
    let passage = located.passage.as_ref();
    let word =
        |facts: &Facts<'_>| Diagnosis::new(run, expected.clone(), facts, passage, &located.others);
    let mut tries = Tries {
        expected: &expected,
        chunk: passage.map(|passage| &passage.chunk.chunk),
        inquiry,
        so_far: word(&facts),
    };

    if !facts.is_said {
        tries.isolate(run, passage, &mut facts)?;
    }
    if let Some((link, passage)) = BrokenLink::first(&facts).zip(passage) {
        for (change, settings) in changes(link, passage, run).into_iter().take(MAX_CHANGES) {
            tries.ask(&change, settings)?;
        }
    }

    Ok(Diagnosis {
        tried: tries.so_far.tried,
        ..word(&facts)
    })
}

/// Returns the first broken link of a run; `None` where its answer is right.
///
/// # Errors
/// Failures of the inquiry.
pub fn find_broken_link<E>(
    run: &Run,
    expected: Expected,
    inquiry: &mut dyn Inquiry<Error = E>,
) -> Result<Option<BrokenLink>, E> {
    let located = Located::new(run, &expected, inquiry)?;
    let mut facts = located.facts(run, &expected);
    let passage = located.passage.as_ref();
    let so_far = Diagnosis::new(run, expected.clone(), &facts, passage, &located.others);

    // only what was in the prompt is a question of the model
    if BrokenLink::first(&facts).is_some_and(BrokenLink::is_of_model) {
        let mut tries = Tries {
            expected: &expected,
            chunk: passage.map(|passage| &passage.chunk.chunk),
            inquiry,
            so_far,
        };
        tries.isolate(run, passage, &mut facts)?;
    }
    Ok(BrokenLink::first(&facts))
}

/// The runs with other settings.
struct Tries<'a, E> {
    expected: &'a Expected,
    chunk: Option<&'a ChunkText>,
    inquiry: &'a mut dyn Inquiry<Error = E>,
    so_far: Diagnosis,
}

impl<E> Tries<'_, E> {
    /// Asks from the passage alone, and without documents.
    fn isolate(
        &mut self,
        run: &Run,
        passage: Option<&FoundPassage>,
        facts: &mut Facts<'_>,
    ) -> Result<(), E> {
        if let Some(passage) = passage {
            let rest = passage.rest.as_ref();
            let chunks: Vec<&ChunkText> = [&passage.chunk.chunk].into_iter().chain(rest).collect();
            facts.alone = Some(self.ask("the passage alone", only(run, &chunks))?);
        }
        let closed = bare(run, &[("retriever.kind", "off")]);
        facts.from_memory = Some(self.ask("without documents", closed)?);
        Ok(())
    }

    /// Asks with a change, and returns whether the answer holds what is expected.
    fn ask(&mut self, change: &str, settings: Settings) -> Result<bool, E> {
        self.inquiry.show(&self.so_far, change);
        let run = self.inquiry.ask(&settings)?;
        let says = is_said(self.expected, &run);
        let tried = Tried::new(change, settings, &run, self.chunk, says);
        self.so_far.tried.push(tried);
        Ok(says)
    }
}

/// The passage that came least far of those that the answer needs.
struct Located {
    passage: Option<FoundPassage>,
    others: OtherFiles,
}

impl Located {
    fn new<E>(
        run: &Run,
        expected: &Expected,
        inquiry: &mut dyn Inquiry<Error = E>,
    ) -> Result<Self, E> {
        let mut queries = PassageTrace::queries(run);
        if queries.is_empty() {
            queries.push((0, run.standalone().to_owned()));
        }
        let mut least: Option<FoundPassage> = None;
        for text in &expected.passages {
            let Some(passage) = FoundPassage::new(run, &inquiry.trace(text, &queries)?) else {
                return Ok(Self {
                    passage: None,
                    others: inquiry.search_other_files(text)?,
                });
            };
            let is_less = |known: &FoundPassage| passage.progress() < known.progress();
            if least.as_ref().is_none_or(is_less) {
                least = Some(passage);
            }
        }
        let others = match least {
            Some(_) => OtherFiles::default(),
            None => inquiry.search_other_files("")?,
        };
        Ok(Self {
            passage: least,
            others,
        })
    }

    fn facts(&self, run: &Run, expected: &Expected) -> Facts<'_> {
        let settings = &run.settings.retriever;
        let passage = self.passage.as_ref();
        let rank = passage.and_then(|passage| passage.chunk.fused);
        let in_other_file = self.others.holding.is_some();
        Facts {
            is_said: is_said(expected, run),
            found: match passage {
                Some(passage) => passage.found,
                None if in_other_file => Found::OtherFile,
                None => Found::Nowhere,
            },
            marks: passage.map_or(&[], |passage| &passage.marks),
            is_limited: !settings.filter.is_empty()
                && rank.is_some_and(|ranked| ranked.rank <= settings.keep.max(settings.k)),
            is_refused: is_refused(run),
            alone: None,
            from_memory: None,
        }
    }
}

pub(super) fn is_refused(run: &Run) -> bool {
    run.support.is_some_and(|support| !support.supported)
}

/// Returns whether the answer of a run holds a right answer, or says what a passage does.
pub(super) fn is_said(expected: &Expected, run: &Run) -> bool {
    // a passage of several may be said beside a wrong answer
    if expected.answers.is_empty() {
        says_one(run, &expected.passages)
    } else {
        says_one(run, &expected.answers)
    }
}

/// Returns whether the answer of a run says one of these texts.
pub(super) fn says_one(run: &Run, texts: &[String]) -> bool {
    // what comes nearest is quoted behind a refusal
    if is_refused(run) {
        return false;
    }
    let said = [&run.text, &run.answer].map(|text| letters::separate_words(&without_marks(text)));
    texts.iter().any(|text| {
        let wanted = letters::separate_words(text);
        said.iter().any(|said| letters::holds(said, &wanted))
            || agrees(text, &run.question, &without_marks(&run.text))
    })
}

/// Returns whether an answer says what a passage, or another answer, does: beside the words of the
/// question it has all words of it, or else, of a passage, all its own numbers and half of its
/// words from there.
fn agrees(passage: &str, question: &str, answer: &str) -> bool {
    let language = language(passage);
    let words = |text| {
        content_words(text, language)
            .into_iter()
            .collect::<HashSet<String>>()
    };
    let (held, asked, answered) = (words(passage), words(question), words(answer));
    let mut expected = held.difference(&asked).peekable();
    if expected.peek().is_some() && expected.all(|word| answered.contains(word)) {
        return true;
    }
    if passage.split_whitespace().count() < MIN_PASSAGE_WORDS {
        return false;
    }

    let new: Vec<String> = answered
        .into_iter()
        .filter(|word| !asked.contains(word))
        .collect();

    let is_number = |word: &&String| word.contains(|c: char| c.is_ascii_digit());
    let shared = new.iter().filter(|word| held.contains(*word)).count();
    let has_its_numbers = new
        .iter()
        .filter(is_number)
        .all(|number| held.contains(number));
    shared > 0 && has_its_numbers && shared * 2 >= new.len()
}

/// Searches a passage that answers the question: of the sentences that fit it best among many
/// chunks, the one whose chunk alone is judged most to answer it.
fn guess<E>(run: &Run, inquiry: &mut dyn Inquiry<Error = E>) -> Result<Expected, E> {
    let wide = WIDE.to_string();
    let quotes = [
        ("answer.prompt", "quotes"),
        ("retriever.k", &wide),
        ("retriever.pool", "200"),
    ];
    let quoted = inquiry.ask(&bare(run, &quotes))?;
    let found = quoted.lookups.iter().map(|lookup| lookup.found as u64);
    let chunks = words::quantity(found.max().unwrap_or(0), "chunk");

    let mut best: Option<(f32, String, String)> = None;
    let citations = quoted
        .citations
        .iter()
        .filter(|citation| citation.quote.is_some());
    for citation in citations.take(MAX_GUESSES) {
        let Some(hit) = quoted.hit(citation.chunk) else {
            continue;
        };
        let alone = inquiry.ask(&only(run, &[&hit.chunk]))?;
        let probability = alone
            .support
            .or(quoted.support)
            .map_or(0.0, |support| support.probability);
        if best.as_ref().is_none_or(|(most, ..)| probability > *most) {
            let quote = citation.quote.clone().unwrap_or_default();
            best = Some((probability, quote, words::chunk_location(&hit.chunk)));
        }
    }

    let least = run.settings.answer.min_support;
    let (passages, guess) = match best {
        Some((probability, quote, location)) if probability >= least => {
            let share = words::percent(probability);
            let guess = format!(
                "a guess: of {chunks}, {location} alone is judged most to answer the question, with {share}"
            );
            (vec![quote], guess)
        }
        _ => {
            let guess = format!("a guess: none of {chunks} seems to answer it");
            (Vec::new(), guess)
        }
    };
    Ok(Expected {
        passages,
        answers: Vec::new(),
        guess: Some(guess),
    })
}

/// Returns the changes of settings that may repair a link, the likeliest first.
fn changes(link: BrokenLink, passage: &FoundPassage, run: &Run) -> Vec<(String, Settings)> {
    let settings = &run.settings;
    let mut changes = Vec::new();
    let mut add = |name: &str, values: &[(&str, &str)]| {
        let values = values
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        changes.push((name.to_owned(), values.collect()));
    };
    match link {
        BrokenLink::NotInCorpus | BrokenLink::NotRead | BrokenLink::Cut => {}
        BrokenLink::NotSearched => add(
            "with a search before the answer",
            &[("retriever.kind", "hybrid"), ("retriever.at_start", "true")],
        ),
        BrokenLink::NotFound => add_searches(&mut add, passage, settings),
        BrokenLink::LeftOut => add(
            "without the filter of documents and exclusions",
            &[("retriever.filter", ""), ("retriever.excluded", "[]")],
        ),
        BrokenLink::Replaced => {}
        BrokenLink::Filtered => add("without the filter", &[("filter.kind", "off")]),
        BrokenLink::Outranked => add("without the reranker", &[("reranker.kind", "off")]),
        BrokenLink::NoRoom => {
            add(
                "answers of at most 64 tokens",
                &[("answer.max_tokens", "64")],
            );
            add(
                "the context length of the model",
                &[("generator.context_tokens", "0")],
            );
        }
        BrokenLink::NoTime => add(
            "however long it takes",
            &[("answer.first_word_seconds", "0")],
        ),
        BrokenLink::Pruned => add("without refinement", &[("refiner.kind", "off")]),
        BrokenLink::Refused => add("whatever its support", &[("answer.min_support", "0")]),
        BrokenLink::Misled => {
            let label = passage.rank().unwrap_or(1).to_string();
            add(&format!("k = {label}"), &[("retriever.k", &label)]);
            if settings.reranker.kind == RerankerKind::Off {
                add(
                    "with the reranker and k = 1",
                    &[RERANKER, ("retriever.k", "1")],
                );
            }
        }
        BrokenLink::KnownWithout | BrokenLink::Unread => {
            add("quotations", &[("answer.prompt", "quotes")]);
        }
    }
    changes
}

/// The change that reranks the hits.
const RERANKER: (&str, &str) = ("reranker.kind", "model");

/// Adds the searches that may find a passage.
fn add_searches(
    mut add: impl FnMut(&str, &[(&str, &str)]),
    passage: &FoundPassage,
    settings: &Config,
) {
    if let Some(rank) = passage.rank().filter(|rank| *rank <= WIDE) {
        add(
            &format!("k = {rank}"),
            &[("retriever.k", &rank.to_string())],
        );
    }

    let has_best = |ranked: Option<crate::event::Ranked>| {
        ranked.is_some_and(|ranked| ranked.rank <= settings.retriever.k)
    };
    if has_best(passage.chunk.bm25) {
        add("BM25 alone", &[("retriever.kind", "bm25")]);
    }
    if has_best(passage.chunk.vector) {
        add("vectors alone", &[("retriever.kind", "vectors")]);
    }

    if settings.reranker.kind == RerankerKind::Off {
        add("with the reranker", &[RERANKER, ("retriever.keep", "50")]);
    }
    if settings.filter.kind != FilterKind::Off {
        add("without the filter", &[("filter.kind", "off")]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_the_name_of_a_call() {
        let mut run = Run::default();
        run.text.push_str("It calls `time.sleep(3)` [1].");
        assert!(says_one(&run, &["time.sleep".to_owned()]));
        assert!(!says_one(&run, &["time.sl".to_owned()]));
    }

    #[test]
    fn an_answer_says_a_passage_by_its_words_and_numbers() {
        let question = "Why did they switch to German?";
        let passage = "in protest against the occupation of Prussia by Napoleon";
        for (answer, expected) in [
            (
                "They switched in protest against the occupation of Prussia by Napoleon in 1806.",
                true,
            ),
            ("In protest against Napoleon.", true),
            ("They switched in 1806 under Napoleon.", false),
            ("They wanted better schools.", false),
        ] {
            assert_eq!(agrees(passage, question, answer), expected, "{answer}");
        }

        let question = "What do random access machines share with Turing machines?";
        let wanted = "the machines operate deterministically";
        for (answer, expected) in [
            ("They share that they operate deterministically.", true),
            ("They operate in linear time.", false),
            ("The machines are Turing machines.", false),
        ] {
            assert_eq!(agrees(wanted, question, answer), expected, "{answer}");
        }
    }
}
