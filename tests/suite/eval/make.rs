//! Questions written about documents, by a scripted generator.

use crate::support::scripted::ScriptedGenerator;
use ragscope::config::prompts::{PromptName, Prompts};
use ragscope::corpus::Document;
use ragscope::eval::{GeneratedQuestion, make_questions};
use ragscope::event::Flow;
use ragscope::llm::{Completion, Decoding, Entailment, Generator as _, Labelled, LlmError, Prompt};
use ragscope::methods::{JudgementKind, ModelCalls};

/// Calls that only write.
struct Writer {
    generator: ScriptedGenerator,
    prompts: Prompts,
}

impl ModelCalls for Writer {
    fn prompt(&self, name: PromptName, values: &[(&str, &str)]) -> Prompt {
        self.prompts.fill(name, values).into()
    }

    fn complete(
        &mut self,
        _: &str,
        prompts: &[Prompt],
        decoding: &Decoding,
    ) -> Result<Vec<Completion>, LlmError> {
        self.generator
            .complete(prompts, decoding, &mut |_, _| Flow::Continue)
    }

    fn classify(&mut self, _: JudgementKind<'_>, _: &[Prompt]) -> Result<Vec<Labelled>, LlmError> {
        unreachable!("nothing is classified")
    }

    fn entail(&mut self, _: &str, _: &[(&str, &str)]) -> Result<Vec<Entailment>, LlmError> {
        unreachable!("nothing is judged")
    }

    fn rerank(&mut self, _: &str, _: &[&str]) -> Result<Vec<f32>, LlmError> {
        unreachable!("nothing is ranked")
    }

    fn embed(&mut self, _: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        unreachable!("nothing is embedded")
    }
}

fn documents(texts: &[(&str, &str)]) -> Vec<Document> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in texts {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let settings = ragscope::config::Layers::defaults()
        .config()
        .expect("defaults")
        .corpus;
    let walked =
        ragscope::corpus::walk(folder.path(), &settings, &mut |_| Flow::Continue).expect("walked");
    walked
        .files
        .iter()
        .map(|file| ragscope::corpus::read(file, &Default::default()).expect("read"))
        .collect()
}

fn make(
    generator: ScriptedGenerator,
    texts: &[(&str, &str)],
    wanted: usize,
) -> Vec<GeneratedQuestion> {
    let mut writer = Writer {
        generator,
        prompts: Prompts::default(),
    };
    let documents = documents(texts);
    make_questions(&mut writer, &documents, wanted, 3, &mut |_| Flow::Continue).expect("written")
}

const PEOPLE: (&str, &str) = (
    "people.md",
    "Tam Reeve was born in Lorby. Pelma Light was lit in 1838. Mira taught the boy Selas Oakes.",
);

/// Returns a generator that writes a good question about Lorby, one that contains its answer about
/// 1838, and none about Selas Oakes.
fn writer() -> ScriptedGenerator {
    ScriptedGenerator::new()
        .when(
            "whose answer is exactly: Lorby",
            " Where was Tam Reeve born?",
        )
        .when("whose answer is exactly: 1838", "Was it lit in 1838?")
        .when("whose answer is exactly: Selas Oakes", "I cannot.")
        .when("Answer question Where was Tam", " Lorby.")
        .when(
            "Answer question What is missing in \"Pelma Light was lit in ____.\"?",
            "1838",
        )
        .when("Answer question What is missing", "no idea")
}

#[test]
fn a_question_is_kept_when_the_generator_answers_it_correctly() {
    let mut made = make(writer(), &[PEOPLE], 10);
    made.sort_by(|a, b| b.kind.cmp(a.kind));
    let found: Vec<(&str, &str, &str, &str)> = made
        .iter()
        .map(|made| {
            (
                made.kind,
                &*made.question,
                &*made.answers[0],
                &*made.evidence[0].quote,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (
                "written",
                "Where was Tam Reeve born?",
                "Lorby",
                "Tam Reeve was born in Lorby."
            ),
            (
                "gap",
                "What is missing in \"Pelma Light was lit in ____.\"?",
                "1838",
                "Pelma Light was lit in 1838."
            ),
        ]
    );
    assert_eq!(made[0].evidence[0].file, "people.md");
}

#[test]
fn questions_are_limited_and_distinct() {
    let copies = [PEOPLE, ("copy.md", PEOPLE.1), ("third.md", PEOPLE.1)];
    assert_eq!(make(writer(), &copies, 1).len(), 1);
    assert_eq!(make(writer(), &copies, 10).len(), 2);
    assert_eq!(make(ScriptedGenerator::new(), &copies, 10), []);
    assert_eq!(make(writer(), &[("empty.md", "Nothing here.")], 10), []);
}

#[test]
fn made_questions_are_a_question_file() {
    let made = make(writer(), &[PEOPLE], 10);
    let lines: String = made
        .iter()
        .map(|made| serde_json::to_string(made).expect("JSON") + "\n")
        .collect();
    let set = ragscope::eval::QuestionSet::parse(&lines);
    assert_eq!(
        (set.questions.len(), set.remarks),
        (2, Vec::<String>::new())
    );
    assert_eq!(
        set.questions[0].evidence[0].file.as_deref(),
        Some("people.md")
    );
}
