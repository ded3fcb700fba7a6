//! The table of topics.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::columns::{Column, Columns, LEAD, MUTED, fixed_note, shown_type};
use super::topic_lane::{self, LaneColumns};
use crate::player::TopicCounts;
use crate::tui::model::Model;
use crate::tui::model::layout::Layout;
use crate::tui::model::meters::TopicRate;
use crate::tui::model::parts::{Reversal, TopicRow};
use crate::tui::view::words;

pub(in crate::tui::view) fn draw(model: &Model, layout: &Layout, out: &mut Buffer) {
    let columns = Columns::new(model, layout);
    if layout.titles.height > 0 {
        draw_titles(model, &columns, layout, out);
    }
    let lanes = columns.density;
    let lanes = lanes.map(|place| LaneColumns::new(model, place));
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
        let is_selected = at == model.selected;
        draw_row(model, row, is_selected, &columns, lanes.as_ref(), line, out);
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
    if let Some((at, width)) = columns.density {
        let column = Column::Density;
        cell(column, column.title(), at, width, place.y, style, out);
    }
    let Some((by, direction)) = model.order.by else {
        return;
    };
    let glyphs = &model.appearance.glyphs;
    let arrow = if by.is_text() == (direction == Reversal::Usual) {
        glyphs.ascending
    } else {
        glyphs.descending
    };
    let head = columns.heads().into_iter().find(|head| head.by == by);
    if let Some(cell) = head.and_then(|head| out.cell_mut((head.columns.start, place.y))) {
        cell.set_symbol(arrow)
            .set_style(model.appearance.theme.accent);
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
    lanes: Option<&LaneColumns>,
    place: Rect,
    out: &mut Buffer,
) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let rate = model.rate_now(row);
    let is_lit = model.is_lit(row.id);
    let is_active = is_lit || rate.is_some_and(|rate| rate.is_active);
    let is_awaited = model.is_awaited(row.id);
    let (dot, dot_style) = if row.left_out.is_some() {
        (glyphs.left_out, theme.dim)
    } else if is_awaited {
        (glyphs.waiting, theme.warning)
    } else if row.is_muted {
        (glyphs.muted, theme.dim)
    } else if model.is_in_damage(row.id) {
        (glyphs.damaged, theme.damage)
    } else if model.is_in_hole(row.id) {
        (glyphs.hole, theme.hole)
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
    let style = if is_off {
        theme.dim
    } else if is_awaited {
        theme.warning
    } else if is_lit {
        theme.playing
    } else {
        Style::new()
    };
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
            words::late_style(theme, counts.late, counts.sent).patch(style)
        } else {
            style
        };
        cell(*column, &text, *at, *width, place.y, style, out);
    }
    if let Some(lanes) = lanes {
        topic_lane::draw(model, row, lanes, place.y, style, out);
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
            let recorded = model.recorded_rate(row);
            let recorded = recorded.map_or_else(dash, |rate| rate.to_string());
            format!("{now:>6} / {recorded:>5}")
        }
        Column::Megabytes => rate.map_or_else(dash, |rate| words::megabytes(rate.bytes)),
        Column::Sent => {
            let total = topic.and_then(|topic| topic.message_count);
            let total = total.map_or_else(|| "?".to_owned(), |total| words::count(total, 7));
            format!("{:>7} / {total:>7}", sent(counts))
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
        // It is drawn, not written.
        Column::Density => String::new(),
    }
}

/// The number of messages sent and, after a `+`, of latched ones that were resent after seeks; without the latter
/// if both do not fit.
fn sent(counts: TopicCounts) -> String {
    const WIDTH: usize = 7;
    let both = format!("{}+{}", counts.sent, counts.refilled);
    if counts.refilled > 0 && both.len() <= WIDTH {
        both
    } else {
        words::count(counts.sent, WIDTH)
    }
}
