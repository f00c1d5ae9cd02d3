//! Many prompts at once, stops, and a context that is too small.

use std::process::Stdio;

use ragscope::config::GeneratorSettings;
use ragscope::event::{Flow, StopFlag};
use ragscope::llm::{Completion, Decoding, End, Generator, LlmError, Prompt};

use super::{
    CONTEXT, complete, exact_generator, generator, generator_settings, generator_with, greedy,
    has_gpu, next_command, one, question,
};
use crate::support::child;
use crate::support::environment::CommandOutput;

#[test]
fn many_prompts_give_what_each_gives_alone_and_share_what_is_common() {
    let mut generator = generator();
    let prompts: Vec<Prompt> = [
        "How tall is the lighthouse?",
        "Who keeps the lighthouse?",
        "When was it built?",
        "Who keeps the lighthouse?",
    ]
    .iter()
    .map(|text| question(text))
    .collect();
    let together = complete(&mut generator, &prompts, &greedy(40));
    let shared = generator.usage();
    for (prompt, together) in prompts.iter().zip(&together) {
        generator.clear_cache();
        let alone = one(&mut generator, prompt, &greedy(40));
        assert_eq!(alone.text, together.text);
        for (alone, together) in alone.tokens.iter().zip(&together.tokens) {
            assert!(
                (alone.logprob - together.logprob).abs() < 0.05,
                "{alone:?} {together:?}"
            );
        }
    }
    assert!(
        shared.prompt_tokens_reused > 2 * shared.prompt_tokens_evaluated,
        "{shared:?}"
    );
    assert!(generator.is_cache_consistent());
}

#[test]
fn a_call_stops_within_one_step_from_either_side_and_leaves_the_cache_sound() {
    let stop = StopFlag::default();
    let mut generator = generator_with(&generator_settings(), &stop);
    let prompts = vec![
        question("How tall is the lighthouse?"),
        question("Who keeps it?"),
    ];
    let whole = complete(&mut generator, &prompts, &greedy(40));
    for steps in 1..12 {
        for by_flag in [false, true] {
            generator.clear_cache();
            let mut seen = 0;
            let stopped = generator
                .complete(&prompts, &greedy(40), &mut |_, _| {
                    seen += 1;
                    match (seen == steps, by_flag) {
                        (true, true) => stop.stop(),
                        (true, false) => return Flow::Stop,
                        (false, _) => {}
                    }
                    Flow::Continue
                })
                .expect("what there is");
            next_command(&stop);
            let written: usize = stopped.iter().map(|one| one.tokens.len()).sum();
            assert!(
                written >= steps && written <= steps + 1,
                "{written} tokens for {steps}"
            );
            assert!(
                stopped.iter().all(|one| one.end == End::Stopped),
                "{stopped:?}"
            );
            assert!(
                stopped
                    .iter()
                    .zip(&whole)
                    .all(|(part, whole)| whole.text.starts_with(&part.text))
            );
            assert!(generator.is_cache_consistent());
        }
    }
    let again = complete(&mut generator, &prompts, &greedy(40));
    if has_gpu() {
        let texts = |all: &[Completion]| all.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&again), texts(&whole));
    } else {
        assert_eq!(again, whole);
    }
}

#[test]
fn a_stop_reaches_into_a_long_prompt() {
    let stop = StopFlag::default();
    let mut generator = generator_with(&generator_settings(), &stop);
    let prompt = Prompt::user("the ".repeat(1900));
    stop.stop();
    let stopped = complete(&mut generator, std::slice::from_ref(&prompt), &greedy(5));
    assert_eq!((stopped[0].end, stopped[0].tokens.len()), (End::Stopped, 0));
    next_command(&stop);
    let begun = std::sync::Arc::new(std::sync::Barrier::new(2));
    let setter = {
        let (stop, begun) = (stop.clone(), begun.clone());
        std::thread::spawn(move || {
            begun.wait();
            stop.stop();
        })
    };
    begun.wait();
    let stopped = complete(&mut generator, std::slice::from_ref(&prompt), &greedy(5));
    setter.join().expect("the other thread");
    assert_eq!(stopped[0].end, End::Stopped);
    assert!(generator.is_cache_consistent());
    next_command(&stop);
    assert_eq!(
        complete(&mut generator, &[prompt], &greedy(2))[0]
            .tokens
            .len(),
        2
    );
}

