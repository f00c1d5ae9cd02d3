//! The verdict on an answer as one line.

use crate::event::{QuestionKind, Scope, Support, Verdict, VerdictKind};

use super::numbers::{counted, percent};

/// Returns the sign and the word of a verdict.
pub fn verdict_name(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Supported => "● supported",
        VerdictKind::Partly => "◐ partly supported",
        VerdictKind::NotInDocuments => "○ not in your documents",
        VerdictKind::Doubtful => "? doubtful",
    }
}

/// Returns the verdict on an answer with its reason.
pub fn verdict(verdict: &Verdict, support: Option<Support>) -> String {
    let reason = reason(verdict, support);
    format!("{}: {reason}", verdict_name(verdict.kind))
}

/// Returns what was searched or read for a question whose words give it this scope. `passages` is
/// the number of those that were read.
#[must_use]
pub fn scope(scope: &Scope, passages: u64) -> String {
    let documents = scope.documents.join(", ");
    let read = counted(passages, "passage");
    let widely = match scope.kind {
        QuestionKind::Fact => None,
        QuestionKind::Listing => Some(format!("{read} read, there may be more")),
        QuestionKind::Comparison => {
            let subjects = scope.subjects.join("” and “");
            Some(format!("searched for “{subjects}”"))
        }
        QuestionKind::Summary => return format!("{documents} read in its order, {read}"),
    };
    let alone = (!documents.is_empty()).then(|| format!("in {documents} alone"));
    let parts: Vec<String> = widely.into_iter().chain(alone).collect();
    parts.join(", ")
}

/// Returns how probably the sources answer the question.
#[must_use]
pub fn support(support: Support) -> String {
    let share = percent(support.probability);
    format!("{share} that the sources answer it")
}

fn reason(verdict: &Verdict, measured: Option<Support>) -> String {
    let statements = verdict.statements;
    let without = verdict.uncited.len();
    match verdict.kind {
        VerdictKind::Supported if statements == 0 => {
            "word for word; nothing was generated".to_owned()
        }
        VerdictKind::Supported if statements == 1 => "a source holds what it says".to_owned(),
        VerdictKind::Supported => format!("a source holds each of {statements} statements"),
        VerdictKind::Partly => format!("no source holds {without} of {statements} statements"),
        VerdictKind::NotInDocuments => match measured {
            _ if verdict.sources == 0 => "nothing fits the question".to_owned(),
            Some(measured) if !measured.supported => support(measured),
            Some(_) | None => "the answer says so itself".to_owned(),
        },
        VerdictKind::Doubtful => {
            let mut reasons = Vec::new();
            if verdict.sources == 0 {
                reasons.push("no document was read".to_owned());
            } else if without > 0 && without == statements as usize {
                reasons.push("no source holds what it says".to_owned());
            } else if without > 0 {
                let without = counted(without as u64, "statement");
                reasons.push(format!("no source holds {without}"));
            }
            if let Some(word) = verdict.unsure_word() {
                let share = percent(word.probability);
                reasons.push(format!("the model was unsure of “{}” ({share})", word.text));
            }
            if let Some(measured) = measured.filter(|measured| measured.probability < 0.5) {
                reasons.push(support(measured));
            }
            if reasons.is_empty() {
                let share = percent(verdict.probability);
                reasons.push(format!("it is right with {share}, by its signs together"));
            }
            reasons.join("; ")
        }
    }
}
