//! [`FieldError`]: why a field cannot be read.

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
