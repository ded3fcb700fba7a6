//! A framed list of lines over the screen. Lines that are too long are wrapped, so that everything can be read.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Widget};

use crate::bag::TopicId;
use crate::tui::model::Model;
use crate::tui::model::layers::Scroll;
use crate::tui::view::picture;

/// The frame in ASCII.
const PLAIN: border::Set<'_> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// The contents of an overlay.
pub(in crate::tui::view) struct Overlay<'a> {
    /// The title.
    pub title: String,
    /// The lines.
    pub lines: Vec<Line<'a>>,
    /// The indentation of wrapped lines.
    pub hanging_indent: usize,
    /// The line that is selected.
    pub focus: Option<usize>,
    /// The topic whose picture is shown beside the lines, or above them.
    pub picture: Option<TopicId>,
}

/// The area for lines within `place`: if it is too small there is no frame.
fn inner(place: Rect) -> Rect {
    if place.height >= 5 && place.width >= 12 {
        Rect::new(place.x + 1, place.y + 1, place.width - 2, place.height - 2)
    } else {
        place
    }
}

/// The areas of the lines and of a picture within `inner`: beside each other, below each other, or no picture.
fn split(inner: Rect) -> (Rect, Option<Rect>) {
    /// The least size of lines and picture.
    const WIDTH: u16 = 40;
    const HEIGHT: u16 = 7;
    let half = inner.width / 2;
    if half >= WIDTH {
        let lines = Rect {
            width: half,
            ..inner
        };
        let picture = Rect {
            x: inner.x + half + 1,
            width: inner.width - half - 1,
            ..inner
        };
        return (lines, Some(picture));
    }
    let half = inner.height / 2;
    if half < HEIGHT {
        return (inner, None);
    }
    let picture = Rect {
        height: half,
        ..inner
    };
    let lines = Rect {
        y: inner.y + half,
        height: inner.height - half,
        ..inner
    };
    (lines, Some(picture))
}

/// The area for lines within `place`, beside a picture or below one if there is one.
fn lines_area(place: Rect, has_picture: bool) -> Rect {
    let inner = inner(place);
    if has_picture { split(inner).0 } else { inner }
}

/// The columns that a line has in an overlay in `place`: a margin beside the frame makes text easier to read.
pub(in crate::tui::view) fn text_width(place: Rect, has_picture: bool) -> u16 {
    let lines = lines_area(place, has_picture);
    lines.width.saturating_sub(u16::from(lines.x > place.x))
}

impl Overlay<'_> {
    fn lines_place(&self, place: Rect) -> Rect {
        lines_area(place, self.picture.is_some())
    }

    /// The topic whose picture is shown, and where, if there is room.
    pub(in crate::tui::view) fn picture_place(&self, place: Rect) -> Option<(TopicId, Rect)> {
        self.picture.zip(split(inner(place)).1)
    }

    /// The last scroll position in this area.
    pub(in crate::tui::view) fn max_scroll(&self, place: Rect) -> usize {
        let height = self.lines_place(place).height;
        self.wrapped(place).len().saturating_sub(height.into())
    }

    /// The scroll position, changed as little as possible, at which the selected line is visible.
    pub(in crate::tui::view) fn scroll_to_focus(&self, scroll: Scroll, place: Rect) -> Scroll {
        let Some(focus) = self.focus else {
            return scroll;
        };
        let height = usize::from(self.lines_place(place).height);
        let above = Overlay {
            lines: self.lines.iter().take(focus).cloned().collect(),
            title: String::new(),
            ..*self
        };
        let row = above.wrapped(place).len();
        let first = scroll.first(self.wrapped(place).len(), height);
        Scroll(first.min(row).max((row + 1).saturating_sub(height)))
    }

    fn wrapped(&self, place: Rect) -> Vec<Line<'_>> {
        let width = text_width(place, self.picture.is_some());
        let wrap = |line| wrapped(line, self.hanging_indent, width.into());
        self.lines.iter().flat_map(wrap).collect()
    }

    /// Draws the lines from `scroll` on, in a frame with the title; the lower edge shows how many more lines there are.
    pub(in crate::tui::view) fn draw(
        &self,
        model: &Model,
        scroll: Scroll,
        place: Rect,
        out: &mut Buffer,
    ) {
        Clear.render(place, out);
        let has_frame = inner(place) != place;
        let inner = self.lines_place(place);
        let lines = self.wrapped(place);
        let height = usize::from(inner.height);
        let first = scroll.first(lines.len(), height);
        if has_frame {
            let set = if model.appearance.glyphs.is_ascii {
                PLAIN
            } else {
                border::ROUNDED
            };
            let mut block = Block::bordered()
                .border_set(set)
                .border_style(model.appearance.theme.dim)
                .title(format!(" {} ", self.title));
            if lines.len() > height {
                let last = (first + height).min(lines.len());
                block = block.title_bottom(format!(" {}-{last} of {} ", first + 1, lines.len()));
            }
            block.render(place, out);
        }
        for (row, line) in (inner.y..inner.bottom()).zip(lines.iter().skip(first)) {
            out.set_line(inner.x, row, line, inner.width);
        }
        if let Some((topic, place)) = self.picture_place(place) {
            picture::draw(model, topic, place, out);
        }
    }
}

