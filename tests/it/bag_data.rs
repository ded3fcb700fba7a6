//! Real recordings, with crate mcap's own reader as the second opinion.
//!
//! `BAGPLAY_DATA` names the folder with them; without it there is nothing to check.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use bagplay::bag::{Bag, BagError, Direction, Message, Reliability, StartAt};
use bagplay::time::Time;

use crate::mcaps::{all, at};

pub(crate) fn data() -> Option<PathBuf> {
    std::env::var_os("BAGPLAY_DATA").map(PathBuf::from)
}

/// All `.mcap` files below a folder, sorted.
fn recordings(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|it| it == "mcap") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn walk(bag: &Bag, direction: Direction) -> Vec<Message> {
    let from = match direction {
        Direction::Forward => StartAt::At(Time::MIN),
        Direction::Reverse => StartAt::At(Time::MAX),
    };
    let cursor = bag.cursor(&all(bag), from, direction);
    cursor.map(|item| item.expect("no damage")).collect()
}

#[test]
fn every_message_is_the_one_the_reference_reader_finds() {
    let Some(data) = data() else { return };
    let mut played = 0;
    for path in recordings(&data) {
        let name = path.display();
        let bag = match Bag::open(&[&path]) {
            Ok(bag) => bag,
            // Unfinished, cut or unchunked: their turn comes with the scan.
            Err(BagError::Unindexed { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(bag.damage(), [], "{name}");
        let bytes = fs::read(&path).unwrap();
        let reference = mcap::MessageStream::new(&bytes).unwrap();
        let mut reference: Vec<_> = reference.map(Result::unwrap).collect();
        reference.sort_by_key(|message| at(message.log_time));
        let messages = walk(&bag, Direction::Forward);
        assert_eq!(messages.len(), reference.len(), "{name}");
        for (ours, theirs) in messages.iter().zip(&reference) {
            let topic = &bag.topics()[ours.topic.index()];
            assert_eq!(topic.name, theirs.channel.topic, "{name}");
            assert_eq!(topic.encoding, theirs.channel.message_encoding, "{name}");
            let schema = theirs.channel.schema.as_ref();
            assert_eq!(topic.type_name(), schema.map_or("", |s| &s.name), "{name}");
            assert_eq!(ours.log_time, at(theirs.log_time), "{name}");
            assert_eq!(ours.publish_time, at(theirs.publish_time), "{name}");
            assert_eq!(ours.sequence, theirs.sequence, "{name}");
            assert_eq!(ours.payload[..], theirs.data[..], "{name}");
        }
        let mut back = walk(&bag, Direction::Reverse);
        back.reverse();
        let keys = |messages: &[Message]| messages.iter().map(|m| m.key).collect::<Vec<_>>();
        assert_eq!(keys(&back), keys(&messages), "{name}");
        if let (Some(first), Some(last)) = (messages.first(), messages.last()) {
            let range = bag.range().unwrap();
            assert_eq!(
                (range.start(), range.stop()),
                (first.log_time, last.log_time),
                "{name}"
            );
        }
        assert_eq!(
            bag.message_count().unwrap(),
            messages.len() as u64,
            "{name}"
        );
        let mut counts: HashMap<_, u64> = HashMap::new();
        for message in &messages {
            *counts.entry(message.topic.index()).or_default() += 1;
        }
        for (i, topic) in bag.topics().iter().enumerate() {
            let counted = counts.get(&i).copied().unwrap_or(0);
            assert_eq!(topic.message_count, Some(counted), "{name}: {}", topic.name);
        }
        played += 1;
    }
    assert!(played >= 20, "{played} recordings under {}", data.display());
}

#[test]
fn overlapping_parts_of_a_split_recording_are_one() {
    let Some(data) = data() else { return };
    let parts: Vec<_> = (0..5)
        .map(|i| data.join(format!("rosbag2/wbag/wbag_{i}.mcap")))
        .collect();
    let bag = Bag::open(&parts).unwrap();
    let messages = walk(&bag, Direction::Forward);
    assert_eq!(messages.len(), 1246 + 1240 + 1240 + 1240 + 1108);
    assert_eq!(bag.topics().len(), 8);
    assert!(messages.is_sorted_by_key(|message| message.key));
}

#[test]
fn recorded_profiles_hashes_and_latching_are_read() {
    let Some(data) = data() else { return };
    let open = |path: &str| Bag::open(&[data.join(path)]).unwrap();
    let flight = open("crazyflie/bag3/bag3_0.mcap");
    for topic in flight.topics() {
        assert_eq!(topic.offered_qos.len(), 1, "{}", topic.name);
        assert_eq!(topic.offered_qos[0].reliability, Reliability::Reliable);
        assert!(topic.type_hash.as_ref().unwrap().starts_with("RIHS01_"));
    }
    let turtles = recordings(&data.join("turtlesim_ros2"));
    let ouster = data.join("ouster_ros1/test.mcap");
    for path in turtles.iter().chain([&ouster]) {
        let bag = Bag::open(&[path]).unwrap();
        let latched = bag.topics().iter().filter(|topic| topic.is_latched);
        let names: Vec<_> = latched.map(|topic| topic.name.as_str()).collect();
        assert!(
            names.contains(&"/tf_static"),
            "{}: {names:?}",
            path.display()
        );
        let (found, damage) = bag.latched(&all(&bag), bag.range().unwrap().stop());
        assert!(!found.is_empty() && damage.is_empty());
    }
}
