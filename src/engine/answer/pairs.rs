//! Two things that a question names: those that it compares, or those of which it asks the same.

use crate::corpus::{is_month, split_words};
use crate::index::is_content_word;

use super::wording::ARTICLES;

/// Words in front of two things that are compared, and words between the two, in lower case.
const COMPARISONS: &[(&str, &[&str])] = &[
    ("compare ", &[" with ", " to ", " avec ", " and ", " et "]),
    ("difference between ", &[" and "]),
    ("differences between ", &[" and "]),
    ("vergleiche ", &[" mit ", " und "]),
    ("unterschied zwischen ", &[" und "]),
    ("unterschiede zwischen ", &[" und "]),
    ("différence entre ", &[" et "]),
    ("différences entre ", &[" et "]),
    ("compara ", &[" con ", " y "]),
    ("diferencia entre ", &[" y "]),
    ("diferencias entre ", &[" y "]),
];
/// Begins the question for one of two things of which the same is compared.
pub const WHAT_IS: &str = "What is ";
/// Words between two names; in German every noun looks like one.
const BETWEEN_NAMES: &[&str] = &[" and ", " et ", " y "];
/// Words inside of a name, between others in capitals.
const INSIDE_NAMES: &[&str] = &["of", "the", "for", "de", "du", "des", "la", "del", "&"];
/// Words in front of the year of a name.
const BEFORE_YEARS: &[&str] = &["in", "of", "en", "for"];
/// Words of a question about two things together, in lower case, and verbs of one thing, which is
/// "Procter and Gamble".
#[rustfmt::skip]
const TOGETHER: &[&str] = &[
    "between", "both", "related", "same", "each", "together", "share", "common", "entre", "deux",
    "ensemble", "ambos", "juntos", "mismo",
];
const SINGULAR: &[&str] = &["was", "is", "has", "does", "which"];

/// Returns the two things that a question compares; none for another question.
pub fn find_comparison(question: &str) -> Option<[String; 2]> {
    let end = |c: char| "?!;:,。？".contains(c);
    // as long as the question, so that what is found in one is in the other
    let text = question.to_ascii_lowercase();
    for (lead, connectors) in COMPARISONS {
        let Some(at) = text.find(lead) else {
            continue;
        };
        let rest = question[at + lead.len()..].split(end).next()?;
        let rest = &rest[..end_of_sentence(rest)];
        let (word, halves) = connectors
            .iter()
            .find_map(|word| Some((*word, rest.split_once(word)?)))?;
        let named = || {
            let pair = split(rest).filter(|_| BETWEEN_NAMES.contains(&word))?;
            Some(if asks_same(&pair) {
                pair.map(|part| format!("{WHAT_IS}{part}?"))
            } else {
                pair
            })
        };
        let (one, other) = halves;
        let halves = || [one, other].map(|part| part.trim().to_owned());
        return Some(named().unwrap_or_else(halves));
    }
    None
}

/// Returns whether the same is asked of two things, in English: "the profit of Abra", and not "the
/// Abra", of which everything is.
fn asks_same([one, other]: &[String; 2]) -> bool {
    let common = one.split(' ').zip(other.split(' '));
    let mut common = common.take_while(|(word, other)| word == other);
    common.any(|(word, _)| word.starts_with(char::is_lowercase) && is_content_word(word, "en"))
}

/// Returns a question for each of two names of which one asks the same: "When were Abra Ltd. and
/// Corvo Inc. founded?" No single sentence answers it.
pub fn find_pair(question: &str) -> Option<[String; 2]> {
    let is_one = end_of_sentence(question) == question.trim_end_matches(['.', ' ']).len();
    let marks = question.trim_end().trim_end_matches(['?', '!', '.']);
    let lower = question.to_lowercase();
    let is_together = split_words(&lower).any(|word| TOGETHER.contains(&word));
    if !is_one || is_together || marks.contains(['?', '!', ',', ';']) {
        return None;
    }

    // the first word of a sentence is in capitals, be it of a name or not
    let (first, rest) = question.split_once(' ')?;
    match split(rest) {
        Some(pair) => Some(pair.map(|part| format!("{first} {part}"))),
        None => split(question),
    }
}

