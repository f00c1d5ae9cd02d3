//! Sources that are left out of the prompt in turn, with scripted replies.

use ragscope::event::{Outcome, RunEvent};

use super::{SHELF, config, finished, run, run_over};
use crate::support::scripted::ScriptedGenerator;

/// A model that says this from the second chunk of the shelf, and knows it from that alone.
fn generator(reply: &str, scored: &[&str]) -> ScriptedGenerator {
    let generator = ScriptedGenerator::new().when("born in Aldmouth", reply);
    scored.iter().fold(generator, |generator, text| {
        generator.when("born in Aldmouth", text)
    })
}

/// The steps with the labels of their chunks, and the losses in tenths of a nat.
fn drops(events: &[RunEvent]) -> Vec<(u32, Vec<(u32, i32)>)> {
    let of_step = |event: &RunEvent| match event {
        RunEvent::StepAblated { step, chunks } => {
            let chunks = chunks.iter();
            let rounded = |nats: f32| (nats * 10.0).round() as i32;
            let chunks = chunks.map(|chunk| (chunk.label, rounded(chunk.logprob_drop)));
            Some((*step, chunks.collect()))
        }
        _ => None,
    };
    events.iter().filter_map(of_step).collect()
}

#[test]
fn a_sentence_loses_likelihood_without_the_source_that_it_is_from() {
    // each word has -0.1 nats where the model knows the sentence, and -1 otherwise
    let of_second = |step, words| (step, vec![(1, 0), (2, 9 * words), (3, 0)]);
    let cases: [(&str, &str, &[&str], Vec<_>); 5] = [
        (
            "causal",
            " Tam was born in Aldmouth. So the answer is Aldmouth.",
            &[],
            vec![of_second(1, 5), of_second(2, 5)],
        ),
        ("causal", " Aldmouth", &[], vec![of_second(1, 1)]),
        // a mark names what is gone: it is not scored, and a sentence of one alone is not measured
        (
            "causal",
            " Born in Aldmouth [2].\n[2]",
            &["Born in Aldmouth."],
            vec![of_second(1, 3)],
        ),
        ("causal", "", &[], Vec::new()),
        ("on", " Aldmouth", &[], Vec::new()),
    ];
    for (kind, reply, scored, expected) in cases {
        let settings = [("answer.attribution", kind), ("retriever.k", "3")];
        let mut generator = generator(reply, scored);
        let (outcome, events) = run(&config(&settings), &mut generator, "Where?", usize::MAX);
        assert_eq!(outcome.expect("it ran"), Outcome::Completed, "{reply}");
        assert_eq!(drops(&events), expected, "{kind}: {reply}");
    }
}

#[test]
fn every_prompt_lacks_one_source_and_keeps_the_labels_of_the_others() {
    let reply = " Born in Aldmouth. He was Tam.";
    let settings = [("answer.attribution", "causal"), ("retriever.k", "2")];
    let cases: [(&[&'static str], Vec<[bool; 2]>); 3] = [
        (
            &SHELF[..2],
            vec![[true, true], [true, false], [false, true]],
        ),
        (&SHELF[1..2], vec![[true, false], [false, false]]),
        (&[], Vec::new()),
    ];
    for (shelf, expected) in cases {
        let mut generator = generator(reply, &[]);
        let asked = ("Where?", &[][..]);
        let (_, events) = run_over(shelf, &config(&settings), &mut generator, asked, usize::MAX);
        let prompts = events.iter().filter_map(|event| match event {
            RunEvent::ModelCalled {
                purpose, prompt, ..
            } if purpose == "ablation" => Some(prompt),
            _ => None,
        });
        let prompts: Vec<&String> = prompts.collect();
        let (firsts, seconds): (Vec<_>, Vec<_>) = prompts
            .chunks(2)
            .map(|of_sentences| (of_sentences[0], of_sentences[1]))
            .unzip();
        let labels = firsts
            .iter()
            .map(|prompt| ["[1] ", "[2] "].map(|label| prompt.contains(label)));
        assert_eq!(labels.collect::<Vec<_>>(), expected);
        assert!(
            seconds
                .iter()
                .all(|one| one.ends_with(" Born in Aldmouth."))
        );
    }
}

#[test]
fn a_stop_while_sources_are_left_out_keeps_the_answer() {
    let settings = [("answer.attribution", "causal"), ("retriever.k", "3")];
    let reply = " Tam was born in Aldmouth.";
    let ask = |stop_at| {
        run(
            &config(&settings),
            &mut generator(reply, &[]),
            "Where?",
            stop_at,
        )
    };
    let (_, events) = ask(usize::MAX);
    let second = events
        .iter()
        .position(|event| matches!(event, RunEvent::CallsProgressed { begun: 2, .. }));
    let (outcome, events) = ask(second.expect("two sources"));
    assert_eq!(outcome.expect("it ran"), Outcome::Stopped);
    assert_eq!(drops(&events), []);
    assert_eq!(finished(&events).0, reply.trim());
}
