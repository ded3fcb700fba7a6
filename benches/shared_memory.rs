//! Large messages through shared memory, compared with sockets and with a loop that fills shared memory itself.
//!
//! `cargo bench --bench shared_memory`. The subscriber is a process of its own and reads every byte. Uncompressed
//! recordings, played at unlimited rate. The loop has the payloads in memory, copies each into a buffer of zenoh's pool
//! and puts it: what a node does that publishes through shared memory. Prints the rates, and the processor time of
//! the process that sends. In turns; checks that nothing was lost. Words after `--` select rows: `-- 1`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod recording;
mod report;

use std::any::Any;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bagplay::bag::{Bag, Cues, Direction, Selection, StartAt, TopicId};
use bagplay::player::{Options, Pace, Player, Source};
use bagplay::wire::{Played, Session, SharedMemoryUse, WireEvent, WireOptions};
use report::{Figure, Report, Series};
use rustix::time::{ClockId, clock_gettime};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;
use zenoh::shm::{BlockOn, GarbageCollect, ShmProviderBuilder};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const TURNS: usize = 5;
/// The argument with which this benchmark starts itself as the subscriber.
const SUBSCRIBE: &str = "--subscribe";

/// The key of the topic, as ROS 2 nodes publish and subscribe to it.
const KEY: &str = "0/chatter/std_msgs::msg::dds_::String_/\
                   RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

/// A recording: its name, messages, bytes per message, chunk size.
const RECORDINGS: [(&str, u64, usize, u64); 4] = [
    ("scans of 10 kB", 60_000, 10_000, 1 << 20),
    ("scans of 100 kB", 10_000, 100_000, 1 << 20),
    ("images of 1 MB", 1_500, 1_000_000, 4 << 20),
    ("images of 4 MB", 400, 4_000_000, 4 << 20),
];

/// Who sends, and how.
const WAYS: [(&str, Sender); 4] = [
    ("play, sockets", |at, bag| {
        play(at, bag, SharedMemoryUse::Off)
    }),
    ("play, shared memory", |at, bag| {
        play(at, bag, SharedMemoryUse::On)
    }),
    ("loop, sockets", |at, bag| put_from_memory(at, bag, false)),
    ("loop, shared memory", |at, bag| {
        put_from_memory(at, bag, true)
    }),
];
const SOCKETS: usize = 0;
const LOOP: usize = 3;

