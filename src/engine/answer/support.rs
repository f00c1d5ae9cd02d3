//! Whether the sources answer the question, before an answer is written from them.

use crate::config::AnswerPrompt;
use crate::engine::error::RunError;
use crate::engine::run::{Passages, Run, context};
use crate::event::{QuestionKind, RunEvent, Scope, Support, logistic, logit_of};
use crate::llm::{Labelled, LlmError, Prompt};
use crate::methods::{JudgementKind, ModelCalls as _};

use super::bounds::without_bound;
use super::denials::asks_yes_or_no;
use super::question_words::{hold_subject, mean_share};
use super::quotes::RankedSentences;
use super::scope::{head, things_asked};

/// Smaller models are not asked whether the sources state the answer: one of half a billion
/// parameters gave answerable questions of SQuAD 0.29 and unanswerable ones 0.28 in the mean, where
/// one of 1.5 billion gave 0.58 and 0.45.
const MIN_PARAMETERS: u64 = 1_000_000_000;

/// Sentences that the generator judges, one at a time: they are read in a fraction of the time of
/// all sources, and beside others a sentence about something near is taken for the answer. On 51
/// questions about SQuAD's tuning articles the best of three has an AUROC of 0.84 and the whole
/// context at once of 0.64; on 33 about held-out ones 0.68 and 0.73.
const MAX_JUDGED: usize = 3;

/// The score of sentences that cannot be compared with the question word by word, nor by an
/// embedder of one language: it decides nothing, and the generator alone is heard.
const NEUTRAL_SCORE: f32 = 0.66;

/// Probability that a sentence answers a question by yes or no which has all of its words and a
/// "not": a model of 1.5 billion parameters gave 13 of them 0.26 to 0.73, and those that say "yes"
/// 0.94 to 0.99.
const DENIED: f32 = 0.95;

/// Measures how far the sources answer the question, and emits it. Returns it with their
/// sentences, best first.
///
/// # Errors
///
/// Failures of the models.
pub fn measure(
    run: &mut Run<'_>,
    passages: &Passages,
    scope: &Scope,
) -> Result<(Support, RankedSentences), RunError> {
    let settings = &run.tools.config.answer;
    let (prompt, min_support) = (settings.prompt, settings.min_support);
    let ranked = RankedSentences::new(run, passages)?;
    let is_asked = prompt != AnswerPrompt::Quotes && !passages.hits.is_empty() && can_judge(run);
    // sentences are ranked by the words of one language, and words of two are not compared
    let at_once = context::is_translated(run.question, &passages.hits);
    let things = things_asked(scope, &without_bound(run.question))
        .filter(|things| !at_once && things.iter().all(|thing| is_head_held(thing, passages)));
    // a model that is asked whether a text states the answer says no to a "not"
    let is_denied = is_asked && things.is_none() && asks_yes_or_no(run.question) && ranked.deny();
    let stated = if is_denied {
        Some(DENIED)
    } else if is_asked && things.is_none() {
        states(run, passages, &ranked, at_once)?
    } else {
        None
    };

    let score = if at_once && stated.is_some() {
        NEUTRAL_SCORE
    } else {
        ranked.score()
    };
    let probability = match things {
        _ if passages.hits.is_empty() => 0.0,
        // each file is about it by itself
        _ if scope.kind == QuestionKind::Files => {
            let subject = scope.subjects.join(" ");
            let is_held = hold_subject(run.question, &subject, passages).contains(&true);
            if is_held { 1.0 } else { 0.0 }
        }
        None => probability(stated, score, at_once),
        // a list is in no single sentence, and a model that is asked whether the sources state all
        // of it says no: 15 of 16 lists and comparisons of two folders were refused
        Some(things) => mean_share(&things, passages),
    };
    // all sources together may be about it, and no sentence of them
    let is_quotable = prompt != AnswerPrompt::Quotes
        || scope.kind == QuestionKind::Files
        || ranked.fitting().next().is_some();
    let support = Support {
        stated,
        at_once,
        by_rule: is_denied,
        score,
        probability: if is_quotable { probability } else { 0.0 },
        supported: is_quotable && probability >= min_support,
    };
    let nearest = ranked.nearest(passages);
    run.emit(RunEvent::SupportMeasured { support, nearest });
    Ok((support, ranked))
}

/// Emits that the sources answer the question, where a rule has chosen them by all of its words,
/// and returns it.
pub fn accept(run: &mut Run<'_>) -> Support {
    let support = Support {
        stated: None,
        at_once: false,
        by_rule: true,
        score: 1.0,
        probability: 1.0,
        supported: true,
    };
    let nearest = Vec::new();
    run.emit(RunEvent::SupportMeasured { support, nearest });
    support
}

/// Returns whether the generator is large enough to judge. A server may not say how many parameters
/// its model has.
pub fn can_judge(run: &Run<'_>) -> bool {
    let parameters = run.tools.generator.card().parameters;
    parameters == 0 || parameters >= MIN_PARAMETERS
}

/// Returns whether some passage has a word of what is listed: huts without a sauna are no list of
/// the saunas of huts, however many of the other words they have.
fn is_head_held(thing: &str, passages: &Passages) -> bool {
    mean_share(&[head(thing).to_owned()], passages) > 0.0
}

/// Returns the generator's probability that all sources at once state the answer, or the largest
/// for one of the best sentences; `None` when a prompt is too long, and where the generator says
/// neither yes nor no.
fn states(
    run: &mut Run<'_>,
    passages: &Passages,
    ranked: &RankedSentences,
    at_once: bool,
) -> Result<Option<f32>, RunError> {
    let (prompts, question) = (run.tools.prompts, run.question);
    let judged: Vec<Prompt> = if at_once {
        vec![context::sources_prompt(prompts, question, &passages.hits)]
    } else {
        let texts = ranked.best_texts(passages, MAX_JUDGED).into_iter();
        let judged =
            texts.map(|(unit, text)| context::sentence_prompt(prompts, question, unit, &text));
        judged.collect()
    };

    match run.classify(JudgementKind::SOURCES_STATE, &judged) {
        Err(LlmError::PromptTooLong { .. }) => Ok(None),
        rows => {
            let rows = rows?.into_iter().filter(Labelled::names_label);
            let shares = rows.filter_map(|row| row.shares.first().copied());
            Ok(shares.reduce(f32::max))
        }
    }
}

/// Returns the probability that the sources answer the question: a logistic regression over 64
/// answerable and 50 unanswerable questions of SQuAD and Natural Questions, with a constant by
/// which one answerable question in twelve is refused; without the generator's word over
/// answerable questions of SQuAD and foreign ones (`benches/experiments/2026-11-26-figures.md`).
/// Sources that are judged at once have a regression of their own, over the same sets and foreign
/// questions.
fn probability(stated: Option<f32>, score: f32, at_once: bool) -> f32 {
    let logit = match stated {
        Some(stated) if at_once => 1.3 * logit_of(stated) + 2.0 * score - 1.8,
        Some(stated) => 1.6 * logit_of(stated) + 0.9 * score - 1.9,
        None => 13.0 * (score - 0.66),
    };
    logistic(logit)
}
