//! The watched fields: of each the value at the playhead, and a plot of its values around it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::{plot, words};
use crate::time::TimeRange;
use crate::tui::model::Model;
use crate::tui::model::time_format;
use crate::tui::watch::pin::{Pin, WatchedField};
use crate::tui::watch::series::{Series, WatchedValue};

/// The least height of a watched field: its value, and two rows for the plot.
const LEAST_HEIGHT: u16 = 3;
/// The least width of a watched field if there are others beside it.
const LEAST_WIDTH: u16 = 50;

pub(super) fn draw(model: &Model, place: Rect, out: &mut Buffer) {
    let pins = &model.watch.pins;
    if place.height < LEAST_HEIGHT || pins.is_empty() {
        return;
    }
    let range = model.watched_range();
    for (pin, cell) in pins.iter().zip(cells(pins.len(), place)) {
        draw_pin(model, pin, range, cell, out);
    }
}

/// The areas of so many fields: below each other, or beside each other if they would be too low.
fn cells(count: usize, place: Rect) -> Vec<Rect> {
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    // A field that has less than this is put beside another one.
    let comfortable = 6;
    let most_columns = (place.width / LEAST_WIDTH).max(1);
    let columns = (1..=most_columns)
        .find(|columns| place.height / count.div_ceil(*columns) >= comfortable)
        .unwrap_or(most_columns);
    let rows = count
        .div_ceil(columns)
        .min(place.height / LEAST_HEIGHT)
        .max(1);
    let (width, height) = (place.width / columns, place.height / rows);
    let cell = |at: u16| Rect {
        x: place.x + at % columns * width,
        y: place.y + at / columns * height,
        width: width.saturating_sub(u16::from(columns > 1)),
        height,
    };
    (0..count.min(rows * columns)).map(cell).collect()
}

fn draw_pin(model: &Model, pin: &Pin, range: TimeRange, place: Rect, out: &mut Buffer) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let series = model.watch.series(pin);
    let row = model.rows.iter().find(|row| row.id == pin.topic);
    let name = row.map_or("", |row| &row.name);
    let field = pin.field.to_string();
    let width = usize::from(place.width.saturating_sub(1));
    let unit = match pin.field {
        WatchedField::Delay => " s",
        WatchedField::Value(_) => "",
    };
    let value = value_now(model, series, unit);
    let room = width.saturating_sub(value.len() + 2);
    let name = words::fit_ends(name, room.saturating_sub(field.len() + 1), glyphs.dots);
    let mut at = (place.x + 1, place.y);
    for (text, style) in [
        (name.as_str(), theme.dim),
        (" ", theme.dim),
        (field.as_str(), theme.title.add_modifier(Modifier::BOLD)),
        ("  ", theme.dim),
        (value.as_str(), theme.accent),
    ] {
        let left = place.right().saturating_sub(at.0);
        at = out.set_stringn(at.0, at.1, text, left.into(), style);
    }
    let below = Rect {
        y: place.y + 1,
        height: place.height - 1,
        ..place
    };
    let Some(series) = series else { return };
    let texts = texts(model, series, range, below.height);
    if texts.is_empty() {
        plot::draw(model, series, range, below, out);
    } else {
        for (y, text) in (below.y..below.bottom()).zip(texts) {
            let text = words::fit(&text, width, glyphs.dots);
            out.set_stringn(below.x + 1, y, text, width, theme.dim);
        }
    }
}

/// The value at the playhead, or why there is none.
fn value_now(model: &Model, series: Option<&Series>, unit: &str) -> String {
    let Some(series) = series else {
        return "reading".to_owned();
    };
    let known = series.at(model.playhead());
    match (known.map(|point| &point.value), &series.problem) {
        (Some(WatchedValue::Number(number)), _) => {
            let name = series.name_of(*number);
            let name = name.map_or_else(String::new, |name| format!(" ({name})"));
            format!("{}{unit}{name}", words::number(*number))
        }
        (Some(WatchedValue::Text(text)), _) => text.clone(),
        (None, Some(problem)) => problem.clone(),
        (None, None) => model.appearance.glyphs.dash.to_owned(),
    }
}

/// The last texts up to the playhead, the newest at the bottom; none if the values are numbers.
fn texts(model: &Model, series: &Series, range: TimeRange, most: u16) -> Vec<String> {
    let here = model.playhead();
    let start = model.facts.recording.start();
    let points = series.points_around(range);
    let points = points.filter(|point| point.time <= here);
    let texts = points.filter_map(|point| match &point.value {
        WatchedValue::Text(text) => {
            let since = time_format::span(point.time.saturating_since(start));
            Some(format!("+{since}  {text}"))
        }
        WatchedValue::Number(_) => None,
    });
    let mut texts: Vec<String> = texts.collect();
    texts.split_off(texts.len().saturating_sub(most.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_below_each_other_as_long_as_there_is_height() {
        let cells = |count, width, height| cells(count, Rect::new(0, 0, width, height));
        assert_eq!(cells(1, 100, 20), [Rect::new(0, 0, 100, 20)]);
        assert_eq!(
            cells(2, 100, 20),
            [Rect::new(0, 0, 100, 10), Rect::new(0, 10, 100, 10)]
        );
        let beside = [Rect::new(0, 0, 59, 8), Rect::new(60, 0, 59, 8)];
        assert_eq!(cells(2, 120, 8), beside);
        // What has no room is not shown.
        assert_eq!(cells(8, 60, 7).len(), 2);
        assert_eq!(cells(1, 10, 3).len(), 1);
    }
}
