//! The files that become documents, and bad files.

use std::path::Path;
use std::time::Instant;

use ragscope::config::CorpusSettings;
use ragscope::corpus::{
    FileTimes, FoundFile, ReadOptions, Walked, count_omitted, locate, read, source_lines, walk,
};
use ragscope::event::{Flow, IndexPhase, OmittedFiles, SessionEvent, SourceForm, WorkError};
use tempfile::TempDir;

use crate::support::effort::check_times;

fn settings() -> CorpusSettings {
    ragscope::config::Layers::defaults()
        .config()
        .expect("defaults")
        .corpus
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, content) in files {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
        std::fs::write(file, content).expect("a file");
    }
    folder
}

fn walk_quietly(folder: &Path, settings: &CorpusSettings) -> Walked {
    walk(folder, settings, &mut |_| Flow::Continue).expect("a walk")
}

fn found(walked: &Walked) -> Vec<&str> {
    walked.files.iter().map(|file| file.path.as_str()).collect()
}

/// Compares the skipped files with expected paths and beginnings of reasons.
#[track_caller]
fn check_skipped(walked: &Walked, expected: &[(&str, &str)]) {
    let skipped: Vec<_> = walked
        .skipped
        .iter()
        .map(|file| (file.path.as_str(), file.reason.as_str()))
        .collect();
    assert_eq!(skipped.len(), expected.len(), "{skipped:?}");
    for ((path, reason), (expected_path, expected_reason)) in skipped.iter().zip(expected) {
        assert_eq!(path, expected_path);
        assert!(
            reason.contains(expected_reason),
            "{path}: {reason:?} should say {expected_reason:?}"
        );
    }
}

#[test]
fn settings_choose_the_files() {
    let folder = folder(&[
        (".gitignore", b"ignored.txt\nbuild/\n"),
        (".hidden.txt", b"h"),
        (".git/config", b"never read"),
        ("a.md", b"a"),
        ("build/out.txt", b"b"),
        ("ignored.txt", b"i"),
        ("sub/b.txt", b"b"),
        ("sub/c.html", b"c"),
    ]);
    type Change = fn(&mut CorpusSettings);
    let cases: [(Change, &[&str]); 6] = [
        (|_| {}, &["a.md", "sub/b.txt", "sub/c.html"]),
        (
            |s| s.gitignore = false,
            &[
                "a.md",
                "build/out.txt",
                "ignored.txt",
                "sub/b.txt",
                "sub/c.html",
            ],
        ),
        (
            |s| s.hidden = true,
            &[
                ".gitignore",
                ".hidden.txt",
                "a.md",
                "sub/b.txt",
                "sub/c.html",
            ],
        ),
        (
            |s| s.include = vec!["*.md".into(), "*.html".into()],
            &["a.md", "sub/c.html"],
        ),
        (
            |s| s.include = vec!["sub/**".into(), "!*.html".into()],
            &["sub/b.txt"],
        ),
        (|s| s.include = vec!["*.pdf".into()], &[]),
    ];
    for (change, expected) in cases {
        let mut settings = settings();
        change(&mut settings);
        let walked = walk_quietly(folder.path(), &settings);
        assert_eq!(found(&walked), expected, "{settings:?}");
        check_skipped(&walked, &[]);
    }
}

