//! Small messages beside large ones: an imu at 200 Hz and images of 1 MB at 30 Hz, at 1×, with and without
//! `--order topic`, and with `--realtime` as far as the system permits it.
//!
//! `cargo bench --bench order [-- SECONDS]`. One process, two zenoh sessions on loopback, in turns. Prints how late
//! messages arrive at a subscriber in milliseconds, transport included; the earliest message counts as zero. The limit
//! is the imu alone, without images, in the same run. The limit of that is a loop that puts the imu's messages from
//! memory when they are due.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod report;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bagplay::bag::{Bag, Cues, Selection, TopicId};
use bagplay::player::{Options, Player, Scheduling, Source};
use bagplay::time::{Ros, Time};
use bagplay::wire::{Played, SendOrder, Session, WireEvent, WireOptions};
use report::{Figure, QUANTILES, Report, Series};
use zenoh::Wait;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const TURNS: usize = 3;
/// The imu without a player: what it is compared with when it is played alone.
const LOOP: &str = "put loop, imu alone";
/// What the imu is compared with when images are played, too.
const ALONE: &str = "imu alone";
const IMAGE: usize = 1_000_000;
const IMU: usize = 324;
/// In nanoseconds of log time.
const IMU_PERIOD: u64 = 5_000_000;
const IMAGE_PERIOD: u64 = 33_333_333;
const START: u64 = 1_700_000_000_000_000_000;

fn main() -> Result<(), Failure> {
    let seconds: u64 = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(10);
    let mut report = Report::begin("order");
    let dir = tempfile::tempdir()?;
    let [both, alone] = ["both.mcap", "alone.mcap"].map(|name| dir.path().join(name));
    write_recording(&both, seconds, true)?;
    write_recording(&alone, seconds, false)?;
    let rows = [
        (LOOP, None),
        (
            ALONE,
            Some((&alone, SendOrder::AllTopics, Scheduling::Normal)),
        ),
        (
            "--order all",
            Some((&both, SendOrder::AllTopics, Scheduling::Normal)),
        ),
        (
            "--order topic",
            Some((&both, SendOrder::PerTopic, Scheduling::Normal)),
        ),
        (
            "--order topic --realtime",
            Some((&both, SendOrder::PerTopic, Scheduling::Realtime)),
        ),
    ];
    let mut late = rows.map(|_| [Vec::new(), Vec::new()]);
    for turn in 1..=TURNS {
        eprintln!("turn {turn} of {TURNS}: {} times {seconds} s", rows.len());
        for ((_, played), late) in rows.iter().zip(&mut late) {
            let [imus, images] = match played {
                None => put_imus(seconds)?,
                Some((path, order, scheduling)) => play(&Bag::open(&[path])?, *order, *scheduling)?,
            };
            late[0].extend(imus);
            late[1].extend(images);
        }
    }
    println!(
        "imu at 200 Hz beside images of 1 MB at 30 Hz, {TURNS} turns of {seconds} s, milliseconds"
    );
    println!(
        "{:<25} {:>8} {:>8} {:>8} {:>8} {:>10} {:>10}",
        "", "imu p50", "p99", "p99.9", "max", "image p50", "p99"
    );
    for spans in late.iter_mut().flatten() {
        spans.sort_unstable();
    }
    let [[of_loop, _], [of_alone, _], ..] = late.clone();
    for ((name, _), [imus, images]) in rows.iter().zip(&late) {
        for (spans, what) in [(imus, "imu"), (images, "image")] {
            for (share, of) in [(0.5, "p50"), (0.99, "p99"), (1.0, "max")] {
                let column = format!("{what} {of}");
                let figure = Figure::lower(name, &column, millis(spans, share), "ms");
                report.add(match (*name, what) {
                    (_, "image") | (LOOP, _) => figure,
                    (ALONE, _) => figure.against("limit: put loop", millis(&of_loop, share)),
                    _ => figure.against("limit: imu alone", millis(&of_alone, share)),
                });
            }
        }
        let points = QUANTILES.map(|share| [share, millis(imus, share)]);
        report.draw(Series::new("order", name, points));
        println!(
            "{name:<25} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>10.3} {:>10.3}",
            millis(imus, 0.5),
            millis(imus, 0.99),
            millis(imus, 0.999),
            millis(imus, 1.0),
            millis(images, 0.5),
            millis(images, 0.99),
        );
    }
    Ok(report.write()?)
}

