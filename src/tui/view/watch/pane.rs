//! The watched fields: of each the value at the playhead, and a plot of its values around it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::plot;
use crate::bag::TopicId;
use crate::time::TimeRange;
use crate::tui::model::{Model, time_format};
use crate::tui::view::{picture, words};
use crate::tui::watch::pin::{Pin, WatchedField};
use crate::tui::watch::series::{Series, ValueAt, WatchedValue};
use crate::tui::watch::view_range::ViewRange;

/// The least height of a watched field: its value, and two rows for the plot.
const LEAST_HEIGHT: u16 = 3;
/// The least width of a watched field if there are others beside it.
const LEAST_WIDTH: u16 = 50;

pub(in crate::tui::view) fn draw(model: &Model, place: Rect, out: &mut Buffer) {
    let pins = &model.watch.pins;
    if place.height < LEAST_HEIGHT || pins.is_empty() {
        return;
    }
    let cells = cells(pins.len(), place);
    let hidden = pins.len() - cells.len();
    let shown = pins.iter().skip(model.watch.first.min(hidden));
    for (at, (pin, cell)) in shown.zip(&cells).enumerate() {
        let note = match at {
            0 => range_in_words(model, hidden),
            _ => String::new(),
        };
        draw_pin(model, pin, &note, *cell, out);
    }
}

/// How many fields have no room.
pub(in crate::tui::view) fn hidden(model: &Model, place: Rect) -> usize {
    let pins = model.watch.pins.len();
    if place.height < LEAST_HEIGHT || pins == 0 {
        return 0;
    }
    pins - cells(pins, place).len()
}

/// How many fields are not shown, also if the pane has no room at all.
pub(in crate::tui::view) fn unshown(model: &Model, place: Rect) -> usize {
    if place.height < LEAST_HEIGHT {
        model.watch.pins.len()
    } else {
        hidden(model, place)
    }
}

/// What the plots show, and how many fields have no room.
fn range_in_words(model: &Model, hidden: usize) -> String {
    let view = model.view_range();
    let seconds = view.range().duration().as_secs_f64();
    let range = match view {
        ViewRange::Loop(_) => format!("A to B, {seconds:.3} s"),
        ViewRange::Around(_) => format!("-{half} s to +{half} s", half = seconds / 2.0),
    };
    match hidden {
        0 => range,
        _ => format!("{hidden} more, {range}"),
    }
}

/// The areas of so many fields: below each other, or beside each other if they would be too low.
fn cells(count: usize, place: Rect) -> Vec<Rect> {
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    // A field that has less than this is put beside another one.
    let comfortable = 6;
    let most_columns = (place.width / LEAST_WIDTH).clamp(1, count.max(1));
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

/// The pictures among the watched fields, and where each is shown.
pub(in crate::tui::view) fn picture_places(model: &Model, place: Rect) -> Vec<(TopicId, Rect)> {
    let pins = &model.watch.pins;
    if place.height < LEAST_HEIGHT || pins.is_empty() {
        return Vec::new();
    }
    let cells = cells(pins.len(), place);
    let hidden = pins.len() - cells.len();
    let shown = pins.iter().skip(model.watch.first.min(hidden)).zip(cells);
    let pictures = shown.filter(|(pin, _)| {
        pin.field == WatchedField::Picture && model.shows_pictures_of(pin.topic)
    });
    pictures
        .map(|(pin, cell)| (pin.topic, below_title(cell)))
        .collect()
}

/// The area of a plot or picture in that of a watched field.
fn below_title(place: Rect) -> Rect {
    Rect {
        y: place.y + 1,
        height: place.height - 1,
        ..place
    }
}

fn draw_pin(model: &Model, pin: &Pin, note: &str, place: Rect, out: &mut Buffer) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let series = model.watch.series(pin);
    let width = usize::from(place.width.saturating_sub(2));
    let note_width = Span::raw(note).width();
    let room = width.saturating_sub(note_width + 2);
    let value = match pin.field {
        WatchedField::Picture => picture::in_words(model, pin.topic),
        WatchedField::Value(_) | WatchedField::Delay => value_now(model, pin, series),
    };
    let value = words::fit(&value, room / 2, glyphs.dots);
    let left = room.saturating_sub(Span::raw(&value).width() + 2);
    let name = words::fit_ends(&model.name_of(pin), left, glyphs.dots);
    let title = Line::from(vec![
        Span::styled(name, theme.title.add_modifier(Modifier::BOLD)),
        Span::raw("  "),
        Span::styled(value, theme.accent),
    ]);
    out.set_line(place.x + 1, place.y, &title, place.width.saturating_sub(1));
    let note_width = u16::try_from(note_width).unwrap_or(u16::MAX);
    let note_at = place.right().saturating_sub(note_width + 1).max(place.x);
    out.set_stringn(note_at, place.y, note, note_width.into(), theme.dim);
    let below = below_title(place);
    if pin.field == WatchedField::Picture {
        return picture::draw(model, pin.topic, below, out);
    }
    let Some(series) = series else { return };
    let range = model.view_range().range();
    let texts = texts(model, series, range, below.height);
    if texts.is_empty() {
        plot::draw(model, pin, series, below, out);
    } else {
        for (y, text) in (below.y..below.bottom()).zip(texts) {
            let text = words::with_dots(model, &text);
            let text = words::fit(&text, width, glyphs.dots);
            out.set_stringn(below.x + 1, y, text, width, theme.dim);
        }
    }
}

/// The value at the playhead, or why there is none.
fn value_now(model: &Model, pin: &Pin, series: Option<&Series>) -> String {
    let Some(series) = series else {
        return "reading".to_owned();
    };
    match (series.at(model.playhead()), series.problem()) {
        (ValueAt::Known(point), _) => words::watched(pin, series, &point.value),
        (_, Some(problem)) => problem.to_owned(),
        (ValueAt::Unread, None) => "reading".to_owned(),
        (ValueAt::None, None) => model.appearance.glyphs.dash.to_owned(),
    }
}

/// The last texts up to the playhead, the newest at the bottom; none if the values are numbers.
fn texts(model: &Model, series: &Series, range: TimeRange, most: u16) -> Vec<String> {
    let (here, start) = (model.playhead(), model.facts.recording.start());
    let shown = TimeRange::between(range.start(), here.max(range.start()));
    let points = series.points_around(shown).rev();
    let points = points.skip_while(|point| point.time > here);
    let texts = points.map_while(|point| match &point.value {
        WatchedValue::Text(text) => {
            let since = time_format::signed(point.time.saturating_since(start));
            Some(format!("{since}  {text}"))
        }
        _ => None,
    });
    let mut texts: Vec<String> = texts.take(most.into()).collect();
    texts.reverse();
    texts
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
        // One field has the whole width.
        assert_eq!(cells(1, 200, 5), [Rect::new(0, 0, 200, 5)]);
        assert_eq!(cells(2, 200, 5).len(), 2);
        // What has no room is not shown.
        assert_eq!(cells(8, 60, 7).len(), 2);
        assert_eq!(cells(1, 10, 3).len(), 1);
    }
}
