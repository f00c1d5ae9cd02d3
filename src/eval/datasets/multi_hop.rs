//! Questions over several documents: HotpotQA, 2WikiMultiHopQA, MuSiQue.

use serde_json::Value;

use super::beside::Beside;
use super::fields::{as_text, list, missing, question, text, texts, with_marked};
use super::form::{Dataset, one};
use super::lines::LINES;
use super::record::Record;
use crate::eval::questions::{Evidence, Passage, Question, QuestionEntry};

pub const HOTPOT_QA: Dataset = Dataset {
    name: "hotpotqa",
    about: "HotpotQA: the published JSON, or its rows from Hugging Face",
    questions: &["hotpot_dev_distractor_v1.json"],
    is_record: |record| record.contains_key("supporting_facts"),
    read: |record, _: &Beside| one(with_supporting_facts(record)?),
    ..LINES
};

pub const TWO_WIKI: Dataset = Dataset {
    name: "2wiki",
    about: "2WikiMultiHopQA: the published JSON, with id_aliases.json beside it for other spellings",
    questions: &["dev.json"],
    is_record: |record| record.contains_key("supporting_facts") && record.contains_key("evidences"),
    read: |record, beside: &Beside| {
        let mut entry = with_supporting_facts(record)?;
        let id = text(record, &["answer_id"]).unwrap_or_default();
        if let Some(aliases) = beside.read_keyed("id_aliases.json", "Q_id")
            && let Some(known) = aliases.get(&id)
        {
            let spellings = ["aliases", "demonyms"].map(|name| texts(known.get(name)));
            entry.question.answers.extend(spellings.concat());
        }
        one(entry)
    },
    ..LINES
};

pub const MUSIQUE: Dataset = Dataset {
    name: "musique",
    about: "MuSiQue-Ans and MuSiQue-Full: the published JSON lines",
    questions: &["musique_ans_v1.0_dev.jsonl", "musique_full_v1.0_dev.jsonl"],
    is_record: |record| {
        record.contains_key("paragraphs") && record.contains_key("question_decomposition")
    },
    read: |record, _: &Beside| one(musique(record)?),
    ..LINES
};

/// Reads a record of HotpotQA: `context` has the sentences by title, `supporting_facts` the titles
/// with the numbers of their sentences; each as pairs, or as an object of two lists.
fn with_supporting_facts(record: &Record) -> Result<QuestionEntry, String> {
    let pages: Vec<(String, Vec<String>)> = pairs(record.get("context"), "title", "sentences")
        .map(|(title, sentences)| {
            let sentences = list(Some(sentences)).iter().filter_map(Value::as_str);
            (title, sentences.map(str::to_owned).collect())
        })
        .collect();
    let fact = |(title, number): (String, &Value)| {
        let number = usize::try_from(number.as_u64()?).ok()?;
        let (_, sentences) = pages.iter().find(|(known, _)| *known == title)?;
        let quote = sentences.get(number)?.trim();
        (!quote.is_empty()).then(|| Evidence::anywhere(quote))
    };
    let facts = pairs(record.get("supporting_facts"), "title", "sent_id");
    let answer = record.get("answer").ok_or_else(|| missing("answer"))?;

    Ok(QuestionEntry {
        question: Question {
            answers: texts(Some(answer)),
            evidence: facts.filter_map(fact).collect(),
            kind: text(record, &["type"]).unwrap_or_default(),
            ..question(record, &["_id", "id"], &["question"])?
        },
        passages: pages
            .iter()
            .map(|(title, sentences)| Passage {
                title: title.clone(),
                text: join(sentences),
            })
            .collect(),
        is_unanswerable: false,
    })
}

/// Returns the pairs of a list of pairs, or of an object with two lists.
fn pairs<'a>(
    value: Option<&'a Value>,
    first: &str,
    second: &str,
) -> Box<dyn Iterator<Item = (String, &'a Value)> + 'a> {
    match value {
        // rows from Hugging Face have a list per field, the published files a list per pair
        Some(Value::Object(lists)) => {
            let firsts = list(lists.get(first)).iter().filter_map(as_text);
            Box::new(firsts.zip(list(lists.get(second))))
        }
        value => Box::new(list(value).iter().filter_map(|pair| {
            let title = as_text(pair.get(0)?)?;
            Some((title, pair.get(1)?))
        })),
    }
}

/// Joins sentences; HotpotQA's begin with the blank that separates them.
fn join(sentences: &[String]) -> String {
    let mut text = String::new();
    for sentence in sentences {
        if !text.is_empty() && !text.ends_with(' ') && !sentence.starts_with(' ') {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    text
}

fn musique(record: &Record) -> Result<QuestionEntry, String> {
    let paragraphs: Vec<(bool, Passage)> = list(record.get("paragraphs"))
        .iter()
        .filter_map(Value::as_object)
        .map(|paragraph| {
            let is_supporting = paragraph.get("is_supporting").and_then(Value::as_bool);
            let passage = Passage {
                title: text(paragraph, &["title"]).unwrap_or_default(),
                text: text(paragraph, &["paragraph_text"]).unwrap_or_default(),
            };
            (is_supporting.unwrap_or(false), passage)
        })
        .collect();
    // MuSiQue-Full pairs each question with one whose paragraphs lack the answer
    let is_answerable = record.get("answerable").and_then(Value::as_bool);
    let is_unanswerable = is_answerable == Some(false);
    let mut answers = texts(record.get("answer"));
    answers.extend(texts(record.get("answer_aliases")));
    if is_unanswerable {
        answers.clear();
    }

    let asked = question(record, &["id"], &["question"])?;
    // an id begins with the number of steps: 2hop, 3hop1, 4hop3
    let hops = asked.id.split_once("__").map(|(hops, _)| hops.to_owned());
    let question = Question {
        answers,
        kind: hops.unwrap_or_default(),
        ..asked
    };
    Ok(QuestionEntry {
        is_unanswerable,
        ..with_marked(question, paragraphs)
    })
}
