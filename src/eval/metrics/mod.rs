//! The numbers of an evaluation: of answers, of lists of chunks, and of whole sets.

mod ranking;
mod statistics;
mod text;

pub use ranking::{DEPTHS, RankScores};
pub use statistics::{
    Interval, accuracy_by_coverage, auarc, auroc, mean, paired_bootstrap, pearson,
};
pub use text::{TextScores, declines, exact_match, f1, meteor, normalised, rouge_l, substring};
