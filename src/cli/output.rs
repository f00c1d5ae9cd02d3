//! Standard output and standard error of a command.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use ratatui::text::Span;
use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;

use crate::event::{Event, Problem, escape_json, harmless};
use crate::host::progress_line;

use super::failure::Stopped;

/// Redraws of the progress line are at least this far apart.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Progress that goes to a file is written this often.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// Long work is reported to a file this often.
const LONG_WORK_LOG_EVERY: Duration = Duration::from_secs(10);

/// Returns Markdown in rows for a terminal.
pub type Renderer = fn(&str) -> String;

/// The output streams of a command.
pub struct Output {
    /// JSON instead of text.
    pub json: bool,
    /// Text for a terminal on standard output.
    is_terminal: bool,
    /// Whether both streams end in one place: a terminal, or one file or pipe.
    is_shared: bool,
    /// Dim and bold on standard output.
    styled: bool,
    /// Renders Markdown for a terminal.
    renderer: Option<Renderer>,
    /// Whether there is a progress line on standard error, as on a terminal alone.
    has_progress: bool,
    /// Time at which it was last drawn; `None` while it is clear.
    drawn_at: Option<Instant>,
    /// Time at which the progress was last written as a line of its own.
    logged_at: Option<Instant>,
}

impl Output {
    /// Returns the streams of the process. `NO_COLOR` and pipes get plain text.
    pub fn for_process(json: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_terminal = !json && io::stdout().is_terminal();
        Self {
            json,
            is_terminal,
            is_shared: is_terminal || (!json && are_one_place()),
            styled: is_terminal && !plain,
            renderer: None,
            has_progress: !json && io::stderr().is_terminal(),
            drawn_at: None,
            logged_at: None,
        }
    }

    /// Renders Markdown on a terminal, where it is asked for.
    #[must_use]
    pub fn with_renderer(self, renderer: Renderer) -> Self {
        Self {
            renderer: self.is_terminal.then_some(renderer),
            ..self
        }
    }

    /// Returns what renders Markdown; `None` where text goes out as it is.
    pub fn renderer(&self) -> Option<Renderer> {
        self.renderer
    }

    /// Returns whether standard output is text on a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns whether text on standard output and remarks are read in one place: on a terminal, or
    /// where both streams go to the same file or pipe.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Writes text on standard output as it is. The caller has made it harmless.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.clear_progress();
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Writes secondary text: dim where the terminal supports it.
    pub fn dim(&mut self, text: &str) -> io::Result<()> {
        if self.styled {
            self.text(&format!("\x1b[2m{text}\x1b[0m"))
        } else {
            self.text(text)
        }
    }

