//! Recordings whose ROS 1 messages are written as ROS 2 messages.

use std::ops::ControlFlow;
use std::sync::Arc;

use bagplay::bag::{Bag, Directory, Selection};
use bagplay::cut::{Cut, CutError, CutForm, LatchedState, Payloads, RefusedTopic, TopicShare};
use bagplay::ros::{Durability, History};
use bagplay::transcode::{NoRos2Form, Transcoder};

use crate::bag::data::{data, recordings};
use crate::cut::{Content, Folder, contents, range, whole};
use crate::support::mcaps::{bag, topic_id};
use crate::support::ros1::{ChannelSpec, cdr_string, ros1_file, string};

const TEXT: &str = "string data\n";
/// The type hash of `std_msgs/msg/String`.
const STRING_HASH: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

/// Everything in a bag, converted.
fn converted(bag: &Bag) -> Cut {
    Cut {
        payloads: Payloads::Ros1AsCdr,
        ..Cut::new(bag, bag.range().unwrap())
    }
}

fn latched(caller: &'static str) -> ChannelSpec<'static> {
    let metadata: &[(&str, &str)] = match caller {
        "/a" => &[("callerid", "/a"), ("latching", "1"), ("md5sum", "99")],
        _ => &[("callerid", "/b"), ("latching", "1")],
    };
    ChannelSpec {
        metadata,
        ..ChannelSpec::ros1("/map", "std_msgs/String", TEXT)
    }
}

#[test]
fn ros1_messages_become_cdr_and_all_else_stays() {
    let json = ChannelSpec {
        topic: "/other",
        schema: ("t", "jsonschema", "{}"),
        encoding: "json",
        metadata: &[("key", "value")],
    };
    let channels = [
        latched("/a"),
        latched("/b"),
        ChannelSpec::ros1("/odd", "p/Odd", "q/Missing x\n"),
        json,
    ];
    let (a, b, broken_payload) = (string("a"), string("b"), [9, 0, 0, 0]);
    let messages: [(usize, u64, &[u8]); 7] = [
        (0, 10, &a),
        (1, 20, &b),
        (2, 25, b"12"),
        (3, 30, b"{}"),
        (0, 40, &broken_payload),
        (3, 50, b"[]"),
        (1, 60, &broken_payload),
    ];
    let file = ros1_file(&channels, &messages);
    let source = bag(&file);
    let folder = Folder::new();
    let (written, result) = folder.cut(&source, &converted(&source));

    let content = |topic: &str, at: i64, sequence: u32, payload: &[u8]| -> Content {
        (topic.to_owned(), at, at - 1, sequence, payload.to_vec())
    };
    let due = [
        content("/map", 10, 0, &cdr_string("a")),
        content("/map", 20, 1, &cdr_string("b")),
        content("/other", 30, 3, b"{}"),
        content("/other", 50, 5, b"[]"),
    ];
    assert_eq!(whole(&result), due);
    assert_eq!(result.files()[0].profile, "ros2");
    assert_eq!(result.files()[0].compressions, ["lz4"]);
    let names: Vec<&str> = result.topics().iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["/map", "/other"]);
    let map = &result.topics()[0];
    assert_eq!(
        (map.type_name(), &*map.encoding, map.is_latched),
        ("std_msgs/msg/String", "cdr", true)
    );
    // One message of each of the two publishers.
    let offers: Vec<_> = map
        .offered_qos
        .iter()
        .map(|it| (it.durability, it.history))
        .collect();
    let offer = (Durability::TransientLocal, History::KeepLast(1));
    assert_eq!(offers, [offer; 2]);
    assert_eq!(result.topics()[1].encoding, "json");

    let map = topic_id(&source, "/map");
    let broken = Transcoder::for_topic(&source.topics()[map.index()]);
    let broken = broken
        .unwrap()
        .unwrap()
        .transcode(&broken_payload, &mut Vec::new());
    let share = |id, messages, left_out| TopicShare {
        id,
        messages,
        latched: 0,
        left_out,
        reason: (left_out > 0).then(|| broken.clone().unwrap_err()),
    };
    let other = topic_id(&source, "/other");
    assert_eq!(written.topics, [share(map, 2, 2), share(other, 2, 0)]);
    assert_eq!((written.messages, written.refused.len()), (4, 1));
    let odd = &written.refused[0];
    assert_eq!((odd.id, odd.messages), (topic_id(&source, "/odd"), 1));
    assert!(matches!(written.refused[0].reason, NoRos2Form::Nesting(_)));
    let damage: Vec<String> = written.damage.iter().map(|it| it.detail.clone()).collect();
    let why = "the payload is not a valid std_msgs/String: at byte 4 of it, needed 9, left 0";
    let first = format!("/map: the first message that cannot be transcoded: {why}");
    assert_eq!(damage, [first]);
    let summary = mcap::Summary::read(&file).unwrap().unwrap();
    let second = summary.chunk_indexes[1].chunk_start_offset;
    assert_eq!(written.damage[0].offset, second, "its chunk");
}

