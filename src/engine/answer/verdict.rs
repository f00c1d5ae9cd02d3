//! The verdict: whether an answer can be trusted, from what its sources state, its citations, and
//! the words that the model was unsure of.

use crate::corpus::{language, split_words};
use crate::engine::run::{Answer, Sentence};
use crate::event::{
    Conflict, Support, UncertainWord, Verdict, VerdictFit, VerdictKind, logistic, logit_of,
    saturating_u32,
};
use crate::index::{content_words, is_content_word};
use crate::llm::Token;
use crate::methods::query::{Word, words};

use super::marks::without_marks;
use super::short;
use super::wording::{is_lead, text_language};

/// Least probability of an answer that is not doubtful.
const SUPPORTED: f32 = 0.5;
/// Least probability of an answer without a single source that is not refused. Of 22 answerable and
/// 22 unanswerable questions about SQuAD's tuning articles, it refuses 1 and 5 more.
const FOUNDED: f32 = 0.4;

/// Ways to say that the sources have no answer, in lower case.
#[rustfmt::skip]
const UNANSWERED: &[&str] = &[
    "do not answer", "do not contain", "do not mention", "do not provide", "do not say",
    "do not specify", "do not state", "does not answer", "does not contain", "does not mention",
    "does not provide", "does not say", "does not specify", "does not state", "is not mentioned",
    "is not provided", "is not specified", "is not stated", "no information", "no mention of",
    "cannot be answered", "cannot be determined", "nicht erwähnt", "nicht angegeben",
    "keine information", "enthalten keine", "ne mentionne", "pas mentionné", "pas précisé",
    "aucune information", "no menciona", "no se menciona", "no contiene", "no hay información",
    "没有提到", "没有提及", "未提及", "没有说明",
];

/// Words that no sentence ends with, in lower case.
const CUT_ENDS: &[&str] = &[
    "of", "for", "by", "from", "with", "the", "a", "an", "and", "or", "than",
];
/// Words that point to the mark behind them, in lower case.
const POINTING_ENDS: &[&str] = &[
    "in", "at", "on", "to", "see", "source", "sources", "is", "was", "ist", "lautet", "est", "es",
];

/// Words of a sentence about the sources, which states nothing beside others: "They both agree."
#[rustfmt::skip]
const OF_SOURCES: &[&str] = &[
    "source", "sources", "document", "documents", "passage", "passages", "information", "answer",
    "agree", "confirm", "state", "provided", "based", "both", "quellen", "quelle", "angaben",
];

/// The sentences of an answer, with the signs for and against them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statements {
    /// Sentences that state something.
    count: u32,
    /// The steps of those that no source holds.
    uncited: Vec<u32>,
    /// The steps of those that a source holds.
    cited: Vec<u32>,
    /// Whether a model wrote the answer, be it nothing; else it is of quotations.
    is_written: bool,
    /// Whether a sentence says that the sources have no answer.
    says_unanswered: bool,
    /// Whether one of these has no source, so that it says what is missing.
    leaves_out: bool,
    /// The word that carries the answer and that the model was least sure of.
    least_certain: Option<UncertainWord>,
    /// The mean log-probability of all tokens, nats.
    mean_logprob: f32,
}

impl Statements {
    /// Weighs the sentences that were written for a question.
    pub fn new(question: &str, answer: &Answer) -> Self {
        let sentences = answer.sentences.as_slice();
        let tokens = sentences
            .iter()
            .flat_map(|sentence| behind_lead(&sentence.tokens));
        let logprobs: Vec<f32> = tokens.map(|token| token.logprob).collect();
        let mut statements = Self {
            is_written: !sentences.is_empty() || answer.text.is_empty(),
            mean_logprob: logprobs.iter().sum::<f32>() / logprobs.len().max(1) as f32,
            ..Self::default()
        };

        let mut stating: Vec<&Sentence> = Vec::new();
        for (at, sentence) in sentences.iter().enumerate() {
            let text = &without_marks(sentence.text());
            if sentences.get(at + 1).is_some_and(is_rule_of_table) {
                continue;
            }
            let lower = text.to_lowercase();
            if UNANSWERED.iter().any(|phrase| lower.contains(phrase)) {
                statements.says_unanswered = true;
                statements.leaves_out |= sentence.citations.is_empty();
            } else if is_repetition(sentence, sentences) {
                statements.find_least_certain(question, sentence);
            } else if !is_cut(sentence.text(), text)
                && states_something(text, sentences.len() == 1 || !sentence.citations.is_empty())
            {
                statements.count += 1;
                if sentence.citations.is_empty() {
                    statements.uncited.push(sentence.step);
                } else {
                    statements.cited.push(sentence.step);
                }
                stating.push(sentence);
            }
        }

        // what no source holds is marked as that, and is often not the answer but how it is found
        let has_cited = !statements.cited.is_empty();
        for sentence in stating {
            if !has_cited || !sentence.citations.is_empty() {
                statements.find_least_certain(question, sentence);
            }
        }
        statements
    }

