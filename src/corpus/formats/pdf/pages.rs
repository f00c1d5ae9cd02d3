//! Pages become a text: what repeats on most of them is dropped, headings are found, and each page
//! keeps its place.

use std::collections::{HashMap, HashSet};

use super::titles::{Title, Titles, is_short};
use crate::corpus::formats::builder::run_lengths;
use crate::corpus::formats::format::Extract;
use crate::corpus::formats::lines::lines;
use crate::corpus::options::ReadOptions;
use crate::corpus::outline::Heading;
use crate::corpus::sentence::fold_white_space;
use crate::event::{Metadata, Place, PlaceUnit};

/// Blocks at the top and at the bottom of a page that can be its header or footer.
const EDGE_BLOCKS: usize = 2;
/// A longer block is text of the page.
const MAX_HEADER_CHARS: usize = 120;
/// Fewer pages have nothing that repeats.
const MIN_PAGES: usize = 4;
/// Share of the pages on which a header is: left and right pages may have different ones.
const MIN_SHARE: f64 = 0.4;
/// More of the blocks and of their text cannot be headings: then the sizes of the letters mean
/// something else.
const MAX_HEADING_SHARE: f64 = 0.2;
/// More headings of one level below each other are lines of a list or of a form.
const MAX_HEADING_RUN: usize = 2;
/// Words after a hyphen that stands for the end of the word before.
const AFTER_HYPHEN: [&str; 12] = [
    "and", "or", "to", "und", "oder", "bis", "sowie", "et", "ou", "y", "o", "e",
];

/// The pages of a PDF.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub pages: Vec<Page>,
    pub metadata: Metadata,
    /// The outline, in the order of the document; often empty.
    pub outline: Vec<Title>,
    /// Sentences about the parts that could not be read.
    pub remarks: Vec<String>,
}

/// A page with its text in reading order.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Number of the page, from 1.
    pub number: u32,
    /// The number that is printed on it, where that is another.
    pub label: Option<String>,
    pub blocks: Vec<Block>,
    /// The filled-in fields of the page, and the comments.
    pub annotations: Vec<Block>,
    /// Whether it holds a picture and no text, but what is recognised.
    pub is_scanned: bool,
}

/// A paragraph, a heading, a table or a listing.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub text: String,
    /// The level of a heading, by the size of its letters.
    pub level: Option<u8>,
    /// Whether its lines are the rows of a table.
    pub is_table: bool,
}

impl Block {
    pub fn new(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl Page {
    /// Returns the size of its text.
    pub fn text_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.text.len() + 2).sum()
    }
}

impl Pages {
    /// Returns the number of pages that hold a picture and no text.
    pub fn scan_count(&self) -> usize {
        let scans = self.pages.iter();
        let scans = scans.filter(|page| page.is_scanned && page.blocks.is_empty());
        scans.count()
    }

    /// Returns the text of all pages.
    ///
    /// # Errors
    /// No pages, or no text on any.
    pub fn extract(mut self, options: &ReadOptions) -> Result<Extract, String> {
        if self.pages.is_empty() {
            self.remarks.insert(0, "it has no pages".to_owned());
            return Err(self.remarks.join("; "));
        }
        let scanned = self.scan_count();
        if scanned > 0 {
            self.remarks
                .insert(0, scans(scanned, self.pages.len(), options));
        }
        let note = (!self.remarks.is_empty()).then(|| self.remarks.join("; "));
        let is_empty = |page: &Page| page.blocks.is_empty() && page.annotations.is_empty();
        if self.pages.iter().all(is_empty) {
            return Err(note.unwrap_or_else(|| "it holds no text".to_owned()));
        }

        for block in self.pages.iter_mut().flat_map(|page| &mut page.blocks) {
            block.text = clean(&block.text);
        }
        clear_false_headings(&mut self.pages);
        if !options.keep_page_headers {
            drop_repeated(&mut self.pages);
        }
        for page in &mut self.pages {
            page.blocks.append(&mut page.annotations);
        }
        let extract = join_pages(&self.pages, &self.outline);
        Ok(Extract {
            metadata: self.metadata,
            note,
            ..extract
        })
    }
}

