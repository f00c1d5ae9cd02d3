//! DENSE: does the model understand its context? And DENSE-RAG's refinement: repair what it does not.
//!
//! "DENSE-RAG: Measuring and Improving Context Understanding for Consistent Retrieval-Augmented Generation", section 4 with equations
//! (3) to (6) and algorithm 1, section 5.2 with equations (8) to (10) and algorithm 3. Each chunk is said another way, one at a time;
//! where the answer changes with the wording, the model did not understand. Where the paper contradicts itself: the replies are r0 (of
//! the context as it is) and one a variant; a necessary chunk is one without which the answer is not equivalent; visited candidates
//! stay visited, or the refinement would never end.

use std::collections::HashMap;

use super::uncertainty::{Agreement, JudgedPair};
use super::{Meaning, MethodError, ModelCalls, context_lines};
use crate::config::prompts::PromptName;
use crate::config::{RefillKind, RefinerSettings, RefinerStop, UnderstandingSettings};
use crate::event::{ChunkClass, Unmeasured, VariantFault};
use crate::llm::{Completion, Decoding, Entailment, LlmError, Prompt, Sampling, StopRule};

/// A rephrasing that fails is made once more.
const ATTEMPTS: u32 = 2;
/// Room for a rephrasing beside twice the tokens of its chunk.
const SPARE_TOKENS: u32 = 16;

/// A chunk of the context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passage<'a> {
    /// Its text in one line.
    pub text: &'a str,
    /// About how many tokens that is.
    pub tokens: u32,
}

/// A chunk said another way, or why it is not.
#[derive(Debug, Clone, PartialEq)]
pub struct Rephrased {
    pub text: Result<String, VariantFault>,
    /// How often it was tried.
    pub attempts: u32,
    /// What the judge said of chunk and rephrasing, both ways, where it was asked.
    pub judged: Option<[Entailment; 2]>,
}

/// Rephrasings by the text of their chunk: an unchanged chunk keeps its own from round to round.
#[derive(Debug, Clone, Default)]
pub struct Rephrasings(HashMap<String, Rephrased>);

/// A measured context.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// One a chunk.
    pub rephrased: Vec<Rephrased>,
    /// r0, the answer of the context as it is, then one a variant that could be asked.
    pub replies: Vec<String>,
    /// The reply to the variant of each chunk, by place in `replies`; None where the variant was skipped.
    pub reply_of: Vec<Option<usize>>,
    /// W over the replies.
    pub agreement: Agreement,
    /// One way each, distinct replies only.
    pub judgements: Vec<JudgedPair>,
    /// Degree-based semantic entropy, equation (6), nats.
    pub dse: f64,
}

/// A chunk of an uncertain context, with what was found out about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Classified {
    pub class: ChunkClass,
    /// The answer without it, where it was asked for.
    pub without: Option<String>,
    /// Entailment of r0 and that answer, 0, 0.5 or 1: equation (10).
    pub agreement: Option<f64>,
}

/// What a round of refinement does to the context.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// Chunks to drop, by place.
    pub dropped: Vec<usize>,
    pub added: Vec<Added>,
}

/// A candidate that comes in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Added {
    /// Its place among the candidates.
    pub candidate: usize,
    /// The place of the chunk that it is to go with, and their cosine.
    pub beside: usize,
    pub cosine: f32,
}

