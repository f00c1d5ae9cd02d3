//! `ragscope doctor`: what is wrong is named.

use std::fs;
use std::path::Path;

use crate::llm::without_training;
use crate::support::environment::{SMALL_GENERATOR, TestEnvironment};

#[test]
fn doctor_names_a_folder_that_cannot_be_written() {
    let test = TestEnvironment::new();
    test.write(&test.paths().state, "a file where a folder should be");
    let checks = test.run("doctor --json").exits(1).json()["checks"].take();
    let mut checks = checks.as_array().expect("a list").clone();
    checks.retain(|check| check["state"] == "wrong");
    assert_eq!(checks.len(), 1, "{checks:?}");
    assert_eq!(checks[0]["what"], "sessions");
    let advice = checks[0]["advice"].as_str().expect("advice");
    assert!(advice.contains("RAGSCOPE_HOME"), "{advice}");
}

#[test]
fn doctor_names_a_bundled_model_that_was_changed() {
    let test = TestEnvironment::new();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models");
    let assets = test.path("assets");
    fs::create_dir_all(assets.join("models")).expect("made");
    for entry in fs::read_dir(&shipped).expect("models") {
        let file = entry.expect("an entry").path();
        if file.extension().is_some_and(|ending| ending == "gguf") {
            let copy = assets
                .join("models")
                .join(file.file_name().expect("a name"));
            fs::copy(&file, copy).expect("copied");
        }
    }
    let check = || {
        let output = test.run_with(("RAGSCOPE_ASSETS", &assets), "doctor --json");
        let checks = output.json()["checks"].take();
        let mut checks = checks.as_array().expect("a list").iter();
        let bundled = checks.find(|check| check["what"] == "bundled models");
        bundled.expect("a check of the bundled models").clone()
    };
    assert_eq!(check()["state"], "good", "{}", check());

    let generator = assets.join("models").join(SMALL_GENERATOR);
    let mut bytes = fs::read(&generator).expect("a copy");
    fs::remove_file(&generator).expect("removed");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(&generator, bytes).expect("written");
    let found = check();
    assert_eq!(found["state"], "poor", "{found}");
    let text = |key: &str| found[key].as_str().expect("text");
    assert!(text("found").starts_with("ragscope-demo.Q8_0.gguf differs"));
    assert!(text("advice").contains("MODELS.md"), "{found}");
}

#[test]
fn doctor_notices_an_embedder_whose_vectors_say_nothing() {
    let test = TestEnvironment::new();
    let check = |flags: &[&str]| {
        let output = test.run([&["doctor", "--json"], flags].concat());
        let checks = output.json()["checks"].take();
        let mut checks = checks.as_array().expect("a list").iter();
        let vectors = checks.find(|check| check["what"] == "vectors");
        vectors.expect("a check of the vectors").clone()
    };
    let good = check(&[]);
    assert_eq!(good["state"], "good", "{good}");

    let name = "all-MiniLM-L6-v2.Q8_0.gguf";
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models");
    let bytes = fs::read(shipped.join(name)).expect("the embedder");
    let untrained = test.write("untrained.gguf", without_training(&bytes));
    let model = format!("embedder.model={}", untrained.display());
    let wrong = check(&["--set", &model]);
    assert_eq!(wrong["state"], "wrong", "{wrong}");
    assert!(
        wrong["advice"].to_string().contains("embedder.model"),
        "{wrong}"
    );
}

#[test]
fn doctor_checks_an_index_without_vectors_and_names_what_its_folder_leaves_out() {
    let test = TestEnvironment::empty();
    test.write("notes/lamp.md", "The lamp burns.");
    test.write("notes/.gitignore", "draft.md");
    test.write("notes/draft.md", "The lamp is out.");
    test.write("notes/empty.md", "");
    test.write("notes/large.md", "The lamp. ".repeat(500));
    test.write(
        test.paths().config_file(),
        "[corpus]\nmax_file_bytes = 4096\n",
    );
    let words_alone = ["--set", "retriever.kind=bm25"];
    let run = |command: &[&str]| test.run([command, &words_alone].concat());
    run(&["index", "notes"]).succeeds();
    let checks = test.run("doctor --json").json()["checks"].take();
    let mut checks = checks.as_array().expect("a list").iter();
    let index = checks.find(|check| check["what"] == "index");
    let found = index.expect("a check of the index")["found"].to_string();
    assert!(found.contains("1 document, 1 chunk"), "{found}");
    for left_out in [
        "1 file by .gitignore or .ignore",
        "draft.md",
        "2 files (`ragscope index ",
        ": empty.md, large.md",
    ] {
        assert!(found.contains(left_out), "{left_out}: {found}");
        for command in [
            vec!["search", "notes", "lamp"],
            vec!["ask", "notes", "lamp", "--quotes"],
        ] {
            run(&command).succeeds().reports(left_out);
        }
    }

    test.write("drafts/.gitignore", "*.md");
    test.write("drafts/one.md", "The lamp is out.");
    let failed = run(&["ask", "drafts", "Is the lamp out?", "--quotes"]).exits(1);
    assert!(
        failed.stderr.contains("left out: 1 file by .gitignore"),
        "{}",
        failed.stderr
    );
}
