//! [`plan`]: which recorded topics are published, and as what.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bag::{Schema, Topic, TopicId};
use crate::ros::{Durability, is_tf_static};
use crate::ros1::data::md5::md5_of;
use crate::ros1::data::publication::{Advertised, Latching};
use crate::ros1::data::publications::CLOCK;
use crate::ros1::options::{Ros1Played, Ros1SkipReason, Ros1Skipped, Ros2Messages};
use crate::transcode::{MaybeToRos1, ToRos1, ToRos1ByType};

/// A topic to be published, and the recorded topics whose messages it gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::ros1) struct PlannedTopic {
    pub(in crate::ros1) advertised: Advertised,
    pub(in crate::ros1) ids: Vec<PlannedId>,
}

/// A recorded topic, and what makes ROS 1 messages of its messages, if that is necessary.
pub(in crate::ros1) type PlannedId = (TopicId, Option<Arc<ToRos1>>);

/// The topics to be published, in the order of the recorded ones, and those that are not. The node itself publishes the
/// topics `own`, and the clock if `serves_clock`.
pub(in crate::ros1) fn plan(
    played: &[Ros1Played],
    (serves_clock, own): (bool, &[String]),
    ros2: Ros2Messages,
) -> (Vec<PlannedTopic>, Vec<Ros1Skipped>) {
    let mut planned: Vec<PlannedTopic> = Vec::new();
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    let mut skipped = Vec::new();
    let mut transcoders = ToRos1ByType::default();
    for one in played {
        let mut skip = |reason| {
            skipped.push(Ros1Skipped {
                id: one.id,
                name: one.name.clone(),
                reason,
            });
        };
        let transcoder = match ros2 {
            Ros2Messages::Transcoded => transcoders.of(&one.topic),
            Ros2Messages::LeftOut => None,
        };
        let served = (serves_clock, own);
        let (advertised, transcoder) = match advertised(one, served, transcoder) {
            Ok(advertised) => advertised,
            Err(reason) => {
                skip(reason);
                continue;
            }
        };
        let at = by_name.get(&advertised.name).copied();
        let Some(before) = at.and_then(|at| planned.get_mut(at)) else {
            by_name.insert(advertised.name.clone(), planned.len());
            planned.push(PlannedTopic {
                advertised,
                ids: vec![(one.id, transcoder)],
            });
            continue;
        };
        // A type may have two names: `tf/tfMessage` and `tf2_msgs/TFMessage`.
        if before.advertised.md5 == advertised.md5 {
            before.ids.push((one.id, transcoder));
            if before.advertised.latching == Latching::No {
                before.advertised.latching = advertised.latching;
            }
        } else {
            skip(Ros1SkipReason::OtherType(
                before.advertised.type_name.clone(),
            ));
        }
    }
    (planned, skipped)
}

/// The topics that nodes of ROS 1 cannot get, if all are played under their names, without a clock.
pub fn not_carried(topics: &[Topic]) -> Vec<Ros1Skipped> {
    let played = (0..).map(TopicId).zip(topics);
    let played = played.map(|(id, topic)| Ros1Played {
        id,
        name: topic.name.clone(),
        topic: topic.clone(),
        durability: None,
    });
    let played: Vec<Ros1Played> = played.collect();
    plan(&played, (false, &[]), Ros2Messages::Transcoded).1
}

