//! Names of files and settings: which there are, and which one was probably meant.

use std::path::Path;

/// Minimum similarity of a name that is suggested, by Jaro-Winkler.
const MIN_SIMILARITY: f64 = 0.8;

/// Returns the names of embedded files, then those of the TOML files that the user has in `folder`,
/// sorted.
pub fn names_with_own(built_in: &[(&str, &str)], folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = built_in
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();

    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut own: Vec<String> = files
        .filter_map(|entry| {
            let file = entry.file_name();
            Some(file.to_str()?.strip_suffix(".toml")?.to_owned())
        })
        .filter(|name| !names.contains(name))
        .collect();
    own.sort();

    names.extend(own);
    names
}

/// Returns `, did you mean ...` with the nearest known name; empty when none is near.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    known
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or_else(String::new, |(_, best)| format!(", did you mean `{best}`?"))
}
