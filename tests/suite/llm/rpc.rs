//! One model over several workers: processes of this program on loopback.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ragscope::config::GeneratorSettings;
use ragscope::event::{Advice, Flow, StopFlag};
use ragscope::llm::rpc::RpcWorker;
use ragscope::llm::{
    End, Generator, HiddenAt, IsolatedGenerator, Layers, LlamaGenerator, LlmError, LoadedGenerator,
    OpenGenerator, Prompt, Tapped, Taps, load_generator,
};

use super::{
    bundled, exact_file, exact_settings, generator_settings, greedy, median, question, runtime,
    tokens_per_second,
};
use crate::support::environment::{QUESTION, TestEnvironment};

/// A worker that ends with the test.
struct Worker {
    child: Child,
    endpoint: String,
}

impl Worker {
    fn start(test: &TestEnvironment) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let mut child = test
            .command(["worker", "--listen", &endpoint])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a worker");

        let started = Instant::now();
        while let Err(error) = RpcWorker::ask(&endpoint) {
            let ended = child.try_wait().expect("its state");
            assert!(ended.is_none(), "the worker ended: {ended:?}");
            assert!(started.elapsed() < Duration::from_secs(60), "{error}");
            std::thread::yield_now();
        }
        Self { child, endpoint }
    }

    fn end(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn over(workers: &[Worker], settings: &GeneratorSettings) -> GeneratorSettings {
    GeneratorSettings {
        rpc: workers.iter().map(|one| one.endpoint.clone()).collect(),
        ..settings.clone()
    }
}

fn is_near(a: &[f32], b: &[f32], tolerance: f32) -> bool {
    let scale = a.iter().fold(1e-6_f32, |most, one| most.max(one.abs()));
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| (a - b).abs() <= tolerance * scale)
}

/// Everything that can be read of a generator.
struct Said {
    pub plain: Vec<Tapped>,
    pub tapped: Vec<Tapped>,
    pub labelled: Vec<Vec<f32>>,
    pub scores: Vec<Vec<f32>>,
    pub attended: Vec<Vec<f32>>,
    pub rendered: String,
}

impl Said {
    pub fn by(generator: &mut dyn OpenGenerator) -> Self {
        let prompts: Vec<Prompt> = ["How tall is the lighthouse?", "Who keeps the lighthouse?"]
            .map(question)
            .to_vec();
        let proceed = &mut |_: usize, _: &_| Flow::Continue;
        let rendered = generator.render(&prompts[0]).expect("a prompt").text;
        let passages = rendered.find("[1]").expect("a passage")..rendered.len();
        let taps = Taps {
            hidden: vec![HiddenAt::LastPromptToken, HiddenAt::FirstToken],
            attention: vec![vec![0..passages.start, passages]],
        };
        let text = "The lighthouse is tall. Its keeper is Mira Oakes.";
        let plain = generator.complete(&prompts, &greedy(16), proceed);
        Self {
            plain: plain
                .expect("completions")
                .into_iter()
                .map(|completion| Tapped {
                    completion,
                    hidden: Vec::new(),
                })
                .collect(),
            tapped: generator
                .complete_tapped(&prompts[..1], &greedy(16), &taps, proceed)
                .expect("a completion"),
            labelled: generator
                .classify(&prompts, &["yes", "no"])
                .expect("labels")
                .into_iter()
                .map(|one| one.shares)
                .collect(),
            scores: generator
                .score(&prompts, &["31 metres", "Mira Oakes"])
                .expect("scores"),
            attended: generator
                .attend(text, &[0..23, 24..text.len()], Layers::All)
                .expect("attention"),
            rendered,
        }
    }
}

