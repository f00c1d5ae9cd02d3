//! States of the screen for snapshots.

use std::path::PathBuf;

use ragscope::config::AnswerPrompt;
use ragscope::event::{
    CorpusCard, Decision, Event, ModelRole, Operation, OtherFiles, Outcome, Problem, Record,
    RunEvent, RunUsage, SessionEvent, SkippedFile, UncertainWord, Uncertainty, UncertaintyMeasure,
    Verdict, VerdictKind,
};
use ragscope::tui::App;
use ragscope::tui::theme::Depth;

use super::stage::*;

/// Every pane and overlay in a state with content.
pub fn scenes() -> Vec<(&'static str, Screen)> {
    let at = |screen: Screen, keys: &str| {
        let mut screen = screen;
        screen.press(keys);
        screen
    };
    vec![
        ("loading", loading()),
        ("first_start", at(first_start(), "down")),
        ("model_offered", offered_model()),
        ("ready", ready()),
        ("suggestion", at(ready(), "down down")),
        ("first_indexing", first_indexing()),
        ("empty_folder", empty_folder()),
        ("indexing", indexing()),
        ("waiting", waiting()),
        ("streaming", streaming()),
        ("answered", answered()),
        ("answer_citation", at(answered(), "j j")),
        ("answer_document", at(document(), "j j j")),
        ("uncertainty", at(answered(), "2 j j")),
        ("retrieval_hit", at(answered(), "3 j j")),
        ("retrieval_dropped", at(answered(), "3 j j j j j j j j")),
        ("retrieval_zoomed", at(answered(), "3 z")),
        ("links", at(answered(), "4")),
        ("funnel", at(funnel(), "3")),
        ("funnel_graded", at(funnel(), "3 z j j j")),
        ("funnel_joined", at(funnel(), "3 z G")),
        ("links_relatives", at(funnel(), "3 j j 4")),
        ("links_matrix", at(funnel(), "4 z")),
        ("diagnosis", diagnosing()),
        ("variants", varied()),
        ("variants_chosen", at(answered(), "v j space")),
        ("refinement", at(answered(), "5")),
        ("refinement_rounds", at(repaired(), "5")),
        ("refinement_round", at(repaired(), "5 z j j j j j")),
        ("refinement_chunk", at(repaired(), "5 z j j j j j j j")),
        ("regenerated", regenerated()),
        ("regenerated_uncertainty", at(regenerated(), "2 j j")),
        ("regenerated_query", at(regenerated(), "3")),
        ("closed_book", closed_book()),
        ("stopped", ended(Outcome::Stopped)),
        ("limit", ended(Outcome::LimitReached)),
        (
            "failed",
            ended(Outcome::Failed(Problem::new(
                "the prompt has 2,311 tokens and the context holds 2,048",
                "shorten the question, or raise generator.context_tokens",
            ))),
        ),
        ("second_run", second_run()),
        ("source", opened_source()),
        ("source_statement", opened("1 j j j o", source())),
        ("source_page", opened("3 j o", page())),
        ("source_page_raw", at(opened("3 j o", page()), "v")),
        ("source_table", opened("3 j o", table())),
        ("source_reading", at(answered(), "3 j o")),
        ("prompts", at(answered(), "p j")),
        ("tour", at(ready(), "ctrl-g")),
        ("settings", at(answered(), "s j j j j j")),
        ("settings_changed", at(answered(), "s enter")),
        ("settings_typed", at(answered(), "s j enter 7")),
        ("sessions", listed_sessions()),
        ("follow_up", followed_up()),
        ("threads", listed_threads()),
        ("help", at(answered(), "?")),
        ("help_input", at(ready(), "f1")),
        ("palette", at(answered(), "ctrl-p")),
        ("palette_typed", at(answered(), ": s o u r")),
        ("report", reported()),
        ("log", logged()),
        ("utility", measured("")),
        ("utility_samples", measured("j j j")),
        ("utility_typed", measured("enter L o r b y")),
        ("comparison", compared()),
        ("search", at(answered(), "3 / a l d")),
        ("search_taken", at(answered(), "3 / a l d enter n")),
        ("banners", at(answered(), "F m")),
        ("replay", replayed(12)),
        ("typing", typing()),
    ]
}

