//! QoS profiles: from those that a topic's publishers offered when it was recorded to the one to publish with.

use std::cmp;

use crate::ros::{
    Durability, History, Liveliness, MAX_LATCHED_MESSAGES, Qos, QosDuration, Reliability,
};

/// A profile, and whether the offers differed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adapted {
    /// The profile.
    pub qos: Qos,
    /// Whether the offers differed, so that the profile is a compromise to report.
    pub is_mixed: bool,
}

/// Computes the profile to publish with. As in rosbag2, offers that are equal (apart from history and lifespan)
/// are used as they are, with `keep_last` 10; without offers the profile is the default. For offers that
/// differ, rosbag2 uses the default, which makes a latched topic volatile. Here the profile has the strongest
/// offer of each policy, so every subscriber that was compatible with one of the publishers is compatible with
/// it.
pub fn adapt(offers: &[Qos]) -> Adapted {
    let keep_ten = History::KeepLast(10);
    let Some(first) = offers.first() else {
        return Adapted {
            qos: Qos::default(),
            is_mixed: false,
        };
    };
    let alike = |offer: &Qos| Qos {
        history: keep_ten,
        lifespan: first.lifespan,
        ..*offer
    };
    let is_mixed = offers.iter().any(|offer| alike(offer) != alike(first));
    let strongest = offers.iter().copied().reduce(strongest).unwrap_or(*first);
    Adapted {
        qos: Qos {
            history: keep_ten,
            ..if is_mixed { strongest } else { *first }
        },
        is_mixed,
    }
}

/// A profile that satisfies every request that either offer satisfies: a reliable publisher also serves
/// best-effort subscribers, a latched one volatile subscribers, a short deadline those that request a longer
/// one.
fn strongest(a: Qos, b: Qos) -> Qos {
    let by_length = |span: &QosDuration| match (span.sec, span.nsec) {
        // Zero means that no limit is set.
        (0, 0) => (QosDuration::INFINITE.sec, QosDuration::INFINITE.nsec),
        length => length,
    };
    let shorter = |a: QosDuration, b: QosDuration| cmp::min_by_key(a, b, by_length);
    let longer = |a: QosDuration, b: QosDuration| cmp::max_by_key(a, b, by_length);
    let is_reliable = [a, b].map(|qos| qos.reliability == Reliability::Reliable);
    let is_latched = [a, b].map(|qos| qos.durability == Durability::TransientLocal);
    let is_manual = [a, b].map(|qos| qos.liveliness == Liveliness::ManualByTopic);
    Qos {
        reliability: if is_reliable.contains(&true) {
            Reliability::Reliable
        } else {
            Reliability::BestEffort
        },
        durability: if is_latched.contains(&true) {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        },
        liveliness: if is_manual.contains(&true) {
            Liveliness::ManualByTopic
        } else {
            Liveliness::Automatic
        },
        history: a.history,
        deadline: shorter(a.deadline, b.deadline),
        lease: shorter(a.lease, b.lease),
        // Subscribers do not request a lifespan; with the longer one no message is lost.
        lifespan: longer(a.lifespan, b.lifespan),
    }
}

/// Which samples of a latched topic a late joiner must receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Samples {
    /// The last ones, as many as its publishers kept.
    LastCounts,
    /// All: they add up, like the transforms of `/tf_static`.
    AllCount,
}

