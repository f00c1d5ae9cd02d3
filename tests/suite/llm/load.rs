//! Loading models, and the embedder.

use ragscope::config::GeneratorSettings;
use ragscope::event::{Advice as _, Flow, StopFlag};
use ragscope::llm::{Embedder, Generator, LlmError, Prompt, load_embedder, load_generator};

use super::{
    between_batches, bundled, dot, embedder, embedder_settings, generator, generator_settings,
    generator_with, runtime,
};

#[test]
fn vectors_equal_the_reference() {
    let mut embedder = embedder();
    let texts = [
        "Bob is a physics teacher",
        "Bob teaches physics",
        "The lighthouse on Sherk Island is 40 metres tall.",
        "",
    ];
    let vectors = embedder.embed(&texts).expect("vectors");
    assert_eq!(embedder.card().width, 384);
    for vector in &vectors {
        assert_eq!(vector.len(), 384);
        assert!((dot(vector, vector) - 1.0).abs() < 1e-5);
    }
    assert!(
        (dot(&vectors[0], &vectors[1]) - 0.926).abs() < 0.002,
        "{}",
        dot(&vectors[0], &vectors[1])
    );
    assert!(
        (dot(&vectors[0], &vectors[2]) - 0.058).abs() < 0.01,
        "{}",
        dot(&vectors[0], &vectors[2])
    );
}

#[test]
fn vectors_do_not_depend_on_the_batch() {
    let mut embedder = embedder();
    let texts: Vec<String> = (0..150)
        .map(|n| "a harbour town with a bell tower. ".repeat(n % 13 + 1) + &n.to_string())
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = embedder.embed(&texts).expect("vectors");
    for at in [0, 1, 12, 77, 149] {
        let alone = embedder.embed(&texts[at..=at]).expect("a vector").remove(0);
        let pairs = alone.iter().zip(&together[at]);
        let most = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(most < between_batches(1e-5), "text {at}: {most}");
    }
    assert!(embedder.embed(&[]).expect("nothing").is_empty());
}

#[test]
fn a_text_longer_than_the_context_is_cut_at_its_end() {
    let mut embedder = embedder();
    let long = "tower ".repeat(5000);
    let other = "tower ".repeat(4000) + &"fish ".repeat(1000);
    let vectors = embedder.embed(&[&long, &other]).expect("vectors");
    assert!(dot(&vectors[0], &vectors[1]) > 0.99999);
}

#[test]
fn a_bad_model_file_is_named_with_its_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = std::fs::read(bundled("ragscope-demo.Q8_0.gguf")).expect("the bundled generator");
    let cases: [(&str, Option<&[u8]>); 5] = [
        ("missing.gguf", None),
        ("empty.gguf", Some(&[])),
        ("head-only.gguf", Some(&whole[..50_000])),
        ("truncated.gguf", Some(&whole[..whole.len() - 100_000])),
        (
            "text.gguf",
            Some(b"This is a letter to the harbour master."),
        ),
    ];
    for (name, bytes) in cases {
        let file = folder.path().join(name);
        if let Some(bytes) = bytes {
            std::fs::write(&file, bytes).expect("a file");
        }
        let stop = StopFlag::default();
        let generator =
            load_generator(&runtime(), &file, &generator_settings(), &stop, &mut |_| {
                Flow::Continue
            });
        let embedder = load_embedder(&runtime(), &file, &embedder_settings(), &stop, &mut |_| {
            Flow::Continue
        });
        for error in [generator.err(), embedder.err()] {
            let error = error.unwrap_or_else(|| panic!("{name} was loaded"));
            match &error {
                LlmError::Failed(problem) => {
                    assert!(problem.error.starts_with("no model file at"), "{problem}");
                    assert_eq!(name, "missing.gguf");
                }
                LlmError::Unusable { .. } => assert_ne!(name, "missing.gguf"),
                other => panic!("{name}: {other}"),
            }
            assert!(error.to_string().contains(name), "{error}");
        }
    }
    // each role wants its kind of model
    let file = bundled("all-MiniLM-L6-v2.Q8_0.gguf");
    let error = load_generator(
        &runtime(),
        &file,
        &generator_settings(),
        &StopFlag::default(),
        &mut |_| Flow::Continue,
    );
    assert!(
        matches!(error.err(), Some(LlmError::Unusable { reason, .. }) if reason.contains("vectors"))
    );
    let file = bundled("ragscope-demo.Q8_0.gguf");
    let error = load_embedder(
        &runtime(),
        &file,
        &embedder_settings(),
        &StopFlag::default(),
        &mut |_| Flow::Continue,
    );
    assert!(
        matches!(error.err(), Some(LlmError::Unusable { reason, .. }) if reason.contains("embedding"))
    );
}

