//! ChunkRAG keeps only the chunks that are relevant, and says each thing once.
//!
//! Singh, Aggarwal, Allahverdiyev, Taha, Akalin, Zhu and O'Brien, "ChunkRAG: A Novel LLM-Chunk
//! Filtering Method for RAG Systems", algorithm 1: redundancy (lines 4 to 10), three scores (lines
//! 11 to 17), dynamic threshold (lines 18 to 22).
//!
//! The published threshold can keep nothing: mean plus deviation can exceed every score, and
//! rounding can drop scores that equal it. The best few are kept then.

use super::calls::{JudgementKind, ModelCalls};
use super::measures::largest_by;
use crate::config::prompts::PromptName;
use crate::llm::{LlmError, Prompt};

/// The grades that a judge can give.
const GRADES: [&str; 11] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
/// Scores and shares that differ by less are equal: rounding must not drop a score that reaches the
/// threshold.
const TOLERANCE: f64 = 1e-6;

/// The kept text that makes another one redundant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Twin {
    /// Index of the kept text.
    pub of: usize,
    /// Cosine similarity of the two.
    pub cosine: f32,
}

/// Finds redundant texts (algorithm 1, lines 4 to 10).
///
/// Of `count` texts, best first, each is kept whose highest cosine similarity with the texts kept
/// before it is at most `max_similarity`. Returns `None` for a kept text, and the twin of each
/// other.
pub fn find_redundant(
    count: usize,
    max_similarity: f32,
    cosine: impl Fn(usize, usize) -> f32,
) -> Vec<Option<Twin>> {
    let mut kept: Vec<usize> = Vec::new();
    let mut twins = Vec::with_capacity(count);

    for text in 0..count {
        let twins_of_kept = kept.iter().map(|of| Twin {
            of: *of,
            cosine: cosine(text, *of),
        });
        let nearest = largest_by(twins_of_kept, |twin| twin.cosine);
        let twin = nearest.filter(|twin| twin.cosine > max_similarity);
        if twin.is_none() {
            kept.push(text);
        }
        twins.push(twin);
    }
    twins
}

/// The scores of a text by the three judges, each in 0..=1: relevance, relevance after
/// self-reflection, and the critic, who compares names, dates and numbers with the question.
pub type Grades = [f32; 3];

/// Scores each text for the question (algorithm 1, lines 13 to 15).
///
/// A score is the mean of the distribution over the labels 0 to 10, and not parsed from a reply: it
/// keeps fine differences, and a flat distribution lies in the middle. Each judge scores all texts
/// in one batch and reads the scores of the judges before it.
///
/// # Errors
/// As [`ModelCalls::classify`].
pub fn grade<T: AsRef<str>>(
    calls: &mut dyn ModelCalls,
    question: &str,
    texts: &[T],
) -> Result<Vec<Grades>, LlmError> {
    let judges = [
        ("grade", PromptName::Grade),
        ("reflect", PromptName::GradeReflect),
        ("critic", PromptName::GradeCritic),
    ];
    let mut grades: Vec<Grades> = vec![[0.0; 3]; texts.len()];

    for (judge, (purpose, name)) in judges.into_iter().enumerate() {
        let prompts = texts.iter().zip(&grades);
        let prompts = prompts.map(|(text, [base, reflected, _])| {
            let base = out_of_ten(*base);
            let reflected = out_of_ten(*reflected);
            let values = [
                ("question", question),
                ("passage", text.as_ref()),
                ("rating", base.as_str()),
                ("second_rating", reflected.as_str()),
            ];
            // The first judge is shown no score, the second one, the third both.
            calls.prompt(name, &values[..2 + judge])
        });
        let prompts: Vec<Prompt> = prompts.collect();
        let kind = JudgementKind {
            purpose,
            labels: &GRADES,
        };
        let rows = calls.classify(kind, &prompts)?;
        for (grades, row) in grades.iter_mut().zip(rows) {
            grades[judge] = expected_grade(&row.shares);
        }
    }
    Ok(grades)
}

/// Returns the expected grade of a distribution over 0 to 10, in 0..=1.
fn expected_grade(row: &[f32]) -> f32 {
    let max = (GRADES.len() - 1) as f32;
    let parts = row.iter().zip(0_u8..);
    let parts = parts.map(|(share, grade)| share * f32::from(grade) / max);
    parts.sum::<f32>().clamp(0.0, 1.0)
}

/// Returns a grade as the prompts of the later judges quote it.
fn out_of_ten(grade: f32) -> String {
    format!("{:.0}", grade * 10.0)
}

/// Combines the three scores (algorithm 1, line 16): their weighted mean, in 0..=1. The weights sum
/// to 1.
pub fn combine(grades: Grades, weights: [f32; 3]) -> f32 {
    let weighted = grades.iter().zip(weights);
    weighted.map(|(grade, weight)| grade * weight).sum()
}

/// The dynamic threshold of a set of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    pub value: f64,
    /// Whether the variance is below the minimum, so that the threshold is mean plus deviation.
    pub is_tight: bool,
}

