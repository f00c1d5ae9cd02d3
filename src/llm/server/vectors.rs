//! An embedder and a reranker behind a model server.

use serde::Deserialize;
use serde_json::{Value, json};

use super::card::named_card;
use super::http::{ServerClient, ServerRequest};
use super::listing::find_listed;
use crate::config::{EmbedderSettings, RerankerSettings, ServerSettings};
use crate::event::{ModelCard, ModelRole, StopFlag, logistic};
use crate::llm::embedder::unit;
use crate::llm::error::Result;
use crate::llm::prefixes;
use crate::llm::role::{Embedder, Reranker};

/// Texts in one request.
const BATCH: usize = 32;

/// An embedder behind a model server.
pub struct ServerEmbedder {
    client: ServerClient,
    model: String,
    card: ModelCard,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Vectors {
    data: Vec<Vector>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Vector {
    index: usize,
    embedding: Vec<f32>,
}

impl ServerEmbedder {
    /// Connects to the server of the settings.
    ///
    /// # Errors
    /// As [`super::connect_generator`]; also a server that gives no vectors.
    pub fn connect(
        settings: &EmbedderSettings,
        server: &ServerSettings,
        stop: &StopFlag,
    ) -> Result<Self> {
        let client = ServerClient::new(&settings.url, &settings.key, server, stop)?;
        let model = find_listed(&client, &settings.served_model)?.id;

        let mut embedder = Self {
            card: named_card(ModelRole::Embedder, &client.host(), &model),
            client,
            model,
        };

        let advice = "start it with an embedding model (llama-server: `--embeddings`), or leave embedder.url empty";
        let sample = embedder.vectors("", &["one two three"]);
        let sample = sample.map_err(|error| embedder.client.explain(error, "vectors", advice))?;
        let width = sample.first().map_or(0, Vec::len);

        embedder.card.server = format!("vectors of {width} numbers");
        embedder.card.width = u32::try_from(width).unwrap_or(0);

        embedder.card.prefixes = prefixes::prefixes(&embedder.card, settings);
        let identity = blake3::hash(format!("{} {width}", embedder.model).as_bytes());
        embedder.card.fingerprint =
            prefixes::fingerprint(identity.to_hex().as_str(), &embedder.card.prefixes);

        Ok(embedder)
    }

    /// Returns the vectors of texts, each with the prefix of its side in front.
    fn vectors(&self, prefix: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let requests: Vec<ServerRequest> = texts
            .chunks(BATCH)
            .map(|texts| {
                // an empty text has no vector
                let input = texts.iter().map(|text| match format!("{prefix}{text}") {
                    empty if empty.trim().is_empty() => " .".to_owned(),
                    text => text,
                });
                let input: Vec<String> = input.collect();
                let body = json!({"model": self.model, "input": input, "encoding_format": "float"});
                ServerRequest::post("/v1/embeddings", body)
            })
            .collect();
        let answers = self.client.all_json(requests)?;

        let mut all = Vec::with_capacity(texts.len());
        for (answer, texts) in answers.into_iter().zip(texts.chunks(BATCH)) {
            let mut found: Vectors = self.client.read(answer)?;
            found.data.sort_by_key(|vector| vector.index);
            let width = self.card.width as usize;
            let is_whole = found.data.len() == texts.len()
                && found.data.iter().all(|vector| {
                    !vector.embedding.is_empty() && (width == 0 || vector.embedding.len() == width)
                });
            if !is_whole {
                let reason = "its vectors are too few, or of another width";
                return Err(self.client.unreadable(reason));
            }
            for vector in found.data {
                all.push(unit(vector.embedding)?);
            }
        }
        Ok(all)
    }
}

impl Embedder for ServerEmbedder {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.vectors(&self.card.prefixes.document, texts)
    }

    fn embed_queries(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.vectors(&self.card.prefixes.query, texts)
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}

/// A reranker behind a model server.
pub struct ServerReranker {
    client: ServerClient,
    model: String,
    /// Whether scores are logits, as llama-server gives them.
    gives_logits: bool,
    card: ModelCard,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Scores {
    results: Vec<Score>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Score {
    index: usize,
    relevance_score: f32,
}

impl ServerReranker {
    /// Connects to the server of the settings.
    ///
    /// # Errors
    /// As [`super::connect_generator`]; also a server that does not rerank.
    pub fn connect(
        settings: &RerankerSettings,
        server: &ServerSettings,
        stop: &StopFlag,
    ) -> Result<Self> {
        let client = ServerClient::new(&settings.url, &settings.key, server, stop)?;
        let model = find_listed(&client, &settings.served_model)?.id;

        let gives_logits = client
            .json::<Value>(ServerRequest::get("/props"))
            .is_ok_and(|props| props.get("default_generation_settings").is_some());

        let mut reranker = Self {
            card: ModelCard {
                server: "relevance scores".to_owned(),
                ..named_card(ModelRole::Reranker, &client.host(), &model)
            },
            client,
            model,
            gives_logits,
        };

        let advice = "start it with a reranking model (llama-server: `--reranking`), or leave reranker.url empty";
        let sample = reranker.rerank("one", &["one", "two"]);
        sample.map_err(|error| reranker.client.explain(error, "relevance scores", advice))?;

        Ok(reranker)
    }
}

impl Reranker for ServerReranker {
    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }

        let body = json!({
            "model": self.model, "query": question, "documents": texts, "top_n": texts.len(),
        });
        let found: Scores = self.client.json(ServerRequest::post("/v1/rerank", body))?;

        let mut scores = vec![None; texts.len()];
        for score in found.results {
            if let Some(place) = scores.get_mut(score.index) {
                *place = Some(score.relevance_score);
            }
        }

        let scores: Option<Vec<f32>> = scores.into_iter().collect();
        let scores = scores.ok_or_else(|| self.client.unreadable("it lacks a score"))?;

        let is_share = |score: &f32| (0.0..=1.0).contains(score);
        if self.gives_logits || !scores.iter().all(is_share) {
            return Ok(scores.into_iter().map(logistic).collect());
        }

        Ok(scores)
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}
