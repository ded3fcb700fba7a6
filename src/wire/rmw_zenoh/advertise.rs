//! Plans what to declare for recorded topics: names, types, hashes, profiles; and which topics are skipped,
//! with reasons.

use crate::bag::TopicId;
use crate::ros::{Durability, History, Qos, dds_type, is_tf_static};

use super::graph::{CLOCK, Graph};
use super::names::{check_name, normal_name};
use super::type_hash::{Flavour, resolve};
use crate::wire::dialect::adapt::{Adapted, Samples, adapt, latched_depth};
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};
use crate::wire::options::{Played, SkipReason, Skipped};

/// One topic to declare. Recorded topics that get the same name and type share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Planned {
    pub(crate) ids: Vec<TopicId>,
    pub(crate) name: String,
    pub(crate) dds_type: String,
    /// Empty on plain keys.
    pub(crate) hash: String,
    pub(crate) qos: Qos,
}

/// Whether this session serves a clock; if it does, a recorded `/clock` is skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnClock {
    Served,
    NotServed,
}

/// Plans for ROS 2: CDR topics that have a type and a name that is valid as a key.
pub(crate) fn plan_ros(
    played: &[Played],
    clock: OwnClock,
    flavour: Flavour,
    graph: &Graph,
    events: &Events,
) -> Result<(Vec<Planned>, Vec<Skipped>), WireError> {
    let (mut kept, mut skipped) = (Vec::new(), Vec::new());
    for one in played {
        // The type is checked first: a name does not matter if the topic cannot be played anyway.
        match ros_type_of(one).and_then(|dds_type| Ok((name_of(one, clock)?, dds_type))) {
            Ok((name, dds_type)) => kept.push((name, dds_type, one)),
            Err(reason) => skipped.push(skip(one, reason)),
        }
    }
    if kept.is_empty() {
        blame_name(played.iter().filter(|one| ros_type_of(one).is_ok()), clock)?;
    }
    let planned = group(&kept, events, |name, dds_type, one| {
        let resolved = resolve(flavour, graph, name, dds_type, &one.topic);
        if let Some(warning) = resolved.warning {
            events.tell(warning);
        }
        resolved.hash
    });
    Ok((planned, skipped))
}

/// Plans for plain keys: all topics whose name is valid as a key.
pub(crate) fn plan_raw(
    played: &[Played],
    clock: OwnClock,
    events: &Events,
) -> Result<(Vec<Planned>, Vec<Skipped>), WireError> {
    let (mut kept, mut skipped) = (Vec::new(), Vec::new());
    for one in played {
        match name_of(one, clock) {
            Ok(name) => kept.push((name, String::new(), one)),
            Err(reason) => skipped.push(skip(one, reason)),
        }
    }
    if kept.is_empty() {
        blame_name(played, clock)?;
    }
    Ok((group(&kept, events, |_, _, _| String::new()), skipped))
}

fn skip(one: &Played, reason: SkipReason) -> Skipped {
    Skipped {
        id: one.id,
        topic: one.topic.name.clone(),
        reason,
    }
}

/// If no topic is left because of invalid names, that is an error that gives the first such name; unless a
/// clock is served.
fn blame_name<'a>(
    playable: impl IntoIterator<Item = &'a Played>,
    clock: OwnClock,
) -> Result<(), WireError> {
    if clock == OwnClock::Served {
        return Ok(());
    }
    let mut playable = playable.into_iter();
    playable.try_for_each(|one| check_name(&one.name).map(drop))
}

/// The name on the wire, or the reason why the topic is skipped.
fn name_of(one: &Played, clock: OwnClock) -> Result<String, SkipReason> {
    let name = normal_name(&one.name).map_err(SkipReason::Name)?;
    // The command's plan already leaves out a recorded clock and reports it. The rule is repeated here because
    // it must always hold: callers of the library may have no such plan, and a name may be written another way
    // (`clock/`). A debug assertion would let a second clock through in release builds.
    if clock == OwnClock::Served && name == CLOCK {
        return Err(SkipReason::OwnClock);
    }
    Ok(name)
}

fn ros_type_of(one: &Played) -> Result<String, SkipReason> {
    let encoding = &one.topic.encoding;
    if encoding != "cdr" {
        return Err(SkipReason::Encoding(encoding.clone()));
    }
    let recorded = one.topic.type_name();
    dds_type(recorded).ok_or_else(|| SkipReason::Type(recorded.to_owned()))
}

