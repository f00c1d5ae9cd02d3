//! The verdict on an answer as one line.

use crate::event::{Conflict, QuestionKind, Scope, Support, Verdict, VerdictKind};
use crate::story::text::join;

use super::numbers::{percent, quantity};

/// Returns the sign and the word of a verdict.
fn verdict_name(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Supported => "● supported",
        VerdictKind::Quoted => "◇ quoted",
        VerdictKind::Partly => "◐ partly supported",
        VerdictKind::NotInDocuments => "○ not in your documents",
        VerdictKind::Doubtful => "? doubtful",
    }
}

/// The part of the documents that a run searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Searched {
    /// Whether a filter chose among the documents.
    pub is_filtered: bool,
    /// The documents that the question names, where these alone were searched.
    pub named: Vec<String>,
    /// Numbers of whole documents and of passages that the user excluded.
    pub excluded_documents: u64,
    pub excluded_passages: u64,
}

impl Searched {
    /// Returns the sign and the word of a verdict on an answer from this part.
    pub fn verdict_name(&self, kind: VerdictKind) -> String {
        if kind != VerdictKind::NotInDocuments || *self == Self::default() {
            return verdict_name(kind).to_owned();
        }

        let named = self.named.join(", ");
        let place = if !named.is_empty() {
            named.as_str()
        } else if self.is_filtered {
            "the documents of the filter"
        } else {
            "what was searched"
        };
        let excluded = [
            (self.excluded_documents, "document"),
            (self.excluded_passages, "passage"),
        ];
        let excluded = excluded.into_iter().filter(|(number, _)| *number > 0);
        let excluded = excluded.map(|(number, one)| format!("{} excluded", quantity(number, one)));
        let excluded = join(excluded, ", ");
        let mut name = format!("{} not in {place}", verdict_sign(kind));
        if !excluded.is_empty() {
            name.push_str(&format!(" ({excluded})"));
        }
        name
    }
}

/// Returns the sign of a verdict alone.
pub fn verdict_sign(kind: VerdictKind) -> &'static str {
    let name = verdict_name(kind);
    name.split_once(' ').map_or(name, |(sign, _)| sign)
}

/// Returns the verdict on an answer with its reason.
pub fn verdict(verdict: &Verdict, support: Option<Support>, searched: &Searched) -> String {
    let reason = reason(verdict, support);
    let name = searched.verdict_name(verdict.kind);
    match &verdict.conflict {
        Some(other) if verdict.kind != VerdictKind::Doubtful => {
            format!("{name}: {reason}; {}", conflict(other))
        }
        Some(_) | None => format!("{name}: {reason}"),
    }
}

fn conflict(conflict: &Conflict) -> String {
    let file = &conflict.file;
    match conflict.newer {
        Some(true) => format!("{file}, which is newer, says otherwise"),
        Some(false) => format!("{file}, which is older, says otherwise"),
        None => format!("{file} says otherwise"),
    }
}

/// Returns the verdict on an answer from none of the documents, as the filter lets none through.
pub fn filtered_verdict(kind: VerdictKind) -> String {
    let name = match kind {
        VerdictKind::NotInDocuments => "○ nothing was searched",
        _ => verdict_name(kind),
    };
    format!("{name}: the filter lets no document through")
}

/// Returns what was searched or read for a question whose words give it this scope. `passages` is
/// the number of those that were read.
pub fn scope(scope: &Scope, passages: u64) -> String {
    let documents = scope.documents.join(", ");
    let read = quantity(passages, "passage");
    let widely = match scope.kind {
        QuestionKind::Listing | QuestionKind::Files => {
            Some(format!("{read} read, there may be more"))
        }
        QuestionKind::Fact | QuestionKind::Comparison => {
            let subjects = scope.names().join("” and “");
            (!subjects.is_empty()).then(|| format!("searched for “{subjects}”"))
        }
        QuestionKind::Summary => return format!("{documents} read in its order, {read}"),
    };
    let alone = (!documents.is_empty()).then(|| format!("in {documents} alone"));
    join(widely.into_iter().chain(alone), ", ")
}

/// Returns how probably the sources answer the question; where no model was asked, how probably
/// they are about it, which their words and vectors say.
pub fn support(support: Support) -> String {
    let share = percent(support.probability);
    match support.stated {
        Some(_) => format!("{share} sure that the sources answer it"),
        None => format!("{share} sure that the documents are about it"),
    }
}

/// Returns the probability that the model gave a word.
pub fn likely(probability: f32) -> String {
    format!("{} likely", percent(probability))
}

