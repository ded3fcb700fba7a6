//! Parses times to jump to: relative to the playhead, a time of day, or as on the command line.

use jiff::Timestamp;
use jiff::civil::{Date, Time as TimeOfDay};
use jiff::tz::TimeZone;

use crate::time::{Duration, Ros, Time, TimeRange};

/// Parses a time: absolute, or relative to a recording that covers the range.
pub type ParseTime = fn(&str, TimeRange) -> Result<Time<Ros>, String>;

/// Examples of what can be typed.
pub(crate) const TIMES: &str =
    "+5s, -1m, 50%, 1:30, start, a mark's name, 14:32:07.184, 2026-01-31T12:00:00Z, nanoseconds";

/// What a typed time is relative to.
#[derive(Clone, Debug)]
pub(crate) struct TimeContext {
    /// The playhead.
    pub playhead: Time<Ros>,
    /// The range of the recording.
    pub recording: TimeRange,
    /// The zone of times of day.
    pub zone: TimeZone,
    /// How much later times of day are shown than they were recorded.
    pub clock_shift: Duration,
    /// The parser for all other times.
    pub parse_time: ParseTime,
}

/// The time that `text` means. `+5s` and `-1m` are relative to the playhead, limited to the recording; `+00:05.000` is
/// a position as the header shows it. `14:32:07.184` is the nearest such time of day in the recording. Everything else
/// is parsed as on the command line, and `12`, `1:30` and `1m30s` are relative to the start if they are no time within
/// the recording otherwise. What is none of these may be a time of day whose hour has one digit: `8:53:30`. A time
/// outside of the recording is an error.
pub(crate) fn parse_target(text: &str, context: &TimeContext) -> Result<Time<Ros>, String> {
    let TimeContext {
        playhead,
        recording,
        ..
    } = context;
    let read = |text: &str| {
        (context.parse_time)(text, *recording).map_err(|_| {
            format!("`{text}` is not a time; hint: +5s, 50%, 1:30, 14:32:07, RFC 3339")
        })
    };
    // As the header shows positions.
    let position = text.strip_prefix('+').filter(|text| text.contains(':'));
    if let Some(to) = position.and_then(|text| elapsed(text, *recording)) {
        return Ok(recording.clamp(to));
    }
    if text.starts_with('+') {
        // On the command line these are relative to the start.
        let span = read(text)?.saturating_since(recording.start());
        return Ok(recording.clamp(playhead.saturating_add(span)));
    }
    if text.starts_with('-') {
        let span = recording.stop().saturating_since(read(text)?);
        return Ok(recording.clamp(playhead.saturating_sub(span)));
    }
    let time_of_day = time_of_day(text);
    if let Some(to) = time_of_day.and_then(|time| nearest_time_of_day(time, context)) {
        return Ok(to);
    }
    let from_start = || {
        let is_span = text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        let read = || read(&format!("+{text}")).ok().filter(|_| is_span);
        elapsed(text, *recording).or_else(read)
    };
    let absolute = read(text);
    // It may be a time as shown, where shown and recorded times differ.
    let shown = |to: &Time<Ros>| to.saturating_sub(context.clock_shift);
    let meant = absolute.iter().copied().chain(absolute.iter().map(shown));
    if let Some(to) = meant.chain(from_start()).find(|to| recording.contains(*to)) {
        return Ok(to);
    }
    // An hour of one digit is first of all a time since the start.
    let short = text.find(':').filter(|at| *at == 1);
    let short = short.and_then(|_| self::time_of_day(&format!("0{text}")));
    if let Some(to) = short.and_then(|time| nearest_time_of_day(time, context)) {
        return Ok(to);
    }
    if time_of_day.is_some() {
        return Err(format!("{text} is not a time of day in the recording"));
    }
    match absolute {
        Err(error) if from_start().is_none() && !is_above_100_percent(text) => Err(error),
        _ => Err(format!("{text} is outside the recording")),
    }
}

/// A time of day: its hour has two digits.
fn time_of_day(text: &str) -> Option<TimeOfDay> {
    let time = text.parse().ok();
    time.filter(|_| is_digits(text) && text.contains(':'))
}

/// Whether it is longer than the whole recording.
fn is_above_100_percent(text: &str) -> bool {
    let percent = text.strip_suffix('%').map(str::trim_end);
    percent
        .and_then(|percent| percent.parse::<f64>().ok())
        .is_some_and(|percent| percent > 100.0)
}

/// Whether it consists of numbers only, without a date or a zone.
fn is_digits(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || ".:".contains(c))
}

/// `12`, `1:30` and `1:02:03.5`, relative to the start, as the header shows them.
fn elapsed(text: &str, recording: TimeRange) -> Option<Time<Ros>> {
    let mut parts = text.split(':').map(str::parse::<f64>);
    let seconds = parts.try_fold(0.0, |sum, part| Some(sum * 60.0 + part.ok()?))?;
    let span = Duration::from_secs_f64(seconds).filter(|_| is_digits(text))?;
    Some(recording.start().saturating_add(span))
}

