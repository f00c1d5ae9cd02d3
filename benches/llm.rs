//! Ratios of the llm module on the bundled models, each measured within one run: against a bare llama.cpp loop, and against the
//! same calls made one by one with a cleared cache. `cargo bench --bench llm` prints a table; a name as argument picks rows.
//!
//! Both sides of a ratio take turns and the quickest round of each counts, so that other work on the machine weighs little. On a
//! machine that is never quiet set `BENCH_THREADS=1`: both sides then run on one thread and its processor time is what counts.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
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
    Sampling, Scorer, StopRule, Tap, Taps, load_embedder, load_generator,
};

/// A row of the table, measured and printed.
type Measured = fn(&mut Bench);

/// Rounds of quick rows and of slow ones.
const ROUNDS: usize = 12;
const SLOW_ROUNDS: usize = 3;
const GENERATOR: &str = "ragscope-demo.Q8_0.gguf";
const EMBEDDER: &str = "all-MiniLM-L6-v2.Q8_0.gguf";
const FACTS: [&str; 6] = [
    "The lighthouse on Sherk Island is 40 metres tall and was built in 1871 by the harbour office.",
    "Mara Voss keeps the lighthouse. She came from Tollen in the year of the great storm.",
    "The ferry to Sherk Island leaves the harbour of Tollen twice a day, in the morning and at dusk.",
    "A bell tower of grey stone stands beside the market of Tollen; it was moved there from the old town.",
    "The harbour office of Tollen keeps the books of every ship that carried barrels, salt or timber.",
    "Sherk Island has three wells, one road and a library that is open when the ferry is in.",
];

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let rows: [(&str, Measured); 9] = [
        ("generation", generation),
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
    for (name, row) in rows {
        if wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            row(&mut bench);
        }
    }
}

/// The one thread of both sides, when so asked.
fn one_thread() -> bool {
    std::env::var("BENCH_THREADS").is_ok_and(|threads| threads == "1")
}

/// A moment: on the wall, or in the processor time of this thread.
fn moment() -> Duration {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    if one_thread() {
        let text =
            std::fs::read_to_string("/proc/thread-self/schedstat").expect("processor time (Linux)");
        let nanoseconds = text
            .split(' ')
            .next()
            .and_then(|field| field.parse().ok())
            .expect("a number");
        return Duration::from_nanos(nanoseconds);
    }
    BEGUN.get_or_init(Instant::now).elapsed()
}

struct Bench {
    runtime: Runtime,
    generator: LlamaGenerator,
}

impl Bench {
    fn new() -> Self {
        let runtime = Runtime::start(&std::env::temp_dir().join("ragscope-bench.log"))
            .expect("llama.cpp starts");
        Self {
            runtime,
            generator: generator(runtime),
        }
    }
}

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("assets/models")
        .join(name)
}

fn generator(runtime: Runtime) -> LlamaGenerator {
    generator_with(runtime, FlashAttention::Auto)
}

fn generator_with(runtime: Runtime, flash_attention: FlashAttention) -> LlamaGenerator {
    let mut settings = Layers::defaults().config().expect("defaults").generator;
    settings.flash_attention = flash_attention;
    settings.threads = u32::from(one_thread());
    let stop = StopFlag::default();
    load_generator(&runtime, &bundled(GENERATOR), &settings, &stop, &mut |_| {
        Flow::Continue
    })
    .expect("the generator")
}

fn embedder(runtime: Runtime) -> LlamaEmbedder {
    let mut settings = Layers::defaults().config().expect("defaults").embedder;
    settings.threads = u32::from(one_thread());
    let stop = StopFlag::default();
    load_embedder(&runtime, &bundled(EMBEDDER), &settings, &stop, &mut |_| {
        Flow::Continue
    })
    .expect("the embedder")
}

fn decoding(max_tokens: u32, temperature: f32) -> Decoding {
    let sampling = Sampling {
        temperature,
        ..Sampling::GREEDY
    };
    Decoding {
        max_tokens,
        sampling,
        seed: 1,
        stop: StopRule::default(),
    }
}

