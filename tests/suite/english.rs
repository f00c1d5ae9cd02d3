//! Plain technical English (`.github/CONTRIBUTING.md`): words that are not used in source,
//! settings, prompts and documents, and the form of constructors, messages and comments.

use std::fs;
use std::path::{Path, PathBuf};

/// Words and phrases that are not used, and what to write instead. A hit is whole and in any case;
/// an underscore separates words.
const UNUSED: &[(&[&str], &str)] = &[
    (
        &["tell", "tells", "telling", "told"],
        "emit, report, log, print, distinguish",
    ),
    (&["anew", "afresh"], "again, or rebuild, regenerate, rerank"),
    (&["likeness", "likenesses"], "similarity"),
    (
        &["cut again", "cuts again", "recut", "recuts"],
        "re-chunked, re-chunks",
    ),
    (&["by hand"], "manually, composed, pinned or excluded"),
    (&["so many", "so much"], "a number of, this number of"),
    (
        &["bring", "brings", "bringing", "brought"],
        "retrieve, return, add, update",
    ),
    (
        &["whoever", "whomever", "a person", "a person's"],
        "the caller, the reader, the user",
    ),
    (
        &["doubt", "doubts", "doubted", "doubting"],
        "uncertain, uncertainty",
    ),
    (&["whereabouts"], "trace, location"),
    (
        &["looks up", "looked up", "looking it up", "look it up"],
        "retrieve; for a table: find, read",
    ),
    (
        &["said another way", "says another way", "said otherwise"],
        "rephrased",
    ),
    (
        &["mend", "mends", "mended", "mending"],
        "fix, repair, restore",
    ),
    (
        &["at the most", "at the least"],
        "at most, maximum; at least, minimum",
    ),
    (&["for want of", "for lack of"], "without, if there is no"),
    (&["taken over", "takes over"], "reused; replaces"),
    (
        &["in the race", "contender", "contenders"],
        "candidate, remaining",
    ),
    (
        &["throw away", "throws away", "thrown away"],
        "delete, discard",
    ),
    (
        &["go on", "goes on", "going on", "went on"],
        "continue, proceed, happen",
    ),
    (&["give way", "gives way"], "yield, stop for"),
    (&["broke off", "breaks off"], "fail, end early"),
    (&["lend", "lends", "lent"], "borrow, pass, provide"),
    (&["chore", "chores"], "background task"),
    (&["come of", "comes of", "came of"], "result, follow from"),
    (&["books of the", "cache of keys"], "KV cache, bookkeeping"),
];

/// What is read: files, and folders with all that is below them.
const READ: &[&str] = &[
    ".github",
    "CHANGELOG.md",
    "Makefile",
    "README.md",
    "assets/guide",
    "assets/prompts",
    "benches/presets",
    "config",
    "src",
    "tests/suite",
];

#[test]
fn the_words_are_those_of_the_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for name in READ {
        collect(&root.join(name), &mut files);
    }
    assert!(files.len() > 250, "only {} files were read", files.len());

    let mut table = String::new();
    for file in files {
        let name = file.strip_prefix(root).expect("a file of the repository");
        let name = name.to_string_lossy().replace('\\', "/");
        // this file lists the words
        if name.ends_with("suite/english.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("text");
        for (number, line) in (1..).zip(text.lines()) {
            for (word, instead) in unused(line) {
                table.push_str(&format!("{name}:{number}: `{word}`, better: {instead}\n"));
            }
        }
    }
    assert!(table.is_empty(), "words that are not used here:\n{table}");
}

/// Returns the unused words in a line.
fn unused(line: &str) -> Vec<(&'static str, &'static str)> {
    let line = line.to_lowercase();
    // an underscore separates words, and so do the marks of a comment
    let words: Vec<&str> = line
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .collect();

    let mut found = Vec::new();
    for (unused, instead) in UNUSED {
        for phrase in *unused {
            let phrase_words: Vec<&str> = phrase.split(' ').collect();
            let is_used = words
                .windows(phrase_words.len())
                .any(|window| window == phrase_words);
            if is_used {
                found.push((*phrase, *instead));
            }
        }
    }
    found
}

