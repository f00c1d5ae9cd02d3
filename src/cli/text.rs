//! A run as plain text: the answer while it is generated, then its sources and its cost.

use std::io;

use crate::event::{
    Citation, Decision, Event, FENCE, Hit, Outcome, Ranked, Record, RunEvent, ends_in_code,
    harmless,
};
use crate::story::text::{join, one_line};
use crate::story::{Lookup, Origin, Run, Step, words};

use super::output::Output;

/// Characters by which a sentence is named.
const BEGUN: usize = 40;

/// The sign behind a cell of a table.
const CELL_END: char = '|';

/// Parts that are printed beside the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Nothing,
    /// The lookups and the measured contexts, as sentences.
    Events,
    /// The question and the lookups, for runs that the reader did not just start.
    Run,
}

/// Prints a run while it happens. By default the answer alone.
#[derive(Default)]
pub struct RunText {
    detail: Detail,
    run: Run,
    /// True once text of the answer was printed.
    begun: bool,
    /// Bytes of the current sentence that were printed.
    printed: usize,
    /// True while a line of the answer is open.
    is_mid_line: bool,
    /// The text of the answer behind the last paragraph, list, table or block of code that is
    /// whole, where those are rendered.
    held: String,
}

impl RunText {
    /// Prints these parts beside the answer.
    pub fn new(detail: Detail) -> Self {
        Self {
            detail,
            ..Self::default()
        }
    }

    /// Prints what a record adds.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn show(&mut self, record: &Record, out: &mut Output) -> io::Result<()> {
        let Event::Run(event) = &record.event else {
            return Ok(());
        };
        self.run.apply(event, record.t_us);