/// The screen of a program that was started without a folder.
pub fn first_start() -> Screen {
    let mut screen = Screen::with(|mut options| {
        options.recent_folders = ["/data/minutes", "/data/manuals"]
            .map(PathBuf::from)
            .to_vec();
        options.save_folder = PathBuf::from("/data/new");
        options.suggestions = Vec::new();
        options.config.answer.prompt = AnswerPrompt::Auto;
        App::new(options, Depth::True).expect("a screen")
    });
    for mut model in models(&recorded()) {
        model.practice = model.role == ModelRole::Generator;
        let wall_ms = 96;
        screen.session(SessionEvent::ModelLoaded { model, wall_ms });
    }
    screen
}

/// A folder that was opened there, without a model that writes answers about it.
pub fn offered_model() -> Screen {
    let mut screen = first_start();
    screen
        .session(SessionEvent::CorpusOpened { corpus: corpus() })
        .session(offered_models());
    screen
}

pub fn loading() -> Screen {
    let mut screen = Screen::new();
    screen
        .session(SessionEvent::ModelLoaded {
            model: models(&recorded())[1].clone(),
            wall_ms: 96,
        })
        .session(SessionEvent::ModelLoadProgressed {
            role: ModelRole::Generator,
            file: "ragscope-demo.Q8_0.gguf".to_owned(),
            fraction: 0.43,
        });
    screen
}

pub fn indexing() -> Screen {
    let mut screen = ready();
    screen.session(progress());
    screen
}

pub fn first_indexing() -> Screen {
    let mut screen = empty_folder();
    screen.session(progress());
    screen
}

pub fn empty_folder() -> Screen {
    let mut screen = ready();
    screen.session(SessionEvent::CorpusOpened {
        corpus: CorpusCard {
            folders: Vec::new(),
            documents: 0,
            chunks: 0,
            ..corpus()
        },
    });
    screen
}

pub fn waiting() -> Screen {
    let mut screen = loading();
    screen.type_text("Who was Tam Reeve?").press("enter");
    screen
}

pub fn streaming() -> Screen {
    let mut screen = ready();
    let records = recorded();
    let second_sentence = records
        .iter()
        .position(|r| matches!(r.event, Event::Run(RunEvent::StepStarted { step: 2 })))
        .expect("a second sentence");
    screen.apply(&records[..second_sentence + 5]);
    screen
}

/// An answer with a list, a table and code, whose last sentence has no source.
pub fn document() -> Screen {
    const SENTENCES: [&str; 14] = [
        "To descale **the machine**, do this:\n\n",
        "1. Run *two* shots empty.",
        " Use the `blank` disc [1].\n",
        "2. Wait 20 minutes, then rinse the group head with the tank full of clear water.\n",
        "   - twice\n",
        "| part | every |\n",
        "|---|--:|\n",
        "| seal | 8 weeks |\n",
        "| pump and its valve | 2 years |\n\n",
        "```toml\n",
        "# Reminder. In days.\n",
        "descale = [56]\n",
        "```\n\n",
        "Never use vinegar.",
    ];
    let mut records = recorded();
    let end = records.pop().expect("the end of the run");
    let finished = |record: &Record| match &record.event {
        Event::Run(RunEvent::StepFinished { citations, .. }) => Some(citations.clone()),
        _ => None,
    };
    let cited = records.iter().find_map(finished).expect("a citation");
    let begins = |record: &Record| matches!(record.event, Event::Run(RunEvent::StepStarted { .. }));
    records.truncate(records.iter().position(begins).expect("a sentence"));
    let mut add = |event: RunEvent| {
        records.push(Record {
            event: event.into(),
            ..end.clone()
        });
    };

    for (step, text) in (1..).zip(SENTENCES) {
        add(RunEvent::StepStarted { step });
        add(RunEvent::TokenGenerated {
            step,
            text: text.to_owned(),
            logprob: -0.1,
            entropy: 0.2,
            alternatives: Vec::new(),
        });
        add(RunEvent::StepFinished {
            step,
            text: text.trim().to_owned(),
            uncertainty: Uncertainty {
                measure: UncertaintyMeasure::TokenEntropy,
                value: 0.2,
                threshold: None,
                decision: Decision::Measured,
            },
            citations: if [2, 3, 4, 8, 9, 12].contains(&step) {
                cited.clone()
            } else {
                Vec::new()
            },
        });
    }
    add(RunEvent::VerdictGiven {
        verdict: Verdict {
            kind: VerdictKind::Partly,
            probability: 0.6,
            unfitted: None,
            sources: 3,
            statements: 7,
            uncited: vec![14],
            least_certain: Some(UncertainWord {
                step: 4,
                text: "20".to_owned(),
                probability: 0.41,
            }),
            conflict: None,
        },
    });
    add(RunEvent::RunFinished {
        outcome: Outcome::Completed,
        text: SENTENCES.concat(),
        answer: String::new(),
        citations: cited.clone(),
        usage: RunUsage::default(),
    });

    let mut screen = ready();
    screen.apply(&records).press("esc");
    screen
}

