//! Changes: a sentence that says that something is otherwise than before, in other words than the
//! one that it changes: "The launch is planned for 3 June", "It is moved to 24 June".

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::corpus::{is_month, named_dates, split_words};
use crate::letters::is_dense;

use super::sources::{SourceSentence, Supports};
use super::threads::is_head;
use super::wording::{WEEKDAYS, has_digit, is_year, numbers, stems};

/// Words of a sentence that changes what another one says.
#[rustfmt::skip]
const CHANGES: &[&str] = &[
    "moved to", "moves to", "move to", "moved from", "postponed", "put off", "forward to", "moved up",
    "rescheduled", "pushed back", "delayed until", "delayed to", "changed to", "changes to",
    "changed from", "has changed", "have changed", "was changed", "instead", "in place of",
    "rather than", "correction", "corrected", "no longer", "cancelled", "canceled", "replaced by",
    "replaced with", "replaces", "from now on", "is now", "are now", "now costs", "raised to",
    "increased to", "reduced to", "lowered to", "goes up to", "goes down to", "rises to",
    "falls to", "extended to", "extended until", "shortened to", "updated to", "revised",
    "verschoben", "verlegt", "vorverlegt", "vorgezogen", "verschiebt sich", "geändert",
    "ändert sich", "statt am", "statt um", "statt wie", "statt bisher", "statt der",
    "statt des", "stattdessen", "anstatt", "anstelle", "korrektur", "berichtigung",
    "nicht mehr", "abgesagt", "ersetzt", "ab sofort", "von nun an", "ab jetzt", "jetzt",
    "nunmehr", "erhöht", "gesenkt", "verlängert", "verkürzt", "steigt auf", "sinkt auf",
    "reporté", "reportée", "repoussé", "repoussée", "déplacé", "déplacée", "avancé", "avancée",
    "décalé", "décalée", "modifié", "modifiée", "changé", "changée", "au lieu de", "au lieu du",
    "à la place", "rectificatif", "n'est plus", "n’est plus", "annulé", "annulée", "remplacé", "remplacée",
    "désormais", "dorénavant", "à partir de maintenant", "passe à", "passé à",
    "aplazado", "aplazada", "se aplaza", "pospuesto", "pospuesta", "trasladado", "trasladada",
    "se traslada", "adelantado", "adelantada", "se adelanta", "cambiado", "cambiada", "cambia a",
    "cambió a", "en lugar de", "en vez de", "corrección", "ya no", "cancelado", "cancelada",
    "sustituido", "sustituida", "reemplazado", "reemplazada", "a partir de ahora", "ahora",
    "改为", "改到", "改成", "改在", "推迟", "提前", "延期", "更正", "不再", "取消", "代替", "替换为", "从现在起",
    "调整为", "变更为", "更改为", "更新为", "而不是", "现为", "现在是",
];
/// Words of such a sentence in front of the value alone: "the new total is 7".
const NEW: &[&str] = &[
    "new", "neu", "neue", "neuer", "neuen", "neues", "nouveau", "nouvelle", "nouvel", "nuevo",
    "nueva", "新",
];
/// Words that say which kind of value follows, and of no thing, in lower case.
#[rustfmt::skip]
const OF_VALUES: &[&str] = &[
    "date", "time", "day", "week", "deadline", "appointment", "price", "fee", "cost", "costs",
    "charge", "amount", "number", "value", "unfortunately", "sorry", "please", "note", "update",
    "scheduled", "planned", "set", "fixed", "agreed", "takes", "take", "taking", "place", "held",
    "starts", "begins", "due", "amounts", "morning", "afternoon", "evening", "now", "only", "already",
    "ist", "sind", "wird", "werden", "wurde", "der", "die", "das", "doch", "est", "sont", "es", "son",
    "está", "a",
    "termin", "datum", "uhrzeit", "zeitpunkt", "tag", "preis", "gebühr", "kosten", "kostet",
    "betrag", "nummer", "leider", "bitte", "lautet", "beträgt", "findet", "find", "statt",
    "gilt", "beginnt", "nun",
    "erst", "schon", "bereits", "sondern",
    "heure", "jour", "prix", "montant", "numéro", "malheureusement", "fixé", "fixée", "prévu",
    "prévue", "lieu", "commence", "coûte", "élève",
    "fecha", "hora", "día", "cita", "precio", "importe", "número", "lamentablemente", "previsto",
    "prevista", "lugar", "comienza", "empieza", "cuesta",
];
/// Words behind the number of a time, in lower case.
const HOURS: &[&str] = &["am", "pm", "uhr", "h", "o", "heures", "horas"];
/// Words in front of a year, in lower case; a number alone may be a code.
const BEFORE_YEARS: &[&str] = &[
    "in", "im", "en", "since", "seit", "depuis", "desde", "until",
];
/// Words behind a number that is for some alone, and how far behind it they stand.
const FOR_SOME: &[&str] = &["for", "if", "für", "wenn", "pour", "si", "para"];
const LIMITED_WITHIN: usize = 2;
/// Letters that two words with one meaning begin with, as "delivery" and "delivered".
const MIN_BEGINNING: usize = 5;

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueKind {
    Date,
    Time,
    Number,
}

