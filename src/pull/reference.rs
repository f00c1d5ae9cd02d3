//! The reference that the user gives: a repository of Hugging Face, or a model of an OCI registry.

use std::fmt;
use std::str::FromStr;

use crate::event::Problem;

/// Ollama's own registry.
const OLLAMA_REGISTRY: &str = "https://registry.ollama.ai";
const OLLAMA_OWNER: &str = "library";
const OLLAMA_TAG: &str = "latest";

/// A model to pull, as the command line names it: `ORG/NAME`, `ORG/NAME:QUANT`, `ollama:NAME` or
/// `ollama:NAME:TAG`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    HuggingFace(HubModel),
    Ollama(RegistryModel),
}

/// A repository of Hugging Face.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubModel {
    pub owner: String,
    pub name: String,
    /// A quantisation, or the name of a file of the repository.
    pub wanted: Option<String>,
}

/// A model of a registry that speaks the OCI protocol, as Ollama's does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryModel {
    /// Scheme and host.
    pub registry: String,
    pub owner: String,
    pub name: String,
    pub tag: String,
}

impl HubModel {
    /// Returns `ORG/NAME`.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

impl RegistryModel {
    /// Returns the page for people about the models of the registry.
    pub fn page(&self) -> &str {
        if self.registry == OLLAMA_REGISTRY {
            "https://ollama.com/library"
        } else {
            &self.registry
        }
    }

    /// Returns the host with its port.
    pub fn host(&self) -> &str {
        self.registry
            .split_once("://")
            .map_or(self.registry.as_str(), |(_, host)| host)
    }
}

impl FromStr for Reference {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let trimmed = text.trim();
        let parsed = match trimmed.strip_prefix("ollama:") {
            Some(model) => registry_model(model).map(Self::Ollama),
            None => {
                let model = trimmed.strip_prefix("hf:").unwrap_or(trimmed);
                hub_model(model).map(Self::HuggingFace)
            }
        };
        parsed.ok_or_else(|| {
            Problem::new(
                format!("`{text}` names no model to download"),
                "write ORG/NAME, ORG/NAME:QUANT, or ollama:NAME:TAG",
            )
        })
    }
}

fn hub_model(text: &str) -> Option<HubModel> {
    let named = text.split_once(':');
    let (repository, wanted) = named.map_or((text, None), |(front, wanted)| (front, Some(wanted)));
    let (owner, name) = repository.split_once('/')?;
    let is_valid =
        is_part(owner) && is_part(name) && wanted.is_none_or(|wanted| !wanted.is_empty());
    is_valid.then(|| HubModel {
        owner: owner.to_owned(),
        name: name.to_owned(),
        wanted: wanted.map(str::to_owned),
    })
}

/// Reads `[SCHEME://][HOST/][OWNER/]NAME[:TAG]`, as Ollama does.
fn registry_model(text: &str) -> Option<RegistryModel> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
    let mut parts: Vec<&str> = rest.split('/').collect();
    let last = parts.pop()?;
    let (name, tag) = last.split_once(':').unwrap_or((last, OLLAMA_TAG));

    let (host, owner) = match parts[..] {
        [] => (None, OLLAMA_OWNER),
        [owner] => (None, owner),
        [host, owner] => (Some(host), owner),
        _ => return None,
    };
    let registry = match host {
        Some(host) => format!("{scheme}://{host}"),
        None => OLLAMA_REGISTRY.to_owned(),
    };
    let is_host = host.is_none_or(|host| host.split(':').all(is_part));
    let is_valid = is_host
        && ["http", "https"].contains(&scheme)
        && [owner, name, tag].into_iter().all(is_part);
    is_valid.then(|| RegistryModel {
        registry,
        owner: owner.to_owned(),
        name: name.to_owned(),
        tag: tag.to_owned(),
    })
}

/// Returns whether a part of a name can be a part of an address and of a path.
fn is_part(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !part.is_empty() && part.len() <= 128 && !part.starts_with('.') && part.chars().all(is_plain)
}

impl fmt::Display for Reference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HuggingFace(model) => {
                write!(out, "{}", model.repository())?;
                match &model.wanted {
                    Some(wanted) => write!(out, ":{wanted}"),
                    None => Ok(()),
                }
            }
            Self::Ollama(model) => {
                out.write_str("ollama:")?;
                if model.registry != OLLAMA_REGISTRY {
                    write!(out, "{}/", model.registry)?;
                }
                if model.registry != OLLAMA_REGISTRY || model.owner != OLLAMA_OWNER {
                    write!(out, "{}/", model.owner)?;
                }
                write!(out, "{}:{}", model.name, model.tag)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_and_written() {
        let cases = [
            ("ggml-org/Qwen3-4B-GGUF", Some("ggml-org/Qwen3-4B-GGUF")),
            ("hf:a/b:Q8_0", Some("a/b:Q8_0")),
            (" a/b:model.gguf ", Some("a/b:model.gguf")),
            ("ollama:qwen3", Some("ollama:qwen3:latest")),
            ("ollama:qwen3:4b", Some("ollama:qwen3:4b")),
            ("ollama:me/qwen3:4b", Some("ollama:me/qwen3:4b")),
            (
                "ollama:http://127.0.0.1:99/library/tiny:1",
                Some("ollama:http://127.0.0.1:99/library/tiny:1"),
            ),
            ("Qwen3-4B", None),
            ("a/b/c", None),
            ("../b", None),
            ("a/..", None),
            ("a/b:", None),
            ("ollama:", None),
            ("ollama:../x", None),
            ("ollama:file://h/o/x", None),
            ("ollama:a/b/c/d", None),
        ];
        for (text, expected) in cases {
            let read = text.parse::<Reference>().ok();
            assert_eq!(
                read.map(|reference| reference.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
