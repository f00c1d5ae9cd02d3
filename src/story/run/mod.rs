//! A question and everything that happened to it.

mod call;
mod state;
mod activity;
mod fold;

pub use activity::Phase;
pub use call::Call;
pub use state::Run;
