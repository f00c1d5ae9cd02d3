//! ChunkRAG: only the chunks that earn their place go into the context.
//!
//! Singh, Aggarwal, Allahverdiyev, Taha, Akalin, Zhu and O'Brien, "ChunkRAG: A Novel LLM-Chunk Filtering Method for RAG Systems". The
//! order is that of algorithm 1: redundancy (lines 4 to 10), three scores (lines 11 to 17), dynamic threshold (lines 18 to 25). Where
//! the published rule would keep nothing, because mean plus deviation can exceed every score or rounding drops equal ones,
//! the best few are kept instead.

use std::collections::HashMap;

use super::{MethodError, ModelCalls};
use crate::config::prompts::PromptName;

/// The grades that a judge may give.
const GRADES: [&str; 11] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
/// Scores that differ by less than this are equal: rounding must not drop what is as good as the threshold.
const TOLERANCE: f64 = 1e-6;

/// A text that says what a better one said before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Twin {
    /// The kept text that it is most like.
    pub of: usize,
    pub cosine: f32,
}

/// Redundancy (algorithm 1, lines 4 to 10): of `count` texts in order, best first, each is kept whose largest cosine with the kept
/// ones before it is at most `most`; the others name their twin.
pub fn redundant(
    count: usize,
    most: f32,
    cosine: impl Fn(usize, usize) -> f32,
) -> Vec<Option<Twin>> {
    let mut kept: Vec<usize> = Vec::new();
    (0..count)
        .map(|text| {
            let likeness = kept.iter().map(|of| Twin {
                of: *of,
                cosine: cosine(text, *of),
            });
            let nearest = likeness.reduce(|best, next| {
                if next.cosine > best.cosine {
                    next
                } else {
                    best
                }
            });
            let twin = nearest.filter(|twin| twin.cosine > most);
            if twin.is_none() {
                kept.push(text);
            }
            twin
        })
        .collect()
}

/// TF-IDF vectors of length 1 (raw counts times ln((1 + n) / (1 + n_word)) + 1), for the paper's text variant of the redundancy filter.
#[must_use]
pub fn tf_idf(texts: &[&str]) -> Vec<HashMap<String, f32>> {
    let mut counted: Vec<HashMap<String, f32>> = texts.iter().map(|text| counts(text)).collect();
    let mut texts_with: HashMap<String, usize> = HashMap::new();
    for word in counted.iter().flat_map(HashMap::keys) {
        *texts_with.entry(word.clone()).or_default() += 1;
    }
    for text in &mut counted {
        for (word, weight) in text.iter_mut() {
            let with = texts_with.get(word).copied().unwrap_or(0);
            *weight *= ((1.0 + texts.len() as f32) / (1.0 + with as f32)).ln() + 1.0;
        }
        let length = text
            .values()
            .map(|weight| weight * weight)
            .sum::<f32>()
            .sqrt();
        text.values_mut()
            .for_each(|weight| *weight /= length.max(f32::MIN_POSITIVE));
    }
    counted
}

/// The cosine of two TF-IDF vectors.
#[must_use]
pub fn tf_idf_cosine(a: &HashMap<String, f32>, b: &HashMap<String, f32>) -> f32 {
    a.iter()
        .filter_map(|(word, weight)| b.get(word).map(|other| weight * other))
        .sum()
}

/// How often each word occurs. Where words are not set apart by spaces, each character counts as one.
fn counts(text: &str) -> HashMap<String, f32> {
    let mut counts = HashMap::new();
    let mut add = |word: String| *counts.entry(word).or_default() += 1.0;
    for run in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|run| !run.is_empty())
    {
        match run.chars().any(is_unspaced) {
            true => run.chars().for_each(|c| add(c.to_string())),
            false => add(run.to_lowercase()),
        }
    }
    counts
}

/// Letters of scripts that are written without spaces: Thai to Khmer, kana, Han and what lies beyond them.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..)
        && !('\u{ac00}'..='\u{d7a3}').contains(&c)
}

/// What the three judges say of a text, each in 0..=1: relevance, the same after reflection, and the critic (who holds names, dates and
/// numbers against the question).
pub type Grades = [f32; 3];

