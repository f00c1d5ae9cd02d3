use std::collections::HashMap;

use ragscope::config::prompts::PromptName;
use ragscope::llm::{Completion, Decoding, Entailment, Labelled, LlmError, Prompt};
use ragscope::methods::{
    Believed, JudgementKind, ModelCalls, contexts, judge_ahead, measure_belief,
};
use serde_json::Value;

use super::uncertainty::sample;
use super::{list, near, numbers, vectors};

/// Judges from a table; nothing else can be asked of it.
pub struct Table {
    pairs: HashMap<(String, String), Entailment>,
    identical: Entailment,
    other: Entailment,
}

fn judgement(contradiction: f64, neutral: f64, entailment: f64) -> Entailment {
    Entailment {
        contradiction: contradiction as f32,
        neutral: neutral as f32,
        entailment: entailment as f32,
    }
}

fn row(probabilities: &Value) -> Entailment {
    match numbers(probabilities)[..] {
        [contradiction, neutral, entailment] => judgement(contradiction, neutral, entailment),
        _ => panic!("three probabilities: {probabilities}"),
    }
}

impl Table {
    fn of(case: &Value) -> Self {
        let pair = |pair: &Value| {
            let text = |name: &str| pair[name].as_str().expect("text").to_owned();
            let share = |name: &str| pair[name].as_f64().expect("a probability");
            let judged = judgement(
                share("p_contradiction"),
                share("p_neutral"),
                share("p_entailment"),
            );
            ((text("premise"), text("hypothesis")), judged)
        };
        Self {
            pairs: list(&case["nli_prob_table"]).iter().map(pair).collect(),
            identical: row(&case["nli_identical_pair"]),
            other: row(&case["nli_default"]),
        }
    }

    /// Judges these pairs so, and every other one a contradiction.
    pub fn of_pairs(pairs: impl Iterator<Item = ((String, String), Entailment)>) -> Self {
        Self {
            pairs: pairs.collect(),
            ..Self::literal()
        }
    }

    /// Answers that read the same are the same; others contradict each other.
    fn literal() -> Self {
        Self {
            pairs: HashMap::new(),
            identical: judgement(0.0, 0.0, 1.0),
            other: judgement(1.0, 0.0, 0.0),
        }
    }
}

impl ModelCalls for Table {
    fn prompt(&self, _name: PromptName, _values: &[(&str, &str)]) -> Prompt {
        unreachable!("nothing is written")
    }

    fn complete(
        &mut self,
        _: &str,
        _: &[Prompt],
        _: &Decoding,
    ) -> Result<Vec<Completion>, LlmError> {
        unreachable!("nothing is written")
    }

    fn classify(&mut self, _: JudgementKind<'_>, _: &[Prompt]) -> Result<Vec<Labelled>, LlmError> {
        unreachable!("nothing is classified")
    }

