//! The time of a run: what is left of its budget, and which of its parts that holds.

use std::time::Duration;

use crate::config::{
    ChunkerKind, Config, FilterKind, JudgeModel, LinkerKind, RefinerKind, RephrasingCheck,
    RerankerKind, RerankerModel, RewriterKind, StageUse, UnderstandingKind, UtilityKind,
};
use crate::event::{LeftOut, Part, RunEvent};

use super::gate::Gate;
use super::state::Run;
use super::values::Effort;

impl Run<'_> {
    /// Returns the effort of the first lookup for a sentence. Without a gate nothing says whether
    /// more is needed.
    pub fn first_effort(&self, gate: &dyn Gate) -> Effort {
        match self.tools.config.stages.when {
            StageUse::AsNeeded if gate.card(self).is_some() => Effort::Least,
            StageUse::AsNeeded | StageUse::Always => Effort::Full,
        }
    }

    /// Returns whether a stage runs for a context of `texts` texts: the settings have it, and
    /// [`Self::has_time_for`] it.
    pub fn should_run(&mut self, part: Part, texts: usize) -> bool {
        is_on(self.tools.config, part) && self.has_time_for(part, texts)
    }

    /// Returns whether the current lookup goes through a part, and what is left of the budget holds
    /// it for a context of `texts` texts. Otherwise it emits that there is no time.
    ///
    /// A part takes as many calls of the generator as the method says, each as long as the mean of
    /// the calls so far.
    pub fn has_time_for(&mut self, part: Part, texts: usize) -> bool {
        if self.effort == Effort::Least && ESCALATED.contains(&part) {
            return false;
        }
        let config = self.tools.config;
        let budget = config.stages.budget_seconds;
        if budget <= 0.0 {
            return true;
        }

        let left = Duration::from_secs_f32(budget).saturating_sub(self.elapsed());
        let needed = self.mean_call() * calls(config, part, texts);
        if left > needed {
            return true;
        }
        self.emit(RunEvent::PartsLeftOut {
            step: self.step,
            parts: vec![part],
            reason: LeftOut::NoTime {
                needed_ms: milliseconds(needed),
                left_ms: milliseconds(left),
            },
        });
        // a context that there is no time to measure is not repaired either
        if part == Part::Understanding {
            self.effort = Effort::Least;
        }
        false
    }

    /// Emits that the stages which only an uncertain sentence needs did not run.
    pub fn emit_not_needed(&mut self) {
        let config = self.tools.config;
        let parts = ESCALATED.into_iter().filter(|part| is_on(config, *part));
        let parts: Vec<Part> = parts.collect();
        if !parts.is_empty() {
            self.emit(RunEvent::PartsLeftOut {
                step: self.step,
                parts,
                reason: LeftOut::NotNeeded,
            });
        }
    }
}

/// The stages that run for a sentence which is still uncertain.
const ESCALATED: [Part; 5] = [
    Part::Linker,
    Part::Filter,
    Part::Reranker,
    Part::Understanding,
    Part::Refiner,
];

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn is_on(config: &Config, part: Part) -> bool {
    match part {
        Part::Rewriter => config.rewriter.kind != RewriterKind::Off,
        Part::Linker => config.linker.kind != LinkerKind::Off,
        Part::Filter => config.filter.kind != FilterKind::Off,
        Part::Reranker => config.reranker.kind != RerankerKind::Off,
        Part::Understanding => config.understanding.kind != UnderstandingKind::Off,
        Part::Refiner => {
            config.refiner.kind != RefinerKind::Off || config.chunker.kind == ChunkerKind::Adaptive
        }
        Part::Utility => config.utility.kind != UtilityKind::Off,
    }
}

/// Returns the calls of the generator that a part takes, at most.
fn calls(config: &Config, part: Part, texts: usize) -> u32 {
    // more would be no context
    let texts = u32::try_from(texts).unwrap_or(u32::MAX).min(1_000);
    calls_of(config, part, texts).max(1)
}

fn calls_of(config: &Config, part: Part, texts: u32) -> u32 {
    let has_generator_judge =
        matches!(config.judge.model, JudgeModel::Auto | JudgeModel::Generator);

    match part {
        Part::Rewriter => 1,
        Part::Linker => 0,
        Part::Filter => match config.filter.kind {
            FilterKind::Off => 0,
            FilterKind::Binary => texts,
            // three judges
            FilterKind::Graded => texts * 3,
        },
        Part::Reranker => match config.reranker.model {
            RerankerModel::Generator => texts,
            RerankerModel::Embedder | RerankerModel::File(_) => 0,
        },
        // a rephrasing and an answer per chunk, the answer itself, and each pair of answers
        Part::Understanding => {
            let judged = u32::from(has_generator_judge);
            let checked =
                u32::from(config.understanding.check_rephrasings != RephrasingCheck::Off) * judged;
            texts * (1 + 2 * checked) + (texts + 1) * (1 + texts * judged)
        }
        // each round measures a context and answers without each chunk
        Part::Refiner => {
            let round = calls_of(config, Part::Understanding, texts) + texts;
            round * config.refiner.max_rounds.saturating_sub(1).max(1)
        }
        // two contexts, samples that are judged with each other and with the reference answers
        Part::Utility => {
            let contexts = if config.utility.per_chunk {
                2 + 2 * texts
            } else {
                2
            };
            let samples = config.utility.samples;
            let judged = if has_generator_judge {
                samples * (samples + 1)
            } else {
                0
            };
            contexts * (samples + 1 + judged)
        }
    }
}
