//! The context: as many whole chunks as the prompt holds beside the question and the answer.

use std::borrow::Cow;
use std::path::Path;
use std::slice;

use crate::config::prompts::{PromptName, Prompts};
use crate::config::{AnswerPrompt, Config, PassageOrder};
use crate::corpus::{fold_white_space, language};
use crate::engine::error::RunError;
use crate::event::{
    CallUsage, ChunkText, Context, ContextChunk, DropReason, DroppedChunk, Hit, RunEvent, Stage,
    saturating_u32,
};
use crate::index::short_text_language;
use crate::llm::{Generator, LlmError, LoadedGenerator, Prompt};
use crate::methods::{JudgementKind, chunkrag, context_lines, joined};

use super::dates::dated_question;
use super::pins;
use super::state::Run;
use super::values::Passages;

/// Chunks that are read however long it takes. The best three, of 128 tokens each, held the answer
/// to 92 of 100 questions about SQuAD's articles, and the first 150 of their 247 words to 86.
const LEAST_READ: usize = 3;

/// Tokens of the prompts that ask whether a sentence states the answer, which are read before the
/// first word, too.
const JUDGED_TOKENS: u32 = 200;

/// Returns whether runs with these settings retrieve anything.
pub fn needs_corpus(config: &Config) -> bool {
    config.retriever.kind.is_on()
}

/// Builds the context from the candidates and emits it: the pinned chunks and the best others, up
/// to `retriever.k` in all unless more are pinned, or to the tokens that a filter wants; without
/// those that do not fit the prompt.
pub fn choose(run: &mut Run<'_>, candidates: Passages) -> Result<Passages, RunError> {
    let k = match candidates.wanted_tokens {
        Some(wanted) => {
            let tokens = candidates.hits.iter().map(|hit| hit.chunk.tokens);
            saturating_u32(chunkrag::count_within(tokens, wanted))
        }
        None => run.tools.config.retriever.k,
    };
    choose_up_to(run, candidates, k)
}

/// Chooses hits like [`choose`], up to `k` in all.
pub fn choose_up_to(run: &mut Run<'_>, candidates: Passages, k: u32) -> Result<Passages, RunError> {
    let (mut hits, others) = pins::split_pinned(&run.tools.config.retriever, candidates);
    let slots = hits.len().max(k as usize);
    hits.extend(others.hits);

    let mut spare = hits.split_off(hits.len().min(slots));
    spare.extend(others.spare);
    let below_k = spare.iter().map(|hit| DroppedChunk {
        chunk: hit.chunk.id,
        reason: DropReason::BelowK { k },
    });

    let merged = merge(run, hits);
    // the slot of a chunk that does not fit stays empty: no spare one moves up
    let Sifted { hits, mut dropped } = fitting(run, merged.hits)?;
    dropped.extend(others.dropped);
    dropped.extend(merged.dropped);
    dropped.extend(below_k);

    let passages = Passages {
        hits: order(hits, run.tools.config.answer.order),
        spare,
        dropped,
        sought: others.sought,
        searches: others.searches,
        wanted_tokens: None,
    };
    publish(run, &passages)?;
    Ok(passages)
}

/// Emits the context, in runs that retrieve at all.
pub fn publish(run: &mut Run<'_>, passages: &Passages) -> Result<(), RunError> {
    if !needs_corpus(run.tools.config) {
        return Ok(());
    }

    let room = Room::new(run, &passages.hits)?;
    let context = Context {
        chunks: label_chunks(run.tools.generator, &passages.hits)?,
        dropped: passages.dropped.clone(),
        prompt_tokens: room.needed_tokens,
        available_tokens: room.available_tokens,
    };

    run.emit(RunEvent::ContextBuilt {
        step: run.step,
        context,
    });
    Ok(())
}

/// Returns whether the passages of the answer are in a prompt: quotations are in none.
fn fills_prompt(run: &Run<'_>) -> bool {
    run.tools.config.answer.prompt != AnswerPrompt::Quotes
}

