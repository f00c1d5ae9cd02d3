//! DENSE measures whether the model understands its context; DENSE-RAG repairs what it does not.
//!
//! "DENSE-RAG: Measuring and Improving Context Understanding for Consistent Retrieval-Augmented
//! Generation": section 4 with equations 3 to 6 and algorithm 1, section 5.2 with equations 8 to
//! 10 and algorithm 3. Each chunk is rephrased, one at a time; where the answer changes with the
//! wording, the model did not understand.
//!
//! Where the paper contradicts itself, this module decides as follows:
//! - The replies are r0, of the original context, and one per variant: k + 1 of them, as equation
//!   6 counts (section 4.1 lists k + 2).
//! - A chunk is necessary when the answer without it is not *equivalent* to r0, as algorithm 3
//!   (lines 25 to 28) has it; equation 10 also asks that neither entails the other.
//! - Refinement stops when the answer is certain *and* the context is sufficient, as algorithm 3
//!   (line 13) has it; section 5.2 says one of the two.
//! - Visited candidates stay visited. Algorithm 3 empties the set in line 15, and its loop would
//!   then never end.

use std::collections::HashMap;

use super::calls::{JudgementKind, ModelCalls, context_lines};
use super::meaning::Meaning;
use super::uncertainty::Agreement;
use crate::config::prompts::PromptName;
use crate::config::{RefillKind, RephrasingCheck, UnderstandingSettings};
use crate::event::{ChunkClass, JudgedReplies, Unmeasured, VariantFault};
use crate::llm::{Completion, Decoding, Entailment, LlmError, Prompt};

/// Maximum entropy of the answers, in nats, at which a context counts as understood (section 5).
/// The entropy of k chunks is at most ln(k + 1): 1.39 for 3, 1.79 for 5.
pub const THRESHOLD: f32 = 0.2;
/// Attempts at a rephrasing: the second one is sampled.
const ATTEMPTS: u32 = 2;
/// Temperature of that second attempt: greedy decoding would repeat the first.
const RETRY_TEMPERATURE: f32 = 0.7;
/// Maximum tokens of an answer that is measured: the prompt asks for the short answer alone.
const ANSWER_TOKENS: u32 = 32;
/// Tokens that a rephrasing may take beside twice those of its chunk.
const SPARE_TOKENS: u32 = 16;

/// DENSE for one question: the models that it asks, and its settings.
pub struct Dense<'a> {
    pub calls: &'a mut dyn ModelCalls,
    pub question: &'a str,
    pub settings: &'a UnderstandingSettings,
    pub seed: u64,
}

/// A chunk of the context.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Words of its place, which stay as they are; may be empty.
    pub place: String,
    /// Text of the passage on one line.
    pub text: String,
    /// Approximate length of the text.
    pub tokens: u32,
}

impl Passage {
    /// Returns a wording of it behind its place.
    fn with(&self, text: &str) -> String {
        format!("{}{text}", self.place)
    }
}

/// A rephrased chunk, or the reason why there is no rephrasing.
#[derive(Debug, Clone, PartialEq)]
pub struct Rephrased {
    pub text: Result<String, VariantFault>,
    /// Number of attempts.
    pub attempts: u32,
    /// The judgements on (chunk, rephrasing) and (rephrasing, chunk), if the judge was asked.
    pub judged: Option<[Entailment; 2]>,
}

/// Rephrasings by the text of their chunk: an unchanged chunk keeps its own from round to round.
#[derive(Debug, Clone, Default)]
pub struct Rephrasings(HashMap<String, Rephrased>);

/// A measured context of k chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// One per chunk.
    pub rephrased: Vec<Rephrased>,
    /// r0, the answer from the original context, then one per variant that was asked.
    pub replies: Vec<String>,
    /// Index into `replies` of each chunk's variant; `None` where the variant was skipped.
    pub reply_of: Vec<Option<usize>>,
    /// W over the replies, equation 5.
    pub agreement: Agreement,
    /// The judgements behind W: one per ordered pair of distinct replies.
    pub judgements: Vec<JudgedReplies>,
    /// Degree-based semantic entropy, equation 6, nats.
    pub dse: f64,
}

