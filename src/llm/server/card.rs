//! The description of a model by what its server says.

use crate::event::{ModelCard, ModelRole};

/// Describes a model by the name or path that its server gives it, without the folders.
pub(super) fn named_card(role: ModelRole, host: &str, model: &str) -> ModelCard {
    let name = file_name(model);
    ModelCard {
        name: name.to_owned(),
        file: name.to_owned(),
        device: host.to_owned(),
        ..ModelCard::unknown(role)
    }
}

/// Returns the last part of a path on the server, whose separators may not be those of this
/// machine.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
