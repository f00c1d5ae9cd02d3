//! How near an answer is to the right ones.
//!
//! Exact match and F1 as SQuAD's evaluate-v2.0.py has them (Rajpurkar et al. 2016), substring accuracy as EVOUNA's lexical match (Wang
//! et al. 2023), ROUGE-L (Lin 2004) over lower-case words, METEOR (Banerjee and Lavie 2005) over exact matches with the parameters of
//! its authors' later release (α 0.9, β 3, γ 0.5). Of several right answers the nearest counts.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

const METEOR_ALPHA: f64 = 0.9;
const METEOR_BETA: i32 = 3;
const METEOR_GAMMA: f64 = 0.5;

/// Replies that say that the answer is not there, as [`normalised`] leaves them.
const DECLINES: &[&str] = &[
    "unknown",
    "unanswerable",
    "no answer",
    "not stated",
    "not mentioned",
    "i do not know",
    "i dont know",
    "not known",
];

/// How near an answer is to the right ones; each in 0..=1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TextScores {
    pub exact_match: f64,
    pub f1: f64,
    /// A right answer stands in the reply.
    pub substring: f64,
    pub rouge_l: f64,
    pub meteor: f64,
}

impl TextScores {
    /// Score `answer` against the right ones. Without any the question cannot be answered, and right is a reply that says so.
    #[must_use]
    pub fn of(answer: &str, right: &[String]) -> Self {
        if right.is_empty() {
            let right = f64::from(u8::from(declines(answer)));
            return Self {
                exact_match: right,
                f1: right,
                substring: right,
                rouge_l: right,
                meteor: right,
            };
        }
        let best = |score: fn(&str, &str) -> f64| {
            right
                .iter()
                .map(|right| score(answer, right))
                .fold(0.0, f64::max)
        };
        Self {
            exact_match: best(exact_match),
            f1: best(f1),
            substring: best(substring),
            rouge_l: best(rouge_l),
            meteor: best(meteor),
        }
    }
}

/// Does the reply say that the answer is not there?
#[must_use]
pub fn declines(answer: &str) -> bool {
    DECLINES.contains(&normalised(answer).as_str())
}

/// Lower case, without ASCII punctuation, then without articles, and with single spaces.
#[must_use]
pub fn normalised(text: &str) -> String {
    let bare: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_ascii_punctuation())
        .collect();
    let mut kept = String::with_capacity(bare.len());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = bare.as_str();
    while let Some(first) = rest.chars().next() {
        let word = is_word(first);
        let end = rest
            .find(|c: char| is_word(c) != word)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        kept.push_str(if word && matches!(run, "a" | "an" | "the") {
            " "
        } else {
            run
        });
        rest = after;
    }
    kept.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// 1 when both are the same once they are [`normalised`].
#[must_use]
pub fn exact_match(answer: &str, right: &str) -> f64 {
    f64::from(u8::from(normalised(answer) == normalised(right)))
}

/// The harmonic mean of precision and recall over words.
#[must_use]
pub fn f1(answer: &str, right: &str) -> f64 {
    let (answer, right) = (normalised(answer), normalised(right));
    let (answer, right): (Vec<&str>, Vec<&str>) =
        (answer.split(' ').collect(), right.split(' ').collect());
    if answer == [""] || right == [""] {
        return f64::from(u8::from(answer == right));
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in &right {
        *left.entry(word).or_default() += 1;
    }
    let common = answer.iter().filter(|word| take(&mut left, word)).count();
    harmonic(common, answer.len(), right.len())
}

fn take(left: &mut HashMap<&str, usize>, word: &str) -> bool {
    match left.get_mut(word) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        Some(_) | None => false,
    }
}

/// The harmonic mean of `common / answer` and `common / right`.
fn harmonic(common: usize, answer: usize, right: usize) -> f64 {
    if common == 0 {
        0.0
    } else {
        2.0 * common as f64 / (answer + right) as f64
    }
}

/// 1 when the right answer stands in the reply, both [`normalised`].
#[must_use]
pub fn substring(answer: &str, right: &str) -> f64 {
    f64::from(u8::from(normalised(answer).contains(&normalised(right))))
}

/// Lower-case runs of letters and digits.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The harmonic mean of precision and recall of the longest common subsequence of words.
#[must_use]
pub fn rouge_l(answer: &str, right: &str) -> f64 {
    let (answer, right) = (words(answer), words(right));
    let mut row = vec![0_usize; right.len() + 1];
    for word in &answer {
        let mut diagonal = 0;
        for (at, other) in right.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if word == other {
                diagonal + 1
            } else {
                above.max(row[at])
            };
            diagonal = above;
        }
    }
    harmonic(row[right.len()], answer.len(), right.len())
}

/// The weighted mean of precision and recall over matched words, less a penalty for matches that are scattered.
#[must_use]
pub fn meteor(answer: &str, right: &str) -> f64 {
    let (answer, right) = (words(answer), words(right));
    let mut free: Vec<(usize, &String)> = right.iter().enumerate().collect();
    let mut matches: Vec<(usize, usize)> = Vec::new();
    // from the end, as the common implementations align
    for (at, word) in answer.iter().enumerate().rev() {
        if let Some(found) = free.iter().rposition(|(_, other)| *other == word) {
            matches.push((at, free.remove(found).0));
        }
    }
    if matches.is_empty() {
        return 0.0;
    }
    matches.reverse();
    let breaks = matches
        .windows(2)
        .filter(|pair| pair[1] != (pair[0].0 + 1, pair[0].1 + 1))
        .count();
    let count = matches.len() as f64;
    let (precision, recall) = (count / answer.len() as f64, count / right.len() as f64);
    let mean = precision * recall / (METEOR_ALPHA * precision + (1.0 - METEOR_ALPHA) * recall);
    mean * (1.0 - METEOR_GAMMA * ((breaks + 1) as f64 / count).powi(METEOR_BETA))
}
