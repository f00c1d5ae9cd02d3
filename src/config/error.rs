//! The error of a setting.

use std::borrow::Cow;

use crate::event::Advice;

/// A fault in the settings. Every message names the source.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{origin}: unknown setting `{key}`{hint}")]
    UnknownKey {
        origin: String,
        key: String,
        hint: String,
    },
    #[error("unknown preset `{name}`{hint}")]
    UnknownPreset {
        name: String,
        hint: String,
        known: String,
    },
    #[error("{origin}: {reason}")]
    BadValue { origin: String, reason: String },
    #[error("{origin}: {reason}")]
    Unreadable { origin: String, reason: String },
    #[error("{origin}: `{{{placeholder}}}` is missing")]
    MissingPlaceholder { origin: String, placeholder: String },
}

impl Advice for ConfigError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::UnknownKey { .. } | Self::BadValue { .. } => {
                "`ragscope config` lists every setting".into()
            }
            Self::UnknownPreset { known, .. } => format!("choose one of {known}").into(),
            Self::Unreadable { .. } => {
                "correct the file; `ragscope config` lists every setting".into()
            }
            Self::MissingPlaceholder { .. } => {
                "add it to the file; `ragscope guide settings` says what stands for what".into()
            }
        })
    }
}
