//! Likelihoods of given replies: labels at the start of a reply, and continuations token by token.

use std::time::Instant;

use super::cells::count_fitting;
use super::error::{LlmError, Result};
use super::generator::LlamaGenerator;
use super::role::{Scorer, Tap as _};
use super::row_reader::{LogitRow, Next, RowReader};
use super::schedule::{self, Evaluator, JobEnd, Report};
use super::tree::Job;
use super::values::{Labelled, Prompt};
use super::{labels, template};
use crate::event::StopError;

/// Spellings whose first token is less likely than the likeliest one's by this factor are left out:
/// what they would add is not seen in the shares.
const MIN_FIRST_TOKEN: f32 = 1e-3;
/// Sequences that the spellings of a prompt take, besides the prompt's own.
const SPELLING_SEQUENCES: usize = 3;
/// Maximum tokens in front of a label that are followed.
pub(super) const LEAD_TOKENS: usize = 3;

/// Tokens for which there is room behind sources that are judged: a larger context for the answer
/// would not have what this one has read.
const ANSWER_ROOM: usize = 512;

/// A reply whose likelihood is wanted.
struct TargetReply {
    job: Job,
    /// The tokens whose log-probabilities are wanted, in the order of the rows.
    targets: Vec<i32>,
}

/// The likelihood of a reply by the model.
struct Scored {
    /// ln p of each of its tokens, nats.
    logprobs: Vec<f32>,
    /// Whether each of them is the likeliest one in its place.
    is_greedy: bool,
}

/// The probabilities that the reply to a prompt begins with each spelling.
#[derive(Default)]
pub(super) struct SpellingRow {
    /// ln p of each, nats; negative infinity for those that are too unlikely to count.
    pub logprobs: Vec<f32>,
    /// Whether the greedy reply begins with it.
    pub greedy: Vec<bool>,
}

/// A way to begin a reply with a label.
pub(super) struct Spelling {
    pub label: usize,
    pub tokens: Vec<i32>,
}

