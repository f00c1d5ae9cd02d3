//! Variants of a run: its question with one setting changed each. Those to try are chosen first.

use crate::config::{AnswerPrompt, Location, LocationPart, Setting};
use crate::event::{Citation, Command, Event, LocalModel, ModelList, ModelRole, Operation, Scope};
use crate::story::{Lookup, Run, Settings, words};

use super::trial::{self, End, is_stopped};

/// Variants that are tried at once, at most: more answers cannot be compared at a glance.
pub const MAX_CHOSEN: usize = 4;

/// A change with its run.
#[derive(Debug, Clone)]
pub struct Variant {
    pub name: String,
    /// The change in words; empty for one that was typed.
    pub change: String,
    pub settings: Settings,
    /// Whether it is to be tried.
    pub is_chosen: bool,
    /// `None` before it is over.
    pub run: Option<Run>,
}

impl Variant {
    fn new(name: String, change: &str, settings: Settings) -> Self {
        Self {
            name,
            change: change.to_owned(),
            settings,
            is_chosen: false,
            run: None,
        }
    }

    fn is_waiting(&self) -> bool {
        self.is_chosen && self.run.is_none()
    }
}

/// The variants of a run.
#[derive(Debug, Clone)]
pub struct Variants {
    pub run: Run,
    pub all: Vec<Variant>,
    trial: Run,
    /// `None` while there are runs to come.
    pub end: Option<End>,
}

impl Variants {
    /// Creates the variants of a run, of which none is tried yet.
    pub fn new(run: &Run) -> Self {
        Self {
            all: variants(run),
            run: run.clone(),
            trial: Run::default(),
            end: Some(End::Finished),
        }
    }

    /// Adds the largest other generator of this machine with room in memory.
    pub fn add_model(&mut self, list: &ModelList) {
        let is_known = |variant: &Variant| variant.settings.iter().any(|(key, _)| key == MODEL);
        let used = self.run.model(ModelRole::Generator);
        let is_other = |model: &&LocalModel| {
            model.role == Some(ModelRole::Generator)
                && model.problem.is_none()
                && model.source != LocalModel::BUNDLED
                && model.need.and_then(|need| list.memory.fits(need)) != Some(false)
                && used.is_none_or(|used| model.file_name() != used.file)
        };
        if self.all.iter().any(is_known) {
            return;
        }
        let others = list.local.iter().filter(is_other);
        let Some(other) = others.max_by_key(|model| model.bytes) else {
            return;
        };
        let mut settings = vec![(MODEL.to_owned(), other.setting.clone())];
        // a model for practice has a prompt of its own
        if self.run.is_practice() {
            settings.push(("answer.prompt".to_owned(), "auto".to_owned()));
        }
        let change = "another model of this machine writes";
        self.all
            .push(Variant::new(other.name.clone(), change, settings));
    }

    /// Adds a variant that was typed, to be tried where there is room for it.
    ///
    /// # Errors
    /// The run, or another variant, has these settings.
    pub fn add_typed(&mut self, name: &str, settings: Settings) -> Result<(), String> {
        let is_of_run = |(key, value): &(String, String)| {
            let setting = Setting::find(key);
            setting.is_some_and(|setting| setting.text(&self.run.settings) == *value)
        };
        if settings.iter().all(is_of_run) {
            return Err("the run has these settings already".to_owned());
        }
        if let Some(known) = self.all.iter().find(|known| known.settings == settings) {
            return Err(format!("these are the settings of “{}”", known.name));
        }
        self.all.push(Variant {
            is_chosen: self.waiting() < MAX_CHOSEN,
            ..Variant::new(name.to_owned(), "", settings)
        });
        Ok(())
    }

    /// Chooses a variant, or no longer; returns whether there is room for it.
    pub fn toggle(&mut self, at: usize) -> bool {
        let has_room = self.waiting() < MAX_CHOSEN;
        let Some(variant) = self.all.get_mut(at) else {
            return true;
        };
        let is_chosen = !variant.is_chosen;
        if is_chosen && !has_room {
            return false;
        }
        variant.is_chosen = is_chosen;
        true
    }

    /// Begins to try the variants that are chosen.
    pub fn begin(&mut self) {
        self.trial = Run::default();
        self.end = None;
    }

    /// Returns the number of chosen variants that are not tried yet.
    pub fn waiting(&self) -> usize {
        self.all.iter().filter(|of| of.is_waiting()).count()
    }

    /// Returns the places of the variants with an answer, each with its run: those that are
    /// finished, and the one that is being tried once it writes.
    pub fn runs(&self) -> Vec<(usize, &Run)> {
        let is_written = self.end.is_none() && !self.trial.steps.is_empty();
        let in_progress = self.next().filter(|_| is_written);
        let variants = self.all.iter().enumerate();
        let with_run = variants.filter_map(|(at, variant)| {
            let trial = Some(&self.trial).filter(|_| in_progress == Some(at));
            Some((at, variant.run.as_ref().or(trial)?))
        });
        with_run.collect()
    }

