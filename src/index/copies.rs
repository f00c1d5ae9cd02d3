//! Copies: of chunks that say the same, one takes the place of all in a result and names the
//! others, so that the copies of a file, its versions and quoted mails leave room for other texts.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};

use super::filter::date;
use super::lexical::SIGNS;
use super::lexical::analyser::{dates, is_content_word};
use super::lexical::stop_words::short_text_language;
use super::manifest::DocumentEntry;
use crate::config::RetrieverSettings;
use crate::corpus::{count_negations, named_dates};
use crate::event::{ChunkCopy, Hit, Metadata, Ranked, document_stem};
use crate::letters::{self, is_dense};
use crate::remote::ScoredId;

/// Minimum number of words of a copy: shorter texts, such as a number below a name, say little
/// without their place. Two characters of a script without spaces count as a word.
const MIN_WORDS: usize = 8;
/// Number of words of a shingle.
const SHINGLE_WORDS: usize = 3;
/// Minimum share of the shingles of a near copy that the better text has, too.
const MIN_SHARE: f32 = 0.85;
/// Words of a near copy that are shown.
const MAX_OTHER_WORDS: usize = 5;
/// Factors of the length of lists: of each search after one in which copies crowd other texts out,
/// and at most of them all.
pub(super) const WIDER: usize = 8;
const MAX_WIDER: usize = 512;
/// Words that programs and people add to the name of a copy or a version, or of its folder.
#[rustfmt::skip]
const VERSION_WORDS: [&str; 15] = [
    "archive", "archived", "archiv", "backup", "bak", "conflict", "conflicted", "copie", "copy",
    "draft", "final", "kopie", "new", "old", "v",
];

/// Words that mail programs put before the subject of a mail that is answered or passed.
const REPLY_WORDS: [&str; 10] = [
    "re", "aw", "antw", "sv", "vs", "fw", "fwd", "wg", "tr", "rv",
];
/// Fields of the head of a mail, as this program and others write them above a text.
#[rustfmt::skip]
const MAIL_FIELDS: [&str; 12] = [
    "From: ", "To: ", "Cc: ", "Date: ", "Sent: ", "Subject: ", "Attachments: ", "Von: ", "An: ",
    "Gesendet: ", "Datum: ", "Betreff: ",
];

/// Properties above a note that differ in its copies.
const NOTE_FIELDS: [&str; 8] = [
    "created", "updated", "modified", "lastmod", "date", "id", "uid", "uuid",
];

/// A hit that may be a copy of a better one.
struct Candidate {
    hit: Hit,
    metadata: Metadata,
    /// The date of its document.
    date: String,
    /// The time of its file: copies that were made in one go have the same.
    modified_minutes: u64,
    text: TextPrint,
    /// The text without the head of a mail and without the marks of a quotation.
    body: OnceCell<TextPrint>,
    /// Whether all of it is a quotation of another mail.
    is_quotation: bool,
    /// The words of the query that its place and its text hold.
    sought: HashSet<u64>,
    /// The number of words of the query in its path.
    named: usize,
    /// The words that the versions of its file have in their paths, and its headings, both without
    /// numbers.
    file: FileName,
    headings: Vec<Vec<String>>,
}

impl Candidate {
    fn new(hit: Hit, entry: DocumentEntry, query: &Query) -> Self {
        let find_in = |text: &str| -> HashSet<u64> {
            let words = words(text).map(hash);
            words.filter(|word| query.words.contains(word)).collect()
        };
        let document = &hit.chunk.document;
        let of_path = if query.dates.is_empty() {
            Vec::new()
        } else {
            named_dates(document)
        };
        let mut dated = query.dates.clone();
        dated.retain(|date| of_path.contains(date));
        let dated = || dated.iter().map(hash);

        let place = hit.chunk.places.first().map(|from| &from.place);
        let names = place.map(|place| [&place.member, &place.name]);
        let names = names.into_iter().flatten().flatten();
        let whole = names.fold(hit.chunk.text_with_place(), |whole, name| {
            whole + "\n" + name
        });

        Self {
            body: OnceCell::new(),
            is_quotation: is_quotation(&hit.chunk.text),
            date: date(&entry),
            modified_minutes: entry.times.modified_ns / 60_000_000_000,
            text: TextPrint::new(&hit.chunk.text),
            sought: find_in(&whole).into_iter().chain(dated()).collect(),
            named: find_in(document).len() + dated().count(),
            file: FileName::new(document),
            headings: without_numbers(&hit.chunk.headings),
            hit: Hit {
                date: entry.metadata.date.clone(),
                ..hit
            },
            metadata: entry.metadata,
        }
    }

