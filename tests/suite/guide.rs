//! README and guide say what the program is: their tables are those of the code, their command
//! lines are accepted, their settings and links exist.

use std::fs;
use std::path::{Path, PathBuf};

use ragscope::cli::Arguments;
use ragscope::config::{Config, SETTINGS, Setting, preset_doc, preset_names};
use ragscope::guide::PAGES;
use ragscope::tui::keys::{Action, Context};

#[test]
fn the_guide_lists_the_keys_of_the_screen() {
    let mut table = "| where | key | action |\n|---|---|---|\n".to_owned();
    for context in Context::ALL {
        let actions = Action::ALL.iter().map(|action| action.info());
        for info in actions.filter(|info| info.context == *context && !info.keys.is_empty()) {
            let keys: Vec<String> = info.keys.iter().map(|key| format!("`{key}`")).collect();
            let keys = keys.join(" ");
            table.push_str(&format!(
                "| {} | {keys} | {} |\n",
                context.title(),
                info.doc
            ));
        }
    }
    check_table("assets/guide/keys.md", "keys", &table);
}

#[test]
fn the_guide_lists_the_presets() {
    let built_in = Path::new("");
    let rows: String = preset_names(built_in)
        .iter()
        .map(|name| format!("| `{name}` | {} |\n", preset_doc(name, built_in)))
        .collect();
    let table = format!("| preset | what it does |\n|---|---|\n{rows}");
    check_table("assets/guide/presets.md", "presets", &table);
}

#[test]
fn the_readme_lists_the_pages_of_the_guide() {
    let row = |page: &ragscope::guide::Page| {
        let link = format!("[{}](assets/guide/{}.md)", page.title(), page.topic);
        format!("| {link} | {} |\n", page.about)
    };
    let rows: String = PAGES.iter().map(row).collect();
    let table = format!("| page | what it is about |\n|---|---|\n{rows}");
    check_table("README.md", "guide", &table);
}

/// Checks the table between two marks of a file.
fn check_table(file: &str, name: &str, expected: &str) {
    let file = root().join(file);
    let text = fs::read_to_string(&file).expect("a document");
    let start = format!("<!-- {name} -->\n\n");
    let end = format!("\n<!-- /{name} -->");
    let (before, rest) = text.split_once(&start).expect("the first mark");
    let (table, after) = rest.split_once(&end).expect("the second mark");
    if std::env::var_os("UPDATE_GUIDE").is_some() {
        fs::write(&file, [before, &start, expected, &end, after].concat()).expect("written");
    } else {
        assert_eq!(
            table,
            expected,
            "{}: run this test with UPDATE_GUIDE=1 to write the table",
            file.display()
        );
    }
}

#[test]
fn the_guide_names_every_command() {
    let commands = fs::read_to_string(root().join("assets/guide/commands.md")).expect("a page");
    let declaration = Arguments::declaration();
    for command in declaration
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        let name = format!("| `ragscope {}", command.get_name());
        assert!(commands.contains(&name), "{name} is missing");
    }
}

#[test]
fn every_page_is_a_file_and_short() {
    const MAX_WORDS: usize = 700;
    const MAX_WORDS_OF_README: usize = 1800;

    for (file, text) in documents() {
        let is_prose = |line: &&str| !line.starts_with('|');
        let words = text
            .lines()
            .filter(is_prose)
            .flat_map(str::split_whitespace)
            .count();
        let most = if file == Path::new("README.md") {
            MAX_WORDS_OF_README
        } else {
            MAX_WORDS
        };
        assert!(words <= most, "{}: {words} words", file.display());
        assert!(text.starts_with("# "), "{}", file.display());
    }

    let files = fs::read_dir(root().join("assets/guide")).expect("the guide");
    assert_eq!(
        files.count(),
        PAGES.len(),
        "a page is not in the list of src/guide.rs"
    );
}

