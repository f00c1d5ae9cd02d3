//! File formats: how the files of each become text. A format is one file of this folder and one
//! line of [`FORMATS`].

mod format;
mod unread;
mod lines;
mod columns;
mod builder;
mod metadata;
mod member;
mod text;
mod markdown;
mod script;
mod html;
mod code;
mod markup_tables;
mod markup_lines;
mod json;
mod settings;
mod elements;
mod table;
mod subtitles;
mod notebook;
mod rtf;
mod xml;
mod package;
mod office_parts;
mod sheet_rows;
mod number_form;
mod drawings;
mod xlsx;
mod excel;
mod office;
mod open_document;
mod epub;
mod fiction_book;
mod calendar;
mod mailbox;
mod mail;
mod pdf;
mod archive;
mod list;
mod recognise;

pub use format::Format;
pub(super) use format::{Extract, Input, Reader};
pub use list::FORMATS;
pub(super) use recognise::recognise;
pub use unread::{UNREAD, Unread};
