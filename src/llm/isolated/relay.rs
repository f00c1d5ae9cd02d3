//! The messages of a generator over a connection: what a server passes on between a client and the process
//! of a generator.
//!
//! The server loads the generator of its own settings as soon as the connection is there; the client gets
//! the outcome, and then makes its calls. A client names no file and no setting. What it sends is read before
//! it is passed on: calls alone, within limits of what they make the process allocate.

use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::message::{Outcome, Reply, Request};
use crate::event::{CallUsage, Problem};
use crate::llm::error::LlmError;
use crate::llm::values::Taps;

/// The name and version of these messages, for the header `Upgrade`.
pub const PROTOCOL: &str = "ragscope-generator/1";
/// The path of a server where they begin.
pub const PATH: &str = "/v1/generator";

/// Size of the largest message of a client.
pub const MAX_REQUEST_BYTES: u64 = 8 << 20;
/// Size of the largest message of a server.
pub const MAX_REPLY_BYTES: u64 = 256 << 20;

/// Maximum number of parts whose attention to each other is read at once.
const MAX_PARTS: usize = 4096;
/// Maximum number of positions whose hidden states are read at once.
const MAX_POSITIONS: usize = 8;

/// A message of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Call,
    /// The answer to a token.
    Seen,
    /// Stops the call in progress.
    Interrupt,
}

/// A message of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Progress,
    /// A token, which waits for [`Sent::Seen`].
    Token,
    /// The end of a call.
    Done,
}

/// A message of the process, without its content.
#[derive(Deserialize)]
enum Shape {
    Loading(IgnoredAny),
    Token(IgnoredAny),
    Done(IgnoredAny),
    Alive,
}

/// Reads a message of a client.
///
/// # Errors
/// What is no message, or one that only the server sends; a call beyond the limits.
pub fn sent(message: &[u8]) -> Result<Sent, Problem> {
    let request = serde_json::from_slice(message).map_err(|error| {
        refused(format!(
            "the server cannot read the message of this program ({error})"
        ))
    })?;
    match request {
        Request::Load { .. } => Err(refused("the server chooses its model itself".to_owned())),
        Request::Seen { .. } => Ok(Sent::Seen),
        Request::Interrupt => Ok(Sent::Interrupt),
        Request::Complete { taps, .. } => {
            check_taps(&taps.unwrap_or_default())?;
            Ok(Sent::Call)
        }
        Request::Attend { text, parts, .. } => {
            check_parts(&parts, text.len())?;
            Ok(Sent::Call)
        }
        Request::AttendVectors { vectors, .. } => {
            check_count(vectors.len(), MAX_PARTS)?;
            Ok(Sent::Call)
        }
        Request::Classify { .. } | Request::Score { .. } | Request::Render(_) => Ok(Sent::Call),
    }
}

fn check_taps(taps: &Taps) -> Result<(), Problem> {
    check_count(taps.hidden.len(), MAX_POSITIONS)?;
    let mut lists = taps.attention.iter();
    lists.try_for_each(|parts| check_parts(parts, usize::MAX))
}

fn check_parts(parts: &[Range<usize>], length: usize) -> Result<(), Problem> {
    check_count(parts.len(), MAX_PARTS)?;
    match parts
        .iter()
        .find(|part| part.start > part.end || part.end > length)
    {
        None => Ok(()),
        Some(part) => Err(refused(format!(
            "{} to {} is no part of the text",
            part.start, part.end
        ))),
    }
}

fn check_count(count: usize, max: usize) -> Result<(), Problem> {
    if count <= max {
        return Ok(());
    }
    Err(refused(format!("the server reads at most {max} at once")))
}

fn refused(error: String) -> Problem {
    Problem::new(
        error,
        "install the same version of ragscope on both machines",
    )
}

/// Reads what a message of the process is; `None` for what is none.
pub fn said(message: &[u8]) -> Option<Said> {
    match serde_json::from_slice(message).ok()? {
        Shape::Loading(_) | Shape::Alive => Some(Said::Progress),
        Shape::Token(_) => Some(Said::Token),
        Shape::Done(_) => Some(Said::Done),
    }
}

/// Returns the message that shows a client that its call is still in progress.
pub fn alive() -> Vec<u8> {
    written(&Reply::Alive)
}

/// Returns the message that ends a call without the process.
pub fn ended(error: LlmError) -> Vec<u8> {
    written(&Reply::Done(Outcome {
        result: Err(error),
        usage: CallUsage::default(),
    }))
}

