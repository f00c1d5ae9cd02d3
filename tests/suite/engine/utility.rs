//! The utility of a context, with scripted replies.

use ragscope::event::{HitUtility, Outcome, RunEvent, SePerForm, Utility};

use super::{config, run_over};
use crate::support::find;
use crate::support::scripted::ScriptedGenerator;

const REBA: &str = "\"Does He Love You\" was recorded as a duet by Reba McEntire and Linda Davis.";
const MOSQUE: &str = "The Laleli Mosque is an 18th-century Ottoman imperial mosque located in Laleli, Fatih, Istanbul.";
const MANSION: &str =
    "The Esma Sultan Mansion is located on the Bosphorus in the Ortaköy neighborhood of Istanbul.";

/// A run that measures, of a model that says `answer` and then the samples of each context, so
/// often each. Different answers contradict each other.
fn measured(
    chunks: &[&'static str],
    (question, reference): (&str, &str),
    mut generator: ScriptedGenerator,
    contexts: &[&[(&str, usize)]],
    settings: &[(&str, &str)],
) -> (Utility, ScriptedGenerator) {
    let references = format!("[\"{reference}\"]");
    let k = chunks.len().to_string();
    let mut all = vec![
        ("utility.kind", "hard"),
        ("utility.references", references.as_str()),
        ("retriever.k", &k),
    ];
    all.push(("answer.prompt", "qa_short"));
    all.extend_from_slice(settings);
    generator = generator
        .judging("Does Possible Answer 1", "contradiction", 1.0)
        .then("an answer");
    for (text, times) in contexts.iter().flat_map(|context| context.iter()) {
        for _ in 0..*times {
            generator = generator.then(text);
        }
    }
    for likeliest in contexts.iter().filter_map(|context| context.first()) {
        generator = generator.then(likeliest.0);
    }
    let (outcome, events) = run_over(
        chunks,
        &config(&all),
        &mut generator,
        (question, &[]),
        usize::MAX,
    );
    outcome.expect("it ran");
    let found = find!(events.into_iter(), RunEvent::UtilityMeasured { utility, .. } => utility);
    (found.expect("measured"), generator)
}

#[track_caller]
fn near(found: f32, wanted: f32) {
    assert!((found - wanted).abs() < 0.005, "{found}, not {wanted}");
}

/// Table 5 of the paper: one document holds the answer, or it does not.
#[test]
fn one_document_that_contains_the_answer_has_the_whole_utility() {
    let question = ("Who sings does he love me with reba?", "Linda Davis");
    for (said, delta) in [("Linda Davis", 1.0), ("Reba McEntire", 0.0)] {
        let contexts: [&[(&str, usize)]; 2] = [&[("Reba McEntire", 10)], &[(said, 10)]];
        let (utility, _) = measured(&[REBA], question, ScriptedGenerator::new(), &contexts, &[]);
        near(utility.delta, delta);
        assert_eq!(
            utility.hits,
            [HitUtility {
                label: 1,
                chunk: 10,
                alone: delta,
                left_out: delta
            }]
        );
        assert_eq!(
            utility.beliefs.len(),
            2,
            "alone and left out are contexts that are measured already"
        );
        assert_eq!((utility.form, utility.own_answer), (SePerForm::Hard, false));
    }
}

/// Table 6 of the paper: each of two documents holds half of the answer. The paper prints how often
/// the model said what and the delta (0.15, 0.1, 0.7), from which the likelihood of its "No"
/// against its "Yes" follows: 0.41, 0.44 and 1.
#[test]
fn half_of_the_evidence_has_a_part_of_the_utility() {
    let question = (
        "Are the Laleli Mosque and Esma Sultan Mansion located in the same neighborhood?",
        "No",
    );
    // spellings of one meaning, each as sure as in its context
    let generator = ScriptedGenerator::new()
        .unsure_of("No.", 0.987)
        .unsure_of("NO", 0.911);
    let contexts: [&[(&str, usize)]; 4] = [
        &[("Yes", 10)],
        &[("no", 7), ("Yes", 3)],
        &[("Yes", 8), ("NO", 2)],
        &[("Yes", 7), ("No.", 3)],
    ];
    let (utility, generator) = measured(&[MOSQUE, MANSION], question, generator, &contexts, &[]);
    near(utility.delta, 0.7);
    let [mosque, mansion] = utility.hits[..] else {
        panic!("two chunks")
    };
    near(mosque.alone, 0.1);
    near(mansion.alone, 0.15);
    near(mosque.left_out, 0.7 - 0.15);
    near(mansion.left_out, 0.7 - 0.1);
    let clusters: Vec<u32> = utility.beliefs[3]
        .samples
        .iter()
        .map(|sample| sample.cluster)
        .collect();
    assert_eq!(clusters, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
    assert!(utility.beliefs[3].samples[7].matches && !utility.beliefs[3].samples[0].matches);
    assert_eq!(utility.beliefs[3].chunks, [20], "the second chunk alone");
    assert_eq!(utility.beliefs[0].greedy, "Yes");
    near(
        utility.beliefs[3].uncertainty.discrete_semantic_entropy,
        0.6109,
    );
    let closed = generator
        .seen
        .iter()
        .filter(|prompt| prompt.user.contains("your own knowledge"))
        .count();
    assert_eq!(
        closed, 11,
        "the closed-book half is sampled once a question, and answered once"
    );
    let judged = generator
        .seen
        .iter()
        .filter(|prompt| prompt.user.contains("Does Possible Answer 1"))
        .count();
    assert_eq!(
        judged, 2,
        "spellings of one meaning are judged once: Yes and No, both ways"
    );
}

#[test]
fn without_a_reference_the_own_answer_stands_in() {
    let contexts: [&[(&str, usize)]; 2] = [&[("something else", 2)], &[("an answer", 2)]];
    let settings = [
        ("utility.samples", "2"),
        ("utility.references", "[\"  \"]"),
        ("utility.per_chunk", "false"),
    ];
    let (utility, _) = measured(
        &[REBA, MOSQUE],
        ("Who?", ""),
        ScriptedGenerator::new(),
        &contexts,
        &settings,
    );
    assert!(utility.own_answer);
    assert_eq!(utility.references, ["an answer"]);
    near(utility.delta, 1.0);
    assert_eq!(utility.hits, [], "chunks are not measured on their own");
}

/// DENSE-RAG's baselines sample the prompt that the answer is of: only then are they of it.
#[test]
fn the_uncertainty_of_an_answer_is_sampled_from_its_own_prompt() {
    let settings = [
        ("utility.kind", "soft"),
        ("utility.samples", "3"),
        ("utility.per_chunk", "false"),
        ("answer.prompt", "step_by_step"),
    ];
    let reply = "Two sang it. So the answer is: Reba McEntire.";
    // the prompts of SePer, then the answer and its samples: two that agree with it
    let mut generator = ScriptedGenerator::new()
        .when("with minimum words", "Nobody")
        .when("your own knowledge", "Nobody");
    for written in [reply, reply, reply, "So the answer is Linda Davis."] {
        generator = generator.then(written);
    }
    let (outcome, events) = run_over(
        &[REBA],
        &config(&settings),
        &mut generator,
        ("Who sings does he love me?", &[]),
        usize::MAX,
    );
    outcome.expect("it ran");

    let samples = find!(events.into_iter(), RunEvent::AnswerSampled { samples } => samples);
    let samples = samples.expect("sampled");
    assert_eq!(
        samples.texts,
        ["Reba McEntire", "Reba McEntire", "Linda Davis"]
    );
    near(samples.uncertainty.discrete_semantic_entropy, 0.6365);

    let answered = &generator.seen.first().expect("the answer").user;
    let alike = generator.seen.iter().filter(|one| one.user == *answered);
    assert_eq!(alike.count(), 4);
}

#[test]
fn a_run_that_said_nothing_measures_nothing() {
    let settings = config(&[("utility.kind", "soft")]);
    let (outcome, events) = run_over(
        &[REBA],
        &settings,
        &mut ScriptedGenerator::new(),
        ("Who?", &[]),
        usize::MAX,
    );
    outcome.expect("it ran");
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, RunEvent::UtilityMeasured { .. }))
    );
}

