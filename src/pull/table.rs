//! The table of models to download, and which of them suit a machine.

use serde::Deserialize;

use crate::event::{MachineMemory, MemoryNeed, ModelRole, OfferedModel, Problem};

const TABLE: &str = include_str!("../../config/models.toml");

/// Tokens of context to plan with.
const PLANNED_TOKENS: u64 = 8192;
/// The embedder and the reranker each get this part of the memory.
const SHARE_OF_HELPERS: u64 = 8;

/// The embedded table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTable {
    /// The date of the table.
    pub made: String,
    model: Vec<ModelRow>,
}

/// A row, with the columns that the file explains.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRow {
    name: String,
    role: ModelRole,
    pull: String,
    file_bytes: u64,
    cache_bytes: u64,
    licence: String,
    context_tokens: u64,
    languages: String,
    note: String,
    checked: String,
}

impl ModelTable {
    /// Reads the table of this build.
    ///
    /// # Errors
    /// When the program was built with a table that is no table.
    pub fn new() -> Result<Self, Problem> {
        toml::from_str(TABLE).map_err(|error| {
            Problem::new(
                format!("the list of models in this build cannot be read ({error})"),
                "the build is damaged: install the program again",
            )
        })
    }

    /// Returns the models, each with whether it fits into the free memory; of each role the largest
    /// one that leaves room for the others is the best, and of generators one that is fast enough.
    pub fn offers(&self, memory: &MachineMemory) -> Vec<OfferedModel> {
        let memory_bytes = memory.free_bytes;
        let mut offers: Vec<OfferedModel> = self
            .model
            .iter()
            .map(|row| row.offer(memory_bytes))
            .collect();
        let Some(memory_bytes) = memory_bytes else {
            return offers;
        };

        let mut left_bytes = memory_bytes;
        for role in [
            ModelRole::Embedder,
            ModelRole::Reranker,
            ModelRole::Generator,
        ] {
            let room = match role {
                ModelRole::Generator => left_bytes,
                _ => memory_bytes / SHARE_OF_HELPERS,
            };
            let best = offers
                .iter_mut()
                .filter(|offer| offer.role == role && offer.need.roomy_bytes() <= room)
                .filter(|offer| !memory.is_slow_with(role, offer.need.file_bytes))
                .max_by_key(|offer| offer.need.file_bytes);
            if let Some(best) = best {
                best.is_best = true;
                left_bytes = left_bytes.saturating_sub(best.need.roomy_bytes());
            }
        }
        offers
    }
}

impl ModelRow {
    fn offer(&self, memory_bytes: Option<u64>) -> OfferedModel {
        let need = MemoryNeed {
            file_bytes: self.file_bytes,
            cache_bytes: self.cache_bytes * PLANNED_TOKENS.min(self.context_tokens),
        };

        OfferedModel {
            name: self.name.clone(),
            role: self.role,
            reference: self.pull.clone(),
            need,
            fits: memory_bytes.map(|memory_bytes| need.roomy_bytes() <= memory_bytes),
            is_best: false,
            licence: self.licence.clone(),
            context_tokens: self.context_tokens,
            languages: self.languages.clone(),
            note: self.note.clone(),
            checked: self.checked.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pull::reference::Reference;

    fn machine(free_bytes: Option<u64>, timely_bytes: Option<u64>) -> MachineMemory {
        MachineMemory {
            device: "CPU".to_owned(),
            free_bytes,
            timely_bytes,
        }
    }

    #[test]
    fn every_row_can_be_pulled() {
        let table = ModelTable::new().expect("the table");
        for offer in table.offers(&machine(None, None)) {
            offer.reference.parse::<Reference>().expect("a reference");
            assert!(offer.need.file_bytes > 1_000_000, "{offer:?}");
            assert!(
                !offer.licence.is_empty() && !offer.languages.is_empty(),
                "{offer:?}"
            );
        }
    }

    #[test]
    fn the_best_model_is_the_largest_that_leaves_room_and_is_fast_enough() {
        let table = ModelTable::new().expect("the table");
        let cases = [
            (
                1,
                None,
                &[
                    "LFM2.5 1.2B Instruct",
                    "BGE small English v1.5",
                    "Jina Reranker v1 tiny",
                ][..],
            ),
            (
                8,
                None,
                &[
                    "Qwen3 4B Instruct 2507",
                    "Qwen3 Embedding 0.6B",
                    "BGE Reranker v2 M3",
                ],
            ),
            (
                32,
                None,
                &[
                    "Qwen3 30B A3B Instruct 2507",
                    "Qwen3 Embedding 0.6B",
                    "BGE Reranker v2 M3",
                ],
            ),
            // two cores read nothing larger in time
            (
                32,
                Some(1_660_000_000),
                &[
                    "LFM2.5 1.2B Instruct",
                    "Qwen3 Embedding 0.6B",
                    "BGE Reranker v2 M3",
                ],
            ),
        ];
        for (gib, timely_bytes, expected) in cases {
            let best: Vec<String> = table
                .offers(&machine(Some(gib << 30), timely_bytes))
                .into_iter()
                .filter(|offer| offer.is_best)
                .map(|offer| offer.name)
                .collect();
            assert_eq!(best, expected, "{gib} GiB");
        }
    }
}
