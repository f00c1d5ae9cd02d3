//! The utility meter: measures with SePer how much a context moved the model toward the answer.

use crate::config::{Config, UtilityKind};
use crate::engine::error::RunError;
use crate::engine::run::{Observe, Passages, Run, Tools, context};
use crate::event::{
    Belief, BeliefSample, Hit, HitUtility, RunEvent, SePerForm, Utility, saturating_u32,
};
use crate::llm::{Completion, Decoding, Prompt};
use crate::methods::{
    Believed, ModelCalls, contexts, judge_ahead, measure_belief, sampled_uncertainty,
};

/// Maximum tokens of a sampled answer: as for [`crate::methods::dense`], the prompt asks for the
/// short answer alone.
const ANSWER_TOKENS: u32 = 32;

/// The contexts without and with all chunks, or with one chunk alone and without it.
const PAIR: usize = 2;

/// Measures the context of a run toward the reference answers of the settings, or toward the answer
/// that the run gave.
pub struct SePer {
    form: SePerForm,
    /// The belief without documents, which is the same for every lookup of a question.
    closed_book: Option<Belief>,
    /// The contexts that are measured in one call to the model.
    at_once: usize,
}

/// A finished run whose context is to be measured.
pub struct FinishedRun<'a> {
    pub run: &'a str,
    pub question: &'a str,
    /// The chunks of its context, in the order of their labels.
    pub hits: &'a [Hit],
    /// The answer that it gave.
    pub own: &'a str,
}

/// The answers that a context is measured toward.
struct References {
    texts: Vec<String>,
    /// Whether they are the run's own answer rather than answers of the settings.
    are_own: bool,
}

/// Returns how much the context of a finished run helped. What is known so far is emitted after
/// each two contexts, since the user waits for it and may stop.
pub fn measure_finished_run(
    mut tools: Tools<'_>,
    finished: &FinishedRun<'_>,
    publish: Observe<'_>,
) -> Result<Option<Utility>, RunError> {
    let mut meter = SePer {
        at_once: PAIR,
        ..SePer::new(tools.config.utility.kind)
    };
    let contexts = meter.contexts(tools.config, finished.hits.len());
    let parts = saturating_u32(contexts.len().div_ceil(PAIR));

    let mut measured = 0;
    let mut count_all = |mut event: RunEvent| {
        if let RunEvent::CallsProgressed { begun, total, .. } = &mut event {
            *begun += measured * *total;
            *total *= parts;
        }
        measured += u32::from(matches!(event, RunEvent::UtilityMeasured { .. }));
        publish(event)
    };
    let mut run = Run::new(tools.reborrow(), finished.question, &mut count_all);
    meter.utility(&mut run, finished.hits, finished.own)
}

impl SePer {
    /// A meter of the form that the settings name; soft where they name none.
    pub fn new(kind: UtilityKind) -> Self {
        let form = match kind {
            UtilityKind::Hard => SePerForm::Hard,
            UtilityKind::Soft | UtilityKind::Off => SePerForm::Soft,
        };
        Self {
            form,
            closed_book: None,
            at_once: usize::MAX,
        }
    }

    /// Measures and emits how much the passages of a lookup helped.
    pub fn measure(&mut self, run: &mut Run<'_>, passages: &Passages) -> Result<(), RunError> {
        let own = run.answer_so_far().short.clone();
        if let Some(utility) = self.utility(run, &passages.hits, &own)? {
            let step = run.step;
            run.emit(RunEvent::UtilityMeasured { step, utility });
        }
        Ok(())
    }

    /// Returns how much these chunks helped, or `None` where there is no answer to measure toward.
    /// `own` is the answer of the run, which is used where the settings have no reference answer.
    fn utility(
        &mut self,
        run: &mut Run<'_>,
        hits: &[Hit],
        own: &str,
    ) -> Result<Option<Utility>, RunError> {
        let settings = &run.tools.config.utility;
        let references = References::new(&settings.references, own);
        if references.texts.is_empty() {
            return Ok(None);
        }

        let contexts = self.contexts(run.tools.config, hits.len());
        let mut beliefs: Vec<Belief> = self.closed_book.iter().cloned().collect();
        let unknown = &contexts[beliefs.len()..];
        for part in unknown.chunks(self.at_once) {
            if beliefs.len() >= PAIR {
                let utility = self.compare(&references, hits, &contexts, &beliefs);
                let step = run.step;
                run.emit(RunEvent::UtilityMeasured { step, utility });
            }
            beliefs.extend(measure(run, &references.texts, hits, part)?);
        }
        self.closed_book = beliefs.first().cloned();
        Ok(Some(self.compare(&references, hits, &contexts, &beliefs)))
    }

