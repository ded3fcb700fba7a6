//! The integration tests, one crate.

mod machine;
