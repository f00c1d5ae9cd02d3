//! Programs that read PDFs, where they are installed: poppler's, ocrmypdf, tesseract.

use std::collections::HashMap;
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
    let page = |(number, text)| {
        let blocks: Vec<Block> = blocks(text).collect();
        Page {
            number,
            is_scanned: blocks.is_empty(),
            blocks,
            ..Page::default()
        }
    };
    let mut pages: Vec<Page> = (1..).zip(text.split('\u{c}')).map(page).collect();

    // a form feed ends each page
    pages.pop_if(|last| last.blocks.is_empty());

    Ok(Pages {
        pages,
        ..Pages::default()
    })
}

/// Adds the text of the scanned pages.
///
/// # Errors
/// The programs that are missing, or the reason why they failed.
pub(super) fn recognise_text(bytes: &[u8], pages: &mut Pages) -> Result<(), String> {
    let scanned = pages.pages.iter_mut().filter(|page| page.is_scanned);

    if is_installed("ocrmypdf") {
        let mut command = Command::new("ocrmypdf");
        command.args(["--quiet", "--skip-text", "--output-type", "pdf", "-", "-"]);
        let recognised = builtin::read(&output(&mut command, bytes)?)
            .map_err(|_| "the text that ocrmypdf recognised cannot be read".to_owned())?;
        let recognised = recognised.pages.into_iter();
        let mut blocks: HashMap<u32, Vec<Block>> =
            recognised.map(|page| (page.number, page.blocks)).collect();
        for page in scanned {
            page.blocks = blocks.remove(&page.number).unwrap_or_default();
        }
    } else if is_installed("tesseract") && is_installed("pdftoppm") {
        for page in scanned {
            let number = page.number.to_string();
            let mut picture = Command::new("pdftoppm");
            picture.args(["-f", &number, "-l", &number]);
            picture.args(["-r", DOTS_PER_INCH, "-gray", "-"]);
            let picture = output(&mut picture, bytes)?;
            page.blocks = blocks(&recognise(&picture)?).collect();
        }
    } else {
        return Err(
            "corpus.ocr is on, but neither ocrmypdf nor tesseract with pdftoppm is installed"
                .to_owned(),
        );
    }

    Ok(())
}

/// Returns plain text with a block per paragraph.
pub(super) fn blocks(text: &str) -> impl Iterator<Item = Block> {
    paragraphs(text).map(|text| Block {
        text,
        ..Block::default()
    })
}
