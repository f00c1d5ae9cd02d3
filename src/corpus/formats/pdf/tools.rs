//! Programs that recognise the text of scans, where they are installed: ocrmypdf, tesseract.

use std::collections::HashMap;
use std::process::Command;

use super::builtin;
use super::pages::{Block, Pages};
use crate::corpus::formats::programs::{is_installed, output, paragraphs, recognise};

/// Resolution at which tesseract reads best.
const DOTS_PER_INCH: &str = "300";

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
    paragraphs(text).map(Block::new)
}
