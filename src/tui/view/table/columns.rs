//! The columns of the table of topics: which are shown, and where. Columns that do not fit are left out, the least
//! important first; the name always stays.

use std::ops::Range;

use ratatui::text::Span;

use crate::tui::model::Model;
use crate::tui::model::layout::Layout;
use crate::tui::model::parts::{SortBy, TopicRow};

/// The columns besides the name, in the order of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::tui::view) enum Column {
    Type,
    Hertz,
    Megabytes,
    Sent,
    Subscribers,
    Late,
    Density,
}

impl Column {
    /// All columns, in the order of the screen.
    const ALL: [Self; 7] = [
        Self::Type,
        Self::Hertz,
        Self::Megabytes,
        Self::Sent,
        Self::Subscribers,
        Self::Late,
        Self::Density,
    ];
    /// The most important first.
    const BY_IMPORTANCE: [Self; 7] = [
        Self::Hertz,
        Self::Sent,
        Self::Subscribers,
        Self::Density,
        Self::Late,
        Self::Megabytes,
        Self::Type,
    ];
    /// The least width of the name when the type is shown.
    const WIDE_NAME: u16 = 28;
    /// The least width of the lanes when the type is shown.
    const WIDE_LANE: u16 = 24;

    /// How wide the name must be for this column to be shown.
    const fn min_name_width(self) -> u16 {
        match self {
            Self::Hertz | Self::Sent | Self::Subscribers => 18,
            Self::Density => 22,
            Self::Late => Self::WIDE_NAME,
            Self::Type | Self::Megabytes => Self::WIDE_NAME + 6,
        }
    }

    /// The width, for the density the least one.
    const fn width(self) -> u16 {
        match self {
            Self::Density => 12,
            Self::Type => 20,
            Self::Hertz => 14,
            Self::Megabytes => 7,
            Self::Sent => 17,
            Self::Subscribers | Self::Late => 6,
        }
    }

    pub(in crate::tui::view) const fn title(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Hertz => "Hz now /   rec",
            Self::Megabytes => "MB/s",
            Self::Sent => "sent /  in bag",
            Self::Subscribers => "subs",
            Self::Late => "late",
            Self::Density => "density",
        }
    }

    /// The words of its title, and what a click on each of them sorts by.
    const fn heads(self) -> &'static [(&'static str, SortBy)] {
        match self {
            Self::Type => &[("type", SortBy::Type)],
            Self::Hertz => &[("Hz now", SortBy::HertzNow), ("rec", SortBy::HertzRecorded)],
            Self::Megabytes => &[("MB/s", SortBy::Megabytes)],
            Self::Sent => &[("sent", SortBy::Sent), ("in bag", SortBy::InBag)],
            Self::Subscribers => &[("subs", SortBy::Subscribers)],
            Self::Late => &[("late", SortBy::Late)],
            Self::Density => &[],
        }
    }

    pub(in crate::tui::view) const fn is_left_aligned(self) -> bool {
        matches!(self, Self::Type | Self::Density)
    }
}

/// Where the columns are: the width of the name, and the start and width of each other column.
pub(in crate::tui::view) struct Columns {
    pub(in crate::tui::view) name: u16,
    pub(in crate::tui::view) others: Vec<(Column, u16, u16)>,
    /// Of the lanes, if there is room for them.
    pub(in crate::tui::view) density: Option<(u16, u16)>,
}

/// The head of a column, or of a part of one.
pub(in crate::tui::view) struct Head {
    pub(in crate::tui::view) by: SortBy,
    /// Its columns on the screen, from that of the arrow on.
    pub(in crate::tui::view) columns: Range<u16>,
}

/// The activity dot and the cursor before the name.
pub(in crate::tui::view) const LEAD: u16 = 3;
/// Notes after a name.
const LATCHED: &str = "  (latched)";
pub(in crate::tui::view) const MUTED: &str = "  (muted)";
const NOT_PLAYED: &str = "  (not played)";

