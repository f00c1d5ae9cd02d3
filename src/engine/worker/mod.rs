//! The engine thread, which alone owns the models and the index.

pub mod inbox;
pub mod models;
pub mod background;
pub mod thread;
pub mod probing;
