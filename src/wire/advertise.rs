//! From recorded topics to what is declared for them: names, types, hashes, profiles; who is left out and why.

use crate::bag::{Durability, History, Qos, Reliability, TopicId};

use super::adapt::{Adapted, adapt, latched_depth};
use super::error::WireError;
use super::event::Events;
use super::graph::{CLOCK, Graph};
use super::names::{check_name, dds_type};
use super::options::{Played, Skipped};
use super::type_hash::{Flavour, resolve};

/// One topic to declare; recorded topics that come to share name and type share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Planned {
    pub(super) ids: Vec<TopicId>,
    pub(super) name: String,
    pub(super) dds_type: String,
    /// Empty outside ROS.
    pub(super) hash: String,
    pub(super) qos: Qos,
}

/// Which recorded clocks are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OwnClock {
    Served,
    NotServed,
}

/// For ROS 2: CDR topics with a type.
pub(super) fn plan_ros(
    played: &[Played],
    clock: OwnClock,
    flavour: Flavour,
    graph: &Graph,
    events: &Events,
) -> Result<(Vec<Planned>, Vec<Skipped>), WireError> {
    let (mut kept, mut skipped) = (Vec::new(), Vec::new());
    for one in played {
        let name = check_name(&one.name)?;
        match ros_type_of(one, &name, clock) {
            Ok(dds_type) => kept.push((name, dds_type, one)),
            Err(reason) => skipped.push(Skipped {
                topic: one.name.clone(),
                reason,
            }),
        }
    }
    let planned = group(&kept, events, |name, dds_type, one| {
        let resolved = resolve(flavour, graph, name, dds_type, &one.topic);
        if let Some(warning) = resolved.warning {
            events.warn(warning);
        }
        resolved.hash
    });
    Ok((planned, skipped))
}

/// For plain zenoh: everything whose name is a key.
pub(super) fn plan_raw(
    played: &[Played],
    clock: OwnClock,
    events: &Events,
) -> Result<(Vec<Planned>, Vec<Skipped>), WireError> {
    let (mut kept, mut skipped) = (Vec::new(), Vec::new());
    for one in played {
        let name = check_name(&one.name)?;
        match displaced(&name, clock) {
            None => kept.push((name, String::new(), one)),
            Some(reason) => skipped.push(Skipped {
                topic: one.name.clone(),
                reason,
            }),
        }
    }
    Ok((group(&kept, events, |_, _, _| String::new()), skipped))
}

fn displaced(name: &str, clock: OwnClock) -> Option<String> {
    (clock == OwnClock::Served && name == CLOCK).then(|| {
        "we serve the clock ourselves; hint: play without --clock to replay the recorded one"
            .to_owned()
    })
}

fn ros_type_of(one: &Played, name: &str, clock: OwnClock) -> Result<String, String> {
    if let Some(reason) = displaced(name, clock) {
        return Err(reason);
    }
    let encoding = &one.topic.encoding;
    if encoding != "cdr" {
        return Err(format!(
            "its messages are `{encoding}`, and ROS 2 nodes read only cdr; hint: --wire zenoh plays any encoding"
        ));
    }
    let recorded = one.topic.type_name();
    dds_type(recorded).ok_or_else(|| {
        format!(
            "its type `{recorded}` is no ROS 2 type; hint: --wire zenoh plays messages of any type"
        )
    })
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

/// The profile of one topic: the first override, else the recorded offers, adapted.
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
        qos.history = History::KeepLast(latched_depth(name, &offers, count));
    }
    if is_mixed {
        events.warn(format!(
            "publishers of {name} had different QoS profiles when it was recorded; it is published {}, {}; \
             hint: --qos-profile-overrides-path",
            if qos.reliability == Reliability::Reliable { "reliable" } else { "best effort" },
            if qos.durability == Durability::TransientLocal { "transient local" } else { "volatile" },
        ));
    }
    qos
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::bag::{Schema, Topic};

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
    fn what_ros_cannot_read_is_skipped_with_a_way_out() {
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
        assert!(skipped.iter().all(|one| one.reason.contains("hint: ")));
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
        assert_eq!(one.qos.history, History::KeepLast(20));
        assert_eq!(told, 1, "the mixed profiles");
    }

    #[test]
    fn a_name_that_is_no_key_is_an_error() {
        let events = Events::new(|_| ());
        let error = plan_raw(
            &[played(0, "/a*", None, "json")],
            OwnClock::NotServed,
            &events,
        )
        .unwrap_err();
        assert!(error.to_string().contains("/a*"));
    }
}
