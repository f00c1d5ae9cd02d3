//! Folders as they are typed: `~` is the home folder.

use std::path::{Path, PathBuf};

/// Returns the path that is typed as this.
pub fn typed_path(typed: &str) -> PathBuf {
    match typed.strip_prefix('~').zip(home()) {
        Some((rest, home)) => home.join(rest.trim_start_matches('/')),
        None => PathBuf::from(typed),
    }
}

/// Returns a path as it is typed.
pub fn display_path(path: &Path) -> String {
    let own = home().filter(|home| home.parent().is_some());
    let inside = own.as_ref().and_then(|home| path.strip_prefix(home).ok());
    match inside {
        Some(inside) if inside.as_os_str().is_empty() => "~".to_owned(),
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}