    /// Returns the steps of the sentences that no source holds, and of those that one does.
    pub fn steps(&self) -> [&[u32]; 2] {
        [&self.uncited, &self.cited]
    }

    /// Returns whether an answer was written that says nothing, not even that there is none: a mark
    /// of a source alone.
    pub fn is_silent(&self) -> bool {
        self.is_written && self.count == 0 && !self.says_unanswered
    }

    /// Returns whether a sentence says that the sources have no answer.
    pub fn says_unanswered(&self) -> bool {
        self.says_unanswered
    }

    fn find_least_certain(&mut self, question: &str, sentence: &Sentence) {
        let language = text_language(sentence.text());
        let asked = content_words(question, language);
        let carries = |word: &str| {
            is_content_word(word, language)
                && !content_words(word, language)
                    .iter()
                    .any(|form| asked.contains(form))
        };

        for Word {
            text,
            letters_probability: probability,
            ..
        } in words(behind_lead(&sentence.tokens))
        {
            let text = without_marks(&text);
            let text = text.trim_matches(|c: char| !c.is_alphanumeric());
            let is_least = self
                .least_certain
                .as_ref()
                .is_none_or(|known| probability < known.probability);
            if is_least && carries(text) {
                self.least_certain = Some(UncertainWord {
                    step: sentence.step,
                    text: text.to_owned(),
                    probability,
                });
            }
        }
    }
}

/// Returns the tokens behind the lead of a sentence, which ends with a comma; all of them where it
/// has none.
fn behind_lead(tokens: &[Token]) -> &[Token] {
    let is_lead = |comma: &usize| {
        let texts = tokens[..*comma].iter().map(|token| token.text.as_str());
        is_lead(&texts.collect::<String>())
    };
    let comma = tokens
        .iter()
        .position(|token| token.text.ends_with([',', '，']));
    comma
        .filter(is_lead)
        .map_or(tokens, |comma| &tokens[comma + 1..])
}

/// Returns whether a sentence without marks of sources has words of content, and others than those
/// about the sources unless it `may_be_of_sources`: "The state." may be a whole answer.
fn states_something(text: &str, may_be_of_sources: bool) -> bool {
    let language = language(text);
    let mut words = split_words(text).filter(|word| is_content_word(word, language));
    words.any(|word| may_be_of_sources || !OF_SOURCES.contains(&word.to_lowercase().as_str()))
}

/// Returns whether a sentence is the line below the names of the columns of a table.
fn is_rule_of_table(sentence: &Sentence) -> bool {
    let text = sentence.text().trim();
    text.starts_with('|')
        && text.contains('-')
        && text.trim_matches(['|', '-', ':', ' ']).is_empty()
}

/// Returns whether a sentence ends before it says something: it leads to a list, its end is
/// missing, or it points to a source, as in "It is shown in [1]", which is `text` without the mark.
fn is_cut(marked: &str, text: &str) -> bool {
    let last = text.split_whitespace().next_back().unwrap_or_default();
    let last = last
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    let has_mark_behind = marked.trim_end_matches(['.', ' ']).ends_with(']');
    let points = has_mark_behind && POINTING_ENDS.contains(&last.as_str());
    text.ends_with(':') || points || CUT_ENDS.contains(&last.as_str())
}

/// Returns whether a sentence states an answer that a cited sentence has: "So the answer is Lorby."
fn is_repetition(sentence: &Sentence, sentences: &[Sentence]) -> bool {
    short::find_stated(sentence.text()).is_some_and(|stated| {
        let has_it = |known: &Sentence| {
            let is_cited = !known.citations.is_empty();
            is_cited && known.text().contains(&stated) && !std::ptr::eq(known, sentence)
        };
        sentences.iter().any(has_it)
    })
}

