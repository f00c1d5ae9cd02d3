//! `eval --make-questions`: questions about a folder, written by the generator.

use std::path::Path;

use super::calls::with_calls;
use super::corpus::{documents, files};
use crate::cli::call::CommandCall;
use crate::cli::failure::{Exit, Stopped};
use crate::cli::folders::check_folder;
use crate::cli::interrupt::Interrupt;
use crate::eval;
use crate::story::words;

/// Number of questions that are written without `--limit`.
const DEFAULT_QUESTIONS: usize = 50;

/// Writes questions, as JSON lines on standard output.
pub(super) fn run(
    folder: &Path,
    limit: Option<usize>,
    call: CommandCall<'_>,
) -> Result<Exit, Stopped> {
    let layers = call.layers()?;
    let CommandCall { paths, out, .. } = call;
    check_folder(folder)?;
    let interrupt = Interrupt::listen()?;
    let config = layers.config()?;
    let documents = documents(&files(folder, &config)?, &config);
    let wanted = limit.unwrap_or(DEFAULT_QUESTIONS);

    let mut tried = 0;
    let made = with_calls(&layers, paths, &interrupt, out, |calls, show| {
        eval::make_questions(calls, &documents, wanted, config.seed, &mut |making| {
            tried = making.tried;
            show(&|| {
                format!(
                    "{} of {} questions kept, {} sentences tried",
                    making.kept, making.wanted, making.tried
                )
            })
        })
    })?;

    if made.is_empty() && !interrupt.is_seen() {
        let error = format!(
            "the generator wrote no question that it could answer itself ({tried} sentences tried)"
        );
        return Err(Stopped::failure(error, "use a larger model: --model NAME"));
    }
    for question in &made {
        out.json_line(question)?;
    }
    let written = words::quantity(made.len() as u64, "question");
    out.remark(&format!("{written} written"));
    if interrupt.is_seen() {
        Err(Stopped::Interrupted)
    } else {
        Ok(Exit::Done)
    }
}
