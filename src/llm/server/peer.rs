//! Another ragscope: its generator over one connection, with everything that a generator here gives.

use std::time::Duration;

use super::http::Client;
use super::{Capabilities, GivenText};
use crate::event::{Flow, StopFlag};
use crate::llm::error::LlmError;
use crate::llm::isolated::IsolatedGenerator;
use crate::llm::isolated::relay::{PATH, PROTOCOL};
use crate::llm::role::LoadedGenerator as _;

/// The owner of the models that another ragscope lists.
pub(super) const OWNER: &str = "ragscope";

/// Maximum silence of the server during a call, in which it sends something twice a second.
const SILENCE: Duration = Duration::from_secs(30);

/// Connects to the generator of another ragscope, which loads it for this connection.
///
/// # Errors
/// [`LlmError::Server`] for a server that provides none, or is of another version; failures of the load there.
pub(super) fn connect(
    client: &Client,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<(IsolatedGenerator, Capabilities), LlmError> {
    let socket = client.switch(PATH, PROTOCOL)?;
    let silence = SILENCE.min(client.patience());
    let host = client.host();
    let mut generator =
        IsolatedGenerator::served(Box::new(socket), host.clone(), silence, stop, progress)?;
    let capabilities = Capabilities {
        interface: "ragscope".to_owned(),
        likely_tokens: Capabilities::ALL_TOKENS,
        several_samples: true,
        given_text: GivenText::InChat,
        inside: true,
        prefix_cache: generator.can_share_prefixes(),
        // one call at a time, with all its prompts in one batch
        parallel: 1,
    };
    generator.describe(host, capabilities.words());
    Ok((generator, capabilities))
}