    /// Returns whether it says nothing that a better one does not say.
    fn is_copy_of(&self, better: &Self) -> bool {
        let [own, other] = [self, better].map(|of| &of.hit.chunk);
        let is_same_document = own.document == other.document;
        if self.text.length < MIN_WORDS {
            return false;
        }
        if self.text.words == better.text.words {
            // the same words below another heading are about another subject
            return !is_same_document || own.headings == other.headings;
        }

        if self.is_quotation || better.is_quotation {
            return !is_same_document
                && subject(&own.headings) == subject(&other.headings)
                && self.body().length >= MIN_WORDS
                && self.body().has_numbers_of(better.body())
                && self.body().share_in(better.body()) >= MIN_SHARE;
        }

        // forms that differ in a number or a name say different things; versions of a file may
        let is_version = self.file.is_version_of(&better.file);
        let is_marked = self.file.is_marked || better.file.is_marked;
        let [own_body, other_body] = [self.body(), better.body()];
        !is_same_document
            && self.headings == better.headings
            && (own_body.has_facts_of(other_body) || is_version)
            && (own_body.share_in(other_body) >= MIN_SHARE
                || is_version && is_marked && own_body.word_share_in(other_body) >= MIN_SHARE)
    }

    fn body(&self) -> &TextPrint {
        self.body.get_or_init(|| {
            let lines = body_lines(&self.hit.chunk.text).into_iter();
            let lines = lines.map(|line| line.trim_start_matches(['>', ' ']));
            TextPrint::new(&lines.collect::<Vec<_>>().join("\n"))
        })
    }

    /// Returns whether it can stand for a better text: it holds no less.
    fn can_lead(&self, better: &Self) -> bool {
        let [own, other] = if self.is_quotation || better.is_quotation {
            [self.body(), better.body()]
        } else {
            [&self.text, &better.text]
        };
        own.words == other.words
            || other.share_in(own) >= MIN_SHARE
            || self.file.is_version_of(&better.file) && other.word_share_in(own) >= MIN_SHARE
    }
}

