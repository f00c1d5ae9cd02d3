//! The memory that indexing takes: in proportion to the largest file, whatever its format.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::program::Program;

const MEGABYTE: usize = 1 << 20;
/// Peak memory per byte of the largest file, at most.
const MAX_RATIO: u64 = 12;
/// What the program and its reader take for a file of one line.
const CONSTANT_BYTES: u64 = 100 << 20;
const SENTENCES: [&str; 4] = [
    "Mira Oakes was born in Harwenby and kept the lamp for nineteen years",
    "Tam Reeve carried forty fathoms of rope to Lorbymouth",
    "The Heron sails at nine with salt, bells and copper",
    "In spring the keeper counted boats from the gallery",
];

/// A format: its ending, what a file begins with, one of its parts with `~` for a number and `@` for a
/// sentence, and what a file ends with.
struct Grown(&'static str, &'static str, &'static str, &'static str);

const FORMATS: [Grown; 18] = [
    Grown("txt", "", "@.\n", ""),
    Grown(
        "log",
        "",
        "\x1b[32m12:00 ~\x1b[0m \x1b[31mERROR\x1b[0m @\n",
        "",
    ),
    Grown("md", "", "## Part ~\n\n@.\n\n- @\n\n", ""),
    Grown("html", "<html><body>", "<h2>Part ~</h2><p>@.</p>\n", ""),
    Grown(
        "xml",
        "<all>",
        "<item id=\"~\"><text>@</text></item>\n",
        "</all>",
    ),
    Grown("csv", "id,text\n", "~,\"@\"\n", ""),
    Grown("json", "[", "{\"id\": ~, \"text\": \"@\"},\n", "{}]"),
    Grown("jsonl", "", "{\"id\": ~, \"text\": \"@\"}\n", ""),
    Grown("yaml", "", "- id: ~\n  text: @\n", ""),
    Grown("toml", "", "[item~]\ntext = \"@\"\n", ""),
    Grown(
        "ipynb",
        "{\"nbformat\": 4, \"metadata\": {}, \"cells\": [",
        "{\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": [\"@\\n\"]},\n",
        "{\"cell_type\": \"code\", \"metadata\": {}, \"source\": []}]}",
    ),
    Grown("eml", "From: a@b.c\nSubject: Ships\n\n", "@.\n", ""),
    Grown(
        "mbox",
        "",
        "From a Mon Nov 23 13:00:00 2026\nSubject: Ship ~\n\n@.\n@.\n\n",
        "",
    ),
    Grown("srt", "", "~\n00:00:01,000 --> 00:00:02,000\n@\n\n", ""),
    Grown(
        "tex",
        "\\begin{document}",
        "\\section{Part ~}\n@.\n\n",
        "\\end{document}",
    ),
    Grown(
        "py",
        "",
        "def f~(a):\n    \"\"\"@.\"\"\"\n    return a + ~\n\n\n",
        "",
    ),
    Grown(
        "rs",
        "",
        "/// @.\nfn f~(a: u32) -> u32 {\n    a + ~\n}\n\n",
        "",
    ),
    Grown("sh", "", "# @\nf~() {\n  echo \"@\"\n}\n\n", ""),
];

impl Grown {
    /// Returns a file of this many bytes or a little more.
    fn file(&self, bytes: usize) -> Vec<u8> {
        let Self(_, head, part, tail) = self;
        let mut text = (*head).to_owned();
        for number in 0.. {
            if text.len() >= bytes {
                break;
            }
            let sentence = SENTENCES[number * 7 % 11 % 4];
            text += &part
                .replace('~', &number.to_string())
                .replace('@', &format!("{sentence} {number}"));
        }
        (text + tail).into_bytes()
    }
}

/// Returns an archive of one member.
fn zipped(name: &str, content: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file(name, zip::write::SimpleFileOptions::default())
        .expect("a member");
    zip.write_all(content).expect("a member");
    zip.finish().expect("an archive").into_inner()
}

/// Returns the most memory that a process has taken so far, with the processes that it started; 0 once it
/// has ended.
fn peak(process: u32) -> u64 {
    let folder = Path::new("/proc").join(process.to_string());
    let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    let own: u64 = kilobytes.unwrap_or(0) * 1024;

    let tasks = fs::read_dir(folder.join("task"))
        .into_iter()
        .flatten()
        .flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: String = children.collect();
    let started = children
        .split_whitespace()
        .filter_map(|child| child.parse().ok());
    own + started.map(peak).sum::<u64>()
}

/// Indexes one file, and returns the peak memory of that.
fn indexing(name: &str, file: &[u8]) -> u64 {
    let program = Program::new();
    fs::remove_file(program.corpus().join("people.md")).expect("removed");
    fs::write(program.corpus().join(name), file).expect("written");

    let mut command =
        program.command(&["index", "notes", "--set", "retriever.kind=bm25", "--json"]);
    let output = program.home.path().join("output");
    command.stdout(fs::File::create(&output).expect("a file"));
    let mut child = command.stderr(Stdio::null()).spawn().expect("started");
    let mut most = 0;
    let status = loop {
        most = peak(child.id()).max(most);
        if let Some(status) = child.try_wait().expect("its state") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };

    assert!(status.success(), "{name}: {status}");
    let output = fs::read_to_string(output).expect("read");
    assert!(output.contains("\"added\":1"), "{name}: {output}");
    most
}

/// Checks the peak memory of a file of every format.
fn check(bytes: usize) {
    let mut files: Vec<(String, Vec<u8>)> = FORMATS
        .iter()
        .map(|grown| (format!("ships.{}", grown.0), grown.file(bytes)))
        .collect();
    let text = FORMATS[0].file(bytes);
    files.push(("ships.zip".to_owned(), zipped("ships.txt", &text)));

    let mut failures = Vec::new();
    for (name, file) in files {
        // an archive is as large as what is in it
        let largest = file.len().max(bytes) as u64;
        let most = indexing(&name, &file);
        let over = most.saturating_sub(CONSTANT_BYTES) as f64 / largest as f64;
        println!(
            "{name:<12} {:>5} MB  peak {:>5} MB  {over:.1} bytes per byte",
            largest >> 20,
            most >> 20
        );
        if most > MAX_RATIO * largest + CONSTANT_BYTES {
            failures.push(name);
        }
    }
    assert_eq!(
        failures,
        Vec::<String>::new(),
        "take more than {MAX_RATIO} bytes per byte"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_in_proportion_to_the_largest_file() {
    check(MEGABYTE / 4);
}

/// `RAGSCOPE_MEGABYTES` sets the size of the files.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes an hour in a debug build"]
fn memory_is_in_proportion_to_files_of_64_megabytes() {
    let megabytes = std::env::var("RAGSCOPE_MEGABYTES");
    check(megabytes.map_or(63, |megabytes| megabytes.parse().expect("a number")) * MEGABYTE);
}
