//! The pipeline: from the question to the written answer.

pub mod citations;
pub mod attribution;
pub mod steps;
pub mod writing;
pub mod settle;
pub mod ask;
