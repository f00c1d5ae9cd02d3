//! Renders a prompt with the model's chat template and tokenizes it, so that text of the prompt
//! cannot pass for a part of the template.

use std::collections::HashSet;

use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token_type::LlamaTokenAttr;

use super::{LlmError, Prompt, Rendered, ffi};

/// The template for models without one that llama.cpp understands.
const FALLBACK: &str = "chatml";
/// Stand in for the texts of the prompt while the template is applied: private-use characters,
/// which no template changes.
const SYSTEM_MARK: &str = "\u{f0000}s\u{f0001}";
const USER_MARK: &str = "\u{f0000}u\u{f0001}";

/// A chat template with what is needed to apply it safely.
pub(super) struct Template {
    source: LlamaChatTemplate,
    name: String,
    /// Texts that the vocabulary parses as control tokens, such as `<|im_end|>`.
    control_texts: Vec<String>,
    /// User-defined tokens of the template: the vocabulary parses them even where control tokens
    /// are not parsed.
    turn_texts: Vec<String>,
    /// Texts that end a turn if the vocabulary has no token for it.
    stop_texts: Vec<String>,
}

impl Template {
    /// Chooses the template that the setting names: `auto` for the model's own, or chatml if it has
    /// none; otherwise the name of a template of llama.cpp.
    pub fn choose(model: &LlamaModel, setting: &str) -> Result<Self, LlmError> {
        let control_texts = control_texts(model);
        let own = model
            .chat_template(None)
            .ok()
            .filter(|source| is_usable(model, source));
        let (source, name) = match (setting, own) {
            ("auto", Some(source)) => (source, "gguf"),
            ("auto", None) => (named(FALLBACK)?, FALLBACK),
            (name, _) => (named(name)?, name),
        };
        if !is_usable(model, &source) {
            let known = ffi::chat_templates().join(", ");
            return Err(LlmError::settings(
                format!("no chat template is called `{setting}`"),
                format!("set generator.chat_template to auto, or to one of {known}"),
            ));
        }

        let mut stop_texts = Vec::new();
        if name == FALLBACK && !control_texts.iter().any(|text| text == "<|im_end|>") {
            stop_texts.push("<|im_end|>".to_owned());
        }
        let turn_texts = turn_texts(model, &source)?;
        Ok(Self {
            source,
            name: name.to_owned(),
            control_texts,
            turn_texts,
            stop_texts,
        })
    }

    /// Returns `gguf`, or the name of the template.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn stop_texts(&self) -> &[String] {
        &self.stop_texts
    }

    /// Returns the text and tokens of a prompt.
    pub fn render(&self, model: &LlamaModel, prompt: &Prompt) -> Result<Rendered, LlmError> {
        let turns = apply(model, &self.source, &prompt.system, &prompt.user)?;
        let text = format!("{turns}{}", prompt.reply);

        let parts = [&prompt.system, &prompt.user, &prompt.reply];
        let tokens = if parts.iter().any(|part| self.has_control_text(part)) {
            self.tokenize_parts(model, prompt)?
        } else {
            tokenize(model, &text, true, true)
        };
        Ok(Rendered { text, tokens })
    }

    fn has_control_text(&self, text: &str) -> bool {
        self.control_texts
            .iter()
            .chain(&self.turn_texts)
            .any(|control| text.contains(control.as_str()))
    }

    /// Tokenizes a prompt whose texts contain control texts: only those of the template are parsed.
    fn tokenize_parts(&self, model: &LlamaModel, prompt: &Prompt) -> Result<Vec<i32>, LlmError> {
        let system_mark = if prompt.system.is_empty() {
            ""
        } else {
            SYSTEM_MARK
        };
        let turns = apply(model, &self.source, system_mark, USER_MARK)?;

        let mut all = Vec::new();
        let mut rest = turns.as_str();
        while let Some((at, mark)) = [SYSTEM_MARK, USER_MARK]
            .into_iter()
            .filter_map(|mark| Some((rest.find(mark)?, mark)))
            .min()
        {
            let text = if mark == SYSTEM_MARK {
                &prompt.system
            } else {
                &prompt.user
            };
            all.extend(tokenize(model, &rest[..at], all.is_empty(), true));
            all.extend(self.tokenize_plain(model, text));
            rest = &rest[at + mark.len()..];
        }
        all.extend(tokenize(model, rest, all.is_empty(), true));
        all.extend(self.tokenize_plain(model, &prompt.reply));
        Ok(all)
    }

    /// Tokenizes a text as plain text, whatever it contains.
    fn tokenize_plain(&self, model: &LlamaModel, text: &str) -> Vec<i32> {
        let mut all = Vec::new();
        let mut rest = text;
        // llama.cpp parses user-defined tokens always. They are split after the first character,
        // so that neither half is one.
        while let Some(at) = self
            .turn_texts
            .iter()
            .filter_map(|turn_text| rest.find(turn_text.as_str()))
            .min()
        {
            let split = at + rest[at..].chars().next().map_or(1, char::len_utf8);
            all.extend(tokenize(model, &rest[..split], false, false));
            rest = &rest[split..];
        }
        all.extend(tokenize(model, rest, false, false));
        all
    }
}

