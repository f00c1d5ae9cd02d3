//! The short answer of a reply: where it is stated, and where a sentence ends.

use super::marks::without_marks;
use crate::corpus::{language, sentences, split_words};
use crate::index::is_content_word;

/// Maximum bytes between "answer to" and the "is" or colon behind it.
const MAX_REFERENCE_BYTES: usize = 64;
/// Maximum bytes of an answer in bold type.
const MAX_BOLD_BYTES: usize = 80;
/// Maximum words of a reply that is a short answer itself.
const MAX_SHORT_WORDS: usize = 4;
/// Openings of a sentence that draws the conclusion.
const CONCLUSIONS: [&str; 4] = ["Therefore,", "Thus,", "Hence,", "So,"];
/// Quotation marks.
const QUOTES: [char; 3] = ['"', '“', '”'];
/// Markup and quotation marks around an answer.
const MARKUP: [char; 7] = ['*', '_', '`', '"', '“', '”', '$'];

/// Returns the answer that a text states explicitly: behind "the answer is", "the answer to
/// the question is:" or "Answer:", or in a box. The last one counts.
pub fn find_stated(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let behind = lower
        .rmatch_indices("answer")
        .filter(|(at, _)| is_statement(&lower[..*at]))
        .filter_map(|(at, word)| {
            let start = at + word.len();
            Some(&text[start + phrase_end(&lower[start..])?..])
        });
    find_boxed(text).or_else(|| behind.map(tidy).find(|short| !short.is_empty()))
}

/// Returns the short answer of a whole reply: the stated one, otherwise the conclusion, otherwise
/// what is in bold type, otherwise a reply of a few words; `None` where only the reply as a whole
/// is an answer.
pub fn short_answer(reply: &str) -> Option<String> {
    find_stated(reply)
        .or_else(|| find_concluded(reply))
        .or_else(|| bold(reply))
        .or_else(|| {
            let is_short = reply.split_whitespace().count() <= MAX_SHORT_WORDS;
            (is_short && sentences(reply, "").len() == 1).then(|| tidy(reply))
        })
        .filter(|short| !short.is_empty())
}

/// Returns the first sentence of what follows a phrase, without markup, marks of sources and the
/// final period.
pub fn tidy(text: &str) -> String {
    let text = &without_marks(text);
    let inside = text.trim().trim_start_matches(MARKUP);
    let inside = inside
        .trim_start_matches(':')
        .trim()
        .trim_start_matches(MARKUP);
    let first_line = inside.trim().lines().next().unwrap_or_default();
    let sentence = first_sentence(first_line).trim_matches(MARKUP);

    // the period of an abbreviation such as "U.S." belongs to it
    let bare = sentence.strip_suffix('.').unwrap_or(sentence);
    let last_word = bare.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_abbreviated = last_word.contains('.');
    let short = if is_abbreviated { sentence } else { bare };
    with_own_quotes(short.trim_matches(MARKUP).trim(), text)
}

/// Returns a short answer with the quotation marks at its ends that belong to words inside of it,
/// as in `"yes" or "no"`; `text` holds it.
fn with_own_quotes(short: &str, text: &str) -> String {
    let Some(start) = text.find(short).filter(|_| short.contains(QUOTES)) else {
        return short.to_owned();
    };
    let before = text[..start].chars().next_back();
    let after = text[start + short.len()..]
        .trim_start_matches('.')
        .chars()
        .next();
    let quote = |mark: Option<char>| mark.filter(|mark| QUOTES.contains(mark));
    let quoted = quote(before).into_iter().chain(short.chars());
    let quoted: String = quoted.chain(quote(after)).collect();
    let count = |mark: char| quoted.matches(mark).count();
    let is_balanced = count('"').is_multiple_of(2) && count('“') == count('”');
    if is_balanced {
        quoted
    } else {
        short.to_owned()
    }
}

/// Returns the last sentence of a text, trimmed.
pub fn last_sentence(text: &str) -> String {
    let last = sentences(text, "").pop();
    last.map_or_else(String::new, |range| tidy(&text[range]))
}

/// Returns whether `text` ends with the initial of a name that continues with `next`: "by Z." with
/// "Torres", and not "is B." with "The".
pub fn is_name_continued(text: &str, next: &str) -> bool {
    let last_word = text.trim_end().rsplit(char::is_whitespace).next();
    let last_word = last_word.unwrap_or_default().trim_start_matches(MARKUP);
    let mut letters = last_word.split_terminator('.');
    let is_initial = last_word.ends_with('.')
        && letters.all(|letter| {
            let mut characters = letter.chars();
            characters.next().is_some_and(char::is_uppercase) && characters.next().is_none()
        });

    let next = next.trim_start();
    let word: String = next.chars().take_while(|c| c.is_alphanumeric()).collect();
    let is_function_word = word.chars().count() > 1 && !is_content_word(&word, "en");
    is_initial && next.starts_with(char::is_uppercase) && !is_function_word
}

/// Returns whether a sentence says something that a repetition of it would say again: it is whole,
/// and has a content word. Headings, list marks, rules and lines of code are repeated in answers
/// that continue.
pub fn is_repeatable(sentence: &str) -> bool {
    let is_whole = sentence
        .trim_end_matches(MARKUP)
        .ends_with(['.', '!', '?', '…', '。', '！', '？']);
    let language = language(sentence);
    let has_content = split_words(sentence)
        .filter(|word| word.chars().any(char::is_alphabetic))
        .any(|word| is_content_word(word, language));
    is_whole && has_content
}

/// Returns whether "answer" behind this text is what is stated: a word of its own, and not that
/// there is none.
fn is_statement(before: &str) -> bool {
    let is_word = !before.ends_with(char::is_alphanumeric);
    let last_word = before.split_whitespace().next_back().unwrap_or_default();
    is_word && !["no", "an", "any"].contains(&last_word)
}

