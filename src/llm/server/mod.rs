//! Models behind a server: llama-server by its own interface, others by that of OpenAI.
//!
//! What a server can do is learnt once, when it is connected to. Text and probabilities come through from
//! each; hidden states and attention from none, and what needs them says so.

mod address;
pub mod connection;
mod http;
mod reply;
mod native;
mod chat;
mod generator;
mod vectors;

pub use super::error::ServerError;
pub use vectors::{ServerEmbedder, ServerReranker};

use serde::Serialize;

use super::error::LlmError;
use super::role::LoadedGenerator;
use crate::config::{GeneratorSettings, ServerSettings};
use crate::event::{ModelCard, ModelRole, StopFlag};
use generator::{ServerGenerator, listed};
use http::Client;

/// A generator behind a server.
pub struct Connected {
    pub generator: Box<dyn LoadedGenerator>,
    pub capabilities: Capabilities,
    /// Whether the key is sent where others can read it.
    pub shows_key: bool,
}

/// Connects to the server of the settings and learns what it can do.
///
/// # Errors
/// [`LlmError::Settings`] for the address or the key; [`LlmError::Server`] for a server that does not answer,
/// lacks the model or gives no log-probabilities; [`LlmError::Stopped`].
pub fn connect_generator(
    settings: &GeneratorSettings,
    server: &ServerSettings,
    stop: &StopFlag,
) -> Result<Connected, LlmError> {
    let client = Client::new(&settings.url, &settings.key, server, stop)?;
    let shows_key = client.shows_key();
    let model = listed(&client, &settings.served_model)?;
    let generator = ServerGenerator::connect(client, &model, settings)?;
    Ok(Connected {
        capabilities: generator.capabilities().clone(),
        generator: Box::new(generator),
        shows_key,
    })
}

/// What a server can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Its interface, and the program behind it where it says so.
    pub interface: String,
    /// The most likely tokens of which it gives the probability with each token; 0 for no
    /// log-probabilities.
    pub likely_tokens: u32,
    /// Whether one request gives several samples.
    pub several_samples: bool,
    /// Whether the log-probability of given text can be had.
    pub given_text: bool,
    /// Whether a prompt that begins as an earlier one is evaluated from there.
    pub prefix_cache: bool,
    /// Requests side by side.
    pub parallel: usize,
}

impl Capabilities {
    /// Returns them in words, e.g. `llama-server b11669: log-probabilities (100 per token), several
    /// samples, no hidden states and attention, no prefix cache`.
    #[must_use]
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
            "{}: {probabilities}, {}, {}, no hidden states and attention, {}, {} requests side by side",
            self.interface,
            has(self.several_samples, "several samples per request"),
            has(self.given_text, "log-probabilities of given text"),
            has(self.prefix_cache, "prefix cache"),
            self.parallel
        )
    }
}

/// Describes a model by the name or path that its server gives it, without the folders.
fn named_card(role: ModelRole, host: &str, model: &str) -> ModelCard {
    let name = file_name(model);
    ModelCard {
        name: name.to_owned(),
        file: name.to_owned(),
        device: host.to_owned(),
        ..ModelCard::unknown(role)
    }
}

/// Returns the last part of a path on the server, whose separators may not be those of this machine.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
