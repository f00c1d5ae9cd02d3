//! The only file with `unsafe`: a context made straight from `llama_cpp_sys_2`, because the safe one hides the evaluation
//! and abort callbacks, and the few model calls that `llama-cpp-2` does not wrap.
#![expect(unsafe_code, reason = "llama.cpp is a C library")]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_sys_2 as sys;

use super::LlmError;
use super::cells::Memory;
use crate::config::CacheType;
use crate::event::StopFlag;

/// Contexts have a multiple of this many cells.
pub(super) const CONTEXT_STEP: u32 = 256;

/// What a context is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Logits.
    Generate,
    /// Logits, with attention that can be read.
    Attend,
    /// One vector a sequence, pooled as the model's metadata says.
    Embed,
}

/// How attention is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attention {
    /// By flash attention, where the backend has it.
    FlashIfAble,
    Flash,
    /// In the open: every weight is a number of a tensor, which can be read.
    Open,
}

/// The size of a context.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub purpose: Purpose,
    /// Cells of the cache, shared by all sequences.
    pub context_tokens: u32,
    /// Tokens of one decode.
    pub batch_tokens: u32,
    pub sequences: u32,
    pub threads: u32,
    /// Keep keys, values and their arithmetic on the GPU.
    pub offload: bool,
    pub attention: Attention,
    pub cache_type: CacheType,
}

/// Reads tensors while a graph is evaluated.
pub(super) trait Watch {
    /// Is this tensor wanted? Asked once for every node of the graph.
    fn wants(&self, name: &str) -> bool;
    /// A wanted tensor has been computed.
    fn see(&mut self, name: &str, tensor: &Tensor);
}

/// A computed tensor of single-precision numbers, alive while it is shown.
pub(super) struct Tensor<'a>(&'a sys::ggml_tensor);

impl Tensor<'_> {
    /// Sizes of its dimensions, fastest first.
    pub fn shape(&self) -> [usize; 4] {
        self.0.ne.map(|size| usize::try_from(size).unwrap_or(0))
    }

    /// Read numbers that follow each other, from the `at`th on, as far as there are any.
    pub fn read(&self, at: usize, into: &mut [f32]) {
        let all = self.shape().iter().product::<usize>();
        let count = into.len().min(all.saturating_sub(at));
        let tensor = std::ptr::from_ref(self.0);
        // SAFETY: the tensor is live, contiguous and of f32, which was checked before it was shown; the range lies inside both.
        unsafe {
            sys::ggml_backend_tensor_get(
                tensor,
                into.as_mut_ptr().cast::<c_void>(),
                at * size_of::<f32>(),
                count * size_of::<f32>(),
            )
        }
    }
}

/// What is evaluated together: tokens (or vectors in their place), each with a position and a sequence.
#[derive(Debug, Default)]
pub(super) struct Batch {
    tokens: Vec<i32>,
    vectors: Vec<f32>,
    positions: Vec<i32>,
    sequences: Vec<i32>,
    outputs: Vec<i8>,
    rows: usize,
}

impl Batch {
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.vectors.clear();
        self.positions.clear();
        self.sequences.clear();
        self.outputs.clear();
        self.rows = 0;
    }

    /// Add a token; its index in the batch comes back.
    pub fn push(&mut self, token: i32, position: usize, sequence: usize, output: bool) -> usize {
        self.tokens.push(token);
        self.place(position, sequence, output)
    }

    /// Add a vector of the model's width in place of a token. A batch holds tokens or vectors, not both.
    pub fn push_vector(
        &mut self,
        vector: &[f32],
        position: usize,
        sequence: usize,
        output: bool,
    ) -> usize {
        self.vectors.extend_from_slice(vector);
        self.place(position, sequence, output)
    }

    fn place(&mut self, position: usize, sequence: usize, output: bool) -> usize {
        self.positions
            .push(i32::try_from(position).unwrap_or(i32::MAX));
        self.sequences
            .push(i32::try_from(sequence).unwrap_or(i32::MAX));
        self.outputs.push(i8::from(output));
        self.rows += usize::from(output);
        self.positions.len() - 1
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Entries that were asked for as output so far.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// How a decode ended when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoded {
    Done,
    /// No cells for the batch; the cache is as before.
    NoRoom,
    /// The stop flag was seen; part of the batch may be in the cache.
    Aborted,
}

type Watcher = RefCell<Option<Box<dyn Watch + Send>>>;

