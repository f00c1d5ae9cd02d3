//! The only folder with `unsafe`: a context created with `llama_cpp_sys_2`, because the safe one
//! hides the evaluation and abort callbacks, and the few model calls that `llama-cpp-2` does not
//! wrap.
#![expect(unsafe_code, reason = "llama.cpp is a C library")]

mod batch;
#[cfg(unix)]
mod crash;
mod rpc;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_sys_2 as sys;

use super::cells::Memory;
use super::error::{LlmError, Result};
use super::log::{self, Buffer, Level};
use super::threads::Threads;
use crate::config::{FlashAttention, KvCacheType};
use crate::event::StopFlag;

pub(super) use batch::Batch;
#[cfg(unix)]
pub(super) use crash::crash_message;
#[cfg(unix)]
pub use crash::{CrashName, contain_crashes};
pub(super) use rpc::{add_rpc_server, serve_rpc};

/// The number of cells of a context is a multiple of this.
pub(super) const CONTEXT_STEP: u32 = 256;

/// The output of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Logits.
    Generate,
    /// One vector per sequence, pooled as the model's metadata says.
    Embed,
    /// The scores of classes, whatever the metadata says.
    Classify,
}

/// The devices on which a model is loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelParams<'a> {
    /// Indices in ggml's list of devices; empty for the CPU.
    pub devices: &'a [usize],
    /// Layers on them as llama.cpp counts: the output layer is one more.
    pub layers: u32,
    pub part: ModelPart,
}

impl ModelParams<'_> {
    /// A model that only splits text into tokens.
    pub const VOCABULARY: Self = Self {
        devices: &[],
        layers: 0,
        part: ModelPart::Vocabulary,
    };
}

/// The part of a file that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelPart {
    All,
    Vocabulary,
    /// The sizes of everything: no weight is read and no memory taken.
    Sizes,
}

/// Parameters of a context.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContextParams {
    pub purpose: Purpose,
    /// Cells of the KV cache, shared by all sequences.
    pub context_tokens: u32,
    /// Maximum tokens of one decode.
    pub batch_tokens: u32,
    pub sequences: u32,
    /// Number of threads, as in the settings: 0 measures.
    pub threads: u32,
    /// Whether keys, values and their arithmetic are on the GPU.
    pub offload: bool,
    /// Turned off, it leaves every weight as a number of a tensor, which can be read.
    pub flash_attention: FlashAttention,
    pub cache_type: KvCacheType,
}

/// Reads tensors while a graph is evaluated.
pub(super) trait TensorReader {
    /// Returns whether this tensor is to be read. Called once for every node of the graph.
    fn is_wanted(&self, name: &str) -> bool;
    /// Reads a tensor that has been computed.
    fn read(&mut self, name: &str, tensor: &Tensor);
}

/// A computed tensor of single-precision numbers, borrowed for the call that reads it.
pub(super) struct Tensor<'a>(&'a sys::ggml_tensor);

impl Tensor<'_> {
    /// Returns the sizes of its dimensions, fastest first.
    pub fn shape(&self) -> [usize; 4] {
        self.0.ne.map(|size| usize::try_from(size).unwrap_or(0))
    }

    /// Reads consecutive numbers from index `at` on, as far as there are any.
    pub fn read(&self, at: usize, into: &mut [f32]) {
        let all = self.shape().iter().product::<usize>();
        let count = into.len().min(all.saturating_sub(at));
        let tensor = std::ptr::from_ref(self.0);

        // SAFETY: the tensor is live, contiguous and of f32, which `evaluated` checks; the range is
        // inside both.
        unsafe {
            sys::ggml_backend_tensor_get(
                tensor,
                into.as_mut_ptr().cast::<c_void>(),
                at * size_of::<f32>(),
                count * size_of::<f32>(),
            );
        }
    }
}

/// The end of a decode that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoded {
    Done,
    /// The KV cache has no room for the batch and is unchanged.
    NoRoom,
    /// The stop flag was set; part of the batch may be in the KV cache.
    Aborted,
}

type ReaderCell = RefCell<Option<Box<dyn TensorReader + Send>>>;

