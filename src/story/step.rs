use std::collections::BTreeSet;

use crate::event::{AblatedChunk, Alternative, AttendedChunk, Citation, Uncertainty, group_words};

use super::text::{clean_citations, many_lines, one_line};

/// Letters of the shortest word that says something by itself, as a rule.
const CONTENT_LETTERS: usize = 4;

/// Entropies of a word from which on the model was unsure of it, and from which on it was guessing,
/// nats: an even choice between two tokens has 0.69, among five 1.61.
pub const UNSURE: f32 = 0.7;
pub const GUESSING: f32 = 1.6;

/// A sentence of the answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    pub step: u32,
    pub tokens: Vec<Token>,
    /// The thoughts that a thinking model wrote before it.
    pub thoughts: String,
    /// The tokens so far, then the text of the finished sentence; trimmed.
    pub text: String,
    /// Once the sentence is complete.
    pub uncertainty: Option<Uncertainty>,
    pub citations: Vec<Citation>,
    /// The chunks that the sentence attended to, where that was measured; strongest first.
    pub attended: Vec<AttendedChunk>,
    /// The chunks that were left out of its prompt, where that was measured; those whose absence
    /// made the sentence least likely first.
    pub ablated: Vec<AblatedChunk>,
    /// The uncertain sentences that this one replaced, oldest first.
    pub replaced: Vec<Replaced>,
    pub origin: Origin,
    /// The white space behind a sentence that was reused.
    pub space_after: String,
}

/// The origin of a sentence of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    Generated,
    /// Generated in an earlier run.
    Reused,
    /// Not generated: a quotation, or that the documents do not say.
    Given,
}

/// An uncertain sentence that was regenerated.
#[derive(Debug, Clone, PartialEq)]
pub struct Replaced {
    pub text: String,
    pub tokens: Vec<Token>,
    pub uncertainty: Option<Uncertainty>,
}

/// A token of the answer; nats.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub text: String,
    pub logprob: f32,
    pub entropy: f32,
    /// The other tokens that were likely in its place, the likeliest first.
    pub alternatives: Vec<Alternative>,
}

impl Step {
    /// Creates a sentence that was reused from an earlier run.
    pub(super) fn for_confirmed(step: u32, text: &str) -> Self {
        let text = many_lines(text);
        Self {
            step,
            text: text.trim().to_owned(),
            origin: Origin::Reused,
            space_after: text[text.trim_end().len()..].to_owned(),
            ..Self::default()
        }
    }

    /// Returns whether it says nothing: the rule of a table, or the end of a code block.
    pub fn is_rule(&self) -> bool {
        !self.text.is_empty() && !self.text.contains(char::is_alphanumeric)
    }

    /// Begins the sentence. A sentence that is there already was uncertain and is replaced.
    pub(super) fn begin(&mut self) {
        if self.tokens.is_empty() {
            return;
        }

        let before = std::mem::take(self);
        self.step = before.step;
        self.thoughts = before.thoughts;
        self.replaced = before.replaced;
        self.replaced.push(Replaced {
            text: before.text,
            tokens: before.tokens,
            uncertainty: before.uncertainty,
        });
    }

    /// Returns the sentence as the model wrote it, with the labels of its prompt; a sentence that
    /// was reused from an earlier run as it stands there.
    pub fn raw_text(&self) -> String {
        if self.tokens.is_empty() {
            return self.text.clone();
        }
        let tokens = self.tokens.iter().map(|token| token.text.as_str());
        tokens.collect::<String>().trim_start().to_owned()
    }

    pub(super) fn finish(&mut self, text: &str, uncertainty: Uncertainty, cited: Vec<Citation>) {
        self.uncertainty = Some(uncertainty);
        self.cite(text, cited);
    }

    /// Takes in the citations of a sentence, with their marks in its text.
    pub(super) fn cite(&mut self, text: &str, cited: Vec<Citation>) {
        self.text = many_lines(text).trim().to_owned();
        self.citations = cited;
        clean_citations(&mut self.citations);
    }

