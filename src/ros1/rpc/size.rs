//! [`size_of`]: about how much memory a value takes.

use dxr::Value;

/// What each value takes beside its text, in bytes.
const EACH: usize = 64;

/// About how many bytes a value takes. Values are as deep as received documents are at most.
pub(crate) fn size_of(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Base64(bytes) => bytes.len(),
        Value::Array(values) => values.iter().map(size_of).sum(),
        Value::Struct(members) => {
            let members = members.iter();
            members
                .map(|(key, value)| EACH + key.len() + size_of(value))
                .sum()
        }
        _ => 0,
    };
    EACH + inner
}
