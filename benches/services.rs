//! Whether calls of services make messages late: 1,000 messages a second at 1×. In every third second eight clients call the
//! services of the player 1,000 times; in every other third second they call those of another player instead; and in the
//! rest nothing is called.
//!
//! `cargo bench --bench services [-- SECONDS [pinned]]`. Two processes: the player with its router; and the eight clients, each with
//! a session of its own, together with the other player, which is paused. So the load of the clients on the processors is
//! that of both kinds of calls. The seconds alternate within one run, so that what the machine does by itself falls on all
//! kinds alike. With `pinned`, which needs Linux, the clients have the last processor and the player has the others, so that
//! they do not compete: what is left is what the calls cost in the player. Prints the lateness of messages for each kind, ratios, and the time from a call to its response.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod recording;

use std::error::Error;
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bagplay::bag::{Bag, Cues, Message, Selection, TopicId};
use bagplay::output::{Delivery, Null, Occasion, Output};
use bagplay::player::{ClockOptions, Intent, Options, Player, Source, Transport};
use bagplay::time::{self, Ros, Segment, Time, TimeRange};
use bagplay::wire::{
    ClockOptions as Served, FoundPlayer, Played, PlayerClient, ServedPlayer, Session, WireOptions,
};

type Failure = Box<dyn Error + Send + Sync>;

const HZ: u64 = 1_000;
const CLIENTS: u64 = 8;
/// Calls of one client a second.
const CALLS: u64 = 1_000 / CLIENTS;
/// The value of the second after the end.
const OVER: u64 = u64::MAX;
/// The argument of the process of the clients; the endpoint of the router follows.
const AS_CLIENTS: &str = "--clients-of";
/// The argument with which the two processes share no processor.
const PINNED: &str = "pinned";
/// The node of the player that is called for comparison.
const OTHER: &str = "other";
/// The start of each second that is left out: clients learn of it a moment later.
const BLURRED: Duration = Duration::from_millis(50);

/// What is called in a second of the recording.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Nothing,
    Other,
    Player,
}

impl Kind {
    fn of(second: u64) -> Self {
        match second % 3 {
            0 => Self::Nothing,
            1 => Self::Other,
            _ => Self::Player,
        }
    }
}

/// The second of the recording that is played.
#[derive(Default)]
struct Second(AtomicU64);

impl Second {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// An output that measures when each message is given to it.
struct Timed<'a, O> {
    inner: O,
    transport: Transport,
    segment: Option<Segment>,
    start: Time<Ros>,
    second: &'a Second,
    /// For each second of the recording how late its messages were, in nanoseconds.
    late: Vec<Vec<i64>>,
}

impl<O: Output> Output for Timed<'_, O> {
    fn segment(&mut self, segment: &Segment) {
        self.segment = Some(*segment);
        self.inner.segment(segment);
    }

    fn clock(&mut self, time: Time<Ros>) {
        self.inner.clock(time);
    }

    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        let now = self.transport.now();
        let into = message.log_time.saturating_since(self.start).as_nanos();
        let second = u64::try_from(into / 1_000_000_000).unwrap_or(0);
        self.second.0.store(second, Ordering::Relaxed);
        let is_blurred = into % 1_000_000_000 < i64::try_from(BLURRED.as_nanos()).unwrap_or(0);
        let due = self.segment.and_then(|it| it.wall_at(message.log_time));
        let late = usize::try_from(second)
            .ok()
            .and_then(|at| self.late.get_mut(at));
        if let Some((due, late)) = due.zip(late).filter(|_| !is_blurred) {
            late.push(now.saturating_since(due).as_nanos());
        }
        self.inner.message(message, occasion)
    }
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(AS_CLIENTS) {
        return clients(&arguments.next().ok_or("no endpoint")?);
    }
    let is_pinned = std::env::args().any(|arg| arg == PINNED);
    let seconds: u64 = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(32);
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
            player.0 / base.0,
            player.1 / base.1
        );
    }
    Ok(())
}

