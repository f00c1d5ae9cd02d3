//! The one integration binary. Tests are data through one `check`; where a model is meant, they run the bundled one.

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
mod folders;
mod trace;
mod methods;
mod engine;
mod presets;
mod searag;
mod probe;
mod eval;
mod program;
mod pull;
mod server;
mod cli;
mod errors;
mod hostile;
mod hub;
mod mcp;
mod serve;
mod watch;
mod models;
mod readme;
mod demo;
mod screen;
mod links;
mod pty;
mod terminal;
mod memory;
mod years;
