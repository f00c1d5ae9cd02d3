//! The utility meter: what a lookup was worth to the model, by SePer.

use crate::config::{AnswerPrompt, UtilityKind};
use crate::engine::error::RunError;
use crate::engine::run::{Meter, Passages, Run, Tools, context};
use crate::event::{Belief, BeliefSample, Event, Flow, Hit, HitUtility, SePerForm, Utility};
use crate::llm::{Completion, Decoding, Prompt, Sampling, StopRule};
use crate::methods::{Believed, ModelCalls, believed, contexts, judge_ahead, sampled_uncertainty};

/// Measures the context of a run toward the reference answers of the settings, or toward the answer that the run gave.
pub struct SePer {
    form: SePerForm,
    /// The belief without documents: the same for every lookup of a question.
    closed: Option<Belief>,
}

impl SePer {
    /// A meter that goes by this form; nothing is measured yet.
    pub fn new(form: SePerForm) -> Self {
        Self { form, closed: None }
    }

    /// The form that the settings name; soft where they name none.
    pub fn of(kind: UtilityKind) -> Self {
        Self::new(match kind {
            UtilityKind::Hard => SePerForm::Hard,
            UtilityKind::Soft | UtilityKind::Off => SePerForm::Soft,
        })
    }

    /// What these chunks are worth; None where there is no answer to measure toward. `own` is the answer that stands in when the
    /// settings name none.
    pub fn utility(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        hits: &[Hit],
        own: &str,
    ) -> Result<Option<Utility>, RunError> {
        let settings = &run.tools.config.utility;
        let is_text = |text: &&str| !text.is_empty();
        let given: Vec<&str> = settings
            .references
            .iter()
            .map(|text| text.trim())
            .filter(is_text)
            .collect();
        let own_answer = given.is_empty();
        let references = if own_answer {
            Some(own.trim()).filter(is_text).into_iter().collect()
        } else {
            given
        };
        if references.is_empty() {
            return Ok(None);
        }
        let references: Vec<String> = references.into_iter().map(str::to_owned).collect();
        let mut contexts = contexts(hits.len());
        if !settings.each_chunk {
            // without documents, and with all of them
            contexts.truncate(2);
        }
        let new = &contexts[usize::from(self.closed.is_some())..];
        let measured = beliefs(run, question, &references, hits, new)?;
        let beliefs: Vec<Belief> = self.closed.iter().cloned().chain(measured).collect();
        self.closed = beliefs.first().cloned();
        Ok(Some(summed_up(
            self.form,
            &contexts,
            (references, own_answer),
            hits,
            beliefs,
        )))
    }
}

/// A finished run whose context is to be measured.
pub struct Measured<'a> {
    pub run: &'a str,
    pub question: &'a str,
    /// The chunks of its context, in the order of their labels.
    pub hits: &'a [Hit],
    /// The answer that it gave.
    pub own: &'a str,
}

/// What the context of a finished run was worth.
pub fn of_finished_run<'a>(
    tools: Tools<'a>,
    measured: &Measured<'_>,
    publish: &'a mut dyn FnMut(Event) -> Flow,
) -> Result<Option<Utility>, RunError> {
    let mut meter = SePer::of(tools.config.utility.kind);
    let mut run = Run::new(tools, publish);
    meter.utility(&mut run, measured.question, measured.hits, measured.own)
}

impl Meter for SePer {
    fn measure(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: &Passages,
    ) -> Result<(), RunError> {
        let own = run.written().short.clone();
        if let Some(utility) = self.utility(run, question, &passages.hits, &own)? {
            run.emit(Event::UtilityMeasured {
                of: None,
                step: run.step,
                utility,
            });
        }
        Ok(())
    }
}

