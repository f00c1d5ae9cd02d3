use std::collections::BTreeMap;

use crate::event::{DocumentLinks, Event, Fates, GradedChunk, Hit, Mark, Stage};
use crate::tui::text::{many_lines, one_line};

/// What the stages between the retriever and the context said of a lookup.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Funnel {
    /// The stages in their order: what each left, and how many it dropped.
    pub stages: Vec<Narrowed>,
    pub grades: BTreeMap<u64, GradedChunk>,
    /// The threshold of the grades, once they are known.
    pub threshold: Option<f32>,
    /// Probability of being relevant.
    pub judged: BTreeMap<u64, f32>,
    /// What a filter let nothing through and kept all the same.
    pub fell_back: Vec<Stage>,
    /// Texts that the reranker ordered.
    pub reranked: Option<usize>,
    /// Joined texts, as they came.
    pub texts: Vec<Hit>,
    /// The chunks of the documents behind the hits, with their links.
    pub links: Vec<DocumentLinks>,
    fates: Fates,
}

/// What a stage made of the texts before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Narrowed {
    pub stage: Stage,
    pub kept: usize,
    pub dropped: usize,
}

impl Funnel {
    pub(super) fn apply(&mut self, event: &Event) {
        self.fates.see(event);
        match event {
            Event::LinksRead { links, .. } => {
                let links = DocumentLinks {
                    document: one_line(&links.document),
                    ..links.clone()
                };
                self.links.retain(|known| known.document != links.document);
                self.links.push(links);
            }
            Event::ChunksLinked { linked, .. } => self
                .texts
                .extend(linked.iter().map(|text| harmless(&text.hit))),
            Event::ChunksMerged { merged, .. } => self.texts.extend(merged.iter().map(harmless)),
            Event::ChunksGraded {
                graded,
                threshold,
                fell_back,
                ..
            } => {
                self.grades
                    .extend(graded.iter().map(|graded| (graded.chunk, *graded)));
                self.threshold = Some(*threshold);
                self.fell_back.extend(fell_back.then_some(Stage::Graded));
            }
            Event::ChunksJudged {
                judged, fell_back, ..
            } => {
                self.judged.extend(
                    judged
                        .iter()
                        .map(|judged| (judged.chunk, judged.probability)),
                );
                self.fell_back.extend(fell_back.then_some(Stage::Judged));
            }
            Event::StageFinished {
                stage,
                kept,
                dropped,
                ..
            } => {
                self.stages.push(Narrowed {
                    stage: *stage,
                    kept: kept.len(),
                    dropped: dropped.len(),
                });
            }
            Event::ChunksReranked { ranked, .. } => self.reranked = Some(ranked.len()),
            _ => {}
        }
    }

    /// Did no stage say anything?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty() && self.reranked.is_none()
    }

    /// What happened to a chunk, in order.
    #[must_use]
    pub fn marks(&self, chunk: u64) -> Vec<Mark> {
        self.fates.of(chunk)
    }

    /// The links of the document that holds a chunk, and the chunk's place among them.
    #[must_use]
    pub fn links_of(&self, chunk: u64) -> Option<(&DocumentLinks, usize)> {
        self.links.iter().find_map(|document| {
            document
                .chunks
                .iter()
                .position(|linked| linked.chunk == chunk)
                .map(|place| (document, place))
        })
    }
}

fn harmless(hit: &Hit) -> Hit {
    let mut hit = hit.clone();
    // the parts are ranges of the text: what is replaced keeps its length, or the parts go
    let text = many_lines(&hit.chunk.text);
    if text.len() != hit.chunk.text.len() {
        hit.chunk
            .parts
            .iter_mut()
            .for_each(|part| part.text = [0, 0]);
    }
    hit.chunk.text = text;
    hit.chunk
        .headings
        .iter_mut()
        .for_each(|heading| *heading = one_line(heading));
    hit
}
