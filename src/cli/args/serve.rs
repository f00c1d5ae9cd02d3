//! The arguments of `serve`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `ragscope serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Folders of documents, served as one corpus
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
    /// Address and port to listen on; port 0 takes a free one. Anything but this machine's loopback
    /// is open to the network, without encryption
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:7411",
        help_heading = "Server"
    )]
    pub listen: String,
    /// Name by which clients reach this machine, besides its addresses and localhost (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub host: Vec<String>,
    /// Origin whose pages may send requests from a browser, e.g. http://localhost:3000 (repeatable)
    #[arg(long, value_name = "ORIGIN", help_heading = "Server")]
    pub origin: Vec<String>,
    /// Accept requests without the token: every program and user that reaches the address may read
    /// the folders
    #[arg(long, help_heading = "Server")]
    pub no_token: bool,
    /// Append the cited sources to the text of chat completions, for programs that show nothing
    /// else
    #[arg(long, help_heading = "Server")]
    pub sources: bool,
}