/// How many samples a latched topic keeps for late joiners, from 1 to 1000. With [`Samples::AllCount`]: as many
/// as the topic has messages. Otherwise: the sum of the depths of its recorded publishers, each at most 10, and
/// never more than the topic has messages.
///
/// zenoh's cache counts samples, not bytes, and holds copies: 1000 maps of 10 MB would be 10 GB. With this rule
/// a latched topic keeps at most 10 messages per publisher. Only `/tf_static`, whose messages are a few hundred
/// bytes, may keep more. The rule does not apply to a profile that is given in place of the recorded ones.
pub fn latched_depth(samples: Samples, offers: &[Qos], message_count: Option<u64>) -> u32 {
    const MOST: u32 = 1000;
    let there_are = message_count.map_or(MOST, |count| u32::try_from(count).unwrap_or(MOST));
    let kept = match (samples, offers) {
        (Samples::AllCount, _) => MOST,
        // No offers were recorded: the default of rclcpp.
        (Samples::LastCounts, []) => MAX_LATCHED_MESSAGES,
        (Samples::LastCounts, offers) => offers.iter().fold(0, |sum: u32, offer| {
            sum.saturating_add(match offer.history {
                History::KeepLast(depth @ 1..MAX_LATCHED_MESSAGES) => depth,
                // Zero means the system's default, which is ten here.
                History::KeepLast(_) | History::KeepAll => MAX_LATCHED_MESSAGES,
            })
        }),
    };
    kept.min(there_are).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_offers_are_used_with_a_depth_of_ten() {
        let offer = Qos {
            reliability: Reliability::BestEffort,
            history: History::KeepLast(5),
            ..Qos::default()
        };
        let other = Qos {
            history: History::KeepAll,
            lifespan: QosDuration { sec: 1, nsec: 0 },
            ..offer
        };
        let adapted = adapt(&[offer, other]);
        assert_eq!(
            adapted,
            Adapted {
                qos: Qos {
                    history: History::KeepLast(10),
                    ..offer
                },
                is_mixed: false
            }
        );
        assert_eq!(
            adapt(&[]),
            Adapted {
                qos: Qos::default(),
                is_mixed: false
            }
        );
    }

    #[test]
    fn mixed_offers_stay_latched_and_reliable() {
        let latched = Qos {
            durability: Durability::TransientLocal,
            ..Qos::default()
        };
        let lossy = Qos {
            reliability: Reliability::BestEffort,
            ..Qos::default()
        };
        for (offers, durability, reliability) in [
            (
                vec![latched, lossy],
                Durability::TransientLocal,
                Reliability::Reliable,
            ),
            (
                vec![Qos::default(), lossy],
                Durability::Volatile,
                Reliability::Reliable,
            ),
            (
                vec![
                    lossy,
                    Qos {
                        durability: Durability::TransientLocal,
                        ..lossy
                    },
                ],
                Durability::TransientLocal,
                Reliability::BestEffort,
            ),
        ] {
            let Adapted { qos, is_mixed } = adapt(&offers);
            assert_eq!(
                (qos.durability, qos.reliability, is_mixed),
                (durability, reliability, true)
            );
        }
    }

    fn secs(sec: u64) -> QosDuration {
        QosDuration { sec, nsec: 0 }
    }

    /// Profiles that differ in every policy that a subscriber can request.
    fn profiles() -> Vec<Qos> {
        let mut profiles = Vec::new();
        for reliability in [Reliability::BestEffort, Reliability::Reliable] {
            for durability in [Durability::Volatile, Durability::TransientLocal] {
                for liveliness in [Liveliness::Automatic, Liveliness::ManualByTopic] {
                    for (deadline, lease) in [
                        (secs(1), QosDuration::INFINITE),
                        (secs(2), secs(0)),
                        (QosDuration::INFINITE, secs(3)),
                    ] {
                        profiles.push(Qos {
                            reliability,
                            durability,
                            deadline,
                            liveliness,
                            lease,
                            ..Qos::default()
                        });
                    }
                }
            }
        }
        profiles
    }

    /// Whether a publisher with `offer` and a subscriber with `request` are compatible by the rules of DDS.
    fn suits(offer: &Qos, request: &Qos) -> bool {
        let length = |span: QosDuration| match (span.sec, span.nsec) {
            (0, 0) => (9_223_372_036, 854_775_807),
            length => length,
        };
        (offer.reliability == Reliability::Reliable
            || request.reliability == Reliability::BestEffort)
            && (offer.durability == Durability::TransientLocal
                || request.durability == Durability::Volatile)
            && (offer.liveliness == Liveliness::ManualByTopic
                || request.liveliness == Liveliness::Automatic)
            && length(offer.deadline) <= length(request.deadline)
            && length(offer.lease) <= length(request.lease)
    }

    #[test]
    fn the_profile_suits_every_former_subscriber_and_offers_nothing_else() {
        let profiles = profiles();
        for a in &profiles {
            for b in &profiles {
                let Adapted { qos, is_mixed } = adapt(&[*a, *b]);
                assert_eq!(is_mixed, a != b);
                let mut taken = profiles.iter().filter(|ask| suits(a, ask) || suits(b, ask));
                assert!(taken.all(|request| suits(&qos, request)), "{a:?} {b:?}");
                // Each policy is one that was offered.
                assert!([a.reliability, b.reliability].contains(&qos.reliability));
                assert!([a.durability, b.durability].contains(&qos.durability));
                assert!([a.liveliness, b.liveliness].contains(&qos.liveliness));
                assert!([a.deadline, b.deadline].contains(&qos.deadline));
                assert!([a.lease, b.lease].contains(&qos.lease));
                assert_eq!(adapt(&[*b, *a, *a]).qos.deadline, qos.deadline);
            }
        }
    }

    #[test]
    fn mixed_offers_keep_what_they_share_and_the_longest_lifespan() {
        let latched = Qos {
            durability: Durability::TransientLocal,
            deadline: secs(4),
            lifespan: secs(5),
            history: History::KeepLast(1),
            ..Qos::default()
        };
        let lossy = Qos {
            durability: Durability::Volatile,
            reliability: Reliability::BestEffort,
            lifespan: secs(7),
            ..latched
        };
        let expected = Qos {
            lifespan: secs(7),
            history: History::KeepLast(10),
            ..latched
        };
        for offers in [[latched, lossy, lossy], [lossy, lossy, latched]] {
            let adapted = adapt(&offers);
            assert_eq!((adapted.qos, adapted.is_mixed), (expected, true));
        }
        let unlimited = Qos {
            lifespan: secs(0),
            ..lossy
        };
        assert_eq!(adapt(&[latched, unlimited]).qos.lifespan, secs(0));
    }

    #[test]
    fn the_depth_of_a_latched_topic_is_limited() {
        use Samples::{AllCount, LastCounts};
        let keep = |depth| Qos {
            history: History::KeepLast(depth),
            ..Qos::default()
        };
        let all = Qos {
            history: History::KeepAll,
            ..Qos::default()
        };
        for (samples, offers, count, depth) in [
            (LastCounts, vec![keep(1)], Some(5000), 1),
            (LastCounts, vec![keep(1), keep(3)], None, 4),
            (LastCounts, vec![keep(30), keep(7)], None, 17),
            (LastCounts, vec![all], Some(5000), 10),
            (LastCounts, vec![all, all], Some(3), 3),
            (LastCounts, vec![keep(0)], None, 10),
            (LastCounts, vec![keep(10); 5000], None, 1000),
            (LastCounts, vec![], Some(2), 2),
            (LastCounts, vec![], Some(0), 1),
            (AllCount, vec![keep(1)], Some(25), 25),
            (AllCount, vec![], Some(1_000_000), 1000),
            (AllCount, vec![], None, 1000),
        ] {
            assert_eq!(
                latched_depth(samples, &offers, count),
                depth,
                "{samples:?} {} {count:?}",
                offers.len()
            );
        }
    }
}
