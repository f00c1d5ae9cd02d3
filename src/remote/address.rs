//! The address of a database in the place of a folder.

use std::path::Path;

use crate::config::IndexSettings;
use crate::event::WorkError;

/// Returns whether a folder of the command line is the address of an index on other machines.
pub fn is_address(folder: &Path) -> bool {
    let text = folder.to_string_lossy();
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| ["postgres", "postgresql"].contains(&scheme))
}

/// Returns the settings with the address that is among the folders, if one is.
///
/// # Errors
/// Several addresses.
pub fn with_address<'a>(
    settings: &IndexSettings,
    addresses: impl Iterator<Item = &'a Path>,
) -> Result<IndexSettings, WorkError> {
    let mut settings = settings.clone();

    for (at, address) in addresses.enumerate() {
        if at > 0 {
            return Err(WorkError::new(
                "two addresses of indexes on other machines are open",
                "open one of them: folders of several machines that are indexed under one collection are one corpus",
            ));
        }
        settings.url = address.to_string_lossy().into_owned();
    }

    Ok(settings)
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
}
