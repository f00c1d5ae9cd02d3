//! The probe: training on composed sentences, weights that fit and weights that do not, an
//! interrupted collection.

use std::path::Path;

use ragscope::config::ProbeSettings;
use ragscope::engine::{ProbeQuestion, Worker};
use ragscope::event::{
    Ask, Event, Flow, ModelCard, ModelRole, ProbeLabels, ProbeLayers, ProbePhase, ProbeTurns,
    RunEvent, SessionEvent, StopFlag, UncertaintyMeasure, WorkError,
};
use ragscope::llm::Random;
use ragscope::probe::{Epoch, Probe, Sample, SampledQuestion, find, narrow, train};

use crate::engine::config;
use crate::support::environment::{TestEnvironment, small_settings};

fn settings() -> ProbeSettings {
    config(&[]).probe
}

fn generator() -> ModelCard {
    ModelCard {
        name: "small".to_owned(),
        file: "small.gguf".to_owned(),
        file_bytes: 1,
        fingerprint: "f1".to_owned(),
        architecture: "llama".to_owned(),
        quantisation: "F16".to_owned(),
        parameters: 1,
        layers: 3,
        device: "CPU".to_owned(),
        width: 4,
        context_tokens: 64,
        chat_template: "gguf".to_owned(),
        ..ModelCard::unknown(ModelRole::Generator)
    }
}

/// Questions with two sentences each, one of them uncertain: one feature says which, the others are
/// noise.
fn walked(questions: usize) -> Vec<SampledQuestion> {
    let mut random = Random::new(3);
    let mut sample = |uncertain: bool| {
        let mut features: Vec<f32> = (0..8).map(|_| random.unit() as f32).collect();
        features[5] += if uncertain { 2.0 } else { 0.0 };
        let noise = random.unit() * 0.2;
        Sample {
            features: narrow(&features),
            entropy: if uncertain { 2.0 - noise } else { noise },
            second_entropy: Some(if uncertain { 1.9 } else { 0.1 }),
            // says little, and the first token all
            token_entropy: random.unit() as f32,
            first_token_entropy: Some(if uncertain { 1.0 } else { 0.5 }),
            has_passages: false,
        }
    };
    let question = |number: usize| SampledQuestion {
        question: format!("q{number}?"),
        held_out: number.is_multiple_of(4),
        right: Some(number.is_multiple_of(3)),
        samples: vec![sample(true), sample(false)],
    };
    (0..questions).map(question).collect()
}

/// All sentences in one question.
fn one_question() -> Vec<SampledQuestion> {
    let samples = walked(30)
        .into_iter()
        .flat_map(|question| question.samples)
        .collect();
    vec![SampledQuestion {
        question: "q?".to_owned(),
        held_out: false,
        right: None,
        samples,
    }]
}

fn trained(walked: &[SampledQuestion]) -> Result<Probe, WorkError> {
    train(walked, &generator(), &settings(), 1, &mut |_| {
        Flow::Continue
    })
}

#[test]
fn a_probe_learns_what_the_states_say_and_is_measured_beside_the_baselines() {
    let probe = trained(&walked(120)).expect("trained");
    let card = &probe.card;
    assert_eq!((card.questions, card.certain, card.uncertain), (90, 90, 90));
    assert!(
        (0.2..1.8).contains(&card.entropy_threshold),
        "{}",
        card.entropy_threshold
    );
    let figures = card.held_out.expect("held out");
    assert_eq!(
        (figures.questions, figures.sentences, figures.uncertain),
        (30, 60, 30)
    );
    let [probe_area, tokens, again] = [
        figures.auroc,
        figures.token_entropy_auroc,
        figures.semantic_entropy_auroc,
    ]
    .map(|area| area.expect("both classes"));
    assert!(
        probe_area > 0.95 && tokens < 0.75 && again > 0.99,
        "{figures:?}"
    );
    assert!(figures.accuracy > 0.9, "{figures:?}");
    assert_eq!(figures.first_token_auroc, Some(1.0));
    // the same seed makes the same probe
    let again = trained(&walked(120)).expect("trained");
    let features = [0.5_f32; 8];
    assert_eq!(
        probe.uncertainty(&features).expect("read"),
        again.uncertainty(&features).expect("read")
    );
}

