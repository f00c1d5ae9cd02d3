//! The flags of every command.

use clap::Args;

/// Flags of every command.
#[derive(Debug, Clone, Default, Args)]
pub struct Shared {
    /// Preset: a built-in one (an unknown name lists them), or a file in your presets folder
    #[arg(long, value_name = "NAME", help_heading = "Settings")]
    pub preset: Option<String>,
    /// Generator: a GGUF file, or a name that `ragscope models` lists
    #[arg(long, value_name = "MODEL", help_heading = "Settings")]
    pub model: Option<String>,
    /// Any setting that `ragscope config` lists, e.g. retriever.k=8; may be repeated
    #[arg(long, value_name = "ROLE.KEY=VALUE", value_parser = assignment, help_heading = "Settings")]
    pub set: Vec<(String, String)>,
    /// Seed of every random choice
    #[arg(long, value_name = "NUMBER", help_heading = "Settings")]
    pub seed: Option<u64>,
    /// Print JSON on stdout: one record per line for runs, otherwise one object
    #[arg(long)]
    pub json: bool,
}

impl Shared {
    /// Returns flag, setting and value of each given flag, in increasing precedence.
    pub fn assignments(&self) -> Vec<(&'static str, &str, String)> {
        let named = [
            ("--preset", "preset", self.preset.clone()),
            ("--model", "generator.model", self.model.clone()),
            ("--seed", "seed", self.seed.map(|seed| seed.to_string())),
        ];

        let named = named.into_iter();
        let named = named.filter_map(|(flag, key, value)| Some((flag, key, value?)));
        let set = self.set.iter();
        let set = set.map(|(key, value)| ("--set", key.as_str(), value.clone()));
        named.chain(set).collect()
    }

    /// Applies the flags after the command, which override those before it.
    pub(super) fn override_with(&mut self, later: Self) {
        self.preset = later.preset.or(self.preset.take());
        self.model = later.model.or(self.model.take());
        self.seed = later.seed.or(self.seed);
        self.set.extend(later.set);
        self.json |= later.json;
    }
}

/// Reads a setting with its value.
pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        Some(_) | None => Err("write it as role.key=value, e.g. retriever.k=8".to_owned()),
    }
}
