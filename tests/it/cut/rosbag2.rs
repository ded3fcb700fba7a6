//! rosbag2 directories as cuts.

use std::ops::ControlFlow;

use bagplay::bag::{Bag, Directory, Selection};
use bagplay::cut::{Cut, CutForm};

use crate::cut::{Folder, contents, plain, range, whole};
use crate::support::mcaps::{Note, Spec, TopicSpec, bag};

const PROFILE: &str = "- history: 1\n  depth: 7\n  reliability: 2\n  durability: 1\n  deadline:\n    sec: 1\n    nsec: 2\n";

#[test]
fn the_directory_is_read_without_a_note_and_says_the_same_as_the_file() {
    let hash = format!("RIHS01_{}", "ab".repeat(32));
    let note = |i: u64| Note::new(usize::from(i.is_multiple_of(3)), i, "x");
    let spec = Spec {
        topics: vec![
            TopicSpec::named("/a \"quoted\"\u{1b}: [x]").with("topic_type_hash", &hash),
            TopicSpec::named("/map").with("offered_qos_profiles", PROFILE),
            TopicSpec::named("/silent"),
        ],
        ..Spec::new(
            (0..10)
                .map(|c| (c * 10..c * 10 + 10).map(note).collect())
                .collect(),
        )
    };
    let source = bag(&spec.write());
    let folder = Folder::new();
    let cut = Cut {
        form: CutForm::Rosbag2,
        ..Cut::new(&source, range(25, 70))
    };
    let out = folder.path("part of it");
    cut.write(&source, &out, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let found = Directory::resolve(&out).unwrap();
    assert_eq!(found.notes, []);
    assert_eq!(found.missing, []);
    assert_eq!(found.files, [out.join("part of it_0.mcap")]);
    let metadata = found.metadata.unwrap();
    assert_eq!(
        (metadata.version, metadata.storage.as_str()),
        (Some(9), "mcap")
    );
    let read = Bag::open(&[&out]).unwrap();
    assert_eq!(read.notes(), []);
    let messages = whole(&read);
    assert_eq!(metadata.message_count, Some(messages.len() as u64));
    // Seven of /map from before 25, as many as its publisher kept.
    assert_eq!(messages.len(), 46 + 7);
    assert_eq!(metadata.topics.len(), 3);
    for topic in &metadata.topics {
        let of_file = read.topics().iter().find(|it| it.name == topic.name);
        let of_file = of_file.unwrap();
        assert_eq!(topic.type_name, of_file.type_name());
        assert_eq!(topic.encoding, of_file.encoding);
        assert_eq!(topic.offered_qos, of_file.offered_qos, "{}", topic.name);
        assert_eq!(topic.type_hash, of_file.type_hash);
        assert_eq!(topic.message_count, of_file.message_count);
    }
    let text = std::fs::read_to_string(out.join("metadata.yaml")).unwrap();
    assert!(text.contains("nanoseconds_since_epoch: 25\n"), "{text}");
    assert!(text.contains("nanoseconds: 45\n"), "{text}");
}

#[test]
fn profiles_that_only_a_metadata_yaml_has_are_kept_in_that_of_the_cut() {
    let folder = Folder::new();
    let dir = folder.path("bag");
    std::fs::create_dir(&dir).unwrap();
    let spec = Spec::new(vec![vec![Note::new(0, 1, "a")], vec![Note::new(0, 2, "b")]]);
    std::fs::write(dir.join("a.mcap"), spec.write()).unwrap();
    let text = "rosbag2_bagfile_information:\n  version: 9\n  relative_file_paths: [a.mcap]\n  \
                topics_with_message_count:\n  - topic_metadata:\n      name: /t0\n      \
                offered_qos_profiles: [{durability: transient_local, reliability: best_effort}]\n";
    std::fs::write(dir.join("metadata.yaml"), text).unwrap();
    let source = Bag::open(&[&dir]).unwrap();
    let cut = Cut {
        form: CutForm::Rosbag2,
        ..plain(&source, source.range().unwrap())
    };
    let out = folder.path("cut");
    cut.write(&source, &out, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let read = Bag::open(&[&out]).unwrap();
    assert_eq!(read.topics()[0].offered_qos, source.topics()[0].offered_qos);
    assert!(read.topics()[0].is_latched);
    let all = source.range().unwrap();
    assert_eq!(
        whole(&read),
        contents(&source, &Selection::all(&source), all)
    );
}

#[test]
fn a_topic_has_an_entry_for_each_list_of_profiles_that_its_channels_have() {
    let latched = |node: &str| {
        let channel = TopicSpec::named("/map").with("offered_qos_profiles", PROFILE);
        channel.with("callerid", node)
    };
    let topics = vec![latched("/a"), TopicSpec::named("/map"), latched("/b")];
    let spec = Spec {
        topics,
        ..Spec::new(vec![
            (0..10).map(|n| Note::new(n % 3, n as u64, "x")).collect(),
        ])
    };
    let source = bag(&spec.write());
    assert_eq!(source.topics().len(), 1);
    let folder = Folder::new();
    let cut = Cut {
        form: CutForm::Rosbag2,
        ..plain(&source, source.range().unwrap())
    };
    let out = folder.path("cut");
    cut.write(&source, &out, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let metadata = Directory::resolve(&out).unwrap().metadata.unwrap();
    let entries = metadata.topics.iter();
    let entries: Vec<_> = entries
        .map(|it| (it.name.as_str(), it.offered_qos.len(), it.message_count))
        .collect();
    assert_eq!(entries, [("/map", 1, Some(7)), ("/map", 0, Some(3))]);
    let read = Bag::open(&[&out]).unwrap();
    assert_eq!(read.notes(), []);
    let all = source.range().unwrap();
    assert_eq!(
        whole(&read),
        contents(&source, &Selection::all(&source), all)
    );
}
