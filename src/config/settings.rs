//! Every setting, declared once: its name, type, default, range and explanation, and what reads it
//! besides the runs. `config/default.toml` is generated from this file.

use serde::{Serialize, Serializer};
use toml::{Table, Value};

use super::choices::*;
use super::declare::{Declared, SettingReader, settings};
use super::filter::DocumentFilter;
use super::location::Location;
use super::value::SettingType;
use crate::event::{ProbeLabels, ProbeLayers, ProbeTurns};

/// Tokens of the sources that a question is answered from where no number of chunks is set: more
/// than two cores read in `answer.first_word_seconds` with a model of 1.5 billion parameters, so
/// that faster machines read more.
const SOURCES_TOKENS: u32 = 1024;

settings! {
    /// All settings.
    Config {
        /// Preset that sets the roles below: a built-in one (`ragscope guide presets`), or
        /// the name of a file in your presets folder.
        preset: String = "naive".to_owned();
        /// Seed of every random choice; the same seed gives the same answer.
        seed: u64 = 1, for ProbeJournal;
    }

    /// The model that writes answers.
    generator: GeneratorSettings {
        /// GGUF file: a path, or the name of a bundled or discovered model.
        model: String = "ragscope-reader.Q5_0.gguf".to_owned();
        /// Address of a model server, e.g. "http://127.0.0.1:8080"; empty runs the model here.
        /// llama-server is asked by its own interface, others by that of OpenAI.
        url: String = String::new();
        /// Name of the model on that server; empty takes the first that it lists.
        served_model: String = String::new();
        /// Source of the key for that server: env:NAME or file:PATH; empty for none.
        key: String = String::new();
        /// Layers on the GPU: auto (as many as fit into its free memory with their KV cache) or a
        /// number, counted from the last.
        gpu_layers: OrAuto<u32> = OrAuto::Auto;
        /// Device by name, as `ragscope doctor` prints it, or several with commas between them;
        /// auto takes the first GPU that holds the model, or else all of them, or else the CPU.
        device: String = "auto".to_owned();
        /// Workers (`ragscope worker`) that hold layers of the model, as ["host:port", ...]; empty
        /// for this machine alone.
        rpc: Vec<String> = Vec::new();
        /// CPU threads. 0 = one per physical core for prompts; for writing the number that turns
        /// out to be the fastest, measured while it writes. Set a number where runs are to repeat
        /// to the last digit.
        threads: u32 = 0, in 0..=1024;
        /// Context length in tokens; 0 = the length the model was trained for, as far as memory
        /// allows, and at most 16,384 on the CPU.
        context_tokens: u32 = 0, for ProbeJournal;
        /// Use of flash attention.
        flash_attention: FlashAttention = FlashAttention::Auto;
        /// Data type of the KV cache.
        kv_cache_type: KvCacheType = KvCacheType::F16;
        /// Chat template: auto takes the one in the GGUF file, or else chatml or none; none sends
        /// prompts as plain text, as base models expect them; otherwise a file that ends with
        /// .jinja, or the name of a template that llama.cpp knows.
        chat_template: String = "auto".to_owned(), for ProbeJournal;
        /// Whether a thinking model thinks before it answers.
        thinking: Thinking = Thinking::Off, for ProbeJournal;
        /// Maximum tokens of thoughts in front of an answer; they are cut off there.
        thinking_tokens: u32 = 1024, in 1..=1_000_000, for ProbeJournal;
        /// Sampling temperature; 0 is greedy.
        temperature: f32 = 0.0, in 0..=100, for Sampling;
    }

    /// The model that turns text into vectors.
    embedder: EmbedderSettings {
        /// GGUF file: a path, or the name of a bundled or discovered model.
        model: String = "all-MiniLM-L6-v2.Q8_0.gguf".to_owned(), for Index Ranking;
        /// The same as in [generator]. Chunks are still counted by the vocabulary of
        /// embedder.model.
        url: String = String::new(), for Index Ranking;
        /// The same as in [generator].
        served_model: String = String::new(), for Index Ranking;
        /// The same as in [generator].
        key: String = String::new();
        /// Text in front of each query: auto takes the one that the model was trained with; empty
        /// for none.
        query_prefix: String = "auto".to_owned(), for Ranking;
        /// Text in front of each document: auto takes the one that the model was trained with;
        /// empty for none.
        document_prefix: String = "auto".to_owned(), for Index Ranking;
        /// The same as in [generator], also for the reranker, the judge and the linker, where they
        /// have a file of their own; cpu leaves the memory of a GPU to the generator.
        device: String = "auto".to_owned();
        /// The same as in [generator].
        threads: u32 = 0, in 0..=1024;
    }

    /// Requests to model servers.
    server: ServerSettings {
        /// Maximum number of requests side by side.
        parallel: u32 = 4, in 1..=256;
        /// Seconds without a word of a server after which a request fails.
        timeout_seconds: u32 = 300, in 1..=86_400;
    }

    /// Selection of the files that become documents.
    corpus: CorpusSettings {
        /// Maximum file size; larger files are skipped and reported.
        max_file_bytes: u64 = 67_108_864, for Index;
        /// Read hidden files and folders.
        hidden: bool = false, for Index;
        /// Follow symbolic links (loops are detected).
        follow_symlinks: bool = false, for Index;
        /// Skip what .gitignore and .ignore files exclude.
        gitignore: bool = true, for Index;
        /// Globs of the files to read; empty reads every known format.
        include: Vec<String> = Vec::new(), for Index;
        /// Whether the index follows the folder while the screen is open.
        watch: Watch = Watch::Auto;
        /// Lines that repeat at the top or bottom of most pages of a PDF.
        page_headers: PageHeaders = PageHeaders::Drop, for Index;
        /// Whether text is recognised in the pages of a PDF that are pictures.
        ocr: Ocr = Ocr::Off, for Index;
    }

    /// Splitting of documents into chunks.
    chunker: ChunkerSettings, for Index ProbeJournal {
        /// Kind of splitter.
        kind: ChunkerKind = ChunkerKind::Fixed;
        /// Maximum tokens per chunk, by the embedder's vocabulary.
        max_tokens: u32 = 128, in 16..=65_536;
        /// fixed: tokens that a chunk shares with the one before it.
        overlap_tokens: u32 = 16, in 0..=65_536;
        /// fixed: maximum sentences per chunk; 0 = no limit.
        max_sentences: u32 = 0, in 0..=65_536;
        /// fixed: whether a chunk that would cut a paragraph may be half longer to hold it.
        keep_paragraphs: bool = true;
        /// semantic: minimum cosine similarity of neighbouring sentences in one chunk; pN is the
        /// Nth percentile of the similarities in a document: with p75 a quarter of the neighbours
        /// join, whatever the embedder.
        min_similarity: MinSimilarity = MinSimilarity::Cosine(0.6);
        /// semantic: maximum characters per chunk; 0 = no limit.
        max_characters: u32 = 0, in 0..=1_000_000;
        /// semantic: whether an English sentence that begins with a pronoun stays with the one
        /// before, which names what it means.
        keep_pronouns: bool = false;
    }

    /// The index in which the corpus is searched.
    index: IndexSettings, for Start {
        /// First answer of `ragscope ask` over folders whose chunks have no vectors yet. `ragscope
        /// index` computes them.
        first_answer: FirstAnswer = FirstAnswer::Auto;
        /// Address of a PostgreSQL database with the extension pgvector that holds the corpus,
        /// without a password: postgres://USER@HOST:5432/DATABASE; empty keeps the corpus on this
        /// machine.
        url: String = String::new();
        /// Source of the password for it: env:NAME or file:PATH; empty for none.
        key: String = String::new();
        /// Name of the corpus there, in lower-case letters, digits and underscores; folders of
        /// several machines that are indexed under one name are one corpus.
        collection: String = "ragscope".to_owned();
        /// Name of this folder's part of that corpus; empty takes the name of the folder, if no
        /// other machine or folder has it. A name that is set may be another machine's, and
        /// replaces its part.
        part: String = String::new();
    }

    /// Questions that continue a thread.
    thread: ThreadSettings {
        /// Whether a follow-up question is rewritten to stand alone.
        rewrite: FollowUpRewrite = FollowUpRewrite::Generator;
    }

    /// Rewriting of the question before retrieval.
    rewriter: RewriterSettings {
        /// Whether to rewrite the question before retrieval.
        kind: RewriterKind = RewriterKind::Off;
    }

    /// Retrieval of chunks.
    retriever: RetrieverSettings, for ProbeJournal {
        /// Kind of retrieval.
        kind: RetrieverKind = RetrieverKind::Hybrid;
        /// Retrieve for the question before anything is written: `true`; `false` retrieves only for
        /// sentences that the gate finds uncertain, and `auto` does where a probe of the generator
        /// is the gate.
        at_start: OrAuto<bool> = OrAuto::Set(true);
        /// The documents to retrieve from, such as "reports/** type:pdf after:2024-01-31", and
        /// phrases of their chunks, such as "has:sail not:storm"; empty takes all.
        filter: DocumentFilter = DocumentFilter::default();
        /// Number of chunks in the context; where it is not set and the prompt is sources, as many
        /// as 1,024 tokens hold.
        k: u32 = 3, in 1..=1000;
        /// Number of chunks taken from each list before fusion.
        pool: u32 = 50, in 1..=100_000, for Ranking;
        /// Number of fused hits that a run keeps; those beyond k are shown as dropped, and the
        /// refiner may put them into the context.
        keep: u32 = 20, in 0..=1000;
        /// Weight of the BM25 list in the fused one, in 0..=1; that of the vector list is the rest.
        bm25_weight: f32 = 0.5, in 0..=1, for Ranking;
        /// Locations that are in every context, retrieved or not, ahead of the hits and in this
        /// order: DOCUMENT,
        /// DOCUMENT:LINE or DOCUMENT:FIRST-LAST (every chunk that shares a line with them), or
        /// DOCUMENT@START-END in bytes (every chunk inside).
        pinned: Vec<Location> = Vec::new();
        /// Locations that are in no context, pinned or not.
        excluded: Vec<Location> = Vec::new();
    }

    /// Links between the chunks of a document, by attention.
    linker: LinkerSettings {
        /// Linker of the chunks of a document.
        kind: LinkerKind = LinkerKind::Off;
        /// Number of best hits that are joined with related chunks; 0 = as many as fit into the
        /// context (retriever.k).
        candidates: u32 = 0, in 0..=1000;
        /// Number of related chunks joined per hit; 0 = retriever.k.
        relatives: u32 = 0, in 0..=1000;
        /// Merge texts that share a chunk; otherwise a hit comes once with each related chunk, as
        /// the paper's algorithm 1 has it, and its evidence counts as often.
        merge: bool = true;
    }

    /// Dropping of chunks before they reach the context.
    filter: FilterSettings {
        /// Kind of filter.
        kind: FilterKind = FilterKind::Off;
        /// Number of best chunks kept when none passes; 0 leaves the context empty.
        fallback: u32 = 3, in 0..=1000;
        /// graded: share of the tokens of the graded chunks that is the context, in place of
        /// retriever.k: those above the threshold, and as many more of the best as retrieved as
        /// it takes. 0 = those above the threshold, up to retriever.k.
        share: f32 = 0.0, in 0..=1;
        /// graded: score of a chunk that answers the question by itself: where one reaches it, the
        /// context is the chunks above the threshold, and share adds none. 0 = share is always
        /// filled.
        clear_score: f32 = 0.0, in 0..=1;
    }

    /// Reranking of the remaining hits.
    reranker: RerankerSettings {
        /// Whether to rerank the hits by how well each fits the question.
        kind: RerankerKind = RerankerKind::Off;
        /// GGUF file of a sequence-classification model, or of a generator that replies with yes or
        /// no, such as Qwen3-Reranker; generator asks the generator about each hit, embedder
        /// compares vectors.
        model: RerankerModel = RerankerModel::File("ragscope-reranker.Q5_0.gguf".to_owned());
        /// The same as in [generator].
        url: String = String::new();
        /// The same as in [generator].
        served_model: String = String::new();
        /// The same as in [generator].
        key: String = String::new();
    }

    /// The judge of entailment between answers.
    judge: JudgeSettings, for ProbeJournal {
        /// GGUF file of a sequence-classification model with classes for entailment, neutral and
        /// contradiction, such as FacebookAI/roberta-large-mnli, converted by llama.cpp: `python
        /// convert_hf_to_gguf.py roberta-large-mnli --outtype q8_0` (`ragscope guide understanding`
        /// has all commands); generator asks the generator; words needs no model: an answer entails
        /// another when it holds all its content words; auto is generator, and words where the
        /// generator is a bundled one, which judges no better than chance.
        model: JudgeModel = JudgeModel::Auto;
    }

    /// Measurement of how well the model understands its context.
    understanding: UnderstandingSettings {
        /// Whether to measure how well the model understands its context.
        kind: UnderstandingKind = UnderstandingKind::Off;
        /// Whether the judge compares a rephrasing with its chunk.
        check_rephrasings: RephrasingCheck = RephrasingCheck::Report;
    }

    /// Repair of a context that is not understood.
    refiner: RefinerSettings {
        /// Whether to repair a context that is not understood, in rounds.
        kind: RefinerKind = RefinerKind::Off;
        /// Maximum number of contexts that are measured.
        max_rounds: u32 = 4, in 1..=100;
        /// Chunks for which similar candidates are added.
        refill: RefillKind = RefillKind::Necessary;
        /// Ask the model whether the context is sufficient; otherwise every context counts as
        /// sufficient.
        self_evaluate: bool = true;
        /// Replace a context that is answered with "unknown" by any that is answered otherwise, and
        /// never the other way round. DENSE alone takes an "unknown" that every rephrasing repeats
        /// for the best answer.
        prefer_answers: bool = true;
    }

    /// The decision, after each sentence, whether it is uncertain and needs retrieval.
    gate: GateSettings {
        /// Measure that decides whether a sentence is uncertain and needs retrieval.
        kind: GateKind = GateKind::Off;
        /// A sentence is uncertain above this; auto takes 0.5 for the probe and for the mean token
        /// entropy, 0.69 nats for the semantic entropy (two meanings of equal weight), and for
        /// token_probability and attended_entropy what their papers print.
        threshold: OrAuto<f32> = OrAuto::Auto, in 0..=100;
        /// Rule for the first sentence of an answer that is begun without passages.
        first_sentence: FirstSentence = FirstSentence::Judge;
        /// Weights file of the probe; auto takes the one trained for the generator.
        probe: ProbeFile = ProbeFile::Auto;
        /// Number of additional passages of that retry, ordered by the reranker; 0 = no retry.
        expand_by: u32 = 5, in 0..=1000;
    }

    /// Queries of retrieval.
    query: QuerySettings, for ProbeJournal {
        /// The text that becomes the query.
        kind: QueryKind = QueryKind::Question;
    }

    /// Training of a probe, and sampling of sentences for their semantic entropy.
    probe: ProbeSettings {
        /// Number of sentences sampled to measure a semantic entropy.
        samples: u32 = 10, in 2..=1000, for ProbeJournal;
        /// Number of questions that the generator writes about the corpus when `probe train` is
        /// given none.
        questions: u32 = 400, in 1..=1_000_000, for ProbeJournal ProbeTraining;
        /// Labels that separate the sentences that a probe is trained to keep from those that it is
        /// trained to retrieve for; auto takes a probe that was trained so.
        labels: ProbeLabels = ProbeLabels::SemanticEntropy, for ProbeJournal ProbeTraining;
        /// The sentences that a probe is trained on; auto takes a probe that was trained so.
        turns: ProbeTurns = ProbeTurns::Multi, for ProbeTraining;
        /// Layers of the generator whose hidden states are read; auto takes a probe that reads
        /// them.
        layers: ProbeLayers = ProbeLayers::All, for ProbeTraining;
    }

    /// Measurement of how much retrieval helped.
    utility: UtilitySettings {
        /// Whether to measure how much retrieval helped, from answers sampled with it and without.
        kind: UtilityKind = UtilityKind::Off;
        /// Number of answers sampled per context.
        samples: u32 = 10, in 1..=1000;
        /// Temperature of those samples.
        temperature: f32 = 1.0, in 0.01..=100;
        /// Reference answers; empty takes the answer of the run.
        references: Vec<String> = Vec::new();
        /// Measure per chunk too: each one alone, and the others without it.
        per_chunk: bool = true;
    }

    /// The answer.
    answer: AnswerSettings, for ProbeJournal {
        /// Prompt of the answer.
        prompt: AnswerPrompt = AnswerPrompt::Auto;
        /// Ask for a short answer after a reply that need not state one; an evaluation does.
        short: bool = false;
        /// Probability, with the prompt sources, from which the sources count as answering the
        /// question; below it the answer is that the documents do not say. 0 always answers.
        min_support: f32 = 0.4, in 0..=1;
        /// Seconds until the first word, with the prompt sources, in which the sources are read: as
        /// many as this machine reads in that time, and at least the best three. 0 reads all.
        first_word_seconds: f32 = 8.0, in 0..=1_000_000;
        /// Read from the question which documents are searched, and how widely: files and folders
        /// that it names, a list, a comparison, a summary. With the prompts of the papers never.
        scope: bool = true;
        /// The wording of all prompts; your own files in the prompts folder count more.
        prompt_set: PromptSet = PromptSet::Auto, for ProbeJournal;
        /// Worked examples before a question that is answered step by step with the papers' prompts
        /// (SEARAG, appendix E).
        examples: WorkedExamples = WorkedExamples::General, for ProbeJournal;
        /// Order of the chunks in the prompt.
        order: PassageOrder = PassageOrder::BestFirst;
        /// Maximum sentences of an answer.
        max_sentences: u32 = 12, in 1..=1_000_000;
        /// Maximum tokens of an answer.
        max_tokens: u32 = 256, in 1..=1_000_000;
        /// Measure which chunks each sentence of the answer attends to. On the CPU it takes some
        /// percent of the time.
        attribution: AttributionKind = AttributionKind::Auto;
    }

    /// Stages of the preset that run for a question.
    stages: StageSettings {
        /// Condition under which linker, filter, reranker, understanding and refiner run.
        when: StageUse = StageUse::Always;
        /// Seconds that a question may take; a stage that the time left does not hold, by the calls
        /// so far, is left out. The answer is always written. 0 sets no limit.
        budget_seconds: f32 = 0.0, in 0..=1_000_000;
    }

    /// The screen.
    screen: ScreenSettings, for Screen {
        /// Colours: dark, light, colour-blind, or the name of a file in your themes folder.
        theme: String = "dark".to_owned();
        /// Symbols of the screen.
        charset: Charset = Charset::Auto;
        /// Way in which the source viewer shows a page of a PDF as a picture; poppler's pdftoppm
        /// draws it.
        pictures: Pictures = Pictures::Auto;
        /// Use the mouse: click focuses, wheel scrolls. A key returns it to the terminal.
        mouse: bool = true;
    }

    /// Recording of runs.
    record: RecordSettings {
        /// Write every run to the sessions folder.
        enabled: bool = true, for Start;
        /// Age in days beyond which `ragscope clean` removes runs, evaluations, journals of probes
        /// and the passages of question files; 0 keeps all.
        max_days: u32 = 365, in 0..=36_500, for Start;
    }
}

