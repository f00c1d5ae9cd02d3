//! DENSE over a script: what it asks, what it counts, and what it decides.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ragscope::config::prompts::PromptName;

use ragscope::config::{Layers, RefillKind, RephrasingCheck, UnderstandingSettings};
use ragscope::event::{ChunkClass, VariantFault};
use ragscope::llm::{Completion, Decoding, End, Entailment, Labelled, LlmError, Prompt};
use ragscope::methods::dense::{
    Added, Dense, Evaluation, Measured, Passage, Rephrasings, Unmeasurable, change,
};
use ragscope::methods::{JudgementKind, Meaning, ModelCalls, discrete_semantic_entropy};

/// Answers the i-th context with the i-th reply; two replies entail each other when they begin with
/// the same letter.
struct Script {
    replies: Vec<String>,
    /// Calls by purpose: how many prompts each had.
    calls: BTreeMap<String, Vec<usize>>,
    judged: usize,
    /// Longer texts fit no prompt of the judge.
    longest: usize,
}

impl ModelCalls for Script {
    fn prompt(&self, name: PromptName, values: &[(&str, &str)]) -> Prompt {
        let values: Vec<String> = values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        Prompt::user(format!("{} {}", name.name(), values.join(" ")))
    }

    fn complete(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
        _decoding: &Decoding,
    ) -> Result<Vec<Completion>, LlmError> {
        self.calls
            .entry(purpose.to_owned())
            .or_default()
            .push(prompts.len());
        let text = |at: usize, prompt: &Prompt| match prompt.user.strip_prefix("rephrase text=") {
            Some(chunk) => format!("{chunk}, rephrased"),
            None => self.replies[at].clone(),
        };
        let complete = |(at, prompt)| Completion {
            text: text(at, prompt),
            tokens: Vec::new(),
            thoughts: String::new(),
            end: End::Turn,
        };
        Ok(prompts.iter().enumerate().map(complete).collect())
    }

    fn classify(&mut self, _: JudgementKind<'_>, _: &[Prompt]) -> Result<Vec<Labelled>, LlmError> {
        unreachable!("nothing is classified here")
    }

    fn entail(
        &mut self,
        _question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, LlmError> {
        if pairs
            .iter()
            .any(|(a, b)| a.len().max(b.len()) > self.longest)
        {
            return Err(LlmError::PromptTooLong {
                prompt_tokens: 99,
                context_tokens: 9,
            });
        }
        self.judged += pairs
            .iter()
            .filter(|(a, b)| Meaning::new(a) != Meaning::new(b))
            .count();
        let says = |(a, b): &(&str, &str)| {
            let entailment = if a.chars().next() == b.chars().next() {
                0.8
            } else {
                0.1
            };
            Entailment {
                entailment,
                neutral: 0.9 - entailment,
                contradiction: 0.1,
            }
        };
        Ok(pairs.iter().map(says).collect())
    }

    fn rerank(&mut self, _: &str, _: &[&str]) -> Result<Vec<f32>, LlmError> {
        unreachable!("nothing is ranked here")
    }

    fn embed(&mut self, _: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        unreachable!("nothing is embedded here")
    }
}

fn passages(texts: &[String]) -> Vec<Passage> {
    let passage = |text: &String| Passage {
        place: String::new(),
        text: text.clone(),
        tokens: 8,
    };
    texts.iter().map(passage).collect()
}

/// Measures a context as a whole.
fn measure(
    dense: Dense<'_>,
    texts: &[String],
    rephrasings: &mut Rephrasings,
) -> Result<Result<Measured, Unmeasurable>, LlmError> {
    dense.measure(&passages(texts), texts.len(), rephrasings, None)
}

fn dense<'a>(
    script: &'a mut Script,
    question: &'a str,
    settings: &'a UnderstandingSettings,
) -> Dense<'a> {
    Dense {
        calls: script,
        question,
        settings,
        seed: 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dse_is_the_discrete_semantic_entropy_where_the_judge_sees_equivalences(classes in prop::collection::vec(0_u8..6, 2..9)) {
        let replies: Vec<String> =
            classes.iter().enumerate().map(|(at, class)| format!("{}{at}", char::from(b'a' + class))).collect();
        let texts: Vec<String> = (1..replies.len()).map(|at| format!("chunk {at}")).collect();
        let mut script = Script { replies, calls: BTreeMap::new(), judged: 0, longest: usize::MAX };
        let settings = Layers::defaults().config().expect("the defaults").understanding;
        let found = measure(dense(&mut script, "Who?", &settings), &texts, &mut Rephrasings::default());
        let measured = found.expect("no failure").expect("it can be measured");
        let sizes: Vec<usize> = (0..6).map(|class| classes.iter().filter(|known| **known == class).count()).collect();
        prop_assert!((measured.dse - discrete_semantic_entropy(&sizes)).abs() < 1e-9, "{} for {sizes:?}", measured.dse);
        for (chunk, class) in classes[1..].iter().enumerate() {
            prop_assert_eq!(measured.is_certain_of(chunk), Some(*class == classes[0]));
        }
    }
}

