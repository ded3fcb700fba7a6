//! What sends to a subscriber as fast as it can, for benchmarks: the player, and a loop that has the payloads in
//! memory.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::any::Any;
use std::path::Path;
use std::time::Duration;

use bagplay::bag::{Bag, Cues, Direction, Selection, StartAt, TopicId};
use bagplay::output::Output;
use bagplay::player::{Options, Pace, Player, Source, Transport};
use bagplay::wire::{Played, Session, WireEvent, WireOptions, WireOutput};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;

use crate::recording::{write_sized, write_zstd};
use crate::report::Report;

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The key of the topic, as ROS 2 nodes publish and subscribe to it.
pub(crate) const KEY: &str = "0/chatter/std_msgs::msg::dds_::String_/\
                              RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

/// Sends all messages of a bag to the subscriber of a listener, which connects to an endpoint. The result is kept until
/// they have arrived: closing a session does not wait for them.
pub(crate) type Sender<Listener> = fn(&str, &Bag, &Listener) -> Result<Box<dyn Any>, Failure>;

/// A recording of messages of one size.
pub(crate) struct Recording {
    pub(crate) name: &'static str,
    pub(crate) messages: u64,
    /// Bytes per message.
    pub(crate) size: usize,
    chunk: Chunk,
}

/// How chunks are written.
enum Chunk {
    /// Uncompressed, of this many bytes.
    Plain(u64),
    /// One for each message.
    Zstd,
}

impl Recording {
    pub(crate) const fn new(name: &'static str, messages: u64, size: usize, chunk: u64) -> Self {
        Self {
            name,
            messages,
            size,
            chunk: Chunk::Plain(chunk),
        }
    }

    /// Chunks of one message that are compressed with zstd.
    pub(crate) const fn zstd(name: &'static str, messages: u64, size: usize) -> Self {
        Self {
            name,
            messages,
            size,
            chunk: Chunk::Zstd,
        }
    }

    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.chunk, Chunk::Plain(_))
    }

    /// Writes it and opens it.
    pub(crate) fn open(&self, path: &Path) -> Result<Bag, Failure> {
        match self.chunk {
            Chunk::Plain(chunk) => write_sized(path, self.messages, self.size, chunk)?,
            Chunk::Zstd => write_zstd(path, self.messages, self.size)?,
        }
        Ok(Bag::open(&[path])?)
    }
}

/// The rows that the words after `--` select.
pub(crate) struct Rows(Vec<String>);

impl Rows {
    pub(crate) fn chosen() -> Self {
        let words = std::env::args().skip(1);
        Self(words.filter(|word| !word.starts_with('-')).collect())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|word| name.contains(word.as_str()))
    }

    pub(crate) fn begin_report(&self, bench: &str) -> Report {
        if self.0.is_empty() {
            Report::begin(bench)
        } else {
            Report::begin(&format!("{bench}-part"))
        }
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// An endpoint on this host at which nothing listens.
pub(crate) fn free_endpoint() -> std::io::Result<String> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(format!("tcp/{}", socket.local_addr()?))
}

/// A session of zenoh, in shared memory or not.
pub(crate) fn open(
    mode: &str,
    role: &str,
    endpoint: &str,
    shares: bool,
) -> zenoh::Result<zenoh::Session> {
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", format!("\"{mode}\"")),
        (&format!("{role}/endpoints"), format!("[\"{endpoint}\"]")),
        ("scouting/multicast/enabled", "false".to_owned()),
        ("connect/timeout_ms", "10000".to_owned()),
        ("transport/shared_memory/enabled", shares.to_string()),
        (
            "transport/shared_memory/transport_optimization/enabled",
            "false".to_owned(),
        ),
        // As in the player's session.
        ("transport/link/tx/queue/size/data", "16".to_owned()),
    ] {
        config.insert_json5(key, &value)?;
    }
    zenoh::open(config).wait()
}

