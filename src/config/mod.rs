//! Every setting of ragscope, merged as tables and read once.
//!
//! Built-in defaults < preset < user file < environment < flags. `config/default.toml` declares each setting once, with its
//! comment and its default: the settings overlay, `ragscope config` and the spelling hints of errors come from it.
//! This module imports no front end.

mod choices;
mod merge;
mod paths;
mod place;
pub mod prompts;
mod settings;

pub use choices::*;
pub use merge::{
    ConfigError, Layers, Setting, defaults_toml, names_with_own, nearest, preset_names,
    settings_list,
};
#[cfg(feature = "portable")]
pub use paths::libraries_folder;
pub use paths::{Paths, assets_folder};
pub use place::{Part, Place};
pub use settings::*;
