//! `replay` without a screen: prints the records unchanged, or the run as text.

use std::path::Path;

use crate::trace::read_run;

use super::failure::Stopped;
use super::output::Output;
use super::text::{Detail, RunText};

/// Prints a recorded run.
pub fn print(file: &Path, out: &mut Output) -> Result<(), Stopped> {
    let records = read_run(file)?;
    let mut text = RunText::new(Detail::Run);
    for record in &records {
        if out.json {
            out.json_line(record)?;
        } else {
            text.show(record, out)?;
        }
    }
    Ok(())
}