/// Returns the remark on pages without text, with the way out.
fn scans(scanned: usize, pages: usize, options: &ReadOptions) -> String {
    let count = format!("{scanned} of {pages} pages hold no text: scanned?");
    if options.ocr {
        count
    } else {
        format!("{count} Run `ocrmypdf in.pdf out.pdf`, or set corpus.ocr = on")
    }
}

/// Returns text with ligatures as letters and words that were hyphenated at the end of a line
/// joined, without soft hyphens and control characters.
fn clean(text: &str) -> String {
    rejoin(&without_marks(text))
}

/// Joins `light- house`, unless the hyphen stands for the end of a word, as in `pre- and postwar`.
fn rejoin(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;

    while let Some(at) = rest.find("- ") {
        let (before, after) = rest.split_at(at);
        let mut words = after["- ".len()..].split(|c: char| !c.is_alphabetic());
        let next = words.next().unwrap_or_default();
        let is_hyphenated = before.ends_with(char::is_lowercase)
            && next.starts_with(char::is_lowercase)
            && !AFTER_HYPHEN.contains(&next);

        joined.push_str(before);
        joined.push_str(if is_hyphenated { "" } else { "- " });
        rest = &after["- ".len()..];
    }

    joined.push_str(rest);
    joined
}

fn without_marks(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());

    for c in text.chars() {
        match c {
            'ﬀ' => clean.push_str("ff"),
            'ﬁ' => clean.push_str("fi"),
            'ﬂ' => clean.push_str("fl"),
            'ﬃ' => clean.push_str("ffi"),
            'ﬄ' => clean.push_str("ffl"),
            'ﬅ' | 'ﬆ' => clean.push_str("st"),
            '\u{ad}' => {}
            '\n' | '\t' => clean.push(c),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }

    clean
}

/// Drops blocks at the edges of pages that are the same on most of them but for their numbers. The
/// first of each is kept, unless it is a number: it may hold the only title of the document.
fn drop_repeated(pages: &mut [Page]) {
    let with_text = pages.iter().filter(|page| !page.blocks.is_empty()).count();
    if with_text < MIN_PAGES {
        return;
    }

    let mut counts: HashMap<String, usize> = HashMap::new();
    for page in pages.iter() {
        let edges = edges(page.blocks.len());
        let patterns = edges.filter_map(|at| pattern(&page.blocks[at].text));
        for pattern in patterns.collect::<HashSet<String>>() {
            *counts.entry(pattern).or_default() += 1;
        }
    }
    let least = ((with_text as f64 * MIN_SHARE).ceil() as usize).max(MIN_PAGES);
    counts.retain(|_, count| *count >= least);

    let mut kept = HashSet::new();
    for page in pages {
        let mut dropped = HashSet::new();
        for at in edges(page.blocks.len()) {
            let Some(pattern) = pattern(&page.blocks[at].text) else {
                continue;
            };
            let has_letters = pattern.chars().any(char::is_alphabetic);
            if counts.contains_key(&pattern) && !(has_letters && kept.insert(pattern)) {
                dropped.insert(at);
            }
        }
        let mut numbers = 0..;
        page.blocks
            .retain(|_| numbers.next().is_some_and(|at| !dropped.contains(&at)));
    }
}

/// Returns the blocks at the top and at the bottom of a page of `count` blocks.
fn edges(count: usize) -> impl Iterator<Item = usize> {
    let top = 0..count.min(EDGE_BLOCKS);
    let bottom = count.saturating_sub(EDGE_BLOCKS).max(top.end)..count;
    top.chain(bottom)
}

/// Returns the text of a possible header, the same for every page number.
pub(super) fn pattern(text: &str) -> Option<String> {
    if text.chars().count() > MAX_HEADER_CHARS {
        return None;
    }

    let mut pattern = String::new();
    for c in text.to_lowercase().chars() {
        if c.is_numeric() {
            if !pattern.ends_with('#') {
                pattern.push('#');
            }
        } else if !c.is_whitespace() {
            pattern.push(c);
        }
    }

    Some(pattern)
}

