//! The README says what the program is.

use std::fs;
use std::path::Path;

#[test]
fn the_readme_lists_the_keys_of_the_screen() {
    check_table("keys", &ragscope::tui::keys::readme_table());
}

#[test]
fn the_readme_lists_the_presets() {
    check_table("presets", &ragscope::config::presets_table());
}

/// Checks the table between two marks of the README.
fn check_table(name: &str, expected: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&file).expect("a README");
    let start = format!("<!-- {name} -->\n");
    let end = format!("<!-- /{name} -->");
    let (before, rest) = text.split_once(&start).expect("the first mark");
    let (table, after) = rest.split_once(&end).expect("the second mark");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&file, [before, &start, expected, &end, after].concat()).expect("written");
    } else {
        assert_eq!(
            table, expected,
            "run this test with UPDATE_README=1 and --test-threads=1 to write the table"
        );
    }
}

#[test]
fn the_readme_names_every_command() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"))
        .expect("a README");
    let declaration = ragscope::cli::Arguments::declaration();
    for command in declaration
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        assert!(
            text.contains(&format!("`ragscope {}", command.get_name())),
            "{} is missing",
            command.get_name()
        );
    }
}
