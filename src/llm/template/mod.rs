//! Renders a prompt with the model's chat template and tokenizes it, so that text of the prompt
//! cannot pass for a part of the template.

pub mod jinja;
pub(super) mod parts;
pub mod sandbox;
pub(super) mod thought;

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;

use jiff::Zoned;
use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token_type::LlamaTokenAttr;

use self::jinja::{Surroundings, TemplateError};
use self::parts::{SYSTEM_MARK, USER_MARK};
use self::sandbox::{Renderings, add_spaces};
use self::thought::{Opening, Thoughts};
use super::error::{LlmError, Result};
use super::ffi;
use super::values::{Prompt, Rendered};
use crate::config::GeneratorSettings;
use crate::event::ModelCard;

/// Advice where another template stands in for the model's own.
pub const TEMPLATE_ADVICE: &str =
    "set generator.chat_template to the template that the model was trained with";
/// The template for models without one whose vocabulary has its marks.
const CHATML: &str = "chatml";
/// No template: the prompt is the text of its turns.
const NONE: &str = ModelCard::NO_TEMPLATE;
/// Ending of template files.
const FILE_ENDING: &str = ".jinja";
/// The prompt by which a template is tried.
const SAMPLE: &str = "question";

/// A chat template with what is needed to apply it safely.
pub(super) struct Template {
    source: Source,
    /// `gguf`, `none`, the file or the name of the template.
    pub name: String,
    /// The reason why another template stands in for the model's own; empty when none does.
    pub fallback: String,
    pub thoughts: Thoughts,
    /// Whether the template writes the token that the vocabulary adds to every prompt.
    writes_bos: bool,
    /// Texts that the vocabulary parses as control tokens, such as `<|im_end|>`.
    control_texts: Vec<String>,
    /// User-defined tokens of the template, those for tools too: the vocabulary parses them even
    /// where control tokens are not parsed.
    turn_texts: Vec<String>,
    /// Texts that end a turn if the vocabulary has no token for it.
    pub stop_texts: Vec<String>,
}

/// The rules of a template.
enum Source {
    Jinja(Box<Renderings>),
    /// A template of llama.cpp.
    Named(LlamaChatTemplate),
    Plain,
}

/// A chosen template, not yet tried.
struct Choice {
    source: Source,
    name: String,
    fallback: String,
}

impl Template {
    /// Chooses the template that the setting names: `auto` for the model's own, or a stand-in where
    /// that cannot be used; `none`; a file; or the name of a template of llama.cpp.
    pub fn choose(model: &LlamaModel, settings: &GeneratorSettings) -> Result<Self> {
        let setting = settings.chat_template.as_str();
        let control_texts = control_texts(model);
        let has_token = |text: &str| control_texts.iter().any(|known| known == text);
        let Choice {
            source,
            name,
            fallback,
        } = match setting {
            "auto" => automatic(model, &has_token)?,
            NONE => Choice::from_name(NONE)?,
            file if file.ends_with(FILE_ENDING) => read_file(model, file)?,
            name => Choice::from_name(name)?,
        };
        let sample = source
            .try_on(model)
            .map_err(|error| unusable(setting, &error.to_string()))?;

        let mut stop_texts = Vec::new();
        if name == CHATML && !has_token("<|im_end|>") {
            stop_texts.push("<|im_end|>".to_owned());
        }
        if matches!(source, Source::Plain) {
            stop_texts.extend(parts::PLAIN_STOPS.map(str::to_owned));
        }

        let prompt_end = |text: &str| {
            let end = text.rfind(SAMPLE).map_or(0, |at| at + SAMPLE.len());
            text[end..].to_owned()
        };
        let thoughtful = source.apply(model, "", SAMPLE, true)?;
        let is_token = |text: &str| tokenize(model, text, false, true).len() == 1;
        let own = model.chat_template(None).ok();
        let own = own
            .as_ref()
            .and_then(|own| own.to_str().ok())
            .unwrap_or_default();
        let (end, thoughtful_end) = (prompt_end(&sample), prompt_end(&thoughtful));
        let mut thoughts = Thoughts::new(settings, is_token, &end, &thoughtful_end);
        if matches!(source, Source::Plain) {
            thoughts.tail = "";
        }
        Ok(Self {
            turn_texts: turn_texts(model, &format!("{sample}{}{own}", thoughts.tail)),
            writes_bos: writes_bos(model, &sample),
            source,
            name,
            fallback,
            thoughts,
            control_texts,
            stop_texts,
        })
    }

