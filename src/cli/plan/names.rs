//! The form in which topics are sent, and warnings of it and of names on the network.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;

use super::select::Chosen;
use super::shell_word::quoted;
use crate::bag::{Topic, TopicId};
use crate::cli::args::flags::PlayArgs;
use crate::cli::args::values::{TranscodeArg, Wire};
use crate::ros::{dds_type, unreachable_name};
use crate::transcode::{ToRos1, ToRos1ByType, Transcoder};
use crate::untrusted::Foreign;
use crate::wire::check_name;

/// More topics than these are not named.
const MOST_NAMED: usize = 5;

/// A topic in the form in which it is sent; `None` if its messages are not sent. With several wires, the form is that
/// of ROS 2 if one of them is of ROS 2.
pub fn as_sent<'a>(args: &PlayArgs, topic: &'a Topic) -> Option<Cow<'a, Topic>> {
    if !args.wire.has_ros2() {
        return as_sent_without_ros2(args, topic);
    }
    let is_transcoded = args.topics.transcode == TranscodeArg::Auto;
    match Transcoder::for_topic(topic).filter(|_| is_transcoded) {
        Some(transcoder) => Some(Cow::Owned(transcoder.ok()?.ros2_topic(topic))),
        None => (topic.encoding == "cdr").then_some(Cow::Borrowed(topic)),
    }
}

/// The same, if no wire is of ROS 2.
fn as_sent_without_ros2<'a>(args: &PlayArgs, topic: &'a Topic) -> Option<Cow<'a, Topic>> {
    let has_plain = args.wire.has(Wire::Zenoh);
    if !args.wire.has(Wire::Ros1) || has_plain {
        return Some(Cow::Borrowed(topic));
    }
    let is_transcoded = args.topics.transcode == TranscodeArg::Auto;
    match ToRos1::for_topic(topic).filter(|_| is_transcoded) {
        Some(transcoder) => Some(Cow::Owned(transcoder.ok()?.ros1_topic(topic))),
        None => (topic.encoding == "ros1").then_some(Cow::Borrowed(topic)),
    }
}

/// The topics that are sent in another form than they were recorded in: ROS 1 messages to nodes of ROS 2, and the other
/// way round.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InOtherForm {
    /// How many topics of ROS 1 messages are sent as ROS 2 messages.
    pub to_ros2: u64,
    /// How many topics of ROS 2 messages are sent as ROS 1 messages.
    pub to_ros1: u64,
    /// The fields that ROS 1 nodes do not get, because ROS 1 does not have them, `package/Name.field`; only of topics
    /// that have such fields.
    pub not_in_ros1: BTreeMap<TopicId, Vec<String>>,
}

impl InOtherForm {
    pub(super) fn of(args: &PlayArgs, chosen: &[Chosen], topics: &[Topic]) -> Self {
        let recorded = chosen.iter().filter_map(|one| {
            let topic = topics.get(one.id.index())?;
            Some((one.id, topic))
        });
        let is_transcoded = |topic: &Topic| matches!(as_sent(args, topic), Some(Cow::Owned(_)));
        let for_ros2 = recorded.clone().filter(|_| args.wire.has_ros2());
        let to_ros2 = for_ros2.filter(|(_, topic)| is_transcoded(topic)).count() as u64;
        let mut found = Self {
            to_ros2,
            ..Self::default()
        };
        if args.wire.has(Wire::Ros1) && args.topics.transcode == TranscodeArg::Auto {
            let mut by_type = ToRos1ByType::default();
            for (id, topic) in recorded {
                if let Some(Ok(transcoder)) = by_type.of(topic) {
                    found.to_ros1 += 1;
                    if !transcoder.left_out().is_empty() {
                        let fields = transcoder.left_out().to_vec();
                        found.not_in_ros1.insert(id, fields);
                    }
                }
            }
        }
        found
    }

    /// A warning for each field that is left out.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        let fields: BTreeSet<&String> = self.not_in_ros1.values().flatten().collect();
        let most = fields.len().min(MOST_NAMED);
        let more = fields.len() - most;
        let named: Vec<String> = fields.into_iter().take(most).cloned().collect();
        let more = (more > 0).then(|| format!("{more} other fields"));
        named
            .into_iter()
            .chain(more)
            .map(|field| format!("{field} is not sent to ROS 1 nodes: ROS 1 does not have it"))
    }
}

/// Warnings of names that topics of different types would share on the network.
pub(super) fn shared_names(args: &PlayArgs, chosen: &[Chosen], topics: &[Topic]) -> Vec<String> {
    let mut by_name: HashMap<&str, Vec<&Topic>> = HashMap::new();
    for one in chosen {
        let same = by_name.entry(&one.name).or_default();
        same.push(&topics[one.id.index()]);
    }
    // On the wires of ROS 2 there are two ways to write a type.
    let is_ros2 = args.wire.has_ros2();
    let form = |name: &str| {
        let dds = dds_type(name).filter(|_| is_ros2);
        dds.unwrap_or_else(|| name.to_owned())
    };
    let shared = chosen.iter().filter_map(|one| {
        let same = by_name.remove(one.name.as_str())?;
        if same.len() < 2 {
            return None;
        }
        let sent = same.into_iter().filter_map(|topic| as_sent(args, topic));
        let mut types = sent.map(|topic| topic.type_name().to_owned());
        let first = types.next()?;
        let other = types.find(|other| form(other) != form(&first))?;
        let (name, a, b) = (&one.name, first, other);
        Some(format!("{name} is published with two types: {a} and {b}"))
    });
    shared.collect()
}

