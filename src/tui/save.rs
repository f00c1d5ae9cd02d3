//! A run as Markdown, and the screen as text.

use std::fmt::Write;

use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;

use crate::event::{Outcome, Uncertainty, UncertaintyMeasure};

use super::text;
use crate::story::Run;
use crate::story::words::{self, LOST};

/// Returns a name that every file system accepts.
pub fn file_name(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '-'
            }
        })
        .collect()
}

/// Returns the run with its answer, its sentences, its lookups and its cost.
pub fn markdown(run: &Run, zone: &TimeZone) -> String {
    let mut page = format!("# {}\n\n", plain(&run.question));
    if !run.answer.is_empty() {
        let _ = writeln!(page, "**{}**\n", plain(&run.answer));
    }
    for step in &run.steps {
        for replaced in &step.replaced {
            let measured = replaced
                .uncertainty
                .as_ref()
                .map_or(String::new(), measured);
            let _ = writeln!(
                page,
                "{}. ~~{}~~{measured}",
                step.step,
                plain(&replaced.text)
            );
        }
        let labels = step.unwritten_labels();
        let labels: String = labels.iter().map(|label| format!(" [{label}]")).collect();
        let measured = step.uncertainty.as_ref().map_or(String::new(), measured);
        let _ = writeln!(
            page,
            "{}. {}{labels}{measured}",
            step.step,
            plain(&step.text)
        );
    }
    sources(run, &mut page);
    lookups(run, &mut page);
    facts(run, zone, &mut page);
    page
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

fn measured(uncertainty: &Uncertainty) -> String {
    let unit = match uncertainty.measure {
        UncertaintyMeasure::Probe => "",
        UncertaintyMeasure::TokenEntropy | UncertaintyMeasure::SemanticEntropy => " nats",
    };
    let name = words::measure(uncertainty.measure);
    format!(" ({name} {:.2}{unit})", uncertainty.value)
}

fn sources(run: &Run, page: &mut String) {
    if run.citations.is_empty() {
        return;
    }
    page.push_str("\n## Sources\n\n");
    for citation in &run.citations {
        let location = plain(&words::citation_location(citation));
        let _ = writeln!(page, "- [{}] {location}", citation.label);
    }
}

fn lookups(run: &Run, page: &mut String) {
    for lookup in run
        .lookups
        .iter()
        .filter(|lookup| !lookup.hits().is_empty())
    {
        let _ = writeln!(page, "\n## Retrieved for: {}\n", plain(&lookup.query));
        if let Some(utility) = lookup.utility {
            let _ = writeln!(page, "Utility of the context: {utility:+.2}\n");
        }
        page.push_str("| | chunk | bm25 | cosine | fused | why not |\n|---|---|---|---|---|---|\n");
        for hit in lookup.hits() {
            let sign = lookup
                .label(hit.chunk.id)
                .map_or(LOST.to_owned(), |label| format!("[{label}]"));
            let score = |ranked: Option<crate::event::Ranked>| {
                ranked.map_or(String::new(), |ranked| {
                    format!("{:.3} (#{})", ranked.score, ranked.rank)
                })
            };
            let location = plain(&words::chunk_location(&hit.chunk));
            let _ = writeln!(
                page,
                "| {sign} | {location} | {} | {} | {:.3} | {} |",
                score(hit.bm25),
                score(hit.vector),
                hit.fused.score,
                lookup
                    .dropped(hit.chunk.id)
                    .map_or(String::new(), |reason| {
                        plain(&words::drop_reason(reason, lookup))
                    }),
            );
        }
    }
}

fn facts(run: &Run, zone: &TimeZone, page: &mut String) {
    let mut outcome = words::outcome(run.outcome.as_ref()).to_owned();
    if let Some(Outcome::Failed(problem)) = &run.outcome {
        outcome = format!("{outcome}: {}", plain(&problem.error));
    }
    let models: Vec<String> = run
        .models
        .iter()
        .map(|card| format!("{} {}", plain(&card.file), card.fingerprint))
        .collect();
    let usage = &run.usage;
    page.push_str("\n## Run\n\n");
    let facts = [
        ("run", run.id.clone()),
        ("started", text::date_with_offset(run.started_at, zone)),
        ("outcome", outcome),
        ("preset", run.preset.clone()),
        ("seed", run.seed.to_string()),
        ("models", models.join("; ")),
        (
            "prompt tokens",
            format!(
                "{} evaluated, {} reused",
                usage.prompt_tokens_evaluated, usage.prompt_tokens_reused
            ),
        ),
        ("tokens generated", usage.tokens_generated.to_string()),
        ("time", text::duration(usage.wall_ms)),
    ];
    for (name, value) in facts {
        let _ = writeln!(page, "- {name}: {value}");
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
    use super::plain;

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
