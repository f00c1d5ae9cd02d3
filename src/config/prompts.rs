//! Prompts are files: `assets/prompts/<name>.md`, overridden by files of the same name in the
//! user's prompts folder.
//!
//! The bundled models were trained on these words. For other models some prompts have a second file
//! in `assets/prompts/paper`: as a paper prints it, with the scale and the form of the reply. A
//! base model continues a text and follows no instruction: for it `assets/prompts/few_shot` shows
//! by examples what is asked.

use std::collections::HashMap;
use std::path::Path;

use super::choices::{PromptSet, WorkedExamples};
use super::error::ConfigError;
use super::settings::AnswerSettings;
use crate::event::{ModelCard, Problem};
use crate::files;

/// A text of a prompt, with the folder of `assets/prompts` that holds it.
type Version = (&'static str, &'static str);

/// Declares the prompts, each a file, and a file in each of the folders that are named.
macro_rules! prompts {
    ($($(#[$doc:meta])* $prompt:ident = $name:literal $(in $folder:literal)*),+ $(,)?) => {
        /// A prompt by its purpose.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum PromptName { $($(#[$doc])* $prompt),+ }

        impl PromptName {
            /// Every prompt.
            pub const ALL: &[Self] = &[$(Self::$prompt),+];

            /// File name without its ending.
            pub fn name(self) -> &'static str {
                match self { $(Self::$prompt => $name),+ }
            }

            fn bundled_text(self) -> &'static str {
                match self { $(Self::$prompt => include_str!(concat!("../../assets/prompts/", $name, ".md"))),+ }
            }

            /// Returns the texts for models that are not bundled.
            fn others(self) -> &'static [Version] {
                match self {
                    $(Self::$prompt => &[$(($folder, include_str!(concat!("../../assets/prompts/", $folder, "/", $name, ".md")))),*]),+
                }
            }
        }
    };
}

prompts! {
    /// An answer from numbered sources, in the form that the question asks for.
    Sources = "sources",
    /// Whether the sources state the answer.
    SourcesState = "sources_state",
    /// Whether one sentence, or one passage, states the answer.
    SentenceStates = "sentence_states",
    /// Whether a passage holds a statement of the answer.
    StatementHeld = "statement_held",
    /// The entries of one passage for a list.
    ListItems = "list_items",
    /// The question in the language of the documents.
    Translate = "translate",
    /// The answer alone, from passages.
    QaShort = "qa_short" in "few_shot",
    /// The answer alone, from passages only.
    QaGrounded = "qa_grounded" in "few_shot",
    /// The answer alone, from passages, in the words of the one from memory: the two are compared.
    QaDocuments = "qa_documents" in "paper" in "few_shot",
    /// The answer alone, from memory.
    QaClosed = "qa_closed" in "paper" in "few_shot",
    /// One short sentence at a time, with or without passages.
    StepByStep = "step_by_step" in "paper" in "few_shot",
    /// A text rephrased.
    Rephrase = "rephrase" in "few_shot",
    /// Whether one answer entails another.
    Entailment = "entailment" in "paper",
    /// Whether the context suffices for the question.
    SelfEvaluate = "self_evaluate" in "few_shot",
    /// The relevance of a passage, from 0 to 10.
    Grade = "grade" in "paper",
    /// A first rating of the relevance, checked.
    GradeReflect = "grade_reflect" in "paper",
    /// Two ratings of the relevance, checked by a critic of names, dates and numbers.
    GradeCritic = "grade_critic" in "paper",
    /// Whether a text is relevant to the question, 1 or 0.
    JudgeRelevant = "judge_relevant" in "paper",
    /// A follow-up question, rewritten to stand alone.
    FollowUp = "follow_up",
    /// The start of the reply to that: examples, the last turns of the thread, and the question.
    FollowUpTurns = "follow_up_turns",
    /// The question as a short search query.
    RewriteQuery = "rewrite_query" in "paper" in "few_shot",
    /// A question whose answer is given.
    MakeQuestion = "make_question" in "few_shot",
    /// A question that a passage answers.
    WriteQuestion = "write_question" in "few_shot",
}

