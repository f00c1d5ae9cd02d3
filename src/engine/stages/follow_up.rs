//! Makes a follow-up question ("and where was he born?") stand alone by the last turns of its
//! thread, before anything else of the run. A model that cannot do that is found out by what it
//! writes.

use std::collections::HashSet;

use crate::config::FollowUpRewrite;
use crate::config::prompts::PromptName;
use crate::corpus::{fold_white_space, split_words};
use crate::engine::error::RunError;
use crate::engine::run::{Run, context};
use crate::event::{AsAsked, RunEvent, Turn, saturating_u32};
use crate::llm::Prompt;
use crate::methods::ModelCalls as _;

/// Maximum length of a rewritten question.
const MAX_TOKENS: u32 = 64;
/// Maximum number of turns that the model reads.
const MAX_TURNS: usize = 4;
/// Maximum characters of a question or an answer among them.
const MAX_CHARACTERS: usize = 200;
/// Letters from which on a word that is no name says something.
const MIN_LETTERS: usize = 4;

/// Words of a question that stands alone, at least.
const MIN_WORDS: usize = 5;
/// Words that English questions begin with, and questions in other languages do not.
const QUESTION_WORDS: [&str; 8] = [
    "who", "whose", "what", "which", "when", "where", "why", "how",
];
/// Words that a question begins with which continues another.
const OPENINGS: [&str; 6] = ["and", "but", "or", "so", "then", "also"];
/// Words that refer to something before them.
#[rustfmt::skip]
const POINTERS: [&str; 35] = [
    "he", "she", "it", "they", "him", "her", "hers", "his", "its", "them", "their", "theirs",
    "himself", "herself", "itself", "themselves", "there", "then", "this", "that", "these",
    "those", "one", "ones", "other", "others", "another", "else", "same", "such", "former",
    "latter", "both", "more", "too",
];

/// Returns the question as it stands alone: as it is where it is not to be rewritten, and where the
/// rewriting has a fault.
pub fn rewrite(run: &mut Run<'_>, turns: &[Turn]) -> Result<String, RunError> {
    let is_on = run.tools.config.thread.rewrite == FollowUpRewrite::Generator;
    if !is_on || turns.is_empty() {
        return Ok(run.question.to_owned());
    }

    let question = run.question;
    let last = &turns[turns.len().saturating_sub(MAX_TURNS)..];
    let (rewritten, read, as_asked) = if stands_alone(question) {
        (String::new(), 0, Some(AsAsked::StandsAlone))
    } else if run.tools.generator.card().practice {
        // it replies with `unknown`, after a second
        (String::new(), 0, Some(AsAsked::Untrained))
    } else {
        match fitting_prompt(run, last)? {
            None => (String::new(), 0, Some(AsAsked::TooLong)),
            Some((prompt, read)) => {
                let rewritten = write_question(run, prompt)?;
                let fault = fault(question, &rewritten, &turns[turns.len() - read..]);
                if fault.is_some() && continues(question) {
                    (join_last(question, last), 1, None)
                } else {
                    (rewritten, read, fault)
                }
            }
        }
    };

    let used = match &as_asked {
        None => rewritten.clone(),
        Some(_) => question.to_owned(),
    };
    run.emit(RunEvent::FollowUpRewritten {
        question: question.to_owned(),
        rewritten,
        turns: saturating_u32(read),
        as_asked,
    });
    Ok(used)
}

/// Returns the prompt with as many of the turns as fit the context, the last ones, and their
/// number. `None` where not even one fits.
fn fitting_prompt(run: &Run<'_>, turns: &[Turn]) -> Result<Option<(Prompt, usize)>, RunError> {
    let available = run.tools.generator.card().context_tokens;
    for first in 0..turns.len() {
        let turns = &turns[first..];

        let text: String = turns.iter().map(turn_lines).collect();
        let values = [("turns", text.as_str()), ("question", run.question)];
        let prompt = Prompt {
            // small models answer the question unless examples of the task are their own words
            reply: run.prompt(PromptName::FollowUpTurns, &values).user,
            ..run.prompt(PromptName::FollowUp, &[])
        };

        if context::count(run.tools.generator, &prompt)? + MAX_TOKENS <= available {
            return Ok(Some((prompt, turns.len())));
        }
    }

    Ok(None)
}

fn turn_lines(turn: &Turn) -> String {
    let line = |text: &str| -> String {
        let text = fold_white_space(text);
        text.chars().take(MAX_CHARACTERS).collect()
    };
    format!(
        "Question: {}\nAnswer: {}\n",
        line(&turn.question),
        line(&turn.answer)
    )
}