/// A value that a sentence states: a number, or a day or a month by name.
pub struct Value {
    /// The byte of the sentence at which it begins.
    at: usize,
    pub kind: ValueKind,
    pub text: String,
}

impl Value {
    /// Returns whether it is a number for some alone: "8 EUR for children".
    fn is_for_some(&self, text: &str) -> bool {
        let mut behind = split_words(&text[self.at..]).skip(1).take(LIMITED_WITHIN);
        self.kind == ValueKind::Number && behind.any(|word| FOR_SOME.contains(&word))
    }
}

impl Supports {
    /// Returns whether a sentence says otherwise than an older one: it is about the same thing and
    /// has another number, or says that it is changed.
    pub fn replaces(&self, sentence: &SourceSentence, older: &SourceSentence) -> bool {
        let age = self.age(sentence, older);
        age == Some(Ordering::Greater)
            && self.is_same_subject(older, sentence, age)
            && !numbers(&sentence.text).is_subset(&numbers(&older.text))
            // of two that may change each other none is the newer one
            || self.order(sentence, older) == Some(Ordering::Greater)
                && self.is_changed_by(older, sentence, &value_texts(&older.text))
    }

    /// Returns whether a sentence says that what another one says is changed: it has another value
    /// of the same kind as one of those `stated`, is about the same thing, and not older.
    pub fn is_changed_by(
        &self,
        own: &SourceSentence,
        newer: &SourceSentence,
        stated: &BTreeSet<String>,
    ) -> bool {
        let is_asking = newer.text.ends_with(['?', '？']);
        if is_asking || is_head(&own.text) || is_head(&newer.text) {
            return false;
        }

        let known = values(&own.text);
        let is_disputed = |value: &&Value| stated.contains(&value.text);
        let disputed = known.iter().filter(is_disputed).map(|value| value.kind);
        let disputed: BTreeSet<ValueKind> = disputed.collect();
        let said = values(&newer.text).into_iter();
        let new: Vec<usize> = said
            .filter(|value| disputed.contains(&value.kind) && !value.is_for_some(&newer.text))
            .filter(|value| known.iter().all(|other| other.text != value.text))
            .map(|value| value.at)
            .collect();
        let changed = find_change(&newer.text, &new);
        let is_older = self.order(newer, own).is_some_and(Ordering::is_le);
        changed.is_some_and(|at| !is_older && self.is_about(own, newer, at))
    }

    /// Returns how a sentence is ordered against another: by their dates, or in one document by
    /// their places.
    pub fn order(&self, one: &SourceSentence, other: &SourceSentence) -> Option<Ordering> {
        let place = |one: &SourceSentence| (one.lines, one.at);
        let file = |one: &SourceSentence| &self.passages[one.passage].citation.file;
        let by_place = (file(one) == file(other)).then(|| place(one).cmp(&place(other)));
        self.age(one, other).or(by_place)
    }