/// A llama.cpp context with its model, its stop flag and its tensor reader.
pub(super) struct Context {
    raw: NonNull<sys::llama_context>,
    // The callbacks have pointers to these two. They are shared and not boxed, since moving a box
    // would claim that nothing else points into it; no second owner is ever made.
    stop: Rc<StopFlag>,
    reader: Rc<ReaderCell>,
    pub model: Arc<LlamaModel>,
    threads: Threads,
    keeps_threads: bool,
    counts: Vec<i32>,
    sequence_pointers: Vec<*mut i32>,
    vocabulary: usize,
    /// Width of a pooled vector.
    pub width: usize,
    /// Width of a vector in place of a token.
    input_width: usize,
    /// The memory that it takes, as llama.cpp reports it: KV cache, and results between layers.
    pub buffers: Vec<Buffer>,
}

// SAFETY: a context may move between threads as long as one thread uses it at a time, which `&mut
// self` ensures; nothing in it is tied to the thread that created it, and it is the only owner of
// what it counts references to.
unsafe impl Send for Context {}

fn raw_threads(threads: u32) -> i32 {
    i32::try_from(threads).unwrap_or(1)
}

fn cache_type(kind: KvCacheType) -> sys::ggml_type {
    match kind {
        KvCacheType::F16 => sys::GGML_TYPE_F16,
        KvCacheType::F32 => sys::GGML_TYPE_F32,
        KvCacheType::Q8 => sys::GGML_TYPE_Q8_0,
    }
}

/// Returns llama.cpp's parameters of a context, without callbacks.
fn raw_params(params: ContextParams, threads: u32) -> sys::llama_context_params {
    // SAFETY: returns a plain struct.
    let mut raw = unsafe { sys::llama_context_default_params() };
    // llama.cpp rounds the context up itself, but limits the batch to the unrounded size
    // before.
    raw.n_ctx = params.context_tokens.next_multiple_of(CONTEXT_STEP);
    raw.n_batch = params.batch_tokens;
    // one part per batch: a tensor that is read holds all of its tokens
    raw.n_ubatch = params.batch_tokens;
    raw.n_seq_max = params.sequences;
    raw.n_threads = raw_threads(threads);
    raw.n_threads_batch = raw.n_threads;
    raw.type_k = cache_type(params.cache_type);
    // llama.cpp supports quantised values with flash attention only.
    raw.type_v = match (params.cache_type, params.flash_attention) {
        (KvCacheType::Q8, FlashAttention::Off | FlashAttention::Auto) => {
            cache_type(KvCacheType::F16)
        }
        (kind, _) => cache_type(kind),
    };
    // One pool of cells for all sequences, so that they can share prefixes.
    raw.kv_unified = true;
    raw.no_perf = true;
    raw.embeddings = matches!(params.purpose, Purpose::Embed | Purpose::Classify);
    if params.purpose == Purpose::Classify {
        raw.pooling_type = sys::LLAMA_POOLING_TYPE_RANK;
    }
    raw.offload_kqv = params.offload;
    raw.op_offload = params.offload;
    raw.flash_attn_type = match params.flash_attention {
        FlashAttention::Auto => sys::LLAMA_FLASH_ATTN_TYPE_AUTO,
        FlashAttention::On => sys::LLAMA_FLASH_ATTN_TYPE_ENABLED,
        FlashAttention::Off => sys::LLAMA_FLASH_ATTN_TYPE_DISABLED,
    };
    raw
}

impl Context {
    /// Creates a context. The error is why llama.cpp refuses, mostly because memory is exhausted.
    pub fn new(
        model: &Arc<LlamaModel>,
        params: ContextParams,
        stop: &StopFlag,
    ) -> Result<Self, String> {
        log::clear_errors();
        let stop = Rc::new(stop.clone());
        let reader: Rc<ReaderCell> = Rc::default();

        let threads = Threads::from_setting(params.threads, params.offload);
        let mut raw = raw_params(params, threads.for_batch(1));
        raw.abort_callback = Some(abort);
        raw.abort_callback_data = Rc::as_ptr(&stop).cast_mut().cast::<c_void>();
        raw.cb_eval = Some(observe_tensor);
        raw.cb_eval_user_data = Rc::as_ptr(&reader).cast_mut().cast::<c_void>();
        let (raw, buffers) = log::with_buffers(|| {
            // SAFETY: the model lives as long as the context (held in an Arc), and so does what is
            // behind the callbacks.
            unsafe { sys::llama_init_from_model(model_pointer(model), raw) }
        });

        let refused = || log::first_error().unwrap_or_else(|| "not enough memory".to_owned());
        Ok(Self {
            raw: NonNull::new(raw).ok_or_else(refused)?,
            stop,
            reader,
            model: Arc::clone(model),
            threads,
            keeps_threads: false,
            counts: Vec::new(),
            sequence_pointers: Vec::new(),
            vocabulary: usize::try_from(model.n_vocab()).unwrap_or(0),
            width: usize::try_from(model.n_embd_out()).unwrap_or(0),
            input_width: usize::try_from(model.n_embd()).unwrap_or(0),
            buffers,
        })
    }