/// Returns whether the prompt of the answer holds these chunks.
pub fn fits(run: &Run<'_>, hits: &[Hit]) -> Result<bool, RunError> {
    if !fills_prompt(run) {
        return Ok(true);
    }
    let room = Room::new(run, hits)?;
    Ok(room.needed_tokens <= room.available_tokens)
}

/// The tokens that the prompt of the answer needs, and those that it may take.
struct Room {
    needed_tokens: u32,
    available_tokens: u32,
}

impl Room {
    fn new(run: &Run<'_>, hits: &[Hit]) -> Result<Self, RunError> {
        let tools = &run.tools;
        let prompt = prompt(tools.config, tools.prompts, run.question, hits);
        Ok(Self {
            needed_tokens: count(tools.generator, &prompt)?,
            available_tokens: available(tools.config, tools.generator.card().context_tokens),
        })
    }

    /// Returns why the last of these `hits` does not fit; `timely_tokens` are read before the first
    /// word is due, `None` without a limit.
    fn lack(&self, hits: &[Hit], timely_tokens: Option<u32>) -> Option<DropReason> {
        let needed_tokens = self.needed_tokens;
        if needed_tokens > self.available_tokens {
            return Some(DropReason::ContextFull {
                needed_tokens,
                available_tokens: self.available_tokens,
            });
        }
        let timely_tokens = timely_tokens?;
        let is_late = needed_tokens > timely_tokens && hits.len() > LEAST_READ;
        is_late.then_some(DropReason::Late {
            needed_tokens,
            timely_tokens,
        })
    }
}

/// Returns the tokens of a prompt that are read before the first word is due, at the rate of this
/// model here: those that are left to read in time, and the instructions, which were read when the
/// model was loaded. `None` where nothing limits them, or the rate is not known yet.
fn timely_tokens(run: &Run<'_>) -> Result<Option<u32>, LlmError> {
    let tools = &run.tools;
    let seconds = tools.config.answer.first_word_seconds;
    let rate = tools.reading_rate;
    let is_limited = tools.config.answer.prompt == AnswerPrompt::Sources && seconds > 0.0;
    if !is_limited || rate <= 0.0 {
        return Ok(None);
    }

    let read = saturating_u32(tools.render_instructions()?.len());
    let left = (seconds - run.elapsed().as_secs_f32()).max(0.0);
    let in_time = ((left * rate) as u32).saturating_sub(JUDGED_TOKENS);
    Ok(Some(read + in_time))
}

/// Lets a generator read the instructions of the answer, which every question shares, so that the
/// first one finds them in the cache, too; `kept` is the folder that has them from an earlier
/// start.
///
/// # Errors
/// Failures of the generator.
pub fn read_instructions(
    config: &Config,
    prompts: &Prompts,
    generator: &mut dyn LoadedGenerator,
    kept: &Path,
) -> Result<(), LlmError> {
    let opening = prompts.opening(PromptName::Sources);
    let is_asked = config.answer.prompt == AnswerPrompt::Sources && !opening.is_empty();
    let is_read = generator.usage() != CallUsage::default();
    // a server keeps a cache of its own
    if !is_asked || is_read || !generator.has_inside() {
        return Ok(());
    }

    let instructions = Prompt::user(opening);
    if !generator.restore(&instructions, kept) {
        // as all sources are judged: in the context in which the answer is written
        let labels = JudgementKind::SOURCES_STATE.labels;
        generator.classify(slice::from_ref(&instructions), labels)?;
        generator.keep(&instructions, kept);
    }
    Ok(())
}

/// The hits that are kept, best first, and the others.
struct Sifted {
    hits: Vec<Hit>,
    dropped: Vec<DroppedChunk>,
}

