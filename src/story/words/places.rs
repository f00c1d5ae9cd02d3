//! Places in documents.

use crate::event::{ChunkCopy, ChunkText, Citation, Hit, Place, PlaceUnit, Ranked, WordScore};
use crate::story::lookup::Lookup;
use crate::story::text::{join, one_line};

/// Returns lines of a file as `12` or `12-14`.
pub fn lines(first: u32, last: u32) -> String {
    if last > first {
        format!("{first}-{last}")
    } else {
        first.to_string()
    }
}

/// Returns a location in a document as `people/oakes.md:12-14`, or as `report.pdf p. 12` where the
/// file is not text.
pub fn location(document: &str, [first, last]: [u32; 2], place: Option<&Place>) -> String {
    let document = one_line(document);
    match place {
        None => format!("{document}:{}", lines(first, last)),
        Some(place) => {
            let member = place.member.as_deref();
            let member = member.filter(|member| !is_whole_of(member, &document));
            let member = member.map_or_else(String::new, |member| format!("/{}", one_line(member)));
            format!("{document}{member}{}", within(place))
        }
    }
}

/// Returns whether a member is all that a document holds, as of a compressed file: `notes.txt` of
/// `docs/notes.txt.gz`.
fn is_whole_of(member: &str, document: &str) -> bool {
    let unpacked = document.strip_suffix(".gz").unwrap_or_default();
    let name = unpacked.rsplit('/').next().unwrap_or_default();
    !name.is_empty() && name == member
}

/// Returns the location of a citation: that of its chunk, as everywhere, and in parentheses the
/// cited part where that is not all of it: `people/oakes.md:12-14 (line 13)`.
pub fn citation_location(citation: &Citation) -> String {
    let part = citation.lines();
    let part_place = citation.place.as_ref();
    let lines = citation.chunk_lines.unwrap_or(part);
    let place = match citation.chunk_lines {
        Some(_) => citation.chunk_place.as_ref(),
        None => part_place,
    };

    let chunk = location(&citation.file, lines, place);
    let is_whole = match (place, part_place) {
        (Some(place), Some(part)) => within(place) == within(part),
        _ => lines == part,
    };
    if is_whole {
        chunk
    } else {
        format!("{chunk} ({})", part_words(part, part_place))
    }
}

/// Returns lines of a file in words: `line 13`, `lines 13-14`, `p. 12`.
fn part_words([first, last]: [u32; 2], place: Option<&Place>) -> String {
    let [first, last] = match place {
        None => [first, last],
        Some(place) if place.unit == PlaceUnit::Line => [place.first, place.last],
        Some(place) => return within(place).trim_start().to_owned(),
    };
    let noun = if last > first { "lines" } else { "line" };
    format!("{noun} {}", lines(first, last))
}

/// Returns a place inside a file: ` p. 12-13`, ` Hours!2-4`, `:7`.
fn within(place: &Place) -> String {
    let numbers = lines(place.first, place.last);
    let name = place.name.as_deref().map(one_line);
    let name = name.filter(|name| !name.is_empty());

    match (place.unit, name) {
        (PlaceUnit::Page, Some(label)) if place.first == place.last => {
            format!(" p. {numbers} ({label})")
        }
        (PlaceUnit::Page, _) => format!(" p. {numbers}"),
        (PlaceUnit::Slide, _) => format!(" slide {numbers}"),
        (PlaceUnit::Row, Some(sheet)) => format!(" {sheet}!{numbers}"),
        (PlaceUnit::Row, None) => format!(" row {numbers}"),
        (PlaceUnit::Chapter, Some(title)) if place.first == place.last => format!(" “{title}”"),
        (PlaceUnit::Chapter, _) => format!(" chapter {numbers}"),
        (PlaceUnit::Message, _) => format!(" message {numbers}"),
        (PlaceUnit::Cell, _) => format!(" cell {numbers}"),
        (PlaceUnit::Line, _) => format!(":{numbers}"),
    }
}

