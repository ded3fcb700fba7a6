//! Scenarios: runs that stand in a TOML file.

mod case;
mod document;
mod environment;
mod error;
mod keys;
mod matrix;
mod span;
mod stays;
mod value;

pub use case::Case;
pub use document::Scenario;
pub use environment::Environment;
pub use error::ScenarioError;
pub use keys::{FLAG_KEYS, Key, NOT_KEYS, OWN_KEYS, Shape};
pub use matrix::MOST_CASES;
