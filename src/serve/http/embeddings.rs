//! Embeddings: the vectors of texts by the embedder of the folders.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::event::Side;
use crate::serve::queue::{self, Caller, Client, Refusal};

use super::body::read_json;
use super::models::{embedder, unknown};
use super::reply::{HttpFailure, json_reply};
use super::state::HttpState;

/// Maximum number of texts in a request.
const MAX_TEXTS: usize = 2048;

/// A request of `POST /v1/embeddings`.
#[derive(Debug, Deserialize)]
pub struct EmbeddingsRequest {
    /// `ragscope`, or the name of the embedder as /v1/models lists it
    model: String,
    /// A text, or up to 2048 of them. A text that is longer than the context of the model is
    /// truncated
    input: Input,
    /// Form of the vectors: `float` for numbers, `base64` for those in 32 bits, little-endian
    #[serde(default)]
    encoding_format: Option<Encoding>,
    /// Width of the vectors: that of the model
    dimensions: Option<usize>,
    /// Extensions that other servers do not have
    ragscope: Option<EmbeddingsExtension>,
}

/// The extra field of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct EmbeddingsExtension {
    /// `query` for texts that documents are searched with, as some embedders read them differently;
    /// `document` if not given
    #[serde(default)]
    side: Side,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Texts(Vec<String>),
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Float,
    Base64,
}

#[derive(Serialize)]
struct EmbeddingsReply {
    object: &'static str,
    data: Vec<EmbeddingRow>,
    model: String,
    usage: Value,
}

#[derive(Serialize)]
struct EmbeddingRow {
    object: &'static str,
    index: usize,
    embedding: EncodedVector,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EncodedVector {
    Numbers(Vec<f32>),
    Base64(String),
}

/// Answers a request of `POST /v1/embeddings`.
pub async fn embed(
    State(server): State<Arc<HttpState>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpFailure> {
    let request: EmbeddingsRequest = read_json(&headers, body).await?;
    let status = server.engine.status();
    let is_other = embedder(&status).is_some_and(|name| name != request.model);
    if is_other && request.model != "ragscope" {
        return Err(unknown(&request.model));
    }
    let texts = texts(request.input)?;

    let cancelled = CancellationToken::new();
    let _wanted = cancelled.clone().drop_guard();
    let caller = Caller::new(client, cancelled);
    let side = request.ragscope.unwrap_or_default().side;
    let embedded =
        tokio::spawn(async move { queue::embed(texts, side, &server.engine, &caller).await });
    let embedding = embedded.await.map_err(|_| Refusal::for_end())??;
    let embedding = embedding.ok_or_else(Refusal::for_end)?;

    let width = embedding.vectors.first().map_or(0, Vec::len);
    if request
        .dimensions
        .is_some_and(|dimensions| dimensions != width)
    {
        return Err(HttpFailure::invalid(format!(
            "`dimensions` is not {width}, the width of the model's vectors: leave it out"
        )));
    }
    let encoding = request.encoding_format.unwrap_or_default();
    let rows = embedding.vectors.into_iter().enumerate();
    json_reply(&EmbeddingsReply {
        object: "list",
        data: rows
            .map(|(index, vector)| EmbeddingRow {
                object: "embedding",
                index,
                embedding: encode(vector, encoding),
            })
            .collect(),
        model: embedding.model,
        usage: json!({ "prompt_tokens": embedding.tokens, "total_tokens": embedding.tokens }),
    })
}

/// Returns the texts of a request.
fn texts(input: Input) -> Result<Vec<String>, HttpFailure> {
    let texts = match input {
        Input::Text(text) => vec![text],
        Input::Texts(texts) => texts,
    };

    if texts.is_empty() || texts.len() > MAX_TEXTS {
        return Err(HttpFailure::invalid(format!(
            "`input` has {} texts: send 1 to {MAX_TEXTS}",
            texts.len()
        )));
    }

    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err(HttpFailure::invalid(
            "a text of `input` is empty: leave it out",
        ));
    }

    Ok(texts)
}

fn encode(vector: Vec<f32>, encoding: Encoding) -> EncodedVector {
    match encoding {
        Encoding::Float => EncodedVector::Numbers(vector),
        Encoding::Base64 => {
            // OpenAI's base64: the numbers as f32, the lowest byte first
            let bytes: Vec<u8> = vector.into_iter().flat_map(f32::to_le_bytes).collect();
            EncodedVector::Base64(STANDARD.encode(bytes))
        }
    }
}
