//! A question and everything that happened to it.

mod call;
mod stage;
mod state;
mod activity;
mod timeline;
mod fold;

pub use activity::Phase;
pub use call::Call;
pub use stage::{RunStage, StageKind};
pub use state::Run;
