//! [`PlayerView`]: what a player tells of itself, in the types of this program.

use crate::player::{Gate, Gates, Pace, PlayedRange, State};
use crate::time::{AtEnd, Ros, Speed, Time, TimeRange};
use crate::wire::services::messages::bagplay::PlayerStatus;

/// What a player elsewhere tells of itself. All times are those of its clock.
#[derive(Clone, PartialEq, Debug)]
pub struct PlayerView {
    /// Where playback is.
    pub clock: Time<Ros>,
    /// The range of the recording.
    pub recording: TimeRange,
    /// What is played.
    pub played: PlayedRange,
    /// What playback is doing; for one that is held, [`State::Playing`].
    pub state: State,
    /// Whether it follows a clock that stands.
    pub is_held: bool,
    /// Why it is gated.
    pub gates: Gates,
    /// How fast it plays.
    pub pace: Pace,
    /// The clock that is followed, if it has a name.
    pub followed: Option<String>,
    /// Counts the jumps.
    pub generation: u64,
    /// The number of completed laps.
    pub laps: u64,
    /// The messages sent, without those that were sent again after a jump.
    pub sent: u64,
    /// Payload bytes of those messages.
    pub bytes: u64,
    /// How many of those messages were late.
    pub late: u64,
    /// Damaged places met in the recording.
    pub damaged: u64,
}

impl PlayerView {
    /// `None` if the status contains a state or a time that is none. Gates that are not known are left out.
    pub fn new(status: &PlayerStatus) -> Option<Self> {
        let range = |start, end| Some(TimeRange::between(start?, end?));
        let is_held = status.state == PlayerStatus::HELD;
        let gates = status.gates.iter().filter_map(|name| Gate::named(name));
        Some(Self {
            clock: status.clock.time()?,
            recording: range(status.recording_start.time(), status.recording_end.time())?,
            played: PlayedRange {
                range: range(status.range_start.time(), status.range_end.time())?,
                at_end: AtEnd::from_loop(status.is_loop),
                ab_loop: if status.has_ab_loop {
                    Some(range(status.loop_start.time(), status.loop_end.time())?)
                } else {
                    None
                },
            },
            state: if is_held {
                State::Playing
            } else {
                State::named(&status.state)?
            },
            is_held,
            gates: gates.fold(Gates::OPEN, Gates::close),
            pace: pace(status.rate),
            followed: Some(status.followed.clone()).filter(|name| !name.is_empty()),
            generation: status.generation,
            laps: status.laps,
            sent: status.messages,
            bytes: status.bytes,
            late: status.late,
            damaged: status.damaged,
        })
    }

    /// One word for what playback is doing.
    pub const fn state_name(&self) -> &'static str {
        if self.is_held {
            PlayerStatus::HELD
        } else {
            self.state.name()
        }
    }
}

fn pace(rate: f64) -> Pace {
    if rate.is_nan() {
        return Pace::Follow;
    }
    Speed::from_f64(rate).map_or(Pace::Max, Pace::At)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::services::messages::service::Stamp;

    fn view(change: impl FnOnce(&mut PlayerStatus)) -> Option<PlayerView> {
        let mut status = PlayerStatus {
            state: "playing".to_owned(),
            rate: 1.0,
            ..PlayerStatus::default()
        };
        change(&mut status);
        PlayerView::new(&status)
    }

    #[test]
    fn an_unknown_state_and_a_wrong_time_are_refused() {
        assert!(view(|_| {}).is_some());
        assert!(view(|status| status.state = "dreaming".to_owned()).is_none());
        let wrong = Stamp {
            sec: 1,
            nanosec: 1_000_000_000,
        };
        assert!(view(|status| status.clock = wrong).is_none());
        assert!(view(|status| status.range_end = wrong).is_none());
    }

    #[test]
    fn a_rate_is_a_pace() {
        let half = Speed::from_f64(-0.5).unwrap();
        for (rate, pace) in [
            (-0.5, Pace::At(half)),
            (f64::INFINITY, Pace::Max),
            (f64::NAN, Pace::Follow),
        ] {
            assert_eq!(view(|status| status.rate = rate).unwrap().pace, pace);
        }
    }

    #[test]
    fn a_held_player_plays_with_a_clock_that_stands() {
        let held = view(|status| status.state = "held".to_owned()).unwrap();
        assert_eq!((held.state, held.state_name()), (State::Playing, "held"));
    }
}
