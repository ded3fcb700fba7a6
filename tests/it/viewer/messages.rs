//! The messages that viewers receive.

use std::io::{Cursor, ErrorKind, Read, Write};
use std::net::TcpStream;

use bagplay::bag::{Direction, Message, Selection, StartAt};
use bagplay::player::{Command, Options, Pace, WhenDone};
use bagplay::time::{Speed, Time};
use mcap::Writer;
use mcap::records::MessageHeader;

use super::client::{Client, Data, ENDED, Got, PAUSED};
use super::{SECOND, Served, recording};
use crate::support::mcaps::{Note, Spec, bag, incompressible};
use crate::support::patience::PATIENCE;

/// The messages of a recording, in order.
fn recorded(served: &Served) -> Vec<Data> {
    let all = Selection::all(&served.bag);
    let from = StartAt::At(Time::MIN);
    let cursor = served.bag.cursor(&all, from, Direction::Forward);
    let data = |message: Message| Data {
        time: message.log_time.to_mcap(),
        topic: served.bag.topics()[message.topic.index()].name.clone(),
        payload: message.payload.to_vec(),
    };
    cursor.map(|message| data(message.unwrap())).collect()
}

#[test]
fn each_message_arrives_once_as_recorded_after_its_time() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    client.subscribe(&["/fast", "/slow", "/late"]);
    client.sync();
    client.ask(true, 4.0, None);
    client.state("the end", |state| state.status == ENDED);
    let expected = recorded(&served);
    let arrived: Vec<Data> = expected.iter().map(|_| client.data()).collect();
    assert_eq!(arrived, expected);
    client.wait("the last time", |got| {
        (*got == Got::Time(4_990_000_000)).then_some(())
    });
    client.sync();
    assert_eq!(client.arrived(), []);
    let times = client.times();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(times.first(), Some(&SECOND));
}

#[test]
fn only_what_is_subscribed_to_is_sent() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    client.subscribe(&["/slow"]);
    client.sync();
    client.ask(true, 100.0, None);
    client.state("the end", |state| state.status == ENDED);
    assert_eq!(client.data().topic, "/slow");
    client.sync();
    assert_eq!(client.arrived(), []);
}

#[test]
fn a_viewer_that_connects_late_gets_the_last_messages_alone() {
    let served = Served::paused(recording());
    let to = Time::from_millis(3000);
    served.transport.ask(Command::Seek(to)).unwrap();
    let mut early = Client::connect(served.port());
    early.subscribe(&["/fast", "/slow", "/late"]);
    let state = early.state("the state", |_| true);
    assert_eq!((state.status, state.time), (PAUSED, 3 * SECOND));
    early.wait("the time", |got| {
        (*got == Got::Time(3 * SECOND)).then_some(())
    });
    let mut last = [early.data(), early.data()];
    last.sort();
    assert_eq!(last[0].payload, b"slow");
    assert_eq!(last[0].time, SECOND + 1_500_000_000);
    assert_eq!(last[1].payload, b"fast 200");
    let mut late = Client::connect(served.port());
    late.subscribe(&["/fast"]);
    assert_eq!(late.data().payload, b"fast 200");
    early.sync();
    assert_eq!(early.arrived(), []);
    // Those that they have already do not come again.
    served
        .transport
        .ask(Command::PlayUntil(Time::from_millis(3010)))
        .unwrap();
    for client in [&mut early, &mut late] {
        assert_eq!(client.data().payload, b"fast 201");
    }
}

#[test]
fn after_a_jump_viewers_get_the_last_message_of_each_topic() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    client.subscribe(&["/slow", "/late"]);
    client.sync();
    for (to, expected) in [
        (4 * SECOND, &[&b"slow"[..]][..]),
        (4_950_000_000, &[b"late", b"slow"]),
        (2 * SECOND, &[]),
        (3 * SECOND, &[b"slow"]),
    ] {
        client.ask(false, 1.0, Some(to));
        client.state("the jump", |state| state.did_seek && state.time == to);
        let mut messages: Vec<Vec<u8>> = expected.iter().map(|_| client.data().payload).collect();
        messages.sort();
        assert_eq!(messages, expected);
    }
}