/// Returns where the first sentence of a text ends, without its stop: behind a word in lower case
/// or a number, since "Ltd." ends none, or in front of a word that asks.
fn end_of_sentence(text: &str) -> usize {
    let asks = |rest: &str| {
        let first = split_words(rest).next().unwrap_or_default().to_lowercase();
        ["which", "what", "who", "when", "how", "why", "did", "is"].contains(&first.as_str())
    };
    let ends = |at: &usize| {
        let word = text[..*at].split(' ').next_back().unwrap_or_default();
        !word.starts_with(char::is_uppercase) || asks(&text[at + 1..])
    };
    let mut stops = text.match_indices(". ").map(|(at, _)| at);
    let end = stops.find(ends).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ' ']).len()
}

/// Returns a text with the one and with the other of two names; `None` where they may be one, or
/// the text says something else of each.
fn split(text: &str) -> Option<[String; 2]> {
    let connectors = BETWEEN_NAMES.iter();
    connectors
        .flat_map(|word| text.match_indices(word))
        .find_map(|(at, word)| pair(&text[..at], &text[at + word.len()..]))
}

fn pair(before: &str, behind: &str) -> Option<[String; 2]> {
    let own = without_year(before);
    let lead = &before[..own.len() - last_name(own)?.len()];
    let [bare_lead, bare] = [
        without_article(lead, |text, article| {
            let rest = text.strip_suffix(article)?;
            (rest.is_empty() || rest.ends_with(' ')).then_some(rest)
        }),
        without_article(behind, |text, article| text.strip_prefix(article)),
    ];
    // "the French and Indian War", "was Procter and Gamble"
    let has_one_article = bare_lead.len() < lead.len() && bare.len() == behind.len();
    let verb = bare_lead.split_whitespace().next_back().unwrap_or_default();
    let is_one = has_one_article || SINGULAR.contains(&verb.to_lowercase().as_str());
    let name = first_name(bare).filter(|_| !is_one)?;

    if own.len() < before.len() {
        return Some([before.to_owned(), format!("{bare_lead}{behind}")]);
    }
    let rest = &bare[name.len()..];
    // "Abra in Lorby and Corvo in Aldmouth", and a name that says something of its own
    let begins_alike = split_words(rest).next() == split_words(bare_lead).last();
    let has_name = bare_lead.split(' ').any(is_of_name);
    if (begins_alike && !rest.trim().is_empty()) || has_name || is_month(own) || is_month(name) {
        return None;
    }
    let of_both = ["'s", "’s"].into_iter().find(|end| name.ends_with(end));
    let first = format!("{before}{}{rest}", of_both.unwrap_or_default());
    Some([first, format!("{bare_lead}{behind}")])
}

fn without_article<'t>(text: &'t str, strip: fn(&'t str, &str) -> Option<&'t str>) -> &'t str {
    let mut stripped = ARTICLES.iter().filter_map(|article| strip(text, article));
    stripped.next().unwrap_or(text)
}

/// Returns a text without a year at its end, "in 2017" or "in May 2017".
fn without_year(text: &str) -> &str {
    let is_year = |word: &str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let Some((rest, _)) = text.rsplit_once(' ').filter(|(_, year)| is_year(year)) else {
        return text;
    };
    let months = rest.rsplit_once(' ').filter(|(_, word)| is_month(word));
    let rest = months.map_or(rest, |(rest, _)| rest);
    let before = rest.rsplit_once(' ');
    before
        .filter(|(_, word)| BEFORE_YEARS.contains(word))
        .map_or(text, |(rest, _)| rest)
}

/// Returns the name that a text ends with.
fn last_name(text: &str) -> Option<&str> {
    let mut start = None;
    let mut end = text.len();
    for word in text.rsplit(' ') {
        let at = end - word.len();
        let is_apart = start.is_some() && word.ends_with([',', ';', ':', '?', '!']);
        if is_of_name(word) && !is_apart {
            start = Some(at);
        } else if start.is_none() || is_apart || !INSIDE_NAMES.contains(&word) {
            break;
        }
        end = at.saturating_sub(1);
    }
    start.map(|at| &text[at..])
}

/// Returns the name that a text begins with.
fn first_name(text: &str) -> Option<&str> {
    let mut end = None;
    let mut at = 0;
    for word in text.split(' ') {
        let own = word.trim_end_matches(|c: char| "?!,;:".contains(c));
        if is_of_name(own) {
            end = Some(at + own.len());
        } else if end.is_none() || !INSIDE_NAMES.contains(&own) {
            break;
        }
        if own.len() < word.len() {
            break;
        }
        at += word.len() + 1;
    }
    end.map(|end| &text[..end])
}

