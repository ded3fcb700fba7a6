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
    pub(crate) active: &'static str,
    pub(crate) idle: &'static str,
    pub(crate) muted: &'static str,
    pub(crate) left_out: &'static str,
    pub(crate) cursor: &'static str,
    pub(crate) levels: [&'static str; 9],
    pub(crate) hole: &'static str,
    pub(crate) damaged: &'static str,
    pub(crate) fold: &'static str,
    pub(crate) bar: &'static str,
    pub(crate) read_ahead: &'static str,
    pub(crate) outside: &'static str,
    pub(crate) bar_start: &'static str,
    pub(crate) bar_end: &'static str,
    pub(crate) playhead: &'static str,
    /// The playhead where a lane is empty.
    pub(crate) head: &'static str,
    pub(crate) mark: &'static str,
    pub(crate) warning: &'static str,
    pub(crate) error: &'static str,
    pub(crate) hit: &'static str,
    pub(crate) loop_start: &'static str,
    pub(crate) loop_end: &'static str,
    pub(crate) separator: &'static str,
    pub(crate) rule: &'static str,
    pub(crate) ascending: &'static str,
    pub(crate) descending: &'static str,
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
        active: "●",
        idle: "○",
        muted: "×",
        left_out: "·",
        cursor: "›",
        levels: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
        hole: "░",
        damaged: "╳",
        fold: "≈",
        bar: "─",
        read_ahead: "━",
        outside: "╌",
        bar_start: "├",
        bar_end: "┤",
        playhead: "●",
        head: "┊",
        mark: "◆",
        warning: "▵",
        error: "▴",
        hit: "▪",
        loop_start: "⟨",
        loop_end: "⟩",
        separator: " · ",
        rule: "─",
        ascending: "↑",
        descending: "↓",
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
        active: "*",
        idle: "o",
        muted: "x",
        left_out: ".",
        cursor: ">",
        levels: [" ", "_", ".", ",", "-", "=", "+", "*", "#"],
        hole: "!",
        damaged: "X",
        fold: "~",
        bar: "-",
        read_ahead: "=",
        outside: ".",
        bar_start: "|",
        bar_end: "|",
        playhead: "O",
        head: ":",
        mark: "+",
        warning: "w",
        error: "e",
        hit: "^",
        loop_start: "[",
        loop_end: "]",
        separator: " | ",
        rule: "-",
        ascending: "^",
        descending: "v",
    };
}

#[cfg(test)]
mod tests {
    use ratatui::text::Span;

    use super::*;

    #[test]
    fn every_glyph_is_one_column_wide_in_both_sets() {
        for set in [Glyphs::UNICODE, Glyphs::ASCII] {
            let cells = [
                set.playing,
                set.reverse,
                set.paused,
                set.ended,
                set.active,
                set.idle,
                set.muted,
                set.left_out,
                set.cursor,
                set.hole,
                set.damaged,
                set.fold,
                set.bar,
                set.read_ahead,
                set.outside,
                set.bar_start,
                set.bar_end,
                set.playhead,
                set.head,
                set.mark,
                set.warning,
                set.error,
                set.hit,
                set.loop_start,
                set.loop_end,
                set.rule,
                set.ascending,
                set.descending,
            ];
            for cell in cells.iter().chain(&set.levels) {
                assert_eq!(Span::raw(*cell).width(), 1, "{cell:?}");
            }
        }
    }
}
