//! [`LayoutError`]: why a descriptor set cannot be used.

use crate::ros::definition::name;

/// The most types of a descriptor set; real ones have tens.
pub(super) const MAX_TYPES: usize = 10_000;

/// Why messages cannot be decoded with a descriptor set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(in crate::decode) enum LayoutError {
    #[error("the definition has {0} bytes, too many for a definition")]
    Large(usize),
    #[error("the definition is not a descriptor set: {0}")]
    NoDescriptorSet(String),
    #[error("{} is not in the descriptor set", name(.0))]
    NoRoot(String),
    #[error("{} is referred to but not defined", name(.0))]
    Missing(String),
    #[error("the descriptor set has more than {MAX_TYPES} types")]
    Many,
    #[error("the descriptor set has too many entries")]
    Entries,
    #[error("{} is too long for the name of a type", name(.0))]
    LongName(String),
    #[error("`{}` in {} has no known number or type", name(.field), name(.message))]
    Field { message: String, field: String },
}