#[test]
fn every_command_line_is_accepted() {
    let mut checked = 0;
    for (file, text) in documents() {
        for line in blocks(&text, "").flat_map(str::lines) {
            let words = shell_words(line);
            if words.first().map(String::as_str) != Some("ragscope") {
                continue;
            }
            checked += 1;
            let arguments = Arguments::read(&words);
            assert!(arguments.is_ok(), "{}: {line}\n{words:?}", file.display());
            let set = arguments.map(|arguments| arguments.shared.set);
            for (key, value) in set.unwrap_or_default() {
                check_setting(&file, &key, &value);
            }
        }
    }
    assert!(checked > 80, "only {checked} command lines were found");
}

#[test]
fn every_setting_exists() {
    let mut checked = 0;
    for (file, text) in documents() {
        for code in text.split('`').skip(1).step_by(2) {
            let (key, value) = code.split_once('=').unwrap_or((code, ""));
            let key = key.trim().trim_start_matches("--set").trim();
            let Some((section, _)) = key.split_once('.') else {
                continue;
            };
            let is_section = SETTINGS
                .iter()
                .any(|known| known.section() == Some(section));
            if is_section && !key.contains(char::is_whitespace) {
                checked += 1;
                check_setting(&file, key, value.trim().trim_matches('"'));
            }
        }
        for block in blocks(&text, "toml") {
            let table: toml::Table = block.parse().expect("TOML");
            for (name, value) in table {
                match value {
                    toml::Value::Table(section) => {
                        for (key, value) in section {
                            checked += 1;
                            check_value(&file, &format!("{name}.{key}"), &value);
                        }
                    }
                    // a keymap
                    toml::Value::Array(_) => {
                        assert!(
                            Action::ALL.iter().any(|action| action.info().name == name),
                            "{name}"
                        );
                    }
                    value => check_value(&file, &name, &value),
                }
            }
        }
    }
    assert!(checked > 60, "only {checked} settings were found");
}

/// Checks a setting as `--set` takes it; without a value, that it exists.
fn check_setting(file: &Path, key: &str, value: &str) {
    let setting = Setting::find(key);
    let setting = setting.unwrap_or_else(|| panic!("{}: unknown setting {key}", file.display()));
    if !value.is_empty() {
        check_value(file, key, &setting.parse(value));
    }
}

fn check_value(file: &Path, key: &str, value: &toml::Value) {
    let setting = Setting::find(key);
    let setting = setting.unwrap_or_else(|| panic!("{}: unknown setting {key}", file.display()));
    let set = setting.set(&mut Config::default(), value);
    assert!(set.is_ok(), "{}: {key} = {value}: {set:?}", file.display());
}

#[test]
fn every_link_leads_to_a_file() {
    for (file, text) in documents() {
        for rest in text.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            let target: String = target.split('#').next().unwrap_or_default().into();
            if !target.contains("://") && !target.is_empty() {
                let folder = file.parent().unwrap_or(Path::new(""));
                let path = root().join(folder).join(&target);
                assert!(path.exists(), "{}: {target}", file.display());
            }
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns README and guide: names from the root, and texts.
fn documents() -> Vec<(PathBuf, String)> {
    let readme = PathBuf::from("README.md");
    let text = fs::read_to_string(root().join(&readme)).expect("a README");
    let pages = PAGES.iter().map(|page| {
        let file = Path::new("assets/guide")
            .join(page.topic)
            .with_extension("md");
        (file, page.text.to_owned())
    });
    std::iter::once((readme, text)).chain(pages).collect()
}

/// Returns the blocks of code in a language.
fn blocks<'a>(text: &'a str, language: &'a str) -> impl Iterator<Item = &'a str> {
    let fenced = text.split("\n```").skip(1).step_by(2);
    fenced.filter_map(move |block| {
        let (first, lines) = block.split_once('\n')?;
        (first == language).then_some(lines)
    })
}

/// Splits a line as a shell does, up to a comment, a pipe or a redirection.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#' | '|' | '>' | '&') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[test]
fn a_line_is_split_as_a_shell_does() {
    let words = shell_words("ragscope ask a 'b c' --set x='[\"y\"]' # d");
    assert_eq!(words, ["ragscope", "ask", "a", "b c", "--set", "x=[\"y\"]"]);
    assert_eq!(shell_words("ragscope man | man -l -"), ["ragscope", "man"]);
}
