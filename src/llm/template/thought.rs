//! Thinking models write their thoughts in front of the answer: where thoughts begin and end, and
//! what keeps a model from writing any.

use crate::config::{GeneratorSettings, Thinking};
use crate::llm::stream::overlap;
use crate::llm::values::Prompt;

/// Place where a rendered prompt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The reply begins with the answer: the model writes no thoughts.
    Answer,
    /// The reply begins with thoughts, if the model has any.
    Reply,
}

/// The way a model thinks: as the settings want it, and as its template and vocabulary have it.
#[derive(Debug, Clone, Copy)]
pub struct Thoughts {
    thinking: Thinking,
    /// Maximum number of tokens of the thoughts in front of an answer.
    pub max_tokens: u32,
    /// Marks around the model's thoughts, if it is known to have any.
    marks: Option<Marks>,
    /// Text behind the template's that keeps the model from thinking.
    pub tail: &'static str,
    /// Whether the prompt of a reply with thoughts ends inside of them.
    is_open: bool,
}

impl Thoughts {
    /// Thoughts of a model without marks of them.
    pub fn without_marks(settings: &GeneratorSettings) -> Self {
        Self {
            thinking: settings.thinking,
            max_tokens: settings.thinking_tokens,
            marks: None,
            tail: "",
            is_open: false,
        }
    }

    /// Learns how a model thinks by the tokens of its vocabulary, and by the end of its prompt
    /// without thoughts and with them.
    pub fn new(
        settings: &GeneratorSettings,
        has_token: impl Fn(&str) -> bool,
        prompt_end: &str,
        thoughtful_end: &str,
    ) -> Self {
        let marks = marks(has_token, thoughtful_end);
        Self {
            marks,
            tail: without_thoughts(marks, prompt_end),
            is_open: is_open(thoughtful_end),
            ..Self::without_marks(settings)
        }
    }

    /// Returns where the prompt of a reply ends: a reply that is continued has been thought about.
    pub fn opening(&self, prompt: &Prompt) -> Opening {
        match self.thinking {
            Thinking::On if prompt.reply.is_empty() => Opening::Reply,
            Thinking::On | Thinking::Off => Opening::Answer,
        }
    }

    /// Returns what splits the reply to a prompt into thoughts and the answer. A model that was
    /// given an empty block of thoughts writes no other.
    pub fn splitter(&self, prompt: &Prompt) -> Splitter {
        match self.opening(prompt) {
            Opening::Reply => Splitter::new(self.marks, self.is_open),
            Opening::Answer => Splitter::new(None, false),
        }
    }

    /// Returns the maximum number of tokens of thoughts in the reply to a prompt.
    pub fn max_tokens_of(&self, prompt: &Prompt) -> u32 {
        match self.opening(prompt) {
            Opening::Reply => self.max_tokens,
            Opening::Answer => 0,
        }
    }

    /// Returns the text behind the template's.
    pub fn tail_for(&self, opening: Opening) -> &'static str {
        match opening {
            Opening::Answer => self.tail,
            Opening::Reply => "",
        }
    }

    /// Returns the mark that ends thoughts; empty for a model without.
    pub fn closing(&self) -> &'static str {
        self.marks.map_or("", |marks| marks.close)
    }
}

/// The marks around thoughts in a family of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Opens the thoughts, at the start of a reply.
    pub open: &'static str,
    /// Ends them; the answer follows.
    pub close: &'static str,
    /// Opens the answer of a reply without thoughts; empty for nothing.
    pub direct: &'static str,
}

/// Marks of Qwen3, DeepSeek-R1, SmolLM3, Phi-4-reasoning and most others.
pub const THINK: Marks = Marks {
    open: "<think>",
    close: "</think>",
    direct: "",
};

