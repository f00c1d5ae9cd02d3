//! The user's editor, opened at a line of a document.

use std::path::Path;
use std::process::Command;

/// Editors that take `FILE:LINE`, and those that take it after `-g`; all others take `+LINE FILE`.
const TAKE_FILE_AND_LINE: &[&str] = &["hx", "helix", "subl", "zed", "mate"];
const TAKE_GOTO: &[&str] = &["code", "code-insiders", "codium", "cursor"];

/// Returns the editor that the environment names, with its arguments.
pub fn from_environment() -> Option<String> {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|editor| !editor.trim().is_empty())
}

/// Returns the command that opens a file at a line, from 1.
pub fn command(editor: &str, path: &Path, line: u32) -> Command {
    let mut command = program(editor);
    let first = editor.split_whitespace().next().unwrap_or_default();
    let stem = Path::new(first).file_stem().unwrap_or_default();
    let is_one_of = |names: &[&str]| names.iter().any(|name| stem == *name);

    let mut place = path.as_os_str().to_owned();
    place.push(format!(":{line}"));
    if is_one_of(TAKE_GOTO) {
        command.arg("-g").arg(place);
    } else if is_one_of(TAKE_FILE_AND_LINE) {
        command.arg(place);
    } else {
        command.arg(format!("+{line}")).arg(path);
    }
    command
}

/// Returns the command of an editor, which may have arguments and quotes: a shell reads it, as for
/// git.
#[cfg(unix)]
fn program(editor: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg(editor);
    command
}

#[cfg(not(unix))]
fn program(editor: &str) -> Command {
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_gets_the_line_as_it_reads_it() {
        let cases = [
            ("vim", vec!["+7", "/notes/a b.md"]),
            ("emacs -nw", vec!["+7", "/notes/a b.md"]),
            ("/usr/bin/hx", vec!["/notes/a b.md:7"]),
            ("code --wait", vec!["-g", "/notes/a b.md:7"]),
        ];
        for (editor, expected) in cases {
            let command = command(editor, Path::new("/notes/a b.md"), 7);
            let arguments: Vec<&str> = command
                .get_args()
                .filter_map(|word| word.to_str())
                .collect();
            assert!(arguments.ends_with(&expected), "{editor}: {arguments:?}");
        }
    }
}
