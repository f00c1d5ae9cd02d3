//! The answer to a question about two things that it names: each is asked about by itself, from
//! passages of its own, since a small model that reads both confuses their numbers. Where the
//! question compares, a rule compares the date or the amount of the one with that of the other.

use crate::corpus::{fold_white_space, named_dates, split_words};
use crate::engine::error::RunError;
use crate::engine::run::{
    Answer, Gate, Need, Passages, Run, Searched, Sentence, StepLookup, context,
};
use crate::engine::stages::in_turn;
use crate::event::{Hit, QuestionKind, RunEvent, Scope, Support, saturating_u32};
use crate::methods::largest_by;

use super::amounts::{Amount, only_amount};
use super::judged::judge_citations;
use super::lookup::retrieve;
use super::marks::without_marks;
use super::quotes::{RankedSentences, give};
use super::refusals::refusal;
use super::summary::join;
use super::support::{self, can_judge};
use super::verdict::Statements;
use super::wording::has_digit;
use super::write::write_part;

/// Words that ask for the earlier and the later of two dates, and for the larger and the smaller of
/// two numbers, in lower case.
const EARLIER: &[&str] = &["earlier", "sooner"];
const LATER: &[&str] = &["later"];
#[rustfmt::skip]
const LARGER: &[&str] = &[
    "more", "higher", "larger", "greater", "bigger", "taller", "heavier", "deeper",
];
#[rustfmt::skip]
const SMALLER: &[&str] = &[
    "less", "lower", "fewer", "smaller", "shorter", "cheaper", "lighter",
];
/// Words of a question for one of the two, in lower case.
const WHICH: &[&str] = &["which", "who", "whose"];

/// Share of `answer.min_support` below which one of two things is refused where the other is
/// answered: what documents say of one they often say of the other, in words that say less.
const UNLIKELY: f32 = 0.5;

/// An answer with the passages that were retrieved for its question.
#[derive(Default)]
pub struct Answered {
    pub answer: Answer,
    pub passages: Passages,
    /// The support of the answer by them, where that is measured.
    pub support: Option<Support>,
    /// The sentences of the passages, best first, where the answer has none of them.
    pub ranked: RankedSentences,
}

impl From<(Answer, Passages)> for Answered {
    fn from((answer, passages): (Answer, Passages)) -> Self {
        Self {
            answer,
            passages,
            ..Self::default()
        }
    }
}

/// Returns whether a passage names the two things of a question together, as it does where they are
/// one, "Pride and Prejudice", or did something together.
///
/// # Errors
///
/// Failures of the embedder and of the index.
pub fn names_one(run: &mut Run<'_>, scope: &Scope) -> Result<bool, RunError> {
    let question = run.question;
    let between = |names: &[String]| {
        let start = question.find(names.first()?)?;
        let last = names.last()?;
        let end = start + question[start..].find(last)? + last.len();
        Some(question[start..end].to_lowercase())
    };
    let Some(phrase) = between(&scope.names()) else {
        return Ok(false);
    };
    let found = run.search(&[Searched::new(question)])?;
    let mut hits = found.iter().flat_map(|one| &one.hits);
    Ok(hits.any(|hit| {
        let text = fold_white_space(&hit.chunk.text_with_place().to_lowercase());
        text.replace(" & ", " and ").contains(&phrase)
    }))
}

/// One of the two things, with what is known of it.
struct Half<'q> {
    question: &'q str,
    passages: Passages,
    support: Support,
    ranked: RankedSentences,
}

