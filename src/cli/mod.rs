//! Subcommands, JSON lines, plain text.
