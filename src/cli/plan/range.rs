//! The part of a recording that is played, searched or cut.

use super::PlanError;
use crate::cli::args::flags::TimeArgs;
use crate::cli::args::verbs::find::FindArgs;
use crate::time::{Duration, Ros, Time, TimeRange, When};

/// A part that is outside of the recording, or ends before it begins.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("nothing to search: {0}")]
pub struct EmptyRange(String);

/// The range to search, both ends included.
pub fn find_range(args: &FindArgs, recording: TimeRange) -> Result<TimeRange, EmptyRange> {
    let within = |when: Option<When>| when.map(|when| when.in_range(recording));
    let start = within(args.start).unwrap_or(recording.start());
    let stop = within(args.end).unwrap_or(recording.stop());
    part(start, stop, recording).map_err(EmptyRange)
}

/// The range to play, both ends included; of several ends the earliest applies.
pub(super) fn range(time: &TimeArgs, recording: TimeRange) -> Result<TimeRange, PlanError> {
    let within = |when: Option<When>| when.map(|when| when.in_range(recording));
    let (from, to) = time
        .loop_range
        .map_or((time.start, time.end), |range| (range.from, range.to));
    let offset = time
        .start_offset
        .map(|span| recording.start().saturating_add(span));
    let start = within(from).or(offset).unwrap_or(recording.start());
    let until_sec = time
        .playback_until_sec
        .map(|span| Time::ZERO.saturating_add(span));
    let ends = [
        within(to),
        time.playback_duration
            .map(|span| start.max(recording.start()).saturating_add(span)),
        until_sec,
        time.playback_until_nsec.map(Time::from_nanos),
    ];
    let stop = ends.into_iter().flatten().min().unwrap_or(recording.stop());
    let range = part(start, stop, recording).map_err(PlanError::Empty)?;
    if time.loop_range.is_some() && range.duration() == Duration::ZERO {
        let why = format!("the loop at {} has no length", at(range.start(), recording));
        return Err(PlanError::Empty(why));
    }
    Ok(range)
}

/// The part of the recording between two times, both included, or why there is none.
pub(super) fn part(
    start: Time<Ros>,
    stop: Time<Ros>,
    recording: TimeRange,
) -> Result<TimeRange, String> {
    let (first, last) = (recording.start(), recording.stop());
    let at = |time: Time<Ros>| at(time, recording);
    if start > last {
        return Err(format!(
            "the start, {}, is after the end of the recording, {}",
            at(start),
            at(last)
        ));
    }
    if stop < start || stop < first {
        let start = at(start.max(first));
        return Err(format!(
            "the end, {}, is before the start, {start}{}",
            at(stop),
            if stop < first {
                "; hint: with a + a time counts from the start of the recording"
            } else {
                ""
            }
        ));
    }
    Ok(TimeRange::between(start.max(first), stop.min(last)))
}

fn at(time: Time<Ros>, recording: TimeRange) -> String {
    format!(
        "{time} s ({} from the start)",
        time.saturating_since(recording.start())
    )
}