fn complete(generator: &mut LlamaGenerator, prompts: &[Prompt], decoding: &Decoding) -> usize {
    let completions = generator
        .complete(prompts, decoding, &mut |_, _| Flow::Continue)
        .expect("a completion");
    completions.iter().map(|one| one.tokens.len()).sum()
}

/// The quickest round of each side, taking turns.
fn quickest(rounds: usize, sides: &mut [&mut dyn FnMut() -> Duration]) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; sides.len()];
    for _ in 0..rounds {
        for (best, side) in best.iter_mut().zip(sides.iter_mut()) {
            *best = side().min(*best);
        }
    }
    best
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = moment();
    work();
    moment() - begun
}

fn report(name: &str, what: &str, ratio: f64, target: &str) {
    println!("{name:<12} {ratio:>7.3}  (target {target})  {what}");
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// llama.cpp as its own examples drive it: no books, no text, no probabilities.
struct Bare {
    backend: std::mem::ManuallyDrop<LlamaBackend>,
    model: LlamaModel,
}

impl Bare {
    fn new(file: &str) -> Self {
        // the runtime has started the backend already
        let backend = std::mem::ManuallyDrop::new(LlamaBackend {});
        let model =
            LlamaModel::load_from_file(&backend, bundled(file), &LlamaModelParams::default())
                .expect("a model");
        Self { backend, model }
    }

    fn context(&self, tokens: u32, batch: u32, embeddings: bool) -> LlamaContext<'_> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if one_thread() {
            1
        } else {
            i32::try_from(cores).unwrap_or(1)
        };
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(tokens))
            .with_n_batch(batch)
            .with_n_ubatch(batch)
            .with_n_seq_max(if embeddings { 64 } else { 1 })
            .with_kv_unified(true)
            // the bundled generator's heads are narrow: attention in the open, as the program chooses for it
            .with_flash_attention_policy(if embeddings {
                LLAMA_FLASH_ATTN_TYPE_AUTO
            } else {
                LLAMA_FLASH_ATTN_TYPE_DISABLED
            })
            .with_embeddings(embeddings)
            .with_n_threads(threads)
            .with_n_threads_batch(threads);
        self.model
            .new_context(&self.backend, params)
            .expect("a context")
    }
}

/// Time from the first token to the last of a greedy continuation that never ends by itself.
fn bare_generation(context: &mut LlamaContext, prompt: &[i32], tokens: usize) -> Duration {
    context.clear_kv_cache();
    let mut batch = LlamaBatch::new(512, 1);
    for (position, token) in prompt.iter().enumerate() {
        batch
            .add(
                LlamaToken(*token),
                position as i32,
                &[0],
                position + 1 == prompt.len(),
            )
            .expect("room");
    }
    context.decode(&mut batch).expect("decoded");
    let mut begun = moment();
    for written in 0..tokens {
        let logits = context.get_logits_ith(batch.n_tokens() - 1);
        let mut best = 0;
        for (token, logit) in logits.iter().enumerate() {
            if *logit > logits[best] {
                best = token;
            }
        }
        if written == 0 {
            begun = moment();
        }
        batch.clear();
        batch
            .add(
                LlamaToken(best as i32),
                (prompt.len() + written) as i32,
                &[0],
                true,
            )
            .expect("room");
        if written + 1 < tokens {
            context.decode(&mut batch).expect("decoded");
        }
    }
    moment() - begun
}

/// The same by this program: `tokens` of them, then it is stopped.
fn our_generation(
    generator: &mut LlamaGenerator,
    prompt: &Prompt,
    tokens: usize,
) -> (Duration, usize) {
    generator.clear_cache();
    let (mut begun, mut ended) = (Duration::ZERO, Duration::ZERO);
    let mut seen = 0;
    let observe = &mut |_: usize, _: &ragscope::llm::Token| {
        seen += 1;
        if seen == 1 {
            begun = moment();
        }
        if seen == tokens {
            ended = moment();
        }
        Flow::Continue
    };
    generator
        .complete(
            std::slice::from_ref(prompt),
            &decoding(tokens as u32, 0.0),
            observe,
        )
        .expect("a completion");
    (ended.saturating_sub(begun), seen)
}

