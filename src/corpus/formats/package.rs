//! A document that is a zip archive of XML. The size of its members is bounded.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::builder::{day, named};
use super::script::{RaisedText, ScriptKind};
use super::xml::{self, Node, Tag, walk, walk_all, walk_tags};
use crate::corpus::error::describe_damage;
use crate::event::Metadata;

/// Maximum size of a member, unpacked.
pub(super) const MAX_MEMBER_BYTES: u64 = 64 << 20;
/// Maximum size of all members together, unpacked.
const MAX_TOTAL_BYTES: u64 = 1 << 30;
/// Maximum size of a member over its packed size, for members of more than [`RATIO_FROM_BYTES`].
const MAX_RATIO: u64 = 200;
const RATIO_FROM_BYTES: u64 = 1 << 20;

/// The reason for users why an encrypted file is not read.
pub(super) const ENCRYPTED: &str = "it is encrypted: save it without a password";

/// A document that is a zip archive.
pub(super) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// The members that [`check`](Self::check) found damaged: they are as if they were missing.
    pub damaged: Vec<String>,
}

/// A relationship of a part of an Office file to another of its parts.
pub(super) struct Relationship {
    pub id: String,
    /// The path of the other part.
    pub path: String,
    kind: String,
}

impl Relationship {
    /// Returns whether the other part is of this kind, as in `notesSlide`.
    pub fn is(&self, kind: &str) -> bool {
        self.kind.rsplit('/').next() == Some(kind)
    }
}

