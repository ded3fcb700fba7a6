//! The plot of a watched field: its numbers over the part that is shown, with the playhead.
//!
//! Where several points fall into one column, it is filled from the lowest to the highest of them, so no peak is lost.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line};

use crate::time::{Duration, Ros, Time, TimeRange};
use crate::tui::model::Model;
use crate::tui::model::timeline::axis::Axis;
use crate::tui::view::words;
use crate::tui::watch::pin::Pin;
use crate::tui::watch::series::{Series, WatchedValue};

/// The columns for the highest and the lowest number.
const NUMBERS: u16 = 10;
/// Points that are further apart than this many times the usual distance, and than so many columns of dots, are not
/// connected.
const FAR: i64 = 5;
const FAR_DOTS: i64 = 2;
/// The columns of dots in a cell.
const DOTS: u16 = 2;

/// A number at a time, and whether it holds until the next one.
#[derive(Clone, Copy)]
struct PlotPoint {
    time: Time<Ros>,
    number: f64,
    is_step: bool,
}

/// The lowest and the highest number; a margin keeps a number that does not change in the middle.
#[derive(Clone, Copy)]
struct Limits {
    lowest: f64,
    highest: f64,
    margin: f64,
}

impl Limits {
    fn of(points: &[PlotPoint]) -> Option<Self> {
        let numbers = || points.iter().map(|point| point.number);
        let (lowest, highest) = (numbers().reduce(f64::min)?, numbers().reduce(f64::max)?);
        let margin = if lowest < highest {
            0.0
        } else {
            lowest.abs().max(1.0) * 1e-3
        };
        Some(Self {
            lowest,
            highest,
            margin,
        })
    }

    fn bounds(self) -> [f64; 2] {
        [self.lowest - self.margin, self.highest + self.margin]
    }
}

pub(in crate::tui::view) fn draw(
    model: &Model,
    pin: &Pin,
    series: &Series,
    place: Rect,
    out: &mut Buffer,
) {
    let range = model.view_range().range();
    let plot = Rect {
        x: place.x + NUMBERS + 1,
        width: place.width.saturating_sub(NUMBERS + 2),
        ..place
    };
    if plot.width < 4 || plot.height == 0 {
        return;
    }
    draw_playhead(model, range, plot, out);
    let points = series.points_around(range).filter_map(|point| {
        Some(PlotPoint {
            time: point.time,
            number: point.value.number()?,
            is_step: matches!(
                point.value,
                WatchedValue::Integer(_) | WatchedValue::Bool(_)
            ),
        })
    });
    let points: Vec<PlotPoint> = points.collect();
    let Some(limits) = Limits::of(&points) else {
        return;
    };
    draw_labels(model, series, limits, (place.x, plot), out);
    if model.appearance.glyphs.is_ascii {
        draw_ascii(model, &points, range, limits, plot, out);
    } else {
        let holes: Vec<TimeRange> = model.holes_of(pin.topic, range).collect();
        let dots = plot.width.saturating_mul(DOTS);
        let mut shown = lines(&points, range, &holes, dots);
        shown.extend(bands(&points, range, dots));
        draw_lines(model, &shown, range, limits, plot, out);
    }
}

/// The highest number in the first row and the lowest in the last; one that does not change in the middle.
fn draw_labels(
    model: &Model,
    series: &Series,
    limits: Limits,
    (left, plot): (u16, Rect),
    out: &mut Buffer,
) {
    let style = model.appearance.theme.dim;
    let mut put = |number: f64, row: u16| {
        let label = words::label(series, number, NUMBERS.into());
        let label = format!("{label:>width$}", width = usize::from(NUMBERS));
        out.set_stringn(left, row, label, NUMBERS.into(), style);
    };
    if limits.lowest < limits.highest && plot.height > 1 {
        put(limits.highest, plot.y);
        put(limits.lowest, plot.bottom() - 1);
    } else {
        put(limits.highest, plot.y + plot.height / 2);
    }
}

