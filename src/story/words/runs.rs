//! The activity of a run, its operations and its end.

use std::borrow::Cow;

use crate::event::{
    AsAsked, Decision, LeftOut, Operation, Outcome, Part, Uncertainty, UncertaintyMeasure, Utility,
};
use crate::story::progress::TextProgress;
use crate::story::question::FollowUp;
use crate::story::step::Certainty;

use super::numbers::{duration, hundredths, time_left};

/// A shorter rest is over before it is read.
const SHORT_MS: u64 = 2000;

/// Returns what a model call is for, with the number of its texts that are begun, and of all.
pub fn call(purpose: &str, progress: Option<TextProgress>) -> String {
    let work = match purpose {
        "answer" => "reading the prompt",
        "short answer" => "looking for the short answer",
        "rewrite follow-up" => "rewriting the follow-up question",
        "rewrite question" => "rewriting the question",
        "sampled sentences" => "sampling sentence",
        "entailment" => "comparing answers",
        "understanding" => "answering from wording",
        "support" => "asking whether the sources state an answer",
        "citation" => "asking which source states it",
        "self-evaluation" => "asking whether the context is sufficient",
        "relevant" => "judging relevance",
        "rerank" => "reranking",
        "grade" | "reflect" | "critic" => "grading chunks",
        "rephrase" => "rephrasing chunk",
        "utility samples" | "answer samples" => "sampling answer",
        "utility" => "answering from context",
        "ablation" => "leaving out source",
        other => other,
    };

    let Some(progress) = progress else {
        return work.to_owned();
    };
    let left = left(Some(progress));
    format!("{work} {} of {}{left}", progress.begun, progress.total)
}

/// Returns the time that is left, behind a comma; nothing where it is short or not known.
pub fn left(progress: Option<TextProgress>) -> String {
    let left = progress.and_then(|progress| progress.left_ms());
    let left = left.filter(|left| *left >= SHORT_MS);
    left.map_or(String::new(), |left| format!(", {}", time_left(left)))
}

/// Returns the name of a preset for people, with the word where it would not be taken for one.
pub fn preset(name: &str) -> Cow<'_, str> {
    match preset_name(name) {
        same if same == name => Cow::Owned(format!("preset {name}")),
        other => Cow::Borrowed(other),
    }
}

/// Returns the name of a preset for people.
pub fn preset_name(name: &str) -> &str {
    match name {
        "naive" => "plain search",
        name => name,
    }
}

/// Returns what a follow-up question was understood as, or why it was used as it was asked; `None`
/// where there was nothing to understand.
pub fn follow_up(follow_up: &FollowUp) -> Option<String> {
    let reason = match &follow_up.as_asked {
        None => return Some(format!("understood as: {}", follow_up.text)),
        Some(AsAsked::StandsAlone) => return None,
        Some(AsAsked::Untrained) => {
            "the bundled generator was not trained to rewrite questions".to_owned()
        }
        Some(AsAsked::Empty) => "the model wrote nothing".to_owned(),
        Some(AsAsked::NotAQuestion) => "the rewriting is not a single question".to_owned(),
        Some(AsAsked::WordsLost { words }) => format!("the rewriting lost {}", words.join(", ")),
        Some(AsAsked::NamesInvented { words }) => {
            format!("the rewriting names {}, which nobody did", words.join(", "))
        }
        Some(AsAsked::NothingAdded) => "taken for a new question".to_owned(),
        Some(AsAsked::TooLong) => "the thread does not fit into the context".to_owned(),
    };

    Some(format!("asked by itself, not as a follow-up: {reason}"))
}

/// Returns the name of an uncertainty measure.
pub fn measure(measure: UncertaintyMeasure) -> &'static str {
    match measure {
        UncertaintyMeasure::TokenEntropy => "token entropy",
        UncertaintyMeasure::SemanticEntropy => "semantic entropy",
        UncertaintyMeasure::Probe => "probe",
        UncertaintyMeasure::TokenProbability => "least likely",
        UncertaintyMeasure::AttendedEntropy => "attended entropy",
    }
}

