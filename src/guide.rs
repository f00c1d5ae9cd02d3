//! The guide: short pages for users, embedded, for the command line and the screen.

use pulldown_cmark::{Event, Options, Parser};

use crate::config::nearest;
use crate::event::Problem;

/// A page of the guide.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// The name by which it is called.
    pub topic: &'static str,
    /// A phrase for lists.
    pub about: &'static str,
    /// The page in Markdown, as its file has it.
    pub text: &'static str,
}

/// Embeds the files of `assets/guide`, in reading order.
macro_rules! pages {
    ($($topic:literal: $about:literal;)+) => {
        /// All pages, in reading order.
        pub static PAGES: &[Page] = &[
            $(Page {
                topic: $topic,
                about: $about,
                text: include_str!(concat!("../assets/guide/", $topic, ".md")),
            }),+
        ];
    };
}

pages! {
    "start": "the demo, step by step";
    "documents": "what is read, several folders, updates";
    "models": "find, download and keep a better model";
    "questions": "sources, scripts, and what to do when an answer is wrong";
    "threads": "conversations and follow-up questions";
    "screen": "the panes, and what each key shows";
    "keys": "every key";
    "presets": "what happens between a question and its answer";
    "uncertainty": "whether the model knows the answer";
    "probes": "measure the uncertainty of your own model";
    "understanding": "whether the model understands its context";
    "searching": "which chunks are found, kept and dropped";
    "evaluation": "which preset is better for your documents";
    "settings": "where values come from, and your own files";
    "commands": "every command and flag";
    "files": "recorded runs, what is kept and how to clean up";
    "privacy": "what uses the network";
    "troubleshooting": "when something does not work";
    "gpu": "layers on one GPU or several";
    "servers": "llama-server and the interface of OpenAI";
    "workers": "a model that is too large for one machine";
    "serving": "chat programs, Python, HTTP";
    "agents": "the Model Context Protocol";
    "databases": "a corpus of several machines in PostgreSQL";
}

impl Page {
    /// Finds the page about a topic.
    ///
    /// # Errors
    /// An unknown topic, with the nearest known one.
    pub fn find(topic: &str) -> Result<&'static Self, Problem> {
        PAGES
            .iter()
            .find(|page| page.topic == topic)
            .ok_or_else(|| {
                let hint = nearest(topic, PAGES.iter().map(|page| page.topic));
                Problem::new(
                    format!("the guide has no page `{topic}`{hint}"),
                    "`ragscope guide` lists its pages",
                )
            })
    }

    /// Returns the first heading.
    pub fn title(&self) -> &'static str {
        let line = self.text.lines().next().unwrap_or_default();
        line.trim_start_matches('#').trim()
    }

    /// Returns the page in Markdown, without the marks of generated tables.
    pub fn markdown(&self) -> String {
        let shown = self.text.lines().filter(|line| !line.starts_with("<!--"));
        shown.map(|line| format!("{line}\n")).collect()
    }
}

/// Returns a text in Markdown with each paragraph on one line, for a renderer that wraps lines.
pub fn unwrap_paragraphs(text: &str) -> String {
    let mut unwrapped = String::with_capacity(text.len());
    let mut copied = 0;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        if event == Event::SoftBreak {
            unwrapped.push_str(text[copied..range.start].trim_end());
            unwrapped.push(' ');
            let rest = &text[range.end..];
            copied = text.len() - rest.trim_start_matches(' ').len();
        }
    }
    unwrapped.push_str(&text[copied..]);
    unwrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_becomes_one_line_and_the_rest_stays() {
        let cases = [
            ("# A\n\nOne\ntwo\nthree.\n", "# A\n\nOne two three.\n"),
            ("- an item\n  of two lines\n", "- an item of two lines\n"),
            ("```\na\nb\n```\n", "```\na\nb\n```\n"),
            ("| a |\n|---|\n| b |\n", "| a |\n|---|\n| b |\n"),
        ];
        for (text, expected) in cases {
            assert_eq!(unwrap_paragraphs(text), expected);
        }
    }

    #[test]
    fn an_unknown_topic_names_the_nearest() {
        let problem = Page::find("document").expect_err("unknown");
        assert!(
            problem.error.ends_with("did you mean `documents`?"),
            "{problem}"
        );
    }
}
