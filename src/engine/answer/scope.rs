//! The scope of a question, from its words: the documents and folders that it names, and whether it
//! asks for one fact, a list, a comparison or a summary.

use std::ops::Range;

use crate::config::{AnswerPrompt, Config};
use crate::corpus::{date_in_text, fold_white_space, language, named_dates, split_words};
use crate::event::{QuestionKind, Scope, document_stem};
use crate::index::{content_words, short_text_language};

use super::pairs::{WHAT_IS, find_comparison, find_pair};
use super::wording::asks_which;

/// Words that ask for a summary, in lower case.
#[rustfmt::skip]
const SUMMARY: &[&str] = &[
    "summarise", "summarize", "summary of", "fasse", "fass", "zusammenfassung", "résume",
    "résumé", "resumen", "resúmeme", "总结", "摘要",
];
/// Words that ask for everything of a kind, in lower case.
#[rustfmt::skip]
const LISTING: &[&str] = &[
    "list all", "list every", "list everything", "list everyone", "list the", "which files",
    "which documents", "what are all", "a table of", "a list of", "eine tabelle", "eine liste",
    "un tableau", "une liste", "una tabla", "una lista", "welche dateien", "welche dokumente",
    "liste alle", "quels fichiers", "quels documents", "qué archivos", "qué documentos", "列出",
];
/// Words that begin a clause which asks how, where or whether something is listed, and asks for no
/// list, in lower case.
const ASKING: &[&str] = &[
    "how", "why", "what", "which", "where", "when", "who", "is", "are", "does", "do", "did",
    "can i", "can we", "should", "wie", "warum", "was", "welche", "welcher", "welches", "welchem",
    "wo", "wann", "wer", "gibt es", "kann ich", "kann man", "comment", "pourquoi", "quel",
    "quelle", "où", "quand", "qui", "est-ce", "cómo", "por qué", "qué", "cuál", "dónde", "cuándo",
    "quién", "hay", "puedo", "怎么", "如何", "哪个", "什么",
];
/// Words in front of files in a question for those that are about something, words for files, and
/// verbs behind them, in lower case; the longer ones first.
#[rustfmt::skip]
const WHICH_FILES: &[&str] = &[
    "how many of the ", "how many of my ", "how many ", "list the ", "list all ", "which of the ",
    "which of my ", "which ", "what ", "welche ", "wie viele ", "quels ", "combien de ", "qué ",
    "cuántos ", "哪些",
];
#[rustfmt::skip]
const FILES: &[&str] = &[
    "files ", "documents ", "notes ", "mails ", "emails ", "letters ", "reports ", "pages ",
    "invoices ", "dateien ", "dokumente ", "notizen ", "berichte ", "briefe ", "rechnungen ",
    "fichiers ", "rapports ", "courriels ", "factures ", "archivos ", "documentos ", "informes ",
    "correos ", "facturas ", "文件", "文档",
];
#[rustfmt::skip]
const MENTIONING: &[&str] = &[
    "are about ", "talk about ", "say something about ", "deal with ", "refer to ", "mention ",
    "contain ", "discuss ", "describe ", "explain ", "cover ", "name ", "erwähnen ", "nennen ",
    "handeln von ", "enthalten ", "beschreiben ", "erklären ", "mentionnent ", "parlent de ",
    "contiennent ", "décrivent ", "expliquent ", "mencionan ", "hablan de ", "contienen ",
    "describen ", "explican ", "提到了", "提到", "包含", "关于",
];
/// Words that stand for something in the question before, in lower case.
const POINTING: &[&str] = &[
    "it", "this", "that", "these", "those", "him", "her", "them", "diese", "diesen", "dieses",
    "ihn", "ce", "cette", "ces", "este", "esta", "estos",
];
/// Words in front of a plural in a question for several things, in lower case.
const WHICH: &[&str] = &["which", "welche", "quels", "quelles", "cuáles", "quali"];
/// Words that ask for a table, in lower case.
#[rustfmt::skip]
const TABLE: &[&str] = &[
    "a table", "as table", "eine tabelle", "als tabelle", "un tableau", "una tabla", "表格",
];
/// Verbs of documents, and words in front of what they are about, in lower case.
#[rustfmt::skip]
const SAYING: &[&str] = &[
    "say", "says", "said", "state", "states", "write", "written", "sagt", "steht", "schreibt",
    "dit", "écrit", "dice", "pone",
];
#[rustfmt::skip]
const ABOUT: &[&str] = &[
    "about ", "on ", "of ", "regarding ", "über ", "zu ", "zum ", "zur ", "sur ", "à propos de ",
    "à propos des ", "à propos du ", "au sujet de ", "au sujet des ", "sobre ", "acerca de ",
];
/// Words of what is listed in one place, in lower case.
#[rustfmt::skip]
const ORDERED: &[&str] = &[
    "steps", "instructions", "schritte", "étapes", "instrucciones", "pasos", "步骤",
];
/// Words that ask for a number, in lower case. Most numbers stand in one sentence of a document.
const COUNT: &[&str] = &[
    "how many",
    "wie viele",
    "combien de",
    "cuántos",
    "cuántas",
    "多少",
];
/// Words that ask for what the documents hold together beside them, words directly behind them,
/// and words close behind them, in lower case.
#[rustfmt::skip]
const ALTOGETHER: &[&str] = &[
    "in total", "altogether", "davon", "insgesamt", "au total", "en total", "总共",
];
const OF_THE: [&str; 9] = ["of", "the", "my", "our", "der", "die", "de", "des", "las"];
const COUNTED_OF: &[&str] = &[
    "of the", "of these", "of my", "of our", "der", "dieser", "de las", "de los", "de mis",
];
#[rustfmt::skip]
const COUNTED: &[&str] = &[
    "files", "documents", "reports", "notes", "mails", "emails", "messages", "letters",
    "invoices", "dateien", "dokumente", "berichte", "rechnungen", "briefe", "fichiers",
    "rapports", "courriels", "factures", "archivos", "documentos", "informes", "correos",
    "facturas", "文件", "文档", "报告",
];
/// Words behind a word for a number among which what is counted stands, and "of the"; characters in
/// a script without blanks.
const COUNTED_WITHIN: usize = 2;
const OF_WITHIN: usize = 4;
const COUNTED_WITHIN_CHARS: usize = 4;
/// Words behind what is listed or compared, in lower case: "the saunas of the huts".
const HEAD_ENDS: &[&str] = &[
    " of ", " in ", " on ", " at ", " for ", " from ", " with ", " who ", " that ", " which ",
    " der ", " des ", " von ", " im ", " aus ", " mit ", " de ", " du ", " avec ", " del ",
    " con ", " en ",
];
/// A name that more documents have names none of them.
const MAX_NAMED: usize = 8;
/// Shorter names of files are words like any other.
const MIN_STEM_BYTES: usize = 4;
/// Tokens of the passages that a list is made from, at most this many passages, the number of
/// passages whose files are listed, which no model reads, and the least number for a comparison of
/// two things in one answer: two for each thing.
const LISTING_TOKENS: u32 = 2048;
const MAX_LISTED: u32 = 12;
const OF_FILES: u32 = 60;
const MIN_COMPARED: u32 = 4;
/// Sentences of a summary, as many as the setting takes.
const MAX_SENTENCES: u32 = 1_000_000;