#[test]
fn everything_of_a_kind_is_asked_in_one_call_and_kept_for_the_next_round() {
    let texts: Vec<String> = (1..=5).map(|at| format!("chunk {at}")).collect();
    let replies = ["yes", "Yes.", "no", "yes", "no", "maybe"]
        .map(str::to_owned)
        .to_vec();
    let mut script = Script {
        replies,
        calls: BTreeMap::new(),
        judged: 0,
        longest: usize::MAX,
    };
    let settings = Layers::defaults()
        .config()
        .expect("the defaults")
        .understanding;
    let mut rephrasings = Rephrasings::default();
    for round in 0..2 {
        let found = measure(
            dense(&mut script, "Is it?", &settings),
            &texts,
            &mut rephrasings,
        );
        let measured = found.expect("no failure").expect("it can be measured");
        assert_eq!(measured.replies.len(), 6);
        // three distinct answers, both ways
        assert_eq!(measured.judgements.len(), 6);
        assert_eq!(script.calls["rephrase"], [5], "round {round}");
        assert_eq!(script.calls["understanding"], vec![6; round + 1]);
    }
}

#[test]
fn one_pair_too_long_for_the_judge_costs_its_own_chunk_alone() {
    let texts = [
        "chunk 1".to_owned(),
        "chunk 2 ".repeat(40),
        "chunk 3".to_owned(),
    ];
    let replies = ["yes", "yes", "no"].map(str::to_owned).to_vec();
    let mut script = Script {
        replies,
        calls: BTreeMap::new(),
        judged: 0,
        longest: 100,
    };
    let settings = UnderstandingSettings {
        check_rephrasings: RephrasingCheck::Enforce,
        ..UnderstandingSettings::default()
    };
    let found = measure(
        dense(&mut script, "Is it?", &settings),
        &texts,
        &mut Rephrasings::default(),
    );
    let measured = found.expect("no failure").expect("it can be measured");
    let faults: Vec<Option<VariantFault>> = measured
        .rephrased
        .iter()
        .map(|chunk| chunk.text.as_ref().err().copied())
        .collect();
    assert_eq!(faults, [None, Some(VariantFault::TooLong), None]);
    assert_eq!(measured.reply_of, [Some(1), None, Some(2)]);
}

#[test]
fn a_round_drops_and_adds_by_class() {
    use ChunkClass::{Certain, Necessary, Unmeasured, Unnecessary};
    let all = [Certain, Necessary, Unnecessary, Unmeasured];
    let cases = [
        (
            "the paper's",
            &all[..],
            RefillKind::Necessary,
            vec![2],
            vec![(1, 0)],
        ),
        (
            "two necessary ones take two",
            &[Necessary, Necessary],
            RefillKind::Necessary,
            vec![],
            vec![(0, 0), (1, 1)],
        ),
        ("only pruning", &all, RefillKind::Off, vec![2], vec![]),
        (
            "beside certain ones",
            &all,
            RefillKind::Certain,
            vec![2],
            vec![(0, 0)],
        ),
        (
            "never empty",
            &[Unnecessary, Unnecessary],
            RefillKind::Necessary,
            vec![1],
            vec![],
        ),
        (
            "nothing to do",
            &[Certain, Unmeasured],
            RefillKind::Necessary,
            vec![],
            vec![],
        ),
        (
            "no candidate is left",
            &[Necessary, Necessary, Necessary],
            RefillKind::Necessary,
            vec![],
            vec![(0, 0), (1, 1)],
        ),
    ];
    for (what, classes, refill, dropped, added) in cases {
        let found = change(classes, refill, |_, taken| {
            (0..2).find(|at| !taken.contains(at)).map(|at| (at, 0.5))
        });
        let expected: Vec<Added> = added
            .into_iter()
            .map(|(beside, candidate)| Added {
                candidate,
                beside,
                cosine: 0.5,
            })
            .collect();
        assert_eq!((found.dropped, found.added), (dropped, expected), "{what}");
    }
}

#[test]
fn the_best_context_is_the_least_uncertain_and_a_sufficient_one_is_not_given_up() {
    let evaluation = |dse, sufficient| Evaluation {
        dse,
        sufficient,
        answered: true,
    };
    let unanswered = |dse| Evaluation {
        answered: false,
        ..evaluation(dse, true)
    };
    for (new, best, better) in [
        (evaluation(0.1, false), evaluation(0.3, false), true),
        (evaluation(0.3, false), evaluation(0.3, false), false),
        (evaluation(0.1, true), evaluation(0.3, true), true),
        (evaluation(0.1, false), evaluation(0.3, true), false),
        (evaluation(0.1, true), evaluation(0.3, false), true),
        (evaluation(0.4, true), evaluation(0.3, false), false),
        (unanswered(0.0), evaluation(0.3, false), false),
        (evaluation(0.3, false), unanswered(0.0), true),
        (unanswered(0.1), unanswered(0.3), true),
    ] {
        assert_eq!(new.is_better_than(&best), better, "{new:?} and {best:?}");
    }
    for (dse, sufficient, expected) in [
        (0.1, true, true),
        (0.2, true, true),
        (0.1, false, false),
        (0.3, true, false),
        (0.3, false, false),
    ] {
        let evaluation = evaluation(dse, sufficient);
        assert_eq!(evaluation.is_good_enough(), expected, "{dse}");
    }
    assert!(!unanswered(0.0).is_good_enough());
}
