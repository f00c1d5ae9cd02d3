//! ChunkRAG keeps only the chunks that are relevant, and says each thing once.
//!
//! Singh, Aggarwal, Allahverdiyev, Taha, Akalin, Zhu and O'Brien, "ChunkRAG: A Novel LLM-Chunk
//! Filtering Method for RAG Systems", algorithm 1: redundancy (lines 4 to 10), three scores (lines
//! 11 to 17), dynamic threshold (lines 18 to 22).
//!
//! The published threshold can keep nothing: mean plus deviation can exceed every score, and
//! rounding can drop scores that equal it. The best few are kept then.

use std::collections::HashMap;

use super::calls::{JudgementKind, MethodError, ModelCalls};
use crate::config::GradeRead;
use crate::config::prompts::PromptName;
use crate::llm::{Decoding, Labelled, Sampling, StopRule};

/// The grades that a judge can give.
const GRADES: [&str; 11] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
/// Maximum tokens of a reply that names a threshold.
const THRESHOLD_TOKENS: u32 = 16;
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
pub fn redundant(
    count: usize,
    max_similarity: f32,
    cosine: impl Fn(usize, usize) -> f32,
) -> Vec<Option<Twin>> {
    let mut kept: Vec<usize> = Vec::new();
    let mut twins = Vec::with_capacity(count);

    for text in 0..count {
        let nearest = kept
            .iter()
            .map(|of| Twin {
                of: *of,
                cosine: cosine(text, *of),
            })
            .reduce(|best, next| {
                if next.cosine > best.cosine {
                    next
                } else {
                    best
                }
            });

        let twin = nearest.filter(|twin| twin.cosine > max_similarity);
        if twin.is_none() {
            kept.push(text);
        }
        twins.push(twin);
    }
    twins
}

/// Returns unit TF-IDF vectors for the text variant of the redundancy filter (section 3, "Initial
/// Filtering").
///
/// The paper gives no formula. The weight of a word is its count times ln((1 + n) / (1 + n_word)) +
/// 1, for n texts of which n_word have the word.
pub fn tf_idf(texts: &[&str]) -> Vec<HashMap<String, f32>> {
    let mut vectors: Vec<HashMap<String, f32>> = texts.iter().map(|text| counts(text)).collect();
    let mut texts_with: HashMap<String, usize> = HashMap::new();
    for word in vectors.iter().flat_map(HashMap::keys) {
        *texts_with.entry(word.clone()).or_default() += 1;
    }

    for vector in &mut vectors {
        for (word, weight) in vector.iter_mut() {
            let with = texts_with.get(word).copied().unwrap_or(0);
            *weight *= ((1.0 + texts.len() as f32) / (1.0 + with as f32)).ln() + 1.0;
        }

        let squares = vector.values().map(|weight| weight * weight);
        let length = squares.sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        for weight in vector.values_mut() {
            *weight /= length;
        }
    }
    vectors
}

/// Returns the cosine similarity of two unit TF-IDF vectors.
pub fn tf_idf_cosine(a: &HashMap<String, f32>, b: &HashMap<String, f32>) -> f32 {
    a.iter()
        .filter_map(|(word, weight)| b.get(word).map(|other| weight * other))
        .sum()
}

/// Counts the words of a text. In scripts written without spaces, each character is a word.
fn counts(text: &str) -> HashMap<String, f32> {
    let mut counts = HashMap::new();
    let mut add = |word: String| *counts.entry(word).or_default() += 1.0;

    for run in text.split(|c: char| !c.is_alphanumeric()) {
        if run.chars().any(is_unspaced) {
            run.chars().for_each(|c| add(c.to_string()));
        } else if !run.is_empty() {
            add(run.to_lowercase());
        }
    }
    counts
}

/// Returns whether a character belongs to a script that is written without spaces: Thai, Lao,
/// Myanmar, Khmer, kana and Han. Hangul syllables, which lie among them, are not such.
fn is_unspaced(c: char) -> bool {
    let in_unspaced_block = matches!(c,
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..);
    in_unspaced_block && !('\u{ac00}'..='\u{d7a3}').contains(&c)
}