/// The same fields in another order have the same size.
#[test]
fn each_message_is_transcoded_by_the_definition_of_its_own_channel() {
    let channels = [
        ChannelSpec::ros1("/p", "p/T", "uint8 a\nuint32 b\n"),
        ChannelSpec::ros1("/p", "p/T", "uint32 b\nuint8 a\n"),
        ChannelSpec::ros1("/p", "p/T", ""),
    ];
    let (first, second) = ([1, 2, 0, 0, 0], [2, 0, 0, 0, 1]);
    let messages: [(usize, u64, &[u8]); 3] = [(0, 10, &first), (1, 20, &second), (2, 30, &first)];
    let source = bag(&ros1_file(&channels, &messages));
    assert_eq!(source.topics().len(), 2);
    let (written, result) = Folder::new().cut(&source, &converted(&source));
    assert!(written.damage.is_empty(), "{:?}", written.damage);
    let payloads: Vec<Vec<u8>> = whole(&result).into_iter().map(|it| it.4).collect();
    let first = vec![0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];
    let second = vec![0, 1, 0, 0, 2, 0, 0, 0, 1];
    assert_eq!(payloads, [first.clone(), second, first]);
}

#[test]
fn a_recording_without_any_ros2_form_says_why() {
    let channels = [ChannelSpec::ros1("/odd", "p/Odd", "q/Missing x\n")];
    let source = bag(&ros1_file(&channels, &[(0, 10, b"12")]));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.mcap");
    let outcome = converted(&source).write(&source, &out, &mut |_| ControlFlow::Continue(()));
    let Err(CutError::Empty { refused, .. }) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(matches!(
        refused[..],
        [RefusedTopic {
            messages: 1,
            reason: NoRos2Form::Nesting(_),
            ..
        }]
    ));
    assert!(!out.exists());
}

#[test]
fn channels_keep_their_metadata_and_latched_ones_say_so() {
    let static_transforms = ChannelSpec {
        metadata: &[("latching", "0")],
        ..ChannelSpec::ros1("/tf_static", "std_msgs/String", TEXT)
    };
    let volatile = ChannelSpec {
        metadata: &[("latching", "0")],
        ..ChannelSpec::ros1("/map", "std_msgs/String", TEXT)
    };
    let channels = [latched("/a"), volatile, static_transforms];
    let text = string("x");
    let messages: [(usize, u64, &[u8]); 3] = [(0, 10, &text), (1, 20, &text), (2, 30, &text)];
    let source = bag(&ros1_file(&channels, &messages));
    let folder = Folder::new();
    folder.cut(&source, &converted(&source));
    let bytes = std::fs::read(folder.path("cut.mcap")).unwrap();
    let read: Vec<_> = mcap::MessageStream::new(&bytes)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let metadata = |at: usize| Arc::clone(&read[at].channel).metadata.clone();
    assert_eq!(metadata(0)["md5sum"], "99");
    assert_eq!(metadata(0)["callerid"], "/a");
    let offers: Vec<bool> = (0..3)
        .map(|at| metadata(at).contains_key("offered_qos_profiles"))
        .collect();
    assert_eq!(offers, [true, false, true]);
    let schema = read[0].channel.schema.clone().unwrap();
    assert_eq!(
        (&*schema.name, &*schema.encoding),
        ("std_msgs/msg/String", "ros2msg")
    );
    assert_eq!(&*schema.data, TEXT.as_bytes());
    // The feature with which types have hashes.
    let hash = cfg!(feature = "wire").then_some(STRING_HASH);
    for at in 0..3 {
        assert_eq!(
            metadata(at).get("topic_type_hash").map(String::as_str),
            hash
        );
    }
}