#[test]
fn a_load_can_be_watched_and_stopped() {
    let file = bundled("ragscope-demo.Q8_0.gguf");
    let mut shares = Vec::new();
    let stop = StopFlag::default();
    let generator = load_generator(
        &runtime(),
        &file,
        &generator_settings(),
        &stop,
        &mut |share| {
            shares.push(share);
            Flow::Continue
        },
    );
    assert!(generator.is_ok() && shares.len() > 1);
    assert!(
        shares.is_sorted() && shares.last() == Some(&1.0),
        "{shares:?}"
    );
    let stopped = load_generator(&runtime(), &file, &generator_settings(), &stop, &mut |_| {
        Flow::Stop
    });
    assert!(matches!(stopped.err(), Some(LlmError::Stopped(_))));
}

#[test]
fn the_card_says_what_the_model_is() {
    let generator = generator();
    let card = generator.card();
    assert_eq!(
        (
            card.name.as_str(),
            card.architecture.as_str(),
            card.quantisation.as_str()
        ),
        ("ragscope-demo", "llama", "Q8_0")
    );
    assert_eq!(
        (card.layers, card.width, card.context_tokens),
        (6, 256, 2048)
    );
    assert_eq!(
        (card.chat_template.as_str(), card.fingerprint.len()),
        ("gguf", 64)
    );
    let embedder = embedder();
    assert_eq!(
        (
            embedder.card().quantisation.as_str(),
            embedder.card().context_tokens
        ),
        ("Q8_0", 512)
    );
    assert_ne!(embedder.card().fingerprint, card.fingerprint);
    let copy = tempfile::tempdir()
        .expect("a folder")
        .path()
        .join("copy.gguf");
    std::fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
    std::fs::copy(bundled("ragscope-demo.Q8_0.gguf"), &copy).expect("a copy");
    let again = load_generator(
        &runtime(),
        &copy,
        &generator_settings(),
        &StopFlag::default(),
        &mut |_| Flow::Continue,
    );
    assert_eq!(
        again.expect("the copy").card().fingerprint,
        card.fingerprint
    );
}

#[test]
fn settings_that_name_nothing_are_errors_with_the_names_there_are() {
    let file = bundled("ragscope-demo.Q8_0.gguf");
    let base = generator_settings();
    let cases = [
        (
            GeneratorSettings {
                device: "quantum0".to_owned(),
                ..base.clone()
            },
            "CPU",
        ),
        (
            GeneratorSettings {
                chat_template: "no-such".to_owned(),
                ..base.clone()
            },
            "chatml",
        ),
    ];
    for (settings, names) in cases {
        let error = load_generator(
            &runtime(),
            &file,
            &settings,
            &StopFlag::default(),
            &mut |_| Flow::Continue,
        )
        .err();
        let text = error.expect("an error").to_problem().line();
        assert!(text.contains(names), "{text}");
    }
    let named = generator_with(
        &GeneratorSettings {
            chat_template: "llama3".to_owned(),
            ..base
        },
        &StopFlag::default(),
    );
    assert_eq!(named.card().chat_template, "llama3");
    assert!(
        named
            .render(&Prompt::user("hello"))
            .expect("a prompt")
            .text
            .contains("<|start_header_id|>")
    );
}

#[test]
fn the_runtime_starts_as_often_as_it_is_asked_and_names_its_devices() {
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(runtime)).collect();
    assert!(threads.into_iter().all(|thread| thread.join().is_ok()));
    assert!(
        runtime()
            .devices()
            .iter()
            .any(|device| device.name == "CPU")
    );
    assert!(runtime().features().contains(&"CPU".to_owned()));
}

#[test]
fn a_model_that_computes_no_numbers_is_an_error_and_no_hang() {
    let mut bytes =
        std::fs::read(bundled("ragscope-demo.Q8_0.gguf")).expect("the bundled generator");
    let from = bytes.len() - 200_000;
    // half-precision numbers that are not a number
    bytes[from..]
        .chunks_exact_mut(2)
        .for_each(|pair| pair.copy_from_slice(&0x7e00_u16.to_le_bytes()));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("nan.gguf");
    std::fs::write(&file, bytes).expect("a file");
    let error = load_generator(
        &runtime(),
        &file,
        &generator_settings(),
        &StopFlag::default(),
        &mut |_| Flow::Continue,
    );
    let text = error.err().expect("an error").to_string();
    assert!(
        text.contains("nan.gguf") && text.contains("not finite"),
        "{text}"
    );
}