/// Drops the hits that do not fit beside the better ones.
fn fitting(run: &Run<'_>, hits: Vec<Hit>) -> Result<Sifted, RunError> {
    let timely_tokens = timely_tokens(run)?;
    let mut dropped = Vec::new();
    // usually all fit, and counting the prompt once is enough
    if !fills_prompt(run) || Room::new(run, &hits)?.lack(&hits, timely_tokens).is_none() {
        return Ok(Sifted { hits, dropped });
    }

    let mut kept = Vec::with_capacity(hits.len());
    for hit in hits {
        let chunk = hit.chunk.id;
        kept.push(hit);
        if let Some(reason) = Room::new(run, &kept)?.lack(&kept, timely_tokens) {
            kept.pop();
            dropped.push(DroppedChunk { chunk, reason });
        }
    }
    Ok(Sifted {
        hits: kept,
        dropped,
    })
}

/// Merges joined texts that share a chunk (SAKI-RAG, section 3.2), and emits what became of them.
fn merge(run: &mut Run<'_>, hits: Vec<Hit>) -> Sifted {
    let (hits, absorbed) = if run.tools.config.linker.merge {
        joined::merge(hits)
    } else {
        (hits, Vec::new())
    };
    let drop = |text: &joined::Absorbed| DroppedChunk {
        chunk: text.text,
        reason: DropReason::Absorbed { by: text.by },
    };
    let dropped: Vec<DroppedChunk> = absorbed.iter().map(drop).collect();
    if !dropped.is_empty() {
        let is_merged = |hit: &&Hit| absorbed.iter().any(|text| text.by == hit.chunk.id);
        run.emit(RunEvent::ChunksMerged {
            step: run.step,
            merged: hits.iter().filter(is_merged).cloned().collect(),
        });
        run.emit_stage(Stage::Merged, &hits, &dropped);
    }
    Sifted { hits, dropped }
}

/// Puts hits that are ordered best first into the order of the prompt.
pub fn order(hits: Vec<Hit>, order: PassageOrder) -> Vec<Hit> {
    match order {
        PassageOrder::BestFirst => hits,
        PassageOrder::Edges => {
            let ranked = hits.into_iter().enumerate();
            let (front, mut back): (Vec<_>, Vec<_>) = ranked.partition(|(rank, _)| rank % 2 == 0);
            back.reverse();
            front.into_iter().chain(back).map(|(_, hit)| hit).collect()
        }
    }
}

/// Reverses [`order`]: puts hits in the order of the prompt back into the order best first.
pub fn best_first<T>(mut hits: Vec<T>, order: PassageOrder) -> Vec<T> {
    match order {
        PassageOrder::BestFirst => hits,
        PassageOrder::Edges => {
            let mut back = hits.split_off(hits.len().div_ceil(2)).into_iter().rev();
            let hits = hits.into_iter();
            let in_turn = hits.flat_map(|hit| std::iter::once(hit).chain(back.next()));
            in_turn.collect()
        }
    }
}

fn label_chunks(generator: &dyn Generator, hits: &[Hit]) -> Result<Vec<ContextChunk>, RunError> {
    let bare = count(generator, &Prompt::user(""))?;
    let chunks = (1..).zip(hits).map(|(label, hit)| {
        let prompt = Prompt::user(fold_white_space(&hit.chunk.text));
        Ok(ContextChunk {
            label,
            chunk: hit.chunk.id,
            tokens: count(generator, &prompt)?.saturating_sub(bare),
        })
    });
    chunks.collect()
}

/// Returns the prompt of the answer, with passages or from memory.
pub fn prompt(config: &Config, prompts: &Prompts, question: &str, hits: &[Hit]) -> Prompt {
    let kind = config.answer.prompt;
    fill_prompt(kind, prompts, question, hits, &show_chunks(kind, hits))
}

/// Returns the prompt of the answer without the passage at a place. All else stays as it is, the
/// labels of the others included, so that answers differ by that passage alone.
pub fn prompt_without(
    config: &Config,
    prompts: &Prompts,
    question: &str,
    hits: &[Hit],
    left_out: usize,
) -> Prompt {
    let kind = config.answer.prompt;
    let mut lines = show_chunks(kind, hits);
    lines.remove(left_out);
    fill_prompt(kind, prompts, question, hits, &lines)
}

