//! Measures that several methods share.

/// Returns the area under the ROC curve: the share of (true, false) pairs in which the true case
/// has the higher score, ties counting half (Mann and Whitney). `None` when only one class occurs.
pub fn auroc(scores: &[f64], truth: &[bool]) -> Option<f64> {
    let mut order: Vec<(f64, bool)> = scores.iter().copied().zip(truth.iter().copied()).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));

    let mut wins = 0.0;
    let mut false_below = 0.0;
    for ties in order.chunk_by(|a, b| a.0 == b.0) {
        let positives = ties.iter().filter(|(_, truth)| *truth).count() as f64;
        let negatives = ties.len() as f64 - positives;
        wins += positives * (false_below + negatives / 2.0);
        false_below += negatives;
    }

    let positives = order.len() as f64 - false_below;
    (positives > 0.0 && false_below > 0.0).then(|| wins / (positives * false_below))
}

/// Returns 0 for a number that is not finite: events hold finite numbers, whatever a judge returns.
pub fn finite(number: f32) -> f32 {
    if number.is_finite() { number } else { 0.0 }
}

/// Returns the item with the largest key; the first of equals.
pub fn largest_by<T, K: PartialOrd>(
    items: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Option<T> {
    items.reduce(|best, next| if key(&next) > key(&best) { next } else { best })
}

/// Returns the cosine similarity of two unit vectors.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