/// Returns whether a word may be of a name: in capitals, or a number behind one.
fn is_of_name(word: &str) -> bool {
    word != "I" && word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_things_of_a_question_have_one_each() {
        let cases: &[(&str, [&str; 2])] = &[
            (
                "When were Abra Ltd. and Corvo Inc. founded?",
                [
                    "When were Abra Ltd. founded?",
                    "When were Corvo Inc. founded?",
                ],
            ),
            (
                "What were the assets of the Bank of Lorby and the Abra?",
                [
                    "What were the assets of the Bank of Lorby?",
                    "What were the assets of the Abra?",
                ],
            ),
            (
                "What did Lorby and the Abra sign?",
                ["What did Lorby sign?", "What did the Abra sign?"],
            ),
            (
                "Which loans did Abra in 2017 and Corvo in May 2021 take?",
                [
                    "Which loans did Abra in 2017",
                    "Which loans did Corvo in May 2021 take?",
                ],
            ),
            (
                "Who served under Norba and Koryn?",
                ["Who served under Norba?", "Who served under Koryn?"],
            ),
            (
                "Who are Mira and Tam's parents?",
                ["Who are Mira's parents?", "Who are Tam's parents?"],
            ),
            (
                "What is the price of K-310 and G-7?",
                ["What is the price of K-310?", "What is the price of G-7?"],
            ),
            (
                "Abra and Corvo met when?",
                ["Abra met when?", "Corvo met when?"],
            ),
        ];
        for (question, expected) in cases {
            let expected = expected.map(str::to_owned);
            assert_eq!(find_pair(question), Some(expected), "{question}");
        }
        for question in [
            "Who won the French and Indian War?",
            "Who paid for the bridge and the tower?",
            "Did Abra and its founder move?",
            "Who is Abra and what does Corvo do?",
            "What did Abra and I sign?",
            "Wann wurden Haus und Hof gebaut?",
            "How are Mira and Tam related?",
            "What is the distance between Lorby and Aldmouth?",
            "Which of Abra and Corvo are both owned by Tam?",
            "When was Procter and Gamble founded?",
            "When was Abra founded in Lorby and Corvo in Aldmouth?",
            "When did Mira leave Lorby and Tam arrive?",
            "In May 1912, Mira and Tam left. Why?",
            "It was dark. Did Abra and Corvo sail?",
            "Write about Abra and Corvo. What do they make?",
            "How many ferries ran in March and April 2024?",
            "When did abra and corvo sail?",
        ] {
            assert_eq!(find_pair(question), None, "{question}");
        }
    }

    #[test]
    fn two_things_are_compared_by_what_is_asked_of_both() {
        let cases: &[(&str, Option<[&str; 2]>)] = &[
            ("Compare tea with coffee.", Some(["tea", "coffee"])),
            (
                "Compare the net profit of Abra Ltd. in 2018 and Corvo in 2019. Which was higher?",
                Some([
                    "What is the net profit of Abra Ltd. in 2018?",
                    "What is the net profit of Corvo in 2019?",
                ]),
            ),
            (
                "Compare the profit of Abra in May 2018 and Corvo in June 2019",
                Some([
                    "What is the profit of Abra in May 2018?",
                    "What is the profit of Corvo in June 2019?",
                ]),
            ),
            (
                "Compare the ethics and safety incidents at Abra and Corvo Co. Which came first?",
                Some([
                    "What is the ethics and safety incidents at Abra?",
                    "What is the ethics and safety incidents at Corvo Co?",
                ]),
            ),
            (
                "Compare the profit of Marks and Spencer with that of Tesco.",
                Some(["the profit of Marks and Spencer", "that of Tesco"]),
            ),
            ("Compare Aqua 3 and Aqua 5", Some(["Aqua 3", "Aqua 5"])),
            ("Who paid for Abra and Corvo?", None),
        ];
        for (question, expected) in cases {
            let expected = expected.map(|parts| parts.map(str::to_owned));
            assert_eq!(find_comparison(question), expected, "{question}");
        }
    }
}
