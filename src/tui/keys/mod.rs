//! The actions of the screen, and the keys that lead to them.

mod context;
mod action;
mod key;
mod keymap;

pub(super) use action::action_list;
pub use action::{Action, ActionInfo};
pub use context::Context;
pub use key::Key;
pub use keymap::Keymap;
