//! The corpus as this machine sees it.

use std::cell::{Cell, RefCell};

use crate::config::IndexSettings;
use crate::event::{Problem, WorkError};
use crate::index::mentions::DocumentNames;
use crate::index::names::Names;
use crate::remote::{CorpusHead, PartCard, Postgres, Snapshot};

/// A collection that is searched in the place of the indexes of this machine.
pub(in crate::index) struct SharedCorpus {
    pub(super) database: Postgres,
    settings: IndexSettings,
    /// The head of the corpus at the last look.
    pub(super) head: RefCell<CorpusHead>,
    /// The part whose paths have no name in front of them: the only one when the collection was
    /// connected to. Paths must not change while others add parts.
    bare: Cell<Option<u64>>,
    /// The documents of a head by their names.
    pub(super) document_names: RefCell<Option<(CorpusHead, DocumentNames)>>,
}

impl SharedCorpus {
    /// Connects to the database of these settings; `None` for the files of this machine.
    ///
    /// # Errors
    /// Settings that cannot be used; a database that cannot be reached or read.
    pub fn connect(settings: &IndexSettings) -> Result<Option<Self>, WorkError> {
        if settings.url.is_empty() {
            return Ok(None);
        }
        let database = Postgres::new(settings)?;
        let remote = Self {
            database,
            settings: settings.clone(),
            head: RefCell::default(),
            bare: Cell::default(),
            document_names: RefCell::default(),
        };
        remote.refresh()?;
        Ok(Some(remote))
    }

    /// Looks what can be searched now, and gives the only part paths without a name.
    pub fn refresh(&self) -> Result<(), WorkError> {
        self.view(|_| Ok(()))?;
        let head = self.head.borrow();
        self.bare.set(match head.parts.as_slice() {
            [only] => Some(only.number),
            _ => None,
        });
        Ok(())
    }

    /// Runs `look` on the collection as it is now.
    pub(super) fn view<T>(
        &self,
        look: impl FnOnce(&mut Snapshot<'_>) -> Result<T, WorkError>,
    ) -> Result<T, WorkError> {
        self.database.view(|view| {
            self.head.replace(view.head().clone());
            look(view)
        })
    }

    /// Returns the names of a part.
    pub(super) fn names(&self, part: u64, name: &str) -> Names {
        let is_bare = self.bare.get() == Some(part);
        Names::for_part(part, (!is_bare).then_some(name))
    }

    /// Returns the names of the part of a folder, once it is published.
    pub fn names_of(&self, name: &str) -> Option<Names> {
        let head = self.head.borrow();
        let part = head.parts.iter().find(|part| part.name == name)?;
        Some(self.names(part.number, &part.name))
    }

    /// Returns the part that holds a document, with the path of the document inside it.
    pub(super) fn holder<'p>(&self, document: &'p str) -> Option<(PartCard, &'p str)> {
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
    pub fn elsewhere(&self, document: &str) -> Problem {
        match self.holder(document) {
            Some((PartCard { owner, .. }, _)) => Problem::new(
                format!(
                    "the file {document} is not on this machine: its part was indexed by {owner}"
                ),
                "open it there; the chunks themselves are in the collection, and the answer cites their text",
            ),
            None => Problem::new(
                format!(
                    "{document} is not in the collection {}",
                    self.settings.collection
                ),
                "index its folder again if the file is new",
            ),
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
