//! The answer to a question for what documents label themselves: all lines `Decision: …`, and the
//! files whose `Time: 35 minutes` is within a bound. No model reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::corpus::{Format, begins_item, count_negations, language, split_words};
use crate::engine::error::RunError;
use crate::engine::run::{Passages, Run, Searched, context, documents, pins};
use crate::event::{ChunkText, Citation, Evidence, Hit, Scope, document_stem};

use super::cells::{read_numbers, split_number};
use super::quotes::quotation;
use super::row_question::{RowQuestion, sets_no_condition};
use super::rows::FoundEntries;
use super::scope::{asks_for_entries, asks_for_several, has_scope, list_subject, points_back};
use super::sources::{citation, lines};
use super::wording::{has_digit, stems, text_language};

/// Fewest lines that are a list, and fewest files that are compared.
const MIN_LABELLED: usize = 2;
/// Maximum number of entries that are given.
const MAX_GIVEN: usize = 24;
/// Files of a folder that are read for a question.
const MAX_DOCUMENTS: usize = 200;
/// Words of the longest label.
const MAX_LABEL: usize = 3;
/// Words beside what is listed, which set no condition, in lower case.
const DOING: &str = "made taken agreed reached getroffen gefasst prises tomadas";
/// Things of which each has a file, in lower case; other words may be a condition.
#[rustfmt::skip]
const OF_FILES: &[&str] = &[
    "recipes", "dishes", "meals", "tours", "hikes", "trips", "walks", "courses", "machines",
    "devices", "products", "articles", "items", "projects", "tasks", "rooms", "flats", "houses",
    "films", "books", "games", "files", "documents", "rezepte", "gerichte", "touren", "kurse",
    "geräte", "produkte", "artikel", "projekte", "zimmer", "wohnungen", "dateien", "recettes",
    "plats", "cours", "appareils", "produits", "projets", "fichiers", "recetas", "platos",
    "cursos", "aparatos", "productos", "proyectos", "archivos",
];

/// Labels of the whole beside those of its parts, in lower case.
const OF_WHOLE: &[&str] = &[
    "time",
    "total",
    "total time",
    "duration",
    "zeit",
    "dauer",
    "gesamtzeit",
    "durée",
    "temps",
    "tiempo",
    "duración",
];

/// A part of a line with a label in front of it.
struct Labelled<'c> {
    chunk: &'c ChunkText,
    label: &'c str,
    value: &'c str,
    /// The bytes of the chunk that it is in.
    range: Range<usize>,
}

impl Labelled<'_> {
    /// Returns its value without the full stop behind it.
    fn bare_value(&self) -> &str {
        self.value.trim_end_matches(['.', '。'])
    }

    fn text(&self) -> &str {
        self.chunk.text[self.range.clone()].trim()
    }

    fn lines(&self) -> [u32; 2] {
        let start = self.range.start;
        lines(
            self.chunk,
            start..start + self.chunk.text[self.range.clone()].trim_end().len(),
        )
    }

    fn cite(&self, hit: &Hit) -> Citation {
        let [first_line, last_line] = self.lines();
        Citation {
            first_line,
            last_line,
            place: hit.chunk.place([first_line, last_line]),
            quote: Some(self.text().to_owned()),
            evidence: Evidence::Overlap { share: 1.0 },
            ..citation(hit.fused.rank, hit)
        }
    }
}

