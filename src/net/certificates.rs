//! The certificates by which servers are trusted: those of `SSL_CERT_FILE`, which companies set for
//! their own servers and proxies, else Mozilla's.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

use crate::event::Problem;

/// Returns the error of a file of `SSL_CERT_FILE` that cannot be used.
fn unusable(file: &Path, reason: impl Display) -> Problem {
    Problem::new(
        format!(
            "the certificates in {} cannot be used ({reason})",
            file.display()
        ),
        "correct SSL_CERT_FILE, or unset it",
    )
}

/// Returns the certificates for HTTP.
///
/// # Errors
/// A file that cannot be read or holds none.
pub(super) fn http_roots() -> Result<RootCerts, Problem> {
    Ok(match own()? {
        Some((_, certificates)) => RootCerts::new_with_certs(&certificates),
        None => RootCerts::WebPki,
    })
}

/// Returns the certificates of `SSL_CERT_FILE` for other protocols; `None` where it is not set.
///
/// # Errors
/// A file that cannot be read, or whose certificates are damaged or
/// none.
pub fn own_roots() -> Result<Option<RootCertStore>, Problem> {
    let Some((file, certificates)) = own()? else {
        return Ok(None);
    };

    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let der = CertificateDer::from(certificate.der().to_vec());
        roots.add(der).map_err(|error| unusable(&file, error))?;
    }

    Ok(Some(roots))
}

/// Reads the file of `SSL_CERT_FILE`; `None` where the variable is not set.
fn own() -> Result<Option<(PathBuf, Vec<Certificate<'static>>)>, Problem> {
    let Some(file) = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty()) else {
        return Ok(None);
    };
    let file = PathBuf::from(file);
    let text = std::fs::read(&file).map_err(|error| unusable(&file, error))?;

    let certificates: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            Ok(_) | Err(_) => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(unusable(&file, "it holds no certificate"));
    }
    Ok(Some((file, certificates)))
}
