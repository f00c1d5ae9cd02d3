//! What every stage works with: the values that they hand on, the role traits, and the run itself.

pub mod state;
pub mod model_calls;
pub mod role;
pub mod pins;
pub mod context;
