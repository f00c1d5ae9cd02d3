//! Evaluates a tree of prompts: common prefixes once, branches side by side in one batch; what
//! waits takes the place of what ends.
//!
//! If not everything fits into the KV cache, the branch that was started last is preempted: its
//! cells are freed and it continues later.

use std::time::{Duration, Instant};

use super::cells::{Cells, Memory, Sharing};
use super::error::{LlmError, Result};
use super::ffi::{Batch, Context, Decoded};
use super::numbers::distribution;
use super::row_reader::{LogitRow, Next, OutputIndex, RowReader};
use super::tree::{Job, Tree};

/// Cells reserved for a branch that generates, so that it is not preempted at once.
const RESERVED_CELLS: usize = 32;

/// Tokens of the first draft of a branch.
const FIRST_DRAFT: usize = 3;

/// The end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobEnd {
    Done,
    ContextFull,
    Stopped,
}

/// A context with the bookkeeping of its cache.
pub(super) struct Evaluator {
    pub context: Context,
    pub cells: Cells,
    pub batch: Batch,
    pub batch_tokens: usize,
    /// Tokens of a prompt that are read between two reports of it.
    pub reading_tokens: usize,
    /// Whether drafts are evaluated.
    pub is_drafting: bool,
}

/// Result of a call.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// One per job.
    pub ends: Vec<JobEnd>,
    /// Prompt tokens that were evaluated.
    pub evaluated: usize,
    /// Tokens of the prompts that were evaluated to their end, minus those evaluated for them: the
    /// tokens that were shared or cached.
    pub reused: usize,
    /// Generated tokens that were evaluated ahead as a draft.
    pub drafted: usize,
    /// Time of the batches with tokens of prompts.
    pub reading: Duration,
}

impl Report {
    /// Adds the cost of another call.
    pub fn add(&mut self, other: &Self) {
        self.evaluated += other.evaluated;
        self.reused += other.reused;
        self.reading += other.reading;
    }
}

#[derive(Debug)]
enum Work {
    /// Evaluates a node of the tree.
    Prefill(usize),
    /// Generates after the prompt of a job.
    Generate(usize),
}

/// Work in a sequence of its own.
struct Branch {
    work: Work,
    /// All tokens from the start, evaluated or not.
    path: Vec<i32>,
    /// Tokens at the end of the path that are a draft, and the most that the next one may have.
    drafted: usize,
    max_drafted: usize,
    slot: usize,
}

impl Branch {
    /// Removes what is left of a draft.
    fn drop_draft(&mut self) {
        self.path.truncate(self.path.len() - self.drafted);
        self.drafted = 0;
    }
}

/// The part of a branch that is in the batch.
struct BranchSpan {
    branch: usize,
    from: usize,
    to: usize,
    /// Index in the batch of its first token.
    index: usize,
}

/// A call in progress.
struct Schedule<'a> {
    evaluator: &'a mut Evaluator,
    jobs: &'a [Job],
    tree: Tree,
    /// Work with its path; the last is next.
    waiting: Vec<(Work, Vec<i32>)>,
    /// The oldest first.
    active: Vec<Branch>,
    entries: Vec<BranchSpan>,
    report: Report,
    /// Preemptions since the last successful decode.
    preemptions: usize,
}

/// Evaluates jobs and passes the rows that they want to `reader`.
pub(super) fn run(
    evaluator: &mut Evaluator,
    jobs: &[Job],
    reader: &mut dyn RowReader,
) -> Result<Report> {
    let tree = Tree::new(jobs, evaluator.cells.sharing);
    let mut schedule = Schedule {
        waiting: tree
            .roots
            .iter()
            .rev()
            .map(|root| (Work::Prefill(*root), tree.path(*root)))
            .collect(),
        tree,
        evaluator,
        jobs,
        active: Vec::new(),
        entries: Vec::new(),
        report: Report {
            ends: vec![JobEnd::Stopped; jobs.len()],
            ..Report::default()
        },
        preemptions: 0,
    };

    let outcome = schedule.run(reader);
    // cache and bookkeeping stay consistent, whatever happened
    for branch in std::mem::take(&mut schedule.active) {
        schedule.release(branch.slot);
    }
    outcome?;
    Ok(Report {
        reused: schedule.reused_tokens(),
        ..schedule.report
    })
}

