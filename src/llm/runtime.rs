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

    /// What this build was made with: `cpu` and GPU backends, then vector instructions.
    #[must_use]
    pub fn features() -> Vec<&'static str> {
        let built = [
            ("cpu", true),
            ("cuda", cfg!(feature = "cuda")),
            ("vulkan", cfg!(feature = "vulkan")),
            ("metal", cfg!(feature = "metal")),
            ("rocm", cfg!(feature = "rocm")),
            ("avx", cfg!(target_feature = "avx")),
            ("avx2", cfg!(target_feature = "avx2")),
            ("fma", cfg!(target_feature = "fma")),
            ("avx512f", cfg!(target_feature = "avx512f")),
            ("neon", cfg!(target_feature = "neon")),
        ];
        built
            .into_iter()
            .filter_map(|(name, built)| built.then_some(name))
            .collect()
    }
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
