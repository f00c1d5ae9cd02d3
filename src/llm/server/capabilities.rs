//! The capabilities of a model server, in words and numbers.

use serde::Serialize;

/// The abilities of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Name of its interface, and of the program behind it where it is known.
    pub interface: String,
    /// The most likely tokens of which it gives the probability with each token; 0 for no
    /// log-probabilities.
    pub likely_tokens: u32,
    /// Whether the log-probability of given text can be had.
    pub given_text: bool,
    /// Whether a prompt that begins as an earlier one is evaluated from there.
    pub prefix_cache: bool,
    /// Requests side by side.
    pub parallel: usize,
}

impl Capabilities {
    /// Returns them in words, e.g. `llama-server b11669: log-probabilities (100 per token), no
    /// hidden states and attention, no prefix cache`.
    pub fn words(&self) -> String {
        let has = |is: bool, what: &str| {
            if is {
                what.to_owned()
            } else {
                format!("no {what}")
            }
        };

        let probabilities = match self.likely_tokens {
            0 => "no log-probabilities".to_owned(),
            count => format!("log-probabilities ({count} per token)"),
        };

        format!(
            "{}: {probabilities}, {}, no hidden states and attention, {}, {} requests side by side",
            self.interface,
            has(self.given_text, "log-probabilities of given text"),
            has(self.prefix_cache, "prefix cache"),
            self.parallel
        )
    }
}