impl Schedule<'_> {
    fn run(&mut self, reader: &mut dyn RowReader) -> Result<()> {
        loop {
            if self.evaluator.context.stop_flag().is_set() {
                return Ok(());
            }

            while self.retire_evaluated() | self.admit() {}
            if self.active.is_empty() {
                return Ok(());
            }

            if !self.fill_batch(reader) {
                self.preempt()?;
                continue;
            }
            // a branch that generates has one token, and its draft
            let drafted: usize = self.active.iter().map(|branch| branch.drafted).sum();
            let is_reading = self.evaluator.batch.len() > self.entries.len() + drafted;
            let started = Instant::now();
            match self.evaluator.context.decode(&mut self.evaluator.batch)? {
                Decoded::Done => {
                    let next = self.read(reader)?;
                    if is_reading {
                        self.report.reading += started.elapsed();
                    }
                    if next == Next::Stop {
                        return Ok(());
                    }
                }
                Decoded::NoRoom => self.preempt()?,
                Decoded::Aborted => return Ok(()),
            }
        }
    }

    /// Starts what waits, as far as it fits beside what is active. Returns whether anything was
    /// started.
    fn admit(&mut self) -> bool {
        let before = self.active.len();
        while let Some((work, path)) = self.waiting.last() {
            // A token whose row is wanted must be evaluated again even if it is cached.
            let limit = match work {
                Work::Prefill(node) => self.tree.nodes[*node].first_wanted().unwrap_or(path.len()),
                Work::Generate(_) => path.len() - 1,
            };
            if !self.active.is_empty() && !self.has_room_for(work, path) {
                break;
            }

            let evaluator = &mut *self.evaluator;
            let Some(slot) = evaluator.cells.fork(path, limit, &mut evaluator.context) else {
                break;
            };
            let Some((work, path)) = self.waiting.pop() else {
                break;
            };
            self.active.push(Branch {
                work,
                path,
                drafted: 0,
                max_drafted: FIRST_DRAFT,
                slot,
            });
        }
        self.active.len() > before
    }

    fn has_room_for(&self, work: &Work, path: &[i32]) -> bool {
        let cells = &self.evaluator.cells;
        let needed = path.len() - cells.count_cached_in_active(path) + self.reserved_cells(work);
        let promised: usize = self
            .active
            .iter()
            .map(|branch| self.pending(branch) + self.reserved_cells(&branch.work))
            .sum();
        cells.total() - cells.active() >= needed + promised
    }

    /// Returns the cells that are reserved for tokens to be generated.
    fn reserved_cells(&self, work: &Work) -> usize {
        match work {
            Work::Prefill(_) => 0,
            Work::Generate(job) => self.jobs[*job].max_new_tokens.min(RESERVED_CELLS),
        }
    }

    /// Returns the number of tokens of a branch that are not evaluated yet.
    fn pending(&self, branch: &Branch) -> usize {
        branch.path.len() - self.evaluator.cells.length(branch.slot)
    }

    /// Puts the next tokens into the batch: one for each branch that generates, then prompts, the
    /// oldest first. Returns false if there is no room for one token per branch.
    fn fill_batch(&mut self, reader: &mut dyn RowReader) -> bool {
        reader.before_batch();
        self.active.iter_mut().for_each(Branch::drop_draft);
        let pending: usize = self.active.iter().map(|branch| self.pending(branch)).sum();
        let evaluator = &mut *self.evaluator;
        let wanted = pending.min(evaluator.batch_tokens);
        evaluator.cells.make_room(wanted, &mut evaluator.context);

        let mut room = evaluator.cells.free().min(evaluator.batch_tokens);
        if room < self.active.len().min(evaluator.batch_tokens) {
            return false;
        }
        evaluator.batch.clear();
        self.entries.clear();

        // Generated tokens go first: branches that generate end soon and free their cells.
        for branch in 0..self.active.len() {
            if room > 0 && self.is_generating(branch) {
                let tokens = 1 + self.add_draft(branch, room - 1, reader);
                self.add_to_batch(branch, tokens, reader);
                room -= tokens;
            }
        }
        for branch in 0..self.active.len() {
            if room > 0 && !self.is_generating(branch) {
                let mut tokens = self.pending(&self.active[branch]).min(room);
                let read = self.evaluator.cells.length(self.active[branch].slot);
                if let Some(part) = self.reading_part(branch, tokens)
                    && reader.before_reading(read)
                {
                    tokens = part;
                }
                self.add_to_batch(branch, tokens, reader);
                room -= tokens;
            }
        }
        true
    }

    /// Returns how many of the next tokens of a branch are read until that is reported; `None`
    /// where one batch reads its prompt, or others are read beside it.
    fn reading_part(&self, branch: usize, tokens: usize) -> Option<usize> {
        let part = tokens.min(self.evaluator.reading_tokens);
        let is_in_parts = part < self.pending(&self.active[branch]) || self.report.evaluated > 0;
        (self.jobs.len() == 1 && is_in_parts).then_some(part)
    }

    /// Returns whether only the last generated token of a branch is pending, with its draft. After
    /// a preemption it is not: the whole path is evaluated again.
    fn is_generating(&self, branch: usize) -> bool {
        let branch = &self.active[branch];
        matches!(branch.work, Work::Generate(_)) && self.pending(branch) == 1 + branch.drafted
    }

    /// Appends a draft of at most `room` tokens to the path of a branch, and returns its length.
    /// Branches side by side fill a batch without drafts, and a state has no way back to before
    /// one.
    fn add_draft(&mut self, branch: usize, room: usize, reader: &dyn RowReader) -> usize {
        let is_alone = self.active.len() == 1 && self.waiting.is_empty();
        let Branch {
            work: Work::Generate(job),
            path,
            drafted,
            max_drafted,
            ..
        } = &mut self.active[branch]
        else {
            return 0;
        };
        if !is_alone
            || !self.evaluator.is_drafting
            || self.evaluator.cells.sharing != Sharing::Prefix
        {
            return 0;
        }
        let draft = reader.draft(*job, path);
        let draft = draft[..draft.len().min(room).min(*max_drafted)].to_vec();
        *drafted = draft.len();
        path.extend(draft);
        *drafted
    }

    /// Puts the next `tokens` tokens of a branch into the batch.
    fn add_to_batch(&mut self, branch: usize, tokens: usize, reader: &mut dyn RowReader) {
        let Branch {
            work,
            path,
            drafted,
            slot,
            ..
        } = &self.active[branch];
        let from = self.evaluator.cells.length(*slot);
        let batch = &mut self.evaluator.batch;
        let first_index = batch.len();

        for position in from..from + tokens {
            let is_wanted = match work {
                Work::Prefill(node) => self.tree.nodes[*node].is_row_wanted(position),
                Work::Generate(_) => position + 1 >= path.len() - drafted,
            };
            let token = batch.push(path[position], position, *slot, is_wanted);
            if !is_wanted {
                continue;
            }
            let index = OutputIndex {
                token,
                output: batch.outputs - 1,
            };
            match work {
                Work::Generate(job) => reader.before_decode(*job, position, index),
                Work::Prefill(node) => {
                    for (job, first) in &self.tree.nodes[*node].readers {
                        if *first <= position {
                            reader.before_decode(*job, position, index);
                        }
                    }
                }
            }
        }

        self.entries.push(BranchSpan {
            branch,
            from,
            to: from + tokens,
            index: first_index,
        });
    }

    /// Records the tokens that were evaluated and passes on their rows.
    fn read(&mut self, reader: &mut dyn RowReader) -> Result<Next> {
        self.preemptions = 0;
        let entries = std::mem::take(&mut self.entries);
        for entry in &entries {
            self.record(entry);
        }

        let mut generating = Vec::new();
        let mut ended = Vec::new();
        for entry in &entries {
            let next = match self.active[entry.branch].work {
                Work::Prefill(node) => self.read_prefill(node, entry, reader, &mut generating)?,
                Work::Generate(job) => self.read_generated(job, entry, reader, &mut ended)?,
            };
            if next == Next::Stop {
                return Ok(Next::Stop);
            }
        }

        self.entries = entries;
        // they share the cells of their prompts until they are started
        for (job, token) in generating.into_iter().rev() {
            let mut path = self.jobs[job].tokens.clone();
            path.push(token);
            self.waiting.push((Work::Generate(job), path));
        }
        ended.sort_unstable_by(|a, b| b.cmp(a));
        for branch in ended {
            let branch = self.active.remove(branch);
            self.evaluator.cells.release(branch.slot);
        }
        Ok(Next::End)
    }

    fn record(&mut self, entry: &BranchSpan) {
        let branch = &self.active[entry.branch];
        let tokens = &branch.path[entry.from..entry.to];
        self.evaluator.cells.append(branch.slot, tokens);

        let prompt_end = match branch.work {
            Work::Prefill(_) => entry.to,
            Work::Generate(job) => self.jobs[job].tokens.len().min(entry.to),
        };
        let evaluated = prompt_end.saturating_sub(entry.from);
        self.report.evaluated += evaluated;
        if let Work::Prefill(node) = branch.work {
            self.tree.nodes[node].evaluated += evaluated;
        }
    }

    /// Passes on the rows of a node. Jobs that continue to generate are added to `generating`, with
    /// their first token.
    fn read_prefill(
        &mut self,
        node: usize,
        entry: &BranchSpan,
        reader: &mut dyn RowReader,
        generating: &mut Vec<(usize, i32)>,
    ) -> Result<Next> {
        for position in entry.from..entry.to {
            if !self.tree.nodes[node].is_row_wanted(position) {
                continue;
            }

            let row = self.evaluator.row(entry.index + position - entry.from)?;

            for (job, first) in &self.tree.nodes[node].readers {
                if *first > position {
                    continue;
                }
                let is_last = position + 1 == self.jobs[*job].tokens.len();
                match reader.row(*job, position, &row) {
                    Next::Stop => return Ok(Next::Stop),
                    Next::Extend(token) if is_last => generating.push((*job, token)),
                    Next::End if is_last => self.report.ends[*job] = JobEnd::Done,
                    Next::Extend(_) | Next::End => {}
                }
            }

            self.tree.nodes[node].unread = position + 1;
        }

        Ok(Next::End)
    }

    /// Passes on the row of a generated token, and those of its draft as far as that is met. A
    /// branch whose job is done is added to `ended`.
    fn read_generated(
        &mut self,
        job: usize,
        entry: &BranchSpan,
        reader: &mut dyn RowReader,
        ended: &mut Vec<usize>,
    ) -> Result<Next> {
        let Branch { path, drafted, .. } = &mut self.active[entry.branch];
        if entry.to < path.len() {
            return Ok(Next::End);
        }
        let draft = path.split_off(path.len() - std::mem::take(drafted));
        let (length, drafted) = (path.len(), draft.len());

        let mut next = Next::End;
        for expected in draft.into_iter().map(Some).chain([None]) {
            let position = self.active[entry.branch].path.len() - 1;
            let row = self.evaluator.row(entry.index + position - entry.from)?;
            next = reader.row(job, position, &row);
            let Next::Extend(token) = next else { break };
            self.active[entry.branch].path.push(token);
            if expected != Some(token) {
                break;
            }
        }
        if next == Next::End {
            self.report.ends[job] = JobEnd::Done;
            ended.push(entry.branch);
        }

        let branch = &mut self.active[entry.branch];
        let read = branch.path.len() - usize::from(matches!(next, Next::Extend(_)));
        let met = read - length;
        self.report.drafted += met;
        if drafted > 0 {
            // a draft that is not met takes time, one that is met is likely to continue
            branch.max_drafted = if met == drafted {
                branch.max_drafted.max(2 * met)
            } else {
                met + 1
            };
        }
        let slot = branch.slot;
        let Evaluator { cells, context, .. } = &mut *self.evaluator;
        if cells.length(slot) > read {
            cells.truncate(slot, read, context);
        }
        Ok(next)
    }

    /// Ends the nodes that are evaluated and queues their children. Returns whether there were any.
    fn retire_evaluated(&mut self) -> bool {
        let before = self.active.len();
        let mut at = 0;
        while at < self.active.len() {
            let node = match self.active[at].work {
                Work::Prefill(node) if self.pending(&self.active[at]) == 0 => node,
                Work::Prefill(_) | Work::Generate(_) => {
                    at += 1;
                    continue;
                }
            };

            let branch = self.active.remove(at);
            self.evaluator.cells.release(branch.slot);

            // Below the generation that waits: it has precedence, so that it ends soon.
            let below = self
                .waiting
                .iter()
                .rposition(|(work, _)| matches!(work, Work::Prefill(_)))
                .map_or(0, |at| at + 1);
            let children = self.tree.nodes[node].children.iter().rev();
            let prefills: Vec<(Work, Vec<i32>)> = children
                .map(|child| (Work::Prefill(*child), self.tree.path(*child)))
                .collect();
            self.waiting.splice(below..below, prefills);
        }
        self.active.len() < before
    }

    fn reused_tokens(&self) -> usize {
        let nodes = &self.tree.nodes;
        let mut is_complete = vec![false; self.jobs.len()];
        let mut asked = 0;
        for node in nodes.iter().filter(|node| node.unread >= node.end()) {
            asked += node.end() * node.ends.len();
            for job in &node.ends {
                is_complete[*job] = true;
            }
        }

        let evaluated: usize = nodes
            .iter()
            .filter(|node| node.readers.iter().any(|(job, _)| is_complete[*job]))
            .map(|node| node.evaluated)
            .sum();
        asked.saturating_sub(evaluated)
    }

    /// Preempts the branch that was started last. If it is alone, it has filled the context.
    fn preempt(&mut self) -> Result<()> {
        self.preemptions += 1;
        let Some(mut last) = self
            .active
            .pop()
            .filter(|_| self.preemptions <= self.evaluator.cells.sequences())
        else {
            return Err(LlmError::new(
                "the KV cache has no room for one more token",
                "raise generator.context_tokens",
            ));
        };

        last.drop_draft();
        self.release(last.slot);
        let is_full = last.path.len() > self.evaluator.cells.total();
        match last.work {
            Work::Generate(job) if self.active.is_empty() && is_full => {
                self.report.ends[job] = JobEnd::ContextFull;
            }
            _ => self.waiting.push((last.work, last.path)),
        }
        Ok(())
    }

    /// Ends a branch in the middle. A failed or aborted decode may have left a part of its batch in
    /// the cache, which is not recorded: it is removed.
    fn release(&mut self, slot: usize) {
        let Evaluator { cells, context, .. } = &mut *self.evaluator;
        cells.truncate(slot, cells.length(slot), context);
        cells.release(slot);
    }
}

impl Evaluator {
    /// Returns the row of an entry of the batch that was evaluated last.
    fn row(&self, index: usize) -> Result<LogitRow<'_>> {
        let logits = self.context.logits(index)?;
        Ok(LogitRow {
            logits,
            distribution: distribution(logits)?,
        })
    }

    /// Drops every cached prompt.
    pub fn clear(&mut self) {
        self.cells.clear(&mut self.context);
    }

    /// Returns whether the bookkeeping matches llama.cpp's cache.
    pub fn is_consistent(&self) -> bool {
        self.cells.is_consistent_with(&self.context as &dyn Memory)
    }
}