/// Answers for each of the two things, and says of one what the documents do not. The support is
/// that of the one of which they say more.
///
/// # Errors
///
/// Failures of the models and of the index.
pub fn answer_each<'q>(
    run: &mut Run<'q>,
    gate: &mut dyn Gate,
    scope: &'q Scope,
) -> Result<Answered, RunError> {
    let asked = run.question;
    let names = scope.names();
    let halves = scope.subjects.iter();
    let halves = halves.map(|question| find_half(run, gate, scope.kind, question));
    let halves: Vec<Half<'q>> = halves.collect::<Result<_, _>>()?;
    let Some(best) = largest_by(halves.iter(), |half| half.support.probability) else {
        return Ok(Answered::default());
    };
    let support = best.support;
    let nearest = best.ranked.nearest(&best.passages);
    let lists = halves.iter().map(|half| half.passages.hits.as_slice());
    let lists: Vec<&[Hit]> = lists.collect();
    // a passage of both is read twice, and is one
    let hits = in_turn(&lists, |hit| hit.chunk.id).into_iter().cloned();
    let read = Passages::from_hits(hits.collect());
    run.emit_read(asked.to_owned(), &read.hits);
    run.emit(RunEvent::SupportMeasured { support, nearest });

    let least = run.tools.config.answer.min_support * UNLIKELY;
    let mut all = Answered {
        support: Some(support),
        ..Answered::default()
    };
    let mut said: Vec<Vec<Sentence>> = Vec::new();
    for (at, (half, name)) in halves.into_iter().zip(&names).enumerate() {
        run.question = half.question;
        if run.is_stopped() {
            break;
        }
        if support.supported && half.support.probability < least {
            all.answer = refuse_one(run, name, std::mem::take(&mut all.answer));
        } else if support.supported {
            let known = all.answer.sentences.len();
            all.answer = write_half(run, gate, &half, name, std::mem::take(&mut all.answer))?;
            said.push(all.answer.sentences[known..].to_vec());
        }

        if half.support == support {
            all.ranked = half.ranked;
        }
        if at == 0 {
            all.passages = half.passages;
        } else {
            let lookup = StepLookup {
                step: 0,
                passages: half.passages,
            };
            all.answer.lookups.push(lookup);
        }
        run.keep(all.answer.clone());
    }

    run.question = asked;
    context::publish(run, &read)?;
    if support.supported {
        conclude(run, &names, &mut all.answer, &said);
        all.answer.short.clone_from(&all.answer.text);
    } else {
        let lookups = std::mem::take(&mut all.answer.lookups);
        let refused = give(run, std::mem::take(&mut all.ranked), false);
        all.answer = Answer { lookups, ..refused };
    }
    Ok(all)
}

/// Retrieves the passages of one of the things, and measures how far they answer its question.
fn find_half<'q>(
    run: &mut Run<'q>,
    gate: &dyn Gate,
    kind: QuestionKind,
    question: &'q str,
) -> Result<Half<'q>, RunError> {
    run.question = question;
    let effort = run.first_effort(gate);
    let passages = retrieve(run, &Need::default(), effort)?.passages;
    let scope = Scope {
        kind,
        subjects: vec![question.to_owned()],
        ..Scope::default()
    };
    let (support, ranked) = support::measure(run, &passages, &scope)?;
    Ok(Half {
        question,
        passages,
        support,
        ranked,
    })
}

/// Writes the answer for one of the things, with its sources, behind what was written before, which
/// stays where that fails.
fn write_half(
    run: &mut Run<'_>,
    gate: &mut dyn Gate,
    half: &Half<'_>,
    name: &str,
    before: Answer,
) -> Result<Answer, RunError> {
    // the labels of what is written now are of these
    context::publish(run, &half.passages)?;
    let sentences = before.sentences.iter();
    let written: Vec<String> = sentences.map(|one| one.text().to_owned()).collect();
    let part = write_part(run, gate, &half.passages, &written);
    if part.is_err() {
        run.keep(before.clone());
    }
    let mut part = part?;
    run.keep(join(before.clone(), part.clone()));

    let statements = Statements::new(half.question, &part);
    if can_judge(run) && !run.is_stopped() {
        judge_citations(run, &mut part, statements.steps(), &half.passages)?;
    }
    let answer = join(before, part);
    Ok(if statements.is_silent() {
        refuse_one(run, name, answer)
    } else {
        answer
    })
}

/// Adds to an answer that the documents do not say what was asked of one of the things.
fn refuse_one(run: &mut Run<'_>, name: &str, answer: Answer) -> Answer {
    let text = format!("{name}: {}", refusal(run));
    let step = saturating_u32(answer.sentences.len()) + 1;
    let refused = Answer {
        sentences: vec![run.give_sentence(step, &text, Vec::new())],
        text,
        ..Answer::default()
    };
    join(answer, refused)
}

/// Adds which of the two has the larger amount or the earlier date, where the question asks that,
/// each answer is one statement with a source, and names one.
fn conclude(run: &mut Run<'_>, names: &[String], answer: &mut Answer, said: &[Vec<Sentence>]) {
    let [[one], [other]] =
        [said.first(), said.get(1)].map(|half| half.map_or(&[][..], Vec::as_slice))
    else {
        return;
    };
    let cited = [one, other].map(|half| half.citations.first().cloned());
    let texts = [one.text(), other.text()];
    let [Some(first), Some(second)] = cited else {
        return;
    };
    if run.is_stopped() || answer.limit_reached {
        return;
    }
    if let Some((text, is_first)) = compare(run.question, names, texts) {
        let citation = if is_first { first } else { second };
        run.give_step(answer, "\n\n", text, Some(citation));
    }
}

