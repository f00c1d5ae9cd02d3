//! Settings that are a choice among names, and those that are a name or something else.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toml::Value;

use super::value::{SettingType, named, one_of};

/// Declares choices: the enum, and the name and the doc of each variant in settings.
macro_rules! choices {
    ($(
        $(#[doc = $doc:literal])+
        $kind:ident {
            $($(#[doc = $choice_doc:literal])+ $choice:ident = $name:literal,)+
        }
    )+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind { $($(#[doc = $choice_doc])+ $choice),+ }

        named! { $kind { $($([doc = $choice_doc])+ $choice = $name,)+ } }
    )+};
}

choices! {
    /// First answers of `ragscope ask` over folders whose chunks have no vectors yet.
    FirstAnswer {
        /// Answers at a terminal from the words alone, unless the vectors are there within two
        /// seconds. In a script it waits: answers do not depend on the speed of the machine.
        Auto = "auto",
        /// Answers from the words alone, at once.
        Words = "words",
        /// Waits for the vectors.
        Vectors = "vectors",
    }
    /// Use of flash attention by the generator.
    FlashAttention {
        /// Everywhere but on the CPU for models with narrow heads, where it is slower.
        Auto = "auto",
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
    }
    /// Data type of the KV cache.
    KvCacheType {
        /// Half precision.
        F16 = "f16",
        /// Single precision: exact on the CPU with flash attention off, for twice the memory.
        F32 = "f32",
        /// Blocks of eight-bit numbers: half the memory; the values only with flash attention on.
        Q8 = "q8_0",
    }
    /// Whether it is measured which chunks of its context each sentence of an answer comes from.
    AttributionKind {
        /// Measures where it costs little: generators on the CPU that leave room for a second
        /// context.
        Auto = "auto",
        /// Always: it takes flash attention off and a second context in memory.
        On = "on",
        /// Reads it, and then leaves each source out of the prompt in turn: how much less likely
        /// does each sentence become without it? It reads the context up to k + 1 times more.
        Causal = "causal",
        /// Never.
        Off = "off",
    }
    /// Whether a thinking model thinks before it answers.
    Thinking {
        /// Answers at once: the template's switch, or an empty block of thoughts.
        Off = "off",
        /// Thinks first; the thoughts are shown, and are no part of the answer.
        On = "on",
    }
    /// Whether the index follows the folder while the program is open.
    Watch {
        /// Follows the events of the system; on network drives the folder is compared every 30
        /// seconds.
        Auto = "auto",
        /// The folder is compared every 30 seconds.
        Poll = "poll",
        /// Does not follow changes.
        Off = "off",
    }
    /// The symbols of the screen.
    Charset {
        /// ASCII in the locales C and POSIX, Unicode in others.
        Auto = "auto",
        /// Lines, bars and arrows, and documents as they are.
        Unicode = "unicode",
        /// Letters and signs of ASCII alone.
        Ascii = "ascii",
    }
    /// Ways in which pictures reach the terminal.
    Pictures {
        /// The protocol that the terminal answers to, or half blocks.
        Auto = "auto",
        /// The protocol of Kitty, Ghostty and others.
        Kitty = "kitty",
        /// The protocol of iTerm2, WezTerm, Konsole and others.
        Iterm2 = "iterm2",
        /// Sixel: foot, mlterm, xterm and others.
        Sixel = "sixel",
        /// Half blocks, which every terminal shows.
        Blocks = "blocks",
    }
    /// Lines that repeat at the top or bottom of most pages of a PDF.
    PageHeaders {
        /// Kept where they are first; page numbers are left out.
        Drop = "drop",
        /// Kept on every page.
        Keep = "keep",
    }
    /// Whether text is recognised in the pages of a PDF that are pictures.
    Ocr {
        /// Such pages are reported.
        Off = "off",
        /// Recognises with ocrmypdf, or else tesseract, where they are installed. It takes seconds
        /// per page.
        On = "on",
    }
    /// Ways to split documents into chunks.
    ChunkerKind {
        /// Splits at a fixed number of tokens, with an overlap.
        Fixed = "fixed",
        /// Splits where the meaning changes from one sentence to the next.
        Semantic = "semantic",
        /// Fixed in the index; where the model does not understand the context of a question, the
        /// documents behind the hits are re-chunked by meaning.
        Adaptive = "adaptive",
    }
    /// Whether a follow-up question is rewritten to stand alone.
    FollowUpRewrite {
        /// Uses the question as it is.
        Off = "off",
        /// Rewrites it with the generator, from the last turns of its thread.
        Generator = "generator",
    }
    /// Whether the question is rewritten before retrieval.
    RewriterKind {
        /// The question is used as it is.
        Off = "off",
        /// The generator adds keywords.
        Generator = "generator",
        /// The generator rewrites it, and chunks are graded by that too, as in ChunkRAG's paper.
        Replace = "replace",
    }
    /// Ways to retrieve chunks.
    RetrieverKind {
        /// No retrieval: answers come from the model's memory.
        Off = "off",
        /// BM25 search alone, which needs no vectors: none is computed for the index.
        Bm25 = "bm25",
        /// Vector search alone.
        Vectors = "vectors",
        /// BM25 and vector search, fused.
        Hybrid = "hybrid",
    }
    /// The linker of the chunks of a document.
    LinkerKind {
        /// No links.
        Off = "off",
        /// A generator that reads the text of the chunks.
        Tokens = "tokens",
        /// A model that reads one vector per chunk.
        Sentence = "sentence",
        /// No model: the chunks before and behind are related. A control for the two above.
        Neighbours = "neighbours",
    }
    /// Filters that drop chunks before they reach the context.
    FilterKind {
        /// Nothing is dropped.
        Off = "off",
        /// Redundancy, three grades and a dynamic threshold.
        Graded = "graded",
        /// One yes-or-no question per chunk: relevant or not.
        Binary = "binary",
    }
    /// Whether hits are reranked.
    RerankerKind {
        /// Hits keep their order.
        Off = "off",
        /// Ranks with a model (reranker.model).
        Model = "model",
    }
    /// Whether to measure how well the model understands its context.
    UnderstandingKind {
        /// Nothing is measured.
        Off = "off",
        /// Whether the answers agree when chunks are rephrased (DENSE).
        Dense = "dense",
    }
    /// The consequence when a rephrasing does not mean the same as its chunk, by the judge.
    RephrasingCheck {
        /// The judgement is shown; the rephrasing is used, as the paper has it.
        Report = "report",
        /// Rewrites it once, then leaves its chunk unmeasured.
        Enforce = "enforce",
        /// The judge is not asked.
        Off = "off",
    }
    /// Conditions under which the stages between retriever and context run.
    StageUse {
        /// Runs them in every lookup.
        Always = "always",
        /// For a sentence that stays uncertain when it is regenerated from what was retrieved.
        AsNeeded = "as_needed",
    }
    /// Whether a context that the model does not understand is repaired.
    RefinerKind {
        /// The context stays as retrieved.
        Off = "off",
        /// Rounds that drop unneeded chunks and add similar ones to those needed (DENSE-RAG).
        Dense = "dense",
    }
    /// The chunks for which a round of refinement adds similar ones.
    RefillKind {
        /// Chunks without which the answer changes.
        Necessary = "necessary",
        /// Chunks whose rephrasing leaves the answer unchanged.
        Certain = "certain",
        /// None: chunks are only dropped.
        Off = "off",
    }
    /// The measure that decides whether a sentence is uncertain and needs retrieval.
    GateKind {
        /// Nothing: uncertainty is measured and shown only.
        Off = "off",
        /// The probe, from the model's hidden states.
        Probe = "probe",
        /// The mean token entropy of the sentence.
        TokenEntropy = "token_entropy",
        /// The semantic entropy of sampled sentences.
        SemanticEntropy = "semantic_entropy",
        /// The probability of the sentence's least likely token (FLARE).
        TokenProbability = "token_probability",
        /// The entropy of its words times the attention that they get (DRAGIN).
        AttendedEntropy = "attended_entropy",
    }
    /// The rule for the first sentence of an answer that is begun without passages.
    FirstSentence {
        /// The gate, as about the others.
        Judge = "judge",
        /// Always regenerates it from passages: a model can be certain of what it made up.
        Retrieve = "retrieve",
    }
    /// The text that becomes the query of a retrieval.
    QueryKind {
        /// The question.
        Question = "question",
        /// The last accepted sentence.
        LastSentence = "last_sentence",
        /// The uncertain sentence itself.
        UncertainSentence = "uncertain_sentence",
        /// The question and everything written so far.
        FullHistory = "full_history",
        /// The uncertain words of the sentence, after its topic.
        UncertaintyAware = "uncertainty_aware",
        /// The words of the uncertain sentence that the model was certain of (FLARE).
        CertainWords = "certain_words",
        /// The words before the uncertain one that it attends to most (DRAGIN).
        AttendedWords = "attended_words",
        /// Two queries whose hits are taken in turn: the last accepted sentence and the uncertain
        /// one; for the first sentence the question, and one hit of the uncertain sentence.
        InTurn = "in_turn",
    }
    /// Whether to measure how much retrieval helped, from answers sampled with and without it.
    UtilityKind {
        /// Nothing is measured.
        Off = "off",
        /// SePer with each sample weighted by its own entailment.
        Soft = "soft",
        /// SePer over clusters of meaning.
        Hard = "hard",
    }
    /// Prompt of the answer.
    AnswerPrompt {
        /// sources; with a bundled generator quotes, and step_by_step in the demo, which it was
        /// trained for.
        Auto = "auto",
        /// Answers from the numbered sources alone, cited, in the form that the question asks for;
        /// where they do not answer it, says so.
        Sources = "sources",
        /// The sentences of the documents that fit the question best; nothing is generated.
        Quotes = "quotes",
        /// One short sentence at a time, then the answer.
        StepByStep = "step_by_step",
        /// The answer alone.
        QaShort = "qa_short",
        /// The answer alone, from the documents only; for larger models.
        QaGrounded = "qa_grounded",
    }
    /// The wording of the prompts.
    PromptSet {
        /// bundled for the bundled models, few_shot for models without a chat template, else paper.
        Auto = "auto",
        /// Uses the prompts as the papers print them, complete with scale, form and worked
        /// examples.
        Paper = "paper",
        /// Adds worked examples, for base models, which only continue a text.
        FewShot = "few_shot",
        /// Short, as the bundled models were trained on them.
        Bundled = "bundled",
    }
    /// The worked examples of the papers' prompt for answers step by step.
    WorkedExamples {
        /// Questions of all kinds.
        General = "general",
        /// Relations of two entities, and comparisons, as 2WikiMultihopQA asks.
        TwoWiki = "2wiki",
        /// Two facts in a row, and comparisons, as HotpotQA asks.
        HotpotQa = "hotpotqa",
        /// Yes or no from facts that the question does not name, as StrategyQA asks.
        StrategyQa = "strategyqa",
        /// Numbers, spans and what no document says, as IIRC asks.
        Iirc = "iirc",
    }
    /// Order of the passages in the prompt.
    PassageOrder {
        /// Best first.
        BestFirst = "best_first",
        /// Best ones first and last: models read the middle least (ChunkRAG).
        Edges = "edges",
    }
}

impl RetrieverKind {
    /// Returns whether it searches at all.
    pub fn is_on(self) -> bool {
        self != Self::Off
    }

    /// Returns whether it searches by words.
    pub fn has_words(self) -> bool {
        matches!(self, Self::Bm25 | Self::Hybrid)
    }

    /// Returns whether it needs an index with vectors; one without retrieval keeps those it has.
    pub fn has_vectors(self) -> bool {
        self != Self::Bm25
    }
}

/// Declares what a role's model setting takes: the names of models that need no file, or a file.
macro_rules! models {
    ($(
        $(#[doc = $doc:literal])+
        $model:ident or $file:literal {
            $($(#[doc = $name_doc:literal])+ $variant:ident = $name:literal,)+
        }
    )+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $model {
            $($(#[doc = $name_doc])+ $variant,)+
            /// A file: a path, or a name that is searched for.
            File(String),
        }

        impl $model {
            /// Returns the file, where there is one.
            pub fn file(&self) -> Option<&str> {
                match self {
                    $(Self::$variant => None,)+
                    Self::File(file) => Some(file),
                }
            }
        }

        impl SettingType for $model {
            fn takes() -> String {
                one_of(&[$(concat!("`", $name, "`")),+, $file])
            }

            fn from_value(value: &Value) -> Option<Self> {
                match value.as_str()? {
                    $($name => Some(Self::$variant),)+
                    // the name of a model that has another role, which no file is meant by
                    other if other.is_empty() || MODEL_NAMES.contains(&other) => None,
                    file => Some(Self::File(file.to_owned())),
                }
            }

            fn to_value(&self) -> Value {
                Value::String(match self {
                    $(Self::$variant => $name.to_owned(),)+
                    Self::File(file) => file.clone(),
                })
            }
        }
    )+

        /// The names that some role takes instead of a file.
        const MODEL_NAMES: &[&str] = &[$($($name),+),+];
    };
}

models! {
    /// Model that reranks hits.
    RerankerModel or "the name of a GGUF file" {
        /// The generator is asked about each hit.
        Generator = "generator",
        /// The embedder: by cosine similarity with the question.
        Embedder = "embedder",
    }
    /// Model that judges whether one answer entails another.
    JudgeModel or "the name of a GGUF file" {
        /// The generator is asked about each pair; a bundled one is too small, and words judge.
        Auto = "auto",
        /// The generator is asked about each pair.
        Generator = "generator",
        /// No model: an answer entails another when it holds all its content words.
        Words = "words",
    }
    /// Weights of the gate's probe.
    ProbeFile or "the name of a weights file" {
        /// The probe that was trained for the generator.
        Auto = "auto",
    }
}

/// A value, or the one that the program chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrAuto<T> {
    Auto,
    Set(T),
}

impl<T> OrAuto<T> {
    /// Returns the value, where the program's own choice is `chosen`.
    pub fn or(self, chosen: T) -> T {
        match self {
            Self::Auto => chosen,
            Self::Set(value) => value,
        }
    }
}

impl<T: SettingType + FromStr> SettingType for OrAuto<T> {
    fn takes() -> String {
        format!("`auto`, or {}", T::takes())
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if text == "auto" => Some(Self::Auto),
            // flags and the environment pass numbers as text
            Value::String(text) => text.parse().ok().map(Self::Set),
            other => T::from_value(other).map(Self::Set),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Auto => Value::String("auto".to_owned()),
            Self::Set(value) => value.to_value(),
        }
    }
}

/// Minimum similarity at which neighbouring sentences are one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MinSimilarity {
    /// A cosine similarity.
    Cosine(f32),
    /// The percentile of the similarities of a document.
    Percentile(Percentile),
}

/// A percentile, in 0..=100: `p75` as text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Percentile(f32);

impl From<f32> for MinSimilarity {
    fn from(cosine: f32) -> Self {
        Self::Cosine(cosine)
    }
}

impl From<Percentile> for String {
    fn from(percentile: Percentile) -> Self {
        format!("p{}", percentile.0)
    }
}

impl TryFrom<String> for Percentile {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = text
            .strip_prefix('p')
            .and_then(|number| number.parse().ok());
        number
            .filter(|number| (0.0..=100.0).contains(number))
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a percentile"))
    }
}

impl Percentile {
    /// Returns its number, in 0..=100.
    pub fn number(self) -> f32 {
        self.0
    }
}

impl MinSimilarity {
    /// Returns the similarity that neighbours need in a document with these similarities. Between
    /// two of them a percentile is interpolated; without any, nothing is similar enough.
    pub fn within(self, similarities: &[f32]) -> f32 {
        let percentile = match self {
            Self::Cosine(cosine) => return cosine,
            Self::Percentile(percentile) => f64::from(percentile.0) / 100.0,
        };

        let mut known: Vec<f32> = similarities
            .iter()
            .copied()
            .filter(|one| !one.is_nan())
            .collect();
        known.sort_by(f32::total_cmp);

        let Some(last) = known.len().checked_sub(1) else {
            return f32::INFINITY;
        };

        let at = percentile * last as f64;
        let below = known[at.floor() as usize];
        let above = known[at.ceil() as usize];
        below + (above - below) * at.fract() as f32
    }
}

impl SettingType for MinSimilarity {
    fn takes() -> String {
        "a number from -1 to 1, or a percentile such as `p75`".to_owned()
    }

    fn from_value(value: &Value) -> Option<Self> {
        let cosine = match value {
            Value::String(text) => {
                if let Ok(percentile) = Percentile::try_from(text.clone()) {
                    return Some(Self::Percentile(percentile));
                }
                // flags and the environment pass numbers as text
                text.parse().ok()?
            }
            other => f32::from_value(other)?,
        };

        (-1.0..=1.0)
            .contains(&cosine)
            .then_some(Self::Cosine(cosine))
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Cosine(cosine) => cosine.to_value(),
            Self::Percentile(percentile) => Value::String((*percentile).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The golden numbers are those of `numpy.percentile`.
    #[test]
    fn a_percentile_lies_between_the_similarities_of_a_document() {
        let similarities = [0.9, 0.1, f32::NAN, 0.4, 0.35, 0.62];
        let cases = [
            ("p0", 0.1),
            ("p25", 0.35),
            ("p40", 0.38),
            ("p75", 0.62),
            ("p90", 0.788),
            ("p100", 0.9),
            ("0.6", 0.6),
        ];
        for (text, expected) in cases {
            let value = Value::String(text.to_owned());
            let least = MinSimilarity::from_value(&value).expect("valid");
            let found = least.within(&similarities);
            assert!((found - expected).abs() < 1e-6, "{text}: {found}");
            let json = serde_json::to_string(&least).expect("written");
            assert_eq!(
                serde_json::from_str::<MinSimilarity>(&json).expect("read"),
                least
            );
        }
        let least = MinSimilarity::from_value(&Value::String("p10".to_owned())).expect("valid");
        assert_eq!(least.within(&[]), f32::INFINITY);
        for wrong in ["p", "p101", "p-1", "2", "x"] {
            let value = Value::String(wrong.to_owned());
            assert_eq!(MinSimilarity::from_value(&value), None, "{wrong}");
        }
    }
}