/// Prints the figures of all seconds of one kind; returns the p99 of all their messages, and the median of their p99s.
fn show(name: &str, seconds: &[Vec<i64>]) -> (f64, f64) {
    let mut of_each: Vec<f64> = seconds
        .iter()
        .cloned()
        .map(|late| quantile(late, 99))
        .collect();
    of_each.sort_by(f64::total_cmp);
    let median = of_each.get(of_each.len() / 2).copied().unwrap_or(f64::NAN);
    let all: Vec<i64> = seconds.concat();
    let p99 = quantile(all.clone(), 99);
    println!(
        "{name:<28} {:>8.2} {p99:>8.2} {:>9.2} {median:>14.2}",
        quantile(all.clone(), 50),
        quantile(all, 100),
    );
    (p99, median)
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
    let out = Timed {
        inner,
        transport,
        segment: None,
        start: recording.start(),
        second,
        late: vec![Vec::new(); usize::try_from(seconds)?],
    };
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
    Ok((out.late, responses.trim_end().to_owned()))
}

/// Gives the process of the clients, which has just started, the last processor, and all threads of this one the others.
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

/// The process of the clients: what they are to do comes in as the number of the second.
fn clients(endpoint: &str) -> Result<(), Failure> {
    let other = open(endpoint, OTHER)?;
    let player = Player::new();
    let recording = TimeRange::between(Time::from_secs(1), Time::from_secs(1_000));
    let served = ServedPlayer {
        recording,
        shift: time::Duration::ZERO,
        topics: Vec::new(),
    };
    let services = other.serve_player(&player.transport(), served)?;
    let paused = Options {
        intent: Intent::Pause,
        ..Options::new(recording)
    };
    let transport = player.transport();
    let running = player.start(paused, Source::empty(), Null)?;
    let sessions: Vec<Session> = (0..CLIENTS)
        .map(|number| open(endpoint, &format!("client_{number}")))
        .collect::<Result<_, _>>()?;
    for session in &sessions {
        while session.players().len() < 2 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    println!("ready");
    let second = Second::default();
    let mut responses = thread::scope(|scope| -> Result<Vec<Duration>, Failure> {
        let calling: Vec<_> = sessions
            .iter()
            .map(|session| scope.spawn(|| call(session, &second)))
            .collect();
        for line in std::io::stdin().lines() {
            second.0.store(line?.parse()?, Ordering::Relaxed);
        }
        // The pipe is closed early only if the other process has failed.
        second.0.store(OVER, Ordering::Relaxed);
        let mut all = Vec::new();
        for client in calling {
            all.extend(client.join().map_err(|_| "a client panicked")??);
        }
        Ok(all)
    })?;
    responses.sort_unstable();
    let at = |share: usize| responses.get(responses.len() * share / 100);
    println!(
        "{} calls of this player, each takes p50 {:?}, p99 {:?}",
        responses.len(),
        at(50),
        at(99)
    );
    transport.send(bagplay::player::Command::Stop)?;
    drop(services);
    running.join()?;
    Ok(())
}

fn open(endpoint: &str, name: &str) -> Result<Session, Failure> {
    let options = WireOptions {
        node_name: name.to_owned(),
        connect: vec![endpoint.to_owned()],
        ..WireOptions::default()
    };
    Ok(Session::open(&options, |_| {})?)
}

/// Calls services in turns, on a grid, of the player that is to be called in this second, until the run is over. Returns
/// how long the calls of the player took that is measured.
fn call(session: &Session, second: &Second) -> Result<Vec<Duration>, Failure> {
    let players = session.players();
    let client = |is_other| -> Result<_, Failure> {
        let is_it = |player: &&FoundPlayer| (player.node == format!("/{OTHER}")) == is_other;
        let player = players.iter().find(is_it).ok_or("a player is missing")?;
        let patience = Duration::from_secs(10);
        Ok(PlayerClient::new(session, player.clone(), patience))
    };
    let (player, other) = (client(false)?, client(true)?);
    let mut responses = Vec::new();
    let began = Instant::now();
    for turn in 0_u64.. {
        let due = began + Duration::from_secs(1) * u32::try_from(turn)? / u32::try_from(CALLS)?;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let (kind, asked) = (Kind::of(second.get()), Instant::now());
        let called = match kind {
            _ if second.get() == OVER => break,
            Kind::Nothing => continue,
            Kind::Other => &other,
            Kind::Player => &player,
        };
        match turn % 4 {
            0 => drop(called.is_paused()?),
            1 => drop(called.rate()?),
            2 => called.set_rate(1.0)?,
            _ => called.resume()?,
        }
        if kind == Kind::Player {
            responses.push(asked.elapsed());
        }
    }
    Ok(responses)
}
