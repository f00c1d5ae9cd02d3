//! A run or a thread as Markdown, and the screen as text.

use std::fmt::Write;

use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;

use crate::event::{Decision, Outcome, Ranked, Uncertainty};

use super::document::without_html;
use super::text;
use crate::story::words::{self, LOST};
use crate::story::{AnswerText, Certainty, LEGEND, Run, Step};

/// Words of a question in the name of a file.
const NAME_WORDS: usize = 8;

/// Returns the name of the file of a run, which every file system accepts: the first words of its
/// question, or its id where those are in other letters.
pub fn name_run(run: &Run) -> String {
    let words = run.question.split(|c: char| !c.is_alphanumeric());
    let plain = words.filter(|word| !word.is_empty() && word.is_ascii());
    let words: Vec<String> = plain.take(NAME_WORDS).map(str::to_lowercase).collect();
    let is_named = words.iter().any(|word| word.len() > 1);
    let name = if is_named {
        words.join("-")
    } else {
        run.id.clone()
    };
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    name.chars().filter(is_plain).collect()
}

/// Returns the run with its answer, its sentences, its lookups and its cost.
pub fn run_markdown(run: &Run, zone: &TimeZone) -> String {
    let mut page = Sheet::default();
    page.run(run, zone);
    page.text
}

/// Returns the runs of a thread, one section each.
pub fn thread_markdown(runs: &[&Run], zone: &TimeZone) -> String {
    let mut page = Sheet::default();
    let first = runs.first().map_or("", |run| &run.question);
    page.heading(&plain(first));
    page.depth = 1;
    for run in runs {
        page.text.push('\n');
        page.run(run, zone);
    }
    page.text
}

/// A page of Markdown.
#[derive(Default)]
struct Sheet {
    text: String,
    /// The number of headings that those of runs are below.
    depth: usize,
}

impl Sheet {
    fn heading(&mut self, words: &str) {
        let level = "#".repeat(self.depth + 1);
        let _ = writeln!(self.text, "{level} {words}\n");
    }

    /// Writes the heading of a part of a run.
    fn part(&mut self, words: &str) {
        let level = "#".repeat(self.depth + 2);
        let _ = writeln!(self.text, "\n{level} {words}\n");
    }

    fn run(&mut self, run: &Run, zone: &TimeZone) {
        self.heading(&plain(&run.question));
        if run.standalone() != run.question {
            let _ = writeln!(self.text, "Understood as: {}\n", plain(run.standalone()));
        }

        if let Some(answer) = run.short_answer() {
            let _ = writeln!(self.text, "**{}**\n", plain(answer));
        }

        let answer = without_html(&cited_text(run));
        let _ = writeln!(self.text, "{}", answer.trim());
        if let Some(verdict) = run.verdict_line() {
            let _ = writeln!(self.text, "\n{}", plain(&verdict));
        }

        self.part("Sentences");
        for step in run.steps.iter().filter(|step| !step.is_rule()) {
            sentence(run, step, &mut self.text);
        }
        if !run.steps.is_empty() {
            let _ = writeln!(self.text, "\n{LEGEND}");
        }

        sources(run, self);
        lookups(run, self);
        facts(run, zone, self);
    }
}

/// Writes a sentence of the answer below those that it replaced, all in one entry of the list:
/// renderers number its entries themselves.
fn sentence(run: &Run, step: &Step, page: &mut String) {
    let figures = |uncertainty: &Option<Uncertainty>, version: usize| {
        let measured = uncertainty.as_ref();
        measured.map_or(String::new(), |measured| {
            let certainty = run.certainty(step, version);
            format!(" ({})", plain(&certainty_words(measured, certainty)))
        })
    };
    let labels = labels(step);
    let number = format!("{}. ", step.step);
    let replaced = step.replaced.iter().enumerate().map(|(version, replaced)| {
        let measured = figures(&replaced.uncertainty, version);
        format!("~~{}~~{measured}", plain(&replaced.text))
    });
    let measured = figures(&step.uncertainty, step.replaced.len());
    let sign = run.support_sign(step).as_str();
    let last = format!("{sign} {}{labels}{measured}", plain(&step.text));
    let line_break = format!("\\\n{}", " ".repeat(number.len()));
    let versions = text::join(replaced.chain([last]), &line_break);
    let _ = writeln!(page, "{number}{versions}");
}

/// Returns the answer with the labels that the model did not write itself, but for those of code;
/// in a row of a table they are in its last cell.
fn cited_text(run: &Run) -> String {
    let AnswerText { text, sentences } = run.answer_text();
    let mut cited = String::with_capacity(text.len());
    let mut written = 0;
    let mut is_code = false;
    for (step, place) in run.steps.iter().zip(sentences) {
        let fences = step.text.lines().filter(|line| line.starts_with("```"));
        let fences = fences.count();
        if !is_code && fences == 0 {
            let sentence = &text[..place.end];
            let end = sentence.trim_end_matches([' ', '|']).len().max(place.start);
            cited.push_str(&text[written..end]);
            cited.push_str(&labels(step));
            written = end;
        } else if fences == 2 {
            // a whole block is quoted
            cited.push_str(&text[written..place.end]);
            cited.push_str(&format!("\n\n{}", labels(step).trim_start()));
            written = place.end;
        }
        is_code ^= fences % 2 == 1;
    }
    cited + &text[written..]
}

fn labels(step: &Step) -> String {
    let labels = step.unwritten_labels();
    labels.iter().map(|label| format!(" [{label}]")).collect()
}

/// Returns text of a document, a model or a user as one line that Markdown shows as it is.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text::one_line(text).chars() {
        if matches!(character, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|') {
            plain.push('\\');
        }
        plain.push(character);
    }
    plain
}