/// Adds a file, or the text files below a folder.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    const TEXT: &[&str] = &["rs", "toml", "md", "yml"];
    if path.is_file() {
        files.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_text = path
            .extension()
            .is_some_and(|ending| TEXT.iter().any(|text| ending == *text));
        if path.is_dir() || is_text {
            collect(&path, files);
        }
    }
}

/// Modules whose constructors are not named `new`, `from_*`, `with_*` or `for_*` yet. A module
/// leaves this list and never enters it.
const WITH_OF: &[&str] = &["tests/suite"];

/// Modules with functions that are named by a bare participle yet. A module leaves this list and never
/// enters it.
const WITH_PARTICIPLES: &[&str] = &["tests/suite"];

/// Names that are a participle and stay, each for a reason.
const PARTICIPLES_THAT_STAY: &[&str] = &[
    "elapsed", // the name in std::time::Instant, for the same
    "left",    // the side of a line, beside `right`
];

/// Participles that do not end in -ed.
const IRREGULAR_PARTICIPLES: &[&str] = &[
    "bound",
    "built",
    "chosen",
    "drawn",
    "found",
    "given",
    "held",
    "hidden",
    "kept",
    "known",
    "led",
    "left",
    "made",
    "meant",
    "met",
    "seen",
    "sent",
    "shown",
    "sought",
    "spent",
    "taken",
    "torn",
    "understood",
    "worn",
    "written",
];

/// Verbs and nouns that end in -ed.
const NO_PARTICIPLES: &[&str] = &["embed", "feed", "need", "seed", "speed"];

/// Words behind a participle that leave it one: `found_by`, but not `needed_tokens`.
const PREPOSITIONS: &[&str] = &[
    "as", "at", "by", "for", "from", "in", "into", "of", "to", "with",
];

/// Words that a doc does not begin with: its first line is a sentence with a verb in the third
/// person, or a noun.
const NOT_FIRST_IN_DOCS: &[&str] = &[
    "As", "At", "By", "From", "How", "In", "It", "Its", "Of", "On", "That", "Their", "These",
    "Those", "What", "When", "Where", "Which", "Who", "Whose", "Why", "With",
];

/// A fault of a name.
const CONSTRUCTOR: &str = "a constructor named `of`, better: `new`, `from_*`, `with_*`, `for_*`";
const PARTICIPLE: &str = "a function named by a bare participle, better: a verb or a noun";

const MAX_COLUMNS: usize = 100;

#[test]
fn names_messages_and_comments_have_the_form_of_the_house() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut table = String::new();
    for folder in ["src", "tests/suite"] {
        let mut files = Vec::new();
        collect(&root.join(folder), &mut files);
        for file in files {
            let name = file.strip_prefix(root).expect("a file of the repository");
            // this file holds examples of what is wrong
            if name.extension().is_none_or(|ending| ending != "rs")
                || name.ends_with("suite/english.rs")
            {
                continue;
            }
            let text = fs::read_to_string(&file).expect("text");
            let is_in = |modules: &[&str]| modules.iter().any(|module| name.starts_with(module));
            for (line, fault) in faults(&text) {
                let may_stay = fault == CONSTRUCTOR && is_in(WITH_OF)
                    || fault == PARTICIPLE && is_in(WITH_PARTICIPLES);
                if may_stay {
                    continue;
                }
                table.push_str(&format!("{}:{line}: {fault}\n", name.display()));
            }
        }
    }
    assert!(table.is_empty(), "{table}");
}

