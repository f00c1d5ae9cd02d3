//! The texts that embedders expect in front of queries and documents.
//!
//! Models for retrieval are trained with them, and recall drops without them. The table has them as
//! the model cards print them.

use crate::config::EmbedderSettings;
use crate::event::{ModelCard, Prefixes};

/// The setting that takes the prefix of the model.
const AUTO: &str = "auto";

const SEARCH: &str = "Represent this sentence for searching relevant passages: ";
const SEARCH_CHINESE: &str = "为这个句子生成表示以用于检索相关文章：";
/// Without a space behind `Query:`, as Qwen3-Embedding has it.
const INSTRUCTED: &str =
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:";
const INSTRUCTED_E5: &str =
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ";

/// Models whose names hold all of some parts, with the prefixes of queries and of documents. The
/// first that fits counts, so that the more specific names come first.
const KNOWN: &[(&[&str], &str, &str)] = &[
    (&["qwen3-embedding"], INSTRUCTED, ""),
    (
        &["embeddinggemma"],
        "task: search result | query: ",
        "title: none | text: ",
    ),
    (
        &["nomic-embed-code"],
        "Represent this query for searching relevant code: ",
        "",
    ),
    (&["nomic-embed"], "search_query: ", "search_document: "),
    (&["e5", "instruct"], INSTRUCTED_E5, ""),
    (&["e5-mistral"], INSTRUCTED_E5, ""),
    (&["e5-small"], "query: ", "passage: "),
    (&["e5-base"], "query: ", "passage: "),
    (&["e5-large"], "query: ", "passage: "),
    (&["bge-m3"], "", ""),
    (&["bge-", "-zh"], SEARCH_CHINESE, ""),
    (&["bge-", "-en"], SEARCH, ""),
    (&["mxbai-embed"], SEARCH, ""),
    (&["uae-large"], SEARCH, ""),
    (&["arctic-embed", "v2"], "query: ", ""),
    (&["arctic-embed2"], "query: ", ""),
    (&["arctic-embed"], SEARCH, ""),
    (
        &["jina-embeddings-v3"],
        "Represent the query for retrieving evidence documents: ",
        "Represent the document for retrieval: ",
    ),
    (&["jina-embeddings-v4"], "Query: ", "Passage: "),
];

/// Architectures that a single family has, with a name of that family: their files may be named
/// after anything, as Ollama's are.
const FAMILIES: &[[&str; 2]] = &[
    ["gemma-embedding", "embeddinggemma"],
    ["nomic-bert", "nomic-embed"],
    ["nomic-bert-moe", "nomic-embed"],
];

/// Returns the prefixes of a model: those of the settings, or else those that it is known to
/// expect.
pub(super) fn prefixes(card: &ModelCard, settings: &EmbedderSettings) -> Prefixes {
    prefixes_of(&[&card.name, &card.file], &card.architecture, settings)
}

/// Returns the prefixes of the model with one of these names: those of the settings, or else those
/// that it is known to expect.
pub fn prefixes_of(names: &[&str], architecture: &str, settings: &EmbedderSettings) -> Prefixes {
    let known = find(names, architecture);
    let chosen = |setting: &str, known: String| {
        if setting == AUTO {
            known
        } else {
            setting.to_owned()
        }
    };
    Prefixes {
        query: chosen(&settings.query_prefix, known.query),
        document: chosen(&settings.document_prefix, known.document),
    }
}

fn find(names: &[&str], architecture: &str) -> Prefixes {
    let by_name = |name: &str| {
        let name = normalise(name);
        KNOWN
            .iter()
            .find(|(parts, ..)| parts.iter().all(|part| name.contains(part)))
    };

    let by_family = || {
        let [_, name] = FAMILIES
            .iter()
            .find(|[family, _]| *family == architecture)?;
        by_name(name)
    };

    let known = names
        .iter()
        .find_map(|name| by_name(name))
        .or_else(by_family);
    known.map_or_else(Prefixes::default, |(_, query, document)| Prefixes {
        query: (*query).to_owned(),
        document: (*document).to_owned(),
    })
}

/// Returns a name as the table has it: `Bge Small En v1.5` is `bge-small-en-v1.5`.
fn normalise(name: &str) -> String {
    name.to_lowercase().replace([' ', '_'], "-")
}

/// Returns the fingerprint of vectors: that of the model, and with a prefix another one, since the
/// same text then has another vector.
pub(super) fn fingerprint(model: &str, prefixes: &Prefixes) -> String {
    if prefixes.document.is_empty() {
        return model.to_owned();
    }
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(model.as_bytes())
        .update(&[0])
        .update(prefixes.document.as_bytes());
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::event::ModelRole;

    fn card(name: &str, architecture: &str) -> ModelCard {
        ModelCard {
            name: name.to_owned(),
            file: "sha256-6b86b273".to_owned(),
            file_bytes: 1,
            fingerprint: "f".to_owned(),
            architecture: architecture.to_owned(),
            parameters: 1,
            layers: 1,
            device: "CPU".to_owned(),
            width: 1,
            context_tokens: 1,
            ..ModelCard::unknown(ModelRole::Embedder)
        }
    }

    #[test]
    fn prefixes_are_those_of_the_model_card() {
        let cases = [
            ("all-MiniLM-L6-v2", "bert", "", ""),
            ("Bge Small En v1.5", "bert", SEARCH, ""),
            ("bge-large-zh-v1.5", "bert", SEARCH_CHINESE, ""),
            ("bge-m3", "bert", "", ""),
            ("multilingual-e5-base", "bert", "query: ", "passage: "),
            ("Multilingual E5 Large Instruct", "bert", INSTRUCTED_E5, ""),
            ("Qwen3 Embedding 0.6B", "qwen3", INSTRUCTED, ""),
            (
                "a",
                "gemma-embedding",
                "task: search result | query: ",
                "title: none | text: ",
            ),
            ("b", "nomic-bert-moe", "search_query: ", "search_document: "),
            ("snowflake-arctic-embed-m", "bert", SEARCH, ""),
            ("Snowflake Arctic Embed L v2.0", "bert", "query: ", ""),
            ("Qwen3 4B Instruct", "qwen3", "", ""),
        ];
        let settings = Config::default().embedder;
        for (name, architecture, query, document) in cases {
            let found = prefixes(&card(name, architecture), &settings);
            assert_eq!(
                (found.query.as_str(), found.document.as_str()),
                (query, document),
                "{name}"
            );
        }
    }

    #[test]
    fn a_setting_counts_more_than_the_model() {
        let settings = EmbedderSettings {
            query_prefix: String::new(),
            document_prefix: "text: ".to_owned(),
            ..Config::default().embedder
        };
        let found = prefixes(&card("nomic-embed-text-v1.5", "nomic-bert"), &settings);
        assert_eq!(
            (found.query.as_str(), found.document.as_str()),
            ("", "text: ")
        );

        let none = Prefixes::default();
        assert_eq!(fingerprint("f", &none), "f");
        assert_ne!(fingerprint("f", &found), "f");
        let query_alone = Prefixes {
            query: "q: ".to_owned(),
            ..Prefixes::default()
        };
        assert_eq!(fingerprint("f", &query_alone), "f");
    }
}