    pub fn stop_flag(&self) -> &StopFlag {
        &self.stop
    }

    /// Returns the number of cells of the KV cache, as llama.cpp rounded it.
    pub fn context_tokens(&self) -> usize {
        // SAFETY: the context is live.
        unsafe { sys::llama_n_ctx(self.raw.as_ptr()) as usize }
    }

    /// Returns the maximum tokens of a batch: at most as many as the parameters say.
    pub fn batch_tokens(&self) -> usize {
        // SAFETY: the context is live.
        unsafe {
            sys::llama_n_batch(self.raw.as_ptr()).min(sys::llama_n_ubatch(self.raw.as_ptr()))
                as usize
        }
    }

    /// Sets the reader of the tensors of all decodes until [`Self::clear_tensor_reader`].
    pub fn set_tensor_reader(&mut self, reader: Box<dyn TensorReader + Send>) {
        *self.reader.borrow_mut() = Some(reader);
    }

    /// Stops reading tensors.
    pub fn clear_tensor_reader(&mut self) {
        *self.reader.borrow_mut() = None;
    }

    /// Evaluates a batch.
    pub fn decode(&mut self, batch: &mut Batch) -> Result<Decoded> {
        batch.check(self.input_width)?;
        self.counts.clear();
        self.counts.resize(batch.len(), 1);
        self.sequence_pointers.clear();
        self.sequence_pointers
            .extend(batch.sequences.iter_mut().map(std::ptr::from_mut));

        // llama.cpp takes tokens or vectors, and null for the other.
        let mut tokens = std::ptr::null_mut();
        let mut vectors = std::ptr::null_mut();
        if batch.vectors.is_empty() {
            tokens = batch.tokens.as_mut_ptr();
        } else {
            vectors = batch.vectors.as_mut_ptr();
        }
        let raw = sys::llama_batch {
            n_tokens: i32::try_from(batch.len()).unwrap_or(i32::MAX),
            token: tokens,
            embd: vectors,
            pos: batch.positions.as_mut_ptr(),
            n_seq_id: self.counts.as_mut_ptr(),
            seq_id: self.sequence_pointers.as_mut_ptr(),
            logits: batch.is_output.as_mut_ptr(),
        };

        let threads = raw_threads(self.threads_for(batch.len()));
        // SAFETY: the context is live.
        unsafe { sys::llama_set_n_threads(self.raw.as_ptr(), threads, threads) };

        let started = Instant::now();
        // SAFETY: every array has `n_tokens` entries (vectors: times the model's width) and
        // outlives the call; each token has one sequence id behind its pointer.
        match unsafe { sys::llama_decode(self.raw.as_ptr(), raw) } {
            0 => {
                // reading tensors costs time that is not the threads'
                if self.reader.borrow().is_none() && !self.keeps_threads {
                    self.threads.took(batch.len(), started.elapsed());
                }
                Ok(Decoded::Done)
            }
            1 => Ok(Decoded::NoRoom),
            2 => Ok(Decoded::Aborted),
            code => Err(LlmError::Backend(format!(
                "decoding failed with code {code}"
            ))),
        }
    }

    /// Sets whether the number of threads stays the same from decode to decode. ggml's flash
    /// attention of a single token divides the cache among the threads and adds what each found, so
    /// that the last digits of a logit depend on their number: a token that is drawn by chance may
    /// then be another one under the same seed.
    pub fn keep_threads(&mut self, keep: bool) {
        self.keeps_threads = keep;
    }

    fn threads_for(&self, tokens: usize) -> u32 {
        let tokens = if self.keeps_threads {
            usize::MAX
        } else {
            tokens
        };
        self.threads.for_batch(tokens)
    }

