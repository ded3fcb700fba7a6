//! [`Times`]: when which time is sent. Between two jumps it never runs against the direction of playback, because a
//! viewer may take a time that goes back for a jump.

use crate::time::{Duration, Ros, Segment, Steady, Time};

/// The shortest wall time between two times: at most 100 a second. Each viewer has a limited queue for them.
const SHORTEST: Duration = Duration::from_millis(10);
/// The longest wall time between two times while playing: 66 a second.
const LONGEST: Duration = Duration::from_millis(15);

/// The times that were sent.
#[derive(Debug)]
pub(super) struct Times {
    is_reverse: bool,
    /// The last time since the last jump.
    last: Option<Time<Ros>>,
    sent_at: Time<Steady>,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            is_reverse: false,
            last: None,
            sent_at: Time::MIN,
        }
    }
}

impl Times {
    /// The time to send after a jump to where this segment begins.
    pub(super) fn jump(&mut self, segment: &Segment, now: Time<Steady>) -> Time<Ros> {
        let at = segment.position(now);
        *self = Self {
            is_reverse: segment.speed().is_reverse(),
            last: Some(at),
            sent_at: now,
        };
        at
    }

    /// The time to send before a message of this time, or because playback has come to it; `None`: none.
    pub(super) fn reach(&mut self, at: Time<Ros>, now: Time<Steady>) -> Option<Time<Ros>> {
        if now.saturating_since(self.sent_at) < SHORTEST {
            return None;
        }
        self.reach_at_once(at, now)
    }

    /// The same, however little time has passed: after a step.
    pub(super) fn reach_at_once(&mut self, at: Time<Ros>, now: Time<Steady>) -> Option<Time<Ros>> {
        let is_ahead = self.last.is_none_or(|last| {
            if self.is_reverse {
                at < last
            } else {
                at > last
            }
        });
        if !is_ahead {
            return None;
        }
        (self.last, self.sent_at) = (Some(at), now);
        Some(at)
    }

    /// The last time that was sent since the last jump.
    pub(super) const fn last(&self) -> Option<Time<Ros>> {
        self.last
    }

    /// How long to wait before the next time while playing. To be asked after [`Times::reach`]: a position that does
    /// not move has no new time.
    pub(super) fn until_next(&self, now: Time<Steady>) -> Duration {
        let passed = now.saturating_since(self.sent_at);
        if passed < LONGEST {
            LONGEST.saturating_sub(passed)
        } else {
            LONGEST
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{AtEnd, Speed, TimeRange};

    const fn wall(millis: i64) -> Time<Steady> {
        Time::from_millis(millis)
    }

    const fn log(millis: i64) -> Time<Ros> {
        Time::from_millis(millis)
    }

    #[test]
    fn at_most_a_hundred_times_are_sent_in_a_second() {
        let mut times = Times::default();
        let sent = (0..10_000_i64)
            .filter(|it| times.reach(log(*it), Time::from_micros(it * 100)).is_some());
        assert_eq!(sent.count(), 100);
    }

    #[test]
    fn the_next_time_comes_soon_enough_for_sixty_a_second() {
        let mut times = Times::default();
        assert_eq!(times.until_next(wall(0)), LONGEST);
        assert!(times.reach(log(0), wall(100)).is_some());
        let wait = times.until_next(wall(104));
        assert_eq!(wait, Duration::from_millis(11));
        assert!(
            times
                .reach(log(1), wall(104).saturating_add(wait))
                .is_some()
        );
        assert_eq!(times.until_next(wall(200)), LONGEST);
    }

    #[test]
    fn time_runs_in_the_direction_of_playback_until_a_jump() {
        let range = TimeRange::between(log(0), log(1000));
        let segment = Segment::new(range, Speed::NORMAL, AtEnd::Hold).seek(log(500));
        let mut times = Times::default();
        assert_eq!(times.jump(&segment, wall(0)), log(500));
        // A message that is late: the position is past it.
        assert_eq!(times.reach_at_once(log(499), wall(20)), None);
        assert_eq!(times.reach_at_once(log(500), wall(20)), None);
        assert_eq!(times.reach_at_once(log(501), wall(20)), Some(log(501)));
        let back = segment.with_speed(Speed::from_f64(-1.0).unwrap(), wall(30));
        assert_eq!(times.jump(&back, wall(30)), log(500));
        assert_eq!(times.reach_at_once(log(501), wall(50)), None);
        assert_eq!(times.reach_at_once(log(499), wall(50)), Some(log(499)));
    }
}