/// Returns the scope of a question over these documents.
pub fn read_scope(question: &str, documents: &[String]) -> Scope {
    let text = question.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| has_word(&text, phrase));
    let mut named = named_documents(&text, documents);
    if named.is_empty() && says(SUMMARY) {
        named.extend(document_by_stem(&text, documents));
        if named.is_empty() {
            named.extend(document_by_date(&text, documents));
        }
    }

    let mut subjects: Vec<String> = find_comparison(question).into_iter().flatten().collect();
    let files_about = files_about(&text);
    let is_one = matches!(named.as_slice(), [one] if documents.contains(one));
    let kind = if !subjects.is_empty() {
        QuestionKind::Comparison
    } else if is_one && says(SUMMARY) {
        QuestionKind::Summary
    } else if let Some(subject) = files_about {
        subjects.push(subject);
        QuestionKind::Files
    } else if find_list_request(&text).is_some() && !says(ORDERED) || asks_for_total(&text) {
        QuestionKind::Listing
    } else {
        subjects.extend(find_pair(question).into_iter().flatten());
        QuestionKind::Fact
    };
    Scope {
        kind,
        documents: named,
        subjects,
    }
}

/// Returns the things of which a question asks for several, or which it compares: no single
/// sentence answers it. Documents that it names are there. `None` for a question for one fact.
pub fn things_asked(scope: &Scope, question: &str) -> Option<Vec<String>> {
    let text = question.to_lowercase();
    match scope.kind {
        QuestionKind::Fact => asks_for_several(&text).then(|| vec![text]),
        QuestionKind::Listing => {
            let asking = [LISTING, COUNT, ALTOGETHER, COUNTED_OF, COUNTED];
            let phrases = asking.iter().copied().flatten();
            let things = phrases.fold(text, |text, phrase| without(text, phrase));
            Some(vec![things])
        }
        QuestionKind::Comparison if scope.documents.is_empty() => Some(scope.subjects.clone()),
        QuestionKind::Comparison | QuestionKind::Files | QuestionKind::Summary => Some(Vec::new()),
    }
}

