//! Ollama's registry, and others with the OCI protocol, and Ollama's store.
//!
//! A model has a manifest, `manifests/<host>/<owner>/<name>/<tag>`, which names its configuration
//! and its layers by their sha256; they are `blobs/sha256-<hex>`. The layer of type
//! `application/vnd.ollama.image.model` is the GGUF file. All of them are fetched, so that Ollama
//! runs the model too, and the manifest comes last: until then the model is not there.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::download::{Destination, Target, download_all, is_sha256, make_folder};
use super::error::{PullError, unwritable};
use super::http::{Client, Subject, json, unreadable};
use super::meter::Meter;
use super::reference::RegistryModel;
use super::settings::PullSettings;
use crate::event::{Problem, PulledModel};

const ACCEPT: &str = "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json";
const WEIGHTS: &str = "application/vnd.ollama.image.model";

#[derive(Debug, Deserialize)]
struct Manifest {
    config: Layer,
    layers: Vec<Layer>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    digest: String,
    size: u64,
}

/// Downloads a model into Ollama's store.
pub(super) fn pull(
    model: &RegistryModel,
    settings: &PullSettings,
    client: &Client,
    mut meter: Meter<'_>,
) -> Result<PulledModel, PullError> {
    let what = format!("model {}:{}", model.name, model.tag);
    let url = format!(
        "{}/v2/{}/{}/manifests/{}",
        model.registry, model.owner, model.name, model.tag
    );
    let about = Subject {
        what: &what,
        page: model.page(),
    };
    let text = client.text(&url, ACCEPT, about, &mut meter)?;
    let manifest: Manifest = json(&text, &url, &what)?;
    let Some(weights) = manifest
        .layers
        .iter()
        .position(|layer| layer.media_type == WEIGHTS)
    else {
        return Err(unreadable(&url, &what, "it names no GGUF file").into());
    };

    let layers = manifest.layers.iter().chain([&manifest.config]);
    let targets = layers.map(|layer| {
        let refuse = || unreadable(&url, &what, format!("the digest `{}`", layer.digest));
        target(layer, model, &settings.ollama).ok_or_else(refuse)
    });
    let targets: Vec<Target> = targets.collect::<Result<_, _>>()?;
    let file = targets[weights].file.clone();
    let bytes = targets[weights].bytes;
    let destination = Destination {
        folder: &settings.ollama,
        variable: "OLLAMA_MODELS",
    };
    download_all(&targets, &destination, settings, client, &mut meter)?;

    write_manifest(model, &settings.ollama, &text)?;
    let owner = match model.owner.as_str() {
        "library" => String::new(),
        owner => format!("{owner}/"),
    };
    let name = format!("{owner}{}:{}", model.name, model.tag);
    meter.finish(name, &file, bytes)
}

/// Returns the file of a layer; `None` when its digest is not a sha256.
fn target(layer: &Layer, model: &RegistryModel, store: &Path) -> Option<Target> {
    let sha256 = layer.digest.strip_prefix("sha256:")?.to_lowercase();
    if !is_sha256(&sha256) {
        return None;
    }

    let kind = layer.media_type.rsplit('.').next().unwrap_or_default();
    let blob = format!("sha256-{sha256}");
    let blobs = store.join("blobs");

    Some(Target {
        name: format!("{} ({kind})", model.name),
        url: format!(
            "{}/v2/{}/{}/blobs/{}",
            model.registry, model.owner, model.name, layer.digest
        ),
        page: model.page().to_owned(),
        bytes: layer.size,
        file: blobs.join(&blob),
        part: blobs.join(format!("{blob}.incomplete")),
        lock: store.join(".locks").join(format!("{blob}.lock")),
        sha256,
    })
}

fn write_manifest(model: &RegistryModel, store: &Path, text: &[u8]) -> Result<(), Problem> {
    let folder = store
        .join("manifests")
        .join(model.host())
        .join(&model.owner)
        .join(&model.name);
    make_folder(&folder)?;
    let file = folder.join(&model.tag);
    let part = folder.join(format!(".{}.incomplete", model.tag));
    fs::write(&part, text)
        .and_then(|()| fs::rename(&part, &file))
        .map_err(|error| unwritable(&file, &error))
}
