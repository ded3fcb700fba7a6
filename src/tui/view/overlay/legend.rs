//! The legend: what each symbol on the bar, on the lanes and in the table means. The help shows it, and the user guide
//! has it as a table.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::model::Model;
use crate::tui::model::glyphs::Glyphs;
use crate::tui::model::theme::style::Theme;

/// A part of a symbol: its text in a set of glyphs, and its style in a theme.
type Part = (fn(&Glyphs) -> &'static str, fn(&Theme) -> Style);

/// One row: symbols that belong together, and what they mean.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    parts: &'static [Part],
    /// What they mean, in their order.
    pub meaning: &'static str,
    /// Whether they occur in `play attach`, too.
    is_in_attach: bool,
}

impl Symbol {
    /// They need the recording, or what only the player's own process knows.
    const fn not_in_attach(self) -> Self {
        Self {
            is_in_attach: false,
            ..self
        }
    }

    /// The symbols in a set of glyphs, separated by blanks.
    pub fn text(&self, glyphs: &Glyphs) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|(text, _)| text(glyphs)).collect();
        parts.join(" ")
    }

    /// Whether only colours tell its parts apart, and the theme has none.
    fn is_unreadable(&self, glyphs: &Glyphs, theme: &Theme) -> bool {
        let mut looks = self
            .parts
            .iter()
            .map(|(text, style)| (text(glyphs), style(theme)));
        let first = looks.next();
        self.parts.len() > 1 && looks.all(|look| Some(look) == first)
    }
}

const fn symbol(parts: &'static [Part], meaning: &'static str) -> Symbol {
    Symbol {
        parts,
        meaning,
        is_in_attach: true,
    }
}

/// The symbols, in groups with a title.
#[rustfmt::skip]
pub const SYMBOLS: &[(&str, &[Symbol])] = &[
    ("Symbols on the bar and the lanes", &[
        symbol(&[(|it| it.levels[2], |it| it.usual_density), (|it| it.levels[5], |it| it.usual_density), (|it| it.levels[8], |it| it.usual_density)],
            "few, usual, many messages at this time"),
        symbol(&[(|it| it.levels[5], |it| it.low_density), (|it| it.levels[5], |it| it.usual_density), (|it| it.levels[5], |it| it.high_density)],
            "under half, about, over 1.5 times the usual"),
        symbol(&[(|it| it.hole, |it| it.hole)], "hole: no messages for longer than usual").not_in_attach(),
        symbol(&[(|it| it.damaged, |it| it.damage)], "damage: messages that cannot be read").not_in_attach(),
        symbol(&[(|it| it.fold, |it| it.hole)], "a long time without messages, left out").not_in_attach(),
        symbol(&[(|it| it.playhead, |it| it.accent), (|it| it.head, |it| it.accent)], "playhead, on the bar and on a lane"),
        symbol(&[(|it| it.read_ahead, |it| it.read_ahead), (|it| it.outside, |it| it.dim)], "read ahead; not played"),
        symbol(&[(|it| it.loop_start, |it| it.ab_loop), (|it| it.loop_end, |it| it.ab_loop)], "A and B of the loop"),
        symbol(&[(|it| it.mark, |it| it.mark)], "mark"),
        symbol(&[(|it| it.hit, |it| it.mark)], "message found").not_in_attach(),
        symbol(&[(|it| it.warning, |it| it.warning), (|it| it.error, |it| it.error)], "warning, error that a node reported").not_in_attach(),
    ]),
    ("Symbols in the table", &[
        symbol(&[(|it| it.active, |it| it.playing), (|it| it.idle, |it| it.dim)], "messages sent just now, also by a step; none"),
        symbol(&[(|it| it.hole, |it| it.hole), (|it| it.damaged, |it| it.damage)], "the topic has a hole, damage at the playhead").not_in_attach(),
        symbol(&[(|it| it.muted, |it| it.dim), (|it| it.left_out, |it| it.dim)], "muted; not played"),
        symbol(&[(|it| it.waiting, |it| it.warning)], "a subscriber of the topic is waited for").not_in_attach(),
        symbol(&[(|_| "~9.5", |_| Style::new())], "mean over the recording: no steady rate"),
        symbol(&[(|_| "5+2", |_| Style::new())], "5 messages sent, 2 latched ones sent again"),
        symbol(&[(|_| "12+3!", |it| it.warning)], "12 messages were late, 3 could not be sent"),
    ]),
];

/// The groups as lines: symbols in a column of this width, then their meaning.
pub(super) fn groups(model: &Model, width: usize) -> Vec<Vec<Line<'static>>> {
    let (glyphs, theme) = (&model.appearance.glyphs, &model.appearance.theme);
    let line = |symbol: &Symbol| {
        let mut spans = vec![Span::raw("  ")];
        for (text, style) in symbol.parts {
            spans.push(Span::styled(text(glyphs), style(theme)));
            spans.push(Span::raw(" "));
        }
        let mut line = Line::from(spans);
        let gap = (width + 3).saturating_sub(line.width());
        line.push_span(" ".repeat(gap) + symbol.meaning);
        line
    };
    let group = |(title, symbols): &(&'static str, &[Symbol])| {
        let title = Line::from(Span::styled(format!(" {title}"), theme.title));
        let shown = symbols.iter().filter(|symbol| {
            let occurs = symbol.is_in_attach || !model.facts.is_elsewhere;
            occurs && !symbol.is_unreadable(glyphs, theme)
        });
        std::iter::once(title).chain(shown.map(line)).collect()
    };
    SYMBOLS.iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_of_the_bar_the_lanes_and_the_table_has_a_meaning() {
        for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
            let explained: Vec<String> = SYMBOLS
                .iter()
                .flat_map(|(_, symbols)| symbols.iter())
                .flat_map(|symbol| symbol.parts.iter())
                .map(|(text, _)| text(&glyphs).to_owned())
                .collect();
            for glyph in [
                glyphs.hole,
                glyphs.damaged,
                glyphs.fold,
                glyphs.read_ahead,
                glyphs.outside,
                glyphs.playhead,
                glyphs.head,
                glyphs.mark,
                glyphs.warning,
                glyphs.error,
                glyphs.hit,
                glyphs.loop_start,
                glyphs.loop_end,
                glyphs.active,
                glyphs.idle,
                glyphs.muted,
                glyphs.left_out,
                glyphs.waiting,
            ] {
                assert!(explained.iter().any(|it| it == glyph), "{glyph}");
            }
        }
    }

    #[test]
    fn colours_are_explained_where_there_are_colours() {
        let colours = SYMBOLS[0].1[1];
        assert!(colours.is_unreadable(&Glyphs::UNICODE, &Theme::PLAIN));
        let others = SYMBOLS.iter().flat_map(|(_, symbols)| symbols.iter());
        let unreadable = others.filter(|it| it.is_unreadable(&Glyphs::ASCII, &Theme::PLAIN));
        assert_eq!(unreadable.count(), 1);
    }
}
