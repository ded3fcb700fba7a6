//! Real recordings, compared with crate mcap's own reader.
//!
//! `BAGPLAY_DATA` names the folder of the recordings; without it these tests check nothing.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use bagplay::bag::{Bag, DamageKind, Direction, Message, StartAt};
use bagplay::ros::Reliability;
use bagplay::time::Time;

use crate::support::mcaps::{all, at};

/// The folder of real recordings, if there is one. Only for tests that `.ci/run` chooses: by `data` or `real` in their
/// names.
pub(crate) fn data() -> Option<PathBuf> {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    // `main`: tests run one after the other.
    let is_chosen = ["data", "real", "main"].iter().any(|it| test.contains(it));
    assert!(is_chosen, "{test} is not chosen");
    std::env::var_os("BAGPLAY_DATA").map(PathBuf::from)
}

/// All `.mcap` files below a folder, sorted.
pub(crate) fn recordings(dir: &Path) -> Vec<PathBuf> {
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

/// A row of the list of recordings: the facts of one file.
struct Row {
    path: String,
    messages: usize,
    topics: usize,
    seconds: f64,
    chunks: usize,
    largest: usize,
    is_finished: bool,
}

/// The rows that describe single files; those of folders with several files have no counts.
fn listed(data: &Path) -> Vec<Row> {
    let list = fs::read_to_string(data.join("README.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let facts = *cells.iter().rev().nth(1)?;
        let before = |unit: &str| facts.split_once(unit)?.0.rsplit([' ', ';']).next();
        let after = |name: &str| facts.split_once(name)?.1.split([' ', ';']).next();
        Some(Row {
            path: (*cells.get(1)?).to_owned(),
            messages: before(" msgs,")?.parse().ok()?,
            topics: before(" topics,")?.parse().ok()?,
            seconds: before(" s; chunks")?.parse().ok()?,
            chunks: after("chunks ")?.parse().ok()?,
            largest: after("max msg ")?.parse().ok()?,
            is_finished: !facts.contains("UNFINISHED"),
        })
    };
    list.lines().filter_map(row).collect()
}

#[test]
fn every_listed_recording_has_the_listed_messages_topics_and_chunks() {
    let Some(data) = data() else { return };
    let rows = listed(&data);
    assert!(rows.len() >= 30, "{} rows", rows.len());
    for row in rows {
        let name = &row.path;
        let bag = Bag::open(&[data.join(name)]).unwrap();
        let damage: Vec<_> = bag.damage().iter().map(|it| it.kind).collect();
        let due = [DamageKind::Truncated];
        assert_eq!(damage, due[usize::from(row.is_finished)..], "{name}");
        let messages = walk(&bag, Direction::Forward);
        assert_eq!(messages.len(), row.messages, "{name}");
        assert_eq!(bag.message_count(), Some(row.messages as u64), "{name}");
        let used = bag.topics().iter().filter(|it| it.message_count > Some(0));
        assert_eq!(used.count(), row.topics, "{name}");
        assert_eq!(bag.files()[0].chunks, row.chunks, "{name}");
        let largest = messages.iter().map(|message| message.payload.len()).max();
        assert_eq!(largest.unwrap_or(0), row.largest, "{name}");
        let seconds = bag
            .range()
            .map_or(0.0, |range| range.duration().as_secs_f64());
        assert!((seconds - row.seconds).abs() < 0.051, "{name}: {seconds} s");
    }
}

#[test]
fn every_message_equals_that_of_the_reference_reader() {
    let Some(data) = data() else { return };
    let mut played = 0;
    for path in recordings(&data) {
        let name = path.to_string_lossy();
        let bag = Bag::open(&[&path]).unwrap_or_else(|error| panic!("{error}"));
        let messages = walk(&bag, Direction::Forward);
        let bytes = fs::read(&path).unwrap();
        let options = [mcap::read::Options::IgnoreEndMagic];
        let options = options.into_iter().collect();
        let reference = mcap::MessageStream::new_with_options(&bytes, options).unwrap();
        let mut reference: Vec<_> = reference.map_while(Result::ok).collect();
        // Of a cut chunk the reference reader returns what can be decompressed, ours nothing without a checksum.
        let is_cut = bag
            .damage()
            .iter()
            .any(|it| it.kind == DamageKind::Truncated);
        reference.truncate(if is_cut { messages.len() } else { usize::MAX });
        reference.sort_by_key(|message| at(message.log_time));
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
    assert!(
        played >= 40,
        "{played} recordings under {}",
        data.to_string_lossy()
    );
}

#[test]
fn overlapping_parts_of_a_split_recording_are_merged_in_order() {
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
            path.to_string_lossy()
        );
        let (found, damage) = bag.latched(&all(&bag), bag.range().unwrap().stop());
        assert!(!found.is_empty() && damage.is_empty());
    }
}
