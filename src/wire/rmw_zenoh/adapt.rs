//! From the profiles that a topic's publishers offered when it was recorded to the one we publish with.

use std::cmp;

use crate::ros::{Durability, History, Liveliness, MOST_KEPT, Qos, QosDuration, Reliability};

/// A profile, and whether it had to be made up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adapted {
    /// The profile.
    pub qos: Qos,
    /// Whether the offers contradicted each other, so that the profile is a compromise to be told.
    pub is_mixed: bool,
}

/// rosbag2's rule, and a better one where it gives up: offers that are equal (history and lifespan apart)
/// are taken as they are with `keep_last` 10, none is the default. Mixed ones make rosbag2 fall back to the
/// default, which unlatches a latched topic; here the profile is one that whoever subscribed to any of the
/// publishers can subscribe to: of each policy the strongest offer.
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

/// What satisfies every request that either offer does: a reliable publisher also serves who asks for best
/// effort, a latched one who asks for volatile, a short deadline who asks for a longer one.
fn strongest(a: Qos, b: Qos) -> Qos {
    let by_length = |span: &QosDuration| match (span.sec, span.nsec) {
        // Not set is no limit.
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
        // Nobody asks for a lifespan; with the longer one nothing is lost.
        lifespan: longer(a.lifespan, b.lifespan),
    }
}

/// Which samples of a latched topic a late joiner is owed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Samples {
    /// The last ones, as many as its publishers kept.
    LastCounts,
    /// Every one: they add up, as the transforms of `/tf_static` do.
    AllCount,
}

/// How many samples a latched topic keeps for late joiners. Where all count: as many as there are, at most
/// 1000. Otherwise what its recorded publishers kept together, but at most 10 of each and never more than
/// there are.
///
/// zenoh's cache counts samples and not bytes, and it holds copies: with maps of 10 MB, 1000 of them would
/// be 10 GB. With this rule a latched topic takes at most 10 of its messages a publisher; only `/tf_static`,
/// whose messages are a few hundred bytes, may take more. A profile that is given instead of the recorded
/// ones is taken as it is.
pub fn latched_depth(samples: Samples, offers: &[Qos], message_count: Option<u64>) -> u32 {
    const MOST: u32 = 1000;
    let there_are = message_count.map_or(MOST, |count| u32::try_from(count).unwrap_or(MOST));
    let kept = match (samples, offers) {
        (Samples::AllCount, _) => MOST,
        // Not recorded: what rclcpp has where nothing is said.
        (Samples::LastCounts, []) => MOST_KEPT,
        (Samples::LastCounts, offers) => offers.iter().fold(0, |sum: u32, offer| {
            sum.saturating_add(match offer.history {
                History::KeepLast(depth @ 1..MOST_KEPT) => depth,
                // Zero is "as the system likes", which is ten.
                History::KeepLast(_) | History::KeepAll => MOST_KEPT,
            })
        }),
    };
    kept.min(there_are).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_offers_are_taken_with_ten() {
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

    /// Profiles that differ in every policy that a subscriber can ask for.
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

    /// Whether a subscriber that asks for `request` takes what `offer` says, by the rules of DDS.
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
    fn who_subscribed_to_any_publisher_can_subscribe_and_nothing_more_is_offered() {
        let profiles = profiles();
        for a in &profiles {
            for b in &profiles {
                let Adapted { qos, is_mixed } = adapt(&[*a, *b]);
                assert_eq!(is_mixed, a != b);
                let mut taken = profiles.iter().filter(|ask| suits(a, ask) || suits(b, ask));
                assert!(taken.all(|request| suits(&qos, request)), "{a:?} {b:?}");
                // Each policy is one of those that were offered.
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
    fn what_mixed_offers_agree_on_is_kept_and_the_longest_lifespan_counts() {
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
    fn a_latched_topic_keeps_what_late_joiners_are_owed_and_no_more() {
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