    /// Takes in a sentence that was not generated in this run.
    pub(super) fn give(&mut self, text: &str, cited: Vec<Citation>) {
        self.cite(text, cited);
        if self.origin != Origin::Reused {
            self.origin = Origin::Given;
        }
    }

    pub(super) fn attribute(&mut self, chunks: Vec<AttendedChunk>) {
        self.attended = chunks;
        self.attended.sort_by(|a, b| b.share.total_cmp(&a.share));
    }

    pub(super) fn ablate(&mut self, chunks: Vec<AblatedChunk>) {
        self.ablated = chunks;
        self.ablated
            .sort_by(|a, b| b.logprob_drop.total_cmp(&a.logprob_drop));
    }

    /// Returns the uncertainty of each version of the sentence, oldest first.
    pub fn uncertainties(&self) -> impl Iterator<Item = Option<&Uncertainty>> {
        let replaced = self.replaced.iter();
        let replaced = replaced.map(|replaced| replaced.uncertainty.as_ref());
        replaced.chain([self.uncertainty.as_ref()])
    }

    /// Returns the tokens of a version of the sentence, from 0 for the first.
    pub fn tokens_of(&self, version: usize) -> &[Token] {
        let replaced = self.replaced.get(version);
        replaced.map_or(&self.tokens, |replaced| &replaced.tokens)
    }

    /// Returns the labels of the supporting chunks that the model did not write itself, in order.
    pub fn unwritten_labels(&self) -> Vec<u32> {
        // a document may have such a mark itself
        let is_unwritten = |label: &u32| {
            self.origin == Origin::Given || !self.text.contains(&format!("[{label}]"))
        };
        let labels = self.citations.iter().map(|citation| citation.label);
        let labels: BTreeSet<u32> = labels.filter(is_unwritten).collect();
        labels.into_iter().collect()
    }

    /// Returns the tokens of the first version of the sentence: those that a query was made of.
    pub fn first_tokens(&self) -> &[Token] {
        self.tokens_of(0)
    }
}

/// The certainty of a model of the words of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Certainty {
    Sure,
    /// No single word that says something is unsure, but the signs and short words are, on the
    /// whole.
    UnsureOfWording,
    UnsureOf(String),
    Guessing(String),
}

impl Certainty {
    /// Returns the certainty of a sentence by the entropies of its tokens; `None` without words.
    pub fn from_tokens(tokens: &[Token]) -> Option<Self> {
        let (word, entropy) = least_sure_word(tokens)?;
        Some(if entropy >= GUESSING {
            Self::Guessing(word)
        } else if entropy >= UNSURE {
            Self::UnsureOf(word)
        } else if mean_entropy(tokens) >= UNSURE {
            Self::UnsureOfWording
        } else {
            Self::Sure
        })
    }

    /// Returns the entropy that it is read from in the tokens of its sentence, nats: that of the
    /// word that it names, or of the least sure one; without such a word, the mean of all tokens.
    pub fn entropy(&self, tokens: &[Token]) -> f32 {
        let least = || least_sure_word(tokens).map_or(0.0, |(_, entropy)| entropy);
        match self {
            Self::UnsureOfWording => mean_entropy(tokens),
            Self::Sure => least(),
            Self::UnsureOf(named) | Self::Guessing(named) => {
                let words = word_entropies(tokens).into_iter();
                let of_named = words.filter(|(word, _)| bare(word) == named);
                let entropies = of_named.map(|(_, entropy)| entropy);
                entropies.reduce(f32::max).unwrap_or_else(least)
            }
        }
    }
}

fn mean_entropy(tokens: &[Token]) -> f32 {
    let sum: f32 = tokens.iter().map(|token| token.entropy).sum();
    sum / tokens.len().max(1) as f32
}