/// Joins pages to a text. A paragraph that continues on the next page stays one.
fn join_pages(pages: &[Page], outline: &[Title]) -> Extract {
    let mut extract = Extract::default();
    let mut titles = Titles::new(outline);
    for page in pages {
        let first = page.blocks.first();
        let continues = first.is_some_and(|first| is_continued(&extract.text, first));
        let texts = |from: usize| page.blocks[from..].iter().map(|block| block.text.as_str());
        for (at, block) in page.blocks.iter().enumerate() {
            if !extract.text.is_empty() {
                let is_continued = at == 0 && continues;
                let gap = if is_continued { "\n" } else { "\n\n" };
                extract.text.push_str(gap);
            }
            let start = extract.text.len();
            if at == 0 {
                let place = Place::new(PlaceUnit::Page, page.number);
                let name = page.label.clone();
                extract.places.push((start, Place { name, ..place }));
            }
            extract.text.push_str(&block.text);
            if block.is_table {
                let rows = lines(&block.text).filter(|(_, row)| !row.is_empty());
                let rows = rows.map(|(at, row)| start + at..start + at + row.len());
                extract.rows.extend(rows);
            }

            if at == 0 {
                let missing = titles.take_missing(page.number, texts(0));
                let missing = missing.map(|title| title.heading_at(start));
                extract.headings.extend(missing);
            }

            let level = if outline.is_empty() {
                block.level
            } else {
                let title = titles.take(page.number, &block.text);
                title.map(|title| title.level)
            };
            if let Some(level) = level {
                let end = extract.text.len();
                let title = fold_white_space(&block.text);
                let heading = Heading::new(start..end, level, title);
                let missing = titles.take_missing(page.number, texts(at + 1));
                let missing = missing.map(|title| title.heading_at(end));
                extract
                    .headings
                    .extend([heading].into_iter().chain(missing));
            }
        }
    }
    extract
}

/// Returns whether a paragraph continues on the next page.
fn is_continued(before: &str, first: &Block) -> bool {
    let ended = before.trim_end().ends_with([
        '.', '!', '?', ':', ';', '"', '”', '»', ')', '。', '！', '？',
    ]);
    let is_begun = first.text.chars().next().is_some_and(char::is_lowercase);
    !before.is_empty() && !ended && is_begun && first.level.is_none()
}

/// Takes the level of blocks that are no headings for all that their letters are large: of all
/// where too much would be one, of figures, of the lines of a list or of a form, of what is at the
/// edge of several pages, and of the lines of a table of contents, which are headings with the
/// numbers of their pages.
fn clear_false_headings(pages: &mut [Page]) {
    let blocks = || pages.iter().flat_map(|page| &page.blocks);
    let share = |size: fn(&Block) -> usize| {
        let in_headings = blocks().filter(|block| block.level.is_some()).map(size);
        in_headings.sum::<usize>() as f64 / blocks().map(size).sum::<usize>().max(1) as f64
    };
    let is_too_much =
        share(|_| 1) > MAX_HEADING_SHARE && share(|block| block.text.len()) > MAX_HEADING_SHARE;

    let headings = blocks().filter(|block| block.level.is_some());
    let titles: HashSet<String> = headings.map(|block| block.text.trim().to_owned()).collect();
    let mut edges: HashMap<String, usize> = HashMap::new();
    for page in pages.iter() {
        let edge = [page.blocks.first(), page.blocks.last()].into_iter();
        let edge: HashSet<String> = edge.flatten().map(|block| margin(page, block)).collect();
        for text in edge {
            *edges.entry(text).or_default() += 1;
        }
    }
    // headings of one level directly below each other
    let levels: Vec<Option<u8>> = blocks().map(|block| block.level).collect();
    let runs = run_lengths(&levels, |level, next| level.is_some() && level == next);
    let count = pages.len();

    let mut runs = runs.into_iter();
    for page in pages {
        let mut levels: Vec<Option<u8>> = Vec::with_capacity(page.blocks.len());
        for (block, run) in page.blocks.iter().zip(&mut runs) {
            let is_false = is_too_much
                || run > MAX_HEADING_RUN
                || !is_short(&block.text)
                || !is_worded(&block.text)
                || is_listed(&block.text, &titles)
                || edges
                    .get(&margin(page, block))
                    .is_some_and(|pages| *pages > 1 && 2 * pages > count);
            levels.push(block.level.filter(|_| !is_false));
        }
        for (block, level) in page.blocks.iter_mut().zip(levels) {
            block.level = level;
        }
    }
}

