//! [`FieldError`]: why a field cannot be read.

use crate::decode::decoded::Stop;
use crate::untrusted::Foreign;

/// Why a field cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The messages of the topic cannot be decoded: the definition is missing or wrong, or the encoding is not known.
    #[error("{0}")]
    Definition(String),
    /// The type has no such field; the text says which there are.
    #[error("{0}")]
    Path(String),
    /// This payload does not have the type of the topic; the text names the byte and the field.
    #[error("{0}")]
    Payload(String),
}

impl FieldError {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the function that `map_err` takes"
    )]
    pub(super) fn definition(problem: String) -> Self {
        Self::Definition(escaped(&problem))
    }
}

impl From<Stop> for FieldError {
    fn from(stop: Stop) -> Self {
        Self::Payload(match stop {
            Stop::Cut => "it has more elements than are read".to_owned(),
            Stop::TooShort(short) => short.to_string(),
            Stop::Problem(problem) => escaped(&problem),
        })
    }
}

fn escaped(problem: &str) -> String {
    Foreign::text(problem).at_most(400).to_string()
}