        match event {
            RunEvent::RunStarted { .. } if self.detail == Detail::Run => self.heading(out),
            RunEvent::QueryWritten { query, .. } if self.detail == Detail::Events => {
                self.line(&format!("Searching for: {}\n", one_line(query)), out)
            }
            RunEvent::UnderstandingMeasured { .. } if self.detail == Detail::Events => {
                self.print_measurement(out)
            }
            RunEvent::FollowUpRewritten { .. } => {
                let words = self.run.follow_up.as_ref().and_then(words::follow_up);
                words.map_or(Ok(()), |words| out.dim(&format!("{words}\n")))
            }
            RunEvent::PartsLeftOut { parts, reason, .. } if self.detail != Detail::Nothing => {
                self.line(&format!("{}\n", words::omission(parts, *reason)), out)
            }
            RunEvent::ContextBuilt { step, .. } if self.detail != Detail::Nothing => {
                let lookup = self.run.lookups.iter().rfind(|known| known.step == *step);
                let passages = lookup.map(passages);
                passages.map_or(Ok(()), |passages| self.line(&passages, out))
            }
            // what is not read while it is written is printed with its last citations
            RunEvent::StepStarted { .. }
            | RunEvent::TokenGenerated { .. }
            | RunEvent::StepGiven { .. }
            | RunEvent::StepCited { .. }
                if self.is_printed_at_end(out) =>
            {
                Ok(())
            }
            RunEvent::StepFinished { step, .. } if self.is_printed_at_end(out) => {
                self.remark(*step, out).map(|_| ())
            }
            // With a gate a sentence may still be replaced, so it is printed once it is kept.
            RunEvent::StepStarted { step } => self.begin(*step, out),
            RunEvent::TokenGenerated { step, .. } if self.run.gate.is_none() => {
                self.token(*step, out)
            }
            RunEvent::StepFinished { step, .. } => self.sentence(*step, out),
            RunEvent::StepGiven { step, .. } => self.print_whole(*step, out),
            // the sentence is printed already
            RunEvent::StepCited {
                text, citations, ..
            } => self.line(&format!("{}\n", restatement(text, citations)), out),
            RunEvent::RunFinished { .. } => self.end(out),
            _ => Ok(()),
        }
    }

    /// Prints a line between the lines of the answer.
    fn line(&mut self, line: &str, out: &mut Output) -> io::Result<()> {
        self.end_line(out)?;
        out.dim(line)
    }

    /// Ends the line of the answer that is open.
    fn end_line(&mut self, out: &mut Output) -> io::Result<()> {
        let is_open = std::mem::take(&mut self.is_mid_line);
        match out.renderer() {
            _ if !is_open => Ok(()),
            Some(render) if !self.held.is_empty() => {
                out.text(&render(std::mem::take(&mut self.held).trim_end()))
            }
            Some(_) | None => out.text("\n"),
        }
    }

    /// Writes text of the answer; where it is rendered, once what it is part of is whole.
    fn write(&mut self, text: &str, out: &mut Output) -> io::Result<()> {
        let Some(render) = out.renderer().filter(|_| self.detail != Detail::Events) else {
            return out.text(text);
        };
        self.held.push_str(text);
        if let Some(end) = end_of_blocks(&self.held) {
            let rest = self.held.split_off(end);
            let whole = std::mem::replace(&mut self.held, rest);
            return out.text(&format!("{}\n", render(whole.trim_end())));
        }
        let line = self.held.lines().last().unwrap_or_default();
        out.passing_line(|| line.to_owned());
        Ok(())
    }

    /// Prints what was measured of the last context.
    fn print_measurement(&mut self, out: &mut Output) -> io::Result<()> {
        let last = self.run.refinement.rounds.last();
        let measured = last.and_then(|last| Some((last.round, last.measured.as_ref().ok()?)));
        let Some((round, measured)) = measured else {
            return Ok(());
        };
        let is_same = measured.certain;
        let verdict = if is_same { "stays the same" } else { "changes" };
        let line = format!(
            "Round {round}: the answer {verdict} when the passages are rephrased (DENSE {:.2} nats)\n",
            measured.dse
        );
        self.line(&line, out)
    }

    fn heading(&self, out: &mut Output) -> io::Result<()> {
        out.text(&format!("{}\n", self.run.question))?;

        let files = self.run.models.iter().map(|model| one_line(&model.file));
        let files = join(files, ", ");
        out.dim(&format!("preset {}, {files}\n", self.run.preset))
    }

    /// Returns a sentence with its place in the answer.
    fn find_step(&self, step: u32) -> Option<(usize, &Step)> {
        let mut steps = self.run.steps.iter().enumerate();
        steps.find(|(_, known)| known.step == step)
    }

    fn sentence(&mut self, step: u32, out: &mut Output) -> io::Result<()> {
        let Some((at, step)) = self.find_step(step) else {
            return Ok(());
        };
        let labels = labels(step);
        if self.run.gate.is_none() {
            let rest = harmless(step.text.get(self.printed..).unwrap_or_default());
            let rest = add_labels(&rest, &labels);
            if self.printed > 0 {
                return self.write(&rest, out);
            }
            // a sentence that begins with a mark has waited as a whole
            let space = self.run.space_before(at);
            return self.print(&format!("{space}{rest}"), out);
        }

        let sentence = format!("{}{}", self.run.space_before(at), step.text);
        if self.remark(step.step, out)? {
            return Ok(());
        }
        self.print(&sentence, out)?;
        self.write(&labels, out)
    }

    /// Remarks that a sentence was uncertain, and returns whether it was.
    fn remark(&mut self, step: u32, out: &mut Output) -> io::Result<bool> {
        let gated = self.run.gate.as_ref().and(self.find_step(step));
        let Some((_, step)) = gated else {
            return Ok(false);
        };
        let known = step.uncertainty.as_ref();
        let uncertain =
            known.filter(|known| matches!(known.decision, Decision::Retrieve | Decision::Expand));
        let Some(uncertainty) = uncertain else {
            return Ok(false);
        };

        let value = uncertainty.value;
        let threshold = uncertainty.threshold;
        let threshold = threshold.map_or(String::new(), |most| format!(" > {most:.2}"));
        let remark = format!("uncertain ({value:.2}{threshold}): {}", step.text);
        // beside the answer the remark has a line of its own
        if self.detail != Detail::Nothing || out.is_shared() {
            self.end_line(out)?;
        }
        out.remark(&remark);
        Ok(true)
    }

    /// Returns whether the answer is printed once it is whole: citations are judged behind it.
    fn is_printed_at_end(&self, out: &Output) -> bool {
        self.detail == Detail::Nothing && !out.is_terminal()
    }

    /// Prints the whole answer.
    fn print_answer(&mut self, out: &mut Output) -> io::Result<()> {
        let steps: Vec<u32> = self.run.steps.iter().map(|step| step.step).collect();
        for step in steps {
            self.print_whole(step, out)?;
        }
        Ok(())
    }

    /// Prints a sentence that nothing was printed of; a quotation on a line of its own.
    fn print_whole(&mut self, step: u32, out: &mut Output) -> io::Result<()> {
        let Some((at, step)) = self.find_step(step) else {
            return Ok(());
        };
        let labelled = add_labels(&step.text, &labels(step));
        let sentence = format!("{}{labelled}", self.run.space_before(at));
        if step.origin == Origin::Given {
            self.end_line(out)?;
        }
        self.print(&sentence, out)
    }

    /// Begins a sentence: on a line of its own where it replaces one that was printed.
    fn begin(&mut self, step: u32, out: &mut Output) -> io::Result<()> {
        self.printed = 0;
        let mut steps = self.run.steps.iter();
        let is_again = steps.any(|known| known.step == step && !known.replaced.is_empty());
        if is_again { self.end_line(out) } else { Ok(()) }
    }

    /// Prints what a token adds to its sentence. From the first mark on it waits for the end of the
    /// sentence, since a mark that no source holds goes, and so does the space behind it, which is
    /// in front of the next one.
    fn token(&mut self, step: u32, out: &mut Output) -> io::Result<()> {
        let Some((at, step)) = self.find_step(step) else {
            return Ok(());
        };

        let text = &step.text;
        let is_mark = |at: &usize| {
            let inside = text[at + 1..].split(']').next().unwrap_or_default();
            inside.bytes().all(|byte| b"0123456789, ".contains(&byte))
        };
        let mut marks = text.match_indices('[').map(|(at, _)| at);
        let end = marks.find(is_mark).unwrap_or(text.len());
        let end = text[..end].trim_end().trim_end_matches(CELL_END);
        let end = end.trim_end().len();
        let added = text.get(self.printed..end).unwrap_or_default();

        let space = if self.printed == 0 && self.is_mid_line && !added.is_empty() {
            self.run.space_before(at)
        } else {
            String::new()
        };

        let added = format!("{space}{added}");
        self.printed = self.printed.max(end);
        self.print(&added, out)
    }

    fn print(&mut self, text: &str, out: &mut Output) -> io::Result<()> {
        let is_mid_line = self.is_mid_line;
        let text = if is_mid_line { text } else { text.trim_start() };
        if text.is_empty() {
            return Ok(());
        }

        if !self.begun && self.detail == Detail::Run {
            out.text("\n")?;
        }
        self.begun = true;
        self.is_mid_line = true;
        self.write(&harmless(text), out)
    }

    fn end(&mut self, out: &mut Output) -> io::Result<()> {
        if self.is_printed_at_end(out) {
            self.print_answer(out)?;
        }
        self.end_line(out)?;

        out.text(&sources(&self.run))?;
        if let Some(verdict) = self.run.verdict_line() {
            out.text(&format!("\n{verdict}\n"))?;
        }

        out.dim(&utilities(&self.run))?;
        out.dim(&footer(&self.run))?;

        if let Some(remark) = self.run.practice_remark() {
            let others = "`ragscope models recommend` lists models that write answers";
            out.dim(&format!("{remark}; {others}\n"))?;
        }

        Ok(())
    }
}

