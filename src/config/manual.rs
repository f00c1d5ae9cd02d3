//! `config/default.toml`: every setting with its explanation and its default.

use super::catalogue::doc_lines;
use super::settings::{Config, SETTINGS, Setting};

const HEADER: &str = "\
# Every setting of ragscope with its default. Your own file needs only what you change;
# `ragscope paths` prints where it goes. Later sources win: these defaults, the preset, your file,
# the environment (RAGSCOPE_RETRIEVER__K=8), flags (--set retriever.k=8).
";

/// Returns the settings file that has every default, with comments.
pub fn defaults_toml() -> String {
    let config = Config::default();
    let mut text = HEADER.to_owned();
    let mut section = None;

    for setting in SETTINGS {
        text.push('\n');
        if setting.section() != section {
            section = setting.section();
            text.push_str(&heading(section.unwrap_or_default()));
        }

        text.push_str(&comment(setting));
        let value = setting.value(&config);
        text.push_str(&format!("{} = {value}\n", setting.name()));
    }

    text
}

fn heading(name: &str) -> String {
    format!("{}[{name}]\n\n", comment_lines("", doc_lines(name)))
}

fn comment(setting: &Setting) -> String {
    let mut comment = comment_lines("", setting.doc_lines);
    for choice in setting.choices {
        let [first, more @ ..] = choice.doc_lines else {
            continue;
        };
        comment.push_str(&format!("#   {}:{first}\n", choice.name));
        comment.push_str(&comment_lines("    ", more));
    }
    comment
}

fn comment_lines(indent: &str, doc_lines: &[&str]) -> String {
    let lines = doc_lines.iter().map(|line| format!("#{indent}{line}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_file_is_the_declaration() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("config/default.toml");
        if std::env::var_os("UPDATE_DEFAULTS").is_some() {
            std::fs::write(&file, defaults_toml()).expect("a settings file");
        }
        let text = std::fs::read_to_string(&file).expect("a settings file");
        assert_eq!(
            text,
            defaults_toml(),
            "run this test with UPDATE_DEFAULTS=1 to write the file from the declaration"
        );

        let table: toml::Table = text.parse().expect("TOML");
        assert_eq!(table, Config::default().to_table());
        assert!(text.lines().all(|line| line.len() <= 100));
    }
}
