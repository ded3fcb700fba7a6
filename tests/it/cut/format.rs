//! The file itself, as crate mcap reads it: what is copied, what is newly written, indexes, checksums.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Cursor;

use bagplay::bag::{Selection, TopicId};
use bagplay::cut::Cut;
use mcap::records::{MessageHeader, Metadata, op};
use mcap::{Attachment, Compression, WriteOptions, Writer};

use crate::cut::{Folder, contents, plain, range, whole};
use crate::support::mcaps::{Files, Note, Place, Spec, bag, place, places};

/// Ten chunks of ten messages, two topics, times 0 to 99; the second topic has a message in each second chunk only.
fn spec(compression: Option<Compression>) -> Spec {
    let note = |i: u64| Note::new(usize::from(i % 20 == 3), i, vec![b'x'; 50]);
    let chunk = |c: u64| (c * 10..c * 10 + 10).map(note).collect();
    Spec::new((0..10).map(chunk).collect()).compression(compression)
}

fn record<'a>(bytes: &'a [u8], place: &Place) -> &'a [u8] {
    &bytes[place.at..place.at + 9 + place.body]
}

fn chunks(bytes: &[u8]) -> Vec<&[u8]> {
    let places = places(bytes);
    let chunks = places.iter().filter(|place| place.opcode == op::CHUNK);
    chunks.map(|place| record(bytes, place)).collect()
}

/// The name of the compression of a chunk record.
fn compression(chunk: &[u8]) -> &[u8] {
    let length = chunk[9 + 28];
    &chunk[9 + 32..9 + 32 + usize::from(length)]
}

#[test]
fn whole_chunks_are_copied_byte_for_byte_and_edges_are_written_anew() {
    for compressed in [None, Some(Compression::Lz4), Some(Compression::Zstd)] {
        let source = spec(compressed).write();
        let bag = bag(&source);
        let folder = Folder::new();
        let (written, cut) = folder.cut(&bag, &plain(&bag, range(15, 64)));
        assert_eq!((written.copied_chunks, written.new_chunks), (4, 2));
        let bytes = std::fs::read(folder.path("cut.mcap")).unwrap();
        let (source, copy) = (chunks(&source), chunks(&bytes));
        assert_eq!(copy[1..5], source[2..6]);
        for chunk in copy {
            assert_eq!(compression(chunk), compression(source[0]));
        }
        let due = contents(&bag, &Selection::all(&bag), range(15, 64));
        assert_eq!(due.len(), 50);
        assert_eq!(whole(&cut), due);
    }
}

#[test]
fn without_a_topic_only_the_chunks_that_have_it_or_define_it_are_written_anew() {
    let source = spec(Some(Compression::Zstd)).write();
    let bag = bag(&source);
    let folder = Folder::new();
    let first = Selection::of([TopicId(0)], &bag);
    let cut = Cut {
        topics: first,
        ..plain(&bag, bag.range().unwrap())
    };
    let (written, cut) = folder.cut(&bag, &cut);
    assert_eq!(cut.topics().len(), 1);
    // Chunks 0, 2, 4, 6 and 8 have the other topic.
    assert_eq!((written.copied_chunks, written.new_chunks), (5, 5));
    assert_eq!(whole(&cut).len(), 95);
}

#[test]
fn the_reader_of_the_format_finds_every_record_where_the_summary_says() {
    let options = WriteOptions::new().profile("ros2").library("recorder 7");
    let mut writer = Writer::with_options(Cursor::new(Vec::new()), options).unwrap();
    let schema = writer.add_schema("test/msg/A", "ros2msg", b"string data");
    let schema = schema.unwrap();
    let pairs = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let channel = writer.add_channel(schema, "/a", "cdr", &pairs).unwrap();
    writer.add_channel(0, "/silent", "json", &pairs).unwrap();
    for time in 1..=20 {
        let header = MessageHeader {
            channel_id: channel,
            sequence: 7,
            log_time: time,
            publish_time: time - 1,
        };
        writer.write_to_known_channel(&header, b"payload").unwrap();
        if time % 5 == 0 {
            writer.flush().unwrap();
        }
    }
    let metadata = Metadata {
        name: "facts".to_owned(),
        metadata: pairs,
    };
    writer.write_metadata(&metadata).unwrap();
    let attachment = Attachment {
        log_time: 3,
        create_time: 4,
        name: "map.png".to_owned(),
        media_type: "image/png".to_owned(),
        data: Cow::Owned(vec![5; 300_000]),
    };
    writer.attach(&attachment).unwrap();
    writer.finish().unwrap();
    let bag = bag(&writer.into_inner().into_inner());

    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &plain(&bag, range(4, 17)));
    assert_eq!((written.attachments, written.metadata), (1, 1));
    let file = &cut.files()[0];
    assert_eq!(file.profile, "ros2");
    assert!(file.library.starts_with("bagplay "), "{}", file.library);
    let bytes = std::fs::read(folder.path("cut.mcap")).unwrap();
    assert_eq!(written.bytes, bytes.len() as u64);

    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let statistics = summary.stats.as_ref().unwrap();
    assert_eq!(statistics.message_count, 14);
    assert_eq!(
        statistics.channel_message_counts,
        BTreeMap::from([(channel, 14)])
    );
    assert_eq!((statistics.schema_count, statistics.channel_count), (1, 2));
    assert_eq!(
        (statistics.attachment_count, statistics.metadata_count),
        (1, 1)
    );
    assert_eq!(statistics.chunk_count, 4);
    assert_eq!(
        (statistics.message_start_time, statistics.message_end_time),
        (4, 17)
    );
    assert_eq!(summary.chunk_indexes.len(), 4);
    for index in &summary.chunk_indexes {
        let at = usize::try_from(index.chunk_start_offset).unwrap();
        assert_eq!(bytes[at], op::CHUNK);
        let indexes = summary.read_message_indexes(&bytes, index).unwrap();
        let (_, entries) = indexes.iter().next().unwrap();
        for entry in entries {
            let message = summary.seek_message(&bytes, index, entry).unwrap();
            assert_eq!(
                (message.log_time, &*message.data),
                (entry.log_time, &b"payload"[..])
            );
        }
    }
    let found = mcap::read::attachment(&bytes, &summary.attachment_indexes[0]).unwrap();
    assert_eq!(found, attachment);
    let found = mcap::read::metadata(&bytes, &summary.metadata_indexes[0]).unwrap();
    assert_eq!(found, metadata);
    let messages = mcap::MessageStream::new(&bytes).unwrap();
    assert_eq!(messages.map(Result::unwrap).count(), 14);

    // Each group of the summary section is where its offset record says.
    let places = places(&bytes);
    let mut groups = 0;
    for place in places.iter().filter(|it| it.opcode == op::SUMMARY_OFFSET) {
        let body = &bytes[place.at + 9..];
        let number = |at: usize| u64::from_le_bytes(body[at..at + 8].try_into().unwrap());
        let (start, length) = (number(1), number(9));
        let inside = places.iter().filter(|it| {
            let at = it.at as u64;
            it.opcode == body[0] && (start..start + length).contains(&at)
        });
        assert!(inside.count() > 0);
        groups += 1;
    }
    assert_eq!(groups, 6);
}

