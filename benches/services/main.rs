//! Whether calls of services make messages late: 1,000 messages a second at 1×. In every third second eight clients
//! call the services of the player 1,000 times; in every other third second they call those of another player instead;
//! and in the rest nothing is called.
//!
//! `cargo bench --bench services [-- SECONDS [pinned]]`. Two processes: the player with its router; and the eight
//! clients, each with a session of its own, together with the other player, which is paused. So the load of the clients
//! on the processors is that of both kinds of calls. The seconds alternate within one run, so that what the machine
//! does by itself falls on all kinds alike. With `pinned`, which needs Linux, the clients have the last processor and
//! the player has the others, so that they do not compete: what is left is what the calls cost in the player. Prints
//! the lateness of messages for each kind, ratios, and the time from a call to its response.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod clients;
#[path = "../recording/mod.rs"]
mod recording;
#[path = "../report/mod.rs"]
mod report;
mod seconds;
#[path = "../watched/mod.rs"]
mod watched;

use std::error::Error;
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use bagplay::bag::{Bag, Cues, Message, Selection, TopicId};
use bagplay::player::{ClockOptions, Options, Player, Source, Transport};
use bagplay::time::{self, Ros, Steady, Time};
use bagplay::wire::{ClockOptions as Served, Played, ServedPlayer, Session, WireOptions};
use report::{Figure, Report};
use seconds::{Kind, OVER, Second};
use watched::{Watch, Watched};

type Failure = Box<dyn Error + Send + Sync>;

const HZ: u64 = 1_000;
/// The argument of the process of the clients; the endpoint of the router follows.
const AS_CLIENTS: &str = "--clients-of";
/// The argument with which the two processes share no processor.
const PINNED: &str = "pinned";
/// The start of each second that is left out: clients learn of it a moment later.
const BLURRED: Duration = Duration::from_millis(50);

/// Measures when each message is given to the output.
struct Timed<'a> {
    transport: Transport,
    start: Time<Ros>,
    second: &'a Second,
    /// For each second of the recording how late its messages were, in nanoseconds.
    late: Vec<Vec<i64>>,
}

impl Watch for Timed<'_> {
    fn message(&mut self, message: &Message, due: Option<Time<Steady>>) {
        let now = self.transport.now();
        let into = message.log_time.saturating_since(self.start).as_nanos();
        let second = u64::try_from(into / 1_000_000_000).unwrap_or(0);
        self.second.0.store(second, Ordering::Relaxed);
        let is_blurred = into % 1_000_000_000 < i64::try_from(BLURRED.as_nanos()).unwrap_or(0);
        let late = usize::try_from(second)
            .ok()
            .and_then(|at| self.late.get_mut(at));
        if let Some((due, late)) = due.zip(late).filter(|_| !is_blurred) {
            late.push(now.saturating_since(due).as_nanos());
        }
    }
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(AS_CLIENTS) {
        return clients::run(&arguments.next().ok_or("no endpoint")?);
    }
    let is_pinned = std::env::args().any(|arg| arg == PINNED);
    let seconds: u64 = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(32);
    let mut report = Report::begin(if is_pinned {
        "services-pinned"
    } else {
        "services"
    });
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("kilohertz.mcap");
    recording::write(&path, seconds * HZ, HZ).map_err(|error| error.to_string())?;
    let bag = Bag::open(&[path])?;
    println!("lateness at 1x, {HZ} messages a second, {seconds} s, microseconds");
    println!(
        "{:<28} {:>8} {:>8} {:>9} {:>14}",
        "calls", "p50", "p99", "max", "median of p99"
    );
    let (late, responses) = play(&bag, seconds, is_pinned)?;
    // The first two seconds warm up.
    let of = |kind| {
        let seconds = (0..).zip(&late).skip(2);
        let seconds = seconds.filter(move |(at, _)| Kind::of(*at) == kind);
        seconds.map(|(_, late)| late.clone()).collect::<Vec<_>>()
    };
    let nothing = show("none", &of(Kind::Nothing));
    let other = show("1000/s, of another player", &of(Kind::Other));
    let player = show("1000/s, of this player", &of(Kind::Player));
    println!("{responses}");
    for (name, base) in [("none", nothing), ("another player", other)] {
        println!(
            "p99, calls of this player by {name}: {:.2} (all messages), {:.2} (median of seconds)",
            player[1] / base[1],
            player[3] / base[3]
        );
    }
    let columns = ["p50", "p99", "max", "median of p99"];
    for (at, column) in columns.into_iter().enumerate() {
        let row = "calls of this player";
        let figure = Figure::lower(row, column, player[at], "µs");
        report.add(Figure::compared("no calls", column, nothing[at], "µs"));
        report.add(Figure::compared(
            "calls of another player",
            column,
            other[at],
            "µs",
        ));
        report.add(figure.against("limit: calls of another player", other[at]));
    }
    report.write()?;
    Ok(())
}

