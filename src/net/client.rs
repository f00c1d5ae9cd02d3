//! HTTP as a client: the configuration of all, requests, and what is read of their answers.

use std::io::{self, Read};
use std::time::Duration;

use serde_json::Value;
use ureq::config::ConfigBuilder;
use ureq::http::{Request, Response};
use ureq::tls::TlsConfig;
use ureq::typestate::AgentScope;
use ureq::{Agent, Body};

use super::certificates::http_roots;
use crate::event::Problem;

/// The name that this program gives itself.
const USER_AGENT: &str = concat!("ragscope/", env!("CARGO_PKG_VERSION"));

/// Returns the configuration of a client that waits `connecting` for a connection, though never
/// longer than `patience`, and `patience` for the head of an answer and for each part of its body.
/// It follows no redirect, so that a key goes to the server that it is meant for alone, and leaves
/// every status to the caller.
///
/// # Errors
/// When `SSL_CERT_FILE` names a file that holds no certificates.
pub fn config(
    connecting: Duration,
    patience: Duration,
) -> Result<ConfigBuilder<AgentScope>, Problem> {
    let tls = TlsConfig::builder().root_certs(http_roots()?).build();
    Ok(Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .tls_config(tls)
        .timeout_connect(Some(connecting.min(patience)))
        .timeout_recv_response(Some(patience))
        .timeout_per_read(Some(patience))
        .user_agent(USER_AGENT))
}

/// Sends a request: it posts JSON where there is a body. A header without a value is left out.
///
/// # Errors
/// An address that cannot be read; a connection that fails, or has no answer in time.
pub fn send(
    agent: &Agent,
    url: &str,
    headers: &[(&str, Option<String>)],
    body: Option<&Value>,
) -> Result<Response<Body>, ureq::Error> {
    let mut request = Request::builder().uri(url);
    for (name, value) in headers {
        if let Some(value) = value {
            request = request.header(*name, value);
        }
    }

    match body {
        None => agent.run(request.body(())?),
        Some(body) => {
            let request = request.method("POST");
            let request = request.header("content-type", "application/json");
            agent.run(request.body(body.to_string())?)
        }
    }
}

/// Returns a header of an answer; `None` for one that is not text.
pub fn header(response: &Response<Body>, name: &str) -> Option<String> {
    let value = response.headers().get(name)?.to_str().ok()?;
    Some(value.trim().to_owned())
}

/// Reads an answer, or the first `max` bytes of a longer one.
///
/// # Errors
/// A connection that breaks.
pub fn read_body(response: Response<Body>, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let body = response.into_body().into_reader();
    body.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}
