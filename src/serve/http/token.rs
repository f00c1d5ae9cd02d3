//! The bearer token of the server.

use std::io::{self, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::event::Problem;
use crate::files::{self, Links};

/// Bytes of a token that is generated.
const TOKEN_BYTES: usize = 32;
/// Minimum length of a token that the user chose.
const MIN_CHARACTERS: usize = 16;
const MAX_FILE_BYTES: u64 = 4096;

/// Returns the token in a file, and writes a random one if there is no file.
///
/// # Errors
/// A file that cannot be read or written, that other users can read, or that holds no token.
pub fn load_or_generate(file: &Path) -> Result<String, Problem> {
    match files::read_limited(file, Links::Refused, MAX_FILE_BYTES) {
        Ok(bytes) => check(file, &bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = generate()?;
            write(file, &token).map_err(|error| {
                Problem::new(
                    format!(
                        "the token cannot be written to {} ({error})",
                        file.display()
                    ),
                    "make the folder writable, or use --no-token",
                )
            })?;
            Ok(token)
        }
        Err(error) => {
            let fault = format!("the token in {} cannot be read ({error})", file.display());
            Err(unusable(fault))
        }
    }
}

fn unusable(fault: String) -> Problem {
    Problem::new(fault, "delete the file, and a new token is generated")
}

fn check(file: &Path, bytes: &[u8]) -> Result<String, Problem> {
    if !files::is_private(file).unwrap_or(false) {
        let fault = format!("other users can read the token in {}", file.display());
        return Err(unusable(fault));
    }

    let text = String::from_utf8_lossy(bytes);
    let token = text.trim();
    let is_token =
        token.len() >= MIN_CHARACTERS && token.bytes().all(|byte| byte.is_ascii_graphic());

    if !is_token {
        return Err(unusable(format!(
            "{} holds no token of at least {MIN_CHARACTERS} printable characters",
            file.display()
        )));
    }

    Ok(token.to_owned())
}

fn generate() -> Result<String, Problem> {
    let mut bytes = [0; TOKEN_BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        Problem::new(
            "the system has no random numbers for a token",
            "write a token of your own into the file that `ragscope paths` names",
        )
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn write(file: &Path, token: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        files::private_folder(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    writeln!(options.open(file)?, "{token}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_generated_once_and_kept_private() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("data/token");
        let token = load_or_generate(&file).expect("generated");
        assert_eq!(token.len(), 43);
        assert!(files::is_private(&file).expect("written"));
        assert_eq!(load_or_generate(&file).as_ref(), Ok(&token));

        let cases = [
            ("short\n", "holds no token"),
            ("a b c d e f g h i j", "holds no token"),
        ];
        for (text, part) in cases {
            std::fs::write(&file, text).expect("written");
            let problem = load_or_generate(&file).expect_err("no token");
            assert!(problem.error.contains(part), "{problem}");
        }
        std::fs::write(&file, "a-token-of-my-own-choice\n").expect("written");
        assert_eq!(
            load_or_generate(&file).as_deref(),
            Ok("a-token-of-my-own-choice")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_token_that_others_can_read_is_none() {
        use std::os::unix::fs::PermissionsExt as _;

        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("token");
        load_or_generate(&file).expect("generated");
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&file, open).expect("changed");
        let problem = load_or_generate(&file).expect_err("refused");
        assert!(problem.error.contains("other users"), "{problem}");
    }
}
