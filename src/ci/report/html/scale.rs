//! From log times and values to places in a plot.

use maud::{Markup, html};

use crate::ci::report::record::RunRecord;
use crate::ci::report::units::approximate;

/// The width of every plot in its own units.
pub(super) const WIDTH: u32 = 1_000_000;
/// The height of a plot of values in its own units.
pub(super) const HEIGHT: u32 = 10_000;

/// The log times of a plot.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeScale {
    first: i64,
    last: i64,
    /// The time that is shown as 0.
    origin: i64,
}

impl TimeScale {
    /// The part that was played, from 0 on, and everything that happened; `None` of a run without either.
    pub(super) fn of_run(run: &RunRecord) -> Option<Self> {
        let played = run.played_ns.into_iter().flat_map(|(from, to)| [from, to]);
        let scale = Self::over(played.chain(run.timeline.iter().map(|moment| moment.log_ns)))?;
        Some(
            run.played_ns
                .map_or(scale, |(from, _)| scale.with_origin(from)),
        )
    }

    pub(super) fn over(times: impl Iterator<Item = i64>) -> Option<Self> {
        let with = |range: Option<Self>, at: i64| match range {
            None => Some(Self {
                first: at,
                last: at,
                origin: at,
            }),
            Some(range) => Some(Self {
                first: range.first.min(at),
                last: range.last.max(at),
                origin: range.first.min(at),
            }),
        };
        times.fold(None, with)
    }

    /// The same with this time shown as 0.
    pub(super) fn with_origin(self, origin: i64) -> Self {
        Self { origin, ..self }
    }

    /// What its start is shown as, in seconds.
    pub(super) fn start(self) -> f64 {
        approximate(i128::from(self.first) - i128::from(self.origin)) / 1e9
    }

    /// The length in seconds.
    pub(super) fn seconds(self) -> f64 {
        approximate(i128::from(self.last) - i128::from(self.first)) / 1e9
    }

    /// The place of a time, within the plot.
    pub(super) fn x(self, at: i64) -> u32 {
        let span = (i128::from(self.last) - i128::from(self.first)).max(1);
        let offset = i128::from(at.clamp(self.first, self.last)) - i128::from(self.first);
        u32::try_from(offset * i128::from(WIDTH) / span).unwrap_or(WIDTH)
    }

    /// The lines of the grid and the times at them; the script redraws them for each part that is shown.
    pub(super) fn grid(self) -> Markup {
        let (start, span) = (self.start(), self.seconds());
        let step = step_of_time(span);
        let first = (start / step).ceil();
        let lines = (0..12_u8)
            .map(|number| (first + f64::from(number)) * step)
            .take_while(|at| *at <= start + span);
        html! {
            svg.grid aria-hidden="true" {
                @for at in lines {
                    @let part = if span > 0.0 { (at - start) / span } else { 0.0 };
                    @let x = format!("{:.3}%", part * 100.0);
                    // The text at the right edge stands before its line.
                    @let (anchor, dx) = if part > 0.95 { ("end", -4) } else { ("start", 4) };
                    line x1=(x) x2=(x) y1="0" y2="100%" {}
                    text x=(x) dx=(dx) text-anchor=(anchor) y="100%" dy="-5" { (label(at, step)) }
                }
            }
        }
    }
}

/// A round distance between lines, at most seven in the span.
fn step_of_time(span: f64) -> f64 {
    const MINUTES: [f64; 9] = [
        30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0,
    ];
    let fits = |step: &f64| span / step <= 7.0;
    if span > 120.0
        && let Some(step) = MINUTES.into_iter().find(fits)
    {
        return step;
    }
    round_step(span / 7.0)
}

/// The next number of 1, 2 and 5 and their tenfolds that is not smaller.
fn round_step(least: f64) -> f64 {
    if !(least.is_finite() && least > 0.0) {
        return 1.0;
    }
    let ten = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * ten >= least);
    factor.unwrap_or(10.0) * ten
}

/// `12.5 s`, with as many decimals as the step needs; `2:30` for steps of half a minute and more.
fn label(at: f64, step: f64) -> String {
    if step >= 30.0 && at >= 0.0 {
        let (hours, minutes, seconds) = (at / 3600.0, at / 60.0 % 60.0, at % 60.0);
        return if hours >= 1.0 {
            format!(
                "{:.0}:{:02.0}:{seconds:02.0}",
                hours.floor(),
                minutes.floor()
            )
        } else {
            format!("{:.0}:{seconds:02.0}", minutes.floor())
        };
    }
    format!("{at:.*} s", decimals(step))
}

fn decimals(step: f64) -> usize {
    (0..12)
        .find(|&places| step >= 0.999 * 10_f64.powi(-places))
        .map_or(12, |places| usize::try_from(places).unwrap_or_default())
}

