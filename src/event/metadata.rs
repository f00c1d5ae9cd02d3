use serde::{Deserialize, Serialize};

/// The metadata in a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The date that the document gives itself, or its file name has, as `2024-01-31`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The version that the document gives itself, as `1.4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it says of itself that it is not in force: a draft, or replaced by another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
}

impl Metadata {
    /// Returns whether the document says nothing of itself.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
