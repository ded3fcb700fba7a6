//! The table of topics. Columns that do not fit are left out, the least important first; the name always stays.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use super::words;
use crate::player::{State, TopicCounts};
use crate::tui::model::Model;
use crate::tui::model::layout::Layout;
use crate::tui::model::meters::TopicRate;
use crate::tui::model::parts::TopicRow;

/// The columns besides the name, in the order of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    Type,
    Hertz,
    Megabytes,
    Sent,
    Subscribers,
    Late,
}

impl Column {
    /// All columns, in the order of the screen.
    const ALL: [Self; 6] = [
        Self::Type,
        Self::Hertz,
        Self::Megabytes,
        Self::Sent,
        Self::Subscribers,
        Self::Late,
    ];
    /// The most important first.
    const BY_IMPORTANCE: [Self; 6] = [
        Self::Hertz,
        Self::Sent,
        Self::Subscribers,
        Self::Late,
        Self::Megabytes,
        Self::Type,
    ];
    /// The least width of the name when the type is shown.
    const WIDE_NAME: u16 = 28;

    /// How wide the name must be for this column to be shown.
    const fn min_name_width(self) -> u16 {
        match self {
            Self::Hertz | Self::Sent | Self::Subscribers => 18,
            Self::Late => Self::WIDE_NAME,
            Self::Type | Self::Megabytes => Self::WIDE_NAME + 6,
        }
    }

    const fn width(self) -> u16 {
        match self {
            Self::Type => 20,
            Self::Hertz => 14,
            Self::Megabytes => 7,
            Self::Sent => 17,
            Self::Subscribers | Self::Late => 6,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Hertz => "Hz now /   rec",
            Self::Megabytes => "MB/s",
            Self::Sent => "sent /  in bag",
            Self::Subscribers => "subs",
            Self::Late => "late",
        }
    }

    const fn is_left_aligned(self) -> bool {
        matches!(self, Self::Type)
    }
}

/// Where the columns are: the width of the name, and the start and width of each other column.
struct Columns {
    name: u16,
    others: Vec<(Column, u16, u16)>,
}

/// The activity dot and the cursor before the name.
const LEAD: u16 = 3;
/// Notes after a name.
const LATCHED: &str = "  (latched)";
const MUTED: &str = "  (muted)";
const NOT_PLAYED: &str = "  (not played)";

