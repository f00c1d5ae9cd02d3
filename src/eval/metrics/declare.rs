//! The declaration of a metric, and the macro that derives everything else from it.

use std::collections::BTreeMap;
use std::ops::Index;

use serde::{Deserialize, Serialize};

use super::statistics::{Interval, mean};

/// A part of a report, with its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Answers,
    Recall,
    Precision,
    Uncertainty,
    Utility,
    Understanding,
    Chunks,
    Comparison,
    Cost,
}

/// The direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
    /// A description, which judges nothing.
    Neither,
}

impl Better {
    /// Returns the improvement that a change of the metric is: negated where lower is better.
    pub(crate) fn improvement(self, change: f64) -> f64 {
        match self {
            Self::Higher | Self::Neither => change,
            Self::Lower => -change,
        }
    }
}

/// The unit of a metric and how it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A share in 0..=1, printed in percent.
    Share,
    /// A number with these decimals.
    Number(usize),
    /// Milliseconds, printed as seconds.
    Milliseconds,
}

impl Format {
    /// Returns a value as a table shows it.
    pub(crate) fn value(self, value: f64) -> String {
        let (scale, digits) = self.scale_and_digits();
        let unit = if self == Self::Share { " %" } else { "" };
        format!("{:.digits$}{unit}", value * scale)
    }

    /// Returns a difference with its interval; an asterisk marks an interval without zero.
    pub(crate) fn difference(self, interval: &Interval) -> String {
        let (scale, digits) = self.scale_and_digits();
        let [mean, low, high] =
            [interval.mean, interval.low, interval.high].map(|value| value * scale);
        let mark = if interval.excludes_zero() { "*" } else { "" };
        format!("{mean:+.digits$}{mark} [{low:+.digits$}, {high:+.digits$}]")
    }

    fn scale_and_digits(self) -> (f64, usize) {
        match self {
            Self::Share => (100.0, 1),
            Self::Number(digits) => (1.0, digits),
            Self::Milliseconds => (0.001, 2),
        }
    }
}

/// A metric as `metrics!` declares it; `F` is the type of the function that computes it.
#[derive(Debug)]
pub struct Declaration<F> {
    /// The name in tables and plots.
    pub label: &'static str,
    pub better: Better,
    pub format: Format,
    pub(in crate::eval) doc: &'static str,
    pub(in crate::eval) sections: &'static [Section],
    pub(crate) compute: F,
}

impl<F> Declaration<F> {
    /// Returns whether the table of this section shows the metric.
    pub(crate) fn is_in(&self, section: Section) -> bool {
        self.sections.contains(&section)
    }

    /// Returns whether some table shows the metric.
    pub fn is_shown(&self) -> bool {
        !self.sections.is_empty()
    }

    /// Returns the explanation of the metric with its direction.
    pub(crate) fn explanation(&self) -> String {
        let direction = match self.better {
            Better::Higher => " Higher is better.",
            Better::Lower => " Lower is better.",
            Better::Neither => "",
        };
        format!("{}: {}{direction}", self.label, self.doc.trim())
    }
}

/// A family of metrics that are computed from the same thing. The names of its variants in
/// `snake_case` are the names in JSON.
pub trait Metric: Copy + Ord + Serialize + 'static {
    /// The function that computes a metric of this family.
    type Function: 'static;

    /// Every metric of the family, in the order in which tables show them.
    const ALL: &'static [Self];

    /// Returns the declaration of the metric.
    fn declaration(self) -> &'static Declaration<Self::Function>;

    /// Returns the metrics that the table of this section shows.
    fn in_section(section: Section) -> impl Iterator<Item = Self> {
        let all = Self::ALL.iter().copied();
        all.filter(move |metric| metric.declaration().is_in(section))
    }
}

/// A value for each metric of a family; a JSON object with the metrics' names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<M, V>")]
#[serde(bound(deserialize = "M: Metric + Deserialize<'de>, V: Deserialize<'de>"))]
pub struct Values<M: Ord, V = f64>(BTreeMap<M, V>);

impl<M: Metric, V> Values<M, V> {
    /// Returns the values that a function gives the metrics.
    pub fn from_fn(value: impl Fn(M) -> V) -> Self {
        Self(
            M::ALL
                .iter()
                .map(|metric| (*metric, value(*metric)))
                .collect(),
        )
    }
}

impl<M: Metric> Values<M> {
    /// Returns the mean of each metric; 0 where there are no values.
    pub(crate) fn mean<'a>(values: impl Iterator<Item = &'a Self>) -> Self {
        let values: Vec<&Self> = values.collect();
        Self::from_fn(|metric| mean(values.iter().map(|values| values[metric])))
    }
}

impl<M: Metric, V> Index<M> for Values<M, V> {
    type Output = V;

    fn index(&self, metric: M) -> &V {
        // every way to make `Values` gives each metric a value
        &self.0[&metric]
    }
}

impl<M: Metric, V> TryFrom<BTreeMap<M, V>> for Values<M, V> {
    type Error = String;

    fn try_from(values: BTreeMap<M, V>) -> Result<Self, String> {
        let missing = M::ALL.iter().find(|metric| !values.contains_key(metric));
        match missing {
            Some(metric) => Err(format!("no {}", metric.declaration().label)),
            None => Ok(Self(values)),
        }
    }
}

/// Declares a family of metrics: the enum of their names and their declarations, from which rows,
/// JSON, tables, the report and its plots come.
///
/// A metric reads `Name "label": DIRECTION, FORMAT, in SECTION SECTION => FUNCTION;`, where the
/// sections are optional: without one the metric is in the JSON output alone.
macro_rules! metrics {
    (
        $(#[doc = $family_doc:literal])+
        $family:ident: $function_type:ty {
            $(
                $(#[doc = $doc:literal])+
                $metric:ident $label:literal: $better:ident, $format:expr
                    $(, in $($section:ident)+)? => $function:expr;
            )+
        }
    ) => {
        $(#[doc = $family_doc])+
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum $family {
            $($(#[doc = $doc])+ $metric,)+
        }

        impl $crate::eval::metrics::declare::Metric for $family {
            type Function = $function_type;

            const ALL: &'static [Self] = &[$(Self::$metric),+];

            fn declaration(self) -> &'static $crate::eval::metrics::declare::Declaration<$function_type> {
                use $crate::eval::metrics::declare::{Better, Declaration};

                static DECLARATIONS: &[Declaration<$function_type>] = &[$(Declaration {
                    label: $label,
                    better: Better::$better,
                    format: $format,
                    doc: concat!($($doc),+),
                    sections: &[$($($crate::eval::metrics::declare::Section::$section),+)?],
                    compute: $function,
                }),+];
                &DECLARATIONS[self as usize]
            }
        }
    };
}

pub(in crate::eval) use metrics;