/// The scores of a text by the three judges, each in 0..=1: relevance, relevance after
/// self-reflection, and the critic, who compares names, dates and numbers with the question.
pub type Grades = [f32; 3];

/// Scores each text for the question (algorithm 1, lines 13 to 15).
///
/// A score is read from the probabilities of the labels 0 to 10, as `read` says, and not parsed from a
/// reply.
/// Each judge scores all texts in one batch and reads the scores of the judges before it.
///
/// # Errors
/// As [`ModelCalls::classify`].
pub fn grade(
    calls: &mut dyn ModelCalls,
    question: &str,
    texts: &[&str],
    read: GradeRead,
) -> Result<Vec<Grades>, MethodError> {
    let read = |row: &Labelled| match read {
        GradeRead::Mean => expected(&row.shares),
        GradeRead::Mode => said(row),
    };
    let judges = [
        ("grade", PromptName::Grade),
        ("reflect", PromptName::GradeReflect),
        ("critic", PromptName::GradeCritic),
    ];
    let mut grades: Vec<Grades> = vec![[0.0; 3]; texts.len()];

    for (judge, (purpose, name)) in judges.into_iter().enumerate() {
        let prompts = texts
            .iter()
            .zip(&grades)
            .map(|(text, [base, reflected, _])| {
                let base = out_of_ten(*base);
                let reflected = out_of_ten(*reflected);
                let values = [
                    ("q", question),
                    ("c", *text),
                    ("b", base.as_str()),
                    ("f", reflected.as_str()),
                ];
                // The first judge is shown no score, the second one, the third both.
                calls.prompt(name, &values[..2 + judge])
            })
            .collect::<Result<Vec<_>, MethodError>>()?;

        let kind = JudgementKind {
            purpose,
            prompt: name,
            labels: &GRADES,
        };
        let rows = calls.classify(kind, &prompts)?;
        for (grades, row) in grades.iter_mut().zip(rows) {
            grades[judge] = read(&row);
        }
    }
    Ok(grades)
}

/// Returns the expected grade of a distribution over 0 to 10, in 0..=1.
fn expected(row: &[f32]) -> f32 {
    let max = (GRADES.len() - 1) as f32;
    row.iter()
        .zip(0_u8..)
        .map(|(share, grade)| share * f32::from(grade) / max)
        .sum::<f32>()
        .clamp(0.0, 1.0)
}

/// Returns the grade that a parsed reply gives, in 0..=1.
fn said(row: &Labelled) -> f32 {
    let max = (GRADES.len() - 1) as f32;
    row.said().unwrap_or(0) as f32 / max
}

/// Returns a grade as the prompts of the later judges quote it.
fn out_of_ten(grade: f32) -> String {
    format!("{:.0}", grade * 10.0)
}