/// A prompt whose greedy continuation is long.
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
        ..long_writing()
    });
    let lengths = prompts.map(|prompt| (our_generation(generator, &prompt, 400).1, prompt));
    lengths
        .into_iter()
        .max_by_key(|(length, _)| *length)
        .map(|(_, prompt)| prompt)
        .unwrap_or_default()
}

fn long_writing() -> Prompt {
    Prompt::user(format!(
        "Rewrite the following text at the syntactic level without changing its meaning. Modify the sentence structure, but preserve the original intent and semantic meaning. ONLY return the rewritten content without any additional token. Text: {}",
        FACTS.join(" ")
    ))
}

fn generation(bench: &mut Bench) {
    let prompt = endless(&mut bench.generator);
    let tokens = bench.generator.render(&prompt).expect("a prompt").tokens;
    let written = our_generation(&mut bench.generator, &prompt, 400).1;
    let bare = Bare::new(GENERATOR);
    let mut context = bare.context(2048, 512, false);
    let best = quickest(
        4 * ROUNDS,
        &mut [
            &mut || bare_generation(&mut context, &tokens, written),
            &mut || our_generation(&mut bench.generator, &prompt, written).0,
        ],
    );
    let rate = |time: Duration| (written - 1) as f64 / time.as_secs_f64();
    let what = format!(
        "tokens a second of a greedy continuation ({written} tokens): {:.0} of bare {:.0}",
        rate(best[1]),
        rate(best[0])
    );
    report(
        "generation",
        &what,
        rate(best[1]) / rate(best[0]),
        "at least 0.98",
    );
}

