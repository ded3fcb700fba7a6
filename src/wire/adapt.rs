//! From the profiles that a topic's publishers offered when it was recorded to the one we publish with.

use crate::bag::{Durability, History, Qos, Reliability};

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
/// default, which unlatches a latched topic; here it stays latched if any offer was, and is reliable
/// unless all were best effort.
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
    if offers.iter().all(|offer| alike(offer) == alike(first)) {
        return Adapted {
            qos: Qos {
                history: keep_ten,
                ..*first
            },
            is_mixed: false,
        };
    }
    let is_latched = offers
        .iter()
        .any(|offer| offer.durability == Durability::TransientLocal);
    let is_best_effort = offers
        .iter()
        .all(|offer| offer.reliability == Reliability::BestEffort);
    let qos = Qos {
        durability: if is_latched {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        },
        reliability: if is_best_effort {
            Reliability::BestEffort
        } else {
            Reliability::Reliable
        },
        ..Qos::default()
    };
    Adapted {
        qos,
        is_mixed: true,
    }
}

/// How many samples a latched topic keeps for late joiners: all that its recorded publishers kept
/// together, at least 10, at most 1000; for `/tf_static`, whose every sample counts, all there are.
pub fn latched_depth(name: &str, offers: &[Qos], message_count: Option<u64>) -> u32 {
    const MOST: u32 = 1000;
    let kept = offers.iter().fold(0_u32, |sum, offer| match offer.history {
        History::KeepLast(depth) => sum.saturating_add(depth),
        History::KeepAll => MOST,
    });
    let wanted = if name.ends_with("/tf_static") {
        let all = message_count.map_or(MOST, |count| u32::try_from(count).unwrap_or(MOST));
        kept.max(all)
    } else {
        kept
    };
    wanted.clamp(10, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::QosDuration;

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

    #[test]
    fn a_latched_topic_keeps_enough_for_late_joiners() {
        let keep = |depth| Qos {
            history: History::KeepLast(depth),
            ..Qos::default()
        };
        for (name, offers, count, depth) in [
            ("/map", vec![keep(1)], Some(5000), 10),
            ("/map", vec![keep(30), keep(7)], None, 37),
            ("/map", vec![keep(u32::MAX), keep(7)], None, 1000),
            ("/tf_static", vec![keep(1)], Some(25), 25),
            ("/robot1/tf_static", vec![], Some(1_000_000), 1000),
            ("/tf_static", vec![], None, 1000),
        ] {
            assert_eq!(
                latched_depth(name, &offers, count),
                depth,
                "{name} {count:?}"
            );
        }
    }
}
