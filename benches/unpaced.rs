//! Playing at unlimited rate to a subscriber, compared with a loop that puts the same payloads from memory.
//!
//! `cargo bench --bench unpaced`. One process, two zenoh sessions on loopback, in turns. The loop has the
//! payloads in memory already and puts them with a plain zenoh publisher of the same settings; `play`
//! reads, decompresses, orders, keeps its clock and its counts. Prints both rates and their ratio, and
//! how many messages were lost. The processor time of the thread that puts shows what a put costs when nothing else
//! needs its core; for strings also without a subscriber, and of the player without a wire. Words after `--` select
//! rows: `-- strings`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod recording;
mod report;
mod sending;
mod timed;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bagplay::bag::Bag;
use bagplay::output::Null;
use bagplay::player::{Pace, Player};
use bagplay::wire::WireOptions;
use report::{Figure, Report, Series};
use rustix::time::ClockId;
use sending::{Failure, KEY, Recording, Rows, Sender, median};
use timed::{Timed, processor_nanos};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;

const TURNS: usize = 5;

const RECORDINGS: [Recording; 3] = [
    Recording::new("strings of 69 B", 400_000, 69, 1 << 20),
    Recording::new("scans of 10 kB", 40_000, 10_000, 1 << 20),
    Recording::new("images of 1 MB", 600, 1_000_000, 4 << 20),
];

fn main() -> Result<(), Failure> {
    println!("unpaced on loopback, median of {TURNS} turns");
    println!(
        "{:<18} {:>14} {:>14} {:>7} {:>6} {:>13} {:>13} {:>7}",
        "", "loop msg/s", "player msg/s", "ratio", "lost", "loop µs/msg", "player µs/msg", "ratio"
    );
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("unpaced.mcap");
    let rows = Rows::chosen();
    let mut report = rows.begin_report("unpaced");
    let mut by_size = [Vec::new(), Vec::new()];
    for recording in RECORDINGS.iter().filter(|it| rows.has(it.name)) {
        let bag = recording.open(&path)?;
        let Recording {
            name,
            messages,
            size,
            ..
        } = *recording;
        let (mut bare, mut player) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            bare.push(turn(&bag, messages, put_from_memory)?);
            player.push(turn(&bag, messages, play)?);
        }
        let lost: u64 = bare.iter().chain(&player).map(|turn| turn.lost).sum();
        let rate = |turns: &[Turn]| median(turns.iter().map(|turn| turn.rate).collect());
        let micros = |turns: &[Turn]| median(turns.iter().map(|turn| turn.micros).collect());
        let rates = [rate(&bare), rate(&player)];
        let spent = [micros(&bare), micros(&player)];
        println!(
            "{name:<18} {:>14.0} {:>14.0} {:>7.2} {lost:>6} {:>13.3} {:>13.3} {:>7.2}",
            rates[0],
            rates[1],
            rates[1] / rates[0],
            spent[0],
            spent[1],
            spent[0] / spent[1]
        );
        let [bare, player] = rates;
        report.add(Figure::compared(name, "put loop", bare, "msg/s"));
        report
            .add(Figure::higher(name, "player", player, "msg/s").against("limit: put loop", bare));
        let [bare, player] = spent;
        report.add(Figure::compared(
            name,
            "thread of the put loop",
            bare,
            "µs/msg",
        ));
        report.add(
            Figure::lower(name, "thread of the player", player, "µs/msg")
                .against("limit: put loop", bare),
        );
        report.add(Figure::lower(name, "lost", count(lost), "messages"));
        for (points, rate) in by_size.iter_mut().zip(rates) {
            points.push([count(size as u64), rate]);
        }
    }
    let strings = &RECORDINGS[0];
    if rows.has(strings.name) {
        by_part(&strings.open(&path)?, strings, &mut report)?;
    }
    for (name, points) in ["put loop", "player"].into_iter().zip(by_size) {
        report.draw(Series::new("throughput", name, points));
    }
    Ok(report.write()?)
}

