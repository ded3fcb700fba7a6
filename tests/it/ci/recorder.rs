//! Recordings of outputs: read back, with late definitions, after a kill, on a full disk.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bagplay::bag::{Bag, Direction, Message, Schema, Selection, StartAt, Topic};
use bagplay::ci::outputs::{
    Arrival, Definition, Known, RecordError, Recorded, Recorder, RecorderOptions,
};
use bagplay::ros::{Durability, History, PublishedTopic, Publisher, Qos};
use bagplay::time::Time;
use mcap::sans_io::{LinearReadEvent, LinearReader, LinearReaderOptions};

use super::programs::{Program, READY};
use crate::support::mcaps::incompressible;
use crate::support::patience::until;

const STRING_HASH: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

fn topic(number: usize) -> Arc<PublishedTopic> {
    Arc::new(PublishedTopic {
        number,
        name: format!("/t{number}"),
        type_name: "std_msgs/msg/String".to_owned(),
        type_hash: Some(STRING_HASH.to_owned()),
        qos: Qos::default(),
    })
}

/// The `n`th message of a topic, a millisecond after the one before it.
fn arrival(topic: &Arc<PublishedTopic>, n: i64, payload: Vec<u8>) -> Arrival {
    Arrival {
        topic: Arc::clone(topic),
        position: Time::from_millis(1000 + n),
        publisher: Publisher {
            node: "/n".into(),
            gid: [1; 16],
            was_there: false,
        },
        sequence: Some(n),
        source_time: Some(7_000_000_000 + n),
        payload: payload.into(),
    }
}

fn defined(offers: Vec<Qos>) -> Definition {
    Definition {
        schema: Some(Schema {
            name: "std_msgs/msg/String".to_owned(),
            encoding: "ros2msg".to_owned(),
            data: "string data\n".into(),
        }),
        stamp: None,
        offers,
        note: None,
    }
}

fn start(path: &Path, known: &Known) -> Recorder {
    Recorder::start(RecorderOptions::new(path), known.clone()).unwrap()
}

/// A file in a folder that is removed with the first value.
fn file() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.mcap");
    (dir, path)
}

fn messages(path: &Path) -> (Vec<Topic>, Vec<Message>) {
    let bag = Bag::open(&[path]).unwrap();
    let all = bag.cursor(
        &Selection::all(&bag),
        StartAt::At(Time::MIN),
        Direction::Forward,
    );
    let messages = all.map(|message| message.expect("no damage")).collect();
    (bag.topics().to_vec(), messages)
}

#[test]
fn what_is_recorded_is_read_back() {
    let (_dir, path) = file();
    let known = Known::default();
    let latched = Qos {
        durability: Durability::TransientLocal,
        history: History::KeepLast(3),
        ..Qos::default()
    };
    known.add(0, defined(vec![latched, Qos::default()]));
    known.add(1, defined(Vec::new()));
    let recorder = start(&path, &known);
    let topics = [topic(0), topic(1)];
    // More than one chunk, and a message longer than one.
    for n in 0..3000_i64 {
        let size = if n == 500 { 3 << 20 } else { 1000 };
        let payload = incompressible(n.unsigned_abs(), size);
        assert!(recorder.put(arrival(&topics[usize::from(n % 3 == 0)], n, payload)));
    }
    let end = recorder.finish();
    assert!(end.error.is_none() && end.notes.is_empty(), "{end:?}");
    assert_eq!((end.messages, end.unrecorded.len()), (3000, 0));
    assert_eq!(end.bytes, std::fs::metadata(&path).unwrap().len());
    let (found, messages) = messages(&path);
    let by_name = |name: &str| found.iter().find(|topic| topic.name == name).unwrap();
    let first = by_name("/t0");
    assert_eq!(first.offered_qos, [latched, Qos::default()]);
    assert_eq!(first.type_hash.as_deref(), Some(STRING_HASH));
    assert_eq!(first.encoding, "cdr");
    assert_eq!(first.schema, defined(Vec::new()).schema);
    assert_eq!(by_name("/t1").offered_qos, [Qos::default()]);
    assert_eq!(by_name("/t1").message_count, Some(1000));
    assert_eq!(messages.len(), 3000);
    for (n, message) in (0..).zip(&messages) {
        let number = u32::try_from(n).unwrap();
        assert_eq!(message.log_time, Time::from_millis(1000 + n));
        assert_eq!(message.publish_time, Time::from_nanos(7_000_000_000 + n));
        assert_eq!(message.sequence, number);
        assert_eq!(found[message.topic.index()].name == "/t1", n % 3 == 0);
    }
    assert_eq!(messages[500].payload.len(), 3 << 20);
    let bytes = std::fs::read(&path).unwrap();
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let statistics = summary.stats.unwrap();
    assert_eq!(statistics.message_count, 3000);
    assert!(summary.chunk_indexes.len() >= 3);
    assert!(
        summary
            .chunk_indexes
            .iter()
            .all(|it| it.compression == "zstd")
    );
    assert!(bytes[8..40].windows(4).any(|part| part == b"ros2"));
    let bag = Bag::open(&[&path]).unwrap();
    let damage = [
        bag.damage().to_vec(),
        bag.check_chunks(),
        bag.check_data_sections(),
    ]
    .concat();
    assert!(damage.is_empty(), "{damage:?}");
}

