//! A corpus on other machines: a collection of parts, each indexed from a folder of some machine.
//!
//! The index of a folder on its machine stays as it is, with its texts, vectors and generations: it is the
//! copy that the machine works on, and an update that is stopped continues there. After an update, `push`
//! sends what changed and publishes it in one step. Readers need no folder: a [`Remote`] searches all parts
//! as one corpus, with the counts of all of them. The text of a file is only where the file is.

mod error;
mod store;
mod postings;
mod postgres;
mod push;
mod search;

pub use error::RemoteError;
pub(super) use push::Part;

use std::cell::{Cell, RefCell};
use std::path::Path;

use postgres::{Postgres, Snapshot};
use store::{Head, PartCard};

use crate::config::IndexSettings;
use crate::index::names::Names;

/// A collection that is searched in the place of the indexes of this machine.
pub(super) struct Remote {
    database: Postgres,
    settings: IndexSettings,
    /// What the last look at it found.
    head: RefCell<Head>,
    /// The part whose paths have no name in front of them: the only one when the collection was
    /// connected to. Paths must not change while others add parts.
    bare: Cell<Option<u64>>,
}

/// The state of an index on other machines, for `ragscope doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteHealth {
    /// Name and version of the database.
    pub version: String,
    pub collection: String,
    pub parts: usize,
    pub documents: u64,
    pub chunks: u64,
    /// Whether what is sent can be read on the way.
    pub is_open: bool,
}

/// Returns whether a folder of the command line is the address of an index on other machines.
#[must_use]
pub fn is_address(folder: &Path) -> bool {
    let text = folder.to_string_lossy();
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| ["postgres", "postgresql"].contains(&scheme))
}

/// Returns the settings with the address that is among the folders, if one is.
///
/// # Errors
/// Several addresses.
pub(super) fn with_address<'a>(
    settings: &IndexSettings,
    addresses: impl Iterator<Item = &'a Path>,
) -> Result<IndexSettings, RemoteError> {
    let mut settings = settings.clone();
    for (at, address) in addresses.enumerate() {
        if at > 0 {
            return Err(RemoteError::settings(
                "two addresses of indexes on other machines are open",
                "open one of them: folders of several machines that are indexed under one collection are one corpus",
            ));
        }
        settings.url = address.to_string_lossy().into_owned();
    }
    Ok(settings)
}

/// Returns the state of the index of these settings; `None` for one of this machine.
///
/// # Errors
/// Settings that cannot be used; a database that cannot be reached or read.
pub fn remote_health(settings: &IndexSettings) -> Result<Option<RemoteHealth>, RemoteError> {
    let Some(remote) = Remote::connect(settings)? else {
        return Ok(None);
    };
    let head = remote.head.borrow();
    Ok(Some(RemoteHealth {
        version: remote.database.version()?,
        collection: settings.collection.clone(),
        parts: head.parts.len(),
        documents: head.parts.iter().map(|part| part.documents).sum(),
        chunks: head.parts.iter().map(|part| part.chunks).sum(),
        is_open: remote.database.is_open(),
    }))
}

impl Remote {
    /// Connects to the database of these settings; `None` for the files of this machine.
    ///
    /// # Errors
    /// Settings that cannot be used; a database that cannot be reached or read.
    pub fn connect(settings: &IndexSettings) -> Result<Option<Self>, RemoteError> {
        if settings.url.is_empty() {
            return Ok(None);
        }
        let database = Postgres::new(settings)?;
        check_name(&settings.collection)?;
        let remote = Self {
            database,
            settings: settings.clone(),
            head: RefCell::default(),
            bare: Cell::default(),
        };
        remote.refresh()?;
        Ok(Some(remote))
    }

    /// Looks what can be searched now, and gives the only part paths without a name.
    pub fn refresh(&self) -> Result<(), RemoteError> {
        self.view(|_| Ok(()))?;
        let head = self.head.borrow();
        self.bare.set(match head.parts.as_slice() {
            [only] => Some(only.number),
            _ => None,
        });
        Ok(())
    }

