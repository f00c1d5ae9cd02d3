//! Numbers, reasons and states of a run as text: each is worded here and nowhere else.

mod numbers;
mod places;
mod models;
mod corpus;
mod runs;
mod chunks;
mod verdict;

pub use chunks::{LOST, ablation, drop_reason, drop_reason_in_full, mark, mark_stage, order};
pub use corpus::{
    corpus_size, files_not_read, filter, index_change, index_done, index_phase, index_ready,
    metadata, named_files, omitted_files, sentence_joins, why_not_found,
};
pub use models::{
    PRACTICE, device, fit, is_for_practice, memory, practice, prefixes, pull_progress,
};
pub use numbers::{bytes, count, duration, hundredths, percent, quantity, rate, score, time_left};
pub use places::{
    chunk_location, chunk_place, citation_location, copies, hit_location, lines, location,
    naming_hit, place_caption, word_scores,
};
pub use runs::{
    call, certainty, follow_up, gate_decision, is_in_nats, is_of_words, is_unsure, left, measure,
    omission, operation, outcome, part_name, preset, preset_name, reference, utility_change,
};
pub use verdict::{Searched, filtered_verdict, likely, scope, support, verdict, verdict_sign};
