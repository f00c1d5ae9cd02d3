//! `ragscope serve` and `ragscope mcp`: what other programs get.

pub mod http;
mod mcp;
