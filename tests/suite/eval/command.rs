use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ragscope::event::{Event, RunEvent};
use serde_json::Value;

use crate::support::environment::TestEnvironment;
use crate::support::find;

/// Returns a program with a file of questions about its corpus.
fn with_questions(count: usize) -> (TestEnvironment, PathBuf) {
    let test = TestEnvironment::new();
    let file = test.path("questions.jsonl");
    let line = |number: usize| {
        format!(
            "{{\"id\": \"n{number}\", \"question\": \"Where was Tam Reeve born, {number}?\", \"answers\": [\"Lorbymouth\"], \
             \"evidence\": [\"Tam Reeve was born in Lorbymouth.\"], \"kind\": \"one-hop\", \"split\": \"{}\"}}\n",
            if number.is_multiple_of(2) {
                "even"
            } else {
                "odd"
            }
        )
    };
    fs::write(&file, (1..=count).map(line).collect::<String>()).expect("written");
    (test, file)
}

fn journal(test: &TestEnvironment) -> Option<PathBuf> {
    let folder = fs::read_dir(test.paths().evaluations()).ok()?;
    folder.flatten().map(|entry| entry.path()).next()
}

fn lines(test: &TestEnvironment) -> usize {
    journal(test)
        .and_then(|file| fs::read_to_string(file).ok())
        .map_or(0, |text| text.matches('\n').count())
}

