//! The weights file: safetensors, with what the probe is for in its metadata.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use serde_json::{Value, json};

use super::{FORMAT, Network, Probe, ProbeError, misplaced};
use crate::event::{ModelCard, ProbeCard, StatePosition};
use crate::methods::searag::Standard;

/// The key of the metadata, whose value is a [`ProbeCard`] as JSON.
const CARD: &str = "ragscope_probe";
/// The tensors: means and deviations of the features, weights and biases of both layers.
const NAMES: [&str; 6] = [
    "mean",
    "deviation",
    "first.weight",
    "first.bias",
    "second.weight",
    "second.bias",
];
/// Headers are a few thousand bytes; a length beyond this is damage.
const MAX_HEADER: u64 = 1 << 20;
/// The ending of weights files.
const ENDING: &str = "safetensors";

/// Write the file beside its place, then put it there.
pub(super) fn save(probe: &Probe, file: &Path) -> Result<(), ProbeError> {
    let unwritable = |reason: String| ProbeError::Unwritable {
        file: file.display().to_string(),
        reason,
    };
    let vector = |values: &[f32]| Tensor::from_slice(values, values.len(), &Device::Cpu);
    let scale = [
        vector(&probe.standard.mean)?,
        vector(&probe.standard.deviation)?,
    ];
    let tensors = scale
        .iter()
        .map(Some)
        .chain(probe.network.tensors())
        .flatten();
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    let card = serde_json::to_string(&probe.card).map_err(|error| unwritable(error.to_string()))?;
    header.insert("__metadata__".to_owned(), json!({ CARD: card }));
    for (name, tensor) in NAMES.into_iter().zip(tensors) {
        let start = data.len();
        data.extend(
            tensor
                .flatten_all()?
                .to_vec1::<f32>()?
                .iter()
                .flat_map(|value| value.to_le_bytes()),
        );
        let about =
            json!({ "dtype": "F32", "shape": tensor.dims(), "data_offsets": [start, data.len()] });
        header.insert(name.to_owned(), about);
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.append(&mut data);
    let beside = file.with_extension("part");
    file.parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&beside, bytes))
        .and_then(|()| std::fs::rename(&beside, file))
        .map_err(|error| unwritable(error.to_string()))
}

/// Read the file.
pub(super) fn load(file: &Path) -> Result<Probe, ProbeError> {
    let unreadable = |reason: &dyn std::fmt::Display| ProbeError::Unreadable {
        file: file.display().to_string(),
        reason: reason.to_string(),
    };
    let card = describe(file)?;
    let bytes = std::fs::read(file).map_err(|error| unreadable(&error))?;
    let mut tensors: BTreeMap<String, Tensor> =
        candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)
            .map_err(|error| unreadable(&error))?
            .into_iter()
            .collect();
    for (name, tensor) in &tensors {
        let is_f32 = tensor.dtype() == DType::F32;
        if !is_f32
            || tensor
                .flatten_all()?
                .to_vec1::<f32>()?
                .iter()
                .any(|value| !value.is_finite())
        {
            return Err(unreadable(&format!(
                "the numbers of `{name}` are not finite numbers of 32 bits"
            )));
        }
    }
    let mut take = |name: &str| {
        tensors
            .remove(name)
            .ok_or_else(|| unreadable(&format!("it has no tensor `{name}`")))
    };
    let [mean, deviation, weight_1, bias_1, weight_2, bias_2] = NAMES.map(&mut take);
    let (weight_1, bias_1, weight_2, bias_2) = (weight_1?, bias_1?, weight_2?, bias_2?);
    let standard = Standard {
        mean: mean?.to_vec1()?,
        deviation: deviation?.to_vec1()?,
    };
    let (features, hidden) = (
        (card.layers as usize).saturating_sub(1) * card.width as usize,
        card.hidden as usize,
    );
    let shapes = [
        (
            standard.mean.len() == features && standard.deviation.len() == features,
            "mean",
        ),
        (
            weight_1.dims() == [hidden, features] && bias_1.dims() == [hidden],
            "first",
        ),
        (
            weight_2.dims() == [1, hidden] && bias_2.dims() == [1],
            "second",
        ),
    ];
    if let Some((_, name)) = shapes.iter().find(|(fits, _)| !fits) {
        return Err(unreadable(&format!(
            "the shape of `{name}` is not what its description says"
        )));
    }
    Ok(Probe {
        card,
        standard,
        network: Network::new([weight_1, bias_1, weight_2, bias_2]),
    })
}

/// What a weights file says of itself; the tensors are not read.
///
/// # Errors
/// A file that is missing, damaged, or of a newer format.
pub fn describe(file: &Path) -> Result<ProbeCard, ProbeError> {
    let unreadable = |reason: &dyn std::fmt::Display| ProbeError::Unreadable {
        file: file.display().to_string(),
        reason: reason.to_string(),
    };
    let mut reader = std::fs::File::open(file).map_err(|error| unreadable(&error))?;
    let mut length = [0; 8];
    reader
        .read_exact(&mut length)
        .map_err(|error| unreadable(&error))?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER {
        return Err(unreadable(&"it is no safetensors file"));
    }
    let mut header = vec![0; length as usize];
    reader
        .read_exact(&mut header)
        .map_err(|error| unreadable(&error))?;
    let header: Value = serde_json::from_slice(&header).map_err(|error| unreadable(&error))?;
    let text = header["__metadata__"][CARD]
        .as_str()
        .ok_or_else(|| unreadable(&"it holds no probe of ragscope"))?;
    let described: Value = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    let format = described["format"].as_u64().unwrap_or_default();
    if format != u64::from(FORMAT) {
        return Err(unreadable(&format!(
            "its format is {format}, this program reads {FORMAT}"
        )));
    }
    serde_json::from_value(described).map_err(|error| unreadable(&error))
}

/// The weights files of a folder, by name.
#[must_use]
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries
        .filter(|file| file.extension().is_some_and(|ending| ending == ENDING))
        .collect();
    files.sort();
    files
}

/// The weights file in `folders` that was trained for this generator and this position.
///
/// # Errors
/// There is none; when a file was passed over that may have been meant, the reason.
pub fn find(
    folders: &[PathBuf],
    generator: &ModelCard,
    position: StatePosition,
) -> Result<PathBuf, ProbeError> {
    let mut passed_over = None;
    for file in folders.iter().flat_map(|folder| files(folder)) {
        match describe(&file) {
            Ok(card) if card.fingerprint != generator.fingerprint => {}
            Ok(card) if card.position == position => return Ok(file),
            Ok(card) => {
                passed_over = passed_over.or(Some(misplaced(&file, card.position, position)))
            }
            Err(error) => passed_over = passed_over.or(Some(error)),
        }
    }
    Err(passed_over.unwrap_or_else(|| ProbeError::None {
        generator: generator.file.clone(),
    }))
}
