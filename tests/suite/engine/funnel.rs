//! Rewriter, linker, filters and reranker over scripted models: what each drops, and what happens
//! when nothing is left.

use ragscope::event::{DropReason, RunEvent};
use ragscope::llm::Embedder as _;

use super::{SHELF, config, run};
use crate::support::find;
use crate::support::scripted::{ScriptedEmbedder, ScriptedGenerator};

const QUESTION: &str = "Where was Tam Reeve born?";

fn events(settings: &[(&str, &str)], generator: ScriptedGenerator) -> Vec<RunEvent> {
    let mut generator = generator.when("Context:", " So the answer is Aldmouth.");
    let (outcome, events) = run(&config(settings), &mut generator, QUESTION, usize::MAX);
    outcome.expect("it ran");
    events
}

/// The chunks of the context, and the others with the reason.
fn context(events: &[RunEvent]) -> (Vec<u64>, Vec<(u64, DropReason)>) {
    let built = find!(events.iter().rev(), RunEvent::ContextBuilt { context, .. } => context);
    let built = built.expect("a context");
    let dropped = built
        .dropped
        .iter()
        .map(|dropped| (dropped.chunk, dropped.reason.clone()))
        .collect();
    (
        built.chunks.iter().map(|chunk| chunk.chunk).collect(),
        dropped,
    )
}

#[test]
fn chunks_below_the_threshold_of_their_grades_are_dropped_with_it() {
    let judged = ScriptedGenerator::new()
        .judging("Passage: Tam Reeve was born", "10", 1.0)
        .judging("Passage: Mira", "4", 1.0)
        .judging("Passage", "0", 1.0);
    let events = events(&[("filter.kind", "graded")], judged);
    let (kept, dropped) = context(&events);
    assert_eq!(kept, [10, 20], "1.0 and 0.4 reach the mean of 0.35");
    let below: Vec<u64> = dropped
        .iter()
        .filter(|(_, reason)| matches!(reason, DropReason::BelowThreshold { score, threshold } if score < threshold))
        .map(|(chunk, _)| *chunk)
        .collect();
    assert_eq!(below, [30, 40]);
    let graded = find!(
        events.iter(),
        RunEvent::ChunksGraded { graded, threshold, is_tight, fell_back, .. } =>
            (graded, threshold, is_tight, fell_back)
    );
    let (graded, threshold, is_tight, fell_back) = graded.expect("grades");
    assert_eq!(
        (graded.len(), *is_tight, *fell_back),
        (SHELF.len(), false, false)
    );
    assert!(
        (threshold - 0.35).abs() < 1e-5
            && graded
                .iter()
                .all(|one| (one.score - one.grades[0]).abs() < 1e-5)
    );
}

#[test]
fn a_share_of_the_tokens_is_the_context_whatever_the_grades() {
    let judged = || {
        ScriptedGenerator::new()
            .judging("Passage: Ropes", "10", 1.0)
            .judging("Passage", "0", 1.0)
    };
    let cases: [(&str, &str, &[u64]); 4] = [
        ("0", "4", &[40]),
        ("0.5", "4", &[10, 40]),
        ("1", "4", &[10, 20, 30, 40]),
        ("1", "2", &[10, 20, 30, 40]),
    ];
    for (share, k, expected) in cases {
        let settings = [
            ("filter.kind", "graded"),
            ("filter.share", share),
            ("retriever.k", k),
        ];
        let events = events(&settings, judged());
        assert_eq!(context(&events).0, expected, "{share} {k}");
    }
}

#[test]
fn equal_grades_keep_everything_and_the_filter_falls_back_when_every_chunk_is_rejected() {
    let equal = events(
        &[("filter.kind", "graded"), ("retriever.k", "4")],
        ScriptedGenerator::new(),
    );
    assert_eq!(context(&equal).0.len(), SHELF.len());
    for (fallback, kept) in [("0", 0), ("4", SHELF.len())] {
        let rejecting = ScriptedGenerator::new().judging("Knowledge", "0", 0.99);
        let emitted = events(
            &[
                ("filter.kind", "binary"),
                ("filter.fallback", fallback),
                ("retriever.k", "4"),
            ],
            rejecting,
        );
        assert_eq!(context(&emitted).0.len(), kept, "fallback {fallback}");
        let fell_back = emitted.iter().any(|event| {
            matches!(
                event,
                RunEvent::ChunksJudged {
                    fell_back: true,
                    ..
                }
            )
        });
        assert_eq!(fell_back, kept > 0, "the fallback is emitted");
    }
}