/// Asks the generator for the question that stands alone.
fn write_question(run: &mut Run<'_>, prompt: Prompt) -> Result<String, RunError> {
    let text = run.write_line("rewrite follow-up", prompt, MAX_TOKENS)?;
    let quotes = ['"', '“', '”', '*'];
    Ok(text.trim_matches(quotes).trim().to_owned())
}

/// Returns whether an English question names what it is about and refers to nothing before it. The
/// model leaves such a question as it is, after seconds that every question of a thread would take.
fn stands_alone(question: &str) -> bool {
    let lower: Vec<String> = split_words(question).map(str::to_lowercase).collect();
    let is_whole = lower.len() >= MIN_WORDS
        && (has(&QUESTION_WORDS, lower.first()) || has(&QUESTION_WORDS, lower.get(1)));
    is_whole && !is_elliptic(&lower) && !refers(&lower) && !names(question).is_empty()
}

/// Returns whether an English question says by itself that it continues another.
pub fn continues(question: &str) -> bool {
    let lower: Vec<String> = split_words(question).map(str::to_lowercase).collect();
    is_elliptic(&lower) || (refers(&lower) && names(question).is_empty())
}

fn is_elliptic(lower: &[String]) -> bool {
    has(&OPENINGS, lower.first()) || has(&["about"], lower.get(1))
}

fn refers(lower: &[String]) -> bool {
    lower.iter().any(|word| has(&POINTERS, Some(word)))
}

fn has(list: &[&str], word: Option<&String>) -> bool {
    word.is_some_and(|word| list.contains(&word.as_str()))
}

/// Returns a question behind the last one of its thread: a model too small to rewrite it reads
/// both, and the search has the words of both. Of a last one that was joined itself, its first part
/// stays, or a thread of such questions would grow without end.
fn join_last(question: &str, turns: &[Turn]) -> String {
    let last = turns.last().map_or("", |turn| turn.question.as_str());
    let mut parts = last.split_inclusive(['?', '？', '؟']);
    let first = fold_white_space(parts.next().unwrap_or_default());
    format!("{first} {question}").trim_start().to_owned()
}

/// Returns why a rewriting cannot stand for the question; `None` where it can.
fn fault(question: &str, rewritten: &str, turns: &[Turn]) -> Option<AsAsked> {
    if rewritten.is_empty() {
        return Some(AsAsked::Empty);
    }
    if !is_single_question(question, rewritten) {
        return Some(AsAsked::NotAQuestion);
    }

    let thread: String = turns.iter().map(turn_lines).collect();
    let of_thread = lower_words(&thread);
    let of_question = lower_words(question);
    let of_rewritten = lower_words(rewritten);
    let lost = lost_words(question, &of_rewritten);
    if !lost.is_empty() {
        return Some(AsAsked::WordsLost { words: lost });
    }

    let is_known = |word: &str| {
        let word = word.to_lowercase();
        of_thread.contains(&word) || of_question.contains(&word)
    };
    let invented = names(rewritten).into_iter().filter(|name| !is_known(name));
    let invented: Vec<String> = invented.map(str::to_owned).collect();
    if !invented.is_empty() {
        return Some(AsAsked::NamesInvented { words: invented });
    }

    let is_added = |word: &&str| {
        let lower = word.to_lowercase();
        (is_name(word) || says_something(word))
            && of_thread.contains(&lower)
            && !of_question.contains(&lower)
    };
    let adds_nothing = !split_words(rewritten).any(|word| is_added(&word));
    adds_nothing.then_some(AsAsked::NothingAdded)
}

/// Returns whether a text is one sentence, and a question where `question` is.
fn is_single_question(question: &str, text: &str) -> bool {
    let is_question = |text: &str| text.trim_end().ends_with(['?', '？', '؟']);
    let mut ends = text.match_indices(['.', '!', '?', '？', '。']);
    let has_two = ends.any(|(at, end)| {
        let before = split_words(&text[..at]).last().unwrap_or_default();
        let follows = &text[at + end.len()..];
        // not the period of an initial or an abbreviation
        before.chars().count() >= MIN_LETTERS
            && follows.starts_with(char::is_whitespace)
            && !follows.trim().is_empty()
    });
    !has_two && (is_question(text) || !is_question(question))
}

/// Returns the names and numbers of the question that a rewriting lacks; also its other words where
/// more than half of them are gone.
fn lost_words(question: &str, rewritten: &HashSet<String>) -> Vec<String> {
    let is_kept = |word: &str| rewritten.contains(&word.to_lowercase());
    let names = names(question);
    let others = split_words(question);
    let others = others.filter(|word| says_something(word) && !names.contains(word));
    let others: Vec<&str> = others.collect();
    let gone = others.iter().copied().filter(|word| !is_kept(word));
    let gone: Vec<&str> = gone.collect();
    let are_too_many = gone.len() * 2 > others.len();

    let names = names.into_iter().filter(|name| !is_kept(name));
    let others = gone.into_iter().filter(|_| are_too_many);
    names.chain(others).map(str::to_owned).collect()
}