/// Returns a word without the punctuation around it, unless it is nothing else.
fn bare(word: &str) -> &str {
    let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
    if bare.is_empty() { word } else { bare }
}

/// Returns the word of a sentence that the model was least sure of, with the mean entropy of its
/// tokens, nats. A short word without a digit counts where there is no other: the first word of an
/// answer is often any of several that say nothing. A mark of a source is none.
pub fn least_sure_word(tokens: &[Token]) -> Option<(String, f32)> {
    let is_mark = |word: &str| word.starts_with('[') && word.contains(']');
    let says_something = |word: &str| {
        let letters = word.chars().filter(|c| c.is_alphanumeric()).count();
        letters >= CONTENT_LETTERS || word.contains(|c: char| c.is_numeric() || !c.is_ascii())
    };
    let words = word_entropies(tokens).into_iter();
    let (word, entropy) =
        words
            .filter(|(word, _)| !is_mark(word))
            .max_by(|(a, a_entropy), (b, b_entropy)| {
                let by_content = says_something(a).cmp(&says_something(b));
                by_content.then(a_entropy.total_cmp(b_entropy))
            })?;
    Some((bare(&word).to_owned(), entropy))
}

/// Returns the words of a sentence (tokens up to the next space) with the mean entropy of their
/// tokens, nats.
pub fn word_entropies(tokens: &[Token]) -> Vec<(String, f32)> {
    let words = group_words(tokens, |token| &token.text).into_iter();
    let words = words.map(|(text, group)| {
        let entropy = group.iter().map(|token| token.entropy).sum::<f32>() / group.len() as f32;
        (one_line(text.trim()), entropy)
    });
    words.filter(|(word, _)| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(words: &[(&str, f32)]) -> Vec<Token> {
        let token = |(text, entropy): &(&str, f32)| Token {
            text: (*text).to_owned(),
            logprob: 0.0,
            entropy: *entropy,
            alternatives: Vec::new(),
        };
        words.iter().map(token).collect()
    }

    #[test]
    fn a_sentence_is_sure_where_neither_a_word_nor_its_mean_is_unsure() {
        let unsure = |word: &str| Certainty::UnsureOf(word.to_owned());
        for (words, expected) in [
            (&[("The", 0.1), (" dam", 0.1)][..], Some(Certainty::Sure)),
            (&[("The", 0.1), (" ferry", 0.8)], Some(unsure("ferry"))),
            (
                &[("The", 0.1), (" ferry", 1.7)],
                Some(Certainty::Guessing("ferry".to_owned())),
            ),
            (
                &[("|", 2.0), (" ferry", 0.2), (" |", 2.0)],
                Some(Certainty::UnsureOfWording),
            ),
            (&[], None),
        ] {
            let tokens = tokens(words);
            let certainty = Certainty::from_tokens(&tokens);
            assert_eq!(certainty, expected, "{words:?}");
            // what is drawn beside the words says the same
            let entropy = certainty.as_ref().map(|known| known.entropy(&tokens));
            let is_sure = certainty.is_none_or(|known| known == Certainty::Sure);
            assert_eq!(entropy.is_none_or(|known| known < UNSURE), is_sure);
        }
    }

    #[test]
    fn a_word_that_says_something_is_the_least_sure_one() {
        let least = |words| least_sure_word(&tokens(words)).map(|(word, _)| word);
        let opened = [
            ("The", 2.0),
            (" dam", 0.1),
            (" opened", 0.5),
            (" [1", 3.0),
            ("].", 0.1),
        ];
        assert_eq!(least(&opened).as_deref(), Some("opened"));
        let year = [("In", 1.0), (" 19", 0.2), ("11.", 0.4)];
        assert_eq!(least(&year).as_deref(), Some("1911"));
        assert_eq!(least(&[("No", 0.1)]).as_deref(), Some("No"));
        assert_eq!(least(&[]), None);
    }
}
