//! The parts that every stage works with: the values that they hand on, the tools that a run
//! borrows, the run itself, and the trait of the gates.

mod values;
mod tools;
mod state;
mod model_calls;
mod judgements;
mod gate;
mod budget;
pub mod pins;
mod dates;
pub mod context;

pub use context::best_first;
pub use gate::Gate;
pub use model_calls::Call;
pub use state::{Observe, Run};
pub use tools::{Corpus, Tools, query_vectors};
pub use values::{
    Answer, Draft, Effort, Known, Need, Passages, Query, Searched, Sentence, StepLookup,
    Understood, documents, token_event,
};
