//! The parts of a rendered prompt: what the template writes, and the texts of the prompt.

use crate::llm::values::Prompt;

/// Stand in for the texts of the prompt while the template is applied: private-use characters,
/// which no template changes, between spaces, which show whether it trims.
pub(in crate::llm) const SYSTEM_MARK: &str = "\u{f0000}s\u{f0001}";
pub(in crate::llm) const USER_MARK: &str = "\u{f0000}u\u{f0001}";

/// Texts that end a reply to a prompt in plain text, for which the vocabulary has no token: the
/// blank line that stands between turns, and the next question of a model that continues its worked
/// examples.
pub(in crate::llm) const PLAIN_STOPS: [&str; 2] = ["\n\n", "\nQuestion:"];

/// A part of a rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::llm) struct PromptPart {
    pub text: String,
    /// Whether the template wrote it, so that its control texts are tokens.
    pub is_template: bool,
}

impl PromptPart {
    /// Returns a text that the template wrote.
    pub fn template(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            is_template: true,
        }
    }

    /// Returns a text of the prompt.
    pub fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            is_template: false,
        }
    }
}

/// Returns the turns of a prompt as plain text, up to the line of the reply.
pub(in crate::llm) fn plain_turns(system: &str, user: &str) -> String {
    if system.is_empty() {
        format!("{user}\n")
    } else {
        format!("{system}\n\n{user}\n")
    }
}

/// Returns the parts of a prompt.
///
/// `turns` is the template, applied to marks with a space on both sides; `tail` follows it, and the
/// start of the reply comes last.
pub(in crate::llm) fn parts(turns: &str, prompt: &Prompt, tail: &str) -> Vec<PromptPart> {
    let mut parts = Vec::new();
    let mut rest = turns;
    while let Some((at, mark)) = [SYSTEM_MARK, USER_MARK]
        .into_iter()
        .filter_map(|mark| Some((rest.find(mark)?, mark)))
        .min()
    {
        let mut text = if mark == SYSTEM_MARK {
            prompt.system.as_str()
        } else {
            prompt.user.as_str()
        };
        let mut before = &rest[..at];
        let mut after = &rest[at + mark.len()..];

        // what the template does to the spaces around a mark, it does to the text's own
        match before.strip_suffix(' ') {
            Some(kept) => before = kept,
            None => text = text.trim_start(),
        }
        match after.strip_prefix(' ') {
            Some(kept) => after = kept,
            None => text = text.trim_end(),
        }

        parts.push(PromptPart::template(before));
        parts.push(PromptPart::plain(text));
        rest = after;
    }

    parts.push(PromptPart::template(&format!("{rest}{tail}")));
    parts.push(PromptPart::plain(&prompt.reply));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_turns_end_at_the_line_of_the_reply() {
        assert_eq!(plain_turns("", "why?"), "why?\n");
        assert_eq!(plain_turns("be brief", "why?"), "be brief\n\nwhy?\n");
    }

    #[test]
    fn texts_are_trimmed_where_the_template_trims() {
        let prompt = Prompt {
            system: " be brief ".to_owned(),
            user: " why? ".to_owned(),
            reply: "Because".to_owned(),
        };
        let turns = format!("<s>{SYSTEM_MARK}</s><u> {USER_MARK} </u><a>");

        let parts = parts(&turns, &prompt, "<none>");

        assert_eq!(
            parts,
            [
                PromptPart::template("<s>"),
                PromptPart::plain("be brief"),
                PromptPart::template("</s><u>"),
                PromptPart::plain(" why? "),
                PromptPart::template("</u><a><none>"),
                PromptPart::plain("Because"),
            ]
        );
    }
}