/// Grade each text for the question (algorithm 1, lines 11 to 17). Each grade is the expected value of the label distribution over 0 to
/// 10, not a parsed reply; each judge sees all texts in one batch, and what the judges before gave.
///
/// # Errors
/// As [`ModelCalls::classify`].
pub fn grade(
    calls: &mut dyn ModelCalls,
    question: &str,
    texts: &[&str],
) -> Result<Vec<Grades>, MethodError> {
    let mut grades: Vec<Grades> = vec![[0.0; 3]; texts.len()];
    let judges = [
        ("grade", PromptName::Grade),
        ("reflect", PromptName::GradeReflect),
        ("critic", PromptName::GradeCritic),
    ];
    for (judge, (purpose, name)) in judges.into_iter().enumerate() {
        let prompts = texts
            .iter()
            .zip(&grades)
            .map(|(text, before)| {
                let [base, reflected] = [before[0], before[1]].map(out_of_ten);
                let values = [
                    ("q", question),
                    ("c", *text),
                    ("b", base.as_str()),
                    ("f", reflected.as_str()),
                ];
                calls.prompt(name, &values[..2 + judge])
            })
            .collect::<Result<Vec<_>, MethodError>>()?;
        let rows = calls.classify(purpose, &prompts, &GRADES)?;
        for (grades, row) in grades.iter_mut().zip(rows) {
            grades[judge] = expected(&row);
        }
    }
    Ok(grades)
}

/// The expected grade of a distribution over 0 to 10, in 0..=1.
fn expected(row: &[f32]) -> f32 {
    let most = (GRADES.len() - 1) as f32;
    row.iter()
        .zip(0_u8..)
        .map(|(share, grade)| share * f32::from(grade) / most)
        .sum::<f32>()
        .clamp(0.0, 1.0)
}

/// A grade as the prompts of the later judges quote it.
fn out_of_ten(grade: f32) -> String {
    format!("{:.0}", grade * 10.0)
}

/// One score of the three grades: their mean by weight, in 0..=1. Without any weight all count alike.
#[must_use]
pub fn combined(grades: Grades, weights: [f32; 3]) -> f32 {
    let all: f32 = weights.iter().sum();
    let weights = if all > 0.0 {
        weights.map(|weight| weight / all)
    } else {
        [1.0 / 3.0; 3]
    };
    grades
        .iter()
        .zip(weights)
        .map(|(grade, weight)| grade * weight)
        .sum()
}

/// The dynamic threshold of a set of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    pub value: f64,
    pub mean: f64,
    /// Of the population.
    pub deviation: f64,
    /// Do the scores lie so close together that the threshold is the mean plus the deviation?
    pub is_tight: bool,
}

/// T = mean when the variance is at least `least_variance`, else mean + population deviation (algorithm 1, lines 18 to 22).
#[must_use]
pub fn threshold(scores: &[f64], least_variance: f64) -> Threshold {
    let count = scores.len().max(1) as f64;
    let mean = scores.iter().sum::<f64>() / count;
    let variance = scores
        .iter()
        .map(|score| (score - mean).powi(2))
        .sum::<f64>()
        / count;
    let deviation = variance.sqrt();
    let is_tight = variance < least_variance;
    Threshold {
        value: if is_tight { mean + deviation } else { mean },
        mean,
        deviation,
        is_tight,
    }
}

/// Which scores are kept, and whether the threshold let none through.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    pub kept: Vec<bool>,
    /// Nothing reached the threshold: the best few are kept, because a context is never empty.
    pub fell_back: bool,
}

/// Keep what reaches the threshold (algorithm 1, lines 23 to 25); when nothing does, the best `fallback` scores, of equal ones the first.
#[must_use]
pub fn keep(scores: &[f64], threshold: &Threshold, fallback: usize) -> Kept {
    let kept: Vec<bool> = scores
        .iter()
        .map(|score| *score >= threshold.value - TOLERANCE)
        .collect();
    if scores.is_empty() || kept.contains(&true) {
        return Kept {
            kept,
            fell_back: false,
        };
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let best = &order[..fallback.max(1).min(order.len())];
    Kept {
        kept: (0..scores.len()).map(|at| best.contains(&at)).collect(),
        fell_back: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_alike_in_words_are_near_and_scripts_without_spaces_too() {
        let texts = [
            "The ship sailed at dawn.",
            "At dawn the ship sailed!",
            "灯台は高い。",
            "灯台は低い。",
            "Ropes hold.",
        ];
        let vectors = tf_idf(&texts);
        let cosine = |a: usize, b: usize| tf_idf_cosine(&vectors[a], &vectors[b]);
        assert!((cosine(0, 1) - 1.0).abs() < 1e-6);
        assert!(
            cosine(2, 3) > 0.5 && cosine(2, 3) < 0.99,
            "{}",
            cosine(2, 3)
        );
        assert_eq!((cosine(0, 4), cosine(0, 2)), (0.0, 0.0));
        assert_eq!(
            tf_idf(&["", "..."]).iter().map(HashMap::len).sum::<usize>(),
            0
        );
    }

    #[test]
    fn the_expected_grade_is_that_of_the_distribution() {
        let mut row = [0.0; 11];
        (row[0], row[10]) = (0.25, 0.75);
        assert!((expected(&row) - 0.75).abs() < 1e-6);
        assert_eq!(out_of_ten(0.749), "7");
    }
}