/// Combines the three scores (algorithm 1, line 16): their weighted mean, in 0..=1. If no weight is
/// above 0, all count alike.
pub fn combined(grades: Grades, weights: [f32; 3]) -> f32 {
    let sum: f32 = weights.iter().sum();
    let weights = if sum > 0.0 {
        weights.map(|weight| weight / sum)
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
    /// Population standard deviation.
    pub deviation: f64,
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

    let deviation = variance.sqrt();
    let is_tight = variance < min_variance;
    Threshold {
        value: if is_tight { mean + deviation } else { mean },
        mean,
        deviation,
        is_tight,
    }
}

/// Returns the threshold that the generator names for these scores (appendix A.1), in 0..=1; `None`
/// where its reply has no such number.
///
/// # Errors
/// Failures of the generator.
pub fn named_threshold(
    calls: &mut dyn ModelCalls,
    question: &str,
    scores: &[f64],
    seed: u64,
) -> Result<Option<f64>, MethodError> {
    let scores: Vec<String> = scores.iter().map(|score| format!("{score:.2}")).collect();
    let scores = scores.join(", ");
    let prompt = calls.prompt(PromptName::Threshold, &[("q", question), ("s", &scores)])?;
    let decoding = Decoding {
        max_tokens: THRESHOLD_TOKENS,
        sampling: Sampling::GREEDY,
        seed,
        stop: StopRule {
            texts: vec!["\n".to_owned()],
        },
    };
    let replies = calls.complete("threshold", &[prompt], &decoding)?;
    Ok(replies.first().and_then(|reply| number_in(&reply.text)))
}

/// Returns the first number of a reply that is in 0..=1, the end of a sentence aside. One that repeats
/// the scale ("between 0 and 1:") is read behind the colon.
fn number_in(reply: &str) -> Option<f64> {
    let reply = match reply.split_once("between") {
        Some((_, after)) => after.split_once(':')?.1,
        None => reply,
    };
    reply
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter_map(|number| number.trim_end_matches('.').parse().ok())
        .find(|number| (0.0..=1.0).contains(number))
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
    let kept: Vec<bool> = scores
        .iter()
        .map(|score| *score >= threshold - TOLERANCE)
        .collect();
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

/// Returns whether a score is that of a text that answers the question by itself; `clear` is the score from which one does, and
/// 0 for none.
///
/// The paper knows the threshold alone.
pub fn has_clear(scores: &[f64], clear: f32) -> bool {
    clear > 0.0
        && scores
            .iter()
            .any(|score| *score >= f64::from(clear) - TOLERANCE)
}

/// Returns the tokens that are this share of those of all texts.
pub fn tokens_of(tokens: &[u32], share: f32) -> f64 {
    f64::from(tokens.iter().sum::<u32>()) * (f64::from(share) - TOLERANCE)
}

/// Keeps more of the texts, best as retrieved first, until those kept have the wanted number of tokens.
///
/// The paper has no such bound. A judge who reads the question alone gives the second fact of a chain,
/// whose subject the question does not name, the grade of a text that is beside the point.
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
    fn a_grade_is_the_mean_or_the_mode_of_its_distribution() {
        let mut flat = [0.09; 11];
        flat[2] = 0.1;
        assert!(
            (expected(&flat) - 0.497).abs() < 1e-3,
            "{}",
            expected(&flat)
        );
        let row = |shares: &[f32], greedy: Option<usize>| Labelled {
            shares: shares.to_vec(),
            mass: 1.0,
            greedy,
        };
        assert_eq!(said(&row(&flat, None)), 0.2);
        assert_eq!(
            said(&row(&[0.5, 0.5], None)),
            0.0,
            "the lowest among equals"
        );
        // the reply takes "1" for the sum of 1 and 10
        assert_eq!(said(&row(&flat, Some(10))), 1.0);
    }

    #[test]
    fn tf_idf_compares_words_and_unspaced_scripts_by_character() {
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
        let unspaced = cosine(2, 3);
        assert!(unspaced > 0.5 && unspaced < 0.99, "{unspaced}");
        assert_eq!((cosine(0, 4), cosine(0, 2)), (0.0, 0.0));
        assert_eq!(
            tf_idf(&["", "..."]).iter().map(HashMap::len).sum::<usize>(),
            0
        );
    }

    #[test]
    fn a_named_threshold_is_the_first_number_in_range() {
        let cases = [
            (" 0.6", Some(0.6)),
            ("The threshold is 0.55.", Some(0.55)),
            (".5", Some(0.5)),
            ("1", Some(1.0)),
            ("7 of 10, so 0.7", Some(0.7)),
            ("Optimal threshold (between 0 and 1): 0.45", Some(0.45)),
            ("between 0 and 1", None),
            ("seven", None),
            ("", None),
        ];
        for (reply, expected) in cases {
            assert_eq!(number_in(reply), expected, "{reply}");
        }
    }

    #[test]
    fn the_expected_grade_is_the_mean_of_the_distribution() {
        let mut row = [0.0; 11];
        row[0] = 0.25;
        row[10] = 0.75;
        assert!((expected(&row) - 0.75).abs() < 1e-6);
        assert_eq!(out_of_ten(0.749), "7");
    }
}