/// A diagnosis while its first change is tried.
pub fn diagnosing() -> Screen {
    let mut screen = answered();
    screen.press("D L o r b y enter");
    let phrase = "Lorby".to_owned();
    screen.session(SessionEvent::PassageTraced {
        phrase: phrase.clone(),
        lookups: Vec::new(),
    });
    let files = OtherFiles {
        holding: None,
        unreadable: vec![SkippedFile {
            path: "scans/1869.pdf".to_owned(),
            reason: "it has no text".to_owned(),
        }],
    };
    screen.session(SessionEvent::OtherFilesSearched { phrase, files });
    screen
}

/// The variants of a run, of which two are finished.
pub fn varied() -> Screen {
    let mut screen = answered();
    screen.press("v G enter");
    for name in ["naive.jsonl", "searag.jsonl"] {
        for record in run_of(name) {
            if let Event::Run(event) = record.event {
                let event = Box::new(event);
                screen.session(SessionEvent::TrialProgressed { event });
            }
        }
    }
    screen
}

pub fn ended(outcome: Outcome) -> Screen {
    let mut screen = streaming();
    let (text, answer) = (
        "Mira Oakes was a student of Tam Reeve. Tam Reeve was".to_owned(),
        String::new(),
    );
    let event = Event::Run(RunEvent::RunFinished {
        outcome,
        text,
        answer,
        citations: Vec::new(),
        usage: RunUsage::default(),
    });
    let last = &recorded()[0];
    screen
        .apply(&[Record {
            seq: 99,
            t_us: 400_000,
            run: last.run.clone(),
            event,
        }])
        .press("esc");
    screen
}

/// A run whose second sentence was uncertain and regenerated.
pub fn regenerated() -> Screen {
    let mut screen = ready();
    screen.apply(&run_of("searag.jsonl")).press("esc");
    screen
}

pub fn closed_book() -> Screen {
    let mut screen = ready();
    let records = recorded().into_iter().filter_map(|mut record| {
        match &mut record.event {
            Event::Run(RunEvent::RunStarted {
                preset, settings, ..
            }) => {
                "closed-book".clone_into(preset);
                settings["retriever"]["kind"] = "off".into();
            }
            Event::Run(
                RunEvent::StepFinished { citations, .. } | RunEvent::RunFinished { citations, .. },
            ) => citations.clear(),
            Event::Run(
                RunEvent::QueryWritten { .. }
                | RunEvent::RetrievalFinished { .. }
                | RunEvent::ContextBuilt { .. },
            ) => return None,
            _ => {}
        }
        Some(record)
    });
    let records: Vec<Record> = records.collect();
    screen.apply(&records).press("esc 3");
    screen
}

/// A run whose context was re-chunked and repaired.
pub fn repaired() -> Screen {
    repaired_with(|_| {})
}

pub fn repaired_with(change: impl Fn(&mut RunEvent)) -> Screen {
    played(crate::engine::dense::repaired_run(), change)
}

/// A run whose measurement was stopped after a part of it.
pub fn measured_in_part() -> Screen {
    played(crate::engine::dense::stopped_run(), |_| {})
}

fn played(events: Vec<RunEvent>, change: impl Fn(&mut RunEvent)) -> Screen {
    let mut screen = ready();
    let record = |(seq, event)| Record {
        seq,
        t_us: seq * 1000,
        run: "repaired".to_owned(),
        event: Event::Run(event),
    };
    let records: Vec<Record> = (0..)
        .zip(timeless(events))
        .map(|(seq, mut event)| {
            change(&mut event);
            record((seq, event))
        })
        .collect();
    screen.apply(&records).press("esc");
    screen
}