#[test]
fn files_that_settings_leave_out_are_counted() {
    let folder = folder(&[
        (".gitignore", b"*.draft.md\nbuild/\n!keep.draft.md\n"),
        (".archive/2019.md", b"a"),
        (".archive/deep/.more/2020.md", b"a"),
        (".git/config", b"never read"),
        (".ignore", b"sub/x.md"),
        ("a.md", b"a"),
        ("b.draft.md", b"a"),
        ("build/out/one.txt", b"b"),
        ("build/two.md", b"b"),
        ("keep.draft.md", b"a"),
        ("sub/.gitignore", b"/c.md\n!d.draft.md"),
        ("sub/c.md", b"c"),
        ("sub/d.draft.md", b"d"),
        ("sub/e.draft.md", b"d"),
        ("sub/x.md", b"x"),
        ("sub/y/c.md", b"c"),
    ]);
    type Change = fn(&mut CorpusSettings);
    let cases: [(Change, &[&str], &str); 4] = [
        (
            |_| {},
            &["a.md", "keep.draft.md", "sub/d.draft.md", "sub/y/c.md"],
            "IgnoreFiles 6: b.draft.md build/ sub/c.md; Hidden 2: .archive/",
        ),
        (
            |s| s.gitignore = false,
            &[
                "a.md",
                "b.draft.md",
                "build/out/one.txt",
                "build/two.md",
                "keep.draft.md",
                "sub/c.md",
                "sub/d.draft.md",
                "sub/e.draft.md",
                "sub/x.md",
                "sub/y/c.md",
            ],
            "Hidden 2: .archive/",
        ),
        (
            |s| s.include = vec!["*.txt".into(), "sub/**".into()],
            &["sub/d.draft.md", "sub/y/c.md"],
            "IgnoreFiles 4: build/ sub/c.md sub/e.draft.md",
        ),
        (
            |s| (s.gitignore, s.include) = (false, vec!["a.md".into()]),
            &["a.md"],
            "",
        ),
    ];
    for (change, files, expected) in cases {
        let mut settings = settings();
        change(&mut settings);
        let walked = walk_quietly(folder.path(), &settings);
        assert_eq!(found(&walked), files, "{settings:?}");
        let omitted: Vec<String> = count_omitted(folder.path(), &settings, &walked)
            .iter()
            .map(|one| format!("{:?} {}: {}", one.by, one.files, one.names.join(" ")))
            .collect();
        assert_eq!(omitted.join("; "), expected, "{settings:?}");
    }
}

#[test]
fn a_folder_that_is_left_out_is_counted_up_to_a_limit() {
    let folder = folder(&[(".gitignore", b"packages\n"), ("a.md", b"a")]);
    for number in 0..OmittedFiles::MAX_FILES + 50 {
        let file = folder
            .path()
            .join(format!("packages/{}/{number}", number % 9));
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, b"").expect("written");
    }
    let walked = walk_quietly(folder.path(), &settings());
    let found = count_omitted(folder.path(), &settings(), &walked);
    let [one] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert!(
        one.files >= OmittedFiles::MAX_FILES - 20 && one.files <= OmittedFiles::MAX_FILES,
        "{}",
        one.files
    );
}

#[test]
fn skipped_files_are_listed_with_their_reason() {
    let folder = folder(&[
        ("big.txt", &[b'x'; 2000]),
        ("movie.mp4", b"m"),
        ("ok.txt", b"fine"),
        ("paper.DJVU", b"AT&T"),
        ("src/lib.so", b"\x7fELF"),
    ]);
    let walked = walk_quietly(
        folder.path(),
        &CorpusSettings {
            max_file_bytes: 1000,
            ..settings()
        },
    );
    assert_eq!(found(&walked), ["ok.txt"]);
    check_skipped(
        &walked,
        &[
            (
                "big.txt",
                "2000 bytes, more than corpus.max_file_bytes (1000)",
            ),
            ("movie.mp4", "a video"),
            ("paper.DJVU", "a scanned document"),
            ("src/lib.so", "a program"),
        ],
    );
    let file = &walked.files[0];
    assert_eq!(file.bytes, 4);
    assert!(
        file.times.modified_ns > 1_600_000_000_000_000_000,
        "{}",
        file.times.modified_ns
    );
}

