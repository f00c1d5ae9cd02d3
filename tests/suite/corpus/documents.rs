//! Real documents of Debian's packages, each against the tool of reference for its format: how many
//! of its words are read. `.ci/documents` downloads them.
//!
//! `UPDATE_DOCUMENTS=1` runs the tools for the lines of the table that have no figures
//! (`"words":0`), and records them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ragscope::corpus::{Document, ReadOptions};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// The least share of the words of a format.
const LEAST: f64 = 0.97;
const LEAST_OF_PDF: f64 = 0.95;
/// Share by which the number of words that are read may differ from the recorded one.
const TOLERANCE: f64 = 0.01;

/// A document, with the figures that were recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Recorded {
    package: String,
    path: String,
    tool: Tool,
    /// Words that the tool finds.
    words: usize,
    /// Words that the program reads.
    read: usize,
    /// Share of the tool's words, each as often as the tool finds it, that the program reads.
    recovered: f64,
}

/// The tool of reference of a format.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tool {
    Pdftotext,
    Pandoc,
    /// LibreOffice: what a text document, the pages of a presentation or the cells of a workbook
    /// show.
    Writer,
    Impress,
    Calc,
    /// Python's `email`.
    Email,
    /// The text without tags and pictures: pandoc reads few books of FictionBook.
    Untagged,
}

impl Recorded {
    fn format(&self) -> &str {
        let name = self.path.trim_end_matches(".gz");
        name.rsplit('.').next().unwrap_or_default()
    }
}

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/documents/debian.jsonl")
}

fn recorded() -> Vec<Recorded> {
    let text = fs::read_to_string(table()).expect("a table");
    text.lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

/// Returns how often each word occurs: runs of letters and digits in lower case, and each character
/// of a script that has no spaces. Forms of a letter (superscripts, letters of formulas) count as
/// the letter.
fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let mut word = String::new();
    for c in text.nfkc().chain([' ']) {
        let stands_alone = matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
        if c.is_alphanumeric() && !stands_alone {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            *counts.entry(std::mem::take(&mut word)).or_default() += 1;
        }
        if stands_alone {
            *counts.entry(c.to_string()).or_default() += 1;
        }
    }
    counts
}

fn total(counts: &HashMap<String, usize>) -> usize {
    counts.values().sum()
}

fn recovered(read: &HashMap<String, usize>, reference: &HashMap<String, usize>) -> f64 {
    let of = |(word, count): (&String, &usize)| (*count).min(read.get(word).copied().unwrap_or(0));
    reference.iter().map(of).sum::<usize>() as f64 / total(reference) as f64
}

/// Returns the text that the program reads.
fn read(file: &Path) -> Result<String, String> {
    let options = ReadOptions {
        keep_page_headers: true,
        ..ReadOptions::default()
    };
    let name = file.to_str().expect("UTF-8");
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    Document::read(name, bytes, &options).map(|document| document.text)
}

impl Tool {
    /// Returns the text that the tool finds.
    fn text(self, file: &Path) -> String {
        let scratch = tempfile::tempdir().expect("a folder");
        let plain = unpacked(file, scratch.path());
        match self {
            Self::Pdftotext => output(Command::new("pdftotext").arg(&plain).arg("-")),
            Self::Pandoc => without_tex(&output(
                Command::new("pandoc")
                    .args(["--to", "plain", "--wrap", "none"])
                    .arg(&plain),
            )),
            Self::Writer => converted(&plain, scratch.path(), "txt:Text (encoded):UTF8"),
            Self::Impress => {
                converted(&plain, scratch.path(), "pdf");
                let pdf = plain.with_extension("pdf");
                without_numbers(&output(Command::new("pdftotext").arg(pdf).arg("-")))
            }
            // comma, quotes, UTF-8, cells as shown, every sheet in a file of its own
            Self::Calc => converted(
                &plain,
                scratch.path(),
                "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1",
            ),
            Self::Untagged => untagged(&fs::read_to_string(&plain).expect("UTF-8")),
            Self::Email => output(Command::new("python3").args(["-c", MAIL]).arg(&plain)),
        }
    }
}

/// Prints subject, names and text parts of the messages of a file.
const MAIL: &str = r#"
import email, email.policy, mailbox, sys
name = sys.argv[1]
policy = email.policy.default
one = lambda file: email.message_from_binary_file(file, policy=policy)
messages = list(mailbox.mbox(name, factory=one)) or [one(open(name, "rb"))]
for message in messages:
    print(message["subject"] or "")
    for part in message.walk():
        if part.get_content_type() == "text/plain":
            print(part.get_content())
"#;

/// Copies a file, unpacked, into a folder of its own.
fn unpacked(file: &Path, folder: &Path) -> PathBuf {
    let name = file.file_name().expect("a name").to_str().expect("UTF-8");
    let bytes = fs::read(file).expect("a file");
    let (name, bytes) = match name.strip_suffix(".gz") {
        None => (name, bytes),
        Some(inner) => {
            let mut plain = Vec::new();
            std::io::copy(
                &mut flate2::read::GzDecoder::new(bytes.as_slice()),
                &mut plain,
            )
            .expect("a gzip file");
            (inner, plain)
        }
    };
    let copy = folder.join(name);
    fs::write(&copy, bytes).expect("written");
    copy
}