/// Returns what is listed or compared, without what sets it apart from others of its kind.
pub fn head(thing: &str) -> &str {
    let ends = HEAD_ENDS.iter().filter_map(|end| thing.find(end));
    &thing[..ends.min().unwrap_or(thing.len())]
}

/// Returns whether a question asks for the number of things.
pub fn asks_for_number(question: &str) -> bool {
    let text = question.to_lowercase();
    COUNT.iter().any(|phrase| has_word(&text, phrase))
}

/// Returns whether a question asks for the things of a kind, and neither for their number nor for a
/// table of them.
pub fn asks_for_entries(scope: &Scope, question: &str) -> bool {
    let is_listing = scope.kind == QuestionKind::Listing;
    is_listing && !asks_for_table(question) && !asks_for_number(question)
}

/// Returns the word for what a question in lower case asks the number of.
pub fn find_counted(question: &str) -> Option<String> {
    let behind = COUNT
        .iter()
        .find_map(|phrase| Some(&question[find_words(question, phrase)? + phrase.len()..]))?;
    let mut words = split_words(behind);
    words.find(|word| !OF_THE.contains(word)).map(str::to_owned)
}

/// Returns what a question asks a document about that it names: "What does a.txt say about keys?".
pub fn said_about(question: &str, documents: &[String]) -> Option<String> {
    let mut text = question.to_lowercase();
    for path in documents {
        let path = path.to_lowercase();
        text = without(without(text, &path), file_name(&path));
    }
    let text = fold_white_space(&text);
    let verb = SAYING
        .iter()
        .find_map(|verb| Some(find_words(&text, verb)? + verb.len()))?;
    let rest = text[verb..].trim_start();
    let rest = behind(rest, &["in ", "dans ", "en "]).unwrap_or(rest);
    let about = behind(rest, ABOUT)?.trim_end_matches(|c: char| "?？.。! ".contains(c));
    (!documents.is_empty() && !about.is_empty()).then(|| about.to_owned())
}

/// Returns whether a question in lower case has a word for something in the question before.
pub fn points_back(question: &str) -> bool {
    POINTING.iter().any(|word| has_word(question, word))
}

/// Returns whether a question asks for a table.
pub fn asks_for_table(question: &str) -> bool {
    let text = question.to_lowercase();
    TABLE.iter().any(|phrase| has_word(&text, phrase))
}

/// Returns what a question lists, without the words that ask for a list: they are in other
/// documents, too. `None` for a question that lists nothing, or says not what.
pub fn list_subject(scope: &Scope, question: &str) -> Option<String> {
    let is_list = scope.kind == QuestionKind::Listing;
    let request = find_list_request(&question.to_ascii_lowercase()).filter(|_| is_list)?;
    let (before, behind) = (&question[..request.start], &question[request.end..]);
    let subject = fold_white_space(&format!("{before} {behind}"));
    let says_something = !content_words(&subject, language(&subject)).is_empty();
    says_something.then_some(subject)
}

