//! Mail: single messages and mailboxes, read by mail-parser. The headers that people search for
//! come first; quoted text that an earlier message of the file holds is left out; attachments are
//! read by the readers of their formats.

use std::borrow::Cow;
use std::collections::HashSet;

use encoding_rs::{Encoding, UTF_8};
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{
    Address, DateTime, Encoding as TransferEncoding, Message, MessageParser, MessagePart,
    MimeHeaders, PartType,
};

use super::builder::{Builder, named, one_line};
use super::format::{Extract, Format, Input, Reader};
use super::mail_head::plain_head;
use super::member::{read_member, unread_members};
use super::quotes::{Quotes, Unquoted};
use super::{html, mailbox};
use crate::corpus::decode::{decode, without_mark};
use crate::corpus::name_date::day_in_field;
use crate::corpus::sentence::split_words;
use crate::event::{Metadata, Place, PlaceUnit};

pub(super) const MESSAGE: Format = Format {
    name: "mail",
    extensions: &["eml", "emlx", "mht", "mhtml"],
    library: "mail-parser",
    place: "message",
    reader: Reader::Configured(read_message),
};

pub(super) const MAILBOX: Format = Format {
    name: "mailbox",
    extensions: &["mbox", "mbx"],
    library: "mail-parser",
    place: "message",
    reader: Reader::Configured(read_mailbox),
};

/// Attachments of one file beyond this are counted only.
const MAX_ATTACHMENTS: usize = 100;
/// Messages attached to messages beyond this depth are not read.
const MAX_DEPTH: u8 = 3;
/// The lines around what PGP writes as letters (RFC 4880, 6.2).
const BEGIN_ARMOUR: &str = "-----BEGIN PGP ";
const END_ARMOUR: &str = "-----END PGP ";
const ENCRYPTED: &str = "-----BEGIN PGP MESSAGE-----";
const KEYS: [&str; 2] = [
    "-----BEGIN PGP SIGNATURE-----",
    "-----BEGIN PGP PUBLIC KEY BLOCK-----",
];

fn read_message(input: &Input<'_>) -> Result<Extract, String> {
    let bytes = without_mark(input.bytes).trim_ascii_start();
    // Apple Mail writes the size of the message into a line before it, and a list of flags behind
    let first_line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes);
    let size = std::str::from_utf8(first_line).ok();
    let size: Option<usize> = size.and_then(|size| size.trim().parse().ok());
    let bytes = match size {
        Some(size) => {
            let rest = bytes.get(first_line.len() + 1..).unwrap_or_default();
            &rest[..size.min(rest.len())]
        }
        None => bytes,
    };

    let bytes = plain_head(bytes);
    let message = MessageParser::default().parse(&*bytes);
    let message = message.filter(|message| {
        let is_mail = message.from().is_some() || message.date().is_some();
        // a saved page names its type alone
        is_mail || message.subject().is_some() || message.content_type().is_some()
    });
    let Some(message) = message else {
        return Err("its content is not a message".to_owned());
    };
    let date = message.date().map(day);
    let mut mail = Mail::new(input);
    mail.builder.metadata(Metadata {
        title: message.subject().and_then(named),
        author: named(&addresses(message.from())),
        date: date.or_else(|| day_in_field(&raw_date(&message)?)),
        ..Metadata::default()
    });
    mail.add_message(&message, 1, 0);
    Ok(mail.finish())
}

fn read_mailbox(input: &Input<'_>) -> Result<Extract, String> {
    let mut mail = Mail::new(input);
    let mut number = 0;

    for message in mailbox::messages(input.bytes) {
        number += 1;
        match MessageParser::default().parse(&*plain_head(&message)) {
            Some(message) => mail.add_message(&message, number, 0),
            None => mail.unread.push(format!("message {number}")),
        }

        if mail.builder.is_full() {
            break;
        }
    }

    if number == 0 {
        // programs save one message under the name of a mailbox, without the line that begins it
        return read_message(input)
            .map_err(|_| "its content is not a mailbox: no line begins a message".to_owned());
    }

    Ok(mail.finish())
}

/// The messages of a file while they are read.
struct Mail<'a> {
    /// The file, whose options hold for its attachments.
    input: &'a Input<'a>,
    builder: Builder,
    /// The words of all messages so far.
    quotes: Quotes,
    attachments: usize,
    /// Names of attachments that are not read, with the reason.
    unread: Vec<String>,
}

impl<'a> Mail<'a> {
    fn new(input: &'a Input<'a>) -> Self {
        Self {
            input,
            builder: Builder::default(),
            quotes: Quotes::default(),
            attachments: 0,
            unread: Vec::new(),
        }
    }

