//! Models behind a server: another ragscope and llama-server by their own interfaces, others by that of
//! OpenAI.
//!
//! What a server can do is learnt once, when it is connected to. Text and probabilities come through from
//! each; hidden states and attention from a ragscope alone, and what needs them says so.

mod address;
pub mod connection;
mod socket;
mod http;
mod peer;
mod reply;
mod native;
mod given;
mod chat;
mod generator;
mod vectors;

pub use super::error::ServerError;
pub use vectors::{ServerEmbedder, ServerReranker};

use serde::Serialize;

use super::error::LlmError;
use super::role::LoadedGenerator;
use crate::config::{GeneratorSettings, ServerSettings};
use crate::event::{Flow, ModelCard, ModelRole, StopFlag};
use generator::{ServerGenerator, listed};
use http::Client;

/// A generator behind a server.
pub struct Connected {
    pub generator: Box<dyn LoadedGenerator>,
    pub capabilities: Capabilities,
    /// Whether the key is sent where others can read it.
    pub shows_key: bool,
}

/// Connects to the server of the settings and learns what it can do. A ragscope loads the generator for this
/// connection.
///
/// # Errors
/// [`LlmError::Settings`] for the address or the key; [`LlmError::Server`] for a server that does not answer,
/// lacks the model, gives no log-probabilities, or is a ragscope of another version; [`LlmError::Stopped`].
pub fn connect_generator(
    settings: &GeneratorSettings,
    server: &ServerSettings,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<Connected, LlmError> {
    let client = Client::new(&settings.url, &settings.key, server, stop)?;
    let shows_key = client.shows_key();
    let model = listed(&client, &settings.served_model)?;
    if model.is_of(peer::OWNER) {
        let (generator, capabilities) = peer::connect(&client, stop, progress)?;
        return Ok(Connected {
            generator: Box::new(generator),
            capabilities,
            shows_key,
        });
    }
    let generator = ServerGenerator::connect(client, &model, settings)?;
    Ok(Connected {
        capabilities: generator.capabilities().clone(),
        generator: Box::new(generator),
        shows_key,
    })
}

/// Whether a server gives the log-probability of given text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum GivenText {
    No,
    /// Behind the prompt as the model reads it.
    InChat,
    /// Behind the turns as plain text: the template of the server is not known.
    InPlainText,
}

/// What a server can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Its interface, and the program behind it where it says so.
    pub interface: String,
    /// The most likely tokens of which it gives the probability with each token; 0 for no
    /// log-probabilities, [`Capabilities::ALL_TOKENS`] for the whole vocabulary.
    pub likely_tokens: u32,
    /// Whether one request gives several samples.
    pub several_samples: bool,
    /// Whether the log-probability of given text can be had.
    pub given_text: GivenText,
    /// Whether hidden states and attention can be read.
    pub inside: bool,
    /// Whether a prompt that begins as an earlier one is evaluated from there.
    pub prefix_cache: bool,
    /// Requests side by side.
    pub parallel: usize,
}

impl Capabilities {
    /// The log-probability of every token is known.
    pub const ALL_TOKENS: u32 = u32::MAX;

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
            Self::ALL_TOKENS => "log-probabilities (of all tokens)".to_owned(),
            count => format!("log-probabilities ({count} per token)"),
        };
        format!(
            "{}: {probabilities}, {}, {}, {}, {}, {} requests side by side",
            self.interface,
            has(self.several_samples, "several samples per request"),
            match self.given_text {
                GivenText::No => "no log-probabilities of given text",
                GivenText::InChat => "log-probabilities of given text",
                GivenText::InPlainText => {
                    "log-probabilities of given text (without the chat template)"
                }
            },
            has(self.inside, "hidden states and attention"),
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