    /// Returns the place of the variant to try next.
    fn next(&self) -> Option<usize> {
        self.all.iter().position(Variant::is_waiting)
    }

    /// Returns what is being done; empty once it has ended.
    pub fn activity(&self) -> String {
        let next = self.next().filter(|_| self.end.is_none());
        next.map_or_else(String::new, |next| {
            format!("trying {}: {}", self.all[next].name, self.trial.activity())
        })
    }

    /// Returns the command for the next variant.
    pub fn next_command(&mut self) -> Option<Command> {
        let Some(next) = self.next() else {
            self.end = Some(End::Finished);
            return None;
        };
        Some(trial::command(&self.run, &self.all[next].settings))
    }

    /// Takes in an event of the engine. Returns whether a run is over.
    pub fn receive(&mut self, event: &Event) -> bool {
        let Event::Session(event) = event else {
            return false;
        };
        if self.end.is_some() {
            return false;
        }
        self.end = End::from_event(event, &[Operation::Diagnose]);

        let Some(run) = trial::receive(&mut self.trial, event) else {
            return false;
        };
        if is_stopped(&run) {
            self.end = Some(End::Stopped);
            return false;
        }
        if let Some(next) = self.next() {
            self.all[next].run = Some(run);
        }
        true
    }
}

/// The setting of another generator.
const MODEL: &str = "generator.model";

/// Returns the changes that show on what an answer depends: fewer and more passages, without the
/// first, another prompt, and the whole folder where the words of the question gave it a scope. One
/// that cannot differ from the run is none.
fn variants(run: &Run) -> Vec<Variant> {
    let mut all = Vec::new();
    let mut add = |name: String, change: &str, settings: &[(&str, String)]| {
        let settings = settings.iter();
        let settings = settings.map(|(key, value)| ((*key).to_owned(), value.clone()));
        all.push(Variant::new(name, change, settings.collect()));
    };

    let retriever = &run.settings.retriever;
    let hits = run.numbered_hits();
    if let Some((label, first)) = hits.first() {
        let read = passages_read(run).unwrap_or(retriever.k).min(retriever.k);
        // what is quoted stays where the last passage goes that gave none of it
        let last = hits.last().map(|(label, _)| *label);
        let is_last = |citation: &Citation| Some(citation.label) == last;
        if read > 1 && (!run.is_quoted() || run.citations.iter().any(is_last)) {
            let fewer = u64::from(read - 1);
            let name = words::quantity(fewer, "passage");
            let k = ("retriever.k", fewer.to_string());
            add(name, &format!("reads fewer than these {read}"), &[k]);
        }
        if run.index_lookups().any(has_more) {
            let more = read + 2;
            let name = words::quantity(more.into(), "passage");
            // where it is not all read in time, more are otherwise the same
            let limit = ("answer.first_word_seconds", "0".to_owned());
            let settings = [("retriever.k", more.to_string()), limit];
            let change = format!("reads more than these {read}, however long it takes");
            add(name, &change, &settings);
        }
        let location = Location {
            document: first.chunk.document.clone(),
            part: LocationPart::Bytes(first.chunk.bytes),
        };
        let excluded = retriever.excluded.iter().chain([&location]);
        let excluded: Vec<String> = excluded.map(Location::to_string).collect();
        let excluded = toml::Value::from(excluded).to_string();
        let change = format!("does not read {}", words::chunk_location(&first.chunk));
        let settings = [("retriever.excluded", excluded)];
        add(format!("without [{label}]"), &change, &settings);
    }

    let (name, change, prompt) = match run.settings.answer.prompt {
        AnswerPrompt::Quotes => ("from the sources", "a model writes the answer", "sources"),
        _ => ("quotations alone", "no model writes", "quotes"),
    };
    // a model for practice writes nothing of use over documents of one's own, and a run that fell
    // back to quotations has them
    let can_differ = if prompt == "quotes" {
        !run.is_quoted()
    } else {
        !run.is_practice()
    };
    if !hits.is_empty() && can_differ {
        let settings = [("answer.prompt", prompt.to_owned())];
        add(name.to_owned(), change, &settings);
    }
    if run.scope != Scope::default() {
        let no_scope = [("answer.scope", false.to_string())];
        let change = "whatever its words name, the whole folder is searched once";
        add("as one fact".to_owned(), change, &no_scope);
    }
    for variant in all.iter_mut().take(MAX_CHOSEN) {
        variant.is_chosen = true;
    }
    all
}

/// Returns whether a lookup found more than was read.
fn has_more(lookup: &Lookup) -> bool {
    let read = lookup.context.as_ref().map_or(0, |of| of.chunks.len());
    lookup.hits().len() > read
}

