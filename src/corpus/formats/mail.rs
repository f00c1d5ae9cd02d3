//! Mail: single messages and mailboxes, read by mail-parser. The headers that people search for
//! come first; quoted text that an earlier message of the file holds is left out; attachments are
//! read by the readers of their formats.

use std::borrow::Cow;
use std::collections::HashSet;

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{
    Address, DateTime, Encoding, Message, MessageParser, MessagePart, MimeHeaders, PartType,
};

use super::builder::{Builder, named, one_line};
use super::format::{Extract, Format, Input, Reader};
use super::member::{read_member, unread_members};
use super::quotes::{Quotes, Unquoted};
use super::{html, mailbox};
use crate::corpus::decode::decode;
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

fn read_message(input: &Input<'_>) -> Result<Extract, String> {
    let bytes = input.bytes.trim_ascii_start();
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

    let message = MessageParser::default().parse(bytes);
    let message = message.filter(|message| {
        let is_mail = message.from().is_some() || message.date().is_some();
        // a saved page names its type alone
        is_mail || message.subject().is_some() || message.content_type().is_some()
    });
    let Some(message) = message else {
        return Err("its content is not a message".to_owned());
    };
    let mut mail = Mail::new(input);
    mail.builder.metadata(Metadata {
        title: message.subject().and_then(named),
        author: named(&addresses(message.from())),
        date: message.date().map(day),
    });
    mail.add_message(&message, 1, 0);
    Ok(mail.finish())
}

