//! Layers on a GPU, compared with the same layers on the CPU: `make test-gpu`. A build without a
//! GPU back end has nothing to compare.

use ragscope::config::{EmbedderSettings, GeneratorSettings, OrAuto};
use ragscope::event::{Flow, RunEvent, StopFlag};
use ragscope::llm::{
    Embedder, Generator, HiddenAt, Layers, LlamaGenerator, Prompt, RerankerLoad, Scorer, Tap,
    Tapped, Taps, load_embedder, load_reranker,
};

use super::{
    bundled, dot, embedder_settings, exact_generator, generator_settings, generator_with, greedy,
    question, runtime,
};
use crate::support::environment::{CommandOutput, QUESTION, TestEnvironment};

/// The model's layers.
const LAYERS: u32 = 6;
/// Numbers of layers on the device: all, and those behind the third.
const OFFLOADED: [OrAuto<u32>; 2] = [OrAuto::Auto, OrAuto::Set(3)];

/// The name of the first GPU.
fn gpu() -> String {
    let devices = runtime().devices();
    let gpu = devices.iter().find(|device| device.is_gpu);
    gpu.expect("a GPU: `make test-gpu`").name.clone()
}

fn on(device: &str, gpu_layers: OrAuto<u32>) -> GeneratorSettings {
    GeneratorSettings {
        device: device.to_owned(),
        gpu_layers,
        ..generator_settings()
    }
}

/// The generator in single precision.
fn exact(device: &str, gpu_layers: OrAuto<u32>) -> LlamaGenerator {
    exact_generator(&on(device, gpu_layers), &StopFlag::default())
}

fn questions() -> Vec<Prompt> {
    [
        "How tall is the lighthouse?",
        "Who keeps the lighthouse?",
        "When was it built?",
    ]
    .map(question)
    .to_vec()
}

/// The distance of two vectors, relative to the length of the first.
fn distance(expected: &[f32], found: &[f32]) -> f32 {
    assert_eq!(expected.len(), found.len());
    let pairs = expected.iter().zip(found);
    let squares: f32 = pairs.map(|(a, b)| (a - b).powi(2)).sum();
    squares.sqrt() / dot(expected, expected).sqrt()
}

