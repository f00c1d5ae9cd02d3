//! The questions of an evaluation, and the place of their answers.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::corpus::files;
use super::variants::Variant;
use crate::cli::args::{Evaluation, PassageScope};
use crate::cli::demo;
use crate::cli::failure::{Failure, Stopped};
use crate::cli::folders::check_folder;
use crate::cli::output::Output;
use crate::config::{Config, Paths, demo_corpus};
use crate::corpus::FoundFile;
use crate::eval::{DATASETS, Documents, Evidence, Question, QuestionSet};
use crate::story::text::join;
use crate::story::words;

/// Questions, and the place of their answers.
pub(super) struct AskedQuestions {
    pub questions: Vec<Question>,
    pub remarks: Vec<String>,
    /// The documents; `None` where no preset searches and there are none.
    pub folder: Option<PathBuf>,
    /// Documents to which the search of each question is limited.
    pub limits: HashMap<String, String>,
}

impl AskedQuestions {
    /// Reads the questions, and finds their documents: the given folder, the demo's, or the
    /// passages that come with the dataset.
    pub fn read(
        what: &Evaluation,
        paths: &Paths,
        variants: &[Variant],
        out: &mut Output,
    ) -> Result<Self, Stopped> {
        let file = what.questions.clone().unwrap_or_else(demo::question_file);
        let named = what.dataset.as_deref();
        let dataset = named.and_then(|name| DATASETS.iter().find(|set| set.name == name));
        let mut set = QuestionSet::read(&file, dataset)?;
        let mut remarks = std::mem::take(&mut set.remarks);
        let mut questions = choose(&set.questions, what)?;
        if what.retrieval_only {
            remarks.extend(keep_searchable(&mut questions)?);
        }
        let mut asked = Self {
            questions,
            remarks,
            folder: what.demo.then(demo_corpus).or_else(|| what.corpus.clone()),
            limits: HashMap::new(),
        };
        if let Some(folder) = &asked.folder {
            check_folder(folder)?;
            return Ok(asked);
        }

        let of = match what.documents {
            PassageScope::All => &set.questions,
            PassageScope::Asked | PassageScope::Question => &asked.questions,
        };
        let documents = Documents::new(&set, of);
        if !documents.is_empty() {
            asked.folder = Some(write_passages(&documents, &file, paths)?);
            let count = words::quantity(documents.len() as u64, "document");
            out.remark(&format!("the passages of the questions are {count}"));
            if what.documents == PassageScope::Question {
                asked.limits = limits(&asked.questions, &documents);
            }
        } else if variants.iter().any(Variant::is_searching) {
            return Err(Stopped::usage(
                format!("{} has no passages to search", file.display()),
                "name a folder of documents: --corpus FOLDER",
            ));
        }
        Ok(asked)
    }

    /// Returns the files of the corpus.
    pub fn files(&self, config: &Config) -> Result<Vec<FoundFile>, Stopped> {
        match &self.folder {
            Some(folder) => files(folder, config),
            None => Ok(Vec::new()),
        }
    }
}

/// Keeps the questions whose retrieval can be scored, and returns what has to be said about it. The
/// first answer of a question is its evidence where it names none.
fn keep_searchable(questions: &mut Vec<Question>) -> Result<Option<String>, Failure> {
    let mut by_answer = 0_u64;
    for question in questions.iter_mut() {
        question.is_retrieval_only = true;
        let answer = question.answers.first();
        if let Some(answer) = answer.filter(|_| question.evidence.is_empty()) {
            by_answer += 1;
            question.evidence = vec![Evidence::anywhere(answer)];
        }
    }

    questions.retain(|question| !question.evidence.is_empty());
    if questions.is_empty() {
        return Err(Failure::usage(
            "no question names its evidence or an answer",
            "give each line `evidence`, the words of the passage that should be found",
        ));
    }
    let counted = words::quantity(by_answer, "question");
    Ok((by_answer > 0).then(|| {
        format!("{counted} without evidence: a chunk that contains the first answer counts")
    }))
}

/// Returns by question the filter that lets its own documents through.
fn limits(questions: &[Question], documents: &Documents) -> HashMap<String, String> {
    let limit = |question: &Question| {
        let paths = documents.paths(question);
        (!paths.is_empty()).then(|| (question.id.clone(), paths.join(" ")))
    };
    questions.iter().filter_map(limit).collect()
}

/// Writes the passages of a question file as documents, and returns their folder.
fn write_passages(documents: &Documents, file: &Path, paths: &Paths) -> Result<PathBuf, Failure> {
    let name = file.file_stem().and_then(|name| name.to_str());
    let folder = documents.write(&paths.datasets(), name.unwrap_or("questions"));
    folder.map_err(|error| {
        Failure::new(
            format!("cannot write the passages of {} ({error})", file.display()),
            "make room, or check `ragscope paths`",
        )
    })
}

/// Returns the questions of the split, at most `--limit`, spread evenly.
fn choose(questions: &[Question], what: &Evaluation) -> Result<Vec<Question>, Failure> {
    let split = what.split.as_ref();
    let in_split = |question: &&Question| split.is_none_or(|split| question.split == *split);
    let all: Vec<&Question> = questions.iter().filter(in_split).collect();
    let count = all.len();
    let limit = what.limit.unwrap_or(usize::MAX);

    // files are often sorted by kind, so the first questions would all be of one kind
    let is_drawn = |at: usize| limit >= count || (at + 1) * limit / count > at * limit / count;
    let drawn = all.into_iter().enumerate().filter(|(at, _)| is_drawn(*at));
    let chosen: Vec<Question> = drawn.map(|(_, question)| question.clone()).collect();

    if chosen.is_empty() {
        let splits: BTreeSet<&str> = questions.iter().map(|one| one.split.as_str()).collect();
        let known = join(splits, ", ");
        return Err(Failure::usage(
            "no question matches --split and --limit",
            format!("this file has the splits: {known}"),
        ));
    }

    Ok(chosen)
}