/// A llama.cpp context with its model, its stop flag and its watcher.
pub(super) struct Context {
    raw: NonNull<sys::llama_context>,
    // the callbacks read these two through pointers: boxed so that they stay where they are
    stop: Box<StopFlag>,
    watcher: Box<Watcher>,
    model: Arc<LlamaModel>,
    counts: Vec<i32>,
    sequence_pointers: Vec<*mut i32>,
    vocabulary: usize,
    width: usize,
}

// SAFETY: a context may move between threads as long as one thread uses it at a time, which `&mut self` ensures; nothing in it
// is tied to the thread that made it.
unsafe impl Send for Context {}

fn cache_type(kind: CacheType) -> sys::ggml_type {
    match kind {
        CacheType::F16 => sys::GGML_TYPE_F16,
        CacheType::F32 => sys::GGML_TYPE_F32,
        CacheType::Q8 => sys::GGML_TYPE_Q8_0,
    }
}

impl Context {
    /// Make a context. None when llama.cpp refuses (mostly: not enough memory); the reason is in its log.
    pub fn new(model: &Arc<LlamaModel>, shape: Shape, stop: &StopFlag) -> Option<Self> {
        let stop = Box::new(stop.clone());
        let watcher: Box<Watcher> = Box::default();
        // SAFETY: returns a plain struct.
        let mut params = unsafe { sys::llama_context_default_params() };
        // llama.cpp rounds the context up itself, but only after it has limited the batch to what was asked for
        params.n_ctx = shape.context_tokens.next_multiple_of(CONTEXT_STEP);
        params.n_batch = shape.batch_tokens;
        params.n_ubatch = shape.batch_tokens;
        params.n_seq_max = shape.sequences;
        params.n_threads = i32::try_from(shape.threads).unwrap_or(1);
        params.n_threads_batch = params.n_threads;
        params.type_k = cache_type(shape.cache_type);
        // llama.cpp reads values in blocks by flash attention only
        params.type_v = match (shape.cache_type, shape.attention) {
            (CacheType::Q8, Attention::Open | Attention::FlashIfAble) => cache_type(CacheType::F16),
            (kind, _) => cache_type(kind),
        };
        params.kv_unified = true;
        params.no_perf = true;
        params.embeddings = shape.purpose == Purpose::Embed;
        params.offload_kqv = shape.offload;
        params.op_offload = shape.offload;
        params.flash_attn_type = match shape.attention {
            Attention::FlashIfAble => sys::LLAMA_FLASH_ATTN_TYPE_AUTO,
            Attention::Flash => sys::LLAMA_FLASH_ATTN_TYPE_ENABLED,
            Attention::Open => sys::LLAMA_FLASH_ATTN_TYPE_DISABLED,
        };
        params.abort_callback = Some(abort);
        params.abort_callback_data = std::ptr::from_ref::<StopFlag>(&stop)
            .cast_mut()
            .cast::<c_void>();
        params.cb_eval = Some(evaluated);
        params.cb_eval_user_data = std::ptr::from_ref::<Watcher>(&watcher)
            .cast_mut()
            .cast::<c_void>();
        // SAFETY: the model lives as long as the context (held in an Arc), and so do the two boxes behind the callbacks.
        let raw = unsafe { sys::llama_init_from_model(model_pointer(model), params) };
        Some(Self {
            raw: NonNull::new(raw)?,
            stop,
            watcher,
            model: Arc::clone(model),
            counts: Vec::new(),
            sequence_pointers: Vec::new(),
            vocabulary: usize::try_from(model.n_vocab()).unwrap_or(0),
            width: usize::try_from(model.n_embd_out()).unwrap_or(0),
        })
    }

    pub fn model(&self) -> &Arc<LlamaModel> {
        &self.model
    }

    pub fn stop_flag(&self) -> &StopFlag {
        &self.stop
    }

    /// Cells of the cache: llama.cpp rounds what was asked for.
    pub fn context_tokens(&self) -> usize {
        // SAFETY: the context is live.
        unsafe { sys::llama_n_ctx(self.raw.as_ptr()) as usize }
    }

    /// Tokens of the largest batch: no more than were asked for.
    pub fn batch_tokens(&self) -> usize {
        // SAFETY: the context is live.
        unsafe {
            sys::llama_n_batch(self.raw.as_ptr()).min(sys::llama_n_ubatch(self.raw.as_ptr()))
                as usize
        }
    }

    /// Have tensors read during the decodes that follow; hand the watcher back with [`Self::unwatch`].
    pub fn watch(&mut self, watcher: Box<dyn Watch + Send>) {
        *self.watcher.get_mut() = Some(watcher);
    }

