//! The pictures on pages that have text, too: their text with OCR, otherwise their number.

use std::collections::{HashMap, HashSet};

use unpdf::parser::raw::stream::decode_image;
use unpdf::parser::raw::{PdfDict, PdfObject};

use super::objects::Objects;
use super::pages::Pages;
use super::tools::blocks;
use crate::corpus::formats::programs::{is_installed, recognise};
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
    let dictionaries: HashMap<u32, &PdfDict> = objects.pages().collect();

    let with_text = pages.pages.iter_mut();
    for page in with_text.filter(|page| !page.is_scanned && !page.blocks.is_empty()) {
        let Some(dictionary) = dictionaries.get(&page.number) else {
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
                    page.annotations.extend(blocks(&text));
                }
                None => unread += 1,
            }
        }
    }

    saturating_u32(unread)
}

/// Returns the pictures of a page that are large enough for words.
fn pictures<'a>(
    objects: Objects<'a>,
    page: &'a PdfDict,
) -> impl Iterator<Item = &'a PdfObject> + use<'a> {
    let resources = objects.inherit(page, b"Resources");
    let resources = resources.and_then(PdfObject::as_dict);
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
            let mask = objects.get(&stream.dict, b"ImageMask");
            let is_mask = mask == Some(&PdfObject::Bool(true));
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
