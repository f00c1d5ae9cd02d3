//! Chat templates in Jinja, as model files hold them, rendered as transformers'
//! `apply_chat_template` renders them.
//!
//! A template is a program of a stranger: it runs with a limited amount of fuel, which pays for its
//! steps and for the bytes that it produces, so that one that loops ends with an error. What fuel
//! does not bound, the process of the [`sandbox`](super::sandbox) does.

use jiff::Zoned;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, ErrorKind, context};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde_json::Value as Json;

/// Fuel of one rendering: one instruction, or 64 bytes of text, per unit. Published templates need
/// less than a thousand, and a prompt of a million tokens some hundred thousand.
const FUEL: u64 = 1_000_000;
/// Maximum length of a template's source: the longest published ones have about 30 000 bytes.
const MAX_SOURCE_BYTES: usize = 1 << 20;
/// Maximum depth of macros that call each other.
const MAX_DEPTH: usize = 64;
/// Maximum number of spaces per level of JSON.
const MAX_INDENT: usize = 64;
/// Name of the template in its environment.
const NAME: &str = "chat";

/// A turn of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<'a> {
    /// `system`, `user` or `assistant`.
    pub role: &'a str,
    pub content: &'a str,
}

/// The surroundings of a template that the model file and the clock give.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Text of the token at the start of a prompt; empty for none.
    pub bos_token: String,
    /// Text of the token that ends a text; empty for none.
    pub eos_token: String,
    /// The time that templates write into the system turn.
    pub now: Zoned,
}

/// A chat template that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TemplateError {
    /// Reason for the failure, without advice.
    pub reason: String,
}

impl TemplateError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl From<Error> for TemplateError {
    fn from(error: Error) -> Self {
        let reason = match error.kind() {
            ErrorKind::OutOfFuel => "it does not end".to_owned(),
            kind => {
                let detail = error.detail().unwrap_or_default();
                let line = error.line().unwrap_or_default();
                format!("{kind} in line {line}: {detail}")
            }
        };
        Self { reason }
    }
}

/// A parsed chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    surroundings: Surroundings,
}

impl ChatTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// A source that is not Jinja, or is too long.
    pub fn parse(source: &str, surroundings: Surroundings) -> Result<Self, TemplateError> {
        if source.len() > MAX_SOURCE_BYTES {
            return Err(TemplateError::new(format!(
                "it has {} bytes, more than {MAX_SOURCE_BYTES}",
                source.len()
            )));
        }

        let mut environment = Environment::new();
        environment.set_syntax(
            SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .build()?,
        );
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(MAX_DEPTH);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_filter("tojson", tojson);
        environment.add_function("raise_exception", raise_exception);
        let now = surroundings.now.clone();
        environment.add_function("strftime_now", move |format: &str| strftime(&now, format));

        environment.add_template_owned(NAME, adapt(source))?;
        Ok(Self {
            environment,
            surroundings,
        })
    }

    /// Renders the turns and opens the assistant's. `is_thinking` is the switch that templates of
    /// thinking models read.
    ///
    /// # Errors
    /// A template that raises an exception, does not end or meets a value that it cannot handle.
    pub fn render(&self, turns: &[Turn<'_>], is_thinking: bool) -> Result<String, TemplateError> {
        let messages: Vec<Value> = turns
            .iter()
            .map(|turn| context! { role => turn.role, content => turn.content })
            .collect();

        let effort = if is_thinking { "medium" } else { "low" };
        let variables = context! {
            messages => messages,
            tools => Value::from(()),
            documents => Value::from(()),
            add_generation_prompt => true,
            bos_token => &self.surroundings.bos_token,
            eos_token => &self.surroundings.eos_token,
            enable_thinking => is_thinking,
            // the name of the switch in the templates of Granite and DeepSeek
            thinking => is_thinking,
            reasoning_effort => effort,
        };

        Ok(self.environment.get_template(NAME)?.render(variables)?)
    }
}

