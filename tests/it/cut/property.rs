//! Of random recordings, ranges and selections the cut has exactly the messages of the range, in the same order.

use std::collections::BTreeMap;
use std::io::Cursor;

use bagplay::bag::{Selection, TopicId};
use bagplay::cut::{Cut, CutError};
use mcap::records::{MessageHeader, op};
use mcap::{Compression, WriteOptions, Writer};
use proptest::prelude::*;

use crate::cut::{Folder, contents, plain, range, whole};
use crate::support::mcaps::{Files, Note, place};

/// How a file is written.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a feature that a writer has or has not"
)]
#[derive(Clone, Debug)]
struct Style {
    compression: Option<Compression>,
    is_chunked: bool,
    has_message_indexes: bool,
    has_chunk_indexes: bool,
    has_statistics: bool,
    repeats_definitions: bool,
    /// Whether the file ends with its data, without a summary.
    is_cut_off: bool,
    /// Ids of topics and schemas are given in this order, so that the same id means different topics in two files.
    is_reversed: bool,
}

fn style() -> impl Strategy<Value = Style> {
    let compression = prop_oneof![
        Just(None),
        Just(Some(Compression::Lz4)),
        Just(Some(Compression::Zstd))
    ];
    let flag = || prop::bool::weighted(0.8);
    let rare = || prop::bool::weighted(0.2);
    let flags = (flag(), flag(), flag(), flag(), flag(), rare(), rare());
    (compression, flags).prop_map(|(compression, flags)| Style {
        compression,
        is_chunked: flags.0,
        has_message_indexes: flags.1,
        has_chunk_indexes: flags.2,
        has_statistics: flags.3,
        repeats_definitions: flags.4,
        is_cut_off: flags.5,
        is_reversed: flags.6,
    })
}

fn chunks() -> impl Strategy<Value = Vec<Vec<Note>>> {
    let note = (0..3_usize, 0..40_u64, 0..200_usize);
    let note = note.prop_map(|(topic, time, size)| Note::new(topic, time, vec![7; size]));
    prop::collection::vec(prop::collection::vec(note, 0..12), 0..8)
}

fn write(style: &Style, chunks: &[Vec<Note>]) -> Vec<u8> {
    let options = WriteOptions::new()
        .profile("ros2")
        .compression(style.compression)
        .chunk_size(None)
        .use_chunks(style.is_chunked)
        .emit_message_indexes(style.has_message_indexes)
        .emit_chunk_indexes(style.has_chunk_indexes)
        .emit_statistics(style.has_statistics)
        .repeat_channels(style.repeats_definitions)
        .repeat_schemas(style.repeats_definitions);
    let mut writer = Writer::with_options(Cursor::new(Vec::new()), options).unwrap();
    let mut ids = BTreeMap::new();
    let topics = [0, 1, 2].map(|topic| if style.is_reversed { 2 - topic } else { topic });
    for topic in topics {
        let schema = writer
            .add_schema(
                &format!("test_msgs/msg/T{topic}"),
                "ros2msg",
                b"string data",
            )
            .unwrap();
        let name = format!("/t{topic}");
        let id = writer.add_channel(schema, &name, "cdr", &BTreeMap::new());
        ids.insert(topic, id.unwrap());
    }
    for chunk in chunks {
        for (sequence, note) in (0..).zip(chunk) {
            let header = MessageHeader {
                channel_id: ids[&note.topic],
                sequence,
                log_time: note.time,
                publish_time: note.time + 1,
            };
            writer
                .write_to_known_channel(&header, &note.payload)
                .unwrap();
        }
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    let mut bytes = writer.into_inner().into_inner();
    if style.is_cut_off {
        bytes.truncate(place(&bytes, op::DATA_END, 0).at);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_cut_has_the_messages_of_the_range_in_the_same_order(
        files in prop::collection::vec((style(), chunks()), 1..4),
        start in 0..42_u64,
        length in 0..42_u64,
        topics in prop::collection::vec(any::<bool>(), 3),
    ) {
        let mut files = files;
        let notes = files.iter_mut().flat_map(|(_, chunks)| chunks.iter_mut().flatten());
        for (number, note) in (0_u32..).zip(notes) {
            note.payload.splice(0..0, number.to_le_bytes());
        }
        let bag = Files::of(files.iter().map(|(style, chunks)| write(style, chunks))).bag();
        let is_wanted = |name: &str| (0..3).any(|i| topics[i] && name == format!("/t{i}"));
        let ids = (0..).map(TopicId).zip(bag.topics());
        let ids = ids.filter(|(_, topic)| is_wanted(&topic.name)).map(|(id, _)| id);
        let topics = Selection::of(ids, &bag);
        let range = range(start, start + length);
        let cut = Cut { topics: topics.clone(), ..plain(&bag, range) };
        let due = contents(&bag, &topics, range);
        let folder = Folder::new();
        if due.is_empty() {
            let error = folder.try_cut(&bag, &cut).unwrap_err();
            prop_assert!(matches!(error, CutError::Empty { .. }), "{}", error);
            prop_assert_eq!(folder.names(), [""; 0]);
        } else {
            let (written, found) = folder.cut(&bag, &cut);
            prop_assert_eq!(whole(&found), due.clone());
            prop_assert_eq!(written.messages, due.len() as u64);
            prop_assert_eq!(Some(written.range), found.range());
            let named: Vec<&str> = found.topics().iter().map(|it| it.name.as_str()).collect();
            prop_assert!(named.iter().all(|name| is_wanted(name)), "{:?}", named);
        }
    }
}
