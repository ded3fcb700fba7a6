//! The wires compared: throughput at unlimited rate, and lateness at 1,000 messages a second.
//!
//! `cargo bench --bench wires [-- SECONDS]`. One process, two zenoh sessions on loopback, the wires in turns. The
//! subscriber has the key and the link of a node (`rmw_zenoh`) or of a bridge to DDS (`ros2dds`); what a bridge does
//! with the messages is not measured. Beside them, `ros1` to a subscriber that reads TCPROS: gigabytes a second of
//! messages of 1 MB and of a loop that writes the same bytes to a socket, and lateness.
//!
//! Lateness is from the instant at which a message was due by the player's clock to its arrival. If the player is
//! delayed by more than 100 ms, it shifts its schedule, so the messages that follow are due later.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod recording;
mod report;
mod sending;
mod tcpros;
mod watched;

use std::path::Path;
use std::sync::{Arc, Mutex};

use bagplay::bag::{Bag, Message};
use bagplay::clock::Clock;
use bagplay::output::Output;
use bagplay::player::{Options, Pace, Transport};
use bagplay::time::{Duration, Steady, Time};
use bagplay::wire::{Protocol, WireOptions, WireOutput};
use report::{Figure, Report};
use sending::{Failure, KEY, Recording, median};
use tcpros::Load;
use watched::{Watch, Watched};
use zenoh::Wait;

const TURNS: usize = 5;
const HZ: u64 = 1_000;

const RECORDINGS: [Recording; 3] = [
    Recording::new("strings of 69 B", 400_000, 69, 1 << 20),
    Recording::new("scans of 10 kB", 40_000, 10_000, 1 << 20),
    Recording::new("images of 1 MB", 600, 1_000_000, 4 << 20),
];

const IMAGES: Load = Load {
    messages: 2_000,
    size: 1_000_000,
};

/// Those for ROS 2 nodes. The first one is what the others are compared with.
const WIRES: [(&str, Protocol, &str); 2] = [
    ("rmw_zenoh", Protocol::RmwZenoh, KEY),
    ("ros2dds", Protocol::Ros2Dds, "chatter"),
];

fn main() -> Result<(), Failure> {
    let seconds: u64 = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(5);
    let mut report = Report::begin("wires");
    let dir = tempfile::tempdir()?;
    println!(
        "wires on loopback, median of {TURNS} turns: messages a second, and ratio to the first"
    );
    for recording in &RECORDINGS {
        let bag = recording.open(&dir.path().join("unpaced.mcap"))?;
        let mut rates = WIRES.map(|_| Vec::new());
        for _ in 0..TURNS {
            for (wire, rates) in WIRES.iter().zip(&mut rates) {
                let (arrivals, _) =
                    turn((&bag, Pace::Max), recording.messages, wire, |out, _| out)?;
                rates.push(rate(&arrivals));
            }
        }
        let rates = rates.map(median);
        for ((wire, ..), rate) in WIRES.iter().zip(rates) {
            println!(
                "{:<18} {wire:<10} {rate:>14.0} {:>6.2}",
                recording.name,
                rate / rates[0]
            );
            let figure = Figure::higher(recording.name, wire, rate, "msg/s");
            report.add(compared(figure, wire, rates[0]));
        }
    }
    ros1(&dir.path().join("ros1.mcap"), &mut report)?;
    lateness(dir.path(), seconds, &mut report)?;
    Ok(report.write()?)
}

/// The loop is the limit of the player.
fn ros1(path: &Path, report: &mut Report) -> Result<(), Failure> {
    let bag = IMAGES.open(path)?;
    let (mut played, mut written) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        written.push(IMAGES.rate(&tcpros::write(IMAGES)?)?);
        let (arrivals, _) = tcpros::play((&bag, Pace::Max), IMAGES, |out, _| out)?;
        played.push(IMAGES.rate(&arrivals)?);
    }
    let (played, written) = (median(played), median(written));
    let row = "images of 1 MB, ROS 1";
    println!("{row:<21} {:<10} {written:>9.2} GB/s", "a loop");
    println!(
        "{row:<21} {:<10} {played:>9.2} GB/s {:>6.2}",
        "ros1",
        played / written
    );
    let figure = Figure::higher(row, "ros1", played, "GB/s");
    report.add(figure.against("limit: a loop", written));
    Ok(())
}

/// The first wire is the limit of the others.
fn compared(figure: Figure, wire: &str, first: f64) -> Figure {
    if wire == WIRES[0].0 {
        figure
    } else {
        figure.against("limit: rmw_zenoh", first)
    }
}

