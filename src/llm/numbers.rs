//! Arithmetic over a row of logits: normaliser and entropy of its distribution, and sampling.

use super::error::{LlmError, Result};

/// Numbers of a SIMD register that the loops below are unrolled for.
const LANES: usize = 16;
/// Numbers that are summed in single precision before they are added to a double: bounds the error
/// of long rows.
const BLOCK: usize = 1024;

/// Returns the scalar product of two vectors: the cosine similarity, where they are unit vectors.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }

    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// The distribution of a row of logits at temperature 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Distribution {
    /// The most likely token, the first among equals.
    pub best: usize,
    /// ln of the sum of exponentials: the log-probability of a token is its logit minus this.
    pub log_sum: f32,
    /// Nats.
    pub entropy: f32,
}

/// Computes the distribution of a row of logits.
///
/// # Errors
/// When the row has a NaN or no finite number: a damaged model, or a backend that miscomputes.
pub(super) fn distribution(logits: &[f32]) -> Result<Distribution> {
    let largest = largest(logits);
    let mut sum = 0.0_f64;
    let mut weighted = 0.0_f64;
    for block in logits.chunks(BLOCK) {
        let (block_sum, block_weighted) = exponentials(block, largest);
        sum += f64::from(block_sum);
        weighted += f64::from(block_weighted);
    }
    if !largest.is_finite() || !sum.is_finite() {
        return Err(LlmError::new(
            "the model computed numbers that are not finite",
            "set generator.gpu_layers to 0, or choose another model file",
        ));
    }

    let best = logits
        .iter()
        .position(|logit| *logit == largest)
        .unwrap_or(0);
    let log_sum = sum.ln();
    Ok(Distribution {
        best,
        log_sum: largest + log_sum as f32,
        // Rounding must not make the entropy of a certain token negative.
        entropy: ((log_sum - weighted / sum) as f32).max(0.0),
    })
}

/// Returns the most likely tokens besides `written` with the log-probability of each, the likeliest
/// first: at most `count`, each with a probability of at least `least`.
pub(super) fn alternatives(
    logits: &[f32],
    distribution: &Distribution,
    written: usize,
    count: usize,
    least: f32,
) -> Vec<(usize, f32)> {
    let threshold = distribution.log_sum + least.ln();
    let best = logits[distribution.best];
    // what one token leaves to all others is most often too little for any of them
    let left = 1.0 - (best - distribution.log_sum).exp();
    if written == distribution.best && left < least {
        return Vec::new();
    }

    let mut likely: Vec<(usize, f32)> = logits
        .iter()
        .enumerate()
        .filter(|(token, logit)| **logit >= threshold && *token != written)
        .map(|(token, logit)| (token, logit - distribution.log_sum))
        .collect();
    likely.sort_by(|a, b| b.1.total_cmp(&a.1));
    likely.truncate(count);
    likely
}

fn largest(logits: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = logits.chunks_exact(LANES);
    let rest = chunks.remainder();

    for chunk in chunks {
        for (lane, logit) in lanes.iter_mut().zip(chunk) {
            *lane = if *logit > *lane { *logit } else { *lane };
        }
    }

    lanes
        .iter()
        .chain(rest)
        .copied()
        .fold(f32::NEG_INFINITY, f32::max)
}

/// Returns the sums of e^d and of d e^d over d = logit - largest.
fn exponentials(logits: &[f32], largest: f32) -> (f32, f32) {
    let mut sums = [0.0_f32; LANES];
    let mut weighted = [0.0_f32; LANES];
    let chunks = logits.chunks_exact(LANES);
    let rest = chunks.remainder();

    for chunk in chunks {
        for lane in 0..LANES {
            let below = floor_exponent(chunk[lane] - largest);
            let power = exp(below);
            sums[lane] += power;
            weighted[lane] += power * below;
        }
    }

    for (lane, logit) in rest.iter().enumerate() {
        let below = floor_exponent(logit - largest);
        sums[lane] += exp(below);
        weighted[lane] += exp(below) * below;
    }

    (sums.iter().sum(), weighted.iter().sum())
}

/// Returns the sum of e^(sharpness d) over d = logit - largest.
fn weight(logits: &[f32], largest: f32, sharpness: f32) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let chunks = logits.chunks_exact(LANES);
    let rest = chunks.remainder();

    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += exp(floor_exponent((chunk[lane] - largest) * sharpness));
        }
    }

    let rest: f32 = rest
        .iter()
        .map(|logit| exp(floor_exponent((logit - largest) * sharpness)))
        .sum();
    sums.iter().sum::<f32>() + rest
}

/// Limits an exponent to the range of [`exp`]. A NaN passes, so that it is found in the sum.
#[inline(always)]
fn floor_exponent(below: f32) -> f32 {
    if below < -87.0 { -87.0 } else { below }
}

/// Returns e^x for x in -87..=0, to about 1e-7 of its value.
///
/// Without a branch or a call, so that the compiler vectorises it: a Cody-Waite reduction by ln 2
/// in two parts, a polynomial, and the exponent written into the bits.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // 1.5 × 2^23: above it, an f32 has no places behind the point, so adding and subtracting rounds
    const ROUND: f32 = 12_582_912.0;
    // few bits, so that its product with a whole number is exact (Cody and Waite 1980)
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;

    let whole = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
    let rest = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;

    // the minimax polynomial of expf in Cephes (Moshier)
    let mut power = 1.987_569_1e-4;
    power = power * rest + 1.398_199_9e-3;
    power = power * rest + 8.333_452e-3;
    power = power * rest + 4.166_579_6e-2;
    power = power * rest + 1.666_666_5e-1;
    power = power * rest + 0.5;
    power = power * rest * rest + rest + 1.0;

    // the exponent of an f32 has a bias of 127 and 23 bits of fraction below it
    let exponent = (whole as i32).wrapping_add(127) as u32;
    power * f32::from_bits(exponent << 23)
}