/// Reads all records of a file with crate mcap, which verifies the checksums.
fn verify_checksums(bytes: &[u8]) {
    let options = LinearReaderOptions::default()
        .with_validate_chunk_crcs(true)
        .with_validate_data_section_crc(true)
        .with_validate_summary_section_crc(true);
    let mut reader = LinearReader::new_with_options(options);
    let mut left = bytes;
    while let Some(event) = reader.next_event() {
        if let LinearReadEvent::ReadRequest(most) = event.unwrap() {
            let read = left.read(reader.insert(most)).unwrap();
            reader.notify_read(read);
        }
    }
    assert!(left.is_empty());
}

/// Reads a file with crate mcap. Returns topic, sequence, log time and publish time of each message in the order of the
/// file, and how many schemas the summary has.
fn as_crate_mcap_reads(path: &Path) -> (Vec<(String, u32, u64, u64)>, usize) {
    let bytes = std::fs::read(path).unwrap();
    verify_checksums(&bytes);
    let read = mcap::MessageStream::new(&bytes).unwrap();
    let messages = read.map(|message| {
        let it = message.unwrap();
        let topic = it.channel.topic.clone();
        (topic, it.sequence, it.log_time, it.publish_time)
    });
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let mut indexed = 0;
    for chunk in &summary.chunk_indexes {
        let by_channel = summary.read_message_indexes(&bytes, chunk).unwrap();
        for (channel, entries) in by_channel {
            for entry in entries {
                let found = summary.seek_message(&bytes, chunk, &entry).unwrap();
                assert_eq!(found.channel.id, channel.id);
                assert_eq!(found.log_time, entry.log_time);
                indexed += 1;
            }
        }
    }
    let messages: Vec<_> = messages.collect();
    assert_eq!(indexed, messages.len());
    (messages, summary.schemas.len())
}

#[test]
fn crate_mcap_reads_topics_that_begin_late_and_numbers_and_times_of_every_size() {
    let (_dir, path) = file();
    let known = Known::default();
    known.add(0, defined(Vec::new()));
    known.add(1, defined(Vec::new()));
    let other_text = Definition {
        schema: Some(Schema {
            data: "string other\n".into(),
            ..defined(Vec::new()).schema.unwrap()
        }),
        ..defined(Vec::new())
    };
    known.add(2, other_text);
    let recorder = start(&path, &known);
    let mut expected = Vec::new();
    let mut put = |number: usize, n: i64, sequence: Option<i64>, source_time: Option<i64>| {
        let mut sent = arrival(&topic(number), n, incompressible(n.unsigned_abs(), 1000));
        (sent.sequence, sent.source_time) = (sequence, source_time);
        let log_time = sent.position.to_mcap();
        expected.push((
            format!("/t{number}"),
            sequence.map_or(0, |it| it.rem_euclid(1 << 32).try_into().unwrap()),
            log_time,
            source_time.map_or(log_time, i64::cast_unsigned),
        ));
        assert!(recorder.put(sent));
    };
    // More than two chunks before the other topics begin.
    for n in 0..2500 {
        put(0, n, Some(n), Some(n));
    }
    put(1, 2500, None, None);
    put(2, 2501, Some(-1), Some(-5));
    put(1, 2502, Some(1 << 32), Some(i64::MAX));
    put(2, -3000, Some((1 << 32) + 7), Some(i64::MIN));
    let end = recorder.finish();
    assert_eq!((end.messages, end.error.is_none()), (2504, true));
    let (mut found, schemas) = as_crate_mcap_reads(&path);
    // Of the two topics of the same definition one schema is written.
    assert_eq!(schemas, 2);
    found.sort();
    expected.sort();
    assert!(found == expected);
}

