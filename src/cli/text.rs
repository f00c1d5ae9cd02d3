//! A run as plain text: the answer as it comes, then its sources and what it cost.

use std::collections::HashMap;
use std::io;

use crate::event::{
    Citation, Context, Decision, Event, Evidence, Hit, Outcome, RunUsage, Uncertainty, Utility,
    harmless,
};

use super::output::{Output, duration, one_line};

/// A fold over the events of one run that writes them as text; the default writes the answer alone.
#[derive(Default)]
pub struct RunText {
    /// Say the question and what was looked up, too: for runs that the reader did not just ask for.
    told: bool,
    hits: HashMap<u64, Hit>,
    /// A gate decides which sentences are written.
    waits: bool,
    /// What the lookups were worth.
    utility: String,
    written: Written,
}

/// How far the answer is.
#[derive(Default, PartialEq)]
enum Written {
    #[default]
    Nothing,
    Text,
}

impl RunText {
    /// The whole story: question, lookup, answer.
    #[must_use]
    pub fn story() -> Self {
        Self {
            told: true,
            ..Self::default()
        }
    }

    /// Write what this event adds.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn show(&mut self, event: &Event, out: &mut Output) -> io::Result<()> {
        match event {
            Event::RunStarted {
                question,
                preset,
                models,
                ..
            } if self.told => {
                let names: Vec<&str> = models.iter().map(|model| model.file.as_str()).collect();
                out.text(&format!("{}\n", harmless(question)))?;
                out.dim(&harmless(&format!(
                    "preset {preset}, {}\n",
                    names.join(", ")
                )))
            }
            Event::RetrievalFinished { retrieval, .. } => {
                self.hits
                    .extend(retrieval.hits.iter().map(|hit| (hit.chunk.id, hit.clone())));
                Ok(())
            }
            Event::ContextBuilt { context, .. } if self.told => out.dim(&self.passages(context)),
            // a sentence that may yet be doubted is written when it is kept
            Event::GateChosen { .. } => {
                self.waits = true;
                Ok(())
            }
            Event::TokenGenerated { text, .. } if !self.waits => self.token(text, out),
            Event::StepFinished {
                text,
                uncertainty,
                citations,
                ..
            } if self.waits => match uncertainty.decision {
                Decision::Keep | Decision::Measured => {
                    self.token(&format!(" {text}"), out)?;
                    out.text(&labels(citations))
                }
                Decision::LookUp | Decision::Expand => {
                    out.remark(&doubted(text, uncertainty));
                    Ok(())
                }
            },
            Event::StepFinished { citations, .. } => out.text(&labels(citations)),
            Event::UtilityMeasured { utility, .. } => {
                self.utility.push_str(&worth(utility));
                Ok(())
            }
            Event::RunFinished {
                outcome,
                text,
                answer,
                citations,
                usage,
            } => {
                self.end(out)?;
                out.text(&sources(citations))?;
                out.dim(&harmless(&self.utility))?;
                let short = (answer != text && !answer.is_empty()).then_some(answer.as_str());
                out.dim(&footer(short, outcome, usage))
            }
            _ => Ok(()),
        }
    }

    fn token(&mut self, text: &str, out: &mut Output) -> io::Result<()> {
        let text = if self.written == Written::Nothing {
            text.trim_start()
        } else {
            text
        };
        if text.is_empty() {
            return Ok(());
        }
        if self.written == Written::Nothing && self.told {
            out.text("\n")?;
        }
        self.written = Written::Text;
        out.text(&harmless(text))
    }

    fn end(&self, out: &mut Output) -> io::Result<()> {
        if self.written == Written::Text {
            out.text("\n")
        } else {
            Ok(())
        }
    }

    fn passages(&self, context: &Context) -> String {
        let mut text = format!(
            "{} chunks found, {} in the prompt:\n",
            self.hits.len(),
            context.chunks.len()
        );
        for part in &context.chunks {
            if let Some(hit) = self.hits.get(&part.chunk) {
                text.push_str(&format!("  [{}] {}\n", part.label, place(hit)));
            }
        }
        harmless(&text).into_owned()
    }
}

/// A sentence that is looked up, for who watches standard error.
fn doubted(text: &str, uncertainty: &Uncertainty) -> String {
    let threshold = uncertainty
        .threshold
        .map_or(String::new(), |threshold| format!(" > {threshold:.2}"));
    format!("doubted ({:.2}{threshold}): {text}", uncertainty.value)
}

fn place(hit: &Hit) -> String {
    let score = |name: &str, ranked: Option<crate::event::Ranked>| {
        ranked.map_or_else(
            || format!("{name} -"),
            |ranked| format!("{name} {:.2}", ranked.score),
        )
    };
    let [first, last] = hit.chunk.lines;
    let lines = lines(first, last);
    format!(
        "{}:{lines}  {}  {}",
        one_line(&hit.chunk.document),
        score("bm25", hit.bm25),
        score("vector", hit.vector)
    )
}

/// What a lookup was worth: the whole of it, and each chunk alone.
fn worth(utility: &Utility) -> String {
    let toward = if utility.own_answer {
        "the model's own answer"
    } else {
        "the right answer"
    };
    let chunks = utility
        .hits
        .iter()
        .map(|hit| format!("; [{}] alone {:+.2}", hit.label, hit.alone));
    format!(
        "\nworth of the context toward {toward}: {:+.2}{}\n",
        utility.delta,
        chunks.collect::<String>()
    )
}

/// The labels that the model did not write itself.
fn labels(citations: &[Citation]) -> String {
    citations
        .iter()
        .filter(|citation| matches!(citation.evidence, Evidence::Overlap { .. }))
        .map(|citation| format!(" [{}]", citation.label))
        .collect()
}

fn sources(citations: &[Citation]) -> String {
    let mut lines_of: Vec<String> = citations
        .iter()
        .map(|cited| {
            format!(
                "  [{}] {}:{}\n",
                cited.label,
                one_line(&cited.file),
                lines(cited.first_line, cited.last_line)
            )
        })
        .collect();
    lines_of.dedup();
    if !lines_of.is_empty() {
        lines_of.insert(0, "\n".to_owned());
    }
    harmless(&lines_of.concat()).into_owned()
}

fn lines(first: u32, last: u32) -> String {
    if first == last {
        first.to_string()
    } else {
        format!("{first}-{last}")
    }
}

fn footer(short: Option<&str>, outcome: &Outcome, usage: &RunUsage) -> String {
    let answer = short.map_or_else(String::new, |short| format!("answer: {short}\n"));
    let ended = match outcome {
        Outcome::Completed => "",
        Outcome::Stopped => "stopped; ",
        Outcome::LimitReached => "cut off at a limit of the settings; ",
        Outcome::Failed { .. } => "failed; ",
    };
    let cost = format!(
        "{ended}{} tokens in {}; prompt tokens: {} evaluated, {} reused\n",
        usage.tokens_generated,
        duration(usage.wall_ms),
        usage.prompt_tokens_evaluated,
        usage.prompt_tokens_reused,
    );
    harmless(&format!("\n{answer}{cost}")).into_owned()
}