/// 450 sentences are certain and 30 are not: each of them is fitted, and both classes count alike.
#[test]
fn a_probe_learns_from_every_sentence_of_a_rare_class() {
    let mut unequal = walked(600);
    for (at, question) in unequal.iter_mut().enumerate() {
        if !at.is_multiple_of(10) {
            question.samples.remove(0);
        }
    }
    let probe = trained(&unequal).expect("trained");
    let card = &probe.card;
    assert_eq!((card.certain, card.uncertain), (450, 30));
    assert_eq!(card.hidden, 2, "a logistic regression");
    let figures = card.held_out.expect("held out");
    assert!(
        figures.auroc > Some(0.97) && figures.accuracy > 0.9,
        "{figures:?}"
    );

    // above a thousand sentences a network is trained
    let probe = trained(&walked(800)).expect("trained");
    assert_eq!((probe.card.certain, probe.card.hidden), (600, 256));
}

#[test]
fn a_probe_is_trained_by_accuracy_or_on_first_sentences_alone() {
    let train_as = |labels, turns, walked: &[SampledQuestion]| {
        let settings = ProbeSettings {
            labels,
            turns,
            ..settings()
        };
        train(walked, &generator(), &settings, 1, &mut |_| Flow::Continue)
    };
    let (entropy, accuracy) = (ProbeLabels::SemanticEntropy, ProbeLabels::Accuracy);
    // 90 questions of two sentences are trained on; every third answer is right, and the first
    // sentence of every second question is the certain one
    let mut questions = walked(120);
    for question in questions.iter_mut().skip(1).step_by(2) {
        question.samples.reverse();
    }
    let right = (0..120).filter(|n| n % 4 != 0 && n % 3 == 0).count() as u64;
    let cases = [
        (entropy, ProbeTurns::Multi, (90, 90)),
        (entropy, ProbeTurns::Single, (60, 30)),
        (accuracy, ProbeTurns::Multi, (2 * right, 2 * (90 - right))),
        (accuracy, ProbeTurns::Single, (right, 90 - right)),
    ];
    for (labels, turns, counts) in cases {
        let card = train_as(labels, turns, &questions).expect("trained").card;
        assert_eq!((card.labels, card.turns), (labels, turns));
        assert_eq!(
            (card.certain, card.uncertain),
            counts,
            "{labels:?} {turns:?}"
        );
    }
    // an uncertain first sentence is there again, regenerated from passages
    let mut regenerated = questions.clone();
    for question in &mut regenerated {
        let is_uncertain = question.samples[0].entropy > 1.0;
        question.samples[1].has_passages = is_uncertain;
    }
    let card = train_as(entropy, ProbeTurns::Single, &regenerated)
        .expect("trained")
        .card;
    assert_eq!((card.certain, card.uncertain), (90, 30));

    // the states say nothing about the accuracy, so that probe separates nothing
    let by_accuracy = train_as(accuracy, ProbeTurns::Multi, &questions).expect("trained");
    let area = by_accuracy
        .card
        .held_out
        .expect("held out")
        .auroc
        .expect("both classes");
    assert!((0.2..0.8).contains(&area), "{area}");

    let folder = tempfile::tempdir().expect("a folder");
    by_accuracy
        .save(&folder.path().join("accuracy.safetensors"))
        .expect("saved");
    let folders = [folder.path().to_owned()];
    let other = find(&folders, &generator(), &settings()).expect_err("another way");
    assert!(other.to_string().contains("other probe.labels"), "{other}");
    let same = ProbeSettings {
        labels: accuracy,
        ..settings()
    };
    assert!(find(&folders, &generator(), &same).is_ok());

    for question in &mut questions {
        question.right = None;
    }
    let error = train_as(accuracy, ProbeTurns::Multi, &questions).expect_err("no answers");
    assert!(
        error
            .to_string()
            .starts_with("0 right and 0 wrong answers are known of 90 questions"),
        "{error}"
    );
}

