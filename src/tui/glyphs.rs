//! [`Glyphs`]: the characters that pictures are made of, in Unicode and in ASCII.

/// One set of characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glyphs {
    /// Whether it is the plain one.
    pub is_ascii: bool,
    pub(super) playing: &'static str,
    pub(super) reverse: &'static str,
    pub(super) paused: &'static str,
    pub(super) waiting: &'static str,
    pub(super) ended: &'static str,
    pub(super) times: &'static str,
    pub(super) minus: &'static str,
    pub(super) dash: &'static str,
    pub(super) dots: &'static str,
    pub(super) live: &'static str,
    pub(super) quiet: &'static str,
    pub(super) muted: &'static str,
    pub(super) left_out: &'static str,
    pub(super) cursor: &'static str,
    pub(super) levels: [&'static str; 9],
    pub(super) bar: &'static str,
    pub(super) ahead: &'static str,
    pub(super) outside: &'static str,
    pub(super) first: &'static str,
    pub(super) last: &'static str,
    pub(super) head: &'static str,
    pub(super) mark: &'static str,
    pub(super) a: &'static str,
    pub(super) b: &'static str,
    pub(super) separator: &'static str,
    pub(super) rule: &'static str,
}

impl Glyphs {
    /// For terminals that can show it.
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