/// Returns the words of a text that begin with a capital or have a digit. The first word of a
/// sentence counts where the second one does.
fn names(text: &str) -> Vec<&str> {
    let words: Vec<&str> = split_words(text).collect();
    let is_second_name = words.get(1).is_some_and(|word| is_name(word));
    let words = words.into_iter().skip(usize::from(!is_second_name));
    words.filter(|word| is_name(word)).collect()
}

fn is_name(word: &str) -> bool {
    // not the English pronoun
    word != "I" && (word.starts_with(char::is_uppercase) || word.contains(char::is_numeric))
}

fn says_something(word: &str) -> bool {
    word.chars().count() >= MIN_LETTERS
}

fn lower_words(text: &str) -> HashSet<String> {
    split_words(text).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_stands_alone_that_names_its_subject_and_refers_to_nothing() {
        let alone = [
            "When did Mount Ember last smoke?",
            "In which town was the Quiet Petrel built?",
            "Which is taller, Dandohead Light or Pelmahead Light?",
            "What is Torlen Account about?",
        ];
        let follow_ups = [
            "And where was he born?",
            "What about Italy?",
            "And when did Tam Reeve die?",
            "What did she do in Lorby?",
            "Who else lived in Quillbridge then?",
            "Which company did that man found in 1840?",
            "Where was the captain born?",
            "Und wann hat er Berlin verlassen?",
            "Was hat er in Berlin gemacht?",
            "Quand a-t-il quitté Paris en 1840 ?",
            "why",
            "",
        ];
        for question in alone {
            assert!(stands_alone(question), "{question}");
        }
        for question in follow_ups {
            assert!(!stands_alone(question), "{question}");
        }

        let continuing = [
            "And what about WS-01?",
            "What about Italy?",
            "And when did Tam Reeve die?",
            "what did she do there",
        ];
        for question in continuing {
            assert!(continues(question), "{question}");
        }
        let new = [
            "Who is Tam Reeve, and where was he born?",
            "When did Mount Ember last smoke?",
        ];
        for question in new {
            assert!(!continues(question), "{question}");
        }
        let turns = [Turn {
            question: "Where is the gauge TG-01?".to_owned(),
            answer: "Cermin".to_owned(),
        }];
        let joined = join_last("And WS-01?", &turns);
        assert_eq!(joined, "Where is the gauge TG-01? And WS-01?");
        let turns = [Turn {
            question: joined,
            answer: "Lorby".to_owned(),
        }];
        let next = join_last("And WS-02?", &turns);
        assert_eq!(next, "Where is the gauge TG-01? And WS-02?");
    }

    #[test]
    fn a_rewriting_has_a_fault_unless_it_is_the_question_with_what_the_thread_names() {
        let turns = [
            Turn {
                question: "Who designed Gorynpoint Light?".to_owned(),
                answer: "J. R. Dorick, in 1838".to_owned(),
            },
            Turn {
                question: "What is the capital of France?".to_owned(),
                answer: "Paris".to_owned(),
            },
        ];
        let lost = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            Some(AsAsked::WordsLost { words })
        };
        let invented = |word: &str| {
            let words = vec![word.to_owned()];
            Some(AsAsked::NamesInvented { words })
        };
        let cases = [
            (
                "And where was he born?",
                "Where was J. R. Dorick born?",
                None,
            ),
            ("What about Italy?", "What is the capital of Italy?", None),
            ("who lives there", "Who lives in Paris", None),
            ("Und wo wurde er geboren?", "Wo wurde Dorick geboren?", None),
            ("Where was he born?", "", Some(AsAsked::Empty)),
            (
                "Where was he born?",
                "Dorick was born in Lorby.",
                Some(AsAsked::NotAQuestion),
            ),
            (
                "Where was he born?",
                "He designed Gorynpoint Light. Where was Dorick born?",
                Some(AsAsked::NotAQuestion),
            ),
            (
                "Did he meet Mara Denton in 1840?",
                "Did Dorick meet Mara?",
                lost(&["Denton", "1840"]),
            ),
            (
                "Who was its captain?",
                "Who designed Gorynpoint Light?",
                lost(&["captain"]),
            ),
            (
                "Where was he born?",
                "Where was Leonardo born?",
                invented("Leonardo"),
            ),
            (
                "Where was he born?",
                "Where was he born?",
                Some(AsAsked::NothingAdded),
            ),
            (
                "When did Mount Ember last smoke?",
                "When did Mount Ember last smoke?",
                Some(AsAsked::NothingAdded),
            ),
        ];
        for (question, rewritten, expected) in cases {
            assert_eq!(fault(question, rewritten, &turns), expected, "{rewritten}");
        }
    }
}
