//! The one integration binary. Tests are data through one `check`; where a model is meant, they run
//! the bundled one.

#![expect(
    clippy::print_stdout,
    reason = "child processes of the kill tests talk over stdout"
)]
#![expect(
    clippy::type_complexity,
    reason = "boxed observers are spelt out where they are used"
)]

mod support;
mod layers;
mod english;
mod llm;
mod corpus;
mod index;
mod distributed;
mod trace;
mod methods;
mod engine;
mod probe;
mod eval;
mod pull;
mod cli;
mod errors;
mod hub;
mod serve;
mod guide;
mod demo;
#[cfg(unix)]
mod release;
mod screen;
mod terminal;
