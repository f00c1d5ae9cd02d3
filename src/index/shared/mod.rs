//! A corpus on other machines: a collection of parts, each indexed from a folder of some machine.
//!
//! The index of a folder on its machine stays as it is, with its texts, vectors and generations: it
//! is the copy that the machine works on, and an update that is stopped continues there. After an
//! update, `push` sends what changed and publishes it in one step. Readers need no folder: a
//! [`SharedCorpus`] searches all parts as one corpus, with the counts of all of them. The text of a
//! file is only where the file is.

mod corpus;
mod search;
mod push;

pub(super) use corpus::SharedCorpus;
