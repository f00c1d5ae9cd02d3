//! Trains a probe on collected sentences: threshold, labels, weights, the network or the logistic
//! regression, and its quality.

use std::ops::Range;
use std::time::Instant;

use super::features;
use super::journal::{Sample, SampledQuestion};
use super::logistic;
use super::network::Network;
use super::optimiser::{Batch, Optimiser};
use super::trained::{FORMAT, Probe};
use super::training_set::{Epoch, MAX_EPOCHS, TrainingSet};
use crate::config::ProbeSettings;
use crate::event::{
    Flow, ModelCard, ProbeCard, ProbeFigures, ProbeLabels, ProbeTurns, Problem, WorkError,
    elapsed_us,
};
use crate::llm::Random;
use crate::methods::auroc;
use crate::methods::searag::{LAMBDA, Standard, entropy_threshold};

/// Minimum number of sentences of each class.
const NEEDED: usize = 20;
/// One question in six of the training part decides when to stop.
const VALIDATION: usize = 6;
/// This and the constants below are those of the paper's probe (appendix B): AdamW on one hidden
/// layer with dropout, until the validation loss no longer falls.
const HIDDEN_UNITS: u32 = 256;
const DROPOUT: f64 = 0.3;
const LEARNING_RATE: f64 = 0.001;
const WEIGHT_DECAY: f64 = 0.000_01;
/// Sentences of a step.
const BATCH_SIZE: usize = 64;
/// Epochs without a better loss after which training stops.
const PATIENCE: u32 = 10;
/// Epochs without a better loss after which the learning rate is halved.
const PLATEAU: u32 = 4;
/// Fewer sentences are fitted by a logistic regression: the network has hundreds of weights for
/// each number that is read, and the paper trains it on 4,000 sentences.
const NETWORK_SENTENCES: usize = 1_000;

/// A sentence that a probe can be trained on.
#[derive(Clone, Copy)]
struct Labelled<'w> {
    sample: &'w Sample,
    is_certain: bool,
}

/// The rule by which a sentence is a certain one.
#[derive(Clone, Copy)]
struct Labelling {
    labels: ProbeLabels,
    turns: ProbeTurns,
    /// The largest semantic entropy of a certain sentence, nats.
    tau: f64,
}

impl Labelling {
    /// Creates the rule of the settings for sentences that are trained on.
    fn new(known: &[&SampledQuestion], settings: &ProbeSettings) -> Self {
        let samples: Vec<&Sample> = sentences(known);
        let entropies: Vec<f64> = samples.iter().map(|sample| sample.entropy).collect();
        let features: Vec<Vec<f32>> = samples
            .iter()
            .map(|sample| sample.wide_features())
            .collect();
        Self {
            labels: settings.labels,
            turns: settings.turns,
            // entropies that are all the same separate nothing: all sentences are of one class
            tau: entropy_threshold(&entropies, &features).unwrap_or(f64::INFINITY),
        }
    }

    /// Returns the sentences that are trained on, with their labels. The first sample of a question
    /// is its first sentence, before any lookup, and the second the same sentence with passages
    /// where it was uncertain; without a known answer there is no label by accuracy.
    fn sentences<'w>(&self, questions: &[&'w SampledQuestion]) -> Vec<Labelled<'w>> {
        let mut labelled = Vec::new();

        for question in questions {
            let taken = match self.turns {
                ProbeTurns::Multi => question.samples.len(),
                ProbeTurns::Single => 1 + usize::from(question.has_regenerated_first()),
            };

            let samples = question.samples.iter().take(taken);
            for sample in samples.filter(|sample| usable(sample)) {
                let is_certain = match self.labels {
                    ProbeLabels::SemanticEntropy => Some(sample.entropy <= self.tau),
                    ProbeLabels::Accuracy => question.right,
                };

                labelled.extend(is_certain.map(|is_certain| Labelled { sample, is_certain }));
            }
        }

        labelled
    }
}