/// Begins to send all messages of a bag to the subscriber, once that is there. The result is kept until all have arrived.
type Sender = fn(&Subscriber, &Bag) -> Result<Box<dyn Any>, Failure>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, endpoint, messages] = &words[..]
        && role == SUBSCRIBE
    {
        return subscribe(endpoint, messages.parse()?);
    }
    let chosen: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_chosen =
        |name: &str| chosen.is_empty() || chosen.iter().any(|word| name.contains(word.as_str()));
    let mut report = Report::begin(if chosen.is_empty() {
        "shared_memory"
    } else {
        "shared_memory-part"
    });
    println!("unpaced to a subscriber that reads all bytes, median of {TURNS} turns");
    println!(
        "{:<38} {:>9} {:>9} {:>13} {:>13} {:>13} {:>6}",
        "", "msg/s", "MB/s", "of play, sock", "µs/msg", "of play, sock", "lost"
    );
    let dir = tempfile::tempdir()?;
    let mut by_size: [Vec<[f64; 2]>; WAYS.len()] = Default::default();
    for (name, messages, size, chunk) in RECORDINGS {
        if !is_chosen(name) {
            continue;
        }
        let path = dir.path().join("shared.mcap");
        recording::write_sized(&path, messages, size, chunk)?;
        let bag = Bag::open(&[&path])?;
        let mut turns: [Vec<Turn>; WAYS.len()] = Default::default();
        for _ in 0..TURNS {
            for ((_, send), turns) in WAYS.iter().zip(&mut turns) {
                turns.push(turn(&bag, messages, *send)?);
            }
        }
        let median = |of: fn(&Turn) -> f64| {
            turns.each_ref().map(|turns| {
                let mut values: Vec<f64> = turns.iter().map(of).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            })
        };
        let (rates, micros) = (median(|turn| turn.rate), median(|turn| turn.micros));
        for (index, (way, _)) in WAYS.iter().enumerate() {
            let lost: u64 = turns[index].iter().map(|turn| turn.lost).sum();
            let (rate, spent) = (rates[index], micros[index]);
            #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
            let bytes = rate * size as f64;
            println!(
                "{:<38} {rate:>9.0} {:>9.0} {:>13.2} {spent:>13.1} {:>13.2} {lost:>6}",
                format!("{name}, {way}"),
                bytes / 1e6,
                rate / rates[SOCKETS],
                spent / micros[SOCKETS],
            );
            let row = format!("{name}, {way}");
            let (by_rate, by_time) = (
                Figure::higher(&row, "rate", rate, "msg/s"),
                Figure::lower(&row, "processor time", spent, "µs/msg"),
            );
            let (by_rate, by_time) = if index == SOCKETS || index == LOOP {
                (by_rate, by_time)
            } else {
                let limit = format!("limit: {}", WAYS[LOOP].0);
                (
                    by_rate.against(&limit, rates[LOOP]),
                    by_time.against(&limit, micros[LOOP]),
                )
            };
            report.add(by_rate);
            report.add(by_time);
            #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
            by_size[index].push([size as f64, bytes / 1e6]);
        }
    }
    for ((way, _), points) in WAYS.iter().zip(by_size) {
        report.draw(Series::new("shared-memory", way, points));
    }
    Ok(report.write()?)
}

/// What was measured in one turn.
#[derive(Default)]
struct Turn {
    /// Messages per second, until the last one was read.
    rate: f64,
    lost: u64,
    /// Processor time of the process that sends, microseconds per message.
    micros: f64,
}

#[expect(
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark measures wall time"
)]
fn turn(bag: &Bag, messages: u64, send: Sender) -> Result<Turn, Failure> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    let mut subscriber = Subscriber::start(format!("tcp/127.0.0.1:{port}"), messages)?;
    let kept = send(&subscriber, bag)?;
    let arrived = subscriber.finish()?;
    let (begin, spent) = subscriber.began.get().ok_or("nothing was sent")?;
    let (ended, spent) = (Instant::now(), processor_nanos() - spent);
    drop(kept);
    Ok(Turn {
        rate: messages as f64 / ended.duration_since(begin).as_secs_f64(),
        lost: messages - arrived,
        micros: spent as f64 / 1e3 / messages as f64,
    })
}

/// The process of the subscriber.
struct Subscriber {
    endpoint: String,
    process: Child,
    lines: BufReader<ChildStdout>,
    /// When sending began, and the processor time of this process then.
    began: std::cell::Cell<Option<(Instant, u64)>>,
}

