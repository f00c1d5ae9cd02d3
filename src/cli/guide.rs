//! `guide`: the pages of the guide, printed or paged.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::guide::{PAGES, Page};

use super::failure::{Exit, Failure, Stopped};
use super::output::Output;

/// Prints a page, or the list of all pages.
pub fn run(topic: Option<&str>, out: &mut Output) -> Result<(), Stopped> {
    let text = markdown(topic)?;
    let object = if let Some(topic) = topic {
        let page = find(topic)?;
        json!({ "topic": page.topic, "title": page.title(), "text": page.markdown() })
    } else {
        let object = |page: &Page| json!({ "topic": page.topic, "title": page.title(), "about": page.about });
        json!({ "pages": PAGES.iter().map(object).collect::<Vec<_>>() })
    };
    out.print(&object, || text)
}

/// Returns a page, or the list of all pages, in Markdown.
///
/// # Errors
/// An unknown topic.
pub fn markdown(topic: Option<&str>) -> Result<String, Failure> {
    if let Some(topic) = topic {
        return Ok(find(topic)?.markdown());
    }

    let width = PAGES.iter().map(|page| page.topic.len()).max();
    let width = width.unwrap_or(0);
    let row = |page: &Page| format!("| {:width$} | {} |\n", page.topic, page.about);
    let rows: String = PAGES.iter().map(row).collect();

    Ok(format!(
        "# The guide of ragscope\n\n`ragscope guide TOPIC` prints a page.\n\n\
         | {:width$} | what it is about |\n|---|---|\n{rows}",
        "topic"
    ))
}

fn find(topic: &str) -> Result<&'static Page, Failure> {
    Page::find(topic).map_err(|problem| Failure::from(problem).into_usage())
}

/// Shows a text in the user's pager, and prints it where there is none.
///
/// # Errors
/// When the output cannot be written.
pub fn show_paged(text: &str, out: &mut Output) -> Result<Exit, Stopped> {
    let mut pager = pager();
    match pager.stdin(Stdio::piped()).spawn() {
        Ok(mut child) => {
            if let Some(mut input) = child.stdin.take() {
                // the reader may leave before the end
                let _ = input.write_all(text.as_bytes());
            }
            child.wait()?;
        }
        Err(_) => out.text(text)?,
    }
    Ok(Exit::Done)
}

/// Returns the pager that the environment names, which a shell reads as for git, or else `less`.
fn pager() -> Command {
    let named = std::env::var("PAGER").ok();

    let mut command = match named.filter(|pager| !pager.trim().is_empty()) {
        Some(pager) if cfg!(unix) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(pager);
            shell
        }
        Some(pager) => Command::new(pager),
        None => Command::new("less"),
    };

    if std::env::var_os("LESS").is_none() {
        // colours pass, and what fits the screen stays on it
        command.env("LESS", "FRX");
    }

    command
}
