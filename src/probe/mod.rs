//! The probe: a small network that reads hidden states of the generator and estimates how uncertain
//! it is of the sentence that begins.
//!
//! SEARAG, section 3.1 and appendices A and B. In reading order: `features` are taken from hidden
//! states; a `journal` keeps the samples, one per sentence; `train` fits the `network` with the
//! `optimiser`, or by `logistic` regression, and measures it; `weights` keeps it in a file, which
//! is refused for any other generator.
//!
//! This module calls no model and knows nothing of a run: the samples are collected elsewhere.

mod error;
mod features;
mod journal;
mod network;
mod optimiser;
mod trained;
mod training_set;
mod logistic;
mod train;
mod weights;

pub use features::features;
pub use journal::{Sample, SampleJournal, SampledQuestion, narrow};
pub use train::train;
pub use trained::Probe;
pub use training_set::{Epoch, MAX_EPOCHS};
pub use weights::{describe, files, find, folders, no_inside, no_probe};
