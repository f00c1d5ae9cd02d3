//! The run so far.

use std::collections::BTreeMap;

use unicode_segmentation::UnicodeSegmentation;

use crate::config::{Config, DocumentFilter, Location, LocationPart, Setting};
use crate::event::{
    AnswerSamples, Citation, CorpusCard, GateCard, Hit, LeftOut, ModelCard, ModelRole,
    NearestSentence, Numbering, Outcome, Part, QuestionKind, RunUsage, Scope, Support, Turn,
    UncertainWord, Uncertainty, Utility, Verdict,
};
use crate::story::lookup::Lookup;
use crate::story::progress::TextProgress;
use crate::story::question::{FollowUp, Rewritten};
use crate::story::refinement::Refinement;
use crate::story::step::{Certainty, Origin, Step, Token};
use crate::story::text::one_line;
use crate::story::words;

use super::call::{Call, DecodingClock};
use super::stage::RunStage;

/// Openings of questions that no name, number or date answers.
#[rustfmt::skip]
const PROSE: [&str; 14] = [
    "why", "explain", "describe", "outline", "summarise", "summarize", "list", "compare", "show",
    "make", "write", "give an overview", "what is a", "what is an",
];
/// Words behind "how" in a question for a number.
const MEASURES: [&str; 16] = [
    "many", "much", "long", "old", "far", "often", "big", "large", "tall", "high", "deep", "wide",
    "heavy", "fast", "late", "early",
];

/// One question and everything that happened to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    pub id: String,
    pub question: String,
    pub preset: String,
    /// The effective settings.
    pub settings: Config,
    pub models: Vec<ModelCard>,
    pub corpus: Option<CorpusCard>,
    pub seed: u64,
    pub started_at: u64,
    /// The first run of its thread, where that is another one.
    pub thread: Option<String>,
    /// The question as a rewriting by the turns of its thread made it stand alone.
    pub follow_up: Option<FollowUp>,
    /// The question as keywords, where a rewriter is on.
    pub rewritten: Option<Rewritten>,
    pub lookups: Vec<Lookup>,
    pub refinement: Refinement,
    pub calls: Vec<Call>,
    /// The stages so far, in their order.
    pub stages: Vec<RunStage>,
    pub steps: Vec<Step>,
    /// The gate that decides about each sentence, where one is on.
    pub gate: Option<GateCard>,
    /// The documents that the question is about, and how widely they are searched.
    pub scope: Scope,
    /// The support of the answer by the sources, where that was measured.
    pub support: Option<Support>,
    /// The sentence of each source that is nearest to the question.
    pub nearest: Vec<NearestSentence>,
    /// Whether the answer can be trusted, once it is written.
    pub verdict: Option<Verdict>,
    pub outcome: Option<Outcome>,
    /// The whole answer and its short form, once the run is over.
    pub text: String,
    pub answer: String,
    pub citations: Vec<Citation>,
    pub usage: RunUsage,
    /// The utility of the context, each time that it was measured.
    pub utilities: Vec<Utility>,
    /// The measurement that is in progress, or was stopped, as far as it went.
    pub unfinished_utility: Option<Utility>,
    /// The agreement of answers sampled from the prompt of the answer, where that was measured.
    pub sampled: Option<AnswerSamples>,
    /// The texts that the present calls have begun to write.
    pub(super) begun: Option<TextProgress>,
    /// The chunks whose wording is measured, where that is done in parts.
    pub(super) measuring: Option<TextProgress>,
    /// The tokens of the prompt of the present call that are read.
    pub(super) reading: Option<TextProgress>,
    pub(super) decoding: DecodingClock,
    pub(super) numbering: Numbering,
    /// True when the record has the numbers of the run in its texts.
    pub(super) is_numbered: bool,
}