/// What arrived: whether it is an image, its number, and when.
type Arrivals = Arc<Mutex<Vec<(bool, u64, Instant)>>>;

fn free_endpoint() -> Result<String, Failure> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    Ok(format!("tcp/127.0.0.1:{port}"))
}

/// How late the imu's messages arrived that a loop put from memory, in nanoseconds. The second list, images, is empty.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn put_imus(seconds: u64) -> Result<[Vec<i64>; 2], Failure> {
    let endpoint = free_endpoint()?;
    let session = open("listen/endpoints", &endpoint)?;
    let publisher = session
        .declare_publisher("0/imu")
        .congestion_control(zenoh::qos::CongestionControl::Block)
        .wait()?;
    let arrivals = Arrivals::default();
    let node = subscribe(&endpoint, &arrivals)?;
    let deadline = Instant::now() + Duration::from_secs(10);
    while !publisher.matching_status().wait()?.matching() {
        if Instant::now() > deadline {
            return Err("no subscriber".into());
        }
        std::thread::yield_now();
    }
    let start = Instant::now() + Duration::from_millis(10);
    let messages = seconds * 1_000_000_000 / IMU_PERIOD;
    for number in 0..messages {
        let due = start + Duration::from_nanos(number * IMU_PERIOD);
        // It looks at the time from 0.1 ms before, so that it does not wake up late itself.
        let early = Duration::from_micros(100);
        std::thread::sleep(due.saturating_duration_since(Instant::now() + early));
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        publisher.put(payload(number, IMU)).wait()?;
    }
    wait_for(messages, &arrivals)?;
    drop(node);
    session.close().wait()?;
    let arrivals = std::mem::take(&mut *arrivals.lock().map_err(|_| "a callback panicked")?);
    lateness(&arrivals)
}

/// Waits until this many messages have arrived.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn wait_for(sent: u64, arrivals: &Arrivals) -> Result<(), Failure> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while (arrivals.lock().map_err(|_| "a callback panicked")?.len() as u64) < sent {
        if Instant::now() > deadline {
            return Err("messages were lost".into());
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// How late imu messages and images arrived, in nanoseconds; the earliest of both is zero.
fn play(bag: &Bag, order: SendOrder, scheduling: Scheduling) -> Result<[Vec<i64>; 2], Failure> {
    let endpoint = free_endpoint()?;
    let (tell, matched) = crossbeam_channel::bounded(4);
    let options = WireOptions {
        listen: vec![endpoint.clone()],
        order,
        ..WireOptions::default()
    };
    let session = Session::open(&options, move |event| {
        if matches!(event, WireEvent::Matching { matched: true, .. }) {
            let _ = tell.try_send(());
        }
    })?;
    let topics: Vec<Played> = (0..)
        .zip(bag.topics())
        .map(|(id, topic)| Played {
            id: TopicId(id),
            name: topic.name.clone(),
            topic: topic.clone(),
            qos: None,
        })
        .collect();
    let (out, _) = session.advertise(&topics, None)?;
    let arrivals = Arrivals::default();
    let node = subscribe(&endpoint, &arrivals)?;
    for _ in &topics {
        matched.recv_timeout(Duration::from_secs(10))?;
    }
    let player = Player::new();
    let cues = Cues::new(bag.clone(), Selection::all(bag), 64 << 20, player.waker());
    let recording = bag.range().ok_or("no messages")?;
    let options = Options {
        scheduling,
        ..Options::new(recording)
    };
    let running = player.start(options, Source::of(cues), out)?;
    let (report, out) = running.join()?;
    wait_for(report.sent, &arrivals)?;
    drop((node, out));
    let arrivals = std::mem::take(&mut *arrivals.lock().map_err(|_| "a callback panicked")?);
    lateness(&arrivals)
}

/// A peer that listens at an endpoint, or connects to it.
fn open(endpoints: &str, endpoint: &str) -> Result<zenoh::Session, Failure> {
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", "\"peer\"".to_owned()),
        (endpoints, format!("[\"{endpoint}\"]")),
        ("scouting/multicast/enabled", "false".to_owned()),
    ] {
        config.insert_json5(key, &value)?;
    }
    zenoh::open(config).wait()
}