/// Prints the figures of all seconds of one kind: p50, p99 and maximum of all their messages, and the median of their
/// p99s.
fn show(name: &str, seconds: &[Vec<i64>]) -> [f64; 4] {
    let mut of_each: Vec<f64> = seconds
        .iter()
        .cloned()
        .map(|late| quantile(late, 99))
        .collect();
    of_each.sort_by(f64::total_cmp);
    let median = of_each.get(of_each.len() / 2).copied().unwrap_or(f64::NAN);
    let all: Vec<i64> = seconds.concat();
    let [p50, p99, max] = [50, 99, 100].map(|percent| quantile(all.clone(), percent));
    println!("{name:<28} {p50:>8.2} {p99:>8.2} {max:>9.2} {median:>14.2}");
    [p50, p99, max, median]
}

/// In microseconds.
fn quantile(mut late: Vec<i64>, percent: usize) -> f64 {
    late.sort_unstable();
    let at = (late.len() * percent / 100).min(late.len().saturating_sub(1));
    let nanos = late.get(at).copied().unwrap_or(0);
    time::Duration::from_nanos(nanos).as_secs_f64() * 1e6
}

/// Plays the recording once: how late its messages were in each second, and, in words, how long the calls took.
fn play(bag: &Bag, seconds: u64, is_pinned: bool) -> Result<(Vec<Vec<i64>>, String), Failure> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    let endpoint = format!("tcp/127.0.0.1:{port}");
    let options = WireOptions {
        listen: vec![endpoint.clone()],
        ..WireOptions::default()
    };
    let session = Session::open(&options, |_| {})?;
    let topic = bag.topics()[0].clone();
    let name = topic.name.clone();
    let offered = Played {
        id: TopicId(0),
        name: name.clone(),
        topic,
        qos: None,
    };
    let clock = Served {
        hz: Some(100.0),
        per_message: false,
    };
    let (inner, _) = session.advertise(&[offered], Some(clock))?;
    let player = Player::new();
    let transport = player.transport();
    let recording = bag.range().ok_or("no messages")?;
    let cues = Cues::new(bag.clone(), Selection::all(bag), 64 << 20, player.waker());
    let options = Options {
        clock: ClockOptions {
            period: Some(time::Duration::from_millis(10)),
            ..ClockOptions::default()
        },
        ..Options::new(recording)
    };
    let served = ServedPlayer {
        recording,
        shift: time::Duration::ZERO,
        topics: vec![(name, TopicId(0))],
    };
    let services = session.serve_player(&transport, served)?;
    let second: &'static Second = Box::leak(Box::default());
    let timed = Timed {
        transport,
        start: recording.start(),
        second,
        late: vec![Vec::new(); usize::try_from(seconds)?],
    };
    let out = Watched::new(inner, timed);
    let mut clients = Command::new(std::env::current_exe()?)
        .args([AS_CLIENTS, &endpoint])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if is_pinned {
        part(clients.id())?;
    }
    let mut told = clients.stdin.take().ok_or("no pipe")?;
    let mut output = std::io::BufReader::new(clients.stdout.take().ok_or("no pipe")?);
    // They are connected and have found both players.
    output.read_line(&mut String::new())?;
    let running = player.start(options, Source::of(cues), out)?;
    let telling = thread::spawn(move || -> Result<(), std::io::Error> {
        let mut before = None;
        while before != Some(OVER) {
            let now = second.get();
            if before.replace(now) != Some(now) {
                writeln!(told, "{now}")?;
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    });
    let report = running.join();
    second.0.store(OVER, Ordering::Relaxed);
    telling.join().map_err(|_| "a thread panicked")??;
    let mut responses = String::new();
    output.read_line(&mut responses)?;
    clients.wait()?;
    let (_, out) = report?;
    drop(services);
    Ok((out.watch.late, responses.trim_end().to_owned()))
}

/// Gives the process of the clients, which has just started, the last processor, and all threads of this one the
/// others.
#[cfg(target_os = "linux")]
fn part(clients: u32) -> Result<(), Failure> {
    use rustix::process::Pid;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let mut others = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| others.is_set(*cpu));
    let last = last.filter(|_| others.count() > 1);
    let last = last.ok_or("pinned needs two processors")?;
    others.unset(last);
    let mut only = CpuSet::new();
    only.set(last);
    for (process, processors) in [(std::process::id(), &others), (clients, &only)] {
        for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
            let id = thread?.file_name().to_string_lossy().parse()?;
            sched_setaffinity(Pid::from_raw(id), processors)?;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn part(_: u32) -> Result<(), Failure> {
    Err("pinned needs Linux".into())
}
