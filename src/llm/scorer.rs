//! Likelihoods of given replies: labels at the start of a reply, and continuations token by token.

use std::time::Instant;

use super::generator::LlamaGenerator;
use super::schedule::{self, JobEnd, Next, Reader, Report, Row};
use super::tree::Job;
use super::{Labelled, LlmError, Prompt, Scorer, labels, template};

/// Spellings whose first token is less likely than the likeliest one's by this factor are left out:
/// what they would add is not seen in the shares.
pub(super) const MIN_FIRST_TOKEN: f32 = 1e-3;
/// Sequences that the spellings of a prompt take, besides the prompt's own.
const SPELLING_SEQUENCES: usize = 3;

/// A reply whose likelihood is wanted.
struct Reply {
    job: Job,
    /// The tokens whose log-probabilities are wanted, in the order of the rows.
    targets: Vec<i32>,
}

/// A way to begin a reply with a label.
pub(super) struct Spelling {
    pub label: usize,
    pub tokens: Vec<i32>,
}

impl Scorer for LlamaGenerator {
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Labelled>, LlmError> {
        let spellings = spellings(labels, &mut |text| {
            Ok(template::tokenize(&self.model, text, false, false))
        })?;
        let longest = spellings.iter().map(|one| one.tokens.len()).max();
        let mut rendered = Vec::with_capacity(prompts.len());
        for prompt in prompts {
            let tokens = self.answer_prompt(prompt)?;
            self.check_length(tokens.len() + longest.unwrap_or(0), 0)?;
            rendered.push(tokens);
        }

        let started = Instant::now();
        let mut total = Report::default();
        let mut labelled = Vec::with_capacity(prompts.len());
        let mut rest = rendered.as_slice();
        let mut outcome = Ok(());
        while outcome.is_ok() && !rest.is_empty() {
            let (now, later) = rest.split_at(self.count_prompts(rest));
            rest = later;
            outcome = self.likelihoods(now, &spellings, &mut total).map(|rows| {
                labelled.extend(rows.iter().map(|row| read_labels(row, &spellings, labels)));
            });
        }
        self.record_usage(started, Some(&total), 0);
        outcome.map(|()| labelled)
    }

    fn score(
        &mut self,
        prompts: &[Prompt],
        continuations: &[&str],
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let mut replies = Vec::with_capacity(prompts.len());
        for (prompt, continuation) in prompts.iter().zip(continuations) {
            let rendered = self.answer_prompt(prompt)?;
            replies.push(self.reply(prompt, &rendered, continuation)?);
        }

        let started = Instant::now();
        let mut total = Report::default();
        let logprobs = self.logprobs(replies, &mut total);
        self.record_usage(started, Some(&total), 0);
        logprobs
    }
}

/// Returns the distinct token sequences with which a reply may begin with each label.
pub(super) fn spellings(
    labels: &[&str],
    tokenize: &mut dyn FnMut(&str) -> Result<Vec<i32>, LlmError>,
) -> Result<Vec<Spelling>, LlmError> {
    let mut found: Vec<Spelling> = Vec::new();
    for (label, text) in labels.iter().enumerate() {
        let known = found.len();
        for spelling in labels::spellings(text) {
            let tokens = tokenize(&spelling)?;
            if text.trim().is_empty() || tokens.is_empty() {
                return Err(no_token(text));
            }
            // one that continues another one is counted with it
            let is_counted = found[known..]
                .iter()
                .any(|other| tokens.starts_with(&other.tokens));
            if !is_counted {
                found.push(Spelling { label, tokens });
            }
        }
    }
    Ok(found)
}

impl LlamaGenerator {
    /// Counts the prompts at the front that fit into the cache side by side with their spellings.
    fn count_prompts(&self, rendered: &[Vec<i32>]) -> usize {
        let cells = &self.evaluator.cells;
        let mut tokens = 0;
        let fitting = rendered
            .iter()
            .take(cells.sequences() / (1 + SPELLING_SEQUENCES))
            .take_while(|prompt| {
                tokens += prompt.len() + 2 * SPELLING_SEQUENCES;
                tokens <= cells.total()
            });
        fitting.count().max(1)
    }

    /// Returns ln p of each spelling after each prompt, nats; negative infinity for those that are
    /// too unlikely to count. The prompts are evaluated once: spellings of several tokens continue
    /// from the cache.
    fn likelihoods(
        &mut self,
        rendered: &[Vec<i32>],
        spellings: &[Spelling],
        total: &mut Report,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let jobs: Vec<Job> = rendered
            .iter()
            .map(|prompt| Job {
                first_row: prompt.len() - 1,
                tokens: prompt.clone(),
                max_new_tokens: 0,
            })
            .collect();
        let mut reader = FirstTokens {
            spellings,
            logprobs: vec![Vec::new(); jobs.len()],
        };
        let report = schedule::run(&mut self.evaluator, &jobs, &mut reader)?;
        let mut rows = reader.logprobs;
        total.add(&report);
        check_done(&report)?;

        let mut replies = Vec::new();
        let mut places = Vec::new();
        for (prompt, (tokens, row)) in rendered.iter().zip(&mut rows).enumerate() {
            let best = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for (at, spelling) in spellings.iter().enumerate() {
                if row[at] < best + MIN_FIRST_TOKEN.ln() {
                    row[at] = f32::NEG_INFINITY;
                } else if let [evaluated @ .., _] = spelling.tokens.as_slice()
                    && !evaluated.is_empty()
                {
                    places.push((prompt, at));
                    replies.push(Reply {
                        job: Job {
                            first_row: tokens.len(),
                            tokens: [tokens.as_slice(), evaluated].concat(),
                            max_new_tokens: 0,
                        },
                        targets: spelling.tokens[1..].to_vec(),
                    });
                }
            }
        }
        for ((prompt, at), rest) in places.into_iter().zip(self.logprobs(replies, total)?) {
            rows[prompt][at] += rest.iter().sum::<f32>();
        }
        Ok(rows)
    }