#[test]
fn presets_are_compared_on_a_question_file() {
    let (test, file) = with_questions(3);
    let file = file.to_str().expect("UTF-8");
    let arguments = [
        "eval",
        file,
        "--corpus",
        "notes",
        "--preset",
        "naive, closed-book",
    ];
    let ended = test.run(arguments).succeeds();
    for part in [
        "| naive ",
        "| closed-book ",
        "| one-hop ",
        "AUROC",
        "Differences",
        "Cost per question",
    ] {
        assert!(
            ended.stdout.contains(part),
            "no {part} in:\n{}",
            ended.stdout
        );
    }
    assert!(
        ended.stdout.starts_with("3 questions\n"),
        "{}",
        ended.stdout
    );
    let page = test.path("page.html");
    let ended = test.run([&arguments[..], &["--report", "page.html"]].concat());
    assert!(
        ended.code == Some(0) && ended.stderr.contains("page.html"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("every question is already answered"),
        "a page costs no answer: {}",
        ended.stderr
    );
    assert!(
        fs::read_to_string(page)
            .expect("a page")
            .starts_with("<!DOCTYPE html>")
    );

    let ended = test.run(
        [
            &arguments[..],
            &["--json", "--split", "odd", "--samples", "3"],
        ]
        .concat(),
    );
    let report: Value = serde_json::from_str(&ended.stdout).expect("one object");
    assert_eq!(
        (
            &report["questions"],
            report["presets"].as_array().map(Vec::len)
        ),
        (&Value::from(2), Some(2))
    );
    let naive = &report["presets"][0];
    assert_eq!(
        naive["context"]["share"], 1.0,
        "the corpus is one chunk: {naive}"
    );
    assert_eq!(naive["cost"]["retrievals"], 1.0);
    let measures: Vec<&str> = naive["uncertainty"]
        .as_array()
        .expect("measures")
        .iter()
        .filter_map(|one| one["measure"].as_str())
        .collect();
    assert!(
        measures.contains(&"token_entropy") && measures.contains(&"eigenvalue"),
        "{measures:?}"
    );
    assert_eq!(naive["utility"]["whole"][0]["contexts"], 2);
    assert_eq!(
        report["presets"][1]["context"],
        Value::Null,
        "nothing was retrieved"
    );
    assert_eq!(report["comparisons"][0]["questions"], 2);
}

#[test]
fn wrong_answers_are_counted_by_their_first_broken_link() {
    let test = TestEnvironment::new();
    test.write(
        "notes/ships.md",
        "# Ships\n\nThe Heron was built in 1911.\n",
    );
    let file = test.path("questions.jsonl");
    // the second answer is in no document, and the third in one that k = 1 does not reach
    let questions = [
        (
            "When was the Heron built?",
            "1911",
            "The Heron was built in 1911.",
        ),
        (
            "When was the Heron sunk?",
            "1950",
            "The Heron was sunk in 1950.",
        ),
        (
            "When was the Heron, a ship, built?",
            "Lorbymouth",
            "Tam Reeve was born in Lorbymouth.",
        ),
        // what holds the evidence does not hold the answer for that
        (
            "Who built the Heron?",
            "Ulick Miroden",
            "The Heron was built in 1911.",
        ),
    ];
    let lines = questions.map(|(question, answer, evidence)| {
        let line = serde_json::json!({
            "id": question, "question": question, "answers": [answer], "evidence": [evidence],
        });
        format!("{line}\n")
    });
    fs::write(&file, lines.concat()).expect("written");

    let arguments = "eval questions.jsonl --corpus notes --preset quotes --diagnose --json";
    let set = "--set retriever.k=1 --set answer.min_support=0 --set retriever.kind=bm25";
    let arguments: Vec<&str> = arguments.split(' ').chain(set.split(' ')).collect();
    let ended = test.run(&arguments).succeeds();
    let report: Value = serde_json::from_str(&ended.stdout).expect("one object");
    let expected = serde_json::json!({"not_in_corpus": 1, "not_found": 1, "unread": 1});
    assert_eq!(report["presets"][0]["broken"], expected, "{}", ended.stdout);

    let in_text: Vec<&str> = arguments
        .iter()
        .copied()
        .filter(|one| *one != "--json")
        .collect();
    let page = [&in_text[..], &["--report", "page.html"]].concat();
    let ended = test.run(page).succeeds();
    assert!(
        ended.stdout.contains("| not in the corpus | 1 "),
        "{}",
        ended.stdout
    );
    let page = fs::read_to_string(test.path("page.html")).expect("a page");
    assert!(page.contains("What went wrong first"));
}

#[test]
fn answers_from_disturbed_contexts_are_counted() {
    let test = TestEnvironment::new();
    for (name, text) in [
        ("ships", "The Heron was built in 1911."),
        ("mills", "The mill was built of stone."),
        ("bridges", "The bridge was built by three masons."),
    ] {
        test.write(format!("notes/{name}.md"), format!("{text}\n"));
    }
    let file = test.path("questions.jsonl");
    // nobody can answer the second, so that nothing is asked of it again
    let questions = r#"{"question": "When was the Heron built?", "answers": ["1911"]}
{"question": "When was the Heron sunk?", "answers": []}
"#;
    fs::write(&file, questions).expect("written");

    let arguments = "eval questions.jsonl --corpus notes --preset quotes --stress --json \
                     --set answer.prompt=quotes --set retriever.k=3 --set answer.min_support=0";
    let ended = test.run(arguments).succeeds();
    let report: Value = serde_json::from_str(&ended.stdout).expect("one object");
    let stress = report["presets"][0]["stress"].as_array().expect("a list");
    let figures: Vec<_> = stress
        .iter()
        .map(|one| {
            let name = one["disturbance"].as_str().expect("a name");
            let counts = ["questions", "right", "lost", "gained"];
            (
                name,
                counts.map(|count| one[count].as_u64().expect("a count")),
            )
        })
        .collect();
    let expected = [
        ("same", [1, 1, 0, 0]),
        ("reversed", [1, 1, 0, 0]),
        ("middle", [1, 1, 0, 0]),
        ("distracted", [1, 1, 0, 0]),
        ("removed", [1, 0, 1, 0]),
    ];
    assert_eq!(figures, expected, "{}", ended.stdout);

    let ended = test.run(arguments.replace("--json ", ""));
    let row = "| quotes | without the evidence | 1 | 0 | 1 | 0 | 0 |";
    let squeezed = ended.succeeds().stdout.replace("  ", "");
    assert!(squeezed.contains(row), "no {row} in {squeezed}");
}

#[test]
fn retrieval_alone_is_scored_and_can_fail() {
    let test = TestEnvironment::new();
    let file = test.path("questions.jsonl");
    let found = r#"{"question": "Where was Tam Reeve born?", "answers": ["Lorbymouth"]}"#;
    let nowhere = r#"{"question": "Where was Tam Reeve born?", "answers": ["Lorbymouth"],
        "evidence": [{"file": "other.md", "quote": "Tam Reeve was born in Lorbymouth."}]}"#
        .replace('\n', "");
    fs::write(&file, format!("{found}\n{nowhere}\n")).expect("written");
    // no generator is loaded: one that is not there is not missed
    let arguments = [
        "eval",
        file.to_str().expect("UTF-8"),
        "--corpus",
        "notes",
        "--retrieval-only",
        "--set",
        "generator.model=missing.gguf",
    ];

    let ended = test.run([&arguments[..], &["--json", "--min-recall", "0.5"]].concat());
    let ended = ended.succeeds();
    let report: Value = serde_json::from_str(&ended.stdout).expect("one object");
    let preset = &report["presets"][0];
    assert_eq!(
        preset["found"]["mrr"], 0.5,
        "evidence counts in its file: {preset}"
    );
    assert_eq!(
        (&preset["context"], &preset["cost"]["model_calls"]),
        (&Value::Null, &0.0.into())
    );

    let ended = test.run([&arguments[..], &["--min-recall", "0.6", "--at", "1,2"]].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for said in [
        "1 question without evidence",
        "recall at 2 is 0.500, less than 0.6",
    ] {
        assert!(
            ended.stderr.contains(said),
            "no {said} in: {}",
            ended.stderr
        );
    }
    assert!(
        ended.stdout.contains("Evidence in the chunks found") && !ended.stdout.contains("Cost"),
        "nothing was answered: {}",
        ended.stdout
    );
    let ended = test.run(["eval", "--demo", "--min-recall", "0.5"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}

/// Half of the answers are wrong, whatever the verdict says of them.
#[test]
fn a_verdict_is_fitted_to_the_answers_of_a_folder() {
    let test = TestEnvironment::new();
    let file = test.path("questions.jsonl");
    let line = |number: usize| {
        let answer = ["Lorbymouth", "Elsewhere"][number % 2];
        // a number that no document has would lower its support
        let marks = "?".repeat(number + 1);
        format!(
            "{{\"question\": \"Where was Tam Reeve born{marks}\", \"answers\": [\"{answer}\"]}}\n"
        )
    };
    fs::write(&file, (0..40).map(line).collect::<String>()).expect("written");
    let file = file.to_str().expect("UTF-8");
    let quoting = ["--set", "answer.prompt=quotes"];
    let arguments = ["eval", file, "--corpus", "notes", "--fit-verdict", "--json"];
    let fitted = |limit: &str| {
        let ended = test.run([&arguments[..], &quoting, &["--limit", limit]].concat());
        let ended = ended.succeeds();
        let report: Value = serde_json::from_str(&ended.stdout).expect("one object");
        (report["fitted_verdicts"].clone(), ended.stderr)
    };
    let verdict = || {
        let line = ["ask", "notes", "Where was Tam Reeve born?", "--json"];
        let events = test.run([&line[..], &quoting].concat()).succeeds().events();
        find!(events.iter(), Event::Run(RunEvent::VerdictGiven { verdict }) => verdict.clone())
            .expect("a verdict")
    };

    let (few, said) = fitted("20");
    assert!(few == Value::from(Vec::<Value>::new()) && said.contains("a fit needs 30 answers"));
    assert_eq!(verdict().unfitted, None);

    let (all, _) = fitted("40");
    let (shipped, by_fit) = (&all[0]["shipped"]["error"], &all[0]["fitted"]["error"]);
    assert_eq!(
        (&all[0]["answers"], &all[0]["right"]),
        (&40.into(), &20.into())
    );
    assert!(by_fit.as_f64() < shipped.as_f64(), "{all}");
    // every second answer is wrong
    assert_eq!(all[0]["accepted"], serde_json::json!([null, null]));
    let verdict = verdict();
    assert!((verdict.probability - 0.5).abs() < 0.1, "{verdict:?}");
    assert!(
        verdict.unfitted.is_some_and(|shipped| shipped > 0.6),
        "{verdict:?}"
    );
}

#[test]
fn a_dataset_comes_with_its_documents() {
    let test = TestEnvironment::new();
    let file = test.path("dev.json");
    let page = |name: &str, text: &str| format!("[\"{name}\", [\"{text}\"]]");
    let pages = [
        page("Tam Reeve", "Tam Reeve was born in Lorbymouth."),
        page("Mira Oakes", "Mira Oakes was born in Harwen."),
    ];
    let question = |number: usize, name: &str, answer: &str| {
        let page = &pages[number];
        format!(
            "{{\"_id\": \"h{number}\", \"type\": \"bridge\", \"question\": \"Where was {name} born?\", \
             \"answer\": \"{answer}\", \"supporting_facts\": [[\"{name}\", 0]], \"context\": [{page}]}}"
        )
    };
    let entries = [
        question(0, "Tam Reeve", "Lorbymouth"),
        question(1, "Mira Oakes", "Harwen"),
    ];
    fs::write(&file, format!("[{}]", entries.join(", "))).expect("written");

    let file = file.to_str().expect("UTF-8");
    let json = |arguments: &[&str]| -> Value {
        let ended = test
            .run([&["eval", file, "--json", "--preset", "naive"], arguments].concat())
            .succeeds();
        serde_json::from_str(&ended.stdout).expect("one object")
    };
    let chunks =
        |report: &Value, preset: usize| report["presets"][preset]["context"]["chunks"].clone();

    // all that is asked, then the question's own page alone
    let swept = json(&["--dataset", "hotpotqa", "--sweep", "retriever.k=1,2"]);
    assert_eq!(
        (chunks(&swept, 0), chunks(&swept, 1)),
        (Value::from(1.0), Value::from(2.0))
    );
    assert_eq!(swept["presets"][1]["preset"], "naive retriever.k=2");
    assert_eq!(swept["presets"][1]["context"]["share"], 1.0, "{swept}");
    assert_eq!(
        swept["presets"][0]["kinds"]["bridge"]["context"]["questions"],
        2
    );
    let own = json(&["--documents", "question"]);
    assert_eq!(chunks(&own, 0), Value::from(1.0));
}

#[test]
fn an_evaluation_continues_after_a_kill() {
    let (test, file) = with_questions(30);
    let file = file.to_str().expect("UTF-8");
    let arguments = [
        "eval",
        file,
        "--corpus",
        "notes",
        "--preset",
        "closed-book",
        "--json",
    ];
    let mut child = test.start(arguments);
    let started = Instant::now();
    while lines(&test) < 6 {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "nothing was answered"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("killed");
    child.wait().expect("its end");
    let before = fs::read_to_string(journal(&test).expect("a journal")).expect("lines");
    let kept = before.matches('\n').count() - 1;
    assert!(kept < 30, "it was too fast to be killed");

    let ended = test
        .run(arguments)
        .succeeds()
        .reports(format!("continuing after {kept} answers"));
    let report: Value = serde_json::from_str(&ended.stdout).expect("one object");
    assert_eq!(report["presets"][0]["answered"], 30);
    let after = fs::read_to_string(journal(&test).expect("a journal")).expect("lines");
    let whole = &before[..=before.rfind('\n').expect("a line")];
    assert!(
        after.starts_with(whole) && after.matches('\n').count() == 31,
        "rows were written twice"
    );
}

#[test]
fn wrong_usage_says_what_to_do() {
    let (test, file) = with_questions(2);
    let file = file.to_str().expect("UTF-8");
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["eval", file, "--corpus", "notes", "--preset", "naif"],
            2,
            "did you mean `naive`",
        ),
        (
            &["eval", file, "--corpus", "notes", "--split", "test"],
            2,
            "this file has the splits: even, odd",
        ),
        (&["eval", file], 2, "--corpus"),
        (
            &["eval", "notes/people.md", "--corpus", "notes"],
            1,
            "is not a question file",
        ),
        (
            &["eval", file, "--corpus", "gone"],
            1,
            "cannot open gone: there is no such folder",
        ),
        (
            &["eval", file, "--corpus", "notes", "--preset", ","],
            2,
            "--preset names no preset",
        ),
        (
            &["eval", file, "--make-questions", "notes"],
            2,
            "--make-questions",
        ),
        (
            &["eval", "--make-questions", "gone"],
            1,
            "cannot open gone: there is no such folder",
        ),
    ];
    for (arguments, code, part) in cases {
        test.run(arguments).exits(*code).reports(part);
    }
}

#[test]
fn a_single_question_can_be_measured_too() {
    let test = TestEnvironment::new();
    let settings = [
        "--set",
        "utility.kind=hard",
        "--set",
        "utility.samples=2",
        "--set",
        "utility.references=[\"Lorbymouth\"]",
    ];
    let ended = test
        .run(
            [
                &["ask", "notes", "Where was Tam Reeve born?"][..],
                &settings,
            ]
            .concat(),
        )
        .succeeds();
    let utility = ended.stdout.lines().find(|line| {
        line.starts_with("utility of the context, compared with the reference answer: ")
    });
    assert!(
        utility.is_some_and(|line| line.contains("; [1] alone ")),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_limit_takes_questions_from_the_whole_file() {
    let (test, file) = with_questions(10);
    let file = file.to_str().expect("UTF-8");
    let arguments = [
        "eval",
        file,
        "--corpus",
        "notes",
        "--preset",
        "closed-book",
        "--limit",
        "3",
        "--json",
    ];
    assert_eq!(test.run(arguments).code, Some(0));
    let journal = fs::read_to_string(journal(&test).expect("a journal")).expect("lines");
    let rows = journal
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).expect("a row"));
    let ids: Vec<String> = rows
        .map(|row| row["record"]["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(ids, ["n4", "n7", "n10"]);
}

#[test]
fn a_table_of_a_paper_is_one_command() {
    let test = TestEnvironment::new();
    let questions = r#"[{"_id": "q1", "type": "compositional", "question": "Where was Tam Reeve born?",
        "context": [["Reeve", ["Tam Reeve was born in Lorbymouth.", "He taught."]], ["Oakes", ["Mira Oakes sailed."]]],
        "supporting_facts": [["Reeve", 0]], "evidences": [], "answer": "Lorbymouth"}]"#;
    let file = test.path("2wiki.json");
    fs::write(&file, questions).expect("written");
    let file = file.to_str().expect("UTF-8");
    let arguments = [
        "eval",
        file,
        "--dataset",
        "2wiki",
        "--paper",
        "searag:1",
        "--at",
        "2",
        // every sentence retrieves
        "--set",
        "gate.threshold=0",
    ];

    let ended = test.run(arguments).succeeds();
    for part in [
        "the paper's figures are those of Llama-3-8B; here ragscope-demo.Q8_0.gguf answers",
        "left out: SeaKR",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    for part in [
        "searag:1 SEARAG against",
        "| SEARAG  | 2wiki ",
        "| 49.3 % ",
        "| R@2 ",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }

    let report: Value = {
        let ended = test.run([&arguments[..], &["--json"]].concat());
        serde_json::from_str(&ended.stdout).expect("JSON")
    };
    let figures = report["published"]["figures"].as_array().expect("figures");
    assert_eq!(figures.len(), 8, "four rows of two figures");
    assert_eq!(figures[6]["published"], 0.493);
    let exact_match = &report["presets"][3]["scores"]["exact_match"];
    assert_eq!(&figures[6]["measured"], exact_match);

    // on the bundled corpus, too
    test.run(["eval", "--demo", "--paper", "searag:1", "--limit", "1"])
        .succeeds()
        .prints("searag:1 SEARAG against");

    test.run(["eval", file, "--paper", "searag:9"])
        .exits(2)
        .reports("searag:3");

    test.run(["eval", file, "--paper", "searag:3", "--preset", "naive"])
        .exits(2)
        .reports("leave out --preset");
}

#[test]
fn a_judge_is_compared_with_people() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("NQ.json");
    let row = |answer: &str, is_right: bool, improper: bool| {
        serde_json::json!({
            "question": "Where was Tam Reeve born?",
            "golden_answer": "Lorby/Lorby Town",
            "answer_fid": answer, "judge_fid": is_right,
            "answer_gpt4": format!("Tam Reeve was born in {answer}."), "judge_gpt4": is_right,
            "improper": improper,
        })
    };
    let rows = [
        row("Lorby", true, false),
        row("the Town of Lorby", true, false),
        row("Aldmouth", false, false),
        row("Lorby in Aldmouth", false, false),
        row("Lorby", false, true),
    ];
    let text = serde_json::to_string(&rows).expect("JSON");
    std::fs::write(&file, text).expect("written");

    let test = TestEnvironment::new();
    let file = file.to_str().expect("UTF-8");
    let ended = test
        .run([
            "eval",
            file,
            "--paper",
            "seper:1",
            "--set",
            "judge.model=words",
            "--json",
        ])
        .succeeds();
    for part in [
        "DeBERTa-v2-xlarge-MNLI; here words judges",
        "left out: BERTScore",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let figure = |evaluator: &str, system: &str| {
        let figures = report["verdicts"].as_array().expect("figures");
        let found = figures
            .iter()
            .find(|figure| figure["evaluator"] == evaluator && figure["system"] == system);
        found.cloned().expect("a figure")
    };
    // two of four are right; equal to a reference is one of them, and none that is wrong
    let exact = figure("exact_match", "fid");
    assert_eq!(
        (&exact["answers"], &exact["accuracy"]),
        (&4.into(), &0.75.into())
    );
    assert!((exact["f1"].as_f64().expect("a number") - 2.0 / 3.0).abs() < 1e-9);
    // all but Aldmouth hold a reference
    let lexical = figure("lexical_match", "gpt4");
    assert_eq!(lexical["accuracy"], 0.75);
    assert!((lexical["f1"].as_f64().expect("a number") - 0.8).abs() < 1e-9);
    assert_eq!(lexical["published"], serde_json::json!([0.876, 0.825]));
    // an answer entails a reference that has all its content words, or the reverse
    let entailment = figure("entailment", "fid");
    assert_eq!(entailment["accuracy"], 0.75);
    assert_eq!(entailment["published"], serde_json::json!([0.966, 0.953]));

    let other = home.path().join("other.json");
    std::fs::write(&other, "[{\"question\": \"Why?\"}]").expect("written");
    test.run(["eval", other.to_str().expect("UTF-8"), "--paper", "seper:1"])
        .exits(1)
        .reports("has a verdict");
}
