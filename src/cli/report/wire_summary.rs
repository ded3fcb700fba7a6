//! [`WireSummary`]: what a run with several wires sent on one of them.

use std::fmt;

use serde::Serialize;

use super::missing::left_out::LeftOutMessages;
use super::missing::skipped::Skipped;
use super::units::{bytes, plural};
use crate::cli::args::values::Wire;
use crate::cli::plan::LeftOut;
use crate::wire::{Missed, TopicState};

/// What was sent on one of several wires, messages that were sent again after jumps included.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WireSummary {
    wire: String,
    messages_sent: u64,
    bytes_sent: u64,
    dropped: u64,
    stalled: u64,
    lost: u64,
    possibly_lost: u64,
    /// Topics that the wire cannot carry.
    skipped: Vec<Skipped>,
    topics: Vec<OnWire>,
}

/// A topic on a wire.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct OnWire {
    name: String,
    sent: u64,
    bytes: u64,
    dropped: u64,
    /// Why the first of those was dropped.
    dropped_because: Option<String>,
    stalled: u64,
    lost: u64,
    possibly_lost: u64,
}

impl WireSummary {
    /// Summarizes a wire: the state of its topics at the end, what subscribers of its clock missed, and the topics that
    /// it cannot carry.
    pub fn new(
        wire: Wire,
        topics: &[TopicState],
        missed_clock: Missed,
        left_out: Vec<LeftOut>,
    ) -> Self {
        let topics = topics.iter().map(|topic| OnWire {
            name: topic.name.clone(),
            sent: topic.sent,
            bytes: topic.bytes,
            dropped: topic.dropped,
            dropped_because: topic.first_problem.clone().filter(|_| topic.dropped > 0),
            stalled: topic.missed.stalled,
            lost: topic.missed.lost,
            possibly_lost: topic.missed.possibly_lost,
        });
        let topics: Vec<OnWire> = topics.collect();
        let total = |count: fn(&OnWire) -> u64| topics.iter().map(count).sum();
        Self {
            wire: wire.to_string(),
            messages_sent: total(|topic| topic.sent),
            bytes_sent: total(|topic| topic.bytes),
            dropped: total(|topic| topic.dropped),
            stalled: total(|topic| topic.stalled) + missed_clock.stalled,
            lost: total(|topic| topic.lost) + missed_clock.lost,
            possibly_lost: total(|topic| topic.possibly_lost) + missed_clock.possibly_lost,
            skipped: left_out.into_iter().map(Skipped::from).collect(),
            topics,
        }
    }

    /// Whether there are messages that should have been sent on this wire and could not be.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent().topics() > 0
    }

    /// The messages that should have been sent on this wire and could not be.
    pub(super) fn unsent(&self) -> LeftOutMessages<'_> {
        let mut all = LeftOutMessages::default();
        for one in self.skipped.iter().filter(|one| one.is_unsent()) {
            all.add(&one.reason, &one.topic, one.messages);
        }
        for topic in self.topics.iter().filter(|topic| topic.dropped > 0) {
            let reason = topic.dropped_because.as_deref();
            let reason = reason.unwrap_or("the wire could not take them");
            all.add(reason, &topic.name, Some(topic.dropped));
        }
        all
    }
}

impl fmt::Display for WireSummary {
    /// One line, and one for each reason why messages were not sent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = plural(self.messages_sent, "message");
        write!(f, "{}: {sent}, {}", self.wire, bytes(self.bytes_sent))?;
        if self.dropped > 0 {
            write!(f, ", {} not sent", plural(self.dropped, "message"))?;
        }
        if self.lost > 0 {
            write!(f, ", at least {} lost", plural(self.lost, "message"))?;
        }
        if self.possibly_lost > 0 {
            let messages = plural(self.possibly_lost, "message");
            write!(f, ", at most {messages} lost when links closed")?;
        }
        if !self.skipped.is_empty() {
            let topics = plural(self.skipped.len() as u64, "topic");
            write!(f, ", {topics} not sent on it")?;
        }
        for line in self.unsent().lines() {
            write!(f, "\nmessages not sent on {}: {line}", self.wire)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::TopicId;

    fn topic(sent: u64, dropped: u64, missed: Missed) -> TopicState {
        TopicState {
            ids: vec![TopicId(0)],
            name: "/t".to_owned(),
            qos: None,
            sent,
            bytes: sent * 1000,
            dropped,
            first_problem: Some("no room".to_owned()),
            missed,
            has_match: true,
            subscribers: 1,
        }
    }

    #[test]
    fn a_wire_has_a_line_with_what_was_sent_and_what_was_not() {
        let none = Missed::default();
        let whole = WireSummary::new(Wire::RmwZenoh, &[topic(1, 0, none)], none, Vec::new());
        assert_eq!(whole.to_string(), "rmw_zenoh: 1 message, 1000 B");
        assert!(!whole.has_unsent());
        assert_eq!(whole.topics[0].dropped_because, None);
        let missed = Missed {
            stalled: 1,
            lost: 2,
            possibly_lost: 3,
        };
        let left_out = |is_loss| LeftOut {
            topic: "/u".to_owned(),
            messages: Some(4),
            reason: "its messages are not those of ROS 1".to_owned(),
            is_loss,
        };
        let topics = [topic(5, 6, missed), topic(7, 0, none)];
        let part = WireSummary::new(Wire::Ros1, &topics, missed, vec![left_out(false)]);
        assert_eq!(
            part.to_string(),
            "ros1: 12 messages, 11.72 KiB, 6 messages not sent, at least 4 messages lost, at most 6 messages lost when \
             links closed, 1 topic not sent on it\nmessages not sent on ros1: /t 6: no room"
        );
        assert!(part.has_unsent());
        let has_unsent =
            |is_loss| WireSummary::new(Wire::Ros1, &[], none, vec![left_out(is_loss)]).has_unsent();
        assert!(has_unsent(true) && !has_unsent(false));
    }
}