impl Subscriber {
    fn start(endpoint: String, messages: u64) -> Result<Self, Failure> {
        let mut process = Command::new(std::env::current_exe()?)
            .args([SUBSCRIBE, &endpoint, &messages.to_string()])
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(process.stdout.take().ok_or("no standard output")?);
        Ok(Self {
            endpoint,
            process,
            lines,
            began: std::cell::Cell::default(),
        })
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
    fn begin(&self) {
        self.began.set(Some((Instant::now(), processor_nanos())));
    }

    /// How many messages it has read.
    fn finish(&mut self) -> Result<u64, Failure> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// What the process of the subscriber does: reads messages, and prints how many as soon as it has read all, or when
/// nothing has come for ten seconds.
fn subscribe(endpoint: &str, messages: u64) -> Result<(), Failure> {
    let session = open("peer", "connect", endpoint, true)?;
    let (tell, read) = crossbeam_channel::bounded(1);
    let (count, sum) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let read_all = move |sample: zenoh::sample::Sample| {
        let words = sample.payload().slices().flat_map(|slice| {
            let words = slice.chunks_exact(8);
            words.map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
        });
        sum.fetch_add(words.fold(0, u64::wrapping_add), Ordering::Relaxed);
        let so_far = counted.fetch_add(1, Ordering::Relaxed) + 1;
        if so_far % 100 == 0 || so_far == messages {
            let _ = tell.send(());
        }
    };
    let _subscriber = session.declare_subscriber(KEY).callback(read_all).wait()?;
    while count.load(Ordering::Relaxed) < messages
        && read
            .recv_timeout(std::time::Duration::from_secs(10))
            .is_ok()
    {}
    println!("{}", count.load(Ordering::Relaxed));
    // The process is ended by that which has started it: the link stays as it is until then.
    std::io::stdin().lines().for_each(drop);
    Ok(())
}

fn open(mode: &str, role: &str, endpoint: &str, shares: bool) -> zenoh::Result<zenoh::Session> {
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

fn put_from_memory(
    subscriber: &Subscriber,
    bag: &Bag,
    shares: bool,
) -> Result<Box<dyn Any>, Failure> {
    let all = Selection::all(bag);
    let first = bag.range().ok_or("no messages")?.start();
    let messages = bag.message_count().ok_or("no count of messages")?;
    // A few: what is in the cache of the processor would be faster to copy than what is read from a file.
    let payloads: Vec<Vec<u8>> = bag
        .cursor(&all, StartAt::At(first), Direction::Forward)
        .take(100)
        .map(|message| message.map(|message| message.payload.to_vec()))
        .collect::<Result<_, _>>()
        .map_err(|damage| damage.to_string())?;
    let session = open("router", "listen", &subscriber.endpoint, shares)?;
    let publisher = session
        .declare_publisher(KEY)
        .congestion_control(CongestionControl::Block)
        .wait()?;
    let matching = publisher.matching_listener().wait()?;
    while !publisher.matching_status().wait()?.matching() {
        matching.recv()?;
    }
    let provider = ShmProviderBuilder::default_backend(128 << 20).wait()?;
    subscriber.begin();
    for payload in payloads.iter().cycle().take(usize::try_from(messages)?) {
        let payload: ZBytes = if shares {
            let mut buffer = provider
                .alloc(payload.len())
                .with_policy::<BlockOn<GarbageCollect>>()
                .wait()?;
            buffer.copy_from_slice(payload);
            buffer.into()
        } else {
            payload.clone().into()
        };
        publisher.put(payload).attachment(&[0_u8; 33][..]).wait()?;
    }
    drop((matching, publisher));
    Ok(Box::new((session, provider)))
}

fn play(
    subscriber: &Subscriber,
    bag: &Bag,
    shared_memory: SharedMemoryUse,
) -> Result<Box<dyn Any>, Failure> {
    let (tell, matched) = crossbeam_channel::bounded(1);
    let options = WireOptions {
        listen: vec![subscriber.endpoint.clone()],
        shared_memory,
        ..WireOptions::default()
    };
    let session = Session::open(&options, move |event| {
        if matches!(event, WireEvent::Matching { matched: true, .. }) {
            let _ = tell.try_send(());
        }
    })?;
    let topic = bag.topics()[0].clone();
    let played = Played {
        id: TopicId(0),
        name: topic.name.clone(),
        topic,
        qos: None,
    };
    let (out, _) = session.advertise(&[played], None)?;
    matched.recv_timeout(std::time::Duration::from_secs(10))?;
    let unpaced = Player::new();
    let cues = Cues::new(bag.clone(), Selection::all(bag), 64 << 20, unpaced.waker())
        .with_memory(session.chunk_memory());
    let recording = bag.range().ok_or("no messages")?;
    let options = Options {
        pace: Pace::Max,
        ..Options::new(recording)
    };
    subscriber.begin();
    let (_, out) = unpaced.start(options, Source::of(cues), out)?.join()?;
    Ok(Box::new((out, session)))
}

/// The processor time of this process so far, in nanoseconds.
fn processor_nanos() -> u64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap_or(0)
}