/// Replaces what minijinja does not know: the tags that mark the assistant's text for training, an
/// extension of transformers, by tags without effect that trim white space alike; and line breaks
/// behind a backslash in a string, which Python leaves out.
fn adapt(source: &str) -> String {
    let mut adapted = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%").into_iter().chain(rest.find("{{")).min() {
        let (before, tag) = rest.split_at(at);
        adapted.push_str(before);
        let close = if tag.starts_with("{%") { "%}" } else { "}}" };
        let end = tag.find(close).map_or(tag.len(), |end| end + close.len());
        let (tag, after) = tag.split_at(end);

        let word = tag.trim_matches(['{', '%', '}', '-', '+', ' ', '\t', '\r', '\n']);
        match word {
            "generation" => adapted.push_str(&tag.replacen(word, "if true", 1)),
            "endgeneration" => adapted.push_str(&tag.replacen(word, "endif", 1)),
            _ => adapted.push_str(&tag.replace("\\\n", "")),
        }
        rest = after;
    }
    adapted.push_str(rest);
    adapted
}

fn raise_exception(message: &str) -> Result<Value, Error> {
    let message = format!("it refuses the prompt: {message}");
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

fn strftime(now: &Zoned, format: &str) -> Result<String, Error> {
    jiff::fmt::strtime::format(format, now)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

/// Writes a value as Python's `json.dumps` does, without escapes for HTML.
fn tojson(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let separators: Option<Vec<String>> = options.get("separators")?;
    let is_ascii: Option<bool> = options.get("ensure_ascii")?;
    let is_sorted: Option<bool> = options.get("sort_keys")?;
    options.assert_all_used()?;
    if indent.is_some_and(|indent| indent > MAX_INDENT) {
        let message = format!("an indent of more than {MAX_INDENT} spaces");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }

    let item_separator = if indent.is_some() { "," } else { ", " };
    let separator = |at: usize, default: &str| {
        let given = separators.as_ref().and_then(|given| given.get(at).cloned());
        given.unwrap_or_else(|| default.to_owned())
    };
    let style = JsonStyle {
        indent,
        items: separator(0, item_separator),
        key: separator(1, ": "),
        is_ascii: is_ascii.unwrap_or(false),
        is_sorted: is_sorted.unwrap_or(false),
    };
    let json = serde_json::to_value(value)
        .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    let mut text = String::new();
    style.write(&json, 0, &mut text);
    Ok(text)
}

/// The options of `json.dumps`.
struct JsonStyle {
    /// Spaces per level, each item on a line of its own; `None` for one line.
    indent: Option<usize>,
    /// Text between items.
    items: String,
    /// Text between a key and its value.
    key: String,
    is_ascii: bool,
    is_sorted: bool,
}

impl JsonStyle {
    fn write(&self, json: &Json, level: usize, text: &mut String) {
        match json {
            Json::Null | Json::Bool(_) | Json::Number(_) => text.push_str(&json.to_string()),
            Json::String(_) => self.write_string(json, text),
            Json::Array(items) => {
                text.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.write_gap(at, level + 1, text);
                    self.write(item, level + 1, text);
                }
                self.write_end(items.is_empty(), level, text);
                text.push(']');
            }
            Json::Object(fields) => {
                let mut fields: Vec<(&String, &Json)> = fields.iter().collect();
                if self.is_sorted {
                    fields.sort_by_key(|(name, _)| *name);
                }
                text.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    self.write_gap(at, level + 1, text);
                    self.write_string(&Json::String((*name).clone()), text);
                    text.push_str(&self.key);
                    self.write(value, level + 1, text);
                }
                self.write_end(fields.is_empty(), level, text);
                text.push('}');
            }
        }
    }

    /// Writes what is in front of item number `at`.
    fn write_gap(&self, at: usize, level: usize, text: &mut String) {
        if at > 0 {
            text.push_str(&self.items);
        }
        if let Some(spaces) = self.indent {
            text.push('\n');
            text.push_str(&" ".repeat(spaces * level));
        }
    }

    fn write_end(&self, is_empty: bool, level: usize, text: &mut String) {
        if let (Some(spaces), false) = (self.indent, is_empty) {
            text.push('\n');
            text.push_str(&" ".repeat(spaces * level));
        }
    }

    fn write_string(&self, string: &Json, text: &mut String) {
        let quoted = string.to_string();

        if !self.is_ascii {
            text.push_str(&quoted);
            return;
        }

        for c in quoted.chars() {
            if c.is_ascii() {
                text.push(c);
            } else {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
}
