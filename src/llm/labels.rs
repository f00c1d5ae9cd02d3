//! Labels that a model is asked to reply with: how it may spell them, and which one a reply names.

/// Minimum probability that a reply begins with any of the labels for their own probabilities to be
/// read: below it, they are the tails of other replies.
pub const MIN_MASS: f32 = 0.05;
/// Maximum tokens of a reply that is parsed for a label.
pub const REPLY_TOKENS: u32 = 16;
/// What may stand in front of a label at the start of a reply.
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

/// Returns the index of the label that a reply names: the one that it begins with, otherwise the
/// first one in it; `None` if it names none.
pub fn named(reply: &str, labels: &[&str]) -> Option<usize> {
    let reply = reply.to_lowercase();
    let mut words = reply
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.find_map(|word| labels.iter().position(|label| is_named(word, label)))
}

/// Returns whether a word of a reply is a label or, for a long one, another form of it: "entails" and
/// "entailed" for "entailment", "contradicts" for "contradiction".
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
        assert_eq!(yes.len(), 15);
        assert_eq!(spellings("10").len(), LEADS.len());
    }

    #[test]
    fn a_reply_names_the_label_that_it_begins_with_or_the_first_in_it() {
        let judgements = ["entailment", "neutral", "contradiction"];
        let grades = ["0", "1", "7", "10"];
        let cases: [(&str, &[&str], Option<usize>); 12] = [
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
        ];
        for (reply, labels, expected) in cases {
            assert_eq!(named(reply, labels), expected, "{reply}");
        }
    }
}
