//! The configuration of every HTTP client.

use std::time::Duration;

use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::tls::TlsConfig;
use ureq::typestate::AgentScope;

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
