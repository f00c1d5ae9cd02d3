//! The fold: what each event does to a run.

use std::borrow::Borrow;

use crate::config::Config;
use crate::event::{self, CallUsage, Event, GateCard, LeftOut, Record, RunEvent, Utility};
use crate::story::lookup::Lookup;
use crate::story::progress::TextProgress;
use crate::story::question::{FollowUp, Rewritten};
use crate::story::refinement::{Change, Evaluated};
use crate::story::step::{Step, Token};
use crate::story::text::{self, clean, many_lines, one_line};

use super::call::Call;
use super::state::Run;

impl Run {
    /// Returns the run that these records describe.
    pub fn from_records<R: Borrow<Record>>(records: &[R]) -> Self {
        let mut records = records.iter().map(Borrow::borrow).peekable();
        let mut run = Self::new(records.peek().map_or("", |record| &record.run));
        for record in records {
            if let Event::Run(event) = &record.event {
                run.apply(event, record.t_us);
            }
        }
        run
    }

    /// Takes in an event that happened `t_us` microseconds after the run started. The arms are in
    /// the order of the stages.
    pub fn apply(&mut self, event: &RunEvent, t_us: u64) {
        self.add_to_stages(event, t_us);
        if let RunEvent::RunStarted { format, .. } = event {
            self.is_numbered = format.has_numbers();
        }
        let mut event = event.clone();
        // a run that was recorded before there were numbers has the labels of its prompts
        if self.is_numbered {
            self.numbering.number_chunks(&mut event);
        } else {
            self.numbering.number(&mut event);
        }
        match event {
            RunEvent::RunStarted {
                question,
                preset,
                settings,
                models,
                corpus,
                seed,
                started_at,
                confirmed,
                thread,
                ..
            } => {
                self.thread = thread.as_deref().map(one_line);
                self.question = many_lines(&question);
                self.preset = one_line(&preset);
                self.settings = Config::from_recording(&settings);
                self.models = models;
                self.corpus = corpus.as_ref().map(text::corpus);
                self.seed = seed;
                self.started_at = started_at;
                let steps = (1..).zip(&confirmed);
                let steps = steps.map(|(step, text)| Step::for_confirmed(step, text));
                self.steps = steps.collect();
            }
            RunEvent::GateChosen { gate } => {
                self.gate = Some(GateCard {
                    fallback: gate.fallback.as_ref().map(|problem| problem.map(one_line)),
                    ..gate
                });
            }
            RunEvent::FollowUpRewritten {
                rewritten,
                turns,
                as_asked,
                ..
            } => self.follow_up = Some(FollowUp::new(&rewritten, turns, as_asked)),
            RunEvent::QuestionRewritten {
                rewritten,
                similarity,
                used,
                ..
            } => {
                self.rewritten = Some(Rewritten {
                    text: one_line(&rewritten),
                    similarity,
                    used,
                });
            }

            RunEvent::QueryWritten {
                step,
                query,
                words,
                region,
                ..
            } => self.lookup(step).set_query(&query, words, region),
            RunEvent::RetrievalFinished { step, retrieval } => {
                self.lookup(step).set_retrieval(retrieval);
            }
            RunEvent::LinksRead { step, links } => self.lookup(step).set_links(links),
            RunEvent::ChunksLinked { step, ref linked } => {
                let texts = linked.iter().map(|text| text.hit.clone());
                let lookup = self.lookup(step);
                lookup.add_texts(texts.collect());
                lookup.funnel.add(event);
            }
            RunEvent::ChunksGraded { step, .. }
            | RunEvent::ChunksJudged { step, .. }
            | RunEvent::ChunksReranked { step, .. } => self.lookup(step).funnel.add(event),
            RunEvent::StageFinished {
                step, ref dropped, ..
            } => {
                let lookup = self.lookup(step);
                lookup.drop_chunks(dropped);
                lookup.funnel.add(event);
            }
            RunEvent::ChunksMerged { step, merged } => self.lookup(step).add_texts(merged),
            RunEvent::PartsLeftOut {
                step,
                parts,
                reason,
            } => self.leave_out(step, &parts, reason),
            RunEvent::ContextBuilt { step, ref context } => {
                // a repaired context may hold chunks that the first lookup of the step found
                for lookup in self.lookups_of(step) {
                    lookup.funnel.add(event.clone());
                }
                self.lookup(step).set_context(context);
            }

            // the new lookup is among the documents that were re-chunked
            RunEvent::DocumentsRechunked {
                step,
                ref documents,
                ..
            } => {
                self.refinement.set_rechunked(documents);
                self.lookup(step).funnel.add(event);
                self.lookups.push(Lookup::for_rechunked(step));
            }
            RunEvent::UnderstandingMeasured {
                step,
                round,
                understanding,
            } => {
                self.measuring = None;
                self.refinement.add_measured(step, round, understanding);
            }
            RunEvent::UnderstandingProgressed {
                step,
                round,
                understanding,
            } => self.refinement.add_part(step, round, understanding),
            RunEvent::UnderstandingSkipped {
                step,
                round,
                reason,
                chunks,
            } => {
                self.measuring = None;
                self.refinement.add_unmeasured(step, round, reason, chunks);
            }
            RunEvent::ContextEvaluated {
                step,
                round,
                sufficient,
                probability,
                answered,
            } => {
                if let Some(round) = self.refinement.round(step, round) {
                    round.evaluated = Some(Evaluated {
                        sufficient,
                        probability,
                        answered,
                    });
                }
            }
            RunEvent::ChunksClassified {
                step,
                round,
                chunks,
            } => {
                if let Some(round) = self.refinement.round(step, round) {
                    round.set_classes(chunks);
                }
            }
            RunEvent::ContextRefined {
                step,
                round,
                dropped,
                added,
            } => {
                if let Some(round) = self.refinement.round(step, round) {
                    round.change = Some(Change { dropped, added });
                }
            }
            RunEvent::RefinementFinished { best, end, .. } => {
                self.refinement.finished = Some((best, end));
            }

            RunEvent::ModelCalled {
                call,
                purpose,
                role,
                prompt,
                prompt_tokens,
                branches,
                reply_bytes,
                expected_ms,
            } => {
                self.decoding.interrupt();
                self.reading = None;
                self.calls.push(Call {
                    call,
                    purpose: one_line(&purpose),
                    role,
                    prompt,
                    prompt_tokens,
                    branches,
                    reply_bytes,
                    expected_ms,
                    usage: None,
                    batch: None,
                    label_mass: None,
                });
            }
            RunEvent::PromptProgressed { call, read } => {
                if let Some(call) = self.calls.iter().rfind(|known| known.call == call) {
                    let total = call.prompt_tokens;
                    self.reading = Some(TextProgress::new(self.reading, read, total, t_us));
                }
            }
            RunEvent::CallsProgressed {
                purpose,
                begun,
                total,
            } if purpose == "measure" => {
                let progress = TextProgress::new(self.measuring, begun, total, t_us);
                self.measuring = Some(progress);
            }
            RunEvent::CallsProgressed { begun, total, .. } => {
                let progress = TextProgress::new(self.begun, begun, total, t_us);
                // the only text of a call is no progress
                self.begun = (total > 1).then_some(progress);
            }
            RunEvent::ModelCallFinished { call, calls, usage } => {
                self.begun = None;
                self.finish_calls(call, calls, usage);
            }
            RunEvent::JudgementsRead { call, masses, .. } => self.set_judgements(call, &masses),

            RunEvent::StepStarted { step } => self.step(step).begin(),
            RunEvent::ThoughtGenerated { step, text } => {
                self.step(step).thoughts.push_str(&many_lines(&text));
            }
            RunEvent::TokenGenerated {
                step,
                text,
                logprob,
                entropy,
                mut alternatives,
            } => {
                // what was put together behind a call was not decoded now
                if self.calls.last().is_none_or(|call| call.batch.is_none()) {
                    self.decoding.token(t_us);
                }
                clean(alternatives.iter_mut().map(|other| &mut other.text));
                let token = Token {
                    text: many_lines(&text),
                    logprob,
                    entropy,
                    alternatives,
                };
                self.add_token(step, token);
            }
            RunEvent::StepFinished {
                step,
                text,
                uncertainty,
                citations,
            } => self.step(step).finish(&text, uncertainty, citations),
            RunEvent::StepCited {
                step,
                text,
                citations,
            } => self.step(step).cite(&text, citations),
            RunEvent::StepGiven {
                step,
                text,
                citations,
            } => self.step(step).give(&text, citations),
            RunEvent::ScopeChosen { scope } => self.scope = scope,
            RunEvent::SupportMeasured { support, nearest } => {
                self.support = Some(support);
                self.nearest = nearest;
                clean(self.nearest.iter_mut().map(|nearest| &mut nearest.text));
            }
            RunEvent::VerdictGiven { mut verdict } => {
                clean(verdict.least_certain.iter_mut().map(|word| &mut word.text));
                clean(verdict.conflict.iter_mut().map(|other| &mut other.file));
                self.verdict = Some(verdict);
            }
            RunEvent::StepAttributed { step, chunks } => self.step(step).attribute(chunks),
            RunEvent::StepAblated { step, chunks } => self.step(step).ablate(chunks),

            RunEvent::UtilityMeasured { step, mut utility } => {
                let mut lookups = self.lookups.iter_mut();
                if let Some(lookup) = lookups.rfind(|lookup| lookup.step == step) {
                    lookup.utility = Some(utility.delta);
                }
                text::clean_utility(&mut utility);
                self.utilities.push(utility);
            }
            RunEvent::AnswerSampled { mut samples } => {
                clean(&mut samples.texts);
                self.sampled = Some(samples);
            }
            RunEvent::RunFinished {
                outcome,
                text,
                answer,
                mut citations,
                usage,
            } => {
                let chunks = self.measuring.take().map(|measuring| measuring.total);
                self.refinement.keep_part(chunks);
                self.outcome = Some(outcome);
                self.text = many_lines(&text);
                self.answer = one_line(answer.trim());
                text::clean_citations(&mut citations);
                self.citations = citations;
                self.usage = usage;
            }

            // warnings are the session's to show
            RunEvent::Warned { .. } | RunEvent::Unknown => {}
        }
    }

