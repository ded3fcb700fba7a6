//! The process of the clients, with the other player.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use bagplay::output::Null;
use bagplay::player::{Intent, Options, Player, Source};
use bagplay::time::{self, Time, TimeRange};
use bagplay::wire::{FoundPlayer, PlayerClient, ServedPlayer, Session, WireOptions};

use crate::Failure;
use crate::seconds::{Kind, OVER, Second};

const CLIENTS: u64 = 8;
/// Calls of one client a second.
const CALLS: u64 = 1_000 / CLIENTS;
/// The node of the player that is called for comparison.
const OTHER: &str = "other";

/// The process of the clients: what they are to do comes in as the number of the second.
pub(crate) fn run(endpoint: &str) -> Result<(), Failure> {
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

/// Calls services in turns, on a grid, of the player that is to be called in this second, until the run is over.
/// Returns how long the calls of the player took that is measured.
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
