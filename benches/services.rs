//! Whether calls of services make messages late: 1,000 messages a second at 1×, while eight clients call the services of
//! the player 1,000 times a second in every other second, and not at all in between.
//!
//! `cargo bench --bench services [-- SECONDS]`. One process: the player with its router, and eight clients, each with a
//! session of its own. The seconds alternate within one run, so that other work of the machine affects both kinds alike.
//! Prints the lateness of messages in the seconds with calls and in those without, the ratio, and the time from a
//! call to its response.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod recording;

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bagplay::bag::{Bag, Cues, Message, Selection, TopicId};
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::player::{ClockOptions, Options, Player, Source, Transport};
use bagplay::time::{self, Ros, Segment, Time};
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

/// The second of the recording that is played; clients call in odd ones.
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
        let due = self.segment.and_then(|it| it.wall_at(message.log_time));
        let late = usize::try_from(second)
            .ok()
            .and_then(|at| self.late.get_mut(at));
        if let Some((due, late)) = due.zip(late) {
            late.push(now.saturating_since(due).as_nanos());
        }
        self.inner.message(message, occasion)
    }
}

fn main() -> Result<(), Failure> {
    let seconds: u64 = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(20);
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("kilohertz.mcap");
    recording::write(&path, seconds * HZ, HZ).map_err(|error| error.to_string())?;
    let bag = Bag::open(&[path])?;
    println!("lateness at 1x, {HZ} messages a second, {seconds} s, microseconds");
    println!(
        "{:<16} {:>8} {:>8} {:>9} {:>14}",
        "seconds", "p50", "p99", "max", "median of p99"
    );
    let (late, mut responses) = play(&bag, seconds)?;
    // The first two seconds warm up.
    let of_kind = |odd| {
        let seconds = late.iter().enumerate().skip(2);
        let seconds = seconds.filter(move |(at, _)| (at % 2 == 1) == odd);
        seconds.map(|(_, late)| late.clone()).collect::<Vec<_>>()
    };
    let quiet = show("without calls", &of_kind(false));
    let called = show("with calls", &of_kind(true));
    responses.sort_unstable();
    let at = |share: usize| responses.get(responses.len() * share / 100);
    println!(
        "{} calls, each takes p50 {:?}, p99 {:?}",
        responses.len(),
        at(50),
        at(99)
    );
    println!(
        "p99 with calls by p99 without: {:.2} (all messages), {:.2} (median of seconds)",
        called.0 / quiet.0,
        called.1 / quiet.1
    );
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
        "{name:<16} {:>8.2} {p99:>8.2} {:>9.2} {median:>14.2}",
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

/// Plays the recording once: how late its messages were in each second, and how long the calls took.
fn play(bag: &Bag, seconds: u64) -> Result<(Vec<Vec<i64>>, Vec<Duration>), Failure> {
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
    let sessions: Vec<Session> = (0..CLIENTS)
        .map(|number| open(&endpoint, &format!("client_{number}")))
        .collect::<Result<_, _>>()?;
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
    let running = player.start(options, Source::of(cues), out)?;
    let (report, responses) = thread::scope(|scope| {
        let calling: Vec<_> = sessions
            .iter()
            .map(|session| scope.spawn(|| call(session, second)))
            .collect();
        let report = running.join();
        second.0.store(OVER, Ordering::Relaxed);
        let responses = calling.into_iter().map(thread::ScopedJoinHandle::join);
        (report, responses.collect::<Vec<_>>())
    });
    let (_, out) = report?;
    drop(services);
    let mut all = Vec::new();
    for responses in responses {
        all.extend(responses.map_err(|_| "a client panicked")??);
    }
    Ok((out.late, all))
}

fn open(endpoint: &str, name: &str) -> Result<Session, Failure> {
    let options = WireOptions {
        node_name: name.to_owned(),
        connect: vec![endpoint.to_owned()],
        ..WireOptions::default()
    };
    Ok(Session::open(&options, |_| {})?)
}

/// Calls the player's services in turns, on a grid, in odd seconds, until the run is over.
fn call(session: &Session, second: &Second) -> Result<Vec<Duration>, Failure> {
    let player = loop {
        if let Some(player) = session.players().first() {
            break FoundPlayer::clone(player);
        }
        thread::sleep(Duration::from_millis(1));
    };
    let client = PlayerClient::new(session, player, Duration::from_secs(10));
    let mut responses = Vec::new();
    let began = Instant::now();
    for turn in 0_u64.. {
        let due = began + Duration::from_secs(1) * u32::try_from(turn)? / u32::try_from(CALLS)?;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        match second.get() {
            OVER => break,
            quiet if quiet % 2 == 0 => continue,
            _ => {}
        }
        let asked = Instant::now();
        match turn % 4 {
            0 => drop(client.is_paused()?),
            1 => drop(client.rate()?),
            2 => client.set_rate(1.0)?,
            _ => client.resume()?,
        }
        responses.push(asked.elapsed());
    }
    Ok(responses)
}