/// Returns the caption of a place in the text of a document, where one begins: `p. 12`, the name of
/// a sheet or a member. `None` where the place before it has the same.
pub fn place_caption(place: &Place, before: Option<&Place>) -> Option<String> {
    let caption = |place: &Place| {
        let member = place.member.as_deref().map(one_line).unwrap_or_default();
        let inside = match place.unit {
            PlaceUnit::Line => String::new(),
            PlaceUnit::Row => place.name.as_deref().map(one_line).unwrap_or_default(),
            _ => within(place),
        };
        format!("{member} {}", inside.trim()).trim().to_owned()
    };
    let words = caption(place);

    let is_new = before.is_none_or(|before| caption(before) != words);
    (is_new && !words.is_empty()).then_some(words)
}

/// Returns where a chunk is in its document: `line 12`, `lines 12-14`, `p. 12`.
pub fn chunk_place(chunk: &ChunkText) -> String {
    match chunk.place(chunk.lines) {
        None if chunk.lines[0] == chunk.lines[1] => format!("line {}", chunk.lines[0]),
        None => format!("lines {}", lines(chunk.lines[0], chunk.lines[1])),
        Some(place) => within(&place).trim_start_matches([' ', ':']).to_owned(),
    }
}

/// Returns the location of a chunk.
pub fn chunk_location(chunk: &ChunkText) -> String {
    location(
        &chunk.document,
        chunk.lines,
        chunk.place(chunk.lines).as_ref(),
    )
}

/// Returns the words behind the BM25 score of a chunk, with their parts of it.
pub fn word_scores(bm25: Option<Ranked>, words: &[WordScore]) -> Option<String> {
    let word = |scored: &WordScore| {
        let word = format!("{} {:.2}", scored.word, scored.score);
        if scored.place_alone {
            word + " (in the name or headings alone)"
        } else {
            word
        }
    };
    let named = join(words.iter().map(word), " + ");
    let mut sum = format!("bm25 {:.2} = {named}", bm25?.score);
    if words.iter().all(|word| word.stop_word) {
        sum.push_str(": stop words alone, which every text has");
    }
    (!words.is_empty()).then_some(sum)
}

/// Returns the better hit that raised a hit, if one did, or by which alone it was found: it names
/// the document; or the hit of another name that it was put in front of.
pub fn naming_hit(hit: &Hit, lookup: &Lookup) -> Option<String> {
    if let Some(other) = hit.asked_before.and_then(|other| lookup.hit(other)) {
        let location = chunk_location(&other.chunk);
        return Some(format!(
            "put in front of {location}: its place has the name that was asked for"
        ));
    }
    let by = lookup.hit(hit.named_by?)?;
    let location = chunk_location(&by.chunk);
    Some(if hit.bm25.is_none() && hit.vector.is_none() {
        format!("found by its name alone: {location} names this document")
    } else {
        format!("raised: {location} names this document")
    })
}

/// Returns the location of a hit, with the number of its copies: `people/oakes.md:12-14 +2`.
pub fn hit_location(hit: &Hit) -> String {
    let location = chunk_location(&hit.chunk);
    match hit.copies.len() {
        0 => location,
        copies => format!("{location} +{copies}"),
    }
}