/// What a part of the way costs the thread that puts: all before the wire, and all before a link.
fn by_part(bag: &Bag, recording: &Recording, report: &mut Report) -> Result<(), Failure> {
    let (mut nothing, mut player, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    let per_message = |nanos: u64| count(nanos) / 1e3 / count(recording.messages);
    for _ in 0..TURNS {
        nothing.push(per_message(into_nothing(bag)?));
        bare.push(per_message(put_to_nobody(bag)?));
        player.push(per_message(play_to_nobody(bag)?));
    }
    let (nothing, player, bare) = (median(nothing), median(player), median(bare));
    let row = format!("{}, nobody listens", recording.name);
    println!(
        "{row:<42} {bare:>40.3} {player:>13.3} {:>7.2}",
        bare / player
    );
    report.add(Figure::compared(
        &row,
        "thread of the put loop",
        bare,
        "µs/msg",
    ));
    let figure = Figure::lower(&row, "thread of the player", player, "µs/msg");
    report.add(figure.against("limit: put loop", bare));
    let row = format!("{}, no wire", recording.name);
    println!("{row:<42} {:>40} {nothing:>13.3}", "");
    report.add(Figure::lower(
        &row,
        "thread of the player",
        nothing,
        "µs/msg",
    ));
    Ok(())
}

/// Nanoseconds of the player's thread with an output that takes everything and does nothing.
fn into_nothing(bag: &Bag) -> Result<u64, Failure> {
    let player = Player::new();
    let cues = sending::cues(bag, &player);
    let out = sending::run((player, cues), bag, Pace::Max, Timed::new(Null))?;
    Ok(out.spent()?.0)
}

fn play_to_nobody(bag: &Bag) -> Result<u64, Failure> {
    let endpoint = sending::free_endpoint()?;
    let (out, _session) = sending::advertise(&endpoint, bag, WireOptions::default(), |_| {})?;
    let player = Player::new();
    let cues = sending::cues(bag, &player);
    let out = sending::run((player, cues), bag, Pace::Max, Timed::new(out))?;
    Ok(out.spent()?.0)
}

fn put_to_nobody(bag: &Bag) -> Result<u64, Failure> {
    let payloads = sending::payloads(bag, usize::MAX)?;
    let payloads: Vec<ZBytes> = payloads.into_iter().map(ZBytes::from).collect();
    let session = sending::open("router", "listen", &sending::free_endpoint()?, false)?;
    let publisher = session
        .declare_publisher(KEY)
        .congestion_control(CongestionControl::Block)
        .wait()?;
    let before = processor_nanos(ClockId::ThreadCPUTime);
    for payload in payloads {
        sending::put(&publisher, payload)?;
    }
    Ok(processor_nanos(ClockId::ThreadCPUTime) - before)
}

#[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
fn count(number: u64) -> f64 {
    number as f64
}

/// What was measured in one turn.
struct Turn {
    /// Messages per second, until the last one arrived.
    rate: f64,
    lost: u64,
    /// Processor time of the thread that puts, microseconds per message.
    micros: f64,
}

/// Counts what arrives, in a session of its own.
struct Listener {
    arrived: Arc<AtomicU64>,
    began: std::cell::Cell<Option<Instant>>,
    /// Processor time of the thread that puts, in nanoseconds.
    spent: std::cell::Cell<u64>,
}

impl Listener {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
    fn begin(&self) {
        self.began.set(Some(Instant::now()));
    }
}

/// Sends to a subscriber that counts.
#[expect(
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark measures wall time"
)]
fn turn(bag: &Bag, messages: u64, send: Sender<Listener>) -> Result<Turn, Failure> {
    let endpoint = sending::free_endpoint()?;
    let (tell, done) = crossbeam_channel::bounded(1);
    let listener = Listener {
        arrived: Arc::default(),
        began: std::cell::Cell::default(),
        spent: std::cell::Cell::default(),
    };
    let arrived = Arc::clone(&listener.arrived);
    let subscribe = {
        let endpoint = endpoint.clone();
        std::thread::spawn(move || {
            // A peer, as ROS 2 nodes are: it has a direct link to the player.
            let session = sending::open("peer", "connect", &endpoint, false)?;
            let count = move |_| {
                if arrived.fetch_add(1, Ordering::Relaxed) + 1 == messages {
                    let _ = tell.try_send(Instant::now());
                }
            };
            let subscriber = session.declare_subscriber(KEY).callback(count).wait()?;
            Ok::<_, Failure>((session, subscriber))
        })
    };
    let session = send(&endpoint, bag, &listener)?;
    let ended = done
        .recv_timeout(std::time::Duration::from_secs(10))
        .unwrap_or_else(|_| Instant::now());
    drop(subscribe.join().map_err(|_| "the subscriber panicked")??);
    drop(session);
    let lost = messages.saturating_sub(listener.arrived.load(Ordering::Relaxed));
    let began = listener.began.get().ok_or("nothing was sent")?;
    Ok(Turn {
        rate: messages as f64 / ended.duration_since(began).as_secs_f64(),
        lost,
        micros: listener.spent.get() as f64 / 1e3 / messages as f64,
    })
}

fn put_from_memory(
    endpoint: &str,
    bag: &Bag,
    listener: &Listener,
) -> Result<Box<dyn Any>, Failure> {
    let payloads = sending::payloads(bag, usize::MAX)?;
    let payloads: Vec<ZBytes> = payloads.into_iter().map(ZBytes::from).collect();
    let session = sending::put_from_memory(endpoint, false, |publisher| {
        listener.begin();
        let before = processor_nanos(ClockId::ThreadCPUTime);
        for payload in payloads {
            sending::put(publisher, payload)?;
        }
        let spent = processor_nanos(ClockId::ThreadCPUTime) - before;
        listener.spent.set(spent);
        Ok(())
    })?;
    Ok(Box::new(session))
}

fn play(endpoint: &str, bag: &Bag, listener: &Listener) -> Result<Box<dyn Any>, Failure> {
    let (out, session) = sending::play(
        endpoint,
        bag,
        (WireOptions::default(), Pace::Max),
        |out, _| {
            listener.begin();
            Timed::new(out)
        },
    )?;
    listener.spent.set(out.spent()?.0);
    Ok(Box::new((out, session)))
}
