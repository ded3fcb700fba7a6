//! [`Qos::write_offers`]: the text of `offered_qos_profiles` of a channel, as rosbag2 writes it from Jazzy on (words in
//! place of the integers of the middleware). `qos.rs` reads both forms.

use serde::Serialize;

use super::qos::{Durability, History, Liveliness, Qos, QosDuration, Reliability};
use crate::untrusted::yaml;

/// A profile in the words in which rosbag2 writes it.
#[derive(Serialize)]
pub(crate) struct WrittenQos {
    history: &'static str,
    depth: u32,
    reliability: &'static str,
    durability: &'static str,
    deadline: Span,
    lifespan: Span,
    liveliness: &'static str,
    liveliness_lease_duration: Span,
    avoid_ros_namespace_conventions: bool,
}

#[derive(Serialize)]
struct Span {
    sec: u64,
    nsec: u64,
}

impl Qos {
    /// A YAML list with one entry for each profile, which [`Qos::parse_offers`] reads back.
    pub fn write_offers(offers: &[Self]) -> String {
        let written: Vec<WrittenQos> = offers.iter().map(WrittenQos::of).collect();
        yaml::write(&written).expect("words and numbers can be written")
    }
}

impl WrittenQos {
    pub(crate) fn of(qos: &Qos) -> Self {
        let (history, depth) = match qos.history {
            History::KeepLast(depth) => ("keep_last", depth),
            History::KeepAll => ("keep_all", 0),
        };
        Self {
            history,
            depth,
            reliability: match qos.reliability {
                Reliability::Reliable => "reliable",
                Reliability::BestEffort => "best_effort",
            },
            durability: match qos.durability {
                Durability::Volatile => "volatile",
                Durability::TransientLocal => "transient_local",
            },
            deadline: Span::of(qos.deadline),
            lifespan: Span::of(qos.lifespan),
            liveliness: match qos.liveliness {
                Liveliness::Automatic => "automatic",
                Liveliness::ManualByTopic => "manual_by_topic",
            },
            liveliness_lease_duration: Span::of(qos.lease),
            avoid_ros_namespace_conventions: false,
        }
    }
}

impl Span {
    fn of(QosDuration { sec, nsec }: QosDuration) -> Self {
        Self { sec, nsec }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let deadline = QosDuration {
            sec: 1,
            nsec: 500_000_000,
        };
        let latched = Qos {
            durability: Durability::TransientLocal,
            history: History::KeepLast(1),
            liveliness: Liveliness::ManualByTopic,
            deadline,
            ..Qos::default()
        };
        let sensor = Qos {
            reliability: Reliability::BestEffort,
            history: History::KeepAll,
            ..Qos::default()
        };
        let offers = [Qos::default(), latched, sensor];
        let text = Qos::write_offers(&offers);
        assert_eq!(Qos::parse_offers(&text), offers, "{text}");
        assert!(text.starts_with("- history: keep_last\n  depth: 10\n  reliability: reliable\n"));
        assert_eq!(Qos::parse_offers(&Qos::write_offers(&[])), []);
    }
}
