//! Models behind a server: llama-server by its own interface, others by that of OpenAI.
//!
//! What a server can do is learnt once, when it is connected to. Text and probabilities come
//! through from each; hidden states and attention from none, and what needs them says so.

mod capabilities;
mod card;
mod address;
mod http;
mod reply;
mod native;
mod chat;
mod listing;
mod trial;
mod labels;
mod generator;
mod vectors;

pub use capabilities::Capabilities;
pub use vectors::{ServerEmbedder, ServerReranker};

use super::error::Result;
use super::role::LoadedGenerator;
use crate::config::{GeneratorSettings, ServerSettings};
use crate::event::StopFlag;
use generator::ServerGenerator;
use http::ServerClient;
use listing::find_listed;

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
/// An address or a key that cannot be read; a server that does not answer, lacks the model or gives
/// no log-probabilities; [`super::LlmError::Stopped`].
pub fn connect_generator(
    settings: &GeneratorSettings,
    server: &ServerSettings,
    stop: &StopFlag,
) -> Result<Connected> {
    let client = ServerClient::new(&settings.url, &settings.key, server, stop)?;
    let shows_key = client.shows_key();
    let model = find_listed(&client, &settings.served_model)?;

    let generator = ServerGenerator::connect(client, &model, settings)?;
    Ok(Connected {
        capabilities: generator.capabilities.clone(),
        generator: Box::new(generator),
        shows_key,
    })
}