/// The values of a plot, from bottom to top.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueScale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl ValueScale {
    /// All these values with some room above and below.
    pub(super) fn around(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
        // In halves, because the difference of two finite numbers need not be one.
        let half = (high / 2.0 - low / 2.0)
            .max(low.abs() * 1e-9)
            .max(f64::MIN_POSITIVE);
        let room = half * 0.2;
        Self {
            low: (low - room).max(f64::MIN),
            high: (high + room).min(f64::MAX),
            is_log: false,
        }
    }

    /// From zero, or by powers of ten if some are far from the others.
    pub(super) fn of_spans(values: impl Iterator<Item = f64>) -> Self {
        let positive = values.filter(|value| *value > 0.0);
        let (low, high) = bounds(positive).unwrap_or((1.0, 1.0));
        if high > 20.0 * low {
            Self {
                low: (low / 1.5).max(high / 1e6),
                high: (high * 1.5).min(f64::MAX),
                is_log: true,
            }
        } else {
            Self {
                low: 0.0,
                high: (high * 1.15).min(f64::MAX),
                is_log: false,
            }
        }
    }

    /// From the top, in parts of the height: 0 to 1.
    fn part(self, value: f64) -> f64 {
        let part = if self.is_log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            // Scaled down first: differences of large numbers overflow.
            (value / 4.0 - self.low / 4.0) / (self.high / 4.0 - self.low / 4.0)
        };
        1.0 - part.clamp(0.0, 1.0)
    }

    /// The place of a value in units of the height.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the height"
    )]
    pub(super) fn y(self, value: f64) -> u32 {
        (self.part(value) * f64::from(HEIGHT)).round() as u32
    }

    /// The place of a value in the form of an attribute: `12.5%`.
    pub(super) fn percent(self, value: f64) -> String {
        format!("{:.2}%", self.part(value) * 100.0)
    }

    /// How far a text stands from the line of a value: above it, or below it at the top.
    pub(super) fn text_offset(self, value: f64) -> i32 {
        if self.part(value) < 0.1 { 13 } else { -4 }
    }

    /// Round values within the scale.
    pub(super) fn ticks(self) -> Vec<f64> {
        if self.is_log {
            let first = self.low.log10().ceil();
            let all = (0..12_u8).map(|number| 10_f64.powf(first + f64::from(number)));
            return all.take_while(|value| *value <= self.high).collect();
        }
        let step = round_step((self.high / 4.0 - self.low / 4.0) / 3.0 * 4.0);
        let first = (self.low / step).ceil();
        let all = (0..12_u8).map(|number| (first + f64::from(number)) * step);
        all.take_while(|value| *value <= self.high).collect()
    }

    pub(super) fn low(self) -> f64 {
        self.low
    }

    pub(super) fn high(self) -> f64 {
        self.high
    }

    /// How the script is told: `log` or `linear`.
    pub(super) fn kind(self) -> &'static str {
        if self.is_log { "log" } else { "linear" }
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite());
    finite.fold(None, |bounds, value| match bounds {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_within_the_plot_however_far_apart() {
        let scale = TimeScale::over([i64::MIN, i64::MAX].into_iter()).unwrap();
        assert_eq!(
            (scale.x(i64::MIN), scale.x(0), scale.x(i64::MAX)),
            (0, WIDTH / 2, WIDTH)
        );
        let point = TimeScale::over([5].into_iter()).unwrap();
        assert_eq!((point.x(5), point.x(9)), (0, 0));
        assert!(point.grid().0.contains("0 s"));
        assert!(TimeScale::over(std::iter::empty()).is_none());
    }

    #[test]
    fn steps_are_round_and_labels_as_exact_as_the_step() {
        for (span, step, at, text) in [
            (30.0, 5.0, 10.0, "10 s"),
            (2.5, 0.5, 1.5, "1.5 s"),
            (0.03, 0.005, 0.015, "0.015 s"),
            (110.0, 20.0, 40.0, "40 s"),
            (600.0, 120.0, 240.0, "4:00"),
            (20_000.0, 3600.0, 7200.0, "2:00:00"),
            (190.0, 30.0, 90.0, "1:30"),
        ] {
            let found = step_of_time(span);
            assert!((found - step).abs() < 1e-9, "{span}: {found}");
            assert_eq!(label(at, found), text);
        }
    }

    #[test]
    fn values_lie_within_the_plot_also_extreme_and_equal_ones() {
        for values in [
            vec![0.0, 1.0],
            vec![3.5],
            vec![f64::MIN, f64::MAX],
            vec![f64::NAN, f64::INFINITY, 2.0, 1.0],
            vec![],
            vec![0.0, 0.0],
            vec![1e-300, 2e-300],
        ] {
            for scale in [
                ValueScale::around(values.iter().copied()),
                ValueScale::of_spans(values.iter().copied()),
            ] {
                for value in values.iter().chain(&[f64::MAX, f64::MIN, 0.0]) {
                    assert!(scale.y(*value) <= HEIGHT, "{values:?}: {value}");
                }
                let ticks = scale.ticks();
                assert!(ticks.len() <= 12, "{values:?}: {ticks:?}");
                assert!(
                    ticks.iter().all(|tick| tick.is_finite()),
                    "{values:?}: {ticks:?}"
                );
            }
        }
    }
}