    /// Builds the job that yields the likelihood of a reply.
    fn reply(&self, prompt: &Prompt, rendered: &[i32], reply: &str) -> Result<Reply, LlmError> {
        let opens_turn = prompt.reply.is_empty() && !reply.starts_with(char::is_whitespace);
        let text = if opens_turn {
            format!("{}{reply}", self.reply_start)
        } else {
            reply.to_owned()
        };
        let targets = template::tokenize(&self.model, &text, false, false);
        if reply.trim().is_empty() || targets.is_empty() {
            return Err(no_token(reply));
        }

        // The row of a token has the probabilities of the next one.
        let tokens = [rendered, &targets[..targets.len() - 1]].concat();
        self.check_length(tokens.len(), 0)?;
        let job = Job {
            first_row: rendered.len() - 1,
            tokens,
            max_new_tokens: 0,
        };
        Ok(Reply { job, targets })
    }

    /// Returns the log-probabilities of the targets of each reply.
    fn logprobs(
        &mut self,
        mut replies: Vec<Reply>,
        total: &mut Report,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let mut logprobs = Vec::with_capacity(replies.len());
        while !replies.is_empty() {
            let later = replies.split_off(self.count_side_by_side(&replies));
            let now = std::mem::replace(&mut replies, later);
            logprobs.extend(self.evaluate(now, total)?);
        }
        Ok(logprobs)
    }

    /// Counts the replies at the front that fit into the cache side by side, with one sequence per
    /// reply and one per prompt. More would push prompts out of the cache before they were
    /// evaluated. What later replies share stays in the cache.
    fn count_side_by_side(&self, replies: &[Reply]) -> usize {
        let cells = &self.evaluator.cells;
        let mut tokens = 0;
        let fitting = replies
            .iter()
            .take(cells.sequences() / 2)
            .take_while(|reply| {
                tokens += reply.job.tokens.len();
                tokens <= cells.total()
            });
        fitting.count().max(1)
    }

    fn evaluate(
        &mut self,
        replies: Vec<Reply>,
        total: &mut Report,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let (jobs, targets): (Vec<Job>, Vec<Vec<i32>>) = replies
            .into_iter()
            .map(|reply| (reply.job, reply.targets))
            .unzip();
        let mut reader = TargetReader {
            jobs: &jobs,
            logprobs: vec![Vec::new(); jobs.len()],
            targets,
        };
        let report = schedule::run(&mut self.evaluator, &jobs, &mut reader)?;
        let logprobs = reader.logprobs;
        total.add(&report);
        check_done(&report)?;
        Ok(logprobs)
    }
}

fn no_token(label: &str) -> LlmError {
    LlmError::BadLabel {
        label: label.to_owned(),
    }
}

fn check_done(report: &Report) -> Result<(), LlmError> {
    if report.ends.iter().all(|end| *end == JobEnd::Done) {
        Ok(())
    } else {
        Err(LlmError::Stopped)
    }
}

/// Sums the spellings of each label. What begins with a longer label ("10") is not a reply with the
/// shorter one ("1").
pub(super) fn read_labels(row: &[f32], spellings: &[Spelling], labels: &[&str]) -> Labelled {
    let mut masses = vec![0.0_f64; labels.len()];
    for (spelling, logprob) in spellings.iter().zip(row) {
        let probability = f64::from(*logprob).exp();
        masses[spelling.label] += probability;
        for shorter in spellings {
            let is_longer = spelling.tokens.len() > shorter.tokens.len()
                && spelling.tokens.starts_with(&shorter.tokens);
            if is_longer && shorter.label != spelling.label {
                masses[shorter.label] -= probability;
            }
        }
    }

    for mass in &mut masses {
        *mass = mass.max(0.0);
    }
    let mass: f64 = masses.iter().sum();
    let share = |of: f64| {
        if mass > 0.0 {
            of / mass
        } else {
            1.0 / labels.len() as f64
        }
    };
    Labelled {
        shares: masses.into_iter().map(|of| share(of) as f32).collect(),
        mass: mass.min(1.0) as f32,
    }
}

/// Reads the log-probabilities of the first token of each spelling after each prompt.
struct FirstTokens<'a> {
    spellings: &'a [Spelling],
    logprobs: Vec<Vec<f32>>,
}

impl Reader for FirstTokens<'_> {
    fn row(&mut self, job: usize, _position: usize, row: &Row) -> Next {
        let first = |spelling: &Spelling| spelling.tokens.first().copied().unwrap_or(-1);
        self.logprobs[job] = self
            .spellings
            .iter()
            .map(|spelling| row.logprob(usize::try_from(first(spelling)).unwrap_or(usize::MAX)))
            .collect();
        Next::End
    }
}

/// Reads the log-probabilities of the targets.
struct TargetReader<'a> {
    jobs: &'a [Job],
    targets: Vec<Vec<i32>>,
    logprobs: Vec<Vec<f32>>,
}

impl Reader for TargetReader<'_> {
    fn row(&mut self, job: usize, position: usize, row: &Row) -> Next {
        let at = position - self.jobs[job].first_row;
        if let Some(target) = self.targets[job].get(at) {
            let target = usize::try_from(*target).unwrap_or(usize::MAX);
            self.logprobs[job].push(row.logprob(target));
        }
        Next::End
    }
}
