//! Labels that a model is asked to reply with: how it may spell them, and which one a reply names.

use std::ops::Range;

/// Minimum probability that a reply begins with any of the labels for their own probabilities to be
/// read: below it, they are the tails of other replies.
pub const MIN_MASS: f32 = 0.05;
/// Maximum tokens of a reply that is parsed for a label.
pub const REPLY_TOKENS: u32 = 16;
/// Words and signs between the labels of a list, besides commas.
const JOINTS: [&str; 9] = ["and", "or", "to", "&", "-", "–", "—", "..", "..."];
/// Words in front of the end of a scale.
const SCALES: [&str; 3] = ["out of", "scale of", "up to"];
/// Signs that may stand in front of a label at the start of a reply.
const LEADS: [&str; 5] = ["", " ", "**", "\"", "'"];

/// Returns the texts with which a reply that means this label may begin: lower case, with a capital
/// and in capitals, each bare, behind a space and in markup.
pub fn spellings(label: &str) -> Vec<String> {
    let mut capitalised: String = label.chars().take(1).flat_map(char::to_uppercase).collect();
    capitalised.extend(label.chars().skip(1));

    let mut spellings = Vec::new();
    for word in [label.to_owned(), capitalised, label.to_uppercase()] {
        for lead in LEADS {
            let spelling = format!("{lead}{word}");
            if !spellings.contains(&spelling) {
                spellings.push(spelling);
            }
        }
    }
    spellings
}

/// A label in a reply, and its place in bytes.
struct Mention {
    label: usize,
    span: Range<usize>,
}

/// Returns the index of the label that a reply names: the one that it begins with, otherwise the
/// first one in it; `None` if it names none.
///
/// Labels that the reply lists name nothing: "between 0 and 10", "yes or no" and "out of 10" repeat
/// what was asked.
pub fn find(reply: &str, labels: &[&str]) -> Option<usize> {
    let reply = reply.to_lowercase();
    let found = mentions(&reply, labels);

    let mut at = 0;
    while let Some(first) = found.get(at) {
        let listed = count_listed(&reply, &found[at..]);
        let before = reply[..first.span.start].trim_end();
        if listed == 1 && !SCALES.iter().any(|scale| before.ends_with(scale)) {
            return Some(first.label);
        }
        at += listed;
    }
    None
}

/// Returns the labels in a reply, in order.
fn mentions(reply: &str, labels: &[&str]) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in reply.split(|c: char| !c.is_alphanumeric()) {
        // a separator ends each word
        let start = at;
        let end = start + word.len();
        at = end + reply[end..].chars().next().map_or(0, char::len_utf8);

        if let Some(label) = labels.iter().position(|label| is_named(word, label)) {
            found.push(Mention {
                label,
                span: start..end,
            });
        }
    }

    found
}

/// Counts the labels at the front that are one list: 3 in "entailment, neutral or contradiction", 1
/// if the first stands alone.
fn count_listed(reply: &str, found: &[Mention]) -> usize {
    let mut listed = 1;
    for (at, pair) in found.windows(2).enumerate() {
        let between = reply[pair[0].span.end..pair[1].span.start].trim();
        let is_joined = JOINTS.contains(&between.trim_start_matches(',').trim_start());
        if is_joined && pair[0].label != pair[1].label {
            listed = at + 2;
        } else if between != "," {
            break;
        }
    }
    listed
}

/// Returns whether a word of a reply is a label or, for a long one, another form of it: "entails"
/// and "entailed" for "entailment", "contradicts" for "contradiction".
fn is_named(word: &str, label: &str) -> bool {
    let label = label.to_lowercase();
    let stem = match label
        .strip_suffix("ment")
        .or_else(|| label.strip_suffix("ion"))
    {
        Some(stem) if stem.len() >= 5 => stem,
        Some(_) | None => return word == label,
    };
    let ending = word.strip_prefix(stem);
    ending.is_some_and(|ending| ["", "s", "ed", "ing", "ment", "ion", "ory"].contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_its_usual_spellings_once() {
        let yes = spellings("yes");
        for spelling in ["yes", "Yes", "YES", " yes", " Yes", "**Yes", "\"yes"] {
            assert!(yes.iter().any(|known| known == spelling), "{spelling}");
        }
        assert_eq!(yes.len(), 3 * LEADS.len());
        assert_eq!(spellings("10").len(), LEADS.len());
    }

    #[test]
    fn a_reply_names_the_label_that_it_begins_with_or_the_first_in_it() {
        let judgements = ["entailment", "neutral", "contradiction"];
        let grades = ["0", "1", "7", "10"];
        let cases: [(&str, &[&str], Option<usize>); 23] = [
            ("Yes.", &["yes", "no"], Some(0)),
            (
                "**No**, the context does not say yes.",
                &["yes", "no"],
                Some(1),
            ),
            ("\n\n\"no\"", &["yes", "no"], Some(1)),
            ("I do not know", &["yes", "no"], None),
            ("nothing", &["yes", "no"], None),
            ("Entailment.", &judgements, Some(0)),
            ("The first entails the second", &judgements, Some(0)),
            ("They are contradictory", &judgements, Some(2)),
            ("10/10", &grades, Some(3)),
            ("Score: 7", &grades, Some(2)),
            ("17", &grades, None),
            ("", &grades, None),
            ("Relevance Score (between 0 and 10): 0.", &grades, Some(0)),
            ("Relevance Score (between 0 and 10): ", &grades, None),
            ("Score (0-10): 7", &grades, Some(2)),
            ("On a scale of 10 it is 7 out of 10", &grades, Some(2)),
            ("0/10", &grades, Some(0)),
            ("7, from 0 to 10", &grades, Some(2)),
            ("7, 10 being the best", &grades, Some(2)),
            ("Yes or no? No.", &["yes", "no"], Some(1)),
            ("No, no.", &["yes", "no"], Some(1)),
            ("Entailment, neutral, or contradiction", &judgements, None),
            (
                "Entailment, neutral or – äöü – contradiction: neutral",
                &judgements,
                Some(0),
            ),
        ];
        for (reply, labels, expected) in cases {
            assert_eq!(find(reply, labels), expected, "{reply}");
        }
    }
}
