//! The resources: the documents of the corpus, and recorded runs.

use rmcp::model::{Resource, ResourceContents};

use crate::event::{Command, Problem, SessionEvent, percent_encode};
use crate::serve::queue::{self, Caller, Refusal, SharedEngine};

use super::tools;

/// Resources per page of the list.
const PAGE: usize = 500;
const SCHEME: &str = "ragscope://";

/// The address of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Address {
    /// A document, by its path in the corpus.
    Document(String),
    /// A recorded run, by its id.
    Run(String),
}

impl Address {
    fn read(uri: &str) -> Option<Self> {
        let (kind, name) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        match kind {
            "document" => Some(Self::Document(decode(name)?)),
            "run" => Some(Self::Run(decode(name)?)),
            _ => None,
        }
    }

    fn uri(&self) -> String {
        let (kind, name) = match self {
            Self::Document(path) => ("document", path),
            Self::Run(id) => ("run", id),
        };
        format!("{SCHEME}{kind}/{}", encode(name))
    }
}

/// Returns a page of resources, the documents first and then the newest runs, and the cursor of the
/// next page.
///
/// # Errors
/// A cursor of no page; what the engine fails with.
pub async fn list(
    cursor: Option<&str>,
    engine: &SharedEngine,
    caller: &Caller,
) -> Result<(Vec<Resource>, Option<String>), Refusal> {
    let from = cursor.map_or(Ok(0), str::parse::<usize>).map_err(|_| {
        Refusal::invalid(
            "the cursor is not one of this server",
            "begin the list again, without a cursor",
        )
    })?;

    let find = |event: &SessionEvent| match event {
        SessionEvent::DocumentsListed { documents } => Some(documents.clone()),
        _ => None,
    };
    let documents = engine.request_value(Command::ListDocuments, caller, find);
    let documents = documents.await?.unwrap_or_default();
    let documents = documents.into_iter().map(document_resource);
    let runs = queue::list(engine)?.into_iter().map(|run| {
        Resource::new(Address::Run(run.run.clone()).uri(), run.run)
            .with_title(run.question)
            .with_description("A recorded run: one record per line")
            .with_mime_type("application/jsonl")
    });

    let mut page: Vec<Resource> = documents.chain(runs).skip(from).take(PAGE + 1).collect();
    let has_more = page.len() > PAGE;
    page.truncate(PAGE);
    Ok((page, has_more.then(|| (from + PAGE).to_string())))
}

fn document_resource(path: String) -> Resource {
    let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
    Resource::new(Address::Document(path.clone()).uri(), name)
        .with_title(path)
        .with_description("A document of the corpus, as text")
        .with_mime_type("text/plain")
}

/// Returns the text of a resource.
///
/// # Errors
/// An address of no resource; what cannot be read.
pub async fn read(
    uri: &str,
    engine: &SharedEngine,
    caller: &Caller,
) -> Result<ResourceContents, Refusal> {
    match Address::read(uri) {
        Some(Address::Document(path)) => {
            let source = tools::source(&path, [1, 1], engine, caller).await?;
            Ok(ResourceContents::text(source.lines.join("\n"), uri))
        }
        Some(Address::Run(id)) => {
            let mut text = String::new();
            for record in queue::read(engine, &id)? {
                let line = serde_json::to_string(&record).map_err(|error| {
                    Problem::without_advice(format!("the record cannot be written ({error})"))
                })?;
                text.push_str(&line);
                text.push('\n');
            }
            Ok(ResourceContents::text(text, uri).with_mime_type("application/jsonl"))
        }
        None => Err(Refusal::missing(
            format!("{uri:?} is not a resource of this server"),
            "resources/list names the documents and runs",
        )),
    }
}

/// Escapes a path for a URI; `/` stays.
fn encode(text: &str) -> String {
    percent_encode(text, b"-._~/")
}

/// Returns the text of an escaped path; `None` where it is not UTF-8 or an escape is broken.
fn decode(uri: &str) -> Option<String> {
    let mut parts = uri.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_its_uri() {
        for name in ["notes.md", "a b/%41 ü?.txt", "../../etc/passwd", "日本.pdf"] {
            for address in [
                Address::Document(name.to_owned()),
                Address::Run(name.to_owned()),
            ] {
                let uri = address.uri();
                assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
                assert_eq!(Address::read(&uri), Some(address), "{uri}");
            }
        }
        for uri in [
            "file:///etc/passwd",
            "ragscope://document",
            "ragscope://else/a",
            "ragscope://run/%4",
            "ragscope://run/%ff",
        ] {
            assert_eq!(Address::read(uri), None, "{uri}");
        }
    }
}