    /// Returns the logits of an output of the batch, by its index among all entries: one number per
    /// token of the vocabulary.
    pub fn logits(&self, index: usize) -> Result<&[f32]> {
        let index = i32::try_from(index).unwrap_or(i32::MAX);
        // SAFETY: llama.cpp checks the index and returns null for a wrong one; a row is `n_vocab`
        // floats, valid until the next decode.
        let row = unsafe { sys::llama_get_logits_ith(self.raw.as_ptr(), index) };
        self.row(row, self.vocabulary)
    }

    /// Returns the pooled vector of a sequence of the last batch. `width` is the model's width, or
    /// its number of classes.
    pub fn pooled_vector(&self, sequence: usize, width: usize) -> Result<&[f32]> {
        let sequence = i32::try_from(sequence).unwrap_or(i32::MAX);
        // SAFETY: null for an unknown sequence; the length follows from the pooling, which the
        // caller knows.
        let row = unsafe { sys::llama_get_embeddings_seq(self.raw.as_ptr(), sequence) };
        self.row(row, width)
    }

    fn row(&self, row: *mut f32, width: usize) -> Result<&[f32]> {
        let row = NonNull::new(row)
            .ok_or_else(|| LlmError::Backend("a result row is missing".to_owned()))?;
        // SAFETY: llama.cpp keeps rows of this width until the next decode, which needs `&mut
        // self`.
        Ok(unsafe { std::slice::from_raw_parts(row.as_ptr(), width) })
    }

    /// Returns how the model pools a sequence into one vector.
    pub fn pooling(&self) -> Pooling {
        // SAFETY: the context is live.
        match unsafe { sys::llama_pooling_type(self.raw.as_ptr()) } {
            sys::LLAMA_POOLING_TYPE_RANK => Pooling::Rank,
            sys::LLAMA_POOLING_TYPE_NONE | sys::LLAMA_POOLING_TYPE_UNSPECIFIED => Pooling::None,
            _ => Pooling::Vector,
        }
    }

    /// Returns the evaluated tokens of a sequence in the form of this build of llama.cpp.
    pub fn sequence_state(&self, sequence: usize) -> Vec<u8> {
        let context = self.raw.as_ptr();
        // SAFETY: the context is live, and the id is below its number of sequences.
        let size = unsafe { sys::llama_state_seq_get_size(context, sequence as i32) };
        let mut state = vec![0; size];
        // SAFETY: as above; llama.cpp writes at most `size` bytes.
        let written = unsafe {
            sys::llama_state_seq_get_data(context, state.as_mut_ptr(), size, sequence as i32)
        };
        state.truncate(written);
        state
    }

    /// Fills an empty sequence with what [`Self::sequence_state`] returned. Returns false, with the
    /// sequence still empty, for a state of another model or of another build.
    pub fn restore_sequence(&mut self, sequence: usize, state: &[u8]) -> bool {
        let context = self.raw.as_ptr();
        // SAFETY: as above; llama.cpp reads at most the bytes of the slice.
        let read = unsafe {
            sys::llama_state_seq_set_data(context, state.as_ptr(), state.len(), sequence as i32)
        };
        read == state.len() && read > 0
    }

    fn memory(&self) -> sys::llama_memory_t {
        // SAFETY: the context is live; null for models without a cache, which the callers check.
        unsafe { sys::llama_get_memory(self.raw.as_ptr()) }
    }
}

/// The pooling of a sequence into one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// One vector: mean, first or last token.
    Vector,
    /// Scores of classes.
    Rank,
    /// Not at all.
    None,
}

impl Memory for Context {
    fn copy(&mut self, from: usize, to: usize, tokens: usize) {
        let memory = self.memory();
        if !memory.is_null() {
            // SAFETY: both ids are below the number of sequences of this context.
            unsafe { sys::llama_memory_seq_cp(memory, from as i32, to as i32, 0, tokens as i32) }
        }
    }

    fn truncate(&mut self, sequence: usize, tokens: usize) -> bool {
        let memory = self.memory();
        // SAFETY: as above.
        memory.is_null()
            || unsafe { sys::llama_memory_seq_rm(memory, sequence as i32, tokens as i32, -1) }
    }

    fn clear(&mut self) {
        let memory = self.memory();
        if !memory.is_null() {
            // SAFETY: as above.
            unsafe { sys::llama_memory_clear(memory, false) }
        }
    }

