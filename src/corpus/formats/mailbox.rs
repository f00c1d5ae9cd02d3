//! The places of mail: the messages of a mailbox, and files that are messages by their content.

use std::borrow::Cow;

use crate::corpus::decode::without_mark;

/// Fields that mail begins with; three of them make a file a message.
#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "from", "to", "date", "subject", "message-id", "received", "return-path", "delivered-to",
    "reply-to", "mime-version", "content-type", "newsgroups", "organization",
];
const MIN_FIELDS: usize = 3;
/// A head that is longer says nothing new.
const MAX_HEAD_LINES: usize = 200;

/// Returns the messages of a mailbox. A line that begins with `From ` begins a message only where
/// it has a date and a field of a head follows, or all of a head: the sentence of a message may
/// begin so, too, and so may any line of a text whose length its head names.
pub(super) fn messages(mailbox: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let mailbox = without_mark(mailbox);
    let mut messages = Vec::new();
    let mut start = None;
    let mut is_after_blank = true;
    let mut at = 0;
    let mut text_end = 0;

    for line in mailbox.split_inclusive(|byte| *byte == b'\n') {
        let next = at + line.len();
        let rest = &mailbox[next..];
        let is_dated = is_envelope(line) && begins_with_field(rest);
        let is_begin =
            is_dated || (is_after_blank && line.starts_with(b"From ") && is_message(rest));
        if is_begin && at >= text_end {
            text_end = next + announced_bytes(rest);
            messages.extend(start.map(|start| unquote(&mailbox[start..at])));
            start = Some(next);
        }

        is_after_blank = line.trim_ascii().is_empty();
        at = next;
    }

    messages.extend(start.map(|start| unquote(&mailbox[start..])));
    messages
}

/// Returns the size of a message whose head names that of its text, as the form mboxcl has it; 0 of
/// another one, also where the size is wrong.
fn announced_bytes(message: &[u8]) -> usize {
    let mut head = 0;
    let mut size = None;
    let lines = message.split_inclusive(|byte| *byte == b'\n');
    for line in lines.take(MAX_HEAD_LINES) {
        head += line.len();
        if line.trim_ascii().is_empty() {
            break;
        }
        if field(line).is_some_and(|name| name.eq_ignore_ascii_case(b"content-length")) {
            let value = std::str::from_utf8(&line[b"content-length:".len()..]).ok();
            size = value.and_then(|value| value.trim().parse::<usize>().ok());
        }
    }

    let end = size.and_then(|size| head.checked_add(size));
    let after = end.and_then(|end| message.get(end..));
    let is_right = |after: &[u8]| {
        let next = after[..after.len().min(8)].trim_ascii_start();
        next.starts_with(b"From ") || (next.is_empty() && after.len() < 8)
    };
    end.filter(|_| after.is_some_and(is_right)).unwrap_or(0)
}

/// Returns whether bytes begin as the mailbox of a program does. A patch of git does too.
pub(super) fn is_mailbox(bytes: &[u8]) -> bool {
    let line = first_line(bytes);
    let sender = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    // `git format-patch` puts a commit where a mailbox has its sender
    let is_patch = sender.len() == 40 && sender.iter().all(u8::is_ascii_hexdigit);
    let rest = bytes.get(line.len() + 1..).unwrap_or_default();
    !is_patch && is_envelope(line) && begins_with_field(rest)
}

/// Returns whether bytes begin with the head of a message.
pub(super) fn is_message(bytes: &[u8]) -> bool {
    let mut found = 0;

    for line in bytes.split(|byte| *byte == b'\n').take(MAX_HEAD_LINES) {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return found >= MIN_FIELDS;
        }

        // RFC 5322: a field continues on a line that begins with white space
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            continue;
        }

        let Some(field) = field(line) else {
            return false;
        };
        let is_known = |known: &&str| field.eq_ignore_ascii_case(known.as_bytes());
        found += usize::from(FIELDS.iter().any(is_known));
    }

    false
}

