//! The one integration binary. Tests are data through one `check`; where a model is meant, they run the bundled one.

// child processes of the kill tests talk over stdout; boxed observers are spelt out where they are used
#![allow(clippy::print_stdout, clippy::type_complexity)]

mod support;
mod layers;
mod llm;
mod corpus;
mod index;
mod trace;
mod methods;
mod engine;
mod searag;
mod probe;
mod eval;
mod program;
mod pull;
mod cli;
mod errors;
mod hub;
mod readme;
mod demo;
mod screen;
mod links;
mod pty;
mod terminal;