/// Returns what a gate decided about a sentence; without one, whether the model was sure of it.
fn certainty_words(measured: &Uncertainty, certainty: Option<Certainty>) -> String {
    match (measured.decision, certainty) {
        (Decision::Measured, Some(certainty)) => words::certainty(&certainty),
        _ => words::gate_decision(measured),
    }
}

fn sources(run: &Run, page: &mut Sheet) {
    if run.citations.is_empty() {
        return;
    }
    page.part("Sources");
    for citation in &run.citations {
        let location = plain(&words::citation_location(citation));
        let _ = writeln!(page.text, "- [{}] {location}", citation.label);
        let hit = run.hit(citation.chunk).map(|hit| hit.chunk.text.as_str());
        let text = citation.quote.as_deref().or(hit).unwrap_or_default();
        for line in text.lines() {
            let _ = writeln!(page.text, "  > {}", plain(line));
        }
    }
}

fn lookups(run: &Run, page: &mut Sheet) {
    let lookups = run.lookups.iter();
    for lookup in lookups.filter(|lookup| !lookup.hits().is_empty()) {
        page.part(&format!("Retrieved for: {}", plain(&lookup.query)));
        let page = &mut page.text;

        if let Some(utility) = lookup.utility {
            let _ = writeln!(page, "Utility of the context: {utility:+.2}\n");
        }

        page.push_str("| | chunk | bm25 | cosine | fused | why not |\n|---|---|---|---|---|---|\n");
        for hit in lookup.hits() {
            let chunk = hit.chunk.id;
            let label = lookup.label(chunk);
            let sign = label.map_or(LOST.to_owned(), |label| format!("[{label}]"));
            let score = |ranked: Ranked| format!("{:.3} (#{})", ranked.score, ranked.rank);
            let [bm25, vector] = [hit.bm25, hit.vector].map(|in_list| in_list.map(score));
            let location = plain(&words::chunk_location(&hit.chunk));
            let why_not = lookup.drop_reason(chunk).map(|reason| {
                let seconds = run.settings.answer.first_word_seconds;
                plain(&words::drop_reason(reason, chunk, lookup, seconds))
            });
            let _ = writeln!(
                page,
                "| {sign} | {location} | {} | {} | {:.3} | {} |",
                bm25.unwrap_or_default(),
                vector.unwrap_or_default(),
                hit.fused.score,
                why_not.unwrap_or_default(),
            );
        }
    }
}

fn facts(run: &Run, zone: &TimeZone, page: &mut Sheet) {
    let mut outcome = words::outcome(run.outcome.as_ref()).to_owned();
    if let Some(Outcome::Failed(problem)) = &run.outcome {
        outcome = format!("{outcome}: {}", plain(&problem.error));
    }

    let models = run.models.iter();
    let models = models.map(|card| format!("{} {}", plain(&card.file), card.fingerprint));
    let usage = &run.usage;
    let [evaluated, reused] = [usage.prompt_tokens_evaluated, usage.prompt_tokens_reused];

    page.part("Run");
    let facts = [
        ("run", run.id.clone()),
        ("started", text::date_with_offset(run.started_at, zone)),
        ("outcome", outcome),
        ("preset", run.preset.clone()),
        ("seed", run.seed.to_string()),
        ("models", text::join(models, "; ")),
        (
            "prompt tokens",
            format!("{evaluated} evaluated, {reused} reused"),
        ),
        ("tokens generated", usage.tokens_generated.to_string()),
        ("time", text::duration(usage.wall_ms)),
    ];

    for (name, value) in facts {
        let _ = writeln!(page.text, "- {name}: {value}");
    }
}

/// Returns the text of a buffer, row by row, without the spaces at the ends.
pub fn rows(buffer: &Buffer) -> String {
    let mut page = String::new();
    for y in buffer.area.top()..buffer.area.bottom() {
        let (mut row, mut x) = (String::new(), buffer.area.left());
        while x < buffer.area.right() {
            let sign = buffer[(x, y)].symbol();
            row.push_str(sign);
            // a wide sign takes the cells after it
            x += text::width(sign).max(1) as u16;
        }
        page.push_str(row.trim_end());
        page.push('\n');
    }

    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Citation, Evidence};
    use crate::story::Origin;

    #[test]
    fn a_quoted_block_of_code_has_its_label_below_it() {
        let quoted = |text: &str, label| Step {
            text: text.to_owned(),
            origin: Origin::Given,
            citations: vec![Citation {
                label,
                chunk: u64::from(label),
                chunk_lines: None,
                chunk_place: None,
                file: "a.md".to_owned(),
                first_line: 1,
                last_line: 1,
                place: None,
                quote: None,
                evidence: Evidence::Overlap { share: 1.0 },
            }],
            ..Step::default()
        };
        let mut run = Run::new("1");
        run.steps = vec![quoted("```\nls -l\n```", 1), quoted("“It lists files.”", 2)];
        let expected = "```\nls -l\n```\n\n[1]\n\n“It lists files.” [2]";
        assert_eq!(cited_text(&run), expected);
    }

    #[test]
    fn markdown_shows_the_text_of_a_document_as_it_is() {
        let cases = [
            (
                "<img src=x onerror=alert(1)>",
                "\\<img src=x onerror=alert(1)\\>",
            ),
            ("a|b.txt", "a\\|b.txt"),
            ("[x](http://y) *z* `c`", "\\[x\\](http://y) \\*z\\* \\`c\\`"),
        ];
        for (text, shown) in cases {
            assert_eq!(plain(text), shown);
        }
        assert!(!plain("one\n# two").contains('\n'));
    }
}
