//! Two messages compared field by field, without unpacking them to text.
//!
//! [`PairWalk`] walks over two payloads side by side; what has equal bytes on both sides is passed in one step.
//! [`FieldRules`] say which fields are ignored and how much numbers may differ. A [`FieldPlace`] finds one field in
//! many messages. Payloads and definitions are not trusted: every declared count is compared with the bytes that are
//! left, and the work is bounded by the size of the payloads.

mod arrays;
mod field_rules;
mod pair;
mod path;
mod pattern;
mod place;
mod scalar;
mod side;
mod tolerance;
mod types;
mod walk;

pub use field_rules::{FieldRule, FieldRules};
pub use pair::PairWalk;
pub use path::FieldPath;
pub use pattern::{FieldPattern, InvalidPattern, Wildcard};
pub use place::FieldPlace;
pub use scalar::{Scalar, WideUnits};
pub use tolerance::Tolerance;
pub use walk::{Difference, Values};