fn draw_lines(
    model: &Model,
    lines: &[Line],
    range: TimeRange,
    limits: Limits,
    plot: Rect,
    out: &mut Buffer,
) {
    let style = model.appearance.theme.usual_density;
    let mut drawn = Buffer::empty(plot);
    Canvas::default()
        .marker(Marker::Braille)
        .x_bounds([0.0, range.duration().as_secs_f64()])
        .y_bounds(limits.bounds())
        .paint(|context| lines.iter().for_each(|line| context.draw(line)))
        .render(plot, &mut drawn);
    for position in plot.positions() {
        let symbol = drawn[position].symbol();
        if symbol != " " && symbol != "\u{2800}" {
            out[position].set_symbol(symbol).set_style(style);
        }
    }
}

/// The lines between points that follow each other, and a point that has none as a line of no length. Points are not
/// connected over a hole, nor if they are far apart.
fn lines(points: &[PlotPoint], range: TimeRange, holes: &[TimeRange], dots: u16) -> Vec<Line> {
    let gap = |pair: &[PlotPoint]| match pair {
        [from, to] => to.time.saturating_since(from.time),
        _ => Duration::ZERO,
    };
    let mut gaps: Vec<Duration> = points.windows(2).map(gap).collect();
    let far = match gaps.len() {
        0 => Duration::MAX,
        count => {
            let usual = *gaps.select_nth_unstable(count / 2).1;
            // Of a part with many values only some are known, at any distance from each other.
            let dot = Duration::from_nanos(range.duration().as_nanos() / i64::from(dots.max(1)));
            let near = dot.saturating_mul(FAR_DOTS).max(Duration::from_nanos(1));
            usual.saturating_mul(FAR).max(near)
        }
    };
    let x = |time: Time<Ros>| time.saturating_since(range.start()).as_secs_f64();
    let line = |(from, y1): (Time<Ros>, f64), (to, y2): (Time<Ros>, f64)| {
        Line::new(x(from), y1, x(to), y2, Color::Reset)
    };
    let is_connected = |from: &PlotPoint, to: &PlotPoint| {
        let is_in_hole = |hole: &TimeRange| from.time <= hole.start() && hole.stop() <= to.time;
        to.time.saturating_since(from.time) <= far && !holes.iter().any(is_in_hole)
    };
    let mut lines = Vec::with_capacity(points.len() * 2);
    // Whether a line ends at this point.
    let mut has_line = false;
    for (index, from) in points.iter().enumerate() {
        let next = points.get(index + 1);
        let next = next.filter(|to| is_connected(from, to));
        if let Some(to) = next {
            let (start, end) = ((from.time, from.number), (to.time, to.number));
            if from.is_step {
                let corner = (to.time, from.number);
                lines.extend([line(start, corner), line(corner, end)]);
            } else {
                lines.push(line(start, end));
            }
        } else if !has_line {
            let point = (from.time, from.number);
            lines.push(line(point, point));
        }
        has_line = next.is_some();
    }
    lines
}

/// A line from the lowest to the highest number of each column of dots that has several points.
fn bands(points: &[PlotPoint], range: TimeRange, dots: u16) -> Vec<Line> {
    let x = |point: &PlotPoint| point.time.saturating_since(range.start()).as_secs_f64();
    let per_second = f64::from(dots.saturating_sub(1)) / range.duration().as_secs_f64();
    let column = |point: &PlotPoint| (x(point) * per_second).round();
    let columns = points.chunk_by(|a, b| column(a).total_cmp(&column(b)).is_eq());
    let bands = columns.filter_map(|points| {
        let (first, limits) = (points.first()?, Limits::of(points)?);
        let ends = (limits.lowest, limits.highest);
        Some(Line::new(x(first), ends.0, x(first), ends.1, Color::Reset))
            .filter(|_| points.len() > 1)
    });
    bands.collect()
}

fn draw_playhead(model: &Model, range: TimeRange, plot: Rect, out: &mut Buffer) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let axis = Axis::plain(range, plot.x, plot.width);
    if let Some(column) = axis.column(model.playhead()) {
        for row in plot.y..plot.bottom() {
            let cell = &mut out[(column, row)];
            cell.set_symbol(glyphs.head).set_style(theme.accent);
        }
    }
}