impl Config {
    /// Returns whether something compares vectors: the retriever, or another role.
    pub fn needs_embedder(&self) -> bool {
        let reranks = self.reranker.kind != RerankerKind::Off || self.gate.kind != GateKind::Off;
        self.retriever.kind.has_vectors()
            || self.chunker.kind != ChunkerKind::Fixed
            || self.rewriter.kind != RewriterKind::Off
            || self.filter.kind == FilterKind::Graded
            || self.refiner.kind != RefinerKind::Off
            || self.query.kind == QueryKind::UncertaintyAware
            || reranks && self.reranker.model == RerankerModel::Embedder
    }

    /// Returns the number of chunks that a question is answered from by the prompt sources where
    /// none is set: an evaluation compares presets by the number that they have.
    pub fn chunks_of_sources(&self) -> u32 {
        let k = self.retriever.k;
        if self.answer.short {
            k
        } else {
            k.max(SOURCES_TOKENS / self.chunker.max_tokens.max(1))
        }
    }

    /// Reads the settings of a recorded run. What this version does not know is ignored, and what
    /// the recording lacks has its default.
    pub fn from_recording(settings: &serde_json::Value) -> Self {
        let mut config = Self::default();
        for setting in SETTINGS {
            let pointer = format!("/{}", setting.key.replace('.', "/"));
            let recorded = settings.pointer(&pointer).map(Value::try_from);
            if let Some(Ok(value)) = recorded {
                let _ = setting.set(&mut config, &value);
            }
        }
        config
    }

