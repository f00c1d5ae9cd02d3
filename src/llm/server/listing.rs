//! The models that a server lists.

use serde::Deserialize;

use super::card::named_card;
use super::http::{ServerClient, ServerRequest};
use crate::event::{ModelCard, ModelRole};
use crate::llm::error::{LlmError, Result};

/// A model that a server lists.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListedModel {
    pub id: String,
    pub owned_by: String,
    meta: Option<Meta>,
    /// vLLM's name of the context length.
    max_model_len: Option<u32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Meta {
    n_embd: u32,
    n_params: u64,
    size: u64,
    n_ctx: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelListing {
    data: Vec<ListedModel>,
}

/// Returns the model that the setting names, or else the first that the server lists. A server that
/// lists none is believed to have it.
pub(super) fn find_listed(client: &ServerClient, wanted: &str) -> Result<ListedModel> {
    let listing = match client.json::<ModelListing>(ServerRequest::get("/v1/models")) {
        Ok(listing) => listing.data,
        Err(LlmError::Rejected { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    let names: Vec<&str> = listing.iter().map(|one| one.id.as_str()).collect();

    let found = if wanted.is_empty() {
        listing.first()
    } else {
        listing.iter().find(|one| one.id == wanted)
    };

    match found {
        Some(found) => Ok(found.clone()),
        None if listing.is_empty() => Ok(ListedModel {
            id: wanted.to_owned(),
            ..ListedModel::default()
        }),
        None => Err(LlmError::new(
            format!(
                "the model server {} has no model `{wanted}`; it lists {}",
                client.host(),
                names.join(", ")
            ),
            "set `served_model` beside the url to one that it lists",
        )),
    }
}

/// Describes a model of a server.
pub(super) fn card(client: &ServerClient, model: &ListedModel) -> ModelCard {
    let meta = model.meta.clone().unwrap_or_default();
    ModelCard {
        file_bytes: meta.size,
        fingerprint: blake3::hash(format!("{} {}", model.id, meta.n_params).as_bytes())
            .to_hex()
            .to_string(),
        parameters: meta.n_params,
        width: meta.n_embd,
        context_tokens: model.max_model_len.unwrap_or(meta.n_ctx),
        chat_template: "server".to_owned(),
        ..named_card(ModelRole::Generator, &client.host(), &model.id)
    }
}
