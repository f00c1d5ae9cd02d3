//! Questions that a folder can answer, from the headings of its documents: the start page offers
//! them.

use std::collections::BTreeSet;

use crate::corpus::fold_white_space;
use crate::engine::stages::continues;

/// Maximum number of questions.
const MAX_QUESTIONS: usize = 3;
/// The question that every folder answers.
const OVERVIEW: &str = "What is in this folder?";
/// Words of a heading that is a topic.
const MAX_TOPIC_WORDS: usize = 6;
/// Words of a question that is understood without its document.
const MIN_WORDS: usize = 4;
const MAX_WORDS: usize = 12;
/// Words in front of "a" or "the" that are no verb, so that "About the author" is no instruction.
const NOT_VERBS: &[&str] = &[
    "about", "above", "across", "after", "against", "all", "along", "among", "and", "around", "as",
    "at", "before", "behind", "below", "beneath", "between", "beyond", "both", "but", "by",
    "during", "except", "for", "from", "half", "if", "in", "inside", "into", "is", "like", "near",
    "not", "of", "off", "on", "once", "only", "or", "out", "outside", "over", "past", "per",
    "since", "such", "than", "through", "to", "toward", "towards", "under", "until", "up", "upon",
    "what", "when", "where", "while", "who", "why", "with", "within", "without",
];

/// Returns a few questions, at most one per document: those that headings ask themselves, in any
/// language, then those that the headings of English instructions answer.
fn questions(documents: &[Vec<String>]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for find in [question_of_heading, question_of_instruction] {
        let mut questions: Vec<String> = Vec::new();
        for headings in documents {
            let question = headings.iter().find_map(|heading| find(heading));
            questions.extend(question.filter(|question| !questions.contains(question)));
        }
        let room = MAX_QUESTIONS - found.len();
        found.extend(spread(questions, room));
    }
    found
}

/// Returns the questions of a folder, and where its headings give few, questions about the topics
/// that they name and the one that every folder answers.
pub fn examples(documents: &[Vec<String>]) -> Vec<String> {
    let mut found = questions(documents);
    if found.len() == MAX_QUESTIONS {
        return found;
    }
    let topics = documents.iter().filter_map(|headings| {
        let topic = headings.iter().find(|heading| is_topic(heading))?;
        Some(fold_white_space(without_number(topic)))
    });
    let mut topics: Vec<String> = topics.collect();
    let mut seen = BTreeSet::new();
    topics.retain(|topic| seen.insert(topic.clone()));
    let asked = |topic: String| format!("What is said about “{topic}”?");
    let room = MAX_QUESTIONS - 1 - found.len();
    found.extend(spread(topics, room).map(asked));
    found.push(OVERVIEW.to_owned());
    found
}

/// Returns up to `count` texts from all over a list.
fn spread(texts: Vec<String>, count: usize) -> impl Iterator<Item = String> {
    let step = texts.len().div_ceil(count.max(1)).max(1);
    texts.into_iter().step_by(step).take(count)
}

/// Returns whether a heading names a topic in a few words.
fn is_topic(heading: &str) -> bool {
    let topic = without_number(heading);
    let words = topic.split_whitespace().count();
    (1..=MAX_TOPIC_WORDS).contains(&words)
        && topic.chars().filter(|c| c.is_alphabetic()).count() > 1
        && !topic.contains(['?', '“', '”', '`', '*'])
}

/// Returns the question that a heading is, where it stands alone.
fn question_of_heading(heading: &str) -> Option<String> {
    let heading = fold_white_space(without_number(heading));
    let question = heading.strip_suffix('?')?;
    let is_one = !question.contains(['?', '!', ':']) && !question.contains(". ");
    let words = question.split(' ').count();
    let is_alone = (MIN_WORDS..=MAX_WORDS).contains(&words) && !continues(question);
    (is_one && is_alone).then(|| heading.clone())
}

