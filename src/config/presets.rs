//! The presets that come with the program, and those of the user.

use std::path::Path;

use super::names::names_with_own;
use crate::files;

/// Embeds the files of `config/presets`, in the order in which they are listed to the user.
macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        const BUILT_IN: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../config/presets/", $name, ".toml")))),+
        ];
    };
}

presets![
    "closed-book",
    "naive",
    "quotes",
    "dense-rag",
    "dense-rag-paper",
    "searag",
    "searag-paper",
    "chunkrag",
    "chunkrag-paper",
    "saki-rag",
    "saki-rag-paper",
    "full",
];

/// Returns the text of a built-in preset.
pub(super) fn find_built_in(name: &str) -> Option<&'static str> {
    BUILT_IN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// Returns the names of all presets: the built-in ones, then those in the user's folder.
pub fn preset_names(presets_folder: &Path) -> Vec<String> {
    names_with_own(BUILT_IN, presets_folder)
}

/// Returns what a preset does, in a sentence; empty for one of the user that does not say it.
pub fn preset_doc(name: &str, presets_folder: &Path) -> String {
    match find_built_in(name) {
        Some(text) => doc(text),
        None => files::read_text(&presets_folder.join(format!("{name}.toml")))
            .map_or(String::new(), |text| doc(&text)),
    }
}

/// Returns what a preset does: the comment at the start of its file.
fn doc(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix('#'))
        .map(str::trim)
        .collect();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_file_is_embedded_and_says_what_it_does() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/presets");
        assert_eq!(preset_names(&folder), preset_names(Path::new("")));
        for (name, text) in BUILT_IN {
            assert!(!doc(text).is_empty(), "{name} has no comment");
        }
    }
}
