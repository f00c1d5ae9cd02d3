//! llama.cpp itself: started once a process, with its log in a file.

use std::path::Path;
use std::sync::OnceLock;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};

use super::{LlmError, ffi, log};

/// A device that can run a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// What the setting `generator.device` takes, e.g. `CPU` or `CUDA0`.
    pub name: String,
    pub description: String,
    pub gpu: bool,
    pub memory_bytes: u64,
    pub free_bytes: u64,
    /// Its number in ggml's list.
    pub(super) index: usize,
}

/// llama.cpp, ready to load models. Starting it again is harmless; the log goes to the file of the last start.
#[derive(Debug, Clone, Copy)]
pub struct Runtime {
    backend: &'static LlamaBackend,
}

impl Runtime {
    /// Start llama.cpp and send its log to `log_file` (made with its folder, appended to).
    ///
    /// # Errors
    /// When the log cannot be written or llama.cpp does not start.
    pub fn start(log_file: &Path) -> Result<Self, LlmError> {
        static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
        log::open(log_file).map_err(|error| {
            LlmError::Backend(format!(
                "cannot write its log {}: {error}",
                log_file.display()
            ))
        })?;
        let backend = BACKEND.get_or_init(|| {
            ffi::send_log();
            load_kernels();
            LlamaBackend::init().map_err(|error| error.to_string())
        });
        match backend {
            Ok(backend) => Ok(Self { backend }),
            Err(reason) => Err(LlmError::Backend(reason.clone())),
        }
    }

    pub(super) fn backend(&self) -> &'static LlamaBackend {
        self.backend
    }

    /// The devices that this build can use, GPUs first.
    #[must_use]
    pub fn devices(&self) -> Vec<Device> {
        let mut devices: Vec<Device> = list_llama_ggml_backend_devices()
            .into_iter()
            .map(|device| Device {
                gpu: matches!(
                    device.device_type,
                    LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu
                ),
                name: device.name,
                description: device.description,
                memory_bytes: device.memory_total as u64,
                free_bytes: device.memory_free as u64,
                index: device.index,
            })
            .collect();
        devices.sort_by_key(|device| !device.gpu);
        devices
    }

    /// The back ends and the vector instructions that ggml uses on this machine, e.g. `CPU`, `AVX2`.
    pub fn features(&self) -> Vec<String> {
        features_in(&ffi::system_info())
    }
}

/// Loads ggml's kernels for this processor. A portable build has them in a library per kind of
/// processor beside the program, and ggml takes the fastest one that runs here; other builds have
/// them linked in.
fn load_kernels() {
    #[cfg(feature = "portable")]
    match crate::config::libraries_folder() {
        Some(folder) => llama_cpp_2::llama_backend::load_backends_from_path(&folder),
        None => llama_cpp_2::llama_backend::load_backends(),
    }
}

/// Reads `CPU : AVX = 1 | AVX2 = 1 | CUDA : ARCHS = 500 | `: names of back ends, and their features
/// with values.
fn features_in(system_info: &str) -> Vec<String> {
    let mut features = Vec::new();

    for part in system_info.split('|') {
        let (back_end, feature) = match part.split_once(':') {
            Some((back_end, feature)) => (Some(back_end.trim()), feature),
            None => (None, part),
        };
        features.extend(back_end.map(str::to_owned));

        if let Some((name, "1")) = feature.trim().split_once(" = ") {
            features.push(name.to_owned());
        }
    }

    features
}

/// Threads for arithmetic: what the settings say, or one a physical core of those that this process may use.
pub(super) fn threads(setting: u32) -> u32 {
    if setting > 0 {
        return setting;
    }
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = physical_cores().map_or(available, |cores| cores.min(available));
    u32::try_from(threads).unwrap_or(1).max(1)
}

/// Linux tells which logical processors share a core; elsewhere the logical ones are counted.
fn physical_cores() -> Option<usize> {
    let mut cores = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir("/sys/devices/system/cpu").ok()?.flatten() {
        let siblings = entry.path().join("topology/thread_siblings_list");
        cores.extend(std::fs::read_to_string(siblings));
    }
    (!cores.is_empty()).then_some(cores.len())
}

/// Bytes of main memory that are free for use. None where the system does not say.
pub(super) fn available_memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_those_that_are_on() {
        let info =
            "CUDA : ARCHS = 500,610 | USE_GRAPHS = 1 | CPU : SSE3 = 1 | AVX2 = 1 | SVE = 0 | ";
        assert_eq!(
            features_in(info),
            ["CUDA", "USE_GRAPHS", "CPU", "SSE3", "AVX2"]
        );
    }
}
