//! Runs a tree of prompts through a context: shared runs once, branches side by side in one batch, what ends leaves and what
//! waits takes its place. When not everything fits, what was begun last gives way and is taken up again later.

use super::LlmError;
use super::cells::{Cells, Memory};
use super::ffi::{Batch, Context, Decoded};
use super::numbers::{Distribution, distribution};
use super::tree::{Job, Tree};

/// Room set aside for a branch that writes, so that it need not give way at once.
const GROWTH_ROOM: usize = 32;

/// What follows from a row of logits at the end of a job. Rows before the end need no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Evaluate this token next.
    Extend(i32),
    /// The job is done.
    End,
    /// The whole call is to stop.
    Stop,
}

/// What the model says comes after a token.
pub(super) struct Row<'a> {
    pub logits: &'a [f32],
    pub distribution: Distribution,
}

impl Row<'_> {
    /// ln p of a token, in nats.
    pub fn logprob(&self, token: usize) -> f32 {
        self.logits
            .get(token)
            .map_or(f32::NEG_INFINITY, |logit| logit - self.distribution.log_sum)
    }
}

/// Where a token whose row is wanted is in the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Among all tokens of the batch.
    pub index: usize,
    /// Among those whose rows are wanted.
    pub row: usize,
}

/// Reads rows of logits.
pub(super) trait Reader {
    /// The batch about to be evaluated holds the token of a job at a position whose row is wanted.
    fn place(&mut self, _job: usize, _position: usize, _place: Place) {}

    /// The row of a job at a position of its tokens.
    fn row(&mut self, job: usize, position: usize, row: &Row) -> Next;
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Done,
    ContextFull,
    Stopped,
}

/// A context with the books of its cache.
pub(super) struct Evaluator {
    pub context: Context,
    pub cells: Cells,
    pub batch: Batch,
    pub batch_tokens: usize,
}

/// What came of a call.
pub(super) struct Report {
    /// One a job.
    pub ends: Vec<Ended>,
    /// Prompt tokens that were evaluated.
    pub evaluated: usize,
    /// Tokens of the prompts that were evaluated to their end, less those evaluated for them: they were shared or in the cache.
    pub reused: usize,
}

#[derive(Debug)]
enum Work {
    /// A node of the tree.
    Run(usize),
    /// A job past its prompt.
    Growth(usize),
}

/// Work in a sequence of its own.
struct Strand {
    work: Work,
    /// All tokens from the start, evaluated or not.
    path: Vec<i32>,
    slot: usize,
}

/// A part of a strand that is in the batch.
struct Entry {
    strand: usize,
    from: usize,
    to: usize,
    /// Index in the batch of its first token.
    index: usize,
}

/// One call in progress.
struct Schedule<'a> {
    on: &'a mut Evaluator,
    jobs: &'a [Job],
    tree: Tree,
    /// Last first.
    waiting: Vec<(Work, Vec<i32>)>,
    active: Vec<Strand>,
    entries: Vec<Entry>,
    ends: Vec<Ended>,
    evaluated: usize,
    /// Times in a row that there was no room.
    failures: usize,
}

/// Evaluate jobs and hand out the rows that they want.
pub(super) fn run(
    on: &mut Evaluator,
    jobs: &[Job],
    reader: &mut dyn Reader,
) -> Result<Report, LlmError> {
    let tree = Tree::new(jobs, on.cells.sharing());
    let mut schedule = Schedule {
        waiting: tree
            .roots
            .iter()
            .rev()
            .map(|root| (Work::Run(*root), tree.path(*root)))
            .collect(),
        tree,
        on,
        jobs,
        active: Vec::new(),
        entries: Vec::new(),
        ends: vec![Ended::Stopped; jobs.len()],
        evaluated: 0,
        failures: 0,
    };
    let outcome = schedule.steps(reader);
    schedule.put_down();
    outcome?;
    Ok(Report {
        reused: schedule.reused(),
        ends: schedule.ends,
        evaluated: schedule.evaluated,
    })
}

