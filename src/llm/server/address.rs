//! The address of a model server.

use crate::llm::error::{LlmError, Result};
use crate::net;

/// The address of a server, without the path of its interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub base: String,
    /// Host and port, for messages.
    pub host: String,
}

impl Address {
    /// Reads a setting such as `http://127.0.0.1:8080/v1`.
    ///
    /// # Errors
    /// What is not an address, and one that holds a password.
    pub fn read(url: &str) -> Result<Self> {
        let wrong = |reason: &str| {
            LlmError::new(
                format!("the url of the model server {reason}"),
                "write it as http://HOST:PORT or https://HOST, and the key into `key` beside it",
            )
        };

        let rest = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"))
            .ok_or_else(|| wrong("does not begin with http:// or https://"))?;

        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.contains('@') {
            return Err(wrong("holds a user name or a password"));
        }
        if host.is_empty() || rest.contains(['?', '#']) || rest.contains(char::is_whitespace) {
            return Err(wrong("is not an address"));
        }

        let base = url.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);

        Ok(Self {
            base: base.trim_end_matches('/').to_owned(),
            host: host.to_owned(),
        })
    }

    /// Returns whether the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        net::is_loopback(&self.host)
    }

    /// Returns whether what is sent can be read on the way.
    pub fn is_open(&self) -> bool {
        !self.is_loopback() && self.base.starts_with("http://")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_and_a_host() {
        for (url, expected) in [
            (
                "http://127.0.0.1:8080",
                Some(("http://127.0.0.1:8080", true)),
            ),
            (
                "http://localhost:8080/v1/",
                Some(("http://localhost:8080", true)),
            ),
            ("https://[::1]:8080/v1", Some(("https://[::1]:8080", true))),
            (
                "https://models.example/llm/v1",
                Some(("https://models.example/llm", false)),
            ),
            ("models.example:8080", None),
            ("http://", None),
            ("http://me:secret@models.example", None),
            ("http://models.example/?key=1", None),
            ("ftp://models.example", None),
        ] {
            let read = Address::read(url).ok();
            let found = read.as_ref().map(|one| (&*one.base, one.is_loopback()));
            assert_eq!(found, expected, "{url}");
        }
    }
}
