//! [`Layout`]: the areas of a screen of any size, from 200×50 down to one line.

use ratatui::layout::Rect;

/// Columns and rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// The limit of columns and of rows: a terminal that reports more is no usable screen, and its cells would fill the
/// memory.
const MAX_SIDE: u16 = 1_000;

impl Size {
    /// The size to draw on a terminal of so many columns and rows.
    pub(crate) fn of_terminal(columns: u16, rows: u16) -> Self {
        Self {
            width: columns.min(MAX_SIDE),
            height: rows.min(MAX_SIDE),
        }
    }
}

/// The areas; one of no height is not shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Layout {
    /// State and times.
    pub header: Rect,
    /// The density of the whole recording, while the lane shows less.
    pub overview: Rect,
    /// The density of the range that the bar shows.
    pub lane: Rect,
    /// The bar.
    pub bar: Rect,
    /// The titles of the table.
    pub titles: Rect,
    /// The topics.
    pub table: Rect,
    /// The last log lines.
    pub log: Rect,
    /// Keys, or the input line.
    pub footer: Rect,
}

impl Layout {
    /// Below this width the header has two lines, if there are enough rows: it seldom fits into one.
    const WIDE: u16 = 130;

    /// The areas of a screen of this size.
    pub(crate) fn new(size: Size, is_zoomed: bool) -> Self {
        let Size { width, height } = size;
        let header = match height {
            0 => 0,
            8.. if width < Self::WIDE => 2,
            _ => 1,
        };
        let bar = u16::from(height >= 2);
        let lane = match height {
            40.. => 3,
            20.. => 2,
            3.. => 1,
            _ => 0,
        };
        let overview = u16::from(is_zoomed && height >= 6);
        let footer = u16::from(height >= 4);
        let rest = height.saturating_sub(header + bar + lane + overview + footer);
        let log = match rest {
            0..=1 => 0,
            2..=8 => 1,
            9..=13 => 2,
            14..=27 => 4,
            _ => 6,
        };
        let margin = u16::from(rest >= 10);
        let titles = u16::from(rest >= 5);
        let table = rest.saturating_sub(log + titles + 2 * margin);
        let mut top = 0;
        let mut take = |rows: u16| {
            let place = Rect::new(0, top, width, rows);
            top += rows;
            place
        };
        let (header, overview, lane, bar) = (take(header), take(overview), take(lane), take(bar));
        take(margin);
        let (titles, table) = (take(titles), take(table));
        take(margin);
        let (log, footer) = (take(log), take(footer));
        Self {
            header,
            overview,
            lane,
            bar,
            titles,
            table,
            log,
            footer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_terminal_is_limited() {
        for (reported, drawn) in [
            ((0, 0), (0, 0)),
            ((200, 50), (200, 50)),
            ((65_535, 50), (1_000, 50)),
            ((80, 65_535), (80, 1_000)),
        ] {
            let size = Size::of_terminal(reported.0, reported.1);
            assert_eq!((size.width, size.height), drawn);
        }
    }

    #[test]
    fn areas_do_not_overlap_and_use_all_rows_at_any_size() {
        for height in 0..80 {
            for width in [1, 20, 40, 80, 99, 100, 200] {
                for is_zoomed in [false, true] {
                    let it = Layout::new(Size { width, height }, is_zoomed);
                    let places = [
                        it.header,
                        it.overview,
                        it.lane,
                        it.bar,
                        it.titles,
                        it.table,
                        it.log,
                        it.footer,
                    ];
                    let mut below = 0;
                    for place in places {
                        assert!(place.y >= below, "{height} rows: {it:?}");
                        below = place.bottom();
                    }
                    assert_eq!(below, height, "{it:?}");
                    if height >= 1 {
                        assert!(it.header.height >= 1);
                    }
                    if height >= 5 {
                        assert!(it.table.height >= 1 || is_zoomed, "{height} rows: {it:?}");
                    }
                }
            }
        }
    }
}
