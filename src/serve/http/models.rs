//! The models as clients see them: each preset is one.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::reply::{HttpFailure, json_reply};
use super::state::HttpState;

/// The name of a model that answers with the settings of the server.
const DEFAULT: &str = "ragscope";

/// Returns the preset that a model of the interface means; `None` for the settings of the server.
///
/// # Errors
/// A name of no model.
pub fn preset_of<'m>(model: &'m str, presets: &[String]) -> Result<Option<&'m str>, HttpFailure> {
    if model == DEFAULT {
        return Ok(None);
    }
    let preset = model
        .strip_prefix(DEFAULT)
        .and_then(|rest| rest.strip_prefix('/'));
    let known = preset.filter(|preset| presets.iter().any(|known| known == preset));
    known.map(Some).ok_or_else(|| unknown(model))
}

/// Returns the failure of a name that no model has.
fn unknown(model: &str) -> HttpFailure {
    HttpFailure::new(
        StatusCode::NOT_FOUND,
        "model_not_found",
        format!("there is no model {model:?}: /v1/models lists them"),
    )
}

/// Answers a request of `GET /v1/models`.
pub async fn list(State(server): State<Arc<HttpState>>) -> Result<Response, HttpFailure> {
    json_reply(&json!({ "object": "list", "data": all(&server) }))
}

/// Answers a request of `GET /v1/models/NAME`.
pub async fn show(
    State(server): State<Arc<HttpState>>,
    Path(name): Path<String>,
) -> Result<Response, HttpFailure> {
    let mut all = all(&server).into_iter();
    let model = all.find(|model| model["id"] == *name);
    json_reply(&model.ok_or_else(|| unknown(&name))?)
}

fn all(server: &HttpState) -> Vec<Value> {
    let presets = server.engine.status().presets.into_iter();
    let names = presets.map(|preset| format!("{DEFAULT}/{preset}"));
    std::iter::once(DEFAULT.to_owned())
        .chain(names)
        .map(|id| {
            json!({
                "id": id,
                "object": "model",
                "created": server.started_at,
                "owned_by": DEFAULT,
            })
        })
        .collect()
}
