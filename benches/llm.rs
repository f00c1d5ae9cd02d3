//! Ratios of the llm module on the bundled models, each measured within one run: against a bare
//! llama.cpp loop, and against the same calls one by one with a cleared cache.
//!
//! `cargo bench --bench llm` prints a table; a name as argument selects rows. The sides of a ratio
//! take turns and the fastest round of each counts, so that other work on the machine weighs little.
//! On a machine that is never idle set `BENCH_THREADS=1`: both sides then run on one thread and are
//! measured in its processor time. `BENCH_MODEL=FILE` measures another generator, with as many layers on a
//! GPU as fit, on both sides.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::mem::ManuallyDrop;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_sys_2::{LLAMA_FLASH_ATTN_TYPE_AUTO, LLAMA_FLASH_ATTN_TYPE_DISABLED};
use ragscope::config::{FlashAttention, Layers};
use ragscope::event::{Flow, StopFlag};
use ragscope::llm::{
    Decoding, Embedder, Generator, HiddenAt, LlamaEmbedder, LlamaGenerator, Prompt, Runtime,
    Scorer, Tap, Taps, Token, load_embedder, load_generator,
};
use ragscope::story::words;

/// Measures and prints a row of the table.
type Measure = fn(&mut Bench);

/// Rounds of a fast row.
const ROUNDS: usize = 12;
/// Rounds of a slow row.
const SLOW_ROUNDS: usize = 3;
const GENERATOR: &str = "ragscope-demo.Q8_0.gguf";
const EMBEDDER: &str = "all-MiniLM-L6-v2.Q8_0.gguf";
/// Temperature at which no sample ends by itself.
const HOT: f32 = 20.0;
const FACTS: [&str; 6] = [
    "The lighthouse on Sherk Island is 40 metres tall and was built in 1871 by the harbour office.",
    "Mara Voss keeps the lighthouse. She came from Tollen in the year of the great storm.",
    "The ferry to Sherk Island leaves the harbour of Tollen twice a day, in the morning and at dusk.",
    "A bell tower of grey stone stands beside the market of Tollen; it was moved there from the old town.",
    "The harbour office of Tollen keeps the books of every ship that carried barrels, salt or timber.",
    "Sherk Island has three wells, one road and a library that is open when the ferry is in.",
];

fn main() {
    let selected: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let rows: [(&str, Measure); 10] = [
        ("generation", generation),
        ("drafts", drafts),
        ("embedding", embedding),
        ("samples", samples),
        ("measurement", measurement),
        ("labels", labels),
        ("probe", probe),
        ("attribution", attribution),
        ("flash", flash),
        ("load", load),
    ];

    let mut bench = Bench::new();
    let card = bench.generator.card();
    println!("generator: {} on {}", card.file, words::device(card));
    for (name, measure) in rows {
        let is_selected = selected.iter().any(|part| name.contains(part.as_str()));
        if selected.is_empty() || is_selected {
            measure(&mut bench);
        }
    }
}

// ── measuring ───────────────────────────────────────────────────────────────────────────────────

/// Returns whether both sides run on one thread.
fn is_single_threaded() -> bool {
    std::env::var("BENCH_THREADS").is_ok_and(|threads| threads == "1")
}

/// Returns the time since the start of the process, or the processor time of this thread.
fn now() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();

    if !is_single_threaded() {
        return START.get_or_init(Instant::now).elapsed();
    }
    let text =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("processor time (Linux)");
    let nanoseconds = text
        .split(' ')
        .next()
        .and_then(|field| field.parse().ok())
        .expect("a number");
    Duration::from_nanos(nanoseconds)
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = now();
    work();
    now() - started
}

/// Runs the sides by turns and returns the fastest round of each.
fn fastest<const SIDES: usize>(
    rounds: usize,
    mut run: impl FnMut(usize) -> Duration,
) -> [Duration; SIDES] {
    let mut best = [Duration::MAX; SIDES];
    for _ in 0..rounds {
        for (side, best) in best.iter_mut().enumerate() {
            *best = run(side).min(*best);
        }
    }
    best
}

