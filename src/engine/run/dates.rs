//! The dates of a prompt: that of today for a question which counts from it, and those of the
//! sources.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Zoned;
use jiff::civil::Date;

use crate::event::Hit;
use crate::index::has_versions;
use crate::letters::{holds, normalise};

/// Words of a question that counts from the day on which it is asked.
#[rustfmt::skip]
const FROM_TODAY: &[&str] = &[
    "today", "yesterday", "tomorrow", "tonight", "this week", "this month", "this year",
    "last week", "last month", "last year", "next week", "next month", "next year", "days ago",
    "weeks ago", "months ago", "years ago", "so far", "currently", "right now", "heute",
    "gestern", "morgen", "diese woche", "diesen monat", "dieses jahr", "letzte woche",
    "letzten monat", "letztes jahr", "nächste woche", "nächsten monat", "nächstes jahr",
    "derzeit", "zurzeit", "aujourd'hui", "hier", "demain", "cette semaine", "ce mois",
    "cette année", "l'an dernier", "l'année dernière", "la semaine dernière", "le mois dernier",
    "hoy", "ayer", "mañana", "esta semana", "este mes", "este año", "el año pasado",
    "la semana pasada", "el mes pasado", "今天", "昨天", "明天", "今年", "去年", "明年", "本月", "上个月", "本周",
    "上周",
];

/// The note behind a question to sources of several days; in front of it small models pass over it.
const NEWEST: &str = "(Of sources that disagree, the one with the newest date is right.)";

/// The same of versions without dates.
const LATEST: &str = "(Of versions that disagree, the latest version is right.)";

/// Returns a question as the prompt has it: with the date of today where it counts from that, and a
/// note where its sources have several dates, or are versions of one file and it names none.
pub fn dated_question<'q>(question: &'q str, hits: &[Hit]) -> Cow<'q, str> {
    let text = normalise(question);
    let counts = FROM_TODAY
        .iter()
        .any(|words| holds(&text, &normalise(words)));
    let dates: BTreeSet<&String> = hits.iter().filter_map(|hit| hit.date.as_ref()).collect();

    let question = if counts {
        Cow::Owned(with_today(question, Zoned::now().date()))
    } else {
        Cow::Borrowed(question)
    };
    let documents = hits.iter().map(|hit| hit.chunk.document.as_str());
    let names_version = text.contains(|c: char| c.is_ascii_digit());
    if dates.len() > 1 {
        Cow::Owned(format!("{question} {NEWEST}"))
    } else if !names_version && has_versions(documents) {
        Cow::Owned(format!("{question} {LATEST}"))
    } else {
        question
    }
}

fn with_today(question: &str, today: Date) -> String {
    let weekday = today.strftime("%A");
    format!("{question} (Today is {weekday}, {today}.)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_counts_from_today_says_which_day_that_is() {
        for (question, counts) in [
            ("What did we pay last year?", true),
            ("Was steht heute an?", true),
            ("Qu'est-ce qui a changé cette semaine ?", true),
            ("去年的销售额是多少？", true),
            ("Who built the bridge in 1911?", false),
            ("Who wrote Todayland?", false),
        ] {
            let is_dated = dated_question(question, &[]) != question;
            assert_eq!(is_dated, counts, "{question}");
        }
        let today = Date::constant(2026, 11, 26);
        assert_eq!(
            with_today("And last year?", today),
            "And last year? (Today is Thursday, 2026-11-26.)"
        );
    }

    #[test]
    fn a_question_to_versions_of_a_file_says_which_is_right() {
        for (question, paths, is_noted) in [
            (
                "What may a night cost?",
                ["policy v1.md", "policy v2.md"],
                true,
            ),
            (
                "What may a night cost in v1?",
                ["policy v1.md", "policy v2.md"],
                false,
            ),
            (
                "What may a night cost?",
                ["policy v1.md", "travel v2.md"],
                false,
            ),
            (
                "What was bought?",
                ["invoice-17.pdf", "invoice-18.pdf"],
                false,
            ),
            (
                "What may a night cost?",
                ["policy v1.md", "policy v1.md"],
                false,
            ),
        ] {
            let hits = paths.map(|path| Hit::from_text(1, path, ""));
            let asked = dated_question(question, &hits);
            assert_eq!(asked.ends_with(LATEST), is_noted, "{question} {paths:?}");
        }
    }
}