/// Returns where the last paragraph, list, table or block of code ends that another one follows.
fn end_of_blocks(text: &str) -> Option<usize> {
    let ends = text.match_indices("\n\n").map(|(at, gap)| at + gap.len());
    ends.filter(|end| !ends_in_code(&text[..*end])).last()
}

/// Returns the passages of a context, below the number of chunks that were retrieved.
fn passages(lookup: &Lookup) -> String {
    let Some(context) = &lookup.context else {
        return String::new();
    };

    let mut text = format!(
        "{} retrieved, {} in the prompt:\n",
        words::quantity(lookup.found as u64, "chunk"),
        context.chunks.len()
    );
    for used in &context.chunks {
        if let Some(hit) = lookup.hit(used.chunk) {
            text.push_str(&format!("  [{}] {}\n", used.label, scores(hit)));
        }
    }
    text
}

fn scores(hit: &Hit) -> String {
    let score = |ranked: Option<Ranked>| {
        ranked.map_or_else(|| "-".to_owned(), |ranked| format!("{:.2}", ranked.score))
    };
    let location = words::chunk_location(&hit.chunk);
    let [bm25, vector] = [hit.bm25, hit.vector].map(score);
    format!("{location}  bm25 {bm25}  vector {vector}")
}

/// Returns a sentence, or its end, with labels behind it: in a row of a table in its last cell.
fn add_labels(text: &str, labels: &str) -> String {
    match text.strip_suffix(CELL_END) {
        Some(cells) if !labels.is_empty() => format!("{}{labels} {CELL_END}", cells.trim_end()),
        Some(_) | None => format!("{text}{labels}"),
    }
}