fn report(name: &str, what: &str, ratio: f64, target: &str) {
    println!("{name:<12} {ratio:>7.3}  (target {target})  {what}");
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

// ── this program ────────────────────────────────────────────────────────────────────────────────

struct Bench {
    runtime: Runtime,
    generator: LlamaGenerator,
}

impl Bench {
    fn new() -> Self {
        let log = std::env::temp_dir().join("ragscope-bench.log");
        let runtime = Runtime::start(&log).expect("llama.cpp starts");
        Self {
            runtime,
            generator: generator(runtime, FlashAttention::Auto),
        }
    }
}

/// Returns the generator that is measured.
fn generator_file() -> PathBuf {
    std::env::var_os("BENCH_MODEL").map_or_else(|| bundled(GENERATOR), PathBuf::from)
}

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("assets/models")
        .join(name)
}

fn generator(runtime: Runtime, flash_attention: FlashAttention) -> LlamaGenerator {
    let mut settings = Layers::defaults().config().expect("defaults").generator;
    settings.flash_attention = flash_attention;
    settings.threads = u32::from(is_single_threaded());
    let stop = StopFlag::default();
    load_generator(&runtime, &generator_file(), &settings, &stop, &mut |_| {
        Flow::Continue
    })
    .expect("the generator")
}

fn embedder(runtime: Runtime) -> LlamaEmbedder {
    let mut settings = Layers::defaults().config().expect("defaults").embedder;
    settings.threads = u32::from(is_single_threaded());
    let stop = StopFlag::default();
    load_embedder(&runtime, &bundled(EMBEDDER), &settings, &stop, &mut |_| {
        Flow::Continue
    })
    .expect("the embedder")
}

fn decoding(max_tokens: u32, temperature: f32) -> Decoding {
    Decoding {
        temperature,
        ..Decoding::greedy(max_tokens, 1)
    }
}

/// Continues prompts and returns the number of generated tokens.
fn complete(generator: &mut LlamaGenerator, prompts: &[Prompt], decoding: &Decoding) -> usize {
    let completions = generator
        .complete(prompts, decoding, &mut |_, _| Flow::Continue)
        .expect("a completion");
    completions.iter().map(|one| one.tokens.len()).sum()
}

/// Returns a prompt of at least `tokens` tokens.
fn prompt_of(tokens: usize, generator: &LlamaGenerator) -> Prompt {
    let mut text = String::new();
    for fact in FACTS.iter().cycle() {
        text = format!("{text}{fact} ");
        let prompt = Prompt::user(format!("Rewrite the following text. Text: {text}"));
        if generator.render(&prompt).expect("a prompt").tokens.len() >= tokens {
            return prompt;
        }
    }
    Prompt::default()
}

fn rewriting(text: &str) -> Prompt {
    Prompt::user(format!(
        "Rewrite the following text at the syntactic level without changing its meaning. Modify the sentence structure, but preserve the original intent and semantic meaning. ONLY return the rewritten content without any additional token. Text: {text}"
    ))
}

// ── llama.cpp as its own examples drive it ──────────────────────────────────────────────────────

/// A model without bookkeeping, text and probabilities.
struct Bare {
    backend: ManuallyDrop<LlamaBackend>,
    model: LlamaModel,
}

impl Bare {
    fn new(file: &Path) -> Self {
        // The runtime has started the backend, and stops it.
        let backend = ManuallyDrop::new(LlamaBackend {});
        let params = LlamaModelParams::default();
        let model = LlamaModel::load_from_file(&backend, file, &params).expect("a model");
        Self { backend, model }
    }

