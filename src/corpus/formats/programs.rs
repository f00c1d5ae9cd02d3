//! Programs that read what no library does, where they are installed.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Recognises the text of a picture with tesseract.
///
/// # Errors
/// The reason for users why it could not.
pub(super) fn recognise(picture: &[u8]) -> Result<String, String> {
    let mut command = Command::new("tesseract");
    command.args(["-", "-"]);
    let text = output(&mut command, picture)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the paragraphs of plain text, whose lines are broken.
pub(super) fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let paragraphs = text.split("\n\n").map(unwrap_lines);
    paragraphs.filter(|paragraph| !paragraph.is_empty())
}

/// Joins the lines of a paragraph where a word is hyphenated at their end.
fn unwrap_lines(paragraph: &str) -> String {
    let mut text = String::with_capacity(paragraph.len());

    for line in paragraph.lines().map(str::trim_end) {
        let is_begun = line.trim_start().starts_with(char::is_lowercase);
        let stem = text.strip_suffix(['-', '\u{ad}']).map(str::len);
        match stem {
            Some(stem) if is_begun && text[..stem].ends_with(char::is_alphabetic) => {
                text.truncate(stem);
                text.push_str(line.trim_start());
            }
            Some(_) | None => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(line);
            }
        }
    }

    text.trim_matches('\n').to_owned()
}

/// Returns whether a program is on the path.
pub(super) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).any(|folder| Path::is_file(&folder.join(&name)))
}

/// Runs a program on these bytes and returns its output. The limits of the worker hold for it, too.
pub(super) fn output(command: &mut Command, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => format!("{name} is not installed"),
        _ => format!("{name} cannot be started ({error})"),
    };
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(failed)?;

    let input = child.stdin.take();
    let mut output = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // a program that has seen enough closes its input
            let _ = input.map(|mut input| input.write_all(bytes));
        });
        child
            .stdout
            .take()
            .map_or(Ok(0), |mut out| out.read_to_end(&mut output))
    })
    .map_err(|error| format!("the output of {name} cannot be read ({error})"))?;

    match child.wait() {
        Ok(status) if status.success() => Ok(output),
        Ok(_) | Err(_) => Err(format!("{name} failed on it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_at_line_ends_are_joined() {
        let cases = [
            ("a light-\nhouse keeper", "a lighthouse keeper"),
            ("a light\u{ad}\nhouse", "a lighthouse"),
            ("Anglo-\nSaxon", "Anglo-\nSaxon"),
            ("pages 3-\n5", "pages 3-\n5"),
            ("one\ntwo\n", "one\ntwo"),
        ];
        for (text, expected) in cases {
            assert_eq!(unwrap_lines(text), expected);
        }
    }
}