#[test]
fn paths_that_are_not_folders_are_refused() {
    let folder = folder(&[("file.txt", b"text")]);
    let error = |path: &Path, settings: &CorpusSettings| {
        walk(path, settings, &mut |_| Flow::Continue).expect_err("no walk")
    };
    let missing = error(&folder.path().join("none"), &settings()).to_string();
    assert!(missing.starts_with("there is no folder"), "{missing}");
    let file = error(&folder.path().join("file.txt"), &settings()).to_string();
    assert!(file.ends_with("is a file"), "{file}");
    let globs = CorpusSettings {
        include: vec!["a{b".into()],
        ..settings()
    };
    let glob = error(folder.path(), &globs).to_string();
    assert!(glob.contains("`a{b` is not a glob"), "{glob}");
    let stopped = walk(folder.path(), &settings(), &mut |_| Flow::Stop).expect_err("stopped");
    assert!(matches!(stopped, WorkError::Stopped(_)));
}

#[test]
fn an_empty_folder_is_an_empty_corpus() {
    let folder = folder(&[]);
    let walked = walk(folder.path(), &settings(), &mut |_| Flow::Continue).expect("a walk");
    assert_eq!((found(&walked), walked.skipped.len()), (Vec::new(), 0));
}

#[test]
fn a_file_that_vanishes_is_reported_and_the_rest_is_found() {
    let folder = folder(&[("a.txt", b"a"), ("b.txt", b"b"), ("c.txt", b"c")]);
    let mut seen = 0;
    let walked = walk(folder.path(), &settings(), &mut |_| {
        // the first progress comes with the first file, when the names of the others are known
        // already
        if seen == 0 {
            std::fs::remove_file(folder.path().join("b.txt")).expect("removed");
        }
        seen += 1;
        Flow::Continue
    });
    let walked = walked.expect("a walk");
    assert_eq!(found(&walked), ["a.txt", "c.txt"]);
    check_skipped(&walked, &[("b.txt", "it is gone")]);

    std::fs::remove_file(folder.path().join("c.txt")).expect("removed");
    assert!(read(&walked.files[0], &ReadOptions::default()).is_ok());
    let gone = read(&walked.files[1], &ReadOptions::default()).expect_err("gone");
    assert_eq!(
        (gone.path.as_str(), gone.reason.contains("gone")),
        ("c.txt", true),
        "{}",
        gone.reason
    );
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_are_followed_if_set_and_loops_are_reported() {
        let outside = folder(&[("linked.txt", b"over there")]);
        let folder = folder(&[("sub/a.txt", b"a")]);
        symlink(folder.path(), folder.path().join("sub/back")).expect("a link");
        symlink("nowhere", folder.path().join("dangling")).expect("a link");
        symlink(outside.path(), folder.path().join("there")).expect("a link");

        let walked = walk_quietly(folder.path(), &settings());
        assert_eq!(found(&walked), ["sub/a.txt"]);
        let off = "corpus.follow_symlinks is off";
        check_skipped(
            &walked,
            &[("dangling", off), ("sub/back", off), ("there", off)],
        );

        let walked = walk_quietly(
            folder.path(),
            &CorpusSettings {
                follow_symlinks: true,
                ..settings()
            },
        );
        assert_eq!(found(&walked), ["sub/a.txt", "there/linked.txt"]);
        check_skipped(
            &walked,
            &[("dangling", "it is gone"), ("sub/back", "leads back to .")],
        );
    }

    #[test]
    fn a_link_to_another_file_of_the_same_size_and_times_is_another() {
        let folder = folder(&[("one/a.txt", b"one"), ("two/a.txt", b"two")]);
        let times_through = |target: &str, follows_links: bool| {
            let link = folder.path().join("link");
            let _removed = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(target, &link).expect("a link");
            let about = std::fs::metadata(link.join("a.txt")).expect("a file");
            FileTimes::new(&about, follows_links)
        };
        let [one, two] = ["one", "two"].map(|target| times_through(target, true));
        assert_ne!(one.inode, two.inode);
        assert_ne!(
            one,
            FileTimes {
                inode: two.inode,
                ..one
            }
        );
        assert_eq!(times_through("one", false).inode, 0);
    }

    #[test]
    fn names_that_are_not_utf8_and_names_with_control_characters() {
        let folder = folder(&[("100%.txt", b"percent"), ("\u{1b}[31m.txt", b"escape")]);
        let name = OsStr::from_bytes(b"caf\xe9 %41.txt");
        std::fs::write(folder.path().join(name), b"latin").expect("a file");
        let walked = walk_quietly(folder.path(), &settings());
        assert_eq!(
            found(&walked),
            ["\u{1b}[31m.txt", "100%.txt", "caf%E9 %2541.txt"]
        );
        assert!(read(&walked.files[2], &ReadOptions::default()).is_ok());
        assert_eq!(
            locate(folder.path(), "100%.txt"),
            folder.path().join("100%.txt")
        );
    }

    #[test]
    fn a_name_that_is_not_utf8_is_located() {
        let folder = folder(&[]);
        let file = folder.path().join(OsStr::from_bytes(b"caf\xe9.txt"));
        std::fs::write(&file, b"latin").expect("a file");
        let walked = walk_quietly(folder.path(), &settings());
        assert_eq!(locate(folder.path(), &walked.files[0].path), file);
    }

    #[test]
    fn unreadable_files_are_reported() {
        let folder = folder(&[
            ("closed.txt", b"secret"),
            ("closed/in.txt", b"in"),
            ("open.txt", b"open"),
        ]);
        for name in ["closed.txt", "closed"] {
            let closed = std::fs::Permissions::from_mode(0o000);
            std::fs::set_permissions(folder.path().join(name), closed).expect("closed");
        }
        let privileged = std::fs::read(folder.path().join("closed.txt")).is_ok();
        let walked = walk_quietly(folder.path(), &settings());
        let readable: Vec<_> = walked
            .files
            .iter()
            .filter(|file| read(file, &ReadOptions::default()).is_ok())
            .collect();
        assert!(readable.iter().any(|file| file.path == "open.txt"));
        // root reads everything
        if !privileged {
            assert_eq!(readable.len(), 1);
            check_skipped(&walked, &[("closed", "no permission")]);
            let file = walked
                .files
                .iter()
                .find(|file| file.path == "closed.txt")
                .expect("listed");
            assert!(
                read(file, &ReadOptions::default())
                    .expect_err("closed")
                    .reason
                    .contains("no permission")
            );
        }
        let open_again = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.path().join("closed"), open_again).expect("open");
    }

    #[test]
    fn pipes_are_not_opened() {
        let folder = folder(&[("a.txt", b"a")]);
        let made = std::process::Command::new("mkfifo")
            .arg(folder.path().join("pipe"))
            .status();
        if made.is_ok_and(|status| status.success()) {
            let walked = walk_quietly(folder.path(), &settings());
            assert_eq!(found(&walked), ["a.txt"]);
            check_skipped(&walked, &[("pipe", "not a regular file")]);
        }
    }
}

