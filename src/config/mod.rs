//! Every setting of ragscope: declared once, merged from its sources, read as plain structs.
//!
//! Defaults < preset < user file < environment < flags. `settings.rs` declares each setting with
//! its type, default, range and explanation; the settings overlay, `ragscope config`, the file
//! `config/default.toml`, the checks of values and the hints of errors come from that declaration.
//! A new setting is one entry there. This module imports no front end.

mod error;
mod names;
mod filter;
mod location;
mod secret;
mod value;
mod choices;
mod declare;
mod settings;
mod catalogue;
mod manual;
mod presets;
mod paths;
mod layers;
pub mod prompts;

pub use choices::*;
pub use declare::SettingReader;
pub use error::ConfigError;
pub use filter::{DocumentFilter, FilteredDocument, Matcher};
pub use layers::Layers;
pub use location::{Location, LocationPart};
pub use manual::defaults_toml;
pub use names::{names_with_own, nearest};
#[cfg(feature = "portable")]
pub use paths::libraries_folder;
pub use paths::{Paths, assets_folder, demo_corpus, demo_folder};
pub use presets::{preset_doc, preset_names};
pub use secret::Secret;
pub use settings::*;
pub use value::Choice;