#[test]
fn a_recording_without_messages_is_a_whole_file() {
    let (_dir, path) = file();
    let end = start(&path, &Known::default()).finish();
    assert_eq!((end.messages, end.error.is_none()), (0, true));
    assert_eq!(end.bytes, std::fs::metadata(&path).unwrap().len());
    assert_eq!(as_crate_mcap_reads(&path), (Vec::new(), 0));
    assert_eq!(messages(&path).0.len(), 0);
}

#[test]
fn topics_beyond_those_that_a_file_can_have_are_named_and_counted() {
    let (_dir, path) = file();
    let known = Known::default();
    let recorder = start(&path, &known);
    let most = usize::from(u16::MAX);
    for number in 0..most + 2 {
        known.add(number, defined(Vec::new()));
        assert!(recorder.put(arrival(&topic(number), 0, vec![0, 1, 0, 0, 9])));
    }
    let end = recorder.finish();
    assert_eq!((end.messages, end.error.is_none()), (most as u64, true));
    let unrecorded: Vec<_> = end.unrecorded.into_iter().collect();
    let name = |number: usize| format!("/t{number}");
    assert_eq!(unrecorded, [(name(most), 1), (name(most + 1), 1)]);
    assert!(
        end.notes[0].ends_with("out.mcap has 65,535 topics, the most that a recording can have"),
        "{:?}",
        end.notes
    );
    assert_eq!(messages(&path).1.len(), most);
}

#[test]
fn messages_wait_for_their_definition_and_others_do_not() {
    let (_dir, path) = file();
    let known = Known::default();
    known.add(1, defined(Vec::new()));
    let recorder = start(&path, &known);
    recorder.put(arrival(&topic(0), 0, vec![0, 1, 0, 0, 9]));
    recorder.put(arrival(&topic(1), 1, vec![0, 1, 0, 0, 9]));
    until("the message with a definition", || {
        Bag::open(&[&path]).is_ok_and(|bag| bag.message_count() == Some(1))
    });
    known.add(0, defined(Vec::new()));
    let end = recorder.finish();
    assert_eq!((end.messages, end.notes.len()), (2, 0));
    let (topics, messages) = messages(&path);
    assert_eq!(messages.len(), 2);
    assert!(
        topics
            .iter()
            .all(|topic| topic.schema == defined(Vec::new()).schema)
    );
}

#[test]
fn without_a_definition_the_type_keeps_its_name_and_that_is_said() {
    let (_dir, path) = file();
    let known = Known::default();
    let note = "/t0 has no definition";
    let nothing = Definition {
        schema: None,
        note: Some(note.to_owned()),
        ..defined(Vec::new())
    };
    known.add(0, nothing);
    let recorder = start(&path, &known);
    for n in 0..3 {
        recorder.put(arrival(&topic(0), n, vec![0, 1, 0, 0, 9]));
        recorder.put(arrival(&topic(1), n, vec![0, 1, 0, 0, 9]));
    }
    let Recorded {
        messages: count,
        notes,
        ..
    } = recorder.finish();
    assert_eq!(count, 6);
    assert_eq!(notes[0], note);
    assert!(
        notes[1].starts_with("/t1 has no definition") && notes.len() == 2,
        "{notes:?}"
    );
    let (topics, messages) = messages(&path);
    assert_eq!(messages.len(), 6);
    for topic in topics {
        assert_eq!(topic.type_name(), "std_msgs/msg/String");
        assert!(topic.schema.unwrap().data.is_empty());
    }
}

