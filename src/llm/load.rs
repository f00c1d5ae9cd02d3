//! Loads a model: checks the file before llama.cpp sees it, decides where its layers go, and
//! describes it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use llama_cpp_2::model::LlamaModel;

use super::error::{LlmError, Result};
use super::ffi::{CONTEXT_STEP, Context, ContextParams, ModelParams, ModelPart};
use super::fit::{self, Need, Shape};
use super::gguf::Metadata;
use super::log::Buffer;
use super::runtime::{Device, Runtime, available_memory_bytes, note_model};
use super::{bundled, ffi, log, model_file, rpc};
use crate::config::{EmbedderSettings, FlashAttention, GeneratorSettings, KvCacheType, OrAuto};
use crate::event::{Flow, ModelCard, ModelRole, StopError, StopFlag};

/// Bytes at the start of a file that its fingerprint covers: all metadata.
const HEAD_BYTES: u64 = 8 << 20;
/// Number of samples of the weights in a fingerprint.
const SAMPLES: u64 = 256;
const SAMPLE_BYTES: u64 = 4096;
/// KV cache of a layer up to which llama.cpp measures a context: every device has buffers of this
/// size.
const MAX_MEASURED_BYTES: u64 = 1 << 30;

/// A model file to load, and who watches and stops the load.
pub(super) struct LoadRequest<'a> {
    pub runtime: &'a Runtime,
    pub file: &'a Path,
    pub stop: &'a StopFlag,
    /// Called with numbers from 0 to 1; can end the load.
    pub progress: &'a mut dyn FnMut(f32) -> Flow,
}

/// The role of a model, where it runs, and the context that it will have.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadOptions<'a> {
    pub role: ModelRole,
    pub placement: Placement<'a>,
    /// The context that the model is to have beside its weights.
    pub context: ContextParams,
    /// Whether that context may be shorter where memory is scarce.
    pub can_shorten: bool,
}

/// The settings that say where a model runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placement<'a> {
    pub gpu_layers: OrAuto<u32>,
    /// Names with commas between them, or `auto`.
    device: &'a str,
    /// Workers that hold layers; empty for this machine alone.
    workers: &'a [String],
}

impl<'a> Placement<'a> {
    pub fn for_generator(settings: &'a GeneratorSettings) -> Self {
        Self {
            gpu_layers: settings.gpu_layers,
            device: &settings.device,
            workers: &settings.rpc,
        }
    }

    pub fn for_embedder(settings: &'a EmbedderSettings) -> Self {
        Self {
            gpu_layers: OrAuto::Auto,
            device: &settings.device,
            workers: &[],
        }
    }

    /// Returns whether fewer layers may be on the device than were planned.
    fn can_shrink(&self) -> bool {
        self.gpu_layers == OrAuto::Auto
    }
}

/// A loaded model, still without a context.
pub(super) struct Loaded {
    pub model: Arc<LlamaModel>,
    pub metadata: Metadata,
    pub card: ModelCard,
    /// Free memory where its KV cache will be; `None` if unknown.
    pub free_bytes: Option<u64>,
    /// Tokens of context that were planned beside the layers on a device; `None` on the CPU.
    pub planned_tokens: Option<u32>,
    /// The devices that it is on.
    devices: Vec<Device>,
    /// The most layers that were expected to fit.
    fitting_layers: u32,
}

impl Loaded {
    /// Returns the error for a model whose context found no room beside its layers.
    pub fn no_room(&self, reason: &str) -> LlmError {
        no_room(
            &self.card.device,
            self.card.gpu_layers,
            self.fitting_layers,
            reason,
        )
    }
}

/// The placement of the layers of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct LoadPlan {
    devices: Vec<Device>,
    /// Layers on them, the output layer not counted.
    layers: u32,
    context_tokens: u32,
    /// The most layers that are expected to fit.
    fitting_layers: u32,
}

