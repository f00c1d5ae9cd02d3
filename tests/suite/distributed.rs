//! A corpus on other machines. The tests with a database run under `make test-postgres`, which
//! starts one.

pub mod common;
mod postgres;