/// A context that cannot be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Unmeasurable {
    pub reason: Unmeasured,
    /// One per chunk; empty if there are no chunks.
    pub rephrased: Vec<Rephrased>,
}

/// A classified chunk of an uncertain context.
#[derive(Debug, Clone, PartialEq)]
pub struct Classified {
    pub class: ChunkClass,
    /// The answer without the chunk (equation 9), if it was asked for.
    pub without: Option<String>,
    /// Mutual entailment of that answer and r0 (equation 10): 0, 0.5 or 1.
    pub agreement: Option<f64>,
}

/// The changes that a round of refinement makes to the context.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// Indices of the chunks to drop.
    pub dropped: Vec<usize>,
    pub added: Vec<Added>,
}

/// A candidate that is added to the context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Added {
    /// Index of the candidate.
    pub candidate: usize,
    /// Index of the chunk that it was chosen for.
    pub beside: usize,
    /// Cosine similarity of the two.
    pub cosine: f32,
}

impl Dense<'_> {
    /// Measures a context (algorithm 1): the answer from it, the answers with one chunk rephrased,
    /// and how far they agree. Chunks are rephrased up to `count` of them, after what is known of
    /// fewer.
    ///
    /// # Errors
    /// Failures of the models. A context that cannot be measured is not an error of these, but an
    /// [`Unmeasurable`].
    pub fn measure(
        mut self,
        passages: &[Passage],
        count: usize,
        rephrasings: &mut Rephrasings,
        known: Option<&Measured>,
    ) -> Result<Result<Measured, Unmeasurable>, LlmError> {
        let unmeasurable = |reason, rephrased| Ok(Err(Unmeasurable { reason, rephrased }));
        if passages.is_empty() {
            return unmeasurable(Unmeasured::NoChunk, Vec::new());
        }
        let mut rephrased = self.rephrase(&passages[..count], rephrasings)?;
        let done = known.map_or(0, |known| known.rephrased.len());
        if let Some(known) = known {
            rephrased[..done].clone_from_slice(&known.rephrased);
        }

        let (mut contexts, varied) = vary_contexts(passages, &rephrased, done);
        if known.is_some() {
            contexts.remove(0);
        }
        let mut answers = self.answers("understanding", &contexts)?.into_iter();

        let mut replies = match known {
            Some(known) => known.replies.clone(),
            None => match answers.next().flatten() {
                Some(original_answer) => vec![original_answer],
                None => return unmeasurable(Unmeasured::TooLong, rephrased),
            },
        };
        let mut reply_of = known.map_or_else(Vec::new, |known| known.reply_of.clone());
        reply_of.resize(count, None);
        for (at, answer) in varied.into_iter().zip(answers) {
            match answer {
                Some(answer) => {
                    reply_of[at] = Some(replies.len());
                    replies.push(answer);
                }
                None => rephrased[at].text = Err(VariantFault::TooLong),
            }
        }
        if replies.len() < 2 {
            return unmeasurable(Unmeasured::NoVariant, rephrased);
        }

        let texts: Vec<&str> = replies.iter().map(String::as_str).collect();
        let (agreement, judgements) =
            Agreement::with_judgements(self.calls, self.question, &texts)?;
        let dse = agreement.degree_entropy();
        Ok(Ok(Measured {
            rephrased,
            replies,
            reply_of,
            agreement,
            judgements,
            dse,
        }))
    }

    /// Classifies each chunk as certain (equation 8) or, by the answer without it (equation 9), as
    /// necessary or unnecessary.
    ///
    /// # Errors
    /// Failures of the models.
    pub fn classify(
        mut self,
        passages: &[Passage],
        measured: &Measured,
    ) -> Result<Vec<Classified>, LlmError> {
        let is_uncertain = |at: &usize| measured.is_certain_of(*at) == Some(false);
        let uncertain: Vec<usize> = (0..passages.len()).filter(is_uncertain).collect();
        let without_one = uncertain.iter().map(|left_out| {
            let mut context = texts(passages);
            context.remove(*left_out);
            context
        });
        let without_one: Vec<Vec<String>> = without_one.collect();
        let answers = self.answers("without a chunk", &without_one)?.into_iter();
        let answers: Vec<String> = answers.map(Option::unwrap_or_default).collect();
        let others: Vec<&str> = answers.iter().map(String::as_str).collect();
        let agreements =
            Agreement::with_first(self.calls, self.question, &measured.replies[0], &others)?;

        let mut answered = answers.into_iter().zip(agreements);
        let classified = (0..passages.len()).map(|at| {
            let answered = if is_uncertain(&at) {
                answered.next()
            } else {
                None
            };
            Classified {
                class: match (measured.is_certain_of(at), &answered) {
                    (None, _) => ChunkClass::Unmeasured,
                    (Some(_), None) => ChunkClass::Certain,
                    (Some(_), Some((_, agreement))) => class_of(*agreement),
                },
                agreement: answered.as_ref().map(|(_, agreement)| *agreement),
                without: answered.map(|(without, _)| without),
            }
        });
        Ok(classified.collect())
    }

    /// Rephrases each chunk (equation 3); chunks that `known` holds are not rephrased again.
    ///
    /// A rephrasing is rejected when it is empty, has the words of its chunk, or, where the
    /// settings say so, does not entail it and follow from it. A rejected one is sampled once more,
    /// then given up.
    fn rephrase(
        &mut self,
        passages: &[Passage],
        known: &mut Rephrasings,
    ) -> Result<Vec<Rephrased>, LlmError> {
        let mut open: Vec<&Passage> = Vec::new();
        for passage in passages {
            let is_known = known.0.contains_key(&passage.text);
            if !is_known && !open.iter().any(|other| other.text == passage.text) {
                open.push(passage);
            }
        }

        for attempt in 1..=ATTEMPTS {
            let decoding = self.rephrasing(attempt, &open);
            let prompts = open.iter().map(|passage| {
                let values = [("text", passage.text.as_str())];
                self.calls.prompt(PromptName::Rephrase, &values)
            });
            let prompts: Vec<Prompt> = prompts.collect();
            let written = each_that_fits(&prompts, |prompts| {
                self.calls.complete("rephrase", prompts, &decoding)
            })?;

            let checked = self.check(&open, written, attempt)?;
            for (passage, rephrased) in open.iter().zip(checked) {
                known.0.insert(passage.text.clone(), rephrased);
            }
            open.retain(|passage| {
                let rephrased = known.0.get(&passage.text);
                rephrased.is_none_or(|rephrased| rephrased.text.is_err())
            });
            if open.is_empty() {
                break;
            }
        }
        let rephrased = passages.iter().filter_map(|one| known.0.get(&one.text));
        Ok(rephrased.cloned().collect())
    }

    /// Decoding of an attempt at rephrasing: the first is greedy, the second sampled.
    fn rephrasing(&self, attempt: u32, passages: &[&Passage]) -> Decoding {
        let longest = passages.iter().map(|passage| passage.tokens).max();
        let temperature = if attempt == 1 { 0.0 } else { RETRY_TEMPERATURE };
        let max_tokens = longest.unwrap_or(0) * 2 + SPARE_TOKENS;
        let seed = self.seed.wrapping_add(u64::from(attempt - 1));
        Decoding {
            temperature,
            ..Decoding::greedy(max_tokens, seed)
        }
    }

    /// Checks which rephrasings keep the meaning of their chunk in other words.
    fn check(
        &mut self,
        passages: &[&Passage],
        written: Vec<Option<Completion>>,
        attempt: u32,
    ) -> Result<Vec<Rephrased>, LlmError> {
        let written = passages.iter().zip(written);
        let checked = written.map(|(passage, written)| Rephrased {
            text: in_other_words(passage, written),
            attempts: attempt,
            judged: None,
        });
        let mut checked: Vec<Rephrased> = checked.collect();
        let is_enforced = match self.settings.check_rephrasings {
            RephrasingCheck::Off => return Ok(checked),
            RephrasingCheck::Report => false,
            RephrasingCheck::Enforce => true,
        };

        let both_ways = passages.iter().zip(&checked);
        let both_ways = both_ways.filter_map(|(passage, rephrased)| {
            let own = passage.text.as_str();
            let text = rephrased.text.as_deref().ok()?;
            Some([(own, text), (text, own)])
        });
        let both_ways: Vec<[(&str, &str); 2]> = both_ways.collect();
        let judged = each_that_fits(&both_ways, |pairs| {
            let judged = self.calls.entail(self.question, pairs.as_flattened())?;
            Ok(judged.as_chunks::<2>().0.to_vec())
        })?;

        let written = checked.iter_mut().filter(|one| one.text.is_ok());
        for (rephrased, judged) in written.zip(judged) {
            rephrased.judged = judged;
            match judged {
                _ if !is_enforced => {}
                Some(pair) if pair.iter().all(Entailment::is_entailed) => {}
                Some(_) => rephrased.text = Err(VariantFault::OtherMeaning),
                None => rephrased.text = Err(VariantFault::TooLong),
            }
        }
        Ok(checked)
    }

    /// Returns the short answer from each context; `None` where the prompt is too long.
    fn answers(
        &mut self,
        purpose: &str,
        contexts: &[Vec<String>],
    ) -> Result<Vec<Option<String>>, LlmError> {
        let prompts = contexts.iter().map(|texts| {
            let question = ("question", self.question);
            if texts.is_empty() {
                return self.calls.prompt(PromptName::QaClosed, &[question]);
            }
            let context = context_lines(texts).join("\n");
            let values = [("context", context.as_str()), question];
            self.calls.prompt(PromptName::QaShort, &values)
        });
        let prompts: Vec<Prompt> = prompts.collect();

        // Section 4.1: greedy decoding, so that only the wording of the context varies.
        let decoding = Decoding::greedy(ANSWER_TOKENS, self.seed);
        let completions = each_that_fits(&prompts, |prompts| {
            self.calls.complete(purpose, prompts, &decoding)
        })?;
        let answers = completions.into_iter();
        let answers = answers.map(|one| Some(one?.text.trim().to_owned()));
        Ok(answers.collect())
    }
}