/// Returns where the phrase ends that follows "answer": " is", ":", or " to ... is".
fn phrase_end(behind: &str) -> Option<usize> {
    let markup = behind.len() - behind.trim_start_matches(['*', '_']).len();
    let behind = &behind[markup..];
    if behind.starts_with(':') {
        return Some(markup + 1);
    }
    if is_verb(behind) {
        return Some(markup + " is".len());
    }

    let reference = behind.strip_prefix(" to ")?;
    let end = reference.find([':', '.', '\n']).unwrap_or(reference.len());
    let mut verbs = reference[..end].match_indices(" is").map(|(at, _)| at);
    let verb = verbs.find(|at| is_verb(&reference[*at..]));
    let colon = reference[end..].starts_with(':').then_some(end + 1);
    let behind_reference = verb.map(|at| at + " is".len()).or(colon)?;
    (behind_reference <= MAX_REFERENCE_BYTES).then_some(markup + " to ".len() + behind_reference)
}

fn is_verb(text: &str) -> bool {
    text.strip_prefix(" is")
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric) && !rest.starts_with('\''))
}

/// Returns what is in the last `\boxed{}` of a text.
fn find_boxed(text: &str) -> Option<String> {
    let (_, inside) = text.rsplit_once("\\boxed{")?;
    let mut depth = 1;
    let end = inside.find(|c: char| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    let short = inside[..end].trim();
    (!short.is_empty()).then(|| short.to_owned())
}

/// Returns what the last sentence that draws a conclusion says.
fn find_concluded(text: &str) -> Option<String> {
    let conclusion = sentences(text, "").into_iter().rev().find_map(|range| {
        let end = text[range.clone()].len();
        CONCLUSIONS.iter().find_map(|opening| {
            let start = text[range.clone()].strip_prefix(opening).map(str::len)?;
            Some(range.start + end - start..text.len())
        })
    })?;
    let conclusion = &text[conclusion];
    let first = first_sentence(conclusion.trim());
    bold(first).or_else(|| Some(tidy(first)))
}

/// Returns the last short text in bold type that is no heading.
fn bold(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split("**").collect();
    // every second part is between two marks; one that is not closed is the last
    let inside = parts.iter().skip(1).step_by(2).take((parts.len() - 1) / 2);
    inside
        .filter(|part| part.len() <= MAX_BOLD_BYTES && !part.trim_end().ends_with(':'))
        .map(|part| tidy(part))
        .rfind(|short| !short.is_empty())
}

/// Returns the first sentence of a line. The initials of a name end none.
fn first_sentence(line: &str) -> &str {
    let ranges = sentences(line, "");
    let mut end = line.len();
    for pair in ranges.windows(2) {
        if !is_name_continued(&line[..pair[0].end], &line[pair[1].start..]) {
            end = pair[0].end;
            break;
        }
    }
    line[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_answer_is_found_in_its_usual_forms() {
        let cases = [
            (
                "Tam was born in Lorby. So the answer is Lorby.",
                Some("Lorby"),
            ),
            ("The answer is: 42.\nMore.", Some("42")),
            ("The answer is", None),
            ("Lorby", None),
            ("The answer to the question is: Paris", Some("Paris")),
            (
                "The answer to your question is **Anne Hidalgo**.",
                Some("Anne Hidalgo"),
            ),
            ("**Answer:** Paris", Some("Paris")),
            ("Final answer: Paris. It is the capital.", Some("Paris")),
            (
                "The final answer is \\boxed{\\frac{1}{2}}.",
                Some("\\frac{1}{2}"),
            ),
            ("So the answer is Z. Torres.", Some("Z. Torres")),
            (
                "So the answer is J. R. R. Tolkien. He wrote it.",
                Some("J. R. R. Tolkien"),
            ),
            ("So the answer is St. Louis.", Some("St. Louis")),
            ("So the answer is the U.S.", Some("the U.S.")),
            ("The answer is B. The others are wrong.", Some("B")),
            ("So the answer is \"Lorby\".", Some("Lorby")),
            (
                "So the answer is \"the rule\" or \"the law\".",
                Some("\"the rule\" or \"the law\""),
            ),
            (
                "So the answer is **the word “Norme.”**",
                Some("the word “Norme”"),
            ),
            ("So the answer is 5\" or 6.", Some("5\" or 6")),
            ("So the answer is Lorby [1].", Some("Lorby")),
            ("So the answer is [2].", None),
            ("No answer is given.", None),
            ("Answer the question: who?", None),
            ("The answer isn't known.", None),
        ];
        for (text, expected) in cases {
            assert_eq!(find_stated(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_reply_without_a_stated_answer_has_its_conclusion() {
        let cases = [
            ("Tam was born there. Therefore, Lorby.", Some("Lorby")),
            (
                "She left. Therefore, it was **Lorby** in the end.",
                Some("Lorby"),
            ),
            (
                "**Steps:**\nThe town is **Lorby**, by the sea.",
                Some("Lorby"),
            ),
            ("Paris.", Some("Paris")),
            ("Tam Reeve was born in the town of Aldmouth.", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(short_answer(text).as_deref(), expected, "{text}");
        }
        assert_eq!(last_sentence("One. Two is three."), "Two is three");
    }

    #[test]
    fn only_sentences_that_say_something_count_as_repeated() {
        for (sentence, expected) in [
            ("Tam was born in Lorby.", true),
            ("**Tam was born in Lorby.**", true),
            ("```python", false),
            ("---", false),
            ("**Answer:**", false),
            ("1.", false),
            ("return x", false),
        ] {
            assert_eq!(is_repeatable(sentence), expected, "{sentence}");
        }
    }
}