/// Returns the words of a question that ask for everything of a kind: how something is listed asks
/// for no list.
fn find_list_request(question: &str) -> Option<Range<usize>> {
    LISTING.iter().find_map(|phrase| {
        let at = find_words(question, phrase)?;
        let clause = question[..at].rsplit([
            ',', ':', ';', '.', '!', '?', '\n', '¿', '¡', '，', '。', '？', '：', '；',
        ]);
        let clause = clause.map(str::trim_start).next().unwrap_or_default();
        // "in which menu", "mit welchem Befehl"
        let behind_first = clause.split_once(' ').map(|(_, rest)| rest);
        let asks = |word: &str| match word.chars().next() {
            Some(first) if first.len_utf8() > 2 => clause.contains(word),
            _ => {
                let starts = |text: &str| find_words(text, word) == Some(0);
                starts(clause) || asks_which(word) && behind_first.is_some_and(starts)
            }
        };
        (asks_which(phrase) || !ASKING.iter().any(|word| asks(word)))
            .then_some(at..at + phrase.len())
    })
}

/// Returns whether a question asks for a number that no single document has.
fn asks_for_total(question: &str) -> bool {
    COUNT.iter().any(|phrase| {
        let Some(at) = find_words(question, phrase) else {
            return false;
        };
        let behind = question[at + phrase.len()..].trim_start();
        let first = |count| -> String {
            let words: Vec<&str> = behind.split_whitespace().take(count).collect();
            words.join(" ")
        };
        let near = if phrase.is_ascii() || behind.contains(' ') {
            first(COUNTED_WITHIN)
        } else {
            behind.chars().take(COUNTED_WITHIN_CHARS).collect()
        };
        let holds = |text: &str, words: &[&str]| words.iter().any(|word| has_word(text, word));
        holds(&near, COUNTED) || holds(&first(OF_WITHIN), COUNTED_OF) || holds(question, ALTOGETHER)
    })
}

/// Returns whether a question in lower case asks which things of a kind are so: "Which huts have a
/// stove?".
pub fn asks_for_several(question: &str) -> bool {
    let mut words = question.split_whitespace();
    let which = words.next().filter(|word| WHICH.contains(word));
    let (thing, verb) = (words.next(), words.next());
    let is_plural = |word: &str| {
        let endings = ["ss", "us", "is"];
        let is_german = which == Some("welche") && word.ends_with('n');
        is_german || word.ends_with('s') && !endings.iter().any(|end| word.ends_with(end))
    };
    // a verb of one thing ends in s, too: "which species lives", "which series has"
    which.is_some()
        && thing.is_some_and(is_plural)
        && verb.is_some_and(|verb| verb == "does" || !verb.ends_with('s'))
}

/// Returns whether a question may name a document, so that the names of all are worth reading.
pub fn may_name_documents(question: &str) -> bool {
    let text = question.to_lowercase();
    let after_point = text.split('.').skip(1);
    let has_extension = after_point
        .map(|rest| rest.chars().next())
        .any(|next| next.is_some_and(char::is_alphanumeric));
    has_extension || text.contains('/') || SUMMARY.iter().any(|word| has_word(&text, word))
}

/// Returns whether questions with these settings have a scope: the prompts of the papers search as
/// the papers do.
pub fn has_scope(config: &Config) -> bool {
    let is_for_people = match config.answer.prompt {
        AnswerPrompt::Auto | AnswerPrompt::Sources | AnswerPrompt::Quotes => true,
        AnswerPrompt::StepByStep | AnswerPrompt::QaShort | AnswerPrompt::QaGrounded => false,
    };
    is_for_people && config.answer.scope && config.retriever.kind.is_on()
}