/// Returns the texts of a context, each behind its place.
fn texts(passages: &[Passage]) -> Vec<String> {
    let texts = passages.iter().map(|passage| passage.with(&passage.text));
    texts.collect()
}

/// Returns the contexts of equation 4, C0 the context itself and C_i with chunk i rephrased from
/// chunk `first` on, and the places of the chunks that were.
fn vary_contexts(
    passages: &[Passage],
    rephrased: &[Rephrased],
    first: usize,
) -> (Vec<Vec<String>>, Vec<usize>) {
    let original = texts(passages);
    let mut contexts = vec![original.clone()];
    let mut varied = Vec::new();

    for (at, rephrased) in rephrased.iter().enumerate().skip(first) {
        if let Ok(text) = &rephrased.text {
            let mut context = original.clone();
            context[at] = passages[at].with(text);
            contexts.push(context);
            varied.push(at);
        }
    }
    (contexts, varied)
}

/// Returns the class of an uncertain chunk by the mutual entailment (0, 0.5 or 1) of the answers
/// with it and without it.
fn class_of(agreement: f64) -> ChunkClass {
    if agreement >= 1.0 {
        ChunkClass::Unnecessary
    } else {
        ChunkClass::Necessary
    }
}

impl Measured {
    /// Returns whether the answer is stable under rephrasing (section 5): DSE is at most the
    /// threshold.
    pub fn is_certain(&self) -> bool {
        self.dse <= f64::from(THRESHOLD)
    }