/// Loads a model and creates its context, with half the layers on the device each time that the
/// context finds no room beside them.
pub(super) fn load_with_context(
    request: &mut LoadRequest,
    options: LoadOptions,
    create: impl Fn(&Loaded) -> Result<(Context, ContextParams)>,
) -> Result<(Loaded, Context, ContextParams)> {
    let mut max_layers = u32::MAX;
    loop {
        let mut loaded = load(request, options, max_layers)?;
        match create(&loaded) {
            Ok((context, params)) => {
                loaded.card.device_bytes += device_bytes(&loaded.devices, &context.buffers);
                return Ok((loaded, context, params));
            }
            Err(_) if loaded.card.gpu_layers > 0 && options.placement.can_shrink() => {
                max_layers = fit::fewer(loaded.card.gpu_layers);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Loads a model with at most `max_layers` layers on a device. Where memory cannot be allocated
/// although it was free, half the layers are tried, as long as the settings leave the number open.
fn load(request: &mut LoadRequest, options: LoadOptions, max_layers: u32) -> Result<Loaded> {
    let file = request.file;
    let metadata = Metadata::read(file)?;
    model_file::check_whole(file, &metadata)?;
    let mut plan = plan(request, options, &metadata)?;
    plan.layers = plan.layers.min(max_layers);
    note_model(file);
    let (model, buffers) = load_planned(request, options, &mut plan)?;

    let devices = plan.devices;
    let mut card = card(&model, &metadata, file, options.role)?;
    if !devices.is_empty() {
        card.gpu_layers = plan.layers.min(card.layers);
        card.device = names(&devices, options.placement.workers);
        card.device_bytes = device_bytes(&devices, &buffers);
    }

    // Weights that are mapped from the file count as free memory until they are read.
    let free_bytes = available_memory_bytes();
    Ok(Loaded {
        model: Arc::new(model),
        free_bytes: free_bytes.map(|free| free.saturating_sub(metadata.file_bytes)),
        planned_tokens: Some(plan.context_tokens).filter(|_| !devices.is_empty()),
        metadata,
        card,
        devices,
        fitting_layers: plan.fitting_layers,
    })
}

/// Loads the weights as planned, and with half the layers on the device as long as memory cannot be
/// allocated.
fn load_planned(
    request: &mut LoadRequest,
    options: LoadOptions,
    plan: &mut LoadPlan,
) -> Result<(LlamaModel, Vec<Buffer>)> {
    loop {
        if plan.layers == 0 {
            plan.devices.clear();
        }
        let mut stopped = false;
        log::clear_errors();
        let indices = indices(&plan.devices);
        let params = params(&indices, plan.layers);

        let backend = request.runtime.backend();
        let loaded = ffi::load_model(backend, request.file, params, &mut |share| {
            stopped = stopped || request.stop.is_set() || (request.progress)(share) == Flow::Stop;
            !stopped
        });
        if let Some(loaded) = loaded {
            return Ok(loaded);
        }
        if stopped {
            return Err(StopError.into());
        }

        if let Some(error) = failure(request, options, plan, params) {
            return Err(error);
        }
        plan.layers = fit::fewer(plan.layers);
    }
}

/// Returns the error of a load that failed; `None` where fewer layers are to be tried.
fn failure(
    request: &LoadRequest,
    options: LoadOptions,
    plan: &LoadPlan,
    params: ModelParams,
) -> Option<LlmError> {
    let refused = refusal(request.file);

    // what can be planned and not loaded lacks memory
    let backend = request.runtime.backend();
    let is_out_of_memory =
        plan.layers > 0 && ffi::measure(backend, request.file, params, options.context).is_some();
    if !is_out_of_memory {
        return Some(refused);
    }

    if options.placement.can_shrink() {
        return None;
    }

    let reason = match &refused {
        LlmError::Unusable { reason, .. } => reason.clone(),
        other => other.to_string(),
    };
    Some(no_room(
        &names(&plan.devices, options.placement.workers),
        plan.layers,
        allocatable_layers(request, params),
        &reason,
    ))
}

/// Returns the names of devices: workers by their addresses.
fn names(devices: &[Device], workers: &[String]) -> String {
    let own = devices.iter().filter(|device| !device.is_remote);
    let own = own.map(|device| device.name.as_str());
    let names: Vec<&str> = workers.iter().map(String::as_str).chain(own).collect();
    names.join(" + ")
}

fn indices(devices: &[Device]) -> Vec<usize> {
    devices.iter().map(|device| device.index).collect()
}

fn device_bytes(devices: &[Device], buffers: &[Buffer]) -> u64 {
    let is_on_device = |buffer: &&Buffer| {
        devices.iter().any(|device| {
            // llama.cpp numbers the memory of each worker from 0
            let is_of_worker = device.is_remote && buffer.place.starts_with("RPC");
            is_of_worker || buffer.is_on(&device.name)
        })
    };
    let on_device = buffers.iter().filter(is_on_device);
    on_device.map(|buffer| buffer.bytes).sum()
}

/// Returns how many layers find room where more did not, by halves: a load is ended as soon as its
/// memory is there.
fn allocatable_layers(request: &LoadRequest, params: ModelParams) -> u32 {
    let mut layers = fit::fewer(params.layers.saturating_sub(1));
    while layers > 0 {
        let mut has_room = false;
        let fewer = ModelParams {
            // llama.cpp counts the output layer as one more
            layers: layers + 1,
            ..params
        };

        // llama.cpp reports progress with the weights that it reads into that memory
        ffi::load_model(request.runtime.backend(), request.file, fewer, &mut |_| {
            has_room = true;
            false
        });

        if has_room {
            return layers;
        }
        layers = fit::fewer(layers);
    }

    0
}

/// Returns the error for layers that find no room on devices.
fn no_room(devices: &str, layers: u32, fitting_layers: u32, reason: &str) -> LlmError {
    let fitting = fitting_layers.min(fit::fewer(layers));
    LlmError::new(
        format!("no room for {layers} layers on {devices} ({reason})"),
        format!("set generator.gpu_layers to {fitting}, as many as should fit, or to auto"),
    )
}

/// Returns the error for a file that llama.cpp did not load.
pub(super) fn refusal(file: &Path) -> LlmError {
    let reason = log::first_error();
    let reason = reason.unwrap_or_else(|| "llama.cpp refused it without a reason".to_owned());
    LlmError::unusable(file, reason)
}

/// Returns the GPUs of this machine that the setting names: none for the CPU.
fn choose_devices(mut devices: Vec<Device>, placement: Placement) -> Result<Vec<Device>> {
    devices.retain(|device| !device.is_remote);
    if placement.device == "auto" {
        devices.retain(|device| device.is_gpu);
        // an integrated GPU is slower than the others would be without it
        if devices.iter().any(|gpu| !gpu.is_integrated) {
            devices.retain(|gpu| !gpu.is_integrated);
        }
        return Ok(devices);
    }

    let mut named = Vec::new();
    for name in placement.device.split(',').map(str::trim) {
        let device = devices
            .iter()
            .find(|device| device.name.eq_ignore_ascii_case(name));
        let Some(device) = device else {
            let known: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
            let known = known.join(", ");
            return Err(LlmError::new(
                format!("no device is called `{name}`"),
                format!("set `device` to auto, or to one of {known}"),
            ));
        };
        named.push(device.clone());
    }
    named.retain(|device| device.is_gpu);
    Ok(named)
}

/// Decides how many layers are on which devices, and how long the context can be beside them.
fn plan(request: &LoadRequest, options: LoadOptions, metadata: &Metadata) -> Result<LoadPlan> {
    let placement = options.placement;
    let mut devices = rpc::connect(request.runtime, placement.workers)?;
    devices.extend(choose_devices(request.runtime.devices(), placement)?);
    let wanted = options.context.context_tokens;
    if devices.is_empty() || placement.gpu_layers == OrAuto::Set(0) {
        return Ok(LoadPlan {
            context_tokens: wanted,
            ..LoadPlan::default()
        });
    }

    let all = u32::try_from(metadata.weights.layers.len()).unwrap_or(u32::MAX);
    let planner = Planner {
        request,
        options,
        metadata,
        all,
    };
    // several devices share a model because the settings say so, or because one of them does not
    // hold it
    let is_shared = placement.device != "auto" || !placement.workers.is_empty();
    let mut used = if is_shared { &devices } else { &devices[..1] };
    let (mut layers, mut context_tokens) = planner.fit(used);
    if layers < all && used.len() < devices.len() {
        used = &devices;
        (layers, context_tokens) = planner.fit(used);
    }
    Ok(LoadPlan {
        devices: used.to_vec(),
        layers: placement.gpu_layers.or(layers).min(all),
        context_tokens,
        fitting_layers: layers,
    })
}

/// Counts the layers that devices hold.
struct Planner<'a, 'r> {
    request: &'a LoadRequest<'r>,
    options: LoadOptions<'a>,
    metadata: &'a Metadata,
    /// The layers of the model.
    all: u32,
}

impl Planner<'_, '_> {
    /// Returns the layers that fit these devices, and the tokens of context beside them.
    fn fit(&self, devices: &[Device]) -> (u32, u32) {
        let mut context_tokens = self.options.context.context_tokens;
        let mut need_all = self.need(devices, self.all, context_tokens);
        if self.options.can_shorten {
            let room = room(devices, &need_all);
            let shorter = need_all.context_in(room, context_tokens, CONTEXT_STEP);
            if shorter < context_tokens {
                context_tokens = shorter;
                need_all = self.need(devices, self.all, shorter);
            }
        }

        let mut layers = need_all.layers_in(room(devices, &need_all), context_tokens);
        if layers < self.all {
            // other results cross between devices now
            let need_some = self.need(devices, layers, context_tokens);
            let still = need_some.layers_in(room(devices, &need_some), context_tokens);
            layers = layers.min(still);
        }
        (layers, context_tokens)
    }

    fn need(&self, devices: &[Device], layers: u32, context_tokens: u32) -> Need<'_> {
        Need {
            weights: &self.metadata.weights,
            cell_bytes: self.layer_cell_bytes(),
            compute_bytes: self
                .measure(devices, layers, context_tokens)
                .unwrap_or_else(|| estimate(self.metadata, self.options.context, context_tokens)),
        }
    }

    /// Returns the bytes of one token in the KV cache of a layer.
    fn layer_cell_bytes(&self) -> u64 {
        cell_bytes(self.metadata, self.options.context.cache_type) / u64::from(self.all.max(1))
    }

    /// Returns the bytes of the results between layers as llama.cpp plans them; `None` where it
    /// cannot be asked.
    fn measure(&self, devices: &[Device], layers: u32, context_tokens: u32) -> Option<u64> {
        // ggml ends the process where a tensor of the cache is larger than a buffer can be, and
        // nowhere says how large that is
        let cache_bytes = self.layer_cell_bytes();
        let cache_bytes = cache_bytes.saturating_mul(u64::from(context_tokens));
        let has_remote = devices.iter().any(|device| device.is_remote);
        if cache_bytes > MAX_MEASURED_BYTES || has_remote {
            return None;
        }

        let context = ContextParams {
            context_tokens,
            ..self.options.context
        };
        let indices = indices(devices);
        let params = params(&indices, layers);
        let backend = self.request.runtime.backend();
        let buffers = ffi::measure(backend, self.request.file, params, context)?;
        let on_device = |device: &Device| -> u64 {
            let compute = buffers
                .iter()
                .filter(|buffer| buffer.is_compute && buffer.is_on(&device.name));
            compute.map(|buffer| buffer.bytes).sum()
        };
        devices.iter().map(on_device).max()
    }
}

/// Returns the bytes of devices that layers can take.
fn room(devices: &[Device], need: &Need) -> u64 {
    let rooms = devices
        .iter()
        .map(|device| fit::room_bytes(device.free_bytes, device.memory_bytes));
    // each device has results of its own
    let more = need.compute_bytes.saturating_mul(devices.len() as u64 - 1);
    rooms.sum::<u64>().saturating_sub(more)
}

/// Estimates the bytes of the results between layers.
fn estimate(metadata: &Metadata, context: ContextParams, context_tokens: u32) -> u64 {
    let shape = Shape {
        vocabulary: metadata
            .list("tokenizer.ggml.tokens")
            .map_or(0, |tokens| tokens.len() as u64),
        width: model_width(metadata),
        heads: heads(metadata),
        is_unfused: context.flash_attention == FlashAttention::Off,
    };

    fit::compute_bytes(
        shape,
        u64::from(context.batch_tokens),
        u64::from(context_tokens),
    )
}

fn params(devices: &[usize], layers: u32) -> ModelParams<'_> {
    ModelParams {
        devices,
        // llama.cpp counts the output layer as the first that is offloaded
        layers: if layers == 0 { 0 } else { layers + 1 },
        part: ModelPart::All,
    }
}

/// Describes a model that runs on the CPU.
fn card(
    model: &LlamaModel,
    metadata: &Metadata,
    file: &Path,
    role: ModelRole,
) -> Result<ModelCard> {
    let file_name = file.file_name().unwrap_or_default();
    let file_name = file_name.to_string_lossy().into_owned();
    let is_bundled = bundled::is_listed(&file_name);
    let fingerprint = fingerprint(file, metadata.file_bytes)
        .map_err(|error| LlmError::unusable(file, error.to_string()))?;

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
        device: "CPU".to_owned(),
        width: u32::try_from(model.n_embd()).unwrap_or(0),
        practice: is_bundled && role == ModelRole::Generator,
        ..ModelCard::default()
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

/// Returns the number of layers that the metadata claims.
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
    use super::*;

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

    fn device(name: &str, index: usize, is_gpu: bool, is_integrated: bool) -> Device {
        Device {
            name: name.to_owned(),
            description: String::new(),
            is_gpu,
            is_integrated,
            is_remote: name.starts_with("RPC"),
            memory_bytes: 8 << 30,
            free_bytes: 8 << 30,
            index,
        }
    }

    #[test]
    fn devices_are_chosen_by_name_or_kind() {
        let machine = || {
            vec![
                device("CUDA0", 1, true, false),
                device("CUDA1", 2, true, false),
                device("Vulkan1", 3, true, true),
                // a worker that an earlier load connected to
                device("RPC0", 4, true, false),
                device("CPU", 0, false, false),
            ]
        };
        let chosen = |name: &str| {
            let placement = Placement {
                gpu_layers: OrAuto::Auto,
                device: name,
                workers: &[],
            };
            choose_devices(machine(), placement)
                .map(|devices| names(&devices, &[]))
                .map_err(|error| error.to_string())
        };
        for (name, expected) in [
            ("auto", Ok("CUDA0 + CUDA1")),
            ("cuda1", Ok("CUDA1")),
            ("Vulkan1", Ok("Vulkan1")),
            ("CUDA1, CUDA0", Ok("CUDA1 + CUDA0")),
            ("cpu", Ok("")),
            ("CUDA2", Err("no device is called `CUDA2`")),
            ("CUDA0,", Err("no device is called ``")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(chosen(name), expected, "{name}");
        }
    }

    #[test]
    fn an_error_names_the_layers_that_would_fit() {
        use crate::event::Advice as _;
        for (layers, fitting_layers, expected) in [(33, 20, "16"), (33, 9, "9"), (1, 5, "0")] {
            let error = no_room("CUDA0", layers, fitting_layers, "no memory");
            let text = error.to_problem().line();
            assert!(
                text.contains(&format!("no room for {layers} layers on CUDA0 (no memory)")),
                "{text}"
            );
            assert!(
                text.contains(&format!("generator.gpu_layers to {expected},")),
                "{text}"
            );
        }
    }
}
