//! Settings that are a choice among names, and the one that is a word or a number.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares the choices of roles: the enum, its names in settings, and the list of them.
macro_rules! choices {
    ($($(#[$doc:meta])* $kind:ident at $key:literal { $($(#[$choice_doc:meta])* $choice:ident = $name:literal),+ $(,)? })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
            pub enum $kind { $($(#[$choice_doc])* #[serde(rename = $name)] $choice),+ }
        )+

        /// The settings that are a choice among names, with those names.
        pub const CHOICES: &[(&str, &[&str])] = &[
            $(($key, &[$($name),+])),+,
            ("retriever.fusion", &["weighted", "rrf"]),
            ("probe.position", &["first_token", "last_prompt_token"]),
        ];
    };
}

choices! {
    /// Whether the generator computes attention by flash attention.
    FlashAttention at "generator.flash_attention" {
        /// Where it is able and not slower.
        Auto = "auto",
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
    }
    /// The numbers of the generator's cache of keys and values.
    CacheType at "generator.cache_type" {
        /// Half precision.
        F16 = "f16",
        /// Single precision: the same numbers however prompts are batched, for twice the memory.
        F32 = "f32",
        /// Blocks of eight-bit numbers: about half the memory of half precision.
        Q8 = "q8_0",
    }
    /// How documents are cut.
    ChunkerKind at "chunker.kind" {
        /// Recursive cuts at a fixed number of tokens with an overlap.
        Fixed = "fixed",
        /// Between sentences whose meaning differs.
        Semantic = "semantic",
        /// At a fixed number of tokens; by meaning for a question whose context is not understood.
        Adaptive = "adaptive",
    }
    /// Who rewrites the question.
    RewriterKind at "rewriter.kind" {
        /// Nobody.
        Off = "off",
        /// The generator adds keywords.
        Generator = "generator",
    }
    /// Who finds chunks.
    RetrieverKind at "retriever.kind" {
        /// Nobody: the answer comes without documents.
        Off = "off",
        /// BM25 and vectors, fused.
        Hybrid = "hybrid",
    }
    /// Who ties sentences together.
    LinkerKind at "linker.kind" {
        /// Nobody.
        Off = "off",
        /// A generator that reads the text of the chunks.
        Tokens = "tokens",
        /// A model that reads one vector a chunk.
        Sentence = "sentence",
    }
    /// Which way attention ties.
    LinkDirection at "linker.direction" {
        /// The stronger of both ways counts for both.
        Both = "both",
        /// Each chunk is tied to what it attends to: of a causal model, what comes before it.
        Back = "back",
    }
    /// How a hit is joined with its relatives.
    LinkJoin at "linker.join" {
        /// One text a relative.
        Pairs = "pairs",
        /// One text with all relatives.
        All = "all",
    }
    /// Who drops chunks.
    FilterKind at "filter.kind" {
        /// Nobody.
        Off = "off",
        /// Redundancy, three grades, dynamic threshold.
        Graded = "graded",
        /// One question a chunk: relevant or not.
        Binary = "binary",
    }
    /// Who drops chunks by their words before they are graded.
    PrefilterKind at "filter.prefilter" {
        /// Nobody.
        Off = "off",
        /// Cosine of TF-IDF vectors.
        TfIdf = "tf_idf",
    }
    /// Who orders the hits again.
    RerankerKind at "reranker.kind" {
        /// Nobody.
        Off = "off",
        /// The reranker.
        Model = "model",
    }
    /// Who measures whether the model understands its context.
    UnderstandingKind at "understanding.kind" {
        /// Nobody.
        Off = "off",
        /// Do the answers agree when chunks are said another way?
        Dense = "dense",
    }
    /// Who repairs the context.
    RefinerKind at "refiner.kind" {
        /// Nobody.
        Off = "off",
        /// Rounds of dropping what the answer does not need and adding what is like that which it does.
        Dense = "dense",
    }
    /// When a refined context is good enough.
    RefinerStop at "refiner.stop" {
        /// It is certain, and the model calls it sufficient.
        And = "and",
        /// It is certain, or the model calls it sufficient.
        Or = "or",
    }
    /// Beside which chunks new ones are added.
    RefillKind at "refiner.refill" {
        /// The necessary ones.
        Necessary = "necessary",
        /// The certain ones.
        Certain = "certain",
        /// None: chunks are only dropped.
        Off = "off",
    }
    /// Who decides that a sentence needs a lookup.
    GateKind at "gate.kind" {
        /// Nobody: uncertainty is measured and shown, nothing follows.
        Off = "off",
        /// The probe, from the model's hidden states.
        Probe = "probe",
        /// The mean entropy of the sentence's tokens.
        TokenEntropy = "token_entropy",
        /// The semantic entropy of sampled sentences.
        SemanticEntropy = "semantic_entropy",
    }
    /// Who writes the query.
    QueryKind at "query.kind" {
        /// The question is the query.
        Question = "question",
        /// The confirmed sentence before the doubted one.
        LastSentence = "last_sentence",
        /// The doubted sentence itself.
        UncertainSentence = "uncertain_sentence",
        /// The question and all that was written.
        FullHistory = "full_history",
        /// What is uncertain of the doubted sentence, behind what it is about.
        UncertaintyAware = "uncertainty_aware",
    }
    /// The passages from which doubted sentences are written again while a probe is trained.
    ProbePassages at "probe.passages" {
        /// What the retriever finds.
        Retrieved = "retrieved",
        /// The places that the questions name as evidence.
        Supporting = "supporting",
    }
    /// Who measures what a lookup was worth.
    UtilityKind at "utility.kind" {
        /// Nobody.
        Off = "off",
        /// SePer, each sample by its own entailment.
        Soft = "soft",
        /// SePer, by clusters of meaning.
        Hard = "hard",
    }
    /// What becomes of several reference answers.
    SeveralReferences at "utility.several" {
        /// The nearest counts.
        Best = "best",
        /// Their mean.
        Mean = "mean",
    }
    /// The prompt of the answer.
    AnswerPrompt at "answer.prompt" {
        /// One short sentence at a time, then the answer.
        StepByStep = "step_by_step",
        /// The answer alone.
        QaShort = "qa_short",
        /// The answer alone, from the passages and nothing else.
        QaGrounded = "qa_grounded",
    }
    /// The order of the passages in the prompt.
    PassageOrder at "answer.order" {
        /// Best first.
        BestFirst = "best_first",
        /// The best first and last, the others between them: models read the middle least.
        Edges = "edges",
    }
}

/// Layers on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuLayers {
    /// As many as fit.
    Auto,
    /// This many, counted from the last.
    Count(u32),
}

impl Serialize for GpuLayers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Count(layers) => serializer.serialize_u32(*layers),
        }
    }
}

impl<'de> Deserialize<'de> for GpuLayers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = GpuLayers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\" or a number of layers")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GpuLayers, E> {
                // flags and the environment hand numbers over as text
                match (text, text.parse()) {
                    ("auto", _) => Ok(GpuLayers::Auto),
                    (_, Ok(layers)) => Ok(GpuLayers::Count(layers)),
                    (_, Err(_)) => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_i64<E: serde::de::Error>(self, layers: i64) -> Result<GpuLayers, E> {
                u32::try_from(layers)
                    .map(GpuLayers::Count)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(layers), &self))
            }
            fn visit_u64<E: serde::de::Error>(self, layers: u64) -> Result<GpuLayers, E> {
                u32::try_from(layers)
                    .map(GpuLayers::Count)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(layers), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