    /// Returns the contexts of this many chunks that are measured.
    fn contexts(&self, config: &Config, chunks: usize) -> Vec<Vec<usize>> {
        let mut contexts = contexts(chunks);
        if !config.utility.per_chunk {
            contexts.truncate(PAIR);
        }
        contexts
    }

    /// Compares the beliefs in the first contexts (equation 3): the utility of all chunks, and of
    /// each chunk alone and left out, where those contexts were measured.
    fn compare(
        &self,
        references: &References,
        hits: &[Hit],
        contexts: &[Vec<usize>],
        beliefs: &[Belief],
    ) -> Utility {
        let seper = |context: &[usize]| {
            let at = contexts.iter().position(|known| known == context)?;
            Some(beliefs.get(at)?.seper(self.form))
        };
        let all: Vec<usize> = (0..hits.len()).collect();
        let none = seper(&[]).unwrap_or_default();
        let whole = seper(&all).unwrap_or_default();

        let of_hits = hits.iter().enumerate().filter_map(|(at, hit)| {
            let mut others = all.clone();
            others.remove(at);
            Some(HitUtility {
                label: saturating_u32(at + 1),
                chunk: hit.chunk.id,
                alone: seper(&[at])? - none,
                left_out: whole - seper(&others)?,
            })
        });
        Utility {
            form: self.form,
            references: references.texts.clone(),
            own_answer: references.are_own,
            delta: whole - none,
            hits: of_hits.collect(),
            beliefs: beliefs.to_vec(),
        }
    }
}

impl References {
    /// Takes the given answers that are not empty, or the run's own where there is none.
    fn new(given: &[String], own: &str) -> Self {
        let given = given.iter().map(|text| text.trim().to_owned());
        let mut texts: Vec<String> = given.filter(|text| !text.is_empty()).collect();
        let are_own = texts.is_empty();
        if are_own && !own.trim().is_empty() {
            texts.push(own.trim().to_owned());
        }
        Self { texts, are_own }
    }
}

/// Returns the belief in each context. All samples are one call, and so are all judgements.
fn measure(
    run: &mut Run<'_>,
    references: &[String],
    hits: &[Hit],
    contexts: &[Vec<usize>],
) -> Result<Vec<Belief>, RunError> {
    let question = run.question;
    let settings = &run.tools.config.utility;
    let texts = context::judged_texts(run.tools.config, hits);
    let prompts = contexts.iter().map(|context| {
        let texts: Vec<&String> = context.iter().map(|at| &texts[*at]).collect();
        context::utility_prompt(run.tools.prompts, question, &texts)
    });
    let prompts: Vec<Prompt> = prompts.collect();

    let greedy_decoding = Decoding::one_line(ANSWER_TOKENS, run.tools.config.seed);
    let sampled_decoding = Decoding {
        temperature: settings.temperature,
        ..greedy_decoding.clone()
    };
    let samples = settings.samples.max(1) as usize;
    let repeated = prompts.iter().flat_map(|one| vec![one.clone(); samples]);
    let repeated: Vec<Prompt> = repeated.collect();
    let sampled = ModelCalls::complete(run, "utility samples", &repeated, &sampled_decoding)?;
    let greedy = ModelCalls::complete(run, "utility", &prompts, &greedy_decoding)?;

    let sets: Vec<&[Completion]> = sampled.chunks(samples).collect();
    judge_ahead(run, question, references, &sets)?;
    let mut beliefs = Vec::with_capacity(sets.len());
    for ((context, samples), greedy) in contexts.iter().zip(sets).zip(greedy) {
        let believed = measure_belief(run, question, references, samples)?;
        beliefs.push(Belief {
            chunks: context.iter().map(|at| hits[*at].chunk.id).collect(),
            soft: believed.soft as f32,
            hard: believed.hard as f32,
            samples: belief_samples(&believed, samples),
            greedy: greedy.text.trim().to_owned(),
            uncertainty: sampled_uncertainty(&believed.agreement, samples),
        });
    }
    Ok(beliefs)
}

fn belief_samples(believed: &Believed, samples: &[Completion]) -> Vec<BeliefSample> {
    let sample = |(at, sample): (usize, &Completion)| {
        let cluster = believed.clusters.of[at];
        BeliefSample {
            text: sample.text.trim().to_owned(),
            weight: believed.weights[at] as f32,
            cluster: saturating_u32(cluster),
            entailment: believed.entailment[at] as f32,
            matches: believed.matches[cluster],
        }
    };
    samples.iter().enumerate().map(sample).collect()
}