    /// Writes one JSON value as a line.
    pub fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(value)?;
        self.text(&format!("{}\n", escape_json(&line)))
    }

    /// Writes one JSON value with indentation.
    pub fn json_pretty(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        self.text(&format!("{}\n", escape_json(&text)))
    }

    /// Writes a result: with `--json` the value, otherwise the text.
    pub fn print(
        &mut self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Stopped> {
        if self.json {
            return Ok(self.json_pretty(value)?);
        }
        Ok(self.text(&harmless(&text()))?)
    }

    /// Writes a result as [`Self::print`] does, with `--json` on one line.
    pub fn print_line(
        &mut self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Stopped> {
        if self.json {
            return Ok(self.json_line(value)?);
        }
        Ok(self.text(&harmless(&text()))?)
    }

    /// Writes a remark on standard error. Errors of writing are ignored.
    pub fn remark(&mut self, text: &str) {
        self.clear_progress();
        let _ = writeln!(io::stderr().lock(), "{}", harmless(text));
    }

    /// Writes what went wrong: an object on standard output with `--json`, text on standard error
    /// otherwise, and where standard output takes nothing.
    pub fn problem(&mut self, problem: &Problem) {
        if !self.json || self.json_line(problem).is_err() {
            let advice = problem.advice.as_deref();
            self.remark(&with_advice("error", &problem.error, advice));
        }
    }

    /// Writes a warning to standard error.
    pub fn warning(&mut self, text: &str, advice: Option<&str>) {
        self.remark(&with_advice("warning", text, advice));
    }

    /// Shows the progress of loading, indexing or training; other events leave the line alone.
    pub fn progress(&mut self, event: &Event) {
        if let Some(line) = event.session().and_then(progress_line) {
            self.progress_line(|| line);
        }
    }

    /// Shows this line as the progress, at most once per [`PROGRESS_EVERY`]; without a terminal, as
    /// a line of its own every [`LONG_WORK_LOG_EVERY`].
    pub fn progress_line(&mut self, line: impl FnOnce() -> String) {
        if self.has_progress {
            return self.passing_line(line);
        }
        // work that ends before has nothing to report
        self.logged_at.get_or_insert_with(Instant::now);
        self.log_progress(LONG_WORK_LOG_EVERY, line);
    }

    /// Shows this line in the place of the progress, and nowhere without a terminal.
    pub fn passing_line(&mut self, line: impl FnOnce() -> String) {
        let last = self.drawn_at;
        let is_early = last.is_some_and(|drawn_at| drawn_at.elapsed() < PROGRESS_EVERY);
        if !self.has_progress || is_early {
            return;
        }

        self.drawn_at = Some(Instant::now());
        let columns = crossterm::terminal::size().map_or(0, |(columns, _)| usize::from(columns));
        // some terminals do not know their size
        let columns = if columns == 0 { 80 } else { columns };

        let line = fit(&harmless(&line()), columns.saturating_sub(1));
        let _ = write!(io::stderr().lock(), "\r\x1b[2K{line}");
        let _ = io::stderr().flush();
    }

    /// Shows this line as the progress; without a terminal, as a line of its own once per second,
    /// and at once.
    pub fn steady_progress_line(&mut self, line: impl FnOnce() -> String) {
        if self.has_progress {
            return self.progress_line(line);
        }
        self.log_progress(LOG_EVERY, line);
    }

    /// Writes a line unless there was one since this time. JSON has no progress.
    fn log_progress(&mut self, every: Duration, line: impl FnOnce() -> String) {
        let last = self.logged_at;
        let is_due = last.is_none_or(|logged_at| logged_at.elapsed() >= every);
        if is_due && !self.json {
            self.logged_at = Some(Instant::now());
            self.remark(&line());
        }
    }

    /// Clears the progress line before something else is written.
    pub fn clear_progress(&mut self) {
        if self.drawn_at.take().is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

/// Returns whether standard output and standard error go to the same file or pipe.
#[cfg(unix)]
fn are_one_place() -> bool {
    use std::os::unix::fs::MetadataExt;

    let place = |stream: &str| {
        let metadata = std::fs::metadata(stream).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let stdout = place("/dev/fd/1");
    stdout.is_some() && stdout == place("/dev/fd/2")
}

#[cfg(not(unix))]
fn are_one_place() -> bool {
    false
}

fn with_advice(kind: &str, text: &str, advice: Option<&str>) -> String {
    match advice {
        Some(advice) => format!("{kind}: {text}\n  {advice}"),
        None => format!("{kind}: {text}"),
    }
}

/// Returns the columns that a text takes.
fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Returns as much of the first line as fits the columns.
fn fit(text: &str, columns: usize) -> String {
    let mut used = 0;
    text.graphemes(true)
        .take_while(|grapheme| !grapheme.contains('\n'))
        .map(|grapheme| if grapheme == "\t" { " " } else { grapheme })
        .take_while(|grapheme| {
            used += width(grapheme);
            used <= columns
        })
        .collect()
}

/// Returns rows with their columns padded to the widest cell, two spaces between them.
pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let widest = |column: usize| {
        let widths = rows.iter().map(|row| width(&row[column]));
        widths.max().unwrap_or(0)
    };

    let widths: Vec<usize> = (0..N).map(widest).collect();
    rows.iter()
        .map(|row| {
            let cells = row.iter().zip(&widths);
            let line: String = cells
                .map(|(cell, columns)| format!("{cell}{}  ", " ".repeat(columns - width(cell))))
                .collect();
            format!("{}\n", line.trim_end())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_line_fits_the_terminal() {
        assert_eq!(fit("日本語", 5), "日本");
        assert_eq!(fit("a\tb\nc", 9), "a b");
        assert_eq!(fit("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 3), "👩‍👩‍👧‍👦");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_on_the_screen() {
        let rows =
            [["日本", "1"], ["e\u{301}a", "2"], ["abcd", "3"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "日本  1\ne\u{301}a    2\nabcd  3\n");
    }
}