/// Converts a file with LibreOffice, and returns what it wrote as text.
fn converted(file: &Path, folder: &Path, to: &str) -> String {
    let out = folder.join("out");
    let ended = Command::new("soffice")
        .arg(format!(
            "-env:UserInstallation=file://{}",
            folder.join("profile").display()
        ))
        .args(["--headless", "--convert-to", to, "--outdir"])
        .arg(if to == "pdf" { folder } else { &out })
        .arg(file)
        .output()
        .expect("soffice");
    assert!(ended.status.success(), "{ended:?}");
    if to == "pdf" {
        return String::new();
    }
    let mut text = String::new();
    for entry in fs::read_dir(&out).expect("what LibreOffice wrote") {
        let bytes = fs::read(entry.expect("an entry").path()).expect("a file");
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    text
}

/// Leaves out the commands of TeX: pandoc writes formulas as such.
fn without_tex(text: &str) -> String {
    let mut parts = text.split('\\');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + " " + part.trim_start_matches(|c: char| c.is_ascii_alphabetic())
    })
}

/// Returns the text of the body of a book without tags, references and pictures.
fn untagged(xml: &str) -> String {
    let body = xml.split("<body").nth(1).unwrap_or_default();
    let text = body.split("<binary").next().unwrap_or_default();
    let without = |text: &str, from: char, to: char| {
        let parts = text.split(from);
        let kept = parts.map(|part| {
            part.split_once(to)
                .map_or(part, |(_, text)| text)
                .to_owned()
        });
        kept.collect::<Vec<_>>().join(" ")
    };
    without(&without(text, '<', '>'), '&', ';')
}

/// Leaves out single letters and numbers: pages of slides show their numbers, and words whose
/// letters stand apart.
fn without_numbers(text: &str) -> String {
    let words = text.split_whitespace();
    let kept = words.filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1);
    kept.collect::<Vec<_>>().join(" ")
}

fn output(command: &mut Command) -> String {
    let ended = command.output().expect("the tool of reference");
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

#[test]
#[ignore = "downloads 71 MB: make test-formats"]
fn real_documents_keep_their_words() {
    let folder = std::env::var("RAGSCOPE_DOCUMENTS").expect("RAGSCOPE_DOCUMENTS names the folder");
    let update = std::env::var_os("UPDATE_DOCUMENTS").is_some();
    let mut all = recorded();
    let mut faults = String::new();

    for at in 0..all.len() {
        let file = Path::new(&folder)
            .join(&all[at].package)
            .join(&all[at].path);
        let read = match read(&file) {
            Ok(text) => words(&text),
            Err(reason) => {
                writeln!(faults, "{}: {reason}", file.display()).expect("written");
                continue;
            }
        };
        if update && all[at].words == 0 {
            record(&mut all[at], &file, &read);
            save(&all);
        }

        let (now, then) = (total(&read) as f64, all[at].read as f64);
        if (now - then).abs() > then * TOLERANCE {
            let name = file.display();
            writeln!(faults, "{name}: {now} words, {then} before").expect("written");
        }
    }

    faults += &formats_below_the_least(&all);
    assert!(faults.is_empty(), "{faults}");
}

/// Compares the words that were read with those of the tool.
fn record(document: &mut Recorded, file: &Path, read: &HashMap<String, usize>) {
    let reference = words(&document.tool.text(file));
    document.words = total(&reference);
    document.read = total(read);
    document.recovered = (recovered(read, &reference) * 1e4).round() / 1e4;
    println!("{} {}", document.recovered, document.path);
    println!("    {}", missing(read, &reference).join(" "));
}

/// Returns the words that are most often missing.
fn missing(read: &HashMap<String, usize>, reference: &HashMap<String, usize>) -> Vec<String> {
    let lost = |(word, count): (&String, &usize)| {
        let lost = count.saturating_sub(read.get(word).copied().unwrap_or(0));
        (lost > 0).then(|| (lost, word.clone()))
    };
    let mut lost: Vec<(usize, String)> = reference.iter().filter_map(lost).collect();
    lost.sort_unstable_by(|one, other| other.cmp(one));
    lost.truncate(20);
    lost.into_iter()
        .map(|(count, word)| format!("{word}:{count}"))
        .collect()
}

fn save(all: &[Recorded]) {
    let line = |one| serde_json::to_string(one).expect("JSON") + "\n";
    fs::write(table(), all.iter().map(line).collect::<String>()).expect("written");
}

/// Prints the share of the words of each format, and returns the faults.
fn formats_below_the_least(all: &[Recorded]) -> String {
    let mut formats: Vec<&str> = all.iter().map(Recorded::format).collect();
    formats.sort_unstable();
    formats.dedup();

    let mut faults = String::new();
    for format in formats {
        let of: Vec<&Recorded> = all.iter().filter(|one| one.format() == format).collect();
        let words: usize = of.iter().map(|one| one.words).sum();
        let read: f64 = of.iter().map(|one| one.recovered * one.words as f64).sum();
        let share = read / words as f64;
        println!("{format:5} {:2} files {words:6} words {share:.4}", of.len());

        let least = if format == "pdf" { LEAST_OF_PDF } else { LEAST };
        if share < least {
            writeln!(faults, "{format}: {share:.4} of the words").expect("written");
        }
    }
    faults
}
