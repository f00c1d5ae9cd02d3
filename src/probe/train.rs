//! From collected sentences to a probe: threshold, labels, balance, the network, and how good it is.

use std::time::Instant;

use candle_core::{Device, Tensor, Var};
use candle_nn::{AdamW, Optimizer, ParamsAdamW};

use super::network::fresh;
use super::{FORMAT, Network, Probe, ProbeError, Sample, Walked};
use crate::config::ProbeSettings;
use crate::event::{Flow, ModelCard, ProbeCard, ProbeFigures};
use crate::llm::Random;
use crate::methods::auroc;
use crate::methods::searag::{Standard, entropy_threshold};

/// Sentences of each class that training needs at least.
const NEEDED: usize = 20;
/// One question in so many of the training part says when to stop.
const VALIDATION: usize = 6;
/// After so many epochs without a better loss the learning rate is halved.
const PLATEAU: u32 = 4;

/// How an epoch ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epoch {
    /// Finished epochs.
    pub done: u32,
    /// Loss on the validation part.
    pub loss: f32,
}

/// Features and labels (1: certain) of some sentences.
#[derive(Debug, Default)]
struct Part {
    rows: Vec<Vec<f32>>,
    labels: Vec<f32>,
}

/// Train a probe on the sentences of the questions that are not held out, and measure it on those that are. `epoch` sees each epoch and may
/// stop the training.
///
/// # Errors
/// [`ProbeError::TooFew`] when a class has too few sentences; [`ProbeError::Stopped`].
pub fn train(
    walked: &[Walked],
    generator: &ModelCard,
    settings: &ProbeSettings,
    seed: u64,
    epoch: &mut dyn FnMut(Epoch) -> Flow,
) -> Result<Probe, ProbeError> {
    let used = |question: &&Walked| question.samples.iter().any(usable);
    let (known, held): (Vec<&Walked>, Vec<&Walked>) = walked
        .iter()
        .filter(used)
        .partition(|question| !question.held_out);
    let samples: Vec<&Sample> = sentences(&known);
    let entropies: Vec<f64> = samples.iter().map(|sample| sample.entropy).collect();
    let features: Vec<Vec<f32>> = samples
        .iter()
        .map(|sample| sample.features.clone())
        .collect();
    let threshold = entropy_threshold(&entropies, &features, settings.lambda);
    // entropies that are all the same part nothing: all sentences are of one class
    let tau = threshold.unwrap_or(f64::INFINITY);
    let certain = entropies.iter().filter(|entropy| **entropy <= tau).count();
    let uncertain = entropies.len() - certain;
    if certain.min(uncertain) < NEEDED {
        return Err(ProbeError::TooFew {
            certain,
            uncertain,
            needed: NEEDED,
        });
    }
    let mut random = Random::new(seed);
    let (validation, fit): (Vec<_>, Vec<_>) = random
        .shuffled(known.clone())
        .into_iter()
        .enumerate()
        .partition(|(at, _)| at % VALIDATION == 0);
    let part = |questions: Vec<(usize, &Walked)>, random: &mut Random| {
        let questions: Vec<&Walked> = questions
            .into_iter()
            .map(|(_, question)| question)
            .collect();
        balanced(sentences(&questions), tau, random)
    };
    let (mut fit, mut validation) = (part(fit, &mut random), part(validation, &mut random));
    if fit.rows.is_empty() || validation.rows.is_empty() {
        return Err(ProbeError::TooFew {
            certain,
            uncertain,
            needed: NEEDED,
        });
    }
    let standard = Standard::of(fit.rows.iter().map(Vec::as_slice));
    for row in fit.rows.iter_mut().chain(&mut validation.rows) {
        *row = standard.apply(row);
    }
    let network = fit_network(&fit, &validation, settings, &mut random, epoch)?;
    let card = ProbeCard {
        format: FORMAT,
        generator: generator.file.clone(),
        fingerprint: generator.fingerprint.clone(),
        layers: generator.layers,
        width: generator.width,
        position: settings.position,
        hidden: settings.hidden_units,
        entropy_threshold: tau,
        lambda: settings.lambda,
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
    probe.card.held_out = measure(&probe, &held, tau)?;
    Ok(probe)
}

fn usable(sample: &Sample) -> bool {
    !sample.features.is_empty()
}

fn sentences<'w>(questions: &[&'w Walked]) -> Vec<&'w Sample> {
    questions
        .iter()
        .flat_map(|question| &question.samples)
        .filter(|sample| usable(sample))
        .collect()
}

/// As many sentences of one class as of the other.
fn balanced(samples: Vec<&Sample>, tau: f64, random: &mut Random) -> Part {
    let (certain, uncertain): (Vec<_>, Vec<_>) = samples
        .into_iter()
        .partition(|sample| sample.entropy <= tau);
    let each = certain.len().min(uncertain.len());
    let mut part = Part::default();
    for (class, label) in [(certain, 1.0), (uncertain, 0.0)] {
        for sample in random.shuffled(class).into_iter().take(each) {
            part.rows.push(sample.features.clone());
            part.labels.push(label);
        }
    }
    part
}

