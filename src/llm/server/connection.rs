//! How this program connects to a server, whatever it is for: certificates, time-outs, the name it gives.

use std::path::PathBuf;
use std::time::Duration;

use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::typestate::AgentScope;

use crate::llm::error::LlmError;

/// The name that this program gives itself.
pub const USER_AGENT: &str = concat!("ragscope/", env!("CARGO_PKG_VERSION"));

/// The file of `SSL_CERT_FILE` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableCertificates {
    pub file: PathBuf,
    pub reason: String,
}

impl From<UnusableCertificates> for LlmError {
    fn from(error: UnusableCertificates) -> Self {
        Self::settings(
            format!(
                "the certificates in {} cannot be used ({})",
                error.file.display(),
                error.reason
            ),
            "correct SSL_CERT_FILE, or unset it",
        )
    }
}

/// Returns the configuration of a client that waits `connecting` for a connection, though never longer than
/// `patience`, and `patience` for the head of an answer and for each part of its body. It follows no redirect,
/// so that a key goes to the server that it is meant for alone, and leaves every status to the caller.
///
/// # Errors
/// [`UnusableCertificates`] when `SSL_CERT_FILE` names a file that holds none.
pub fn config(
    connecting: Duration,
    patience: Duration,
) -> Result<ConfigBuilder<AgentScope>, UnusableCertificates> {
    let tls = TlsConfig::builder().root_certs(root()?).build();
    Ok(Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .tls_config(tls)
        .timeout_connect(Some(connecting.min(patience)))
        .timeout_recv_response(Some(patience))
        .timeout_per_read(Some(patience))
        .user_agent(USER_AGENT))
}

/// Returns the certificates of `SSL_CERT_FILE`, which companies set for their own servers and
/// proxies; else Mozilla's.
///
/// # Errors
/// [`UnusableCertificates`] for a file that cannot be read or holds none.
pub fn root() -> Result<RootCerts, UnusableCertificates> {
    let Some(file) = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty()) else {
        return Ok(RootCerts::WebPki);
    };
    let unusable = |reason: String| UnusableCertificates {
        file: file.clone().into(),
        reason,
    };
    let text = std::fs::read(&file).map_err(|error| unusable(error.to_string()))?;

    let certificates: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            Ok(_) | Err(_) => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(unusable("it holds no certificate".to_owned()));
    }
    Ok(RootCerts::new_with_certs(&certificates))
}
