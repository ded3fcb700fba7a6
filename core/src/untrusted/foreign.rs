//! [`Foreign`]: text from a recording, a file name or a peer, made fit for display: escaped, on one line, of bounded
//! length.
//!
//! Characters that do not print (controls, bidirectional marks, joiners, unassigned characters) are escaped. So are
//! combining marks that follow no letter or too many marks, and variation selectors: terminals differ in how they draw
//! them. Bytes that are not UTF-8 become `\xNN`. A backslash is not escaped, so text that was escaped before stays the
//! same.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The default length limit, in characters: as long as a path may be.
const MAX_CHARACTERS: usize = 4096;

/// Text from outside, displayed without anything that a terminal would interpret.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'a> {
    bytes: &'a [u8],
    limit: usize,
}

impl<'a> Foreign<'a> {
    /// A text, shortened to 4096 characters; `…` replaces the rest.
    pub const fn text(text: &'a str) -> Self {
        Self {
            bytes: text.as_bytes(),
            limit: MAX_CHARACTERS,
        }
    }

    /// Bytes that should be text, with the same limit.
    pub const fn bytes(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            limit: MAX_CHARACTERS,
        }
    }

    /// The path of a file.
    pub fn path(path: &'a Path) -> Self {
        Self {
            bytes: path.as_os_str().as_bytes(),
            limit: MAX_CHARACTERS,
        }
    }

    /// The same with at most this many characters of the text, not counting `…`; an escape counts as one.
    #[must_use]
    pub const fn at_most(self, characters: usize) -> Self {
        Self {
            limit: characters,
            ..self
        }
    }
}

impl fmt::Display for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The most bytes that this many characters can have, plus one more character.
        let window = self.limit.saturating_mul(4).saturating_add(4);
        let window = &self.bytes[..self.bytes.len().min(window)];
        let mut left = self.limit;
        let mut marks = CombiningRun::default();
        for chunk in window.utf8_chunks() {
            let valid = chunk.valid().chars().map(|c| match c {
                '\\' => c.to_string(),
                _ => marks.escaped(c, false),
            });
            let invalid = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
            for piece in valid.chain(invalid) {
                if left == 0 {
                    return f.write_str("…");
                }
                left -= 1;
                f.write_str(&piece)?;
            }
        }
        Ok(())
    }
}

/// How many more combining marks may follow a letter: as many as any script needs.
#[derive(Clone, Copy, Default)]
pub(crate) struct CombiningRun(u8);

impl CombiningRun {
    const MOST: u8 = 4;

    /// The next character of a text as it is shown. A double quote is escaped if it would end the text.
    pub(crate) fn escaped(&mut self, c: char, is_quoted: bool) -> String {
        if is_combining_mark(c) {
            let has_room = self.0 > 0;
            self.0 = self.0.saturating_sub(1);
            return if has_room {
                c.to_string()
            } else {
                c.escape_unicode().to_string()
            };
        }
        let shown = match c {
            '\'' => c.to_string(),
            '"' if !is_quoted => c.to_string(),
            _ => c.escape_debug().to_string(),
        };
        self.0 = if shown.starts_with(c) { Self::MOST } else { 0 };
        shown
    }
}

/// Whether the character is drawn on the letter before it. The standard library escapes such a mark only when it is
/// alone.
fn is_combining_mark(c: char) -> bool {
    let is_selector = matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
    let is_escaped_alone = c.escape_debug().count() > 1;
    let text: String = ['a', c].iter().collect();
    !is_selector && is_escaped_alone && !c.is_ascii() && text.escape_debug().eq(text.chars())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn control_characters_are_escaped_and_escaping_is_idempotent() {
        for (text, shown) in [
            ("/a/größe 測試.mcap", "/a/größe 測試.mcap"),
            ("\x1b[2J\u{9b}\x07", "\\u{1b}[2J\\u{9b}\\u{7}"),
            ("a\r\n\0b\u{202e}", "a\\r\\n\\0b\\u{202e}"),
            ("it's \"so\" \\ so", "it's \"so\" \\ so"),
        ] {
            let once = Foreign::text(text).to_string();
            assert_eq!(once, shown);
            assert_eq!(Foreign::text(&once).to_string(), once);
        }
        let name = Path::new(OsStr::from_bytes(b"a\xff\xc3\n.mcap"));
        assert_eq!(Foreign::path(name).to_string(), "a\\xff\\xc3\\n.mcap");
    }

    #[test]
    fn a_long_text_is_cut() {
        let long = "ü".repeat(2 << 20);
        assert_eq!(
            Foreign::text(&long).to_string().chars().count(),
            MAX_CHARACTERS + 1
        );
        assert_eq!(Foreign::text("abc").at_most(2).to_string(), "ab…");
        assert_eq!(Foreign::text("abc").at_most(3).to_string(), "abc");
        assert_eq!(Foreign::text("測\n").at_most(1).to_string(), "測…");
    }
}