/// Epochs of AdamW until the loss on the validation part stays as it is; the best epoch counts.
fn fit_network(
    fit: &Part,
    validation: &Part,
    settings: &ProbeSettings,
    random: &mut Random,
    epoch: &mut dyn FnMut(Epoch) -> Flow,
) -> Result<Network, ProbeError> {
    let width = fit.rows.first().map_or(0, Vec::len);
    let (network, vars) = fresh(width, settings.hidden_units as usize, random)?;
    let parameters = ParamsAdamW {
        lr: settings.learning_rate,
        weight_decay: settings.weight_decay,
        ..ParamsAdamW::default()
    };
    let mut optimiser = AdamW::new(vars.clone(), parameters)?;
    let (validation_rows, validation_labels) =
        tensors(validation, &(0..validation.rows.len()).collect::<Vec<_>>())?;
    let mut best = (f32::INFINITY, copies(&vars)?);
    let (mut waited, mut since_halved) = (0, 0);
    for done in 1..=settings.max_epochs {
        let order = random.shuffled((0..fit.rows.len()).collect());
        for batch in order.chunks(settings.batch_size as usize) {
            let (rows, labels) = tensors(fit, batch)?;
            let mask = dropout(batch.len(), settings, random)?;
            let loss = cross_entropy(&network.logits(&rows, Some(&mask))?, &labels)?;
            optimiser.backward_step(&loss)?;
        }
        let loss = cross_entropy(&network.logits(&validation_rows, None)?, &validation_labels)?
            .to_scalar::<f32>()?;
        if epoch(Epoch { done, loss }) == Flow::Stop {
            return Err(ProbeError::Stopped);
        }
        (waited, since_halved) = (waited + 1, since_halved + 1);
        if loss < best.0 {
            best = (loss, copies(&vars)?);
            (waited, since_halved) = (0, 0);
        }
        if waited >= settings.patience {
            break;
        }
        if since_halved >= PLATEAU {
            optimiser.set_learning_rate(optimiser.learning_rate() / 2.0);
            since_halved = 0;
        }
    }
    match <[Tensor; 4]>::try_from(best.1) {
        Ok(tensors) => Ok(Network::new(tensors)),
        Err(_) => Ok(network),
    }
}

fn copies(vars: &[Var]) -> Result<Vec<Tensor>, ProbeError> {
    Ok(vars
        .iter()
        .map(|var| var.as_tensor().copy().map(|copy| copy.detach()))
        .collect::<Result<_, _>>()?)
}

fn tensors(part: &Part, order: &[usize]) -> Result<(Tensor, Tensor), ProbeError> {
    let width = part.rows.first().map_or(0, Vec::len);
    let rows: Vec<f32> = order
        .iter()
        .flat_map(|at| part.rows[*at].iter().copied())
        .collect();
    let labels: Vec<f32> = order.iter().map(|at| part.labels[*at]).collect();
    let count = order.len();
    Ok((
        Tensor::from_vec(rows, (count, width), &Device::Cpu)?,
        Tensor::from_vec(labels, count, &Device::Cpu)?,
    ))
}

fn dropout(
    rows: usize,
    settings: &ProbeSettings,
    random: &mut Random,
) -> Result<Tensor, ProbeError> {
    let (hidden, left_out) = (settings.hidden_units as usize, settings.dropout);
    let kept = (1.0 / (1.0 - left_out)) as f32;
    let mask = (0..rows * hidden)
        .map(|_| if random.unit() < left_out { 0.0 } else { kept })
        .collect::<Vec<f32>>();
    Ok(Tensor::from_vec(mask, (rows, hidden), &Device::Cpu)?)
}

/// Binary cross-entropy with logits, mean, in the form that no logit makes infinite: max(x, 0) - x y + ln(1 + exp(-|x|)).
fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor, ProbeError> {
    let overflow_free = (logits.abs()?.neg()?.exp()? + 1.0)?.log()?;
    Ok(((logits.relu()? - logits.mul(labels)?)? + overflow_free)?.mean_all()?)
}

/// How well the probe tells uncertain sentences from certain ones, beside the token entropy and a second sampling.
fn measure(probe: &Probe, held: &[&Walked], tau: f64) -> Result<Option<ProbeFigures>, ProbeError> {
    let samples = sentences(held);
    if samples.is_empty() {
        return Ok(None);
    }
    let mut readings = Vec::new();
    let mut times = Vec::new();
    for sample in &samples {
        let begun = Instant::now();
        readings.push(f64::from(probe.uncertainty(&sample.features)?));
        times.push(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    times.sort_unstable();
    let uncertain: Vec<bool> = samples.iter().map(|sample| sample.entropy > tau).collect();
    let right = readings
        .iter()
        .zip(&uncertain)
        .filter(|(reading, uncertain)| (**reading > 0.5) == **uncertain)
        .count();
    let token_entropies: Vec<f64> = samples
        .iter()
        .map(|sample| f64::from(sample.token_entropy))
        .collect();
    let second: Option<Vec<f64>> = samples.iter().map(|sample| sample.second_entropy).collect();
    Ok(Some(ProbeFigures {
        questions: held.len() as u64,
        sentences: samples.len() as u64,
        uncertain: uncertain.iter().filter(|uncertain| **uncertain).count() as u64,
        auroc: auroc(&readings, &uncertain),
        accuracy: right as f64 / samples.len() as f64,
        token_entropy_auroc: auroc(&token_entropies, &uncertain),
        semantic_entropy_auroc: second.and_then(|second| auroc(&second, &uncertain)),
        reading_us: times[times.len() / 2],
    }))
}
