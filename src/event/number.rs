//! Conversions to the numbers of events, which saturate instead of failing.

use std::time::Instant;

/// Returns the number, or the largest `u32` where it is larger.
pub fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns whether a number is left out where it is written.
pub fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// Returns the probability of a logit, in 0..=1.
pub fn logistic(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

/// Returns the logit of a probability, which is kept from the ends: a model may be certain.
pub fn logit_of(probability: f32) -> f32 {
    let probability = probability.clamp(1e-3, 0.999);
    (probability / (1.0 - probability)).ln()
}

/// Returns the milliseconds since `started`.
pub fn elapsed_ms(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Returns the microseconds since `started`.
pub fn elapsed_us(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
}