impl Columns {
    /// Without a row of titles, only columns that need no title are shown.
    pub(in crate::tui::view) fn new(model: &Model, layout: &Layout) -> Self {
        let place = layout.table;
        let mut room = place.width.saturating_sub(LEAD);
        let mut taken = Vec::new();
        for column in Column::BY_IMPORTANCE {
            if layout.titles.height == 0 && column != Column::Hertz {
                continue;
            }
            if room > column.min_name_width() + column.width() {
                room -= column.width() + 1;
                taken.push(column);
            }
        }
        // Whole names matter more than these columns; a topic's card has the type, too.
        let widest = WidestTexts::of(model);
        let lanes = Column::Density.width() + room.saturating_sub(widest.muted);
        let are_lanes_short = taken.contains(&Column::Density) && lanes < Column::WIDE_LANE;
        for column in [Column::Type, Column::Megabytes] {
            let is_too_wide = column == Column::Type && are_lanes_short;
            if (room < widest.name || is_too_wide) && taken.contains(&column) {
                taken.retain(|known| *known != column);
                room += column.width() + 1;
            }
        }
        // No column is wider than necessary: the numbers of a row are easier to read close to its name.
        let (name, more) = if taken.contains(&Column::Type) {
            let name = widest.name.clamp(Column::WIDE_NAME, room);
            let wanted = widest.type_name.saturating_sub(Column::Type.width());
            let more = wanted.min(room - name);
            // Muting a topic moves no column, if there is room.
            (widest.muted.clamp(name, room - more), more)
        } else if taken.contains(&Column::Density) {
            (
                widest.muted.clamp(Column::Density.min_name_width(), room),
                0,
            )
        } else {
            (room, 0)
        };
        // The density takes what is left.
        let rest = room - name - more;
        let mut at = place.x + LEAD + name;
        let (mut others, mut density) = (Vec::new(), None);
        for column in Column::ALL
            .into_iter()
            .filter(|column| taken.contains(column))
        {
            let width = match column {
                Column::Type => column.width() + more,
                Column::Density => column.width() + rest,
                _ => column.width(),
            };
            if column == Column::Density {
                density = Some((at + 1, width));
            } else {
                others.push((column, at + 1, width));
            }
            at += 1 + width;
        }
        Self {
            name,
            others,
            density,
        }
    }
}

impl Columns {
    /// The heads of what the table can be sorted by.
    pub(in crate::tui::view) fn heads(&self) -> Vec<Head> {
        let name = Head {
            by: SortBy::Name,
            columns: LEAD - 1..LEAD + self.name,
        };
        let others = self.others.iter().flat_map(|(column, at, width)| {
            let title = column.title();
            let letters = |text: &str| u16::try_from(text.len()).unwrap_or(u16::MAX);
            let start = if column.is_left_aligned() {
                *at
            } else {
                at + width.saturating_sub(letters(title))
            };
            column.heads().iter().map(move |(word, by)| {
                let before = title.find(word).map_or("", |at| &title[..at]);
                let from = start + letters(before);
                let until = if column.is_left_aligned() {
                    at + width
                } else {
                    from + letters(word)
                };
                Head {
                    by: *by,
                    columns: from.saturating_sub(1)..until,
                }
            })
        });
        std::iter::once(name).chain(others).collect()
    }
}

/// The widths that the longest texts of each column need.
struct WidestTexts {
    /// Names with their notes.
    name: u16,
    /// Names with their notes if all topics were muted.
    muted: u16,
    type_name: u16,
}

impl WidestTexts {
    fn of(model: &Model) -> Self {
        let widest = |width: &dyn Fn(&TopicRow) -> usize| {
            let widths = model.rows.iter().map(width);
            u16::try_from(widths.max().unwrap_or(0)).unwrap_or(u16::MAX)
        };
        let noted = |row: &TopicRow, note: &str| Span::raw(&row.name).width() + note.len();
        Self {
            name: widest(&|row| noted(row, fixed_note(model, row))),
            muted: widest(&|row| noted(row, MUTED)),
            type_name: widest(&|row| Span::raw(shown_type(model, row)).width()),
        }
    }
}

/// The note after a name, except for the note on muting.
pub(in crate::tui::view) fn fixed_note(model: &Model, row: &TopicRow) -> &'static str {
    if row.left_out.is_some() {
        NOT_PLAYED
    } else if model.topic(row.id).is_some_and(|topic| topic.is_latched) {
        LATCHED
    } else {
        ""
    }
}

pub(in crate::tui::view) fn shown_type(model: &Model, row: &TopicRow) -> String {
    let topic = model.topic(row.id);
    topic
        .map_or("", |topic| topic.type_name())
        .replace("/msg/", "/")
}
