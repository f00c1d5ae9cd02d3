//! A password or a key that a setting names and does not hold.

use std::{env, fmt, fs};

use crate::event::Problem;

/// A password or a key, which no message and no record shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Reads the secret that a setting names, `env:NAME` or `file:PATH`; `None` for an empty one.
    ///
    /// # Errors
    /// Another form, since settings are recorded with each run; a variable that is not set; a file
    /// that cannot be read or has an empty first line.
    pub fn read(setting: &str) -> Result<Option<Self>, Problem> {
        let advice = "set `key` to env:NAME or file:PATH, not to the key itself";
        let text = if setting.is_empty() {
            return Ok(None);
        } else if let Some(name) = setting.strip_prefix("env:") {
            env::var(name).map_err(|_| {
                let advice =
                    format!("put the key into {name} and export it, or name a file: file:PATH");
                Problem::new(format!("the variable {name} is not set"), advice)
            })?
        } else if let Some(path) = setting.strip_prefix("file:") {
            fs::read_to_string(path).map_err(|error| {
                Problem::new(
                    format!("the key in {path} cannot be read ({error})"),
                    advice,
                )
            })?
        } else {
            return Err(Problem::new(
                "a key stands in the settings, which are recorded with each run",
                advice,
            ));
        };

        let key = text.lines().next().unwrap_or_default().trim();
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic()) {
            return Err(Problem::new(
                format!("{setting} holds no key"),
                "put the key there, in one line",
            ));
        }
        Ok(Some(Self(key.to_owned())))
    }

    /// Returns the secret, to send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_named_and_never_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        fs::write(&file, "  s3cret \nrest\n").expect("written");
        let setting = format!("file:{}", file.display());
        let key = Secret::read(&setting).expect("read").expect("a key");
        assert_eq!(key.expose(), "s3cret");
        assert!(!format!("{key:?}").contains("s3cret"));
        assert_eq!(Secret::read("").expect("none"), None);

        fs::write(&file, "\n").expect("written");
        for wrong in [
            "sk-s3cret",
            "env:RAGSCOPE_NO_SUCH",
            "file:/no/such",
            &setting,
        ] {
            let error = Secret::read(wrong).expect_err(wrong).to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
