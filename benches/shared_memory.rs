//! Large messages through shared memory, compared with sockets and with a loop that fills shared memory itself.
//!
//! `cargo bench --bench shared_memory`. The subscriber is a process of its own and reads every byte. Recordings are
//! played at unlimited rate; they are uncompressed, but for one. The loop has the payloads in memory, copies each into
//! a buffer of zenoh's pool and puts it: what a node does that publishes through shared memory. Prints the rates, and
//! the processor time of the process that sends. In turns; an error if a message is lost. Words after `--` select
//! rows: `-- 1`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod recording;
mod report;
mod sending;
mod timed;

use std::any::Any;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bagplay::bag::Bag;
use bagplay::player::Pace;
use bagplay::wire::{SharedMemoryUse, WireOptions};
use report::{Figure, Series};
use rustix::time::ClockId;
use sending::{Failure, KEY, Recording, Rows, Sender};
use timed::processor_nanos;
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::shm::{BlockOn, GarbageCollect, ShmProviderBuilder};

const TURNS: usize = 5;
/// The argument with which this benchmark starts itself as the subscriber.
const SUBSCRIBE: &str = "--subscribe";

/// How many bytes of payloads the loop has. More than the processor's cache holds: payloads in the cache would be
/// copied faster than payloads that were just read.
const IN_MEMORY: usize = 64 << 20;

const RECORDINGS: [Recording; 5] = [
    Recording::new("scans of 10 kB", 60_000, 10_000, 1 << 20),
    Recording::new("scans of 100 kB", 10_000, 100_000, 1 << 20),
    Recording::new("images of 1 MB", 1_500, 1_000_000, 4 << 20),
    Recording::new("images of 4 MB", 400, 4_000_000, 4 << 20),
    Recording::zstd("images of 1 MB, zstd", 1_500, 1_000_000),
];

/// Who sends, and how.
const WAYS: [(&str, Sender<Subscriber>); 4] = [
    ("play, sockets", |at, bag, subscriber| {
        play((at, bag), subscriber, SharedMemoryUse::Off)
    }),
    ("play, shared memory", |at, bag, subscriber| {
        play((at, bag), subscriber, SharedMemoryUse::On)
    }),
    ("loop, sockets", |at, bag, subscriber| {
        put_from_memory((at, bag), subscriber, false)
    }),
    ("loop, shared memory", |at, bag, subscriber| {
        put_from_memory((at, bag), subscriber, true)
    }),
];
const SOCKETS: usize = 0;
const LOOP: usize = 3;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, endpoint, messages] = &words[..]
        && role == SUBSCRIBE
    {
        return subscribe(endpoint, messages.parse()?);
    }
    let rows = Rows::chosen();
    let mut report = rows.begin_report("shared_memory");
    println!("unpaced to a subscriber that reads all bytes, median of {TURNS} turns");
    println!(
        "{:<38} {:>9} {:>9} {:>13} {:>13} {:>13}",
        "", "msg/s", "MB/s", "of play, sock", "µs/msg", "of play, sock"
    );
    let dir = tempfile::tempdir()?;
    let mut by_size: [Vec<[f64; 2]>; WAYS.len()] = Default::default();
    for recording in RECORDINGS.iter().filter(|it| rows.has(it.name)) {
        let bag = recording.open(&dir.path().join("shared.mcap"))?;
        let Recording {
            name,
            messages,
            size,
            ..
        } = *recording;
        let mut turns: [Vec<Turn>; WAYS.len()] = Default::default();
        for _ in 0..TURNS {
            for ((_, send), turns) in WAYS.iter().zip(&mut turns) {
                turns.push(turn(&bag, messages, *send)?);
            }
        }
        let median = |of: fn(&Turn) -> f64| {
            let of_all = |turns: &Vec<Turn>| sending::median(turns.iter().map(of).collect());
            turns.each_ref().map(of_all)
        };
        let (rates, micros) = (median(|turn| turn.rate), median(|turn| turn.micros));
        for (index, (way, _)) in WAYS.iter().enumerate() {
            let (rate, spent) = (rates[index], micros[index]);
            #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
            let bytes = rate * size as f64;
            println!(
                "{:<38} {rate:>9.0} {:>9.0} {:>13.2} {spent:>13.1} {:>13.2}",
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
            if recording.is_plain() {
                #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
                by_size[index].push([size as f64, bytes / 1e6]);
            }
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
    /// Processor time of the process that sends, microseconds per message.
    micros: f64,
}

#[expect(
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark measures wall time"
)]
fn turn(bag: &Bag, messages: u64, send: Sender<Subscriber>) -> Result<Turn, Failure> {
    let endpoint = sending::free_endpoint()?;
    let mut subscriber = Subscriber::start(&endpoint, messages)?;
    let kept = send(&endpoint, bag, &subscriber)?;
    let arrived = subscriber.finish()?;
    let (begin, spent) = subscriber.began.get().ok_or("nothing was sent")?;
    let ended = Instant::now();
    let spent = processor_nanos(ClockId::ProcessCPUTime) - spent;
    drop(kept);
    if arrived < messages {
        // The time has ten seconds in which the subscriber waited for them.
        return Err(format!("{} of {messages} messages are lost", messages - arrived).into());
    }
    Ok(Turn {
        rate: messages as f64 / ended.duration_since(begin).as_secs_f64(),
        micros: spent as f64 / 1e3 / messages as f64,
    })
}

/// The process of the subscriber.
struct Subscriber {
    process: Child,
    lines: BufReader<ChildStdout>,
    /// When sending began, and the processor time of this process then.
    began: std::cell::Cell<Option<(Instant, u64)>>,
}

impl Subscriber {
    fn start(endpoint: &str, messages: u64) -> Result<Self, Failure> {
        let mut process = Command::new(std::env::current_exe()?)
            .args([SUBSCRIBE, endpoint, &messages.to_string()])
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(process.stdout.take().ok_or("no standard output")?);
        Ok(Self {
            process,
            lines,
            began: std::cell::Cell::default(),
        })
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
    fn begin(&self) {
        let spent = processor_nanos(ClockId::ProcessCPUTime);
        self.began.set(Some((Instant::now(), spent)));
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
    let session = sending::open("peer", "connect", endpoint, true)?;
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
    // The parent process ends this one: the link stays as it is until then.
    std::io::stdin().lines().for_each(drop);
    Ok(())
}

fn put_from_memory(
    (endpoint, bag): (&str, &Bag),
    subscriber: &Subscriber,
    shares: bool,
) -> Result<Box<dyn Any>, Failure> {
    let messages = bag.message_count().ok_or("no count of messages")?;
    let payloads = sending::payloads(bag, IN_MEMORY)?;
    let provider = ShmProviderBuilder::default_backend(128 << 20).wait()?;
    let session = sending::put_from_memory(endpoint, shares, |publisher| {
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
            sending::put(publisher, payload)?;
        }
        Ok(())
    })?;
    Ok(Box::new((session, provider)))
}

fn play(
    (endpoint, bag): (&str, &Bag),
    subscriber: &Subscriber,
    shared_memory: SharedMemoryUse,
) -> Result<Box<dyn Any>, Failure> {
    let wire = WireOptions {
        shared_memory,
        ..WireOptions::default()
    };
    let kept = sending::play(endpoint, bag, (wire, Pace::Max), |out, _| {
        subscriber.begin();
        out
    })?;
    Ok(Box::new(kept))
}