fn named(name: &str) -> Result<LlamaChatTemplate, LlmError> {
    LlamaChatTemplate::new(name)
        .map_err(|error| LlmError::Backend(format!("chat template: {error}")))
}

fn is_usable(model: &LlamaModel, source: &LlamaChatTemplate) -> bool {
    apply(model, source, "", "question").is_ok_and(|text| text.contains("question"))
}

/// Applies a template to a system turn (left out if empty) and a user turn, and opens the
/// assistant's.
fn apply(
    model: &LlamaModel,
    source: &LlamaChatTemplate,
    system: &str,
    user: &str,
) -> Result<String, LlmError> {
    let failed = |reason: String| {
        LlmError::Backend(format!("the chat template cannot be applied: {reason}"))
    };
    let turn = |role: &str, text: &str| {
        // llama.cpp takes strings that end with a zero.
        let text = text.replace('\0', "\u{fffd}");
        LlamaChatMessage::new(role.to_owned(), text).map_err(|error| failed(error.to_string()))
    };

    let mut turns = Vec::new();
    if !system.is_empty() {
        turns.push(turn("system", system)?);
    }
    turns.push(turn("user", user)?);
    model
        .apply_chat_template(source, &turns, true)
        .map_err(|error| failed(error.to_string()))
}

/// Tokenizes a text.
///
/// The flags are llama.cpp's: `add_special` adds the tokens that the model expects at the start of
/// a prompt, `parse_special` parses control tokens in the text.
pub(super) fn tokenize(
    model: &LlamaModel,
    text: &str,
    add_special: bool,
    parse_special: bool,
) -> Vec<i32> {
    let vocabulary = model.vocab();
    let mut tokens: Vec<i32> = vocabulary
        .tokenize(text.as_bytes(), add_special, parse_special)
        .into_iter()
        .map(|token| token.0)
        .collect();

    // With `add_special` some vocabularies add an end of text too, which would end the prompt.
    let ends = tokens.last() == Some(&vocabulary.eos().0);
    if add_special && vocabulary.should_add_eos() && ends {
        tokens.pop();
    }
    tokens
}

fn control_texts(model: &LlamaModel) -> Vec<String> {
    texts_of(model, &[LlamaTokenAttr::Control, LlamaTokenAttr::Unknown])
}

/// Returns the user-defined tokens that the template uses. Others (runs of spaces, mostly) are
/// harmless.
fn turn_texts(model: &LlamaModel, source: &LlamaChatTemplate) -> Result<Vec<String>, LlmError> {
    let frame = apply(model, source, "", "question")?;
    let mut texts = texts_of(model, &[LlamaTokenAttr::UserDefined]);
    texts.retain(|text| {
        let is_of_frame = frame.contains(text.as_str()) && !"question".contains(text.as_str());
        !text.trim().is_empty() && is_of_frame
    });
    Ok(texts)
}

/// Returns the texts of all tokens with one of these attributes.
fn texts_of(model: &LlamaModel, attributes: &[LlamaTokenAttr]) -> Vec<String> {
    let vocabulary = model.vocab();
    let mut texts = HashSet::new();
    for token in vocabulary.tokens() {
        let known = vocabulary.attr(token);
        if !attributes
            .iter()
            .any(|attribute| known.contains(*attribute))
        {
            continue;
        }
        let text = vocabulary.text(token).and_then(|text| text.to_str().ok());
        texts.extend(text.filter(|text| !text.is_empty()).map(str::to_owned));
    }
    texts.into_iter().collect()
}