    /// Returns the stems of the place of a sentence, the headings in its passage included.
    pub fn place_words(&self, sentence: &SourceSentence) -> BTreeSet<String> {
        let passage = &self.passages[sentence.passage];
        let above: Vec<&str> = sentence.above.iter().map(String::as_str).collect();
        let above = stems(&above.join(" "), passage.language);
        passage.place_stems.union(&above).cloned().collect()
    }

    /// Returns whether what a sentence says in front of its new value is about what was asked and
    /// another sentence says: "the door code" is not "the code of the gate".
    fn is_about(&self, own: &SourceSentence, newer: &SourceSentence, value: usize) -> bool {
        let language = self.passages[own.passage].language;
        let [from, to] = [own, newer].map(|one| self.place_words(one));
        let before = self
            .sources_of(newer.passage)
            .filter(|one| one.at < newer.at);
        let before = before.last().map(|one| &one.stems);
        let [in_own, mut said] = [own, newer].map(|one| one.stems.iter().collect::<Vec<_>>());
        said.extend(before.into_iter().flatten());

        let is_said = |word: &str| is_among(word, said.iter().copied());
        let is_held = |word: &str| is_said(word) || is_among(word, to.iter());
        let is_own = |word: &str| is_among(word, in_own.iter().copied());
        let is_of_place = |word: &str| !is_own(word) && is_among(word, from.iter());
        let (dates, asked): (Vec<&String>, Vec<&String>) = self.asked[language]
            .iter()
            .filter(|word| is_own(word) || is_of_place(word))
            .partition(|word| has_digit(word) || is_month(word));
        let things = asked.iter().copied();
        let things: Vec<&String> = things
            .filter(|word| !OF_VALUES.contains(&word.as_str()))
            .collect();
        let asked = if things.is_empty() { asked } else { things };
        // what was asked of one day or of one month is not what another one says
        let is_of_other_day = dates.iter().any(|date| is_of_place(date) && !is_held(date));
        let held = asked.iter().filter(|word| is_held(word)).count();
        let is_asked = held * 2 > asked.len() && asked.iter().any(|word| is_said(word));
        if is_of_other_day || !is_asked {
            return false;
        }

        let subject = subject(&newer.text[..value], language);
        let is_known = |word: &&String| {
            is_own(word) || is_of_place(word) || is_among(word, self.asked[language].iter())
        };
        let known = subject.iter().filter(is_known).count();
        known == subject.len() || held == asked.len() && known * 2 > subject.len()
    }
}

/// Returns where the new value begins of a sentence that says that something is changed; `new` are
/// the values that it may be.
fn find_change(text: &str, new: &[usize]) -> Option<usize> {
    let lower = text.to_lowercase();
    let find = |words: &[&str]| {
        words
            .iter()
            .filter_map(|phrase| position(&lower, phrase))
            .min()
    };
    let behind = |at: usize| new.iter().copied().find(|value| *value > at);
    match find(CHANGES) {
        Some(at) => behind(at).or(new.first().copied()),
        None => behind(find(NEW)?),
    }
}

/// Returns where a text has the words of a phrase.
fn position(text: &str, phrase: &str) -> Option<usize> {
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_dense(c));
    let mut found = text.match_indices(phrase).map(|(at, _)| at);
    found.find(|at| {
        let before = text[..*at].chars().next_back();
        let behind = text[at + phrase.len()..].chars().next();
        phrase.starts_with(is_dense) || !is_of_word(before) && !is_of_word(behind)
    })
}

/// Returns the words for what a sentence is about, of the last clause in front of its new value.
fn subject(before: &str, language: &str) -> BTreeSet<String> {
    let lists = [CHANGES, NEW, OF_VALUES, WEEKDAYS];
    let phrases = lists.into_iter().flatten();
    let of_no_thing: BTreeSet<&str> = phrases.flat_map(|phrase| phrase.split(' ')).collect();
    let is_of_thing = |word: &&str| {
        let is_known = of_no_thing.contains(word.to_lowercase().as_str());
        !has_digit(word) && !is_month(word) && !is_known
    };
    // no spaces part the words of what is written with these letters
    let is_spaced = !before.contains(is_dense);
    let clauses = before.split([',', ';', ':', '(']).rev();
    let clauses = clauses
        .flat_map(|clause| clause.rsplit(" that "))
        .filter(|_| is_spaced);
    let mut subjects = clauses.map(|clause| {
        let words: Vec<&str> = split_words(clause).filter(is_of_thing).collect();
        stems(&words.join(" "), language)
    });
    subjects
        .find(|subject| !subject.is_empty())
        .unwrap_or_default()
}