fn lateness(dir: &Path, seconds: u64, report: &mut Report) -> Result<(), Failure> {
    let path = dir.join("paced.mcap");
    recording::write(&path, seconds * HZ, HZ)?;
    let bag = Bag::open(&[path])?;
    let paced = Options::new(bag.range().ok_or("no messages")?).pace;
    // As long as the text in the recording for the others.
    let texts = Load {
        messages: seconds * HZ,
        size: 4,
    };
    let ros1_bag = texts.open(&dir.join("paced-ros1.mcap"))?;
    // For each wire and turn, sorted.
    let mut late = WIRES.map(|(name, ..)| (name, Vec::new()));
    let mut ros1_late = Vec::new();
    for _ in 0..TURNS {
        for (wire, (_, late)) in WIRES.iter().zip(&mut late) {
            let paced = (&bag, paced);
            let (arrivals, out) = turn(paced, seconds * HZ, wire, watched)?;
            late.push(lateness_of(&arrivals, &out.watch)?);
        }
        let (arrivals, out) = tcpros::play((&ros1_bag, paced), texts, watched)?;
        ros1_late.push(lateness_of(&arrivals, &out.watch)?);
    }
    println!(
        "lateness at {HZ} messages a second, median of {TURNS} turns of {seconds} s, microseconds"
    );
    let late: Vec<_> = late.into_iter().chain([("ros1", ros1_late)]).collect();
    let at = |turns: &[Vec<f64>], percent: usize| {
        let turns = turns.iter().map(|late| late[late.len() * percent / 100]);
        median(turns.collect())
    };
    for (of, percent) in [("p50", 50), ("p99", 99)] {
        let first = at(&late[0].1, percent);
        for (wire, turns) in &late {
            let micros = at(turns, percent);
            println!("{of:<18} {wire:<10} {micros:>14.1} {:>6.2}", micros / first);
            let figure = Figure::lower(&format!("lateness, {of}"), wire, micros, "µs");
            report.add(compared(figure, wire, first));
        }
    }
    Ok(())
}

/// Messages a second, from the first arrival to the last.
#[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
fn rate(arrivals: &[Time<Steady>]) -> f64 {
    let span = arrivals.last().zip(arrivals.first());
    let span = span.map_or(0.0, |(last, first)| {
        last.saturating_since(*first).as_secs_f64()
    });
    (arrivals.len() - 1) as f64 / span
}

/// When each message was due.
struct Due {
    /// Added to an instant of the player, which counts from its start, to get one of the steady clock.
    origin: Duration,
    instants: Vec<Option<Time<Steady>>>,
}

impl Watch for Due {
    fn message(&mut self, _: &Message, due: Option<Time<Steady>>) {
        self.instants
            .push(due.map(|due| due.saturating_add(self.origin)));
    }
}

fn watched<O: Output>(out: O, player: &Transport) -> Watched<O, Due> {
    let clock = Clock::steady();
    let origin = clock.now().as_nanos() - player.now().as_nanos();
    let due = Due {
        origin: Duration::from_nanos(origin),
        instants: Vec::new(),
    };
    Watched::new(out, due)
}

/// How long after it was due each message arrived, in microseconds, sorted.
fn lateness_of(
    arrivals: &[Time<Steady>],
    Due { instants: due, .. }: &Due,
) -> Result<Vec<f64>, Failure> {
    if arrivals.len() != due.len() {
        return Err("other messages were sent than have arrived".into());
    }
    let late = |(at, due): (&Time<Steady>, &Option<Time<Steady>>)| {
        let due = due.ok_or("a message was sent while playback was held")?;
        Ok(at.saturating_since(due).as_secs_f64() * 1e6)
    };
    let late: Result<Vec<f64>, Failure> = arrivals.iter().zip(due).map(late).collect();
    let mut late = late?;
    late.sort_by(f64::total_cmp);
    Ok(late)
}

/// When each message arrived, and the output around that of the wire; an error if one was lost.
fn turn<O: Output + Send + 'static>(
    (bag, pace): (&Bag, Pace),
    messages: u64,
    &(_, protocol, key): &(&str, Protocol, &'static str),
    around: impl FnOnce(WireOutput, &Transport) -> O,
) -> Result<(Vec<Time<Steady>>, O), Failure> {
    let endpoint = sending::free_endpoint()?;
    let arrivals = Arc::new(Mutex::new(Vec::new()));
    let (tell, done) = crossbeam_channel::bounded(1);
    let subscribe = {
        let (endpoint, arrivals) = (endpoint.clone(), Arc::clone(&arrivals));
        std::thread::spawn(move || {
            let session = sending::open("peer", "connect", &endpoint, false)?;
            let clock = Clock::steady();
            let arrived = move |_| {
                let now = clock.now();
                if let Ok(mut arrivals) = arrivals.lock() {
                    arrivals.push(now);
                    if arrivals.len() as u64 == messages {
                        let _ = tell.try_send(());
                    }
                }
            };
            let subscriber = session.declare_subscriber(key).callback(arrived).wait()?;
            Ok::<_, Failure>((session, subscriber))
        })
    };
    let wire = WireOptions {
        protocol,
        ..WireOptions::default()
    };
    let (out, session) = sending::play(&endpoint, bag, (wire, pace), around)?;
    done.recv_timeout(std::time::Duration::from_secs(10))
        .map_err(|_| "messages were lost")?;
    drop(subscribe.join().map_err(|_| "the subscriber panicked")??);
    drop(session);
    let arrivals = std::mem::take(&mut *arrivals.lock().map_err(|_| "a callback panicked")?);
    Ok((arrivals, out))
}
