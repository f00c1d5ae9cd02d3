//! The certificates by which servers are trusted: those of `SSL_CERT_FILE`, which companies set for
//! their own servers and proxies, else Mozilla's.

use std::borrow::Cow;
use std::path::PathBuf;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

use crate::event::Advice;

/// The file of `SSL_CERT_FILE` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the certificates in {} cannot be used ({reason})", file.display())]
pub struct UnusableCertificates {
    pub file: PathBuf,
    pub reason: String,
}

impl Advice for UnusableCertificates {
    fn advice(&self) -> Option<Cow<'_, str>> {
        Some("correct SSL_CERT_FILE, or unset it".into())
    }
}

/// Returns the certificates for HTTP.
///
/// # Errors
/// [`UnusableCertificates`] for a file that cannot be read or holds none.
pub(super) fn http_roots() -> Result<RootCerts, UnusableCertificates> {
    Ok(match own()? {
        Some((_, certificates)) => RootCerts::new_with_certs(&certificates),
        None => RootCerts::WebPki,
    })
}

/// Returns the certificates of `SSL_CERT_FILE` for other protocols; `None` where it is not set.
///
/// # Errors
/// [`UnusableCertificates`] for a file that cannot be read, or whose certificates are damaged or
/// none.
pub fn own_roots() -> Result<Option<RootCertStore>, UnusableCertificates> {
    let Some((file, certificates)) = own()? else {
        return Ok(None);
    };

    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let der = CertificateDer::from(certificate.der().to_vec());
        roots.add(der).map_err(|error| UnusableCertificates {
            file: file.clone(),
            reason: error.to_string(),
        })?;
    }

    Ok(Some(roots))
}

/// Reads the file of `SSL_CERT_FILE`; `None` where the variable is not set.
fn own() -> Result<Option<(PathBuf, Vec<Certificate<'static>>)>, UnusableCertificates> {
    let Some(file) = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty()) else {
        return Ok(None);
    };
    let file = PathBuf::from(file);
    let unusable = |reason: String| UnusableCertificates {
        file: file.clone(),
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
    Ok(Some((file, certificates)))
}
