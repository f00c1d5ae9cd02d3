//! The weights file: safetensors, with the description of the probe in its metadata.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors, View, serialize};
use serde_json::Value;

use super::error::{unfit, unreadable};
use super::features;
use super::network::{Linear, Network};
use super::trained::{FORMAT, Probe};
use crate::config::{Config, Paths, ProbeFile, ProbeSettings, assets_folder};
use crate::event::{ModelCard, ProbeCard, Problem};
use crate::files::{self, Links};
use crate::methods::searag::Standard;

/// The key of the metadata, whose value is a [`ProbeCard`] as JSON.
const CARD: &str = "ragscope_probe";
/// Headers are a few thousand bytes; a length beyond this is damage.
const MAX_HEADER: u64 = 1 << 20;
/// The ending of weights files.
const ENDING: &str = "safetensors";

/// A tensor to be written.
struct Tensor<'a> {
    shape: Vec<usize>,
    values: &'a [f32],
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let bytes = self.values.iter().flat_map(|value| value.to_le_bytes());
        bytes.collect::<Vec<u8>>().into()
    }

    fn data_len(&self) -> usize {
        size_of_val(self.values)
    }
}

impl Probe {
    /// Reads a weights file.
    ///
    /// # Errors
    /// A file that is missing, damaged, or of a newer format.
    pub fn load(file: &Path) -> Result<Self, Problem> {
        let card = describe(file)?;
        let bytes = files::read(file).map_err(unreadable(file))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(unreadable(file))?;
        let read = |name: &str, shape: &[usize]| {
            read_tensor(&tensors, name, shape).map_err(unreadable(file))
        };

        let features = features::range(card.reads, card.layers, card.width).len();
        let hidden = card.hidden as usize;
        Ok(Self {
            standard: Standard {
                mean: read("mean", &[features])?,
                deviation: read("deviation", &[features])?,
            },
            network: Network {
                hidden: Linear {
                    inputs: features,
                    weights: read("first.weight", &[hidden, features])?,
                    bias: read("first.bias", &[hidden])?,
                },
                output: Linear {
                    inputs: hidden,
                    weights: read("second.weight", &[1, hidden])?,
                    bias: read("second.bias", &[1])?,
                },
            },
            card,
        })
    }

    /// Returns the probe that the settings name for this generator, and its file.
    ///
    /// # Errors
    /// None was trained for it, or the one that is named does not fit.
    pub fn for_generator(
        config: &Config,
        paths: &Paths,
        generator: &ModelCard,
    ) -> Result<(PathBuf, Self), Problem> {
        let folders = folders(paths);
        let file = match &config.gate.probe {
            ProbeFile::Auto => find(&folders, generator, &config.probe)?,
            ProbeFile::File(named) => {
                let beside = folders
                    .iter()
                    .map(|folder| folder.join(named))
                    .find(|file| file.is_file());
                beside.unwrap_or_else(|| named.into())
            }
        };

        let probe = Self::load(&file)?;
        probe.check(&file, generator)?;
        Ok((file, probe))
    }

    /// Writes a weights file; a kill leaves the old one or the new one.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, file: &Path) -> Result<(), Problem> {
        let unwritable = |reason: &dyn Display| {
            Problem::new(
                format!("the probe {} cannot be written ({reason})", file.display()),
                "check the folder and the space on its disk",
            )
        };
        let card = serde_json::to_string(&self.card).map_err(|error| unwritable(&error))?;
        let metadata = HashMap::from([(CARD.to_owned(), card)]);
        let bytes = serialize(tensors(self), Some(metadata)).map_err(|error| unwritable(&error))?;

        file.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| files::replace(file, &bytes))
            .map_err(|error| unwritable(&error))
    }
}

/// Returns the numbers of a tensor, or the reason why they are not what they should be.
fn read_tensor(tensors: &SafeTensors<'_>, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
    let tensor = tensors
        .tensor(name)
        .map_err(|_| format!("it has no tensor `{name}`"))?;
    let (numbers, rest) = tensor.data().as_chunks::<4>();
    let values: Vec<f32> = numbers
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();

    let is_f32 = tensor.dtype() == Dtype::F32 && rest.is_empty();
    if !is_f32 || values.iter().any(|value| !value.is_finite()) {
        return Err(format!(
            "the numbers of `{name}` are not finite numbers of 32 bits"
        ));
    }
    if tensor.shape() != shape {
        return Err(format!(
            "the shape of `{name}` is not what its description says"
        ));
    }
    Ok(values)
}