/// Finds the lines that what the question lists labels, in the documents of the passages, and puts
/// their chunks in the place of the passages. `None` where it lists nothing, or has another word.
///
/// # Errors
///
/// Failures of the index.
pub fn choose_labelled(
    run: &mut Run<'_>,
    asked: &str,
    scope: &Scope,
    passages: &mut Passages,
) -> Result<Option<FoundEntries>, RunError> {
    let lower = asked.to_lowercase();
    let listed = list_subject(scope, asked).filter(|_| asks_for_entries(scope, asked));
    let subject = listed.or_else(|| asks_for_several(&lower).then_some(lower));
    // what is not so has no label, and what "it" is stands in the question before
    let is_plain = count_negations(split_words(asked)) == 0 && !points_back(&asked.to_lowercase());
    let Some(subject) = subject.filter(|_| is_plain && has_scope(run.tools.config)) else {
        return Ok(None);
    };
    let language = text_language(&subject);
    let doing = stems(DOING, language);
    let mut words = stems(&subject.to_lowercase(), language);
    words.retain(|word| !doing.contains(word));

    let names = |one: &Labelled<'_>| {
        let own = stems(&one.label.to_lowercase(), language);
        if own.is_empty() || !own.is_subset(&words) {
            return false;
        }
        let document = document_stem(&one.chunk.document);
        let place = format!("{document}\n{}", one.chunk.headings.join("\n"));
        let place = stems(&place.to_lowercase().replace(['-', '_'], " "), language);
        words
            .iter()
            .all(|word| own.contains(word) || place.contains(word))
    };

    let mut hits = passages.hits.clone();
    let is_labelled = |hit: &Hit| find_labels(&hit.chunk, "\n").iter().any(names);
    if words.len() == 1 && hits.iter().any(is_labelled) {
        // the few passages of a question for a fact are not all of them
        let found = run.search(&[Searched::new(&subject)])?;
        hits.extend(found.into_iter().flat_map(|one| one.hits));
    }
    let files = documents(&hits).into_iter().map(str::to_owned).collect();
    let chunks = read_chunks(run, files)?;
    let found = chunks.iter().flat_map(|chunk| find_labels(chunk, "\n"));
    let mut seen = BTreeSet::new();
    let found = found.filter(|one| {
        let chunk = one.chunk;
        names(one) && seen.insert((chunk.document.as_str(), one.lines(), one.label))
    });
    let found: Vec<Labelled<'_>> = found.collect();
    if found.len() < MIN_LABELLED {
        return Ok(None);
    }
    let entry = |one: &Labelled<'_>| format!("- {}", quotation(one.text()));
    give_labelled(run, asked, passages, None, &found, entry).map(Some)
}

/// Finds the files whose label has a number within the bound of the question, and puts their chunks
/// in the place of the passages. `None` where it has no bound with a unit, or another condition.
///
/// # Errors
///
/// Failures of the index.
pub fn choose_fields(
    run: &mut Run<'_>,
    asked: &str,
    scope: &Scope,
    passages: &mut Passages,
) -> Result<Option<FoundEntries>, RunError> {
    let is_whole = run.tools.config.retriever.filter.is_empty() && has_scope(run.tools.config);
    let question = RowQuestion::read(asked).filter(|question| {
        is_whole && (question.asks_for_rows() || asks_for_entries(scope, asked))
    });
    let Some(RowQuestion {
        text,
        bound: Some(bound),
        extreme: None,
        denials,
        has_alternatives: false,
        ..
    }) = question
    else {
        return Ok(None);
    };
    let Some(corpus) = &run.tools.corpus else {
        return Ok(None);
    };
    let units = bound.unit.unwrap_or_default();
    let words = split_words(&text).filter(|word| !sets_no_condition(word) && !units.contains(word));
    let words: Vec<&str> = words.filter(|word| !OF_FILES.contains(word)).collect();
    let files = corpus.index.documents()?;
    let count = files.len();
    if units.is_empty() || count > MAX_DOCUMENTS || !denials.is_empty() {
        return Ok(None);
    }

    let chunks = read_chunks(run, files)?;
    let Some((label, fields)) = find_fields(&chunks, units, &words) else {
        return Ok(None);
    };
    // a word such as "flats" may be of other files than those with the label
    let is_of_most = fields.len() * 2 >= count;
    if !is_of_most {
        return Ok(None);
    }
    let within = fields.iter().filter(|(number, _)| bound.holds(*number));
    let within: Vec<&Labelled<'_>> = within.map(|(_, one)| one).collect();
    if within.is_empty() {
        return Ok(None);
    }
    let lead = format!(
        "{} ({}/{}):",
        bound.describe(&label),
        within.len(),
        fields.len()
    );
    let entry = |one: &&Labelled<'_>| {
        let (file, value) = (&one.chunk.document, one.bare_value());
        format!("- {file}: {}: {value}", one.label)
    };
    give_labelled(run, asked, passages, Some(lead), &within, entry).map(Some)
}

