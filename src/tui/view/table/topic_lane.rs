//! The lane of one topic in its row of the table: its density and its holes over the part of the recording that the bar
//! shows.

use std::ops::RangeInclusive;

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use crate::time::{Duration, TimeRange};
use crate::tui::model::Model;
use crate::tui::model::parts::TopicRow;
use crate::tui::model::timeline::axis::Axis;
use crate::tui::model::timeline::lane::Shares;

/// The columns of the lanes of all topics, and how the parts of their densities are distributed over them.
pub(in crate::tui::view) struct LaneColumns {
    axis: Axis,
    /// `None` while no density is known.
    shares: Option<Shares>,
}

impl LaneColumns {
    /// For lanes of `width` columns, from `left` on.
    pub(in crate::tui::view) fn new(model: &Model, (left, width): (u16, u16)) -> Self {
        let range = model.window.range();
        let axis = model.axis(range, left, width);
        let shares = model.lane().map(|lane| lane.shares(axis));
        Self { axis, shares }
    }
}

/// Draws the lane of a topic. `style` is that of its row.
pub(in crate::tui::view) fn draw(
    model: &Model,
    row: &TopicRow,
    columns: &LaneColumns,
    y: u16,
    style: Style,
    out: &mut Buffer,
) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let axis = columns.axis;
    let Some((lane, shares)) = model.lane().zip(columns.shares.as_ref()) else {
        return;
    };
    let head = axis.column(model.playhead());
    let shown = lane.columns_of(row.id.index(), shares);
    for (column, shown) in (axis.left..axis.left + axis.width).zip(shown) {
        let cell = &mut out[(column, y)];
        cell.set_symbol(glyphs.levels[usize::from(shown.level.min(8))]);
        cell.set_style(theme.density(shown.density).patch(style));
        if head == Some(column) && shown.level == 0 {
            cell.set_symbol(glyphs.head);
        }
    }
    let recording = model.facts.recording;
    for hole in model.holes_of(row.id, axis.range) {
        for column in columns_of(hole, axis, recording) {
            let cell = &mut out[(column, y)];
            cell.set_symbol(glyphs.hole)
                .set_style(theme.hole.patch(style));
        }
    }
    for part in model.damaged.within(axis.range, Some(row.id)) {
        for column in damaged_columns(part, axis) {
            let cell = &mut out[(column, y)];
            cell.set_symbol(glyphs.damaged)
                .set_style(theme.damage.patch(style));
        }
    }
    if let Some(column) = head {
        out[(column, y)].set_style(theme.accent);
    }
}

/// The columns that show damage at these times of the axis: all that it touches.
pub(in crate::tui::view) fn damaged_columns(part: TimeRange, axis: Axis) -> RangeInclusive<u16> {
    axis.nearest_column(part.start())..=axis.nearest_column(part.stop())
}

/// The columns that show a hole: at least one, so that even a short hole is seen; otherwise not those at its ends, in
/// which there are messages, unless an end is the start or the end of the recording.
pub(in crate::tui::view) fn columns_of(
    hole: TimeRange,
    axis: Axis,
    recording: TimeRange,
) -> impl Iterator<Item = u16> {
    let shown = hole.intersection(axis.range);
    let shown = shown.filter(|shown| axis.width > 0 && shown.duration() > Duration::ZERO);
    let columns = shown.map(|shown| {
        let [first, last] = [shown.start(), shown.stop()].map(|end| axis.nearest_column(end));
        let has_message_before = shown.start() == hole.start() && hole.start() != recording.start();
        let has_message_after = shown.stop() == hole.stop() && hole.stop() != recording.stop();
        let from = first + u16::from(has_message_before);
        let to = last.saturating_sub(u16::from(has_message_after));
        if from <= to { from..=to } else { first..=first }
    });
    columns.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange::between(Time::from_millis(from), Time::from_millis(to))
    }

    #[test]
    fn a_hole_takes_the_columns_without_messages_and_at_least_one() {
        // A column is 10 ms.
        let columns = |hole, width| {
            let axis = Axis::plain(range(100, 200), 5, width);
            columns_of(hole, axis, range(0, 300)).collect::<Vec<u16>>()
        };
        for (hole, shown) in [
            (range(125, 165), vec![8, 9, 10]),
            // Cut by the window on the left, on the right, and on both sides.
            (range(50, 125), vec![5, 6]),
            (range(175, 250), vec![13, 14]),
            (range(50, 250), (5..15).collect()),
            (range(0, 300), (5..15).collect()),
            // Shorter than a column, and over the border of two.
            (range(122, 124), vec![7]),
            (range(128, 132), vec![7]),
            // Outside, and touching.
            (range(0, 50), vec![]),
            (range(50, 100), vec![]),
        ] {
            assert_eq!(columns(hole, 10), shown, "{hole:?}");
        }
        assert_eq!(columns(range(120, 180), 0), [0_u16; 0]);
        // At the start and the end of the recording there is no message.
        let whole = Axis::plain(range(0, 300), 0, 10);
        let of_whole = |hole| columns_of(hole, whole, whole.range).collect::<Vec<u16>>();
        assert_eq!(of_whole(range(0, 90)), [0, 1, 2]);
        assert_eq!(of_whole(range(210, 300)), [8, 9]);
    }
}
