//! The events of a run, folded once and worded once.
//!
//! | module | what it is |
//! |---|---|
//! | [`Run`] | a question and everything that happened to it |
//! | [`Lookup`], [`Funnel`] | a query, its hits, and what each stage made of them |
//! | [`find_order`], [`mark_orders`] | what a passage says to the model instead of the reader |
//! | [`Step`] | a sentence of the answer, with the sentences that it replaced |
//! | [`Refinement`] | the measured contexts, round by round |
//! | [`RecordedThread`] | the recorded runs of a thread, in their order |
//! | [`Diagnosis`] | the chain of a question, and its first broken link |
//! | [`PassageTrace`] | the way of the chunks that hold a phrase |
//! | [`words`] | numbers, reasons and states as text |
//!
//! The screen, the text output, `explain` and the rows of an evaluation read these types, so an
//! event is interpreted and worded in one place. [`Run::apply`] is a pure fold: the same events
//! give the same run, live or replayed. Text of documents and models becomes harmless here, once,
//! on its way in. Nothing here draws, prints or knows a colour.

pub mod text;
mod orders;
mod funnel;
mod lookup;
mod step;
mod refinement;
mod question;
mod progress;
pub mod words;
mod run;
mod passage_trace;
mod broken_link;
mod diagnosis;
mod inquiry;
mod thread;

pub use broken_link::{BrokenLink, Facts, Found};
pub use diagnosis::{ChainLink, Diagnosis, Expected, FoundPassage, Tried, sign};
pub use funnel::{Funnel, Mark, Narrowed};
pub use inquiry::{Inquiry, Settings};
pub use lookup::Lookup;
pub use orders::{find_order, mark_orders};
pub use passage_trace::PassageTrace;
pub use progress::TextProgress;
pub use question::{FollowUp, Rewritten};
pub use refinement::{Change, Evaluated, Refinement, Round};
pub use run::{AnswerText, Call, LEGEND, Run, RunStage, StageKind, SupportSign, part_tables};
pub use step::{
    Certainty, GUESSING, Origin, Replaced, Step, Token, UNSURE, least_sure_word, word_entropies,
};
pub use thread::{RecordedThread, last_runs, turns};
