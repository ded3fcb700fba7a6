//! [`text_of`]: the text of a recorded definition, whose comments may be in any encoding.

use std::borrow::Cow;

/// The text of a definition. A comment ends where it is not UTF-8. `None` if anything else is not UTF-8.
pub fn text_of(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(Cow::Borrowed(text));
    }
    let mut text = String::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match std::str::from_utf8(line) {
            Ok(line) => text.push_str(line),
            Err(error) => {
                let (valid, _) = line.split_at(error.valid_up_to());
                let valid = std::str::from_utf8(valid).ok()?;
                let (code, _) = valid.split_once('#')?;
                if may_be_in_text(code) {
                    return None;
                }
                text.push_str(valid);
                text.push('\n');
            }
        }
    }
    Some(Cow::Owned(text))
}

/// Whether a `#` after this may be a part of a text, the value of a constant or a default, and not begin a comment.
fn may_be_in_text(code: &str) -> bool {
    let declared = code.trim_start().split_once(char::is_whitespace);
    declared.is_some_and(|(kind, rest)| {
        (kind.starts_with("string") || kind.starts_with("wstring"))
            && rest.contains(['=', '"', '\''])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_may_be_of_any_encoding() {
        for (bytes, text) in [
            (&b"int8 x # caf\xc3\xa9\n"[..], Some("int8 x # caf\u{e9}\n")),
            (
                b"int8 x # caf\xe9 #\n# \xff\nint8 y",
                Some("int8 x # caf\n# \nint8 y"),
            ),
            (b"# A=\xe9\nint8 A=1 # \xe9", Some("# A=\nint8 A=1 # \n")),
            (b"int8 caf\xe9 # x\n", None),
            (b"string S=caf\xe9\n", None),
            (b"string S=a # caf\xe9\n", None),
            (b" wstring<=9 S='#\xe9'\n", None),
            (b"string<=9 s # \xe9\n", Some("string<=9 s # \n")),
            (b"string s \"a#\xe9\"\n", None),
        ] {
            let read = text_of(bytes);
            assert_eq!(read.as_deref(), text, "{bytes:?}");
        }
    }
}