/// Trains a probe on the sentences of the questions that are not held out, and measures it on those
/// that are. `epoch` observes each epoch and may stop the training.
///
/// # Errors
/// A class that has too few sentences; [`WorkError::Stopped`].
pub fn train(
    walked: &[SampledQuestion],
    generator: &ModelCard,
    settings: &ProbeSettings,
    seed: u64,
    epoch: &mut dyn FnMut(Epoch) -> Flow,
) -> Result<Probe, WorkError> {
    let used = |question: &&SampledQuestion| question.samples.iter().any(usable);
    let (known, held): (Vec<&SampledQuestion>, Vec<&SampledQuestion>) = walked
        .iter()
        .filter(used)
        .partition(|question| !question.held_out);

    let labelling = Labelling::new(&known, settings);
    let labelled = labelling.sentences(&known);
    let [certain, uncertain] = count_classes(&labelled, &known, settings.labels)?;

    let read = features::range(settings.layers, generator.layers, generator.width);
    let mut random = Random::new(seed);
    let (fit, validation) = split(&known, &mut random);
    let [fit, validation] = [fit, validation].map(|part| labelling.sentences(&part));
    if fit.is_empty() || validation.is_empty() {
        return Err(too_few(certain, uncertain).into());
    }

    let is_for_network = labelled.len() >= NETWORK_SENTENCES;
    let fitted = if is_for_network { &fit } else { &labelled };
    let mut fit = training_set(fitted, &read);
    let standard = Standard::from_rows(fit.rows.iter().map(Vec::as_slice));
    standardise(&mut fit, &standard);
    let network = if is_for_network {
        let mut validation = training_set(&validation, &read);
        standardise(&mut validation, &standard);
        fit_network(&fit, &validation, &mut random, epoch)?
    } else {
        let middle = features::middle(settings.layers, generator.layers, generator.width);
        logistic::fit(&fit, middle, epoch)?
    };

    let card = ProbeCard {
        format: FORMAT,
        generator: generator.file.clone(),
        fingerprint: generator.fingerprint.clone(),
        layers: generator.layers,
        width: generator.width,
        reads: settings.layers,
        labels: settings.labels,
        turns: settings.turns,
        hidden: network.hidden.bias.len() as u32,
        entropy_threshold: labelling.tau,
        lambda: LAMBDA,
        samples: settings.samples,
        seed,
        questions: known.len() as u64,
        certain: certain as u64,
        uncertain: uncertain as u64,
        held_out: None,
    };
    let mut probe = Probe {
        card,
        standard,
        network,
    };
    probe.card.held_out = measure(&probe, &held, labelling)?;
    Ok(probe)
}

/// Counts the certain and the uncertain sentences, and checks that there are enough of both.
fn count_classes(
    labelled: &[Labelled<'_>],
    known: &[&SampledQuestion],
    labels: ProbeLabels,
) -> Result<[usize; 2], Problem> {
    let certain = labelled.iter().filter(|one| one.is_certain).count();
    let uncertain = labelled.len() - certain;

    if labels == ProbeLabels::Accuracy && certain.min(uncertain) == 0 {
        let count = |wanted| known.iter().filter(|one| one.right == Some(wanted)).count();
        let error = format!(
            "{} right and {} wrong answers are known of {} questions, each needs one",
            count(true),
            count(false),
            known.len()
        );
        let advice =
            "give it questions with answers with --questions FILE, some of which the model knows";
        return Err(Problem::new(error, advice));
    }

    if certain.min(uncertain) < NEEDED {
        return Err(too_few(certain, uncertain));
    }
    Ok([certain, uncertain])
}

fn too_few(certain: usize, uncertain: usize) -> Problem {
    Problem::new(
        format!(
            "{certain} certain and {uncertain} uncertain sentences are too few to train on, each needs {NEEDED}"
        ),
        "ask more questions (probe.questions, or --questions with a longer file)",
    )
}

fn usable(sample: &Sample) -> bool {
    !sample.features.is_empty()
}

fn sentences<'w>(questions: &[&'w SampledQuestion]) -> Vec<&'w Sample> {
    questions
        .iter()
        .flat_map(|question| &question.samples)
        .filter(|sample| usable(sample))
        .collect()
}

/// Splits the questions into the part that is fitted and the one for validation.
fn split<'w>(
    known: &[&'w SampledQuestion],
    random: &mut Random,
) -> (Vec<&'w SampledQuestion>, Vec<&'w SampledQuestion>) {
    let mut fit = Vec::new();
    let mut validation = Vec::new();

    for (at, question) in random.shuffle(known.to_vec()).into_iter().enumerate() {
        if at % VALIDATION == 0 {
            // whole questions: sentences of one answer are alike
            validation.push(question);
        } else {
            fit.push(question);
        }
    }
    (fit, validation)
}

