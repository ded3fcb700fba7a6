//! The plot of a watched field: its numbers over a range, with the playhead.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line};

use super::words;
use crate::time::{Duration, Ros, Time, TimeRange};
use crate::tui::model::Model;
use crate::tui::model::timeline::axis::Axis;
use crate::tui::watch::series::Series;

/// The columns for the highest and the lowest number.
const NUMBERS: u16 = 10;
/// Points that are further apart than this many times the usual distance are not connected: there is a hole.
const FAR: i64 = 5;

pub(super) fn draw(
    model: &Model,
    series: &Series,
    range: TimeRange,
    place: Rect,
    out: &mut Buffer,
) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let plot = Rect {
        x: place.x + NUMBERS + 1,
        width: place.width.saturating_sub(NUMBERS + 2),
        ..place
    };
    if plot.width < 4 {
        return;
    }
    draw_playhead(model, range, plot, out);
    let points: Vec<(Time<Ros>, f64)> = series
        .points_around(range)
        .filter_map(|point| Some((point.time, point.value.number()?)))
        .filter(|(_, number)| number.is_finite())
        .collect();
    let within = points
        .iter()
        .filter(|(time, _)| (range.start()..=range.stop()).contains(time));
    let limits = within.fold(None, |limits: Option<(f64, f64)>, (_, number)| {
        let (lowest, highest) = limits.unwrap_or((*number, *number));
        Some((lowest.min(*number), highest.max(*number)))
    });
    let Some((lowest, highest)) = limits else {
        return;
    };
    let label = |number: f64| {
        format!(
            "{:>width$}",
            words::number(number),
            width = usize::from(NUMBERS)
        )
    };
    out.set_stringn(place.x, plot.y, label(highest), NUMBERS.into(), theme.dim);
    if lowest < highest && plot.height > 1 {
        let bottom = plot.bottom() - 1;
        out.set_stringn(place.x, bottom, label(lowest), NUMBERS.into(), theme.dim);
    }
    // A line that does not change is in the middle.
    let margin = if lowest < highest { 0.0 } else { 1.0 };
    let x = |time: Time<Ros>| time.saturating_since(range.start()).as_secs_f64();
    let lines = lines(&points, x);
    if glyphs.is_ascii {
        draw_ascii(
            &points,
            range,
            (lowest - margin, highest + margin),
            plot,
            model,
            out,
        );
        return;
    }
    let color = theme.usual_density.fg.unwrap_or_default();
    let mut drawn = Buffer::empty(plot);
    Canvas::default()
        .marker(Marker::Braille)
        .x_bounds([0.0, range.duration().as_secs_f64()])
        .y_bounds([lowest - margin, highest + margin])
        .paint(|context| {
            for line in &lines {
                context.draw(&Line { color, ..*line });
            }
        })
        .render(plot, &mut drawn);
    for position in plot.positions() {
        let symbol = drawn[position].symbol();
        if symbol != " " && symbol != "\u{2800}" {
            let cell = &mut out[position];
            cell.set_symbol(symbol).set_style(theme.usual_density);
        }
    }
}

/// The lines between points that follow each other; a point that is far from all others is a line of no length.
fn lines(points: &[(Time<Ros>, f64)], x: impl Fn(Time<Ros>) -> f64) -> Vec<Line> {
    let gap = |pair: &[(Time<Ros>, f64)]| match pair {
        [(from, _), (to, _)] => to.saturating_since(*from),
        _ => Duration::ZERO,
    };
    let mut gaps: Vec<Duration> = points.windows(2).map(gap).collect();
    let far = match gaps.len() {
        0 => Duration::MAX,
        count => {
            let usual = *gaps.select_nth_unstable(count / 2).1;
            usual.saturating_mul(FAR).max(Duration::from_nanos(1))
        }
    };
    let line = |(from, y1): (Time<Ros>, f64), (to, y2): (Time<Ros>, f64)| {
        Line::new(x(from), y1, x(to), y2, ratatui::style::Color::Reset)
    };
    let connected = points.windows(2).filter(|pair| gap(pair) <= far);
    let connected = connected.filter_map(|pair| match pair {
        [from, to] => Some(line(*from, *to)),
        _ => None,
    });
    connected
        .chain(points.iter().map(|point| line(*point, *point)))
        .collect()
}

fn draw_playhead(model: &Model, range: TimeRange, plot: Rect, out: &mut Buffer) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let axis = Axis {
        range,
        left: plot.x,
        width: plot.width,
    };
    if let Some(column) = axis.column(model.playhead()) {
        for row in plot.y..plot.bottom() {
            let glyph = if glyphs.is_ascii { ":" } else { "┊" };
            out[(column, row)].set_symbol(glyph).set_style(theme.accent);
        }
    }
}

/// A `*` in each cell that has a point.
fn draw_ascii(
    points: &[(Time<Ros>, f64)],
    range: TimeRange,
    (low, high): (f64, f64),
    plot: Rect,
    model: &Model,
    out: &mut Buffer,
) {
    let axis = Axis {
        range,
        left: plot.x,
        width: plot.width,
    };
    let rows = f64::from(plot.height.saturating_sub(1));
    for (time, number) in points {
        let Some(column) = axis.column(*time) else {
            continue;
        };
        let share = ((high - number) / (high - low)).clamp(0.0, 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the rows"
        )]
        let row = (share * rows).round() as u16;
        let cell = &mut out[(column, plot.y + row)];
        cell.set_symbol("*")
            .set_style(model.appearance.theme.usual_density);
    }
}
