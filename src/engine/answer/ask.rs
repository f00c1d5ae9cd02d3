//! One question answered, from `RunStarted` to `RunFinished`.

use std::cell::OnceCell;
use std::iter;
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::config::{AnswerPrompt, AttributionKind};
use crate::corpus::split_words;
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Gate, Need, Observe, Passages, Run, Tools, context};
use crate::engine::stages::follow_up;
use crate::engine::stages::gate::select_gate;
use crate::engine::stages::utility::SePer;
use crate::event::{
    Advice, Ask, FORMAT, Outcome, Part, Problem, QuestionKind, RunEvent, Scope, Support, is_stop,
};
use crate::llm::TEMPLATE_ADVICE;

use super::ablation::ablate;
use super::conflicts::add_otherwise;
use super::each::{Answered, answer_each, names_one};
use super::files::give_files;
use super::judged::judge_citations;
use super::lists::{AT_ONCE, write_list};
use super::lookup::retrieve;
use super::overview::{asks_for_overview, describe};
use super::quotes::{RankedSentences, add_quotes, give, is_unclear, refuse};
use super::refusals::{refusal, unclear_refusal};
use super::rows::{choose_rows, give_entries};
use super::sampled::sample;
use super::scope::{
    asks_each, asks_for_documents, asks_for_entries, has_scope, list_subject, may_name_documents,
    read_scope, scoped_config,
};
use super::sections::choose_sections;
use super::summary::{quote_openings, summarise};
use super::support::{self, can_judge};
use super::translated::translate;
use super::verdict::{Statements, judge};
use super::write::write;

/// Words of greetings and thanks.
const GREETINGS: &[&str] = &[
    "hello", "hi", "hey", "good", "morning", "evening", "day", "thanks", "thank", "you", "bye",
    "hallo", "guten", "tag", "morgen", "abend", "danke", "bonjour", "salut", "merci", "hola",
    "buenos", "días", "gracias", "你好", "您好", "谢谢",
];

/// Questions about the program in each language, in lower case and without signs, and their answer.
#[rustfmt::skip]
const ABOUT: &[(&[&str], &str)] = &[
    (
        &["who are you", "what are you", "what can you do", "what can i ask", "what can i ask you",
          "how do you work"],
        "I answer questions about the documents of this folder from what they say, and name the \
         source of each statement. “What is in this folder?” lists them.",
    ),
    (
        &["wer bist du", "was kannst du"],
        "Ich beantworte Fragen zu den Dokumenten dieses Ordners aus dem, was sie sagen, und nenne \
         die Quelle jeder Aussage. „Was ist in diesem Ordner?“ listet sie auf.",
    ),
    (
        &["qui es tu", "que peux tu faire"],
        "Je réponds aux questions sur les documents de ce dossier d’après ce qu’ils disent, et je \
         nomme la source de chaque affirmation. « Que contient ce dossier ? » en donne la liste.",
    ),
    (
        &["quién eres", "qué puedes hacer"],
        "Respondo a preguntas sobre los documentos de esta carpeta con lo que dicen, y nombro la \
         fuente de cada afirmación. «¿Qué hay en esta carpeta?» los enumera.",
    ),
    (
        &["你是谁", "你能做什么"],
        "我根据这个文件夹中文档的内容回答问题，并注明每句话的来源。问“这个文件夹里有什么”可以列出文档。",
    ),
];

/// Answers a question with these tools, whose settings already include its overrides. Every event
/// goes to `publish`; when that stops the run, it ends within one decode step, and what was written
/// so far stays.
///
/// # Errors
/// Only before anything ran: an empty question, one that does not fit the context, no corpus where
/// the preset needs one. A later failure ends the run with [`Outcome::Failed`].
pub fn ask(mut tools: Tools<'_>, asked: &Ask, publish: Observe<'_>) -> Result<Outcome, RunError> {
    let question = check_question(&tools, &asked.question)?;
    if context::needs_corpus(tools.config) && tools.corpus.is_none() {
        return Err(RunError::NothingToSearch {
            preset: tools.config.preset.clone(),
        });
    }

    let scope = match &tools.corpus {
        Some(corpus) if has_scope(tools.config) => {
            let documents = if may_name_documents(question) {
                corpus.index.documents()?
            } else {
                Vec::new()
            };
            read_scope(question, &documents)
        }
        Some(_) | None => Scope::default(),
    };
    let config = scoped_config(question, &scope, tools.config);
    let mut tools = Tools {
        config: &config,
        ..tools.reborrow()
    };
    let mut gate = select_gate(&tools);
    // outlive the run, whose question they are once a follow-up is rewritten, and while the sources
    // are searched for a translation, or for what is listed
    let (standalone, searched) = (OnceCell::new(), OnceCell::new());
    let mut run = Run::new(tools.reborrow(), question, &mut *publish);
    run.emit(start_event(&run, asked));
    let fallback = run.tools.generator.card().template_fallback.clone();
    if !fallback.is_empty() {
        run.emit(RunEvent::warning(Problem::new(fallback, TEMPLATE_ADVICE)));
    }
    if scope != Scope::default() {
        let scope = scope.clone();
        run.emit(RunEvent::ScopeChosen { scope });
    }
    emit_gate(&mut run, &*gate);

    // what is asked of the program or of the whole folder continues nothing
    let is_whole = is_greeting(question)
        || has_scope(&config) && (about_program(question).is_some() || asks_for_overview(question));
    let turns = if is_whole {
        &[][..]
    } else {
        &asked.thread.turns
    };
    let answered = follow_up::rewrite(&mut run, turns).and_then(|rewritten| {
        run.question = standalone.get_or_init(|| rewritten);
        answer(&mut run, &mut *gate, &scope, &asked.confirmed, &searched)
    });
    Ok(match answered {
        Ok(written) => run.finish(written),
        Err(error) => run.fail(&error),
    })
}

