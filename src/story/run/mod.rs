//! A question and everything that happened to it.

mod call;
mod stage;
mod state;
mod answer_text;
mod support;
mod activity;
mod timeline;
mod fold;

pub use answer_text::{AnswerText, part_tables};
pub use call::Call;
pub use stage::{RunStage, StageKind};
pub use state::Run;
pub use support::{LEGEND, SupportSign};
