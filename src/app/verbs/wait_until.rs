//! `play ctl wait-until`: returns when the clock of a player elsewhere has reached a time.

use std::cmp::Ordering;
use std::time::{Duration as StdDuration, Instant};

use bagplay::cli::{RemoteStatus, When};
use bagplay::player::{Pace, State};
use bagplay::time::{AtEnd, Duration, Ros, Time, TimeRange};
use bagplay::wire::{PlayerClient, PlayerView, RequestError};

use super::driven::{ASK_EVERY, Driven, NotDone};
use super::find_player::now;

/// Returns when the clock has reached a time, in the direction of play, or has passed it in a lap.
pub(super) fn wait_until(driven: &Driven<'_>, when: When) -> Result<(), NotDone> {
    // A player that does not tell its position is refused, whatever the time.
    driven.player.view()?;
    let mut wait = Wait::new(driven.time(when)?);
    loop {
        match driven.player.view() {
            Ok(view) => {
                if wait.look(view, now())? {
                    return Ok(());
                }
            }
            Err(error) if error.is_gone() => {
                let reached = wait.reached_by(now());
                if reached.is_some_and(|clock| wait.is_past(clock)) {
                    return Ok(());
                }
                let patience = PlayerClient::LOSS_IS_KNOWN;
                let has_left = driven.player.has_left(&error, patience);
                if has_left && reached.is_some() {
                    return Err(refused(TOO_EARLY));
                }
                if has_left || !driven.player.has_path() {
                    return Err(driven.lost());
                }
            }
            Err(error) => return Err(error.into()),
        }
        std::thread::park_timeout(ASK_EVERY);
    }
}

/// For how long a player may have played on after its last status: a longer time than that for which the end of a run
/// is told.
const UNSEEN: StdDuration = StdDuration::from_millis(400);

const TOO_EARLY: &str = "the player has ended before that time";

fn refused(reason: &str) -> NotDone {
    RequestError::Refused(reason.to_owned()).into()
}

/// Where the clock of a player goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Forward,
    Backward,
}

/// A time that is waited for, and what is known of the player.
struct Wait {
    time: Time<Ros>,
    /// What was told last, and when.
    last: Option<(PlayerView, Instant)>,
    /// `None` as long as it is not known: a clock that is followed has to move first.
    direction: Option<Direction>,
    /// On which side of the time the clock was when it had not been reached and the direction was known.
    side: Option<Ordering>,
}

impl Wait {
    const fn new(time: Time<Ros>) -> Self {
        Self {
            time,
            last: None,
            direction: None,
            side: None,
        }
    }

    /// Whether the time has been reached. The error says why it never will be.
    fn look(&mut self, view: PlayerView, at: Instant) -> Result<bool, NotDone> {
        let before = self.last.take().map(|(view, _)| view);
        self.direction = self.direction_of(&view, before.as_ref());
        let has_lapped = before.is_some_and(|before| {
            let is_in_lap = before.played.current().0.contains(self.time);
            view.laps > before.laps && is_in_lap
        });
        let never = self.never(&view);
        let is_reached = has_lapped || self.is_past(view.clock);
        if self.direction.is_some() && !is_reached {
            self.side.get_or_insert(view.clock.cmp(&self.time));
        }
        self.last = Some((view, at));
        match never {
            Some(reason) if !is_reached => Err(refused(&reason)),
            _ => Ok(is_reached),
        }
    }

    /// Why a time that has not been reached never will be.
    fn never(&self, view: &PlayerView) -> Option<String> {
        let (range, at_end) = view.played.current();
        let is_looped = at_end == AtEnd::Loop && view.pace != Pace::Follow;
        if matches!(view.state, State::Ended | State::Stopped) {
            Some(TOO_EARLY.to_owned())
        } else if self.direction.is_none() {
            None
        } else if !view.recording.contains(self.time) {
            Some("the recording does not reach that time".to_owned())
        } else if is_looped && !range.contains(self.time) {
            let range = RemoteStatus::new(view).range_in_words();
            Some(format!(
                "the player repeats {range}, which does not reach that time"
            ))
        } else {
            None
        }
    }

    fn direction_of(&self, view: &PlayerView, before: Option<&PlayerView>) -> Option<Direction> {
        match view.pace {
            Pace::At(speed) if speed.is_reverse() => Some(Direction::Backward),
            Pace::At(_) | Pace::Max => Some(Direction::Forward),
            Pace::Follow => {
                let before = before.filter(|it| it.generation == view.generation)?;
                match view.clock.cmp(&before.clock) {
                    Ordering::Less => Some(Direction::Backward),
                    Ordering::Greater => Some(Direction::Forward),
                    Ordering::Equal => self.direction,
                }
            }
        }
    }

    /// Whether `clock` is at or behind the time in the direction of play at first, and then whether it has passed the
    /// time: another direction does not mean that it was there.
    fn is_past(&self, clock: Time<Ros>) -> bool {
        match (self.side, self.direction) {
            (Some(side), _) => clock.cmp(&self.time) != side,
            (None, Some(Direction::Forward)) => clock >= self.time,
            (None, Some(Direction::Backward)) => clock <= self.time,
            (None, None) => clock == self.time,
        }
    }

