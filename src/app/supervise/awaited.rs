//! [`Awaited`]: the subscribers without which playback is held, at the start and later.

use bagplay::bag::TopicId;
use bagplay::cli::Chosen;
use bagplay::time::{Duration, Steady, Time};

/// The topics that must have a subscriber, and the deadline for those that have none.
#[derive(Debug)]
pub(crate) struct Awaited {
    topics: Vec<Chosen>,
    timeout: Duration,
    /// The topics with too few subscribers at the last check.
    missing: Vec<Chosen>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Playback has not begun: the time-out runs.
    Starting { deadline: Time<Steady> },
    /// All are there, or none is awaited.
    Complete,
    /// One has left after all were there: the time-out runs while playback is held for it.
    Interrupted { deadline: Time<Steady> },
    /// The time-out has expired: nothing is awaited any more.
    GivenUp,
}

/// Topics without a subscriber that is waited for, and how long it is still waited for.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) topics: Vec<Chosen>,
    pub(crate) left: Duration,
}

/// What has to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// All are there: playback may go on.
    Complete,
    /// One has left: playback is to be held. The topics that have too few subscribers.
    Missing(String),
}

impl Awaited {
    /// Before any check.
    pub(crate) fn new(topics: Vec<Chosen>, timeout: Duration, now: Time<Steady>) -> Self {
        let deadline = now.saturating_add(timeout);
        Self {
            missing: topics.clone(),
            state: if topics.is_empty() {
                State::Complete
            } else {
                State::Starting { deadline }
            },
            topics,
            timeout,
        }
    }

    /// The topics that had too few subscribers at the last check, with their names.
    pub(crate) fn missing_topics(&self) -> impl Iterator<Item = (TopicId, &str)> {
        let missing = self.missing.iter();
        missing.map(|topic| (topic.id, topic.name.as_str()))
    }

    /// The names of [`Awaited::missing_topics`].
    pub(crate) fn missing(&self) -> String {
        let names = self.missing.iter().map(|topic| topic.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// What is missing at an instant; `None` if nothing is awaited.
    pub(crate) fn waiting(&self, now: Time<Steady>) -> Option<Waiting> {
        let left = self.deadline()?.saturating_since(now);
        Some(Waiting {
            topics: self.missing.clone(),
            left: left.max(Duration::ZERO),
        })
    }

    /// When [`Awaited::is_late`] may become true.
    pub(crate) const fn deadline(&self) -> Option<Time<Steady>> {
        match self.state {
            State::Starting { deadline } | State::Interrupted { deadline } => Some(deadline),
            State::Complete | State::GivenUp => None,
        }
    }

    /// Checks which subscribers are there. Once all were there, the time-out runs only while playback is held for a
    /// subscriber (`is_held`): not while it is paused, at its end, or without a network.
    pub(crate) fn check(
        &mut self,
        now: Time<Steady>,
        is_held: bool,
        has_subscriber: impl Fn(TopicId) -> bool,
    ) -> Option<Change> {
        let missing = self.topics.iter().filter(|topic| !has_subscriber(topic.id));
        self.missing = missing.cloned().collect();
        let deadline = now.saturating_add(self.timeout);
        match (&self.state, self.missing.is_empty()) {
            (State::GivenUp, _) | (State::Complete, true) | (State::Starting { .. }, false) => None,
            (State::Starting { .. } | State::Interrupted { .. }, true) => {
                self.state = State::Complete;
                Some(Change::Complete)
            }
            (State::Complete, false) => {
                self.state = State::Interrupted { deadline };
                Some(Change::Missing(self.missing()))
            }
            (State::Interrupted { .. }, false) => {
                if !is_held {
                    self.state = State::Interrupted { deadline };
                }
                None
            }
        }
    }

    /// Whether the time-out has expired; true once, and from then on nothing is awaited.
    pub(crate) fn is_late(&mut self, now: Time<Steady>) -> bool {
        let is_late = self.deadline().is_some_and(|deadline| now >= deadline);
        if is_late {
            self.state = State::GivenUp;
        }
        is_late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time<Steady> {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn awaited() -> Awaited {
        let chosen = |id, name: &str| Chosen {
            id: TopicId(id),
            name: name.to_owned(),
            qos: None,
        };
        let timeout = Duration::from_secs(30);
        Awaited::new(vec![chosen(1, "/a"), chosen(2, "/b")], timeout, at(0))
    }

    #[test]
    fn who_goes_later_is_waited_for_again() {
        let mut awaited = awaited();
        let all = |_| true;
        let only_a = |topic| topic == TopicId(1);
        assert_eq!(awaited.check(at(1), true, only_a), None);
        assert_eq!(awaited.missing(), "/b");
        let waiting = awaited.waiting(at(12)).unwrap();
        assert_eq!(
            (waiting.topics.len(), waiting.left),
            (1, Duration::from_secs(18))
        );
        assert_eq!(waiting.topics[0].id, TopicId(2));
        assert_eq!(awaited.waiting(at(31)).unwrap().left, Duration::ZERO);
        assert_eq!(awaited.check(at(2), true, all), Some(Change::Complete));
        assert_eq!(awaited.check(at(3), false, all), None);
        assert!(awaited.waiting(at(3)).is_none());
        let gone = Some(Change::Missing("/b".into()));
        assert_eq!(awaited.check(at(50), false, only_a), gone);
        assert!(!awaited.is_late(at(79)));
        assert_eq!(awaited.check(at(79), true, all), Some(Change::Complete));
        assert_eq!(awaited.check(at(90), false, only_a), gone);
        assert_eq!(awaited.check(at(100), true, only_a), None);
        assert!(awaited.is_late(at(120)) && !awaited.is_late(at(121)));
        for has_subscriber in [false, true, false] {
            let change = awaited.check(at(122), true, |_| has_subscriber);
            assert_eq!(change, None, "after the time was up nothing is asked for");
        }
    }

    #[test]
    fn once_it_has_begun_time_counts_only_while_playback_stands_for_them() {
        let none = |_| false;
        let mut late = awaited();
        assert_eq!(late.check(at(29), false, none), None);
        assert!(late.is_late(at(30)), "at the start it always counts");
        let mut awaited = awaited();
        awaited.check(at(1), true, |_| true);
        awaited.check(at(2), false, none);
        for second in 3..100 {
            assert_eq!(awaited.check(at(second), false, none), None);
            assert!(!awaited.is_late(at(second)));
        }
        assert_eq!(awaited.check(at(120), true, none), None);
        assert!(awaited.is_late(at(129)));
    }
}