/// Returns whether a line begins a message with its date:
/// `From ann@example.org Thu Jan  1 12:34:56 2026`.
fn is_envelope(line: &[u8]) -> bool {
    let is_time = |part: &[u8]| {
        let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
        part.len() >= 5 && part[2] == b':' && digits >= 4
    };
    let is_year = |part: &[u8]| part.len() == 4 && part.iter().all(u8::is_ascii_digit);
    let mut parts = line.split(u8::is_ascii_whitespace);
    line.starts_with(b"From ") && parts.clone().any(is_year) && parts.any(is_time)
}

/// Returns whether bytes begin with a field of the head of a message.
pub(super) fn begins_with_field(bytes: &[u8]) -> bool {
    let line = first_line(bytes);
    // some programs write the sender a second time
    field(line).is_some() || line.starts_with(b">From ")
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes)
}

/// Returns the name of the field that a line begins with.
fn field(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = &line[..colon];
    let is_name = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    is_name.then_some(name)
}

/// Returns a message without the `>` that mailboxes put before `From ` in its text.
fn unquote(message: &[u8]) -> Cow<'_, [u8]> {
    let is_quoted = |line: &[u8]| {
        let from = line.iter().position(|byte| *byte != b'>').unwrap_or(0);
        // the form mboxrd adds one `>` to each such line, quoted or not
        from > 0 && line[from..].starts_with(b"From ")
    };
    let lines = || message.split_inclusive(|byte| *byte == b'\n');
    if !lines().any(is_quoted) {
        return Cow::Borrowed(message);
    }
    let unquoted = lines().map(|line| if is_quoted(line) { &line[1..] } else { line });
    Cow::Owned(unquoted.collect::<Vec<_>>().concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_no_message() {
        let mailbox = "From a@b Tue Mar  3 06:10:00 2026\nSubject: one\n\nText.\n\nFrom the quay\nyou walk.\n\nFrom Monday on, at 10:30,\nNote: carry nets.\n>From here\n>>From there\n\nFrom - Tue Mar 03 07:30:00 2026\nSubject: two\n\nb\nFrom c@d Tue Mar  3 08:00:00 2026\nSubject: three\n\nc\n";
        let found: Vec<String> = messages(mailbox.as_bytes())
            .iter()
            .map(|message| String::from_utf8_lossy(message).into_owned())
            .collect();
        assert_eq!(
            found,
            [
                "Subject: one\n\nText.\n\nFrom the quay\nyou walk.\n\nFrom Monday on, at 10:30,\nNote: carry nets.\nFrom here\n>From there\n\n",
                "Subject: two\n\nb\n",
                "Subject: three\n\nc\n",
            ]
        );
        assert!(messages(b"From the quay\nyou walk.\n").is_empty());

        // the length of a text, right and wrong
        for (length, count) in [(70, 2), (9, 3), (usize::MAX, 3)] {
            let envelope = "From a@b Tue Mar  3 06:10:00 2026\nSubject: x\n";
            let mailbox = format!(
                "{envelope}Content-Length: {length}\n\n{envelope}\nOne is quoted, no more.\n{envelope}\nb\n"
            );
            assert_eq!(messages(mailbox.as_bytes()).len(), count, "{length}");
        }
    }

    #[test]
    fn mail_is_known_by_its_head() {
        let message = "Return-Path: <a@b>\nReceived: from c\n\tby d\nSubject: x\n\nbody";
        let cases = [
            (message, (true, false)),
            (
                "From a@b Tue Mar  3 06:10:00 2026\nSubject: x\n\nbody",
                (false, true),
            ),
            (
                "Subject: x\nFrom: a\n\nA note about a mail.",
                (false, false),
            ),
            (
                "From: Ann\nDear Bob,\nDate: today\nSubject: x\n\n",
                (false, false),
            ),
            (
                "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: a\n\n",
                (false, false),
            ),
            ("", (false, false)),
        ];
        for (text, expected) in cases {
            let found = (is_message(text.as_bytes()), is_mailbox(text.as_bytes()));
            assert_eq!(found, expected, "{text}");
        }
    }
}