/// Marks of gpt-oss, which thinks in a channel and answers in another one.
pub const CHANNELS: Marks = Marks {
    open: "<|channel|>analysis<|message|>",
    close: "<|end|><|start|>assistant<|channel|>final<|message|>",
    direct: FINAL_CHANNEL,
};
/// The start of the answer of gpt-oss behind `<|start|>assistant`.
const FINAL_CHANNEL: &str = "<|channel|>final<|message|>";
const CHANNEL_TURN: &str = "<|start|>assistant";

/// Returns the marks of a model by the tokens of its vocabulary and the end of its prompt.
fn marks(has_token: impl Fn(&str) -> bool, prompt_end: &str) -> Option<Marks> {
    if has_token("<|channel|>") && has_token("<|message|>") {
        Some(CHANNELS)
    } else if (has_token(THINK.open) && has_token(THINK.close)) || is_open(prompt_end) {
        Some(THINK)
    } else {
        None
    }
}

/// Returns whether a prompt ends inside of thoughts.
fn is_open(prompt_end: &str) -> bool {
    prompt_end.rfind(THINK.open) > prompt_end.rfind(THINK.close)
}

/// Returns the text behind a prompt after which a model answers without thoughts: an empty block of
/// them, unless the template wrote one.
fn without_thoughts(marks: Option<Marks>, prompt_end: &str) -> &'static str {
    let is_closed = prompt_end.trim_end().ends_with(THINK.close);

    if is_open(prompt_end) {
        // templates with thoughts in the prompt write one line break behind `<think>` or none
        return if prompt_end.ends_with('\n') {
            "\n</think>\n\n"
        } else {
            "\n\n</think>\n\n"
        };
    }

    match marks {
        Some(CHANNELS) if prompt_end.ends_with(CHANNEL_TURN) => FINAL_CHANNEL,
        // the block that Qwen3's own template writes when thinking is off
        Some(THINK) if !is_closed => "<think>\n\n</think>\n\n",
        Some(_) | None => "",
    }
}

/// The state of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyPart {
    /// The start of the reply, where thoughts may begin.
    Start,
    Thoughts,
    /// Behind the thoughts, in front of the answer's first word.
    Gap,
    Answer,
}

/// Splits a reply that may begin with thoughts, as it grows.
#[derive(Debug, Clone)]
pub struct Splitter {
    marks: Option<Marks>,
    place: ReplyPart,
    /// Text that may become a mark.
    held: String,
}

/// A part of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    pub thought: String,
    pub answer: String,
}

impl Splitter {
    /// Splits a reply by these marks; without marks, all of it is the answer. `is_open`: the prompt
    /// ends inside of thoughts.
    pub fn new(marks: Option<Marks>, is_open: bool) -> Self {
        let place = match marks {
            None => ReplyPart::Answer,
            Some(_) if is_open => ReplyPart::Thoughts,
            Some(_) => ReplyPart::Start,
        };
        Self {
            marks,
            place,
            held: String::new(),
        }
    }

    /// Returns whether everything that follows is the answer.
    pub fn is_in_answer(&self) -> bool {
        self.place == ReplyPart::Answer
    }

    /// Returns whether the reply is inside of thoughts.
    pub fn is_in_thoughts(&self) -> bool {
        self.place == ReplyPart::Thoughts
    }

    /// Takes the next text of the reply, and returns what is known to be a thought or the answer.
    pub fn push(&mut self, text: &str) -> Parts {
        let mut parts = Parts::default();
        self.held.push_str(text);
        let Some(marks) = self.marks else {
            parts.answer = std::mem::take(&mut self.held);
            return parts;
        };

        if self.place == ReplyPart::Start {
            let begun = self.held.trim_start();
            if let Some(inside) = begun.strip_prefix(marks.open) {
                self.held = inside.to_owned();
                self.place = ReplyPart::Thoughts;
            } else if let Some(answer) = begun.strip_prefix(marks.direct)
                && !marks.direct.is_empty()
            {
                self.held = answer.to_owned();
                self.place = ReplyPart::Gap;
            } else if !marks.open.starts_with(begun) && !marks.direct.starts_with(begun) {
                self.place = ReplyPart::Answer;
            }
        }
        if self.place == ReplyPart::Thoughts {
            if let Some(at) = self.held.find(marks.close) {
                parts.thought = self.held[..at].to_owned();
                self.held.drain(..at + marks.close.len());
                self.place = ReplyPart::Gap;
            } else {
                // a token may end inside of the mark, so the start of one is held back
                let kept = overlap(&self.held, marks.close);
                let end = self.held.len() - kept;
                parts.thought = self.held.drain(..end).collect();
            }
        }
        // the line breaks behind `</think>` are no part of the answer
        if self.place == ReplyPart::Gap {
            self.held = self.held.trim_start().to_owned();
            if !self.held.is_empty() {
                self.place = ReplyPart::Answer;
            }
        }
        if self.place == ReplyPart::Answer {
            parts.answer = std::mem::take(&mut self.held);
        }
        parts
    }

