//! Questions with whole pages: IIRC, TriviaQA, MS MARCO.

use serde_json::Value;

use super::beside::Beside;
use super::fields::{as_text, list, missing, question, text, texts, with_marked, yes_or_no};
use super::form::{Dataset, Fallible, one};
use super::lines::LINES;
use super::record::Record;
use crate::eval::questions::{Evidence, Passage, Question, QuestionEntry};

pub const IIRC: Dataset = Dataset {
    name: "iirc",
    about: "IIRC: the published JSON, with context_articles.json beside it for the linked articles",
    questions: &["dev.json", "train.json"],
    is_record: |record| record.contains_key("links") && record.contains_key("questions"),
    read: |record, beside: &Beside| Ok(iirc(record, beside)),
    ..LINES
};

pub const TRIVIA_QA: Dataset = Dataset {
    name: "triviaqa",
    about: "TriviaQA: the published JSON in `qa`, with the folder `evidence` beside or above it; or rows from Hugging Face",
    questions: &["qa/wikipedia-dev.json", "qa/web-dev.json"],
    is_record: |record| record.contains_key("Answer") || record.contains_key("entity_pages"),
    read: |record, beside: &Beside| one(trivia_qa(record, beside)?),
    ..LINES
};

pub const MS_MARCO: Dataset = Dataset {
    name: "msmarco",
    about: "MS MARCO 2.1 question answering: the published JSON by columns, or its rows from Hugging Face",
    questions: &["dev_v2.1.json"],
    is_record: |record| record.contains_key("passages") && record.contains_key("query"),
    read: |record, _: &Beside| one(ms_marco(record)?),
    ..LINES
};

/// Reads an article with its questions.
fn iirc(record: &Record, beside: &Beside) -> Vec<Fallible> {
    let title = text(record, &["title"]).unwrap_or_default();
    let own = Passage {
        title: title.clone(),
        text: text(record, &["text"]).unwrap_or_default(),
    };
    let articles = beside.read_keyed("context_articles.json", "title");
    let linked = list(record.get("links")).iter().filter_map(|link| {
        let target = text(link.as_object()?, &["target"])?;
        let article = articles.as_ref()?.get(&target.to_lowercase())?;
        Some(Passage {
            text: without_tags(&text(article, &["text"])?),
            title: target,
        })
    });
    let passages: Vec<Passage> = std::iter::once(own).chain(linked).collect();

    let entry = |asked: &Value| {
        let fail = |fault: String| (title.clone(), fault);
        let asked = asked.as_object();
        let asked = asked.ok_or_else(|| fail("a question is not a JSON object".to_owned()))?;
        let (kind, answers) = iirc_answer(asked.get("answer"));
        let is_unanswerable = kind == "none";
        let quotes = list(asked.get("context"))
            .iter()
            .filter_map(|context| text(context.as_object()?, &["text"]));
        Ok(QuestionEntry {
            question: Question {
                answers,
                evidence: quotes.map(Evidence::anywhere).collect(),
                kind,
                ..question(asked, &["qid"], &["question"]).map_err(fail)?
            },
            passages: passages.clone(),
            is_unanswerable,
        })
    };
    list(record.get("questions")).iter().map(entry).collect()
}

/// Returns the kind of an answer of IIRC (span, value, binary, none) and its spellings.
fn iirc_answer(answer: Option<&Value>) -> (String, Vec<String>) {
    let Some(answer) = answer.and_then(Value::as_object) else {
        return ("none".to_owned(), Vec::new());
    };
    let kind = text(answer, &["type"]).unwrap_or_default();

    let answers = match kind.as_str() {
        "span" => {
            let spans = list(answer.get("answer_spans")).iter();
            let texts: Vec<String> = spans
                .filter_map(|span| text(span.as_object()?, &["text"]))
                .collect();
            // several spans are one answer that lists them
            vec![texts.join(", ")]
        }
        "value" => {
            let value = text(answer, &["answer_value"]).unwrap_or_default();
            let unit = text(answer, &["answer_unit"]).unwrap_or_default();
            vec![format!("{value} {unit}").trim().to_owned(), value]
        }
        "binary" => texts(answer.get("answer_value"))
            .into_iter()
            .filter_map(|value| yes_or_no(&Value::from(value)))
            .collect(),
        _ => Vec::new(),
    };

    (kind, answers)
}

