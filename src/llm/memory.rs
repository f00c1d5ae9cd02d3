//! The memory that a model takes, next to what this machine has free.

use std::path::Path;

use super::error::Result;
use super::gguf::Metadata;
use super::load::cell_bytes;
use super::rpc::RpcWorker;
use super::runtime::{Runtime, available_memory_bytes};
use super::threads::usable_cores;
use crate::config::{GeneratorSettings, KvCacheType, OrAuto};
use crate::event::{MachineMemory, MemoryNeed, ModelRole};

/// Tokens of context to plan with where the settings leave the choice to ragscope: it gives a model
/// more where there is room.
const PLANNED_TOKENS: u64 = 8192;

/// Size of a generator with which a core reads a prompt of three sources, 380 tokens, in eight
/// seconds: two cores read 71 tokens per second with one of 1.1 GB (`benches/RESULTS.md`).
const TIMELY_BYTES_PER_CORE: u64 = 830_000_000;

/// Returns the free memory of the largest device that models can be on.
pub fn machine_memory(runtime: &Runtime) -> MachineMemory {
    let devices = runtime.devices();
    let of_machine = devices.iter().find(|device| !device.is_gpu);
    let free_bytes = available_memory_bytes().or(of_machine.map(|device| device.free_bytes));
    let gpu = devices
        .iter()
        .filter(|device| device.is_gpu)
        .max_by_key(|device| device.free_bytes);

    match gpu {
        Some(gpu) if Some(gpu.free_bytes) > free_bytes => MachineMemory {
            device: gpu.name.clone(),
            free_bytes: Some(gpu.free_bytes),
            timely_bytes: None,
        },
        Some(_) | None => MachineMemory {
            device: "CPU".to_owned(),
            free_bytes,
            timely_bytes: Some(TIMELY_BYTES_PER_CORE * u64::from(usable_cores())),
        },
    }
}

/// Returns the memory that a model takes with a context of `context_tokens`; 0 plans with a usual
/// size.
pub(super) fn need(
    metadata: &Metadata,
    role: ModelRole,
    context_tokens: u32,
    cache_type: KvCacheType,
) -> MemoryNeed {
    let trained = metadata.trained_context_tokens().unwrap_or(PLANNED_TOKENS);

    let tokens = match context_tokens {
        0 => trained.min(PLANNED_TOKENS),
        tokens => u64::from(tokens),
    };

    let has_cache = matches!(role, ModelRole::Generator | ModelRole::Linker);

    MemoryNeed {
        file_bytes: metadata.file_bytes,
        cache_bytes: if has_cache {
            tokens.saturating_mul(cell_bytes(metadata, cache_type))
        } else {
            0
        },
    }
}

/// Returns the memory that a generator takes and the free memory, where the first is more. Weights
/// are mapped from the file, so that such a model may still run, slowly.
///
/// # Errors
/// The file is no model.
pub fn shortage(
    runtime: &Runtime,
    file: &Path,
    settings: &GeneratorSettings,
) -> Result<Option<(MemoryNeed, u64)>> {
    let metadata = Metadata::read(file)?;
    let need = need(
        &metadata,
        ModelRole::Generator,
        settings.context_tokens,
        settings.kv_cache_type,
    );

    let is_on_gpu =
        settings.gpu_layers != OrAuto::Set(0) && !settings.device.eq_ignore_ascii_case("cpu");
    let free_bytes = if !settings.rpc.is_empty() {
        let asked = settings.rpc.iter().map(|worker| RpcWorker::ask(worker));
        // a worker that does not answer is reported by the load
        let free_bytes = asked.map(|worker| Some(worker.ok()?.free_bytes()));
        free_bytes.sum()
    } else if is_on_gpu {
        machine_memory(runtime).free_bytes
    } else {
        available_memory_bytes()
    };

    Ok(free_bytes
        .filter(|free_bytes| need.bytes() > *free_bytes)
        .map(|free_bytes| (need, free_bytes)))
}