/// Returns the label that has a number in one of these units in several files, once in each, with
/// these numbers; `None` where several have one, a number is unclear, or the label has not all of
/// the words.
fn find_fields<'c>(
    chunks: &'c [ChunkText],
    units: &[&str],
    words: &[&str],
) -> Option<(String, Vec<(f64, Labelled<'c>)>)> {
    let mut by_label: BTreeMap<String, BTreeMap<&str, (Option<f64>, Labelled<'_>)>> =
        BTreeMap::new();
    for one in chunks.iter().flat_map(|chunk| find_labels(chunk, ". ")) {
        let value = one.bare_value();
        if !has_digit(value) {
            continue;
        }
        let is_unit = |unit: &str| units.contains(&unit.to_lowercase().as_str());
        let number = split_number(value).filter(|[_, _, unit]| is_unit(unit));
        let number = number.and_then(|[_, digits, _]| read_numbers(&[digits], "en")?.pop()?);
        let of_label = by_label.entry(one.label.to_lowercase()).or_default();
        let known = of_label
            .entry(one.chunk.document.as_str())
            .or_insert((number, one));
        if known.0 != number {
            known.0 = None;
        }
    }

    // the time to bake alone is not that of a recipe
    let mut labels_of: BTreeMap<&str, usize> = BTreeMap::new();
    let numbered = by_label
        .values()
        .flatten()
        .filter(|(_, (number, _))| number.is_some());
    for (file, _) in numbered {
        *labels_of.entry(file).or_default() += 1;
    }
    let has_whole = by_label
        .keys()
        .any(|label| OF_WHOLE.contains(&label.as_str()));
    if words.is_empty() && !has_whole && labels_of.values().any(|count| *count > 1) {
        return None;
    }

    by_label.retain(|label, fields| {
        let own = stems(label, language(label));
        let is_read = |word: &&str| {
            let word = stems(word, language(label));
            !word.is_empty() && word.is_subset(&own)
        };
        let numbers = fields.values().filter(|(number, _)| number.is_some());
        numbers.count() >= MIN_LABELLED && words.iter().all(is_read)
    });
    let (Some((label, fields)), None) = (by_label.pop_first(), by_label.pop_first()) else {
        return None;
    };
    let fields = fields
        .into_values()
        .map(|(number, one)| Some((number?, one)));
    let fields = fields.collect::<Option<Vec<_>>>()?;
    let label = fields
        .first()
        .map_or(label, |(_, one)| one.label.to_owned());
    Some((label, fields))
}

/// Returns the chunks of the files that are no source code.
fn read_chunks(run: &Run<'_>, files: Vec<String>) -> Result<Vec<ChunkText>, RunError> {
    let mut chunks = Vec::new();
    let Some(corpus) = &run.tools.corpus else {
        return Ok(chunks);
    };
    for file in files {
        if !Format::for_path(&file).is_source_code() {
            chunks.extend(corpus.index.document(&file)?);
        }
    }
    chunks.retain(|chunk| !pins::is_excluded(&run.tools.config.retriever, chunk));
    Ok(chunks)
}

/// Returns the parts of a chunk that begin with a label, `**Decision:** we stay`; a part ends with
/// its line or with these characters.
fn find_labels<'c>(chunk: &'c ChunkText, ends: &str) -> Vec<Labelled<'c>> {
    let mut found = Vec::new();
    let mut end = 0;
    let whole = chunk.text.split_inclusive('\n');
    for part in whole.flat_map(|line| line.split_inclusive(ends)) {
        let start = end;
        end += part.len();
        let text = part.trim();
        let item = text.split_once(' ').filter(|_| begins_item(text));
        let text = item
            .map_or(text, |(_, rest)| rest)
            .trim_start_matches(['*', '_', '>', ' ']);
        let Some((label, value)) = text.split_once([':', '：']) else {
            continue;
        };
        let label = label.trim_end_matches(['*', '_']);
        let is_apart = value.starts_with([' ', '*', '_']) || text[label.len()..].starts_with('：');
        let value = value.trim_start_matches(['*', '_', ' ']);
        let is_label = (1..=MAX_LABEL).contains(&label.split_whitespace().count());
        if is_label && is_apart && !value.is_empty() {
            found.push(Labelled {
                chunk,
                label,
                value,
                range: start..end,
            });
        }
    }
    found
}

