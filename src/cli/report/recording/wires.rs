//! Which wires can carry which topics, for the page of `play info`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::info::{TopicInfo, WIRES};
use super::names::printable;
use crate::cli::report::units::{count, plural};

/// More reasons are not listed.
const MOST_REASONS: usize = 8;
/// Of the topics with the same reason, no more than these are named.
const MOST_NAMED: usize = 3;

/// How many topics each wire can carry, the topics that it cannot carry, with the reasons, and how many topics ROS 2
/// nodes get in another form than the recorded one.
pub(super) fn wire_lines(page: &mut String, topics: &[TopicInfo]) {
    let transcoded = topics.iter().filter(|topic| topic.ros2_type.is_some());
    let transcoded = transcoded.count() as u64;
    if transcoded > 0 {
        let topics = plural(transcoded, "topic");
        // Writing into a string does not fail.
        let _ = writeln!(page, "transcode {topics}, from ros1 to cdr for ROS 2 nodes");
    }
    let all = topics.len();
    let carried = WIRES.map(|wire| {
        let refused = topics
            .iter()
            .filter(|topic| topic.not_on.contains_key(wire));
        (wire, all - refused.count())
    });
    if all > 0 {
        let shares = carried.map(|(wire, carried)| match carried {
            0 => format!("{wire} none"),
            carried if carried == all => format!("{wire} all"),
            carried => format!("{wire} {} of {}", count(carried as u64), count(all as u64)),
        });
        let _ = writeln!(page, "wires     {}", shares.join(", "));
    }
    // By reason, in the order of the topics.
    let mut reasons: Vec<(Vec<&str>, &str, Vec<&str>)> = Vec::new();
    for topic in topics {
        let mut wires_by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (wire, reason) in &topic.not_on {
            wires_by_reason.entry(reason).or_default().push(wire);
        }
        for (reason, wires) in wires_by_reason {
            let is_same = |known: &&mut (Vec<&str>, &str, _)| known.0 == wires && known.1 == reason;
            match reasons.iter_mut().find(is_same) {
                Some((.., names)) => names.push(&topic.name),
                None => reasons.push((wires, reason, vec![&topic.name])),
            }
        }
    }
    for (wires, reason, names) in reasons.iter().take(MOST_REASONS) {
        let wires = wires.join(", ");
        let named = some_of(names);
        let _ = writeln!(page, "          not on {wires}: {named}: {reason}");
    }
    if let Some(more @ 1..) = reasons.len().checked_sub(MOST_REASONS) {
        let _ = writeln!(
            page,
            "          and {}",
            plural(more as u64, "other reason")
        );
    }
    without_fields(page, topics);
}

/// The topics that ROS 1 nodes get without some of their fields.
fn without_fields(page: &mut String, topics: &[TopicInfo]) {
    let mut by_fields: BTreeMap<&[String], Vec<&str>> = BTreeMap::new();
    for topic in topics.iter().filter(|topic| !topic.not_in_ros1.is_empty()) {
        let names = by_fields.entry(&topic.not_in_ros1).or_default();
        names.push(&topic.name);
    }
    for (fields, names) in by_fields.iter().take(MOST_REASONS) {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let (named, fields) = (some_of(names), some_of(&fields));
        let _ = writeln!(page, "          not in ROS 1: {named}: {fields}");
    }
    if let Some(more @ 1..) = by_fields.len().checked_sub(MOST_REASONS) {
        let sets = plural(more as u64, "other set");
        let _ = writeln!(
            page,
            "          and {sets} of fields that ROS 1 does not have"
        );
    }
}

/// The first names, and how many more there are.
fn some_of(names: &[&str]) -> String {
    let first = names.iter().take(MOST_NAMED).map(|name| printable(name));
    let mut text = first.collect::<Vec<_>>().join(", ");
    if let Some(more @ 1..) = names.len().checked_sub(MOST_NAMED) {
        let _ = write!(text, " and {} more", count(more as u64));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, not_on: &[(&'static str, &str)]) -> TopicInfo {
        let not_on = not_on.iter();
        TopicInfo {
            not_on: not_on
                .map(|(wire, why)| (*wire, (*why).to_owned()))
                .collect(),
            ..TopicInfo::named(name)
        }
    }

    fn page(topics: &[TopicInfo]) -> String {
        let mut page = String::new();
        wire_lines(&mut page, topics);
        page
    }

    #[test]
    fn wires_that_carry_all_topics_take_one_line() {
        let all = [topic("/a", &[]), topic("/b", &[])];
        assert_eq!(
            page(&all),
            "wires     rmw_zenoh all, ros2dds all, ros1 all, zenoh all\n"
        );
        assert_eq!(page(&[]), "");
    }

    #[test]
    fn topics_with_the_same_reason_share_a_line() {
        let json = [("rmw_zenoh", "it is json"), ("ros2dds", "it is json")];
        let name = [("ros2dds", "no such name")];
        let mut all: Vec<TopicInfo> = (0..5).map(|n| topic(&format!("/j{n}"), &json)).collect();
        all.push(topic("/0", &name));
        all.push(topic("/c", &[]));
        assert_eq!(
            page(&all),
            "wires     rmw_zenoh 2 of 7, ros2dds 1 of 7, ros1 all, zenoh all\n          \
             not on rmw_zenoh, ros2dds: /j0, /j1, /j2 and 2 more: it is json\n          \
             not on ros2dds: /0: no such name\n"
        );
        assert!(
            page(&all[..5])
                .starts_with("wires     rmw_zenoh none, ros2dds none, ros1 all, zenoh all\n")
        );
    }

    #[test]
    fn many_reasons_are_counted() {
        let one = |n| topic("/a", &[("zenoh", &format!("reason {n}"))]);
        let all: Vec<TopicInfo> = (0..10).map(one).collect();
        let page = page(&all);
        assert_eq!(page.lines().count(), 1 + MOST_REASONS + 1);
        assert!(page.ends_with("and 2 other reasons\n"), "{page}");
    }
}
