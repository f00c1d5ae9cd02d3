//! Checks the bundled model files against the checksums in `assets/models/MODELS.md`.

use std::fs::File;
use std::io;
use std::path::Path;

/// The list of the bundled files, for people and for this module: rows of `| file | bytes | sha256
/// | blake3 |`.
const LIST: &str = include_str!("../../assets/models/MODELS.md");

/// A row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed<'a> {
    /// Name of the file in the models folder.
    pub file: &'a str,
    /// The blake3 checksum of the file in hexadecimal.
    pub blake3: &'a str,
}

/// Returns the bundled files of this build.
pub fn models() -> Vec<Listed<'static>> {
    rows(LIST)
}

/// Returns whether a file of this name is bundled.
pub fn is_listed(file: &str) -> bool {
    models().iter().any(|listed| listed.file == file)
}

fn rows(list: &str) -> Vec<Listed<'_>> {
    list.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<Listed<'_>> {
    let cells: Vec<&str> = line
        .split('|')
        .map(|cell| cell.trim().trim_matches('`'))
        .collect();
    match cells[..] {
        ["", file, _bytes, sha256, blake3, ""] if is_checksum(sha256) && is_checksum(blake3) => {
            Some(Listed { file, blake3 })
        }
        _ => None,
    }
}

fn is_checksum(cell: &str) -> bool {
    cell.len() == 64 && cell.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Listed<'_> {
    /// Returns whether the file in this folder has the listed checksum. Reads all of it.
    ///
    /// # Errors
    /// When it cannot be read; [`io::ErrorKind::NotFound`] when there is no such file.
    pub fn is_unchanged(&self, folder: &Path) -> io::Result<bool> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(folder.join(self.file))?)?;
        Ok(hasher.finalize().to_hex().as_str() == self.blake3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_with_both_checksums_are_files() {
        let sum = "ab".repeat(32);
        let text = format!(
            "# Models\n| file | bytes | sha256 | blake3 |\n|---|---|---|---|\n| `a.gguf` | 12 | `{sum}` | `{sum}` |\n| `b.gguf` | 12 | {} | {sum} |\n",
            &sum[1..]
        );
        assert_eq!(
            rows(&text),
            [Listed {
                file: "a.gguf",
                blake3: &sum
            }]
        );
    }

    #[test]
    fn a_changed_file_differs_from_the_listed_one() {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models");
        let listed = models();
        assert!(listed.len() >= 2, "{listed:?}");
        for model in &listed {
            assert!(
                model.is_unchanged(&shipped).expect("a bundled file"),
                "{} is not what MODELS.md lists",
                model.file
            );
        }

        let folder = tempfile::tempdir().expect("a folder");
        let copy = folder.path().join(listed[0].file);
        assert_eq!(
            listed[0]
                .is_unchanged(folder.path())
                .expect_err("no file")
                .kind(),
            io::ErrorKind::NotFound
        );

        let mut bytes = std::fs::read(shipped.join(listed[0].file)).expect("a bundled file");
        std::fs::write(&copy, &bytes).expect("written");
        assert!(listed[0].is_unchanged(folder.path()).expect("a copy"));
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&copy, &bytes).expect("written");
        assert!(
            !listed[0]
                .is_unchanged(folder.path())
                .expect("a tampered copy")
        );
    }
}