/// The first payloads of a bag, at most so many bytes of them.
pub(crate) fn payloads(bag: &Bag, most: usize) -> Result<Vec<Vec<u8>>, Failure> {
    let all = Selection::all(bag);
    let first = bag.range().ok_or("no messages")?.start();
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    let mut left = most;
    for message in bag.cursor(&all, StartAt::At(first), Direction::Forward) {
        let payload = message.map_err(|damage| damage.to_string())?.payload;
        let Some(rest) = left.checked_sub(payload.len()) else {
            break;
        };
        left = rest;
        payloads.push(payload.to_vec());
    }
    Ok(payloads)
}

/// Has `put_all` put payloads as soon as a subscriber is there.
pub(crate) fn put_from_memory(
    endpoint: &str,
    shares: bool,
    put_all: impl FnOnce(&Publisher<'_>) -> Result<(), Failure>,
) -> Result<zenoh::Session, Failure> {
    let session = open("router", "listen", endpoint, shares)?;
    let publisher = session
        .declare_publisher(KEY)
        .congestion_control(CongestionControl::Block)
        .wait()?;
    let matching = publisher.matching_listener().wait()?;
    while !publisher.matching_status().wait()?.matching() {
        matching.recv()?;
    }
    put_all(&publisher)?;
    drop((matching, publisher));
    Ok(session)
}

/// Puts a payload with an attachment as long as that of the player.
pub(crate) fn put(publisher: &Publisher<'_>, payload: ZBytes) -> zenoh::Result<()> {
    publisher.put(payload).attachment([0_u8; 33]).wait()
}

/// Plays all messages as soon as a subscriber is there. `begin` is called before the first one, and may put an output
/// around that of the session.
pub(crate) fn play<O: Output + Send + 'static>(
    endpoint: &str,
    bag: &Bag,
    (wire, pace): (WireOptions, Pace),
    begin: impl FnOnce(WireOutput, &Transport) -> O,
) -> Result<(O, Session), Failure> {
    let (tell, matched) = crossbeam_channel::bounded(1);
    let (out, session) = advertise(endpoint, bag, wire, move |event| {
        if matches!(event, WireEvent::Matching { matched: true, .. }) {
            let _ = tell.try_send(());
        }
    })?;
    matched.recv_timeout(Duration::from_secs(10))?;
    let player = Player::new();
    let memory = session.chunk_memory()?;
    let cues = cues(bag, &player).with_memory(memory);
    let out = begin(out, &player.transport());
    let out = run((player, cues), bag, pace, out)?;
    Ok((out, session))
}

/// A session with a publisher for the topic of a recording.
pub(crate) fn advertise(
    endpoint: &str,
    bag: &Bag,
    wire: WireOptions,
    on_event: impl Fn(WireEvent) + Send + Sync + 'static,
) -> Result<(WireOutput, Session), Failure> {
    let options = WireOptions {
        listen: vec![endpoint.to_owned()],
        ..wire
    };
    let session = Session::open(&options, on_event)?;
    let topic = bag.topics()[0].clone();
    let played = Played {
        id: TopicId(0),
        name: topic.name.clone(),
        topic,
        qos: None,
    };
    let (out, _) = session.advertise(&[played], None)?;
    Ok((out, session))
}

/// The messages of a recording, read ahead.
pub(crate) fn cues(bag: &Bag, player: &Player) -> Cues {
    Cues::new(bag.clone(), Selection::all(bag), 64 << 20, player.waker())
}

/// Plays all messages into an output.
pub(crate) fn run<O: Output + Send + 'static>(
    (player, cues): (Player, Cues),
    bag: &Bag,
    pace: Pace,
    out: O,
) -> Result<O, Failure> {
    let options = Options {
        pace,
        ..Options::new(bag.range().ok_or("no messages")?)
    };
    let (_, out) = player.start(options, Source::of(cues), out)?.join()?;
    Ok(out)
}
