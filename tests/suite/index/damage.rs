//! A damaged index is detected, named, never used, and rebuilt on request.

use ragscope::event::Advice;
use std::fs;
use std::path::{Path, PathBuf};

use ragscope::index::{Collection, Search as _, health};

use super::common::{self, Corpus, WordEmbedder, update};

fn indexed() -> Corpus {
    let corpus = Corpus::with(&[
        ("a.md", "Ann grows apples."),
        ("b.md", "Bob teaches physics."),
    ]);
    update(&mut corpus.open(), &mut WordEmbedder::new("one"));
    corpus
}

/// Returns every file of the index of a corpus.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            files.extend(parts(&path));
        } else if name != "lock" && name != "corpus" && !name.ends_with(".lock") {
            files.push(path);
        }
    }
    files
}

#[test]
fn every_damaged_file_is_detected() {
    let corpus = indexed();
    let files = parts(&corpus.index_folder());
    assert!(files.len() > 8, "{files:?}");
    for file in files {
        let whole = fs::read(&file).expect("bytes");
        let mut damages: Vec<Option<Vec<u8>>> = vec![None];
        for at in [0, whole.len() / 2, whole.len() - 1] {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x20;
            damages.push(Some(flipped));
            damages.push(Some(whole[..at].to_vec()));
        }
        for damage in damages {
            let is_pointer = file.ends_with("current");
            match &damage {
                None if is_pointer => continue, // an index without a pointer has no generation yet
                None => fs::remove_file(&file).expect("removed"),
                Some(bytes) => fs::write(&file, bytes).expect("damaged"),
            }
            let what = format!(
                "{} with {:?} bytes",
                file.display(),
                damage.as_ref().map(Vec::len)
            );
            let error = Collection::open(&[corpus.folder()], &corpus.indexes())
                .err()
                .unwrap_or_else(|| panic!("{what}"));
            assert!(
                error.to_string().contains("is damaged ("),
                "{what}: {error}"
            );
            let problem = error.to_problem();
            let advice = problem.advice.as_deref().unwrap_or_default();
            assert!(
                advice.contains("--rebuild")
                    && advice.contains(&*corpus.folder().to_string_lossy()),
                "{problem:?}"
            );
            assert!(health(&corpus.indexes())[0].problem.is_some());
            fs::write(&file, &whole).expect("restored");
        }
    }
    assert_eq!(corpus.open().card().documents, 2);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_damage() {
    let corpus = indexed();
    let files = parts(&corpus.index_folder());
    for file in &files {
        let whole = fs::read(file).expect("bytes");
        fs::remove_file(file).expect("removed");
        nix::unistd::mkfifo(file, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let error = Collection::open(&[corpus.folder()], &corpus.indexes())
            .err()
            .unwrap_or_else(|| panic!("{}", file.display()));
        let what = error.to_string();
        assert!(what.contains("not a regular file"), "{what}");

        fs::remove_file(file).expect("removed");
        fs::write(file, whole).expect("restored");
    }
    assert_eq!(corpus.open().card().documents, 2);

    // the index can be read without its lock
    let lock = corpus.index_folder().join("lock");
    fs::remove_file(&lock).expect("removed");
    nix::unistd::mkfifo(&lock, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let card = corpus.open().card();
    assert_eq!((card.documents, card.read_only), (2, true));
}

#[test]
fn a_damaged_index_is_rebuilt_on_request() {
    let corpus = indexed();
    let place = corpus.index_folder();
    for file in parts(&place)
        .into_iter()
        .filter(|file| !file.ends_with("current"))
    {
        fs::write(file, "nonsense").expect("damaged");
    }
    assert!(Collection::open(&[corpus.folder()], &corpus.indexes()).is_err());
    let mut index =
        Collection::rebuild(&[corpus.folder()], &corpus.indexes()).expect("an empty index");
    let mut embedder = WordEmbedder::new("one");
    let report = update(&mut index, &mut embedder);
    assert_eq!((report.added, report.embedded), (2, 2));
    assert_eq!(
        common::documents(&index, &mut embedder, "apples")[0],
        "a.md"
    );
    assert_eq!(corpus.index_folder(), place);
}

#[test]
fn a_newer_format_is_named() {
    let corpus = indexed();
    set_format(&corpus, 99);
    let error = Collection::open(&[corpus.folder()], &corpus.indexes())
        .err()
        .expect("an error");
    assert!(error.to_string().contains("has format 99 and"), "{error}");
}

#[test]
fn an_index_of_an_older_format_begins_again() {
    let corpus = indexed();
    set_format(&corpus, 4);
    let mut index = corpus.open();
    assert_eq!(index.card().documents, 0);
    let mut embedder = WordEmbedder::new("one");
    let report = update(&mut index, &mut embedder);
    assert_eq!((report.added, report.embedded), (2, 2));
}

/// Gives the manifest of an index another format.
fn set_format(corpus: &Corpus, format: u32) {
    let manifest = corpus.index_folder().join("gen-1/manifest.json");
    let text = fs::read_to_string(&manifest).expect("text").replacen(
        "{\"format\":20,",
        &format!("{{\"format\":{format},\"new\":1,"),
        1,
    );
    fs::write(&manifest, &text).expect("written");
    let checksum = blake3::hash(text.as_bytes()).to_hex();
    fs::write(
        corpus.index_folder().join("current"),
        format!("gen-1 {checksum}\n"),
    )
    .expect("written");
}

#[test]
fn health_counts_documents_chunks_and_vectors() {
    let corpus = indexed();
    let healthy = health(&corpus.indexes());
    let [index] = healthy.as_slice() else {
        panic!("{healthy:?}")
    };
    assert_eq!(
        (
            index.generation,
            index.documents,
            index.chunks,
            index.vectors
        ),
        (1, 2, 2, 2)
    );
    assert_eq!(
        (index.problem.as_ref(), &index.root),
        (None, &corpus.index_folder())
    );
    assert!(index.folder.ends_with("docs"));
    assert!(health(Path::new("/nowhere")).is_empty());
}

#[test]
fn a_rebuild_removes_folders_in_the_place_of_files() {
    let corpus = Corpus::with(&[("a.md", "Ann grows apples.")]);
    let mut embedder = WordEmbedder::new("one");
    update(&mut corpus.open(), &mut embedder);
    let root = corpus.index_folder();
    let vectors = fs::read_dir(&root)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().into_string().expect("a name"))
        .find(|name| name.starts_with("vectors-"))
        .expect("vectors");
    for name in [
        vectors.as_str(),
        "links-0123",
        "similarity-cache",
        "current",
    ] {
        let path = root.join(name);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.join("inner")).expect("a folder");
    }

    let mut index =
        Collection::rebuild(&[corpus.folder()], &corpus.indexes()).expect("an empty index");
    assert_eq!(update(&mut index, &mut embedder).added, 1);
    assert_eq!(common::documents(&index, &mut embedder, "apples"), ["a.md"]);
}
