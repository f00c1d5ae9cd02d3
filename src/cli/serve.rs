//! `serve`: the folders over HTTP, until a signal ends the program.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};

use serde_json::json;

use crate::event::{Problem, harmless};
use crate::serve::http::{HttpOptions, HttpServer, ServerEnd, load_or_generate};

use super::args::Serve;
use super::call::CommandCall;
use super::failure::{Exit, Stopped};
use super::folders::check_folders;
use super::output::Output;

/// Serves the folders until ctrl-c.
pub fn run(serve: &Serve, call: CommandCall<'_>) -> Result<Exit, Stopped> {
    let layers = call.layers()?;
    let CommandCall { paths, out, .. } = call;
    check_folders(&serve.folders)?;
    let listener = listen(&serve.listen)?;
    let address = listener.local_addr()?;
    let token = if serve.no_token {
        None
    } else {
        Some(load_or_generate(&paths.token_file())?)
    };
    let options = HttpOptions {
        folders: serve.folders.clone(),
        token: token.clone(),
        hosts: serve.host.clone(),
        origins: serve.origin.clone(),
        lists_sources: serve.sources,
    };
    let server = HttpServer::start(listener, options, layers, paths)?;

    announce(address, token.as_deref(), serve, out)?;
    Ok(match server.run()? {
        ServerEnd::Interrupted => Exit::Interrupted,
        ServerEnd::Terminated => Exit::Signal(signal_hook::consts::SIGTERM as u8),
    })
}

fn listen(address: &str) -> Result<TcpListener, Stopped> {
    let resolved = address.to_socket_addrs().map_err(|error| {
        Stopped::usage(
            format!("{address:?} is not an address to listen on ({error})"),
            "write it as 127.0.0.1:7411",
        )
    })?;
    let resolved: Vec<SocketAddr> = resolved.collect();

    let listener = TcpListener::bind(&*resolved).map_err(|error| {
        Problem::new(
            format!("cannot listen on {address} ({error})"),
            "end the program that listens there, or choose another port with --listen",
        )
    })?;

    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Prints where the server is, and how it is used.
fn announce(
    address: SocketAddr,
    token: Option<&str>,
    serve: &Serve,
    out: &mut Output,
) -> Result<(), Stopped> {
    let is_local = address.ip().is_loopback();
    if !is_local {
        out.remark(
            "the server is open to the network, and nothing is encrypted: put a proxy with TLS in front of it",
        );
    }
    if token.is_none() {
        out.remark(if is_local {
            "without a token, every program and user of this machine may read the folders"
        } else {
            "without a token, every machine that reaches this one may read the folders"
        });
    }

    let base = match serve.host.first() {
        Some(name) => format!("http://{}:{}", harmless(name), address.port()),
        None if address.ip().is_unspecified() => format!("http://localhost:{}", address.port()),
        None => format!("http://{address}"),
    };
    if out.json {
        let announced = json!({
            "address": address.to_string(),
            "openai": format!("{base}/v1"),
            "mcp": format!("{base}/mcp"),
            "token": token,
        });
        return Ok(out.json_line(&announced)?);
    }
    out.text(&format!("OpenAI  {base}/v1\nMCP     {base}/mcp\n"))?;
    if let Some(token) = token {
        out.text(&format!("token   {token}\n"))?;
    }
    Ok(out.dim("ctrl-c ends the server\n")?)
}