/// Returns the passages in the longest prompt of a run; `None` where it had none.
fn passages_read(run: &Run) -> Option<u32> {
    let contexts = run
        .index_lookups()
        .filter_map(|lookup| lookup.context.as_ref());
    let read = contexts.map(|context| context.chunks.len()).max()?;
    u32::try_from(read).ok().filter(|read| *read > 0)
}

/// Reads settings with their values, as `key=value key=value`; a value may have spaces.
///
/// # Errors
/// The form in which they are typed, for the user.
pub fn parse_settings(typed: &str) -> Result<Settings, String> {
    let mut settings = Settings::new();
    for word in typed.split_whitespace() {
        match (word.split_once('='), settings.last_mut()) {
            (Some((key, value)), _) if !key.is_empty() && !key.contains(['"', '[']) => {
                settings.push((key.to_owned(), value.to_owned()));
            }
            (_, Some((_, value))) => *value = format!("{value} {word}").trim().to_owned(),
            (_, None) => return Err("type key=value, as in retriever.k=8".to_owned()),
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ChunkText, Context, ContextChunk, Hit, QuestionKind, Retrieval};
    use crate::story::{Origin, Step};

    /// Returns a run that found some chunks, and read the first of them.
    fn make_read(found: u64, read: u32) -> Run {
        let chunk = |id| ChunkText {
            id,
            ..ChunkText::default()
        };
        let hits = (1..=found).map(|id| Hit::with_rank(chunk(id), 1));
        let chunks = (1..=read).map(|label| ContextChunk {
            label,
            chunk: label.into(),
            tokens: 1,
        });
        let mut lookup = Lookup::default();
        lookup.retrieval = Some(Retrieval {
            hits: hits.collect(),
            ..Retrieval::default()
        });
        lookup.context = Some(Context {
            chunks: chunks.collect(),
            dropped: Vec::new(),
            prompt_tokens: 1,
            available_tokens: 1,
        });
        let mut run = Run::default();
        run.settings.answer.prompt = AnswerPrompt::Sources;
        run.lookups.push(lookup);
        run
    }

    #[test]
    fn a_variant_that_cannot_differ_is_none() {
        let names = |run: &Run| -> Vec<String> {
            let all = variants(run).into_iter();
            all.map(|variant| variant.name).collect()
        };
        let mut run = make_read(4, 3);
        let all = [
            "2 passages",
            "5 passages",
            "without [1]",
            "quotations alone",
        ];
        assert_eq!(names(&run), all);
        // all that was found is read
        assert_eq!(names(&make_read(3, 3)), [all[0], all[2], all[3]]);
        // the run fell back to quotations, of which the last passage gave none
        run.steps.push(Step {
            origin: Origin::Given,
            ..Step::default()
        });
        assert_eq!(names(&run), [all[1], all[2]]);

        let mut variants = Variants::new(&run);
        let setting = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
        let k = run.settings.retriever.k;
        let known = variants.add_typed("k", setting("retriever.k", &k.to_string()));
        assert!(known.is_err());
        let other = setting("retriever.k", &(k + 9).to_string());
        assert!(variants.add_typed("k", other.clone()).is_ok());
        assert!(variants.add_typed("k", other).is_err());
    }

    #[test]
    fn settings_are_typed_with_their_values() {
        let parse = |typed| parse_settings(typed).map_err(|_| ());
        let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let cases = [
            ("retriever.k=8", Ok(vec![setting("retriever.k", "8")])),
            (
                "retriever.k=8  answer.prompt=quotes",
                Ok(vec![
                    setting("retriever.k", "8"),
                    setting("answer.prompt", "quotes"),
                ]),
            ),
            (
                r#"retriever.excluded=["a b.md", "c.md"]"#,
                Ok(vec![setting("retriever.excluded", r#"["a b.md", "c.md"]"#)]),
            ),
            (
                "answer.scope= false",
                Ok(vec![setting("answer.scope", "false")]),
            ),
            ("", Ok(Vec::new())),
            ("8 chunks", Err(())),
        ];
        for (typed, expected) in cases {
            assert_eq!(parse(typed), expected, "{typed}");
        }
    }

    #[test]
    fn a_scope_can_be_left_out() {
        let scope = |run: &Run| {
            let mut variants = variants(run).into_iter();
            variants.find_map(|variant| {
                variant
                    .settings
                    .into_iter()
                    .find(|(key, _)| key == "answer.scope")
            })
        };
        let mut run = Run::default();
        assert_eq!(scope(&run), None);
        run.scope.kind = QuestionKind::Listing;
        assert_eq!(
            scope(&run),
            Some(("answer.scope".to_owned(), "false".to_owned()))
        );
    }
}
