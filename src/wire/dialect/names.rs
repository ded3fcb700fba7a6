//! Names that zenoh can carry.

use crate::wire::error::WireError;

/// The name with exactly one leading slash and no trailing one; an error with the reason if zenoh cannot carry
/// it.
pub fn check_name(name: &str) -> Result<String, WireError> {
    normal_name(name).map_err(|reason| WireError::Name {
        name: name.to_owned(),
        reason,
    })
}

/// As [`check_name`], but the error is only the reason.
pub(crate) fn normal_name(name: &str) -> Result<String, &'static str> {
    let inner = name.strip_prefix('/').unwrap_or(name);
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let reason = if inner.is_empty() {
        "it is empty"
    } else if inner.split('/').any(str::is_empty) {
        "it has an empty part (`//`)"
    } else if inner.contains(['*', '$', '?', '#']) {
        "`*`, `$`, `?` and `#` mean something else there"
    } else if inner.contains('%') {
        "`%` stands for `/` in the ROS graph"
    } else {
        return Ok(format!("/{inner}"));
    };
    Err(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_zenoh_cannot_carry_are_refused_by_name() {
        for (name, normal) in [
            ("/chatter", "/chatter"),
            ("a/b/", "/a/b"),
            ("/_hidden/x", "/_hidden/x"),
        ] {
            assert_eq!(check_name(name).unwrap(), normal);
        }
        for name in ["", "/", "/a//b", "//a", "/a*", "/a$", "/a?b", "/#", "/a%b"] {
            let error = check_name(name).unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
    }
}
