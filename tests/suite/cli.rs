//! The real program without a screen.

mod ask;
mod clean;
mod diagnose;
mod doctor;
mod files;
mod index;
#[cfg(target_os = "linux")]
mod output;
mod usage;
