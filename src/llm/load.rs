//! Loads a model: checks the file before llama.cpp sees it, decides where its layers go, and
//! describes it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;

use super::gguf::Metadata;
use super::runtime::{Device, Runtime, available_memory_bytes, note_model};
use super::{LlmError, bundled, ffi, log, rpc};
use crate::config::{GpuLayers, KvCacheType};
use crate::event::{Flow, ModelCard, ModelRole, Prefixes, StopFlag};

/// Bytes at the start of a file that its fingerprint covers: all metadata.
const HEAD_BYTES: u64 = 8 << 20;
/// Number of samples of the weights in a fingerprint.
const SAMPLES: u64 = 256;
const SAMPLE_BYTES: u64 = 4096;
/// Share of a GPU's free memory for the weights: the rest is for the KV cache and the arithmetic.
const GPU_SHARE: f64 = 0.8;

/// A model file to load, and who watches and stops the load.
pub(super) struct LoadRequest<'a> {
    pub runtime: &'a Runtime,
    pub file: &'a Path,
    pub stop: &'a StopFlag,
    /// Called with numbers from 0 to 1; can end the load.
    pub progress: &'a mut dyn FnMut(f32) -> Flow,
}

/// The role of a model, and the settings that say where it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadOptions<'a> {
    pub role: ModelRole,
    pub gpu_layers: GpuLayers,
    pub device: &'a str,
    /// Workers that hold layers; empty for this machine alone.
    pub workers: &'a [String],
}

/// A loaded model, still without a context.
pub(super) struct Loaded {
    pub model: Arc<LlamaModel>,
    pub metadata: Metadata,
    pub card: ModelCard,
    /// Free memory where its KV cache will be; `None` if unknown.
    pub free_bytes: Option<u64>,
}

