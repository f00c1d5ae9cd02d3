//! Plain technical English (`.github/CONTRIBUTING.md`): words that are not used in source, settings,
//! prompts and documents.

use std::fs;
use std::path::{Path, PathBuf};

/// Words and phrases that are not used, and what to write instead. A hit is whole and in any case; an
/// underscore separates words.
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
        &["doubt", "doubts", "doubted", "doubting", "doubtful"],
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
