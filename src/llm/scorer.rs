//! Likelihoods of given replies: labels as whole replies, and continuations token by token.

use std::time::Instant;

use super::generator::LlamaGenerator;
use super::schedule::{self, Ended, Next, Reader, Report, Row};
use super::tree::Job;
use super::{LlmError, Prompt, Scorer, template};

/// A reply whose likelihood is wanted.
struct Wanted {
    job: Job,
    /// The tokens to look up, in order of the rows.
    targets: Vec<i32>,
}

impl Scorer for LlamaGenerator {
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        let mut wanted = Vec::new();
        for prompt in prompts {
            let rendered = self.template.render(&self.model, prompt)?.tokens;
            for label in labels {
                wanted.push(self.wanted(prompt, &rendered, label, true)?);
            }
        }
        let likelihoods = self.likelihoods(wanted, labels.len())?;
        let sums: Vec<f64> = likelihoods
            .iter()
            .map(|row| row.iter().map(|ln_p| f64::from(*ln_p)).sum())
            .collect();
        Ok(sums.chunks(labels.len().max(1)).map(normalised).collect())
    }

    fn score(
        &mut self,
        prompts: &[Prompt],
        continuations: &[&str],
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let mut wanted = Vec::new();
        for (prompt, continuation) in prompts.iter().zip(continuations) {
            let rendered = self.template.render(&self.model, prompt)?.tokens;
            wanted.push(self.wanted(prompt, &rendered, continuation, false)?);
        }
        self.likelihoods(wanted, 1)
    }
}

impl LlamaGenerator {
    /// The job that yields the likelihood of `reply`, with or without the end of the turn after it.
    fn wanted(
        &self,
        prompt: &Prompt,
        rendered: &[i32],
        reply: &str,
        to_the_end: bool,
    ) -> Result<Wanted, LlmError> {
        let opens = prompt.reply.is_empty() && !reply.starts_with(char::is_whitespace);
        let text = if opens {
            format!("{}{reply}", self.reply_start)
        } else {
            reply.to_owned()
        };
        let targets = template::tokens(&self.model, &text, false, false);
        if reply.trim().is_empty() || targets.is_empty() {
            let reason = "it has no token in this model's vocabulary; give it a text".to_owned();
            return Err(LlmError::BadLabel {
                label: reply.to_owned(),
                reason,
            });
        }
        let evaluated = if to_the_end {
            targets.len()
        } else {
            targets.len() - 1
        };
        let tokens = [rendered, &targets[..evaluated]].concat();
        self.check_length(tokens.len(), 0)?;
        Ok(Wanted {
            job: Job {
                first_row: rendered.len() - 1,
                tokens,
                growth: 0,
            },
            targets,
        })
    }

    /// Log-probabilities of the targets of each job; of the end of the turn where a row comes after the last target. Jobs come in
    /// groups that share a prompt.
    fn likelihoods(
        &mut self,
        mut wanted: Vec<Wanted>,
        group: usize,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let begun = Instant::now();
        let mut found = Vec::with_capacity(wanted.len());
        let mut whole = Report {
            ends: Vec::new(),
            evaluated: 0,
            reused: 0,
        };
        let mut failed = None;
        while failed.is_none() && !wanted.is_empty() {
            let later = wanted.split_off(self.side_by_side(&wanted, group));
            match self.likelihoods_together(std::mem::replace(&mut wanted, later)) {
                Ok((part, report)) => {
                    whole.evaluated += report.evaluated;
                    whole.reused += report.reused;
                    found.extend(part);
                }
                Err(error) => failed = Some(error),
            }
        }
        self.account(begun, Some(&whole), 0);
        failed.map_or(Ok(found), Err)
    }

    /// How many jobs at the front fit side by side with a sequence each and one for the prompt of each group: more would push prompts out
    /// of the cache before all their labels were looked up. What later ones share stays in the cache.
    fn side_by_side(&self, wanted: &[Wanted], group: usize) -> usize {
        let cells = &self.evaluator.cells;
        let (mut sequences, mut tokens, mut jobs) = (0, 0, 0);
        for together in wanted.chunks(group.max(1)) {
            sequences += together.len() + 1;
            tokens += together
                .iter()
                .map(|one| one.job.tokens.len() - one.job.first_row)
                .sum::<usize>();
            tokens += together.first().map_or(0, |one| one.job.first_row);
            if jobs > 0 && (sequences > cells.sequences() || tokens > cells.total()) {
                break;
            }
            jobs += together.len();
        }
        jobs
    }

    fn likelihoods_together(
        &mut self,
        wanted: Vec<Wanted>,
    ) -> Result<(Vec<Vec<f32>>, Report), LlmError> {
        let (jobs, targets): (Vec<Job>, Vec<Vec<i32>>) =
            wanted.into_iter().map(|one| (one.job, one.targets)).unzip();
        let mut lookup = Lookup {
            jobs: &jobs,
            ends: &self.turn_ends,
            found: vec![Vec::new(); jobs.len()],
            targets,
        };
        let report = schedule::run(&mut self.evaluator, &jobs, &mut lookup)?;
        let found = lookup.found;
        match report.ends.iter().all(|end| *end == Ended::Done) {
            true => Ok((found, report)),
            false => Err(LlmError::Stopped),
        }
    }
}

/// Looks targets up in the rows as they come.
struct Lookup<'a> {
    jobs: &'a [Job],
    /// The tokens that end a turn.
    ends: &'a [usize],
    targets: Vec<Vec<i32>>,
    found: Vec<Vec<f32>>,
}

impl Reader for Lookup<'_> {
    fn row(&mut self, job: usize, position: usize, row: &Row) -> Next {
        let at = position - self.jobs[job].first_row;
        let logprob = match self.targets[job].get(at) {
            Some(target) => row.logprob(usize::try_from(*target).unwrap_or(usize::MAX)),
            None => self
                .ends
                .iter()
                .map(|end| row.logprob(*end).exp())
                .sum::<f32>()
                .ln(),
        };
        self.found[job].push(logprob);
        Next::End
    }
}

/// Probabilities from log-likelihoods, summing to 1.
fn normalised(log_likelihoods: &[f64]) -> Vec<f32> {
    let most = log_likelihoods
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let shares: Vec<f64> = log_likelihoods
        .iter()
        .map(|ln_p| (ln_p - most).exp())
        .collect();
    let whole: f64 = shares.iter().sum();
    shares.iter().map(|share| (share / whole) as f32).collect()
}