    fn length(&self, sequence: usize) -> usize {
        let memory = self.memory();
        if memory.is_null() {
            return 0;
        }
        // SAFETY: as above; -1 for an empty sequence.
        let last = unsafe { sys::llama_memory_seq_pos_max(memory, sequence as i32) };
        usize::try_from(last + 1).unwrap_or(0)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: created by llama_init_from_model, freed once; the model is dropped after it.
        unsafe { sys::llama_free(self.raw.as_ptr()) }
    }
}

unsafe extern "C" fn abort(stop: *mut c_void) -> bool {
    // SAFETY: the pointer is the flag of a live context.
    unsafe { &*stop.cast::<StopFlag>() }.is_set()
}

/// llama.cpp calls this before a tensor is computed (`ask`), to learn whether it is wanted, and
/// again after it, to have it read; the second call returns whether to continue.
unsafe extern "C" fn observe_tensor(
    tensor: *mut sys::ggml_tensor,
    ask: bool,
    reader: *mut c_void,
) -> bool {
    // SAFETY: the pointer is the cell of a live context, and llama.cpp calls from the thread
    // that decodes.
    let Ok(mut reader) = unsafe { &*reader.cast::<ReaderCell>() }.try_borrow_mut() else {
        return !ask;
    };
    let Some(reader) = reader.as_deref_mut() else {
        return !ask;
    };
    // SAFETY: the tensor is live and not changed during the call, and its name ends with a zero.
    let raw = unsafe { &*tensor };
    // SAFETY: as above.
    let Ok(name) = unsafe { CStr::from_ptr(raw.name.as_ptr()) }.to_str() else {
        return !ask;
    };

    if ask {
        return raw.type_ == sys::GGML_TYPE_F32 && reader.is_wanted(name);
    }
    // SAFETY: as above.
    if unsafe { sys::ggml_is_contiguous(tensor) } {
        reader.read(name, &Tensor(raw));
    }
    true
}

/// Loads a model, and returns the memory that it took. `progress` is called with numbers from 0 to
/// 1 and ends the load with false.
pub(super) fn load_model(
    _backend: &LlamaBackend,
    file: &Path,
    params: ModelParams,
    mut progress: &mut dyn FnMut(f32) -> bool,
) -> Option<(LlamaModel, Vec<Buffer>)> {
    let file = CString::new(file.to_str()?).ok()?;
    // SAFETY: returns a plain struct.
    let mut raw = unsafe { sys::llama_model_default_params() };
    // SAFETY: returns a number.
    let max_devices = unsafe { sys::llama_max_devices() };

    let mut devices: Vec<sys::ggml_backend_dev_t> = params
        .devices
        .iter()
        .take(max_devices)
        // SAFETY: an index of ggml's list, which only grows.
        .map(|index| unsafe { sys::ggml_backend_dev_get(*index) })
        .collect();
    // llama.cpp reads the list up to a null
    devices.push(std::ptr::null_mut());
    raw.devices = devices.as_mut_ptr();
    raw.n_gpu_layers = i32::try_from(params.layers).unwrap_or(i32::MAX);
    // whole layers, each with its part of the KV cache: few back ends split rows
    raw.split_mode = sys::LLAMA_SPLIT_MODE_LAYER;
    match params.part {
        ModelPart::All => {}
        ModelPart::Vocabulary => raw.vocab_only = true,
        ModelPart::Sizes => {
            raw.no_alloc = true;
            raw.load_mode = sys::LLAMA_LOAD_MODE_NONE;
        }
    }
    raw.progress_callback = Some(report_progress);
    raw.progress_callback_user_data = std::ptr::from_mut(&mut progress).cast::<c_void>();

    let (model, buffers) = log::with_buffers(|| {
        // SAFETY: the lists end as llama.cpp expects, and they, the name and the callback outlive
        // the call.
        unsafe { sys::llama_model_load_from_file(file.as_ptr(), raw) }
    });
    // SAFETY: `LlamaModel` is `repr(transparent)` over a pointer that is not null, and frees the
    // model once.
    let model = unsafe {
        std::mem::transmute::<NonNull<sys::llama_model>, LlamaModel>(NonNull::new(model)?)
    };
    Some((model, buffers))
}

/// llama.cpp calls this while it loads a model.
unsafe extern "C" fn report_progress(share: f32, progress: *mut c_void) -> bool {
    // SAFETY: the pointer is the callback of a call that has not returned, on its thread.
    let progress = unsafe { &mut *progress.cast::<&mut dyn FnMut(f32) -> bool>() };
    progress(share)
}

