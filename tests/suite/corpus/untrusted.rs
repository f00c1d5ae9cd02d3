//! A document, a file name or an ignore file may not multiply a text, lead out of the folder or
//! hang the program.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ragscope::config::Layers;
use ragscope::corpus::{self, Document, FixedSplit, TokenCounter};
use ragscope::event::Flow;

use crate::llm::runtime;

/// Returns the paths of the documents that a walk finds.
fn walked(folder: &Path) -> Vec<String> {
    let settings = Layers::defaults().config().expect("defaults").corpus;
    let walked = corpus::walk(folder, &settings, &mut |_| Flow::Continue).expect("walked");
    walked.files.into_iter().map(|file| file.path).collect()
}

#[test]
fn no_element_multiplies_its_document() {
    const WORD: &str = "lighthouse keeper ";
    let long = WORD.repeat(20_000);
    let lines: String = (0..3_000)
        .map(|number| format!("{WORD}{number}.\n"))
        .collect();
    let files = [
        ("heading.md", format!("# {long}\n\n{lines}")),
        ("setext.md", format!("{long}\n====\n\n{lines}")),
        ("title.html", format!("<title>{long}</title><p>{lines}")),
        (
            "unclosed.html",
            format!("<h1>{long}<p>{}", lines.replace('\n', "<p>")),
        ),
        ("never.html", format!("<h1>{long}{lines}")),
        (
            "title.xml",
            format!(
                "<a><title>{long}</title>{}</a>",
                lines.replace('\n', "<p>x</p>")
            ),
        ),
        (
            "attribute.xml",
            format!("<a name=\"{long}\">{}</a>", lines.replace('\n', "<p>x</p>")),
        ),
        (
            "key.json",
            format!("{{\"{long}\": [\"{}\"]}}", lines.replace('\n', "\",\"")),
        ),
        (
            "header.csv",
            format!("{long},b\n{}", lines.replace('\n', ",x\n")),
        ),
        (
            "section.ini",
            format!("[{}]\n{}", long.trim(), lines.replace(".\n", " = 1\n")),
        ),
        (
            "key.yaml",
            format!(
                "{}:\n{}",
                long.trim(),
                lines.replace("lighthouse", "  - lighthouse")
            ),
        ),
        (
            "heading.rst",
            format!("{long}\n{}\n\n{lines}", "=".repeat(long.len())),
        ),
        (
            "title.fb2",
            format!(
                "<FictionBook><body><section><title><p>{long}</p></title><p>{}</p></section></body></FictionBook>",
                lines.replace('\n', "</p><p>")
            ),
        ),
        (
            "subject.mbox",
            format!("From a Mon Nov 23 13:00:00 2026\nSubject: {long}\n\n{lines}"),
        ),
        ("heading.adoc", format!("== {long}\n\n{lines}")),
        ("heading.org", format!("* {long}\n{lines}")),
        ("section.tex", format!("\\section{{{long}}}\n{lines}")),
        (
            "deep.md",
            (1..400)
                .map(|level| format!("{} {WORD}{level}\n\n{WORD}.\n\n", "#".repeat(level % 6 + 1)))
                .collect(),
        ),
        (
            "class.py",
            format!(
                "class {}:\n{}",
                "A".repeat(300_000),
                "    def f(self):\n        return 1\n\n".repeat(2_000)
            ),
        ),
    ];
    let counter = TokenCounter::from_gguf(
        &ragscope::config::assets_folder().join("models/all-MiniLM-L6-v2.Q8_0.gguf"),
        &runtime(),
    )
    .expect("the embedder");
    for (name, text) in files {
        let size = text.len();
        let document = Document::new(name, text.into_bytes()).expect(name);
        let split = FixedSplit {
            tokens: 64,
            overlap_tokens: 0,
            sentences: 0,
            keeps_paragraphs: true,
        };
        let chunks = corpus::fixed_chunks(&document, split, &counter);
        let kept: usize = chunks
            .iter()
            .map(|chunk| {
                let headings = chunk.headings.iter().map(String::len);
                let places = chunk.places.iter();
                let names = places.flat_map(|from| from.place.name.as_ref().map(String::len));
                chunk.text.len() + headings.chain(names).sum::<usize>()
            })
            .sum();
        assert!(
            kept < 6 * size + 10_000,
            "{name}: {kept} bytes of {size} in {} chunks",
            chunks.len()
        );
    }
}

#[test]
fn a_heading_without_end_is_its_first_block() {
    let page = "<h1>Ships <p>The Heron sails. <h2>Crew<div>Mira sings.</div>";
    let document = Document::new("page.html", page.into()).expect("a page");
    let at = |word: &str| document.headings_at(document.text.find(word).expect(word));
    assert_eq!(at("sails"), ["Ships"]);
    assert_eq!(at("sings"), ["Ships", "Crew"]);
}

