//! The scripts that pack a release: the same files give the same bytes.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Runs a script of `.ci` and returns what it prints.
fn run_script(name: &str, arguments: &[&str]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci");
    let mut command = Command::new(folder.join(name));
    let output = command
        .args(arguments)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .expect("a script");
    assert!(output.status.success(), "{name}: {output:?}");
    output.stdout
}

#[test]
fn an_archive_depends_on_names_contents_and_what_runs_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("tree");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for ending in ["tar.xz", "zip"] {
        // written in another order, at another time
        let archives = [["b", "a/c", "a/b"], ["a/b", "a/c", "b"]].map(|names| {
            let _ = fs::remove_dir_all(&tree);
            fs::create_dir_all(tree.join("a")).expect("made");
            for (age, name) in (1..).zip(names) {
                fs::write(tree.join(name), name).expect("written");
                let file = File::options().append(true).open(tree.join(name));
                let time = SystemTime::now() - Duration::from_secs(86_400 * age);
                file.and_then(|file| file.set_modified(time)).expect("aged");
            }
            let archive = path(&format!("{}.{ending}", names[0].replace('/', "-")));
            run_script("archive", &[&path("tree"), &archive]);
            fs::read(archive).expect("an archive")
        });
        assert!(archives[0] == archives[1], "{ending}");

        fs::write(tree.join("b"), "other").expect("written");
        let other = path(&format!("other.{ending}"));
        run_script("archive", &[&path("tree"), &other]);
        assert!(
            fs::read(other).expect("an archive") != archives[0],
            "{ending}"
        );
    }
}

#[test]
fn licences_and_parts_are_listed_in_the_same_order_again() {
    for list in [&[][..], &["--sbom"]] {
        let [first, again] = [0, 1].map(|_| run_script("notice", list));
        assert!(first == again && !first.is_empty(), "{list:?}");
    }
}