/// Returns the text of a page of HTML as it is linked in IIRC: without its tags.
fn without_tags(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    let mut rest = page;

    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        match tag.split_once('>') {
            Some((name, after)) => {
                let is_block = name.starts_with(['p', 'h', 'l', '/']) && !name.starts_with("/a");
                if is_block && !text.ends_with('\n') {
                    text.push('\n');
                }
                rest = after;
            }
            None => rest = "",
        }
    }

    text + rest
}

fn trivia_qa(record: &Record, beside: &Beside) -> Result<QuestionEntry, String> {
    let answer = record
        .get("Answer")
        .or_else(|| record.get("answer"))
        .ok_or_else(|| missing("Answer"))?;
    let mut answers = texts(answer.get("Value").or_else(|| answer.get("value")));
    answers.extend(texts(
        answer.get("Aliases").or_else(|| answer.get("aliases")),
    ));

    let of_files = [("EntityPages", "wikipedia"), ("SearchResults", "web")]
        .into_iter()
        .flat_map(|(field, folder)| {
            let pages = list(record.get(field)).iter();
            pages.filter_map(move |page| evidence_file(page.as_object()?, folder, beside))
        });
    let of_row = [
        ("entity_pages", "wiki_context"),
        ("search_results", "search_context"),
    ]
    .into_iter()
    .flat_map(|(field, texts)| pages_of_row(record.get(field), texts));

    Ok(QuestionEntry {
        question: Question {
            answers,
            ..question(
                record,
                &["QuestionId", "question_id"],
                &["Question", "question"],
            )?
        },
        passages: of_files.chain(of_row).collect(),
        is_unanswerable: false,
    })
}

/// Reads a page of TriviaQA's folder `evidence`.
fn evidence_file(page: &Record, folder: &str, beside: &Beside) -> Option<Passage> {
    let name = text(page, &["Filename"])?;
    // a name in a downloaded file must not lead out of the folder
    let is_plain = !name.split(['/', '\\']).any(|part| part == "..") && !name.starts_with('/');
    let path = is_plain.then(|| format!("evidence/{folder}/{name}"))?;
    Some(Passage {
        title: text(page, &["Title"]).unwrap_or_default(),
        text: beside.text(&[&path])?,
    })
}

fn pages_of_row<'a>(
    pages: Option<&'a Value>,
    texts: &str,
) -> impl Iterator<Item = Passage> + use<'a> {
    let titles = list(pages.and_then(|pages| pages.get("title")));
    let texts = list(pages.and_then(|pages| pages.get(texts)));
    titles.iter().zip(texts).filter_map(|(title, text)| {
        Some(Passage {
            title: as_text(title)?,
            text: as_text(text)?,
        })
    })
}

/// The answer of MS MARCO where the passages do not answer the question.
const NO_ANSWER: &str = "No Answer Present.";

fn ms_marco(record: &Record) -> Result<QuestionEntry, String> {
    let passages: Vec<(bool, Passage)> = match record.get("passages") {
        Some(Value::Object(lists)) => {
            let column = |name: &str| list(lists.get(name));
            let rows = column("is_selected").iter().zip(column("passage_text"));
            rows.filter_map(|(is_selected, text)| marco_passage(is_selected, text))
                .collect()
        }
        passages => list(passages)
            .iter()
            .filter_map(|passage| {
                marco_passage(passage.get("is_selected")?, passage.get("passage_text")?)
            })
            .collect(),
    };
    let mut answers = texts(record.get("answers"));
    let well_formed = texts(record.get("wellFormedAnswers"));
    // the published JSON writes an empty list of these as the text `[]`
    answers.extend(well_formed.into_iter().filter(|answer| answer != "[]"));
    answers.retain(|answer| answer != NO_ANSWER);

    let kind = text(record, &["query_type"]).unwrap_or_default();
    let is_unanswerable = answers.is_empty();
    let question = Question {
        answers,
        kind: kind.to_lowercase(),
        ..question(record, &["query_id"], &["query"])?
    };
    Ok(QuestionEntry {
        is_unanswerable,
        ..with_marked(question, passages)
    })
}

fn marco_passage(is_selected: &Value, text: &Value) -> Option<(bool, Passage)> {
    let passage = Passage {
        title: String::new(),
        text: as_text(text)?,
    };
    Some((is_selected.as_u64() == Some(1), passage))
}