impl Rephrasings {
    /// Each chunk said another way (equation 3). All that are not known yet are asked for in one call. One that is empty, says the same
    /// words or is not entailed both ways by its chunk is made once more, sampled, and then given up.
    fn of(
        &mut self,
        calls: &mut dyn ModelCalls,
        question: &str,
        passages: &[Passage<'_>],
        (settings, seed): (&UnderstandingSettings, u64),
    ) -> Result<Vec<Rephrased>, MethodError> {
        let mut open: Vec<Passage<'_>> = Vec::new();
        for passage in passages {
            if !self.0.contains_key(passage.text)
                && !open.iter().any(|known| known.text == passage.text)
            {
                open.push(*passage);
            }
        }
        for attempt in 1..=ATTEMPTS {
            let temperature = if attempt == 1 {
                0.0
            } else {
                settings.retry_temperature
            };
            let max_tokens =
                open.iter().map(|passage| passage.tokens).max().unwrap_or(0) * 2 + SPARE_TOKENS;
            let sampling = Sampling {
                temperature,
                ..Sampling::GREEDY
            };
            let seed = seed.wrapping_add(u64::from(attempt - 1));
            let decoding = Decoding {
                max_tokens,
                sampling,
                seed,
                stop: StopRule::default(),
            };
            let prompts = open
                .iter()
                .map(|passage| calls.prompt(PromptName::Rephrase, &[("t", passage.text)]))
                .collect::<Result<Vec<Prompt>, MethodError>>()?;
            let said = complete_what_fits(calls, "rephrase", &prompts, &decoding)?;
            let checked = check(calls, question, &open, said, settings)?;
            for (passage, (text, judged)) in open.iter().zip(checked) {
                self.0.insert(
                    passage.text.to_owned(),
                    Rephrased {
                        text,
                        attempts: attempt,
                        judged,
                    },
                );
            }
            open.retain(|passage| {
                self.0
                    .get(passage.text)
                    .is_none_or(|known| known.text.is_err())
            });
            if open.is_empty() {
                break;
            }
        }
        Ok(passages
            .iter()
            .filter_map(|passage| self.0.get(passage.text).cloned())
            .collect())
    }
}

type Checked = (Result<String, VariantFault>, Option<[Entailment; 2]>);

/// Which rephrasings say the same in other words.
fn check(
    calls: &mut dyn ModelCalls,
    question: &str,
    passages: &[Passage<'_>],
    said: Vec<Option<Completion>>,
    settings: &UnderstandingSettings,
) -> Result<Vec<Checked>, MethodError> {
    let said: Vec<Result<String, VariantFault>> = passages
        .iter()
        .zip(said)
        .map(|(passage, said)| {
            let text = said.ok_or(VariantFault::TooLong)?.text.trim().to_owned();
            match () {
                () if text.is_empty() => Err(VariantFault::Empty),
                () if Meaning::of(&text) == Meaning::of(passage.text) => {
                    Err(VariantFault::SameWords)
                }
                () => Ok(text),
            }
        })
        .collect();
    if !settings.check_rephrasings {
        return Ok(said.into_iter().map(|text| (text, None)).collect());
    }
    let both_ways: Vec<[(&str, &str); 2]> = passages
        .iter()
        .zip(&said)
        .filter_map(|(passage, text)| Some((passage.text, text.as_deref().ok()?)))
        .map(|(chunk, text)| [(chunk, text), (text, chunk)])
        .collect();
    let mut judged = judge_what_fits(calls, question, &both_ways)?.into_iter();
    let with_judgement = |text: Result<String, VariantFault>| match text {
        Err(fault) => (Err(fault), None),
        Ok(text) => match judged.next().flatten() {
            None => (Err(VariantFault::TooLong), None),
            Some(pair) if pair.iter().all(Entailment::is_entailed) => (Ok(text), Some(pair)),
            Some(pair) => (Err(VariantFault::OtherMeaning), Some(pair)),
        },
    };
    Ok(said.into_iter().map(with_judgement).collect())
}

/// All judgements in one call; when one pair is too long for the judge, each pair on its own, and None for those.
fn judge_what_fits(
    calls: &mut dyn ModelCalls,
    question: &str,
    pairs: &[[(&str, &str); 2]],
) -> Result<Vec<Option<[Entailment; 2]>>, MethodError> {
    let both = |judged: Vec<Entailment>| {
        judged
            .as_chunks::<2>()
            .0
            .iter()
            .copied()
            .map(Some)
            .collect::<Vec<_>>()
    };
    match calls.entail(question, pairs.as_flattened()) {
        Ok(judged) => Ok(both(judged)),
        Err(error) if is_too_long(&error) => pairs
            .iter()
            .map(|pair| match calls.entail(question, pair) {
                Err(error) if is_too_long(&error) => Ok(None),
                judged => Ok(both(judged?).pop().flatten()),
            })
            .collect(),
        Err(error) => Err(error),
    }
}

fn is_too_long(error: &MethodError) -> bool {
    matches!(error, MethodError::Model(LlmError::PromptTooLong { .. }))
}

/// Measure a context (algorithm 1): its answer, the answers with one chunk said another way, and how far they agree.
///
/// # Errors
/// What the models fail with. A context that cannot be measured is none: the reason comes back, with what became of each chunk.
pub fn measure(
    calls: &mut dyn ModelCalls,
    question: &str,
    passages: &[Passage<'_>],
    rephrasings: &mut Rephrasings,
    (settings, seed): (&UnderstandingSettings, u64),
) -> Result<Result<Measured, (Unmeasured, Vec<Rephrased>)>, MethodError> {
    if passages.is_empty() {
        return Ok(Err((Unmeasured::NoChunk, Vec::new())));
    }
    let mut rephrased = rephrasings.of(calls, question, passages, (settings, seed))?;
    let mut contexts: Vec<Vec<&str>> = vec![passages.iter().map(|passage| passage.text).collect()];
    let varied: Vec<usize> = (0..passages.len())
        .filter(|at| rephrased[*at].text.is_ok())
        .collect();
    for at in &varied {
        let mut context = contexts[0].clone();
        context[*at] = rephrased[*at].text.as_deref().unwrap_or_default();
        contexts.push(context);
    }
    let answers = answers(
        calls,
        "understanding",
        question,
        &contexts,
        (settings, seed),
    )?;
    let mut answers = answers.into_iter();
    let Some(as_it_is) = answers.next().flatten() else {
        return Ok(Err((Unmeasured::TooLong, rephrased)));
    };
    let mut replies = vec![as_it_is];
    let mut reply_of = vec![None; passages.len()];
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
        return Ok(Err((Unmeasured::NoVariant, rephrased)));
    }
    let texts: Vec<&str> = replies.iter().map(String::as_str).collect();
    let (agreement, judgements) = Agreement::with_judgements(calls, question, &texts)?;
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

impl Measured {
    /// Is the answer the same however the context is put? Section 5: DSE of at most the threshold.
    #[must_use]
    pub fn is_certain(&self, settings: &UnderstandingSettings) -> bool {
        self.dse <= f64::from(settings.threshold)
    }

    /// Is a chunk understood, whatever its wording? Equation (8); None where its variant was skipped.
    #[must_use]
    pub fn is_certain_of(&self, chunk: usize) -> Option<bool> {
        self.reply_of[chunk].map(|reply| self.agreement.rows()[reply][0] >= 1.0)
    }
}

/// Say of each chunk whether it is understood, and of the others whether the answer needs them: equations (8) to (10).
///
/// # Errors
/// What the models fail with.
pub fn classify(
    calls: &mut dyn ModelCalls,
    question: &str,
    passages: &[Passage<'_>],
    measured: &Measured,
    (settings, seed): (&UnderstandingSettings, u64),
) -> Result<Vec<Classified>, MethodError> {
    let uncertain: Vec<usize> = (0..passages.len())
        .filter(|at| measured.is_certain_of(*at) == Some(false))
        .collect();
    let without: Vec<Vec<&str>> = uncertain
        .iter()
        .map(|left_out| {
            (0..passages.len())
                .filter(|at| at != left_out)
                .map(|at| passages[at].text)
                .collect()
        })
        .collect();
    let asked = answers(
        calls,
        "without a chunk",
        question,
        &without,
        (settings, seed),
    )?;
    let asked: Vec<String> = asked.into_iter().map(Option::unwrap_or_default).collect();
    let others: Vec<&str> = asked.iter().map(String::as_str).collect();
    let agreement = Agreement::with_first(calls, question, &measured.replies[0], &others)?;
    let mut classified: Vec<Classified> = (0..passages.len())
        .map(|at| {
            let class = if measured.is_certain_of(at).is_some() {
                ChunkClass::Certain
            } else {
                ChunkClass::Unmeasured
            };
            Classified {
                class,
                without: None,
                agreement: None,
            }
        })
        .collect();
    for ((at, without), agreement) in uncertain.into_iter().zip(asked).zip(agreement) {
        let class = if agreement >= 1.0 {
            ChunkClass::Unnecessary
        } else {
            ChunkClass::Necessary
        };
        classified[at] = Classified {
            class,
            without: Some(without),
            agreement: Some(agreement),
        };
    }
    Ok(classified)
}

/// The probability that the model calls the context sufficient (prompt `self_evaluate`); None when it is too long to be asked.
///
/// # Errors
/// What the generator fails with.
pub fn self_evaluate(
    calls: &mut dyn ModelCalls,
    question: &str,
    texts: &[&str],
) -> Result<Option<f32>, MethodError> {
    let context = context_lines(texts).join("\n");
    let prompt = calls.prompt(
        PromptName::SelfEvaluate,
        &[("c", &context), ("q", question)],
    )?;
    match calls.classify("self-evaluation", &[prompt], &["yes", "no"]) {
        Err(MethodError::Model(LlmError::PromptTooLong { .. })) => Ok(None),
        rows => Ok(rows?
            .first()
            .and_then(|row| row.first())
            .copied()
            .filter(|yes| yes.is_finite())),
    }
}

/// Prune and refill (section 5.2): drop what is unnecessary, and beside each necessary chunk put the candidate nearest to it.
/// `nearest(chunk, taken)` gives the best candidate that is none of those taken. The context is never left empty: when nothing else
/// stays, its first chunk does.
pub fn change(
    classes: &[ChunkClass],
    settings: &RefinerSettings,
    mut nearest: impl FnMut(usize, &[usize]) -> Option<(usize, f32)>,
) -> Change {
    let mut change = Change::default();
    if settings.prune {
        change.dropped = (0..classes.len())
            .filter(|at| classes[*at] == ChunkClass::Unnecessary)
            .collect();
    }
    let refilled = match settings.refill {
        RefillKind::Off => None,
        RefillKind::Necessary => Some(ChunkClass::Necessary),
        RefillKind::Certain => Some(ChunkClass::Certain),
    };
    let mut taken = Vec::new();
    for beside in (0..classes.len()).filter(|at| Some(classes[*at]) == refilled) {
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

/// A measured context as it competes with others: its DSE, and whether the model calls it sufficient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    pub dse: f64,
    pub sufficient: bool,
}

impl Standing {
    /// Does this context take the place of the best one so far? It has to be less uncertain, and never to give up a sufficient one for
    /// one that is not (algorithm 3, lines 8 to 12).
    #[must_use]
    pub fn beats(&self, best: &Self) -> bool {
        self.dse < best.dse && (!best.sufficient || self.sufficient)
    }

    /// Is it good enough to stop? Algorithm 3 wants both, the text of section 5.2 one of them.
    #[must_use]
    pub fn suffices(&self, threshold: f64, stop: RefinerStop) -> bool {
        let certain = self.dse <= threshold;
        match stop {
            RefinerStop::And => certain && self.sufficient,
            RefinerStop::Or => certain || self.sufficient,
        }
    }
}

/// The greedy short answer of each context; None where it does not fit.
fn answers(
    calls: &mut dyn ModelCalls,
    purpose: &str,
    question: &str,
    contexts: &[Vec<&str>],
    (settings, seed): (&UnderstandingSettings, u64),
) -> Result<Vec<Option<String>>, MethodError> {
    let prompts = contexts
        .iter()
        .map(|texts| match texts.as_slice() {
            [] => calls.prompt(PromptName::QaClosed, &[("q", question)]),
            texts => calls.prompt(
                PromptName::QaShort,
                &[("c", &context_lines(texts).join("\n")), ("q", question)],
            ),
        })
        .collect::<Result<Vec<Prompt>, MethodError>>()?;
    let max_tokens = settings.answer_tokens;
    let decoding = Decoding {
        max_tokens,
        sampling: Sampling::GREEDY,
        seed,
        stop: StopRule::default(),
    };
    let said = complete_what_fits(calls, purpose, &prompts, &decoding)?;
    Ok(said
        .into_iter()
        .map(|said| said.map(|said| said.text.trim().to_owned()))
        .collect())
}

/// All prompts in one call; when one of them is too long, each on its own, and None for those.
fn complete_what_fits(
    calls: &mut dyn ModelCalls,
    purpose: &str,
    prompts: &[Prompt],
    decoding: &Decoding,
) -> Result<Vec<Option<Completion>>, MethodError> {
    if prompts.is_empty() {
        return Ok(Vec::new());
    }
    match calls.complete(purpose, prompts, decoding) {
        Ok(said) => Ok(said.into_iter().map(Some).collect()),
        Err(error) if is_too_long(&error) => prompts
            .iter()
            .map(
                |prompt| match calls.complete(purpose, std::slice::from_ref(prompt), decoding) {
                    Err(error) if is_too_long(&error) => Ok(None),
                    said => Ok(said?.into_iter().next()),
                },
            )
            .collect(),
        Err(error) => Err(error),
    }
}
