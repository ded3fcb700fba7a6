//! [`Resubscribers`]: the subscribers from before the path was lost. Playback goes on once they are back or the
//! time-out has expired.

use bagplay::bag::TopicId;
use bagplay::time::{Duration, Steady, Time};

/// The time-out for their return.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A topic with a subscriber on a wire, which is a number.
type OnWire = (usize, TopicId);

/// The topics that had a subscriber, and the deadline for their return.
#[derive(Debug, Default)]
pub(crate) struct Resubscribers {
    topics: Vec<OnWire>,
    deadline: Option<Time<Steady>>,
}

/// How the wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Return {
    /// All are there.
    Whole,
    /// The time-out has expired.
    InPart,
}

impl Resubscribers {
    /// When [`Resubscribers::check`] has something to do, even without an event.
    #[cfg(any(feature = "tui", test))]
    pub(crate) const fn deadline(&self) -> Option<Time<Steady>> {
        self.deadline
    }

    /// The path was lost.
    pub(crate) fn path_is_lost(&mut self) {
        self.deadline = None;
    }

    /// The path is back; the time-out starts.
    pub(crate) fn path_is_back(&mut self, now: Time<Steady>) {
        self.deadline = Some(now.saturating_add(TIMEOUT));
    }

    /// Remembers the present subscribers while there is a path and none is missing; otherwise returns how the wait
    /// ended, once it has.
    pub(crate) fn check(
        &mut self,
        now: Time<Steady>,
        has_path: bool,
        subscribed: Vec<OnWire>,
    ) -> Option<Return> {
        let Some(deadline) = self.deadline else {
            if has_path && !subscribed.is_empty() {
                self.topics = subscribed;
            }
            return None;
        };
        // A loss of the path that has not been reported yet.
        if !has_path {
            return None;
        }
        let how = if self.topics.iter().all(|topic| subscribed.contains(topic)) {
            Return::Whole
        } else if now >= deadline {
            Return::InPart
        } else {
            return None;
        };
        self.deadline = None;
        Some(how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &[u32] = &[];

    fn at(seconds: i64) -> Time<Steady> {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn topics(ids: &[u32]) -> Vec<OnWire> {
        ids.iter().map(|id| (0, TopicId(*id))).collect()
    }

    #[test]
    fn those_who_were_there_are_waited_for_while_there_is_a_path() {
        let mut resubscribers = Resubscribers::default();
        let mut check = |at_second, has_path, there: &[u32]| {
            let there = topics(there);
            match at_second {
                // The path changes at these seconds.
                10 | 30 => resubscribers.path_is_back(at(at_second)),
                12 => resubscribers.path_is_lost(),
                _ => {}
            }
            resubscribers.check(at(at_second), has_path, there)
        };
        assert_eq!(check(0, true, &[1, 2]), None);
        // Until the loss is reported, the remembered subscribers stay the same.
        assert_eq!(check(1, false, NONE), None);
        assert_eq!(check(10, true, NONE), None);
        assert_eq!(check(11, true, &[2]), None);
        // Lost again: the old deadline no longer applies.
        assert_eq!(check(12, false, &[1, 2]), None);
        assert_eq!(check(25, false, &[1, 2]), None);
        assert_eq!(check(30, true, &[1]), None);
        assert_eq!(check(31, false, &[1, 2]), None);
        assert_eq!(check(39, true, &[1]), None);
        assert_eq!(check(40, true, &[1]), Some(Return::InPart));
        assert_eq!(check(41, true, &[1]), None);
    }

    #[test]
    fn when_all_are_back_it_goes_on_at_once() {
        let mut resubscribers = Resubscribers::default();
        assert_eq!(resubscribers.check(at(0), true, topics(&[1, 2])), None);
        resubscribers.path_is_back(at(5));
        assert_eq!(resubscribers.deadline(), Some(at(15)));
        let back = resubscribers.check(at(6), true, topics(&[3, 2, 1]));
        assert_eq!(
            (back, resubscribers.deadline()),
            (Some(Return::Whole), None)
        );
    }
}