fn assert_same(apart: &[Tapped], here: &[Tapped]) {
    assert_eq!(apart.len(), here.len());
    for (apart, here) in apart.iter().zip(here) {
        assert_eq!(apart.completion.text, here.completion.text);
        assert_eq!(apart.completion.end, here.completion.end);
        let ids = |tapped: &Tapped| -> Vec<i32> {
            let tokens = tapped.completion.tokens.iter();
            tokens.map(|token| token.id).collect()
        };
        assert_eq!(ids(apart), ids(here));
        for (apart, here) in apart.completion.tokens.iter().zip(&here.completion.tokens) {
            assert!(
                is_near(
                    &[apart.logprob, apart.entropy],
                    &[here.logprob, here.entropy],
                    1e-3
                ),
                "{apart:?} {here:?}"
            );
            assert!(is_near(&apart.attention, &here.attention, 1e-3));
        }
        assert_eq!(apart.hidden.len(), here.hidden.len());
        for (apart, here) in apart.hidden.iter().zip(&here.hidden) {
            assert_eq!((apart.at, apart.layers.len()), (here.at, here.layers.len()));
            for (apart, here) in apart.layers.iter().zip(&here.layers) {
                assert!(
                    is_near(apart, here, 1e-3),
                    "{:?} {:?}",
                    &apart[..4],
                    &here[..4]
                );
            }
        }
    }
}

#[test]
fn two_workers_give_what_one_machine_gives() {
    let test = TestEnvironment::new();
    let workers = [Worker::start(&test), Worker::start(&test)];
    let folder = tempfile::tempdir().expect("a folder");
    let file = exact_file(folder.path());
    let settings = exact_settings(&generator_settings());
    let runtime = runtime();
    let stop = StopFlag::default();
    let mut here = load_generator(&runtime, &file, &settings, &stop, &mut |_| Flow::Continue)
        .expect("the generator");
    let mut apart = IsolatedGenerator::load(&file, &over(&workers, &settings), &stop, &mut |_| {
        Flow::Continue
    })
    .expect("the generator over two workers");

    let card = apart.card().clone();
    assert_eq!(card.gpu_layers, card.layers, "every layer is with a worker");
    for worker in &workers {
        assert!(card.device.contains(&worker.endpoint), "{}", card.device);
    }
    assert_eq!(apart.can_share_prefixes(), here.can_share_prefixes());
    assert_eq!(apart.reply_start(), here.reply_start());

    let said = Said::by(&mut apart);
    let expected = Said::by(&mut here);
    assert_same(&said.plain, &expected.plain);
    assert_same(&said.tapped, &expected.tapped);
    assert_eq!(said.tapped[0].hidden.len(), 2);
    assert!(
        said.tapped[0].hidden[1].layers[5]
            .iter()
            .any(|one| one.abs() > 0.1)
    );
    for (apart, here) in [
        (&said.labelled, &expected.labelled),
        (&said.scores, &expected.scores),
        (&said.attended, &expected.attended),
    ] {
        assert!(!apart.is_empty());
        for (apart, here) in apart.iter().zip(here) {
            assert!(is_near(apart, here, 1e-3), "{apart:?} {here:?}");
        }
    }
    assert_eq!(said.rendered, expected.rendered);
    assert!(apart.usage().wall_us > 0);
}

