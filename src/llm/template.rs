//! From a prompt to tokens: the chat template of the model, and text that cannot pass for a part of it.

use std::collections::HashSet;

use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token_type::LlamaTokenAttr;

use super::{LlmError, Prompt, Rendered, ffi};

/// The template used when a model brings none that llama.cpp understands.
const FALLBACK: &str = "chatml";
/// Stands for a text of the prompt while the template is applied: private-use characters that no template touches.
const MARK: [&str; 2] = ["\u{f0000}s\u{f0001}", "\u{f0000}u\u{f0001}"];

/// A chat template with what is needed to apply it safely.
pub(super) struct Template {
    source: LlamaChatTemplate,
    name: String,
    /// Texts that the vocabulary reads as control tokens, such as `<|im_end|>`.
    control_texts: Vec<String>,
    /// Texts of the template that the vocabulary always reads as one token, even where control tokens are not read.
    turn_texts: Vec<String>,
    /// What ends a turn when the vocabulary has no token for it.
    stop_texts: Vec<String>,
}

impl Template {
    /// The template that the setting names: `auto` is the model's own, else chatml; or a name that llama.cpp knows.
    pub fn choose(model: &LlamaModel, setting: &str) -> Result<Self, LlmError> {
        let control_texts = control_texts(model);
        let own = model
            .chat_template(None)
            .ok()
            .filter(|source| works(model, source));
        let (source, name) = match (setting, own) {
            ("auto", Some(source)) => (source, "gguf"),
            ("auto", None) => (named(FALLBACK)?, FALLBACK),
            (name, _) => (named(name)?, name),
        };
        if !works(model, &source) {
            let known = ffi::chat_templates().join(", ");
            return Err(LlmError::Backend(format!(
                "no chat template is called `{setting}`: set generator.chat_template to auto, or to one of {known}"
            )));
        }
        let stop_texts = match name {
            FALLBACK if !control_texts.iter().any(|text| text == "<|im_end|>") => {
                vec!["<|im_end|>".to_owned()]
            }
            _ => Vec::new(),
        };
        let turn_texts = turn_texts(model, &source)?;
        Ok(Self {
            source,
            name: name.to_owned(),
            control_texts,
            turn_texts,
            stop_texts,
        })
    }

    /// `gguf`, or the name of the template.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn stop_texts(&self) -> &[String] {
        &self.stop_texts
    }

    /// Text and tokens of a prompt.
    pub fn render(&self, model: &LlamaModel, prompt: &Prompt) -> Result<Rendered, LlmError> {
        let turn = apply(model, &self.source, [&prompt.system, &prompt.user])?;
        let text = format!("{turn}{}", prompt.reply);
        let parts = [&prompt.system, &prompt.user, &prompt.reply];
        let tokens = if parts.iter().any(|part| self.has_control_text(part)) {
            self.tokens_apart(model, prompt)?
        } else {
            tokens(model, &text, true, true)
        };
        Ok(Rendered { text, tokens })
    }

    fn has_control_text(&self, text: &str) -> bool {
        self.control_texts
            .iter()
            .chain(&self.turn_texts)
            .any(|control| text.contains(control.as_str()))
    }

    /// Tokens of a text that is read as plain text whatever it contains.
    fn plain(&self, model: &LlamaModel, text: &str) -> Vec<i32> {
        let mut all = Vec::new();
        let mut rest = text;
        // a turn mark is cut after its first character: neither half is one
        while let Some(at) = self
            .turn_texts
            .iter()
            .filter_map(|mark| rest.find(mark.as_str()))
            .min()
        {
            let cut = at + rest[at..].chars().next().map_or(1, char::len_utf8);
            all.extend(tokens(model, &rest[..cut], false, false));
            rest = &rest[cut..];
        }
        all.extend(tokens(model, rest, false, false));
        all
    }

    /// Tokens where the texts of the prompt are read as plain text whatever they contain.
    fn tokens_apart(&self, model: &LlamaModel, prompt: &Prompt) -> Result<Vec<i32>, LlmError> {
        let marks = MARK.map(str::to_owned);
        let system = if prompt.system.is_empty() {
            ""
        } else {
            &marks[0]
        };
        let turn = apply(model, &self.source, [system, &marks[1]])?;
        let mut all = Vec::new();
        let mut rest = turn.as_str();
        while let Some((at, mark)) = MARK
            .iter()
            .filter_map(|mark| Some((rest.find(mark)?, *mark)))
            .min()
        {
            let text = if mark == MARK[0] {
                &prompt.system
            } else {
                &prompt.user
            };
            all.extend(tokens(model, &rest[..at], all.is_empty(), true));
            all.extend(self.plain(model, text));
            rest = &rest[at + mark.len()..];
        }
        all.extend(tokens(model, rest, all.is_empty(), true));
        all.extend(self.plain(model, &prompt.reply));
        Ok(all)
    }
}