#[test]
fn what_a_judge_finds_irrelevant_is_dropped() {
    let judge = ScriptedGenerator::new()
        .judging("Knowledge: Tam", "1", 0.9)
        .judging("Knowledge", "0", 0.9);
    let (kept, dropped) = context(&events(&[("filter.kind", "binary")], judge));
    assert_eq!(kept, [20]);
    assert!(
        dropped
            .iter()
            .all(|(_, reason)| matches!(reason, DropReason::Irrelevant { probability, .. } if *probability < 0.2))
    );
}

#[test]
fn a_rewrite_is_used_when_it_says_something_of_the_question() {
    for (reply, used, query) in [
        (
            " Tam Reeve birthplace",
            true,
            "Where was Tam Reeve born? birthplace",
        ),
        (" harbours", false, QUESTION),
        (" harbours", false, QUESTION),
    ] {
        let settings = [("rewriter.kind", "generator")];
        let events = events(&settings, ScriptedGenerator::new().when("keywords", reply));
        let emitted = find!(events.iter(), RunEvent::QuestionRewritten { used, .. } => *used);
        assert_eq!(emitted, Some(used), "{reply:?}");
        let asked = find!(events.iter(), RunEvent::QueryWritten { query, .. } => query.clone());
        assert_eq!(asked.as_deref(), Some(query), "{reply:?}");
    }
}

/// ChunkRAG's algorithm 1, lines 13 to 15: what is searched is what chunks are judged by.
#[test]
fn a_rewrite_in_place_of_the_question_is_searched_and_judged_by() {
    for (reply, query) in [(" Aldmouth harbours", "Aldmouth harbours"), (" ", QUESTION)] {
        let settings = [("rewriter.kind", "replace"), ("filter.kind", "binary")];
        let generator = ScriptedGenerator::new().when("keywords", reply);
        let events = events(&settings, generator);
        let asked = find!(events.iter(), RunEvent::QueryWritten { query, .. } => query.clone());
        assert_eq!(asked.as_deref(), Some(query));

        let is_judged = |purpose: &str| purpose == "relevant";
        let judged = events.iter().filter_map(|event| match event {
            RunEvent::ModelCalled {
                purpose, prompt, ..
            } if is_judged(purpose) => Some(prompt),
            _ => None,
        });
        let judged: Vec<&String> = judged.collect();
        assert!(!judged.is_empty());
        for prompt in judged {
            assert!(prompt.contains(query), "{prompt}");
            assert_eq!(prompt.contains(QUESTION), query == QUESTION, "{prompt}");
        }
    }
}

#[test]
fn texts_with_a_chunk_in_common_stay_apart_where_none_are_merged() {
    let texts = |merge: &str| {
        let settings = [
            ("linker.kind", "neighbours"),
            ("linker.merge", merge),
            ("retriever.k", "2"),
        ];
        let events = events(&settings, ScriptedGenerator::new());
        let linked = find!(events.iter(), RunEvent::ChunksLinked { linked, .. } => linked.clone());
        let linked = linked.expect("links");
        (linked, context(&events).0)
    };

    let (linked, apart) = texts("false");
    let ids = linked.iter().map(|text| text.hit.chunk.id);
    assert_eq!(apart, ids.take(2).collect::<Vec<_>>());
    let (_, merged) = texts("true");
    assert_ne!(apart, merged);
}

#[test]
fn hits_are_joined_with_their_relatives_and_texts_with_a_chunk_in_common_are_merged() {
    let settings = [("linker.kind", "tokens"), ("retriever.k", "2")];
    let events = events(&settings, ScriptedGenerator::new());
    let linked = find!(events.iter(), RunEvent::ChunksLinked { linked, .. } => linked.clone());
    let linked = linked.expect("links");
    assert!(!linked.is_empty());
    for text in &linked {
        let parts: Vec<u64> = text.hit.chunk.parts.iter().map(|part| part.chunk).collect();
        assert!(
            parts.contains(&text.seed) && parts.contains(&text.relatives[0].chunk),
            "{text:?}"
        );
        assert!(text.relatives[0].weight > 0.0);
    }
    let links = events
        .iter()
        .filter(|event| matches!(event, RunEvent::LinksRead { .. }))
        .count();
    assert_eq!(links, 1, "the links of a document are emitted once");
}

#[test]
fn the_best_passages_stand_at_the_edges() {
    let edges = events(
        &[("answer.order", "edges"), ("retriever.k", "4")],
        ScriptedGenerator::new(),
    );
    assert_eq!(context(&edges).0, [10, 30, 40, 20]);
}