/// Returns whether a question asks the same about two things, so that it is answered for each. Of
/// two that it sets side by side as they are, one answer says more.
pub fn asks_each(config: &Config, question: &str, scope: &Scope) -> bool {
    // a follow-up may have been rewritten
    let of_question = match scope.kind {
        QuestionKind::Fact => find_pair(question),
        QuestionKind::Comparison => {
            find_comparison(question).filter(|[one, _]| one.starts_with(WHAT_IS))
        }
        QuestionKind::Listing | QuestionKind::Files | QuestionKind::Summary => None,
    };
    let asks_same = of_question.is_some_and(|pair| scope.subjects == pair);
    // the sources of a question in another language are searched for a translation
    let is_english = short_text_language(question).is_none_or(|language| language == "en");
    asks_same && is_english && has_scope(config) && config.answer.prompt == AnswerPrompt::Sources
}

/// Returns whether a question is about whole documents, which it sums up or compares, and not about
/// something that they say.
pub fn asks_for_documents(scope: &Scope) -> bool {
    let is_document = |subject: &String| {
        let subject = subject.to_lowercase();
        let mut paths = scope.documents.iter().map(|path| path.to_lowercase());
        paths.any(|path| path == subject || file_name(&path) == subject)
    };
    match scope.kind {
        QuestionKind::Summary => true,
        QuestionKind::Comparison => scope.subjects.iter().all(is_document),
        QuestionKind::Fact | QuestionKind::Listing | QuestionKind::Files => false,
    }
}

/// Returns the settings of a question with this scope.
pub fn scoped_config(question: &str, scope: &Scope, config: &Config) -> Config {
    let is_each = asks_each(config, question, scope);
    let mut config = config.clone();
    let retriever = &mut config.retriever;
    retriever.filter.limit_to(&scope.documents);
    let fitting = LISTING_TOKENS / config.chunker.max_tokens.max(1);
    let least = match scope.kind {
        QuestionKind::Fact | QuestionKind::Summary => 0,
        QuestionKind::Comparison => MIN_COMPARED,
        QuestionKind::Listing => fitting.min(MAX_LISTED),
        QuestionKind::Files => OF_FILES,
    };
    retriever.k = retriever.k.max(least);
    // who asks for much waits for it
    if scope.kind != QuestionKind::Fact && !is_each {
        config.answer.first_word_seconds = 0.0;
    }
    if scope.kind == QuestionKind::Files {
        config.answer.prompt = AnswerPrompt::Quotes;
    }
    if scope.kind == QuestionKind::Summary {
        // each part has its own limit, that of the tokens
        config.answer.max_sentences = MAX_SENTENCES;
    }
    config
}

/// Returns the documents and folders whose path or file name a question has.
fn named_documents(question: &str, documents: &[String]) -> Vec<String> {
    let by = |name: &dyn Fn(&str) -> String| -> Vec<String> {
        let is_named = |path: &&String| {
            let name = name(path);
            name.contains(['.', '/']) && has_word(question, &name)
        };
        documents.iter().filter(is_named).cloned().collect()
    };
    let by_path = by(&str::to_lowercase);
    let named = if by_path.is_empty() {
        by(&|path| file_name(path).to_lowercase())
    } else {
        by_path
    };
    if !named.is_empty() {
        return if named.len() > MAX_NAMED {
            Vec::new()
        } else {
            named
        };
    }

    let words = question.split_whitespace();
    let folders = words
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && !"/_-".contains(c)))
        .filter_map(|word| word.strip_suffix('/'));
    folders
        .filter_map(|folder| {
            let of_folder = |path: &&String| {
                path.to_lowercase()
                    .strip_prefix(folder)
                    .is_some_and(|rest| rest.starts_with('/'))
            };
            let path = documents.iter().find(of_folder)?;
            path.get(..folder.len()).map(str::to_owned)
        })
        .collect()
}

/// Returns the document whose file name without its extension the question has, the longest one.
fn document_by_stem(question: &str, documents: &[String]) -> Option<String> {
    let question = blanks(question);
    let stem = |path: &String| blanks(&document_stem(path).to_lowercase());
    let named = documents.iter().filter(|path| {
        let stem = stem(path);
        stem.len() >= MIN_STEM_BYTES && has_word(&question, &stem)
    });
    named.max_by_key(|path| stem(path).len()).cloned()
}

