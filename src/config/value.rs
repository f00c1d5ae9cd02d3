//! The types that a setting may have: what each takes, and how it reads and writes TOML values.

use toml::Value;

use super::filter::DocumentFilter;
use super::location::Location;
use crate::event::{ProbeLabels, ProbeLayers, ProbeTurns};

/// A name that a setting may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub name: &'static str,
    pub doc_lines: &'static [&'static str],
}

impl Choice {
    /// Returns what the choice means.
    pub fn doc(&self) -> String {
        join_lines(self.doc_lines)
    }
}

/// Returns the lines of a doc as one.
pub(super) fn join_lines(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ")
}

/// Joins alternatives: "a, b or c".
pub(super) fn one_of(alternatives: &[&str]) -> String {
    match alternatives {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A type that a setting may have.
pub(super) trait SettingType: Sized {
    /// The names that it consists of, when it is a choice.
    const CHOICES: &'static [Choice] = &[];

    /// Returns what it takes, as error messages put it after "takes".
    fn takes() -> String;

    /// Reads a value; `None` when it is of another type.
    fn from_value(value: &Value) -> Option<Self>;

    fn to_value(&self) -> Value;
}

impl SettingType for bool {
    fn takes() -> String {
        "`true` or `false`".to_owned()
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn to_value(&self) -> Value {
        Value::Boolean(*self)
    }
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {$(
        impl SettingType for $type {
            fn takes() -> String {
                "a whole number".to_owned()
            }

            fn from_value(value: &Value) -> Option<Self> {
                value.as_integer()?.try_into().ok()
            }

            fn to_value(&self) -> Value {
                // a value beyond this cannot have come from TOML
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )+};
}

whole_numbers!(u32, u64);

impl SettingType for f32 {
    fn takes() -> String {
        "a number".to_owned()
    }

    fn from_value(value: &Value) -> Option<Self> {
        let whole = value.as_integer().map(|whole| whole as f64);
        let number = value.as_float().or(whole);
        number.map(|number| number as f32)
    }

    fn to_value(&self) -> Value {
        // by way of its shortest text: 0.3, where the nearest f64 reads 0.30000001192092896
        Value::Float(self.to_string().parse().unwrap_or_default())
    }
}

/// Types that are parsed from text and displayed as text.
macro_rules! texts {
    ($($type:ty = $takes:literal,)+) => {$(
        impl SettingType for $type {
            fn takes() -> String {
                $takes.to_owned()
            }

            fn from_value(value: &Value) -> Option<Self> {
                value.as_str()?.parse().ok()
            }

            fn to_value(&self) -> Value {
                Value::String(self.to_string())
            }
        }
    )+};
}

texts! {
    String = "text",
    DocumentFilter = "globs, type:NAME, after:DATE and before:DATE, with blanks between them, \
        such as \"reports/** type:pdf after:2024-01-31\"",
    Location = "a document or a part of it (DOCUMENT, DOCUMENT:LINE, DOCUMENT:FIRST-LAST or \
        DOCUMENT@START-END)",
}

impl<T: SettingType> SettingType for Vec<T> {
    fn takes() -> String {
        format!("a list, each entry {}", T::takes())
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::from_value).collect()
    }

    fn to_value(&self) -> Value {
        Value::Array(self.iter().map(T::to_value).collect())
    }
}

/// Makes an enum of names a type of settings, with a name and a doc for each variant.
macro_rules! named {
    ($kind:ident { $($([doc = $doc:literal])+ $choice:ident = $name:literal,)+ }) => {
        impl $crate::config::value::SettingType for $kind {
            const CHOICES: &'static [$crate::config::value::Choice] = &[
                $($crate::config::value::Choice { name: $name, doc_lines: &[$($doc),+] }),+
            ];

            fn takes() -> String {
                $crate::config::value::one_of(&[$(concat!("`", $name, "`")),+])
            }

            fn from_value(value: &toml::Value) -> Option<Self> {
                match value.as_str()? {
                    $($name => Some(Self::$choice),)+
                    _ => None,
                }
            }

            fn to_value(&self) -> toml::Value {
                toml::Value::String(self.name().to_owned())
            }
        }

        impl $kind {
            /// Returns the name in settings.
            pub fn name(self) -> &'static str {
                match self { $(Self::$choice => $name),+ }
            }
        }
    };
}
pub(super) use named;

named! {
    ProbeLabels {
        [doc = " Whether the semantic entropy of the sentence is low."] SemanticEntropy = "semantic_entropy",
        [doc = " Whether the answer that it is part of is right; the questions must have answers."] Accuracy = "accuracy",
    }
}

named! {
    ProbeLayers {
        [doc = " Every layer but the first."] All = "all",
        [doc = " The layer in the middle alone."] Middle = "middle",
    }
}

named! {
    ProbeTurns {
        [doc = " Every sentence, after those before it, and again with retrieved passages."] Multi = "multi",
        [doc = " The first sentence of an answer alone, without passages and again with them."] Single = "single",
    }
}