    /// Takes in how much the last context helped, measured after the run was over.
    pub fn add_utility(&mut self, mut utility: Utility, is_finished: bool) {
        let mut lookups = self.lookups.iter_mut();
        if let Some(lookup) = lookups.rfind(|lookup| lookup.context.is_some()) {
            lookup.utility = Some(utility.delta);
        }
        text::clean_utility(&mut utility);
        self.numbering.number_utility(&mut utility);
        if is_finished {
            self.unfinished_utility = None;
            self.utilities.push(utility);
        } else {
            self.unfinished_utility = Some(utility);
        }
    }

    fn leave_out(&mut self, step: u32, parts: &[event::Part], reason: LeftOut) {
        // the utility is measured after all lookups, and also where there was none
        let is_known = self.lookups.iter().any(|lookup| lookup.step == step);
        if is_known || !parts.contains(&event::Part::Utility) {
            self.lookup(step).leave_out(parts, reason);
        }
    }

    fn set_judgements(&mut self, call: u32, masses: &[f32]) {
        let calls = self.calls.iter_mut().filter(|known| known.call >= call);
        for (known, mass) in calls.zip(masses) {
            known.label_mass = Some(*mass);
        }
    }

    fn add_token(&mut self, step: u32, token: Token) {
        self.step(step).tokens.push(token);
        let text = self.step(step).raw_text();
        self.step(step).text = self.numbering.number_text(step, &text);
    }