    fn entail(
        &mut self,
        _question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, LlmError> {
        let judge = |(a, b): &(&str, &str)| {
            let known = self.pairs.get(&((*a).to_owned(), (*b).to_owned())).copied();
            known.unwrap_or(if a == b { self.identical } else { self.other })
        };
        Ok(pairs.iter().map(judge).collect())
    }

    fn rerank(&mut self, _: &str, _: &[&str]) -> Result<Vec<f32>, LlmError> {
        unreachable!("nothing is ranked")
    }

    fn embed(&mut self, _: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        unreachable!("nothing is embedded")
    }
}

fn texts(value: &Value) -> Vec<String> {
    list(value)
        .iter()
        .map(|text| text.as_str().expect("text").to_owned())
        .collect()
}

fn samples(case: &Value) -> Vec<Completion> {
    let logprobs = list(&case["token_logprobs"]).iter().map(numbers);
    texts(&case["responses"])
        .iter()
        .zip(logprobs)
        .map(|(text, logprobs)| sample(text, &logprobs))
        .collect()
}

#[test]
fn seper_matches_the_reference_implementation_without_its_bugs() {
    for case in list(&vectors("seper.json")["cases"]) {
        let (name, expected) = (case["name"].as_str().expect("a name"), &case["expected"]);
        let (references, samples) = (texts(&case["gold_answers"]), samples(case));
        let best = measure_belief(&mut Table::of(case), "who?", &references, &samples)
            .expect("the table judges");
        near(
            best.soft,
            &expected["seper_soft_fixed_max_over_golds"],
            name,
        );
        near(best.hard, &expected["seper_hard_fixed_any_gold"], name);
        for (weight, golden) in best.weights.iter().zip(list(&case["likelihood"])) {
            near(*weight, golden, name);
        }
    }
}

#[test]
fn a_likelihood_is_the_mean_of_its_tokens() {
    let golden = &vectors("seper.json")["notebook"];
    let samples = samples(golden);
    let seper = measure_belief(&mut Table::literal(), "who?", &["Yes".to_owned()], &samples);
    for (weight, golden) in seper
        .expect("judged")
        .weights
        .iter()
        .zip(list(&golden["expected_likelihood"]))
    {
        near(*weight, golden, "likelihood");
    }
}

/// The belief of a model that gave each of these answers so often, always as sure.
fn belief(answers: &[(&str, usize)], reference: &str) -> Believed {
    let samples: Vec<Completion> = answers
        .iter()
        .flat_map(|(text, times)| vec![sample(text, &[-0.2]); *times])
        .collect();
    let references = [reference.to_owned()];
    let judged = measure_belief(&mut Table::literal(), "?", &references, &samples);
    judged.expect("the table judges")
}

#[test]
fn a_lookup_that_misleads_has_a_negative_utility() {
    let delta = belief(&[("Lorby", 9), ("Aldmouth", 1)], "Aldmouth").hard
        - belief(&[("Aldmouth", 5), ("Lorby", 5)], "Aldmouth").hard;
    assert!(delta < -0.3, "{delta}");
}

#[test]
fn no_context_is_measured_twice() {
    let empty: &[usize] = &[];
    assert_eq!(contexts(0), [empty]);
    assert_eq!(contexts(1), [empty, &[0]]);
    assert_eq!(contexts(2), [empty, &[0, 1], &[0], &[1]]);
    assert_eq!(
        contexts(3),
        [
            empty,
            &[0, 1, 2],
            &[0],
            &[1, 2],
            &[1],
            &[0, 2],
            &[2],
            &[0, 1]
        ]
    );
}

#[test]
fn what_is_judged_ahead_is_all_that_is_asked() {
    struct Seen(Table, Vec<(String, String)>, bool);
    impl ModelCalls for Seen {
        fn prompt(&self, name: PromptName, values: &[(&str, &str)]) -> Prompt {
            self.0.prompt(name, values)
        }
        fn complete(
            &mut self,
            p: &str,
            q: &[Prompt],
            d: &Decoding,
        ) -> Result<Vec<Completion>, LlmError> {
            self.0.complete(p, q, d)
        }
        fn classify(
            &mut self,
            kind: JudgementKind<'_>,
            prompts: &[Prompt],
        ) -> Result<Vec<Labelled>, LlmError> {
            self.0.classify(kind, prompts)
        }
        fn entail(
            &mut self,
            question: &str,
            pairs: &[(&str, &str)],
        ) -> Result<Vec<Entailment>, LlmError> {
            for (a, b) in pairs {
                let pair = ((*a).to_owned(), (*b).to_owned());
                if self.2 {
                    assert!(self.1.contains(&pair), "{pair:?} was not judged ahead");
                }
                self.1.push(pair);
            }
            self.0.entail(question, pairs)
        }
        fn rerank(&mut self, q: &str, t: &[&str]) -> Result<Vec<f32>, LlmError> {
            self.0.rerank(q, t)
        }
        fn embed(&mut self, t: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
            self.0.embed(t)
        }
    }
    let sets = [
        [sample(" Lorby", &[-0.1]), sample("Aldmouth\n", &[-0.2])],
        [sample("Lorby", &[-0.1]), sample("", &[])],
    ];
    let references = ["Lorby".to_owned(), "in Lorby".to_owned()];
    let mut seen = Seen(Table::literal(), Vec::new(), false);
    let all: Vec<&[Completion]> = sets.iter().map(|set| &set[..]).collect();
    judge_ahead(&mut seen, "?", &references, &all).expect("judged");
    seen.2 = true;
    for set in all {
        measure_belief(&mut seen, "?", &references, set).expect("judged");
    }
}
