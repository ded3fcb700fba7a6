//! [`Glyphs`]: the characters used for drawing, in Unicode and in ASCII.

/// One set of characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glyphs {
    /// Whether it is the ASCII set.
    pub is_ascii: bool,
    pub(crate) playing: &'static str,
    pub(crate) reverse: &'static str,
    pub(crate) paused: &'static str,
    pub(crate) waiting: &'static str,
    pub(crate) ended: &'static str,
    pub(crate) times: &'static str,
    pub(crate) minus: &'static str,
    pub(crate) dash: &'static str,
    pub(crate) dots: &'static str,
    pub(crate) live: &'static str,
    pub(crate) quiet: &'static str,
    pub(crate) muted: &'static str,
    pub(crate) left_out: &'static str,
    pub(crate) cursor: &'static str,
    pub(crate) levels: [&'static str; 9],
    pub(crate) bar: &'static str,
    pub(crate) ahead: &'static str,
    pub(crate) outside: &'static str,
    pub(crate) first: &'static str,
    pub(crate) last: &'static str,
    pub(crate) head: &'static str,
    pub(crate) mark: &'static str,
    pub(crate) a: &'static str,
    pub(crate) b: &'static str,
    pub(crate) separator: &'static str,
    pub(crate) rule: &'static str,
}

impl Glyphs {
    /// For terminals that can show Unicode.
    pub const UNICODE: Self = Self {
        is_ascii: false,
        playing: "▶",
        reverse: "◀",
        paused: "‖",
        waiting: "…",
        ended: "■",
        times: "×",
        minus: "−",
        dash: "–",
        dots: "…",
        live: "●",
        quiet: "○",
        muted: "×",
        left_out: "·",
        cursor: "›",
        levels: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
        bar: "─",
        ahead: "━",
        outside: "╌",
        first: "├",
        last: "┤",
        head: "●",
        mark: "◆",
        a: "⟨",
        b: "⟩",
        separator: " · ",
        rule: "─",
    };

    /// For all others.
    pub const ASCII: Self = Self {
        is_ascii: true,
        playing: ">",
        reverse: "<",
        paused: "=",
        waiting: "~",
        ended: "#",
        times: "x",
        minus: "-",
        dash: "-",
        dots: "..",
        live: "*",
        quiet: "o",
        muted: "x",
        left_out: ".",
        cursor: ">",
        levels: [" ", "_", ".", ",", "-", "=", "+", "*", "#"],
        bar: "-",
        ahead: "=",
        outside: ".",
        first: "|",
        last: "|",
        head: "O",
        mark: "+",
        a: "[",
        b: "]",
        separator: " | ",
        rule: "-",
    };
}

#[cfg(test)]
mod tests {
    use ratatui::text::Span;

    use super::*;

    #[test]
    fn a_picture_takes_one_column_a_glyph_in_both_sets() {
        for set in [Glyphs::UNICODE, Glyphs::ASCII] {
            let cells = [
                set.playing,
                set.reverse,
                set.paused,
                set.ended,
                set.live,
                set.quiet,
                set.muted,
                set.left_out,
                set.cursor,
                set.bar,
                set.ahead,
                set.outside,
                set.first,
                set.last,
                set.head,
                set.mark,
                set.a,
                set.b,
                set.rule,
            ];
            for cell in cells.iter().chain(&set.levels) {
                assert_eq!(Span::raw(*cell).width(), 1, "{cell:?}");
            }
        }
    }
}