    /// Returns the tokens that end thoughts which are too long.
    pub fn closing(&self, model: &LlamaModel) -> Vec<i32> {
        tokenize(model, self.thoughts.closing(), false, true)
    }

    /// Returns the text and tokens of a prompt.
    pub fn render(
        &self,
        model: &LlamaModel,
        prompt: &Prompt,
        opening: Opening,
    ) -> Result<Rendered> {
        let is_thinking = opening == Opening::Reply;
        let turns = self
            .source
            .apply(model, &prompt.system, &prompt.user, is_thinking)?;
        let tail = self.thoughts.tail_for(opening);
        let text = format!("{turns}{tail}{}", prompt.reply);

        let parts = [&prompt.system, &prompt.user, &prompt.reply];
        let tokens = if parts.iter().any(|part| self.has_control_text(part)) {
            self.tokenize_parts(model, prompt, is_thinking, tail)?
        } else {
            tokenize(model, &text, !self.writes_bos, true)
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
    fn tokenize_parts(
        &self,
        model: &LlamaModel,
        prompt: &Prompt,
        is_thinking: bool,
        tail: &str,
    ) -> Result<Vec<i32>> {
        let system_mark = if prompt.system.is_empty() {
            String::new()
        } else {
            add_spaces(SYSTEM_MARK)
        };
        let turns = self
            .source
            .apply(model, &system_mark, &add_spaces(USER_MARK), is_thinking)?;

        let mut all = Vec::new();
        for part in parts::parts(&turns, prompt, tail) {
            if part.is_template {
                // the token at the start of a prompt is added once
                let adds_special = all.is_empty() && !self.writes_bos;
                all.extend(tokenize(model, &part.text, adds_special, true));
            } else {
                all.extend(self.tokenize_plain(model, &part.text));
            }
        }
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

impl Choice {
    fn new(source: Source, name: &str) -> Self {
        Self {
            source,
            name: name.to_owned(),
            fallback: String::new(),
        }
    }

    /// A template of llama.cpp, or `none`.
    fn from_name(name: &str) -> Result<Self> {
        let source = if name == NONE {
            Source::Plain
        } else {
            Source::Named(LlamaChatTemplate::new(name).map_err(template_error)?)
        };
        Ok(Self::new(source, name))
    }
}

impl Source {
    /// Returns a sample prompt, if the template writes its text.
    fn try_on(&self, model: &LlamaModel) -> Result<String> {
        let text = self.apply(model, "", SAMPLE, false)?;
        if text.contains(SAMPLE) {
            Ok(text)
        } else {
            Err(template_error("it leaves the question out"))
        }
    }

    /// Applies the template to a system turn (left out if empty) and a user turn, and opens the
    /// assistant's.
    fn apply(
        &self,
        model: &LlamaModel,
        system: &str,
        user: &str,
        is_thinking: bool,
    ) -> Result<String> {
        // llama.cpp takes strings that end with a zero.
        let system = system.replace('\0', "\u{fffd}");
        let user = user.replace('\0', "\u{fffd}");

        match self {
            Self::Plain => Ok(parts::plain_turns(&system, &user)),
            Self::Named(template) => apply_named(model, template, &system, &user),
            Self::Jinja(renderings) => renderings
                .fill(&system, &user, is_thinking)
                .map_err(template_error),
        }
    }
}

fn apply_named(
    model: &LlamaModel,
    template: &LlamaChatTemplate,
    system: &str,
    user: &str,
) -> Result<String> {
    let turn = |role: &str, text: &str| {
        LlamaChatMessage::new(role.to_owned(), text.to_owned()).map_err(template_error)
    };

    let mut turns = Vec::new();
    if !system.is_empty() {
        turns.push(turn("system", system)?);
    }
    turns.push(turn("user", user)?);

    model
        .apply_chat_template(template, &turns, true)
        .map_err(template_error)
}

fn template_error(error: impl Display) -> LlmError {
    LlmError::new(
        format!("the chat template cannot be applied: {error}"),
        "set generator.chat_template to a template that takes this prompt",
    )
}

/// Returns the error of a template that cannot be used.
fn unusable(setting: &str, reason: &str) -> LlmError {
    let known = ffi::chat_templates().join(", ");
    LlmError::new(
        format!("the chat template `{setting}` cannot be used ({reason})"),
        format!(
            "set generator.chat_template to auto, to none, to a file that ends with {FILE_ENDING}, or to one of {known}"
        ),
    )
}

/// Returns the model's own template, or what stands in for it: chatml where the vocabulary has its
/// marks, otherwise no template.
fn automatic(model: &LlamaModel, has_token: &dyn Fn(&str) -> bool) -> Result<Choice> {
    let reason = match model.chat_template(None) {
        Err(_) => "the model file has no chat template".to_owned(),
        Ok(own) => {
            let text = own.to_str().unwrap_or_default().to_owned();
            match parse(model, &text) {
                Ok(source) => return Ok(Choice::new(source, "gguf")),
                Err(error) => format!("the model's chat template cannot be used ({error})"),
            }
        }
    };

    let (name, stand_in) = if has_token("<|im_start|>") && has_token("<|im_end|>") {
        (CHATML, "chatml stands in")
    } else {
        (NONE, "prompts are sent as plain text")
    };
    Ok(Choice {
        fallback: format!("{reason}: {stand_in}"),
        ..Choice::from_name(name)?
    })
}

/// Parses a template and tries it.
fn parse(model: &LlamaModel, text: &str) -> Result<Source, TemplateError> {
    let vocabulary = model.vocab();
    let token_text = |token: LlamaToken| {
        let text = Some(token)
            .filter(|token| token.0 >= 0)
            .and_then(|token| vocabulary.text(token))
            .and_then(|text| text.to_str().ok());
        text.unwrap_or_default().to_owned()
    };
    let surroundings = Surroundings {
        bos_token: token_text(vocabulary.bos()),
        eos_token: token_text(vocabulary.eos()),
        now: Zoned::now(),
    };

    let renderings = Renderings::new(text, &surroundings)?;
    let sample = renderings.fill("", SAMPLE, false)?;
    if !sample.contains(SAMPLE) {
        return Err(TemplateError::new("it leaves the question out"));
    }
    Ok(Source::Jinja(Box::new(renderings)))
}

/// Returns the template of a file.
fn read_file(model: &LlamaModel, file: &str) -> Result<Choice> {
    let unusable = |reason: String| {
        LlmError::new(
            format!("the chat template {file} cannot be used ({reason})"),
            "correct the file, or set generator.chat_template to auto",
        )
    };
    let text =
        std::fs::read_to_string(Path::new(file)).map_err(|error| unusable(error.to_string()))?;

    let source = parse(model, &text).map_err(|error| unusable(error.to_string()))?;

    Ok(Choice::new(source, file))
}

/// Returns whether a rendered prompt begins with the token that the vocabulary adds to every
/// prompt, which would then stand there twice.
fn writes_bos(model: &LlamaModel, sample: &str) -> bool {
    let vocabulary = model.vocab();
    let bos = Some(vocabulary.bos()).filter(|bos| bos.0 >= 0);
    let text = bos.and_then(|bos| vocabulary.text(bos)?.to_str().ok());
    let begins_with_bos = text.is_some_and(|text| !text.is_empty() && sample.starts_with(text));
    vocabulary.should_add_bos() && begins_with_bos
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
    let texts = texts_of(model, &[LlamaTokenAttr::Control, LlamaTokenAttr::Unknown]);
    texts.into_iter().collect()
}

/// Returns the user-defined tokens that the template uses. Others (runs of spaces, mostly) are
/// harmless.
fn turn_texts(model: &LlamaModel, sample: &str) -> Vec<String> {
    let texts = texts_of(model, &[LlamaTokenAttr::UserDefined]);
    let is_of_frame = |text: &String| {
        let is_word = !text.trim().is_empty() && !SAMPLE.contains(text.as_str());
        is_word && sample.contains(text.as_str())
    };
    texts.into_iter().filter(is_of_frame).collect()
}

/// Returns the texts of all tokens with one of these attributes.
fn texts_of(model: &LlamaModel, attributes: &[LlamaTokenAttr]) -> HashSet<String> {
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

    texts
}
