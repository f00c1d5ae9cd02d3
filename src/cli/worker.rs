//! `worker`: serves this machine's devices to other programs that spread a model over them.

use std::net::SocketAddrV4;

use serde_json::json;

use crate::llm::{Device, Runtime, rpc};
use crate::story::words;

use super::call::CommandCall;
use super::failure::{Exit, Stopped};
use super::output::Output;

/// Serves until the process ends.
pub fn run(listen: &str, call: CommandCall<'_>) -> Result<Exit, Stopped> {
    let config = call.layers()?.config()?;
    let CommandCall { paths, out, .. } = call;
    let address = rpc::address(listen)?;
    let runtime = Runtime::start(&paths.log_file())?;
    let devices = rpc::served_devices(&runtime, &config.generator.device)?;

    if !address.ip().is_loopback() {
        out.warning(
            "the protocol of the workers has no authentication: everyone who reaches this address can run code here",
            Some("listen on 127.0.0.1 and forward the port with `ssh -L`, or trust everyone on this network"),
        );
    }

    announce(address, &devices, out)?;
    rpc::serve_worker(&devices, address, config.generator.threads)?;
    Ok(Exit::Failed)
}

fn announce(address: SocketAddrV4, devices: &[Device], out: &mut Output) -> Result<(), Stopped> {
    let served = |device: &Device| {
        json!({
            "name": device.name,
            "description": device.description.trim(),
            "memory_bytes": device.memory_bytes,
            "free_bytes": device.free_bytes,
        })
    };
    let line = |device: &Device| {
        let [free, all] = [device.free_bytes, device.memory_bytes].map(words::bytes);
        let about = device.description.trim();
        format!("serving {} ({about}), {free} free of {all}\n", device.name)
    };

    let served: Vec<_> = devices.iter().map(served).collect();
    let serving = json!({ "endpoint": address.to_string(), "devices": served });
    out.print_line(&serving, || {
        let lines: String = devices.iter().map(line).collect();
        format!("{lines}on the other machine: generator.rpc = [\"{address}\"]; ctrl-c ends this\n")
    })
}