fn summed_up(
    form: SePerForm,
    contexts: &[Vec<usize>],
    (references, own_answer): (Vec<String>, bool),
    hits: &[Hit],
    beliefs: Vec<Belief>,
) -> Utility {
    let all: Vec<usize> = (0..hits.len()).collect();
    let seper = |context: &[usize]| {
        let measured = contexts.iter().position(|known| known == context);
        measured.map(|at| beliefs[at].seper(form))
    };
    let (none, whole) = (
        seper(&[]).unwrap_or_default(),
        seper(&all).unwrap_or_default(),
    );
    let worth = |(place, hit): (usize, &Hit)| {
        let others: Vec<usize> = all
            .iter()
            .copied()
            .filter(|other| *other != place)
            .collect();
        Some(HitUtility {
            label: u32::try_from(place + 1).unwrap_or(u32::MAX),
            chunk: hit.chunk.id,
            alone: seper(&[place])? - none,
            left_out: whole - seper(&others)?,
        })
    };
    let hits = hits.iter().enumerate().filter_map(worth).collect();
    Utility {
        form,
        references,
        own_answer,
        delta: whole - none,
        hits,
        beliefs,
    }
}

/// The belief in each context. All samples are one call, and so are all judgements.
fn beliefs(
    run: &mut Run<'_>,
    question: &str,
    references: &[String],
    hits: &[Hit],
    contexts: &[Vec<usize>],
) -> Result<Vec<Belief>, RunError> {
    let settings = run.tools.config.utility.clone();
    let prompts = contexts
        .iter()
        .map(|context| {
            let texts: Vec<&str> = context
                .iter()
                .map(|place| hits[*place].chunk.text.as_str())
                .collect();
            context::prompt_of(AnswerPrompt::QaShort, run.tools.prompts, question, &texts)
        })
        .collect::<Result<Vec<Prompt>, _>>()?;
    let samples = settings.samples.max(1) as usize;
    let repeated: Vec<Prompt> = prompts
        .iter()
        .flat_map(|prompt| vec![prompt.clone(); samples])
        .collect();
    let sampling = Sampling {
        temperature: settings.temperature,
        top_k: 0,
        top_p: 1.0,
        min_p: 0.0,
    };
    let decoding = |sampling| Decoding {
        max_tokens: settings.max_tokens,
        sampling,
        seed: run.tools.config.seed,
        stop: StopRule {
            texts: vec!["\n".to_owned()],
        },
    };
    let (sampled, likeliest) = (decoding(sampling), decoding(Sampling::GREEDY));
    if prompts.is_empty() {
        return Ok(Vec::new());
    }
    let sampled = ModelCalls::complete(run, "utility samples", &repeated, &sampled)?;
    let greedy = ModelCalls::complete(run, "utility", &prompts, &likeliest)?;
    let sets: Vec<&[Completion]> = sampled.chunks(samples).collect();
    judge_ahead(run, question, references, &sets)?;
    let mut beliefs = Vec::with_capacity(sets.len());
    for ((context, samples), greedy) in contexts.iter().zip(sets).zip(greedy) {
        let believed = believed(run, question, references, samples, settings.several)?;
        let chunks = context.iter().map(|place| hits[*place].chunk.id).collect();
        beliefs.push(told(&believed, samples, chunks, &greedy));
    }
    Ok(beliefs)
}

fn told(
    believed: &Believed,
    samples: &[Completion],
    chunks: Vec<u64>,
    greedy: &Completion,
) -> Belief {
    let sample = |(place, sample): (usize, &Completion)| {
        let cluster = believed.clusters.of[place];
        BeliefSample {
            text: sample.text.trim().to_owned(),
            weight: believed.weights[place] as f32,
            cluster: u32::try_from(cluster).unwrap_or(u32::MAX),
            entailment: believed.entailment[place] as f32,
            matches: believed.matches[cluster],
        }
    };
    Belief {
        chunks,
        soft: believed.soft as f32,
        hard: believed.hard as f32,
        samples: samples.iter().enumerate().map(sample).collect(),
        greedy: greedy.text.trim().to_owned(),
        uncertainty: sampled_uncertainty(&believed.agreement, samples),
    }
}
