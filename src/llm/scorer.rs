//! Likelihoods of given replies: labels as whole replies, and continuations token by token.

use std::time::Instant;

use super::generator::LlamaGenerator;
use super::schedule::{self, JobEnd, Next, Reader, Report, Row};
use super::tree::Job;
use super::{LlmError, Prompt, Scorer, template};

/// A reply whose likelihood is wanted.
struct Reply {
    job: Job,
    /// The tokens whose log-probabilities are wanted, in the order of the rows.
    targets: Vec<i32>,
}

/// The part of a reply that is scored.
#[derive(Clone, Copy)]
enum Scored {
    /// Its tokens.
    Tokens,
    /// Its tokens and the end of the turn after them.
    WholeTurn,
}

impl Scorer for LlamaGenerator {
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        let mut replies = Vec::with_capacity(prompts.len() * labels.len());
        for prompt in prompts {
            let rendered = self.answer_prompt(prompt)?;
            for label in labels {
                replies.push(self.reply(prompt, &rendered, label, Scored::WholeTurn)?);
            }
        }

        let logprobs = self.logprobs(replies, labels.len())?;
        let sums: Vec<f64> = logprobs
            .iter()
            .map(|row| row.iter().map(|logprob| f64::from(*logprob)).sum())
            .collect();
        Ok(sums.chunks(labels.len().max(1)).map(normalised).collect())
    }

    fn score(
        &mut self,
        prompts: &[Prompt],
        continuations: &[&str],
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let mut replies = Vec::with_capacity(prompts.len());
        for (prompt, continuation) in prompts.iter().zip(continuations) {
            let rendered = self.answer_prompt(prompt)?;
            replies.push(self.reply(prompt, &rendered, continuation, Scored::Tokens)?);
        }
        self.logprobs(replies, 1)
    }
}

impl LlamaGenerator {
    /// Builds the job that yields the likelihood of a reply.
    fn reply(
        &self,
        prompt: &Prompt,
        rendered: &[i32],
        reply: &str,
        scored: Scored,
    ) -> Result<Reply, LlmError> {
        let opens_turn = prompt.reply.is_empty() && !reply.starts_with(char::is_whitespace);
        let text = if opens_turn {
            format!("{}{reply}", self.reply_start)
        } else {
            reply.to_owned()
        };
        let targets = template::tokenize(&self.model, &text, false, false);
        if reply.trim().is_empty() || targets.is_empty() {
            return Err(LlmError::BadLabel {
                label: reply.to_owned(),
            });
        }

        // The row of a token has the probabilities of the next one.
        let evaluated = match scored {
            Scored::Tokens => targets.len() - 1,
            Scored::WholeTurn => targets.len(),
        };
        let tokens = [rendered, &targets[..evaluated]].concat();
        self.check_length(tokens.len(), 0)?;
        let job = Job {
            first_row: rendered.len() - 1,
            tokens,
            max_new_tokens: 0,
        };
        Ok(Reply { job, targets })
    }

    /// Returns the log-probabilities of the targets of each reply, and of the end of the turn where
    /// a row follows the last target. Replies come in groups that share a prompt.
    fn logprobs(
        &mut self,
        mut replies: Vec<Reply>,
        group: usize,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let started = Instant::now();
        let mut logprobs = Vec::with_capacity(replies.len());
        let mut total = Report {
            ends: Vec::new(),
            evaluated: 0,
            reused: 0,
        };

        let mut outcome = Ok(());
        while outcome.is_ok() && !replies.is_empty() {
            let later = replies.split_off(self.count_side_by_side(&replies, group));
            let now = std::mem::replace(&mut replies, later);
            outcome = self.evaluate(now).map(|(part, report)| {
                total.evaluated += report.evaluated;
                total.reused += report.reused;
                logprobs.extend(part);
            });
        }

        self.record_usage(started, Some(&total), 0);
        outcome.map(|()| logprobs)
    }

    /// Counts the replies at the front that fit into the cache side by side, with one sequence per
    /// reply and one per prompt. More would push prompts out of the cache before all their labels
    /// were evaluated. What later replies share stays in the cache.
    fn count_side_by_side(&self, replies: &[Reply], group: usize) -> usize {
        let cells = &self.evaluator.cells;
        let mut sequences = 0;
        let mut tokens = 0;
        let mut count = 0;
        for group in replies.chunks(group.max(1)) {
            let reply_tokens = |reply: &Reply| reply.job.tokens.len() - reply.job.first_row;
            sequences += group.len() + 1;
            tokens += group.iter().map(reply_tokens).sum::<usize>();
            tokens += group.first().map_or(0, |reply| reply.job.first_row);
            if count > 0 && (sequences > cells.sequences() || tokens > cells.total()) {
                break;
            }
            count += group.len();
        }
        count
    }

    fn evaluate(&mut self, replies: Vec<Reply>) -> Result<(Vec<Vec<f32>>, Report), LlmError> {
        let (jobs, targets): (Vec<Job>, Vec<Vec<i32>>) = replies
            .into_iter()
            .map(|reply| (reply.job, reply.targets))
            .unzip();
        let mut reader = TargetReader {
            jobs: &jobs,
            turn_ends: &self.turn_ends,
            logprobs: vec![Vec::new(); jobs.len()],
            targets,
        };
        let report = schedule::run(&mut self.evaluator, &jobs, &mut reader)?;
        let logprobs = reader.logprobs;
        if report.ends.iter().all(|end| *end == JobEnd::Done) {
            Ok((logprobs, report))
        } else {
            Err(LlmError::Stopped)
        }
    }
}

/// Reads the log-probabilities of the targets.
struct TargetReader<'a> {
    jobs: &'a [Job],
    /// The tokens that end a turn.
    turn_ends: &'a [usize],
    targets: Vec<Vec<i32>>,
    logprobs: Vec<Vec<f32>>,
}

impl Reader for TargetReader<'_> {
    fn row(&mut self, job: usize, position: usize, row: &Row) -> Next {
        let at = position - self.jobs[job].first_row;
        let logprob = match self.targets[job].get(at) {
            Some(target) => row.logprob(usize::try_from(*target).unwrap_or(usize::MAX)),
            None => {
                let ends = self.turn_ends.iter().map(|end| row.logprob(*end).exp());
                ends.sum::<f32>().ln()
            }
        };
        self.logprobs[job].push(logprob);
        Next::End
    }
}

/// Converts log-likelihoods to probabilities that sum to 1.
fn normalised(log_likelihoods: &[f64]) -> Vec<f32> {
    let largest = log_likelihoods
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let exponentials: Vec<f64> = log_likelihoods
        .iter()
        .map(|likelihood| (likelihood - largest).exp())
        .collect();
    let sum: f64 = exponentials.iter().sum();
    exponentials
        .iter()
        .map(|exponential| (exponential / sum) as f32)
        .collect()
}
