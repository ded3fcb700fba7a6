//! [`Known`]: the status of a player elsewhere, from what it has told.

use super::player_view::PlayerView;
use crate::player::{ClockMode, Pace, PlayedRange, State, Status};
use crate::time::{Duration, Motion, Ros, Segment, Speed, Steady, Time, TimeRange};
use crate::wire::services::messages::bagplay::PlayerStatus;

/// By how much a position may differ from the expected one without a correction: it is the time that an answer needs.
const SKEW: Duration = Duration::from_millis(20);

/// A status that a player has told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) status: Status,
    /// The range of the recording.
    pub(super) recording: TimeRange,
}

/// What is known of a player.
#[derive(Debug)]
pub(super) struct Known {
    status: Status,
    /// When the player was asked for it.
    asked_at: Time<Steady>,
    /// The seeks that were passed on or replaced. The player counts those of all its clients; this is the number of
    /// those of this program.
    pub(super) seeks: u64,
}

impl Known {
    pub(super) const fn new(status: Status) -> Self {
        Self {
            status,
            asked_at: Time::MIN,
            seeks: 0,
        }
    }

    pub(super) const fn status(&self) -> Status {
        Status {
            seeks: self.seeks,
            ..self.status
        }
    }

    /// Takes an answer, unless the player was asked later for the one that is known.
    pub(super) fn update(&mut self, asked_at: Time<Steady>, status: Status) {
        if asked_at >= self.asked_at {
            (self.asked_at, self.status) = (asked_at, status);
        }
    }

    /// Since this instant nothing is known of the position.
    pub(super) fn hold(&mut self, since: Time<Steady>) {
        self.status.segment = self.status.segment.hold(since);
    }
}

/// The status at the instant `at`; `None` if it contains a state or a time that is none. A position that is close to
/// the one that follows from the status `before` is not corrected, so that it does not jitter.
pub(super) fn told(
    status: &PlayerStatus,
    shift: Duration,
    at: Time<Steady>,
    before: Option<Status>,
) -> Option<Told> {
    let view = PlayerView::new(status)?;
    let log = |time: Time<Ros>| time.saturating_sub(shift);
    let range = |range: TimeRange| TimeRange::between(log(range.start()), log(range.stop()));
    let played = PlayedRange {
        range: range(view.played.range),
        ab_loop: view.played.ab_loop.map(range),
        ..view.played
    };
    let (state, pace) = (view.state, view.pace);
    let speed = match pace {
        Pace::At(speed) => speed,
        Pace::Max | Pace::Follow => Speed::NORMAL,
    };
    let position = log(view.clock);
    let motion = if state == State::Playing && matches!(pace, Pace::At(_)) {
        Motion::Rolling {
            from: position,
            since: at,
        }
    } else {
        Motion::Held(position)
    };
    let (current, at_end) = played.current();
    let segment = Segment::new(current, speed, at_end).told(view.generation, motion);
    let segment = match before.map(|before| before.segment) {
        Some(before) if is_same(before, segment, at) => before,
        _ => segment,
    };
    Some(Told {
        status: Status {
            segment,
            played,
            state,
            pace,
            gates: view.gates,
            sent: view.sent,
            bytes: view.bytes,
            late: view.late,
            damaged: view.damaged,
            laps: view.laps,
            seeks: 0,
            clock: ClockMode::Off,
            skip_empty: None,
        },
        recording: range(view.recording),
    })
}

/// Whether a player that was at `before` is where it is expected.
fn is_same(before: Segment, now: Segment, at: Time<Steady>) -> bool {
    let facts = |it: Segment| (it.generation(), it.range(), it.speed(), it.at_end());
    if facts(before) != facts(now) || !before.is_rolling() || !now.is_rolling() {
        return false;
    }
    let (expected, found) = (before.position(at), now.position(at));
    let apart = TimeRange::between(expected, found).duration();
    now.wall_span(apart) <= SKEW
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::services::messages::service::Stamp;

    fn at(millis: i64) -> Time<Steady> {
        Time::from_nanos(millis * 1_000_000)
    }

    fn stamp(millis: i64) -> Stamp {
        Stamp::of(Time::from_nanos(millis * 1_000_000))
    }

    /// From 10 s to 20 s of log time, on a clock that is 5 s later.
    fn playing(clock_millis: i64) -> PlayerStatus {
        PlayerStatus {
            clock: stamp(clock_millis),
            recording_start: stamp(15_000),
            recording_end: stamp(25_000),
            range_start: stamp(15_000),
            range_end: stamp(25_000),
            state: "playing".to_owned(),
            rate: 2.0,
            generation: 7,
            ..PlayerStatus::default()
        }
    }

    const SHIFT: Duration = Duration::from_secs(5);

    #[test]
    fn a_position_moves_from_the_instant_at_which_it_was_told() {
        let status = told(&playing(16_000), SHIFT, at(100), None).unwrap().status;
        let position = |millis| status.segment.position(at(millis));
        assert_eq!(position(100), Time::from_nanos(11_000_000_000));
        assert_eq!(position(600), Time::from_nanos(12_000_000_000));
        assert_eq!(status.segment.generation(), 7);
    }

    #[test]
    fn a_small_difference_is_no_correction_and_a_jump_is() {
        let first = told(&playing(16_000), SHIFT, at(100), None).unwrap().status;
        for (clock_millis, generation, is_kept) in [
            (16_220, 7, true),
            (16_165, 7, true),
            (16_300, 7, false),
            (16_200, 8, false),
        ] {
            let next = PlayerStatus {
                generation,
                ..playing(clock_millis)
            };
            let next = told(&next, SHIFT, at(200), Some(first)).unwrap().status;
            let is_same = next.segment == first.segment;
            assert_eq!(is_same, is_kept, "{clock_millis}, {generation}");
        }
    }

    #[test]
    fn an_answer_to_an_earlier_question_is_ignored() {
        let status = |clock| told(&playing(clock), SHIFT, at(0), None).unwrap().status;
        let mut known = Known::new(status(16_000));
        known.update(at(20), status(17_000));
        known.update(at(10), status(16_500));
        assert_eq!(known.status().segment, status(17_000).segment);
    }
}
