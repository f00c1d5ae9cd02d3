//! Labels, scores, reranker and entailment judge.

use std::path::{Path, PathBuf};

use ragscope::event::{Flow, ModelRole, StopFlag};
use ragscope::llm::{
    EntailmentJudge, Generator, LlmError, Prompt, Reranker, Scorer, load_entailment_judge,
    load_reranker,
};

use super::{
    CONTEXT, bundled, embedder_settings, generator, generator_settings, generator_with, greedy,
    next_command, one, question, runtime,
};

const GRADES: [&str; 11] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];

fn grade(passage: &str) -> Prompt {
    Prompt::user(format!(
        "Rate from 0 to 10 how relevant the passage is to the question. Only output the number.\nQuestion: Who keeps the lighthouse?\nPassage: {passage}"
    ))
}

#[test]
fn labels_are_told_apart_and_their_probabilities_are_those_of_whole_replies() {
    let mut generator = generator();
    let prompts = [grade(CONTEXT), grade("A harbour has boats.")];
    let rows = generator.classify(&prompts, &GRADES).expect("grades");
    assert_eq!((rows.len(), rows[0].len()), (2, 11));
    for (prompt, row) in prompts.iter().zip(&rows) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        // the most likely label is the greedy reply
        let reply = one(&mut generator, prompt, &greedy(4)).text;
        let best = (0..11)
            .max_by(|a, b| row[*a].total_cmp(&row[*b]))
            .expect("a label");
        assert_eq!(reply.trim(), GRADES[best], "{row:?}");
    }
    let alone = generator.classify(&prompts[1..], &GRADES).expect("grades");
    for (alone, together) in alone[0].iter().zip(&rows[1]) {
        assert!((alone - together).abs() < 1e-3, "{alone} {together}");
    }
    assert_eq!(generator.usage().tokens_generated, 0);
    assert!(generator.is_cache_consistent());
    assert!(
        generator
            .classify(&[], &GRADES)
            .expect("nothing")
            .is_empty()
    );
    for label in ["", "  "] {
        let error = generator
            .classify(&prompts, &["yes", label])
            .expect_err("no label");
        assert!(matches!(error, LlmError::BadLabel { .. }), "{error}");
    }
}

#[test]
fn scores_are_the_log_probabilities_of_the_text() {
    let mut generator = generator();
    let prompt = question("How tall is the lighthouse?");
    let written = one(&mut generator, &prompt, &greedy(60));
    let scores = generator
        .score(
            &[prompt.clone(), prompt.clone()],
            &[&written.text, " Bananas grow on the moon."],
        )
        .expect("scores");
    assert_eq!(scores[0].len(), written.tokens.len());
    for (score, token) in scores[0].iter().zip(&written.tokens) {
        assert!((score - token.logprob).abs() < 0.02, "{score} {token:?}");
    }
    let mean = |row: &[f32]| row.iter().sum::<f32>() / row.len() as f32;
    assert!(mean(&scores[0]) > mean(&scores[1]) + 1.0);
    // a part of the reply as context of the rest gives the same numbers
    let (head, rest) = written
        .text
        .split_at(written.text.find(" So").expect("the closing phrase"));
    let tail = generator
        .score(
            &[Prompt {
                reply: head.to_owned(),
                ..prompt
            }],
            &[rest],
        )
        .expect("scores")
        .remove(0);
    for (score, whole) in tail.iter().zip(&scores[0][scores[0].len() - tail.len()..]) {
        assert!((score - whole).abs() < 0.02, "{score} {whole}");
    }
}

#[test]
fn judging_stops_with_the_flag() {
    let stop = StopFlag::default();
    let mut generator = generator_with(&generator_settings(), &stop);
    stop.stop();
    assert!(matches!(
        generator.classify(&[grade(CONTEXT)], &GRADES),
        Err(LlmError::Stopped)
    ));
    next_command(&stop);
    assert!(generator.classify(&[grade(CONTEXT)], &GRADES).is_ok());
    assert!(generator.is_cache_consistent());
}

