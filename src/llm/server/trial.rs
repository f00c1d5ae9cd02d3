//! Trial requests that find out the abilities of a server, once, when it is connected to.

use serde_json::{Value, json};

use super::capabilities::Capabilities;
use super::chat::{CHAT, Chat, LIKELY_TOKENS, Trial};
use super::http::{ServerClient, ServerRequest};
use super::listing::ListedModel;
use super::native::{self, Native, Props};
use crate::llm::error::{LlmError, Result};

/// Asks for llama-server's own interface; `None` where it has another one.
pub(super) fn props(client: &ServerClient) -> Result<Option<Props>> {
    match client.json::<Value>(ServerRequest::get("/props")) {
        Ok(props) => {
            let props: Props = serde_json::from_value(props).unwrap_or_default();
            Ok(Some(props).filter(|props| props.default_generation_settings.is_some()))
        }
        // a server that has no such path, or answers it in its own way
        Err(LlmError::Rejected { .. } | LlmError::Unreadable { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Tries llama-server's own interface.
pub(super) fn try_native(
    client: &ServerClient,
    props: &Props,
    native: &Native,
) -> Result<Capabilities> {
    let tokens = native.plain_tokens(client, "one two three")?;

    let trial = || {
        let body = json!({
            "prompt": tokens, "n_predict": 1, "n_probs": 2, "temperature": 0.0,
            "cache_prompt": true,
        });
        client.json::<Value>(ServerRequest::post("/completion", body))
    };

    // only the second one can be evaluated from a prompt before it
    trial()?;
    let again = trial()?;

    // a single answer may come in a list
    let answer = again.get(0).unwrap_or(&again);
    let likely = answer.pointer("/completion_probabilities/0/top_logprobs");
    let has_likely = likely.and_then(Value::as_array).is_some();
    let reused = answer.pointer("/timings/cache_n").and_then(Value::as_u64);

    Ok(Capabilities {
        interface: format!("llama-server {}", props.build_info),
        likely_tokens: if has_likely { native::LIKELY_TOKENS } else { 0 },
        given_text: true,
        prefix_cache: reused.is_some_and(|reused| reused > 0),
        parallel: client.parallel(),
    })
}

/// Tries a chat with this number of the most likely tokens.
fn trial(client: &ServerClient, model: &ListedModel, likely: u32) -> Result<Trial> {
    let mut body = json!({
        "model": model.id, "max_tokens": 1,
        "messages": [{"role": "user", "content": "Answer with one word: is water wet, yes or no?"}],
    });

    if likely > 0 {
        body["logprobs"] = json!(true);
        body["top_logprobs"] = json!(likely);
    }

    let answer = client.json(ServerRequest::post(CHAT, body))?;
    Trial::read(client, answer)
}

/// Tries a chat with less and less, until the server takes it.
pub(super) fn try_chat(client: &ServerClient, model: &ListedModel) -> Result<(Chat, Capabilities)> {
    let trial = |likely| trial(client, model, likely);
    let mut tried = None;
    for likely in [LIKELY_TOKENS, 5, 0] {
        match trial(likely) {
            Ok(found) => {
                tried = Some(found);
                break;
            }
            Err(LlmError::Rejected { status, .. }) if likely > 0 && status != 404 => {}
            Err(error) => return Err(error),
        }
    }

    let tried = tried.unwrap_or_default();
    let again = match tried.likely_tokens {
        0 => Trial::default(),
        likely => trial(likely)?,
    };

    let chat = Chat {
        model: model.id.clone(),
        is_vllm: model.owned_by == "vllm",
        likely_tokens: tried.likely_tokens,
    };

    let owner = if model.owned_by.is_empty() {
        String::new()
    } else {
        format!(" ({})", model.owned_by)
    };

    let capabilities = Capabilities {
        interface: format!("OpenAI-compatible{owner}"),
        likely_tokens: tried.likely_tokens,
        given_text: false,
        prefix_cache: again.cached_tokens > 0,
        parallel: client.parallel(),
    };

    Ok((chat, capabilities))
}