    fn finish_calls(&mut self, first: u32, calls: u32, usage: CallUsage) {
        let batch = first..first.saturating_add(calls);
        let of_batch = self.calls.iter_mut().rev();
        for known in of_batch.filter(|known| batch.contains(&known.call)) {
            known.usage = (known.call == first).then_some(usage);
            known.batch = Some((first, calls));
        }
    }

    /// Returns the last lookup of a step, which begins here when there is none.
    fn lookup(&mut self, step: u32) -> &mut Lookup {
        let at = self.lookup_at(step);
        if at == self.lookups.len() {
            self.lookups.push(Lookup::new(step));
        }
        &mut self.lookups[at]
    }

    fn lookups_of(&mut self, step: u32) -> impl Iterator<Item = &mut Lookup> {
        self.lookup(step);
        let lookups = self.lookups.iter_mut();
        lookups.filter(move |lookup| lookup.step == step)
    }

    fn step(&mut self, step: u32) -> &mut Step {
        let known = self.steps.iter().rposition(|known| known.step == step);
        let at = known.unwrap_or_else(|| {
            self.steps.push(Step {
                step,
                ..Step::default()
            });
            self.steps.len() - 1
        });
        &mut self.steps[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ChunkerKind;
    use crate::event::{
        ChunkText, Context, ContextChunk, ContextOrigin, DropReason, DroppedChunk, Hit, ModelRole,
        Ranked, RechunkedDocument, RefinementEnd, RerankedChunk, Retrieval, Stage, Understanding,
    };
    use crate::story::funnel::Mark;
    use crate::story::words;

    fn hit(id: u64, rank: u32) -> Hit {
        let chunk = ChunkText {
            id,
            document: "a.md".to_owned(),
            bytes: [0, 1],
            lines: [1, 1],
            tokens: 1,
            text: "x".to_owned(),
            ..ChunkText::default()
        };
        Hit::new(chunk, Ranked { score: 1.0, rank })
    }

    fn retrieve(ids: &[u64]) -> RunEvent {
        let retrieval = Retrieval {
            query: "q".to_owned(),
            hits: (1..).zip(ids).map(|(rank, id)| hit(*id, rank)).collect(),
            bm25_found: 3,
            vector_found: 3,
            wall_us: 1,
            filter: None,
            documents: std::collections::BTreeMap::new(),
        };
        RunEvent::RetrievalFinished { step: 0, retrieval }
    }

    fn context(chunk: u64, dropped: Vec<DroppedChunk>) -> RunEvent {
        RunEvent::ContextBuilt {
            step: 0,
            context: Context {
                chunks: vec![ContextChunk {
                    label: 1,
                    chunk,
                    tokens: 1,
                }],
                dropped,
                prompt_tokens: 1,
                available_tokens: 9,
            },
        }
    }

    fn ways(run: &Run, chunk: u64) -> Vec<String> {
        let lookup = &run.lookups[0];
        let word = |mark| {
            format!(
                "{}: {}",
                words::mark_stage(mark),
                words::mark(mark, chunk, lookup)
            )
        };
        lookup.marks(chunk).iter().map(word).collect()
    }

    #[test]
    fn the_activity_names_the_round_and_the_step() {
        let call = |call, purpose: &str| RunEvent::ModelCalled {
            call,
            purpose: purpose.to_owned(),
            role: ModelRole::Generator,
            prompt: String::new(),
            prompt_tokens: 1_467,
            branches: 1,
            reply_bytes: 0,
            expected_ms: None,
        };
        let finished = |call| RunEvent::ModelCallFinished {
            call,
            calls: 1,
            usage: CallUsage::default(),
        };
        let measured = |round, origin, certain| RunEvent::UnderstandingMeasured {
            step: 0,
            round,
            understanding: Understanding {
                origin,
                chunks: Vec::new(),
                replies: Vec::new(),
                matrix: Vec::new(),
                judgements: Vec::new(),
                dse: 0.64,
                threshold: 0.2,
                certain,
                wall_ms: 1,
            },
        };
        let rechunked = RunEvent::DocumentsRechunked {
            step: 0,
            documents: vec![RechunkedDocument {
                document: "a.md".to_owned(),
                sentences: 4,
                chunks: 2,
                cached: false,
                error: None,
            }],
            similarity: 0.6,
            percentile: None,
            max_tokens: 48,
        };
        let ended = RunEvent::RefinementFinished {
            step: 0,
            best: 2,
            end: RefinementEnd::Sufficient,
        };

        let mut run = Run::default();
        run.settings.chunker.kind = ChunkerKind::Adaptive;
        let events = [
            (call(0, "rephrase"), "round 1, rephrasing chunk"),
            (finished(0), "round 1, reading the prompt"),
            (
                measured(1, ContextOrigin::Retrieved, false),
                "round 1, re-chunking the documents by meaning",
            ),
            (rechunked, "round 2, reading the prompt"),
            (call(1, "rephrase"), "round 2, rephrasing chunk"),
            (finished(1), "round 2, reading the prompt"),
            (
                measured(2, ContextOrigin::Rechunked, true),
                "round 2, reading the prompt",
            ),
            (ended, "reading the prompt"),
            (call(2, "answer"), "reading the prompt of 1,467 tokens"),
        ];
        for (event, expected) in events {
            run.apply(&event, 0);
            assert_eq!(run.activity(), expected, "{event:?}");
        }

        // the wording of five chunks is measured two by two
        let mut parts = Run::default();
        let begun = |begun| RunEvent::CallsProgressed {
            purpose: "measure".to_owned(),
            begun,
            total: 5,
        };
        for (event, seconds, expected) in [
            (begun(1), 0, "starting"),
            (call(0, "rephrase"), 0, "round 1, rephrasing chunk 1 of 5"),
            (begun(3), 20, "round 1, rephrasing chunk 3 of 5, 30 s left"),
            (
                call(1, "understanding"),
                20,
                "round 1, answering from wording 3 of 5, 30 s left",
            ),
        ] {
            parts.apply(&event, seconds * 1_000_000);
            assert_eq!(parts.activity(), expected, "{event:?}");
        }

        // the prompt is read in parts, the first of which was read before the call
        for (read, seconds, expected) in [
            (267, 0, "reading the prompt, 267 of 1,467 tokens"),
            (
                667,
                10,
                "reading the prompt, 667 of 1,467 tokens, 21 s left",
            ),
            (
                1_067,
                20,
                "reading the prompt, 1,067 of 1,467 tokens, 11 s left",
            ),
        ] {
            let event = RunEvent::PromptProgressed { call: 2, read };
            run.apply(&event, seconds * 1_000_000);
            assert_eq!(run.activity(), expected);
        }
        run.apply(&call(3, "answer"), 0);
        assert_eq!(run.activity(), "reading the prompt of 1,467 tokens");
    }

    #[test]
    fn every_stage_leaves_its_mark() {
        let dropped = |chunk, reason| DroppedChunk { chunk, reason };
        let twin = dropped(
            3,
            DropReason::Redundant {
                duplicate_of: 1,
                similarity: 0.95,
            },
        );
        let below = dropped(2, DropReason::BelowK { k: 1 });
        let mut run = Run::default();
        for event in [
            retrieve(&[1, 2, 3]),
            RunEvent::StageFinished {
                step: 0,
                stage: Stage::Redundant,
                kept: vec![1, 2],
                dropped: vec![twin.clone()],
            },
            RunEvent::ChunksReranked {
                step: 0,
                ranked: vec![
                    RerankedChunk {
                        chunk: 1,
                        score: 0.9,
                    },
                    RerankedChunk {
                        chunk: 2,
                        score: 0.1,
                    },
                ],
            },
            context(1, vec![twin, below]),
        ] {
            run.apply(&event, 0);
        }

        assert_eq!(
            ways(&run, 1),
            [
                "retained: rank 1 of 3 hits",
                "redundancy: kept, rank 1 of 2",
                "reranking: score 0.900, rank 1 of 2",
                "context: used as [1]",
            ]
        );
        assert_eq!(
            ways(&run, 2).last().map(String::as_str),
            Some("context: not in the top 1 that the context takes")
        );
        assert_eq!(
            ways(&run, 3),
            [
                "retained: rank 3 of 3 hits",
                "redundancy: near-duplicate of [1], cosine .950",
            ],
            "a loss is reported once"
        );
        assert!(run.lookups[0].marks(3)[1].is_loss());
        assert_eq!(ways(&run, 9), ["retained: not among the 3 hits"]);
    }

    #[test]
    fn a_chunk_is_known_by_its_place_when_a_later_index_numbers_it_otherwise() {
        let mut run = Run::default();
        run.apply(&retrieve(&[1, 2]), 0);
        run.apply(&context(1, Vec::new()), 0);
        let lookup = &run.lookups[0];

        let mut renumbered = lookup.hits()[0].chunk.clone();
        renumbered.id = 2;
        assert_eq!(lookup.number(&renumbered), 1);

        renumbered.bytes = [9_000, 9_010];
        let marks = lookup.marks(lookup.number(&renumbered));
        assert_eq!(marks, [Mark::NoHit { of: 2 }], "2 is another chunk now");
    }

    #[test]
    fn a_rechunked_document_ends_the_way_of_its_chunks_until_they_are_used_again() {
        let mut run = Run::default();
        run.apply(&retrieve(&[1, 2]), 0);
        run.apply(&context(1, Vec::new()), 0);
        run.apply(
            &RunEvent::DocumentsRechunked {
                step: 0,
                documents: Vec::new(),
                similarity: 0.6,
                percentile: None,
                max_tokens: 48,
            },
            0,
        );
        run.apply(&retrieve(&[77]), 0);
        run.apply(&context(77, Vec::new()), 0);

        assert_eq!(
            ways(&run, 1),
            [
                "retained: rank 1 of 2 hits",
                "context: its document was re-chunked for this question; new chunks replace it",
            ]
        );
        assert_eq!(
            run.lookups[1].marks(77),
            [Mark::Hit { rank: 1, of: 1 }, Mark::Used { label: 2 }]
        );
        assert_eq!(run.index_lookups().count(), 1);

        run.apply(&context(1, Vec::new()), 0);
        assert_eq!(
            ways(&run, 1).last().map(String::as_str),
            Some("context: used as [1]"),
            "the best round may be the first"
        );
    }
}
