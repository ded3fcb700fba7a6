//! Several files in one cut: ids, order.

use std::collections::BTreeMap;
use std::io::Cursor;

use bagplay::bag::{Bag, Selection};
use bagplay::time::TimeRange;
use mcap::records::MessageHeader;
use mcap::{Compression, WriteOptions, Writer};

use crate::cut::{Folder, contents, plain, whole};
use crate::support::mcaps::{Files, Note, Spec, TopicSpec};

/// A file of one-message chunks; a channel is a schema, an id and a topic.
struct Source<'a> {
    channels: &'a [(u16, &'a str, u16, &'a str)],
    /// Channel and time.
    messages: &'a [(u16, u64)],
}

fn write(Source { channels, messages }: &Source<'_>) -> Vec<u8> {
    let options = WriteOptions::new().compression(Some(Compression::Zstd));
    let mut writer = Writer::with_options(Cursor::new(Vec::new()), options).unwrap();
    for (schema, name, id, topic) in *channels {
        writer
            .add_schema_with_id(*schema, name, "ros2msg", b"string data")
            .unwrap();
        writer
            .add_channel_with_id(*id, *schema, topic, "cdr", &BTreeMap::new())
            .unwrap();
    }
    for (channel, time) in *messages {
        let header = MessageHeader {
            channel_id: *channel,
            sequence: 0,
            log_time: *time,
            publish_time: *time,
        };
        let payload = format!("{channel} at {time} of {}", channels[0].3);
        writer
            .write_to_known_channel(&header, payload.as_bytes())
            .unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner().into_inner()
}

fn all(bag: &Bag) -> TimeRange {
    bag.range().unwrap()
}

/// A channel of the cut: its id, topic and type.
type Defined = (u16, String, String);

/// Cuts everything; returns how many chunks were copied and newly written, and the channels by id.
#[track_caller]
fn merged(sources: &[Source<'_>]) -> ((u64, u64), Vec<Defined>) {
    let files = Files::of(sources.iter().map(write));
    let bag = files.bag();
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &plain(&bag, all(&bag)));
    let due = contents(&bag, &Selection::all(&bag), all(&bag));
    assert_eq!(whole(&cut), due);
    let bytes = std::fs::read(folder.path("cut.mcap")).unwrap();
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let channels = summary.channels.values().map(|channel| {
        let type_name = channel.schema.as_ref().map(|it| it.name.clone());
        (
            channel.id,
            channel.topic.clone(),
            type_name.unwrap_or_default(),
        )
    });
    let mut channels: Vec<_> = channels.collect();
    channels.sort();
    // The reader that goes through the whole file, too, finds each message with its topic and type.
    let stream = mcap::MessageStream::new(&bytes)
        .unwrap()
        .map(Result::unwrap);
    assert_eq!(stream.count(), due.len());
    ((written.copied_chunks, written.new_chunks), channels)
}

fn channel(id: u16, topic: &str, type_name: &str) -> Defined {
    (id, topic.to_owned(), type_name.to_owned())
}

#[test]
fn equal_definitions_merge_and_all_chunks_are_copied() {
    let channels = [(1, "A", 1, "/a"), (2, "B", 2, "/b")];
    let (chunks, found) = merged(&[
        Source {
            channels: &channels,
            messages: &[(1, 1), (2, 2)],
        },
        Source {
            channels: &channels,
            messages: &[(1, 3), (2, 4)],
        },
        Source {
            channels: &[(3, "C", 3, "/c")],
            messages: &[(3, 2)],
        },
    ]);
    assert_eq!(chunks, (5, 0));
    let due = [
        channel(1, "/a", "A"),
        channel(2, "/b", "B"),
        channel(3, "/c", "C"),
    ];
    assert_eq!(found, due);
}

#[test]
fn an_id_that_means_something_else_gets_a_new_one() {
    let (chunks, found) = merged(&[
        Source {
            channels: &[(1, "A", 1, "/a"), (2, "B", 2, "/b")],
            messages: &[(1, 1), (2, 2)],
        },
        Source {
            channels: &[(1, "A", 1, "/x"), (2, "B", 2, "/b")],
            messages: &[(1, 3), (2, 4)],
        },
    ]);
    // The first chunk of the second file defines /x as 1 and has its message.
    assert_eq!(chunks, (3, 1));
    let due = [
        channel(1, "/a", "A"),
        channel(2, "/b", "B"),
        channel(3, "/x", "A"),
    ];
    assert_eq!(found, due);
}

#[test]
fn a_schema_id_that_means_something_else_gets_a_new_one_with_all_its_channels() {
    let (chunks, found) = merged(&[
        Source {
            channels: &[(1, "A", 1, "/a")],
            messages: &[(1, 1)],
        },
        Source {
            channels: &[(1, "B", 2, "/b"), (3, "C", 3, "/c")],
            messages: &[(2, 3), (3, 4), (2, 5)],
        },
    ]);
    // Channel 2 keeps its id with another schema, so only the chunk that defines it is written as a new one.
    assert_eq!(chunks, (3, 1));
    let due = [
        channel(1, "/a", "A"),
        channel(2, "/b", "B"),
        channel(3, "/c", "C"),
    ];
    assert_eq!(found, due);
}

#[test]
fn a_definition_that_another_file_has_under_another_id_becomes_that() {
    let (_, found) = merged(&[
        Source {
            channels: &[(1, "A", 1, "/a"), (2, "B", 2, "/b")],
            messages: &[(1, 1), (2, 2)],
        },
        Source {
            channels: &[(1, "B", 1, "/b"), (2, "A", 2, "/a")],
            messages: &[(1, 1), (2, 2)],
        },
    ]);
    assert_eq!(found, [channel(1, "/a", "A"), channel(2, "/b", "B")]);
}

#[test]
fn two_equal_channels_of_one_file_stay_two() {
    let channels = [(1, "A", 1, "/a"), (1, "A", 2, "/a")];
    let (chunks, found) = merged(&[
        Source {
            channels: &channels,
            messages: &[(1, 1), (2, 2)],
        },
        Source {
            channels: &channels,
            messages: &[(1, 1), (2, 2)],
        },
    ]);
    assert_eq!((chunks, found.len()), ((4, 0), 2));
}

#[test]
fn messages_of_one_time_keep_the_order_of_the_inputs_and_places() {
    let one = |text: &str, times: &[u64]| {
        let chunk = |time: &u64| vec![Note::new(0, *time, text), Note::new(0, time + 3, text)];
        Spec::new(times.iter().map(chunk).collect()).write()
    };
    let files = [
        one("first", &[1, 4, 7, 10]),
        one("second", &[4, 1, 7, 13, 2]),
        one("third", &[0, 10, 4]),
    ];
    let bag = Files::of(files).bag();
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &plain(&bag, all(&bag)));
    assert_eq!(written.new_chunks, 0);
    assert_eq!(
        whole(&cut),
        contents(&bag, &Selection::all(&bag), all(&bag))
    );
}