/// Returns the means and deviations of the features, and the weights and biases of both layers.
fn tensors(probe: &Probe) -> [(&'static str, Tensor<'_>); 6] {
    let Standard { mean, deviation } = &probe.standard;
    let Network { hidden, output } = &probe.network;

    let vector = |values| Tensor {
        shape: vec![<[f32]>::len(values)],
        values,
    };
    let matrix = |layer: &'_ Linear| vec![layer.bias.len(), layer.inputs];

    [
        ("mean", vector(mean)),
        ("deviation", vector(deviation)),
        (
            "first.weight",
            Tensor {
                shape: matrix(hidden),
                values: &hidden.weights,
            },
        ),
        ("first.bias", vector(&hidden.bias)),
        (
            "second.weight",
            Tensor {
                shape: matrix(output),
                values: &output.weights,
            },
        ),
        ("second.bias", vector(&output.bias)),
    ]
}

/// Returns the description in a weights file; the tensors are not read.
///
/// # Errors
/// A file that is missing, damaged, or of a newer format.
pub fn describe(file: &Path) -> Result<ProbeCard, Problem> {
    let mut reader = files::open(file, Links::Followed).map_err(unreadable(file))?;

    // The crate reads metadata from whole files only, and those of large models are large.
    let mut length = [0; 8];
    reader.read_exact(&mut length).map_err(unreadable(file))?;
    // safetensors: the length of the header, then the header as JSON, then the tensors
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER {
        return Err(unreadable(file)("it is not a safetensors file"));
    }
    let mut header = vec![0; length as usize];
    reader.read_exact(&mut header).map_err(unreadable(file))?;
    let header: Value = serde_json::from_slice(&header).map_err(unreadable(file))?;

    let card = header["__metadata__"][CARD]
        .as_str()
        .ok_or_else(|| unreadable(file)("it holds no probe of ragscope"))?;
    let card: Value = serde_json::from_str(card).map_err(unreadable(file))?;
    let format = card["format"].as_u64().unwrap_or_default();
    if format != u64::from(FORMAT) {
        let reason = format!("its format is {format}, this program reads {FORMAT}");
        return Err(unreadable(file)(reason));
    }
    serde_json::from_value(card).map_err(unreadable(file))
}

/// Returns the weights files of a folder, by name.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|file| file.extension().is_some_and(|ending| ending == ENDING))
        .collect();
    files.sort();
    files
}

/// Returns the weights file in `folders` that was trained for this generator, in the way that the
/// settings name.
///
/// # Errors
/// None was trained; when a file was skipped that may have been meant, the reason why it was.
pub fn find(
    folders: &[PathBuf],
    generator: &ModelCard,
    settings: &ProbeSettings,
) -> Result<PathBuf, Problem> {
    let mut skipped = None;

    for file in folders.iter().flat_map(|folder| files(folder)) {
        let reason = match describe(&file) {
            Ok(card) if card.fingerprint != generator.fingerprint => continue,
            Ok(card) if !is_trained_so(&card, settings) => unfit(
                &file,
                "it was trained with other probe.labels, probe.turns or probe.layers",
            ),
            Ok(_) => return Ok(file),
            Err(error) => error,
        };

        skipped = skipped.or(Some(reason));
    }

    Err(skipped.unwrap_or_else(|| no_probe(&generator.file)))
}

/// Returns the error of a generator without a probe.
pub fn no_probe(generator: &str) -> Problem {
    Problem::new(
        format!("no probe was trained for {generator}"),
        "train one with `ragscope probe train FOLDER`",
    )
}

/// Returns the error of a probe for a generator on a model server.
pub fn no_inside(host: &str) -> Problem {
    Problem::new(
        format!("the probe reads hidden states, which the model server {host} does not give"),
        "set gate.kind to token_entropy, or run the model here",
    )
}

fn is_trained_so(card: &ProbeCard, settings: &ProbeSettings) -> bool {
    let asked = (settings.labels, settings.turns, settings.layers);
    (card.labels, card.turns, card.reads) == asked
}

/// Returns the folders of weights files: the user's, then the bundled one.
pub fn folders(paths: &Paths) -> [PathBuf; 2] {
    [paths.probes(), assets_folder().join("probes")]
}