/// Returns whether a word is among others, or one that begins with it or that it begins with.
fn is_among<'w>(word: &str, mut others: impl Iterator<Item = &'w String>) -> bool {
    let begins =
        |one: &str, other: &str| other.starts_with(one) && one.chars().count() >= MIN_BEGINNING;
    others.any(|other| word == other || begins(word, other) || begins(other, word))
}

/// Returns the values of a text as they are compared: its numbers, and days and months by name.
pub fn value_texts(text: &str) -> BTreeSet<String> {
    let named = values(text).into_iter().map(|value| value.text);
    named.chain(numbers(text)).collect()
}

/// Returns the values of a text, in its order.
pub fn values(text: &str) -> Vec<Value> {
    let mut values = Vec::new();
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    for token in text.split_whitespace() {
        let start = offset(token);
        let mut rest = token;
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | '\'');
            let length = rest[at..]
                .find(|c| !is_of_number(c))
                .unwrap_or(rest.len() - at);
            let number = rest[at..at + length].trim_end_matches([',', '.', '\'']);
            let begin = offset(rest) + at;
            values.push(Value {
                at: begin,
                kind: number_kind(&text[..begin], number, &text[begin + number.len()..], token),
                text: number.replace([',', '.', '\''], ""),
            });
            rest = &rest[at + length..];
        }

        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = word.to_lowercase();
        let is_verb = word == lower && matches!(word, "may" | "march");
        let is_day = WEEKDAYS.contains(&lower.as_str()) || is_month(word) && !is_verb;
        let chinese = token.match_indices("星期").chain(token.match_indices('周'));
        let chinese = chinese.filter_map(|(at, word)| {
            let day = token[at + word.len()..].chars().next()?;
            "一二三四五六日天"
                .contains(day)
                .then(|| (start + at, format!("周{day}")))
        });
        let named = is_day.then_some((start, lower)).into_iter().chain(chinese);
        values.extend(named.map(|(at, text)| Value {
            at,
            kind: ValueKind::Date,
            text,
        }));
    }
    values
}

