//! The members of an archive as one text, within limits.

use std::io::Read;

use super::super::builder::{MAX_MARKS_BYTES, MAX_TEXT_BYTES};
use super::super::format::{Extract, Format, Input};
use super::super::member::{MAX_NAMED, name_first, read_member};
use super::super::picture;
use super::super::unread::{HEAD_BYTES, Unread};
use crate::corpus::outline::{Heading, shorten};

/// Archives in archives.
const MAX_DEPTH: usize = 3;
const MAX_MEMBERS: usize = 10_000;
/// Unpacked, of one member: as large as another file may be.
const MAX_MEMBER_BYTES: u64 = 64 << 20;
/// Unpacked, of all members together.
const MAX_BYTES: u64 = 256 << 20;
/// A member that unpacks to more than this share of its packed size is made to fill memory. Small
/// ones may.
const MAX_RATIO: u64 = 200;
const FREE_BYTES: u64 = 1 << 20;

/// Reads the members of an archive in an archive; `None` for a file of another format. The function
/// that reads the outer one is declared above this file.
pub(super) type Open = fn(&Format, &str, &[u8], &mut Gathered<'_>) -> Option<Result<(), String>>;

/// The text of the members that were read so far.
pub(super) struct Gathered<'a> {
    /// The archive, whose options hold for its members.
    input: &'a Input<'a>,
    open: Open,
    extract: Extract,
    /// The archives around the member that is read.
    around: Vec<String>,
    members: usize,
    unpacked: u64,
    /// Bytes of the headings and places.
    marks_bytes: usize,
    skipped: Vec<String>,
    skipped_count: usize,
    /// The limit that ended the reading.
    ended: Option<String>,
}

impl<'a> Gathered<'a> {
    pub fn new(input: &'a Input<'a>, open: Open) -> Self {
        Self {
            input,
            open,
            extract: Extract::default(),
            around: Vec::new(),
            members: 0,
            unpacked: 0,
            marks_bytes: 0,
            skipped: Vec::new(),
            skipped_count: 0,
            ended: None,
        }
    }

    /// Returns whether another member may be read, and notes the limit where not.
    pub fn has_room(&mut self) -> bool {
        if self.members >= MAX_MEMBERS {
            self.ended = Some(format!("only the first {MAX_MEMBERS} members are read"));
        }
        self.ended.is_none()
    }

    /// Checks that an archive is in few enough others.
    ///
    /// # Errors
    /// The reason why it is not read.
    pub fn check_depth(&self) -> Result<(), String> {
        if self.around.len() >= MAX_DEPTH {
            return Err(format!("archives are read {MAX_DEPTH} deep"));
        }
        Ok(())
    }

    /// Notes a member that is not read.
    pub fn skip(&mut self, name: &str, reason: &str) {
        self.skipped_count += 1;
        if self.skipped.len() < MAX_NAMED {
            self.skipped
                .push(format!("{} ({reason})", self.label(name)));
        }
    }

    /// Unpacks a member and reads it.
    pub fn unpack(&mut self, name: &str, packed: u64, content: &mut dyn Read) {
        self.members += 1;
        let mut bytes = Vec::new();
        let head = || {
            // a fault comes again where the rest is read
            let _ = content.take(HEAD_BYTES as u64).read_to_end(&mut bytes);
            bytes.clone()
        };
        if let Some(unread) = Unread::for_file(name, head) {
            return self.skip(name, unread.kind);
        }
        if !self.input.options.ocr && picture::is_picture(name) {
            return self.skip(name, picture::LEFT_OUT);
        }

        let by_ratio = packed.saturating_mul(MAX_RATIO).max(FREE_BYTES);
        let room = MAX_BYTES - self.unpacked;
        let most = by_ratio.min(room).min(MAX_MEMBER_BYTES);
        let left = (most + 1).saturating_sub(bytes.len() as u64);
        let read = content.take(left).read_to_end(&mut bytes);
        self.unpacked += (bytes.len() as u64).min(most);
        if let Err(error) = read {
            return self.skip(name, &format!("it cannot be unpacked: {error}"));
        }
        if bytes.len() as u64 > most {
            if most == by_ratio {
                let why = format!("it unpacks to more than {MAX_RATIO} times its size");
                return self.skip(name, &why);
            }
            if most == MAX_MEMBER_BYTES {
                let mib = MAX_MEMBER_BYTES >> 20;
                let why = format!("it unpacks to more than {mib} MiB: unpack it and split it");
                return self.skip(name, &why);
            }
            let mib = MAX_BYTES >> 20;
            self.ended = Some(format!(
                "the archive unpacks to more than {mib} MiB: unpack it to read the rest"
            ));
            return self.skip(name, "too large");
        }
        if let Err(reason) = self.read(name, bytes) {
            self.skip(name, &reason);
        }
    }

    fn read(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
        let format = (self.input.recognise)(name, &bytes)?.format;
        self.around.push(name.to_owned());
        let opened = (self.open)(format, name, &bytes, self);
        self.around.pop();
        if let Some(read) = opened {
            return read;
        }

        let extract = read_member(&self.input.member(name, &bytes))?;
        if extract.text.trim().is_empty() {
            return Err(extract.note.unwrap_or("it holds no text".to_owned()));
        }
        self.marks_bytes += extract.marks_bytes();
        let bytes = self.extract.text.len() + extract.text.len();
        if bytes > MAX_TEXT_BYTES || self.marks_bytes > MAX_MARKS_BYTES {
            let mib = MAX_TEXT_BYTES >> 20;
            self.ended = Some(format!(
                "the text in the archive exceeds {mib} MiB: unpack it to read the rest"
            ));
            return Err("too large".to_owned());
        }
        self.add(name, extract);
        Ok(())
    }

    /// Adds the text of a member behind the others.
    fn add(&mut self, name: &str, mut member: Extract) {
        let label = self.label(name);
        let all = &mut self.extract;
        if !all.text.is_empty() {
            all.text.push_str("\n\n");
        }
        let start = all.text.len();
        all.text.push_str(&member.text);

        // the headings of the member before end here
        all.headings
            .push(Heading::new(start..start, 0, label.clone()));
        for heading in &mut member.headings {
            // level 0 is the member
            heading.level = heading.level.max(1);
        }
        all.parts.push(start);
        all.take_marks(member.into_member(&label), start);
    }

    /// Returns the text of all members.
    ///
    /// # Errors
    /// No member with text.
    pub fn finish(mut self) -> Result<Extract, String> {
        let mut remarks: Vec<String> = self.ended.into_iter().collect();
        if self.skipped_count > 0 {
            let named = name_first(&self.skipped, self.skipped_count);
            remarks.push(format!("not read in it: {named}"));
        }
        let note = (!remarks.is_empty()).then(|| remarks.join("; "));

        if self.extract.text.is_empty() {
            return Err(note.unwrap_or_else(|| "an empty archive".to_owned()));
        }

        self.extract.note = note;
        Ok(self.extract)
    }

    /// Returns the path of a member with those of the archives around it. It names no file: what
    /// leads out of an archive is left out.
    fn label(&self, name: &str) -> String {
        let around = self.around.iter().map(String::as_str);
        let steps = around
            .chain([name])
            .flat_map(|path| path.split(['/', '\\']))
            .filter(|step| !matches!(*step, "" | "." | ".."));
        let mut label = steps.collect::<Vec<_>>().join("/");
        shorten(&mut label);
        label
    }
}
