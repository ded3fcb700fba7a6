//! Plans the topics to publish for ROS 2 nodes: names, types, type hashes and profiles.

use std::collections::HashMap;

use crate::bag::TopicId;
use crate::ros::{Qos, dds_type, ros_type, unreachable_name};

use super::graph::Graph;
use super::type_hash::{HashForm, resolve};
use crate::wire::dialect::notation::Notation;
use crate::wire::dialect::plan::{Group, OwnClock, group, require_any};
use crate::wire::dialect::ros1_topics::Ros1Topics;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::options::{Played, SkipReason, Skipped};

/// One topic to publish. Recorded topics that get the same name and type share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Planned {
    pub(crate) ids: Vec<TopicId>,
    pub(crate) name: String,
    pub(crate) dds_type: String,
    pub(crate) hash: String,
    pub(crate) qos: Qos,
}

/// Plans CDR topics that have a type and a name that is valid as a key, and ROS 1 topics in their ROS 2 form.
pub(crate) fn plan(
    topics: &Ros1Topics,
    clock: OwnClock,
    form: HashForm,
    (graph, notation): (&Graph, &Notation),
    events: &Events,
) -> Result<(Vec<Planned>, Vec<Skipped>), WireError> {
    let grouped = grouped(topics, clock, notation);
    require_any(&topics.played, &grouped, clock)?;
    let (groups, skipped) = grouped;
    let planned = groups.into_iter().map(|group| {
        let topic = &group.first.topic;
        let resolved = resolve(form, graph, &group.name, &group.type_name, topic);
        // An unknown hash keeps messages from subscribers only if keys name hashes.
        if let Some(warning) = resolved.warning.filter(|_| notation.names_types()) {
            events.send(warning);
        }
        Planned {
            ids: group.ids(),
            qos: group.qos(events),
            hash: resolved.hash,
            name: group.name,
            dds_type: group.type_name,
        }
    });
    Ok((planned.collect(), skipped))
}

/// The topics that can be published, and those that cannot.
pub(crate) fn grouped<'a>(
    topics: &'a Ros1Topics,
    clock: OwnClock,
    notation: &Notation,
) -> (Vec<Group<'a>>, Vec<Skipped>) {
    let type_of = |one: &Played| {
        let refused = (!notation.carries_any_name()).then(|| unreachable_name(&one.name));
        match refused.flatten() {
            Some(why) => Err(SkipReason::RosName(why)),
            None => ros_type_of(one, topics),
        }
    };
    let (groups, mut skipped) = group(&topics.played, clock, type_of);
    if notation.names_types() {
        return (groups, skipped);
    }
    // A name has one type.
    let mut first_types: HashMap<String, String> = HashMap::new();
    let mut kept: Vec<Group<'a>> = Vec::new();
    for group in groups {
        if let Some(first) = first_types.get(&group.name) {
            let first = ros_type(first);
            skipped.extend(group.skipped(&SkipReason::OtherType(first)));
        } else {
            first_types.insert(group.name.clone(), group.type_name.clone());
            kept.push(group);
        }
    }
    (kept, skipped)
}

fn ros_type_of(one: &Played, topics: &Ros1Topics) -> Result<String, SkipReason> {
    if let Some(refused) = topics.refused.get(&one.id) {
        return Err(SkipReason::NoRos2Form(refused.to_string()));
    }
    let encoding = &one.topic.encoding;
    if encoding != "cdr" {
        return Err(SkipReason::Encoding(encoding.clone()));
    }
    let recorded = one.topic.type_name();
    dds_type(recorded).ok_or_else(|| SkipReason::Type(recorded.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::bag::{Schema, Topic};
    use crate::ros::{Durability, History, Reliability};
    use crate::wire::options::Ros1Messages;

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
                ros1_md5: None,
                is_latched: false,
                message_count: Some(3),
            },
            qos: None,
        }
    }

    fn plan(played: &[Played]) -> (Vec<Planned>, Vec<Skipped>, usize) {
        let events_sent = Arc::new(Mutex::new(0));
        let count = Arc::clone(&events_sent);
        let events = Events::new(move |_| *count.lock().unwrap() += 1);
        let graph = Graph::new(
            Notation::RmwZenoh { domain: 0 },
            "me".to_owned(),
            "/me".to_owned(),
        );
        let topics = Ros1Topics::of(played, Ros1Messages::Transcoded);
        let form = HashForm::Rihs01;
        let graph = (&graph, &Notation::RmwZenoh { domain: 0 });
        let planned = super::plan(&topics, OwnClock::Served, form, graph, &events);
        let (planned, skipped) = planned.unwrap();
        let events_sent = *events_sent.lock().unwrap();
        (planned, skipped, events_sent)
    }

    #[test]
    fn topics_that_ros_cannot_read_are_skipped_with_the_reason() {
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
    fn topics_with_the_same_name_and_type_share_a_publisher() {
        let mut second = played(7, "a/", Some("std_msgs/String"), "cdr");
        second.topic.is_latched = true;
        second.topic.offered_qos = vec![
            Qos {
                reliability: Reliability::BestEffort,
                ..Qos::default()
            },
            Qos::default(),
        ];
        let (planned, _, events_sent) =
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
        assert_eq!(events_sent, 1, "the mixed profiles");
    }

    fn ros1(id: u32, name: &str, ros_type: &str, text: &'static str) -> Played {
        let mut one = played(id, name, Some(ros_type), "ros1");
        if let Some(schema) = &mut one.topic.schema {
            schema.encoding = "ros1msg".to_owned();
            schema.data = text.into();
        }
        one
    }

    #[test]
    fn ros1_topics_have_the_type_and_hash_of_ros2() {
        let recorded = [
            ros1(0, "chatter", "std_msgs/String", "string data\n"),
            played(1, "/chatter", Some("std_msgs/msg/String"), "cdr"),
            ros1(2, "/odd", "p/Odd", "q/Missing x\n"),
        ];
        let (planned, skipped, events_sent) = plan(&recorded);
        let [one] = &planned[..] else {
            panic!("{planned:?}")
        };
        let string = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
        assert_eq!(
            (&*one.name, &*one.dds_type, &*one.hash, events_sent),
            ("/chatter", "std_msgs::msg::dds_::String_", string, 0)
        );
        assert_eq!(one.ids, [TopicId(0), TopicId(1)], "one publisher");
        let why = "q/msg/Missing is referred to but not defined in the schema";
        assert_eq!(skipped[0].reason, SkipReason::NoRos2Form(why.to_owned()));
        let off = Ros1Topics::of(&recorded, Ros1Messages::LeftOut);
        assert!(off.transcoders.is_empty() && off.refused.is_empty());
        assert_eq!(off.played[0].topic.encoding, "ros1");
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
    fn a_renamed_tf_static_keeps_all_messages() {
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