/// Returns whether a text has more letters than figures, without a number of sections in front.
fn is_worded(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let figures = text.chars().filter(|c| c.is_numeric()).count();
    letters > figures
}

/// Returns whether a text is another title with the number of a page behind it.
fn is_listed(text: &str, titles: &HashSet<String>) -> bool {
    let text = text.trim();
    let words = text.trim_end_matches(|c: char| c.is_numeric());
    let words = words.trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    words.len() < text.len() && titles.contains(words)
}

/// Returns a block of a page as it would stand in the margin of another: without the number of the
/// page.
fn margin(page: &Page, block: &Block) -> String {
    let number = page.number.to_string();
    let lower = block.text.to_lowercase();
    // "Day 2" on the second page has a number of its own
    let is_of_page = lower.contains("page") || lower.contains('/') || lower.trim() == number;
    let is_number =
        |word: &str| is_of_page && (word == number || Some(word) == page.label.as_deref());
    let words = lower.split_whitespace().filter(|word| !is_number(word));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: u32, blocks: &[&str]) -> Page {
        let block = |text: &&str| Block {
            text: (*text).to_owned(),
            ..Block::default()
        };
        Page {
            number,
            label: None,
            blocks: blocks.iter().map(block).collect(),
            is_scanned: false,
            annotations: Vec::new(),
        }
    }

    /// Returns the headings among the blocks of a page.
    fn headings(blocks: Vec<Block>) -> Vec<String> {
        let mut pages = [Page {
            number: 1,
            blocks,
            ..Page::default()
        }];
        clear_false_headings(&mut pages);
        let [Page { blocks, .. }] = pages;
        let headings = blocks.into_iter().filter(|block| block.level.is_some());
        headings.map(|block| block.text).collect()
    }

    fn extract_pages(pages: Vec<Page>, options: &ReadOptions) -> Extract {
        let pages = Pages {
            pages,
            ..Pages::default()
        };
        pages.extract(options).expect("text")
    }

    #[test]
    fn headers_and_page_numbers_are_dropped() {
        let pages = || {
            let bodies = ["Apples.", "Pears.", "Plums.", "Quinces.", "Figs."];
            (1..)
                .zip(bodies)
                .map(|(number, body)| {
                    let footer = format!("- {number} -");
                    page(number, &["Fruit report 2024", body, &footer])
                })
                .collect::<Vec<_>>()
        };
        let dropped = extract_pages(pages(), &ReadOptions::default());
        assert_eq!(
            dropped.text,
            "Fruit report 2024\n\nApples.\n\nPears.\n\nPlums.\n\nQuinces.\n\nFigs."
        );
        let keep = ReadOptions {
            keep_page_headers: true,
            ..ReadOptions::default()
        };
        assert_eq!(
            extract_pages(pages(), &keep).text.matches("report").count(),
            5
        );
    }

    #[test]
    fn pages_keep_their_places_and_paragraphs_stay_whole() {
        let pages = vec![
            page(1, &["The keeper walked to the"]),
            page(2, &["lamp and lit it.", "Then he slept."]),
            page(4, &["The ofﬁce opened."]),
        ];
        let extract = extract_pages(pages, &ReadOptions::default());
        assert_eq!(
            extract.text,
            "The keeper walked to the\nlamp and lit it.\n\nThen he slept.\n\nThe office opened."
        );
        let places: Vec<(&str, u32)> = extract
            .places
            .iter()
            .map(|(at, place)| (&extract.text[*at..*at + 3], place.first))
            .collect();
        assert_eq!(places, [("The", 1), ("lam", 2), ("The", 4)]);
    }

    #[test]
    fn words_across_lines_are_joined() {
        let cases = [
            ("a light- house", "a lighthouse"),
            ("pre- and postwar", "pre- and postwar"),
            ("Ein- und Ausgabe", "Ein- und Ausgabe"),
            ("a dash - like this", "a dash - like this"),
            ("of\u{ad}fice ﬂag", "office flag"),
        ];
        for (text, expected) in cases {
            assert_eq!(clean(text), expected);
        }
    }

    #[test]
    fn a_table_of_contents_has_no_headings() {
        let sized = |text: &str, level| Block {
            text: text.to_owned(),
            level,
            ..Block::default()
        };
        let mut blocks = vec![sized("Harbour 7", Some(2)), sized("Harbour", Some(2))];
        blocks.extend((0..9).map(|at| sized(&format!("Ship {at} came."), None)));
        assert_eq!(headings(blocks), ["Harbour"]);
    }

    #[test]
    fn what_is_large_and_no_title_is_no_heading() {
        let sized = |text: &str, level| Block {
            text: text.to_owned(),
            level,
            ..Block::default()
        };
        let text = "The rated power is 980 watts, and the seals are checked once a month.";
        let cases = [
            (vec!["Torrent 500", "Power", "980 watts."], vec![]),
            (vec!["Torrent 500", text, text], vec!["Torrent 500"]),
            (vec!["1,450.00", "EUR 980", text, text], vec![]),
            (vec!["Name", "Street", "Town", text, text, text], vec![]),
        ];
        for (blocks, expected) in cases {
            let level = |text: &&str| (!text.ends_with('.')).then_some(2);
            let blocks = blocks.iter().map(|text| sized(text, level(text)));
            assert_eq!(headings(blocks.collect()), expected);
        }

        let mut pages = [
            page(1, &["Rev. D", "Pumps", text]),
            page(2, &["Rev. D", text]),
        ];
        for block in pages.iter_mut().flat_map(|page| &mut page.blocks) {
            block.level = (block.text != text).then_some(1);
        }
        clear_false_headings(&mut pages);
        let levels = pages.iter().flat_map(|page| &page.blocks);
        let levels: Vec<Option<u8>> = levels.map(|block| block.level).collect();
        assert_eq!(levels, [None, Some(1), None, None, None]);
    }

    #[test]
    fn scanned_pages_are_counted() {
        let scan = |number| Page {
            number,
            is_scanned: true,
            annotations: Vec::new(),
            ..Page::default()
        };
        let all = Pages {
            pages: vec![scan(1), scan(2)],
            ..Pages::default()
        };
        let reason = all.extract(&ReadOptions::default()).expect_err("no text");
        assert!(
            reason.starts_with("2 of 2 pages hold no text: scanned?"),
            "{reason}"
        );
        assert!(reason.contains("ocrmypdf"), "{reason}");

        let some = extract_pages(vec![page(1, &["Words."]), scan(2)], &ReadOptions::default());
        let note = some.note.expect("a note");
        assert!(note.starts_with("1 of 2 pages"), "{note}");
    }

    #[test]
    fn headings_come_from_the_outline() {
        let title = |text: &str, page, level| Title {
            text: text.to_owned(),
            page: Some(page),
            level,
        };
        let pages = Pages {
            pages: vec![
                page(1, &["1 Harbour", "Ships came."]),
                page(2, &["1.1 Quay", "Ropes lay there."]),
            ],
            outline: vec![title("Harbour", 1, 1), title("Quay", 2, 2)],
            ..Pages::default()
        };
        let extract = pages.extract(&ReadOptions::default()).expect("text");
        let headings: Vec<(&str, u8)> = extract
            .headings
            .iter()
            .map(|heading| (heading.title.as_str(), heading.level))
            .collect();
        assert_eq!(headings, [("1 Harbour", 1), ("1.1 Quay", 2)]);
    }
}