#[test]
fn a_cut_of_everything_differs_only_in_header_definitions_and_summary() {
    let source = spec(Some(Compression::Zstd)).write();
    let bag = bag(&source);
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &plain(&bag, bag.range().unwrap()));
    assert_eq!((written.copied_chunks, written.new_chunks), (10, 0));
    let bytes = std::fs::read(folder.path("cut.mcap")).unwrap();
    let data = |bytes: &[u8]| {
        let start = place(bytes, op::CHUNK, 0).at;
        bytes[start..place(bytes, op::DATA_END, 0).at].to_vec()
    };
    assert_eq!(data(&bytes), data(&source));
    assert_eq!(whole(&cut).len(), 100);
    // A cut of a cut is the same file.
    let (_, again) = Folder::new().cut(&cut, &plain(&cut, cut.range().unwrap()));
    assert_eq!(again.files()[0].bytes, bytes.len() as u64);
}

#[test]
fn chunks_without_message_indexes_and_messages_outside_chunks_get_indexes() {
    let unindexed = spec(Some(Compression::Lz4)).options(|o| o.emit_message_indexes(false));
    let source = unindexed.write();
    let bag = bag(&source);
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &plain(&bag, range(10, 39)));
    assert_eq!((written.copied_chunks, written.new_chunks), (3, 0));
    let bytes = std::fs::read(folder.path("cut.mcap")).unwrap();
    assert_eq!(chunks(&bytes), chunks(&source)[1..4]);
    assert_eq!(whole(&cut).len(), 30);

    let loose = spec(None).options(|o| o.use_chunks(false)).write();
    let files = Files::of([loose]);
    let bag = files.bag();
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &plain(&bag, range(10, 39)));
    assert_eq!((written.copied_chunks, written.new_chunks), (0, 1));
    assert_eq!(cut.files()[0].chunks, 1);
    assert_eq!(
        whole(&cut),
        contents(&bag, &Selection::all(&bag), range(10, 39))
    );
}

#[test]
fn times_on_both_sides_of_zero_are_cut_as_they_are_played() {
    let minus = |nanos: u64| 0_u64.wrapping_sub(nanos);
    let times = [minus(3), minus(1), 2, 5];
    let chunks = times.map(|time| {
        vec![
            Note::new(0, time, "x"),
            Note::new(0, time.wrapping_add(1), "y"),
        ]
    });
    let bag = bag(&Spec::new(chunks.to_vec()).write());
    let folder = Folder::new();
    let part = range(minus(2), 5);
    let (_, cut) = folder.cut(&bag, &plain(&bag, part));
    assert_eq!(whole(&cut), contents(&bag, &Selection::all(&bag), part));
    assert_eq!(cut.range(), Some(part));
}

#[test]
fn small_rests_of_many_chunks_share_new_chunks() {
    let note = |i: u64| Note::new(usize::from(i % 10 == 3), i, vec![b'x'; 50]);
    let chunk = |c: u64| (c * 10..c * 10 + 10).map(note).collect();
    let bag = bag(&Spec::new((0..200).map(chunk).collect()).write());
    let cut = Cut {
        topics: Selection::of([TopicId(1)], &bag),
        ..plain(&bag, bag.range().unwrap())
    };
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &cut);
    assert_eq!((written.messages, written.new_chunks), (200, 1));
    assert_eq!(whole(&cut).len(), 200);
}