    /// Returns whether the answer is stable under rephrasing of one chunk (equation 8); `None`
    /// where its variant was skipped.
    pub fn is_certain_of(&self, chunk: usize) -> Option<bool> {
        self.reply_of[chunk].map(|reply| self.agreement.rows()[reply][0] >= 1.0)
    }
}

/// Returns the rephrasing of a passage unless it is missing, empty or in the passage's own words.
fn in_other_words(passage: &Passage, written: Option<Completion>) -> Result<String, VariantFault> {
    let text = written.ok_or(VariantFault::TooLong)?.text.trim().to_owned();
    if text.is_empty() {
        Err(VariantFault::Empty)
    } else if Meaning::new(&text) == Meaning::new(&passage.text) {
        Err(VariantFault::SameWords)
    } else {
        Ok(text)
    }
}

/// Makes one call for all items; if one is too long for the model, one for each, with `None` for
/// those that are too long.
fn each_that_fits<T, R>(
    items: &[T],
    mut call: impl FnMut(&[T]) -> Result<Vec<R>, LlmError>,
) -> Result<Vec<Option<R>>, LlmError> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    match call(items) {
        Err(LlmError::PromptTooLong { .. }) => items
            .iter()
            .map(|item| match call(std::slice::from_ref(item)) {
                Err(LlmError::PromptTooLong { .. }) => Ok(None),
                results => Ok(results?.into_iter().next()),
            })
            .collect(),
        results => Ok(results?.into_iter().map(Some).collect()),
    }
}