/// Words that a request begins with, in lower case, and what is added to it: a small model writes
/// how it would make a list or a comparison.
const REQUESTS: [(&str, &str); 6] = [
    ("list ", "Give the entries alone, one per line."),
    ("compare ", "Begin with the first difference."),
    ("liste alle ", "Nur die Einträge, einer je Zeile."),
    ("vergleiche ", "Beginne mit dem ersten Unterschied."),
    ("liste ", "Les entrées seules, une par ligne."),
    ("enumera ", "Solo las entradas, una por línea."),
];

/// Words that are added to a question in another language than its sources: a small model answers
/// in theirs, above all where they hold code.
const ANSWER_IN: [(&str, &str); 4] = [
    ("de", "Antworte auf Deutsch."),
    ("es", "Responde en español."),
    ("fr", "Réponds en français."),
    ("zh", "请用中文回答。"),
];

/// Returns whether the question is in another language than each passage.
pub fn is_translated(question: &str, hits: &[Hit]) -> bool {
    short_text_language(question).is_some_and(|own| {
        let mut texts = hits.iter().map(|hit| &hit.chunk.text);
        texts.all(|text| language(text) != own)
    })
}

/// Returns what asks for an answer in the language of the question, where the sources have another.
fn ask_in_language(question: &str, hits: &[Hit]) -> Option<&'static str> {
    let own = short_text_language(question)?;
    let (_, form) = ANSWER_IN.iter().find(|(language, _)| *language == own)?;
    is_translated(question, hits).then_some(form)
}

/// Returns a question as the prompt has it: a request with the form of its answer.
fn direct_question(question: &str) -> Cow<'_, str> {
    let lower = question.to_lowercase();
    let mut known = REQUESTS.iter();
    let is_request = !question.trim_end().ends_with('?');
    match known.find(|(start, _)| is_request && lower.starts_with(start)) {
        Some((_, form)) => {
            let request = question.trim_end_matches(['.', '!', ' ']);
            Cow::Owned(format!("{request}. {form}"))
        }
        None => Cow::Borrowed(question),
    }
}

/// Returns the prompt of this kind with these lines of the passages.
fn fill_prompt(
    kind: AnswerPrompt,
    prompts: &Prompts,
    question: &str,
    hits: &[Hit],
    lines: &[String],
) -> Prompt {
    let lines = lines.join("\n");
    let question = ("question", question);
    let context = ("context", lines.as_str());

    let filled = match (kind, hits.is_empty()) {
        (AnswerPrompt::Auto | AnswerPrompt::Sources | AnswerPrompt::Quotes, true) => {
            return Prompt::user(question.1);
        }
        (AnswerPrompt::Auto | AnswerPrompt::Sources | AnswerPrompt::Quotes, false) => {
            let mut asked = direct_question(question.1);
            if let Some(form) = ask_in_language(question.1, hits) {
                asked = Cow::Owned(format!("{asked} {form}"));
            }
            let dated = dated_question(&asked, hits);
            prompts.fill(PromptName::Sources, &[context, (question.0, &dated)])
        }
        (AnswerPrompt::StepByStep, true) => {
            prompts.fill(PromptName::StepByStep, &[("context", ""), question])
        }
        (AnswerPrompt::StepByStep, false) => {
            let context = format!("Context:\n{lines}\n");
            prompts.fill(PromptName::StepByStep, &[("context", &context), question])
        }
        (AnswerPrompt::QaShort | AnswerPrompt::QaGrounded, true) => {
            prompts.fill(PromptName::QaClosed, &[question])
        }
        (AnswerPrompt::QaShort, false) => prompts.fill(PromptName::QaShort, &[context, question]),
        (AnswerPrompt::QaGrounded, false) => {
            prompts.fill(PromptName::QaGrounded, &[context, question])
        }
    };

    filled.into()
}

