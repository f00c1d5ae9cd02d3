//! The presets that come with the program, and those of the user.

use std::path::Path;

const BUILT_IN: &[(&str, &str)] = &[
    (
        "closed-book",
        include_str!("../../config/presets/closed-book.toml"),
    ),
    ("naive", include_str!("../../config/presets/naive.toml")),
    (
        "dense-rag",
        include_str!("../../config/presets/dense-rag.toml"),
    ),
    ("searag", include_str!("../../config/presets/searag.toml")),
    (
        "chunkrag",
        include_str!("../../config/presets/chunkrag.toml"),
    ),
    (
        "saki-rag",
        include_str!("../../config/presets/saki-rag.toml"),
    ),
    ("full", include_str!("../../config/presets/full.toml")),
];

/// Returns the text of a built-in preset.
pub(super) fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// Returns the names of all presets: the built-in ones, then those in the user's folder.
pub fn names(presets_folder: &Path) -> Vec<String> {
    super::names_with_own(BUILT_IN, presets_folder)
}
