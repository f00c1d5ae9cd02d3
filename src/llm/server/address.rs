//! Where a model server is, and the key that it is asked with.

use std::fmt;
use std::fs;
use std::net::IpAddr;

use crate::llm::LlmError;

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
    /// [`LlmError::Settings`] for what is no address, and for one that holds a password.
    pub fn read(url: &str) -> Result<Self, LlmError> {
        let wrong = |reason: &str| {
            LlmError::settings(
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
            return Err(wrong("is no address"));
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
        let name = match self.host.rsplit_once(':') {
            Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
            Some(_) | None => &self.host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }

    /// Returns whether what is sent can be read on the way.
    pub fn is_open(&self) -> bool {
        !self.is_loopback() && self.base.starts_with("http://")
    }
}

/// A key, which no message and no record shows.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Reads the key that a setting names, `env:NAME` or `file:PATH`; `None` for an empty one.
    ///
    /// # Errors
    /// [`LlmError::Settings`] for another form, since settings are recorded with each run; for a
    /// variable that is not set and a file that cannot be read.
    pub fn read(setting: &str) -> Result<Option<Self>, LlmError> {
        let advice = "set `key` to env:NAME or file:PATH, not to the key itself";
        let text = if setting.is_empty() {
            return Ok(None);
        } else if let Some(name) = setting.strip_prefix("env:") {
            std::env::var(name).map_err(|_| {
                LlmError::settings(format!("the variable {name} is not set"), advice)
            })?
        } else if let Some(path) = setting.strip_prefix("file:") {
            fs::read_to_string(path).map_err(|error| {
                LlmError::settings(
                    format!("the key in {path} cannot be read ({error})"),
                    advice,
                )
            })?
        } else {
            return Err(LlmError::settings(
                "a key of a model server stands in the settings, which are recorded with each run",
                advice,
            ));
        };
        let key = text.lines().next().unwrap_or_default().trim();
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic()) {
            return Err(LlmError::settings(
                format!("{setting} holds no key"),
                "put the key there, in one line",
            ));
        }
        Ok(Some(Self(key.to_owned())))
    }

    /// Returns the value of the header `Authorization`.
    pub fn header(&self) -> String {
        format!("Bearer {}", self.0)
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

    #[test]
    fn a_key_is_named_and_never_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        fs::write(&file, "  s3cret \nrest\n").expect("written");
        let setting = format!("file:{}", file.display());
        let key = Key::read(&setting).expect("read").expect("a key");
        assert_eq!(key.header(), "Bearer s3cret");
        assert!(!format!("{key:?}").contains("s3cret"));
        assert_eq!(Key::read("").expect("none"), None);

        fs::write(&file, "\n").expect("written");
        for wrong in [
            "sk-s3cret",
            "env:RAGSCOPE_NO_SUCH",
            "file:/no/such",
            &setting,
        ] {
            let error = Key::read(wrong).expect_err(wrong).to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
