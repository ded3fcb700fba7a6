//! Whether calls of services make messages late: 1,000 messages a second at 1×, alone and while eight clients call the
//! services of the player 1,000 times a second, in turns.
//!
//! `cargo bench --bench services [-- SECONDS]`. One process: the player with its router, and eight clients, each with a
//! session of its own. Prints the lateness of messages with and without calls, their ratio, and the time from
//! a call to its response.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod recording;

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bagplay::bag::{Bag, Cues, Selection, TopicId};
use bagplay::player::{ClockOptions, Lateness, Options, Player, Source};
use bagplay::time;
use bagplay::wire::{
    ClockOptions as Served, FoundPlayer, Played, PlayerClient, ServedPlayer, Session, WireOptions,
};

type Failure = Box<dyn Error + Send + Sync>;

const HZ: u64 = 1_000;
const TURNS: usize = 3;
const CLIENTS: u64 = 8;
/// Calls of one client a second.
const CALLS: u64 = 1_000 / CLIENTS;

fn main() -> Result<(), Failure> {
    let seconds: u64 = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(10);
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("kilohertz.mcap");
    recording::write(&path, seconds * HZ, HZ).map_err(|error| error.to_string())?;
    let bag = Bag::open(&[path])?;
    println!("lateness at 1x, {HZ} messages a second, turns of {seconds} s, microseconds");
    println!(
        "{:<16} {:>8} {:>8} {:>9} {:>8}",
        "", "p50", "p99", "max", "calls"
    );
    let (mut quiet, mut called) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let (late, _) = turn(&bag, 0)?;
        show("without calls", &late, 0);
        quiet.push(late.quantile(0.99).as_secs_f64());
        let (late, mut responses) = turn(&bag, CLIENTS)?;
        show("with calls", &late, responses.len());
        called.push(late.quantile(0.99).as_secs_f64());
        responses.sort_unstable();
        let at = |share: usize| responses.get(responses.len() * share / 100);
        println!("  a call takes p50 {:?}, p99 {:?}", at(50), at(99));
    }
    let ratio = median(called) / median(quiet);
    println!("p99 with calls by p99 without: {ratio:.2}");
    Ok(())
}

fn show(name: &str, late: &Lateness, calls: usize) {
    let micros = |span: time::Duration| span.as_secs_f64() * 1e6;
    println!(
        "{name:<16} {:>8.2} {:>8.2} {:>9.2} {calls:>8}",
        micros(late.quantile(0.5)),
        micros(late.quantile(0.99)),
        micros(late.max())
    );
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Plays the recording once: how late its messages were, and how long the calls took.
fn turn(bag: &Bag, clients: u64) -> Result<(Lateness, Vec<Duration>), Failure> {
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
    let (out, _) = session.advertise(&[offered], Some(clock))?;
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
    let sessions: Vec<Session> = (0..clients)
        .map(|number| open(&endpoint, &format!("client_{number}")))
        .collect::<Result<_, _>>()?;
    let running = player.start(options, Source::of(cues), out)?;
    let served = ServedPlayer {
        recording,
        shift: time::Duration::ZERO,
        topics: vec![(name, TopicId(0))],
    };
    let services = session.serve_player(&transport, served)?;
    let is_over = AtomicBool::new(false);
    let (report, responses) = thread::scope(|scope| {
        let calling: Vec<_> = sessions
            .iter()
            .map(|session| scope.spawn(|| call(session, &is_over)))
            .collect();
        let report = running.join();
        is_over.store(true, Ordering::Relaxed);
        let responses = calling.into_iter().map(thread::ScopedJoinHandle::join);
        (report, responses.collect::<Vec<_>>())
    });
    let (report, out) = report?;
    drop((services, out));
    let mut all = Vec::new();
    for responses in responses {
        all.extend(responses.map_err(|_| "a client panicked")??);
    }
    Ok((report.lateness, all))
}

fn open(endpoint: &str, name: &str) -> Result<Session, Failure> {
    let options = WireOptions {
        node_name: name.to_owned(),
        connect: vec![endpoint.to_owned()],
        ..WireOptions::default()
    };
    Ok(Session::open(&options, |_| {})?)
}

/// Calls the player's services in turns, on a grid, until it is over.
fn call(session: &Session, is_over: &AtomicBool) -> Result<Vec<Duration>, Failure> {
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
        if is_over.load(Ordering::Relaxed) {
            break;
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
