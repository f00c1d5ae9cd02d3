//! The one integration binary. Tests are data through one `check`; where a model is meant, they run the bundled one.

mod layers;
mod llm;
mod corpus;
mod index;
mod trace;
mod engine;
mod program;
mod cli;
mod hub;
mod readme;
mod demo;
mod screen;
mod pty;
mod terminal;