fn reason(verdict: &Verdict, measured: Option<Support>) -> String {
    let statements = verdict.statements;
    let without = verdict.uncited.len();
    match verdict.kind {
        VerdictKind::Supported if statements == 0 => {
            let quoted = "word for word, nothing was generated";
            match measured {
                Some(known) if known.stated.is_some() => format!("{quoted}; {}", support(known)),
                Some(_) | None => quoted.to_owned(),
            }
        }
        VerdictKind::Quoted => "no model judged whether this answers it".to_owned(),
        VerdictKind::Supported if statements == 1 => "a source holds what it says".to_owned(),
        VerdictKind::Supported => format!("a source holds each of {statements} statements"),
        VerdictKind::Partly if without == 0 => "the documents answer a part of it".to_owned(),
        VerdictKind::Partly => format!("no source holds {without} of {statements} statements"),
        VerdictKind::NotInDocuments => match measured {
            _ if verdict.sources == 0 => "nothing fits the question".to_owned(),
            Some(measured) if !measured.supported => support(measured),
            _ if verdict.is_unfounded() => "no source holds what it says".to_owned(),
            Some(_) | None => "the answer says so itself".to_owned(),
        },
        VerdictKind::Doubtful => {
            let mut reasons: Vec<String> = verdict.conflict.iter().map(conflict).collect();
            if verdict.sources == 0 {
                reasons.push("no document was read".to_owned());
            } else if statements == 0 {
                reasons.push("it states nothing itself".to_owned());
            } else if without > 0 && without == statements as usize {
                reasons.push("no source holds what it says".to_owned());
            } else if without > 0 {
                let without = quantity(without as u64, "statement");
                reasons.push(format!("no source holds {without}"));
            }
            if let Some(word) = verdict.unsure_word() {
                let share = likely(word.probability);
                reasons.push(format!("the model was unsure of “{}” ({share})", word.text));
            }
            if let Some(measured) = measured.filter(|measured| measured.probability < 0.5) {
                reasons.push(support(measured));
            }
            if reasons.is_empty() {
                let share = percent(verdict.probability);
                let here = verdict.unfitted.map_or("", |_| " here");
                reasons.push(format!("of such answers{here} {share} are right"));
            }
            reasons.join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::UncertainWord;

    const SOURCES: Verdict = Verdict {
        kind: VerdictKind::Supported,
        probability: 0.8,
        unfitted: None,
        sources: 3,
        statements: 2,
        uncited: Vec::new(),
        least_certain: None,
        conflict: None,
    };

    fn answers(probability: f32) -> Option<Support> {
        Some(Support {
            stated: None,
            at_once: false,
            by_rule: false,
            score: 0.7,
            probability,
            supported: probability >= 0.3,
        })
    }

    /// Each verdict with its opposite: another value gives other words.
    #[test]
    fn a_verdict_is_worded_from_its_values() {
        use VerdictKind::{Doubtful, NotInDocuments, Partly};

        let word = |probability| UncertainWord {
            step: 1,
            text: "1825".to_owned(),
            probability,
        };
        let of = |kind, statements, uncited: &[u32], sources| Verdict {
            kind,
            statements,
            sources,
            uncited: uncited.to_vec(),
            ..SOURCES
        };
        let unsure = |probability, uncited: &[u32]| Verdict {
            least_certain: Some(word(probability)),
            ..of(Doubtful, 2, uncited, 3)
        };
        let otherwise = |kind, newer| Verdict {
            conflict: Some(Conflict {
                step: 1,
                file: "b.md".to_owned(),
                newer,
            }),
            ..of(kind, 1, &[], 3)
        };
        let cases = [
            (
                of(VerdictKind::Supported, 1, &[], 3),
                None,
                "● supported: a source holds what it says",
            ),
            (
                of(VerdictKind::Supported, 2, &[], 3),
                None,
                "● supported: a source holds each of 2 statements",
            ),
            (
                of(VerdictKind::Quoted, 0, &[], 3),
                answers(0.5),
                "◇ quoted: no model judged whether this answers it",
            ),
            (
                of(VerdictKind::Supported, 0, &[], 3),
                Some(Support {
                    by_rule: true,
                    ..answers(1.0).expect("a support")
                }),
                "● supported: word for word, nothing was generated",
            ),
            (
                of(Partly, 3, &[2], 3),
                None,
                "◐ partly supported: no source holds 1 of 3 statements",
            ),
            (
                of(NotInDocuments, 0, &[], 0),
                answers(0.0),
                "○ not in your documents: nothing fits the question",
            ),
            (
                of(NotInDocuments, 0, &[], 3),
                answers(0.09),
                "○ not in your documents: 9 % sure that the documents are about it",
            ),
            (
                of(NotInDocuments, 0, &[], 3),
                answers(0.9),
                "○ not in your documents: the answer says so itself",
            ),
            (
                of(NotInDocuments, 2, &[1, 2], 3),
                answers(0.9),
                "○ not in your documents: no source holds what it says",
            ),
            (
                of(Doubtful, 2, &[], 0),
                None,
                "? doubtful: no document was read",
            ),
            (
                of(Doubtful, 0, &[], 3),
                None,
                "? doubtful: it states nothing itself",
            ),
            (
                of(Doubtful, 2, &[1, 2], 3),
                None,
                "? doubtful: no source holds what it says",
            ),
            (
                of(Doubtful, 2, &[2], 3),
                answers(0.9),
                "? doubtful: no source holds 1 statement",
            ),
            (
                of(Doubtful, 2, &[2], 3),
                answers(0.4),
                "? doubtful: no source holds 1 statement; 40 % sure that the documents are about it",
            ),
            (
                unsure(0.44, &[]),
                None,
                "? doubtful: the model was unsure of “1825” (44 % likely)",
            ),
            (
                unsure(0.6, &[]),
                None,
                "? doubtful: of such answers 80 % are right",
            ),
            (
                otherwise(Doubtful, Some(true)),
                None,
                "? doubtful: b.md, which is newer, says otherwise",
            ),
            (
                otherwise(Doubtful, None),
                None,
                "? doubtful: b.md says otherwise",
            ),
            (
                otherwise(VerdictKind::Supported, Some(false)),
                None,
                "● supported: a source holds what it says; b.md, which is older, says otherwise",
            ),
        ];
        for (given, measured, expected) in cases {
            assert_eq!(verdict(&given, measured, &Searched::default()), expected);
        }
    }

    /// A refusal speaks of what was searched; each other verdict of what was found.
    #[test]
    fn a_verdict_names_what_was_searched() {
        let searched = |is_filtered, excluded_documents, excluded_passages| Searched {
            is_filtered,
            named: Vec::new(),
            excluded_documents,
            excluded_passages,
        };
        let named = Searched {
            named: vec!["a.md".to_owned()],
            ..searched(true, 0, 0)
        };
        use VerdictKind::{NotInDocuments, Supported};
        for (searched, kind, expected) in [
            (
                Searched::default(),
                NotInDocuments,
                "○ not in your documents",
            ),
            (
                searched(false, 0, 1),
                NotInDocuments,
                "○ not in what was searched (1 passage excluded)",
            ),
            (
                searched(false, 1, 2),
                NotInDocuments,
                "○ not in what was searched (1 document excluded, 2 passages excluded)",
            ),
            (
                searched(true, 0, 0),
                NotInDocuments,
                "○ not in the documents of the filter",
            ),
            (
                searched(true, 0, 1),
                NotInDocuments,
                "○ not in the documents of the filter (1 passage excluded)",
            ),
            (named, NotInDocuments, "○ not in a.md"),
            (searched(true, 0, 1), Supported, "● supported"),
        ] {
            assert_eq!(searched.verdict_name(kind), expected);
        }
    }

    #[test]
    fn the_scope_of_a_question_is_worded_from_its_values() {
        let scope_of = |kind, documents: &[&str], subjects: &[&str]| {
            let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let scoped = Scope {
                kind,
                documents: own(documents),
                subjects: own(subjects),
            };
            scope(&scoped, 2)
        };
        assert_eq!(scope_of(QuestionKind::Fact, &[], &[]), "");
        assert_eq!(
            scope_of(QuestionKind::Fact, &["a.md"], &[]),
            "in a.md alone"
        );
        for (one, other, expected) in [
            (
                "When was the Abra lit?",
                "When was Corvo Light lit?",
                "searched for “the Abra” and “Corvo Light”",
            ),
            (
                "When did Abra Works open in Lorby?",
                "When did Corvo Works open in Lorby?",
                "searched for “Abra Works” and “Corvo Works”",
            ),
            (
                "Who are the owners of Aqua 3?",
                "Who are the owners of Aqua 5?",
                "searched for “Aqua 3” and “Aqua 5”",
            ),
        ] {
            assert_eq!(scope_of(QuestionKind::Fact, &[], &[one, other]), expected);
        }
        assert_eq!(
            scope_of(QuestionKind::Listing, &[], &[]),
            "2 passages read, there may be more"
        );
        assert_eq!(
            scope_of(QuestionKind::Comparison, &["a.md"], &["one", "other"]),
            "searched for “one” and “other”, in a.md alone"
        );
        assert_eq!(
            scope_of(QuestionKind::Summary, &["a.md"], &[]),
            "a.md read in its order, 2 passages"
        );
    }
}