/// Latched topics, too, and whatever the jump: a seek, a step back, a reversal.
#[test]
fn after_each_kind_of_jump_latched_messages_come_again() {
    let at = |millis: u64| SECOND + millis * 1_000_000;
    let mut notes: Vec<Note> = (0..100)
        .map(|n| Note::new(0, at(n * 10), format!("{n}")))
        .collect();
    notes.insert(1, Note::new(1, at(1), "tf"));
    let mut spec = Spec::new(vec![notes]);
    for (topic, name) in spec.topics.iter_mut().zip(["/a", "/tf_static"]) {
        name.clone_into(&mut topic.name);
    }
    let served = Served::with(bag(&spec.write()), |options| Options {
        refill: false,
        ..options
    });
    let mut client = Client::connect(served.port());
    client.subscribe(&["/tf_static"]);
    client.sync();
    let back = Pace::At(Speed::from_f64(-1.0).unwrap());
    for command in [
        Command::Seek(Time::from_millis(1500)),
        Command::Step(-1),
        Command::SetPace(back),
        Command::SetPace(Pace::At(Speed::NORMAL)),
        Command::Seek(Time::from_millis(1001)),
    ] {
        served.transport.ask(command).unwrap();
        client.wait("the jump", |got| {
            matches!(got, Got::State(state) if state.did_seek).then_some(())
        });
        assert_eq!(client.data().payload, b"tf", "{command:?}");
    }
    client.sync();
    assert_eq!(client.arrived(), []);
}

/// The second jump is told later, and clears what came before.
#[test]
fn after_two_jumps_at_once_the_last_messages_come_after_the_last_one() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    client.subscribe(&["/fast"]);
    client.sync();
    client.forget();
    for round in 0..20 {
        let to = |millis| Command::Seek(Time::from_millis(millis));
        served.transport.send(to(2000 + round)).unwrap();
        served.transport.send(to(3000 + round)).unwrap();
        let last = SECOND * 3 + round.unsigned_abs() * 1_000_000;
        client.wait("the last jump", |got| {
            matches!(got, Got::State(state) if state.did_seek && state.time == last).then_some(())
        });
        client.forget();
        let payload = format!("fast {}", (2000 + round) / 10).into_bytes();
        client.wait("the message after it", |got| {
            matches!(got, Got::Data(data) if data.payload == payload).then_some(())
        });
        client.forget();
    }
}

#[test]
fn a_viewer_that_never_reads_holds_nobody() {
    // More than sockets and queues hold.
    let note = |n: u64| Note::new(0, SECOND + n, incompressible(n + 1, 64 << 10));
    let chunks = (0..100).map(|c| (c * 20..(c + 1) * 20).map(note).collect());
    let served = Served::with(bag(&Spec::new(chunks.collect()).write()), |options| {
        Options {
            pace: Pace::Max,
            when_done: WhenDone::Stop,
            digest: true,
            ..options
        }
    });
    let mut stuck = Client::connect(served.port());
    stuck.subscribe(&["/t0"]);
    stuck.sync();
    let mut reader = Client::connect(served.port());
    reader.state("the state", |state| state.status == PAUSED);
    served.transport.ask(Command::Play).unwrap();
    let (report, _) = served.running.join().unwrap();
    assert_eq!(report.sent, 2000);
    assert!(report.reached_end);
    // This returns although one never reads; the other one is told.
    drop(served.server);
    reader.wait("the end", |got| (*got == Got::Closed).then_some(()));
}

#[test]
fn a_viewer_that_reads_again_goes_on_with_what_is_new() {
    // More than sockets and queues hold.
    const COUNT: u64 = 3000;
    let note = |n: u64| {
        let payload = [&n.to_le_bytes()[..], &incompressible(n + 1, 16 << 10)].concat();
        Note::new(0, SECOND + n, payload)
    };
    let chunks = (0..COUNT / 20).map(|c| (c * 20..(c + 1) * 20).map(note).collect());
    let served = Served::with(bag(&Spec::new(chunks.collect()).write()), |options| {
        Options {
            pace: Pace::Max,
            ..options
        }
    });
    let mut slow = Client::connect(served.port());
    slow.subscribe(&["/t0"]);
    slow.sync();
    let mut reader = Client::connect(served.port());
    served.transport.ask(Command::Play).unwrap();
    reader.state("the end", |state| state.status == ENDED);
    let mut numbers = Vec::new();
    while numbers.last() != Some(&(COUNT - 1)) {
        let payload = slow.data().payload;
        numbers.push(u64::from_le_bytes(*payload.first_chunk().unwrap()));
    }
    // The oldest of those that waited are dropped.
    assert!(numbers.len() < usize::try_from(COUNT).unwrap());
    assert!(numbers.is_sorted());
    slow.state("the end", |state| state.status == ENDED);
    slow.ask(false, 1.0, Some(SECOND + 7));
    slow.wait("the message at a new position", |got| {
        matches!(got, Got::Data(data) if data.time == SECOND + 7).then_some(())
    });
}

