//! llama.cpp itself: started once per process, with its log in a file.

use std::path::Path;
use std::sync::{Mutex, OnceLock};

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};

use super::error::{LlmError, Result};
use super::{ffi, log};
use crate::event::{harmless, lock};

/// A device that can run a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The value of the setting `generator.device`, such as `CPU` or `CUDA0`.
    pub name: String,
    pub description: String,
    pub is_gpu: bool,
    pub memory_bytes: u64,
    pub free_bytes: u64,
    /// Whether a worker has it.
    pub(super) is_remote: bool,
    /// Whether its memory is the machine's.
    pub(super) is_integrated: bool,
    /// Index in ggml's list of devices.
    pub(super) index: usize,
}

/// The files of the models that were loaded, the last one at the end.
static LOADED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes that llama.cpp is about to read a model, for the sentence of a crash.
pub(super) fn note_model(file: &Path) {
    let name = harmless(&file.display().to_string()).into_owned();
    let mut loaded = lock(&LOADED);
    loaded.retain(|known| *known != name);
    loaded.push(name);
    ffi::crash_message(&format!(
        "llama.cpp failed while it used {}. A model file is damaged, or it was changed while it was open: \
         `ragscope doctor` checks the files, and the log says what llama.cpp reported.",
        loaded.join(", ")
    ));
}

/// llama.cpp, ready to load models.
#[derive(Debug, Clone, Copy)]
pub struct Runtime {
    backend: &'static LlamaBackend,
}

impl Runtime {
    /// Starts llama.cpp and sends its log to `log_file`, which is created with its folder and
    /// appended to; where it cannot be written there is none.
    ///
    /// llama.cpp starts once per process; a later call only redirects the log.
    ///
    /// # Errors
    /// When llama.cpp does not start; a portable build without its libraries.
    pub fn start(log_file: &Path) -> Result<Self> {
        static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();

        // without a log there is less to read after a failure, and nothing else is lost
        let _ = log::open(log_file);
        let backend = BACKEND.get_or_init(|| {
            ffi::redirect_log();
            load_kernels();
            LlamaBackend::init().map_err(|error| error.to_string())
        });
        match backend {
            // every computation needs the CPU, a model on a GPU included
            Ok(_) if list_llama_ggml_backend_devices().is_empty() => Err(LlmError::new(
                "ggml's kernels for this processor are missing",
                "install ragscope again: the libraries beside the program are incomplete",
            )),
            Ok(backend) => Ok(Self { backend }),
            Err(reason) => Err(LlmError::Backend(reason.clone())),
        }
    }

    pub(super) fn backend(&self) -> &'static LlamaBackend {
        self.backend
    }

    /// Returns the devices that this build can use, GPUs first.
    pub fn devices(&self) -> Vec<Device> {
        let mut devices: Vec<Device> = list_llama_ggml_backend_devices()
            .into_iter()
            .map(|device| Device {
                is_gpu: matches!(
                    device.device_type,
                    LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu
                ),
                is_remote: device.backend == "RPC",
                is_integrated: device.device_type == LlamaBackendDeviceType::IntegratedGpu,
                name: device.name,
                description: device.description,
                memory_bytes: device.memory_total as u64,
                free_bytes: device.memory_free as u64,
                index: device.index,
            })
            .collect();

        devices.sort_by_key(|device| !device.is_gpu);
        devices
    }

    /// Returns the backends and the vector instructions that ggml uses on this machine, such as
    /// `CPU` and `AVX2`.
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

/// Reads `CPU : AVX = 1 | AVX2 = 1 | CUDA : ARCHS = 500 | `: names of backends, and their features
/// with values.
fn features_in(system_info: &str) -> Vec<String> {
    let mut features = Vec::new();

    for part in system_info.split('|') {
        let feature = match part.split_once(':') {
            Some((backend, feature)) => {
                features.push(backend.trim().to_owned());
                feature
            }
            None => part,
        };
        if let Some((name, "1")) = feature.trim().split_once(" = ") {
            features.push(name.to_owned());
        }
    }
    features
}

/// Returns the bytes of main memory that are available, as Linux reports them. `None` on other
/// systems.
pub(super) fn available_memory_bytes() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let available = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = available.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
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