    /// Creates a context for one sequence of tokens.
    fn generator_context(&self) -> LlamaContext<'_> {
        // The bundled generator has narrow heads: on the CPU, the program too chooses flash attention off.
        let is_bundled = std::env::var_os("BENCH_MODEL").is_none();
        let flash_attention = if is_bundled {
            LLAMA_FLASH_ATTN_TYPE_DISABLED
        } else {
            LLAMA_FLASH_ATTN_TYPE_AUTO
        };
        let params = params(2048, 512)
            .with_n_seq_max(1)
            .with_flash_attention_policy(flash_attention);
        self.model
            .new_context(&self.backend, params)
            .expect("a context")
    }

    /// Creates a context that pools up to 64 texts per batch.
    fn embedder_context(&self) -> LlamaContext<'_> {
        let params = params(512, 512)
            .with_n_seq_max(64)
            .with_flash_attention_policy(LLAMA_FLASH_ATTN_TYPE_AUTO)
            .with_embeddings(true);
        self.model
            .new_context(&self.backend, params)
            .expect("a context")
    }
}

fn params(context_tokens: u32, batch_tokens: u32) -> LlamaContextParams {
    let mut threads = 1;
    if !is_single_threaded() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        threads = i32::try_from(cores).unwrap_or(1);
    }
    LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(context_tokens))
        .with_n_batch(batch_tokens)
        .with_n_ubatch(batch_tokens)
        .with_kv_unified(true)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
}

/// Generates greedily and returns the time from the first token to the last.
fn bare_generation(context: &mut LlamaContext, prompt: &[i32], tokens: usize) -> Duration {
    context.clear_kv_cache();
    let mut batch = LlamaBatch::new(512, 1);
    for (position, token) in prompt.iter().enumerate() {
        let is_last = position + 1 == prompt.len();
        batch
            .add(LlamaToken(*token), position as i32, &[0], is_last)
            .expect("room");
    }
    context.decode(&mut batch).expect("decoded");

    let mut started = now();
    for generated in 0..tokens {
        let logits = context.get_logits_ith(batch.n_tokens() - 1);
        let mut best = 0;
        for (token, logit) in logits.iter().enumerate() {
            if *logit > logits[best] {
                best = token;
            }
        }
        if generated == 0 {
            started = now();
        }

        let position = (prompt.len() + generated) as i32;
        batch.clear();
        batch
            .add(LlamaToken(best as i32), position, &[0], true)
            .expect("room");
        if generated + 1 < tokens {
            context.decode(&mut batch).expect("decoded");
        }
    }
    now() - started
}

/// Embeds texts in order, in batches of at most `max_tokens` tokens.
fn bare_embedding(context: &mut LlamaContext, texts: &[Vec<LlamaToken>], max_tokens: usize) {
    let mut batch = LlamaBatch::new(512, 1);
    let mut rest = texts;
    while !rest.is_empty() {
        batch.clear();
        let mut count = 0;
        while count < rest.len().min(64)
            && (count == 0 || batch.n_tokens() as usize + rest[count].len() <= max_tokens)
        {
            for (position, token) in rest[count].iter().enumerate() {
                batch
                    .add(*token, position as i32, &[count as i32], true)
                    .expect("room");
            }
            count += 1;
        }

        context.decode(&mut batch).expect("decoded");
        for text in 0..count {
            std::hint::black_box(context.embeddings_seq_ith(text as i32).expect("a vector"));
        }
        rest = &rest[count..];
    }
}

// ── rows: generation and embedding against bare llama.cpp ───────────────────────────────────────

fn generation(bench: &mut Bench) {
    let prompt = endless(&mut bench.generator);
    bench.generator.set_drafting(false);
    let prompt_tokens = bench.generator.render(&prompt).expect("a prompt").tokens;
    let (_, tokens) = our_generation(&mut bench.generator, &prompt, 400);

    let bare = Bare::new(&generator_file());
    let mut context = bare.generator_context();
    let [theirs, ours] = fastest(4 * ROUNDS, |side| {
        if side == 0 {
            bare_generation(&mut context, &prompt_tokens, tokens)
        } else {
            our_generation(&mut bench.generator, &prompt, tokens).0
        }
    });

    let rate = |time: Duration| (tokens - 1) as f64 / time.as_secs_f64();
    let what = format!(
        "tokens per second of a greedy continuation ({tokens} tokens): {:.0} of bare {:.0}",
        rate(ours),
        rate(theirs)
    );
    report("generation", &what, ratio(theirs, ours), "at least 0.98");
    bench.generator.set_drafting(true);
}