/// Returns the probability that the model calls the context sufficient (appendix B.3, prompt
/// `self_evaluate`); `None` when the prompt is too long.
///
/// # Errors
/// Failures of the generator.
pub fn self_evaluate(
    calls: &mut dyn ModelCalls,
    question: &str,
    texts: &[String],
) -> Result<Option<f32>, LlmError> {
    let context = context_lines(texts).join("\n");
    let values = [("context", context.as_str()), ("question", question)];
    let prompt = calls.prompt(PromptName::SelfEvaluate, &values);

    match calls.classify(JudgementKind::SELF_EVALUATION, &[prompt]) {
        Err(LlmError::PromptTooLong { .. }) => Ok(None),
        rows => {
            let yes = rows?.first().and_then(|row| row.shares.first().copied());
            Ok(yes.filter(|yes| yes.is_finite()))
        }
    }
}

/// Prunes and refills (section 5.2; algorithm 3, lines 29 to 39): drops the unnecessary chunks, and
/// for each necessary one adds the candidate most similar to it.
///
/// `nearest(chunk, taken)` returns the most similar candidate that is not in `taken`, with its
/// cosine similarity. If everything would be dropped and nothing added, the first chunk stays: a
/// context is never empty.
pub fn change(
    classes: &[ChunkClass],
    refill: RefillKind,
    mut nearest: impl FnMut(usize, &[usize]) -> Option<(usize, f32)>,
) -> Change {
    let of_class = |class| (0..classes.len()).filter(move |at| Some(classes[*at]) == class);
    let mut change = Change {
        dropped: of_class(Some(ChunkClass::Unnecessary)).collect(),
        added: Vec::new(),
    };
    let refilled = match refill {
        RefillKind::Off => None,
        RefillKind::Necessary => Some(ChunkClass::Necessary),
        RefillKind::Certain => Some(ChunkClass::Certain),
    };
    let mut taken = Vec::new();
    for beside in of_class(refilled) {
        if let Some((candidate, cosine)) = nearest(beside, &taken) {
            taken.push(candidate);
            change.added.push(Added {
                candidate,
                beside,
                cosine,
            });
        }
    }

    if change.dropped.len() == classes.len() && change.added.is_empty() {
        change.dropped.remove(0);
    }
    change
}

/// The criteria by which measured contexts are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evaluation {
    pub dse: f64,
    /// Whether the model calls the context sufficient.
    pub sufficient: bool,
    /// Whether r0 counts as an answer. The paper has no "unknown", and every reply counts there;
    /// with `refiner.prefer_answers` one that says that there is no answer does not.
    pub answered: bool,
}

impl Evaluation {
    /// Returns whether this context replaces the best one so far: the one of two that is answered;
    /// else, if it is less uncertain and does not give up a sufficient context for one that is not
    /// (algorithm 3, lines 8 to 12).
    pub fn is_better_than(&self, best: &Self) -> bool {
        if self.answered == best.answered {
            self.dse < best.dse && (!best.sufficient || self.sufficient)
        } else {
            self.answered
        }
    }

    /// Returns whether refinement can stop with this context: it is answered, certain and
    /// sufficient (algorithm 3, line 13).
    pub fn is_good_enough(&self) -> bool {
        self.answered && self.dse <= f64::from(THRESHOLD) && self.sufficient
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_necessary_unless_the_answer_without_it_is_equivalent() {
        assert_eq!(
            [0.0, 0.5, 1.0].map(class_of),
            [
                ChunkClass::Necessary,
                ChunkClass::Necessary,
                ChunkClass::Unnecessary
            ]
        );
    }
}
