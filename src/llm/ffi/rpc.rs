//! The RPC back end of ggml, by which other machines hold layers.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use llama_cpp_sys_2 as sys;

use crate::llm::error::{LlmError, Result};

/// Returns the function of the RPC back end with this name.
fn rpc_function(name: &CStr) -> Result<NonNull<c_void>> {
    // SAFETY: the name ends with a zero; null where no back end has it.
    let registry = unsafe { sys::ggml_backend_reg_by_name(c"RPC".as_ptr()) };

    if registry.is_null() {
        return Err(LlmError::new(
            "this build has no RPC back end",
            "build ragscope from its repository, or take a release",
        ));
    }

    // SAFETY: the back end is live for as long as the process; null where it has no such function.
    let function = unsafe { sys::ggml_backend_reg_get_proc_address(registry, name.as_ptr()) };
    NonNull::new(function).ok_or_else(|| {
        let name = name.to_string_lossy();
        LlmError::Backend(format!("the RPC back end has no function {name}"))
    })
}

/// Connects to a worker at an address, and returns the indexes of its devices in ggml's list. ggml
/// aborts where the worker does not answer, now or later.
pub(in crate::llm) fn add_rpc_server(endpoint: &CStr) -> Result<Vec<usize>> {
    type AddServer = unsafe extern "C" fn(*const c_char) -> sys::ggml_backend_reg_t;

    let function = rpc_function(c"ggml_backend_rpc_add_server")?;
    // SAFETY: ggml-rpc.h declares the function so.
    let add = unsafe { std::mem::transmute::<*mut c_void, AddServer>(function.as_ptr()) };
    // SAFETY: the address ends with a zero and is copied; null for a worker without devices.
    let registry = unsafe { add(endpoint.as_ptr()) };
    if registry.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: a count.
    let before = unsafe { sys::ggml_backend_dev_count() };
    // SAFETY: the registry is live for as long as the process.
    unsafe { sys::ggml_backend_register(registry) };
    // SAFETY: a count.
    let after = unsafe { sys::ggml_backend_dev_count() };
    Ok((before..after).collect())
}

/// Serves devices, by their indexes in ggml's list, at an address. Returns only when the server
/// cannot listen any more.
pub(in crate::llm) fn serve_rpc(endpoint: &CStr, threads: u32, devices: &[usize]) -> Result<()> {
    type StartServer = unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        usize,
        usize,
        *mut sys::ggml_backend_dev_t,
    );

    let function = rpc_function(c"ggml_backend_rpc_start_server")?;
    // SAFETY: ggml-rpc.h declares the function so.
    let start = unsafe { std::mem::transmute::<*mut c_void, StartServer>(function.as_ptr()) };
    let mut devices: Vec<sys::ggml_backend_dev_t> = devices
        .iter()
        // SAFETY: the index is one of the list, which never shrinks.
        .map(|index| unsafe { sys::ggml_backend_dev_get(*index) })
        .collect();
    // SAFETY: the address ends with a zero, no cache is named, and the devices are as many as is
    // said.
    unsafe {
        start(
            endpoint.as_ptr(),
            std::ptr::null(),
            threads as usize,
            devices.len(),
            devices.as_mut_ptr(),
        );
    }
    Ok(())
}