    /// Ends the thoughts, whatever was written: the mark follows in the model's context.
    pub fn close(&mut self) -> String {
        self.place = ReplyPart::Gap;
        std::mem::take(&mut self.held)
    }

    /// Takes what was held back at the end of the reply.
    pub fn finish(&mut self) -> Parts {
        let held = std::mem::take(&mut self.held);
        match self.place {
            ReplyPart::Thoughts => Parts {
                thought: held,
                answer: String::new(),
            },
            ReplyPart::Start | ReplyPart::Gap | ReplyPart::Answer => Parts {
                thought: String::new(),
                answer: held,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_closed_as_its_template_needs_it() {
        let cases = [
            (Some(THINK), "assistant\n", "<think>\n\n</think>\n\n"),
            (Some(THINK), "assistant\n<think>\n", "\n</think>\n\n"),
            (Some(THINK), "assistant<think>", "\n\n</think>\n\n"),
            (Some(THINK), "assistant\n<think>\n\n</think>\n\n", ""),
            (None, "assistant\n<think>\n", "\n</think>\n\n"),
            (Some(CHANNELS), "<|end|><|start|>assistant", FINAL_CHANNEL),
            (Some(CHANNELS), "<|channel|>final<|message|>", ""),
            (None, "assistant\n", ""),
        ];
        for (marks, prompt_end, expected) in cases {
            assert_eq!(
                without_thoughts(marks, prompt_end),
                expected,
                "{prompt_end}"
            );
        }
    }

    #[test]
    fn thoughts_are_split_off_wherever_tokens_end() {
        let cases = [
            (
                THINK,
                false,
                "<think>\nHm.\n</think>\n\nYes.",
                "\nHm.\n",
                "Yes.",
            ),
            (THINK, true, "Hm.</think> Yes.", "Hm.", "Yes."),
            (THINK, false, "\n<think></think>Yes.", "", "Yes."),
            (THINK, false, " Yes <think>.", "", " Yes <think>."),
            (THINK, false, "<thin", "", "<thin"),
            (THINK, false, "<think>never </thi", "never </thi", ""),
            (
                CHANNELS,
                false,
                "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
                "Hm.",
                "Yes.",
            ),
            (
                CHANNELS,
                false,
                "<|channel|>final<|message|>Yes.",
                "",
                "Yes.",
            ),
            (CHANNELS, false, "Yes.", "", "Yes."),
        ];
        for (marks, is_open, reply, thought, answer) in cases {
            for step in [1, 3, 1000] {
                let mut splitter = Splitter::new(Some(marks), is_open);
                let mut whole = Parts::default();
                let characters: Vec<char> = reply.chars().collect();
                for piece in characters.chunks(step) {
                    let parts = splitter.push(&piece.iter().collect::<String>());
                    whole.thought.push_str(&parts.thought);
                    whole.answer.push_str(&parts.answer);
                }
                let rest = splitter.finish();
                whole.thought.push_str(&rest.thought);
                whole.answer.push_str(&rest.answer);
                assert_eq!(whole.thought, thought, "{reply}");
                assert_eq!(whole.answer, answer, "{reply}");
            }
        }
    }
}