/// Returns the kind of a number by what stands around it.
fn number_kind(before: &str, number: &str, behind: &str, token: &str) -> ValueKind {
    let words: Vec<&str> = split_words(behind).take(2).collect();
    let next = words.first().copied().unwrap_or_default();
    let is_digit = |c: char| c.is_ascii_digit();
    let is_clock = behind
        .strip_prefix(':')
        .is_some_and(|rest| rest.starts_with(is_digit))
        || before
            .strip_suffix(':')
            .is_some_and(|rest| rest.ends_with(is_digit))
        || behind.starts_with(['点', '时'])
        || behind
            .strip_prefix('h')
            .is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
    if is_clock || HOURS.contains(&next.to_lowercase().as_str()) {
        return ValueKind::Time;
    }

    let last = before
        .rsplit(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty());
    let last = last.unwrap_or_default();
    let is_ordinal = behind.starts_with(|c: char| c.is_ascii_lowercase())
        && ["st", "nd", "rd", "th", "er"].contains(&next);
    let is_dated = words
        .iter()
        .take(1 + usize::from(next == "de"))
        .any(|word| is_month(word))
        || is_month(last)
        || behind.starts_with(['年', '月', '日', '号']);
    let is_named_year = is_year(number) && BEFORE_YEARS.contains(&last.to_lowercase().as_str());
    let parts = number.split('.');
    let is_day = number.contains('.') && behind.starts_with(". ") && parts.count() == 2;
    if is_ordinal || is_dated || is_named_year || is_day || !named_dates(token).is_empty() {
        ValueKind::Date
    } else {
        ValueKind::Number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::run::Passages;
    use crate::event::Hit;

    /// Returns whether the second text changes what the first one says, and that is asked.
    fn is_changed(question: &str, older: [&str; 2], newer: [&str; 2]) -> bool {
        let hits = (1..).zip([older, newer]).map(|(id, [heading, text])| {
            let mut hit = Hit::from_text(id, &format!("2024-0{id}.md"), text);
            hit.chunk.headings = vec![heading.to_owned()];
            hit.date = Some(format!("2024-0{id}-01"));
            hit
        });
        let supports = Supports::new(question, &Passages::from_hits(hits.collect()));
        let own = &supports.sources[0];
        let mut others = supports.sources_of(1);
        others.any(|newer| supports.is_changed_by(own, newer, &value_texts(&own.text)))
    }

    #[test]
    fn a_change_without_a_date_replaces_no_other_one() {
        let texts = [
            "The launch is planned for 1 June.",
            "The launch is moved to 10 June.",
            "The launch is moved to 24 June.",
        ];
        let hits = (1..).zip(texts);
        let hits = hits.map(|(id, text)| Hit::from_text(id, &format!("{id}.txt"), text));
        let passages = Passages::from_hits(hits.collect());
        let supports = Supports::new("When is the launch?", &passages);
        for (one, other) in [(0, 1), (1, 2), (2, 1)] {
            let [one, other] = [one, other].map(|at: usize| &supports.sources[at]);
            assert!(
                !supports.replaces(one, other),
                "{} {}",
                one.text,
                other.text
            );
        }
    }

    #[test]
    fn a_sentence_that_says_so_changes_what_an_older_one_says() {
        let order = "Order 7731: delivery of the shelves";
        for (question, older, newer) in [
            (
                "When is the launch of Heron?",
                ["Heron", "- The launch is planned for 3 June 2024."],
                [
                    "Heron",
                    "- The launch is moved to 24 June 2024 because the filter is late.",
                ],
            ),
            (
                "When will the shelves be delivered?",
                [
                    order,
                    "your 14 shelves will be delivered on Monday, 27 January, by 12.",
                ],
                [
                    order,
                    "The new total is 3 EUR. The delivery is moved to\nWednesday, 29 January.",
                ],
            ),
            (
                "What is the code of the yard gate?",
                ["", "The code of the yard gate is 5518."],
                [
                    "",
                    "He comes on Tuesday. The gate code was changed to 7204 this morning.",
                ],
            ),
            (
                "When does the boiler engineer come?",
                [
                    "",
                    "Dear Jo, the boiler engineer comes on Thursday, 14 November at 10:00.",
                ],
                [
                    "",
                    "A correction: the engineer cannot come on the 14th. He comes on Tuesday, \
                    19 November at 13:30 instead.",
                ],
            ),
            (
                "How much does the parking permit cost?",
                ["", "The parking permit costs 30 EUR a year."],
                ["", "From now on, the fee for the parking permit is 45 EUR."],
            ),
            (
                "On which day is the choir practice?",
                ["", "The choir practice is on Monday."],
                ["", "Instead of Monday, the choir practice is on Friday."],
            ),
            (
                "Wann werden die Regale geliefert?",
                [
                    "",
                    "Die Regale werden am 27. Januar zwischen 8 und 12 Uhr geliefert.",
                ],
                [
                    "",
                    "Leider werden die Regale nun doch nicht am 27. Januar, sondern erst am 29. \
                    Januar geliefert, der Termin wurde verschoben.",
                ],
            ),
            (
                "Quand a lieu la réunion du comité ?",
                [
                    "",
                    "La réunion du comité de la fête a lieu le 3 juin dans la grande salle.",
                ],
                [
                    "",
                    "La réunion du comité de la fête est reportée au 24 juin pour des travaux.",
                ],
            ),
            (
                "¿Cuándo es la reunión de vecinos?",
                [
                    "",
                    "La reunión de vecinos es el 3 de junio a las siete de la tarde.",
                ],
                [
                    "",
                    "La reunión de vecinos se aplaza al 24 de junio por las obras.",
                ],
            ),
            (
                "会议什么时候举行？",
                ["", "会议定于6月3日在大楼举行。"],
                ["", "会议改到6月24日举行。"],
            ),
        ] {
            assert!(is_changed(question, older, newer), "{question}");
            assert!(
                !is_changed(question, newer, older),
                "{question} the other way"
            );
        }
    }

    #[test]
    fn a_mail_changes_what_an_earlier_one_says() {
        let subject = "Order 7731: delivery of the shelves";
        let [first, last] = ["13", "16"].map(|day| {
            format!(
                "From: Odile Garnier <odile@verrier.example>\nTo: Samuel Achterberg \
                <sam@achterberg.example>\nDate: 2025-01-{day} 09:20\n\nDear Mr Achterberg,\n\n"
            )
        });
        let first = format!(
            "{first}your 14 shelves will be delivered on Monday, 27 January, between 8 and 12.\n\
            The total is 1,960 EUR. Please pay into account DE44 5001 0517 5407 3249 31.\nThe truck \
            needs a ramp that is at least 2.5 metres wide.\n\nKind regards\nOdile Garnier"
        );
        let last = format!(
            "{last}you are right: 12 shelves. The new total is 1,680 EUR. The delivery is moved to\n\
            Wednesday, 29 January, between 13 and 17, and comes with a smaller truck, so your ramp \
            will do.\n\nKind regards\nOdile Garnier\n\n> we ordered 12 shelves, not 14. I called \
            you yesterday about it.\n> Our ramp is 2.2 metres wide. Is that a problem?"
        );
        let hits = [
            (1, subject, first),
            (2, "Re: Re: Order 7731: delivery of the shelves", last),
        ];
        let hits = hits.map(|(id, heading, text)| {
            let mut hit = Hit::from_text(id, &format!("{id}.eml"), &text);
            hit.chunk.headings = vec![heading.to_owned()];
            hit
        });
        let question = "When will the shelves be delivered?";
        let supports = Supports::new(question, &Passages::from_hits(hits.to_vec()));
        let own = supports
            .sources_of(0)
            .find(|one| one.text.contains("27 Jan"));
        let newer = supports
            .sources_of(1)
            .find(|one| one.text.contains("29 Jan"));
        let (own, newer) = own.zip(newer).expect("both mails have their sentence");
        assert!(supports.is_changed_by(own, newer, &value_texts(&own.text)));
    }

    #[test]
    fn a_change_of_another_thing_or_of_another_kind_is_none() {
        for (question, older, newer) in [
            (
                "When will the chairs be delivered?",
                ["Chairs", "The chairs will be delivered on 3 February."],
                ["Shelves", "The delivery is moved to 29 January."],
            ),
            (
                "When will the chairs be delivered?",
                ["", "The chairs will be delivered on 3 February."],
                ["", "The delivery of the shelves is moved to 29 January."],
            ),
            (
                "What is the code of the gate?",
                ["", "The code of the gate is 5518."],
                ["", "The door code was changed to 9911 this morning."],
            ),
            (
                "What is the code of the yard gate?",
                ["", "The code of the yard gate is 5518."],
                ["", "The code of the garage gate was changed to 9911."],
            ),
            (
                "When is the launch of Heron?",
                ["Heron", "The launch is planned for 3 June."],
                ["Kestrel", "The launch is moved to 24 June."],
            ),
            (
                "When is the launch?",
                ["", "The launch is planned for 3 June."],
                ["", "From now on, the launch needs 5 helpers."],
            ),
            (
                "When was the bridge built?",
                ["", "The bridge was built in 1911."],
                ["", "The new bridge was opened in 1964."],
            ),
            (
                "When is the launch?",
                ["", "The launch is planned for 3 June."],
                ["", "Can the launch be moved to 24 June?"],
            ),
            (
                "Was ist der Code der Haustür?",
                [
                    "",
                    "Der Code der Haustür ist 4417, bitte sagen Sie ihn niemandem.",
                ],
                [
                    "",
                    "Der Code des Kellers wurde auf 8802 geändert, bitte nicht weitersagen.",
                ],
            ),
        ] {
            assert!(!is_changed(question, older, newer), "{question} {newer:?}");
        }
    }
}
