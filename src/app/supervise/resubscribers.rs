//! [`Resubscribers`]: who followed before the path was lost: playback goes on when they are there again, not before.

use bagplay::bag::TopicId;
use bagplay::time::{Duration, Steady, Time};

/// How long they may take to come back.
const PATIENCE: Duration = Duration::from_secs(10);

/// The topics that somebody followed, and until when they are waited for.
#[derive(Debug, Default)]
pub(crate) struct Resubscribers {
    topics: Vec<TopicId>,
    deadline: Option<Time<Steady>>,
}

/// That there is no more to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Return {
    /// All are there.
    Whole,
    /// The time is up.
    InPart,
}

impl Resubscribers {
    /// When [`Resubscribers::check`] has something to do, even if nothing happens.
    #[cfg(any(feature = "tui", test))]
    pub(crate) const fn deadline(&self) -> Option<Time<Steady>> {
        self.deadline
    }

    /// There is no way to them any more.
    pub(crate) fn path_is_lost(&mut self) {
        self.deadline = None;
    }

    /// There is one again; they may come.
    pub(crate) fn path_is_back(&mut self, now: Time<Steady>) {
        self.deadline = Some(now.saturating_add(PATIENCE));
    }

    /// Remembers who is there while there is a path and nobody is missing; else says when that is over.
    pub(crate) fn check(
        &mut self,
        now: Time<Steady>,
        has_path: bool,
        there: Vec<TopicId>,
    ) -> Option<Return> {
        let Some(deadline) = self.deadline else {
            if has_path && !there.is_empty() {
                self.topics = there;
            }
            return None;
        };
        // The loss that is about to be told of.
        if !has_path {
            return None;
        }
        let how = if self.topics.iter().all(|topic| there.contains(topic)) {
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

    fn topics(ids: &[u32]) -> Vec<TopicId> {
        ids.iter().copied().map(TopicId).collect()
    }

    #[test]
    fn those_who_were_there_are_waited_for_while_there_is_a_path() {
        let mut followers = Resubscribers::default();
        let mut check = |at_second, has_path, there: &[u32]| {
            let there = topics(there);
            match at_second {
                // These seconds the path comes and goes.
                10 | 30 => followers.path_is_back(at(at_second)),
                12 => followers.path_is_lost(),
                _ => {}
            }
            followers.check(at(at_second), has_path, there)
        };
        assert_eq!(check(0, true, &[1, 2]), None);
        // A loss that nobody told of yet is none of theirs.
        assert_eq!(check(1, false, NONE), None);
        assert_eq!(check(10, true, NONE), None);
        assert_eq!(check(11, true, &[2]), None);
        // Lost again: the time that was left counts no more, however late it is.
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
        let mut followers = Resubscribers::default();
        assert_eq!(followers.check(at(0), true, topics(&[1, 2])), None);
        followers.path_is_back(at(5));
        assert_eq!(followers.deadline(), Some(at(15)));
        let back = followers.check(at(6), true, topics(&[3, 2, 1]));
        assert_eq!((back, followers.deadline()), (Some(Return::Whole), None));
    }
}