/// Of the candidates within the recording, the nearest to the playhead.
fn nearest_time_of_day(time: TimeOfDay, context: &TimeContext) -> Option<Time<Ros>> {
    let at = |date: Date| {
        let stamp = date.to_datetime(time).to_zoned(context.zone.clone()).ok()?;
        let nanos = i64::try_from(stamp.timestamp().as_nanosecond()).ok()?;
        let recorded = Time::from_nanos(nanos).saturating_sub(context.clock_shift);
        context.recording.contains(recorded).then_some(recorded)
    };
    let day = |time: Time<Ros>| {
        let shown = time.saturating_add(context.clock_shift);
        let stamp = Timestamp::from_nanosecond(shown.as_nanos().into()).ok()?;
        Some(stamp.to_zoned(context.zone.clone()).date())
    };
    let (first, today, last) = (
        day(context.recording.start())?,
        day(context.playhead)?,
        day(context.recording.stop())?,
    );
    let days = [
        today.yesterday().ok(),
        Some(today),
        today.tomorrow().ok(),
        Some(first),
        Some(last),
    ];
    days.into_iter()
        .flatten()
        .filter_map(at)
        .min_by_key(|time| time.saturating_since(context.playhead).saturating_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> TimeContext {
        let at = |text: &str| {
            let stamp: Timestamp = text.parse().unwrap();
            Time::from_nanos(i64::try_from(stamp.as_nanosecond()).unwrap())
        };
        TimeContext {
            playhead: at("2026-03-01T23:59:30Z"),
            recording: TimeRange::between(at("2026-03-01T23:50:00Z"), at("2026-03-02T00:10:00Z")),
            zone: TimeZone::UTC,
            clock_shift: Duration::ZERO,
            // A short version of the parser of the command line.
            parse_time: |text, range| {
                let seconds = |text: &str| {
                    text.trim_end_matches('s')
                        .parse()
                        .map_err(|_| format!("{text}?"))
                };
                if let Some(span) = text.strip_prefix('+') {
                    return Ok(range
                        .start()
                        .saturating_add(Duration::from_secs(seconds(span)?)));
                }
                if let Some(span) = text.strip_prefix('-') {
                    return Ok(range
                        .stop()
                        .saturating_sub(Duration::from_secs(seconds(span)?)));
                }
                Ok(Time::from_nanos(seconds(text)? * 1_000_000_000))
            },
        }
    }

    #[test]
    fn times_mean_what_they_say() {
        let context = context();
        let from_here = |seconds| {
            context
                .playhead
                .saturating_add(Duration::from_secs(seconds))
        };
        let from_start = |seconds| {
            let start = context.recording.start();
            start.saturating_add(Duration::from_secs(seconds))
        };
        for (text, to) in [
            ("+5s", from_here(5)),
            ("-60s", from_here(-60)),
            ("+9999s", context.recording.stop()),
            ("-9999s", context.recording.start()),
            ("23:59:31", from_here(1)),
            ("23:52", from_here(-450)),
            (
                "12",
                context
                    .recording
                    .start()
                    .saturating_add(Duration::from_secs(12)),
            ),
            (
                "1:30.5",
                context
                    .recording
                    .start()
                    .saturating_add(Duration::from_millis(90_500)),
            ),
            ("0:19:60", context.recording.stop()),
            ("12s", from_start(12)),
            // The recording ends before a quarter past midnight.
            ("00:15", from_start(15)),
            ("00:19:30", from_start(1170)),
            (
                "00:00:00.5",
                from_here(30).saturating_add(Duration::from_millis(500)),
            ),
        ] {
            assert_eq!(parse_target(text, &context), Ok(to), "{text}");
        }
        let later = TimeContext {
            clock_shift: Duration::from_secs(3600),
            ..context.clone()
        };
        assert_eq!(parse_target("00:59:31", &later), Ok(from_here(1)));
        let shown = from_here(3601).as_nanos() / 1_000_000_000;
        assert_eq!(parse_target(&shown.to_string(), &later), Ok(from_here(1)));
        let morning = |text: &str| {
            let at = |text: &str| {
                let stamp: Timestamp = text.parse().unwrap();
                Time::from_nanos(i64::try_from(stamp.as_nanosecond()).unwrap())
            };
            let recording =
                TimeRange::between(at("2026-03-01T08:50:00Z"), at("2026-03-01T09:10:00Z"));
            let context = TimeContext {
                playhead: recording.start(),
                recording,
                ..context.clone()
            };
            let to = parse_target(text, &context)?;
            Ok::<_, String>(to.saturating_since(recording.start()).as_secs_f64())
        };
        for (text, seconds) in [
            ("8:53:30", 210.0),
            ("8:53:30.5", 210.5),
            ("08:53:30", 210.0),
            // Since the start, as far as the recording goes.
            ("8:53", 533.0),
            ("9:05", 545.0),
            ("0:19:30", 1170.0),
        ] {
            assert_eq!(morning(text), Ok(seconds), "{text}");
        }
        let outside = "7:53:30 is outside the recording";
        assert_eq!(morning("7:53:30"), Err(outside.to_owned()));
        for (text, expected) in [
            ("20:01", "20:01 is not a time of day in the recording"),
            ("24:00", "24:00 is outside the recording"),
            ("1:30:00", "1:30:00 is outside the recording"),
            ("5000", "5000 is outside the recording"),
            ("5000s", "5000s is outside the recording"),
            ("150%", "150% is outside the recording"),
            ("", "`` is not a time; hint: "),
            ("+", "`+` is not a time; hint: "),
            ("x:y", "`x:y` is not a time; hint: "),
            ("5x", "`5x` is not a time; hint: "),
            ("x%", "`x%` is not a time; hint: "),
            ("23:52+02:00", "`23:52+02:00` is not a time; hint: "),
        ] {
            let error = parse_target(text, &context).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