/// Generates answers that repeat their sources, with drafts and without.
fn drafts(bench: &mut Bench) {
    let facts = (1..).zip(FACTS);
    let sources: String = facts
        .map(|(label, fact)| format!("[{label}] {fact}\n"))
        .collect();
    let questions = [
        "What do the sources say about the lighthouse? Quote them.",
        "Which two sources are about the ferry and the wells? Repeat both.",
        "Who keeps the books of the ships, and where?",
    ];
    let prompts =
        questions.map(|question| Prompt::user(format!("Sources:\n{sources}\n{question}")));
    for prompt in &prompts {
        let mut written = 0;
        let [without, with] = fastest(SLOW_ROUNDS, |side| {
            bench.generator.set_drafting(side == 1);
            let (time, tokens) = our_generation(&mut bench.generator, prompt, 96);
            written = tokens;
            time
        });
        let drafted = bench.generator.usage().tokens_drafted;
        let what = format!("an answer of {written} tokens, {drafted} of them drafted");
        report("drafts", &what, ratio(without, with), "above 1");
    }
    bench.generator.set_drafting(true);
}

/// Generates at most `tokens` tokens; returns the time from the first to the last of them, and the
/// number of tokens.
fn our_generation(
    generator: &mut LlamaGenerator,
    prompt: &Prompt,
    tokens: usize,
) -> (Duration, usize) {
    generator.clear_cache();
    let mut first = Duration::ZERO;
    let mut last = Duration::ZERO;
    let mut seen = 0;
    let observe = &mut |_: usize, _: &Token| {
        seen += 1;
        if seen == 1 {
            first = now();
        }
        last = now();
        Flow::Continue
    };
    let prompts = std::slice::from_ref(prompt);
    generator
        .complete(prompts, &decoding(tokens as u32, 0.0), observe)
        .expect("a completion");
    (last.saturating_sub(first), seen)
}

/// Returns a prompt whose greedy continuation is long.
fn endless(generator: &mut LlamaGenerator) -> Prompt {
    let replies = [
        "",
        " The",
        " The lighthouse",
        " one two three one two three one two",
        " 1, 2, 3, 4, 5,",
        " and and and and and and",
    ];
    let prompts = replies.map(|reply| Prompt {
        reply: reply.to_owned(),
        ..rewriting(&FACTS.join(" "))
    });
    prompts
        .into_iter()
        .max_by_key(|prompt| our_generation(generator, prompt, 400).1)
        .unwrap_or_default()
}