/// A reply of a batch is as long as its limit: a stop does not wait for the next one.
#[test]
fn a_stop_is_heard_within_a_reply() {
    let settings = [
        ("utility.kind", "hard"),
        ("utility.samples", "2"),
        ("answer.prompt", "qa_short"),
    ];
    let words = "word ".repeat(24);
    let ask = |stop_at| {
        let generator = ScriptedGenerator::new().then("an answer");
        let mut generator = generator.then(&words).then(&words);
        let asked = ("Who recorded it?", &[] as &[String]);
        let (outcome, events) =
            run_over(&[REBA], &config(&settings), &mut generator, asked, stop_at);
        (outcome.expect("it ran"), events)
    };
    let (_, events) = ask(usize::MAX);
    let of_first = events.iter().enumerate().filter_map(|(at, event)| {
        let is_of_first = matches!(
            event,
            RunEvent::CallsProgressed { purpose, begun: 1, .. } if purpose == "utility samples"
        );
        is_of_first.then_some(at)
    });
    let of_first: Vec<usize> = of_first.collect();
    assert_eq!(
        of_first.len(),
        2,
        "the beginning of the first reply, and its 16th word"
    );

    let (outcome, events) = ask(of_first[1]);
    assert_eq!(outcome, Outcome::Stopped);
    let written =
        find!(events.iter().rev(), RunEvent::RunFinished { usage, .. } => usage.tokens_generated);
    assert_eq!(written, Some(2 + 16));
}