/// A source of random numbers: SplitMix64 (Steele, Lea and Flood 2014), with 64 bits of state.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates the sequence of a seed, which is the same every time.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a whole number below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// Returns the items in a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
        items
    }

    /// Returns `count` of the items, chosen at random; all of them when there are no more.
    pub fn draw<T>(&mut self, count: usize, mut items: Vec<T>) -> Vec<T> {
        for at in 0..count.min(items.len()) {
            // the first steps of a shuffle, as many as items are wanted
            let other = at + self.below(items.len() - at);
            items.swap(at, other);
        }
        items.truncate(count);
        items
    }

    /// Returns a number in 0..1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // a double has 53 bits
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Samples the tokens of one continuation.
#[derive(Debug, Clone)]
pub(super) struct Sampler {
    temperature: f32,
    random: Random,
}

/// The weights of blocks of tokens, reused between samples so that no token allocates.
pub(super) type Blocks = Vec<(u32, f32)>;

impl Sampler {
    pub fn new(temperature: f32, seed: u64) -> Self {
        Self {
            temperature,
            random: Random::new(seed),
        }
    }

    /// Samples a token: first a block of tokens, then a token of it, so that no list of all is
    /// built.
    pub fn sample(
        &mut self,
        logits: &[f32],
        distribution: &Distribution,
        blocks: &mut Blocks,
    ) -> usize {
        if self.temperature <= 0.0 {
            return distribution.best;
        }

        let largest = logits[distribution.best];
        let sharpness = 1.0 / self.temperature;
        blocks.clear();
        blocks.extend(
            (0..).zip(
                logits
                    .chunks(BLOCK)
                    .map(|block| weight(block, largest, sharpness)),
            ),
        );

        let whole: f64 = blocks.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let mut left = self.random.unit() * whole;
        for (block, weight) in blocks.iter() {
            if left >= f64::from(*weight) {
                left -= f64::from(*weight);
                continue;
            }
            let start = *block as usize * BLOCK;
            for (token, logit) in logits.iter().enumerate().skip(start).take(BLOCK) {
                left -= f64::from(exp(floor_exponent((logit - largest) * sharpness)));
                if left < 0.0 {
                    return token;
                }
            }
        }
        distribution.best
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Blocks, Sampler, alternatives, distribution, exp};

    #[test]
    fn exp_is_close_to_the_standard_library() {
        for step in 0..8700 {
            let x = -0.01 * step as f32;
            let error = (f64::from(exp(x)) / f64::from(x).exp() - 1.0).abs();
            assert!(error < 3e-7, "exp({x}) is off by {error}");
        }
    }

    #[test]
    fn alternatives_are_the_likely_tokens_besides_the_written_one() {
        let row = [0.5_f32, 0.3, 0.15, 0.045, 0.005].map(f32::ln);
        let of = |row: &[f32], written, count| -> Vec<usize> {
            let distribution = distribution(row).expect("a distribution");
            let likely = alternatives(row, &distribution, written, count, 0.01);
            likely.into_iter().map(|(token, _)| token).collect()
        };
        assert_eq!(of(&row, 0, 3), [1, 2, 3]);
        assert_eq!(of(&row, 1, 2), [0, 2]);
        let certain = [0.995_f32, 0.004, 0.001].map(f32::ln);
        assert_eq!(of(&certain, 0, 3), [0_usize; 0]);
        assert_eq!(of(&certain, 2, 3), [0]);
    }

    #[test]
    fn numbers_that_are_not_finite_are_an_error() {
        for row in [
            vec![0.0, f32::NAN, 1.0],
            vec![f32::NAN; 40],
            vec![f32::NEG_INFINITY; 3],
            vec![1.0, f32::INFINITY],
            vec![],
        ] {
            assert!(distribution(&row).is_err(), "{row:?}");
        }
    }

    proptest! {
        #[test]
        fn a_row_equals_the_definition(row in prop::collection::vec(-30.0_f32..30.0, 1..3000)) {
            let read = distribution(&row).expect("finite");
            let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = row.iter().map(|x| f64::from(x - most).exp()).sum();
            let entropy: f64 = row.iter().map(|x| f64::from(x - most).exp() / sum).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum();
            prop_assert_eq!(row[read.best], most);
            prop_assert!((f64::from(read.log_sum) - f64::from(most) - sum.ln()).abs() < 1e-4);
            prop_assert!((f64::from(read.entropy) - entropy).abs() < 1e-4);
        }
    }

    #[test]
    fn samples_follow_the_distribution() {
        let logits: Vec<f32> = [0.5_f32, 0.25, 0.15, 0.1].iter().map(|p| p.ln()).collect();
        let cases = [
            (1.0, [0.5, 0.25, 0.15, 0.1]),
            (0.5, [0.7246, 0.1812, 0.0652, 0.029]),
            (0.0, [1.0, 0.0, 0.0, 0.0]),
        ];
        for (temperature, expected) in cases {
            let mut sampler = Sampler::new(temperature, 7);
            let read = distribution(&logits).expect("finite");
            let mut seen = [0.0_f64; 4];
            let mut blocks = Blocks::new();
            for _ in 0..20_000 {
                seen[sampler.sample(&logits, &read, &mut blocks)] += 1.0 / 20_000.0;
            }
            for (seen, expected) in seen.iter().zip(expected) {
                assert!(
                    (seen - expected).abs() < 0.015,
                    "{temperature}: {seen} for {expected}"
                );
            }
        }
    }
}