/// The folders of prompts for models that follow instructions, and for base models.
const PAPER: &[&str] = &["paper"];
const FEW_SHOT: &[&str] = &["few_shot", "paper"];

/// The mark behind which a prompt has the beginning of the reply.
const REPLY_MARK: &str = "{reply}";

/// A prompt with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// The text of the user turn.
    pub user: String,
    /// The given beginning of the reply, which the model continues; empty for none.
    pub reply: String,
}

/// The prompts, with those of the user.
#[derive(Debug, Clone)]
pub struct Prompts {
    /// The user's, as they were read.
    own: HashMap<PromptName, String>,
    /// The folders whose texts stand in for the bundled ones, the first that has the prompt.
    folders: &'static [&'static str],
    examples: WorkedExamples,
}

impl Default for Prompts {
    /// Returns the prompts of the bundled models.
    fn default() -> Self {
        Self {
            own: HashMap::new(),
            folders: &[],
            examples: WorkedExamples::General,
        }
    }
}

impl Prompts {
    /// Reads the user's files in `folder`, which override the prompts of the bundled models.
    ///
    /// # Errors
    /// A file that cannot be read, or that lacks a placeholder of the bundled prompt: a question
    /// that is not filled in would never be asked.
    pub fn read(folder: &Path) -> Result<Self, ConfigError> {
        let mut prompts = Self::default();
        for prompt in PromptName::ALL {
            let file = folder.join(format!("{}.md", prompt.name()));
            let origin = || file.display().to_string();
            let text = match files::read_text(&file) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(ConfigError::unreadable(&origin(), error));
                }
            };

            let mut needed = placeholders(prompt.bundled_text());
            if let Some(name) = needed.find(|name| placeholders(&text).all(|own| own != *name)) {
                return Err(ConfigError::Unusable(Problem::new(
                    format!("{}: `{{{name}}}` is missing", origin()),
                    "add it to the file; `ragscope guide settings` says what stands for what",
                )));
            }
            prompts.own.insert(*prompt, text);
        }
        Ok(prompts)
    }

    /// The prompts of the set that these settings name; `auto` chooses by the generator.
    pub fn for_model(self, answer: &AnswerSettings, generator: &ModelCard) -> Self {
        let folders: &[&str] = match answer.prompt_set {
            PromptSet::Bundled => &[],
            PromptSet::Auto if generator.practice => &[],
            PromptSet::Auto if generator.has_plain_prompts() => FEW_SHOT,
            PromptSet::FewShot => FEW_SHOT,
            PromptSet::Auto | PromptSet::Paper => PAPER,
        };
        Self {
            folders,
            examples: answer.examples,
            ..self
        }
    }

    fn find_built_in(&self, prompt: PromptName) -> &'static str {
        let version = |folder: &&str| prompt.others().iter().find(|(name, _)| name == folder);
        let chosen = self.folders.iter().find_map(version);
        chosen.map_or(prompt.bundled_text(), |(_, text)| text)
    }

    /// Returns the text of a prompt before its first placeholder: all that is filled in shares it.
    pub fn opening(&self, prompt: PromptName) -> &str {
        let text = self.template(prompt);
        text.split('{').next().unwrap_or(text).trim_end()
    }

    fn template(&self, prompt: PromptName) -> &str {
        let own = self.own.get(&prompt).map(String::as_str);
        own.unwrap_or(self.find_built_in(prompt))
    }

    /// Returns the prompt with each `{placeholder}` replaced by its value, and `{examples}` by the
    /// worked examples of the settings. Values are not searched for placeholders. What follows
    /// `{reply}` in the file is the beginning of the reply: a small model that would repeat the
    /// question's form then answers in it.
    pub fn fill(&self, prompt: PromptName, values: &[(&str, &str)]) -> Filled {
        let template = self.template(prompt);
        let examples = ("examples", worked_examples(self.examples).trim_end());
        let values = [values, &[examples]].concat();

        let (user, reply) = template.split_once(REPLY_MARK).unwrap_or((template, ""));
        Filled {
            user: fill(user.trim_end_matches('\n'), &values),
            reply: fill(reply.trim_end_matches('\n'), &values),
        }
    }
}

