//! `ragscope search`: the chunks of a corpus that match a query, with the scores that ranked them.

use std::path::PathBuf;

use crate::event::{Hit, Ranked, harmless};
use crate::host::search_settings;
use crate::story::text::one_line;
use crate::story::words;

use super::failure::{Exit, Failure, Stopped};
use super::folders::check_asked;
use super::work::Work;

/// Maximum characters of a chunk in the text output.
const MAX_CHARACTERS: usize = 200;

impl Work<'_> {
    /// Updates the indexes and prints the best chunks for a query; nothing is generated.
    pub fn search(mut self, folders: &[PathBuf], query: &str, limit: u32) -> Result<Exit, Stopped> {
        if query.trim().is_empty() {
            let advice = "pass it in quotes after the folder";
            return Err(Failure::usage("the query is empty", advice).into());
        }
        check_asked(folders, query)?;
        self.observer.be_silent();
        self.prepare(folders)?;
        let settings = search_settings(&self.layers.config()?, limit);
        let mut retrieval = self.run(|worker, publish| worker.search(query, &settings, publish))?;
        retrieval.hits.truncate(limit as usize);

        let out = &mut *self.observer.out;
        if out.json {
            out.json_line(&retrieval)?;
            return Ok(Exit::Done);
        }
        if retrieval.hits.is_empty() {
            out.remark("nothing was found");
        }
        for (number, hit) in (1..).zip(&retrieval.hits) {
            out.text(&harmless(&format!(
                "{number:>2}  {}  {}\n",
                words::chunk_location(&hit.chunk),
                found_by(hit)
            )))?;
            out.dim(&format!("    {}\n", start_of(&hit.chunk.text)))?;
        }
        Ok(Exit::Done)
    }
}

/// Returns the scores of a hit with its ranks in the two lists, and what found it when only one
/// did.
fn found_by(hit: &Hit) -> String {
    let part = |name: &str, ranked: Option<Ranked>| {
        ranked.map(|ranked| format!("{name} {:.2} (#{})", ranked.score, ranked.rank))
    };
    let lists = [part("bm25", hit.bm25), part("cosine", hit.vector)];
    let only = match (hit.bm25, hit.vector) {
        (Some(_), None) => ", by its words alone",
        (None, Some(_)) => ", by its meaning alone",
        (Some(_), Some(_)) | (None, None) => "",
    };
    let lists: Vec<String> = lists.into_iter().flatten().collect();
    format!("{:.3}: {}{only}", hit.fused.score, lists.join(", "))
}

fn start_of(text: &str) -> String {
    let line = one_line(text);
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_CHARACTERS {
        return line;
    }
    let start: String = line.chars().take(MAX_CHARACTERS).collect();
    format!("{}…", start.trim_end())
}