/// The largest difference of two tables of one shape.
fn difference(expected: &[Vec<f32>], found: &[Vec<f32>]) -> f32 {
    assert_eq!(
        expected.iter().map(Vec::len).collect::<Vec<_>>(),
        found.iter().map(Vec::len).collect::<Vec<_>>()
    );
    let pairs = expected.iter().flatten().zip(found.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// The mean difference of two tables of one shape.
fn mean_difference(expected: &[Vec<f32>], found: &[Vec<f32>]) -> f32 {
    let pairs = expected.iter().flatten().zip(found.iter().flatten());
    let differences: Vec<f32> = pairs.map(|(a, b)| (a - b).abs()).collect();
    differences.iter().sum::<f32>() / differences.len() as f32
}

#[test]
#[ignore = "needs a GPU: make test-gpu"]
fn gpu_layers_are_where_the_card_says() {
    let gpu = gpu();
    let stop = StopFlag::default();
    for (setting, device, layers) in [
        (OrAuto::Auto, gpu.as_str(), LAYERS),
        (OrAuto::Set(99), gpu.as_str(), LAYERS),
        (OrAuto::Set(2), gpu.as_str(), 2),
        (OrAuto::Set(0), "CPU", 0),
    ] {
        for name in ["auto", gpu.as_str()] {
            let generator = generator_with(&on(name, setting), &stop);
            let card = generator.card();
            assert_eq!((card.device.as_str(), card.gpu_layers), (device, layers));
        }
    }
    let generator = generator_with(&on("CPU", OrAuto::Auto), &stop);
    let card = generator.card();
    assert_eq!((card.device.as_str(), card.gpu_layers), ("CPU", 0));
}

#[test]
#[ignore = "needs a GPU: make test-gpu"]
fn gpu_logits_equal_the_processors() {
    let replies = [
        "The lighthouse on Sherk Island is 40 metres tall.",
        "Mara Voss keeps the lighthouse.",
        "So the answer is 1871.",
    ];
    let scores = |mut generator: LlamaGenerator| {
        let rows = generator.score(&questions(), &replies);
        rows.expect("log-probabilities")
    };

    // In single precision sums differ in their order, and Mesa's software device computes
    // exponentials to five digits. Quantised weights are multiplied with activations of eight bits
    // on the CPU, which moves the likelihood of a token that is nearly impossible by half a nat:
    // there the mean counts.
    let cpu = scores(exact("CPU", OrAuto::Auto));
    let stop = StopFlag::default();
    let quantised = scores(generator_with(&on("CPU", OrAuto::Auto), &stop));
    for layers in OFFLOADED {
        let most = difference(&cpu, &scores(exact("auto", layers)));
        println!("{layers:?}: log-probabilities differ by at most {most:e}");
        assert!(most < 0.05, "{layers:?}: {most}");

        let found = scores(generator_with(&on("auto", layers), &stop));
        let mean = mean_difference(&quantised, &found);
        println!("{layers:?}, Q8_0: log-probabilities differ by {mean:e} in the mean");
        assert!(mean < 0.2, "{layers:?}, Q8_0: {mean}");
    }
}

#[test]
#[ignore = "needs a GPU: make test-gpu"]
fn gpu_hidden_states_equal_the_processors() {
    let taps = Taps {
        hidden: vec![HiddenAt::LastPromptToken, HiddenAt::FirstToken],
        attention: Vec::new(),
    };
    let tapped = |mut generator: LlamaGenerator| -> Vec<Tapped> {
        let prompts = questions();
        let tapped =
            generator.complete_tapped(&prompts, &greedy(8), &taps, &mut |_, _| Flow::Continue);
        tapped.expect("a completion")
    };

    let cpu = tapped(exact("CPU", OrAuto::Auto));
    for layers in OFFLOADED {
        let mut most = 0.0_f32;
        for (expected, found) in cpu.iter().zip(tapped(exact("auto", layers))) {
            assert_eq!(expected.completion.text, found.completion.text);
            assert_eq!(found.hidden.len(), 2);
            for (expected, found) in expected.hidden.iter().zip(&found.hidden) {
                assert_eq!(expected.at, found.at);
                assert_eq!(found.layers.len(), LAYERS as usize);
                for (expected, found) in expected.layers.iter().zip(&found.layers) {
                    most = most.max(distance(expected, found));
                }
            }
        }
        println!("{layers:?}: hidden states differ by at most {most:e} of their length");
        assert!(most < 5e-3, "{layers:?}: {most}");
    }
}

#[test]
#[ignore = "needs a GPU: make test-gpu"]
fn gpu_attention_equals_the_processors() {
    let prompt = question("How tall is the lighthouse?");
    let rows = |mut generator: LlamaGenerator| {
        let text = generator.render(&prompt).expect("a prompt").text;
        let second = text.find("[2]").expect("the second passage");
        let after = text.find("Answer the question").expect("the instruction");
        let parts = vec![0..second, second..after, after..text.len()];
        let taps = Taps {
            hidden: vec![HiddenAt::LastPromptToken],
            attention: vec![parts.clone()],
        };
        let prompts = std::slice::from_ref(&prompt);
        let tapped = generator
            .complete_tapped(prompts, &greedy(12), &taps, &mut |_, _| Flow::Continue)
            .expect("a completion")
            .remove(0);
        let tokens = tapped.completion.tokens.iter();
        let mut rows: Vec<Vec<f32>> = tokens.map(|token| token.attention.clone()).collect();
        // whole planes, and those of one layer
        for layers in [Layers::All, Layers::One(1), Layers::One(LAYERS - 1)] {
            rows.extend(
                generator
                    .attend(&text, &parts, layers)
                    .expect("attention between the parts"),
            );
        }
        rows
    };

    let cpu = rows(exact("CPU", OrAuto::Auto));
    assert!(cpu.iter().any(|row| row.iter().sum::<f32>() > 0.9));
    for layers in OFFLOADED {
        let most = difference(&cpu, &rows(exact("auto", layers)));
        println!("{layers:?}: attention differs by at most {most:e}");
        assert!(most < 1e-3, "{layers:?}: {most}");
    }
}

#[test]
#[ignore = "needs a GPU: make test-gpu"]
fn gpu_vectors_and_ranks_equal_the_processors() {
    let texts = [
        "Bob is a physics teacher",
        "The lighthouse on Sherk Island is 40 metres tall.",
        "Mara Voss keeps the lighthouse. It was built in 1871.",
        "",
    ];
    let on = |device: &str| EmbedderSettings {
        device: device.to_owned(),
        ..embedder_settings()
    };
    let stop = StopFlag::default();
    let vectors = |device: &str| {
        let file = bundled("all-MiniLM-L6-v2.Q8_0.gguf");
        let mut embedder = load_embedder(&runtime(), &file, &on(device), &stop, &mut |_| {
            Flow::Continue
        })
        .expect("the bundled embedder");
        let offloaded = embedder.card().gpu_layers;
        assert_eq!(offloaded > 0, device != "CPU");
        embedder.embed(&texts).expect("vectors")
    };
    let pairs = vectors("CPU").into_iter().zip(vectors("auto"));
    for (text, (expected, found)) in texts.iter().zip(pairs) {
        let similarity = dot(&expected, &found);
        println!("{similarity} {text}");
        assert!(similarity > 0.998, "{text}: {similarity}");
    }

    let ranks = |device: &str| {
        let settings = RerankerLoad {
            server: None,
            model: on(device),
            generator: generator_settings(),
        };
        let file = bundled("ragscope-reranker.Q5_0.gguf");
        let mut reranker =
            load_reranker(&runtime(), &file, &settings, &stop, &mut |_| Flow::Continue)
                .expect("the bundled reranker");
        assert_eq!(reranker.card().gpu_layers > 0, device != "CPU");
        reranker
            .rerank("Who keeps the lighthouse?", &texts)
            .expect("ranks")
    };
    let most = difference(&[ranks("CPU")], &[ranks("auto")]);
    println!("ranks differ by at most {most:e}");
    assert!(most < 0.05, "{most}");
}

/// Limits the size of a buffer on a Vulkan device, as a device without memory would.
#[test]
#[ignore = "needs a GPU: make test-gpu"]
fn gpu_layers_are_fewer_where_memory_ends() {
    let test = TestEnvironment::new();
    let ask = |max_buffer_bytes: u32, flags: &[&str]| {
        let arguments = [&["ask", "notes", QUESTION, "--json"], flags].concat();
        let output = test
            .command(&arguments)
            .env(
                "GGML_VK_FORCE_MAX_BUFFER_SIZE",
                max_buffer_bytes.to_string(),
            )
            .output()
            .expect("started");
        CommandOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::new(),
        }
    };
    let all = ["--set", "generator.gpu_layers=6"];

    // a KV cache of 6 MiB or all layers are too large, and half of them fit
    let halved = ask(6_000_000, &[]);
    assert_eq!(halved.code, Some(0), "{}", halved.stdout);
    assert!(
        halved.stdout.contains("\"gpu_layers\":3"),
        "{}",
        halved.stdout
    );
    let (error, advice) = ask(6_000_000, &all).failure();
    assert!(error.starts_with("no room for 6 layers on "), "{error}");
    assert!(advice.contains("generator.gpu_layers to 3,"), "{advice}");

    // one layer fits, and its KV cache does not
    let none = ask(2_000_000, &[]);
    assert_eq!(none.code, Some(0), "{}", none.stdout);
    assert!(
        !none.stdout.contains("\"device\":\"Vulkan"),
        "{}",
        none.stdout
    );
    let (_, advice) = ask(2_000_000, &all).failure();
    assert!(advice.contains("generator.gpu_layers to 1,"), "{advice}");
}

#[test]
#[ignore = "needs a GPU: make test-gpu"]
fn gpu_is_named_by_doctor_and_in_every_record() {
    let gpu = gpu();
    let test = TestEnvironment::new();
    let doctor = test.run(["doctor"]);
    assert!(
        doctor.stdout.contains(&gpu) && doctor.stdout.contains(&format!("loaded on {gpu}")),
        "{}",
        doctor.stdout
    );

    let asked = test.run(["ask", "notes", QUESTION, "--json"]).succeeds();
    let records = asked.records();
    let models = records.iter().find_map(|record| match record.event.run() {
        Some(RunEvent::RunStarted { models, .. }) => Some(models),
        _ => None,
    });
    for card in models.expect("the start of a run") {
        println!(
            "{}: {} of {} layers on {}",
            card.file, card.gpu_layers, card.layers, card.device
        );
        assert_eq!((&card.device, card.gpu_layers), (&gpu, card.layers));
    }
    // as llama.cpp reports it, the output layer included
    let log = std::fs::read_to_string(test.paths().log_file()).expect("llama.cpp's log");
    let all = format!("offloaded {0}/{0} layers to GPU", LAYERS + 1);
    assert!(log.contains(&all), "{log}");
}