fn written(reply: &Reply) -> Vec<u8> {
    // these hold texts alone, which JSON can always hold
    serde_json::to_vec(reply).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::values::{Decoding, HiddenAt, Layers, Prompt, Sampling, StopRule, Token};

    fn complete(taps: Option<Taps>) -> Request {
        Request::Complete {
            prompts: vec![Prompt::user("Where?")],
            decoding: Decoding {
                max_tokens: 4,
                sampling: Sampling::GREEDY,
                seed: 7,
                stop: StopRule::default(),
            },
            taps,
        }
    }

    fn attend(parts: Vec<Range<usize>>) -> Request {
        Request::Attend {
            text: "two words".to_owned(),
            parts,
            layers: Layers::All,
        }
    }

    #[test]
    fn a_client_makes_calls_and_nothing_else() {
        let load = Request::Load {
            file: "/etc/passwd".into(),
            log_file: None,
            settings: serde_json::Value::Null,
        };
        let vectors = |count| Request::AttendVectors {
            vectors: vec![vec![0.5]; count],
            layers: Layers::Last,
        };
        let taps = |hidden, parts| {
            Some(Taps {
                hidden: vec![HiddenAt::FirstToken; hidden],
                attention: vec![parts],
            })
        };
        let one_part = |part| vec![part];
        for (request, expected) in [
            (complete(None), Ok(Sent::Call)),
            (complete(taps(2, one_part(0..3))), Ok(Sent::Call)),
            (attend(vec![0..3, 4..9]), Ok(Sent::Call)),
            (vectors(3), Ok(Sent::Call)),
            (Request::Render(Prompt::default()), Ok(Sent::Call)),
            (Request::Seen { continues: true }, Ok(Sent::Seen)),
            (Request::Interrupt, Ok(Sent::Interrupt)),
            (load, Err("chooses its model itself")),
            (complete(taps(9, one_part(0..3))), Err("at most 8")),
            (
                complete(taps(1, one_part(Range { start: 3, end: 0 }))),
                Err("3 to 0 is no part"),
            ),
            (attend(vec![0..3, 4..10]), Err("4 to 10 is no part")),
            (attend(vec![0..1; MAX_PARTS + 1]), Err("at most 4096")),
            (vectors(MAX_PARTS + 1), Err("at most 4096")),
        ] {
            let message = serde_json::to_vec(&request).expect("written");
            match (sent(&message), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(problem), Err(part)) => assert!(problem.error.contains(part), "{problem}"),
                (found, expected) => panic!("{found:?} in place of {expected:?}"),
            }
        }
        for other in ["", "{}", "{\"Run\":1}", "[1,2]", "\"Load\""] {
            let problem = sent(other.as_bytes()).expect_err("no message");
            assert!(problem.error.contains("cannot read"), "{problem}");
        }
    }

    fn token() -> Reply {
        Reply::Token {
            prompt: 0,
            token: Token {
                id: 1,
                text: "a".to_owned(),
                logprob: f32::NEG_INFINITY,
                entropy: 0.5,
                attention: vec![0.25],
                is_thought: false,
                alternatives: Vec::new(),
            },
        }
    }

    #[test]
    fn what_the_process_says_is_recognised_by_its_kind() {
        for (message, expected) in [
            (written(&token()), Some(Said::Token)),
            (written(&Reply::Loading(0.5)), Some(Said::Progress)),
            (alive(), Some(Said::Progress)),
            (ended(LlmError::Stopped), Some(Said::Done)),
            (b"warning: odd".to_vec(), None),
            (b"{\"Moved\":1}".to_vec(), None),
        ] {
            assert_eq!(said(&message), expected);
        }
    }

    /// A program of another version must not misread these: when one of them changes, [`PROTOCOL`] gets another
    /// number, and then this text.
    #[test]
    fn the_form_of_messages_is_that_of_the_version() {
        assert_eq!(PROTOCOL, "ragscope-generator/1");
        let text = |request: &Request| serde_json::to_string(request).expect("written");
        let taps = Taps {
            hidden: vec![HiddenAt::LastPromptToken],
            attention: vec![vec![0..3]],
        };
        for (message, expected) in [
            (
                text(&complete(Some(taps))),
                r#"{"Complete":{"prompts":[{"system":"","user":"Where?","reply":""}],"decoding":{"max_tokens":4,"sampling":{"temperature":0.0,"top_k":0,"top_p":1.0,"min_p":0.0},"seed":7,"stop":{"texts":[]}},"taps":{"hidden":["LastPromptToken"],"attention":[[{"start":0,"end":3}]]}}}"#,
            ),
            (
                text(&Request::Classify {
                    prompts: Vec::new(),
                    labels: vec!["yes".to_owned()],
                }),
                r#"{"Classify":{"prompts":[],"labels":["yes"]}}"#,
            ),
            (
                text(&Request::AttendVectors {
                    vectors: vec![vec![1.0]],
                    layers: Layers::One(3),
                }),
                r#"{"AttendVectors":{"vectors":[[1065353216]],"layers":{"One":3}}}"#,
            ),
            (
                String::from_utf8(written(&token())).expect("UTF-8"),
                r#"{"Token":{"prompt":0,"token":{"id":1,"text":"a","logprob":4286578688,"entropy":1056964608,"attention":[1048576000],"is_thought":false,"alternatives":[]}}}"#,
            ),
            (
                String::from_utf8(ended(LlmError::Stopped)).expect("UTF-8"),
                r#"{"Done":{"result":{"Err":"Stopped"},"usage":{"prompt_tokens_evaluated":0,"prompt_tokens_reused":0,"tokens_generated":0,"wall_us":0,"context_used":0,"context_tokens":0}}}"#,
            ),
        ] {
            assert_eq!(message, expected);
        }
    }
}