/// Returns the question that the text below the heading of an English instruction answers.
fn question_of_instruction(heading: &str) -> Option<String> {
    let heading = fold_white_space(without_number(heading));
    let words: Vec<&str> = heading.split(' ').collect();
    // what is written as a title has no words to put into a sentence
    let is_plain = |word: &&str| word.chars().all(|c| c.is_lowercase() || c == '-');
    let task = match words.as_slice() {
        ["How", "to", task @ ..] => task.join(" "),
        [verb, article @ ("a" | "an" | "the"), rest @ ..]
            if !rest.is_empty() && rest.iter().all(is_plain) =>
        {
            let lower = verb.to_lowercase();
            let is_verb = verb.starts_with(char::is_uppercase)
                && is_plain(&lower.as_str())
                && !lower.ends_with("ing")
                && !NOT_VERBS.contains(&lower.as_str());
            is_verb.then(|| format!("{lower} {article} {}", rest.join(" ")))?
        }
        _ => return None,
    };
    let question = format!("How do I {task}?");
    let is_short = (MIN_WORDS + 1..=MAX_WORDS).contains(&question.split(' ').count());
    (is_short && task.starts_with(char::is_lowercase)).then_some(question)
}

/// Returns a heading without the number in front of it.
fn without_number(heading: &str) -> &str {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' ');
    if heading.starts_with(|c: char| c.is_ascii_digit()) {
        heading.trim_start_matches(is_of_number).trim_end()
    } else {
        heading.trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_made_from_headings_where_they_read_well() {
        let cases = [
            (
                "1.2. What is Debian GNU/Linux?",
                "What is Debian GNU/Linux?",
            ),
            ("Wie melde ich einen Fehler?", "Wie melde ich einen Fehler?"),
            ("How to use a mirror", "How do I use a mirror?"),
            (
                "Replace the pressure cell",
                "How do I replace the pressure cell?",
            ),
            ("3) Report a fault", "How do I report a fault?"),
            // alone they say nothing
            ("Is it right?", ""),
            ("And how is the valve closed?", ""),
            ("Why?", ""),
            ("Testing is broken. What do you mean by that?", ""),
            // no instructions, or not as a sentence has them
            ("About the author", ""),
            ("Replacing the lens", ""),
            ("Alexander the Great", ""),
            ("How To Corrupt Your Database", ""),
            ("How to swim", ""),
            ("Opening hours", ""),
            ("2024", ""),
            ("", ""),
        ];
        for (heading, expected) in cases {
            let found = questions(&[vec![heading.to_owned()]]);
            assert_eq!(found.join(" "), expected, "{heading}");
        }
    }

    #[test]
    fn a_folder_whose_headings_ask_nothing_gives_its_topics() {
        let headings = |headings: &[&str]| headings.iter().map(|&text| text.to_owned()).collect();
        let about = |topic: &str| format!("What is said about “{topic}”?");
        let documents = [
            headings(&["2024", "1. Opening hours"]),
            headings(&["Opening hours"]),
            headings(&["The chipper"]),
            headings(&["Lease"]),
        ];
        let expected = [about("Opening hours"), about("Lease"), OVERVIEW.into()];
        assert_eq!(examples(&documents), expected);

        let with_question = [headings(&["Who owns the pump?"]), headings(&["Lease"])];
        let expected = ["Who owns the pump?".into(), about("Lease"), OVERVIEW.into()];
        assert_eq!(examples(&with_question), expected);
        assert_eq!(examples(&[Vec::new()]), [OVERVIEW]);
    }

    #[test]
    fn each_document_gives_one_question_and_its_own_come_first() {
        let headings = |headings: &[&str]| headings.iter().map(|&text| text.to_owned()).collect();
        let numbered = |n: usize| headings(&[&format!("Who owns pump {n}?")]);
        let many: Vec<Vec<String>> = (1..=9).map(numbered).collect();
        let spread = ["Who owns pump 1?", "Who owns pump 4?", "Who owns pump 7?"];
        assert_eq!(questions(&many), spread);

        let documents = [
            headings(&["Stop the pump", "Start the pump"]),
            headings(&["Stop the pump"]),
            headings(&["Notes", "Who owns the pump?", "Who built the pump?"]),
            headings(&["Drain the tank"]),
        ];
        let expected = [
            "Who owns the pump?",
            "How do I stop the pump?",
            "How do I drain the tank?",
        ];
        assert_eq!(questions(&documents), expected);
    }
}