/// Returns the question, trimmed, if it can be asked: it is not empty and fits the context.
pub fn check_question<'q>(tools: &Tools<'_>, question: &'q str) -> Result<&'q str, RunError> {
    let question = question.trim();
    if question.is_empty() {
        return Err(RunError::EmptyQuestion);
    }

    let prompt = context::prompt(tools.config, tools.prompts, question, &[]);
    let question_tokens = context::count(tools.generator, &prompt)?;
    let context_tokens = tools.generator.card().context_tokens;
    if question_tokens > context::available(tools.config, context_tokens) {
        return Err(RunError::QuestionTooLong {
            question_tokens,
            context_tokens,
        });
    }
    Ok(question)
}

/// Retrieves, writes the answer, and measures how much each lookup helped.
fn answer<'q>(
    run: &mut Run<'q>,
    gate: &mut dyn Gate,
    scope: &'q Scope,
    confirmed: &[String],
    searched: &'q OnceCell<String>,
) -> Result<Answer, RunError> {
    let config = run.tools.config;
    if is_greeting(run.question) {
        return greet(run, gate);
    }
    if let Some(text) = about_program(run.question).filter(|_| has_scope(config)) {
        return Ok(give_text(run, text.to_owned()));
    }
    if has_scope(config)
        && asks_for_overview(run.question)
        && let Some(corpus) = &run.tools.corpus
    {
        let documents = corpus.index.documents()?;
        return Ok(give_text(run, describe(&documents)));
    }

    let may_be_each = confirmed.is_empty()
        && asks_each(config, run.question, scope)
        && config.retriever.at_start.or(run.tools.probe.is_err());
    let is_one = may_be_each && names_one(run, scope)?;
    let of_each = may_be_each && !is_one;
    // one name, of which the halves are none
    let whole = (is_one && scope.kind == QuestionKind::Fact).then(|| Scope {
        subjects: Vec::new(),
        ..scope.clone()
    });
    if let Some(scope) = whole.clone() {
        run.emit(RunEvent::ScopeChosen { scope });
    }
    let searched_as = whole.as_ref().unwrap_or(scope);
    let is_quoted = config.answer.prompt == AnswerPrompt::Quotes;
    let Answered {
        mut answer,
        passages,
        support,
        ranked,
    } = match (scope.kind, scope.documents.as_slice()) {
        (_, documents) if is_quoted && asks_for_documents(scope) => {
            Answered::from(quote_openings(run, documents)?)
        }
        (QuestionKind::Summary, [document]) => Answered::from(summarise(run, gate, document)?),
        (_, _) if of_each => answer_each(run, gate, scope)?,
        (_, _) => search_and_answer(run, gate, searched_as, confirmed, searched)?,
    };
    run.keep(answer.clone());
    // there is nothing to judge
    if run.is_stopped() && answer.text.is_empty() {
        return Ok(answer);
    }

    if context::needs_corpus(config) {
        let mut statements = Statements::new(run.question, &answer);
        let is_judged = support.is_some_and(|support| support.stated.is_some());
        if is_judged && answer.lookups.is_empty() {
            let cited = judge_citations(run, &mut answer, statements.steps(), &passages);
            run.keep(answer.clone());
            if warn_of_failure(run, "the source of each statement", cited).is_break() {
                return Ok(answer);
            }
            statements = Statements::new(run.question, &answer);
        }
        // rows of a list differ, and so do two things that are named
        let is_fact = scope.kind == QuestionKind::Fact && searched_as.subjects.is_empty();
        let conflict = if answer.lookups.is_empty() && has_scope(config) && is_fact {
            let [uncited, _] = statements.steps();
            add_otherwise(run, &mut answer, uncited, &passages)
        } else {
            None
        };
        if conflict.is_some() {
            run.keep(answer.clone());
        }
        let sources = answer.lookups.iter().map(|lookup| &lookup.passages);
        let sources = sources.chain([&passages]).map(|known| known.hits.len());
        let verdict = judge(
            &statements,
            support,
            sources.sum(),
            conflict,
            run.tools.verdict_fit,
        );
        if verdict.is_unfounded() && !statements.says_unanswered() {
            answer = refuse(run, ranked, answer, refusal(run));
            run.keep(answer.clone());
        }
        run.emit(RunEvent::VerdictGiven { verdict });
    }

    // their parts have prompts of their own
    let is_causal = config.answer.attribution == AttributionKind::Causal;
    if is_causal && scope.kind != QuestionKind::Summary && !of_each {
        let ablated = ablate(run, &answer, &passages);
        if warn_of_failure(run, "the effect of each source", ablated).is_break() {
            return Ok(answer);
        }
    }
    if !of_each {
        measure(run, &answer, &passages);
    }
    Ok(answer)
}