/// Returns the dynamic threshold (algorithm 1, lines 19 to 21): the mean, or mean plus population
/// standard deviation if the variance is below `min_variance` (the paper's epsilon).
pub fn threshold(scores: &[f64], min_variance: f64) -> Threshold {
    let count = scores.len().max(1) as f64;
    let mean = scores.iter().sum::<f64>() / count;
    let squares = scores.iter().map(|score| (score - mean).powi(2));
    let variance = squares.sum::<f64>() / count;

    let is_tight = variance < min_variance;
    let deviation = if is_tight { variance.sqrt() } else { 0.0 };
    Threshold {
        value: mean + deviation,
        is_tight,
    }
}

/// The scores that pass a threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// One per score.
    pub kept: Vec<bool>,
    /// Whether no score reached the threshold, so that the best few are kept.
    pub fell_back: bool,
}

/// Keeps the scores that reach the threshold (algorithm 1, line 22). If none does, keeps the best
/// `fallback`, the first among equals.
pub fn keep(scores: &[f64], threshold: f64, fallback: usize) -> Kept {
    let reaches = |score: &f64| *score >= threshold - TOLERANCE;
    let kept: Vec<bool> = scores.iter().map(reaches).collect();
    if scores.is_empty() || fallback == 0 || kept.contains(&true) {
        return Kept {
            kept,
            fell_back: false,
        };
    }

    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let best = &order[..fallback.min(order.len())];
    Kept {
        kept: (0..scores.len()).map(|at| best.contains(&at)).collect(),
        fell_back: true,
    }
}

/// Returns whether a score is that of a text that answers the question by itself; `clear` is the
/// score from which one does, and 0 for none.
///
/// The paper knows the threshold alone.
pub fn has_clear(scores: &[f64], clear: f32) -> bool {
    let is_clear = |score: &f64| *score >= f64::from(clear) - TOLERANCE;
    clear > 0.0 && scores.iter().any(is_clear)
}

/// Returns the tokens that are this share of those of all texts.
pub fn tokens_of(tokens: &[u32], share: f32) -> f64 {
    f64::from(tokens.iter().sum::<u32>()) * (f64::from(share) - TOLERANCE)
}

/// Keeps more of the texts, best as retrieved first, until those kept have the wanted number of
/// tokens.
///
/// The paper has no such bound. A judge who reads the question alone gives the second fact of a
/// chain, whose subject the question does not name, the grade of a text that is beside the point.
pub fn fill(kept: &mut [bool], tokens: &[u32], wanted: f64) {
    let of_kept = kept.iter().zip(tokens).filter(|(is_kept, _)| **is_kept);
    let mut filled = f64::from(of_kept.map(|(_, tokens)| tokens).sum::<u32>());
    for (is_kept, tokens) in kept.iter_mut().zip(tokens) {
        if !*is_kept && filled < wanted {
            *is_kept = true;
            filled += f64::from(*tokens);
        }
    }
}

/// Returns how many of the texts, from the first on, have this many tokens, the last of them whole.
pub fn count_within(tokens: impl IntoIterator<Item = u32>, wanted: f64) -> usize {
    let mut filled = 0.0;
    let begins_within = |tokens: &u32| {
        let begins = filled < wanted;
        filled += f64::from(*tokens);
        begins
    };
    tokens.into_iter().take_while(begins_within).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_as_retrieved_fill_a_share_of_the_tokens() {
        let tokens = [10, 30, 10, 50];
        let cases = [
            (0.1, [false, false, true, false], 1),
            (0.2, [true, false, true, false], 2),
            (0.5, [true, true, true, false], 3),
            (1.0, [true; 4], 4),
        ];
        for (share, expected, count) in cases {
            let mut kept = [false, false, true, false];
            let wanted = tokens_of(&tokens, share);
            fill(&mut kept, &tokens, wanted);
            assert_eq!(kept, expected, "{share}");
            let of_kept = tokens.iter().zip(kept).filter(|(_, is_kept)| *is_kept);
            assert_eq!(
                count_within(of_kept.map(|(tokens, _)| *tokens), wanted),
                count
            );
        }
        assert_eq!(count_within([20, 20, 60], 40.0), 2);
        assert_eq!(count_within([], tokens_of(&[], 1.0)), 0);
    }

    #[test]
    fn a_text_that_answers_the_question_has_a_clear_score() {
        for (scores, clear, expected) in [
            (&[0.2, 0.9][..], 0.9, true),
            (&[0.2, 0.89], 0.9, false),
            (&[1.0], 0.0, false),
            (&[], 0.5, false),
        ] {
            assert_eq!(has_clear(scores, clear), expected, "{scores:?} {clear}");
        }
    }

    #[test]
    fn the_expected_grade_is_the_mean_of_the_distribution() {
        let mut row = [0.0; 11];
        row[0] = 0.25;
        row[10] = 0.75;
        assert!((expected_grade(&row) - 0.75).abs() < 1e-6);
        assert_eq!(out_of_ten(0.749), "7");
    }
}