impl Run {
    /// Creates a run of which nothing is known yet.
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }

    /// Returns whether the attention of its sentences to the chunks was read.
    pub fn reads_attention(&self) -> bool {
        self.steps.iter().any(|step| !step.attended.is_empty())
    }

    /// Returns whether chunks were left out of the prompt of its sentences.
    pub fn is_ablated(&self) -> bool {
        self.steps.iter().any(|step| !step.ablated.is_empty())
    }

    /// Returns whether the run searched a folder without any chunk.
    pub fn lacks_documents(&self) -> bool {
        let corpus = self.corpus.as_ref();
        corpus.is_some_and(|corpus| corpus.chunks == 0) && !self.lookups.is_empty()
    }

    /// Returns whether the run searched and found nothing, as a filter let no document through.
    pub fn has_empty_filter(&self) -> bool {
        let lets_none = |lookup: &Lookup| {
            let retrieval = lookup.retrieval.as_ref();
            let filtered = retrieval.and_then(|retrieval| retrieval.filter.as_ref());
            lookup.hits().is_empty() && filtered.is_some_and(|limit| limit.documents == 0)
        };
        !self.lookups.is_empty() && self.lookups.iter().all(lets_none)
    }

    /// Returns the id of its thread.
    pub fn thread(&self) -> &str {
        self.thread.as_deref().unwrap_or(&self.id)
    }

    /// Returns the question as the run worked with it: a follow-up as it was rewritten, where that
    /// is used.
    pub fn standalone(&self) -> &str {
        let used = self.follow_up.as_ref().filter(|one| one.as_asked.is_none());
        used.map_or(&self.question, |one| &one.text)
    }

    /// Returns the short answer to a question for a name, a number or a date, where it is not the
    /// whole text, nor all of it but the source behind it that says otherwise.
    pub fn short_answer(&self) -> Option<&str> {
        let text = one_line(self.text.trim());
        let rest = text.strip_prefix(&self.answer);
        let is_mark = |c: char| c.is_ascii_digit() || "[], .".contains(c);
        let rest = rest.map(|rest| rest.trim_start_matches(is_mark));
        let is_whole = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('≠'));
        let is_shorter = !self.answer.is_empty() && !is_whole;
        (is_shorter && !asks_for_prose(&self.question)).then_some(&self.answer)
    }

    /// Returns the run as a turn of its thread.
    pub fn turn(&self) -> Turn {
        let answer = if self.answer.is_empty() {
            self.text.trim()
        } else {
            &self.answer
        };
        Turn {
            question: self.standalone().to_owned(),
            answer: answer.to_owned(),
        }
    }

    /// Returns whether the run searched words alone, because the index had no vectors yet.
    pub fn is_by_words_alone(&self) -> bool {
        let words_only = self.corpus.as_ref().is_some_and(|corpus| corpus.words_only);
        let wants_vectors = self.settings.retriever.kind.has_vectors();
        words_only && wants_vectors && !self.lookups.is_empty()
    }

    /// Returns tokens per second, measured from the token records; `None` before there are enough
    /// of them.
    pub fn tokens_per_second(&self) -> Option<f64> {
        self.decoding.tokens_per_second()
    }

    /// Returns prompt tokens per second, the most of the calls; `None` where no call says it.
    pub fn reading_rate(&self) -> Option<f64> {
        let rates = self.calls.iter().filter_map(|call| call.usage);
        let highest = rates.map(|usage| usage.reading_rate).fold(0.0, f32::max);
        (highest > 0.0).then(|| f64::from(highest))
    }

    /// Returns the model of this run in a role.
    pub fn model(&self, role: ModelRole) -> Option<&ModelCard> {
        self.models.iter().find(|card| card.role == role)
    }

    /// Returns a setting of the run as text that is safe to draw.
    pub fn setting(&self, setting: &Setting) -> String {
        let mut text = setting.text(&self.settings);
        let retriever = &self.settings.retriever;
        // a chunk is named by its bytes where it is pinned or excluded, and by its lines in every
        // pane
        for location in retriever.pinned.iter().chain(&retriever.excluded) {
            let mut hits = self.lookups.iter().flat_map(Lookup::hits);
            let named = hits.find(|hit| {
                matches!(location.part, LocationPart::Bytes(bytes) if bytes == hit.chunk.bytes)
                    && hit.chunk.document == location.document
            });
            if let Some(hit) = named {
                text = text.replace(&location.to_string(), &words::chunk_location(&hit.chunk));
            }
        }

        one_line(&text)
    }

    /// Returns the hit or joined text with this number, in the last lookup that has it.
    pub fn hit(&self, chunk: u64) -> Option<&Hit> {
        let mut lookups = self.lookups.iter().rev();
        lookups.find_map(|lookup| lookup.hit(chunk))
    }

    /// Returns whether the generator answered about documents that it was not made for.
    pub fn is_practice(&self) -> bool {
        let generator = self.model(ModelRole::Generator);
        generator.is_some_and(|model| words::is_for_practice(model, self.corpus.as_ref()))
    }

    /// Returns whether no source holds what a sentence of the finished answer says.
    pub fn lacks_source(&self, step: &Step) -> bool {
        let verdict = self.verdict.as_ref();
        verdict.is_some_and(|verdict| verdict.uncited.contains(&step.step))
    }

    /// Returns the certainty of the model of a version of a sentence. The word that the verdict
    /// names is the one of its sentence: the answer names it too.
    pub fn certainty(&self, step: &Step, version: usize) -> Option<Certainty> {
        match self.unsure_word(step) {
            Some(word) if version == step.replaced.len() => {
                Some(Certainty::UnsureOf(word.text.clone()))
            }
            Some(_) | None => Certainty::from_tokens(step.tokens_of(version)),
        }
    }

    /// Returns the uncertainty of a version of a sentence as it is shown beside its certainty:
    /// where that is of its words, their entropy. The mean of a sentence is low where one word of
    /// it was a guess.
    pub fn shown_uncertainty(&self, step: &Step, version: usize) -> Option<Uncertainty> {
        let measured = step.uncertainties().nth(version)??;
        let certainty = self.certainty(step, version);
        let of_words = certainty.filter(|_| words::is_of_words(measured));
        let entropy = of_words.map(|known| known.entropy(step.tokens_of(version)));
        Some(Uncertainty {
            value: entropy.unwrap_or(measured.value),
            ..measured.clone()
        })
    }

    /// Returns the word of a sentence that carries the answer and of which the model was unsure.
    pub fn unsure_word(&self, step: &Step) -> Option<&UncertainWord> {
        let word = self.verdict.as_ref()?.unsure_word()?;
        (word.step == step.step).then_some(word)
    }

    /// Returns the label of the first source that has a word.
    pub fn source_with_word(&self, word: &str) -> Option<u32> {
        let has_word = |hit: &Hit| hit.chunk.text.unicode_words().any(|known| known == word);
        let sources = self.numbered_hits().into_iter();
        let mut labels = sources.filter_map(|(label, hit)| has_word(hit).then_some(label));
        labels.next()
    }

    /// Returns the part of the documents that it searched.
    pub fn search_extent(&self) -> words::Searched {
        let excluded = &self.settings.retriever.excluded;
        let is_whole = |location: &&Location| location.part == LocationPart::Whole;
        let whole = excluded.iter().filter(is_whole).count();
        let filter = &self.settings.retriever.filter;
        let mut of_scope = DocumentFilter::default();
        of_scope.limit_to(&self.scope.documents);
        let is_named = !of_scope.is_empty() && *filter == of_scope;
        words::Searched {
            is_filtered: !filter.is_empty(),
            named: if is_named {
                self.scope.documents.clone()
            } else {
                Vec::new()
            },
            excluded_documents: whole as u64,
            excluded_passages: (excluded.len() - whole) as u64,
        }
    }

    /// Returns the verdict on the answer with its reason; `None` before there is one.
    pub fn verdict_line(&self) -> Option<String> {
        let verdict = self.verdict.as_ref()?;
        let mut line = if self.has_empty_filter() {
            words::filtered_verdict(verdict.kind)
        } else {
            words::verdict(verdict, self.support, &self.search_extent())
        };
        // drawn with every frame: the passages are counted only where the line names them
        if self.scope != Scope::default() {
            let passages = self.numbered_hits().len() as u64;
            let scope = words::scope(&self.scope, passages);
            line.push_str(&format!(" · {}", one_line(&scope)));
        }
        if self.outcome == Some(Outcome::LimitReached) {
            line.push_str(" · the answer is cut off");
        }
        if self.lookups.iter().any(Lookup::has_orders) {
            let numbered = self.numbered_hits().into_iter();
            let is_order = |(_, hit): &(u32, &Hit)| {
                let mut lookups = self.lookups.iter();
                lookups.any(|known| known.order(hit.chunk.id).is_some())
            };
            for (label, _) in numbered.filter(is_order) {
                line.push_str(&format!(" · [{label}] addresses the model"));
            }
        }
        Some(line)
    }

    /// Returns whether no sentence of the answer was generated.
    pub fn is_quoted(&self) -> bool {
        let mut steps = self.steps.iter();
        !self.steps.is_empty() && steps.all(|step| step.origin == Origin::Given)
    }

    /// Returns the remark about a generator that is for practice; `None` for one that is not.
    pub fn practice_remark(&self) -> Option<&'static str> {
        let remark = if self.is_quoted() {
            "no model wrote this"
        } else {
            words::PRACTICE
        };
        self.is_practice().then_some(remark)
    }

    /// Returns the chunks of the last context, in the order of their labels.
    pub fn context_hits(&self) -> Vec<&Hit> {
        let mut lookups = self.lookups.iter().rev();
        let context = lookups.find_map(|lookup| lookup.context.as_ref());
        let chunks = context.into_iter().flat_map(|context| &context.chunks);
        chunks.filter_map(|used| self.hit(used.chunk)).collect()
    }

    /// Returns the place of the last lookup of a step: behind all when there is none.
    pub(super) fn lookup_at(&self, step: u32) -> usize {
        let known = self.lookups.iter().rposition(|lookup| lookup.step == step);
        known.unwrap_or(self.lookups.len())
    }

    /// Returns the place among the lookups of the one that a sentence was written from: its own,
    /// else the last one for the question.
    pub fn lookup_of(&self, step: u32) -> Option<usize> {
        let last_of = |step| {
            let mut lookups = self.lookups.iter();
            lookups.rposition(|lookup| lookup.step == step && lookup.context.is_some())
        };
        last_of(step).or_else(|| last_of(0))
    }

    /// Returns the chunks of the contexts that the answer was written from, in the order of their
    /// numbers.
    pub fn numbered_hits(&self) -> Vec<(u32, &Hit)> {
        let mut used = BTreeMap::new();
        for (at, lookup) in self.lookups.iter().enumerate() {
            let is_last = self.lookup_of(lookup.step) == Some(at);
            // of a summary every part is read
            let is_read = is_last || self.scope.kind == QuestionKind::Summary;
            let context = lookup.context.as_ref().filter(|_| is_read);
            for chunk in context.map_or(&[][..], |context| &context.chunks) {
                used.extend(self.hit(chunk.chunk).map(|hit| (chunk.label, hit)));
            }
        }
        used.into_iter().collect()
    }

    /// Returns the lookups that searched the index; those among re-chunked documents are left out.
    pub fn index_lookups(&self) -> impl Iterator<Item = &Lookup> {
        self.lookups.iter().filter(|lookup| !lookup.rechunked)
    }

    /// Returns the tokens of the answer, without those of replaced sentences.
    pub fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.steps.iter().flat_map(|step| &step.tokens)
    }

    /// Returns why a part did not run in the last lookup that left it out.
    pub fn left_out(&self, part: Part) -> Option<LeftOut> {
        let left_out = self.lookups.iter().flat_map(|lookup| &lookup.left_out);
        let mut reasons = left_out.filter(|(parts, _)| parts.contains(&part));
        reasons.next_back().map(|(_, reason)| *reason)
    }

    /// Returns the utility of the context, as measured last, even where that was stopped.
    pub fn utility(&self) -> Option<&Utility> {
        let unfinished = self.unfinished_utility.as_ref();
        unfinished.or_else(|| self.utilities.last())
    }
}

/// Returns whether a question asks for more than a name, a number or a date.
fn asks_for_prose(question: &str) -> bool {
    let question = question.trim().to_lowercase();
    let behind = |start: &str| {
        let behind = question.strip_prefix(start);
        behind.filter(|behind| !behind.starts_with(char::is_alphanumeric))
    };
    let asks_how = behind("how").is_some_and(|behind| {
        let word = behind.split_whitespace().next();
        word.is_some_and(|word| !MEASURES.contains(&word))
    });
    let asks_for_text = PROSE.iter().any(|start| behind(start).is_some());
    asks_how || asks_for_text || question.ends_with(" about?")
}
