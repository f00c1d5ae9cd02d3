//! `ragscope serve` and `ragscope mcp`: what other programs get.

pub mod client;
mod openai;
mod refusals;
mod clients;
mod agents;
mod mcp;
