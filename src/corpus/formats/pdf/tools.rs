//! Programs that read PDFs, where they are installed: poppler's, ocrmypdf, tesseract.

use std::process::Command;

use super::builtin;
use super::pages::{Block, Page, Pages};
use crate::corpus::formats::programs::{is_installed, output, paragraphs, recognise};

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

            now = page(before.number, &recognise(&picture)?);
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
    Page {
        number,
        label: None,
        blocks: paragraphs(text)
            .map(|text| Block {
                text,
                ..Block::default()
            })
            .collect(),
        annotations: Vec::new(),
        is_scanned: false,
    }
}