/// Returns the placeholders of a text, without their braces.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let behind_braces = text.split('{').skip(1);
    behind_braces.filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// Returns the worked examples before a question (SEARAG, appendix E), each a question of the kind
/// that the dataset asks with its answer step by step.
fn worked_examples(examples: WorkedExamples) -> &'static str {
    match examples {
        WorkedExamples::General => include_str!("../../assets/prompts/paper/examples/general.md"),
        WorkedExamples::TwoWiki => include_str!("../../assets/prompts/paper/examples/2wiki.md"),
        WorkedExamples::HotpotQa => include_str!("../../assets/prompts/paper/examples/hotpotqa.md"),
        WorkedExamples::StrategyQa => {
            include_str!("../../assets/prompts/paper/examples/strategyqa.md")
        }
        WorkedExamples::Iirc => include_str!("../../assets/prompts/paper/examples/iirc.md"),
    }
}

fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut pieces = template.split('{');
    let mut filled = pieces.next().unwrap_or_default().to_owned();

    for piece in pieces {
        let placeholder = piece.split_once('}').and_then(|(name, behind)| {
            let value = values.iter().find(|(known, _)| *known == name);
            Some([value?.1, behind])
        });
        filled.push_str(&placeholder.unwrap_or(["{", piece]).concat());
    }

    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::Config;
    use crate::config::value::SettingType as _;
    use crate::event::ModelRole;

    #[test]
    fn values_are_not_searched_for_names() {
        assert_eq!(
            fill(
                "Q {question} C {context} {x} {",
                &[("question", "{context}"), ("context", "text")]
            ),
            "Q {context} C text {x} {"
        );
    }

    #[test]
    fn every_version_of_a_prompt_takes_the_same_values() {
        let names = |text: &'static str| {
            let mut names: Vec<&str> = placeholders(text)
                .filter(|name| !["examples", "reply"].contains(name))
                .collect();
            names.sort_unstable();
            names
        };
        for folder in ["paper", "few_shot"] {
            let mut count = 0;
            for prompt in PromptName::ALL {
                for (_, text) in prompt.others().iter().filter(|(name, _)| *name == folder) {
                    assert_eq!(
                        names(prompt.bundled_text()),
                        names(text),
                        "{prompt:?} of {folder}"
                    );
                    count += 1;
                }
            }
            assert!(count > 5, "{folder}");
        }
    }

    #[test]
    fn the_set_is_chosen_by_the_generator() {
        let mut generator = ModelCard::unknown(ModelRole::Generator);
        let start = |prompt_set, generator: &ModelCard| {
            let answer = AnswerSettings {
                prompt_set,
                ..Config::default().answer
            };
            let prompts = Prompts::default().for_model(&answer, generator);
            let filled = prompts.fill(PromptName::QaClosed, &[]);
            (filled.user.contains("corners"), filled.user.lines().count())
        };
        let (bundled, paper, few_shot) = ((false, 2), (false, 3), (true, 12));
        assert_eq!(start(PromptSet::Auto, &generator), paper);
        generator.chat_template = ModelCard::NO_TEMPLATE.to_owned();
        assert_eq!(start(PromptSet::Auto, &generator), few_shot);
        assert_eq!(start(PromptSet::Paper, &generator), paper);
        generator.practice = true;
        assert_eq!(start(PromptSet::Auto, &generator), bundled);
        assert_eq!(start(PromptSet::FewShot, &generator), few_shot);
    }

    #[test]
    fn every_worked_example_ends_with_its_answer() {
        for choice in WorkedExamples::CHOICES {
            let name = toml::Value::String(choice.name.to_owned());
            let examples = WorkedExamples::from_value(&name).expect("a choice");
            let text = worked_examples(examples);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines.len(), 12, "{examples:?}: six questions");
            for pair in lines.chunks(2) {
                assert!(pair[0].starts_with("Question: "), "{}", pair[0]);
                assert!(pair[1].starts_with("Answer: "), "{}", pair[1]);
                assert!(pair[1].contains(". So the answer is "), "{}", pair[1]);
            }
            assert!(!text.contains('{'), "{examples:?} has no place for a value");

            let prompts = Prompts {
                folders: PAPER,
                examples,
                ..Prompts::default()
            };
            let values = [("context", ""), ("question", "Why?")];
            let filled = prompts.fill(PromptName::StepByStep, &values);
            assert!(
                filled.user.starts_with(&format!("Examples:\n{text}\n")),
                "{filled:?}"
            );
        }
    }

    #[test]
    fn a_users_file_overrides_a_built_in_prompt() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = || Prompts::read(folder.path());
        let fill = |prompts: Prompts| prompts.fill(PromptName::QaClosed, &[("question", "Why?")]);
        let built_in = fill(read().expect("no file"));
        assert!(built_in.user.ends_with("Question: Why?"), "{built_in:?}");
        assert_eq!(built_in.reply, "");

        let file = folder.path().join("qa_closed.md");
        std::fs::write(&file, "Say {question}\n").expect("written");
        assert_eq!(fill(read().expect("a file")).user, "Say Why?");
    }

    #[test]
    fn a_file_without_a_placeholder_of_the_built_in_prompt_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for (prompt, text, missing) in [
            ("qa_short", "Answer {q} from {context}", "question"),
            ("grade", "Rate {context} for {question}", "passage"),
            ("entailment", "{question}: {first}", "second"),
        ] {
            let file = folder.path().join(format!("{prompt}.md"));
            std::fs::write(&file, text).expect("written");
            let error = Prompts::read(folder.path()).expect_err("a placeholder is missing");
            let expected = format!("{}: `{{{missing}}}` is missing", file.display());
            assert_eq!(error.to_string(), expected);
            std::fs::remove_file(&file).expect("removed");
        }

        // other braces are text
        let text = "{question} {context} \\boxed{x}";
        std::fs::write(folder.path().join("qa_short.md"), text).expect("written");
        let prompts = Prompts::read(folder.path()).expect("read");
        let values = [("question", "Why?"), ("context", "[1] So.")];
        let filled = prompts.fill(PromptName::QaShort, &values);
        assert_eq!(filled.user, "Why? [1] So. \\boxed{x}");
    }

    #[test]
    fn what_follows_the_mark_is_the_beginning_of_the_reply() {
        let cases = [
            (
                "Rate {passage}.\n\n{reply}Score of {question}:\n",
                "Rate {reply}.",
                "Score of it:",
            ),
            ("Rate {passage}.\n", "Rate {reply}.", ""),
            ("{reply}{passage}", "", "{reply}"),
        ];
        for (text, user, reply) in cases {
            let prompts = Prompts {
                own: HashMap::from([(PromptName::Grade, text.to_owned())]),
                ..Prompts::default()
            };
            // a value is not searched for the mark
            let values = [("passage", "{reply}"), ("question", "it")];
            let filled = prompts.fill(PromptName::Grade, &values);
            assert_eq!((filled.user.as_str(), filled.reply.as_str()), (user, reply));
        }

        let paper = Prompts {
            folders: PAPER,
            ..Prompts::default()
        };
        let few_shot = Prompts {
            folders: FEW_SHOT,
            ..Prompts::default()
        };
        for prompt in PromptName::ALL {
            let of = |prompts: &Prompts| prompts.fill(*prompt, &[]).reply;
            assert_eq!(of(&Prompts::default()), "", "{prompt:?}");
            let is_begun = [
                PromptName::Entailment,
                PromptName::JudgeRelevant,
                PromptName::Grade,
                PromptName::GradeReflect,
                PromptName::GradeCritic,
            ]
            .contains(prompt);
            assert_eq!(of(&paper).ends_with(':'), is_begun, "{prompt:?}");
            // an instruction that only instruct models are given
            let is_instruction = [
                PromptName::FollowUp,
                PromptName::FollowUpTurns,
                PromptName::Sources,
                PromptName::SourcesState,
                PromptName::SentenceStates,
                PromptName::StatementHeld,
                PromptName::ListItems,
                PromptName::Translate,
            ]
            .contains(prompt);
            assert_eq!(of(&few_shot).ends_with(':'), !is_instruction, "{prompt:?}");
        }
    }
}