#[test]
fn a_worker_that_dies_costs_the_call_and_not_the_program() {
    let test = TestEnvironment::new();
    let mut workers = [Worker::start(&test), Worker::start(&test)];
    let settings = over(&workers, &generator_settings());
    let file = bundled("ragscope-demo.Q8_0.gguf");
    let stop = StopFlag::default();
    let load = || IsolatedGenerator::load(&file, &settings, &stop, &mut |_| Flow::Continue);
    let mut generator = load().expect("a generator");

    let mut seen = 0;
    let dead = workers[1].endpoint.clone();
    let error = generator
        .complete(&[question("Who?")], &greedy(32), &mut |_, _| {
            seen += 1;
            if seen == 2 {
                workers[1].end();
            }
            Flow::Continue
        })
        .expect_err("the worker is dead");
    assert!(seen >= 2);
    let named = format!("the worker {dead} ");
    assert!(error.to_string().starts_with(&named), "{error}");
    assert!(
        error
            .advice()
            .is_some_and(|advice| advice.contains("ragscope worker"))
    );
    assert!(generator.is_lost());
    assert!(generator.render(&question("Who?")).is_err());

    let error = load().err().expect("the worker is still dead");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[test]
fn an_observer_and_a_stop_end_a_call_where_they_would_here() {
    let test = TestEnvironment::new();
    let workers = [Worker::start(&test)];
    let settings = over(&workers, &generator_settings());
    let file = bundled("ragscope-demo.Q8_0.gguf");
    let stop = StopFlag::default();
    let mut generator = IsolatedGenerator::load(&file, &settings, &stop, &mut |_| Flow::Continue)
        .expect("a generator");

    let mut seen = 0;
    let completions = generator
        .complete(&[question("Who?")], &greedy(32), &mut |_, _| {
            seen += 1;
            if seen == 3 {
                Flow::Stop
            } else {
                Flow::Continue
            }
        })
        .expect("the text so far");
    assert_eq!(
        (completions[0].tokens.len(), completions[0].end),
        (3, End::Stopped)
    );

    stop.mark_sent();
    stop.mark_taken();
    let mut seen = 0;
    let completions = generator.complete(&[question("Who?")], &greedy(1000), &mut |_, _| {
        seen += 1;
        if seen == 2 {
            stop.stop();
        }
        Flow::Continue
    });
    match completions {
        Ok(completions) => assert_eq!(completions[0].end, End::Stopped),
        Err(error) => assert!(matches!(error, LlmError::Stopped(_)), "{error}"),
    }
    assert!(!generator.is_lost());
    stop.mark_sent();
    stop.mark_taken();
    let again = generator
        .complete(&[question("Who?")], &greedy(4), &mut |_, _| Flow::Continue)
        .expect("the stop is over");
    assert!(!again[0].tokens.is_empty());
}

#[test]
fn the_program_answers_over_workers_and_says_which_one_is_missing() {
    let test = TestEnvironment::new();
    let mut workers = [Worker::start(&test), Worker::start(&test)];
    let list = format!(
        "generator.rpc=[\"{}\", \"{}\"]",
        workers[0].endpoint, workers[1].endpoint
    );
    let notes = test.corpus();
    let notes = notes.to_str().expect("UTF-8");
    let ask = ["ask", notes, QUESTION, "--set", &list];

    let here = test.run(["ask", notes, QUESTION]);
    let apart = test.run(ask);
    // behind the short answer stand the times
    let answer = |stdout: &str| stdout.split(" tokens in ").next().map(str::to_owned);
    assert_eq!(apart.code, Some(0), "{}", apart.stderr);
    assert_eq!(answer(&apart.stdout), answer(&here.stdout));
    assert!(here.stdout.contains("answer: "), "{}", here.stdout);

    let doctor = test.run(["doctor", "--set", &list]);
    for worker in &workers {
        let line = format!("{}: ", worker.endpoint);
        let found = doctor.stdout.lines().find(|one| one.contains(&line));
        let found = found.unwrap_or_else(|| panic!("{}", doctor.stdout));
        assert!(
            found.contains("free of") && found.contains("protocol 7."),
            "{found}"
        );
    }

    workers[0].end();
    let failed = test.run(ask).exits(1);
    let said = format!("the worker {} cannot be reached", workers[0].endpoint);
    assert!(failed.stderr.contains(&said), "{}", failed.stderr);
    test.run(["doctor", "--set", &list]).exits(1).prints(&said);
}

/// Tokens per second over two workers on loopback and in this process, in turns:
/// `RAGSCOPE_RPC_MODEL=FILE cargo test --test suite -- --ignored --nocapture measures_workers`. Set
/// `GOMP_SPINCOUNT=2000`, as the program does.
#[test]
#[ignore = "measures"]
fn measures_workers() {
    let test = TestEnvironment::new();
    let workers = [Worker::start(&test), Worker::start(&test)];
    measure(&over(&workers, &generator_settings()), "over two workers");
}

/// The cost of a process of its own for a generator without workers: its start, its tokens and its
/// hidden states, as above.
#[test]
#[ignore = "measures"]
fn measures_a_process_of_its_own() {
    const PLACE: &str = "in a process of its own";
    let settings = generator_settings();
    measure(&settings, PLACE);
    // a worker has one client: only without workers a second generator is loaded beside the first
    let starts = || {
        (
            timed(|| drop(load_here(&settings))),
            timed(|| drop(load_apart(&settings))),
        )
    };
    compare((0..TURNS).map(|_| starts()), "ms to load", PLACE);
}

const TURNS: usize = 15;

fn measured_file() -> PathBuf {
    std::env::var("RAGSCOPE_RPC_MODEL")
        .map_or_else(|_| bundled("ragscope-reader.Q5_0.gguf"), PathBuf::from)
}

fn load_here(settings: &GeneratorSettings) -> LlamaGenerator {
    let stop = StopFlag::default();
    load_generator(&runtime(), &measured_file(), settings, &stop, &mut |_| {
        Flow::Continue
    })
    .expect("the generator")
}

fn load_apart(settings: &GeneratorSettings) -> IsolatedGenerator {
    let stop = StopFlag::default();
    IsolatedGenerator::load(&measured_file(), settings, &stop, &mut |_| Flow::Continue)
        .expect("the generator in a process")
}

fn measure(settings: &GeneratorSettings, place: &str) {
    let (mut here, mut apart) = (load_here(&generator_settings()), load_apart(settings));
    let prompt = question("Describe the lighthouse, its keeper and the island.");
    let rates = (0..TURNS).map(|_| {
        (
            tokens_per_second(&mut here, &prompt),
            tokens_per_second(&mut apart, &prompt),
        )
    });
    compare(rates, "tokens/s", place);
    let taps = (0..TURNS).map(|_| {
        (
            taps_per_second(&mut here, &prompt),
            taps_per_second(&mut apart, &prompt),
        )
    });
    compare(taps, "tapped sentences/s", place);
}

/// Prints the medians of figures taken here and apart in turns.
fn compare(pairs: impl Iterator<Item = (f64, f64)>, unit: &str, place: &str) {
    let (here, apart): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let (here, apart) = (median(here), median(apart));
    println!(
        "{here:.1} {unit} here, {apart:.1} {place}, {:.0} %",
        100.0 * apart / here
    );
}

/// Sentences of twelve tokens per second whose hidden states of all layers are read, as the gate
/// does.
fn taps_per_second(generator: &mut dyn OpenGenerator, prompt: &Prompt) -> f64 {
    let taps = Taps {
        hidden: vec![HiddenAt::LastPromptToken, HiddenAt::FirstToken],
        attention: Vec::new(),
    };
    let milliseconds = timed(|| {
        let prompts = std::slice::from_ref(prompt);
        let tapped =
            generator.complete_tapped(prompts, &greedy(12), &taps, &mut |_, _| Flow::Continue);
        assert!(!tapped.expect("a sentence")[0].hidden.is_empty());
    });
    1e3 / milliseconds
}

/// Returns the milliseconds of a call.
fn timed(call: impl FnOnce()) -> f64 {
    let started = Instant::now();
    call();
    started.elapsed().as_secs_f64() * 1e3
}

#[test]
fn an_address_that_others_reach_is_warned_about() {
    let test = TestEnvironment::new();
    let mut child = test.start(["worker", "--listen", "0.0.0.0:1"]);
    // a port below 1024 cannot be listened on by everyone: either way the warning comes first
    let mut line = String::new();
    let stderr = child.stderr.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stderr), &mut line).expect("a line");
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(line.contains("no authentication"), "{line}");

    for (listen, said) in [
        ("50052", "not the address of a worker"),
        ("127.0.0.1:1:2", "not the address of a worker"),
    ] {
        test.run(["worker", "--listen", listen])
            .exits(1)
            .reports(said);
    }
}