fn named(name: &str) -> Result<LlamaChatTemplate, LlmError> {
    LlamaChatTemplate::new(name)
        .map_err(|error| LlmError::Backend(format!("chat template: {error}")))
}

fn works(model: &LlamaModel, source: &LlamaChatTemplate) -> bool {
    apply(model, source, ["", "question"]).is_ok_and(|text| text.contains("question"))
}

/// A system turn unless it is empty, a user turn, and the opening of the assistant's.
fn apply(
    model: &LlamaModel,
    source: &LlamaChatTemplate,
    [system, user]: [&str; 2],
) -> Result<String, LlmError> {
    let failed = |reason: String| {
        LlmError::Backend(format!("the chat template cannot be applied: {reason}"))
    };
    let mut turns = Vec::new();
    for (role, text) in [("system", system), ("user", user)] {
        if role == "user" || !text.is_empty() {
            // llama.cpp takes strings that end with a zero
            let text = text.replace('\0', "\u{fffd}");
            turns.push(
                LlamaChatMessage::new(role.to_owned(), text)
                    .map_err(|error| failed(error.to_string()))?,
            );
        }
    }
    model
        .apply_chat_template(source, &turns, true)
        .map_err(|error| failed(error.to_string()))
}

/// Tokens of a text. `start` adds what the model wants at the start of a prompt; `control` reads control tokens in the text.
pub(super) fn tokens(model: &LlamaModel, text: &str, start: bool, control: bool) -> Vec<i32> {
    let vocabulary = model.vocab();
    let mut tokens: Vec<i32> = vocabulary
        .tokenize(text.as_bytes(), start, control)
        .into_iter()
        .map(|token| token.0)
        .collect();
    // an end of text in the middle of a prompt would end it
    if start && vocabulary.should_add_eos() && tokens.last() == Some(&vocabulary.eos().0) {
        tokens.pop();
    }
    tokens
}

fn control_texts(model: &LlamaModel) -> Vec<String> {
    texts_of(model, &[LlamaTokenAttr::Control, LlamaTokenAttr::Unknown])
}

/// The user-defined tokens among the marks of the template. Other user-defined tokens (runs of spaces, mostly) are harmless.
fn turn_texts(model: &LlamaModel, source: &LlamaChatTemplate) -> Result<Vec<String>, LlmError> {
    let frame = apply(model, source, ["", "question"])?;
    let defined = texts_of(model, &[LlamaTokenAttr::UserDefined]);
    let is_mark = |text: &String| {
        !text.trim().is_empty()
            && frame.contains(text.as_str())
            && !"question".contains(text.as_str())
    };
    Ok(defined.into_iter().filter(is_mark).collect())
}

fn texts_of(model: &LlamaModel, kinds: &[LlamaTokenAttr]) -> Vec<String> {
    let vocabulary = model.vocab();
    let is_wanted = |token: &LlamaToken| {
        let attributes = vocabulary.attr(*token);
        kinds.iter().any(|kind| attributes.contains(*kind))
    };
    let texts: HashSet<String> = vocabulary
        .tokens()
        .filter(is_wanted)
        .filter_map(|token| vocabulary.text(token)?.to_str().ok().map(str::to_owned))
        .filter(|text| !text.is_empty())
        .collect();
    texts.into_iter().collect()
}