/// The bundled embedder with a classification head: rank pooling, `labels`, and a last layer that reads class `c` off dimension `c`.
fn classifier_file(folder: &Path, labels: &[&str]) -> PathBuf {
    let bytes = std::fs::read(bundled("all-MiniLM-L6-v2.Q8_0.gguf")).expect("the embedder");
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let kind = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let size = |kind: u32| [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8][kind as usize];
    let (tensors, values) = (number(8), number(16));
    let mut at = 24;
    let mut pooling = 0;
    for _ in 0..values {
        let length = number(at) as usize;
        let key = &bytes[at + 8..at + 8 + length];
        at += 8 + length + 4;
        if key == b"bert.pooling_type" {
            pooling = at;
        }
        at += match kind(at - 4) {
            8 => 8 + number(at) as usize,
            9 => {
                let (item, count) = (kind(at), number(at + 4));
                let mut end = at + 12;
                for _ in 0..count {
                    end += if item == 8 {
                        8 + number(end) as usize
                    } else {
                        size(item)
                    };
                }
                end - at
            }
            other => size(other),
        };
    }
    let values_end = at;
    for _ in 0..tensors {
        at += 8 + number(at) as usize;
        at += 4 + kind(at) as usize * 8 + 4 + 8;
    }
    let infos_end = at;
    let data = &bytes[infos_end.next_multiple_of(32)..];
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let mut made = bytes[..8].to_vec();
    made.extend((tensors + 1).to_le_bytes());
    made.extend((values + u64::from(!labels.is_empty())).to_le_bytes());
    made.extend(&bytes[24..values_end]);
    made[pooling..pooling + 4].copy_from_slice(&4_u32.to_le_bytes());
    if !labels.is_empty() {
        made.extend(text("bert.classifier.output_labels"));
        made.extend(
            [
                &9_u32.to_le_bytes()[..],
                &8_u32.to_le_bytes(),
                &(labels.len() as u64).to_le_bytes(),
            ]
            .concat(),
        );
        labels.iter().for_each(|label| made.extend(text(label)));
    }
    made.extend(&bytes[values_end..infos_end]);
    let classes = labels.len().max(1);
    made.extend(text("cls.output.weight"));
    made.extend(
        [
            &2_u32.to_le_bytes()[..],
            &384_u64.to_le_bytes(),
            &(classes as u64).to_le_bytes(),
            &0_u32.to_le_bytes(),
        ]
        .concat(),
    );
    made.extend((data.len().next_multiple_of(32) as u64).to_le_bytes());
    made.resize(made.len().next_multiple_of(32), 0);
    made.extend(data);
    let data_start = made.len() - data.len();
    made.resize(data_start + data.len().next_multiple_of(32), 0);
    for class in 0..classes {
        (0..384).for_each(|d| {
            made.extend((if d % classes == class { 3.0_f32 } else { 0.0 }).to_le_bytes());
        });
    }
    let file = folder.join(format!("classifier-{}.gguf", labels.join("-")));
    std::fs::write(&file, made).expect("a file");
    file
}

#[test]
fn a_classification_model_reranks_and_judges() {
    let folder = tempfile::tempdir().expect("a folder");
    let load = |file: &Path, role| {
        let load = if role == ModelRole::EntailmentJudge {
            load_entailment_judge
        } else {
            load_reranker
        };
        load(
            &runtime(),
            file,
            &embedder_settings(),
            &StopFlag::default(),
            &mut |_| Flow::Continue,
        )
    };
    let one = classifier_file(folder.path(), &[]);
    let mut reranker = load(&one, ModelRole::Reranker).expect("a reranker");
    let texts = [
        "Mara Voss keeps the lighthouse.",
        "Boats are made of wood.",
        "Mara Voss keeps the lighthouse.",
    ];
    let scores = reranker
        .rerank("Who keeps the lighthouse?", &texts)
        .expect("scores");
    assert!(
        scores.iter().all(|score| (0.0..=1.0).contains(score)) && scores[0] != scores[1],
        "{scores:?}"
    );
    assert!((scores[0] - scores[2]).abs() < 1e-3, "{scores:?}");
    let long = "word ".repeat(4000);
    assert_eq!(reranker.rerank(&long, &[&long]).expect("a score").len(), 1);

    let three = classifier_file(folder.path(), &["CONTRADICTION", "ENTAILMENT", "NEUTRAL"]);
    let mut judge = load(&three, ModelRole::EntailmentJudge).expect("a judge");
    let pairs = [("Mara Voss", "Voss"), ("Mara Voss", "nobody")];
    let judged = judge
        .judge("Who keeps the lighthouse?", &pairs)
        .expect("judgements");
    for one in &judged {
        assert!(
            (one.entailment + one.neutral + one.contradiction - 1.0).abs() < 1e-5,
            "{one:?}"
        );
    }
    assert_ne!(judged[0], judged[1]);

    let wrong = [
        (load(&one, ModelRole::EntailmentJudge).err(), "entailment"),
        (
            load(&bundled("all-MiniLM-L6-v2.Q8_0.gguf"), ModelRole::Reranker).err(),
            "rank",
        ),
    ];
    for (error, part) in wrong {
        let text = error.expect("an error").to_string();
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn many_decisions_evaluate_each_prompt_once() {
    let mut generator = generator();
    let prompts: Vec<Prompt> = (0..40)
        .map(|n| grade(&format!("{CONTEXT} Entry {n}.")))
        .collect();
    let together = generator.classify(&prompts, &GRADES).expect("grades");
    let usage = generator.usage();
    // what each prompt has of its own, its end and the labels, and the shared start once
    assert!(usage.prompt_tokens_evaluated < 40 * 40, "{usage:?}");
    generator.clear_cache();
    let alone = generator.classify(&prompts[39..], &GRADES).expect("grades");
    for (together, alone) in together[39].iter().zip(&alone[0]) {
        assert!((together - alone).abs() < 5e-3, "{together} {alone}");
    }
    assert!(generator.is_cache_consistent());
}