    fn add_message(&mut self, message: &Message<'_>, number: u32, depth: u8) {
        let subject = message.subject().and_then(named);
        self.builder.part();
        self.builder.place(Place {
            name: subject.clone(),
            ..Place::new(PlaceUnit::Message, number)
        });
        self.builder
            .heading(1, subject.as_deref().unwrap_or("No subject"));

        self.add_headers(message);
        self.add_bodies(message);

        for part in message.attachments() {
            self.add_attachment(message, part, depth);
        }
    }

    fn add_headers(&mut self, message: &Message<'_>) {
        let date = message.date().map(date_time);
        let date = date.or_else(|| raw_date(message));
        let lines = [
            ("From", addresses(message.from())),
            ("To", addresses(message.to())),
            ("Cc", addresses(message.cc())),
            ("Date", date.unwrap_or_default()),
            ("Attachments", attachment_names(message)),
        ];
        for (name, value) in lines {
            if !value.is_empty() {
                self.builder.line(&format!("{name}: {value}"));
            }
        }
    }

    /// Adds the text of a message. Of two alternatives that is the one with words that the other
    /// lacks: a text may only say that there is a page. Where both have some, the text is read, and
    /// the lines of the page that say more.
    fn add_bodies(&mut self, message: &Message<'_>) {
        let texts = bodies(message, message.text_bodies());
        let is_page = |part: &MessagePart<'_>| matches!(part.body, PartType::Html(_));
        if !message.html_bodies().any(is_page) {
            texts.into_iter().for_each(|text| self.add_body(text));
            return;
        }

        let pages = bodies(message, message.html_bodies());
        let of_texts = words(&texts);
        let of_pages = words(&pages);
        let only_pages = of_pages.difference(&of_texts).count();
        let only_texts = of_texts.difference(&of_pages).count();
        if only_pages > only_texts {
            pages.into_iter().for_each(|page| self.add_body(page));
            return;
        }

        texts.into_iter().for_each(|text| self.add_body(text));
        for page in pages {
            let unquoted = self.quotes.unquote(&page.text);
            let lines = unquoted.text.lines().chain(unquoted.history.lines());
            let lines: Vec<&str> = lines.filter(|line| says_more(line, &of_texts)).collect();
            self.builder.paragraph(&lines.join("\n"));
        }
    }

    fn add_body(&mut self, body: Extract) {
        let unquoted = self.quotes.unquote(&body.text);
        let is_whole = !unquoted.is_shorter && unquoted.history.is_empty();
        if is_whole && !body.rows.is_empty() {
            self.builder.append(Extract {
                // headings of mails are for looks
                headings: Vec::new(),
                ..body
            });
        } else {
            self.builder.hide(body.hidden);
            let unread = body.note.filter(|note| !self.unread.contains(note));
            self.unread.extend(unread);
            self.add_unquoted(&unquoted);
        }
    }

    /// Adds the text of a message, and apart from it the history below: the same history in another
    /// file is a copy of it.
    fn add_unquoted(&mut self, unquoted: &Unquoted) {
        self.builder.paragraph(&unquoted.text);
        if !unquoted.history.is_empty() {
            self.builder.part();
            self.builder.paragraph(&unquoted.history);
        }
    }

    fn add_attachment(&mut self, message: &Message<'_>, part: &MessagePart<'_>, depth: u8) {
        if is_aside(part) {
            return;
        }
        self.attachments += 1;
        if self.attachments > MAX_ATTACHMENTS {
            return;
        }

        let name = attachment_name(part);
        let input = self.input;
        let read = |bytes: &[u8]| {
            let read = read_member(&input.member(&name, bytes));
            read.map(|extract| extract.into_member(&name))
        };
        let read = match &part.body {
            _ if part.contents().starts_with(ENCRYPTED.as_bytes()) => {
                Err("it is encrypted".to_owned())
            }
            PartType::Message(_) if depth >= MAX_DEPTH => {
                Err(format!("a message inside more than {MAX_DEPTH} others"))
            }
            PartType::Message(attached) => {
                let mut inner = Self {
                    attachments: self.attachments,
                    ..Self::new(self.input)
                };
                inner.add_message(attached, 1, depth + 1);
                self.attachments = inner.attachments;
                Ok(inner.finish_member().into_member(&name))
            }
            PartType::Multipart(_) => return,
            PartType::Text(text) | PartType::Html(text) => {
                read(decode_again(message, part, text).as_bytes())
            }
            PartType::Binary(bytes) | PartType::InlineBinary(bytes) => read(bytes),
        };

        match read {
            Ok(extract) => self.builder.append_part(extract),
            Err(reason) => {
                let unread = format!("{name} ({reason})");
                if !self.unread.contains(&unread) {
                    self.unread.push(unread);
                }
            }
        }
    }