/// The line, broken at blanks where possible, so that each part fits into `width` columns.
pub(in crate::tui::view) fn wrapped<'a>(
    line: &Line<'a>,
    hanging_indent: usize,
    width: usize,
) -> Vec<Line<'a>> {
    if line.width() <= width || width == 0 {
        return vec![line.clone()];
    }
    let hanging_indent = hanging_indent.min(width / 2);
    let styled = |span: &Span<'_>| {
        let style = span.style;
        span.content
            .chars()
            .map(move |letter| (letter, style))
            .collect::<Vec<_>>()
    };
    let letters: Vec<(char, Style)> = line.spans.iter().flat_map(styled).collect();
    let mut parts = Vec::new();
    let mut rest = letters.as_slice();
    while !rest.is_empty() {
        let lead = if parts.is_empty() { 0 } else { hanging_indent };
        let (part, below) = rest.split_at(fitting(rest, width - lead));
        parts.push(joined(lead, part).style(line.style));
        let blanks = below
            .iter()
            .take_while(|(letter, _)| *letter == ' ')
            .count();
        rest = &below[blanks..];
    }
    parts
}

/// How many letters fit into `room` columns: up to the last blank, unless that leaves half of it empty.
fn fitting(letters: &[(char, Style)], room: usize) -> usize {
    let mut taken = 0;
    let has_room = |(letter, _): &&(char, Style)| {
        taken += Span::raw(letter.to_string()).width();
        taken <= room
    };
    let fits = letters.iter().take_while(has_room).count().max(1);
    match letters.get(fits) {
        None | Some((' ', _)) => fits,
        Some(_) => {
            let blank = letters[..fits]
                .iter()
                .rposition(|(letter, _)| *letter == ' ');
            blank.filter(|at| *at > fits / 2).map_or(fits, |at| at + 1)
        }
    }
}

fn joined(lead: usize, letters: &[(char, Style)]) -> Line<'static> {
    let runs = letters.chunk_by(|(_, style), (_, next)| style == next);
    let spans = runs.map(|run| {
        let text: String = run.iter().map(|(letter, _)| letter).collect();
        Span::styled(text, run[0].1)
    });
    let lead = std::iter::once(Span::raw(" ".repeat(lead)));
    Line::from(lead.chain(spans).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped() {
        for (text, hanging_indent, width, parts) in [
            ("a bc def", 2, 8, &["a bc def"][..]),
            (
                "12:00 it did not go well",
                6,
                18,
                &["12:00 it did not", "      go well"],
            ),
            (
                "a-name-without-blanks",
                3,
                9,
                &["a-name-wi", "   thout-", "   blanks"],
            ),
            ("日本語", 0, 4, &["日本", "語"]),
            ("日", 0, 1, &["日"]),
            ("a b", 9, 1, &["a", "b"]),
            ("aa b", 9, 2, &["aa", " b"]),
            ("ab", 0, 0, &["ab"]),
        ] {
            let lines = wrapped(&Line::raw(text), hanging_indent, width);
            let shown: Vec<String> = lines
                .iter()
                .map(|line| line.to_string().trim_end().to_owned())
                .collect();
            assert_eq!(shown, parts, "{text}");
        }
    }
}
