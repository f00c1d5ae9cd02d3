//! Workers: other machines whose devices hold layers of a model, by llama.cpp's RPC back end.
//!
//! llama.cpp ends the process when a worker does not answer as it should. So each worker is asked
//! first, over the same protocol, for its version and its memory.

use std::ffi::CString;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::error::{LlmError, Result};
use super::ffi;
use super::runtime::{Device, Runtime};
use super::threads::Threads;

/// The port that a worker listens on unless another one is named.
pub const WORKER_PORT: u16 = 50052;

/// The version of the protocol in llama.cpp's `ggml-rpc.h`. Another major version is refused, and
/// so is a worker with a later minor one.
const VERSION: [u8; 2] = [7, 0];

/// Commands of the protocol (`rpc_cmd` in llama.cpp's `ggml-rpc.cpp`).
const GET_DEVICE_MEMORY: u8 = 11;
const HELLO: u8 = 14;
const DEVICE_COUNT: u8 = 15;

/// Bytes of the capabilities in both greetings; zeros offer TCP alone.
const CAPABILITIES: usize = 24;
/// Devices that a worker may have.
const MAX_DEVICES: u32 = 64;

const CONNECTING: Duration = Duration::from_secs(3);
const ANSWERING: Duration = Duration::from_secs(5);

/// A worker that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcWorker {
    /// Version of the protocol: major, minor, patch.
    pub version: [u8; 3],
    pub devices: Vec<RpcDevice>,
}

/// The memory of a device of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpcDevice {
    pub memory_bytes: u64,
    pub free_bytes: u64,
}

impl RpcWorker {
    /// Asks a worker for its version and the memory of its devices.
    ///
    /// # Errors
    /// An address that is none; a worker that cannot be reached, does not answer, or speaks another
    /// version.
    pub fn ask(endpoint: &str) -> Result<Self> {
        let address = address(endpoint)?;
        let failed = |reason: String| LlmError::for_worker(endpoint, reason);
        let mut stream = TcpStream::connect_timeout(&SocketAddr::V4(address), CONNECTING)
            .map_err(|error| failed(format!("cannot be reached ({error})")))?;
        let silent = |error: io::Error| {
            failed(format!(
                "does not answer ({error}): another program uses it, or it is not a worker"
            ))
        };
        let version = greet(&mut stream).map_err(silent)?;
        let [major, minor, patch] = version;
        if major != VERSION[0] || minor > VERSION[1] {
            let [our_major, our_minor] = VERSION;
            return Err(failed(format!(
                "speaks version {major}.{minor}.{patch} of the protocol, and this program {our_major}.{our_minor}"
            )));
        }

        let devices = memory(&mut stream).map_err(silent)?;
        if devices.is_empty() {
            return Err(failed("has no device".to_owned()));
        }
        Ok(Self { version, devices })
    }

    /// Returns the free memory of all its devices.
    pub fn free_bytes(&self) -> u64 {
        self.devices.iter().map(|device| device.free_bytes).sum()
    }
}

/// Returns the address of a worker: `HOST:PORT`, IPv4 as in llama.cpp.
///
/// # Errors
/// Another form; a host that has no address.
pub fn address(endpoint: &str) -> Result<SocketAddrV4> {
    let port = endpoint
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty() && !host.contains(':'))
        .and_then(|(_, port)| port.parse::<u16>().ok());

    if port.is_none_or(|port| port == 0) {
        return Err(LlmError::new(
            format!("`{endpoint}` is not the address of a worker"),
            "write HOST:PORT with a name or an IPv4 address, e.g. 192.168.1.7:50052",
        ));
    }

    let unknown = |reason: String| LlmError::for_worker(endpoint, reason);
    let addresses = endpoint
        .to_socket_addrs()
        .map_err(|error| unknown(format!("has no address ({error})")))?;

    addresses
        .into_iter()
        .find_map(|address| match address {
            SocketAddr::V4(address) => Some(address),
            SocketAddr::V6(_) => None,
        })
        .ok_or_else(|| unknown("has no IPv4 address".to_owned()))
}

/// Exchanges greetings and returns the version of the other side.
fn greet(stream: &mut TcpStream) -> io::Result<[u8; 3]> {
    stream.set_read_timeout(Some(ANSWERING))?;
    stream.set_write_timeout(Some(ANSWERING))?;
    let answer: [u8; 4 + CAPABILITIES] = exchange(stream, HELLO, &[0; CAPABILITIES])?;
    Ok([answer[0], answer[1], answer[2]])
}

/// Returns the memory of each device.
fn memory(stream: &mut TcpStream) -> io::Result<Vec<RpcDevice>> {
    let count = u32::from_le_bytes(exchange(stream, DEVICE_COUNT, &[])?);
    (0..count.min(MAX_DEVICES))
        .map(|device| {
            let answer: [u8; 16] = exchange(stream, GET_DEVICE_MEMORY, &device.to_le_bytes())?;
            let (free, total) = answer.split_at(8);
            let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
            Ok(RpcDevice {
                free_bytes: number(free),
                memory_bytes: number(total),
            })
        })
        .collect()
}