#[test]
fn a_queue_without_room_refuses_after_its_limit_and_the_topic_is_named() {
    let (_dir, path) = file();
    // The definition never comes, so nothing is written before the queue is full.
    let options = RecorderOptions {
        queue_bytes: 10_000,
        longest_wait: Duration::from_secs(60),
        ..RecorderOptions::new(&path)
    };
    let recorder = Recorder::start(options, Known::default()).unwrap();
    for n in 0..100 {
        // Full: the messages that wait for a definition are written without it.
        assert!(recorder.put(arrival(&topic(0), n, vec![0; 1000])));
    }
    assert_eq!(recorder.finish().messages, 100);
    let error = Recorder::start(RecorderOptions::new("/dev/full"), Known::default()).unwrap_err();
    assert!(matches!(error, RecordError::Write { written: 0, .. }));
    assert!(
        error
            .to_string()
            .starts_with("/dev/full cannot be written: No space left"),
        "{error}"
    );
    let nowhere = path.join("x.mcap");
    let error = Recorder::start(RecorderOptions::new(&nowhere), Known::default()).unwrap_err();
    assert!(
        error.to_string().contains("out.mcap/x.mcap cannot be made"),
        "{error}"
    );
}

const FILE: &str = "BAGPLAY_RECORDED_FILE";
const KILLED: i64 = 1000;

/// Records, and waits with an open file until it is killed.
pub(super) fn recording(mut socket: UnixStream) {
    let known = Known::default();
    known.add(0, defined(Vec::new()));
    let recorder = start(Path::new(&std::env::var_os(FILE).unwrap()), &known);
    for n in 0..KILLED {
        recorder.put(arrival(
            &topic(0),
            n,
            incompressible(n.unsigned_abs(), 2000),
        ));
    }
    socket.write_all(&[READY]).unwrap();
    let _ = socket.read_exact(&mut [0]);
}

#[test]
fn a_killed_recorder_leaves_a_readable_file() {
    let (_dir, path) = file();
    let program = Program::start_as("recording", |mut command| {
        command.env(FILE, &path);
        command
    });
    let count = || Bag::open(&[&path]).ok().and_then(|bag| bag.message_count());
    until("the last chunk", || count() == Some(KILLED.unsigned_abs()));
    drop(program);
    let (topics, messages) = messages(&path);
    assert_eq!(messages.len(), usize::try_from(KILLED).unwrap());
    assert_eq!(topics[0].schema, defined(Vec::new()).schema);
    let sequences = messages.iter().map(|message| i64::from(message.sequence));
    assert!(sequences.eq(0..KILLED));
}

/// The program whose files may have so many blocks of 512 bytes.
const BLOCKS: u64 = 3000;

/// Records more than fits; answers with whether it ended as it should.
pub(super) fn filling(mut socket: UnixStream) {
    let known = Known::default();
    known.add(0, defined(Vec::new()));
    known.add(1, defined(Vec::new()));
    let recorder = start(Path::new(&std::env::var_os(FILE).unwrap()), &known);
    socket.write_all(&[READY]).unwrap();
    socket.read_exact(&mut [0]).unwrap();
    for n in 0..5000 {
        let topic = topic(usize::from(n >= 4000));
        recorder.put(arrival(&topic, n, incompressible(n.unsigned_abs(), 1000)));
    }
    let end = recorder.finish();
    let error = end
        .error
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let is_named = error.contains("out.mcap cannot be written: File too large");
    let lost = &end.unrecorded;
    let is_whole = lost["/t1"] == 1000 && lost["/t0"] == 4000 - end.messages;
    let (_, found) = messages(Path::new(&std::env::var_os(FILE).unwrap()));
    let is_there = found.len() as u64 == end.messages && !found.is_empty();
    let is_right = is_named && is_whole && is_there;
    socket.write_all(&[u8::from(is_right)]).unwrap();
}

#[test]
fn a_full_disk_ends_recording_with_one_error_and_what_was_written_is_readable() {
    let (_dir, path) = file();
    let mut program = Program::start_as("filling", |command| {
        // Ignored: then the limit is an error of the write, like that of a full disk.
        let limited = format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(limited).arg(command.get_program());
        shell.args(command.get_args());
        for (name, value) in command.get_envs() {
            shell.env(name, value.unwrap());
        }
        shell.env(FILE, &path);
        shell
    });
    program.send(0);
    assert_eq!(program.wait_answer(), 1);
    assert!(std::fs::metadata(&path).unwrap().len() <= BLOCKS * 1024);
    let (_, found) = messages(&path);
    assert!(found.len() > 500, "{}", found.len());
}