/// Measures how much each lookup helped, and how far answers from the last one agree. Neither
/// changes anything, so that a failure is only a warning.
fn measure(run: &mut Run<'_>, answer: &Answer, passages: &Passages) {
    let lookups = answer.lookups.iter();
    let of_steps = lookups.map(|lookup| (lookup.step, &lookup.passages));
    let of_all: Vec<(u32, &Passages)> = iter::once((0, passages)).chain(of_steps).collect();

    let mut meter = SePer::new(run.tools.config.utility.kind);
    for (step, passages) in &of_all {
        run.step = *step;
        // what has no time for one lookup has none for the next: that is said once
        if !run.should_run(Part::Utility, passages.hits.len()) {
            return;
        }
        let measured = meter.measure(run, passages);
        if warn_of_failure(run, "the utility of the context", measured).is_break() {
            return;
        }
    }

    if !answer.short.is_empty()
        && let Some((_, passages)) = of_all.last()
    {
        let sampled = sample(run, passages);
        let _ = warn_of_failure(run, "the agreement of sampled answers", sampled);
    }
}

/// Warns that something was not measured; breaks where the user stopped the run.
fn warn_of_failure(
    run: &mut Run<'_>,
    what: &str,
    measured: Result<(), RunError>,
) -> ControlFlow<()> {
    match measured {
        Ok(()) => {}
        Err(error) if is_stop(&error) => return ControlFlow::Break(()),
        Err(error) => run.emit(RunEvent::Warned {
            text: format!("{what} was not measured: {error}"),
            advice: error.to_problem().advice,
        }),
    }
    ControlFlow::Continue(())
}

/// Retrieves passages, and answers from them where they answer the question.
fn search_and_answer<'q>(
    run: &mut Run<'q>,
    gate: &mut dyn Gate,
    scope: &Scope,
    confirmed: &[String],
    searched: &'q OnceCell<String>,
) -> Result<Answered, RunError> {
    let (config, asked) = (run.tools.config, run.question);
    let quotes = config.answer.prompt == AnswerPrompt::Quotes;
    // what is quoted is found first: no sentence is written that could be uncertain
    let at_start = quotes || config.retriever.at_start.or(run.tools.probe.is_err());
    let mut passages = if context::needs_corpus(config) && at_start {
        let need = Need {
            confirmed,
            subjects: &scope.subjects,
            ..Need::default()
        };
        let effort = run.first_effort(gate);
        let other = translate(run)?.or_else(|| list_subject(scope, asked));
        if let Some(text) = other {
            run.question = searched.get_or_init(|| text);
        }
        retrieve(run, &need, effort)?.passages
    } else {
        Passages::default()
    };

    let rows = choose_rows(run, asked, scope, &mut passages)?;

    let is_measured = quotes || config.answer.prompt == AnswerPrompt::Sources;
    let (mut support, mut ranked) = if rows.is_some() {
        (Some(support::accept(run)), RankedSentences::default())
    } else if is_measured && context::needs_corpus(config) {
        let (support, ranked) = support::measure(run, &passages, scope)?;
        (Some(support), ranked)
    } else {
        (None, RankedSentences::default())
    };

    run.question = asked;
    let answer = match support {
        _ if let Some(rows) = rows => give_entries(run, rows),
        Some(known) if scope.kind == QuestionKind::Files => {
            give_files(run, &scope.subjects, &passages, known.supported)
        }
        Some(known)
            if (quotes || !known.supported)
                && let Some(sections) =
                    choose_sections(run, asked, scope, &mut passages, known.supported)? =>
        {
            support = Some(support::accept(run));
            give_entries(run, sections)
        }
        Some(known) if is_unclear(&known) => {
            let text = unclear_refusal(run);
            refuse(run, std::mem::take(&mut ranked), Answer::default(), text)
        }
        Some(known) if quotes || !known.supported => {
            give(run, std::mem::take(&mut ranked), known.supported)
        }
        Some(known)
            if asks_for_entries(scope, asked)
                && passages.hits.len() > AT_ONCE
                && can_judge(run) =>
        {
            let answer = write_list(run, gate, &mut passages)?;
            if !answer.text.is_empty() || run.is_stopped() {
                answer
            } else if let Some(sections) = choose_sections(run, asked, scope, &mut passages, false)?
            {
                give_entries(run, sections)
            } else {
                support = Some(Support {
                    supported: false,
                    ..known
                });
                give(run, std::mem::take(&mut ranked), false)
            }
        }
        Some(_) => {
            let answer = write(run, gate, &passages, confirmed)?;
            if answer.text.is_empty() && !run.is_stopped() {
                let text = "the model wrote nothing: its sources are quoted".to_owned();
                run.emit(RunEvent::warning(Problem::without_advice(text)));
            }
            if !run.is_stopped() && Statements::new(asked, &answer).is_silent() {
                add_quotes(run, std::mem::take(&mut ranked), answer)
            } else {
                answer
            }
        }
        None => write(run, gate, &passages, confirmed)?,
    };
    Ok(Answered {
        answer,
        passages,
        support,
        ranked,
    })
}

