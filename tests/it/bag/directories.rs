//! rosbag2 directories, opened and played.

use bagplay::bag::{Bag, DamageKind, Direction, StartAt};
use bagplay::time::Time;

use crate::support::mcaps::{Note, Spec, all, texts};

/// A directory of these files, each with one message, and with this `metadata.yaml` if given.
fn split(files: &[(&str, &str)], metadata: Option<&str>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (i, (name, payload)) in (1..).zip(files) {
        let spec = Spec::new(vec![vec![Note::new(0, i, *payload)]]);
        let bytes = spec.write();
        let bytes = if name.contains(".zstd") {
            zstd::encode_all(&bytes[..], 1).unwrap()
        } else {
            bytes
        };
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    if let Some(metadata) = metadata {
        std::fs::write(dir.path().join("metadata.yaml"), metadata).unwrap();
    }
    dir
}

fn played(bag: &Bag) -> Vec<String> {
    let walk = bag.cursor(&all(bag), StartAt::At(Time::MIN), Direction::Forward);
    texts(&walk.map(Result::unwrap).collect::<Vec<_>>())
}

#[test]
fn a_directory_plays_as_one_recording_without_its_missing_parts() {
    let listing = "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n  \
                   relative_file_paths: [r_0.mcap, r_1.mcap, r_2.mcap]\n";
    let files = [("r_0.mcap", "a"), ("r_1.mcap.zstd", "b"), ("r_2.mcap", "c")];
    let whole = split(&files, Some(listing));
    let bag = Bag::open(&[whole.path()]).unwrap();
    assert_eq!(played(&bag), ["a", "b", "c"]);
    assert_eq!((bag.damage().len(), bag.notes().len()), (0, 0));

    let gone = split(&files[..2], Some(listing));
    let bag = Bag::open(&[gone.path()]).unwrap();
    assert_eq!(played(&bag), ["a", "b"]);
    let [damage] = bag.damage() else {
        panic!("{:?}", bag.damage())
    };
    assert_eq!(damage.kind, DamageKind::Missing);
    assert!(damage.to_string().contains("r_2.mcap: "), "{damage}");

    // A recorder that was killed has opened the next file and written nothing.
    std::fs::write(gone.path().join("r_2.mcap"), "").unwrap();
    let bag = Bag::open(&[gone.path()]).unwrap();
    assert_eq!(played(&bag), ["a", "b"]);
    assert!(bag.damage()[0].to_string().contains("an empty file"));

    let only = split(&[], Some(listing));
    std::fs::write(only.path().join("r_0.mcap"), "").unwrap();
    let error = Bag::open(&[only.path()]).unwrap_err().to_string();
    assert!(
        error.contains("r_0.mcap: ") && error.contains("an empty file"),
        "{error}"
    );
}

#[test]
fn qos_and_type_hashes_missing_in_a_recording_come_from_the_metadata() {
    let listing = "rosbag2_bagfile_information:\n  storage_identifier: mcap\n  \
                   relative_file_paths: [r_0.mcap]\n  topics_with_message_count:\n  - topic_metadata:\n      \
                   name: /t0\n      type: std_msgs/msg/String\n      serialization_format: cdr\n      \
                   offered_qos_profiles: [{history: keep_last, depth: 1, reliability: reliable, durability: transient_local}]\n      \
                   type_description_hash: RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18\n    \
                   message_count: 1\n";
    let dir = split(&[("r_0.mcap", "a")], Some(listing));
    let bag = Bag::open(&[dir.path()]).unwrap();
    let topic = &bag.topics()[0];
    assert!(topic.is_latched && topic.type_hash.is_some());
    assert_eq!(topic.offered_qos.len(), 1);
    let plain = Bag::open(&[dir.path().join("r_0.mcap")]).unwrap();
    assert!(!plain.topics()[0].is_latched && plain.topics()[0].type_hash.is_none());
}

#[test]
fn hundreds_of_parts_are_merged_with_few_files_open() {
    let count: u64 = 300;
    let dir = tempfile::tempdir().unwrap();
    for part in 0..count {
        // Each part spans the whole recording.
        let note = |i: u64| Note::new(0, i * 1000 + part, format!("{i}.{part}"));
        let spec = Spec::new((0..3).map(|i| vec![note(i)]).collect());
        std::fs::write(dir.path().join(format!("r_{part}.mcap")), spec.write()).unwrap();
    }
    let bag = Bag::open(&[dir.path()]).unwrap();
    let here = dir.path().to_owned();
    let open = || {
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
        let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.filter(|target| target.starts_with(&here)).count()
    };
    assert!(open() <= 128, "{}", open());
    let due: Vec<_> = (0..3)
        .flat_map(|i| (0..count).map(move |part| format!("{i}.{part}")))
        .collect();
    assert_eq!(played(&bag), due);
    assert!(open() <= 128, "{}", open());
}

#[test]
fn a_message_count_that_differs_from_the_metadata_is_a_note() {
    let listing = |count: u64| {
        format!(
            "rosbag2_bagfile_information:\n  storage_identifier: mcap\n  relative_file_paths: [r_0.mcap]\n  \
             message_count: {count}\n"
        )
    };
    for (count, notes) in [(1, 0), (2, 1)] {
        let dir = split(&[("r_0.mcap", "a")], Some(&listing(count)));
        let bag = Bag::open(&[dir.path()]).unwrap();
        assert_eq!(bag.notes().len(), notes);
        for note in bag.notes() {
            let text = note.to_string();
            assert!(
                text.ends_with("gives a message count of 2, but the files have 1"),
                "{text}"
            );
        }
    }
}
