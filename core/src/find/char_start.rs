//! [`char_start`]: where a text may be split.

/// The start of the character at this byte; the length of the text if that is shorter.
pub(super) fn char_start(text: &str, at: usize) -> usize {
    let starts = (0..=at.min(text.len())).rev();
    let mut starts = starts.filter(|at| text.is_char_boundary(*at));
    starts.next().unwrap_or(0)
}