/// Returns whether a question is no more than a greeting or thanks: nothing is retrieved for it.
fn is_greeting(question: &str) -> bool {
    let mut words = split_words(question).peekable();
    let is_known = |word: &str| GREETINGS.contains(&word.to_lowercase().as_str());
    words.peek().is_some() && words.all(is_known)
}

/// Returns the answer to a question about the program and about nothing that a document may say.
fn about_program(question: &str) -> Option<&'static str> {
    let words: Vec<String> = split_words(question).map(str::to_lowercase).collect();
    let question = words.join(" ");
    let (_, answer) = ABOUT
        .iter()
        .find(|(asked, _)| asked.contains(&question.as_str()))?;
    Some(answer)
}

/// Answers a greeting: the generator by itself, or a sentence where it is for quotations only.
fn greet(run: &mut Run<'_>, gate: &mut dyn Gate) -> Result<Answer, RunError> {
    if run.tools.config.answer.prompt != AnswerPrompt::Quotes {
        return write(run, gate, &Passages::default(), &[]);
    }

    let text = "Ask a question about your documents.".to_owned();
    Ok(give_text(run, text))
}

/// Answers with a text that no model wrote.
fn give_text(run: &mut Run<'_>, text: String) -> Answer {
    let mut answer = Answer::default();
    run.give_step(&mut answer, "", text, None);
    answer
}

/// Emits which gate decides, and why it is not the one of the settings.
fn emit_gate(run: &mut Run<'_>, gate: &dyn Gate) {
    let Some(gate) = gate.card(run) else {
        return;
    };
    if let Some(reason) = &gate.fallback {
        run.emit(RunEvent::Warned {
            text: format!(
                "no trained detector for this model, so a rougher measure decides: {reason}"
            ),
            advice: reason.advice.clone(),
        });
    }
    run.emit(RunEvent::GateChosen { gate });
}

fn start_event(run: &Run<'_>, asked: &Ask) -> RunEvent {
    let config = run.tools.config;
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    RunEvent::RunStarted {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        question: run.question.to_owned(),
        preset: config.preset.clone(),
        settings: serde_json::to_value(config).unwrap_or_default(),
        models: run.models(),
        corpus: run.tools.corpus.as_ref().map(|corpus| corpus.index.card()),
        seed: config.seed,
        started_at: since_epoch.map_or(0, |elapsed| elapsed.as_secs()),
        confirmed: asked.confirmed.clone(),
        thread: asked.thread.id.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_about_the_program_needs_no_document() {
        for (question, expected) in [
            ("What can you do?", Some("I answer")),
            ("Was kannst du?", Some("Ich beantworte")),
            ("¿Quién eres?", Some("Respondo")),
            ("你能做什么？", Some("我根据")),
            ("What can you do against moths?", None),
            ("What can the pump do?", None),
        ] {
            let answer = about_program(question);
            assert_eq!(answer.is_some(), expected.is_some(), "{question}");
            assert!(
                answer
                    .unwrap_or_default()
                    .starts_with(expected.unwrap_or_default())
            );
        }
    }
}
