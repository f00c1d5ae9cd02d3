//! The keys that lead to actions: those declared in the list, and those of the user's keymap file.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context as _, bail};

use super::{Action, Context, Key};
use crate::config::nearest;

/// The keys of every action, with the user's changes.
#[derive(Debug, Clone)]
pub struct Keymap {
    keys: BTreeMap<Action, Vec<Key>>,
}

impl Keymap {
    /// The keys as the actions declare them.
    ///
    /// # Errors
    /// A declared key that is not a key; a test prevents that.
    pub fn built_in() -> anyhow::Result<Self> {
        let mut keys = BTreeMap::new();
        for action in Action::ALL {
            let declared = action.info().keys.iter();
            let parsed = declared.map(|key| {
                key.parse()
                    .map_err(|hint| anyhow::anyhow!("unknown key `{key}`{hint}"))
            });
            keys.insert(*action, parsed.collect::<anyhow::Result<_>>()?);
        }
        Ok(Self { keys })
    }

    /// The built-in keys, with those of the user's file instead for the actions that it names. No file, no change.
    ///
    /// # Errors
    /// An unreadable file, an unknown action or key (with the nearest known one), a key with two meanings in one context.
    pub fn load(file: &Path) -> anyhow::Result<Self> {
        let origin = file.display().to_string();
        match std::fs::read_to_string(file) {
            Ok(text) => Self::built_in()?.with(&text, &origin),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::built_in(),
            Err(error) => Err(error).with_context(|| format!("cannot read {origin}")),
        }
    }

    fn with(mut self, text: &str, origin: &str) -> anyhow::Result<Self> {
        let table: BTreeMap<String, Vec<String>> = toml::from_str(text)
            .with_context(|| format!("{origin}: each line is `action = [\"key\", …]`"))?;
        for (name, names) in table {
            let Some(action) = Action::ALL.iter().find(|action| action.info().name == name) else {
                let known = Action::ALL.iter().map(|action| action.info().name);
                bail!("{origin}: unknown action `{name}`{}", nearest(&name, known));
            };
            let parsed = names.iter().map(|key| {
                key.parse()
                    .map_err(|hint| anyhow::anyhow!("{origin}: {name}: unknown key `{key}`{hint}"))
            });
            self.keys
                .insert(*action, parsed.collect::<anyhow::Result<_>>()?);
        }
        self.check_single_meanings(origin)?;
        Ok(self)
    }

    fn check_single_meanings(&self, origin: &str) -> anyhow::Result<()> {
        for contexts in Context::COMBINATIONS {
            let mut taken: HashMap<Key, Action> = HashMap::new();
            let valid = Action::ALL
                .iter()
                .filter(|action| contexts.contains(&action.info().context));
            for action in valid {
                for key in self.keys(*action) {
                    if let Some(other) = taken.insert(*key, *action) {
                        bail!(
                            "{origin}: `{key}` means both `{}` and `{}`: give one of them another key",
                            other.info().name,
                            action.info().name
                        );
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
        self.keys(action)
            .first()
            .map_or(String::new(), |key| key.sign())
    }

    /// All keys of an action as help shows them.
    pub fn signs(&self, action: Action) -> String {
        self.keys(action)
            .iter()
            .map(|key| key.sign())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keymap(text: &str) -> anyhow::Result<Keymap> {
        Keymap::built_in()?.with(text, "keymap.toml")
    }

    #[test]
    fn built_in_keys_have_one_meaning_in_each_place() {
        Keymap::built_in()
            .expect("keys")
            .check_single_meanings("built in")
            .expect("one meaning");
    }

    #[test]
    fn a_users_file_overrides_by_action() {
        let keymap = keymap("zoom = [\"ctrl-z\", \"Z\"]").expect("a keymap");
        assert_eq!(keymap.signs(Action::Zoom), "^Z Z");
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
            ("zoom = 3", "each line is"),
        ];
        for (text, expected) in cases {
            let error = keymap(text).expect_err("an error");
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
    }
}