#[test]
fn bad_content_gives_a_reason_and_never_a_panic() {
    let mut one_line = b"word ".repeat(10_000_000);
    one_line.push(b'\n');
    let cases: [(&str, Vec<u8>, &str); 9] = [
        ("zeros.dat", vec![0; 1000], "binary content"),
        (
            "elf",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0".to_vec(),
            "binary content",
        ),
        (
            "control.txt",
            (1..=31).cycle().take(500).collect(),
            "binary content",
        ),
        ("empty.txt", Vec::new(), "it holds no text"),
        ("blank.md", b" \n\t\n\n".to_vec(), "it holds no text"),
        (
            "empty.html",
            b"<html><script>x()</script></html>".to_vec(),
            "it holds no text",
        ),
        (
            "utf32.txt",
            [&b"\xff\xfe\0\0"[..], &b"\n\0\0\0".repeat(8)].concat(),
            "it holds no text",
        ),
        (
            "noise.txt",
            (128_u8..=255).cycle().take(5000).collect(),
            "neither UTF-8",
        ),
        ("line.txt", one_line, "a single line of 47 MiB"),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content, expected) in cases {
        let file = folder.path().join(name);
        std::fs::write(&file, &content).expect("a file");
        let found = FoundFile {
            path: name.to_owned(),
            file,
            bytes: content.len() as u64,
            times: FileTimes::default(),
        };
        let skipped = read(&found, &ReadOptions::default()).expect_err(name);
        assert_eq!(skipped.path, name);
        assert!(
            skipped.reason.contains(expected),
            "{name}: {}",
            skipped.reason
        );
    }
    let not_a_file = FoundFile {
        path: "x".into(),
        file: folder.path().to_owned(),
        bytes: 0,
        times: FileTimes::default(),
    };
    assert!(
        read(&not_a_file, &ReadOptions::default())
            .expect_err("a folder")
            .reason
            .contains("not a regular file")
    );
}