fn advertised(
    played: &Ros1Played,
    (serves_clock, own): (bool, &[String]),
    transcoder: Option<MaybeToRos1>,
) -> Result<(Advertised, Option<Arc<ToRos1>>), Ros1SkipReason> {
    let transcoder = transcoder.transpose().map_err(Ros1SkipReason::NoRos1Form)?;
    let topic = match &transcoder {
        Some(transcoder) => Cow::Owned(transcoder.ros1_topic(&played.topic)),
        None => Cow::Borrowed(&played.topic),
    };
    if topic.encoding != "ros1" {
        return Err(Ros1SkipReason::Encoding(topic.encoding.clone()));
    }
    let name = topic_name(&played.name).ok_or(Ros1SkipReason::Name)?;
    if serves_clock && name == CLOCK {
        return Err(Ros1SkipReason::OwnClock);
    }
    if own.contains(&name) {
        return Err(Ros1SkipReason::OwnTopic);
    }
    let no_sum = |why: String| Ros1SkipReason::NoSum(why);
    let is_definition = |schema: &&Schema| schema.encoding == "ros1msg";
    let schema = topic.schema.as_ref().filter(is_definition);
    let schema = schema.ok_or_else(|| no_sum("its definition is not recorded".to_owned()))?;
    let type_name = schema.name.replacen("/msg/", "/", 1);
    if !is_type_name(&type_name) {
        return Err(Ros1SkipReason::Type(type_name));
    }
    // What the publisher itself has sent is right whatever the text is.
    let md5 = match &topic.ros1_md5 {
        Some(recorded) => recorded.clone(),
        None => md5_of(&schema.name, &schema.data).map_err(|error| no_sum(error.to_string()))?,
    };
    let is_latched = match played.durability {
        Some(durability) => durability == Durability::TransientLocal,
        None => topic.is_latched,
    };
    let latching = if !is_latched {
        Latching::No
    } else if is_tf_static(&topic.name) {
        Latching::All
    } else {
        Latching::LastOfEach
    };
    let advertised = Advertised {
        name,
        type_name,
        md5,
        definition: schema.data.clone(),
        latching,
    };
    Ok((advertised, transcoder))
}

/// The name of a topic as a master has it; `None` if a master refuses it.
fn topic_name(recorded: &str) -> Option<String> {
    let parts = recorded.split('/').filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    (!parts.is_empty() && parts.iter().all(|part| is_part(part)))
        .then(|| format!("/{}", parts.join("/")))
}

fn is_type_name(name: &str) -> bool {
    let parts = name.split_once('/');
    parts.is_some_and(|(package, name)| {
        !name.contains('/') && [package, name].iter().all(|part| is_part(part))
    })
}

