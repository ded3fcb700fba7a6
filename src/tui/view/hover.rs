//! The time under the mouse, in the row under the bar, and what is there.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Span;

use super::table::topic_lane;
use super::words;
use crate::bag::DamagedPart;
use crate::find::Severity;
use crate::time::{Ros, Time, TimeRange};
use crate::tui::model::Model;
use crate::tui::model::found::FoundMessage;
use crate::tui::model::layout::Layout;
use crate::tui::model::parts::Hover;
use crate::tui::model::timeline::ab_loop::AbLoop;
use crate::tui::model::timeline::in_words::DamageDetail;

/// The most things that are named at one place.
const MOST: usize = 3;

pub(super) fn draw(model: &Model, layout: &Layout, out: &mut Buffer) {
    let Some(hover) = model.hovered() else { return };
    let place = layout.events;
    if place.width < 3 || place.height == 0 {
        return;
    }
    let room = place.width.saturating_sub(2);
    let text = text(model, hover, room.into());
    let width = u16::try_from(Span::raw(&text).width()).unwrap_or(u16::MAX);
    let last = place.right().saturating_sub(width + 1);
    let left = hover
        .column
        .saturating_sub(width / 2)
        .clamp(place.x + 1, last.max(place.x + 1));
    let behind = Rect::new(left - 1, place.y, width + 2, 1).intersection(place);
    for cell in behind.positions() {
        out[cell].reset();
    }
    let theme = &model.appearance.theme;
    out.set_stringn(left, place.y, text, room.into(), theme.accent);
    if layout.bar.height > 0 {
        // The same column of the bar, also while the mouse is on a lane that shows more.
        let column = model
            .window_axis(layout.bar)
            .column(hover.axis.time(hover.column));
        let row = layout.bar.bottom() - 1;
        if let Some(cell) = column.and_then(|column| out.cell_mut((column, row))) {
            cell.modifier.insert(Modifier::REVERSED);
        }
    }
}

/// A thing that is named.
enum Named<'a> {
    Words(String),
    Damage(&'a DamagedPart),
}

/// `14:32:19.184 CEST  +00:12.184  mark: pedestrian`, in so many columns. Of damage less is said if there is not enough
/// room for all of it.
fn text(model: &Model, hover: Hover, room: usize) -> String {
    let time = hover.axis.time(hover.column);
    let format = model.appearance.time_format;
    let shown = time.saturating_add(model.facts.clock_shift);
    let shown = format.show(shown, &model.facts.zone);
    let start = format!("{shown}  {}", model.elapsed(time));
    let all = there(model, hover);
    let with = |detail| {
        let words = all.iter().take(MOST).map(|it| match it {
            Named::Words(words) => words.clone(),
            Named::Damage(part) => model.damage_in_words(part, detail),
        });
        let words: Vec<String> = words.collect();
        let gap = if words.is_empty() { "" } else { "  " };
        let words = words.join(model.appearance.glyphs.separator);
        match all.len().checked_sub(MOST) {
            Some(more @ 1..) => format!("{start}{gap}{words} +{more}"),
            _ => format!("{start}{gap}{words}"),
        }
    };
    let mut texts = DamageDetail::lessening().map(with);
    let fits = |text: &String| Span::raw(text).width() <= room;
    let text = texts
        .find(fits)
        .unwrap_or_else(|| with(DamageDetail::LEAST));
    words::fit(&text, room, model.appearance.glyphs.dots)
}

/// What is drawn in this column: marks, A and B, damage, alerts, hits, holes.
fn there(model: &Model, hover: Hover) -> Vec<Named<'_>> {
    let Hover { axis, column, .. } = hover;
    let is_here = |time: Time<Ros>| axis.column(time) == Some(column);
    let marks = model.marks.iter().filter(|mark| is_here(mark.time));
    let mut all: Vec<Named<'_>> = marks
        .map(|mark| match mark.name.as_str() {
            "" => Named::Words("mark".to_owned()),
            name => Named::Words(format!("mark: {name}")),
        })
        .collect();
    let ends = match model.shown_ab_loop() {
        AbLoop::None => [None, None],
        AbLoop::A(a) => [Some((a, "A")), None],
        AbLoop::Ab(range) => [Some((range.start(), "A")), Some((range.stop(), "B"))],
    };
    let ends = ends
        .into_iter()
        .flatten()
        .filter(|(time, _)| is_here(*time));
    all.extend(ends.map(|(_, name)| Named::Words(name.to_owned())));
    all.extend(damage(model, hover).map(Named::Damage));
    let found = |it: &&FoundMessage| is_here(it.time);
    let alerts = model.alerts.messages.iter().filter(found);
    let (errors, others): (Vec<_>, Vec<_>) =
        alerts.partition(|it| it.severity == Some(Severity::Error));
    let hits = model.hits.messages.iter().filter(found);
    let found = errors.into_iter().chain(others).chain(hits);
    all.extend(found.map(|it| Named::Words(found_in_words(model, it))));
    all.extend(hole(model, hover).map(Named::Words));
    all
}

/// The damage that is drawn in this column: on the lane of a topic that of the topic.
fn damage(model: &Model, hover: Hover) -> impl Iterator<Item = &DamagedPart> {
    let Hover {
        axis,
        column,
        topic,
    } = hover;
    let parts = model.damaged.touching(axis.range, topic);
    parts.filter(move |part| {
        let shown = part.range.intersection(axis.range);
        shown.is_some_and(|part| topic_lane::damaged_columns(part, axis).contains(&column))
    })
}

/// The hole that is drawn in this column: of the recording, or else of the topic whose lane this is, on the bar of the
/// selected topic.
fn hole(model: &Model, hover: Hover) -> Option<String> {
    let Hover {
        axis,
        column,
        topic,
    } = hover;
    let recording = model.facts.recording;
    let is_in = |hole: &TimeRange| {
        let mut columns = topic_lane::columns_of(*hole, axis, recording);
        columns.any(|it| it == column)
    };
    if let Some(hole) = model.holes.of_recording(axis.range).find(is_in) {
        return Some(model.hole_in_words(None, hole));
    }
    let topic = topic.or_else(|| model.selected_row().map(|row| row.id))?;
    let hole = model.holes_of(topic, axis.range).find(is_in)?;
    Some(model.hole_in_words(Some(topic), hole))
}

fn found_in_words(model: &Model, found: &FoundMessage) -> String {
    let name = model.topic(found.topic).map_or("", |topic| &topic.name);
    let what = match found.severity {
        None => "found",
        Some(Severity::Warning) => "warning",
        Some(Severity::Error) => "error",
    };
    format!("{what}: {name}: {}", found.text)
}