/// Sends a command and reads its answer: both have their length in front.
fn exchange<const N: usize>(
    stream: &mut TcpStream,
    command: u8,
    request: &[u8],
) -> io::Result<[u8; N]> {
    let mut message = vec![command];
    message.extend((request.len() as u64).to_le_bytes());
    message.extend(request);
    stream.write_all(&message)?;

    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    if u64::from_le_bytes(length) != N as u64 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not an answer of the protocol",
        ));
    }
    let mut answer = [0; N];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

/// Connects llama.cpp to workers and returns their devices, those of the first worker first.
/// llama.cpp ends the process where one of them fails from here on.
pub(super) fn connect(runtime: &Runtime, endpoints: &[String]) -> Result<Vec<Device>> {
    let mut indexes = Vec::new();

    for endpoint in endpoints {
        let address = address(endpoint)?;

        let added = ffi::add_rpc_server(&c_text(address)?)?;
        if added.is_empty() {
            return Err(LlmError::for_worker(endpoint, "has no device"));
        }

        indexes.extend(added);
    }

    let devices = runtime.devices();
    Ok(indexes
        .into_iter()
        .filter_map(|index| devices.iter().find(|device| device.index == index).cloned())
        .collect())
}

/// Returns the devices that a worker serves: the one with this name; for `auto` every GPU, or else
/// the CPU.
///
/// # Errors
/// A name that no device has.
pub fn served_devices(runtime: &Runtime, name: &str) -> Result<Vec<Device>> {
    let devices = runtime.devices();
    let known: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
    let has_gpu = devices.iter().any(|device| device.is_gpu);

    let served: Vec<Device> = devices
        .into_iter()
        .filter(|device| match name {
            "auto" if has_gpu => device.is_gpu,
            "auto" => true,
            name => device.name.eq_ignore_ascii_case(name),
        })
        .collect();

    if served.is_empty() {
        return Err(LlmError::new(
            format!("no device is called `{name}`"),
            format!("use one of {}", known.join(", ")),
        ));
    }

    Ok(served)
}

/// Serves devices to other programs until the process ends. `threads` is as in the settings: 0
/// takes one per physical core.
///
/// # Errors
/// An address that cannot be listened on; a build without the RPC back end.
pub fn serve_worker(devices: &[Device], address: SocketAddrV4, threads: u32) -> Result<()> {
    let unusable = |reason: String| {
        LlmError::new(
            format!("cannot listen on {address} ({reason})"),
            "choose another port, or an address of this machine",
        )
    };

    // llama.cpp only says that it failed
    drop(TcpListener::bind(address).map_err(|error| unusable(error.to_string()))?);

    let indexes: Vec<usize> = devices.iter().map(|device| device.index).collect();
    let threads = Threads::from_setting(threads, true).for_batch(1);
    ffi::serve_rpc(&c_text(address)?, threads, &indexes)?;

    Err(unusable("llama.cpp's server ended".to_owned()))
}

fn c_text(address: SocketAddrV4) -> Result<CString> {
    CString::new(address.to_string()).map_err(|error| LlmError::Backend(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (endpoint, expected) in [
            ("127.0.0.1:50052", Some("127.0.0.1:50052")),
            ("localhost:7", Some("127.0.0.1:7")),
            ("127.0.0.1", None),
            ("127.0.0.1:0", None),
            ("127.0.0.1:70000", None),
            (":50052", None),
            ("[::1]:50052", None),
            ("::1:50052", None),
            ("", None),
        ] {
            let found = address(endpoint).ok().map(|address| address.to_string());
            assert_eq!(found.as_deref(), expected, "{endpoint}");
        }
    }

    /// Answers of a server to a greeting, and the sentences about them.
    #[test]
    fn what_is_no_worker_is_said() {
        let hello = |version: [u8; 3]| {
            let mut answer = 28_u64.to_le_bytes().to_vec();
            answer.extend(version);
            answer.extend([0; 25]);
            answer
        };
        for (answer, said) in [
            (
                b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
                "does not answer",
            ),
            (Vec::new(), "does not answer"),
            (hello([6, 0, 1]), "speaks version 6.0.1"),
            (hello([7, 1, 0]), "speaks version 7.1.0"),
            (hello([7, 0, 0]), "does not answer"),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let endpoint = listener.local_addr().expect("an address").to_string();
            let served = thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a client");
                let mut greeting = [0; 9 + CAPABILITIES];
                stream.read_exact(&mut greeting).expect("a greeting");
                stream.write_all(&answer).expect("an answer");
            });
            let error = RpcWorker::ask(&endpoint).expect_err("no worker");
            served.join().expect("served");
            let text = error.to_string();
            assert!(text.contains(said) && text.contains(&endpoint), "{text}");
        }
        let closed = {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            listener.local_addr().expect("an address").to_string()
        };
        let error = RpcWorker::ask(&closed).expect_err("nobody listens");
        assert!(error.to_string().contains("cannot be reached"), "{error}");
    }
}
