//! The folders and files of ragscope.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::event::os_path;

/// The folders of ragscope: XDG folders on Linux, the platform's own elsewhere, or all of them in
/// `RAGSCOPE_HOME`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// Settings, presets, themes, prompts, keymap.
    #[serde(with = "os_path")]
    pub config: PathBuf,
    /// Indexes and models.
    #[serde(with = "os_path")]
    pub data: PathBuf,
    /// Recorded runs and input history.
    #[serde(with = "os_path")]
    pub state: PathBuf,
    /// Logs and other files that may be deleted.
    #[serde(with = "os_path")]
    pub cache: PathBuf,
}

impl Paths {
    /// Returns the folders of this user.
    pub fn for_user() -> Self {
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
            // no home directory at all
            None => Self::under(PathBuf::from(".ragscope")),
        }
    }

    /// Returns folders that are all under one.
    pub fn under(home: PathBuf) -> Self {
        Self {
            config: home.join("config"),
            data: home.join("data"),
            state: home.join("state"),
            cache: home.join("cache"),
        }
    }

    /// Returns the four folders.
    pub fn folders(&self) -> [PathBuf; 4] {
        [&self.config, &self.data, &self.state, &self.cache].map(Clone::clone)
    }
}

/// Declares the files and folders that are in the folders of ragscope.
macro_rules! places {
    ($($(#[doc = $doc:literal])+ $place:ident = $folder:ident / $name:literal;)+) => {
        impl Paths {
            $(
                $(#[doc = $doc])+
                pub fn $place(&self) -> PathBuf {
                    self.$folder.join($name)
                }
            )+
        }
    };
}

places! {
    /// The user's settings.
    config_file = config / "config.toml";
    /// The user's key bindings.
    keymap_file = config / "keymap.toml";
    /// One folder per indexed corpus.
    indexes = data / "indexes";
    /// The passages of published question sets, as folders of documents.
    datasets = data / "datasets";
    /// Models that the user added.
    models = data / "models";
    /// Probes that were trained here.
    probes = data / "probes";
    /// Recorded runs.
    sessions = state / "sessions";
    /// Files saved on the screen, where the working directory is part of the corpus.
    saved_files = state / "saved";
    /// Evaluations, finished and interrupted.
    evaluations = state / "evaluations";
    /// Questions asked before, for the input line.
    history_file = state / "history";
    /// Files of models whose paths were typed before.
    model_history_file = state / "model-history";
    /// The token of `ragscope serve`.
    token_file = data / "token";
    /// The speed at which the models read here.
    reading_rates_file = cache / "reading-rates.json";
    /// The instructions of answers as models have read them.
    kept_prompts = cache / "prompts";
    /// The calibration of verdicts, by model and folder.
    verdict_fits_file = data / "verdict-fits.json";
    /// The log of llama.cpp and of the program.
    log_file = cache / "ragscope.log";
}

/// Returns the folder of bundled models, probes and the demo: `$RAGSCOPE_ASSETS`; the folder that
/// came with the program; or `assets` of the checkout that it was built from.
pub fn assets_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("RAGSCOPE_ASSETS").filter(|folder| !folder.is_empty()) {
        return PathBuf::from(folder);
    }

    executable()
        .and_then(|executable| assets_of(&executable))
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("assets"))
}

/// Returns the folder of the demo, with its corpus, its questions and its settings.
pub fn demo_folder() -> PathBuf {
    assets_folder().join("demo")
}

/// Returns the folder of the documents of the demo.
pub fn demo_corpus() -> PathBuf {
    demo_folder().join("corpus")
}

/// Returns the folder of ggml's libraries that came with a portable build: `PREFIX/lib/ragscope`
/// or, on Windows, where the program is.
#[cfg(feature = "portable")]
pub fn libraries_folder() -> Option<PathBuf> {
    let beside = executable()?.parent()?.to_owned();
    let installed = beside.parent()?.join("lib/ragscope");
    [installed, beside].into_iter().find(|folder| {
        let mut files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.any(|file| file.file_name().to_string_lossy().contains("ggml-cpu"))
    })
}

fn executable() -> Option<PathBuf> {
    std::env::current_exe().and_then(std::fs::canonicalize).ok()
}

/// Finds the assets of an installed program (`PREFIX/bin` and `PREFIX/share/ragscope`), of an
/// unpacked archive (beside the program), or of the checkout around `target`.
fn assets_of(executable: &Path) -> Option<PathBuf> {
    let installed = executable
        .ancestors()
        .nth(2)
        .map(|prefix| prefix.join("share/ragscope"));
    let around = executable
        .ancestors()
        .skip(1)
        .map(|folder| folder.join("assets"));

    installed
        .into_iter()
        .chain(around)
        .chain([PathBuf::from("/usr/share/ragscope")])
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
        let found = assets_of(&home.path().join("target/release/ragscope"));
        assert_eq!(found, Some(home.path().join("assets")));
    }

    #[test]
    fn assets_of_an_installed_program_are_found_in_share() {
        let prefix = tempfile::tempdir().expect("a folder");
        let assets = prefix.path().join("share/ragscope");
        std::fs::create_dir_all(assets.join("models")).expect("made");
        std::fs::create_dir_all(prefix.path().join("assets/models")).expect("made");
        let found = assets_of(&prefix.path().join("bin/ragscope"));
        assert_eq!(found, Some(assets));
    }
}
