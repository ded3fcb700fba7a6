//! Untrusted text made fit for a terminal: escaped, on one line, of bounded length.
//!
//! Characters that do not print (controls, bidirectional marks, joiners, unassigned characters) are escaped. So are
//! characters that terminals draw differently: combining marks that follow no letter or too many marks, and variation
//! selectors. The work is bounded by the requested length, not by that of the text.

use crate::untrusted::CombiningRun;

/// A name or a sentence, without quotes. A backslash is not escaped, so text that was escaped before stays the same.
pub(super) fn escaped_text(text: &str, characters: usize) -> String {
    let mut bounded = BoundedText::new("", characters, "…");
    let mut marks = CombiningRun::default();
    for c in text.chars() {
        let shown = match c {
            '\\' => c.to_string(),
            _ => marks.escaped(c, false),
        };
        if !bounded.push(&shown) {
            break;
        }
    }
    bounded.end("")
}

/// A string value in quotes. Bytes that are not UTF-8 are shown as `\xNN`.
pub(super) fn quoted(bytes: &[u8], characters: usize) -> String {
    let mut bounded = BoundedText::new("\"", characters, &cut_after(bytes.len(), "bytes"));
    // The most bytes that this many characters can have, plus one character that no longer fits.
    let window = characters.saturating_mul(4).saturating_add(4);
    let window = &bytes[..bytes.len().min(window)];
    let mut marks = CombiningRun::default();
    for chunk in window.utf8_chunks() {
        let valid = chunk.valid().chars().map(|c| marks.escaped(c, true));
        let invalid = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
        for piece in valid.chain(invalid) {
            if !bounded.push(&piece) {
                return bounded.end("\"");
            }
        }
    }
    bounded.end("\"")
}

/// A wide string of `count` UTF-16 units.
pub(super) fn quoted_wide(
    units: impl Iterator<Item = u16>,
    count: usize,
    characters: usize,
) -> String {
    let mut bounded = BoundedText::new("\"", characters, &cut_after(count, "units"));
    let mut marks = CombiningRun::default();
    for c in char::decode_utf16(units) {
        let piece = match c {
            Ok(c) => marks.escaped(c, true),
            Err(lone) => format!("\\u{{{:x}}}", lone.unpaired_surrogate()),
        };
        if !bounded.push(&piece) {
            break;
        }
    }
    bounded.end("\"")
}

fn cut_after(count: usize, what: &str) -> String {
    format!("…\" ({count} {what})")
}

/// A value that is put together from pieces. If it is cut, it ends with a note.
pub(super) struct BoundedText {
    text: String,
    used: usize,
    limit: usize,
    note: String,
    /// How many bytes of the text are kept if the note has to follow.
    kept: usize,
    opened: usize,
    room: usize,
    is_cut: bool,
}

impl BoundedText {
    /// Starts with `open`. `note` replaces what does not fit; its leading comma is dropped if nothing precedes it.
    pub(super) fn new(open: &str, limit: usize, note: &str) -> Self {
        Self {
            text: open.to_owned(),
            used: open.chars().count(),
            limit,
            note: note.to_owned(),
            kept: open.len(),
            opened: open.len(),
            room: limit.saturating_sub(note.chars().count()),
            is_cut: false,
        }
    }

    /// Adds a piece, if it and a closing character fit.
    pub(super) fn push(&mut self, piece: &str) -> bool {
        let used = self.used + piece.chars().count();
        if self.is_cut || used >= self.limit {
            self.is_cut = true;
            return false;
        }
        self.text.push_str(piece);
        self.used = used;
        if used <= self.room {
            self.kept = self.text.len();
        }
        true
    }

    /// Leaves out all further pieces.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    pub(super) fn end(mut self, close: &str) -> String {
        if self.is_cut {
            self.text.truncate(self.kept);
            let note = if self.kept == self.opened {
                self.note.trim_start_matches(", ")
            } else {
                &self.note
            };
            self.text.push_str(note);
        } else {
            self.text.push_str(close);
        }
        if let Some((end, _)) = self.text.char_indices().nth(self.limit) {
            self.text.truncate(end);
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, shown) in [
            ("base_link", "\"base_link\""),
            ("", "\"\""),
            ("it's \"so\" \\ so", "\"it's \\\"so\\\" \\\\ so\""),
            ("\x1b[31m", "\"\\u{1b}[31m\""),
            ("a\r\n\tb\0", "\"a\\r\\n\\tb\\0\""),
            ("\u{9b}2J\u{7f}", "\"\\u{9b}2J\\u{7f}\""),
            (
                "\u{202e}abc\u{2066}\u{200b}",
                "\"\\u{202e}abc\\u{2066}\\u{200b}\"",
            ),
            (
                "\u{2028}\u{feff}\u{e0041}",
                "\"\\u{2028}\\u{feff}\\u{e0041}\"",
            ),
            ("größe 測試", "\"größe 測試\""),
            ("cafe\u{301} हिन्दी", "\"cafe\u{301} हिन्दी\""),
            ("\u{301}e", "\"\\u{301}e\""),
            ("\n\u{301}", "\"\\n\\u{301}\""),
            ("☎\u{fe0f}", "\"☎\\u{fe0f}\""),
            (
                "e\u{301}\u{301}\u{301}\u{301}\u{301}",
                "\"e\u{301}\u{301}\u{301}\u{301}\\u{301}\"",
            ),
        ] {
            assert_eq!(quoted(text.as_bytes(), 100), shown, "{text:?}");
        }
        assert_eq!(quoted(b"a\xff\xc3", 100), "\"a\\xff\\xc3\"");
        assert_eq!(escaped_text("a \"b\"\x1b\n", 100), "a \"b\"\\u{1b}\\n");
        assert_eq!(escaped_text("e\u{301}", 100), "e\u{301}");
    }

    #[test]
    fn long_texts_are_cut_and_marked() {
        assert_eq!(quoted(b"abcdefghij", 12), "\"abcdefghij\"");
        assert_eq!(quoted(&[b'x'; 5000], 20), "\"xxxx…\" (5000 bytes)");
        assert_eq!(escaped_text("abcdef", 4), "abc…");
        for limit in 0..40 {
            for text in [
                "測試測試測試測試測試測試測試",
                "\x1b\x1b\x1b\x1b\x1b\x1b",
                "abc",
            ] {
                assert!(quoted(text.as_bytes(), limit).chars().count() <= limit);
                assert!(escaped_text(text, limit).chars().count() <= limit);
            }
        }
    }

    #[test]
    fn wide_texts_are_utf16() {
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        let wide = units("a𝄞\n");
        assert_eq!(
            quoted_wide(wide.iter().copied(), wide.len(), 50),
            "\"a𝄞\\n\""
        );
        assert_eq!(quoted_wide([0xd800].into_iter(), 1, 50), "\"\\u{d800}\"");
    }
}