/// Warnings of names to which ROS 2 nodes cannot subscribe, one for each reason. They are sent all the same: other
/// programs can receive them. Bridges to DDS do not take them, which the wire reports.
pub(super) fn unreachable_names(
    args: &PlayArgs,
    chosen: &[Chosen],
    topics: &[Topic],
) -> Vec<String> {
    if !args.wire.has(Wire::RmwZenoh) {
        return Vec::new();
    }
    let recorded = |one: &Chosen| &topics[one.id.index()];
    let mut by_reason: BTreeMap<&str, Vec<&Chosen>> = BTreeMap::new();
    for one in chosen {
        // The wire reports names that zenoh cannot carry.
        let is_key = || check_name(&one.name).is_ok();
        if let Some(why) = unreachable_name(&one.name)
            && is_key()
            && as_sent(args, recorded(one)).is_some()
        {
            by_reason.entry(why).or_default().push(one);
        }
    }
    let warning = |(why, odd): (&str, Vec<&Chosen>)| {
        let named = odd.iter().take(MOST_NAMED);
        let named: Vec<String> = named
            .map(|one| Foreign::text(&one.name).to_string())
            .collect();
        let more = match odd.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = named.join(", ");
        let rule = format!("{}:=/other", recorded(odd[0]).name);
        let rule = quoted(OsStr::new(&rule));
        format!("ROS 2 nodes cannot subscribe to {named}{more}: {why}; hint: --remap {rule}")
    };
    by_reason.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::{Schema, TopicId};
    use crate::cli::fixtures::{parse_args, topics};

    /// Topics of one type each, and the choice of all of them under one name.
    fn named(name: &str, types: &[(&str, &str)]) -> (Vec<Chosen>, Vec<Topic>) {
        let mut all = Vec::new();
        for (type_name, encoding) in types {
            let mut topic = topics(&[name]).remove(0);
            let language = if *encoding == "ros1" {
                "ros1msg"
            } else {
                "ros2msg"
            };
            topic.schema = Some(Schema {
                name: (*type_name).to_owned(),
                encoding: language.to_owned(),
                data: "string data\n".into(),
            });
            (*encoding).clone_into(&mut topic.encoding);
            all.push(topic);
        }
        let chosen = (0..).zip(&all).map(|(id, topic)| Chosen {
            id: TopicId(id),
            name: topic.name.clone(),
            qos: None,
        });
        (chosen.collect(), all)
    }

    #[test]
    fn only_types_that_differ_where_they_are_sent_are_warned_of() {
        let (old, new) = (("std_msgs/String", "ros1"), ("std_msgs/msg/String", "cdr"));
        let two = "/t is published with two types: std_msgs/String and std_msgs/msg/String";
        let other = "/t is published with two types: std_msgs/msg/String and p/msg/Other";
        for (line, types, due) in [
            ("", &[old, new][..], None),
            ("", &[("std_msgs/String", "cdr"), new], None),
            ("", &[old, new, ("p/msg/Other", "cdr")], Some(other)),
            ("", &[("p/Old", "json"), new], None),
            ("--transcode off", &[("p/Old", "ros1"), new], None),
            ("--wire zenoh", &[old, new], Some(two)),
            ("--wire ros1", &[old, new], None),
            ("--wire ros1 --transcode off", &[old, new], None),
        ] {
            let (chosen, topics) = named("/t", types);
            let warnings = shared_names(&parse_args(line), &chosen, &topics);
            assert_eq!(
                warnings.first().map(String::as_str),
                due,
                "{line} {types:?}"
            );
            assert!(warnings.len() < 2);
        }
    }

    #[test]
    fn names_that_ros2_forbids_are_named_once() {
        let names = ["/ok", "/camera/0/image", "/a b", "/odd*", "/9"];
        let chosen: Vec<Chosen> = (0..)
            .zip(names)
            .map(|(id, name)| Chosen {
                id: TopicId(id),
                name: name.to_owned(),
                qos: None,
            })
            .collect();
        let warnings = |line: &str| unreachable_names(&parse_args(line), &chosen, &topics(&names));
        let due = [
            "ROS 2 nodes cannot subscribe to /a b: a name has only letters, digits, `_` and `/`; \
             hint: --remap '/a b:=/other'",
            "ROS 2 nodes cannot subscribe to /camera/0/image, /9: a part of the name begins with a digit; \
             hint: --remap /camera/0/image:=/other",
        ];
        assert_eq!(warnings(""), due);
        assert!(warnings("--wire zenoh").is_empty());
    }
}