/// Returns whether an uncertainty measure is in nats; the others are in 0..=1.
pub fn is_in_nats(measure: UncertaintyMeasure) -> bool {
    match measure {
        UncertaintyMeasure::TokenEntropy
        | UncertaintyMeasure::SemanticEntropy
        | UncertaintyMeasure::AttendedEntropy => true,
        UncertaintyMeasure::Probe | UncertaintyMeasure::TokenProbability => false,
    }
}

/// Returns which parts of a run were left out, and why.
pub fn omission(parts: &[Part], reason: LeftOut) -> String {
    let names: Vec<&str> = parts.iter().copied().map(part_name).collect();
    let names = names.join(", ");

    match reason {
        LeftOut::NotNeeded => format!("not needed: {names}"),
        LeftOut::NoTime { needed_ms, left_ms } => format!(
            "no time: {names} ({} needed, {} left)",
            duration(needed_ms),
            duration(left_ms)
        ),
    }
}

/// Returns the name of a part of a run.
pub fn part_name(part: Part) -> &'static str {
    match part {
        Part::Rewriter => "rewriter",
        Part::Linker => "linker",
        Part::Filter => "filter",
        Part::Reranker => "reranker",
        Part::Understanding => "understanding",
        Part::Refiner => "refiner",
        Part::Utility => "utility",
    }
}

/// Returns how the documents change the probability of an answer.
pub fn utility_change(delta: f32) -> String {
    // the words follow the number that is shown
    let delta = hundredths(delta);
    let change = if delta > 0.0 {
        "the documents make the answer likelier"
    } else if delta < 0.0 {
        "the documents make the answer less likely"
    } else {
        "the answer is as likely without the documents"
    };
    format!("{delta:+.2}: {change}")
}

/// Returns what an operation does, as the subject of a sentence.
pub fn operation(operation: Operation) -> &'static str {
    match operation {
        Operation::Engine => "the engine",
        Operation::LoadModels => "loading the models",
        Operation::Ask => "the question",
        Operation::Open => "opening the folder",
        Operation::Index => "indexing",
        Operation::Link => "linking",
        Operation::OpenSource => "opening the source",
        Operation::Search => "the search",
        Operation::SuggestQuestions => "looking for questions",
        Operation::MeasureUtility => "measuring the context",
        Operation::TracePassage => "tracing the passage",
        Operation::Diagnose => "the diagnosis",
        Operation::ListModels => "listing the models",
        Operation::PullModel => "the download",
        Operation::ListSessions => "listing the recorded runs",
        Operation::RenameThread => "renaming the thread",
        Operation::OpenRun => "opening the recorded run",
        Operation::Unknown => "an unknown operation",
    }
}

/// Returns how a run ended, or that it has not.
pub fn outcome(outcome: Option<&Outcome>) -> &'static str {
    match outcome {
        None => "in progress",
        Some(Outcome::Completed) => "completed",
        Some(Outcome::Stopped) => "stopped",
        Some(Outcome::LimitReached) => "stopped at a limit",
        Some(Outcome::Failed(_)) => "failed",
    }
}

/// Returns the answer that a utility compares with.
pub fn reference(utility: &Utility) -> &'static str {
    if utility.own_answer {
        "the model's own answer"
    } else {
        "the reference answer"
    }
}

/// Returns what a gate decided about a version of a sentence.
pub fn gate_decision(measured: &Uncertainty) -> String {
    let value = measured.value;
    match measured.decision {
        Decision::Measured => "measured".to_owned(),
        // the settings allow no further lookup for it
        Decision::Keep if is_unsure(measured) => format!("still unsure ({value:.2}), kept"),
        Decision::Keep => "sure".to_owned(),
        Decision::Retrieve => format!("unsure ({value:.2})"),
        Decision::Expand => format!("still unsure ({value:.2})"),
    }
}

/// Returns whether the model was sure of the words of a sentence.
pub fn certainty(certainty: &Certainty) -> String {
    match certainty {
        Certainty::Sure => "sure".to_owned(),
        Certainty::UnsureOfWording => "unsure of the wording".to_owned(),
        Certainty::UnsureOf(word) => format!("unsure of \"{word}\""),
        Certainty::Guessing(word) => format!("guessing at \"{word}\""),
    }
}