#[test]
fn the_latched_state_from_before_the_range_is_converted_too() {
    let channels = [latched("/a"), ChannelSpec::ros1("/odd", "p/Odd", "x\n")];
    let text = string("x");
    let messages: [(usize, u64, &[u8]); 3] = [(0, 10, &text), (1, 20, b"1"), (0, 40, &text)];
    let source = bag(&ros1_file(&channels, &messages));
    let cut = Cut {
        range: range(30, 40),
        latched: LatchedState::Added,
        ..converted(&source)
    };
    let (written, result) = Folder::new().cut(&source, &cut);
    assert_eq!((written.latched, written.messages), (1, 1));
    // It does not latch, so nothing of it was to be added.
    assert_eq!(written.refused[0].messages, 0);
    assert_eq!(written.damage, []);
    let found = whole(&result);
    assert!(
        found
            .iter()
            .all(|(.., payload)| *payload == cdr_string("x"))
    );
    assert_eq!(found[0].1, 30);
}

#[test]
fn a_directory_describes_the_topics_as_they_are_written() {
    let text = string("x");
    let source = bag(&ros1_file(&[latched("/a")], &[(0, 10, &text)]));
    let folder = Folder::new();
    let cut = Cut {
        form: CutForm::Rosbag2,
        ..converted(&source)
    };
    let out = folder.path("dir");
    let told = &mut |_| ControlFlow::Continue(());
    cut.write(&source, &out, told).unwrap();
    let metadata = Directory::resolve(&out).unwrap().metadata.unwrap();
    let [topic] = &metadata.topics[..] else {
        panic!("{:?}", metadata.topics)
    };
    assert_eq!(
        (&*topic.type_name, &*topic.encoding),
        ("std_msgs/msg/String", "cdr")
    );
    assert_eq!(topic.offered_qos[0].durability, Durability::TransientLocal);
    let hash = cfg!(feature = "wire").then_some(STRING_HASH);
    assert_eq!(
        topic.type_hash.as_deref().filter(|hash| !hash.is_empty()),
        hash
    );
}

#[test]
fn a_recording_without_ros1_messages_is_copied_as_it_is() {
    let cdr = ChannelSpec {
        topic: "/t",
        schema: ("std_msgs/msg/String", "ros2msg", TEXT),
        encoding: "cdr",
        metadata: &[],
    };
    let text = cdr_string("x");
    let source = bag(&ros1_file(&[cdr], &[(0, 10, &text)]));
    let (written, _) = Folder::new().cut(&source, &converted(&source));
    assert_eq!((written.copied_chunks, written.new_chunks), (1, 0));
}

#[test]
fn all_real_ros1_recordings_are_converted_whole() {
    let Some(data) = data() else { return };
    let mut files = 0;
    for path in recordings(&data) {
        let source = Bag::open(&[&path]).unwrap();
        let mut topics = source.topics().iter();
        if !topics.any(|topic| topic.encoding == "ros1") {
            continue;
        }
        files += 1;
        let (written, result) = Folder::new().cut(&source, &converted(&source));
        let topics: Vec<Transcoder> = source
            .topics()
            .iter()
            .map(|topic| Transcoder::for_topic(topic).unwrap().unwrap())
            .collect();
        let all = Selection::all(&source);
        let mut due = contents(&source, &all, source.range().unwrap());
        for (topic, .., payload) in &mut due {
            let mut cdr = Vec::new();
            let transcoder = &topics[topic_id(&source, topic).index()];
            transcoder.transcode(payload, &mut cdr).unwrap();
            *payload = cdr;
        }
        assert_eq!(whole(&result), due, "{}", path.to_string_lossy());
        assert_eq!(written.damage, source.damage());
        let left_out = written.topics.iter().map(|topic| topic.left_out);
        assert_eq!((left_out.sum::<u64>(), written.refused.len()), (0, 0));
    }
    assert!(files >= 6, "{files}");
}
