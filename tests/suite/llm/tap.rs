//! Hidden states and attention.

use ragscope::event::{Flow, StopFlag};
use ragscope::llm::{
    Embedder, Generator, HiddenAt, Layers, LlamaGenerator, Prompt, Tap, Tapped, Taps, load_linker,
};

use super::{
    between_batches, bundled, complete, dot, embedder, exact_generator, generator,
    generator_settings, greedy, one, question, runtime,
};

#[test]
fn hidden_states_do_not_depend_on_the_company() {
    let mut generator = exact_generator(&generator_settings(), &StopFlag::default());
    let prompts: Vec<Prompt> = [
        "How tall is the lighthouse?",
        "Who keeps the lighthouse?",
        "When was it built?",
    ]
    .map(question)
    .to_vec();
    let taps = Taps {
        hidden: vec![HiddenAt::LastPromptToken, HiddenAt::FirstToken],
        attention: Vec::new(),
    };
    let tapped = |generator: &mut LlamaGenerator, prompts: &[Prompt]| {
        generator
            .complete_tapped(prompts, &greedy(12), &taps, &mut |_, _| Flow::Continue)
            .expect("a completion")
    };
    let together = tapped(&mut generator, &prompts);
    let plain = complete(&mut generator, &prompts, &greedy(12));
    for (prompt, together) in prompts.iter().zip(&together) {
        generator.clear_cache();
        let alone = tapped(&mut generator, std::slice::from_ref(prompt)).remove(0);
        assert_eq!(together.hidden.len(), 2);
        assert_eq!(
            (together.hidden[0].at, together.hidden[1].at),
            (HiddenAt::LastPromptToken, HiddenAt::FirstToken)
        );
        for (alone, together) in alone.hidden.iter().zip(&together.hidden) {
            assert_eq!((alone.layers.len(), together.layers.len()), (6, 6));
            for (layer, (alone, together)) in alone.layers.iter().zip(&together.layers).enumerate()
            {
                assert_eq!(alone.len(), 256);
                let error: f32 = alone
                    .iter()
                    .zip(together)
                    .map(|(a, b)| (a - b).powi(2))
                    .sum::<f32>()
                    .sqrt();
                let relative = error / dot(alone, alone).sqrt();
                assert!(
                    relative < between_batches(1e-4),
                    "layer {layer}: {relative}"
                );
            }
        }
    }
    let texts: Vec<&str> = plain.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(
        together
            .iter()
            .map(|one| one.completion.text.as_str())
            .collect::<Vec<_>>(),
        texts
    );
    assert!(
        together
            .iter()
            .flat_map(|one| &one.completion.tokens)
            .all(|token| token.attention.is_empty())
    );
}

#[test]
fn attention_says_which_passage_each_token_looked_at() {
    let mut generator = generator();
    let prompt = question("How tall is the lighthouse?");
    let text = generator.render(&prompt).expect("a prompt").text;
    let second = text.find("[2]").expect("the second passage");
    let first = text.find("[1]").expect("the first passage");
    let after = text.find("Answer the question").expect("the instruction");
    let taps = Taps {
        hidden: vec![HiddenAt::FirstToken],
        attention: vec![vec![
            0..first,
            first..second,
            second..after,
            after..text.len(),
        ]],
    };
    let tapped = generator
        .complete_tapped(
            std::slice::from_ref(&prompt),
            &greedy(30),
            &taps,
            &mut |_, _| Flow::Continue,
        )
        .expect("a completion")
        .remove(0);
    let rows = |tapped: &Tapped| -> Vec<Vec<f32>> {
        tapped
            .completion
            .tokens
            .iter()
            .map(|token| token.attention.clone())
            .collect()
    };
    let attention = rows(&tapped);
    assert!(
        (attention[0].iter().sum::<f32>() - 1.0).abs() < 1e-3,
        "the first token sees the prompt: {:?}",
        attention[0]
    );
    for row in &attention {
        assert!(
            row.iter().all(|share| (0.0..=1.0).contains(share)) && row.iter().sum::<f32>() < 1.001,
            "{row:?}"
        );
    }
    assert_eq!(tapped.hidden.len(), 1);
    // unfused attention generates the same text
    let plain = one(&mut generator, &prompt, &greedy(30));
    assert_eq!(tapped.completion.text, plain.text);
    // and again from the cache, with the same shares
    let again = generator
        .complete_tapped(&[prompt], &greedy(30), &taps, &mut |_, _| Flow::Continue)
        .expect("again")
        .remove(0);
    for (a, b) in rows(&again)
        .iter()
        .flatten()
        .zip(attention.iter().flatten())
    {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }
}

#[test]
fn vectors_in_place_of_tokens_attend_to_each_other() {
    let mut generator = generator();
    let vectors: Vec<Vec<f32>> = (0..40)
        .map(|n| {
            (0..256)
                .map(|d| ((n * 31 + d * 7) % 13) as f32 / 13.0 - 0.5)
                .collect()
        })
        .collect();
    let rows = generator
        .attend_vectors(&vectors, Layers::All)
        .expect("attention");
    assert_eq!((rows.len(), rows[0].len()), (40, 40));
    for (at, row) in rows.iter().enumerate() {
        assert!(
            (row.iter().sum::<f32>() - 1.0).abs() < 1e-3
                && row[at + 1..].iter().all(|later| *later == 0.0)
        );
    }
    assert!(
        generator
            .attend_vectors(&[vec![0.0; 384]], Layers::All)
            .is_err()
    );
}

#[test]
fn the_sentence_model_reads_the_embedders_vectors() {
    let units = [
        "The lighthouse stands on Sherk Island. It is 40 metres tall.",
        "Mara Voss keeps it. She was born in Lorby.",
        "The harbour has two cranes. One of them is red.",
        "The lighthouse was built in 1871. Nobody remembers the builder.",
        "Bread is baked before four. It is gone by seven.",
    ];
    let vectors = embedder().embed(&units).expect("vectors");
    let file = bundled("ragscope-sentences.F16.gguf");
    let mut model = load_linker(
        &runtime(),
        &file,
        &generator_settings(),
        &StopFlag::default(),
        &mut |_| Flow::Continue,
    )
    .expect("the bundled sentence-level model");
    assert_eq!(model.card().width, embedder().card().width);
    let rows = model
        .attend_vectors(&vectors, Layers::All)
        .expect("attention");
    assert_eq!((rows.len(), rows[0].len()), (units.len(), units.len()));
    for (at, row) in rows.iter().enumerate() {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{row:?}");
        assert!(
            row.iter().all(|share| *share >= 0.0)
                && row[at + 1..].iter().all(|later| *later == 0.0),
            "{row:?}"
        );
    }
    // what a unit says changes where the later ones look
    let swapped: Vec<Vec<f32>> = [0, 4, 2, 3, 1].map(|at| vectors[at].clone()).to_vec();
    let other = model
        .attend_vectors(&swapped, Layers::All)
        .expect("attention");
    assert!(
        (0..4).any(|at| (rows[3][at] - other[3][at]).abs() > 1e-3),
        "{:?} {:?}",
        rows[3],
        other[3]
    );
}
