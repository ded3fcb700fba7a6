//! The event log: its last lines, and the whole log as an overlay.

use std::cmp::Reverse;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use super::frame::{Overlay, wrapped};
use crate::tui::model::Model;
use crate::tui::model::layout::Layout;
use crate::tui::model::log::{LogEntry, Severity};
use crate::tui::view::words;

/// The indentation of wrapped lines: the width of the time.
const INDENT: usize = 10;

/// The newest lines, the last one at the bottom. Lines that are too long take rows that are free: of the log, and those
/// of the table above it.
pub(in crate::tui::view) fn draw(model: &Model, layout: &Layout, out: &mut Buffer) {
    let place = layout.log;
    let all = free_rows(model, layout) + usize::from(place.height);
    // The newest line may take the rows of older ones, if there are no free ones.
    let first = model
        .log
        .newest()
        .next()
        .map_or(1, |entry| in_rows(model, entry, place).len());
    let others = all.saturating_sub(first);
    let count = usize::from(place.height).min(1 + others);
    let newest: Vec<&LogEntry> = model.log.newest().take(count).collect();
    let lines: Vec<Vec<Line<'_>>> = newest
        .iter()
        .map(|entry| in_rows(model, entry, place))
        .collect();
    let free = all - newest.len();
    let mut bottom = place.bottom();
    for (entry, rows) in newest.iter().zip(rooms(&newest, &lines, free)) {
        let rows = u16::try_from(rows).unwrap_or(u16::MAX);
        let top = bottom.saturating_sub(rows);
        let place = Rect {
            y: top,
            height: bottom - top,
            ..place
        };
        draw_entry(model, entry, place, out);
        bottom = top;
    }
}

/// How many rows the newest line takes: at most those of the log.
pub(in crate::tui::view) fn newest_rows(model: &Model, log: Rect) -> u16 {
    let newest = model.log.newest().next();
    let rows = newest.map_or(1, |entry| in_rows(model, entry, log).len());
    u16::try_from(rows).unwrap_or(u16::MAX).min(log.height)
}

/// The newest line alone, in the last rows of the log.
pub(in crate::tui::view) fn draw_newest(model: &Model, log: Rect, out: &mut Buffer) {
    let rows = newest_rows(model, log);
    let place = Rect {
        y: log.bottom().saturating_sub(rows),
        height: rows,
        ..log
    };
    Clear.render(place, out);
    if let Some(entry) = model.log.newest().next() {
        draw_entry(model, entry, place, out);
    }
}

/// A line in the rows of `place`; one that is cut ends with a sign of continuation.
fn draw_entry(model: &Model, entry: &LogEntry, place: Rect, out: &mut Buffer) {
    if place.is_empty() {
        return;
    }
    if place.height == 1 {
        let line = shown(model, entry);
        return words::draw_line(model, &line, (place.x, place.y), place.width, out);
    }
    let parts = in_rows(model, entry, place);
    for (row, part) in place.rows().zip(&parts) {
        out.set_line(row.x, row.y, part, row.width);
    }
    if usize::from(place.height) < parts.len() {
        let dots = Line::styled(model.appearance.glyphs.dots, model.appearance.theme.dim);
        let width = u16::try_from(dots.width()).unwrap_or(0).min(place.width);
        let at = (place.right() - width, place.bottom() - 1);
        out.set_line(at.0, at.1, &dots, width);
    }
}

/// A line of the log in the rows that it takes in a place.
fn in_rows<'a>(model: &Model, entry: &'a LogEntry, place: Rect) -> Vec<Line<'a>> {
    wrapped(&shown(model, entry), INDENT, place.width.into())
}

/// How many rows each line gets: one, and those that are free first the newest line, then the worst lines, and the
/// newest of these.
fn rooms(entries: &[&LogEntry], lines: &[Vec<Line<'_>>], mut free: usize) -> Vec<usize> {
    let mut rooms = vec![1; lines.len()];
    let mut order: Vec<usize> = (0..lines.len()).collect();
    let severity = |at: usize| entries.get(at).map(|entry| entry.line.severity);
    order.sort_unstable_by_key(|at| (*at > 0, Reverse(severity(*at)), *at));
    for at in order {
        let wanted = lines.get(at).map_or(0, Vec::len);
        let more = wanted.saturating_sub(1).min(free);
        free -= more;
        if let Some(room) = rooms.get_mut(at) {
            *room += more;
        }
    }
    rooms
}

/// The rows below the topics that nothing else takes.
fn free_rows(model: &Model, layout: &Layout) -> usize {
    let is_next = layout.watch.height == 0 && layout.table.height > 0;
    let shown = model.shown_rows().count().max(1);
    let free = usize::from(layout.table.height).saturating_sub(shown);
    if is_next { free } else { 0 }
}

/// All lines, the newest first.
pub(in crate::tui::view) fn overlay(model: &Model) -> Overlay<'_> {
    Overlay {
        title: "events, newest first".to_owned(),
        lines: model.log.newest().map(|line| shown(model, line)).collect(),
        hanging_indent: INDENT,
        focus: None,
        picture: None,
    }
}

fn shown<'a>(model: &Model, LogEntry { line, times, .. }: &'a LogEntry) -> Line<'a> {
    let theme = &model.appearance.theme;
    let zone = model.appearance.time_format.zone(&model.facts.zone);
    let time = line.at.to_zoned(zone).strftime("%H:%M:%S").to_string();
    let count = if *times > 1 {
        format!("{}{times}", model.appearance.glyphs.times)
    } else {
        String::new()
    };
    // Of long warnings and errors, the end may not be shown.
    let (label, style) = match line.severity {
        Severity::Debug => (String::new(), theme.dim),
        Severity::Info => (String::new(), Style::new()),
        Severity::Warning if *times > 1 => (format!("warning {count}: "), theme.warning),
        Severity::Error if *times > 1 => (format!("error {count}: "), theme.error),
        Severity::Warning => ("warning: ".to_owned(), theme.warning),
        Severity::Error => ("error: ".to_owned(), theme.error),
    };
    let mut spans = vec![
        Span::raw(" "),
        Span::styled(time, theme.dim),
        Span::raw(" "),
        Span::styled(label, style),
        Span::styled(
            words::with_dots(model, &line.text),
            if line.severity == Severity::Debug {
                theme.dim
            } else {
                Style::new()
            },
        ),
    ];
    if *times > 1 && line.severity < Severity::Warning {
        spans.push(Span::styled(format!(" ({count})"), theme.dim));
    }
    Line::from(spans)
}
