//! `ragscope links`: links related chunks of a folder by attention, and prints the links.

use std::path::PathBuf;

use serde::Serialize;

use crate::event::{ChunkText, Link, LinkReport};
use crate::story::text::one_line;
use crate::story::words;

use super::failure::Stopped;
use super::folders::{check_folders, join_names};
use super::work::Work;

/// Maximum characters of a chunk in a line of text.
const MAX_CHARACTERS: usize = 90;

/// The links of a document as `--json` prints them, one line per document.
#[derive(Serialize)]
struct DocumentLinks<'a> {
    document: &'a str,
    chunks: Vec<ChunkLinks<'a>>,
}

#[derive(Serialize)]
struct ChunkLinks<'a> {
    chunk: u64,
    lines: [u32; 2],
    text: &'a str,
    links: &'a [Link],
}

impl Work<'_> {
    /// Updates the indexes and their links, and prints the links of one document, with `--json` of
    /// all. The document is named after the folders, by a path that is no folder.
    pub fn links(mut self, named: &[PathBuf], rebuild: bool) -> Result<(), Stopped> {
        let (folders, document) = match named {
            [folders @ .., last] if !folders.is_empty() && !last.is_dir() => {
                (folders, Some(last.to_string_lossy()))
            }
            folders => (folders, None),
        };

        check_folders(folders)?;
        self.observer.be_silent();
        self.prepare(folders)?;

        let report = self
            .run(|worker, publish| worker.link(&[], rebuild, publish))?
            .ok_or(Stopped::Interrupted)?;
        let all = self.run(|worker, _| worker.documents())?;

        let wanted: Vec<&str> = match document.as_deref() {
            Some(document) if all.iter().any(|known| known == document) => vec![document],
            Some(document) => {
                let error = format!("no document {document} in {}", join_names(folders));
                let advice = "pass its path as an answer cites it";
                return Err(Stopped::failure(error, advice));
            }
            None if self.observer.out.json => all.iter().map(String::as_str).collect(),
            None => Vec::new(),
        };

        for document in wanted {
            let links = self.worker.document_links(document)?;
            self.print_links(document, &links)?;
        }

        let out = &mut self.observer.out;
        out.print_line(&report, || summary(&report))
    }

    fn print_links(
        &mut self,
        document: &str,
        linked: &[(ChunkText, Vec<Link>)],
    ) -> Result<(), Stopped> {
        let chunks = linked.iter().map(|(chunk, links)| ChunkLinks {
            chunk: chunk.id,
            lines: chunk.lines,
            text: &chunk.text,
            links,
        });
        let of_document = DocumentLinks {
            document,
            chunks: chunks.collect(),
        };
        let text = || {
            let mut text = String::new();
            for (chunk, links) in linked {
                text.push_str(&format!("{}\n", line(chunk)));
                for link in links {
                    if let Some((other, _)) = linked.get(link.to as usize) {
                        text.push_str(&format!("  {:.2}  {}\n", link.weight, line(other)));
                    }
                }
            }
            text
        };
        self.observer.out.print_line(&of_document, text)
    }
}

fn line(chunk: &ChunkText) -> String {
    let words = one_line(&chunk.text);
    let [first, last] = chunk.lines;
    match words.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{first}-{last}: {}…", &words[..end]),
        None => format!("{first}-{last}: {words}"),
    }
}

fn summary(report: &LinkReport) -> String {
    let mut text = format!(
        "{} documents with {} chunks are linked by {} ({}): {} linked now in {}, {} already linked\n",
        report.documents,
        report.chunks,
        report.model,
        report.linker,
        report.linked,
        words::duration(report.wall_ms),
        report.known,
    );

    for file in &report.skipped {
        text.push_str(&format!("  {}: {}\n", one_line(&file.path), file.reason));
    }

    text
}