    /// Returns the settings as TOML: the top level, then a table per section.
    pub fn to_table(&self) -> Table {
        let mut table = Table::new();

        for setting in SETTINGS {
            let value = setting.value(self);
            match setting.section() {
                None => table.insert(setting.name().to_owned(), value),
                Some(section) => table
                    .entry(section)
                    .or_insert_with(|| Value::Table(Table::new()))
                    .as_table_mut()
                    .and_then(|table| table.insert(setting.name().to_owned(), value)),
            };
        }

        table
    }
}

impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_table().serialize(serializer)
    }
}

impl ChunkerSettings {
    /// Returns the settings that the chunks of an index depend on; the others are as by default.
    pub fn for_index(&self) -> Self {
        let defaults = Self::default();
        match self.kind {
            ChunkerKind::Semantic => Self {
                overlap_tokens: defaults.overlap_tokens,
                max_sentences: defaults.max_sentences,
                keep_paragraphs: defaults.keep_paragraphs,
                ..self.clone()
            },
            // adaptive chunking re-chunks for a question, not in the index
            ChunkerKind::Fixed | ChunkerKind::Adaptive => Self {
                kind: ChunkerKind::Fixed,
                min_similarity: defaults.min_similarity,
                max_characters: defaults.max_characters,
                keep_pronouns: defaults.keep_pronouns,
                ..self.clone()
            },
        }
    }
}

impl RetrieverSettings {
    /// Returns the number of fused hits that a run keeps: at least those of the context.
    pub fn max_hits(&self) -> usize {
        self.keep.max(self.k) as usize
    }
}

impl GeneratorSettings {
    /// Returns whether a model loaded with `other` serves these settings too: sampling settings
    /// need no new load.
    pub fn loads_like(&self, other: &Self) -> bool {
        let with = |generator: &Self| Config {
            generator: generator.clone(),
            ..Config::default()
        };
        Setting::differing(&with(self), &with(other))
            .all(|setting| setting.is_read_by(SettingReader::Sampling))
    }
}