fn read_mailbox(input: &Input<'_>) -> Result<Extract, String> {
    let mut mail = Mail::new(input);
    let mut number = 0;

    for message in mailbox::messages(input.bytes) {
        number += 1;
        match MessageParser::default().parse(&message) {
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
        for body in bodies(message) {
            self.add_body(message, body);
        }

        for part in message.attachments() {
            self.add_attachment(part, depth);
        }
    }

    fn add_headers(&mut self, message: &Message<'_>) {
        let lines = [
            ("From", addresses(message.from())),
            ("To", addresses(message.to())),
            ("Cc", addresses(message.cc())),
            ("Date", message.date().map(date_time).unwrap_or_default()),
            ("Attachments", attachment_names(message)),
        ];
        for (name, value) in lines {
            if !value.is_empty() {
                self.builder.line(&format!("{name}: {value}"));
            }
        }
    }

    fn add_body(&mut self, message: &Message<'_>, part: &MessagePart<'_>) {
        match &part.body {
            PartType::Text(text) => {
                let text = decode_again(message, part, text);
                let unquoted = self.quotes.unquote(&text);
                self.add_unquoted(&unquoted);
            }
            PartType::Html(page) => {
                let extract = html::extract(&decode_again(message, part, page));
                let unquoted = self.quotes.unquote(&extract.text);
                if unquoted.is_shorter || !unquoted.history.is_empty() {
                    self.add_unquoted(&unquoted);
                } else {
                    self.builder.append(Extract {
                        // headings of mails are for looks
                        headings: Vec::new(),
                        ..extract
                    });
                }
            }
            PartType::Binary(_)
            | PartType::InlineBinary(_)
            | PartType::Message(_)
            | PartType::Multipart(_) => {}
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

    fn add_attachment(&mut self, part: &MessagePart<'_>, depth: u8) {
        if is_of_look(part) {
            return;
        }
        self.attachments += 1;
        if self.attachments > MAX_ATTACHMENTS {
            return;
        }

        let name = attachment_name(part);
        let read = match &part.body {
            PartType::Message(_) if depth >= MAX_DEPTH => {
                Err(format!("a message inside more than {MAX_DEPTH} others"))
            }
            PartType::Message(message) => {
                let mut inner = Self {
                    attachments: self.attachments,
                    ..Self::new(self.input)
                };
                inner.add_message(message, 1, depth + 1);
                self.attachments = inner.attachments;
                Ok(inner.finish_member().into_member(&name))
            }
            PartType::Multipart(_) => return,
            PartType::Text(_)
            | PartType::Html(_)
            | PartType::Binary(_)
            | PartType::InlineBinary(_) => read_member(&self.input.member(&name, part.contents()))
                .map(|extract| extract.into_member(&name)),
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
        if let Some(note) = unread_members(&self.unread) {
            self.builder.note(note);
        }
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

/// Returns the parts of a message that hold its text. Of two alternatives that is the one with
/// words that the other lacks: a text may only say that there is a page. Where they differ in most
/// words, both are read.
fn bodies<'m>(message: &'m Message<'m>) -> Vec<&'m MessagePart<'m>> {
    let texts: Vec<_> = message.text_bodies().collect();
    let pages: Vec<_> = message.html_bodies().collect();
    if !pages
        .iter()
        .any(|part| matches!(part.body, PartType::Html(_)))
    {
        return texts;
    }

    let of_texts = words(&texts);
    let of_pages = words(&pages);
    let only_pages = of_pages.difference(&of_texts).count();
    let only_texts = of_texts.difference(&of_pages).count();
    if only_pages > only_texts {
        return pages;
    }
    if only_pages * 2 > of_pages.len() {
        let is_other = |part: &&MessagePart<'_>| matches!(part.body, PartType::Html(_));
        return texts
            .into_iter()
            .chain(pages.into_iter().filter(is_other))
            .collect();
    }
    texts
}

/// Returns the text of a part. One that names no encoding and is not UTF-8 is decoded as a file is:
/// mail-parser takes it for UTF-8.
fn decode_again<'p>(message: &Message<'_>, part: &MessagePart<'_>, text: &'p str) -> Cow<'p, str> {
    let named = part
        .content_type()
        .and_then(|kind| kind.attribute("charset"));
    if named.is_some() || !text.contains(char::REPLACEMENT_CHARACTER) {
        return Cow::Borrowed(text);
    }

    let range = part.raw_body_offset() as usize..part.raw_end_offset() as usize;
    let raw = message.raw_message.get(range).unwrap_or_default();
    let bytes = match part.encoding {
        Encoding::None => Some(raw.to_vec()),
        Encoding::QuotedPrintable => quoted_printable_decode(raw),
        Encoding::Base64 => base64_decode(raw),
    };
    let decoded = bytes.and_then(|bytes| decode(bytes).ok());
    decoded.map_or(Cow::Borrowed(text), |decoded| {
        Cow::Owned(decoded.traced.text)
    })
}

/// Returns the words of parts in lower case, without addresses.
fn words(parts: &[&MessagePart<'_>]) -> HashSet<String> {
    let mut words = HashSet::new();

    for part in parts {
        let text = match &part.body {
            PartType::Text(text) => text.to_string(),
            PartType::Html(page) => html::extract(page).text,
            PartType::Binary(_)
            | PartType::InlineBinary(_)
            | PartType::Message(_)
            | PartType::Multipart(_) => continue,
        };

        let pieces = text
            .split_whitespace()
            .filter(|piece| !piece.contains("://"));
        words.extend(pieces.flat_map(split_words).map(str::to_lowercase));
    }

    words
}

/// Returns the names of the attachments of a message.
fn attachment_names(message: &Message<'_>) -> String {
    let names = message.attachments().take(MAX_ATTACHMENTS);
    let names: Vec<String> = names
        .filter_map(|part| part.attachment_name())
        .filter_map(named)
        .collect();
    names.join(", ")
}

/// Returns whether a part is a style sheet or a script of a saved page.
fn is_of_look(part: &MessagePart<'_>) -> bool {
    let kind = part.content_type().and_then(|kind| kind.subtype());
    let is_code = kind.is_some_and(|kind| kind == "css" || kind.ends_with("javascript"));
    is_code && part.attachment_name().is_none()
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
    let all: Vec<String> = of
        .iter()
        .flat_map(|addresses| addresses.iter())
        .map(|address| match (address.name(), address.address()) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (Some(name), None) => name.to_owned(),
            (None, address) => address.unwrap_or_default().to_owned(),
        })
        .collect();
    one_line(&all.join(", "))
}

fn day(date: &DateTime) -> String {
    format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
}

fn date_time(date: &DateTime) -> String {
    format!("{} {:02}:{:02}", day(date), date.hour, date.minute)
}
