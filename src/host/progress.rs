//! The progress of long work as a line.

use crate::event::{IndexProgress, ProbePhase, ProbeProgress, SessionEvent};
use crate::story::words;

/// Returns the progress of loading, indexing or training as a line; `None` for other events.
pub fn progress_line(event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::ModelLoadProgressed {
            role,
            file,
            fraction,
        } => Some(format!(
            "loading {} {file} {}",
            role.name(),
            words::percent(*fraction)
        )),
        SessionEvent::IndexProgressed { progress } => Some(index_line(progress)),
        SessionEvent::ProbeProgressed { progress } => Some(probe_line(progress)),
        _ => None,
    }
}

fn index_line(progress: &IndexProgress) -> String {
    let mut parts = vec![format!(
        "{} {}",
        words::index_phase(progress.phase),
        words::index_done(progress)
    )];
    parts.extend(progress.rate_per_s.map(words::rate));
    parts.extend(progress.left_ms.map(words::time_left));

    let mut line = parts.join(", ");
    if let Some(file) = &progress.file {
        line.push_str(&format!("  {file}"));
    }
    line
}

fn probe_line(progress: &ProbeProgress) -> String {
    let (done, total) = (progress.done, progress.total);
    let mut parts = vec![match progress.phase {
        ProbePhase::WritingQuestions => format!("writing questions, {done} of {total}"),
        ProbePhase::Collecting => {
            format!(
                "asking question {done} of {total}, {} sentences collected",
                progress.sentences
            )
        }
        ProbePhase::Training => format!("training, pass {done} of at most {total}"),
    }];
    parts.extend(progress.loss.map(|loss| format!("loss {loss:.4}")));
    parts.extend(progress.left_ms.map(words::time_left));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::IndexPhase;

    #[test]
    fn the_progress_of_an_index_is_a_line() {
        let progress = IndexProgress {
            phase: IndexPhase::Embedding,
            done: 12,
            total: Some(40),
            file: Some("日本語/notes.md".to_owned()),
            rate_per_s: Some(3.4),
            left_ms: Some(8_000),
        };
        let line = index_line(&progress);
        assert_eq!(
            line,
            "embedding 12 of 40 texts, 3.4/s, 8 s left  日本語/notes.md"
        );
    }
}
