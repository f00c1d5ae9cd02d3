use std::path::{Path, PathBuf};

/// Where ragscope keeps its files: XDG folders on Linux, the platform's own elsewhere, or all under `RAGSCOPE_HOME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Settings, presets, themes, prompts, keymap.
    pub config: PathBuf,
    /// Indexes and models.
    pub data: PathBuf,
    /// Recorded runs and input history.
    pub state: PathBuf,
    /// Logs and whatever may be deleted.
    pub cache: PathBuf,
}

impl Paths {
    /// The folders of this user.
    #[must_use]
    pub fn of_user() -> Self {
        if let Some(home) = std::env::var_os("RAGSCOPE_HOME").filter(|home| !home.is_empty()) {
            return Self::under(PathBuf::from(home));
        }
        match directories::ProjectDirs::from("", "", "ragscope") {
            Some(dirs) => Self {
                config: dirs.config_dir().to_owned(),
                data: dirs.data_local_dir().to_owned(),
                state: dirs
                    .state_dir()
                    .unwrap_or_else(|| dirs.data_local_dir())
                    .to_owned(),
                cache: dirs.cache_dir().to_owned(),
            },
            // no home directory at all: keep everything beside the work
            None => Self::under(PathBuf::from(".ragscope")),
        }
    }

    /// Everything under one folder.
    #[must_use]
    pub fn under(home: PathBuf) -> Self {
        Self {
            config: home.join("config"),
            data: home.join("data"),
            state: home.join("state"),
            cache: home.join("cache"),
        }
    }

    /// The user's settings.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The user's key bindings.
    #[must_use]
    pub fn keymap_file(&self) -> PathBuf {
        self.config.join("keymap.toml")
    }

    /// One folder an indexed corpus.
    #[must_use]
    pub fn indexes(&self) -> PathBuf {
        self.data.join("indexes")
    }

    /// Models that the user put or pulled here.
    #[must_use]
    pub fn models(&self) -> PathBuf {
        self.data.join("models")
    }

    /// Probes that were trained here.
    #[must_use]
    pub fn probes(&self) -> PathBuf {
        self.data.join("probes")
    }

    /// Recorded runs.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.state.join("sessions")
    }

    /// Evaluations, finished and interrupted.
    #[must_use]
    pub fn evaluations(&self) -> PathBuf {
        self.state.join("evaluations")
    }

    /// Questions asked before, for the input line.
    #[must_use]
    pub fn history_file(&self) -> PathBuf {
        self.state.join("history")
    }

    /// The log of llama.cpp and of the program.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.cache.join("ragscope.log")
    }
}

/// The folder of bundled models and of the demo: `$RAGSCOPE_ASSETS`, the `assets` folder nearest above the executable, or
/// that of the checkout which the program was built from.
#[must_use]
pub fn assets_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("RAGSCOPE_ASSETS").filter(|folder| !folder.is_empty()) {
        return PathBuf::from(folder);
    }
    std::env::current_exe()
        .and_then(std::fs::canonicalize)
        .ok()
        .and_then(|executable| assets_above(&executable))
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("assets"))
}

fn assets_above(executable: &Path) -> Option<PathBuf> {
    executable
        .ancestors()
        .skip(1)
        .map(|folder| folder.join("assets"))
        .find(|assets| assets.join("models").is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_found_above_the_executable() {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(home.path().join("assets/models")).expect("made");
        std::fs::create_dir_all(home.path().join("target/release/assets")).expect("made");
        let found = assets_above(&home.path().join("target/release/ragscope"));
        assert_eq!(found, Some(home.path().join("assets")));
    }
}