impl<'a> Package<'a> {
    /// Opens a package.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| reason(&error))?;
        Ok(Self {
            archive,
            damaged: Vec::new(),
        })
    }

    /// Unpacks members into nothing, for readers without limits of their own, and notes the damaged
    /// ones.
    ///
    /// # Errors
    /// A member that exceeds the limits.
    pub fn check(&mut self, is_read: fn(&str) -> bool) -> Result<(), String> {
        let mut left = MAX_TOTAL_BYTES;

        for index in 0..self.archive.len() {
            let name = self.archive.name_for_index(index).and_then(Result::ok);
            let Some(name) = name.filter(|name| is_read(name)).map(Cow::into_owned) else {
                continue;
            };

            let Ok(member) = self.archive.by_index(index) else {
                continue;
            };

            let packed = member.compressed_size();
            let mut member = Bounded::new(member, packed, left);
            match std::io::copy(&mut member, &mut std::io::sink()) {
                Ok(unpacked) => left -= unpacked,
                Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                    return Err(describe_damage(&error));
                }
                Err(_) => self.damaged.push(name),
            }
        }

        Ok(())
    }

    pub fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// Returns the XML of a member; none of one that is not there.
    ///
    /// # Errors
    /// A member that is damaged, encrypted or exceeds the limits.
    pub fn xml(&mut self, name: &str) -> Result<String, String> {
        let bytes = self.bytes(name)?.unwrap_or_default();
        Ok(xml::decode(&bytes).into_owned())
    }

    /// Returns the XML of a member as a stream, which fails where it exceeds `limit` bytes.
    ///
    /// # Errors
    /// A member that is missing or encrypted.
    pub fn stream(&mut self, name: &str, limit: u64) -> Result<impl BufRead, String> {
        let member = self.archive.by_name(name).map_err(|error| reason(&error))?;
        let packed = member.compressed_size();
        Ok(BufReader::new(Bounded::new(member, packed, limit)))
    }

    /// Returns the size of a member that its archive announces; 0 when there is no such member.
    pub fn announced_bytes(&mut self, name: &str) -> u64 {
        self.archive.by_name(name).map_or(0, |member| member.size())
    }

    /// Visits the comments of a part of an Office file, a missing part having none, until `visit`
    /// returns `false`. It gets the author or their id, and the text with a line end after each
    /// paragraph. A reply is a comment.
    ///
    /// # Errors
    /// A member that is damaged, encrypted or exceeds the limits.
    pub fn visit_comments(
        &mut self,
        part: &str,
        visit: &mut dyn FnMut(&str, &str) -> bool,
    ) -> Result<(), String> {
        let xml = self.xml(part)?;
        // the comments that are open: PowerPoint has replies inside of them, and before their text
        let mut open: Vec<(String, RaisedText)> = Vec::new();
        let mut is_text = false;
        let mut kind = None;

        walk(xml.as_bytes(), &mut |node| {
            match node {
                Node::Open(tag) => match tag.name() {
                    "comment" | "cm" | "reply" => {
                        let [author, id] = tag.attributes(["author", "authorId"]);
                        let author = author.or(id).unwrap_or_default();
                        open.push((author, RaisedText::default()));
                    }
                    "t" | "text" => is_text = true,
                    "r" => {
                        is_text = false;
                        kind = None;
                    }
                    "vertAlign" | "rPr" => kind = property_kind(tag),
                    "tab" | "br" => add_to_last(&mut open, " ", None),
                    _ => {}
                },
                Node::Text(part) if is_text => add_to_last(&mut open, part, kind),
                Node::Close("t" | "text") => is_text = false,
                Node::Close("p") => add_to_last(&mut open, "\n", None),
                Node::Close("comment" | "cm" | "reply") => {
                    let (author, text) = open.pop().unwrap_or_default();
                    return visit(&author, &text.finish());
                }
                Node::Close(_) | Node::Text(_) => {}
            }
            true
        })
    }

    /// Returns the names of the people that a part lists, by their ids; a missing part has none.
    /// `attribute` holds the name.
    ///
    /// # Errors
    /// A member that is damaged, encrypted or exceeds the limits.
    pub fn people(
        &mut self,
        part: &str,
        attribute: &str,
    ) -> Result<HashMap<String, String>, String> {
        let xml = self.xml(part)?;
        let mut names = HashMap::new();
        walk_tags(&xml, &mut |tag| {
            if let [Some(id), Some(name)] = tag.attributes(["id", attribute]) {
                names.insert(id, name);
            }
        })?;
        Ok(names)
    }

    /// Returns the texts of the nodes of a diagram (SmartArt), each before those below it, in the
    /// order of the connections between them. Nodes that only lay it out are left out.
    ///
    /// # Errors
    /// A member that is damaged, encrypted or exceeds the limits.
    pub fn diagram_nodes(&mut self, part: &str) -> Result<Vec<String>, String> {
        let xml = self.xml(part)?;
        // the ids and texts of the nodes, and the nodes below each with their numbers
        let mut nodes: Vec<(String, RaisedText)> = Vec::new();
        let mut below: HashMap<String, Vec<(u32, String)>> = HashMap::new();
        let mut is_read = false;
        let mut is_text = false;
        let mut kind = None;

        walk_all(&xml, &mut |step| match step {
            Node::Open(tag) => match tag.name() {
                "pt" => {
                    let [id, kind] = tag.attributes(["modelId", "type"]);
                    is_read = !matches!(kind.as_deref(), Some("parTrans" | "sibTrans" | "pres"));
                    let id = id.unwrap_or_else(|| format!("#{}", nodes.len()));
                    nodes.push((id, RaisedText::default()));
                }
                "cxn" if tag.attribute("type").is_none_or(|kind| kind == "parOf") => {
                    let [above, id, order] = tag.attributes(["srcId", "destId", "srcOrd"]);
                    let order = order.and_then(|order| order.parse().ok()).unwrap_or(0);
                    let others = below.entry(above.unwrap_or_default()).or_default();
                    others.push((order, id.unwrap_or_default()));
                }
                "r" => kind = None,
                "rPr" => kind = property_kind(tag),
                "t" => is_text = is_read,
                _ => {}
            },
            Node::Text(part) if is_text => add_to_last(&mut nodes, part, kind),
            Node::Close("t") => is_text = false,
            Node::Close("p") => add_to_last(&mut nodes, " ", None),
            Node::Close(_) | Node::Text(_) => {}
        })?;

        below.values_mut().for_each(|others| others.sort());
        let ends: HashSet<&str> = below.values().flatten().map(|(_, id)| &**id).collect();
        let ids: Vec<String> = nodes.iter().map(|(id, _)| id.clone()).collect();
        let begins = ids.iter().filter(|id| !ends.contains(id.as_str()));
        let mut texts: HashMap<String, RaisedText> = nodes.into_iter().collect();
        let mut ordered = Vec::new();
        for id in begins.chain(&ids) {
            let mut open = vec![id];
            while let Some(id) = open.pop() {
                // a node is read once: a damaged diagram may lead back to itself
                let Some(text) = texts.remove(id) else {
                    continue;
                };
                ordered.extend(named(&text.finish()));
                let others = below.get(id).into_iter().flatten();
                open.extend(others.rev().map(|(_, id)| id));
            }
        }
        Ok(ordered)
    }

    /// Returns the relationships of a part of an Office file to its other parts. Those to other
    /// files are left out.
    ///
    /// # Errors
    /// A member that is damaged, encrypted or exceeds the limits.
    pub fn relationships(&mut self, part: &str) -> Result<Vec<Relationship>, String> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let xml = self.xml(&resolve(folder, &format!("_rels/{name}.rels")))?;
        let mut found = Vec::new();
        walk_tags(&xml, &mut |tag| {
            let is_external = || tag.attribute("TargetMode").as_deref() == Some("External");
            if tag.name() == "Relationship" && !is_external() {
                found.push(Relationship {
                    id: tag.attribute("Id").unwrap_or_default(),
                    path: resolve(folder, &tag.attribute("Target").unwrap_or_default()),
                    kind: tag.attribute("Type").unwrap_or_default(),
                });
            }
        })?;

        Ok(found)
    }

    /// Returns the path of the part that an Office file names as its content.
    ///
    /// # Errors
    /// A member that is damaged, encrypted or exceeds the limits.
    pub fn main_part(&mut self) -> Result<Option<String>, String> {
        let mut parts = self.relationships("")?.into_iter();
        let main = parts.find(|part| part.is("officeDocument"));
        Ok(main.map(|part| part.path))
    }

    /// Returns the metadata in a member with the elements of Dublin Core.
    ///
    /// # Errors
    /// A member that is damaged, encrypted or exceeds the limits.
    pub fn metadata(&mut self, name: &str) -> Result<Metadata, String> {
        let xml = self.xml(name)?;
        let mut metadata = Metadata::default();
        let mut created = None;
        let mut text = String::new();

        walk_all(&xml, &mut |node| match node {
            Node::Open(_) => text.clear(),
            Node::Text(part) => text.push_str(part),
            Node::Close("title") => metadata.title = named(&text),
            Node::Close("creator") => metadata.author = named(&text),
            // Office writes `modified`, OpenDocument `date`
            Node::Close("modified" | "date") => metadata.date = day(&text),
            Node::Close("created" | "creation-date") => created = day(&text),
            Node::Close(_) => {}
        })?;

        metadata.date = metadata.date.or(created);
        Ok(metadata)
    }

    /// Returns the names of the members.
    pub fn names(&self) -> Vec<String> {
        let names = self.archive.file_names().flatten();
        names.map(Cow::into_owned).collect()
    }

    /// Returns the bytes of a member; `None` when there is no such member.
    ///
    /// # Errors
    /// A member that is damaged, encrypted or exceeds the limits.
    pub fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, String> {
        if self.damaged.iter().any(|damaged| damaged == name) {
            return Ok(None);
        }
        let member = match self.archive.by_name(name) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(reason(&error)),
        };
        let packed = member.compressed_size();
        let mut bytes = Vec::new();
        Bounded::new(member, packed, MAX_MEMBER_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| describe_damage(&error))?;
        Ok(Some(bytes))
    }
}