fn embedding(bench: &mut Bench) {
    let texts: Vec<String> = (0..48)
        .map(|n| {
            FACTS
                .iter()
                .cycle()
                .skip(n)
                .take(1 + n % 16)
                .copied()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut embedder = embedder(bench.runtime);
    let bare = Bare::new(EMBEDDER);
    let mut context = bare.context(512, 512, true);
    let tokens: Vec<Vec<LlamaToken>> = texts
        .iter()
        .map(|text| bare.model.vocab().tokenize(text.as_bytes(), true, false))
        .collect();
    let count: usize = tokens.iter().map(Vec::len).sum();
    let mut alone = || timed(|| bare_embedding(&mut context, &tokens, 1));
    let mut context = bare.context(512, 512, true);
    let mut packed = || timed(|| bare_embedding(&mut context, &tokens, 512));
    let mut ours = || timed(|| drop(embedder.embed(&texts).expect("vectors")));
    let best = quickest(SLOW_ROUNDS, &mut [&mut alone, &mut packed, &mut ours]);
    let rate = |time: Duration| count as f64 / time.as_secs_f64();
    let bare = rate(best[0]).max(rate(best[1]));
    let what = format!(
        "tokens a second, text to vector: {:.0}; bare, tokens at hand: {:.0} one by one, {:.0} packed",
        rate(best[2]),
        rate(best[0]),
        rate(best[1])
    );
    report("embedding", &what, rate(best[2]) / bare, "at least 0.90");
}

/// Batches of texts in order, up to so many tokens.
fn bare_embedding(context: &mut LlamaContext, tokens: &[Vec<LlamaToken>], limit: usize) {
    let mut batch = LlamaBatch::new(512, 1);
    let mut rest = tokens;
    while !rest.is_empty() {
        batch.clear();
        let mut texts = 0;
        while texts < rest.len().min(64)
            && (texts == 0 || batch.n_tokens() as usize + rest[texts].len() <= limit)
        {
            for (position, token) in rest[texts].iter().enumerate() {
                batch
                    .add(*token, position as i32, &[texts as i32], true)
                    .expect("room");
            }
            texts += 1;
        }
        context.decode(&mut batch).expect("decoded");
        for text in 0..texts {
            std::hint::black_box(context.embeddings_seq_ith(text as i32).expect("a vector"));
        }
        rest = &rest[texts..];
    }
}

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

fn samples(bench: &mut Bench) {
    let generator = std::cell::RefCell::new(&mut bench.generator);
    let prompt = prompt_of(400, &generator.borrow());
    // hot enough that no sample ends by itself
    let hot = decoding(40, 20.0);
    let written = std::cell::Cell::new((0, 0));
    let best = quickest(
        ROUNDS,
        &mut [
            &mut || {
                generator.borrow_mut().clear_cache();
                timed(|| {
                    written.set((
                        complete(
                            &mut generator.borrow_mut(),
                            std::slice::from_ref(&prompt),
                            &hot,
                        ),
                        written.get().1,
                    ))
                })
            },
            &mut || {
                generator.borrow_mut().clear_cache();
                let prompts = vec![prompt.clone(); 10];
                timed(|| {
                    written.set((
                        written.get().0,
                        complete(&mut generator.borrow_mut(), &prompts, &hot),
                    ))
                })
            },
        ],
    );
    let what = format!(
        "ten samples of one prompt against one: {:.0} ms ({} tokens) against {:.0} ms ({} tokens)",
        milliseconds(best[1]),
        written.get().1,
        milliseconds(best[0]),
        written.get().0
    );
    report(
        "samples",
        &what,
        best[1].as_secs_f64() / best[0].as_secs_f64(),
        "at most 3",
    );
}

/// Calls made together and one by one with a cleared cache: times, and prompt tokens evaluated.
fn together_and_apart(
    generator: &mut LlamaGenerator,
    calls: &mut dyn FnMut(&mut LlamaGenerator, bool) -> u64,
) -> ([Duration; 2], [u64; 2]) {
    let generator = std::cell::RefCell::new(generator);
    let calls = std::cell::RefCell::new(calls);
    let evaluated = std::cell::Cell::new([0; 2]);
    let side = |apart: bool| {
        let mut generator = generator.borrow_mut();
        generator.clear_cache();
        timed(|| {
            let mut now = evaluated.get();
            now[usize::from(apart)] = (calls.borrow_mut())(&mut generator, apart);
            evaluated.set(now);
        })
    };
    let best = quickest(SLOW_ROUNDS, &mut [&mut || side(false), &mut || side(true)]);
    ([best[0], best[1]], evaluated.get())
}

fn run_calls(
    generator: &mut LlamaGenerator,
    prompts: &[Prompt],
    apart: bool,
    call: &mut dyn FnMut(&mut LlamaGenerator, &[Prompt]),
) -> u64 {
    let mut evaluated = 0;
    for part in prompts.chunks(if apart { 1 } else { prompts.len() }) {
        if apart {
            generator.clear_cache();
        }
        call(generator, part);
        evaluated += u64::from(generator.usage().prompt_tokens_evaluated);
    }
    evaluated
}

/// The calls of one DENSE measurement at k = 5.
fn measurement(bench: &mut Bench) {
    let question = "Who keeps the lighthouse?";
    let rephrasings: Vec<Prompt> = FACTS[..5]
        .iter()
        .map(|fact| Prompt::user(format!("Rewrite the following text at the syntactic level without changing its meaning. Modify the sentence structure, but preserve the original intent and semantic meaning. ONLY return the rewritten content without any additional token. Text: {fact}")))
        .collect();
    let answers: Vec<Prompt> = (0..6)
        .map(|changed| {
            let chunk = |at: usize| if at + 1 == changed { FACTS[5] } else { FACTS[at] };
            let context: Vec<String> = (0..5).map(|at| format!("[{}] {}", at + 1, chunk(at))).collect();
            Prompt::user(format!("Answer question {question} based on provided context, ONLY output a short answer with minimum words. Context:\n{}", context.join("\n")))
        })
        .collect();
    let replies = [
        "Mara Voss",
        "the harbour office",
        "Mara",
        "Voss of Tollen",
        "nobody",
        "the keeper Mara Voss",
    ];
    let judgements: Vec<Prompt> = (0..36)
        .filter(|pair| pair / 6 != pair % 6)
        .map(|pair| {
            Prompt::user(format!("We are evaluating answers to the question {question}\nHere are two possible answers:\nPossible Answer 1: {}\nPossible Answer 2: {}\nDoes Possible Answer 1 semantically entail Possible Answer 2? Respond with ONLY entailment, contradiction, or neutral.", replies[pair / 6], replies[pair % 6]))
        })
        .collect();
    let labels = ["entailment", "contradiction", "neutral"];
    let writing = |generator: &mut LlamaGenerator, apart: bool| {
        run_calls(generator, &rephrasings, apart, &mut |generator, prompts| {
            complete(generator, prompts, &decoding(40, 0.0));
        }) + run_calls(generator, &answers, apart, &mut |generator, prompts| {
            complete(generator, prompts, &decoding(16, 0.0));
        })
    };
    for each_label in [false, true] {
        let (times, tokens) = together_and_apart(&mut bench.generator, &mut |generator, apart| {
            let judged = if apart && each_label {
                each_label_alone(generator, &judgements, &labels)
            } else {
                run_calls(generator, &judgements, apart, &mut |generator, prompts| {
                    generator.classify(prompts, &labels).expect("labels");
                })
            };
            judged + writing(generator, apart)
        });
        let against = if each_label {
            "one by one, each label too"
        } else {
            "one by one, labels of a judgement together"
        };
        let what = format!(
            "prompt tokens evaluated, DENSE at k = 5, against {against}: {} of {}",
            tokens[0], tokens[1]
        );
        report(
            "measurement",
            &what,
            tokens[0] as f64 / tokens[1] as f64,
            "at most 0.333",
        );
        let what = format!(
            "time of the same: {:.0} ms of {:.0} ms",
            milliseconds(times[0]),
            milliseconds(times[1])
        );
        report(
            "measurement",
            &what,
            times[0].as_secs_f64() / times[1].as_secs_f64(),
            "at most 0.4",
        );
    }
}

/// Every label of every decision asked for on its own with a cleared cache.
fn each_label_alone(generator: &mut LlamaGenerator, prompts: &[Prompt], labels: &[&str]) -> u64 {
    let each = labels.iter().map(|label| {
        run_calls(generator, prompts, true, &mut |generator, prompts| {
            generator.classify(prompts, &[*label]).expect("a label");
        })
    });
    each.sum()
}

fn labels(bench: &mut Bench) {
    let question = "Who keeps the lighthouse on Sherk Island, and since when?";
    let passages: Vec<String> = (0..20)
        .map(|n| format!("{} Entry {n}.", FACTS[n % 6]))
        .collect();
    let grades: Vec<String> = (0..=10).map(|grade: u32| grade.to_string()).collect();
    let grades: Vec<&str> = grades.iter().map(String::as_str).collect();
    let prompts: Vec<Prompt> = ["Rate from 0 to 10 how relevant the passage is to the question. Only output the number.",
        "A first judge rated the relevance of the passage to the question 5 out of 10. Check that rating against the question and output a corrected rating from 0 to 10. Only output the number.",
        "As a critic, check that the names, dates and numbers asked for agree with the passage. Earlier ratings: 5 and 6. Output a final rating from 0 to 10. Only output the number."]
        .iter()
        .flat_map(|task| passages.iter().map(move |passage| Prompt::user(format!("{task}\nQuestion: {question}\nPassage: {passage}"))))
        .collect();
    let (times, tokens) = together_and_apart(&mut bench.generator, &mut |generator, apart| {
        run_calls(generator, &prompts, apart, &mut |generator, prompts| {
            generator.classify(prompts, &grades).expect("grades");
        })
    });
    let what = format!(
        "60 decisions among 11 labels over 20 chunks: {:.0} ms of {:.0} ms ({} of {} tokens)",
        milliseconds(times[0]),
        milliseconds(times[1]),
        tokens[0],
        tokens[1]
    );
    report(
        "labels",
        &what,
        times[0].as_secs_f64() / times[1].as_secs_f64(),
        "at most 0.333",
    );
    let (times, tokens) = together_and_apart(&mut bench.generator, &mut |generator, apart| {
        if apart {
            each_label_alone(generator, &prompts, &grades)
        } else {
            run_calls(generator, &prompts, false, &mut |generator, prompts| {
                generator.classify(prompts, &grades).expect("grades");
            })
        }
    });
    let what = format!(
        "the same, each label of each decision asked for on its own: {:.0} ms of {:.0} ms ({} of {} tokens)",
        milliseconds(times[0]),
        milliseconds(times[1]),
        tokens[0],
        tokens[1]
    );
    report(
        "labels",
        &what,
        times[0].as_secs_f64() / times[1].as_secs_f64(),
        "at most 0.333",
    );
}

/// Tokens a second with a tap at every sentence: here a sentence is 12 tokens.
fn probe(bench: &mut Bench) {
    tapped(
        bench,
        "probe",
        &Taps {
            hidden: vec![HiddenAt::FirstToken],
            attention: Vec::new(),
        },
        "at least 0.97",
    );
}

fn attribution(bench: &mut Bench) {
    let text = bench
        .generator
        .render(&long_writing())
        .expect("a prompt")
        .text;
    let part = text.len() / 6;
    let parts = (0..5).map(|at| at * part..(at + 1) * part).collect();
    tapped(
        bench,
        "attribution",
        &Taps {
            hidden: Vec::new(),
            attention: vec![parts],
        },
        "at least 0.85",
    );
}

fn tapped(bench: &mut Bench, name: &str, taps: &Taps, target: &str) {
    // without flash attention both ways when attention is read: its cost is another row
    let open = Taps {
        hidden: Vec::new(),
        attention: vec![Vec::new()],
    };
    let without = Some(&open).filter(|_| !taps.attention.is_empty());
    let generator = std::cell::RefCell::new(&mut bench.generator);
    let sentence = decoding(12, 0.0);
    let write = |taps: Option<&Taps>| {
        let mut generator = generator.borrow_mut();
        generator.clear_cache();
        let mut prompt = long_writing();
        timed(|| {
            for _ in 0..8 {
                let prompts = std::slice::from_ref(&prompt);
                let text = match taps {
                    None => {
                        generator
                            .complete(prompts, &sentence, &mut |_, _| Flow::Continue)
                            .expect("text")
                            .remove(0)
                            .text
                    }
                    Some(taps) => {
                        let mut tapped = generator
                            .complete_tapped(prompts, &sentence, taps, &mut |_, _| Flow::Continue)
                            .expect("text");
                        tapped.remove(0).completion.text
                    }
                };
                prompt.reply.push_str(&text);
            }
        })
    };
    let best = quickest(
        ROUNDS,
        &mut [&mut || write(without), &mut || write(Some(taps))],
    );
    let what = format!(
        "speed of eight sentences with the tap: {:.1} ms, without {:.1} ms",
        milliseconds(best[1]),
        milliseconds(best[0])
    );
    report(
        name,
        &what,
        best[0].as_secs_f64() / best[1].as_secs_f64(),
        target,
    );
}

/// What flash attention does to one continuation and to ten side by side.
fn flash(bench: &mut Bench) {
    let [open, flash] = [FlashAttention::Off, FlashAttention::On].map(|flash_attention| {
        std::cell::RefCell::new(generator_with(bench.runtime, flash_attention))
    });
    let prompt = prompt_of(400, &open.borrow());
    let hot = decoding(40, 20.0);
    for (count, what) in [
        (1, "one continuation of 40 tokens"),
        (10, "ten side by side"),
    ] {
        let prompts = vec![prompt.clone(); count];
        let write = |generator: &std::cell::RefCell<LlamaGenerator>| {
            generator.borrow_mut().clear_cache();
            timed(|| {
                complete(&mut generator.borrow_mut(), &prompts, &hot);
            })
        };
        let best = quickest(ROUNDS, &mut [&mut || write(&open), &mut || write(&flash)]);
        let (open, flash) = (milliseconds(best[0]), milliseconds(best[1]));
        let what =
            format!("speed without flash attention, {what}: {open:.0} ms, with it {flash:.0} ms");
        report("flash", &what, flash / open, "reported");
    }
}

fn load(bench: &mut Bench) {
    let best = quickest(
        ROUNDS,
        &mut [
            &mut || timed(|| drop(generator(bench.runtime))),
            &mut || timed(|| drop(embedder(bench.runtime))),
        ],
    );
    let both = best[0] + best[1];
    report(
        "load",
        &format!(
            "seconds until both bundled models are ready, file cache warm: {:.0} ms",
            milliseconds(both)
        ),
        both.as_secs_f64(),
        "below 1",
    );
}