    /// Stop reading tensors.
    pub fn unwatch(&mut self) {
        *self.watcher.get_mut() = None;
    }

    /// Evaluate a batch.
    pub fn decode(&mut self, batch: &mut Batch) -> Result<Decoded, LlmError> {
        self.counts.clear();
        self.counts.resize(batch.len(), 1);
        self.sequence_pointers.clear();
        self.sequence_pointers
            .extend(batch.sequences.iter_mut().map(std::ptr::from_mut));
        let vectors = !batch.vectors.is_empty();
        let raw = sys::llama_batch {
            n_tokens: i32::try_from(batch.len()).unwrap_or(i32::MAX),
            token: if vectors {
                std::ptr::null_mut()
            } else {
                batch.tokens.as_mut_ptr()
            },
            embd: if vectors {
                batch.vectors.as_mut_ptr()
            } else {
                std::ptr::null_mut()
            },
            pos: batch.positions.as_mut_ptr(),
            n_seq_id: self.counts.as_mut_ptr(),
            seq_id: self.sequence_pointers.as_mut_ptr(),
            logits: batch.outputs.as_mut_ptr(),
        };
        // SAFETY: every array has `n_tokens` entries (vectors: times the model's width) and outlives the call; each token has
        // one sequence id behind its pointer.
        match unsafe { sys::llama_decode(self.raw.as_ptr(), raw) } {
            0 => Ok(Decoded::Done),
            1 => Ok(Decoded::NoRoom),
            2 => Ok(Decoded::Aborted),
            code => Err(LlmError::Backend(format!(
                "decoding failed with code {code}: its log says why (`ragscope paths` prints where it is); a smaller context or fewer GPU layers may help"
            ))),
        }
    }

    /// Logits of a batch entry that was asked for as output: one number a token of the vocabulary.
    pub fn logits(&self, index: usize) -> Result<&[f32], LlmError> {
        let index = i32::try_from(index).unwrap_or(i32::MAX);
        // SAFETY: llama.cpp checks the index and gives null for a wrong one; a row is `n_vocab` floats, valid until the next decode.
        let row = unsafe { sys::llama_get_logits_ith(self.raw.as_ptr(), index) };
        self.row(row, self.vocabulary)
    }

    /// The pooled vector of a sequence of the last batch, `width` numbers: the model's own width, or its number of classes.
    pub fn pooled(&self, sequence: usize, width: usize) -> Result<&[f32], LlmError> {
        let sequence = i32::try_from(sequence).unwrap_or(i32::MAX);
        // SAFETY: null for an unknown sequence; the vector has the length that the pooling gives, which the caller knows.
        let row = unsafe { sys::llama_get_embeddings_seq(self.raw.as_ptr(), sequence) };
        self.row(row, width)
    }

    /// Width of a pooled embedding.
    pub fn width(&self) -> usize {
        self.width
    }

    fn row(&self, row: *mut f32, width: usize) -> Result<&[f32], LlmError> {
        let row = NonNull::new(row)
            .ok_or_else(|| LlmError::Backend("a result row is missing".to_owned()))?;
        // SAFETY: llama.cpp keeps rows of this width until the next decode, which needs `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(row.as_ptr(), width) })
    }

    /// How the model pools a sequence into one vector.
    pub fn pooling(&self) -> Pooling {
        // SAFETY: the context is live.
        match unsafe { sys::llama_pooling_type(self.raw.as_ptr()) } {
            sys::LLAMA_POOLING_TYPE_RANK => Pooling::Rank,
            sys::LLAMA_POOLING_TYPE_NONE | sys::LLAMA_POOLING_TYPE_UNSPECIFIED => Pooling::None,
            _ => Pooling::Vector,
        }
    }

    fn memory(&self) -> sys::llama_memory_t {
        // SAFETY: the context is live; null for models without a cache, which the callers below check.
        unsafe { sys::llama_get_memory(self.raw.as_ptr()) }
    }
}

/// How a model pools a sequence into one vector.
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

    fn cut(&mut self, sequence: usize, tokens: usize) -> bool {
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
        usize::try_from(unsafe { sys::llama_memory_seq_pos_max(memory, sequence as i32) } + 1)
            .unwrap_or(0)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by llama_init_from_model, freed once; the model is dropped after it.
        unsafe { sys::llama_free(self.raw.as_ptr()) }
    }
}

unsafe extern "C" fn abort(stop: *mut c_void) -> bool {
    // SAFETY: the pointer is the boxed flag of a live context.
    unsafe { &*stop.cast::<StopFlag>() }.is_set()
}