/// Puts the chunks of what was found in the place of the passages, and returns it as entries.
fn give_labelled<'c, T: std::borrow::Borrow<Labelled<'c>>>(
    run: &mut Run<'_>,
    asked: &str,
    passages: &mut Passages,
    lead: Option<String>,
    found: &[T],
    entry: impl Fn(&T) -> String,
) -> Result<FoundEntries, RunError> {
    let mut hits: Vec<Hit> = Vec::new();
    let mut given = Vec::new();
    for one in found.iter().take(MAX_GIVEN) {
        let text = entry(one);
        let one = one.borrow();
        let last = hits.last();
        if last.is_none_or(|hit| hit.chunk.id != one.chunk.id) {
            let rank = last.map_or(1, |hit| hit.fused.rank + 1);
            hits.push(Hit::with_rank(one.chunk.clone(), rank));
        }
        given.push((text, one.cite(&hits[hits.len() - 1])));
    }
    passages.hits = hits;
    run.emit_read(asked.to_owned(), &passages.hits);
    context::publish(run, passages)?;
    Ok(FoundEntries {
        lead,
        gap: "\n",
        given,
        left_out: found.len().saturating_sub(MAX_GIVEN),
    })
}

#[cfg(test)]
mod tests {
    use super::super::wording::find_unit;
    use super::*;

    #[test]
    fn the_labels_of_lines_and_of_their_parts_are_found() {
        let chunk = |document: &str, text: &str| ChunkText {
            document: document.to_owned(),
            text: text.to_owned(),
            ..ChunkText::default()
        };
        let minutes = chunk(
            "a.md",
            "- Decision: stay. All agree.\n- **Decision:** go\n- At 10:00 we met\n决定：留下\nNone",
        );
        let found = find_labels(&minutes, "\n");
        let found: Vec<_> = found.iter().map(|one| (one.label, one.value)).collect();
        let expected = [
            ("Decision", "stay. All agree."),
            ("Decision", "go"),
            ("决定", "留下"),
        ];
        assert_eq!(found, expected);

        let recipes = [
            chunk("a.md", "Serves 4. Time: 35 minutes. Rest: 5 minutes."),
            chunk("b.md", "Serves 3. Time: 25 min.\n\nBake: 3 kg"),
            chunk("c.md", "It takes a while."),
        ];
        let minutes = find_unit("minutes").unwrap_or_default();
        let fields = |words: &[&str]| {
            let (label, fields) = find_fields(&recipes, minutes, words)?;
            let numbers: Vec<f64> = fields.iter().map(|(number, _)| *number).collect();
            Some((label, numbers))
        };
        let expected = Some(("Time".to_owned(), vec![35.0, 25.0]));
        assert_eq!(fields(&[]), expected);
        assert_eq!(fields(&["time"]), expected);
        assert_eq!(fields(&["soups"]), None);
        assert_eq!(fields(&["no"]), None);

        let baked = [
            chunk("a.md", "Prep: 20 minutes. Bake: 40 minutes."),
            chunk("b.md", "Prep: 10 minutes."),
        ];
        assert!(find_fields(&baked, minutes, &[]).is_none());
        assert!(find_fields(&baked, minutes, &["prep"]).is_some());
    }
}