#[test]
fn ten_thousand_files_are_scanned_in_linear_time() {
    let folder = tempfile::tempdir().expect("a folder");
    for directory in 0..100 {
        let path = folder.path().join(format!("folder-{directory}"));
        std::fs::create_dir(&path).expect("a folder");
        for file in 0..100 {
            std::fs::write(path.join(format!("file-{file}.txt")), b"text").expect("a file");
        }
    }
    let started = Instant::now();
    let mut progress = 0;
    let walked = walk(folder.path(), &settings(), &mut |event| {
        assert!(
            matches!(&event, SessionEvent::IndexProgressed { progress } if progress.phase == IndexPhase::Scanning)
        );
        progress += 1;
        Flow::Continue
    });
    let walked = walked.expect("a walk");
    assert_eq!(walked.files.len(), 10_000);
    assert!(
        walked
            .files
            .is_sorted_by(|one, other| one.path < other.path)
    );
    let most = started.elapsed().as_millis() / 200 + 1;
    assert!((1..=most).contains(&progress), "{progress} events");

    let scan = |folder: &Path| {
        walk(folder, &settings(), &mut |_| Flow::Continue).expect("a walk");
    };
    let parts: Vec<_> = (0..100)
        .map(|part| folder.path().join(format!("folder-{part}")))
        .collect();
    check_times(
        "all at once",
        || scan(folder.path()),
        4,
        || parts.iter().for_each(|part| scan(part)),
    );
}

#[test]
fn source_lines_are_the_lines_that_chunks_count() {
    let folder = folder(&[
        ("crlf.txt", b"\xef\xbb\xbfone\r\ntwo\r\n\r\nfour"),
        ("utf16.txt", b"\xff\xfea\0\n\0b\0"),
    ]);
    let lines = |name: &str| {
        source_lines(&folder.path().join(name))
            .expect("lines")
            .lines
    };
    assert_eq!(lines("crlf.txt"), ["one", "two", "", "four"]);
    assert_eq!(lines("utf16.txt"), ["a", "b"]);
    assert!(
        source_lines(&folder.path().join("none"))
            .expect_err("gone")
            .contains("gone")
    );
}

#[test]
fn the_form_of_a_source_is_that_of_its_format() {
    let folder = folder(&[
        ("a.txt", b"# no title"),
        ("a.md", b"# Title"),
        ("a.rst", b"text\n\nTides\n=====\n\nmore"),
        ("a.adoc", b"== Tides ==\n"),
        ("a.csv", b"name,age\nAnn,7\n"),
    ]);
    let form = |name: &str| {
        let lines = source_lines(&folder.path().join(name)).expect("lines");
        lines.form
    };
    for name in ["a.txt", "a.rst", "a.adoc"] {
        assert_eq!(form(name), SourceForm::Lines, "{name}");
    }
    assert_eq!(form("a.md"), SourceForm::Markdown);
    let SourceForm::Table { rows } = form("a.csv") else {
        panic!("no table");
    };
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.first_line, row.header))
        .collect();
    assert_eq!(found, [(1, true), (2, false)]);
}
