//! Connections to other machines, whatever they are for: certificates, time-outs, addresses, and
//! what is read of a reply.
//!
//! Nothing here connects by itself: models, downloads and databases do, where
//! the user names them.

mod address;
mod certificates;
mod client;
mod reply;

pub use address::{host, is_loopback, origin};
pub use certificates::own_roots;
pub use client::{config, header, read_body, send};
pub use reply::parse_json;
