//! Texts and vectors from numbers, for the benches of the index.
//!
//! Vectors are distributed as embeddings are: in clusters with about 32 directions inside 384 numbers, and
//! some noise.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::time::Instant;

use ragscope::config::{Config, Layers};
use ragscope::event::{ModelCard, ModelRole};
use ragscope::llm::{Embedder, LlmError, Random};

pub const WIDTH: usize = 384;
/// Fingerprint of the synthetic embedder. A change of documents or vectors needs a new one.
pub const FINGERPRINT: &str = "synthetic 2";
const DIRECTIONS: usize = 32;
const CLUSTERS: usize = 500;

/// Returns the result of some work, and its time in seconds, which is never 0.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let started = Instant::now();
    let result = work();
    (result, started.elapsed().as_secs_f64().max(1e-9))
}

pub fn print_figure(name: &str, value: f64, unit: &str) {
    println!("{name}: {value:.3} {unit}");
}

pub fn config() -> Config {
    Layers::defaults().config().expect("the defaults")
}

/// Returns words for the text of a number, distributed as those of a language are.
pub fn words(i: u64, count: usize) -> String {
    let mut random = Random::new(i);
    let words: Vec<String> = (0..count)
        .map(|_| word(20_000_f64.powf(random.unit()) as u64))
        .collect();
    words.join(" ")
}

/// Returns the word of a rank: frequent words are short.
fn word(rank: u64) -> String {
    let mut random = Random::new(rank ^ 0xabcdef);
    let length = 3 + rank.ilog2().min(6);
    (0..length)
        .map(|_| char::from(b'a' + random.below(26) as u8))
        .collect()
}

/// The space that the vectors are in.
pub struct Space {
    /// The directions of the small space, as vectors of the large one.
    directions: Vec<Vec<f32>>,
}

impl Space {
    pub fn new() -> Self {
        let directions = (0..DIRECTIONS as u64)
            .map(|i| normals(&mut Random::new(i ^ 0xd1ec), WIDTH))
            .collect();
        Self { directions }
    }

    /// Returns the unit vector of a number: its cluster's centre, a place inside the cluster, and
    /// noise.
    pub fn vector(&self, i: u64) -> Vec<f32> {
        let mut random = Random::new(i ^ 0x7ec7);
        let cluster = random.below(CLUSTERS) as u64;
        let centre = normals(&mut Random::new(cluster ^ 0xce27), DIRECTIONS);
        let inside = normals(&mut random, DIRECTIONS);

        let mut vector: Vec<f32> = normals(&mut random, WIDTH)
            .into_iter()
            .map(|noise| noise * 0.5)
            .collect();
        for ((direction, centre), inside) in self.directions.iter().zip(centre).zip(inside) {
            for (sum, number) in vector.iter_mut().zip(direction) {
                *sum += number * (centre + 0.7 * inside);
            }
        }

        let length = dot(&vector, &vector).sqrt();
        vector.into_iter().map(|number| number / length).collect()
    }
}

pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns numbers that are about normally distributed, with deviation 1.
fn normals(random: &mut Random, count: usize) -> Vec<f32> {
    (0..count)
        .map(|_| {
            let sum: f64 = (0..6).map(|_| random.unit()).sum();
            ((sum - 3.0) * std::f64::consts::SQRT_2) as f32
        })
        .collect()
}

/// An embedder that costs nothing: it reads the number of a text.
pub struct Synthetic {
    card: ModelCard,
    pub space: Space,
}

impl Synthetic {
    pub fn new() -> Self {
        let card = ModelCard {
            role: ModelRole::Embedder,
            name: "synthetic".into(),
            file: String::new(),
            file_bytes: 0,
            fingerprint: FINGERPRINT.into(),
            architecture: String::new(),
            quantisation: String::new(),
            parameters: 0,
            layers: 0,
            gpu_layers: 0,
            device: "CPU".into(),
            device_bytes: 0,
            width: WIDTH as u32,
            context_tokens: 512,
            chat_template: String::new(),
            template_fallback: String::new(),
            server: String::new(),
            practice: false,
            prefixes: ragscope::event::Prefixes::default(),
        };
        Self {
            card,
            space: Space::new(),
        }
    }
}

impl Embedder for Synthetic {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        let number =
            |text: &str| -> Option<u64> { text.split([' ', '.', ':']).nth(1)?.parse().ok() };
        Ok(texts
            .iter()
            .map(|text| self.space.vector(number(text).unwrap_or(0)))
            .collect())
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}