    /// Where a player is at `now` that plays on as it told last, at the end of its range at the latest; `None` if that
    /// is not known: it plays as fast as possible, or with another clock, or it waits for something.
    fn reached_by(&self, now: Instant) -> Option<Time<Ros>> {
        let (view, at) = self.last.as_ref()?;
        let speed = match (view.state, view.pace) {
            (State::Paused | State::Ended | State::Stopped, _) => return Some(view.clock),
            (State::Playing, Pace::At(speed)) => speed,
            _ => return None,
        };
        let passed = now.saturating_duration_since(*at).min(UNSEEN);
        let span = Duration::from_secs_f64(passed.as_secs_f64() * speed.as_f64())?;
        let (range, _) = view.played.current();
        let end = if speed.is_reverse() {
            range.start()
        } else {
            range.stop()
        };
        let ahead = TimeRange::between(view.clock, end);
        Some(ahead.clamp(view.clock.saturating_add(span)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bagplay::player::PlayedRange;
    use bagplay::wire::services::messages::bagplay::PlayerStatus;
    use bagplay::wire::services::messages::service::Stamp;

    fn stamp(sec: i32) -> Stamp {
        Stamp { sec, nanosec: 0 }
    }

    /// A player in a recording from 0 s to 100 s.
    fn view(clock: i32, rate: f64) -> PlayerView {
        let status = PlayerStatus {
            clock: stamp(clock),
            recording_end: stamp(100),
            range_end: stamp(100),
            state: "playing".to_owned(),
            rate,
            ..PlayerStatus::default()
        };
        PlayerView::new(&status).unwrap()
    }

    fn look(wait: &mut Wait, view: PlayerView) -> Result<bool, String> {
        wait.look(view, now()).map_err(|error| error.to_string())
    }

    const FOLLOWS: f64 = f64::NAN;

    #[test]
    fn a_follower_that_plays_backward_comes_from_above() {
        let mut wait = Wait::new(Time::from_secs(50));
        for (clock, is_reached) in [(80, false), (79, false), (51, false), (49, true)] {
            assert_eq!(look(&mut wait, view(clock, FOLLOWS)), Ok(is_reached));
        }
        // One that plays forward has passed the time as soon as that is known.
        let mut wait = Wait::new(Time::from_secs(50));
        for (clock, is_reached) in [(80, false), (80, false), (81, true)] {
            assert_eq!(look(&mut wait, view(clock, FOLLOWS)), Ok(is_reached));
        }
        // A jump is no direction.
        let mut wait = Wait::new(Time::from_secs(50));
        assert_eq!(look(&mut wait, view(40, FOLLOWS)), Ok(false));
        let jumped = PlayerView {
            generation: 1,
            ..view(90, FOLLOWS)
        };
        assert_eq!(look(&mut wait, jumped), Ok(false));
    }

    #[test]
    fn a_clock_that_turns_back_has_not_reached_a_time_ahead() {
        let mut wait = Wait::new(Time::from_secs(50));
        for (clock, rate, is_reached) in [
            (30, 1.0, false),
            (40, 1.0, false),
            (39, -1.0, false),
            (45, 1.0, false),
            (51, 1.0, true),
        ] {
            assert_eq!(look(&mut wait, view(clock, rate)), Ok(is_reached));
        }
    }

    #[test]
    fn a_time_outside_a_range_that_is_repeated_is_never_reached() {
        let part = TimeRange::between(Time::from_secs(10), Time::from_secs(20));
        let looped = |clock, rate| {
            let whole = view(clock, rate);
            let ab_loop = PlayedRange {
                ab_loop: Some(part),
                ..whole.played
            };
            [PlayedRange::new(part, AtEnd::Loop), ab_loop].map(|played| PlayerView {
                played,
                ..whole.clone()
            })
        };
        for (time, clock, rate, is_reached) in [
            (15, 14, 1.0, Some(false)),
            (30, 14, 1.0, None),
            (5, 14, 1.0, Some(true)),
            (15, 16, -1.0, Some(false)),
            (5, 16, -1.0, None),
            (30, 16, -1.0, Some(true)),
        ] {
            for view in looped(clock, rate) {
                let told = look(&mut Wait::new(Time::from_secs(time)), view);
                assert_eq!(told.clone().ok(), is_reached, "{time} at {rate}");
                if let Err(reason) = told {
                    assert!(reason.contains("repeats 00:10.0..00:20.0"), "{reason}");
                }
            }
        }
    }

    #[test]
    fn how_far_a_player_came_is_known_only_at_a_rate() {
        let came = |view: PlayerView| {
            let mut wait = Wait::new(Time::from_secs(100));
            let at = now();
            let looked = wait.look(view, at);
            assert!(looked.is_ok_and(|is_reached| !is_reached));
            wait.reached_by(at + UNSEEN / 2)
        };
        let at = |secs| Some(Time::from_secs(secs));
        assert_eq!(came(view(10, 30.0)), at(16));
        assert_eq!(came(view(99, 30.0)), at(100));
        assert_eq!(came(view(10, f64::INFINITY)), None);
        assert_eq!(came(view(10, FOLLOWS)), None);
        for (state, rate, known) in [
            (State::Paused, f64::INFINITY, at(10)),
            (State::Starved, f64::INFINITY, None),
            (State::Gated, 1.0, None),
        ] {
            let view = view(10, rate);
            assert_eq!(came(PlayerView { state, ..view }), known, "{state:?}");
        }
    }
}
