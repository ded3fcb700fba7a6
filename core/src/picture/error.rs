//! [`PictureError`]: why a message has no picture.

use super::pixels::PixelSize;
use crate::decode::FieldError;
use crate::untrusted::Foreign;

/// Why a message has no picture.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The message does not have the fields of its type.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// It has no pixels.
    #[error("the image has no pixels: {0}")]
    Empty(PixelSize),
    /// Its encoding is not supported.
    #[error("the encoding `{}` is not supported", Foreign::text(.0).at_most(60))]
    Encoding(String),
    /// Its rows are shorter than its pixels need.
    #[error("a row has {step} bytes, {needed} are needed")]
    Step {
        /// The declared length of a row in bytes.
        step: u64,
        /// The least length in bytes.
        needed: u64,
    },
    /// It has fewer bytes than its size needs.
    #[error("an image of {size} pixels needs {needed} bytes, the message has {found}")]
    Short {
        /// The declared size.
        size: PixelSize,
        /// The least number of bytes.
        needed: u64,
        /// The number of bytes in the message.
        found: usize,
    },
    /// It is compressed and cannot be decompressed.
    #[error("{}", Foreign::text(.0).at_most(200))]
    Codec(String),
}