/// Returns the comparison that a question asks for, the one that it is about first, and whether
/// that is the first thing; `None` where the statements name no two that can be compared.
fn compare(question: &str, names: &[String], said: [&str; 2]) -> Option<(String, bool)> {
    let lower = question.to_lowercase();
    let asks = |words: &[&str]| split_words(&lower).any(|word| words.contains(&word));
    let (by_date, wants_less) = match [EARLIER, LATER, LARGER, SMALLER].map(asks) {
        _ if !asks(WHICH) => return None,
        [true, false, false, false] => (true, true),
        [false, true, false, false] => (true, false),
        [false, false, true, false] => (false, false),
        [false, false, false, true] => (false, true),
        _ => return None,
    };

    let values = if by_date {
        said.map(only_date)
    } else {
        said.map(|text| only_amount(text, question))
    };
    let [Some(one), Some(other)] = values else {
        return None;
    };
    // a month and a day of it are not compared, nor dollars and beds
    if one.unit != other.unit || one.value == other.value {
        return None;
    }
    let is_first = (one.value < other.value) == wants_less;
    let sign = if wants_less { '<' } else { '>' };
    let (one, other) = ((&names[0], one.text), (&names[1], other.text));
    let (winner, loser) = if is_first { (one, other) } else { (other, one) };
    let text = format!(
        "{} ({}) {sign} {} ({})",
        winner.0, winner.1, loser.0, loser.1
    );
    Some((text, is_first))
}

/// Returns the date of a statement that has no other one, nor any other number than its own: its
/// unit is how exact it is.
fn only_date(statement: &str) -> Option<Amount> {
    let statement = without_marks(statement);
    let dates = named_dates(&statement);
    let [date] = dates.as_slice() else {
        return None;
    };
    let mut parts = date.split('-').map(|part| part.trim_start_matches('0'));
    let [year, _, day] = [parts.next(), parts.next(), parts.next()];
    let mut numbers = split_words(&statement).filter(|word| has_digit(word));
    let is_of_date =
        |number: &str| Some(number.trim_start_matches('0')) == year || Some(number) == day;
    let digits: String = date.chars().filter(char::is_ascii_digit).collect();
    numbers.all(is_of_date).then_some(Amount {
        value: digits.parse().ok()?,
        unit: if day.is_some() { "day" } else { "month" }.to_owned(),
        text: date.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_compares_what_the_answers_name() {
        let names = ["Abra".to_owned(), "Corvo".to_owned()];
        for (question, one, other, expected) in [
            (
                "Which had the higher profit in 2018?",
                "The profit of Abra in 2018 was $300 million. [1]",
                "The profit of Corvo in 2018 was $1.2 billion. [2]",
                Some(("Corvo ($1.2 billion) > Abra ($300 million)", false)),
            ),
            (
                "Which came earlier?",
                "Abra was founded in June 2019.",
                "Corvo was founded in September 2019.",
                Some(("Abra (2019-06) < Corvo (2019-09)", true)),
            ),
            (
                "Which came earlier?",
                "Abra was founded on 15 June 2019.",
                "Corvo was founded in June 2019.",
                None,
            ),
            (
                "Which leaves earlier?",
                "Abra leaves at 6:10, as of June 2021.",
                "Corvo leaves at 7:30, as of May 2020.",
                None,
            ),
            (
                "Which has fewer beds?",
                "Abra has 12 beds.",
                "Corvo has 40 beds.",
                Some(("Abra (12 beds) < Corvo (40 beds)", true)),
            ),
            (
                "Which has fewer beds?",
                "Abra has 12 beds.",
                "Corvo has 40 rooms.",
                None,
            ),
            (
                "Which has more?",
                "Abra has 12 beds.",
                "Corvo has 12 beds.",
                None,
            ),
            (
                "Which has more?",
                "Abra has $5 million.",
                "Corvo has 6 million euros.",
                None,
            ),
            (
                "Where are they?",
                "Abra has 12 beds.",
                "Corvo has 40 beds.",
                None,
            ),
            (
                "Do more come?",
                "Abra has 12 beds.",
                "Corvo has 40 beds.",
                None,
            ),
        ] {
            let found = compare(question, &names, [one, other]);
            let expected = expected.map(|(text, is_first)| (text.to_owned(), is_first));
            assert_eq!(found, expected, "{question} {one}");
        }
    }
}