fn training_set(labelled: &[Labelled<'_>], read: &Range<usize>) -> TrainingSet {
    let rows = labelled.iter().map(|one| {
        let features = one.sample.wide_features()[read.clone()].to_vec();
        (features, one.is_certain)
    });
    TrainingSet::new(rows)
}

fn standardise(set: &mut TrainingSet, standard: &Standard) {
    for row in &mut set.rows {
        *row = standard.apply(row);
    }
}

/// Trains for epochs until the loss on the validation part no longer falls, and returns the network
/// of the best epoch.
fn fit_network(
    fit: &TrainingSet,
    validation: &TrainingSet,
    random: &mut Random,
    epoch: &mut dyn FnMut(Epoch) -> Flow,
) -> Result<Network, WorkError> {
    let mut best = Network::random(fit.width(), HIDDEN_UNITS as usize, random);
    let mut best_loss = f32::INFINITY;
    let mut optimiser = Optimiser::new(&best, LEARNING_RATE, WEIGHT_DECAY);
    let mut since_best = 0;
    let mut since_halved = 0;

    for done in 1..=MAX_EPOCHS {
        let order = random.shuffle((0..fit.rows.len()).collect());
        for batch in order.chunks(BATCH_SIZE) {
            let rows: Vec<&[f32]> = batch.iter().map(|at| fit.rows[*at].as_slice()).collect();
            let of_batch =
                |values: &[f32]| -> Vec<f32> { batch.iter().map(|at| values[*at]).collect() };
            optimiser.step(Batch {
                rows: &rows,
                labels: &of_batch(&fit.labels),
                weights: &of_batch(&fit.weights),
                dropout: &dropout(batch.len(), random),
            });
        }

        let network = optimiser.network();
        let loss = validation.cross_entropy(&network);
        epoch(Epoch { done, loss }).check()?;

        since_best += 1;
        since_halved += 1;
        if loss < best_loss {
            best = network;
            best_loss = loss;
            since_best = 0;
            since_halved = 0;
        }
        if since_best >= PATIENCE {
            break;
        }
        if since_halved >= PLATEAU {
            optimiser.learning_rate /= 2.0;
            since_halved = 0;
        }
    }
    Ok(best)
}

fn dropout(rows: usize, random: &mut Random) -> Vec<f32> {
    // inverted dropout: a reading needs no factor
    let kept = (1.0 / (1.0 - DROPOUT)) as f32;
    let mut factor = || {
        if random.unit() < DROPOUT { 0.0 } else { kept }
    };
    (0..rows * HIDDEN_UNITS as usize)
        .map(|_| factor())
        .collect()
}

/// Measures how well the probe separates uncertain sentences from certain ones, by the labels that
/// it was trained with, beside the entropy of the first token, which is all that the probe sees,
/// that of the whole sentence, and a second sampling. A gate judges every sentence, whichever of
/// them a probe was trained on.
fn measure(
    probe: &Probe,
    held: &[&SampledQuestion],
    trained: Labelling,
) -> Result<Option<ProbeFigures>, Problem> {
    let of_every_turn = Labelling {
        turns: ProbeTurns::Multi,
        ..trained
    };
    let labelled = of_every_turn.sentences(held);
    let samples: Vec<&Sample> = labelled.iter().map(|one| one.sample).collect();
    if samples.is_empty() {
        return Ok(None);
    }

    let mut readings = Vec::new();
    let mut times = Vec::new();
    for sample in &samples {
        let features = sample.wide_features();
        let begun = Instant::now();
        readings.push(f64::from(probe.uncertainty(&features)?));
        times.push(elapsed_us(begun));
    }
    times.sort_unstable();

    let uncertain: Vec<bool> = labelled.iter().map(|one| !one.is_certain).collect();
    let right = readings
        .iter()
        .zip(&uncertain)
        .filter(|(reading, uncertain)| (**reading > 0.5) == **uncertain)
        .count();
    let token_entropies: Vec<f64> = samples
        .iter()
        .map(|sample| f64::from(sample.token_entropy))
        .collect();
    let first_entropies: Option<Vec<f64>> = samples
        .iter()
        .map(|sample| sample.first_token_entropy.map(f64::from))
        .collect();
    let second: Option<Vec<f64>> = samples.iter().map(|sample| sample.second_entropy).collect();

    Ok(Some(ProbeFigures {
        questions: held.len() as u64,
        sentences: samples.len() as u64,
        uncertain: uncertain.iter().filter(|uncertain| **uncertain).count() as u64,
        auroc: auroc(&readings, &uncertain),
        accuracy: right as f64 / samples.len() as f64,
        first_token_auroc: first_entropies.and_then(|first| auroc(&first, &uncertain)),
        token_entropy_auroc: auroc(&token_entropies, &uncertain),
        semantic_entropy_auroc: second.and_then(|second| auroc(&second, &uncertain)),
        reading_us: times[times.len() / 2],
    }))
}
