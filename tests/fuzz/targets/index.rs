//! The files of an index: the first byte chooses one, the second and third a place in it, the rest is written
//! there. The index then opens as it was, or with an error; opening never panics.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ragscope::index::{Collection, health};

/// A folder that no file was ever indexed of has an index of few files: `RAGSCOPE_INDEXES` names the indexes
/// folder of a real one, `RAGSCOPE_CORPUS` its folder.
struct Sound {
    corpus: PathBuf,
    indexes: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
}

static SOUND: OnceLock<Sound> = OnceLock::new();

fn files(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            let bytes = fs::read(&path).expect("read");
            found.push((path, bytes));
        }
    }
}

fn sound() -> Sound {
    let named = |name: &str| PathBuf::from(std::env::var_os(name).expect(name));
    let (corpus, indexes) = (named("RAGSCOPE_CORPUS"), named("RAGSCOPE_INDEXES"));
    let mut found = Vec::new();
    files(&indexes, &mut found);
    found.sort();
    Sound {
        corpus,
        indexes,
        files: found,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let sound = SOUND.get_or_init(sound);
    let [chosen, high, low, written @ ..] = bytes else {
        return;
    };
    let (path, whole) = &sound.files[usize::from(*chosen) % sound.files.len()];
    let at = usize::from(u16::from_be_bytes([*high, *low])).min(whole.len());
    let end = (at + written.len()).min(whole.len());

    let damaged = [&whole[..at], written, &whole[end..]].concat();
    fs::write(path, damaged).expect("written");
    let _ = Collection::open(std::slice::from_ref(&sound.corpus), &sound.indexes);
    let _ = health(&sound.indexes);
    fs::write(path, whole).expect("restored");
});
