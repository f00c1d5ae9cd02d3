//! The README says what the program is.

use std::fs;
use std::path::Path;

/// The table of keys stands between two marks and comes from the list of actions.
#[test]
fn the_readme_lists_the_keys_of_the_screen() {
    const MARKS: [&str; 2] = ["<!-- keys -->\n", "<!-- /keys -->"];
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&file).expect("a README");
    let (before, rest) = text.split_once(MARKS[0]).expect("the first mark");
    let (table, after) = rest.split_once(MARKS[1]).expect("the second mark");
    let listed = ragscope::tui::keys::readme_table();
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&file, [before, MARKS[0], &listed, MARKS[1], after].concat()).expect("written");
    } else {
        assert_eq!(
            table, listed,
            "run this test with UPDATE_README=1 to write the table from the list"
        );
    }
}

#[test]
fn the_readme_names_every_command_and_preset() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"))
        .expect("a README");
    for command in ragscope::cli::Arguments::declaration().get_subcommands() {
        assert!(
            text.contains(&format!("`ragscope {}", command.get_name())),
            "{} is missing",
            command.get_name()
        );
    }
    for preset in ragscope::config::preset_names(Path::new("")) {
        assert!(
            text.contains(&format!("`{preset}`")),
            "preset {preset} is missing"
        );
    }
}
