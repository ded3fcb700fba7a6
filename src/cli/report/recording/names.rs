//! [`printable`]: names of a recording as they are shown.

use crate::untrusted::Foreign;

/// Longer names are shortened when shown.
pub(super) const LONGEST: usize = 200;

/// Names come from the file: nothing in them may control the terminal.
pub(super) fn printable(name: &str) -> String {
    Foreign::text(name).at_most(LONGEST).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_the_terminal_nor_flood_it() {
        assert_eq!(printable("/a\x1b[2J\nb"), "/a\\u{1b}[2J\\nb");
        assert_eq!(printable("/a\u{202e}b"), "/a\\u{202e}b");
        assert_eq!(printable(&"x".repeat(1000)).chars().count(), 201);
    }
}
