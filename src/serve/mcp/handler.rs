//! The requests of the protocol.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;

use crate::serve::queue::SharedEngine;

use super::caller::with_caller;
use super::tools::ToolName;

const INSTRUCTIONS: &str = "Answers questions over the user's documents, on their machine. `search` finds passages, `ask` writes \
    an answer with citations and says how uncertain the model is of each sentence, `read_source` reads a document.";

/// The handler of requests.
#[derive(Clone)]
pub struct McpHandler {
    engine: Arc<SharedEngine>,
}

impl McpHandler {
    pub fn new(engine: Arc<SharedEngine>) -> Self {
        Self { engine }
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(
                env!("CARGO_PKG_NAME"),
                env!("CARGO_PKG_VERSION"),
            ))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools =
            ToolName::declarations().map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    /// Calls a tool. What it fails with is a result, so that a model can read the advice.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = ToolName::find(&request.name) else {
            let error = format!("unknown tool {:?}: tools/list names them", request.name);
            return Err(ErrorData::invalid_params(error, None));
        };

        let arguments = request.arguments.unwrap_or_default();
        let called = with_caller(context, async |caller| {
            tool.call(arguments, &self.engine, caller).await
        });

        let result = match called.await {
            Ok(value) => CallToolResult::structured(value),
            Err(refusal) => CallToolResult::structured_error(json!(refusal.problem)),
        };

        Ok(result.into())
    }
}