/// Judges an answer from `sources` passages, with the calibration of verdicts where there is one.
pub fn judge(
    statements: &Statements,
    support: Option<Support>,
    sources: usize,
    conflict: Option<Conflict>,
    fit: Option<VerdictFit>,
) -> Verdict {
    let count = statements.count;
    let is_cited = saturating_u32(statements.uncited.len()) < count;
    let is_refused = support.is_some_and(|support| !support.supported);
    let unfitted = match support {
        // a mark of a source alone
        _ if statements.is_written && count == 0 => 0.0,
        Some(support) if count == 0 => support.probability,
        _ => probability(statements, support),
    };
    let probability = fit.map_or(unfitted, |fit| fit.apply(unfitted));
    // words of two languages are not compared
    let is_compared = support.is_some_and(|support| support.stated.is_some() && !support.at_once);
    let is_unfounded = is_compared && count > 0 && unfitted < FOUNDED && conflict.is_none();
    let kind = if is_refused || !is_cited && (statements.says_unanswered || is_unfounded) {
        VerdictKind::NotInDocuments
    } else if sources == 0
        || probability < SUPPORTED
        || (statements.is_written && !is_cited)
        || conflict
            .as_ref()
            .is_some_and(|other| other.newer != Some(false))
    {
        VerdictKind::Doubtful
    } else if !statements.is_written && support.is_none_or(|known| known.is_unjudged()) {
        VerdictKind::Quoted
    } else if statements.uncited.is_empty() && !statements.leaves_out {
        VerdictKind::Supported
    } else {
        VerdictKind::Partly
    };
    Verdict {
        kind,
        probability,
        unfitted: fit.map(|_| unfitted),
        sources: saturating_u32(sources),
        statements: count,
        uncited: statements.uncited.clone(),
        least_certain: statements.least_certain.clone(),
        conflict,
    }
}