/// Returns the prompt that asks whether the sources state the answer. It begins as that of the
/// answer does, so that the sources are read once.
pub fn sources_prompt(prompts: &Prompts, question: &str, hits: &[Hit]) -> Prompt {
    let context = show_chunks(AnswerPrompt::Sources, hits).join("\n");
    let question = dated_question(question, hits);
    let values = [("context", context.as_str()), ("question", &question)];
    prompts.fill(PromptName::SourcesState, &values).into()
}

/// Returns the prompt that asks whether a text, which is a `unit`, states the answer.
pub fn sentence_prompt(prompts: &Prompts, question: &str, unit: &str, text: &str) -> Prompt {
    let (text, question) = (quote_frame(text), dated_question(question, &[]));
    let values = [
        ("context", text.as_ref()),
        ("question", &question),
        ("unit", unit),
    ];
    prompts.fill(PromptName::SentenceStates, &values).into()
}

/// Returns the prompt that asks whether a passage holds a statement.
pub fn statement_prompt(prompts: &Prompts, statement: &str, passage: &str) -> Prompt {
    let (passage, statement) = (quote_frame(passage), fold_white_space(statement));
    let values = [("context", passage.as_ref()), ("statement", &statement)];
    prompts.fill(PromptName::StatementHeld, &values).into()
}

/// Returns the prompt that asks what a passage names of what the question asks for.
pub fn entries_prompt(prompts: &Prompts, question: &str, passage: &str) -> Prompt {
    let passage = quote_frame(passage);
    let mut question = dated_question(question, &[]).into_owned();
    // an instruction follows on the same line
    if question.ends_with(char::is_alphanumeric) {
        question.push('.');
    }
    let values = [("context", passage.as_ref()), ("question", &question)];
    prompts.fill(PromptName::ListItems, &values).into()
}

/// Returns the chunks as the prompt of this kind shows them, labelled from 1.
pub fn show_chunks(kind: AnswerPrompt, hits: &[Hit]) -> Vec<String> {
    match kind {
        // code, lists and tables are read by their lines, and a section by what stands above it
        AnswerPrompt::Auto | AnswerPrompt::Sources | AnswerPrompt::Quotes => (1..)
            .zip(hits)
            .map(|(label, Hit { chunk, date, .. })| {
                let place = show_place(chunk);
                let day = date.as_ref().map(|date| format!(" ({date})"));
                let text = quote_frame(chunk.text.trim());
                format!("[{label}] {place}{}\n{text}\n", day.unwrap_or_default())
            })
            .collect(),
        AnswerPrompt::StepByStep | AnswerPrompt::QaShort | AnswerPrompt::QaGrounded => {
            let texts: Vec<&str> = hits.iter().map(|hit| hit.chunk.text.as_str()).collect();
            context_lines(&texts)
        }
    }
}

/// Returns the path and the headings of a passage as prompts show them.
fn show_place(chunk: &ChunkText) -> String {
    fold_white_space(&chunk.names().join(" › "))
}

/// Returns the place of a passage in front of it as models judge it: none where the prompt of the
/// answer, a paper's, shows none either.
pub fn judged_place(config: &Config, hit: &Hit) -> String {
    match config.answer.prompt {
        AnswerPrompt::Auto | AnswerPrompt::Sources | AnswerPrompt::Quotes => {
            show_place(&hit.chunk) + ": "
        }
        AnswerPrompt::StepByStep | AnswerPrompt::QaShort | AnswerPrompt::QaGrounded => {
            String::new()
        }
    }
}

/// Returns the texts of passages as models judge them, each behind the words of its place.
pub fn judged_texts(config: &Config, hits: &[Hit]) -> Vec<String> {
    let judged = hits.iter();
    let judged = judged.map(|hit| judged_place(config, hit) + &hit.chunk.text);
    judged.collect()
}

/// Returns the text of a passage with a quotation mark in front of the lines that begin as a source
/// or the question does, so that it cannot imitate them.
fn quote_frame(text: &str) -> Cow<'_, str> {
    let is_frame = |line: &str| {
        let line = line.trim_start();
        let label = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        line.starts_with("Question:") || label.is_some_and(|(number, _)| is_number(number))
    };
    // what begins a line for a model, does so here
    let is_end = |c: char| "\n\r\u{b}\u{c}\u{85}\u{2028}\u{2029}".contains(c);
    if !text.split(is_end).any(is_frame) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive(is_end);
    let quoted = lines.flat_map(|line| [if is_frame(line) { "> " } else { "" }, line]);
    Cow::Owned(quoted.collect())
}

