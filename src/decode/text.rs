//! Foreign text made fit for a terminal: escaped, on one line, of bounded length.
//!
//! What is no printable character (controls, bidirectional marks, joiners, unassigned ones) becomes an escape, as
//! does what terminals disagree about: marks that follow nothing, or many marks, and selectors of a variation.
//! Work is bounded by the length asked for, not by that of the text.

use crate::untrusted::MarkRun;

/// A name or a sentence, without quotes. A backslash stays, so that what was escaped stays as it is.
pub(super) fn plain(text: &str, characters: usize) -> String {
    let mut row = Row::new("", characters, "…");
    let mut marks = MarkRun::default();
    for c in text.chars() {
        let shown = match c {
            '\\' => c.to_string(),
            _ => marks.escaped(c, false),
        };
        if !row.push(&shown) {
            break;
        }
    }
    row.end("")
}

/// A text value in quotes. Bytes that are no UTF-8 are shown as such.
pub(super) fn quoted(bytes: &[u8], characters: usize) -> String {
    let mut row = Row::new("\"", characters, &cut_after(bytes.len(), "bytes"));
    // As many bytes as the characters can have at most, and one that does not fit any more.
    let window = characters.saturating_mul(4).saturating_add(4);
    let window = &bytes[..bytes.len().min(window)];
    let mut marks = MarkRun::default();
    for chunk in window.utf8_chunks() {
        let valid = chunk.valid().chars().map(|c| marks.escaped(c, true));
        let invalid = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
        for piece in valid.chain(invalid) {
            if !row.push(&piece) {
                return row.end("\"");
            }
        }
    }
    row.end("\"")
}

/// A wide text of `count` UTF-16 units.
pub(super) fn quoted_wide(
    units: impl Iterator<Item = u16>,
    count: usize,
    characters: usize,
) -> String {
    let mut row = Row::new("\"", characters, &cut_after(count, "units"));
    let mut marks = MarkRun::default();
    for c in char::decode_utf16(units) {
        let piece = match c {
            Ok(c) => marks.escaped(c, true),
            Err(lone) => format!("\\u{{{:x}}}", lone.unpaired_surrogate()),
        };
        if !row.push(&piece) {
            break;
        }
    }
    row.end("\"")
}

fn cut_after(count: usize, what: &str) -> String {
    format!("…\" ({count} {what})")
}

/// A value that is put together piece by piece and ends with a note where it is cut.
pub(super) struct Row {
    text: String,
    used: usize,
    limit: usize,
    note: String,
    /// How much of the text stays if the note has to fit behind it.
    kept: usize,
    opened: usize,
    room: usize,
    is_cut: bool,
}

impl Row {
    /// Starts with `open`; `note` stands for what does not fit, without its comma if nothing else does.
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

    /// Takes another piece, if it and a closing character fit.
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

    /// Leaves out what would come next.
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
    fn nothing_that_a_terminal_obeys_comes_through() {
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
        assert_eq!(plain("a \"b\"\x1b\n", 100), "a \"b\"\\u{1b}\\n");
        assert_eq!(plain("e\u{301}", 100), "e\u{301}");
    }

    #[test]
    fn texts_are_cut_and_say_so() {
        assert_eq!(quoted(b"abcdefghij", 12), "\"abcdefghij\"");
        assert_eq!(quoted(&[b'x'; 5000], 20), "\"xxxx…\" (5000 bytes)");
        assert_eq!(plain("abcdef", 4), "abc…");
        for limit in 0..40 {
            for text in [
                "測試測試測試測試測試測試測試",
                "\x1b\x1b\x1b\x1b\x1b\x1b",
                "abc",
            ] {
                assert!(quoted(text.as_bytes(), limit).chars().count() <= limit);
                assert!(plain(text, limit).chars().count() <= limit);
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
