//! State that the handlers of requests share.

use std::sync::Arc;

use super::agents::Agents;
use super::reply::now_s;
use crate::serve::queue::SharedEngine;

/// The served folders behind the handlers.
pub struct HttpState {
    pub engine: Arc<SharedEngine>,
    pub agents: Agents,
    /// Seconds since 1970-01-01 UTC.
    pub started_at: u64,
    /// Whether the text of an answer ends with its sources.
    pub lists_sources: bool,
}

impl HttpState {
    pub fn new(engine: Arc<SharedEngine>, lists_sources: bool) -> Self {
        Self {
            agents: Agents::new(&engine),
            engine,
            started_at: now_s(),
            lists_sources,
        }
    }
}