#[test]
fn too_few_or_one_sided_sentences_stop_the_training_with_the_counts() {
    let mut one_sided = walked(60);
    one_sided
        .iter_mut()
        .for_each(|question| question.samples.truncate(1));
    one_sided
        .iter_mut()
        .flat_map(|question| &mut question.samples)
        .for_each(|sample| sample.entropy = 1.0);
    let cases = [
        (
            walked(12),
            "9 certain and 9 uncertain sentences are too few",
        ),
        (
            one_sided,
            "45 certain and 0 uncertain sentences are too few",
        ),
        (
            Vec::new(),
            "0 certain and 0 uncertain sentences are too few",
        ),
        // enough in all, but one question leaves nothing to validate with
        (
            one_question(),
            "30 certain and 30 uncertain sentences are too few",
        ),
    ];
    for (walked, expected) in cases {
        let error = trained(&walked).expect_err("too few").to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let stopped = train(
        &walked(120),
        &generator(),
        &settings(),
        1,
        &mut |Epoch { done, .. }| {
            if done == 2 {
                Flow::Stop
            } else {
                Flow::Continue
            }
        },
    );
    assert!(matches!(stopped, Err(WorkError::Stopped(_))));
}

#[test]
fn weights_come_back_and_are_refused_for_anything_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("new/small.safetensors");
    let probe = trained(&walked(120)).expect("trained");
    probe.save(&file).expect("saved");
    let back = Probe::load(&file).expect("loaded");
    // JSON keeps all but the last bit of a number
    assert_eq!(
        (back.card.questions, &back.card.fingerprint),
        (90, &probe.card.fingerprint)
    );
    assert!((back.card.entropy_threshold - probe.card.entropy_threshold).abs() < 1e-12);
    let features = [0.3_f32; 8];
    assert_eq!(
        back.uncertainty(&features).expect("read"),
        probe.uncertainty(&features).expect("read")
    );
    let folders = [folder.path().join("new")];
    assert_eq!(
        find(&folders, &generator(), &settings()).ok(),
        Some(file.clone())
    );
    assert_eq!(
        back.check(&file, &generator())
            .map_err(|error| error.to_string()),
        Ok(())
    );

    let other = |change: &dyn Fn(&mut ModelCard)| {
        let mut card = generator();
        change(&mut card);
        card
    };
    let refused = [
        (
            other(&|card| card.fingerprint = "f2".to_owned()),
            "it was trained for small.gguf",
        ),
        (
            other(&|card| card.width = 8),
            "3 layers of width 4, the generator has 3 of width 8",
        ),
        (
            other(&|card| card.layers = 4),
            "the generator has 4 of width 4",
        ),
    ];
    for (generator, expected) in refused {
        let error = back
            .check(&file, &generator)
            .expect_err("refused")
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = back
        .uncertainty(&[0.0; 7])
        .expect_err("another width")
        .to_string();
    assert!(
        error.contains("it reads 8 numbers, the generator gave 7"),
        "{error}"
    );
}

#[test]
fn a_probe_of_the_middle_layer_reads_that_one_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("middle.safetensors");
    let middle = ProbeSettings {
        layers: ProbeLayers::Middle,
        ..settings()
    };
    let observe = &mut |_| Flow::Continue;
    train(&walked(120), &generator(), &middle, 1, observe)
        .expect("trained")
        .save(&file)
        .expect("saved");

    // the last of the two layers, their middle one, has the feature that distinguishes
    let probe = Probe::load(&file).expect("loaded");
    let figures = probe.card.held_out.expect("held out");
    assert!(figures.auroc.expect("both classes") > 0.95, "{figures:?}");
    let read = |features: [f32; 8]| probe.uncertainty(&features).expect("read");
    let uncertain = [0.5, 0.5, 0.5, 0.5, 0.5, 2.5, 0.5, 0.5];
    let mut other = uncertain;
    other[..4].fill(9.0);
    assert_eq!(read(uncertain), read(other));
    assert!(read(uncertain) > 0.5 && read([0.5; 8]) < 0.5);

    let folders = [folder.path().to_owned()];
    assert!(find(&folders, &generator(), &middle).is_ok());
    assert!(find(&folders, &generator(), &settings()).is_err());
}

#[test]
fn a_damaged_weights_file_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("small.safetensors");
    trained(&walked(120))
        .expect("trained")
        .save(&file)
        .expect("saved");
    let whole = std::fs::read(&file).expect("read");
    let header = u64::from_le_bytes(whole[..8].try_into().expect("eight bytes")) as usize + 8;
    let text = std::str::from_utf8(&whole[8..header]).expect("JSON");
    let later = text.replace("\\\"format\\\":1", "\\\"format\\\":2");
    let newer = [&whole[..8], later.as_bytes(), &whole[header..]].concat();
    let mut cases: Vec<(Vec<u8>, &str)> = [0, 4, 8, 40, header, header + 10, whole.len() - 1]
        .into_iter()
        .map(|cut| (whole[..cut].to_vec(), "cannot be read"))
        .collect();
    cases.push((newer, "its format is 2, this program reads 1"));
    cases.push((
        b"{\"no\": \"safetensors\"}".to_vec(),
        "it is not a safetensors file",
    ));
    let plain = br#"{"__metadata__":{}}"#;
    cases.push((
        [&(plain.len() as u64).to_le_bytes()[..], plain].concat(),
        "it holds no probe of ragscope",
    ));
    let mut not_finite = whole.clone();
    let end = not_finite.len();
    not_finite[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    cases.push((not_finite, "are not finite"));
    for (bytes, expected) in cases {
        std::fs::write(&file, bytes).expect("written");
        let error = Probe::load(&file).expect_err("damaged").to_string();
        assert!(
            error.contains(expected) && error.contains("small.safetensors"),
            "{error}"
        );
    }
    assert!(Probe::load(Path::new("/nowhere/at/all")).is_err());
}