/// Returns the lines of a text without the head of a mail, the dates and ids of a note, and what
/// introduces a quotation.
fn body_lines(text: &str) -> Vec<&str> {
    let is_in_head = |line: &str| {
        line.split_once(':')
            .is_some_and(|(key, _)| NOTE_FIELDS.contains(&key))
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut lines = lines.peekable();
    let mut body = Vec::new();

    while let Some(line) = lines.next() {
        // the line above a quotation says who wrote it
        let introduces =
            line.trim_end().ends_with(':') && lines.peek().is_some_and(|next| is_marked(next));
        let is_head = MAIL_FIELDS.iter().any(|field| line.starts_with(field)) || is_in_head(line);
        if !(introduces || is_head || is_rule(line)) {
            body.push(line);
        }
    }
    body
}

/// Returns whether all of a text is a quotation: each line has a mark, or a rule begins it.
fn is_quotation(text: &str) -> bool {
    // most texts have neither
    is_rule(text.trim_start()) || (text.contains('>') && is_all_marked(&body_lines(text)))
}

fn is_all_marked(lines: &[&str]) -> bool {
    !lines.is_empty() && lines.iter().all(|line| is_marked(line))
}

fn is_marked(line: &str) -> bool {
    line.starts_with('>')
}

fn is_rule(line: &str) -> bool {
    line.starts_with("----")
}

/// Returns the words of the headings of a mail, without those of an answer before its subject.
fn subject(headings: &[String]) -> Vec<String> {
    let words = words(&headings.join(" ")).collect::<Vec<_>>().into_iter();
    words
        .skip_while(|word| REPLY_WORDS.contains(&word.as_str()))
        .collect()
}

/// The words of a text as they are compared: by their hashes.
struct TextPrint {
    words: Vec<u64>,
    /// The number of words, of which two characters of a script without spaces are one.
    length: usize,
    negations: usize,
    /// The words with digits, in order.
    numbers: Vec<u64>,
    /// The words with a capital, in order.
    names: Vec<u64>,
    /// All words, in order.
    sorted: OnceCell<Vec<u64>>,
    /// The words that follow one another, in order.
    shingles: OnceCell<Vec<u64>>,
}

impl TextPrint {
    fn new(text: &str) -> Self {
        let text = &with_minus_words(&letters::normal(text));
        let written: Vec<&str> = split(text).collect();
        let dense = written.iter().filter(|word| word.starts_with(is_dense));
        let having = |is_sought: fn(char) -> bool| {
            let words = written.iter().filter(|word| word.contains(is_sought));
            sort_hashes(words.map(|word| hash(key(word))))
        };
        Self {
            length: written.len() - dense.count() / 2,
            negations: count_negations(text.split_whitespace()),
            numbers: having(char::is_numeric),
            names: having(char::is_uppercase),
            words: written.iter().map(|word| hash(key(word))).collect(),
            sorted: OnceCell::new(),
            shingles: OnceCell::new(),
        }
    }

    /// Returns whether another text has all of the words with digits.
    fn has_numbers_of(&self, other: &Self) -> bool {
        let mut numbers = self.numbers.iter();
        numbers.all(|number| other.numbers.binary_search(number).is_ok())
    }

    /// Returns whether another text has all of the words with digits or capitals, and denies as
    /// often where it is not much longer.
    fn has_facts_of(&self, other: &Self) -> bool {
        let all = other.all_words();
        let mut names = self.names.iter();
        let is_other_longer = self.words.len() as f32 <= other.words.len() as f32 * MIN_SHARE;
        self.has_numbers_of(other)
            && names.all(|name| all.binary_search(name).is_ok())
            && (is_other_longer || self.negations == other.negations)
    }

    fn all_words(&self) -> &[u64] {
        self.sorted
            .get_or_init(|| sort_hashes(self.words.iter().copied()))
    }

    /// Returns the share of the shingles that another text has, too.
    fn share_in(&self, other: &Self) -> f32 {
        // a text has no more shingles than words
        if (other.words.len() as f32) < self.words.len() as f32 * MIN_SHARE - SHINGLE_WORDS as f32 {
            return 0.0;
        }
        let own = self.shingles();
        let others = other.shingles();
        let shared = own.iter().filter(|one| others.binary_search(one).is_ok());
        shared.count() as f32 / own.len().max(1) as f32
    }

    /// Returns the share of the words that another text has, too: in a short text one number is in
    /// a quarter of the shingles.
    fn word_share_in(&self, other: &Self) -> f32 {
        let [own, others] = [self.all_words(), other.all_words()];
        let shared = own.iter().filter(|one| others.binary_search(one).is_ok());
        shared.count() as f32 / own.len().max(1) as f32
    }

    fn shingles(&self) -> &[u64] {
        self.shingles
            .get_or_init(|| sort_hashes(self.words.windows(SHINGLE_WORDS).map(hash)))
    }
}

/// Returns the form in which words are compared. One of letters and digits may be a password, in
/// which case counts.
fn key(word: &str) -> Cow<'_, str> {
    if word.contains(char::is_numeric) && word.contains(char::is_alphabetic) {
        word.into()
    } else {
        word.to_lowercase().into()
    }
}