/// Returns the memory that a context would take, as llama.cpp plans it: nothing is read but the
/// metadata, and nothing allocated. `None` where llama.cpp refuses the model.
pub(super) fn measure(
    backend: &LlamaBackend,
    file: &Path,
    params: ModelParams,
    context: ContextParams,
) -> Option<Vec<Buffer>> {
    let params = ModelParams {
        part: ModelPart::Sizes,
        ..params
    };
    let (model, _) = load_model(backend, file, params, &mut |_| true)?;
    let context = Context::new(&Arc::new(model), context, &StopFlag::default()).ok()?;
    Some(context.buffers.clone())
}

/// Returns the pointer of a model: `LlamaModel` is `repr(transparent)` over it.
fn model_pointer(model: &LlamaModel) -> *mut sys::llama_model {
    const { assert!(size_of::<LlamaModel>() == size_of::<*mut sys::llama_model>()) };
    // SAFETY: transparent over a non-null pointer, checked in size above.
    unsafe {
        std::ptr::from_ref(model)
            .cast::<*mut sys::llama_model>()
            .read()
    }
}

/// Returns llama.cpp's name of the quantisation, such as `Q4_K - Medium`.
pub(super) fn quantisation(model: &LlamaModel) -> String {
    // SAFETY: the model is live; the name is a static string.
    unsafe {
        let name = sys::llama_ftype_name(sys::llama_model_ftype(model_pointer(model)));
        if name.is_null() {
            String::new()
        } else {
            CStr::from_ptr(name).to_string_lossy().into_owned()
        }
    }
}

/// Returns the label of a class of a sequence-classification model, if its metadata has one.
pub(super) fn class_label(model: &LlamaModel, class: u32) -> Option<String> {
    // SAFETY: the model is live; the label belongs to it; null when there is none.
    unsafe {
        let label = sys::llama_model_cls_label(model_pointer(model), class);
        (!label.is_null()).then(|| CStr::from_ptr(label).to_string_lossy().into_owned())
    }
}

#[cfg(not(unix))]
pub fn contain_crashes() {}

#[cfg(not(unix))]
pub(super) fn crash_message(_sentence: &str) {}

/// Does nothing: there are no signals.
#[cfg(not(unix))]
pub struct CrashName;

#[cfg(not(unix))]
impl CrashName {
    pub fn new(_sentence: &str, _note_file: &Path, _note: Vec<u8>) -> Self {
        Self
    }
}

/// Redirects the logs of llama.cpp and ggml to [`super::log`]; a call may pass a part of a line.
pub(super) fn redirect_log() {
    // SAFETY: the callback is a plain function without data and may be called from any thread.
    unsafe { sys::llama_log_set(Some(log), std::ptr::null_mut()) }
}

unsafe extern "C" fn log(level: sys::ggml_log_level, text: *const c_char, _data: *mut c_void) {
    if !text.is_null() {
        // SAFETY: llama.cpp passes a string that ends with a zero.
        let text = unsafe { CStr::from_ptr(text) };
        let level = match level {
            sys::GGML_LOG_LEVEL_ERROR => Level::Error,
            sys::GGML_LOG_LEVEL_WARN => Level::Warning,
            _ => Level::Remark,
        };
        super::log::write(level, &text.to_string_lossy());
    }
}

/// Returns the features of ggml's backends as llama.cpp prints them.
pub(super) fn system_info() -> String {
    // SAFETY: the string is static and ends with a zero; a later call writes the same text again.
    unsafe { CStr::from_ptr(sys::llama_print_system_info()) }
        .to_string_lossy()
        .into_owned()
}

/// Returns the names of llama.cpp's chat templates.
pub(super) fn chat_templates() -> Vec<String> {
    // SAFETY: with a null list and no room, only the count is returned.
    let count = unsafe { sys::llama_chat_builtin_templates(std::ptr::null_mut(), 0) };
    let count = usize::try_from(count).unwrap_or(0);

    let mut names: Vec<*const c_char> = vec![std::ptr::null(); count];
    // SAFETY: the list has room for all; the names are static strings.
    unsafe {
        sys::llama_chat_builtin_templates(names.as_mut_ptr(), names.len());
        names
            .into_iter()
            .filter(|name| !name.is_null())
            .map(|name| CStr::from_ptr(name).to_string_lossy().into_owned())
            .collect()
    }
}