/// Returns the probability that an answer is right by its sources: a logistic regression over 97
/// answers of a model of 1.5 billion parameters to questions of SQuAD and Natural Questions, 34 of
/// them unanswerable; the log-probability weighs less than in 133 earlier answers, and more than
/// in these, and the constant is that of a folder which is asked what it holds. The regression over
/// the earlier ones is that of sources which are judged at once, as theirs were
/// (`benches/experiments/2026-11-26-figures.md`).
fn probability(statements: &Statements, support: Option<Support>) -> f32 {
    let sure = statements.mean_logprob;
    let judged = support.and_then(|support| Some((logit_of(support.stated?), support.at_once)));
    let logit = match judged {
        Some((stated, false)) => 1.4 * stated + 1.5 * sure - 1.6,
        Some((stated, true)) => 1.17 * stated + 4.08 * sure + 0.59,
        None => 5.73 * sure + 0.97,
    };
    logistic(logit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Citation, Evidence};

    fn sentence(text: &str, is_cited: bool, probability: f32) -> Sentence {
        let token = |word: &str| Token {
            id: 1,
            text: format!(" {word}"),
            logprob: probability.ln(),
            entropy: 0.1,
            attention: Vec::new(),
            is_thought: false,
            alternatives: Vec::new(),
        };
        let citation = Citation {
            label: 1,
            chunk: 1,
            chunk_lines: None,
            chunk_place: None,
            file: "people.md".to_owned(),
            first_line: 1,
            last_line: 1,
            place: None,
            quote: None,
            evidence: Evidence::Marked,
        };
        Sentence {
            step: 1,
            raw: text.to_owned(),
            tokens: text.split(' ').map(token).collect(),
            citations: vec![citation; usize::from(is_cited)],
            uncertainty: None,
        }
    }

    fn answer(sentences: &[Sentence]) -> Answer {
        Answer {
            text: "as its sentences are".to_owned(),
            sentences: sentences.to_vec(),
            ..Answer::default()
        }
    }

    fn support(stated: f32) -> Option<Support> {
        Some(Support {
            stated: Some(stated),
            at_once: false,
            by_rule: false,
            score: 1.0,
            probability: stated,
            supported: stated >= 0.5,
        })
    }

    #[test]
    fn the_verdict_follows_from_sources_citations_and_certainty() {
        let cited = || sentence("Tam Reeve was born in Lorby.", true, 0.95);
        let uncited = || sentence("He taught Mira.", false, 0.95);
        let says_no = || sentence("The sources do not mention it.", false, 0.9);
        let unsure = || sentence("Tam Reeve was born in 1825.", true, 0.4);
        let concludes = || sentence("So the answer is Lorby.", false, 0.9);
        let says = |text: &str, expected| {
            let sentences = vec![sentence(text, true, 0.95)];
            (sentences, support(0.9), 3, expected)
        };
        let cases = [
            (vec![cited(), concludes()], None, 3, VerdictKind::Supported),
            (vec![cited()], support(0.8), 3, VerdictKind::Supported),
            (vec![cited()], None, 3, VerdictKind::Supported),
            (
                vec![cited(), uncited()],
                support(0.8),
                3,
                VerdictKind::Partly,
            ),
            (vec![uncited()], support(0.8), 3, VerdictKind::Doubtful),
            (vec![unsure()], support(0.6), 3, VerdictKind::Doubtful),
            // without a source, and improbable
            (
                vec![uncited()],
                support(0.6),
                3,
                VerdictKind::NotInDocuments,
            ),
            (vec![uncited()], None, 3, VerdictKind::Doubtful),
            (
                vec![cited(), uncited()],
                support(0.6),
                3,
                VerdictKind::Doubtful,
            ),
            (vec![cited()], None, 0, VerdictKind::Doubtful),
            (
                vec![says_no()],
                support(0.8),
                3,
                VerdictKind::NotInDocuments,
            ),
            (vec![], support(0.2), 3, VerdictKind::NotInDocuments),
            says("The example is shown in [1].", VerdictKind::Doubtful),
            says("The next release is scheduled for.", VerdictKind::Doubtful),
            says("The command is [1].", VerdictKind::Doubtful),
            (
                vec![
                    cited(),
                    sentence("The sources are and, and they agree.", false, 0.9),
                ],
                support(0.8),
                3,
                VerdictKind::Supported,
            ),
            says(
                "The code is 8802, as stated in the [2] source.",
                VerdictKind::Supported,
            ),
            says("The state.", VerdictKind::Supported),
            (
                vec![cited(), sentence("They both agree.", false, 0.9)],
                support(0.8),
                3,
                VerdictKind::Supported,
            ),
            says("The town is what it is.", VerdictKind::Supported),
            says("The switch logs a user in.", VerdictKind::Supported),
            (
                vec![sentence("[2]", true, 0.9)],
                support(0.8),
                3,
                VerdictKind::Doubtful,
            ),
        ];
        for (sentences, support, sources, expected) in cases {
            let statements = Statements::new("Where was he born?", &answer(&sentences));
            let verdict = judge(&statements, support, sources, None, None);
            assert_eq!(verdict.kind, expected, "{sentences:?}");
        }

        // a paper's prompt, under which nothing is quoted instead
        let nothing = Statements::new("Where was he born?", &Answer::default());
        let verdict = judge(&nothing, None, 3, None, None);
        assert_eq!(verdict.kind, VerdictKind::Doubtful);

        let statements = Statements::new("When was Tam Reeve born?", &answer(&[unsure()]));
        let word = statements.least_certain.map(|word| word.text);
        assert_eq!(word.as_deref(), Some("1825"), "not a word of the question");
    }

    #[test]
    fn the_word_that_the_model_was_unsure_of_is_of_a_sentence_with_a_source() {
        let mut planned = sentence("Extract the relevant rows.", false, 0.3);
        let cited = sentence("Tam Reeve owns the mill.", true, 0.6);
        let found = Statements::new("Who?", &answer(&[planned.clone(), cited]));
        assert_eq!(found.least_certain.map(|word| word.probability), Some(0.6));

        planned.step = 2;
        let alone = Statements::new("Who?", &answer(&[planned]));
        assert_eq!(alone.least_certain.map(|word| word.step), Some(2));
    }

    #[test]
    fn the_lead_of_a_sentence_is_not_what_the_model_was_unsure_of() {
        let mut led = sentence("According to [1], it was Reba Davis.", true, 0.9);
        led.tokens[0].logprob = 0.3_f32.ln();
        let found = Statements::new("Who was it?", &answer(&[led]));
        let least = found.least_certain.expect("a word");
        assert_eq!(least.text, "Reba");
        assert!((found.mean_logprob - 0.9_f32.ln()).abs() < 1e-6);

        let whole = sentence("In 1825, according to all, it sank.", true, 0.9);
        assert_eq!(behind_lead(&whole.tokens).len(), whole.tokens.len());
    }
}