#[test]
fn recordings_of_the_same_time_are_not_one_behind_the_other() {
    let one = |text: &str, first: u64| {
        let chunk = |c: u64| vec![Note::new(0, first + c * 10, text)];
        Spec::new((0..50).map(chunk).collect()).write()
    };
    let bag = Files::of([one("a", 0), one("b", 5)]).bag();
    let folder = Folder::new();
    folder.cut(&bag, &plain(&bag, all(&bag)));
    let bytes = std::fs::read(folder.path("cut.mcap")).unwrap();
    let stream = mcap::MessageStream::new(&bytes).unwrap();
    let times: Vec<u64> = stream.map(|message| message.unwrap().log_time).collect();
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn a_recording_given_twice_is_in_the_cut_twice() {
    let files =
        Files::of([Spec::new(vec![vec![Note::new(0, 1, "a"), Note::new(0, 2, "b")]]).write()]);
    let bag = Bag::open(&[&files.paths[0], &files.paths[0]]).unwrap();
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &plain(&bag, all(&bag)));
    assert_eq!((written.messages, written.copied_chunks), (4, 2));
    assert_eq!(
        whole(&cut),
        contents(&bag, &Selection::all(&bag), all(&bag))
    );
}

#[test]
fn profiles_that_changed_between_splits_stay_apart() {
    let part = |qos: &str, time| Spec {
        topics: vec![TopicSpec::named("/a").with("offered_qos_profiles", qos)],
        ..Spec::new(vec![vec![Note::new(0, time, "a")]])
    };
    let (reliable, best) = ("- reliability: reliable\n", "- reliability: best_effort\n");
    let bag = Files::of([part(reliable, 1).write(), part(best, 2).write()]).bag();
    let folder = Folder::new();
    let (_, cut) = folder.cut(&bag, &plain(&bag, all(&bag)));
    assert_eq!(cut.topics().len(), 1);
    assert_eq!(cut.topics()[0].offered_qos, bag.topics()[0].offered_qos);
    assert_eq!(whole(&cut).len(), 2);
}