fn subscribe(endpoint: &str, arrivals: &Arrivals) -> Result<impl Sized + use<>, Failure> {
    let session = open("connect/endpoints", endpoint)?;
    let arrivals = Arc::clone(arrivals);
    let subscriber = session.declare_subscriber("0/**").callback(move |sample| {
        #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
        let now = Instant::now();
        let payload = sample.payload();
        let mut bytes = [0; 12];
        let is_whole = std::io::Read::read_exact(&mut payload.reader(), &mut bytes).is_ok();
        let number = bytes[4..].try_into().map(u64::from_le_bytes);
        if let (true, Ok(number), Ok(mut arrivals)) = (is_whole, number, arrivals.lock()) {
            arrivals.push((payload.len() >= IMAGE, number, now));
        }
    });
    Ok((subscriber.wait()?, session))
}

/// The span from when each message was due to when it arrived, imu and images apart.
fn lateness(arrivals: &[(bool, u64, Instant)]) -> Result<[Vec<i64>; 2], Failure> {
    let first = arrivals.first().ok_or("nothing arrived")?.2;
    let after_due = |&(is_image, number, at): &(bool, u64, Instant)| {
        let period = if is_image { IMAGE_PERIOD } else { IMU_PERIOD };
        let arrived = i64::try_from(at.saturating_duration_since(first).as_nanos()).unwrap_or(0);
        (
            is_image,
            arrived - i64::try_from(number * period).unwrap_or(0),
        )
    };
    let all: Vec<(bool, i64)> = arrivals.iter().map(after_due).collect();
    let earliest = all.iter().map(|(_, late)| *late).min().unwrap_or(0);
    let of = |wanted: bool| {
        let these = all.iter().filter(|(is_image, _)| *is_image == wanted);
        these.map(|(_, late)| late - earliest).collect()
    };
    Ok([of(false), of(true)])
}

/// The span that a share of them, 0 to 1, does not exceed, in milliseconds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people"
)]
fn millis(sorted: &[i64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).map_or(f64::NAN, |nanos| *nanos as f64 / 1e6)
}

fn payload(number: u64, size: usize) -> Vec<u8> {
    let mut payload = vec![0, 1, 0, 0];
    payload.extend(number.to_le_bytes());
    payload.resize(size, 7);
    payload
}

fn write_recording(path: &Path, seconds: u64, has_images: bool) -> Result<(), Failure> {
    let options = mcap::WriteOptions::new()
        .compression(None)
        .chunk_size(Some(4 << 20))
        .profile("ros2");
    let mut writer = options.create(std::io::BufWriter::new(std::fs::File::create(path)?))?;
    let schema = writer.add_schema("std_msgs/msg/String", "ros2msg", b"string data")?;
    let metadata = std::collections::BTreeMap::new();
    let imu = writer.add_channel(schema, "/imu", "cdr", &metadata)?;
    let mut all: Vec<(u64, u16, u64, usize)> = (0..seconds * 1_000_000_000 / IMU_PERIOD)
        .map(|n| (n * IMU_PERIOD, imu, n, IMU))
        .collect();
    if has_images {
        let image = writer.add_channel(schema, "/image", "cdr", &metadata)?;
        let images = 0..seconds * 1_000_000_000 / IMAGE_PERIOD;
        all.extend(images.map(|n| (n * IMAGE_PERIOD, image, n, IMAGE)));
    }
    all.sort_unstable();
    for (time, channel_id, number, size) in all {
        let time: Time<Ros> = Time::from_nanos(i64::try_from(START + time)?);
        let header = mcap::records::MessageHeader {
            channel_id,
            sequence: 0,
            log_time: time.to_mcap(),
            publish_time: time.to_mcap(),
        };
        writer.write_to_known_channel(&header, &payload(number, size))?;
    }
    writer.finish()?;
    Ok(())
}
