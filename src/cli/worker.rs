//! `worker`: serves this machine's devices to other programs that spread a model over them.

use std::net::SocketAddrV4;

use serde::Serialize;

use crate::config::{Config, Paths};
use crate::event::harmless;
use crate::llm::{Device, Runtime, rpc};
use crate::story::words;

use super::failure::{Exit, Stopped};
use super::output::Output;

/// The line that `worker --json` prints before it serves.
#[derive(Debug, Serialize)]
struct Serving {
    endpoint: String,
    devices: Vec<Served>,
}

#[derive(Debug, Serialize)]
struct Served {
    name: String,
    description: String,
    memory_bytes: u64,
    free_bytes: u64,
}

/// Serves until the process ends.
pub fn run(
    listen: &str,
    config: &Config,
    paths: &Paths,
    out: &mut Output,
) -> Result<Exit, Stopped> {
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

fn announce(
    address: SocketAddrV4,
    devices: &[Device],
    out: &mut Output,
) -> Result<(), std::io::Error> {
    let serving = Serving {
        endpoint: address.to_string(),
        devices: devices
            .iter()
            .map(|device| Served {
                name: device.name.clone(),
                description: device.description.trim().to_owned(),
                memory_bytes: device.memory_bytes,
                free_bytes: device.free_bytes,
            })
            .collect(),
    };

    if out.json {
        return out.json_line(&serving);
    }

    for device in &serving.devices {
        out.text(&harmless(&format!(
            "serving {} ({}), {} free of {}\n",
            device.name,
            device.description,
            words::bytes(device.free_bytes),
            words::bytes(device.memory_bytes)
        )))?;
    }

    out.text(&format!(
        "on the other machine: generator.rpc = [\"{address}\"]; ctrl-c ends this\n"
    ))
}
