//! [`Layout`]: the areas of a screen of any size, from 200×50 down to one line.

use ratatui::layout::Rect;

/// Columns and rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// How much is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Detail {
    Full,
    /// For a slow line: times have tenths of seconds, and pictures are left out.
    Reduced,
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

/// What shares the rows between the bar and the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableRows {
    /// The number of topics.
    pub topics: usize,
    /// The number of watched fields; a picture counts twice.
    pub pins: usize,
    /// The number of rows that the lines of the event log take.
    pub log: usize,
}

impl TableRows {
    /// Below this height there is no room for watched fields.
    const LEAST: u16 = 8;
    /// The height of a watched field at which the table begins to give way.
    const OF_PIN: u16 = 5;

    /// How many of `rows` rows the watched fields get: those that the table leaves free, and more if they need it, up
    /// to half.
    fn watch(self, rows: u16) -> u16 {
        if self.pins == 0 || rows < Self::LEAST {
            return 0;
        }
        let topics = u16::try_from(self.topics).unwrap_or(u16::MAX);
        let pins = u16::try_from(self.pins).unwrap_or(u16::MAX);
        let needed = pins.saturating_mul(Self::OF_PIN).min(rows / 2);
        rows.saturating_sub(topics).max(needed)
    }

    /// How many of the `log` rows of the event log the table gets, if it has `table` rows: as many as it lacks, and no
    /// row that a line of the log needs.
    fn of_log(self, table: u16, log: u16) -> u16 {
        let shown = table - self.watch(table);
        let topics = u16::try_from(self.topics).unwrap_or(u16::MAX);
        let needed = u16::try_from(self.log.max(1)).unwrap_or(u16::MAX);
        let free = log.saturating_sub(needed);
        topics.saturating_sub(shown).min(free)
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
    /// Messages that were found, under the bar.
    pub events: Rect,
    /// The titles of the table.
    pub titles: Rect,
    /// The topics.
    pub table: Rect,
    /// The watched fields.
    pub watch: Rect,
    /// The last log lines.
    pub log: Rect,
    /// Keys, or the input line.
    pub footer: Rect,
}

impl Layout {
    /// Below this width the header has two lines, if there are enough rows: it seldom fits into one.
    const WIDE: u16 = 130;

    /// The areas of a screen of this size.
    pub(crate) fn new(size: Size, is_zoomed: bool, shared: TableRows) -> Self {
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
        let more = shared.of_log(table, log);
        let (table, log) = (table + more, log - more);
        let watch = shared.watch(table);
        let table = table - watch;
        let mut top = 0;
        let mut take = |rows: u16| {
            let place = Rect::new(0, top, width, rows);
            top += rows;
            place
        };
        let (header, overview, lane, bar) = (take(header), take(overview), take(lane), take(bar));
        let events = take(margin);
        let (titles, table, watch) = (take(titles), take(table), take(watch));
        take(margin);
        let (log, footer) = (take(log), take(footer));
        Self {
            header,
            overview,
            lane,
            bar,
            events,
            titles,
            table,
            watch,
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
        let sizes = (0..80).flat_map(|height| {
            let widths = [1, 20, 40, 80, 99, 100, 200];
            widths.map(|width| Size { width, height })
        });
        let shared = [(0, 0, 0), (5, 0, 1), (5, 1, 9), (500, 3, 0), (5, 8, 2)];
        for size in sizes {
            for (topics, pins, log) in shared {
                for is_zoomed in [false, true] {
                    check(size, is_zoomed, TableRows { topics, pins, log });
                }
            }
        }
    }

    fn check(size: Size, is_zoomed: bool, shared: TableRows) {
        let it = Layout::new(size, is_zoomed, shared);
        let places = [
            it.header,
            it.overview,
            it.lane,
            it.bar,
            it.events,
            it.titles,
            it.table,
            it.watch,
            it.log,
            it.footer,
        ];
        let mut below = 0;
        for place in places {
            assert!(place.y >= below, "{it:?}");
            below = place.bottom();
        }
        assert_eq!(below, size.height, "{it:?}");
        if size.height >= 1 {
            assert!(it.header.height >= 1);
        }
        if size.height >= 5 {
            assert!(it.table.height >= 1 || is_zoomed, "{it:?}");
        }
        // What is watched does not hide the topics.
        if it.watch.height > 0 {
            assert!(it.table.height >= 4, "{it:?}");
        }
    }

    #[test]
    fn a_table_that_is_cut_gets_the_rows_of_the_log_that_no_line_needs() {
        let size = Size {
            width: 80,
            height: 24,
        };
        let rows = |topics, log| {
            let pins = 0;
            let it = Layout::new(size, false, TableRows { topics, pins, log });
            (it.table.height, it.log.height)
        };
        assert_eq!(rows(11, 0), (11, 4));
        // One row is kept for the next line.
        for (log, expected) in [(0, (14, 1)), (1, (14, 1)), (3, (12, 3)), (9, (11, 4))] {
            assert_eq!(rows(50, log), expected, "{log}");
        }
        assert_eq!(rows(12, 1), (12, 3));
    }

    #[test]
    fn watched_fields_get_the_rows_that_the_topics_leave_free() {
        let rows = |topics, pins, rows| {
            let shared = TableRows {
                topics,
                pins,
                log: 0,
            };
            shared.watch(rows)
        };
        assert_eq!(rows(9, 0, 30), 0);
        assert_eq!(rows(9, 1, 30), 21);
        // A long table gives way.
        assert_eq!(rows(100, 1, 30), 5);
        assert_eq!(rows(100, 8, 30), 15);
        assert_eq!(rows(100, 1, 7), 0);
    }
}
