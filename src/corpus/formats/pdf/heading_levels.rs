//! The levels of headings by the look of their letters on all pages: unpdf compares the letters of
//! one page alone, so that the only heading of a page would be above the chapter that it is in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use unpdf::parser::TextSpan;

use super::field_labels::FileTexts;
use super::pages::{Block, Pages};

/// Deeper levels are one.
const MAX_LEVEL: usize = 6;
/// Letters of one size may differ by this in a file, tenths of a point.
const SAME_SIZE: i32 = 5;
/// A word of capitals up to this many letters is a short form, and not set apart by them.
const MAX_ACRONYM: usize = 5;

/// The look of a heading: those of one look have one level, those of a greater one are above. Of
/// the letters of one size, a number of more parts is below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    /// The size of the letters in tenths of a point, the largest first.
    size: Reverse<i32>,
    number_parts: usize,
    is_plain: bool,
    is_mixed: bool,
}

/// Gives the headings of a file without an outline their levels. What is smaller than the text is
/// no heading.
pub(super) fn set(texts: &FileTexts<'_>, pages: &mut Pages) {
    let mut blocks = pages.pages.iter().flat_map(|page| &page.blocks);
    let has_heading = blocks.any(is_heading);
    if !has_heading || !pages.outline.is_empty() {
        return;
    }

    // the number of letters of each size, and the looks of the headings
    let mut letters: BTreeMap<i32, usize> = BTreeMap::new();
    let mut looks: Vec<Option<Look>> = Vec::new();
    for page in &pages.pages {
        let headings = page.blocks.iter().filter(|block| is_heading(block));
        let headings: Vec<&Block> = headings.collect();
        if headings.is_empty() {
            continue;
        }
        let page = PageLetters::new(texts.page(page.number).spans());
        for (_, size, _, count) in &page.spans {
            *letters.entry(*size).or_default() += count;
        }
        looks.extend(headings.into_iter().map(|block| page.look(&block.text)));
    }

    let text_size = letters.iter().max_by_key(|(_, count)| **count);
    let text_size = text_size.map_or(0, |(size, _)| *size);
    join_sizes(&mut looks);
    let all: BTreeSet<Look> = looks.iter().copied().flatten().collect();
    let blocks = pages.pages.iter_mut().flat_map(|page| &mut page.blocks);
    for (block, look) in blocks.filter(|block| is_heading(block)).zip(looks) {
        let is_small = look.is_some_and(|look| look.size.0 + SAME_SIZE < text_size);
        let above = look.map_or(all.len(), |look| all.range(..look).count());
        block.level = (!is_small).then_some((above + 1).min(MAX_LEVEL) as u8);
    }
}

fn is_heading(block: &Block) -> bool {
    block.level.is_some()
}

/// Gives sizes that hardly differ the largest of them.
fn join_sizes(looks: &mut [Option<Look>]) {
    let mut sizes: Vec<i32> = looks.iter().flatten().map(|look| look.size.0).collect();
    sizes.sort_unstable_by_key(|size| Reverse(*size));
    sizes.dedup_by(|next, size| *size - *next <= SAME_SIZE);
    for look in looks.iter_mut().flatten() {
        let size = sizes.iter().rfind(|size| **size >= look.size.0);
        look.size = Reverse(size.copied().unwrap_or(look.size.0));
    }
}

/// The letters and figures of a page, as its file has them.
struct PageLetters {
    text: String,
    /// The runs of letters: where they begin, their size in tenths of a point, whether they are
    /// bold, and how many they are.
    spans: Vec<(usize, i32, bool, usize)>,
}

impl PageLetters {
    fn new(page: &[TextSpan]) -> Self {
        let mut text = String::new();
        let mut spans = Vec::with_capacity(page.len());
        for span in page {
            let start = text.len();
            text.extend(span.text.chars().filter(|c| c.is_alphanumeric()));
            if text.len() > start {
                let size = (span.font_size.abs() * 10.0).round() as i32;
                spans.push((start, size, span.is_bold, text.len() - start));
            }
        }
        Self { text, spans }
    }

    /// Returns the look of a heading: of the places with its words, that of the largest letters.
    fn look(&self, heading: &str) -> Option<Look> {
        let letters: String = heading.chars().filter(|c| c.is_alphanumeric()).collect();
        if letters.is_empty() {
            return None;
        }
        let find = |at: usize| self.spans.binary_search_by_key(&at, |(start, ..)| *start);
        let is_capital = letters.chars().count() > MAX_ACRONYM
            && letters.contains(char::is_uppercase)
            && !letters.contains(char::is_lowercase);
        let places = self.text.match_indices(&letters).filter_map(|(at, _)| {
            // a longer title may begin with the same words
            let end = at + letters.len();
            let is_whole = end == self.text.len() || find(end).is_ok();
            let (_, size, is_bold, _) = self.spans[find(at).ok().filter(|_| is_whole)?];
            Some(Look {
                size: Reverse(size),
                number_parts: number_parts(heading),
                is_plain: !is_bold,
                is_mixed: !is_capital,
            })
        });
        places.min()
    }
}

/// Returns how many parts the number in front of a title has, at least 1.
fn number_parts(title: &str) -> usize {
    let number = title.split_whitespace().next().unwrap_or_default();
    let parts = number.split('.').filter(|part| !part.is_empty());
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = parts.collect();
    if parts.iter().all(|part| is_number(part)) {
        parts.len().max(1)
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(size: i32, title: &str) -> Look {
        let letters = title.chars().filter(|c| c.is_alphanumeric()).collect();
        let page = PageLetters {
            text: letters,
            spans: vec![(0, size, true, title.len())],
        };
        page.look(title).expect("a look")
    }

    #[test]
    fn looks_in_the_order_of_their_levels() {
        let order = [
            look(200, "Handbook"),
            look(130, "SAFETY"),
            look(130, "Safety"),
            look(130, "2.1 Filter"),
            look(110, "Cascade"),
        ];
        assert!(order.is_sorted(), "{order:?}");
        assert_eq!(look(130, "2. Filter").number_parts, 1);
        assert_eq!(look(130, "3D printers").number_parts, 1);

        let mut looks = [Some(look(132, "One")), None, Some(look(128, "Two"))];
        join_sizes(&mut looks);
        assert_eq!(looks[0], looks[2]);
    }

    #[test]
    fn a_heading_is_found_where_its_letters_are_largest() {
        let span = |text: &str, size: f32, font: &str| {
            TextSpan::new(text.to_owned(), 0.0, 0.0, size, font.to_owned())
        };
        let page = PageLetters::new(&[
            span("Po", 13.0, "Arial-Bold"),
            span("wer", 13.0, "Arial-Bold"),
            span("Power is", 11.0, "Arial"),
        ]);
        let found = page.look("Power").expect("a look");
        assert_eq!((found.size, found.is_plain), (Reverse(130), false));
        assert_eq!(page.look("is"), None);
    }
}