#[cfg(unix)]
#[test]
fn a_file_is_read_as_it_is_found() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().expect("a folder");
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("secret.txt"), "The code is 7788.").expect("written");
    let name = |name: &str| folder.path().join(name);
    fs::write(name("a.txt"), "The Heron sails.").expect("written");

    let settings = Layers::defaults().config().expect("defaults").corpus;
    let found = corpus::walk(folder.path(), &settings, &mut |_| Flow::Continue).expect("walked");
    let options = corpus::ReadOptions::from(&settings);
    let reason = || {
        let skipped = corpus::read(&found.files[0], &options).expect_err("skipped");
        skipped.reason
    };

    // replaced between the walk and the read
    fs::remove_file(name("a.txt")).expect("removed");
    symlink(outside.path().join("secret.txt"), name("a.txt")).expect("linked");
    assert_eq!(reason(), "it is a symbolic link");
    fs::remove_file(name("a.txt")).expect("removed");
    nix::unistd::mkfifo(&name("a.txt"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    assert_eq!(reason(), "it is not a regular file");
    fs::remove_file(name("a.txt")).expect("removed");
    assert_eq!(
        reason(),
        "it is gone: deleted meanwhile, or a link to nothing"
    );
    fs::write(name("a.txt"), "x".repeat(70_000_000)).expect("written");
    assert!(
        reason().contains("more than 67108864 bytes"),
        "{}",
        reason()
    );
}

/// While one thread truncates, extends and deletes a file, every read of it gives a text that was
/// there or a reason.
#[test]
fn a_file_that_changes_while_it_is_read() {
    const WORDS: &str = "The Heron sails at nine.\n";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.txt");
    fs::write(&file, WORDS).expect("written");
    let settings = Layers::defaults().config().expect("defaults").corpus;
    let found = corpus::walk(folder.path(), &settings, &mut |_| Flow::Continue).expect("walked");
    let options = corpus::ReadOptions::from(&settings);

    let is_over = AtomicBool::new(false);
    let mut texts = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let _ = match round % 4 {
                    0 => fs::write(&file, WORDS.repeat(20_000)),
                    1 => File::options()
                        .write(true)
                        .open(&file)
                        .and_then(|file| file.set_len(WORDS.len() as u64)),
                    2 => fs::write(&file, ""),
                    _ => fs::remove_file(&file),
                };
            }
        });
        for _ in 0..2_000 {
            match corpus::read(&found.files[0], &options) {
                Ok(document) => {
                    texts += 1;
                    assert!(document.text.starts_with("The Heron"), "{}", document.text);
                }
                Err(skipped) => assert!(!skipped.reason.is_empty()),
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(texts > 0, "the file was never read");
}

#[cfg(unix)]
#[test]
fn two_names_stay_two_names() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        (&b"bad\xff\xfename.txt"[..], "bytes"),
        (b"bad%FF%FEname.txt", "signs"),
        (b"100%.txt", "percent"),
        (b"50%2.txt", "digits"),
    ] {
        fs::write(folder.path().join(OsStr::from_bytes(name)), text).expect("written");
    }
    let paths = walked(folder.path());
    assert_eq!(
        paths,
        [
            "100%.txt",
            "50%2.txt",
            "bad%25FF%25FEname.txt",
            "bad%FF%FEname.txt"
        ]
    );
    let texts: Vec<String> = paths
        .iter()
        .map(|path| fs::read_to_string(corpus::locate(folder.path(), path)).expect("text"))
        .collect();
    assert_eq!(texts[..2], ["percent", "digits"]);
}

#[test]
fn ignore_files_have_a_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, text).expect("written");
    };
    let globs: String = (0..20_000).map(|n| format!("*{n}x*y\n")).collect();
    let settings = Layers::defaults().config().expect("defaults").corpus;
    let walked = || corpus::walk(folder.path(), &settings, &mut |_| Flow::Continue);

    write(".gitignore", &globs[..100_000]);
    for name in [
        "a.txt",
        "small/b.txt",
        "small/c/d.txt",
        "deep/e/f.txt",
        "deep/g.txt",
    ] {
        write(name, "The Heron sails.");
    }
    write("small/.gitignore", "c\n");
    write("deep/.ignore", &globs[..100_000]);
    write("deep/e/.gitignore", &globs[..100_000]);
    let found = walked().expect("walked");
    let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "deep/g.txt", "small/b.txt"]);
    assert_eq!(found.skipped.len(), 1);
    assert_eq!(found.skipped[0].path, "deep/e");
    let reason = &found.skipped[0].reason;
    assert!(reason.contains("300000 bytes"), "{reason}");

    write(".gitignore", &globs.repeat(2));
    let refused = walked().expect_err("refused").to_string();
    assert!(refused.contains(".gitignore"), "{refused}");
    let all = ragscope::config::CorpusSettings {
        gitignore: false,
        ..settings.clone()
    };
    let found = corpus::walk(folder.path(), &all, &mut |_| Flow::Continue).expect("walked");
    assert_eq!(found.files.len(), 5);

    #[cfg(unix)]
    {
        fs::remove_file(folder.path().join(".gitignore")).expect("removed");
        let pipe = folder.path().join(".gitignore");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let refused = walked().expect_err("refused").to_string();
        assert!(refused.contains("not a regular file"), "{refused}");
    }
}