    /// Runs `look` on the collection as it is now.
    fn view<T>(
        &self,
        look: impl FnOnce(&mut Snapshot<'_>) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        self.database.view(|view| {
            self.head.replace(view.head().clone());
            look(view)
        })
    }

    /// Returns the names of a part.
    fn names(&self, part: u64, name: &str) -> Names {
        let is_bare = self.bare.get() == Some(part);
        Names::of_part(part, (!is_bare).then_some(name))
    }

    /// Returns the names of the part of a folder, once it is published.
    pub fn names_of(&self, name: &str) -> Option<Names> {
        let head = self.head.borrow();
        let part = head.parts.iter().find(|part| part.name == name)?;
        Some(self.names(part.number, &part.name))
    }

    /// Returns the part that holds a document, with the path of the document inside it.
    fn holder<'p>(&self, document: &'p str) -> Option<(PartCard, &'p str)> {
        let head = self.head.borrow();
        let bare = self.bare.get();
        // the part without a name takes what none with a name has
        let mut parts: Vec<&PartCard> = head.parts.iter().collect();
        parts.sort_by_key(|part| bare == Some(part.number));
        parts.into_iter().find_map(|part| {
            let path = self.names(part.number, &part.name).own_document(document)?;
            Some((part.clone(), path))
        })
    }

    /// Returns the error of a document whose file is not on this machine.
    pub fn elsewhere(&self, document: &str) -> RemoteError {
        match self.holder(document) {
            Some((part, _)) => RemoteError::Elsewhere {
                document: document.to_owned(),
                owner: part.owner,
            },
            None => RemoteError::UnknownDocument {
                document: document.to_owned(),
                collection: self.settings.collection.clone(),
            },
        }
    }

    /// Returns the address, without any password.
    pub fn address(&self) -> &str {
        &self.settings.url
    }

    /// Returns the documents, the chunks and the generations of all parts, each added up.
    pub fn counts(&self) -> [u64; 3] {
        let head = self.head.borrow();
        let parts = head.parts.iter();
        parts.fold([0; 3], |sum, part| {
            [
                sum[0] + part.documents,
                sum[1] + part.chunks,
                sum[2] + part.generation,
            ]
        })
    }

    /// Returns whether there is something to search and it has no vectors.
    pub fn lacks_vectors(&self) -> bool {
        let head = self.head.borrow();
        !head.parts.is_empty() && head.parts.iter().all(|part| !part.has_vectors)
    }

    /// Returns whether the part of this name holds the local generation with this manifest.
    pub fn holds(&self, part: &str, manifest: &str) -> bool {
        let head = self.head.borrow();
        let mut parts = head.parts.iter();
        parts.any(|card| card.name == part && card.manifest == manifest)
    }
}

/// Checks that the name of a collection is a plain identifier.
fn check_name(name: &str) -> Result<(), RemoteError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && name.len() <= 40 && name.chars().all(is_plain) && !name.starts_with("pg_") {
        return Ok(());
    }
    Err(RemoteError::settings(
        "index.collection is not a valid name",
        "take up to 40 lower-case letters, digits and underscores, and begin with a letter",
    ))
}

impl From<RemoteError> for super::IndexError {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Stopped => Self::Embedder(crate::llm::LlmError::Stopped),
            error => Self::Remote(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn an_address_stands_in_the_place_of_a_folder() {
        let settings = Config::default().index;
        let cases = [
            ("postgres://me@db/notes", true),
            ("postgresql://me@db/notes", true),
            ("http://db:5432", false),
            ("./notes", false),
            ("c://notes", false),
        ];
        for (folder, is_one) in cases {
            assert_eq!(is_address(Path::new(folder)), is_one, "{folder:?}");
        }
        let address = Path::new("postgres://me@db/notes");
        let found = with_address(&settings, [address].into_iter()).expect("one");
        assert_eq!(Path::new(&found.url), address);
        let two = [address, Path::new("postgres://a/b")];
        assert!(with_address(&settings, two.into_iter()).is_err());
    }

    #[test]
    fn a_collection_has_a_plain_name() {
        for (name, is_name) in [
            ("ragscope", true),
            ("notes_2", true),
            ("", false),
            ("2notes", false),
            ("Notes", false),
            ("pg_notes", false),
            ("a; drop table b", false),
        ] {
            assert_eq!(check_name(name).is_ok(), is_name, "{name}");
        }
    }
}
