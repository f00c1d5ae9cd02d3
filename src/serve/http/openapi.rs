//! The description of the interface, as OpenAPI 3.1.

use axum::response::Response;
use rmcp::schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::serve::queue::SearchRequest;

use super::chat::ChatRequest;
use super::embeddings::EmbeddingsRequest;
use super::reply::{HttpFailure, json_reply};

/// Answers a request of `GET /openapi.json`.
pub async fn show() -> Result<Response, HttpFailure> {
    json_reply(&description())
}

/// Returns the description. The schemas of requests are those that the server reads them by.
fn description() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    let mut generator = settings.into_generator();
    let paths = paths(&mut generator);

    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ragscope",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Questions over folders of documents, with a local model. `/mcp` serves the Model Context Protocol.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(&mut generator),
            "responses": { "error": error() },
        },
    })
}

/// Returns the operations by path.
fn paths(generator: &mut SchemaGenerator) -> Value {
    let chat = post::<ChatRequest>(
        "Answers a question",
        "A `chat.completion`, or server-sent `chat.completion.chunk`s. The field `ragscope` has run, sentences with their \
         uncertainty, citations, sources and the verdict",
        generator,
    );
    let embeddings = post::<EmbeddingsRequest>(
        "Turns texts into vectors",
        "A list of unit vectors, in the order of the texts",
        generator,
    );
    let search = post::<SearchRequest>(
        "Searches the documents; nothing is generated",
        "The best chunks with their scores, the value of `ragscope search --json`",
        generator,
    );

    let id =
        json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }]);
    let mut model = get("Describes a model", "The model", "application/json");
    model["parameters"] = id.clone();
    let mut run = get(
        "Returns the records of a run, while it is in progress as they come",
        "A record per event; the last event is `[DONE]`",
        "text/event-stream",
    );
    run["parameters"] = id;
    let list = |summary, reply| get(summary, reply, "application/json");
    json!({
        "/v1/chat/completions": { "post": chat },
        "/v1/embeddings": { "post": embeddings },
        "/v1/search": { "post": search },
        "/v1/models": { "get": list("Lists the presets and the embedder as models", "The models") },
        "/v1/models/{id}": { "get": model },
        "/v1/runs": { "get": list("Lists the recorded runs over the folders", "The newest 500 runs") },
        "/v1/runs/{id}": { "get": run },
        "/v1/status": { "get": list("Describes the folders, the index, the models and how many requests wait", "The state") },
    })
}

fn schemas(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut schemas = generator.take_definitions(true);
    let error = json!({
        "type": "object",
        "properties": { "error": { "type": "object", "properties": {
            "message": { "type": "string", "description": "What happened, and what to do next" },
            "type": { "type": "string" },
            "param": { "type": ["string", "null"] },
            "code": { "type": "string" },
        } } },
    });
    schemas.insert("Error".to_owned(), error);
    schemas
}

fn error() -> Value {
    json!({
        "description": "400 a request that does not fit, 401 no or a wrong token, 403 another host or origin, 404 no such model \
            or run, 413 a body that is too large, 415 no JSON, 422 refused by the engine, 429 and 503 later (`Retry-After`)",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
    })
}

fn post<T: JsonSchema>(summary: &str, reply: &str, generator: &mut SchemaGenerator) -> Value {
    let mut operation = get(summary, reply, "application/json");
    operation["requestBody"] = json!({
        "required": true,
        "content": { "application/json": { "schema": generator.subschema_for::<T>() } },
    });
    operation
}

fn get(summary: &str, reply: &str, kind: &str) -> Value {
    json!({
        "summary": summary,
        "responses": {
            "200": { "description": reply, "content": { (kind): {} } },
            "default": { "$ref": "#/components/responses/error" },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_description_exists() {
        let description = description();
        let text = description.to_string();
        let references: Vec<&str> = text
            .split("\"$ref\":\"#")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(references.len() > 10, "{references:?}");
        for reference in references {
            assert!(description.pointer(reference).is_some(), "{reference}");
        }
    }
}