fn group(
    kept: &[(String, String, &Played)],
    events: &Events,
    hash: impl Fn(&str, &str, &Played) -> String,
) -> Vec<Planned> {
    let mut planned: Vec<Planned> = Vec::new();
    for (index, (name, dds_type, one)) in kept.iter().enumerate() {
        let is_same = |other: &(String, String, &Played)| other.0 == *name && other.1 == *dds_type;
        if kept[..index].iter().any(is_same) {
            continue;
        }
        let all: Vec<&Played> = kept
            .iter()
            .filter(|other| is_same(other))
            .map(|other| other.2)
            .collect();
        planned.push(Planned {
            ids: all.iter().map(|one| one.id).collect(),
            name: name.clone(),
            dds_type: dds_type.clone(),
            hash: hash(name, dds_type, one),
            qos: profile(name, &all, events),
        });
    }
    planned
}

/// The profile of one topic: the first override, otherwise one adapted from the recorded offers.
fn profile(name: &str, all: &[&Played], events: &Events) -> Qos {
    if let Some(qos) = all.iter().find_map(|one| one.qos) {
        return qos;
    }
    let offers: Vec<Qos> = all
        .iter()
        .flat_map(|one| one.topic.offered_qos.iter().copied())
        .collect();
    let Adapted { mut qos, is_mixed } = adapt(&offers);
    if all.iter().any(|one| one.topic.is_latched) {
        qos.durability = Durability::TransientLocal;
    }
    if qos.durability == Durability::TransientLocal {
        let count = all
            .iter()
            .try_fold(0_u64, |sum, one| sum.checked_add(one.topic.message_count?));
        // By the recorded names: all samples of `/tf_static` count even if it was renamed.
        let samples = if all.iter().any(|one| is_tf_static(&one.topic.name)) {
            Samples::AllCount
        } else {
            Samples::LastCounts
        };
        qos.history = History::KeepLast(latched_depth(samples, &offers, count));
    }
    if is_mixed {
        let topic = name.to_owned();
        events.tell(WireEvent::MixedProfiles { topic, qos });
    }
    qos
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::bag::{Schema, Topic};
    use crate::ros::Reliability;

    fn played(id: u32, name: &str, ros_type: Option<&str>, encoding: &str) -> Played {
        Played {
            id: TopicId(id),
            name: name.to_owned(),
            topic: Topic {
                name: name.to_owned(),
                schema: ros_type.map(|name| Schema {
                    name: name.to_owned(),
                    encoding: "ros2msg".to_owned(),
                    data: "string data".into(),
                }),
                encoding: encoding.to_owned(),
                offered_qos: Vec::new(),
                type_hash: None,
                is_latched: false,
                message_count: Some(3),
            },
            qos: None,
        }
    }

    fn plan(played: &[Played]) -> (Vec<Planned>, Vec<Skipped>, usize) {
        let told = Arc::new(Mutex::new(0));
        let count = Arc::clone(&told);
        let events = Events::new(move |_| *count.lock().unwrap() += 1);
        let graph = Graph::new("me".to_owned(), "/me".to_owned());
        let (planned, skipped) =
            plan_ros(played, OwnClock::Served, Flavour::Rihs01, &graph, &events).unwrap();
        let told = *told.lock().unwrap();
        (planned, skipped, told)
    }

    #[test]
    fn what_ros_cannot_read_is_skipped_with_its_reason() {
        let (planned, skipped, _) = plan(&[
            played(0, "/a", Some("std_msgs/msg/String"), "cdr"),
            played(1, "/b", Some("std_msgs/msg/String"), "json"),
            played(2, "/c", Some("foxglove.Log"), "cdr"),
            played(3, "/d", None, "cdr"),
            played(4, "/clock", Some("rosgraph_msgs/msg/Clock"), "cdr"),
        ]);
        assert_eq!(planned.len(), 1);
        let topics: Vec<&str> = skipped.iter().map(|one| one.topic.as_str()).collect();
        assert_eq!(topics, ["/b", "/c", "/d", "/clock"]);
        let reasons: Vec<&SkipReason> = skipped.iter().map(|one| &one.reason).collect();
        assert_eq!(
            reasons,
            [
                &SkipReason::Encoding("json".into()),
                &SkipReason::Type("foxglove.Log".into()),
                &SkipReason::Type(String::new()),
                &SkipReason::OwnClock
            ]
        );
    }

    #[test]
    fn topics_that_come_to_share_name_and_type_share_a_publisher() {
        let mut second = played(7, "a/", Some("std_msgs/String"), "cdr");
        second.topic.is_latched = true;
        second.topic.offered_qos = vec![
            Qos {
                reliability: Reliability::BestEffort,
                ..Qos::default()
            },
            Qos::default(),
        ];
        let (planned, _, told) =
            plan(&[played(0, "/a", Some("std_msgs/msg/String"), "cdr"), second]);
        let [one] = &planned[..] else {
            panic!("{planned:?}")
        };
        assert_eq!(
            (one.ids.clone(), one.name.as_str()),
            (vec![TopicId(0), TopicId(7)], "/a")
        );
        assert_eq!(one.qos.durability, Durability::TransientLocal);
        assert_eq!(
            one.qos.history,
            History::KeepLast(6),
            "as many as there are"
        );
        assert_eq!(told, 1, "the mixed profiles");
    }

    #[test]
    fn skipped_topics_are_told_apart_by_id() {
        let string = Some("std_msgs/msg/String");
        let (planned, skipped, _) = plan(&[
            played(0, "/diag", string, "json"),
            played(1, "/diag", string, "cdr"),
        ]);
        assert_eq!(planned[0].ids, [TopicId(1)]);
        let ids: Vec<TopicId> = skipped.iter().map(|one| one.id).collect();
        assert_eq!(ids, [TopicId(0)]);
    }

    #[test]
    fn a_name_that_is_no_key_is_skipped_under_its_recorded_name() {
        let string = Some("std_msgs/msg/String");
        let mut renamed = played(1, "/b*", string, "cdr");
        renamed.topic.name = "/b".to_owned();
        let (planned, skipped, _) = plan(&[
            played(0, "/a", string, "cdr"),
            renamed,
            played(2, "/c*", string, "json"),
        ]);
        assert_eq!(planned.len(), 1);
        assert_eq!(skipped[0].topic, "/b");
        assert!(matches!(skipped[0].reason, SkipReason::Name(_)));
        assert_eq!(skipped[1].reason, SkipReason::Encoding("json".into()));
    }

    #[test]
    fn nothing_left_for_the_sake_of_a_name_is_an_error() {
        let events = Events::new(|_| ());
        let bad = [played(0, "/a*", None, "json")];
        let error = plan_raw(&bad, OwnClock::NotServed, &events).unwrap_err();
        assert!(error.to_string().contains("/a*"));
        let (planned, skipped) = plan_raw(&bad, OwnClock::Served, &events).unwrap();
        assert_eq!((planned.len(), skipped.len()), (0, 1));
    }

    #[test]
    fn a_clock_beside_ours_is_skipped_however_it_is_written() {
        let events = Events::new(|_| ());
        for name in ["/clock", "clock", "/clock/"] {
            let recorded = [played(0, name, None, "cdr")];
            let (planned, skipped) = plan_raw(&recorded, OwnClock::Served, &events).unwrap();
            assert_eq!((planned.len(), skipped.len()), (0, 1), "{name}");
            let (planned, _) = plan_raw(&recorded, OwnClock::NotServed, &events).unwrap();
            assert_eq!(planned.len(), 1, "{name}");
        }
    }

    #[test]
    fn a_renamed_tf_static_keeps_all_there_is() {
        let mut tf_static = played(0, "/static", Some("tf2_msgs/msg/TFMessage"), "cdr");
        tf_static.topic.name = "/tf_static".to_owned();
        tf_static.topic.is_latched = true;
        tf_static.topic.message_count = Some(77);
        let mut map = played(1, "/tf_static_map", Some("std_msgs/msg/String"), "cdr");
        map.topic.is_latched = true;
        map.topic.message_count = Some(77);
        let (planned, _, _) = plan(&[tf_static, map]);
        let depths: Vec<History> = planned.iter().map(|one| one.qos.history).collect();
        assert_eq!(depths, [History::KeepLast(77), History::KeepLast(10)]);
    }
}