/// Returns a text with the minus signs of its numbers as letters, which words keep: -40 is not 40.
fn with_minus_words(text: &str) -> String {
    let mut signed = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = characters.next() {
        let is_minus = matches!(c, '-' | '−') && !before.is_alphanumeric();
        let is_number = characters.peek().is_some_and(|next| next.is_numeric());
        signed.push(if is_minus && is_number { 'm' } else { c });
        before = c;
    }
    signed
}

/// Returns the first words of a text that another has not, with their points and signs inside.
fn other_words(own: &str, other: &TextPrint) -> Vec<String> {
    let other: HashSet<&u64> = other.words.iter().collect();
    let normal = letters::normal(own);
    let written = normal.split_whitespace();
    let is_other = |word: &&str| {
        let signed = with_minus_words(word);
        split(&signed).any(|part| !other.contains(&hash(key(part))))
    };
    let trimmed = written
        .filter(is_other)
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && !"-−+%".contains(c)));
    let mut words: Vec<String> = Vec::new();
    for word in trimmed {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
        if words.len() == MAX_OTHER_WORDS {
            break;
        }
    }
    words
}

fn hash(value: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

/// Returns hashes in order, each once.
fn sort_hashes(hashes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut hashes: Vec<u64> = hashes.collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Returns the words of a text in lower case and in normal form.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let text = letters::normal(text);
    let words: Vec<String> = split(&text).map(str::to_lowercase).collect();
    words.into_iter()
}

/// Returns the words of a text as they are written, each with its signs; of a script without spaces
/// each character.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || SIGNS.contains(&c)));
    let words = words.map(|word| word.trim_start_matches(SIGNS));
    let ended = words.flat_map(|word| word.split_inclusive(is_dense));
    let parts = ended.flat_map(|part| {
        let last = part.chars().next_back().filter(|c| is_dense(*c));
        let (before, dense) = part.split_at(part.len() - last.map_or(0, char::len_utf8));
        [before, dense]
    });
    parts.filter(|part| !part.is_empty())
}

/// Returns the words of each heading, without digits.
fn without_numbers(headings: &[String]) -> Vec<Vec<String>> {
    let headings = headings
        .iter()
        .map(|heading| heading.replace(char::is_numeric, " "));
    headings.map(|heading| words(&heading).collect()).collect()
}

/// The words of a path that the versions of a file share: `report` of
/// `old/Report (2) final v3.docx`. A number alone is no mark of a version: `invoice-17`.
struct FileName {
    words: Vec<String>,
    /// Whether a word or a number says that it is a version or a copy, and not a date alone.
    is_marked: bool,
    /// Whether it is a date alone, as that of a note of each day.
    is_date: bool,
}

impl FileName {
    fn new(path: &str) -> Self {
        let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
        let mut name = Self {
            words: Vec::new(),
            is_marked: false,
            is_date: false,
        };
        for part in folders.split('/') {
            name.add(part);
        }
        let in_folder = name.words.len();
        name.add(document_stem(path));
        name.is_date = name.words.len() == in_folder && !name.is_marked;
        name
    }

    fn is_version_of(&self, other: &Self) -> bool {
        self.words == other.words && !self.is_date
    }

    fn add(&mut self, part: &str) {
        // file managers name a copy `report (1)`
        let words: Vec<String> = words(&part.replace('(', " copy ")).collect();
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let is_dated = words.iter().any(|word| {
            is_number(word) && word.len() >= 4 && (word.starts_with("19") || word.starts_with("20"))
        });

        let mut is_behind_mark = false;
        let mut kept = Vec::new();
        for word in words.iter().map(String::as_str) {
            let number = word.strip_prefix('v').unwrap_or(word);
            if VERSION_WORDS.contains(&word) || (number != word && is_number(number)) {
                is_behind_mark = true;
                self.is_marked = true;
            } else if !is_number(word) || !(is_behind_mark || is_dated) {
                is_behind_mark = false;
                kept.push(word);
            }
        }
        self.words
            .extend(Some(kept.join(" ")).filter(|name| !name.is_empty()));
    }
}

