//! Programs that read PDFs, where they are installed: poppler's, ocrmypdf, tesseract.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::builtin;
use super::pages::{Block, Page, Pages};

/// Resolution at which tesseract reads best.
const DOTS_PER_INCH: &str = "300";

/// Reads a PDF with `pdftotext`.
///
/// # Errors
/// The reason for users why it could not.
pub(super) fn pdftotext(bytes: &[u8]) -> Result<Pages, String> {
    let mut command = Command::new("pdftotext");
    command.args(["-enc", "UTF-8", "-", "-"]);
    let text = output(&mut command, bytes)?;

    let text = String::from_utf8_lossy(&text);
    let mut pages: Vec<Page> = (1..)
        .zip(text.split('\u{c}'))
        .map(|(number, text)| page(number, text))
        .collect();

    // a form feed ends each page
    pages.pop_if(|last| last.blocks.is_empty());
    for page in &mut pages {
        page.is_scanned = page.blocks.is_empty();
    }

    Ok(Pages {
        pages,
        ..Pages::default()
    })
}

/// Returns a PDF with the text of its scanned pages recognised.
///
/// # Errors
/// The programs that are missing, or the reason why they failed.
pub(super) fn recognise_text(bytes: &[u8], pages: &Pages) -> Result<Pages, String> {
    if is_installed("ocrmypdf") {
        let mut command = Command::new("ocrmypdf");
        command.args(["--quiet", "--skip-text", "--output-type", "pdf", "-", "-"]);
        let recognised = output(&mut command, bytes)?;
        return builtin::read(&recognised)
            .map_err(|_| "the text that ocrmypdf recognised cannot be read".to_owned());
    }

    if is_installed("tesseract") && is_installed("pdftoppm") {
        return tesseract(bytes, pages);
    }

    Err(
        "corpus.ocr is on, but neither ocrmypdf nor tesseract with pdftoppm is installed"
            .to_owned(),
    )
}

/// Recognises the scanned pages one by one.
fn tesseract(bytes: &[u8], pages: &Pages) -> Result<Pages, String> {
    let mut recognised = Pages {
        metadata: pages.metadata.clone(),
        ..Pages::default()
    };

    for before in &pages.pages {
        let mut now = Page {
            number: before.number,
            ..Page::default()
        };
        if before.is_scanned {
            let number = before.number.to_string();
            let mut picture = Command::new("pdftoppm");
            picture.args([
                "-f",
                &number,
                "-l",
                &number,
                "-r",
                DOTS_PER_INCH,
                "-gray",
                "-",
            ]);
            let picture = output(&mut picture, bytes)?;

            let mut read = Command::new("tesseract");
            read.args(["-", "-"]);
            let text = output(&mut read, &picture)?;
            now = page(before.number, &String::from_utf8_lossy(&text));
            now.is_scanned = now.blocks.is_empty();
        } else {
            now.blocks.clone_from(&before.blocks);
        }

        recognised.pages.push(now);
    }

    Ok(recognised)
}

/// Returns a page of plain text, with a block per paragraph.
fn page(number: u32, text: &str) -> Page {
    let paragraphs = text.split("\n\n").map(unwrapped);
    let blocks = paragraphs.filter(|text| !text.is_empty());

    Page {
        number,
        blocks: blocks
            .map(|text| Block {
                text,
                ..Block::default()
            })
            .collect(),
        annotations: Vec::new(),
        is_scanned: false,
    }
}

/// Joins the lines of a paragraph where a word is hyphenated at their end.
fn unwrapped(paragraph: &str) -> String {
    let mut text = String::with_capacity(paragraph.len());

    for line in paragraph.lines().map(str::trim_end) {
        let is_begun = line
            .trim_start()
            .chars()
            .next()
            .is_some_and(char::is_lowercase);

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
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).any(|folder| Path::is_file(&folder.join(&name)))
}

/// Runs a program on these bytes and returns its output. The limits of the worker hold for it, too.
fn output(command: &mut Command, bytes: &[u8]) -> Result<Vec<u8>, String> {
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
            assert_eq!(unwrapped(text), expected);
        }
    }
}
