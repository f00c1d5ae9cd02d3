//! The pipeline: from the question to the written answer.

mod lookup;
mod marks;
mod wording;
mod sources;
mod citations;
mod quotes;
mod conflicts;
mod judged;
mod pairs;
mod scope;
mod table;
mod rows;
mod sections;
mod files;
mod support;
mod translated;
mod attribution;
mod ablation;
mod short;
mod sampled;
mod verdict;
mod steps;
mod writing;
mod settle;
mod write;
mod summary;
mod amounts;
mod each;
mod lists;
mod overview;
mod examples;
mod ask;

pub use ask::{ask, check_question};
pub use examples::questions;
pub use marks::without_marks;
pub use write::write;