/// Returns whether two of these documents are versions of one file, by their paths.
pub fn has_versions<'p>(documents: impl Iterator<Item = &'p str>) -> bool {
    let documents: BTreeSet<&str> = documents.collect();
    let names = documents.iter().map(|path| FileName::new(path));
    let mut seen = HashSet::new();
    names
        .into_iter()
        .any(|name| !name.is_date && !seen.insert(name.words))
}

/// Returns how two versions of one file are ordered by the numbers in their paths; `None` for other
/// files, and where the numbers are the same.
pub fn compare_versions(one: &str, other: &str) -> Option<Ordering> {
    let order = numbers(one).cmp(&numbers(other));
    let [one, other] = [one, other].map(FileName::new);
    (order.is_ne() && one.is_version_of(&other)).then_some(order)
}

fn numbers(path: &str) -> Vec<u64> {
    let digits = path.split(|c: char| !c.is_ascii_digit());
    digits.filter_map(|number| number.parse().ok()).collect()
}

/// The words of a query, by their hashes, and the dates that it names.
struct Query {
    words: HashSet<u64>,
    dates: Vec<String>,
}

/// A result in which copies are one hit, in the order of the best of them.
pub(super) struct Folding {
    query: Query,
    groups: Vec<Vec<Candidate>>,
    max: usize,
}

impl Folding {
    /// Begins a result of at most `max` hits for a query.
    pub fn new(query: &str, max: usize) -> Self {
        let language = short_text_language(query).unwrap_or_default();
        let words = words(query).filter(|word| is_content_word(word, language));
        Self {
            query: Query {
                words: words.map(hash).collect(),
                dates: dates(query),
            },
            groups: Vec::new(),
            max,
        }
    }

    /// Adds the next hit, best first. Returns whether it had room.
    pub fn add(&mut self, hit: Hit, document: DocumentEntry) -> bool {
        let candidate = Candidate::new(hit, document, &self.query);
        let mut groups = self.groups.iter_mut();
        if let Some(group) = groups.find(|group| is_copy(&candidate, group)) {
            group.push(candidate);
            return true;
        }
        let has_room = self.groups.len() < self.max;
        if has_room {
            self.groups.push(vec![candidate]);
        }
        has_room
    }

    /// Returns the hits, with what their documents say of themselves. Of copies the one leads that
    /// holds most words of the query, then the one whose path does, then the newest, of one day the
    /// one with the largest number of a version, then the one with the shortest path: programs and
    /// people lengthen that of a copy.
    pub fn finish(self) -> (Vec<Hit>, BTreeMap<String, Metadata>) {
        let groups = (1..).zip(self.groups);
        let joined = groups.map(|(rank, group)| {
            let (hit, metadata) = join(rank, group);
            let document = hit.chunk.document.clone();
            (hit, (document, metadata))
        });
        joined.unzip()
    }
}

/// Returns whether a hit is a copy of those of a group, and one of them holds all words of the
/// query that any of them holds: of two versions or products that the query names both are hits.
fn is_copy(candidate: &Candidate, group: &[Candidate]) -> bool {
    let best = &group[0];
    candidate.is_copy_of(best)
        && group.iter().all(|one| {
            candidate.sought.is_subset(&one.sought)
                || (candidate.sought.is_superset(&one.sought) && candidate.can_lead(best))
        })
}

/// Returns whether copies crowd other texts out of a search, so that a wider one is due: one whose
/// lists are `pool` long found at least twice as many chunks as hits.
pub(super) fn are_crowded(
    hits: &[Hit],
    lists: [&[ScoredId]; 2],
    pool: usize,
    settings: &RetrieverSettings,
) -> bool {
    let is_full = lists.iter().any(|list| list.len() >= pool);
    let wanted = settings.pool as usize;
    is_full && hits.len() * 2 <= wanted && pool < wanted * MAX_WIDER
}

