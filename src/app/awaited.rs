//! [`Awaited`]: the subscribers without whom playback does not go on, at the start and later.

use bagplay::bag::TopicId;
use bagplay::cli::Chosen;
use bagplay::time::{Duration, Steady, Time};

/// The topics that must have a subscriber, and until when those that have none are waited for.
#[derive(Debug)]
pub(crate) struct Awaited {
    topics: Vec<Chosen>,
    patience: Duration,
    /// The topics without a subscriber, as they were at the last look.
    missing: Vec<String>,
    deadline: Option<Time<Steady>>,
    /// Whether all were there at one time.
    has_begun: bool,
}

/// What has to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// All are there: playback may go on.
    Complete,
    /// One went: playback has to stand. The topics that have no subscriber.
    Missing(String),
}

impl Awaited {
    /// Nobody is there yet.
    pub(crate) fn new(topics: Vec<Chosen>, patience: Duration, now: Time<Steady>) -> Self {
        Self {
            deadline: (!topics.is_empty()).then(|| now.saturating_add(patience)),
            missing: topics.iter().map(|topic| topic.name.clone()).collect(),
            topics,
            patience,
            has_begun: false,
        }
    }

    /// The topics without a subscriber; empty if there are none.
    pub(crate) fn missing(&self) -> String {
        self.missing.join(", ")
    }

    /// When [`Awaited::is_late`] may come true.
    #[cfg(feature = "tui")]
    pub(crate) const fn deadline(&self) -> Option<Time<Steady>> {
        self.deadline
    }

    /// Looks who is there. Once it has begun, time counts only while playback `stands` for a subscriber: not while
    /// it is paused, at its end, or without a network.
    pub(crate) fn check(
        &mut self,
        now: Time<Steady>,
        stands: bool,
        is_there: impl Fn(TopicId) -> bool,
    ) -> Option<Change> {
        let missing = self.topics.iter().filter(|topic| !is_there(topic.id));
        self.missing = missing.map(|topic| topic.name.clone()).collect();
        let was_missing = self.deadline.is_some();
        if self.missing.is_empty() {
            self.deadline = None;
            self.has_begun = true;
            return was_missing.then_some(Change::Complete);
        }
        if !was_missing || (self.has_begun && !stands) {
            self.deadline = Some(now.saturating_add(self.patience));
        }
        (!was_missing).then(|| Change::Missing(self.missing()))
    }

    /// Whether the time is up; said once.
    pub(crate) fn is_late(&mut self, now: Time<Steady>) -> bool {
        self.deadline.take_if(|deadline| now >= *deadline).is_some()
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
        let patience = Duration::from_secs(30);
        Awaited::new(vec![chosen(1, "/a"), chosen(2, "/b")], patience, at(0))
    }

    #[test]
    fn who_goes_later_is_waited_for_again() {
        let mut awaited = awaited();
        let all = |_| true;
        let only_a = |topic| topic == TopicId(1);
        assert_eq!(awaited.check(at(1), true, only_a), None);
        assert_eq!(awaited.missing(), "/b");
        assert_eq!(awaited.check(at(2), true, all), Some(Change::Complete));
        assert_eq!(awaited.check(at(3), false, all), None);
        let gone = Some(Change::Missing("/b".into()));
        assert_eq!(awaited.check(at(50), false, only_a), gone);
        assert!(!awaited.is_late(at(79)));
        assert_eq!(awaited.check(at(79), true, all), Some(Change::Complete));
        assert_eq!(awaited.check(at(90), false, only_a), gone);
        assert_eq!(awaited.check(at(100), true, only_a), None);
        assert!(awaited.is_late(at(120)) && !awaited.is_late(at(121)));
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
