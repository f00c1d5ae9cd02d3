//! The folders of the command line, checked before any model is loaded.

use std::path::{Path, PathBuf};

use crate::remote::is_address;
use crate::story::text::join;
use crate::story::words;

use super::args::Arguments;
use super::failure::Failure;

/// Minimum similarity (Jaro-Winkler) of a missing folder's name to a command for the command to be
/// suggested.
const MIN_SIMILARITY: f64 = 0.8;

/// Checks that a folder can be opened, before any model is loaded and before the screen opens.
///
/// # Errors
/// When it is missing or a file; the advice names a command with a similar name.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    if is_address(folder) {
        return Ok(());
    }

    let shown = folder.display();
    match folder.metadata() {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(
            format!("{shown} is a file"),
            "pass the folder that contains it",
        )),
        Err(error) => {
            let reason = words::why_not_found(&error, "folder");
            Err(Failure::new(
                format!("cannot open {shown}: {reason}"),
                advice(folder),
            ))
        }
    }
}

/// Checks that each of these folders can be opened.
///
/// # Errors
/// As [`check_folder`], for the first that fails.
pub fn check_folders(folders: &[PathBuf]) -> Result<(), Failure> {
    folders.iter().try_for_each(|folder| check_folder(folder))
}

/// Checks the folders of a question, and that the question is not one more folder. The words of a
/// question without quotes are read as folders.
pub(super) fn check_asked(folders: &[PathBuf], question: &str) -> Result<(), Failure> {
    if Path::new(question).is_dir() {
        return Err(Failure::usage(
            format!("{question} is a folder, and the question comes last"),
            "pass your question in quotes after the folders",
        ));
    }

    for (at, folder) in folders.iter().enumerate() {
        if at > 0 && !folder.exists() && !is_address(folder) {
            return Err(Failure::new(
                format!("cannot open {}: there is no such folder", folder.display()),
                "check the path, or put the question in quotes if this is a word of it",
            ));
        }
        check_folder(folder)?;
    }
    Ok(())
}

/// Returns the folders as they are named on the command line.
pub(super) fn join_names(folders: &[PathBuf]) -> String {
    let names = folders.iter().map(|folder| folder.display().to_string());
    join(names, " ")
}

fn advice(missing: &Path) -> String {
    let name = missing.to_string_lossy();
    let similarity = |command: &clap::Command| strsim::jaro_winkler(command.get_name(), &name);
    let declaration = Arguments::declaration();
    let commands = declaration.get_subcommands();
    let nearest = commands.max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    match nearest.filter(|command| similarity(command) > MIN_SIMILARITY) {
        Some(command) => {
            let name = command.get_name();
            format!("check the path, or did you mean the command `{name}`?")
        }
        None => "check the path".to_owned(),
    }
}