#[test]
fn the_embedder_orders_texts_by_how_near_they_are_to_the_question() {
    let vectors = ScriptedEmbedder::new(8)
        .embed(&[&[QUESTION][..], &SHELF[..]].concat())
        .expect("vectors");
    let near = |at: &usize| {
        vectors[0]
            .iter()
            .zip(&vectors[at + 1])
            .map(|(a, b)| a * b)
            .sum::<f32>()
    };
    let mut nearest: Vec<usize> = (0..SHELF.len()).collect();
    nearest.sort_by(|a, b| near(b).total_cmp(&near(a)));
    let expected: Vec<u64> = nearest.iter().map(|at| (*at as u64 + 1) * 10).collect();
    let settings = [
        ("reranker.kind", "model"),
        ("reranker.model", "embedder"),
        ("retriever.k", "4"),
    ];
    assert_eq!(
        context(&events(&settings, ScriptedGenerator::new())).0,
        expected
    );
}

#[test]
fn a_pinned_place_is_in_every_context_and_an_excluded_one_in_none() {
    let heartless = || ScriptedGenerator::new().judging("Knowledge", "0", 0.99);
    let decisive = || {
        ScriptedGenerator::new()
            .judging("Knowledge: Tam", "1", 0.9)
            .judging("Knowledge", "0", 0.9)
    };
    // settings beside k, the judges, then the context: pinned first, then the best
    let cases: &[(&[(&str, &str)], ScriptedGenerator, &[u64])] = &[
        (
            &[("retriever.pinned", r#"["people.md:4"]"#)],
            ScriptedGenerator::new(),
            &[40, 10],
        ),
        (
            &[("retriever.pinned", r#"["people.md:3-4"]"#)],
            ScriptedGenerator::new(),
            &[30, 40],
        ),
        (
            &[("retriever.pinned", r#"["people.md"]"#)],
            ScriptedGenerator::new(),
            &[10, 20, 30, 40],
        ),
        (
            &[("retriever.pinned", r#"["people.md:3", "people.md:1"]"#)],
            ScriptedGenerator::new(),
            &[30, 10],
        ),
        (
            &[("retriever.excluded", r#"["people.md:1"]"#)],
            ScriptedGenerator::new(),
            &[20, 30],
        ),
        (
            &[("retriever.excluded", r#"["people.md"]"#)],
            ScriptedGenerator::new(),
            &[],
        ),
        (
            &[
                ("retriever.pinned", r#"["people.md:1-2"]"#),
                ("retriever.excluded", r#"["people.md:1"]"#),
            ],
            ScriptedGenerator::new(),
            &[20, 30],
        ),
        // no stage judges what is pinned, and the others are judged as without it
        (
            &[
                ("retriever.pinned", r#"["people.md:4"]"#),
                ("filter.kind", "binary"),
            ],
            decisive(),
            &[40, 20],
        ),
        (
            &[
                ("retriever.excluded", r#"["people.md:1"]"#),
                ("filter.kind", "binary"),
            ],
            heartless(),
            &[20, 30],
        ),
        // what is not among the hits is fetched
        (
            &[
                ("retriever.pinned", r#"["people.md:4"]"#),
                ("retriever.keep", "2"),
            ],
            ScriptedGenerator::new(),
            &[40, 10],
        ),
    ];
    for (settings, judges, expected) in cases {
        let all: Vec<_> = settings
            .iter()
            .copied()
            .chain([("retriever.k", "2")])
            .collect();
        let (kept, dropped) = context(&events(&all, judges.clone()));
        assert_eq!(kept, *expected, "{settings:?}");
        let excluded = settings.iter().any(|(key, _)| *key == "retriever.excluded");
        assert_eq!(
            dropped
                .iter()
                .any(|(_, reason)| *reason == DropReason::Excluded),
            excluded,
            "{settings:?}"
        );
    }
    let emitted = events(
        &[("retriever.pinned", r#"["people.md:9"]"#)],
        ScriptedGenerator::new(),
    );
    let warned = |event: &RunEvent| matches!(event, RunEvent::Warned { text, .. } if text.contains("people.md:9"));
    assert!(
        emitted.iter().any(warned),
        "a location that is not in the index is reported"
    );
}

#[test]
fn a_pinned_or_excluded_chunk_is_not_joined_with_others() {
    for decision in ["retriever.excluded", "retriever.pinned"] {
        let settings = [
            ("linker.relatives", "3"),
            ("linker.kind", "tokens"),
            ("retriever.k", "2"),
            (decision, r#"["people.md:3"]"#),
        ];
        let events = events(&settings, ScriptedGenerator::new());
        let linked = find!(events.iter(), RunEvent::ChunksLinked { linked, .. } => linked);
        let linked = linked.expect("links");
        let parts: Vec<u64> = linked
            .iter()
            .flat_map(|text| &text.hit.chunk.parts)
            .map(|part| part.chunk)
            .collect();
        assert!(
            parts.contains(&10) && !parts.contains(&30),
            "{decision}: {parts:?}"
        );
        assert_eq!(
            context(&events).0.contains(&30),
            decision == "retriever.pinned"
        );
    }
}