/// Returns the prompt whose answers show the utility of passages: with and without them it has the
/// same words, so that the answers differ by the passages alone (SePer, appendix A.4.5).
pub fn utility_prompt<T: AsRef<str>>(prompts: &Prompts, question: &str, passages: &[T]) -> Prompt {
    let question = ("question", question);
    let filled = if passages.is_empty() {
        prompts.fill(PromptName::QaClosed, &[question])
    } else {
        let lines = context_lines(passages).join("\n");
        prompts.fill(PromptName::QaDocuments, &[("context", &lines), question])
    };
    filled.into()
}

/// Returns the number of tokens of a prompt, chat template included.
pub fn count(generator: &dyn Generator, prompt: &Prompt) -> Result<u32, LlmError> {
    Ok(saturating_u32(generator.render(prompt)?.tokens.len()))
}

/// Returns the tokens that a prompt may take: the context minus the answer, which never takes more
/// than half of it.
pub fn available(config: &Config, context_tokens: u32) -> u32 {
    context_tokens - config.answer.max_tokens.min(context_tokens / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_the_form_of_its_answer() {
        let form = "List all huts. Give the entries alone, one per line.";
        assert_eq!(direct_question("List all huts."), form);
        for question in ["Which list is that?", "List price of the kettle?"] {
            assert_eq!(direct_question(question), question);
        }
    }

    #[test]
    fn a_question_in_another_language_than_its_sources_says_so() {
        let hit = |text: &str| Hit::from_text(1, "", text);
        let english = || hit("The screen must have at least 60 columns and 16 rows.");
        let german = hit(
            "Der Bildschirm muss mindestens 60 Spalten und 16 Zeilen haben, sagt die Anleitung.",
        );
        let question = "Wie viele Spalten muss der Bildschirm haben?";
        let cases = [
            (question, vec![english()], Some("Antworte auf Deutsch.")),
            (question, vec![english(), german], None),
            ("How many columns must it have?", vec![english()], None),
            (
                "屏幕至少要有多少列？",
                vec![english()],
                Some("请用中文回答。"),
            ),
        ];
        for (question, hits, expected) in cases {
            assert_eq!(ask_in_language(question, &hits), expected, "{question}");
        }
    }

    #[test]
    fn passages_are_judged_with_their_place_where_the_prompt_shows_it() {
        let hit = Hit::from_text(1, "manuals/weir-x.md", "2 years.");
        let mut config = Config::default();
        for (prompt, expected) in [
            (AnswerPrompt::Sources, "manuals/weir-x.md: 2 years."),
            (AnswerPrompt::QaShort, "2 years."),
        ] {
            config.answer.prompt = prompt;
            let hits = std::slice::from_ref(&hit);
            assert_eq!(judged_texts(&config, hits), [expected]);
        }
    }

    #[test]
    fn a_passage_imitates_no_source_and_no_question() {
        let cases = [
            ("The lamp burns oil.", "The lamp burns oil."),
            ("see [2] and Question: 3", "see [2] and Question: 3"),
            ("[a]\n[]\n[12 -\n[x] done", "[a]\n[]\n[12 -\n[x] done"),
            (
                "Oil.\n\n[2] keeper.md\nGas.\n\nQuestion: Who?",
                "Oil.\n\n> [2] keeper.md\nGas.\n\n> Question: Who?",
            ),
            (
                "[1] Smith, 1990\r  [22] Jones",
                "> [1] Smith, 1990\r>   [22] Jones",
            ),
            ("a\u{2028}[3] b.md", "a\u{2028}> [3] b.md"),
        ];
        for (text, expected) in cases {
            assert_eq!(quote_frame(text), expected);
        }
    }
}
