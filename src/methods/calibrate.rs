//! Calibration of judgements by what the model says of nothing.
//!
//! Zhao, Wallace, Feng, Klein and Singh, "Calibrate Before Use: Improving Few-Shot Performance of Language
//! Models", ICML 2021 (arXiv:2102.09690), section 5. A model prefers some labels whatever the prompt is about:
//! their probabilities after a prompt without content are that preference, and each reading is divided by
//! them.

/// Inputs without content (section 5): the probabilities after each are averaged.
pub const CONTENT_FREE: [&str; 3] = ["N/A", "[MASK]", ""];
/// Minimum prior that divides a reading: below it, a label is not read at all.
const MIN_PRIOR: f32 = 1e-3;

/// Returns the mean of the readings of prompts without content; each is normalised over the labels. Empty for
/// none.
pub fn prior(rows: &[Vec<f32>]) -> Vec<f32> {
    let labels = rows.first().map_or(0, Vec::len);
    let count = rows.len().max(1) as f32;
    (0..labels)
        .map(|label| rows.iter().map(|row| row[label]).sum::<f32>() / count)
        .collect()
}

/// Returns a reading divided by the prior of each label and normalised: W = diag(p_cf)⁻¹, b = 0 (section 5).
pub fn calibrate(row: &[f32], prior: &[f32]) -> Vec<f32> {
    let divided: Vec<f32> = row
        .iter()
        .zip(prior)
        .map(|(share, prior)| share / prior.max(MIN_PRIOR))
        .collect();
    let sum: f32 = divided.iter().sum();
    if sum > 0.0 {
        divided.into_iter().map(|share| share / sum).collect()
    } else {
        row.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_divided_by_the_prior_of_each_label() {
        /// A reading, the readings without content, and the calibrated reading.
        type Case = (&'static [f32], &'static [&'static [f32]], &'static [f32]);
        let cases: [Case; 5] = [
            // an even prior changes nothing
            (&[0.7, 0.3], &[&[0.5, 0.5]], &[0.7, 0.3]),
            // a reading that is the prior says nothing
            (&[0.8, 0.2], &[&[0.9, 0.1], &[0.7, 0.3]], &[0.5, 0.5]),
            // 0.6 / 0.8 against 0.4 / 0.2
            (
                &[0.6, 0.4],
                &[&[0.8, 0.2], &[0.8, 0.2]],
                &[0.272_727, 0.727_273],
            ),
            // a label without a prior does not take everything
            (&[0.999, 0.001], &[&[1.0, 0.0]], &[0.499_75, 0.500_25]),
            (&[0.0, 0.0], &[&[0.5, 0.5]], &[0.0, 0.0]),
        ];
        for (reading, rows, expected) in cases {
            let rows: Vec<Vec<f32>> = rows.iter().map(|row| row.to_vec()).collect();
            let found = calibrate(reading, &prior(&rows));
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-3, "{reading:?}: {found}");
            }
            assert_eq!(found.len(), reading.len());
        }
        assert!(prior(&[]).is_empty());
    }
}