impl Schedule<'_> {
    fn steps(&mut self, reader: &mut dyn Reader) -> Result<(), LlmError> {
        loop {
            if self.on.context.stop_flag().is_set() {
                return Ok(());
            }
            while self.finish_evaluated() | self.admit() {}
            if self.active.is_empty() {
                return Ok(());
            }
            if !self.fill(reader) {
                self.give_way()?;
                continue;
            }
            match self.on.context.decode(&mut self.on.batch)? {
                Decoded::Done => {
                    if self.read(reader)? == Next::Stop {
                        return Ok(());
                    }
                }
                Decoded::NoRoom => self.give_way()?,
                Decoded::Aborted => return Ok(()),
            }
        }
    }

    /// Begin what waits, as far as it fits beside what has begun.
    fn admit(&mut self) -> bool {
        let begun = self.active.len();
        while let Some((work, path)) = self.waiting.last() {
            let limit = match work {
                Work::Run(node) => self.tree.nodes[*node].first_wanted().unwrap_or(path.len()),
                Work::Growth(_) => path.len() - 1,
            };
            if !self.active.is_empty() && !self.fits(work, path) {
                break;
            }
            let Some(slot) = self.on.cells.fork(path, limit, &mut self.on.context) else {
                break;
            };
            let Some((work, path)) = self.waiting.pop() else {
                break;
            };
            self.active.push(Strand { work, path, slot });
        }
        self.active.len() > begun
    }

    fn fits(&self, work: &Work, path: &[i32]) -> bool {
        let needed = path.len() - self.on.cells.known_at_work(path) + self.room_to_grow(work);
        let promised: usize = self
            .active
            .iter()
            .map(|strand| self.left(strand) + self.room_to_grow(&strand.work))
            .sum();
        self.on.cells.total() - self.on.cells.held() >= needed + promised
    }

    fn room_to_grow(&self, work: &Work) -> usize {
        match work {
            Work::Run(_) => 0,
            Work::Growth(job) => self.jobs[*job].growth.min(GROWTH_ROOM),
        }
    }

    /// Tokens of a strand that are not evaluated yet.
    fn left(&self, strand: &Strand) -> usize {
        strand.path.len() - self.on.cells.length(strand.slot)
    }

    /// Put the next tokens into the batch: one for each branch that writes, then prompts, the oldest first. False when there is
    /// no room for one token of each strand.
    fn fill(&mut self, reader: &mut dyn Reader) -> bool {
        let wanted: usize = self.active.iter().map(|strand| self.left(strand)).sum();
        let at_least = self.active.len().min(self.on.batch_tokens);
        self.on
            .cells
            .make_room(wanted.min(self.on.batch_tokens), &mut self.on.context);
        let mut room = self.on.cells.free().min(self.on.batch_tokens);
        if room < at_least {
            return false;
        }
        self.on.batch.clear();
        self.entries.clear();
        for growing in [true, false] {
            for strand in 0..self.active.len() {
                let left = self.left(&self.active[strand]);
                if matches!(self.active[strand].work, Work::Growth(_)) && left == 1 {
                    if growing && room > 0 {
                        self.put(strand, 1, reader);
                        room -= 1;
                    }
                } else if !growing && room > 0 {
                    self.put(strand, left.min(room), reader);
                    room -= left.min(room);
                }
            }
        }
        true
    }

    fn put(&mut self, strand: usize, tokens: usize, reader: &mut dyn Reader) {
        let Strand { work, path, slot } = &self.active[strand];
        let from = self.on.cells.length(*slot);
        let index = self.on.batch.len();
        for position in from..from + tokens {
            let wanted = match work {
                Work::Run(node) => self.tree.nodes[*node].wants_row(position),
                Work::Growth(_) => position + 1 == path.len(),
            };
            let index = self.on.batch.push(path[position], position, *slot, wanted);
            if !wanted {
                continue;
            }
            let place = Place {
                index,
                row: self.on.batch.rows() - 1,
            };
            match work {
                Work::Growth(job) => reader.place(*job, position, place),
                Work::Run(node) => {
                    let readers = self.tree.nodes[*node].readers.iter();
                    readers
                        .filter(|(_, first)| *first <= position)
                        .for_each(|(job, _)| reader.place(*job, position, place));
                }
            }
        }
        self.entries.push(Entry {
            strand,
            from,
            to: from + tokens,
            index,
        });
    }

    /// Enter what was evaluated into the books and hand out its rows.
    fn read(&mut self, reader: &mut dyn Reader) -> Result<Next, LlmError> {
        self.failures = 0;
        let entries = std::mem::take(&mut self.entries);
        for entry in &entries {
            let strand = &self.active[entry.strand];
            self.on
                .cells
                .append(strand.slot, &strand.path[entry.from..entry.to]);
            let prompt_tokens = match strand.work {
                Work::Run(_) => entry.to,
                Work::Growth(job) => self.jobs[job].tokens.len().min(entry.to),
            };
            let evaluated = prompt_tokens.saturating_sub(entry.from);
            self.evaluated += evaluated;
            if let Work::Run(node) = strand.work {
                self.tree.nodes[node].evaluated += evaluated;
            }
        }
        let mut grown = Vec::new();
        let mut ended = Vec::new();
        for entry in &entries {
            let next = match self.active[entry.strand].work {
                Work::Run(node) => self.read_run(node, entry, reader, &mut grown)?,
                Work::Growth(job) => self.read_growth(job, entry, reader, &mut ended)?,
            };
            if next == Next::Stop {
                return Ok(Next::Stop);
            }
        }
        self.entries = entries;
        self.begin(grown);
        ended.sort_unstable_by(|a, b| b.cmp(a));
        for strand in ended {
            let strand = self.active.remove(strand);
            self.on.cells.release(strand.slot);
        }
        Ok(Next::End)
    }

    fn read_run(
        &mut self,
        node: usize,
        entry: &Entry,
        reader: &mut dyn Reader,
        grown: &mut Vec<(usize, i32)>,
    ) -> Result<Next, LlmError> {
        for position in entry.from..entry.to {
            if !self.tree.nodes[node].wants_row(position) {
                continue;
            }
            let row = self.on.row(entry.index + position - entry.from)?;
            for (job, first) in &self.tree.nodes[node].readers {
                if *first > position {
                    continue;
                }
                match reader.row(*job, position, &row) {
                    Next::Stop => return Ok(Next::Stop),
                    Next::Extend(token) if position + 1 == self.jobs[*job].tokens.len() => {
                        grown.push((*job, token))
                    }
                    _ if position + 1 == self.jobs[*job].tokens.len() => {
                        self.ends[*job] = Ended::Done
                    }
                    _ => {}
                }
            }
            self.tree.nodes[node].unread = position + 1;
        }
        Ok(Next::End)
    }

    fn read_growth(
        &mut self,
        job: usize,
        entry: &Entry,
        reader: &mut dyn Reader,
        ended: &mut Vec<usize>,
    ) -> Result<Next, LlmError> {
        let position = entry.to - 1;
        if entry.to < self.active[entry.strand].path.len() {
            return Ok(Next::End);
        }
        let next = reader.row(
            job,
            position,
            &self.on.row(entry.index + position - entry.from)?,
        );
        match next {
            Next::Extend(token) => self.active[entry.strand].path.push(token),
            Next::End => {
                self.ends[job] = Ended::Done;
                ended.push(entry.strand);
            }
            Next::Stop => {}
        }
        Ok(next)
    }

    /// Jobs whose prompt is done go on with the token that was drawn. They share the prompt's cells until then.
    fn begin(&mut self, grown: Vec<(usize, i32)>) {
        for (job, token) in grown.into_iter().rev() {
            let mut path = self.jobs[job].tokens.clone();
            path.push(token);
            self.waiting.push((Work::Growth(job), path));
        }
    }

    /// Runs that are evaluated make way for what comes after them.
    fn finish_evaluated(&mut self) -> bool {
        let begun = self.active.len();
        let mut at = 0;
        while at < self.active.len() {
            let done =
                matches!(self.active[at].work, Work::Run(_)) && self.left(&self.active[at]) == 0;
            if !done {
                at += 1;
                continue;
            }
            let strand = self.active.remove(at);
            self.on.cells.release(strand.slot);
            if let Work::Run(node) = strand.work {
                // below what waits to go on from here: writing has precedence, so that it leaves soon
                let children = &self.tree.nodes[node].children;
                let below = self
                    .waiting
                    .iter()
                    .rposition(|(work, _)| matches!(work, Work::Run(_)))
                    .map_or(0, |at| at + 1);
                let runs: Vec<_> = children
                    .iter()
                    .rev()
                    .map(|child| (Work::Run(*child), self.tree.path(*child)))
                    .collect();
                self.waiting.splice(below..below, runs);
            }
        }
        self.active.len() < begun
    }

    fn reused(&self) -> usize {
        let mut reached = vec![false; self.jobs.len()];
        let mut asked = 0;
        for node in self
            .tree
            .nodes
            .iter()
            .filter(|node| node.unread >= node.end())
        {
            asked += node.end() * node.ends.len();
            node.ends.iter().for_each(|job| reached[*job] = true);
        }
        let for_them = self
            .tree
            .nodes
            .iter()
            .filter(|node| node.readers.iter().any(|(job, _)| reached[*job]));
        asked.saturating_sub(for_them.map(|node| node.evaluated).sum())
    }

    /// There is no room: what was begun last waits. Alone, it has filled the context.
    fn give_way(&mut self) -> Result<(), LlmError> {
        self.failures += 1;
        let Some(last) = self
            .active
            .pop()
            .filter(|_| self.failures <= self.on.cells.sequences())
        else {
            return Err(LlmError::Backend(
                "the cache has no room for one token: raise generator.context_tokens".to_owned(),
            ));
        };
        // what part of the batch an earlier failure left behind is not in the books
        self.on.cells.cut(
            last.slot,
            self.on.cells.length(last.slot),
            &mut self.on.context,
        );
        self.on.cells.release(last.slot);
        match last.work {
            Work::Growth(job) if self.active.is_empty() && self.is_full(&last.path) => {
                self.ends[job] = Ended::ContextFull
            }
            _ => self.waiting.push((last.work, last.path)),
        }
        Ok(())
    }

    fn is_full(&self, path: &[i32]) -> bool {
        path.len() > self.on.cells.total()
    }

    /// Leave cache and books in agreement, whatever happened.
    fn put_down(&mut self) {
        for strand in self.active.drain(..) {
            self.on.cells.cut(
                strand.slot,
                self.on.cells.length(strand.slot),
                &mut self.on.context,
            );
            self.on.cells.release(strand.slot);
        }
    }
}

impl Evaluator {
    /// The row of an entry of the batch that was evaluated last.
    fn row(&self, index: usize) -> Result<Row<'_>, LlmError> {
        let logits = self.context.logits(index)?;
        Ok(Row {
            logits,
            distribution: distribution(logits)?,
        })
    }

    /// Forget every prompt.
    pub fn clear(&mut self) {
        self.cells.clear(&mut self.context);
    }

    /// Do the books agree with llama.cpp's cache?
    pub fn in_agreement(&self) -> bool {
        self.cells.agrees_with(&self.context as &dyn Memory)
    }
}
