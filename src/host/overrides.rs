//! The settings that a front end puts on top for one request.

use clap::Args;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use crate::config::{Config, DocumentFilter, Layers, RetrieverKind};
use crate::event::Problem;

/// The documents to retrieve from.
#[derive(Debug, Clone, Default, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DocumentFlags {
    /// Retrieve from these paths only, e.g. `reports/**` (repeatable)
    #[arg(long, value_name = "GLOB", help_heading = "Documents")]
    pub only: Vec<String>,
    /// Retrieve from documents of this format or extension only, e.g. pdf (repeatable)
    #[arg(long = "type", value_name = "NAME", help_heading = "Documents")]
    pub types: Vec<String>,
    /// Retrieve from documents of this day or later, e.g. 2024-01-31 or 2024
    #[arg(long, value_name = "DATE", help_heading = "Documents")]
    pub after: Option<String>,
    /// Retrieve from documents up to this day, month or year
    #[arg(long, value_name = "DATE", help_heading = "Documents")]
    pub before: Option<String>,
}

impl DocumentFlags {
    /// Returns the terms of `retriever.filter`; `None` when there are no flags.
    fn terms(&self) -> Option<String> {
        let term = |name: &str, value: &String| format!("\"{name}:{value}\"");
        let only = self.only.iter().map(|glob| term("only", glob));
        let types = self.types.iter().map(|name| term("type", name));
        let after = self.after.iter().map(|day| term("after", day));
        let before = self.before.iter().map(|day| term("before", day));
        let terms: Vec<String> = only.chain(types).chain(after).chain(before).collect();
        (!terms.is_empty()).then(|| terms.join(" "))
    }

    /// Sets the filter of a configuration, if there are any flags.
    ///
    /// # Errors
    /// A glob or a date that is none.
    pub fn limit(&self, layers: &mut Layers) -> Result<(), Problem> {
        if let Some((key, value)) = self.setting()? {
            layers.set("flags", &key, &value)?;
        }
        Ok(())
    }

    /// Returns the flags as a `key = value` setting; `None` when there are none.
    ///
    /// # Errors
    /// As [`DocumentFlags::limit`].
    pub fn setting(&self) -> Result<Option<(String, String)>, Problem> {
        let Some(filter) = self.terms() else {
            return Ok(None);
        };
        let parsed = filter.parse::<DocumentFilter>();
        let parsed = parsed
            .map_err(|error| Problem::new(error, "see `ragscope ask --help` for examples"))?;
        let value = toml::Value::from(parsed.to_string()).to_string();
        Ok(Some(("retriever.filter".to_owned(), value)))
    }
}

/// Returns the `key = value` settings of a search for `limit` chunks, on top of `config`.
pub fn search_settings(config: &Config, limit: u32) -> Vec<(String, String)> {
    let mut settings = vec![("retriever.keep".to_owned(), limit.to_string())];
    // a preset without retrieval says nothing about a search
    if config.retriever.kind == RetrieverKind::Off {
        settings.push(("retriever.kind".to_owned(), "hybrid".to_owned()));
    }
    settings
}
