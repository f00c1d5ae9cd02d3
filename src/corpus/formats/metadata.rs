//! Metadata in a text file: fields of front matter, of a document's header, of a page's head.

use super::builder;
use crate::corpus::name_date::day_in_field;
use crate::corpus::sentence::fold_white_space;
use crate::event::Metadata;

/// Maximum size of a field.
const MAX_FIELD_BYTES: usize = 300;

/// Values of `status`, in lower case, of a document that is not in force. Any ending may follow.
#[rustfmt::skip]
const WITHDRAWN: [&str; 16] = [
    "abgelöst", "annul", "archiv", "deprecated", "draft", "entwurf", "expired", "obsolet",
    "overruled", "rejected", "replaced", "retired", "superseded", "ungültig", "veraltet",
    "withdrawn",
];

impl Metadata {
    /// Takes a field by its usual names; the first of each kind counts.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        let value = fold_white_space(value.trim().trim_matches(['"', '\'']));
        let value = &value[..value.floor_char_boundary(MAX_FIELD_BYTES)];

        if value.is_empty() {
            return;
        }

        match name.trim().to_ascii_lowercase().as_str() {
            "title" => {
                self.title.get_or_insert_with(|| value.to_owned());
            }
            "author" | "authors" | "creator" | "dc.creator" => {
                self.author.get_or_insert_with(|| value.to_owned());
            }
            "date"
            | "dc.date"
            | "revdate"
            | "pubdate"
            | "published"
            | "article:published_time"
            | "user_updated_time" => {
                self.date = self.date.take().or_else(|| day(value));
            }
            "version" | "revision" | "revnumber" => {
                self.version.get_or_insert_with(|| value.to_owned());
            }
            "status" => {
                let value = value.to_lowercase();
                self.withdrawn = WITHDRAWN.iter().any(|word| value.starts_with(word));
            }
            _ => {}
        }
    }

    /// Takes the fields of front matter, as `name: value` or `name = value`. A list of authors is
    /// joined. The day on which a note was changed, or else created, stands for a date.
    pub(super) fn set_front_matter(&mut self, front_matter: &str) {
        let mut lines = front_matter.lines().peekable();
        let (mut changed, mut created) = (None, None);

        while let Some(line) = lines.next() {
            let Some((name, value)) = line.split_once([':', '=']) else {
                continue;
            };

            let mut value = value.trim().trim_matches(['[', ']']).to_owned();
            while let Some(item) = lines.next_if(|next| {
                value.is_empty() && is_item(next)
                    || !value.is_empty() && value.ends_with(';') && is_item(next)
            }) {
                value = format!("{value} {};", item.trim_start().trim_start_matches("- "));
            }

            match name.trim().to_ascii_lowercase().as_str() {
                "created" => created = created.or_else(|| day(&value)),
                "updated" | "last_updated" | "modified" | "last_modified" | "lastmod" => {
                    changed = changed.or_else(|| day(&value));
                }
                _ => {}
            }
            let value = value.trim_matches([' ', ';']);
            // nothing, as YAML, Python and people write it
            if !["~", "null", "none"].contains(&&*value.to_ascii_lowercase()) {
                self.set(name, value);
            }
        }

        self.date = self.date.take().or(changed).or(created);
    }
}

fn is_item(line: &str) -> bool {
    line.trim_start().starts_with("- ")
}

/// Returns a day as `2024-01-31`.
fn day(value: &str) -> Option<String> {
    builder::day(value).or_else(|| day_in_field(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_in_many_spellings() {
        let cases = [
            ("2024-01-31", Some("2024-01-31")),
            ("2024-01-31T10:00:00Z", Some("2024-01-31")),
            ("January 31, 2024", Some("2024-01-31")),
            ("31 Jan 2024", Some("2024-01-31")),
            ("2024/01/31", Some("2024-01-31")),
            ("20240131", Some("2024-01-31")),
            ("31.01.2024", Some("2024-01-31")),
            ("[[2024-01-31]]", Some("2024-01-31")),
            ("Wed, 31 Jan 2024 10:00:00 +0000", Some("2024-01-31")),
            ("5 May 1871", Some("1871-05-05")),
            ("January 2024", Some("2024-01-01")),
            ("04/05/2024", None),
            ("2024-13-31", None),
            ("yesterday", None),
            ("é", None),
        ];
        for (value, expected) in cases {
            assert_eq!(day(value).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn a_document_says_which_version_it_is_and_whether_it_is_in_force() {
        for (text, expected) in [
            ("version: 1.4\nstatus: draft", (Some("1.4"), true)),
            ("revision: \"7\"\nstatus: valid", (Some("7"), false)),
            ("status: Superseded by rule 8", (None, true)),
            ("title: draft", (None, false)),
        ] {
            let mut metadata = Metadata::default();
            metadata.set_front_matter(text);
            let found = (metadata.version.as_deref(), metadata.withdrawn);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn fields_of_front_matter() {
        let cases = [
            (
                "title: \"A: b\"\nauthor: Ann\ndate: 2024-01-31 10:00",
                "A: b|Ann|2024-01-31",
            ),
            (
                "title = 'A'\nauthors = [\"Ann\", \"Bob\"]\ndate = 31 January 2024",
                "A|Ann\", \"Bob|2024-01-31",
            ),
            ("authors:\n  - Ann\n  - Bob\ntitle: x", "x|Ann; Bob|"),
            ("title:\ntags: [a]\n", "||"),
            ("title: None\nauthor: ~\n", "||"),
            ("title: null\ntitle: A\n", "A||"),
            ("date: \"[[2024-01-31]]\"", "||2024-01-31"),
            ("created: 2023-12-01\ndate: 31.01.2024", "||2024-01-31"),
            ("created: 2023-12-01T10:00", "||2023-12-01"),
            ("date: 18710505", "||1871-05-05"),
            (
                "created: 2023-12-01\nlast_updated: 2024-02-03",
                "||2024-02-03",
            ),
        ];
        for (text, expected) in cases {
            let mut metadata = Metadata::default();
            metadata.set_front_matter(text);
            let found = [metadata.title, metadata.author, metadata.date];
            let found = found.map(Option::unwrap_or_default).join("|");
            assert_eq!(found, expected, "{text}");
        }
    }
}
