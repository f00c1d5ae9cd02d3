//! The cost of a question.

use super::declare::Format::{Milliseconds, Number};
use super::declare::metrics;
use crate::event::RunUsage;

metrics! {
    /// A cost of a run.
    CostMetric: fn(&RunUsage) -> f64 {
        /// Retrievals of a run.
        Retrievals "lookups": Lower, Number(2), in Cost => |usage| f64::from(usage.retrievals);
        /// Calls of a model.
        ModelCalls "model calls": Lower, Number(1), in Cost => |usage| f64::from(usage.model_calls);
        /// Prompt tokens that the generator evaluated.
        PromptTokensEvaluated "prompt tokens evaluated": Lower, Number(0), in Cost =>
            |usage| usage.prompt_tokens_evaluated as f64;
        /// Prompt tokens that were in the KV cache already.
        PromptTokensReused "reused": Neither, Number(0), in Cost =>
            |usage| usage.prompt_tokens_reused as f64;
        /// Tokens that the generator wrote.
        TokensGenerated "tokens generated": Lower, Number(0), in Cost =>
            |usage| usage.tokens_generated as f64;
        /// Prompt tokens evaluated and tokens generated.
        Tokens "tokens": Lower, Number(0), in Comparison =>
            |usage| (usage.prompt_tokens_evaluated + usage.tokens_generated) as f64;
        /// Time from the question to the end of its answer.
        WallMs "seconds": Lower, Milliseconds, in Cost Comparison => |usage| usage.wall_ms as f64;
    }
}