#[test]
fn a_stopped_collection_continues_and_weights_that_do_not_fit_fall_back() {
    let test = TestEnvironment::empty();
    test.write("notes/people.md", "Fenby Wilam was born in Bertiston.\n");
    let folder = test.corpus();
    let mut layers = small_settings();
    for (key, value) in [
        ("probe.samples", "2"),
        ("judge.model", "words"),
        ("answer.max_sentences", "2"),
    ] {
        layers.set("test", key, value).expect("a known key");
    }
    let mut worker = Worker::new(layers, test.paths(), StopFlag::default());
    worker
        .open(std::slice::from_ref(&folder), false, &mut |_| {
            Flow::Continue
        })
        .expect("opened");
    worker.update(&mut |_| Flow::Continue).expect("indexed");
    let question = |number: usize| ProbeQuestion {
        question: format!("Where was person {number} born?"),
        answers: vec!["Bertiston".to_owned()],
        held_out: number == 2,
    };
    let questions: Vec<ProbeQuestion> = (0..4).map(question).collect();
    let mut finished = Vec::new();
    let mut collect = |worker: &mut Worker, stop_at: u64| {
        let error = worker.train_probe(questions.clone(), None, &mut |record| match record.event {
            Event::Session(SessionEvent::ProbeProgressed { progress })
                if progress.phase == ProbePhase::Collecting =>
            {
                finished.push(progress.done);
                if progress.done == stop_at {
                    Flow::Stop
                } else {
                    Flow::Continue
                }
            }
            _ => Flow::Continue,
        });
        error.expect_err("stopped, or too few").to_string()
    };
    assert_eq!(collect(&mut worker, 2), "stopped");
    assert!(collect(&mut worker, 0).contains("are too few to train on, each needs 20"));
    assert_eq!(finished, [1, 2, 3, 4], "no question twice");

    // the bundled generator has a probe that fits it
    let mut asked = Ask {
        overrides: vec![("preset".to_owned(), "searag".to_owned())],
        ..Ask::new("Where was Fenby Wilam born?")
    };
    let mut gate = None;
    let publish = &mut |record: ragscope::event::Record| {
        if let Event::Run(RunEvent::GateChosen { gate: chosen }) = record.event {
            gate = Some(chosen);
        }
        Flow::Continue
    };
    worker.ask(&asked, publish).expect("asked");
    let gate = gate.expect("a gate");
    assert_eq!(
        (gate.measure, gate.fallback),
        (UncertaintyMeasure::Probe, None)
    );
    assert!(
        gate.probe
            .and_then(|probe| probe.held_out)
            .is_some_and(|figures| figures.reading_us < 2000)
    );

    let file = test.path("other.safetensors");
    trained(&walked(120))
        .expect("trained")
        .save(&file)
        .expect("saved");
    let missing = test.path("missing.safetensors");
    for (named, reason) in [
        (&file, "it was trained for small.gguf"),
        (&missing, "cannot be read"),
    ] {
        asked.overrides = [
            ("preset", "searag"),
            ("gate.probe", named.to_str().expect("a path")),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec();
        let (mut warned, mut fallback) = (String::new(), None);
        let publish = &mut |record: ragscope::event::Record| {
            match record.event {
                Event::Run(RunEvent::Warned { text, .. }) => warned = text,
                Event::Run(RunEvent::GateChosen { gate }) => fallback = gate.fallback,
                _ => {}
            }
            Flow::Continue
        };
        worker.ask(&asked, publish).expect("asked");
        assert!(warned.contains(reason), "{warned}");
        assert!(
            fallback
                .as_ref()
                .is_some_and(|problem| problem.error.contains(reason)),
            "{fallback:?}"
        );
    }
}
