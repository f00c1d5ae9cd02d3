//! A model file may not take the place of another one, nor end the program.

use std::fs;
use std::path::Path;

use crate::support::environment::{SMALL_GENERATOR, TestEnvironment};

#[test]
fn a_model_in_the_working_directory_is_not_the_bundled_one() {
    let test = TestEnvironment::new();
    let planted = test.path("all-MiniLM-L6-v2.Q8_0.gguf");
    fs::write(&planted, "planted").expect("written");
    test.run(["index", "notes"]).succeeds();

    // with a folder in its name it is meant
    test.run([
        "index",
        "notes",
        "--rebuild",
        "--set",
        "embedder.model=./all-MiniLM-L6-v2.Q8_0.gguf",
    ])
    .exits(1)
    .reports("GGUF");

    let paths = test.paths();
    let bundled = ragscope::llm::resolve("all-MiniLM-L6-v2.Q8_0.gguf", &paths).expect("bundled");
    assert_ne!(bundled, planted);
}

#[test]
fn the_model_of_links_writes_no_text() {
    let test = TestEnvironment::new();
    let model = "generator.model=ragscope-sentences.F16.gguf";
    test.run(["ask", "notes", "Who?", "--set", model])
        .exits(1)
        .reports("writes no text");
}

/// Returns a copy of a bundled model with other bytes after a key of its metadata.
fn mutated(folder: &Path, key: &str, bytes: &[u8]) -> String {
    let models = ragscope::config::assets_folder().join("models");
    let mut model = fs::read(models.join(SMALL_GENERATOR)).expect("a model");
    let at = model
        .windows(key.len())
        .position(|window| window == key.as_bytes())
        .expect("the key");
    // the key, then the type of its value in four bytes
    let value = at + key.len() + 4;
    model[value..value + bytes.len()].copy_from_slice(bytes);
    let file = folder.join("mutated.gguf");
    fs::write(&file, model).expect("written");
    file.display().to_string()
}

#[test]
fn models_that_would_stop_llama_cpp_are_refused() {
    let test = TestEnvironment::new();
    for (key, bytes, reason) in [
        (
            "llama.block_count",
            0_u32.to_le_bytes(),
            "`llama.block_count` is 0",
        ),
        (
            "llama.block_count",
            u32::MAX.to_le_bytes(),
            "`llama.block_count` is 4294967295",
        ),
        (
            "llama.attention.layer_norm_rms_epsilon",
            f32::NAN.to_le_bytes(),
            "epsilon` is NaN",
        ),
        (
            "llama.attention.layer_norm_rms_epsilon",
            (-1_f32).to_le_bytes(),
            "epsilon` is -1",
        ),
        (
            "llama.attention.head_count",
            0_u32.to_le_bytes(),
            "head_count` is 0",
        ),
        (
            "llama.context_length",
            (1_u32 << 31).to_le_bytes(),
            "`llama.context_length` is 2147483648",
        ),
    ] {
        let model = mutated(test.folder(), key, &bytes);
        let ended = test
            .run([
                "ask",
                "notes",
                "Who?",
                "--preset",
                "closed-book",
                "--model",
                &model,
            ])
            .exits(1);
        assert!(
            ended.stderr.contains(reason) && ended.stderr.contains("mutated.gguf"),
            "{}",
            ended.stderr
        );
    }
}