/// Whether a master takes this as a part of a name. Some nodes accept fewer names.
fn is_part(part: &str) -> bool {
    let is_refused = |c: char| c == ':' || c.is_whitespace() || c.is_control();
    !part.is_empty() && !part.contains(is_refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(id: u32, name: &str, kind: &str, text: &'static str) -> Ros1Played {
        Ros1Played {
            id: TopicId(id),
            name: name.to_owned(),
            topic: Topic {
                name: name.to_owned(),
                schema: Some(Schema {
                    name: kind.to_owned(),
                    encoding: "ros1msg".to_owned(),
                    data: text.into(),
                }),
                encoding: "ros1".to_owned(),
                offered_qos: Vec::new(),
                type_hash: None,
                ros1_md5: None,
                is_latched: false,
                message_count: None,
            },
            durability: None,
        }
    }

    #[test]
    fn topics_of_one_name_and_type_are_one_and_others_are_left_out() {
        let text = ("std_msgs/String", "string data\n");
        let mut latched = played(1, "chatter", text.0, text.1);
        latched.topic.is_latched = true;
        let mut cdr = played(4, "/cdr", text.0, text.1);
        cdr.topic.encoding = "cdr".to_owned();
        let mut nameless = played(5, "/x", text.0, text.1);
        nameless.topic.schema = None;
        let mut known = played(6, "/known", "q/Own", "Missing x\n");
        known.topic.ros1_md5 = Some("0123456789abcdef0123456789abcdef".to_owned());
        let all = [
            played(0, "/chatter", text.0, text.1),
            latched,
            played(2, "/chatter", "std_msgs/Int8", "int8 data\n"),
            played(3, "/clock", "rosgraph_msgs/Clock", "time clock\n"),
            cdr,
            nameless,
            known,
            played(7, "player/updates", text.0, text.1),
        ];
        let own = ["/player/updates".to_owned()];
        let (planned, skipped) = plan(&all, (true, &own), Ros2Messages::LeftOut);
        let [one, known] = planned.as_slice() else {
            panic!("{planned:?}");
        };
        assert_eq!(known.advertised.md5, "0123456789abcdef0123456789abcdef");
        assert_eq!(one.ids, [(TopicId(0), None), (TopicId(1), None)]);
        assert_eq!(one.advertised.name, "/chatter");
        assert_eq!(one.advertised.latching, Latching::LastOfEach);
        assert_eq!(one.advertised.md5, "992ce8a1687cec8c8bd883ec73ca41d1");
        let reasons: Vec<_> = skipped.iter().map(|one| (one.id.0, &one.reason)).collect();
        let no_definition = "its definition is not recorded".to_owned();
        assert_eq!(
            reasons,
            [
                (2, &Ros1SkipReason::OtherType("std_msgs/String".to_owned())),
                (3, &Ros1SkipReason::OwnClock),
                (4, &Ros1SkipReason::Encoding("cdr".to_owned())),
                (5, &Ros1SkipReason::NoSum(no_definition)),
                (7, &Ros1SkipReason::OwnTopic),
            ]
        );
        assert_eq!(plan(&all, (false, &[]), Ros2Messages::LeftOut).0.len(), 4);
    }

    #[test]
    fn ros2_messages_are_published_as_ros1_messages_unless_they_are_left_out() {
        let as_ros2 = |id, name: &str, kind: &str, text| {
            let mut played = played(id, name, kind, text);
            played.topic.encoding = "cdr".to_owned();
            let schema = played.topic.schema.as_mut().unwrap();
            "ros2msg".clone_into(&mut schema.encoding);
            played
        };
        let all = [
            played(0, "/chatter", "std_msgs/String", "string data\n"),
            as_ros2(1, "/chatter", "std_msgs/msg/String", "string data\n"),
            as_ros2(2, "/wide", "p/msg/Wide", "wstring text\n"),
        ];
        let (planned, skipped) = plan(&all, (false, &[]), Ros2Messages::Transcoded);
        let [one] = planned.as_slice() else {
            panic!("{planned:?}");
        };
        let are_transcoded = one.ids.iter().map(|(id, it)| (id.0, it.is_some()));
        assert_eq!(are_transcoded.collect::<Vec<_>>(), [(0, false), (1, true)]);
        let [wide] = skipped.as_slice() else {
            panic!("{skipped:?}");
        };
        assert_eq!(
            (wide.id.0, wide.reason.to_string()),
            (
                2,
                "it has no ROS 1 form: p/msg/Wide has wide characters, which ROS 1 does not have"
                    .to_owned()
            )
        );
        let (planned, skipped) = plan(&all, (false, &[]), Ros2Messages::LeftOut);
        assert_eq!((planned[0].ids.len(), skipped.len()), (1, 2));

        let latching = |durability| {
            let mut one = all[1].clone();
            one.durability = durability;
            let (planned, _) = plan(&[one], (false, &[]), Ros2Messages::Transcoded);
            planned[0].advertised.latching
        };
        assert_eq!(latching(None), Latching::No);
        assert_eq!(latching(Some(Durability::Volatile)), Latching::No);
        assert_eq!(
            latching(Some(Durability::TransientLocal)),
            Latching::LastOfEach
        );
    }

    #[test]
    fn names_that_a_master_refuses_are_left_out() {
        let string = |id, name: &str, kind: &str| played(id, name, kind, "string data\n");
        let all = [
            string(0, "/a//b/", "std_msgs/String"),
            string(1, "/", "std_msgs/String"),
            string(2, "/a b", "std_msgs/String"),
            string(3, "rt:a", "std_msgs/String"),
            string(4, "/c", "String"),
            string(5, "/d", "std_msgs/more/String"),
            string(6, "a/b", "std_msgs/String"),
        ];
        let (planned, skipped) = plan(&all, (true, &[]), Ros2Messages::LeftOut);
        let [one] = planned.as_slice() else {
            panic!("{planned:?}");
        };
        // To a master, `/a//b/` and `a/b` are the same topic.
        assert_eq!(one.advertised.name, "/a/b");
        assert_eq!(one.ids, [(TopicId(0), None), (TopicId(6), None)]);
        let kind = |name: &str| Ros1SkipReason::Type(name.to_owned());
        let reasons: Vec<_> = skipped
            .into_iter()
            .map(|one| (one.id.0, one.reason))
            .collect();
        assert_eq!(
            reasons,
            [
                (1, Ros1SkipReason::Name),
                (2, Ros1SkipReason::Name),
                (3, Ros1SkipReason::Name),
                (4, kind("String")),
                (5, kind("std_msgs/more/String")),
            ]
        );
    }
}