impl Columns {
    /// Without a row of titles, only columns that need no title are shown.
    fn new(model: &Model, layout: &Layout) -> Self {
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
        for column in [Column::Type, Column::Megabytes] {
            if room < widest.name && taken.contains(&column) {
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
        } else {
            (room, 0)
        };
        let mut at = place.x + LEAD + name;
        let mut others = Vec::new();
        for column in Column::ALL
            .into_iter()
            .filter(|column| taken.contains(column))
        {
            let width = column.width() + if column == Column::Type { more } else { 0 };
            others.push((column, at + 1, width));
            at += 1 + width;
        }
        Self { name, others }
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
fn fixed_note(model: &Model, row: &TopicRow) -> &'static str {
    if row.left_out.is_some() {
        NOT_PLAYED
    } else if model.topic(row.id).is_some_and(|topic| topic.is_latched) {
        LATCHED
    } else {
        ""
    }
}

fn shown_type(model: &Model, row: &TopicRow) -> String {
    let topic = model.topic(row.id);
    topic
        .map_or("", |topic| topic.type_name())
        .replace("/msg/", "/")
}

pub(super) fn draw(model: &Model, layout: &Layout, out: &mut Buffer) {
    let columns = Columns::new(model, layout);
    if layout.titles.height > 0 {
        draw_titles(model, &columns, layout, out);
    }
    let height = usize::from(layout.table.height);
    let rows = model.shown_rows().enumerate().skip(model.top).take(height);
    let mut is_empty = true;
    for (place, (at, row)) in (layout.table.y..).zip(rows) {
        is_empty = false;
        let line = Rect {
            y: place,
            height: 1,
            ..layout.table
        };
        draw_row(model, row, at == model.selected, &columns, line, out);
    }
    if is_empty && height > 0 {
        let text = if model.has_recording() {
            format!("no topic has `{}` in its name", model.filter)
        } else {
            "a clock without a recording".to_owned()
        };
        let (x, y) = (
            layout.table.x + LEAD.min(layout.table.width),
            layout.table.y,
        );
        out.set_stringn(
            x,
            y,
            text,
            layout.table.width.saturating_sub(LEAD).into(),
            model.appearance.theme.dim,
        );
    }
}

fn draw_titles(model: &Model, columns: &Columns, layout: &Layout, out: &mut Buffer) {
    let (style, place) = (model.appearance.theme.title, layout.titles);
    let (shown, all) = (model.shown_rows().count(), model.rows.len());
    let height = usize::from(layout.table.height);
    let name = if shown < all {
        format!("topic ({shown} of {all}: {})", model.filter)
    } else if height < all {
        let last = (model.top + height).min(all);
        format!("topic ({}-{last} of {all})", model.top + 1)
    } else {
        "topic".to_owned()
    };
    let name = words::fit(&name, columns.name.into(), model.appearance.glyphs.dots);
    out.set_stringn(
        place.x + LEAD.min(place.width),
        place.y,
        name,
        columns.name.into(),
        style,
    );
    for (column, at, width) in &columns.others {
        cell(*column, column.title(), *at, *width, place.y, style, out);
    }
}

fn cell(column: Column, text: &str, at: u16, width: u16, row: u16, style: Style, out: &mut Buffer) {
    let text = if column.is_left_aligned() {
        text.to_owned()
    } else {
        format!("{text:>width$}", width = width.into())
    };
    out.set_stringn(at, row, text, width.into(), style);
}

fn draw_row(
    model: &Model,
    row: &TopicRow,
    is_selected: bool,
    columns: &Columns,
    place: Rect,
    out: &mut Buffer,
) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let rate = model
        .meters
        .topic_rate(row.id.index())
        .filter(|_| model.state() == State::Playing && row.left_out.is_none());
    let is_active = rate.is_some_and(|rate| rate.is_active);
    let (dot, dot_style) = if row.left_out.is_some() {
        (glyphs.left_out, theme.dim)
    } else if row.is_muted {
        (glyphs.muted, theme.held)
    } else if is_active {
        (glyphs.active, theme.playing)
    } else {
        (glyphs.idle, theme.dim)
    };
    let note = if row.is_muted && row.left_out.is_none() {
        MUTED
    } else {
        fixed_note(model, row)
    };
    let is_off = row.left_out.is_some() || row.is_muted;
    let style = if is_off { theme.dim } else { Style::new() };
    let style = if is_selected {
        style.patch(theme.selected)
    } else {
        style
    };
    out.set_style(place, style);
    let cursor = if is_selected { glyphs.cursor } else { " " };
    out.set_stringn(place.x, place.y, cursor, place.width.min(1).into(), style);
    out.set_stringn(
        place.x + 1,
        place.y,
        dot,
        place.width.saturating_sub(1).min(1).into(),
        dot_style.patch(style),
    );
    let width = usize::from(columns.name);
    let room = width.saturating_sub(note.len());
    let name = if room >= 8 {
        format!("{}{note}", words::fit_ends(&row.name, room, glyphs.dots))
    } else {
        words::fit_ends(&row.name, width, glyphs.dots)
    };
    out.set_stringn(
        place.x + LEAD.min(place.width),
        place.y,
        name,
        width,
        style.add_modifier(Modifier::BOLD),
    );
    let counts = model
        .counts
        .get(row.id.index())
        .copied()
        .unwrap_or_default();
    for (column, at, width) in &columns.others {
        let text = value(model, row, *column, rate, counts, (*width).into());
        let style = if *column == Column::Late && counts.late > 0 {
            theme.error.patch(style)
        } else {
            style
        };
        cell(*column, &text, *at, *width, place.y, style, out);
    }
}

fn value(
    model: &Model,
    row: &TopicRow,
    column: Column,
    rate: Option<TopicRate>,
    counts: TopicCounts,
    width: usize,
) -> String {
    let glyphs = &model.appearance.glyphs;
    let dash = || glyphs.dash.to_owned();
    let topic = model.topic(row.id);
    match column {
        Column::Type => words::fit(&shown_type(model, row), width, glyphs.dots),
        Column::Hertz => {
            let now = rate.map_or_else(dash, |rate| words::hertz(rate.hz));
            let recorded = recorded_hertz(model, row).map_or_else(dash, words::hertz);
            format!("{now:>6} / {recorded:>5}")
        }
        Column::Megabytes => rate.map_or_else(dash, |rate| words::megabytes(rate.bytes)),
        Column::Sent => {
            let total = topic.and_then(|topic| topic.message_count);
            let total = total.map_or_else(|| "?".to_owned(), |total| words::count(total, 7));
            format!("{:>7} / {total:>7}", words::count(counts.sent, 7))
        }
        Column::Subscribers => {
            let known = model
                .subscribers
                .topics
                .get(row.id.index())
                .copied()
                .flatten();
            known.map_or_else(dash, |count| count.to_string())
        }
        Column::Late => {
            let late = words::count(counts.late, width);
            let both = format!("{late}+{}!", counts.dropped);
            if counts.dropped == 0 {
                late
            } else if both.len() <= width {
                both
            } else {
                format!("{}!", words::count(counts.dropped, width - 1))
            }
        }
    }
}

/// The average rate of the topic in the recording; latched topics have no rate.
fn recorded_hertz(model: &Model, row: &TopicRow) -> Option<f64> {
    let topic = model.topic(row.id).filter(|topic| !topic.is_latched)?;
    let seconds = model.facts.recording.duration().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let count = topic.message_count? as f64;
    (seconds > 0.0).then(|| count / seconds)
}