#[test]
fn a_prompt_longer_than_the_context_is_refused_before_anything_runs() {
    let mut generator = generator();
    let prompts = [
        question("How tall?"),
        Prompt::user("lighthouse ".repeat(3000)),
    ];
    let error = generator
        .complete(&prompts, &greedy(5), &mut |_, _| panic!("nothing runs"))
        .expect_err("too long");
    match error {
        LlmError::PromptTooLong {
            prompt_tokens,
            context_tokens,
        } => {
            assert!(prompt_tokens > 2048 && context_tokens == 2048);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn more_than_fits_is_done_in_pieces() {
    let settings = GeneratorSettings {
        context_tokens: 512,
        ..generator_settings()
    };
    let mut small = generator_with(&settings, &StopFlag::default());
    let mut large = generator();
    let prompts: Vec<Prompt> = (0..80)
        .map(|n| {
            Prompt::user(format!(
                "{n} {CONTEXT}\nQuestion: Who keeps lighthouse number {n}?"
            ))
        })
        .collect();
    let pieces = complete(&mut small, &prompts, &greedy(24));
    let whole = complete(&mut large, &prompts, &greedy(24));
    let equal = pieces
        .iter()
        .zip(&whole)
        .filter(|(a, b)| a.text == b.text)
        .count();
    assert!(equal >= 78, "{equal} of 80");
    assert!(small.is_cache_consistent() && large.is_cache_consistent());
}

#[test]
fn a_full_context_ends_a_continuation() {
    let settings = GeneratorSettings {
        context_tokens: 256,
        ..generator_settings()
    };
    let mut generator = generator_with(&settings, &StopFlag::default());
    let prompt = Prompt::user("the ".repeat(230));
    let room = 256 - generator.render(&prompt).expect("a prompt").tokens.len();
    let full = complete(
        &mut generator,
        &[prompt.clone(), prompt],
        &Decoding {
            temperature: 5.0,
            ..greedy(2000)
        },
    );
    for one in &full {
        assert_eq!((one.end, one.tokens.len()), (End::ContextFull, room + 1));
    }
    assert!(generator.is_cache_consistent());
}

#[test]
fn a_context_of_any_size_takes_prompts_up_to_it() {
    for (context_tokens, words) in [(300, 400), (1, 200), (257, 450)] {
        let settings = GeneratorSettings {
            context_tokens,
            ..generator_settings()
        };
        let mut generator = generator_with(&settings, &StopFlag::default());
        assert!(generator.card().context_tokens >= context_tokens);
        assert!(
            !one(
                &mut generator,
                &Prompt::user("the ".repeat(words)),
                &greedy(3)
            )
            .tokens
            .is_empty()
        );
    }
}

#[test]
fn what_is_reused_is_counted_only_where_it_was() {
    let mut generator = generator();
    let prompts: Vec<Prompt> = ["How tall is the lighthouse?", "Who keeps it?"]
        .map(question)
        .to_vec();
    let lengths: Vec<u32> = prompts
        .iter()
        .map(|prompt| generator.render(prompt).expect("a prompt").tokens.len() as u32)
        .collect();
    complete(&mut generator, &prompts, &greedy(4));
    let both = generator.usage();
    assert_eq!(
        both.prompt_tokens_evaluated + both.prompt_tokens_reused,
        lengths.iter().sum::<u32>()
    );
    let stop = StopFlag::default();
    let mut stopped = generator_with(&generator_settings(), &stop);
    stop.stop();
    complete(&mut stopped, &prompts, &greedy(4));
    let nothing = stopped.usage();
    assert_eq!(
        (
            nothing.prompt_tokens_evaluated,
            nothing.prompt_tokens_reused
        ),
        (0, 0)
    );
}

/// Pseudo-random numbers for histories of calls (a linear congruential generator: the same history
/// every time).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A prompt of fragments that other prompts have too, so that a call is a tree of random shape.
fn random_prompt(dice: &mut Dice) -> Prompt {
    let fragments = [
        CONTEXT,
        "[3] The ferry comes at dusk.\n",
        "Question: Who keeps the lighthouse?\n",
        "Name it. ",
        "When? ",
        "",
    ];
    let mut text = String::new();
    for _ in 0..1 + dice.below(4) {
        text.push_str(fragments[dice.below(6) as usize]);
    }
    let reply = ["", "", " The", " So the answer is"][dice.below(4) as usize].to_owned();
    Prompt {
        reply,
        ..Prompt::user(text + "Answer.")
    }
}

#[test]
fn random_trees_with_stops_and_evictions_equal_one_by_one() {
    let settings = GeneratorSettings {
        context_tokens: 768,
        ..generator_settings()
    };
    let stop = StopFlag::default();
    let mut tree = exact_generator(&settings, &stop);
    let mut alone = exact_generator(&generator_settings(), &stop);
    let mut dice = Dice(17);
    let (mut checked, mut calls) = (0, 0);
    while checked < 200 {
        calls += 1;
        let prompts: Vec<Prompt> = (0..1 + dice.below(16))
            .map(|_| random_prompt(&mut dice))
            .collect();
        let decoding = greedy(1 + dice.below(12) as u32);
        if calls % 3 == 0 {
            // a call that is stopped somewhere leaves no trace in those after it
            let (mut steps, limit) = (0, dice.below(20));
            tree.complete(&prompts, &decoding, &mut |_, _| {
                steps += 1;
                if steps > limit {
                    Flow::Stop
                } else {
                    Flow::Continue
                }
            })
            .expect("what there is");
        }
        let written = complete(&mut tree, &prompts, &decoding);
        assert!(tree.is_cache_consistent());
        for (prompt, written) in prompts.iter().zip(written) {
            alone.clear_cache();
            let expected = one(&mut alone, prompt, &decoding);
            checked += 1;
            assert_eq!(
                (&written.text, written.end),
                (&expected.text, expected.end),
                "{prompt:?}"
            );
            for (written, expected) in written.tokens.iter().zip(&expected.tokens) {
                assert_eq!(written.id, expected.id);
                assert!(
                    (written.logprob - expected.logprob).abs() < 1e-3,
                    "{written:?} {expected:?}"
                );
            }
        }
    }
}

#[test]
fn more_samples_than_sequences_come_in_turn() {
    let mut generator = generator();
    let prompts = vec![question("Who keeps the lighthouse?"); 150];
    let decoding = Decoding {
        temperature: 0.7,
        ..greedy(6)
    };
    let many = complete(&mut generator, &prompts, &decoding);
    assert_eq!(many.len(), 150);
    assert!(many.iter().all(|one| !one.tokens.is_empty()));
    let usage = generator.usage();
    // the prompt once; the rest is shared
    assert!(usage.prompt_tokens_evaluated < 200, "{usage:?}");
    assert!(generator.is_cache_consistent());
}

/// Resident bytes of this process.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * 4096
}

/// Completes prompts a thousand times, in a process whose memory no other test takes.
fn complete_a_thousand_times() {
    let mut generator = generator();
    // the largest batch over a full cache touches every page of the buffers that llama.cpp has set
    // aside
    let longest = Prompt::user("salt ".repeat(1900));
    let _ = complete(&mut generator, &[longest], &greedy(1));
    let mut dice = Dice(3);
    let mut after_warming_up = 0;
    for run in 0..1000 {
        let prompts: Vec<Prompt> = (0..2).map(|_| random_prompt(&mut dice)).collect();
        let mut steps = 0;
        let stop_at = if run % 10 == 0 { 1 } else { u32::MAX };
        generator
            .complete(&prompts, &greedy(3), &mut |_, _| {
                steps += 1;
                if steps >= stop_at {
                    Flow::Stop
                } else {
                    Flow::Continue
                }
            })
            .expect("a completion");
        if run == 300 {
            after_warming_up = resident_bytes();
        }
    }
    assert!(generator.is_cache_consistent());
    let grown = resident_bytes().saturating_sub(after_warming_up);
    assert!(
        grown < 2 << 20,
        "{grown} bytes more after 1,000 runs than after 300"
    );
}

#[test]
fn memory_does_not_grow_over_a_thousand_runs() {
    if child::task().is_some() {
        return complete_a_thousand_times();
    }
    let name = "memory_does_not_grow_over_a_thousand_runs";
    let mut child = child::command(module_path!(), name, "measure");
    CommandOutput::from_command(child.stderr(Stdio::piped())).succeeds();
}