impl Scorer for LlamaGenerator {
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Labelled>> {
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

        // a single judgement is about the sources that the answer is written from with attention;
        // without that context the other one judges
        if let [tokens] = rendered.as_slice()
            && self.is_attention_cheap()
        {
            let _ = self.unfused_evaluator(tokens.len() + ANSWER_ROOM);
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

    fn score(&mut self, prompts: &[Prompt], continuations: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut replies = Vec::with_capacity(prompts.len());
        for (prompt, continuation) in prompts.iter().zip(continuations) {
            let rendered = self.answer_prompt(prompt)?;
            replies.push(self.reply(prompt, &rendered, continuation)?);
        }

        let started = Instant::now();
        let mut total = Report::default();
        let scored = self.score_targets(replies, &mut total);
        self.record_usage(started, Some(&total), 0);
        Ok(scored?.into_iter().map(|one| one.logprobs).collect())
    }
}

/// Returns the distinct token sequences with which a reply may begin with each label.
pub(super) fn spellings(
    labels: &[&str],
    tokenize: &mut dyn FnMut(&str) -> Result<Vec<i32>>,
) -> Result<Vec<Spelling>> {
    let mut found: Vec<Spelling> = Vec::new();

    for (label, text) in labels.iter().enumerate() {
        let known = found.len();
        for spelling in labels::spellings(text) {
            let tokens = tokenize(&spelling)?;
            if text.trim().is_empty() || tokens.is_empty() {
                return Err(LlmError::bad_label(text));
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

/// Returns whether the reply that begins with these tokens may still become each of the labels:
/// they are a space, a quote or markup that stands in front of all of them.
///
/// A tokenizer that splits numbers into digits has the space in front as a token of its own. Labels
/// are read behind such tokens of the greedy reply: those of replies with another space or in
/// quotes would be counted among them.
pub(super) fn is_lead(tokens: &[i32], spellings: &[Spelling]) -> bool {
    let labels = spellings.iter().map(|one| one.label).max();
    let leads_to = |label: usize| {
        spellings.iter().any(|one| {
            one.label == label && one.tokens.len() > tokens.len() && one.tokens.starts_with(tokens)
        })
    };
    labels.is_some_and(|last| (0..=last).all(leads_to))
        && !spellings.iter().any(|one| one.tokens == tokens)
}

/// Returns the tokens of a spelling behind those that the reply begins with; `None` for one that
/// begins otherwise.
pub(super) fn behind<'s>(lead: &[i32], spelling: &'s Spelling) -> Option<&'s [i32]> {
    spelling
        .tokens
        .strip_prefix(lead)
        .filter(|rest| !rest.is_empty())
}

impl LlamaGenerator {
    /// Counts the prompts at the front that fit into the cache side by side with their spellings.
    fn count_prompts(&self, rendered: &[Vec<i32>]) -> usize {
        let cells = &self.evaluator.cells;
        let most = cells.sequences() / (1 + SPELLING_SEQUENCES);
        let lengths = rendered.iter().take(most);
        let lengths = lengths.map(|prompt| prompt.len() + LEAD_TOKENS + 2 * SPELLING_SEQUENCES);
        count_fitting(lengths, cells.total())
    }

    /// Returns the context for these jobs: for a single one that for attention, where it has as
    /// much of it in its cache as the other. It holds one sequence, and several jobs need more.
    fn evaluator_for(&mut self, jobs: &[Job]) -> &mut Evaluator {
        match (&mut self.unfused, jobs) {
            (Some(unfused), [job])
                if job.end() <= unfused.cells.total()
                    && unfused.cells.cached_tokens(&job.tokens)
                        >= self.evaluator.cells.cached_tokens(&job.tokens) =>
            {
                unfused
            }
            _ => &mut self.evaluator,
        }
    }

    /// Reads each spelling after each prompt, where the reply has its first word. The prompts are
    /// evaluated once: spellings of several tokens continue from the cache.
    fn likelihoods(
        &mut self,
        rendered: &[Vec<i32>],
        spellings: &[Spelling],
        total: &mut Report,
    ) -> Result<Vec<SpellingRow>> {
        let jobs: Vec<Job> = rendered
            .iter()
            .map(|prompt| Job {
                first_row: prompt.len() - 1,
                tokens: prompt.clone(),
                max_new_tokens: LEAD_TOKENS,
            })
            .collect();
        let mut reader = FirstTokens {
            spellings,
            leads: vec![Vec::new(); jobs.len()],
            rows: jobs.iter().map(|_| SpellingRow::default()).collect(),
        };
        let report = schedule::run(self.evaluator_for(&jobs), &jobs, &mut reader)?;
        let FirstTokens {
            leads, mut rows, ..
        } = reader;
        total.add(&report);
        check_done(&report)?;

        let mut replies = Vec::new();
        let mut places = Vec::new();
        let known = rendered.iter().zip(&leads).zip(&mut rows).enumerate();
        for (prompt, ((tokens, lead), row)) in known {
            let read = [tokens.as_slice(), lead].concat();
            for (at, spelling) in drop_unlikely(spellings, &mut row.logprobs) {
                if let Some(reply) = rest_of(spelling, lead, &read) {
                    places.push((prompt, at));
                    replies.push(reply);
                }
            }
        }
        for ((prompt, at), rest) in places.into_iter().zip(self.score_targets(replies, total)?) {
            rows[prompt].logprobs[at] += rest.logprobs.iter().sum::<f32>();
            rows[prompt].greedy[at] &= rest.is_greedy;
        }
        Ok(rows)
    }

    /// Builds the job that yields the likelihood of a reply.
    fn reply(&self, prompt: &Prompt, rendered: &[i32], reply: &str) -> Result<TargetReply> {
        let opens_turn = prompt.reply.is_empty() && !reply.starts_with(char::is_whitespace);
        let text = if opens_turn {
            format!("{}{reply}", self.reply_start)
        } else {
            reply.to_owned()
        };
        let targets = template::tokenize(&self.model, &text, false, false);
        if reply.trim().is_empty() || targets.is_empty() {
            return Err(LlmError::bad_label(reply));
        }

        // The row of a token has the probabilities of the next one.
        let tokens = [rendered, &targets[..targets.len() - 1]].concat();
        self.check_length(tokens.len(), 0)?;
        let job = Job {
            first_row: rendered.len() - 1,
            tokens,
            max_new_tokens: 0,
        };
        Ok(TargetReply { job, targets })
    }

    /// Scores the targets of each reply.
    fn score_targets(
        &mut self,
        mut replies: Vec<TargetReply>,
        total: &mut Report,
    ) -> Result<Vec<Scored>> {
        let mut scored = Vec::with_capacity(replies.len());
        while !replies.is_empty() {
            let later = replies.split_off(self.count_side_by_side(&replies));
            let now = std::mem::replace(&mut replies, later);
            scored.extend(self.evaluate(now, total)?);
        }
        Ok(scored)
    }

    /// Counts the replies at the front that fit into the cache side by side, with one sequence per
    /// reply and one per prompt. More would push prompts out of the cache before they were
    /// evaluated. What later replies share stays in the cache.
    fn count_side_by_side(&self, replies: &[TargetReply]) -> usize {
        // what the next one continues is evaluated before that: alone, in the context that has it
        if let [first, next, ..] = replies
            && next.job.tokens.starts_with(&first.job.tokens)
        {
            return 1;
        }

        let cells = &self.evaluator.cells;
        let lengths = replies.iter().take(cells.sequences() / 2);
        count_fitting(lengths.map(|reply| reply.job.tokens.len()), cells.total())
    }

    fn evaluate(&mut self, replies: Vec<TargetReply>, total: &mut Report) -> Result<Vec<Scored>> {
        let (jobs, targets): (Vec<Job>, Vec<Vec<i32>>) = replies
            .into_iter()
            .map(|reply| (reply.job, reply.targets))
            .unzip();

        let unread = |_| Scored {
            logprobs: Vec::new(),
            is_greedy: true,
        };
        let mut reader = TargetReader {
            jobs: &jobs,
            scored: jobs.iter().map(unread).collect(),
            targets,
        };
        let report = schedule::run(self.evaluator_for(&jobs), &jobs, &mut reader)?;

        let scored = reader.scored;
        total.add(&report);
        check_done(&report)?;
        Ok(scored)
    }
}

/// Takes the spellings out of a row that are too unlikely to count, and returns the others with
/// their places.
pub(super) fn drop_unlikely<'s>(
    spellings: &'s [Spelling],
    row: &mut [f32],
) -> Vec<(usize, &'s Spelling)> {
    let best = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut likely = Vec::new();
    for (at, (spelling, logprob)) in spellings.iter().zip(row).enumerate() {
        if *logprob < best + MIN_FIRST_TOKEN.ln() {
            *logprob = f32::NEG_INFINITY;
        } else {
            likely.push((at, spelling));
        }
    }
    likely
}

/// Returns the reply of the tokens of a spelling behind its first; `None` where there are none.
/// `read` is the prompt with the tokens in front of the label.
fn rest_of(spelling: &Spelling, lead: &[i32], read: &[i32]) -> Option<TargetReply> {
    let rest = behind(lead, spelling)?;
    let [evaluated @ .., _] = rest else {
        return None;
    };
    (!evaluated.is_empty()).then(|| TargetReply {
        job: Job {
            first_row: read.len(),
            tokens: [read, evaluated].concat(),
            max_new_tokens: 0,
        },
        targets: rest[1..].to_vec(),
    })
}

fn check_done(report: &Report) -> Result<()> {
    if report.ends.iter().all(|end| *end == JobEnd::Done) {
        Ok(())
    } else {
        Err(StopError.into())
    }
}

/// Sums the spellings of each label. What begins with a longer label ("10") is not a reply with the
/// shorter one ("1").
pub(super) fn read_labels(row: &SpellingRow, spellings: &[Spelling], labels: &[&str]) -> Labelled {
    let mut masses = vec![0.0_f64; labels.len()];
    for (spelling, logprob) in spellings.iter().zip(&row.logprobs) {
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

    // "10" continues "1"
    let greedy = spellings
        .iter()
        .zip(&row.greedy)
        .filter(|(_, is_greedy)| **is_greedy)
        .max_by_key(|(spelling, _)| spelling.tokens.len());

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
        greedy: greedy.map(|(spelling, _)| spelling.label),
    }
}

/// Reads the first token of each spelling after each prompt, behind the tokens that the greedy
/// reply has in front of every label.
struct FirstTokens<'a> {
    spellings: &'a [Spelling],
    leads: Vec<Vec<i32>>,
    rows: Vec<SpellingRow>,
}

impl RowReader for FirstTokens<'_> {
    fn row(&mut self, job: usize, _position: usize, row: &LogitRow) -> Next {
        let lead = &mut self.leads[job];
        if lead.len() < LEAD_TOKENS
            && let Ok(best) = i32::try_from(row.distribution.best)
        {
            lead.push(best);
            if is_lead(lead, self.spellings) {
                return Next::Extend(best);
            }
            lead.pop();
        }

        let mut read = SpellingRow::default();
        for spelling in self.spellings {
            let first = behind(lead, spelling).and_then(|rest| usize::try_from(rest[0]).ok());
            read.logprobs
                .push(first.map_or(f32::NEG_INFINITY, |first| row.logprob(first)));
            read.greedy.push(first == Some(row.distribution.best));
        }
        self.rows[job] = read;
        Next::End
    }
}

/// Reads the targets.
struct TargetReader<'a> {
    jobs: &'a [Job],
    targets: Vec<Vec<i32>>,
    scored: Vec<Scored>,
}

impl RowReader for TargetReader<'_> {
    fn row(&mut self, job: usize, position: usize, row: &LogitRow) -> Next {
        let at = position - self.jobs[job].first_row;
        if let Some(target) = self.targets[job].get(at) {
            let target = usize::try_from(*target).unwrap_or(usize::MAX);
            self.scored[job].logprobs.push(row.logprob(target));
            self.scored[job].is_greedy &= target == row.distribution.best;
        }
        Next::End
    }
}
