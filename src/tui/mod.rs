//! The screen: a fold over records.