/// Returns the document of a day that the question has, if it is the only one of it.
fn document_by_date(question: &str, documents: &[String]) -> Option<String> {
    let day = date_in_text(question)?;
    let mut of_day = documents
        .iter()
        .filter(|path| named_dates(path).iter().any(|date| date.starts_with(&day)));
    of_day.next().filter(|_| of_day.next().is_none()).cloned()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn blanks(text: &str) -> String {
    text.replace(['-', '_'], " ")
}

/// Returns the subject of a question for the files that are about something.
fn files_about(question: &str) -> Option<String> {
    let rest = behind(behind(question, WHICH_FILES)?, FILES)?;
    // "which reports that mention it are late" asks for something else
    let is_list = question.starts_with("list");
    let rest = rest
        .strip_prefix("that ")
        .filter(|_| is_list)
        .unwrap_or(rest);
    let subject = behind(rest, MENTIONING)?;
    let subject = subject.trim_end_matches(|c: char| "?？.。! ".contains(c));
    let language = short_text_language(question).unwrap_or_else(|| language(subject));
    // "that ship" is one of another question
    let points = points_back(subject);
    let says_something = !points && !content_words(subject, language).is_empty();
    says_something.then(|| subject.to_owned())
}

/// Returns the text behind the first of some beginnings that it has.
fn behind<'t>(text: &'t str, beginnings: &[&str]) -> Option<&'t str> {
    let rest = beginnings.iter().find_map(|word| text.strip_prefix(word))?;
    Some(rest.trim_start())
}

/// Returns a text without some words.
fn without(mut text: String, words: &str) -> String {
    while let Some(at) = find_words(&text, words) {
        text.replace_range(at..at + words.len(), " ");
    }
    text
}

fn has_word(text: &str, words: &str) -> bool {
    find_words(text, words).is_some()
}

