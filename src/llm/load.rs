//! From a file to a model: checks before llama.cpp sees the file, where its layers go, and its card.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;

use super::gguf::Metadata;
use super::runtime::{Device, Runtime, available_memory_bytes};
use super::{LlmError, ffi, log};
use crate::config::{CacheType, GpuLayers};
use crate::event::{Flow, ModelCard, ModelRole, StopFlag};

const HEAD_BYTES: u64 = 8 << 20;
const SAMPLES: u64 = 256;
const SAMPLE_BYTES: u64 = 4096;
/// Of a GPU's free memory, what weights may take: the rest is for the cache and the arithmetic.
const GPU_SHARE: f64 = 0.8;

/// Where a model runs, from the settings of either role.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placement<'a> {
    pub role: ModelRole,
    pub gpu_layers: GpuLayers,
    pub device: &'a str,
}

/// A model with its card; the context is not made yet.
pub(super) struct Loaded {
    pub model: Arc<LlamaModel>,
    pub metadata: Metadata,
    pub card: ModelCard,
    /// Free bytes where its cache will be.
    pub cache_bytes: Option<u64>,
}

/// Load a model, with `progress` seeing numbers from 0 to 1.
pub(super) fn load(
    runtime: &Runtime,
    file: &Path,
    placement: Placement,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<Loaded, LlmError> {
    let metadata = Metadata::read(file)?;
    let device = choose_device(runtime, placement.device)?;
    let layers = gpu_layers(placement.gpu_layers, device.as_ref(), &metadata);
    let mut stopped = false;
    log::forget_complaints();
    let model = ffi::load_model(
        runtime.backend(),
        file,
        params(device.as_ref(), layers)?,
        &mut |share| {
            stopped = stopped || stop.is_set() || progress(share) == Flow::Stop;
            !stopped
        },
    );
    let Some(model) = model else {
        return Err(if stopped {
            LlmError::Stopped
        } else {
            refused(file)
        });
    };
    let on_gpu = device.as_ref().filter(|_| layers > 0);
    let card = card(
        &model,
        &metadata,
        file,
        placement.role,
        on_gpu.map(|device| (device, layers)),
    )?;
    let cache_bytes = on_gpu
        .map_or_else(available_memory_bytes, |device| Some(device.free_bytes))
        .map(|free| {
            // weights that are mapped from the file count as free memory until they are read
            free.saturating_sub(metadata.file_bytes)
        });
    Ok(Loaded {
        model: Arc::new(model),
        metadata,
        card,
        cache_bytes,
    })
}

fn refused(file: &Path) -> LlmError {
    let reason =
        log::complaint().unwrap_or_else(|| "llama.cpp refused it without saying why".to_owned());
    LlmError::Unusable {
        path: file.display().to_string(),
        reason,
    }
}

/// The GPU to use; None for the CPU.
fn choose_device(runtime: &Runtime, name: &str) -> Result<Option<Device>, LlmError> {
    let devices = runtime.devices();
    if name == "auto" {
        return Ok(devices.into_iter().find(|device| device.gpu));
    }
    let known = devices
        .iter()
        .map(|device| device.name.clone())
        .collect::<Vec<_>>()
        .join(", ");
    match devices
        .into_iter()
        .find(|device| device.name.eq_ignore_ascii_case(name))
    {
        Some(device) => Ok(Some(device).filter(|device| device.gpu)),
        None => Err(LlmError::Backend(format!(
            "no device is called `{name}`; there are {known}: set `device` to one of them, or to auto"
        ))),
    }
}

/// How many layers go to the GPU. The output layer counts as one more than the model's layers.
fn gpu_layers(setting: GpuLayers, device: Option<&Device>, metadata: &Metadata) -> u32 {
    let layers = block_count(metadata) + 1;
    match (device, setting) {
        (None, _) => 0,
        (Some(_), GpuLayers::Count(count)) => count.min(layers),
        (Some(device), GpuLayers::Auto) => {
            let room = device.free_bytes as f64 * GPU_SHARE;
            let layer_bytes = metadata.file_bytes as f64 / f64::from(layers);
            layers.min((room / layer_bytes.max(1.0)) as u32)
        }
    }
}

fn block_count(metadata: &Metadata) -> u32 {
    let architecture = metadata.architecture().unwrap_or_default();
    metadata
        .number(&format!("{architecture}.block_count"))
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or(0)
}

fn params(device: Option<&Device>, layers: u32) -> Result<LlamaModelParams, LlmError> {
    let devices: Vec<usize> = device
        .filter(|_| layers > 0)
        .map(|device| device.index)
        .into_iter()
        .collect();
    LlamaModelParams::default()
        .with_n_gpu_layers(layers)
        .with_devices(&devices)
        .map_err(|error| LlmError::Backend(error.to_string()))
}

fn card(
    model: &LlamaModel,
    metadata: &Metadata,
    file: &Path,
    role: ModelRole,
    gpu: Option<(&Device, u32)>,
) -> Result<ModelCard, LlmError> {
    let file_name = file
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let unusable = |error: std::io::Error| LlmError::Unusable {
        path: file.display().to_string(),
        reason: error.to_string(),
    };
    Ok(ModelCard {
        role,
        name: metadata
            .name()
            .map_or_else(|| file_name.clone(), str::to_owned),
        file: file_name,
        file_bytes: metadata.file_bytes,
        fingerprint: fingerprint(file, metadata.file_bytes).map_err(unusable)?,
        architecture: metadata.architecture().unwrap_or_default().to_owned(),
        quantisation: short_quantisation(&ffi::quantisation(model)),
        parameters: model.n_params(),
        layers: model.n_layer(),
        gpu_layers: gpu.map_or(0, |(_, layers)| layers.min(model.n_layer())),
        device: gpu.map_or_else(|| "CPU".to_owned(), |(device, _)| device.name.clone()),
        width: u32::try_from(model.n_embd()).unwrap_or(0),
        context_tokens: 0,
        chat_template: String::new(),
    })
}

/// `Q4_K - Medium` is `Q4_K_M` everywhere else.
fn short_quantisation(name: &str) -> String {
    let name = name
        .trim_start_matches("(guessed) ")
        .trim_start_matches("all ");
    match name.split_once(" - ") {
        Some((kind, size @ ("Small" | "Medium" | "Large"))) => format!("{kind}_{}", &size[..1]),
        Some((kind, _)) => kind.to_owned(),
        None => name.to_owned(),
    }
}

/// blake3 over the size, the head with the metadata, and samples spread over the weights: quick for a model of any size.
fn fingerprint(path: &Path, bytes: u64) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes.to_le_bytes());
    let mut buffer = Vec::new();
    Read::by_ref(&mut file)
        .take(HEAD_BYTES)
        .read_to_end(&mut buffer)?;
    hasher.update(&buffer);
    let rest = bytes.saturating_sub(HEAD_BYTES);
    if rest > 0 {
        for sample in 0..SAMPLES {
            buffer.clear();
            file.seek(SeekFrom::Start(HEAD_BYTES + (rest / SAMPLES) * sample))?;
            Read::by_ref(&mut file)
                .take(SAMPLE_BYTES)
                .read_to_end(&mut buffer)?;
            hasher.update(&buffer);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Bytes that one token takes in the cache, in half precision.
pub(super) fn cell_bytes(metadata: &Metadata, cache_type: CacheType) -> u64 {
    let heads = heads(metadata);
    let kv_heads = number(metadata, "attention.head_count_kv").unwrap_or(heads);
    let value = number(metadata, "attention.value_length").unwrap_or(model_width(metadata) / heads);
    let numbers = u64::from(block_count(metadata)) * kv_heads * (head_width(metadata) + value);
    match cache_type {
        CacheType::F32 => 4 * numbers,
        // of blocks the keys alone may be
        CacheType::F16 | CacheType::Q8 => 2 * numbers,
    }
}

/// Numbers in the key of one attention head.
pub(super) fn head_width(metadata: &Metadata) -> u64 {
    number(metadata, "attention.key_length").unwrap_or(model_width(metadata) / heads(metadata))
}

fn heads(metadata: &Metadata) -> u64 {
    number(metadata, "attention.head_count").unwrap_or(1).max(1)
}

fn model_width(metadata: &Metadata) -> u64 {
    number(metadata, "embedding_length").unwrap_or(0)
}

fn number(metadata: &Metadata, key: &str) -> Option<u64> {
    metadata.number(&format!(
        "{}.{key}",
        metadata.architecture().unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::short_quantisation;

    #[test]
    fn quantisations_have_their_usual_names() {
        let cases = [
            ("Q4_K - Medium", "Q4_K_M"),
            ("F16", "F16"),
            ("all F32", "F32"),
            ("IQ4_XS - 4.25 bpw", "IQ4_XS"),
        ];
        for (name, expected) in cases {
            assert_eq!(short_quantisation(name), expected);
        }
    }
}
