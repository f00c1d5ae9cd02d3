//! What several modules of the suite share.

pub mod scripted;
