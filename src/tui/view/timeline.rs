//! The lane and the bar: message density, playhead, read-ahead, A–B loop, marks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::table::topic_lane;
use crate::find::Severity;
use crate::time::{Ros, Time, TimeRange};
use crate::tui::model::Model;
use crate::tui::model::layout::Layout;
use crate::tui::model::timeline::ab_loop::AbLoop;
use crate::tui::model::timeline::axis::Axis;
use crate::tui::model::timeline::lane::{Lane, LaneColumn};

pub(super) fn draw(model: &Model, layout: &Layout, out: &mut Buffer) {
    if layout.overview.height > 0 {
        let axis = model.whole_axis(layout.overview);
        draw_lane(model, model.overview.as_ref(), axis, layout.overview, out);
        shade(model, axis, model.window.range(), layout.overview, out);
    }
    if layout.lane.height > 0 {
        let axis = model.window_axis(layout.lane);
        draw_lane(model, model.lane(), axis, layout.lane, out);
        if let AbLoop::Ab(range) = model.shown_ab_loop() {
            shade(model, axis, range, layout.lane, out);
        }
    }
    if layout.bar.height > 0 {
        draw_bar(model, layout.bar, out);
    }
    if layout.events.height > 0 {
        let axis = model.window_axis(layout.events);
        draw_found(model, axis, layout.events.y, out);
    }
}

/// The messages that were found: hits, and alerts in front of these, the worst in front.
fn draw_found(model: &Model, axis: Axis, row: u16, out: &mut Buffer) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    for hit in &model.hits.messages {
        put(axis, row, hit.time, glyphs.hit, theme.mark, out);
    }
    let alerts = &model.alerts.messages;
    let of = |severity| {
        alerts
            .iter()
            .filter(move |it| it.severity == Some(severity))
    };
    for (found, glyph, style) in [
        (of(Severity::Warning), glyphs.warning, theme.warning),
        (of(Severity::Error), glyphs.error, theme.error),
    ] {
        found.for_each(|it| put(axis, row, it.time, glyph, style, out));
    }
}

/// One level per column, over as many rows as there are; the playhead's column is highlighted.
fn draw_lane(model: &Model, lane: Option<&Lane>, axis: Axis, place: Rect, out: &mut Buffer) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let Some(lane) = lane else {
        out.set_stringn(
            axis.left,
            place.bottom() - 1,
            "reading the index",
            axis.width.into(),
            theme.dim,
        );
        return;
    };
    let mut shown = vec![false; lane.outline.topics.len()];
    for row in model.shown_rows() {
        if let Some(is_shown) = shown.get_mut(row.id.index()) {
            *is_shown = true;
        }
    }
    let columns = lane.columns(axis, place.height, |topic| shown[topic]);
    let head = axis.column(model.playhead());
    for (column, LaneColumn { level, density }) in (axis.left..).zip(columns) {
        for row in 0..place.height {
            let below = 8 * (place.height - 1 - row);
            let glyph = glyphs.levels[usize::from(level.saturating_sub(below).min(8))];
            let cell = &mut out[(column, place.y + row)];
            cell.set_symbol(glyph).set_style(theme.density(density));
            if head == Some(column) {
                cell.set_style(theme.accent);
                if level <= below {
                    cell.set_symbol(glyphs.head);
                }
            }
        }
    }
}

/// Dims everything outside of a range.
fn shade(model: &Model, axis: Axis, range: TimeRange, place: Rect, out: &mut Buffer) {
    let (from, to) = (
        axis.nearest_column(range.start()),
        axis.nearest_column(range.stop()),
    );
    for column in axis.left..axis.left + axis.width {
        if (from..=to).contains(&column) {
            continue;
        }
        for row in place.y..place.bottom() {
            out[(column, row)].set_style(Style::reset().patch(model.appearance.theme.dim));
        }
    }
}

/// The bar in the last row of `place`.
pub(super) fn draw_bar(model: &Model, place: Rect, out: &mut Buffer) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let row = place.bottom() - 1;
    let axis = model.window_axis(place);
    if axis.width == 0 {
        return;
    }
    let (window, all) = (axis.range, model.facts.recording);
    let ends = [
        (place.x, glyphs.bar_start, window.start() == all.start()),
        (
            place.right() - 1,
            glyphs.bar_end,
            window.stop() == all.stop(),
        ),
    ];
    for (column, glyph, is_the_end) in ends {
        let glyph = if is_the_end { glyph } else { glyphs.outside };
        out[(column, row)].set_symbol(glyph).set_style(theme.dim);
    }
    let played = model
        .status
        .map_or(model.facts.played.current().0, |status| {
            status.segment.range()
        });
    let (from, to) = (
        axis.nearest_column(played.start()),
        axis.nearest_column(played.stop()),
    );
    let here = model.playhead();
    for column in axis.left..axis.left + axis.width {
        let is_within = played.intersection(window).is_some() && (from..=to).contains(&column);
        // The recording may be a single instant.
        let is_played = is_within || played == all;
        let (glyph, style) = if is_played {
            (glyphs.bar, Style::new())
        } else {
            (glyphs.outside, theme.dim)
        };
        out[(column, row)].set_symbol(glyph).set_style(style);
    }
    if let Some(ahead) = model.ahead {
        let read = TimeRange::between(here, ahead);
        if let Some(read) = read.intersection(window) {
            for column in axis.nearest_column(read.start())..=axis.nearest_column(read.stop()) {
                out[(column, row)]
                    .set_symbol(glyphs.read_ahead)
                    .set_style(theme.read_ahead);
            }
        }
    }
    let of_topic = model
        .selected_row()
        .map(|row| model.holes_of(row.id, window));
    let of_topic = of_topic.into_iter().flatten();
    for hole in of_topic.chain(model.holes.of_recording(window)) {
        for column in topic_lane::columns_of(hole, axis, all) {
            let cell = &mut out[(column, row)];
            cell.set_symbol(glyphs.hole).set_style(theme.hole);
        }
    }
    for column in axis.fold_columns() {
        let cell = &mut out[(column, row)];
        cell.set_symbol(glyphs.fold).set_style(theme.hole);
    }
    for part in model.damaged.within(window, None) {
        for column in topic_lane::damaged_columns(part, axis) {
            let cell = &mut out[(column, row)];
            cell.set_symbol(glyphs.damaged).set_style(theme.damage);
        }
    }
    for mark in &model.marks {
        put(axis, row, mark.time, glyphs.mark, theme.mark, out);
    }
    match model.shown_ab_loop() {
        AbLoop::None => {}
        AbLoop::A(a) => put(axis, row, a, glyphs.loop_start, theme.ab_loop, out),
        AbLoop::Ab(range) => {
            put(
                axis,
                row,
                range.start(),
                glyphs.loop_start,
                theme.ab_loop,
                out,
            );
            put(axis, row, range.stop(), glyphs.loop_end, theme.ab_loop, out);
        }
    }
    put(
        axis,
        row,
        here,
        glyphs.playhead,
        theme.accent.add_modifier(Modifier::BOLD),
        out,
    );
}

fn put(axis: Axis, row: u16, time: Time<Ros>, glyph: &str, style: Style, out: &mut Buffer) {
    if let Some(column) = axis.column(time) {
        out[(column, row)].set_symbol(glyph).set_style(style);
    }
}
