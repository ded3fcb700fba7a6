//! [`quoted`]: a word as a shell reads it back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// A word of a command line for `sh` and its relatives. Words with control characters, or with bytes that are no UTF-8,
/// are quoted as `$'…'`, so that nothing acts on a terminal that they are pasted into.
pub(super) fn quoted(word: &OsStr) -> String {
    let bytes = word.as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"@%+=:,./-_".contains(byte);
    match word.to_str() {
        Some(text) if !text.is_empty() && bytes.iter().all(is_plain) => text.to_owned(),
        Some(text) if !text.contains(char::is_control) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => {
            let escaped = bytes.iter().map(|byte| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            });
            format!("$'{}'", escaped.collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (word, expected) in [
            (&b"/a/b-c_1.mcap"[..], "/a/b-c_1.mcap"),
            (b"--clock=40", "--clock=40"),
            (b"", "''"),
            (b"my bag.mcap", "'my bag.mcap'"),
            (b"$HOME;ls", "'$HOME;ls'"),
            (b"it's", r"'it'\''s'"),
            ("größe".as_bytes(), "'größe'"),
            (b"a\x03b'c\\", r"$'a\x03b\'c\\'"),
            (b"a\xffb", r"$'a\xffb'"),
        ] {
            assert_eq!(quoted(OsStr::from_bytes(word)), expected);
        }
    }
}