/// A `*` in each cell that has a point, and in the cells between points of the same column.
fn draw_ascii(
    model: &Model,
    points: &[PlotPoint],
    range: TimeRange,
    limits: Limits,
    plot: Rect,
    out: &mut Buffer,
) {
    let axis = Axis::plain(range, plot.x, plot.width);
    let [low, high] = limits.bounds();
    let rows = f64::from(plot.height.saturating_sub(1));
    let row = |point: &PlotPoint| {
        let share = ((high - point.number) / (high - low)).clamp(0.0, 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the rows"
        )]
        let row = (share * rows).round() as u16;
        plot.y + row
    };
    let places = points.iter();
    let places = places.filter_map(|point| Some((axis.column(point.time)?, row(point))));
    let places: Vec<(u16, u16)> = places.collect();
    for places in places.chunk_by(|a, b| a.0 == b.0) {
        let rows = || places.iter().map(|(_, row)| *row);
        let (Some((column, _)), Some(top), Some(bottom)) =
            (places.first(), rows().min(), rows().max())
        else {
            continue;
        };
        for row in top..=bottom {
            let style = model.appearance.theme.usual_density;
            out[(*column, row)].set_symbol("*").set_style(style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Time<Ros> {
        Time::from_secs(secs)
    }

    fn points(of: &[(i64, f64)], is_step: bool) -> Vec<PlotPoint> {
        let point = |(secs, number): &(i64, f64)| PlotPoint {
            time: at(*secs),
            number: *number,
            is_step,
        };
        of.iter().map(point).collect()
    }

    /// The lines that have a length, as `x1 y1 x2 y2`.
    fn shown(points: &[PlotPoint], holes: &[TimeRange]) -> Vec<[f64; 4]> {
        let range = TimeRange::between(at(0), at(100));
        let lines = lines(points, range, holes, 200).into_iter();
        let ends = lines.map(|line| [line.x1, line.y1, line.x2, line.y2]);
        ends.filter(|[x1, y1, x2, y2]| (x1, y1) != (x2, y2))
            .collect()
    }

    #[test]
    fn points_are_connected_unless_there_is_a_hole_between_them() {
        let some = points(&[(0, 1.0), (1, 2.0), (2, 1.0), (5, 3.0), (6, 3.0)], false);
        let all = [
            [0.0, 1.0, 1.0, 2.0],
            [1.0, 2.0, 2.0, 1.0],
            [2.0, 1.0, 5.0, 3.0],
            [5.0, 3.0, 6.0, 3.0],
        ];
        assert_eq!(shown(&some, &[]), all);
        let hole = TimeRange::between(at(2), at(5));
        assert_eq!(shown(&some, &[hole]), [all[0], all[1], all[3]]);
        // Six usual distances apart.
        let far = points(&[(0, 1.0), (1, 1.0), (2, 1.0), (8, 1.0)], false);
        assert_eq!(shown(&far, &[]).len(), 2);
    }

    #[test]
    fn only_points_without_lines_are_drawn_by_themselves() {
        let range = TimeRange::between(at(0), at(100));
        let of = [
            (0, 1.0),
            (1, 2.0),
            (2, 1.0),
            (20, 3.0),
            (40, 3.0),
            (41, 4.0),
        ];
        let drawn = lines(&points(&of, false), range, &[], 200);
        let dots = drawn
            .iter()
            .filter(|line| line.x1.total_cmp(&line.x2).is_eq());
        let dots: Vec<f64> = dots.map(|dot| dot.x1).collect();
        assert_eq!((drawn.len(), dots), (4, vec![20.0]));
    }

    #[test]
    fn whole_numbers_hold_until_the_next_one() {
        let steps = points(&[(0, 0.0), (1, 2.0)], true);
        assert_eq!(
            shown(&steps, &[]),
            [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 2.0]]
        );
    }

    #[test]
    fn a_number_that_does_not_change_is_within_its_limits() {
        for number in [0.0, 1.0, -5.0, 1.7e18, 1e-12] {
            let limits = Limits::of(&points(&[(0, number)], false)).unwrap();
            let [low, high] = limits.bounds();
            assert!(low < number && number < high, "{number}");
        }
        assert!(Limits::of(&[]).is_none());
    }
}
