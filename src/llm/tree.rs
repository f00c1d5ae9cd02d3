//! The prompts of a call as a radix tree of tokens: a common prefix is one node, evaluated once.

use super::cells::{Sharing, common_prefix};

/// A prompt to evaluate, and the rows of logits that are wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub tokens: Vec<i32>,
    /// Position of the first token whose row is wanted; so are all rows after it.
    pub first_row: usize,
    /// Maximum tokens to generate after the prompt, for which cells are reserved.
    pub max_new_tokens: usize,
}

impl Job {
    /// Returns the cells that it takes at most.
    pub fn end(&self) -> usize {
        self.tokens.len() + self.max_new_tokens
    }
}

/// Tokens that the same jobs share.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub parent: Option<usize>,
    pub tokens: Vec<i32>,
    /// Position of the first of `tokens`.
    pub start: usize,
    pub children: Vec<usize>,
    /// The jobs that pass through, each with the position of its first wanted row.
    pub readers: Vec<(usize, usize)>,
    /// The jobs that end here.
    pub ends: Vec<usize>,
    /// Position of the first row that was not read yet: a node that is evaluated again, after its
    /// cells were dropped, yields no row twice.
    pub unread: usize,
    /// Tokens that were evaluated to reach its end from its parent's, including those of the parent
    /// whose cells had been dropped.
    pub evaluated: usize,
}

impl Node {
    pub fn end(&self) -> usize {
        self.start + self.tokens.len()
    }

    /// Returns whether a job still wants the row at this position.
    pub fn is_row_wanted(&self, position: usize) -> bool {
        position >= self.unread.max(self.start)
            && self.readers.iter().any(|(_, first)| *first <= position)
    }

    /// Returns the position of the first row that is still wanted.
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
        for (index, job) in jobs.iter().enumerate() {
            let node = match sharing {
                Sharing::Prefix => tree.insert(&job.tokens),
                Sharing::Whole => tree.add(None, &job.tokens, 0),
            };
            tree.nodes[node].ends.push(index);

            let mut at = Some(node);
            while let Some(node) = at {
                tree.nodes[node].readers.push((index, job.first_row));
                at = tree.nodes[node].parent;
            }
        }
        tree
    }

    /// Returns the node that ends with the last of `tokens`, and adds it if it is missing.
    fn insert(&mut self, tokens: &[i32]) -> usize {
        let mut parent = None;
        let mut start = 0;
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
            parent = Some(child);
            start += common;
        }
    }

    fn add(&mut self, parent: Option<usize>, tokens: &[i32], start: usize) -> usize {
        let added = self.nodes.len();
        self.nodes.push(Node {
            parent,
            tokens: tokens.to_vec(),
            start,
            ..Node::default()
        });
        match parent {
            Some(parent) => self.nodes[parent].children.push(added),
            None => self.roots.push(added),
        }
        added
    }

    /// Leaves the first `kept` tokens in a node and moves the rest, with its jobs and children, to
    /// a new child.
    fn split(&mut self, node: usize, kept: usize) {
        let upper = &mut self.nodes[node];
        let lower = Node {
            parent: Some(node),
            tokens: upper.tokens.split_off(kept),
            start: upper.start + kept,
            children: std::mem::take(&mut upper.children),
            // every job of the node also passes through its lower half, those that end there
            // included
            readers: upper.readers.clone(),
            ends: std::mem::take(&mut upper.ends),
            unread: 0,
            evaluated: 0,
        };

        let added = self.nodes.len();
        for child in &lower.children {
            self.nodes[*child].parent = Some(added);
        }
        self.nodes.push(lower);
        self.nodes[node].children.push(added);
    }

    /// Returns all tokens from the start to the end of a node.
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

    /// Returns the tokens that a call evaluates if nothing is cached and everything fits.
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
                max_new_tokens: 0,
            })
            .collect()
    }

    #[test]
    fn a_common_prefix_is_one_node() {
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
        fn every_prompt_is_a_path_and_every_prefix_is_unique(prompts in prop::collection::vec(prop::collection::vec(0..3_i32, 1..8), 1..30)) {
            let tree = Tree::new(&jobs(&prompts), Sharing::Prefix);
            let mut prefixes = BTreeSet::new();
            for (job, prompt) in prompts.iter().enumerate() {
                let node = tree.nodes.iter().position(|node| node.ends.contains(&job)).expect("an end");
                prop_assert_eq!(&tree.path(node), prompt);
                prop_assert!(tree.nodes[node].is_row_wanted(prompt.len() - 1));
                prefixes.extend((1..=prompt.len()).map(|length| prompt[..length].to_vec()));
            }
            prop_assert_eq!(tree.tokens(), prefixes.len());
        }
    }
}
