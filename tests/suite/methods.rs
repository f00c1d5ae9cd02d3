//! The methods against golden numbers (`tests/data/vectors`, each file with its formula and where
//! it comes from) and scripted replies.

mod seper;
mod dense;
mod calls;
mod chunkrag;
mod saki;
mod uncertainty;

use std::path::Path;

use serde_json::Value;

/// A file of golden numbers.
pub fn vectors(name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/vectors")
        .join(name);
    let text = std::fs::read_to_string(&file).expect("golden numbers");
    serde_json::from_str(&text).expect("JSON")
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

pub fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(number).collect()
}

fn places(value: &Value) -> Vec<usize> {
    list(value)
        .iter()
        .map(|place| usize::try_from(place.as_u64().expect("a place")).expect("small"))
        .collect()
}

#[track_caller]
pub fn near(found: f64, golden: &Value, what: &str) {
    let golden = number(golden);
    assert!(
        (found - golden).abs() < 1e-6,
        "{what}: {found}, not {golden}"
    );
}
