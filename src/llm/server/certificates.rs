//! The root certificates that every connection is checked with.

use std::path::PathBuf;

use ureq::tls::{PemItem, RootCerts, parse_pem};

use crate::llm::LlmError;

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