/// Returns the hit that leads its copies, at the rank of the best of them.
fn join(rank: u32, mut group: Vec<Candidate>) -> (Hit, Metadata) {
    let fused = Ranked {
        rank,
        ..group[0].hit.fused
    };
    let is_one_text = group
        .iter()
        .all(|one| one.text.words == group[0].text.words);
    let order = |at: &usize| {
        let one = &group[*at];
        let document = &one.hit.chunk.document;
        let of_itself = one.metadata.version.as_deref().unwrap_or_default();
        let version = (!is_one_text).then(|| (numbers(of_itself), numbers(document)));
        let is_valid = (!one.metadata.withdrawn, !one.is_quotation);
        let time = (is_valid, &one.date, version, one.modified_minutes);
        let length = Reverse(document.len());
        (one.sought.len(), one.named, time, length, Reverse(*at))
    };
    let leaders = (0..group.len()).filter(|at| group[*at].can_lead(&group[0]));
    let leader = leaders.max_by_key(order).unwrap_or(0);

    let Candidate {
        hit,
        metadata,
        date,
        text,
        ..
    } = group.remove(leader);
    let copies = group.into_iter().map(|copy| {
        let chunk = copy.hit.chunk;
        ChunkCopy {
            chunk: chunk.id,
            place: chunk.place(chunk.lines),
            document: chunk.document,
            lines: chunk.lines,
            date: Some(copy.date).filter(|own| *own != date),
            near: copy.text.words != text.words,
            other_words: other_words(&chunk.text, &text),
        }
    });
    let hit = Hit {
        fused,
        copies: copies.collect(),
        ..hit
    };
    (hit, metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ChunkText;

    const FERRY: &str = "On Sundays the ferry to Lund Island leaves at 10:15 and at 16:40. \
        The crossing takes fifty minutes, and the last boat back leaves in the evening.";

    /// A document with a heading, a date and a text.
    type Document<'a> = (&'a str, &'a str, &'a str, &'a str);

    /// Returns the documents of the hits, each followed by those of its copies.
    fn fold(query: &str, max: usize, documents: &[Document<'_>]) -> Vec<Vec<String>> {
        let mut folding = Folding::new(query, max);
        for (rank, (document, heading, date, text)) in (1..).zip(documents) {
            let chunk = ChunkText {
                id: u64::from(rank),
                document: (*document).to_owned(),
                headings: vec![(*heading).to_owned()],
                bytes: [0, 1],
                lines: [1, 1],
                tokens: 1,
                text: (*text).to_owned(),
                ..ChunkText::default()
            };
            let score = 1.0 / rank as f32;
            let hit = Hit::new(chunk, Ranked { score, rank });
            let mut entry = DocumentEntry::default();
            entry.metadata.date = Some((*date).to_owned());
            if !folding.add(hit, entry) {
                break;
            }
        }
        let (hits, _) = folding.finish();
        assert!((1..).zip(&hits).all(|(rank, hit)| hit.fused.rank == rank));
        let named = |hit: Hit| {
            let copies = hit.copies.into_iter().map(|copy| copy.document);
            std::iter::once(hit.chunk.document).chain(copies).collect()
        };
        hits.into_iter().map(named).collect()
    }

    #[test]
    fn copies_are_one_hit_that_the_query_or_else_the_date_chooses() {
        let documents: [Document<'_>; 4] = [
            ("ferry.md", "", "2024-01-01", FERRY),
            ("backup/ferry.md", "", "2023-01-01", &format!("> {FERRY}")),
            ("ferry (2).md", "", "2025-01-01", FERRY),
            (
                "island.md",
                "",
                "2020-01-01",
                "Camping is allowed on the west shore only.",
            ),
        ];
        let newest = fold("When does it leave?", 9, &documents);
        let leading = ["ferry (2).md", "ferry.md", "backup/ferry.md"];
        assert_eq!(newest, [&leading[..], &["island.md"]]);
        let named = fold("What does the backup say?", 9, &documents);
        assert_eq!(named[0], ["backup/ferry.md", "ferry.md", "ferry (2).md"]);
        assert_eq!(fold("", 1, &documents).len(), 1);
        let twins = [("lund.md", "", "", FERRY), ("lund_ferry.md", "", "", FERRY)];
        let by_name = fold("What does lund_ferry do?", 9, &twins);
        assert_eq!(by_name, [["lund_ferry.md", "lund.md"]]);
        let both = fold("Does the backup or the 2 say so?", 9, &documents);
        assert_eq!(both.len(), 3, "a file that the query names is a hit");
    }

    #[test]
    fn a_quotation_in_another_mail_is_a_copy() {
        let quoted = FERRY.replace(". ", ".\n> ");
        let quoted = format!("On Wed, 3 Jun 2026, Ann wrote:\n> {quoted}");
        let below_rule = format!("-----Original Message-----\nFrom: Ann\nSent: 3 June\n\n{FERRY}");
        let whole =
            format!("Ferry\n\nFrom: Ann <ann@example.org>\nDate: 2026-06-03 10:00\n\n{FERRY}");
        let of_another = format!("{quoted}\n> So says Ann.");
        let mails = [
            ("2.eml", "Re: Ferry", "2026-06-04", quoted.as_str()),
            ("1.eml", "Ferry", "2026-06-03", &whole),
            ("3.eml", "AW: Re: Ferry", "2026-06-05", &below_rule),
            ("4.eml", "Re: Boats", "2026-06-05", &of_another),
            (
                "5.eml",
                "Re: Ferry",
                "2026-06-06",
                "> The ferry is late again today, by an hour, and nobody knows why.",
            ),
        ];
        let found = fold("When does the ferry leave?", 9, &mails);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0].len(), 3, "{found:?}");
    }

    #[test]
    fn versions_are_led_by_what_is_in_force_and_say_what_they_say_otherwise() {
        let mut folding = Folding::new("When does the ferry leave?", 9);
        let versions = [
            ("ferry_old.md", "2.0", true, "10:15"),
            ("ferry.md", "1.9", false, "11:15"),
            ("ferry_new.md", "1.10", false, "12:15"),
        ];
        for (rank, (document, version, withdrawn, time)) in (1..).zip(versions) {
            let hit = Hit::from_text(rank, document, &FERRY.replace("10:15", time));
            let mut entry = DocumentEntry::default();
            entry.metadata.version = Some(version.to_owned());
            entry.metadata.withdrawn = withdrawn;
            folding.add(hit, entry);
        }
        let (hits, _) = folding.finish();
        let [hit] = hits.as_slice() else {
            panic!("{hits:?}");
        };
        assert_eq!(hit.chunk.document, "ferry_new.md");
        let others = hit.copies.iter().map(|copy| copy.other_words.as_slice());
        assert_eq!(others.collect::<Vec<_>>(), [["10:15"], ["11:15"]]);
    }

    #[test]
    fn near_copies_differ_in_few_words() {
        let other_word = FERRY.replace("leaves at", "departs at");
        let other_time = FERRY.replace("10:15", "11:15");
        let mut longer = FERRY.to_owned();
        longer.push_str(" Dogs travel free of charge, bicycles cost four crowns on every boat.");
        let denied = FERRY.replace("leaves at", "leaves not at");
        let other_name = FERRY.replace("Lund", "Ember");
        let ja = "日曜日のルンド島行きフェリーは十時に出て、帰りの最終便は夕方に出る。";
        let password = format!("{FERRY} The password is Kestrel7.");
        let other_case = password.replace("Kestrel7", "kestrel7");
        let short = "The daily allowance for travel is 28 euros in all countries.";
        let risen = short.replace("28", "35");
        let cases: [(Document<'_>, Document<'_>, bool); 25] = [
            (("a.md", "", "", FERRY), ("b.md", "", "", &other_word), true),
            (
                ("a.md", "", "", &password),
                ("b.md", "", "", &other_case),
                false,
            ),
            // another number is another fact, unless the files are versions of each other
            (
                ("a.md", "", "", FERRY),
                ("b.md", "", "", &other_time),
                false,
            ),
            (
                ("plan v1.md", "Plan 1", "", FERRY),
                ("old/Plan-v2.md", "Plan 2", "", &other_time),
                true,
            ),
            (
                ("plan 2025-04.md", "", "", FERRY),
                ("plan 2024.md", "", "", &other_time),
                true,
            ),
            (
                ("bill-17.md", "", "", FERRY),
                ("bill-18.md", "", "", &other_time),
                false,
            ),
            (
                ("bill-17 (1).md", "", "", FERRY),
                ("bill-17 draft 2.md", "", "", &other_time),
                true,
            ),
            (
                ("pay (1).md", "", "", short),
                ("pay.md", "", "", &risen),
                true,
            ),
            (
                ("pay 2024.md", "", "", short),
                ("pay 2025.md", "", "", &risen),
                false,
            ),
            (
                ("pay v9.md", "", "", short),
                ("pay v10.md", "", "", &risen),
                true,
            ),
            (
                ("daily/2024-01-02.md", "", "", FERRY),
                ("daily/2024-01-03.md", "", "", &other_time),
                false,
            ),
            // a negation and a name as well
            (("a.md", "", "", FERRY), ("b.md", "", "", &denied), false),
            (("a.md", "", "", &denied), ("b.md", "", "", FERRY), false),
            (
                ("a.md", "", "", FERRY),
                ("b.md", "", "", &other_name),
                false,
            ),
            (
                ("lund/README.md", "", "", FERRY),
                ("ember/README.md", "", "", &other_time),
                false,
            ),
            (
                ("lund/README.md", "", "", FERRY),
                ("lund/archive 2024/README.md", "", "", &other_time),
                true,
            ),
            (
                ("C.md", "C", "", FERRY),
                ("C++.md", "C++", "", &other_word),
                false,
            ),
            (("a.md", "", "", ja), ("b.md", "", "", ja), true),
            (
                ("a.md", "", "", "内線番号は三"),
                ("b.md", "", "", "内線番号は三"),
                false,
            ),
            // it adds something to the better one, but not the other way round
            (("a.md", "", "", FERRY), ("b.md", "", "", &longer), false),
            (("a.md", "", "", &longer), ("b.md", "", "", FERRY), true),
            // below another heading it is about another subject
            (
                ("a.md", "One", "", FERRY),
                ("a.md", "Two", "", FERRY),
                false,
            ),
            (("a.md", "One", "", FERRY), ("a.md", "One", "", FERRY), true),
            (
                ("a.md", "One", "", FERRY),
                ("b.md", "Two", "", &other_word),
                false,
            ),
            (
                ("Ilse.md", "", "", "Phone: 555 0134"),
                ("Tom.md", "", "", "Phone: 555 0134"),
                false,
            ),
        ];
        for (better, other, is_copy) in cases {
            let hits = fold("", 9, &[better, other]).len();
            assert_eq!(hits == 1, is_copy, "{better:?} {other:?}");
        }
    }

    #[test]
    fn versions_whose_numbers_the_query_names_are_hits() {
        let later = FERRY.replace("10:15", "11:15");
        let versions = [("v1.md", "", "", FERRY), ("v2.md", "", "", later.as_str())];
        for (query, leading) in [
            ("the ferry", &["v2.md"][..]),
            ("ferry at 11:15", &["v2.md"]),
            ("ferry at 10:15 or 11:15", &["v1.md", "v2.md"]),
        ] {
            let hits = fold(query, 9, &versions);
            let led: Vec<&str> = hits.iter().map(|hit| hit[0].as_str()).collect();
            assert_eq!(led, leading, "{query}");
        }
    }
}