/// llama.cpp asks first (`ask`) whether a tensor is wanted, then shows it. True means: wanted, go on.
unsafe extern "C" fn evaluated(
    tensor: *mut sys::ggml_tensor,
    ask: bool,
    watcher: *mut c_void,
) -> bool {
    // SAFETY: the pointer is the boxed cell of a live context, and llama.cpp calls from the thread that decodes.
    let Ok(mut watcher) = unsafe { &*watcher.cast::<Watcher>() }.try_borrow_mut() else {
        return !ask;
    };
    let Some(watcher) = watcher.as_deref_mut() else {
        return !ask;
    };
    // SAFETY: the tensor is live during the call and its name ends with a zero.
    let (name, kind) = unsafe { (CStr::from_ptr((*tensor).name.as_ptr()), (*tensor).type_) };
    let Ok(name) = name.to_str() else { return !ask };
    if ask {
        return kind == sys::GGML_TYPE_F32 && watcher.wants(name);
    }
    // SAFETY: the tensor is live.
    if unsafe { sys::ggml_is_contiguous(tensor) } {
        // SAFETY: the tensor is live and not changed during the call.
        watcher.see(name, &Tensor(unsafe { &*tensor }));
    }
    true
}

/// Load a model. `progress` sees numbers from 0 to 1 and ends the load with false.
pub(super) fn load_model(
    backend: &LlamaBackend,
    file: &Path,
    params: LlamaModelParams,
    progress: &mut dyn FnMut(f32) -> bool,
) -> Option<LlamaModel> {
    let pointer: *mut (dyn FnMut(f32) -> bool + '_) = progress;
    // SAFETY: only the lifetime changes; the callback lives in `params`, which is dropped before `progress`.
    let pointer: *mut (dyn FnMut(f32) -> bool + 'static) = unsafe { std::mem::transmute(pointer) };
    // SAFETY: llama.cpp calls back on this thread while `load_from_file` runs, when nobody else holds `progress`.
    let params = params.with_progress_callback(move |share| unsafe { (*pointer)(share) });
    LlamaModel::load_from_file(backend, file, &params).ok()
}

/// `LlamaModel` is `repr(transparent)` over its pointer.
fn model_pointer(model: &LlamaModel) -> *mut sys::llama_model {
    const { assert!(size_of::<LlamaModel>() == size_of::<*mut sys::llama_model>()) };
    // SAFETY: transparent over a non-null pointer, checked in size above.
    unsafe {
        std::ptr::from_ref(model)
            .cast::<*mut sys::llama_model>()
            .read()
    }
}

/// The quantisation as llama.cpp names it, e.g. `Q4_K - Medium`.
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

/// The name of a class of a sequence-classification model, when its metadata has one.
pub(super) fn class_label(model: &LlamaModel, class: u32) -> Option<String> {
    // SAFETY: the model is live; the label belongs to it; null when there is none.
    unsafe {
        let label = sys::llama_model_cls_label(model_pointer(model), class);
        (!label.is_null()).then(|| CStr::from_ptr(label).to_string_lossy().into_owned())
    }
}

/// Send the logs of llama.cpp and ggml to `line(level, text)`; a text may be part of a line.
pub(super) fn send_log() {
    // SAFETY: the callback is a plain function without data and may be called from any thread.
    unsafe { sys::llama_log_set(Some(log), std::ptr::null_mut()) }
}

unsafe extern "C" fn log(level: sys::ggml_log_level, text: *const c_char, _data: *mut c_void) {
    if !text.is_null() {
        // SAFETY: llama.cpp passes a string that ends with a zero.
        let text = unsafe { CStr::from_ptr(text) };
        super::log::write(
            level == sys::GGML_LOG_LEVEL_ERROR || level == sys::GGML_LOG_LEVEL_WARN,
            &text.to_string_lossy(),
        );
    }
}

/// Returns the features of ggml's back ends as llama.cpp prints them.
pub(super) fn system_info() -> String {
    // SAFETY: the string is static and ends with a zero; a later call writes the same text again.
    unsafe { CStr::from_ptr(sys::llama_print_system_info()) }
        .to_string_lossy()
        .into_owned()
}

/// The names of the chat templates that llama.cpp knows.
pub(super) fn chat_templates() -> Vec<String> {
    // SAFETY: with a null list and no room only the count comes back.
    let count = unsafe { sys::llama_chat_builtin_templates(std::ptr::null_mut(), 0) };
    let mut names: Vec<*const c_char> = vec![std::ptr::null(); usize::try_from(count).unwrap_or(0)];
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
