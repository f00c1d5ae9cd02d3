//! Downloads models: from Hugging Face and from Ollama's registry, into the caches of their own
//! tools, so that a model is on the disk once, whichever tool downloaded it.
//!
//! A file is written under a temporary name, continued where an earlier attempt ended, and gets its
//! name only when its sha256 is the listed one. A name that a server sends is checked before it
//! becomes a path. Nothing else in ragscope uses the network.

mod error;
mod reference;
mod settings;
mod meter;
mod http;
mod download;
mod hugging_face;
mod ollama;
mod table;

pub use error::PullError;
pub use reference::Reference;
pub use settings::PullSettings;
pub use table::ModelTable;

use crate::event::{Flow, Problem, PullProgress, PulledModel};
use http::{Access, Client, Login};
use meter::Meter;

/// Downloads a model, unless it is here already.
///
/// `observe` is called at least four times per second and can end the pull; what was downloaded
/// stays, and the next pull continues from there.
///
/// # Errors
/// The model is not there or not permitted; the connection, the disk, or a file that is not the
/// listed one; [`PullError::Stopped`].
pub fn pull(
    reference: &Reference,
    settings: &PullSettings,
    observe: &mut dyn FnMut(&PullProgress) -> Flow,
) -> Result<PulledModel, PullError> {
    if settings.is_offline {
        let advice = "unset it to download models";
        return Err(Problem::new("HF_HUB_OFFLINE is set", advice).into());
    }

    let meter = Meter::new(reference.to_string(), observe);
    match reference {
        Reference::HuggingFace(model) => {
            let access = match &settings.token {
                Some(token) => Access::Token(Login::new(&settings.endpoint, token)),
                None => Access::Anonymous,
            };
            let client = Client::new(access, settings.patience)?;
            hugging_face::pull(model, settings, &client, meter)
        }
        Reference::Ollama(model) => {
            let client = Client::new(Access::Public, settings.patience)?;
            ollama::pull(model, settings, &client, meter)
        }
    }
}