/// Returns the lines of a source file that are not of the form of the house, counted from 1, with
/// what is wrong.
fn faults(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut previous = "";
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start();
        let is_comment = trimmed.starts_with("//");
        if is_comment && line.chars().count() > MAX_COLUMNS {
            found.push((number, format!("a comment of over {MAX_COLUMNS} columns")));
        }
        if let Some(word) = first_word_of_doc(trimmed, previous)
            && NOT_FIRST_IN_DOCS.contains(&word)
        {
            found.push((number, format!("a doc that begins with `{word}`")));
        }
        if let Some(name) = function_name(trimmed) {
            if name == "of" || name.starts_with("of_") {
                found.push((number, CONSTRUCTOR.to_owned()));
            }
            if is_bare_participle(name) {
                found.push((number, PARTICIPLE.to_owned()));
            }
        }
        if !is_comment && denies_with_no(line) {
            found.push((number, "`is no ...`, better: `is not a ...`".to_owned()));
        }
        previous = trimmed;
    }
    found
}

/// Returns the first word of a doc comment that begins on this line.
fn first_word_of_doc<'l>(line: &'l str, previous: &str) -> Option<&'l str> {
    let mark = ["///", "//!"]
        .into_iter()
        .find(|mark| line.starts_with(mark))?;
    let begins = !previous.starts_with(mark);
    begins.then(|| line[mark.len()..].split_whitespace().next())?
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_declaration = before.split_whitespace().all(|word| {
        matches!(word, "const" | "async" | "unsafe" | "extern" | "\"C\"") || word.starts_with("pub")
    });
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    is_declaration.then_some(&after[..end])
}

/// Returns whether a function is named by a participle alone.
fn is_bare_participle(name: &str) -> bool {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default();
    let is_participle = first.ends_with("ed") && !NO_PARTICIPLES.contains(&first)
        || IRREGULAR_PARTICIPLES.contains(&first);
    let is_alone = words.next().is_none_or(|word| PREPOSITIONS.contains(&word));
    is_participle && is_alone && !PARTICIPLES_THAT_STAY.contains(&name)
}

/// Returns whether a message says that something "is no X".
fn denies_with_no(line: &str) -> bool {
    line.match_indices(" is no ").any(|(at, found)| {
        let after = &line[at + found.len()..];
        let has_subject = !line[..at].ends_with("there") && !line[..at].ends_with("There");
        has_subject && !after.starts_with("longer")
    })
}

#[test]
fn a_fault_of_form_is_found() {
    let kinds =
        |text: &str| -> Vec<String> { faults(text).into_iter().map(|(_, why)| why).collect() };
    let wrong = [
        "    pub fn of(text: &str) -> Self {",
        "fn of_columns() {}",
        "pub(super) const fn of_text() -> bool {",
        "pub(super) const fn judged() -> bool {",
        "fn found_by(text: &str) {}",
        "    message(\"this is no file\");",
        "/// What it is.",
        "fn f() {}\n    /// Its number.",
    ];
    for text in wrong {
        assert_eq!(kinds(text).len(), 1, "{text}");
    }
    assert_eq!(kinds(&format!("// {}", "x".repeat(98))).len(), 1);

    let right = [
        "    pub fn from_text(text: &str) -> Self {",
        "fn offset() {}",
        "fn needed_tokens() {}",
        "fn embed(text: &str) {}",
        "pub fn elapsed(&self) -> Duration {",
        "// What forces this: a format.",
        "    message(\"there is no file, and it is no longer read\");",
        "let of = 1;",
        "/// A number.\n/// What it counts is in the second line.",
    ];
    for text in right {
        assert_eq!(kinds(text), [""; 0], "{text}");
    }
}

#[test]
fn a_hit_is_a_whole_word_or_phrase() {
    let words = |line| -> Vec<&str> {
        let found = unused(line).into_iter();
        found.map(|(word, _)| word).collect()
    };
    assert_eq!(words("/// Told so."), ["told"]);
    assert_eq!(words("fn by_hand() {}"), ["by hand"]);
    assert_eq!(
        words("The retold, a teller, SoManyWords, by handing"),
        [""; 0]
    );
    assert_eq!(words("it is `cut again`, and anew"), ["anew", "cut again"]);
}