    fn finish_member(mut self) -> Extract {
        self.builder.notes(unread_members(&self.unread));
        self.builder.finish()
    }

    fn finish(mut self) -> Extract {
        let more = self.attachments.saturating_sub(MAX_ATTACHMENTS);
        if more > 0 {
            self.builder.note(format!(
                "only the first {MAX_ATTACHMENTS} attachments are read, {more} are not"
            ));
        }
        self.finish_member()
    }
}

/// Returns the texts of those parts of a message that hold its text.
fn bodies<'m>(
    message: &Message<'_>,
    parts: impl Iterator<Item = &'m MessagePart<'m>>,
) -> Vec<Extract> {
    let read = |part: &MessagePart<'_>| match &part.body {
        PartType::Text(text) => {
            let text = decode_again(message, part, text);
            Some(without_armour(&unfold(part, &text)))
        }
        PartType::Html(page) => Some(html::extract(&decode_again(message, part, page))),
        PartType::Binary(_)
        | PartType::InlineBinary(_)
        | PartType::Message(_)
        | PartType::Multipart(_) => None,
    };
    parts.filter_map(read).collect()
}

/// Returns the text of a part with its lines as they were typed (RFC 3676): a line that ends with a
/// space continues in the next one, without the space where the part says so.
fn unfold<'t>(part: &MessagePart<'_>, text: &'t str) -> Cow<'t, str> {
    let attribute = |name: &str| part.content_type().and_then(|kind| kind.attribute(name));
    let is = |name: &str, value: &str| {
        attribute(name).is_some_and(|found| found.eq_ignore_ascii_case(value))
    };
    if !is("format", "flowed") {
        return Cow::Borrowed(text);
    }

    let mut unfolded = String::with_capacity(text.len());
    let mut open = None;
    for line in text.lines() {
        let quoted = line.trim_start_matches('>');
        let marks = &line[..line.len() - quoted.len()];
        let content = quoted.strip_prefix(' ').unwrap_or(quoted);
        // the line above a signature
        let is_flowed = content.ends_with(' ') && content != "-- ";
        if open != Some(marks) {
            if !unfolded.is_empty() {
                unfolded.push('\n');
            }
            unfolded.push_str(marks);
            unfolded.push_str(if marks.is_empty() { "" } else { " " });
        }
        let is_deleted = is_flowed && is("delsp", "yes");
        unfolded.push_str(&content[..content.len() - usize::from(is_deleted)]);
        open = is_flowed.then_some(marks);
    }
    Cow::Owned(unfolded)
}

/// Returns the text of a part, decoded as a file is where it is not what its label says: UTF-8
/// under the name of another encoding, or another one under that of UTF-8 or none.
fn decode_again<'p>(message: &Message<'_>, part: &MessagePart<'_>, text: &'p str) -> Cow<'p, str> {
    let kind = part.content_type();
    let label = kind.and_then(|kind| kind.attribute("charset"));
    let label = label.and_then(|label| Encoding::for_label(label.as_bytes()));
    // text of one byte a letter is hardly ever UTF-8 by chance
    let may_be_utf8 = label.is_some_and(Encoding::is_single_byte);
    let is_broken = || text.contains(char::REPLACEMENT_CHARACTER);
    let is_known = label.is_some_and(|label| label != UTF_8);
    if text.is_ascii() || !(may_be_utf8 || (!is_known && is_broken())) {
        return Cow::Borrowed(text);
    }

    let range = part.raw_body_offset() as usize..part.raw_end_offset() as usize;
    let raw = message.raw_message.get(range).unwrap_or_default();
    let bytes = match part.encoding {
        TransferEncoding::None => Some(raw.to_vec()),
        TransferEncoding::QuotedPrintable => quoted_printable_decode(raw),
        TransferEncoding::Base64 => base64_decode(raw),
    };

    let is_wrong = |bytes: &Vec<u8>| !may_be_utf8 || std::str::from_utf8(bytes).is_ok();
    let decoded = bytes.filter(is_wrong).and_then(|bytes| decode(bytes).ok());
    decoded.map_or(Cow::Borrowed(text), |decoded| {
        Cow::Owned(decoded.traced.text)
    })
}

/// Returns the words of texts in lower case, without addresses.
fn words(texts: &[Extract]) -> HashSet<String> {
    let words = texts.iter().flat_map(|text| words_of(&text.text));
    words.map(str::to_lowercase).collect()
}