/// Returns the way that a property of a run sets its text.
pub(super) fn property_kind(tag: &Tag<'_>) -> Option<ScriptKind> {
    let [alignment, shift] = tag.attributes(["val", "baseline"]);
    ScriptKind::from_property(&alignment.or(shift)?)
}

/// Adds text to the innermost comment, or the last node, that is open.
fn add_to_last(open: &mut [(String, RaisedText)], text: &str, kind: Option<ScriptKind>) {
    if let Some((_, before)) = open.last_mut() {
        before.push(text, kind);
    }
}

/// A member that fails where it exceeds its limits.
struct Bounded<R> {
    member: R,
    left: u64,
    limit: u64,
    packed: u64,
}

impl<R: Read> Bounded<R> {
    fn new(member: R, packed: u64, limit: u64) -> Self {
        // a bomb is small and unpacks to thousands of times its size
        let by_ratio = packed.saturating_mul(MAX_RATIO).max(RATIO_FROM_BYTES);
        Self {
            member,
            left: limit.min(by_ratio),
            limit,
            packed,
        }
    }

    fn too_large(&self) -> std::io::Error {
        let by_ratio = self.packed.saturating_mul(MAX_RATIO) < self.limit;
        let reason = if by_ratio {
            format!("a part of it unpacks to more than {MAX_RATIO} times its size")
        } else {
            let mib = self.limit >> 20;
            format!("a part of it unpacks to more than {mib} MiB: split it, or save it as text")
        };
        std::io::Error::new(ErrorKind::FileTooLarge, reason)
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let read = self.member.read(to)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| self.too_large())?;
        Ok(read)
    }
}

/// Returns the remark on the slides of these numbers, which are not shown.
pub(super) fn hidden_slides_note(numbers: &[u32]) -> Option<String> {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    (!numbers.is_empty()).then(|| format!("hidden slides are read, too: {}", numbers.join(", ")))
}

/// Returns whether a member of an Office file is XML, by its name.
pub(super) fn is_xml(name: &str) -> bool {
    name.ends_with(".xml") || name.ends_with(".rels")
}

/// Returns the path of a target that is relative to a folder of the package, or begins at its root.
fn resolve(folder: &str, target: &str) -> String {
    // OPC: a target is a path in the package, relative to the part that names it
    let from_root = match target.strip_prefix('/') {
        Some(target) => target.to_owned(),
        None => format!("{folder}/{target}"),
    };

    let mut path = Vec::new();
    for step in from_root.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            _ => path.push(step),
        }
    }

    path.join("/")
}

fn reason(error: &ZipError) -> String {
    match error {
        // encrypted members, whichever way the archive says it
        ZipError::InvalidPassword => ENCRYPTED.to_owned(),
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => ENCRYPTED.to_owned(),
        _ => format!("it is damaged ({error})"),
    }
}
