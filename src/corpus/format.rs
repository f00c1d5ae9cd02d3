//! File formats by the extension of a file name.

use serde::{Deserialize, Serialize};

/// The way in which the text of a file is extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Plain text; also every file of no other format whose bytes are text.
    Text,
    /// Markdown as it is in the file, with its headings.
    Markdown,
    /// The text between the tags, with its headings.
    Html,
}

impl Format {
    /// Returns the format of a file by its name.
    pub fn of(path: &str) -> Self {
        match extension(path).as_str() {
            "md" | "markdown" | "mdown" | "mkd" | "mkdn" | "mdx" | "qmd" | "rmd" => Self::Markdown,
            "html" | "htm" | "xhtml" | "xht" => Self::Html,
            _ => Self::Text,
        }
    }

    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }
}

/// Kinds of files without text, or whose text is not read, with their extensions.
const UNREAD: &[(&str, &[&str])] = &[
    ("a PDF document", &["pdf"]),
    (
        "an office document",
        &[
            "doc", "docx", "odt", "rtf", "xls", "xlsx", "ods", "ppt", "pptx", "odp", "pages",
            "numbers",
        ],
    ),
    ("an e-book", &["epub", "mobi", "azw", "azw3", "djvu"]),
    (
        "an image",
        &[
            "png", "jpg", "jpeg", "gif", "bmp", "tif", "tiff", "webp", "ico", "svg", "heic",
            "avif", "psd", "xcf",
        ],
    ),
    (
        "a sound file",
        &["mp3", "wav", "flac", "ogg", "opus", "m4a", "aac", "mid"],
    ),
    (
        "a video",
        &[
            "mp4", "mkv", "avi", "mov", "webm", "wmv", "m4v", "mpg", "mpeg",
        ],
    ),
    (
        "an archive",
        &[
            "zip", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar", "tar", "lz4", "br", "jar", "whl",
            "deb", "rpm", "iso", "dmg",
        ],
    ),
    (
        "a program or library",
        &[
            "exe", "dll", "so", "dylib", "a", "o", "obj", "lib", "class", "pyc", "wasm", "bin",
            "rlib", "rmeta",
        ],
    ),
    ("a font", &["ttf", "otf", "woff", "woff2", "eot"]),
    (
        "a model",
        &["gguf", "safetensors", "onnx", "pt", "pth", "ckpt", "h5"],
    ),
    (
        "a database",
        &[
            "sqlite", "sqlite3", "db", "mdb", "parquet", "arrow", "feather", "npy", "npz", "pkl",
            "pickle",
        ],
    ),
];

/// Returns the kind of a file whose name says that it is not read.
pub(super) fn unread_kind(path: &str) -> Option<&'static str> {
    let extension = extension(path);
    UNREAD
        .iter()
        .find(|(_, extensions)| extensions.contains(&extension.as_str()))
        .map(|(kind, _)| *kind)
}

fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .map_or_else(String::new, |(_, extension)| extension.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_of_file_names() {
        let cases = [
            ("a/README.MD", Format::Markdown, None),
            ("page.html", Format::Html, None),
            ("notes", Format::Text, None),
            ("dir.md/notes", Format::Text, None),
            ("data.csv", Format::Text, None),
            ("x/photo.JPEG", Format::Text, Some("an image")),
            ("paper.pdf", Format::Text, Some("a PDF document")),
        ];
        for (path, format, unread) in cases {
            assert_eq!(
                (Format::of(path), unread_kind(path)),
                (format, unread),
                "{path}"
            );
        }
    }
}