/// Returns the copies of a hit, as `also in b.md:1-3, c.md:1-3 (2024-05-01)`; `None` without any.
pub fn copies(hit: &Hit) -> Option<String> {
    let named = |copy: &ChunkCopy| {
        let location = location(&copy.document, copy.lines, copy.place.as_ref());
        let others = copy.other_words.iter().map(String::as_str);
        let others: Vec<&str> = others
            .filter(|word| copy.date.as_deref() != Some(word))
            .collect();
        let near = copy.near.then(|| match others.as_slice() {
            [] => "in almost the same words".to_owned(),
            others => format!("there: {}", others.join(", ")),
        });
        let remarks = [copy.date.clone(), near];
        let remarks: Vec<String> = remarks.into_iter().flatten().collect();
        if remarks.is_empty() {
            location
        } else {
            format!("{location} ({})", remarks.join(", "))
        }
    };

    let named: Vec<String> = hit.copies.iter().map(named).collect();
    (!named.is_empty()).then(|| format!("also in {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_by_stop_words_alone_is_named() {
        let score = |word: &str, score, stop_word, place_alone| WordScore {
            word: word.to_owned(),
            score,
            place_alone,
            stop_word,
        };
        let chunk = ChunkText {
            id: 1,
            document: "a.md".to_owned(),
            bytes: [0, 1],
            lines: [1, 1],
            tokens: 1,
            text: "a".to_owned(),
            ..ChunkText::default()
        };
        let words = |words: Vec<WordScore>| {
            let bm25 = words.iter().map(|word| word.score).sum();
            let hit = Hit {
                bm25: Some(Ranked {
                    score: bm25,
                    rank: 1,
                }),
                words,
                ..Hit::with_rank(chunk.clone(), 1)
            };
            word_scores(hit.bm25, &hit.words).unwrap_or_default()
        };
        assert_eq!(words(Vec::new()), "");
        assert_eq!(
            words(vec![
                score("ferri", 4.5, false, true),
                score("day", 1.25, false, false)
            ]),
            "bm25 5.75 = ferri 4.50 (in the name or headings alone) + day 1.25"
        );
        assert_eq!(
            words(vec![
                score("the", 6.8, true, false),
                score("of", 6.81, true, false)
            ]),
            "bm25 13.61 = the 6.80 + of 6.81: stop words alone, which every text has"
        );
    }

    #[test]
    fn a_location_is_on_one_line() {
        assert_eq!(
            [location("a\tb.md", [12, 14], None), lines(3, 3)],
            ["a    b.md:12-14", "3"]
        );
    }

    #[test]
    fn a_member_is_named_where_it_is_not_all_of_its_document() {
        let line_of = |member: &str| Place {
            unit: PlaceUnit::Line,
            first: 3,
            last: 4,
            name: None,
            member: Some(member.to_owned()),
        };
        let cases = [
            ("docs/notes.txt.gz", "notes.txt", "docs/notes.txt.gz:3-4"),
            ("docs/all.zip", "notes.txt", "docs/all.zip/notes.txt:3-4"),
            ("all.tar.gz", "notes.txt", "all.tar.gz/notes.txt:3-4"),
        ];
        for (document, member, expected) in cases {
            assert_eq!(location(document, [1, 9], Some(&line_of(member))), expected);
        }
    }

    #[test]
    fn a_citation_is_at_its_chunk_with_the_cited_part_in_parentheses() {
        let page = |first, last| Place {
            unit: PlaceUnit::Page,
            first,
            last,
            name: None,
            member: None,
        };
        let cases = [
            (Some([12, 14]), [13, 13], None, None, "a.md:12-14 (line 13)"),
            (
                Some([12, 14]),
                [12, 13],
                None,
                None,
                "a.md:12-14 (lines 12-13)",
            ),
            (Some([12, 14]), [12, 14], None, None, "a.md:12-14"),
            (None, [13, 13], None, None, "a.md:13"),
            (
                Some([1, 90]),
                [50, 60],
                Some(page(3, 4)),
                Some(page(4, 4)),
                "a.md p. 3-4 (p. 4)",
            ),
            (
                Some([1, 90]),
                [50, 60],
                Some(page(3, 3)),
                Some(page(3, 3)),
                "a.md p. 3",
            ),
        ];
        for (chunk_lines, [first_line, last_line], chunk_place, place, expected) in cases {
            let citation = Citation {
                label: 1,
                chunk: 1,
                chunk_lines,
                chunk_place,
                file: "a.md".to_owned(),
                first_line,
                last_line,
                place,
                quote: None,
                evidence: crate::event::Evidence::Marked,
            };
            assert_eq!(citation_location(&citation), expected);
        }
    }
}