/// Returns the sources of a sentence that were judged once it was written.
fn restatement(text: &str, citations: &[Citation]) -> String {
    let begun: String = text.chars().take(BEGUN).collect();
    let more = if begun.len() < text.len() { "…" } else { "" };
    let named = match citations {
        [] => "No source".to_owned(),
        _ => join(citations.iter().map(|one| format!("[{}]", one.label)), ", "),
    };
    format!("{named} states “{}{more}”", harmless(begun.trim_end()))
}

/// Returns the labels that the model did not write itself.
fn labels(step: &Step) -> String {
    let labels = step.unwritten_labels();
    // behind the sign that ends a block of code nothing may stand
    let is_code = step.text.ends_with(FENCE);
    let gap = if is_code { '\n' } else { ' ' };
    let labels = labels.iter().map(|label| format!("{gap}[{label}]"));
    labels.collect()
}

fn sources(run: &Run) -> String {
    let line = |cited: &Citation| {
        let location = words::citation_location(cited);
        let copies = run.hit(cited.chunk).and_then(words::copies);
        let copies = copies.map_or(String::new(), |copies| format!("      {copies}\n"));
        format!("  [{}] {location}\n{copies}", cited.label)
    };
    let mut lines: Vec<String> = run.citations.iter().map(line).collect();
    lines.dedup();
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n{}", lines.concat())
    }
}

/// Returns the utility of each context, as a whole and of each chunk alone.
fn utilities(run: &Run) -> String {
    let mut text = String::new();
    for utility in &run.utilities {
        text.push_str(&format!(
            "\nutility of the context, compared with {}: {:+.2}",
            words::reference(utility),
            utility.delta
        ));
        for hit in &utility.hits {
            text.push_str(&format!("; [{}] alone {:+.2}", hit.label, hit.alone));
        }
        text.push('\n');
    }

    text
}

fn footer(run: &Run) -> String {
    let mut text = "\n".to_owned();
    if let Some(answer) = run.short_answer() {
        text.push_str(&format!("answer: {answer}\n"));
    }
    if run.outcome != Some(Outcome::Completed) {
        text.push_str(&format!("{}; ", words::outcome(run.outcome.as_ref())));
    }

    let usage = &run.usage;
    text.push_str(&format!(
        "{} in {}; prompt tokens: {} evaluated, {} reused\n",
        words::quantity(usage.tokens_generated, "token"),
        words::duration(usage.wall_ms),
        words::count(usage.prompt_tokens_evaluated),
        words::count(usage.prompt_tokens_reused),
    ));
    text
}
