//! Numbers and states as they are shown.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::bag::LookUp;
use crate::player::{Gate, LeadMotion, Pace, State};
use crate::time::{Duration, Speed};
use crate::tui::model::Model;
use crate::tui::model::parts::{Awaited, Followed};
use crate::tui::model::theme::style::Theme;
use crate::tui::watch::pin::{Pin, WatchedField};
use crate::tui::watch::series::{Series, WatchedValue};

/// The style of a number of late messages of `sent`: one in a hundred is a warning.
pub(super) fn late_style(theme: &Theme, late: u64, sent: u64) -> Style {
    if late.saturating_mul(100) >= sent.max(1) {
        theme.warning
    } else {
        theme.dim
    }
}

/// The state of playback: a glyph, words, and their style.
pub(super) fn state(model: &Model) -> (&'static str, String, Style) {
    let (glyphs, theme) = (&model.appearance.glyphs, &model.appearance.theme);
    let is_reverse = model.is_reverse();
    if model.is_silent {
        return (glyphs.waiting, "NO ANSWER".into(), theme.error);
    }
    match model.state() {
        State::Playing if is_held_by_clock(model) => {
            (glyphs.paused, "CLOCK STANDS".into(), theme.warning)
        }
        State::Playing if is_reverse => (glyphs.reverse, "REVERSE".into(), theme.playing),
        State::Playing => (glyphs.playing, "PLAYING".into(), theme.playing),
        State::Paused => (glyphs.paused, "PAUSED".into(), theme.paused),
        State::Starved => (glyphs.waiting, starved(model), theme.warning),
        State::Gated => (glyphs.waiting, gated(model), theme.warning),
        State::Stalled => (glyphs.waiting, "STALLED".into(), theme.warning),
        State::Ended if is_reverse => (glyphs.ended, "AT THE START".into(), theme.paused),
        State::Ended => (glyphs.ended, "AT THE END".into(), theme.paused),
        State::Stopped => (glyphs.ended, "STOPPED".into(), theme.paused),
    }
}

/// What is being read.
fn starved(model: &Model) -> String {
    match model.look_up {
        Some(LookUp { done, of }) => {
            format!("LOOKING UP LATCHED MESSAGES: {done} OF {of} CHUNKS")
        }
        None => "READING".into(),
    }
}

/// What playback is waiting for.
fn gated(model: &Model) -> String {
    let is_closed = |gate| {
        model
            .status
            .is_some_and(|status| status.gates.is_closed(gate))
    };
    let followed = model.followed.as_ref();
    if is_closed(Gate::Path) {
        "NO CONNECTION".into()
    } else if is_closed(Gate::Subscribers) {
        "WAITING FOR SUBSCRIBERS".into()
    } else if is_closed(Gate::Lead) {
        let topic = followed.map_or("THE CLOCK", |it| it.topic.as_str());
        format!("WAITING FOR {topic}")
    } else if is_closed(Gate::Answer) {
        "WAITING FOR AN ANSWER".into()
    } else {
        "WAITING".into()
    }
}

/// The topics whose subscribers are waited for.
pub(super) fn awaited(model: &Model, awaited: &Awaited) -> String {
    const NAMED: usize = 3;
    let rows = model.rows.iter();
    let rows = rows.filter(|row| awaited.topics.contains(&row.id));
    let mut names: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let names = names.join(", ");
    if more > 0 {
        format!("for {names} and {more} more")
    } else {
        format!("for {names}")
    }
}

/// Whether playback stands because the clock does that it follows.
fn is_held_by_clock(model: &Model) -> bool {
    let motion = model.followed.as_ref().map(|followed| followed.motion);
    model.is_following() && motion == Some(LeadMotion::Stands)
}

/// What the clock does that playback follows.
pub(super) fn followed(model: &Model, followed: &Followed) -> String {
    let (topic, times) = (&followed.topic, model.appearance.glyphs.times);
    match followed.motion {
        LeadMotion::Unknown => format!("no time on {topic} yet"),
        LeadMotion::Lost => format!("{topic} is silent"),
        LeadMotion::Stands => format!("{topic} stands"),
        LeadMotion::Moves(None) => topic.clone(),
        LeadMotion::Moves(Some(by)) => format!("{topic} {times}{}", factor(model, by)),
    }
}