/// The same at any time and on any machine.
fn timeless(events: Vec<RunEvent>) -> impl Iterator<Item = RunEvent> {
    events.into_iter().map(|mut event| {
        match &mut event {
            RunEvent::RetrievalFinished { retrieval, .. } => retrieval.wall_us = 1000,
            RunEvent::UnderstandingMeasured { understanding, .. } => understanding.wall_ms = 100,
            RunEvent::ModelCallFinished { usage, .. } => usage.wall_us = 1000,
            RunEvent::RunFinished { usage, .. } => usage.wall_ms = 1000,
            RunEvent::RunStarted {
                started_at,
                program,
                ..
            } => (*started_at, *program) = (1_700_000_000, "1".to_owned()),
            _ => {}
        }
        event
    })
}

pub fn second_run() -> Screen {
    let mut screen = answered();
    screen
        .apply(&renamed(&recorded()[..20], "another"))
        .press("[");
    screen
}

pub fn opened_source() -> Screen {
    opened("3 j o", source())
}

/// The screen with a source that these keys open.
pub fn opened(keys: &str, source: SessionEvent) -> Screen {
    let mut screen = answered();
    screen.press(keys).session(source);
    screen
}

pub fn listed_sessions() -> Screen {
    let mut screen = answered();
    screen.press("S").session(sessions()).press("j");
    screen
}

/// A follow-up question that was rewritten.
pub fn followed_up() -> Screen {
    let mut records = renamed(&recorded(), "follow-up");
    if let Event::Run(RunEvent::RunStarted {
        question, thread, ..
    }) = &mut records[0].event
    {
        *question = "And where was he born?".to_owned();
        *thread = Some(recorded()[0].run.clone());
    }
    let rewritten = RunEvent::FollowUpRewritten {
        question: "And where was he born?".to_owned(),
        rewritten: "Where was Tam Reeve born?".to_owned(),
        turns: 1,
        as_asked: None,
    };
    let rewritten = Record {
        event: rewritten.into(),
        ..records[0].clone()
    };
    records.insert(1, rewritten);

    let mut screen = answered();
    screen.apply(&records).press("1");
    screen
}

pub fn listed_threads() -> Screen {
    let mut screen = answered();
    screen.press("S").session(threads());
    screen
}

pub fn reported() -> Screen {
    let mut screen = answered();
    screen.session(report()).press("I");
    screen
}

pub fn logged() -> Screen {
    let mut screen = answered();
    screen
        .session(SessionEvent::Warned {
            text: "the index is read only: another ragscope writes it".to_owned(),
            advice: None,
        })
        .session(SessionEvent::OperationFailed {
            operation: Operation::OpenSource,
            problem: Problem::new("people/oakes.md is gone", "update the index"),
        })
        .press("L");
    screen
}

pub fn replayed(steps: usize) -> Screen {
    let mut screen =
        Screen::with(|options| App::replaying(recorded(), options, Depth::True).expect("a screen"));
    screen.press("space");
    for _ in 0..steps {
        screen.press(".");
    }
    screen
}

pub fn typing() -> Screen {
    let mut screen = answered();
    screen
        .press("i")
        .type_text("A question that is so long that it needs more than one row of a narrow screen, and then a second")
        .press("ctrl-j");
    screen.type_text("line");
    screen
}

/// A run whose context was measured: one chunk holds the answer, one misled.
pub fn measured(keys: &str) -> Screen {
    let mut screen = answered();
    screen.press("w").session(utility(&recorded()[0].run));
    if !keys.is_empty() {
        screen.press(keys);
    }
    screen
}

/// The same question under two presets, with another answer and another context.
pub fn compared() -> Screen {
    let mut screen = answered();
    let records = renamed(&recorded(), "another")
        .into_iter()
        .map(|mut record| {
            match &mut record.event {
                Event::Run(RunEvent::RunStarted {
                    preset, settings, ..
                }) => {
                    "closed-book".clone_into(preset);
                    settings["retriever"]["k"] = 1.into();
                }
                Event::Run(RunEvent::StepFinished { step: 2, text, .. }) => {
                    "Tam Reeve was born in Harwenby.".clone_into(text);
                }
                Event::Run(RunEvent::ContextBuilt { context, .. }) => context.chunks.truncate(1),
                Event::Run(RunEvent::RunFinished { answer, .. }) => "Harwenby".clone_into(answer),
                _ => {}
            }
            record
        });
    let records: Vec<Record> = records.collect();
    screen.apply(&records).press("c");
    screen
}
