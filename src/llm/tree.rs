//! Prompts as a tree of token runs: what prompts have in common is one run, evaluated once.

use super::cells::{Sharing, common_prefix};

/// A prompt to evaluate, and from where on its rows of logits are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub tokens: Vec<i32>,
    /// Position of the first token whose row is wanted; the rows from there to the end are.
    pub first_row: usize,
    /// Tokens that may come after, for the room that is set aside.
    pub growth: usize,
}

/// A run of tokens that the same jobs share.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub parent: Option<usize>,
    pub tokens: Vec<i32>,
    /// Position of the first of `tokens`.
    pub start: usize,
    pub children: Vec<usize>,
    /// The jobs that pass through, with the position of the first row that each wants.
    pub readers: Vec<(usize, usize)>,
    /// The jobs that end here.
    pub ends: Vec<usize>,
    /// Position of the first row that was not handed out yet: a run that is evaluated again after it was dropped hands out nothing twice.
    pub unread: usize,
    /// Tokens that were evaluated to get to its end from the end of its parent, those of the parent included where they had been dropped.
    pub evaluated: usize,
}

impl Node {
    pub fn end(&self) -> usize {
        self.start + self.tokens.len()
    }

    /// Does anybody want the row at this position?
    pub fn wants_row(&self, position: usize) -> bool {
        position >= self.unread.max(self.start)
            && self.readers.iter().any(|(_, first)| *first <= position)
    }

    /// Position of the first row that is still wanted.
    pub fn first_wanted(&self) -> Option<usize> {
        let first = self.readers.iter().map(|(_, first)| *first).min()?;
        let first = first.max(self.unread).max(self.start);
        (first < self.end()).then_some(first)
    }
}

/// The tree of all jobs of a call.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    pub roots: Vec<usize>,
}

impl Tree {
    pub fn new(jobs: &[Job], sharing: Sharing) -> Self {
        let mut tree = Self::default();
        for (job, wanted) in jobs.iter().enumerate() {
            let mut at = match sharing {
                Sharing::Prefix => tree.insert(&wanted.tokens),
                Sharing::Whole => tree.add(None, &wanted.tokens, 0),
            };
            tree.nodes[at].ends.push(job);
            loop {
                tree.nodes[at].readers.push((job, wanted.first_row));
                match tree.nodes[at].parent {
                    Some(parent) => at = parent,
                    None => break,
                }
            }
        }
        tree
    }

    /// The node that ends with the last of `tokens`, made where it is missing.
    fn insert(&mut self, tokens: &[i32]) -> usize {
        let (mut parent, mut start) = (None, 0);
        loop {
            let rest = &tokens[start..];
            let siblings = parent.map_or(&self.roots, |parent: usize| &self.nodes[parent].children);
            let Some(child) = siblings
                .iter()
                .copied()
                .find(|child| self.nodes[*child].tokens.first() == rest.first())
            else {
                return self.add(parent, rest, start);
            };
            let common = common_prefix(&self.nodes[child].tokens, rest);
            if common < self.nodes[child].tokens.len() {
                self.split(child, common);
            }
            if common == rest.len() {
                return child;
            }
            (parent, start) = (Some(child), start + common);
        }
    }

    fn add(&mut self, parent: Option<usize>, tokens: &[i32], start: usize) -> usize {
        let node = Node {
            parent,
            tokens: tokens.to_vec(),
            start,
            ..Node::default()
        };
        self.nodes.push(node);
        let added = self.nodes.len() - 1;
        match parent {
            Some(parent) => self.nodes[parent].children.push(added),
            None => self.roots.push(added),
        }
        added
    }

    /// Leave the first `keep` tokens in a node and move the rest, with its jobs and children, below it.
    fn split(&mut self, node: usize, keep: usize) {
        let upper = &mut self.nodes[node];
        let lower = Node {
            parent: Some(node),
            tokens: upper.tokens.split_off(keep),
            start: upper.start + keep,
            children: std::mem::take(&mut upper.children),
            readers: upper.readers.clone(),
            ends: std::mem::take(&mut upper.ends),
            unread: 0,
            evaluated: 0,
        };
        self.nodes.push(lower);
        let lower = self.nodes.len() - 1;
        for child in self.nodes[lower].children.clone() {
            self.nodes[child].parent = Some(lower);
        }
        self.nodes[node].children.push(lower);
    }

    /// All tokens from the start to the end of a node.
    pub fn path(&self, node: usize) -> Vec<i32> {
        let mut path = vec![0; self.nodes[node].end()];
        let mut at = Some(node);
        while let Some(node) = at {
            let node = &self.nodes[node];
            path[node.start..node.end()].copy_from_slice(&node.tokens);
            at = node.parent;
        }
        path
    }

    /// Tokens that a call evaluates when nothing is cached and everything fits.
    #[cfg(test)]
    pub fn tokens(&self) -> usize {
        self.nodes.iter().map(|node| node.tokens.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{Job, Tree};
    use crate::llm::cells::Sharing;

    fn jobs(prompts: &[Vec<i32>]) -> Vec<Job> {
        prompts
            .iter()
            .map(|tokens| Job {
                tokens: tokens.clone(),
                first_row: tokens.len() - 1,
                growth: 0,
            })
            .collect()
    }

    #[test]
    fn what_is_common_is_one_run() {
        let jobs = jobs(&[
            vec![1, 2, 3],
            vec![1, 2, 4, 5],
            vec![1, 2],
            vec![9],
            vec![1, 2, 3],
        ]);
        let tree = Tree::new(&jobs, Sharing::Prefix);
        assert_eq!(
            (tree.roots.len(), tree.nodes.len(), tree.tokens()),
            (2, 4, 6)
        );
        assert_eq!(Tree::new(&jobs, Sharing::Whole).tokens(), 13);
    }

    proptest! {
        #[test]
        fn every_prompt_is_a_path_and_no_prefix_is_there_twice(prompts in prop::collection::vec(prop::collection::vec(0..3_i32, 1..8), 1..30)) {
            let tree = Tree::new(&jobs(&prompts), Sharing::Prefix);
            let mut prefixes = BTreeSet::new();
            for (job, prompt) in prompts.iter().enumerate() {
                let node = tree.nodes.iter().position(|node| node.ends.contains(&job)).expect("an end");
                prop_assert_eq!(&tree.path(node), prompt);
                prop_assert!(tree.nodes[node].wants_row(prompt.len() - 1));
                prefixes.extend((1..=prompt.len()).map(|length| prompt[..length].to_vec()));
            }
            prop_assert_eq!(tree.tokens(), prefixes.len());
        }
    }
}