/// `×0.50`, `×−2.00`, `×max`.
pub(super) fn pace(model: &Model, pace: Pace) -> String {
    let times = model.appearance.glyphs.times;
    match pace {
        Pace::At(speed) => format!("{times}{}", factor(model, speed.as_f64())),
        Pace::Max => format!("{times}max"),
        Pace::Follow => "following".to_owned(),
    }
}

/// Two decimals; more for values below a hundredth.
pub(super) fn factor(model: &Model, factor: f64) -> String {
    let sign = if factor < 0.0 {
        model.appearance.glyphs.minus
    } else {
        ""
    };
    let size = factor.abs();
    let least = Speed::NORMAL.as_f64() / 10.0;
    let decimals = if size >= 99.95 {
        0
    } else if size >= least || size == 0.0 {
        2
    } else {
        3
    };
    format!("{sign}{size:.decimals$}")
}

/// Messages per second, in at most five columns.
pub(super) fn hertz(hz: f64) -> String {
    if hz >= 99.95 {
        format!("{hz:.0}")
    } else if hz >= 9.995 {
        format!("{hz:.1}")
    } else {
        format!("{hz:.2}")
    }
}

/// A watched value with its unit and, if it has one, its name.
pub(super) fn watched(pin: &Pin, series: &Series, value: &WatchedValue) -> String {
    let unit = match pin.field {
        WatchedField::Delay => " s",
        WatchedField::Value(_) | WatchedField::Picture => "",
    };
    match value {
        WatchedValue::Bool(value) => value.to_string(),
        WatchedValue::Integer(value) => match series.name_of(*value) {
            Some(name) => format!("{value} ({name})"),
            None => value.to_string(),
        },
        WatchedValue::Number(value) => number(*value) + unit,
        WatchedValue::Time(nanos) => Duration::from_nanos(*nanos).to_string(),
        WatchedValue::Text(text) => text.clone(),
    }
}

/// A number beside a plot, in so many columns: its name, if it has one.
pub(super) fn label(series: &Series, value: f64, width: usize) -> String {
    let is_whole = value.fract() == 0.0 && value.abs() < 1e15;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    let name = is_whole.then(|| series.name_of(value as i128)).flatten();
    let text = match name {
        Some(name) => name.chars().take(width).collect(),
        None if is_whole => format!("{value:.0}"),
        None => number(value),
    };
    if text.len() <= width {
        text
    } else {
        format!("{value:.3e}")
    }
}

/// A number with five or six significant digits.
pub(super) fn number(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    if !(1e-4..1e9).contains(&size) {
        return format!("{number:.4e}");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 9"
    )]
    let digits = (5.0 - size.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{number:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Bytes per second as megabytes, in at most seven columns, with the same number of decimals in each row.
pub(super) fn megabytes(bytes: f64) -> String {
    let megabytes = bytes / 1e6;
    if megabytes >= 999.9995 {
        format!("{megabytes:.0}")
    } else if megabytes > 0.0 && megabytes < 0.0005 {
        "<0.001".to_owned()
    } else {
        format!("{megabytes:.3}")
    }
}

/// A count; in thousands, millions and so on if it does not fit into `width` columns, which must be at least five.
pub(super) fn count(count: u64, width: usize) -> String {
    let whole = count.to_string();
    if whole.len() <= width {
        return whole;
    }
    let units = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let last = ("T", 1_000_000_000_000);
    let (unit, size) = units
        .into_iter()
        .find(|(_, size)| count / size < 1_000)
        .unwrap_or(last);
    let tenths = format!("{}.{}{unit}", count / size, count % size * 10 / size);
    if tenths.len() <= width {
        tenths
    } else {
        format!("{}{unit}", count / size)
    }
}

/// Draws a line; one that is cut ends with a sign of continuation.
pub(super) fn draw_line(
    model: &Model,
    line: &Line<'_>,
    (x, y): (u16, u16),
    width: u16,
    out: &mut Buffer,
) {
    out.set_line(x, y, line, width);
    let dots = model.appearance.glyphs.dots;
    let room = u16::try_from(Span::raw(dots).width()).unwrap_or(0);
    if line.width() > width.into() && width > room {
        out.set_stringn(
            x + width - room,
            y,
            dots,
            room.into(),
            model.appearance.theme.dim,
        );
    }
}

/// The text with its middle left out, so that both ends are visible in `width` columns. Of the beginning of a path only
/// whole parts are kept; the end tells names with a common beginning apart.
pub(super) fn fit_ends(text: &str, width: usize, dots: &str) -> String {
    let room = width.saturating_sub(Span::raw(dots).width());
    if Span::raw(text).width() <= width || room < 6 {
        return fit(text, width, dots);
    }
    let head = fit(text, room / 3, "");
    let part = head.rfind('/').filter(|at| *at > 0);
    let head = part.map_or(head.as_str(), |at| &head[..=at]);
    let room = room - Span::raw(head).width();
    let starts = text.char_indices().map(|(at, _)| &text[at..]);
    let mut tails = starts.skip_while(|tail| Span::raw(*tail).width() > room);
    format!("{head}{dots}{}", tails.next().unwrap_or_default())
}

/// A text from elsewhere; in ASCII with three dots for an ellipsis.
pub(super) fn with_dots<'a>(model: &Model, text: &'a str) -> Cow<'a, str> {
    if model.appearance.glyphs.is_ascii && text.contains('…') {
        text.replace('…', "...").into()
    } else {
        text.into()
    }
}