/// Loads a model.
pub(super) fn load(request: LoadRequest, options: LoadOptions) -> Result<Loaded, LlmError> {
    let LoadRequest {
        runtime,
        file,
        stop,
        progress,
    } = request;
    let metadata = Metadata::read(file)?;
    let mut devices = rpc::connect(runtime, options.workers)?;
    devices.extend(choose_device(runtime, options.device)?);
    let layers = gpu_layers(options.gpu_layers, &devices, &metadata);
    if layers == 0 {
        devices.clear();
    }

    let mut stopped = false;
    log::clear_errors();
    note_model(file);
    let model = ffi::load_model(
        runtime.backend(),
        file,
        params(&devices, layers)?,
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

    let mut card = card(&model, &metadata, file, options.role)?;
    if !devices.is_empty() {
        card.gpu_layers = layers.min(card.layers);
        card.device = names(&devices, options.workers);
    }

    // Weights that are mapped from the file count as free memory until they are read.
    let free_bytes = if devices.is_empty() {
        available_memory_bytes()
    } else {
        Some(devices.iter().map(|device| device.free_bytes).sum())
    };
    Ok(Loaded {
        model: Arc::new(model),
        free_bytes: free_bytes.map(|free| free.saturating_sub(metadata.file_bytes)),
        metadata,
        card,
    })
}

/// Returns the error for a file that llama.cpp did not load.
pub(super) fn refused(file: &Path) -> LlmError {
    LlmError::Unusable {
        path: file.display().to_string(),
        reason: log::first_error()
            .unwrap_or_else(|| "llama.cpp refused it without a reason".to_owned()),
    }
}

/// Returns the names of devices: workers by their addresses.
fn names(devices: &[Device], workers: &[String]) -> String {
    let own = devices.iter().filter(|device| !device.is_remote);
    let own = own.map(|device| device.name.as_str());
    let names: Vec<&str> = workers.iter().map(String::as_str).chain(own).collect();
    names.join(" + ")
}

/// Returns the GPU of this machine that the setting names; `None` for the CPU.
fn choose_device(runtime: &Runtime, name: &str) -> Result<Option<Device>, LlmError> {
    let mut devices = runtime.devices();
    devices.retain(|device| !device.is_remote);
    if name == "auto" {
        return Ok(devices.into_iter().find(|device| device.is_gpu));
    }

    let known: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
    let known = known.join(", ");
    match devices
        .into_iter()
        .find(|device| device.name.eq_ignore_ascii_case(name))
    {
        Some(device) => Ok(Some(device).filter(|device| device.is_gpu)),
        None => Err(LlmError::settings(
            format!("no device is called `{name}`"),
            format!("set `device` to auto, or to one of {known}"),
        )),
    }
}

/// Returns the number of layers for the devices. The output layer counts as one more than the model's
/// layers, as in llama.cpp.
fn gpu_layers(setting: GpuLayers, devices: &[Device], metadata: &Metadata) -> u32 {
    if devices.is_empty() {
        return 0;
    }
    let layers = block_count(metadata) + 1;
    match setting {
        GpuLayers::Count(count) => count.min(layers),
        GpuLayers::Auto => {
            let free_bytes: u64 = devices.iter().map(|device| device.free_bytes).sum();
            let room = free_bytes as f64 * GPU_SHARE;
            let layer_bytes = metadata.file_bytes as f64 / f64::from(layers);
            layers.min((room / layer_bytes.max(1.0)) as u32)
        }
    }
}

fn params(devices: &[Device], layers: u32) -> Result<LlamaModelParams, LlmError> {
    let devices: Vec<usize> = devices.iter().map(|device| device.index).collect();
    LlamaModelParams::default()
        .with_n_gpu_layers(layers)
        .with_devices(&devices)
        .map_err(|error| LlmError::Backend(error.to_string()))
}

/// Describes a model that runs on the CPU.
fn card(
    model: &LlamaModel,
    metadata: &Metadata,
    file: &Path,
    role: ModelRole,
) -> Result<ModelCard, LlmError> {
    let file_name = file.file_name().unwrap_or_default();
    let file_name = file_name.to_string_lossy().into_owned();
    let is_bundled = bundled::listed()
        .iter()
        .any(|listed| listed.file == file_name);
    let fingerprint =
        fingerprint(file, metadata.file_bytes).map_err(|error| LlmError::Unusable {
            path: file.display().to_string(),
            reason: error.to_string(),
        })?;

    Ok(ModelCard {
        role,
        name: metadata.name().unwrap_or(&file_name).to_owned(),
        file: file_name,
        file_bytes: metadata.file_bytes,
        fingerprint,
        architecture: metadata.architecture().unwrap_or_default().to_owned(),
        quantisation: short_quantisation(&ffi::quantisation(model)),
        parameters: model.n_params(),
        layers: model.n_layer(),
        gpu_layers: 0,
        device: "CPU".to_owned(),
        width: u32::try_from(model.n_embd()).unwrap_or(0),
        context_tokens: 0,
        chat_template: String::new(),
        template_fallback: String::new(),
        practice: is_bundled && role == ModelRole::Generator,
        prefixes: Prefixes::default(),
    })
}

/// Shortens llama.cpp's name of a quantisation as file names do: `Q4_K - Medium` to `Q4_K_M`.
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

/// Returns the blake3 hash of the size, the head with the metadata, and samples spread over the
/// weights: quick for a model of any size.
fn fingerprint(path: &Path, bytes: u64) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes.to_le_bytes());

    let mut buffer = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut buffer)?;
    hasher.update(&buffer);

    let rest = bytes.saturating_sub(HEAD_BYTES);
    if rest > 0 {
        for sample in 0..SAMPLES {
            buffer.clear();
            file.seek(SeekFrom::Start(HEAD_BYTES + (rest / SAMPLES) * sample))?;
            file.by_ref().take(SAMPLE_BYTES).read_to_end(&mut buffer)?;
            hasher.update(&buffer);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Returns the bytes that one token takes in the KV cache.
pub(super) fn cell_bytes(metadata: &Metadata, cache_type: KvCacheType) -> u64 {
    let heads = heads(metadata);
    let kv_heads = number(metadata, "attention.head_count_kv").unwrap_or(heads);
    let value_width =
        number(metadata, "attention.value_length").unwrap_or(model_width(metadata) / heads);
    let numbers =
        u64::from(block_count(metadata)) * kv_heads * (head_width(metadata) + value_width);
    match cache_type {
        KvCacheType::F32 => 4 * numbers,
        // Without flash attention only the keys of Q8 are quantised: counted as if neither were.
        KvCacheType::F16 | KvCacheType::Q8 => 2 * numbers,
    }
}

/// Returns the width of the keys of one attention head.
pub(super) fn head_width(metadata: &Metadata) -> u64 {
    number(metadata, "attention.key_length").unwrap_or(model_width(metadata) / heads(metadata))
}

fn block_count(metadata: &Metadata) -> u32 {
    number(metadata, "block_count")
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or(0)
}

fn heads(metadata: &Metadata) -> u64 {
    number(metadata, "attention.head_count").unwrap_or(1).max(1)
}

fn model_width(metadata: &Metadata) -> u64 {
    number(metadata, "embedding_length").unwrap_or(0)
}

/// Returns a number of the metadata whose key begins with the architecture.
fn number(metadata: &Metadata, key: &str) -> Option<u64> {
    let architecture = metadata.architecture().unwrap_or_default();
    metadata.number(&format!("{architecture}.{key}"))
}

#[cfg(test)]
mod tests {
    use super::short_quantisation;

    #[test]
    fn quantisations_have_the_names_of_files() {
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
