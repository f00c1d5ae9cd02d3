//! The keys that lead to actions: those declared in the list, and those of the user's keymap file.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::config::nearest;
use crate::event::Problem;
use crate::files;
use crate::tui::text;

use super::action::Action;
use super::context::Context;
use super::key::Key;

/// The keys of every action, with the user's changes.
#[derive(Debug, Clone)]
pub struct Keymap {
    keys: BTreeMap<Action, Vec<Key>>,
    /// Whether keys are shown without signs that ASCII lacks: `down` in place of an arrow.
    is_ascii: bool,
}

impl Keymap {
    /// The keys as the actions declare them.
    ///
    /// # Errors
    /// A declared key that is not a key; a test prevents that.
    pub fn from_defaults() -> Result<Self, Problem> {
        let mut keys = BTreeMap::new();

        for action in Action::ALL {
            keys.insert(*action, parse_keys(action.info().keys, "")?);
        }

        Ok(Self {
            keys,
            is_ascii: false,
        })
    }

    /// Shows keys in ASCII alone, or with arrows.
    pub fn show_in_ascii(&mut self, is_ascii: bool) {
        self.is_ascii = is_ascii;
    }

    /// The built-in keys, with those of the user's file instead for the actions that it names. No
    /// file, no change.
    ///
    /// # Errors
    /// An unreadable file, an unknown action or key (with the nearest known one), a key with two
    /// meanings in one context.
    pub fn load(file: &Path) -> Result<Self, Problem> {
        let origin = file.display().to_string();
        match files::read_text(file) {
            Ok(text) => Self::from_defaults()?.with(&text, &origin),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::from_defaults(),
            Err(error) => Err(Problem::new(
                format!("cannot read {origin} ({error})"),
                "check the file and its permissions",
            )),
        }
    }

    fn with(mut self, text: &str, origin: &str) -> Result<Self, Problem> {
        let table: BTreeMap<String, Vec<String>> = toml::from_str(text).map_err(|error| {
            Problem::new(
                format!("{origin} is not a keymap ({error})"),
                "write each line as `action = [\"key\", …]`",
            )
        })?;

        for (name, names) in table {
            let Some(action) = Action::ALL.iter().find(|action| action.info().name == name) else {
                let known = Action::ALL.iter().map(|action| action.info().name);
                let hint = nearest(&name, known);
                return Err(wrong(format!("{origin}: unknown action `{name}`{hint}")));
            };

            let keys = parse_keys(&names, &format!("{origin}: {name}: "))?;
            self.keys.insert(*action, keys);
        }

        self.check_single_meanings(origin)?;
        Ok(self)
    }

    fn check_single_meanings(&self, origin: &str) -> Result<(), Problem> {
        for contexts in Context::COMBINATIONS {
            let mut taken: HashMap<Key, Action> = HashMap::new();
            let actions = Action::ALL.iter();
            for action in actions.filter(|action| contexts.contains(&action.info().context)) {
                for key in self.keys(*action) {
                    if let Some(other) = taken.insert(*key, *action) {
                        let [one, two] = [other, *action].map(|action| action.info().name);
                        return Err(Problem::new(
                            format!("{origin}: `{key}` means both `{one}` and `{two}`"),
                            "give one of them another key",
                        ));
                    }
                }
            }
        }

        Ok(())
    }

    /// The action of a key where any of `contexts` holds; the earlier context wins.
    pub fn action(&self, key: Key, contexts: &[Context]) -> Option<Action> {
        contexts.iter().find_map(|context| {
            Action::ALL
                .iter()
                .copied()
                .filter(|action| action.info().context == *context)
                .find(|action| self.keys(*action).contains(&key))
        })
    }

    /// The keys of an action, the one to show first.
    pub fn keys(&self, action: Action) -> &[Key] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The first key of an action as hints show it; empty when there is none.
    pub fn sign(&self, action: Action) -> String {
        let first = self.keys(action).first();
        first.map_or(String::new(), |key| self.sign_of(*key))
    }

    /// All keys of an action as help shows them.
    pub fn signs(&self, action: Action) -> String {
        text::join(self.keys(action).iter().map(|key| self.sign_of(*key)), " ")
    }

    fn sign_of(&self, key: Key) -> String {
        let sign = key.sign();
        if self.is_ascii && !sign.is_ascii() {
            key.to_string()
        } else {
            sign
        }
    }
}

/// Reads keys by their names; `origin` begins what is said of an unknown one.
fn parse_keys(names: &[impl AsRef<str>], origin: &str) -> Result<Vec<Key>, Problem> {
    let names = names.iter().map(AsRef::as_ref);
    names
        .map(|key: &str| {
            let unknown = |hint| wrong(format!("{origin}unknown key `{key}`{hint}"));
            key.parse().map_err(unknown)
        })
        .collect()
}

/// The problem of a keymap that names what does not exist.
fn wrong(error: String) -> Problem {
    Problem::new(
        error,
        "correct the file: `?` on the screen lists every action and its keys",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keymap(text: &str) -> Result<Keymap, Problem> {
        Keymap::from_defaults()?.with(text, "keymap.toml")
    }

    #[test]
    fn arrows_are_named_in_ascii() {
        let mut keymap = Keymap::from_defaults().expect("keys");
        assert_eq!(keymap.sign(Action::HistoryForward), "↓");
        keymap.show_in_ascii(true);
        assert_eq!(keymap.sign(Action::HistoryForward), "down");
        assert_eq!(keymap.sign(Action::Palette), "^P");
    }

    #[test]
    fn keys_of_the_program_have_one_meaning_in_each_place() {
        Keymap::from_defaults()
            .expect("keys")
            .check_single_meanings("built in")
            .expect("one meaning");
    }

    #[test]
    fn a_users_file_overrides_by_action() {
        let keymap = keymap("zoom = [\"ctrl-y\", \"Z\"]").expect("a keymap");
        assert_eq!(keymap.signs(Action::Zoom), "^Y Z");
        assert_eq!(keymap.sign(Action::Help), "?");
        let key = |name: &str| name.parse().expect("a key");
        assert_eq!(keymap.action(key("z"), &[Context::Panes]), None);
        assert_eq!(
            keymap.action(key("Z"), &[Context::Panes]),
            Some(Action::Zoom)
        );
    }

    #[test]
    fn errors_name_the_fault() {
        let cases = [
            (
                "zom = [\"z\"]",
                "unknown action `zom`, did you mean `zoom`?",
            ),
            (
                "zoom = [\"entr\"]",
                "unknown key `entr`, did you mean `enter`?",
            ),
            ("zoom = [\"s\"]", "`s` means both"),
            ("zoom = 3", "write each line as"),
        ];
        for (text, expected) in cases {
            let error = keymap(text).expect_err("an error");
            assert!(error.line().contains(expected), "{error:?}");
        }
    }
}