/// Returns whether no gate decided about a sentence, so that its words show how sure the model was.
pub fn is_of_words(measured: &Uncertainty) -> bool {
    measured.decision == Decision::Measured && is_in_nats(measured.measure)
}

/// Returns whether a sentence is above the threshold of its gate.
pub fn is_unsure(measured: &Uncertainty) -> bool {
    let threshold = measured.threshold;
    threshold.is_some_and(|threshold| measured.value > threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follow_up_is_worded_by_what_became_of_it() {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        let cases = [
            (None, Some("understood as: Who was Tam Reeve?")),
            (Some(AsAsked::StandsAlone), None),
            (
                Some(AsAsked::Empty),
                Some("asked by itself, not as a follow-up: the model wrote nothing"),
            ),
            (
                Some(AsAsked::NotAQuestion),
                Some("asked by itself, not as a follow-up: the rewriting is not a single question"),
            ),
            (
                Some(AsAsked::WordsLost {
                    words: words(&["Lorby", "1871"]),
                }),
                Some("asked by itself, not as a follow-up: the rewriting lost Lorby, 1871"),
            ),
            (
                Some(AsAsked::NamesInvented {
                    words: words(&["Paris"]),
                }),
                Some(
                    "asked by itself, not as a follow-up: the rewriting names Paris, which nobody did",
                ),
            ),
            (
                Some(AsAsked::NothingAdded),
                Some("asked by itself, not as a follow-up: taken for a new question"),
            ),
            (
                Some(AsAsked::TooLong),
                Some(
                    "asked by itself, not as a follow-up: the thread does not fit into the context",
                ),
            ),
        ];
        for (as_asked, expected) in cases {
            let known = FollowUp {
                text: "Who was Tam Reeve?".to_owned(),
                turns: 1,
                as_asked,
            };
            assert_eq!(follow_up(&known).as_deref(), expected);
        }
    }

    #[test]
    fn what_was_left_out_has_its_own_reason() {
        let parts = [Part::Linker, Part::Filter];
        let no_time = LeftOut::NoTime {
            needed_ms: 39_100,
            left_ms: 21_200,
        };
        assert_eq!(
            omission(&parts, LeftOut::NotNeeded),
            "not needed: linker, filter"
        );
        assert_eq!(
            omission(&parts[1..], no_time),
            "no time: filter (39.1 s needed, 21.2 s left)"
        );
    }

    #[test]
    fn the_words_of_a_utility_follow_the_number_that_is_shown() {
        let cases = [
            (0.5, "+0.50: the documents make the answer likelier"),
            (-0.25, "-0.25: the documents make the answer less likely"),
            (
                0.004,
                "+0.00: the answer is as likely without the documents",
            ),
            (
                -0.004,
                "+0.00: the answer is as likely without the documents",
            ),
        ];
        for (delta, expected) in cases {
            assert_eq!(utility_change(delta), expected);
        }
    }

    #[test]
    fn a_call_says_how_far_it_is_where_it_writes_several_texts() {
        let first = TextProgress::new(None, 1, 80, 0);
        let next = TextProgress::new(Some(first), 11, 80, 20_000_000);
        assert_eq!(call("entailment", None), "comparing answers");
        assert_eq!(call("entailment", Some(first)), "comparing answers 1 of 80");
        assert_eq!(
            call("entailment", Some(next)),
            "comparing answers 11 of 80, 2 min 20 s left"
        );
    }

    #[test]
    fn a_gate_decides_in_the_words_of_its_value() {
        let decided = |value, decision| {
            gate_decision(&Uncertainty {
                measure: UncertaintyMeasure::Probe,
                value,
                threshold: Some(0.5),
                decision,
            })
        };
        assert_eq!(decided(0.2, Decision::Keep), "sure");
        assert_eq!(decided(0.7, Decision::Keep), "still unsure (0.70), kept");
        assert_eq!(decided(0.7, Decision::Retrieve), "unsure (0.70)");
        assert_eq!(decided(0.7, Decision::Expand), "still unsure (0.70)");
    }
}