/// The text, cut to `width` columns with a sign of continuation.
pub(super) fn fit(text: &str, width: usize, dots: &str) -> String {
    if Span::raw(text).width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(Span::raw(dots).width());
    let mut cut = String::new();
    for letter in text.chars() {
        cut.push(letter);
        if Span::raw(&cut).width() > room {
            cut.pop();
            break;
        }
    }
    if width >= Span::raw(dots).width() {
        cut.push_str(dots);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_messages_are_a_warning_from_one_in_a_hundred_on() {
        let theme = Theme::PLAIN;
        assert_ne!(theme.dim, theme.warning);
        for (late, sent, style) in [
            (0, 5, theme.dim),
            (9, 1_000, theme.dim),
            (10, 1_000, theme.warning),
            (1, 1, theme.warning),
            (1, 0, theme.warning),
        ] {
            assert_eq!(late_style(&theme, late, sent), style, "{late} of {sent}");
        }
    }

    #[test]
    fn numbers_fit_their_columns() {
        for (hz, text) in [
            (0.0, "0.00"),
            (9.99, "9.99"),
            (29.97, "30.0"),
            (99.8, "99.8"),
            (1234.5, "1234"),
        ] {
            assert_eq!(hertz(hz), text);
        }
        for (bytes, text) in [
            (0.0, "0.000"),
            (12.0, "<0.001"),
            (60_000.0, "0.060"),
            (9e6, "9.000"),
            (2.5e8, "250.000"),
            (2.5e9, "2500"),
        ] {
            assert_eq!(megabytes(bytes), text);
        }
        for (number, width, text) in [
            (0, 5, "0"),
            (1_234_567, 7, "1234567"),
            (12_345_678, 7, "12.3M"),
            (123_456, 5, "123k"),
            (999_999, 5, "999k"),
            (98_765_432_109, 7, "98.7G"),
            (u64::MAX, 10, "18446744T"),
        ] {
            assert_eq!(count(number, width), text);
        }
        for (text, width, cut) in [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 4, "abc…"),
            ("日本語", 4, "日…"),
            ("ab", 0, ""),
        ] {
            assert_eq!(fit(text, width, "…"), cut);
        }
        for (text, width, cut) in [
            ("/tf", 3, "/tf"),
            (
                "rise/v0/sjofartsverket/pubsub/raw/ais/123",
                24,
                "rise/…pubsub/raw/ais/123",
            ),
            (
                "/planning/scenario_planning/trajectory",
                30,
                "/planning…_planning/trajectory",
            ),
            ("日本語日本語", 9, "日…日本語"),
            ("abcdef", 4, "abc…"),
            ("abcdef", 0, ""),
        ] {
            let shown = fit_ends(text, width, "…");
            assert_eq!(shown, cut);
            assert!(Span::raw(&shown).width() <= width);
        }
    }
}
