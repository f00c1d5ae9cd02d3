//! The log-probability of given text, by the two ways that servers with the interface of OpenAI have: `echo`
//! with `logprobs` of `/v1/completions`, and vLLM's `prompt_logprobs`.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::json;

use super::chat::Chat;
use super::http::{Client, Request};
use super::native::read;
use crate::llm::error::LlmError;
use crate::llm::error::ServerError;
use crate::llm::template::parts;
use crate::llm::values::Prompt;

/// The path of completions of plain text.
pub(super) const COMPLETIONS: &str = "/v1/completions";
/// The path of vLLM's tokeniser.
const TOKENIZE: &str = "/tokenize";
/// The text of the trial.
const TRIAL: &str = "one two three";

/// How the log-probability of given text is had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// vLLM: the template and the tokens are asked for, and the prompt comes back with its probabilities.
    Prompt,
    /// The text is echoed. The template of the server is not known, so that the turns are plain text.
    Echo,
}

/// The given text of a request.
struct Place {
    request: Request,
    what: What,
}

enum What {
    /// These tokens, behind this number of others.
    Tokens { before: usize, targets: Vec<i32> },
    /// The characters from `start` up to `end`.
    Characters { start: usize, end: usize },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    choices: Vec<Choice>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    logprobs: Option<Echoed>,
    /// By place and token; the first place has none.
    prompt_logprobs: Option<Vec<Option<HashMap<String, Known>>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Echoed {
    /// The first token has none.
    token_logprobs: Vec<Option<f32>>,
    /// Where each token begins, in characters.
    text_offset: Vec<usize>,
}

#[derive(Debug, Deserialize)]
struct Known {
    logprob: f32,
}

#[derive(Debug, Deserialize)]
struct Tokens {
    tokens: Vec<i32>,
}

impl Given {
    /// Tries what the server has; `None` where it has neither.
    ///
    /// # Errors
    /// A server that does not answer.
    pub fn learn(client: &Client, chat: &Chat) -> Result<Option<Self>, LlmError> {
        let ways: &[Self] = if chat.is_vllm {
            &[Self::Prompt, Self::Echo]
        } else {
            &[Self::Echo]
        };
        for way in ways {
            match way.score(client, chat, &[Prompt::user(TRIAL)], &[TRIAL]) {
                Ok(_) => return Ok(Some(*way)),
                // a server that does not have it answers in its own way
                Err(LlmError::Server(
                    ServerError::Rejected { .. }
                    | ServerError::Unreadable { .. }
                    | ServerError::Busy { .. },
                )) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns the log-probability of each token of each continuation, nats.
    ///
    /// # Errors
    /// [`LlmError::BadLabel`] for a continuation without text; [`LlmError::Server`]; [`LlmError::Stopped`].
    pub fn score(
        self,
        client: &Client,
        chat: &Chat,
        prompts: &[Prompt],
        continuations: &[&str],
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        if let Some(empty) = continuations.iter().find(|text| text.trim().is_empty()) {
            return Err(LlmError::BadLabel {
                label: (*empty).to_owned(),
            });
        }
        let places = match self {
            Self::Prompt => token_places(client, chat, prompts, continuations)?,
            Self::Echo => text_places(chat, prompts, continuations),
        };
        let requests = places.iter().map(|place| place.request.clone());
        let answers = client.all_json(requests.collect())?;
        answers
            .into_iter()
            .zip(&places)
            .map(|(answer, place)| {
                let answer: Answer = read(client, answer)?;
                let first = answer.choices.into_iter().next().unwrap_or_default();
                let scores = place.what.scores(first);
                scores.ok_or_else(|| {
                    let reason = "it lacks the probabilities of the given text";
                    client.unreadable(reason).into()
                })
            })
            .collect()
    }
}

/// Returns the places of continuations behind the template of the server.
fn token_places(
    client: &Client,
    chat: &Chat,
    prompts: &[Prompt],
    continuations: &[&str],
) -> Result<Vec<Place>, LlmError> {
    let before = prompts.iter().map(|prompt| {
        let mut body = chat.turns(prompt);
        body["model"] = json!(chat.model);
        if prompt.reply.is_empty() {
            body["add_generation_prompt"] = json!(true);
        }
        Request::post(TOKENIZE, body)
    });
    let targets = continuations.iter().map(|text| {
        let body = json!({"model": chat.model, "prompt": text, "add_special_tokens": false});
        Request::post(TOKENIZE, body)
    });
    let mut tokens = client
        .all_json(before.chain(targets).collect())?
        .into_iter()
        .map(|answer| Ok(read::<Tokens>(client, answer)?.tokens))
        .collect::<Result<Vec<Vec<i32>>, LlmError>>()?;
    let targets = tokens.split_off(prompts.len());

    let places = tokens.into_iter().zip(targets).map(|(before, targets)| {
        let prompt = [before.as_slice(), &targets].concat();
        let body = json!({
            "model": chat.model,
            "prompt": prompt,
            "max_tokens": 1,
            "temperature": 0.0,
            // the token of each place alone
            "prompt_logprobs": 0,
        });
        Place {
            request: Request::post(COMPLETIONS, body),
            what: What::Tokens {
                before: before.len(),
                targets,
            },
        }
    });
    Ok(places.collect())
}

/// Returns the places of continuations behind the turns as plain text.
fn text_places(chat: &Chat, prompts: &[Prompt], continuations: &[&str]) -> Vec<Place> {
    let places = prompts.iter().zip(continuations).map(|(prompt, given)| {
        let mut text = parts::plain_turns(&prompt.system, &prompt.user) + &prompt.reply;
        let start = text.chars().count();
        text.push_str(given);
        let end = text.chars().count();
        let body = json!({
            "model": chat.model,
            "prompt": text,
            // none at all is no limit to some servers
            "max_tokens": 1,
            "temperature": 0.0,
            "echo": true,
            "logprobs": 1,
        });
        Place {
            request: Request::post(COMPLETIONS, body),
            what: What::Characters { start, end },
        }
    });
    places.collect()
}

impl What {
    /// Returns the log-probabilities of the given text in an answer; `None` where it lacks one.
    fn scores(&self, answer: Choice) -> Option<Vec<f32>> {
        match self {
            Self::Tokens { before, targets } => {
                let places = answer.prompt_logprobs?;
                let given = places.get(*before..before + targets.len())?.iter();
                given
                    .zip(targets)
                    .map(|(place, target)| {
                        let known = place.as_ref()?.get(&target.to_string())?;
                        Some(known.logprob)
                    })
                    .collect()
            }
            Self::Characters { start, end } => {
                let Echoed {
                    token_logprobs,
                    text_offset,
                } = answer.logprobs?;
                // what is written behind the text ends its last token
                let ends = text_offset.iter().skip(1).copied().chain([usize::MAX]);
                let tokens = text_offset.iter().zip(ends).zip(token_logprobs);
                // a token across the boundary is a part of the given text
                let given = tokens.filter(|((begins, ends), _)| ends > start && *begins < end);
                let scores: Option<Vec<f32>> = given.map(|(_, logprob)| logprob).collect();
                scores.filter(|scores| !scores.is_empty())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn scores(what: &What, answer: &Value) -> Option<Vec<f32>> {
        let answer: Answer = serde_json::from_value(answer.clone()).expect("an answer");
        what.scores(answer.choices.into_iter().next()?)
    }

    #[test]
    fn the_given_text_is_taken_out_of_the_echo() {
        // "Where?\n\nTam Reeve", and a token that the server wrote
        let echo = json!({"choices": [{"logprobs": {
            "tokens": ["Where", "?\n\n", "Tam", " Reeve", "."],
            "token_logprobs": [null, -1.0, -0.5, -0.25, -9.0],
            "text_offset": [0, 5, 8, 11, 17],
        }}]});
        let between = |start, end| What::Characters { start, end };
        for (what, expected) in [
            (between(8, 17), Some(vec![-0.5, -0.25])),
            (between(9, 17), Some(vec![-0.5, -0.25])),
            (between(11, 17), Some(vec![-0.25])),
            (between(0, 8), None),
        ] {
            assert_eq!(scores(&what, &echo), expected);
        }
        let bare = json!({"choices": [{"text": "Where?"}]});
        assert_eq!(scores(&between(1, 2), &bare), None);
    }

    #[test]
    fn the_given_tokens_are_taken_out_of_the_prompt() {
        let one = |id: &str, logprob: f32| json!({(id): {"logprob": logprob, "rank": 3, "decoded_token": "x"}});
        let answer = json!({"choices": [{"prompt_logprobs":
            [null, one("5", -1.0), one("7", -0.5), one("8", -0.25)]}]});
        let at = |before, targets: &[i32]| What::Tokens {
            before,
            targets: targets.to_vec(),
        };
        for (what, expected) in [
            (at(2, &[7, 8]), Some(vec![-0.5, -0.25])),
            (at(1, &[5]), Some(vec![-1.0])),
            (at(2, &[7, 9]), None),
            (at(3, &[8, 9]), None),
            (at(0, &[4]), None),
        ] {
            assert_eq!(scores(&what, &answer), expected);
        }
    }
}