#[test]
fn others_go_on_when_a_viewer_is_killed_or_a_connection_is_none_of_a_viewer() {
    let served = Served::paused(recording());
    let [mut killed, mut other] = [(); 2].map(|()| Client::connect(served.port()));
    for client in [&mut killed, &mut other] {
        client.subscribe(&["/fast"]);
        client.sync();
    }
    // One sends no WebSocket, and one nothing at all.
    let [mut nonsense, _silent] =
        [(); 2].map(|()| TcpStream::connect(("127.0.0.1", served.port())).unwrap());
    nonsense.write_all(b"\x00\xff nonsense\r\n\r\n").unwrap();
    killed.ask(true, 1.0, None);
    killed.data();
    // Without a close frame; messages may be on their way.
    drop(killed);
    for n in 0..400 {
        assert_eq!(other.data().payload, format!("fast {n}").into_bytes());
    }
    let mut again = Client::connect(served.port());
    again.subscribe(&["/fast"]);
    assert_eq!(again.data().payload, b"fast 399");
    nonsense.set_read_timeout(Some(PATIENCE)).unwrap();
    // Refused: an answer, or none, and the end.
    let mut answer = Vec::new();
    let end = nonsense.read_to_end(&mut answer);
    let is_reset = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
    assert!(end.as_ref().err().is_none_or(is_reset), "{end:?}");
}

#[test]
fn channels_are_as_recorded_whatever_their_encodings() {
    let mut writer = Writer::new(Cursor::new(Vec::new())).unwrap();
    let descriptor = [0xff, 0x00, 0x80];
    let kinds: [(&str, &str, &str, &[u8]); 4] = [
        ("cdr", "ros2msg", "std_msgs/msg/String", b"string data"),
        ("ros1", "ros1msg", "std_msgs/String", b"string data"),
        ("protobuf", "protobuf", "pkg.Type", &descriptor),
        ("json", "jsonschema", "Object", b"{\"type\":\"object\"}"),
    ];
    for (n, (encoding, schema_encoding, name, data)) in (0..).zip(kinds) {
        let schema = writer.add_schema(name, schema_encoding, data).unwrap();
        let topic = format!("/{encoding}");
        let metadata = std::collections::BTreeMap::new();
        let channel_id = writer
            .add_channel(schema, &topic, encoding, &metadata)
            .unwrap();
        let header = MessageHeader {
            channel_id,
            sequence: 0,
            log_time: SECOND + n,
            publish_time: SECOND + n,
        };
        writer
            .write_to_known_channel(&header, encoding.as_bytes())
            .unwrap();
    }
    let no_schema = writer
        .add_channel(0, "/bare", "json", &std::collections::BTreeMap::new())
        .unwrap();
    let header = MessageHeader {
        channel_id: no_schema,
        sequence: 0,
        log_time: SECOND + 9,
        publish_time: SECOND + 9,
    };
    writer.write_to_known_channel(&header, b"{}").unwrap();
    writer.finish().unwrap();
    let served = Served::paused(bag(&writer.into_inner().into_inner()));
    let mut client = Client::connect(served.port());
    client.subscribe(&["/cdr", "/ros1", "/protobuf", "/json", "/bare"]);
    for (encoding, schema_encoding, name, data) in kinds {
        let mut channels = client.channels.values();
        let channel = channels
            .find(|channel| channel["topic"] == format!("/{encoding}"))
            .unwrap();
        assert_eq!(channel["encoding"], encoding);
        assert_eq!(channel["schemaName"], name);
        assert_eq!(channel["schemaEncoding"], schema_encoding);
        let text = String::from_utf8(data.to_vec());
        let text = text.unwrap_or_else(|_| "/wCA".to_owned());
        assert_eq!(channel["schema"], text);
    }
    client.sync();
    let pace = Pace::At(Speed::NORMAL);
    served.transport.ask(Command::SetPace(pace)).unwrap();
    client.ask(true, 1.0, None);
    let mut payloads: Vec<Vec<u8>> = (0..5).map(|_| client.data().payload).collect();
    payloads.sort();
    assert_eq!(
        payloads,
        [&b"cdr"[..], b"json", b"protobuf", b"ros1", b"{}"]
    );
}