/// Returns the words of a text, without addresses.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split_whitespace();
    let pieces = pieces.filter(|piece| !piece.contains("://"));
    pieces.flat_map(split_words)
}

/// Returns whether a line has a number or a name that is not among the words, or mostly others.
fn says_more(line: &str, known: &HashSet<String>) -> bool {
    let all = words_of(line).count();
    let is_new = |word: &&str| !known.contains(&word.to_lowercase());
    let new: Vec<&str> = words_of(line).filter(is_new).collect();
    // every line begins with a capital, and "Unsubscribe" is the line of a page's frame
    let first = words_of(line).next();
    let is_fact = |word: &&str| {
        let is_capital = word.starts_with(char::is_uppercase);
        let is_name =
            !word.starts_with(char::is_lowercase) && (!is_capital || Some(*word) != first);
        is_name || word.contains(char::is_numeric)
    };
    new.iter().any(is_fact) || (new.len() > 2 && new.len() * 2 > all)
}

/// Returns the names of the attachments of a message.
fn attachment_names(message: &Message<'_>) -> String {
    let parts = message.attachments().take(MAX_ATTACHMENTS);
    let names = parts.filter_map(|part| named(part.attachment_name()?));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns whether a part holds nothing to read: a style sheet or a script of a saved page, the
/// page for mail programs that run it (AMP), a signature or a key.
fn is_aside(part: &MessagePart<'_>) -> bool {
    let kind = part.content_type().and_then(|kind| kind.subtype());
    let is_code = kind
        .is_some_and(|kind| matches!(kind, "css" | "x-amp-html") || kind.ends_with("javascript"));
    let is_key = |begin: &str| part.contents().starts_with(begin.as_bytes());
    (is_code && part.attachment_name().is_none()) || KEYS.into_iter().any(is_key)
}

/// Returns the text of a part without signatures, keys and what is encrypted.
fn without_armour(text: &str) -> Extract {
    let mut kept = String::new();
    let mut rest = text;

    while let Some(start) = rest.find(BEGIN_ARMOUR) {
        let (before, block) = rest.split_at(start);
        kept.push_str(before);
        // a mail may speak of it: the mark of an armour is a line of its own
        let is_line = before.is_empty() && kept.is_empty() || before.ends_with('\n');
        let is_armour = |begin: &str| {
            let rest = block.strip_prefix(begin);
            is_line
                && rest.is_some_and(|rest| {
                    rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n')
                })
        };
        rest = if !KEYS.into_iter().chain([ENCRYPTED]).any(is_armour) {
            kept.push_str(BEGIN_ARMOUR);
            &block[BEGIN_ARMOUR.len()..]
        } else if let Some((_, after)) = block.split_once(END_ARMOUR) {
            after.split_once('\n').map_or("", |(_, rest)| rest)
        } else {
            kept.push_str(block);
            ""
        };
    }

    let is_encrypted = text.contains(ENCRYPTED);
    Extract {
        note: is_encrypted.then(|| "encrypted text".to_owned()),
        ..Extract::verbatim(kept + rest)
    }
}

/// Returns the name of an attachment; one of its type for those without a name.
fn attachment_name(part: &MessagePart<'_>) -> String {
    if let Some(name) = part.attachment_name().and_then(named) {
        return name.replace('\\', "/");
    }

    if let PartType::Message(message) = &part.body {
        let subject = message.subject().map(one_line).unwrap_or_default();
        return format!("{subject}.eml").replace('/', "-");
    }

    let kind = part.content_type().and_then(|kind| kind.subtype());
    match kind {
        None | Some("plain") => "attachment.txt".to_owned(),
        Some("calendar") => "attachment.ics".to_owned(),
        Some(kind) => format!("attachment.{kind}"),
    }
}

fn addresses(of: Option<&Address<'_>>) -> String {
    let all = of.into_iter().flat_map(Address::iter);
    let all = all.map(|address| match (address.name(), address.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (Some(name), None) => name.to_owned(),
        (None, address) => address.unwrap_or_default().to_owned(),
    });
    one_line(&all.collect::<Vec<_>>().join(", "))
}

/// Returns the field of the date as it is written: programs write it in ways of their own.
fn raw_date(message: &Message<'_>) -> Option<String> {
    named(message.header_raw("Date")?)
}

fn day(date: &DateTime) -> String {
    format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
}

fn date_time(date: &DateTime) -> String {
    format!("{} {:02}:{:02}", day(date), date.hour, date.minute)
}
