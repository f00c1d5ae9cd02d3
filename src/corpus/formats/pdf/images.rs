//! The pictures on pages that have text, too: their text with OCR, otherwise their number.

use std::collections::HashSet;

use unpdf::parser::raw::stream::decode_image;
use unpdf::parser::raw::{PdfDict, PdfObject};

use super::objects::Objects;
use super::pages::{Block, Page, Pages};
use crate::corpus::formats::programs::{is_installed, paragraphs, recognise};
use crate::event::saturating_u32;

/// Pictures of one file beyond this number are counted.
const MAX_RECOGNISED: usize = 500;
/// Pictures of a page beyond this number are left out.
const MAX_OF_PAGE: usize = 1_000;
/// A picture of fewer dots holds no words: a bullet, a line, an icon.
const MIN_WIDTH: i64 = 64;
const MIN_HEIGHT: i64 = 24;
/// A larger picture is none of words.
const MAX_DOTS: i64 = 100_000_000;

/// Adds the text of the pictures to the pages that show them, each once, and returns the number of
/// those that are not read. A page without text is read as a whole, as a scan.
pub(super) fn add(objects: Objects<'_>, pages: &mut Pages, with_text: bool) -> u32 {
    let mut seen = HashSet::new();
    let mut unread = 0;
    let mut recognised = 0;
    let can_read = with_text && is_installed("tesseract");
    let dictionaries: Vec<(u32, &PdfDict)> = objects.pages().collect();

    for page in &mut pages.pages {
        let with_number = |(number, _): &&(u32, &PdfDict)| *number == page.number;
        let dictionary = dictionaries.iter().find(with_number);
        let Some((_, dictionary)) = dictionary.filter(|_| !page.blocks.is_empty()) else {
            continue;
        };
        for picture in pictures(objects, dictionary) {
            // an object that two pages name is the same in memory
            if !seen.insert(std::ptr::from_ref(picture)) {
                continue;
            }
            let may_read = can_read && recognised < MAX_RECOGNISED;
            let text = may_read.then(|| text(objects, picture)).flatten();
            match text {
                Some(text) => {
                    recognised += 1;
                    add_text(&text, page);
                }
                None => unread += 1,
            }
        }
    }

    saturating_u32(unread)
}

fn add_text(text: &str, page: &mut Page) {
    let blocks = paragraphs(text).map(|text| Block {
        text,
        ..Block::default()
    });
    page.annotations.extend(blocks);
}

/// Returns the pictures of a page that are large enough for words.
fn pictures<'a>(
    objects: Objects<'a>,
    page: &'a PdfDict,
) -> impl Iterator<Item = &'a PdfObject> + use<'a> {
    let parent = |node: &&'a PdfDict| objects.dictionary(node, b"Parent");
    let mut nodes = std::iter::successors(Some(page), parent).take(16);
    let resources = nodes.find_map(|node| objects.dictionary(node, b"Resources"));
    let shown = resources.and_then(|resources| objects.dictionary(resources, b"XObject"));
    let shown = shown.into_iter().flat_map(|shown| shown.iter());

    let shown = shown.take(MAX_OF_PAGE);
    shown
        .map(move |(_, object)| objects.resolve(object))
        .filter(move |object| {
            let Some(stream) = object.as_stream() else {
                return false;
            };
            let size =
                [b"Width".as_slice(), b"Height"].map(|key| objects.number(&stream.dict, key));
            let is_picture = objects.name(&stream.dict, b"Subtype") == Some(b"Image");
            // the mask of a picture is a picture
            let is_mask = objects.get(&stream.dict, b"ImageMask").is_some();
            is_picture && !is_mask && size[0] >= MIN_WIDTH && size[1] >= MIN_HEIGHT
        })
}

/// Returns the text of a picture; `None` where it is in a form that tesseract does not read.
fn text(objects: Objects<'_>, picture: &PdfObject) -> Option<String> {
    let stream = picture.as_stream()?;
    let width = objects.number(&stream.dict, b"Width");
    let height = objects.number(&stream.dict, b"Height");
    let dots = width.checked_mul(height).filter(|dots| *dots <= MAX_DOTS)?;
    let decoded = decode_image(stream, dots as u64 * 3).ok()?;

    let file = match decoded.codec {
        // the data are those of a JPEG file
        Some("DCTDecode") => decoded.data,
        Some(_) => return None,
        None => {
            let bytes = decoded.data.len() as i64;
            // one byte for each dot is grey, three are red, green and blue
            let form = match bytes / dots.max(1) {
                1 => "P5",
                3 => "P6",
                _ => return None,
            };
            let head = format!("{form}\n{width} {height}\n255\n");
            [head.as_bytes(), &decoded.data].concat()
        }
    };
    recognise(&file).ok()
}