fn embedding(bench: &mut Bench) {
    let texts: Vec<String> = (0..48)
        .map(|n| {
            let facts = FACTS.iter().cycle().skip(n).take(1 + n % 16);
            facts.copied().collect::<Vec<_>>().join(" ")
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();

    let bare = Bare::new(&bundled(EMBEDDER));
    let tokens: Vec<Vec<LlamaToken>> = texts
        .iter()
        .map(|text| bare.model.vocab().tokenize(text.as_bytes(), true, false))
        .collect();
    let count: usize = tokens.iter().map(Vec::len).sum();

    let mut one_by_one = bare.embedder_context();
    let mut packed = bare.embedder_context();
    let mut embedder = embedder(bench.runtime);
    let times: [Duration; 3] = fastest(SLOW_ROUNDS, |side| {
        timed(|| match side {
            0 => bare_embedding(&mut one_by_one, &tokens, 1),
            1 => bare_embedding(&mut packed, &tokens, 512),
            _ => drop(embedder.embed(&texts).expect("vectors")),
        })
    });

    let [one_by_one, packed, ours] = times.map(|time| count as f64 / time.as_secs_f64());
    let what = format!(
        "tokens per second, text to vector: {ours:.0}; bare, tokenized before: {one_by_one:.0} one by one, {packed:.0} packed"
    );
    report(
        "embedding",
        &what,
        ours / one_by_one.max(packed),
        "at least 0.90",
    );
}

// ── rows: prompts together against one by one ───────────────────────────────────────────────────

fn samples(bench: &mut Bench) {
    let generator = &mut bench.generator;
    let prompt = prompt_of(400, generator);
    let decoding = decoding(40, HOT);
    let mut tokens = [0; 2];
    let [one, ten] = fastest(ROUNDS, |side| {
        generator.clear_cache();
        let prompts = vec![prompt.clone(); if side == 0 { 1 } else { 10 }];
        timed(|| tokens[side] = complete(generator, &prompts, &decoding))
    });

    let what = format!(
        "ten samples of one prompt against one: {:.0} ms ({} tokens) against {:.0} ms ({} tokens)",
        milliseconds(ten),
        tokens[1],
        milliseconds(one),
        tokens[0]
    );
    report("samples", &what, ratio(ten, one), "at most 3, on a GPU 1.5");
}

/// How prompts are passed to the generator.
#[derive(Clone, Copy, PartialEq)]
enum Batching {
    /// All in one call.
    Together,
    /// One per call, with a cleared cache.
    OneByOne,
}

/// Cost of the same calls, together and one by one.
struct Compared {
    together: Duration,
    one_by_one: Duration,
    /// Prompt tokens evaluated, together and one by one.
    evaluated: [u64; 2],
}

/// Measures calls together and one by one. `calls` returns the prompt tokens that it evaluated.
fn compare(
    generator: &mut LlamaGenerator,
    mut calls: impl FnMut(&mut LlamaGenerator, Batching) -> u64,
) -> Compared {
    let mut evaluated = [0; 2];
    let [together, one_by_one] = fastest(SLOW_ROUNDS, |side| {
        let batching = [Batching::Together, Batching::OneByOne][side];
        generator.clear_cache();
        timed(|| evaluated[side] = calls(generator, batching))
    });
    Compared {
        together,
        one_by_one,
        evaluated,
    }
}

/// Passes prompts to `call` and returns the prompt tokens evaluated.
fn run_calls(
    generator: &mut LlamaGenerator,
    prompts: &[Prompt],
    batching: Batching,
    mut call: impl FnMut(&mut LlamaGenerator, &[Prompt]),
) -> u64 {
    let size = match batching {
        Batching::Together => prompts.len(),
        Batching::OneByOne => 1,
    };
    let mut evaluated = 0;
    for part in prompts.chunks(size) {
        if batching == Batching::OneByOne {
            generator.clear_cache();
        }
        call(generator, part);
        evaluated += u64::from(generator.usage().prompt_tokens_evaluated);
    }
    evaluated
}

/// Classifies prompts and returns the prompt tokens evaluated.
fn classify(
    generator: &mut LlamaGenerator,
    prompts: &[Prompt],
    labels: &[&str],
    batching: Batching,
) -> u64 {
    run_calls(generator, prompts, batching, |generator, prompts| {
        generator.classify(prompts, labels).expect("labels");
    })
}

/// Classifies prompts with every label of every prompt in a call of its own.
fn classify_each_label(generator: &mut LlamaGenerator, prompts: &[Prompt], labels: &[&str]) -> u64 {
    labels
        .iter()
        .map(|label| classify(generator, prompts, &[*label], Batching::OneByOne))
        .sum()
}

/// Measures the calls of one DENSE measurement at k = 5.
fn measurement(bench: &mut Bench) {
    let rephrasings: Vec<Prompt> = FACTS[..5].iter().map(|fact| rewriting(fact)).collect();
    let answers = dense_answers();
    let judgements = dense_judgements();
    let labels = ["entailment", "contradiction", "neutral"];

    for each_label in [false, true] {
        let compared = compare(&mut bench.generator, |generator, batching| {
            let judged = if each_label && batching == Batching::OneByOne {
                classify_each_label(generator, &judgements, &labels)
            } else {
                classify(generator, &judgements, &labels, batching)
            };
            let rephrased = run_calls(generator, &rephrasings, batching, |generator, prompts| {
                complete(generator, prompts, &decoding(40, 0.0));
            });
            let answered = run_calls(generator, &answers, batching, |generator, prompts| {
                complete(generator, prompts, &decoding(16, 0.0));
            });
            judged + rephrased + answered
        });

        let against = if each_label {
            "one by one, each label too"
        } else {
            "one by one, labels of a judgement together"
        };
        let [together, one_by_one] = compared.evaluated;
        let what = format!(
            "prompt tokens evaluated, DENSE at k = 5, against {against}: {together} of {one_by_one}"
        );
        report(
            "measurement",
            &what,
            together as f64 / one_by_one as f64,
            "at most 0.333",
        );
        let what = format!(
            "time of the same: {:.0} ms of {:.0} ms",
            milliseconds(compared.together),
            milliseconds(compared.one_by_one)
        );
        report(
            "measurement",
            &what,
            ratio(compared.together, compared.one_by_one),
            "at most 0.4",
        );
    }
}

/// Returns the prompts of the answers: from the original context and with each chunk replaced.
fn dense_answers() -> Vec<Prompt> {
    let question = "Who keeps the lighthouse?";
    (0..6)
        .map(|changed| {
            let context: Vec<String> = (0..5)
                .map(|at| {
                    let chunk = if at + 1 == changed { FACTS[5] } else { FACTS[at] };
                    format!("[{}] {chunk}", at + 1)
                })
                .collect();
            let context = context.join("\n");
            Prompt::user(format!(
                "Answer question {question} based on provided context, ONLY output a short answer with minimum words. Context:\n{context}"
            ))
        })
        .collect()
}

/// Returns the prompts that judge all ordered pairs of six replies.
fn dense_judgements() -> Vec<Prompt> {
    let question = "Who keeps the lighthouse?";
    let replies = [
        "Mara Voss",
        "the harbour office",
        "Mara",
        "Voss of Tollen",
        "nobody",
        "the keeper Mara Voss",
    ];
    let mut prompts = Vec::new();
    for a in replies {
        for b in replies.into_iter().filter(|b| *b != a) {
            prompts.push(Prompt::user(format!(
                "We are evaluating answers to the question {question}\nHere are two possible answers:\nPossible Answer 1: {a}\nPossible Answer 2: {b}\nDoes Possible Answer 1 semantically entail Possible Answer 2? Respond with ONLY entailment, contradiction, or neutral."
            )));
        }
    }
    prompts
}

fn labels(bench: &mut Bench) {
    let question = "Who keeps the lighthouse on Sherk Island, and since when?";
    let tasks = [
        "Rate from 0 to 10 how relevant the passage is to the question. Only output the number.",
        "A first judge rated the relevance of the passage to the question 5 out of 10. Check that rating against the question and output a corrected rating from 0 to 10. Only output the number.",
        "As a critic, check that the names, dates and numbers asked for agree with the passage. Earlier ratings: 5 and 6. Output a final rating from 0 to 10. Only output the number.",
    ];
    let mut prompts = Vec::new();
    for task in tasks {
        for passage in 0..20 {
            let fact = FACTS[passage % 6];
            prompts.push(Prompt::user(format!(
                "{task}\nQuestion: {question}\nPassage: {fact} Entry {passage}."
            )));
        }
    }
    let grades: Vec<String> = (0..=10).map(|grade: u32| grade.to_string()).collect();
    let grades: Vec<&str> = grades.iter().map(String::as_str).collect();

    for each_label in [false, true] {
        let compared = compare(&mut bench.generator, |generator, batching| {
            if each_label && batching == Batching::OneByOne {
                classify_each_label(generator, &prompts, &grades)
            } else {
                classify(generator, &prompts, &grades, batching)
            }
        });

        let what = if each_label {
            "the same, each label of each decision in a call of its own"
        } else {
            "60 decisions among 11 labels over 20 chunks"
        };
        let [together, one_by_one] = compared.evaluated;
        let what = format!(
            "{what}: {:.0} ms of {:.0} ms ({together} of {one_by_one} tokens)",
            milliseconds(compared.together),
            milliseconds(compared.one_by_one)
        );
        report(
            "labels",
            &what,
            ratio(compared.together, compared.one_by_one),
            "at most 0.333",
        );
    }
}

// ── rows: taps and flash attention ──────────────────────────────────────────────────────────────

fn probe(bench: &mut Bench) {
    let taps = Taps {
        hidden: vec![HiddenAt::FirstToken],
        attention: Vec::new(),
    };
    tapped(bench, "probe", &taps, "at least 0.97");
}

fn attribution(bench: &mut Bench) {
    let prompt = rewriting(&FACTS.join(" "));
    let text = bench.generator.render(&prompt).expect("a prompt").text;
    let part = text.len() / 6;
    let parts = (0..5).map(|at| at * part..(at + 1) * part).collect();
    let taps = Taps {
        hidden: Vec::new(),
        attention: vec![parts],
    };
    tapped(bench, "attribution", &taps, "at least 0.85");
}

/// Measures the speed of sentences with a tap at each; a sentence is 12 tokens.
fn tapped(bench: &mut Bench, name: &str, taps: &Taps, target: &str) {
    // Attention is read with flash attention off, whose cost is another row: both sides go without.
    let unfused = Taps {
        hidden: Vec::new(),
        attention: vec![Vec::new()],
    };
    let without = Some(&unfused).filter(|_| !taps.attention.is_empty());
    let [without, with] = fastest(SLOW_ROUNDS, |side| {
        write_sentences(&mut bench.generator, [without, Some(taps)][side])
    });

    let what = format!(
        "speed of eight sentences with the tap: {:.1} ms, without {:.1} ms",
        milliseconds(with),
        milliseconds(without)
    );
    report(name, &what, ratio(without, with), target);
}

/// Writes eight sentences, each a call of its own, and returns the time.
fn write_sentences(generator: &mut LlamaGenerator, taps: Option<&Taps>) -> Duration {
    let decoding = decoding(12, 0.0);
    let mut prompt = rewriting(&FACTS.join(" "));
    generator.clear_cache();
    timed(|| {
        for _ in 0..8 {
            let prompts = std::slice::from_ref(&prompt);
            let observe = &mut |_: usize, _: &Token| Flow::Continue;
            let completion = match taps {
                None => generator
                    .complete(prompts, &decoding, observe)
                    .expect("text")
                    .remove(0),
                Some(taps) => {
                    generator
                        .complete_tapped(prompts, &decoding, taps, observe)
                        .expect("text")
                        .remove(0)
                        .completion
                }
            };
            prompt.reply.push_str(&completion.text);
        }
    })
}

/// Measures flash attention for one continuation and for ten side by side.
fn flash(bench: &mut Bench) {
    let mut generators = [FlashAttention::Off, FlashAttention::On]
        .map(|flash_attention| generator(bench.runtime, flash_attention));
    let prompt = prompt_of(400, &generators[0]);
    let decoding = decoding(40, HOT);

    for (count, what) in [
        (1, "one continuation of 40 tokens"),
        (10, "ten side by side"),
    ] {
        let prompts = vec![prompt.clone(); count];
        let [off, on] = fastest(ROUNDS, |side| {
            let generator = &mut generators[side];
            generator.clear_cache();
            timed(|| {
                complete(generator, &prompts, &decoding);
            })
        });
        let what = format!(
            "speed with flash attention off, {what}: {:.0} ms, with it on {:.0} ms",
            milliseconds(off),
            milliseconds(on)
        );
        report("flash", &what, ratio(on, off), "reported");
    }
}

fn load(bench: &mut Bench) {
    let runtime = bench.runtime;
    let [generator, embedder] = fastest(ROUNDS, |side| {
        timed(|| {
            if side == 0 {
                drop(generator(runtime, FlashAttention::Auto));
            } else {
                drop(embedder(runtime));
            }
        })
    });

    let both = generator + embedder;
    let what = format!(
        "seconds until both bundled models are ready, file cache warm: {:.0} ms",
        milliseconds(both)
    );
    report("load", &what, both.as_secs_f64(), "below 1");
}