/// Returns where a text has these words first, and not as a part of longer ones; scripts without
/// blanks have no ends of words.
pub fn find_words(text: &str, words: &str) -> Option<usize> {
    let is_inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_ascii_like = words.chars().all(|c| c.len_utf8() < 3);
    let mut found = text.match_indices(words).map(|(at, _)| at);
    found.find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + words.len()..].chars().next();
        !is_ascii_like || !(is_inside(before) || is_inside(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_have_the_scope_that_their_words_give() {
        use QuestionKind::{Comparison, Fact, Files, Listing, Summary};
        let documents = [
            "reports/q1.pdf",
            "reports/Q2.pdf",
            "notes/french-and-indian-war.md",
            "a/README.md",
            "b/README.md",
            "prices.csv",
            "minutes/2024-05-07.md",
            "minutes/2024-05-09.md",
        ]
        .map(str::to_owned);
        let cases: &[(&str, QuestionKind, &[&str], &[&str])] = &[
            ("Who paid for the bridge?", Fact, &[], &[]),
            (
                "What does q1.pdf say of costs?",
                Fact,
                &["reports/q1.pdf"],
                &[],
            ),
            ("What does Q2.PDF say?", Fact, &["reports/Q2.pdf"], &[]),
            ("What does xq1.pdf say?", Fact, &[], &[]),
            ("Costs in reports/, please", Fact, &["reports"], &[]),
            ("What is in a/README.md?", Fact, &["a/README.md"], &[]),
            (
                "What is in README.md?",
                Fact,
                &["a/README.md", "b/README.md"],
                &[],
            ),
            ("How many ships sank?", Fact, &[], &[]),
            (
                "When did Mira and Tam leave?",
                Fact,
                &[],
                &["When did Mira leave?", "When did Tam leave?"],
            ),
            ("How many days are old files kept?", Fact, &[], &[]),
            ("How many ships of the register sank?", Listing, &[], &[]),
            ("How many unpaid invoices are there?", Listing, &[], &[]),
            ("Wie viele meiner Rechnungen sind offen?", Listing, &[], &[]),
            ("有多少份报告是迟交的？", Listing, &[], &[]),
            ("How many ships sank in total?", Listing, &[], &[]),
            ("How many of the reports are late?", Listing, &[], &[]),
            ("Wie viele Rechnungen sind offen?", Listing, &[], &[]),
            ("List all ships", Listing, &[], &[]),
            ("Make a table of all sensors", Listing, &[], &[]),
            ("List the steps to clean the boiler", Fact, &[], &[]),
            ("How do I list all ships?", Fact, &[], &[]),
            ("Which option prints a list of ships?", Fact, &[], &[]),
            ("Is there a way to list all ships?", Fact, &[], &[]),
            ("Wie mache ich eine Liste der Schiffe?", Fact, &[], &[]),
            ("Who is away? List all names.", Listing, &[], &[]),
            ("Can you list all ships?", Listing, &[], &[]),
            ("列出所有小屋", Listing, &[], &[]),
            ("哪个命令列出小屋？", Fact, &[], &[]),
            ("请问，用哪个命令列出小屋？", Fact, &[], &[]),
            ("¿Cómo hago una lista de los barcos?", Fact, &[], &[]),
            ("Mit welchem Befehl bekomme ich eine Liste?", Fact, &[], &[]),
            ("Do you know which files were signed?", Listing, &[], &[]),
            ("Which files were signed?", Listing, &[], &[]),
            ("Which files mention it?", Listing, &[], &[]),
            ("Which files mention that ship?", Listing, &[], &[]),
            ("Welche Dateien nennen sie?", Listing, &[], &[]),
            (
                "How many reports that mention tides are late?",
                Listing,
                &[],
                &[],
            ),
            (
                "List all reports that mention tides",
                Files,
                &[],
                &["tides"],
            ),
            ("Which files mention C++?", Files, &[], &["c++"]),
            ("How many reports name a ship?", Files, &[], &["a ship"]),
            ("Welche Dateien nennen Kosten?", Files, &[], &["kosten"]),
            ("哪些文件提到了潮汐表？", Files, &[], &["潮汐表"]),
            ("Who won the French and Indian War?", Fact, &[], &[]),
            ("Summarise q1.pdf", Summary, &["reports/q1.pdf"], &[]),
            (
                "Please summarize the French and Indian War",
                Summary,
                &["notes/french-and-indian-war.md"],
                &[],
            ),
            ("Summarise the history of tea", Fact, &[], &[]),
            (
                "Summarise the meeting of 7 May 2024",
                Summary,
                &["minutes/2024-05-07.md"],
                &[],
            ),
            ("Summarise the meeting of 8 May 2024", Fact, &[], &[]),
            ("Fasse prices.csv zusammen", Summary, &["prices.csv"], &[]),
            (
                "Compare tea with coffee.",
                Comparison,
                &[],
                &["tea", "coffee"],
            ),
            (
                "What is the difference between Aqua 3 and Aqua 5?",
                Comparison,
                &[],
                &["Aqua 3", "Aqua 5"],
            ),
            (
                "Unterschied zwischen Tee und Kaffee?",
                Comparison,
                &[],
                &["Tee", "Kaffee"],
            ),
            ("总结 q1.pdf", Summary, &["reports/q1.pdf"], &[]),
        ];
        assert!(!may_name_documents("Who paid for the bridge? And when."));
        for (question, kind, named, subjects) in cases {
            let expected = Scope {
                kind: *kind,
                documents: named.iter().map(|name| (*name).to_owned()).collect(),
                subjects: subjects.iter().map(|name| (*name).to_owned()).collect(),
            };
            assert!(
                named.is_empty() || may_name_documents(question),
                "{question}"
            );
            let found = read_scope(question, &documents);
            assert_eq!(found, expected, "{question}");
        }
    }

    #[test]
    fn what_a_named_document_says_about_something_is_read() {
        let documents = ["notes/handover.txt".to_owned()];
        for (question, expected) in [
            (
                "What does handover.txt say about the keys?",
                Some("the keys"),
            ),
            (
                "What is written in notes/handover.txt about meters?",
                Some("meters"),
            ),
            (
                "Was sagt handover.txt über die Schlüssel?",
                Some("die schlüssel"),
            ),
            (
                "Was steht in handover.txt zu den Schlüsseln?",
                Some("den schlüsseln"),
            ),
            ("Que dit handover.txt sur les clés ?", Some("les clés")),
            (
                "¿Qué dice handover.txt sobre las llaves?",
                Some("las llaves"),
            ),
            ("What does handover.txt say?", None),
            ("Who said in handover.txt that the keys are lost?", None),
        ] {
            let found = said_about(question, &documents);
            assert_eq!(found.as_deref(), expected, "{question}");
        }
        assert_eq!(said_about("What does she say about it?", &[]), None);
    }

    #[test]
    fn things_of_which_one_asks_the_same_are_asked_about_by_themselves() {
        let mut config = Config::default();
        config.answer.prompt = AnswerPrompt::Sources;
        for (question, is_each) in [
            ("When were Abra and Corvo founded?", true),
            (
                "Compare the profit of Abra in 2018 and Corvo in 2019.",
                true,
            ),
            ("Compare the Abra and the Corvo.", false),
            ("Compare tea with coffee.", false),
            ("Quand Mira et Tam sont-ils partis ?", false),
            ("When was Abra founded?", false),
        ] {
            let scope = read_scope(question, &[]);
            assert_eq!(asks_each(&config, question, &scope), is_each, "{question}");
        }
        let scope = read_scope("When did Mira and Tam leave it?", &[]);
        let rewritten = "When did Mira and Tam leave Lorby?";
        assert!(!asks_each(&config, rewritten, &scope));
    }

    #[test]
    fn a_question_for_several_things_names_them() {
        let listing = Scope {
            kind: QuestionKind::Listing,
            ..Scope::default()
        };
        for (question, expected) in [
            ("Please list all huts", true),
            ("列出所有小屋", true),
            ("List all huts in a table", false),
            ("How many of the huts have a stove?", false),
        ] {
            assert_eq!(asks_for_entries(&listing, question), expected, "{question}");
        }
        let asked = "In Lorby, please list all huts of Ann.";
        let without = "In Lorby, please huts of Ann.";
        assert_eq!(list_subject(&listing, asked).as_deref(), Some(without));
        assert_eq!(list_subject(&Scope::default(), asked), None);
        assert_eq!(list_subject(&listing, "List everything."), None);
        let comparison = Scope {
            kind: QuestionKind::Comparison,
            subjects: vec!["a kettle".to_owned(), "a pan".to_owned()],
            ..Scope::default()
        };
        let named = Scope {
            documents: vec!["a.md".to_owned()],
            ..comparison.clone()
        };
        type Things = Option<&'static [&'static str]>;
        let cases: [(&Scope, &str, Things); 11] = [
            (&named, "Compare a.md with b.md", Some(&[])),
            (&listing, "List all huts", Some(&["  huts"])),
            (&listing, "List all leaders", Some(&["  leaders"])),
            (
                &comparison,
                "Compare a kettle with a pan",
                Some(&["a kettle", "a pan"]),
            ),
            (
                &Scope::default(),
                "Which huts have a stove?",
                Some(&["which huts have a stove?"]),
            ),
            (
                &Scope::default(),
                "Which huts does Ann own?",
                Some(&["which huts does ann own?"]),
            ),
            (&Scope::default(), "Which hut has a stove?", None),
            (&Scope::default(), "Which species lives there?", None),
            (&Scope::default(), "Which bus goes there?", None),
            (&Scope::default(), "Which captain painted the tower?", None),
            (&Scope::default(), "Who built the huts?", None),
        ];
        for (scope, question, expected) in cases {
            let expected =
                expected.map(|things| things.iter().map(|&thing| thing.to_owned()).collect());
            assert_eq!(things_asked(scope, question), expected, "{question}");
        }
        assert_eq!(head("  saunas of the huts with a stove"), "  saunas");
        assert_eq!(head("beds"), "beds");
    }
}
