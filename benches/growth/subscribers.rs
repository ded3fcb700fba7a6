//! What each message costs the thread of the player, against the number of its subscribers.
//!
//! All are in this process: either many subscribers in one zenoh session, or one in each of several sessions.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bagplay::bag::{Bag, Cues, Selection, TopicId};
use bagplay::player::{Options, Pace, Player, Source};
use bagplay::wire::{Played, Session, WireEvent, WireOptions};
use zenoh::Wait;

use super::Failure;
use super::curve::Cost;
use super::timed::Timed;

pub(crate) const MESSAGES: u64 = 20_000;
/// The key of the topic, for each type hash.
const KEY: &str = "0/robot_0/topic_0/**";
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the player takes at most to hear of all subscribers of this process.
const SETTLED: Duration = Duration::from_millis(500);

pub(crate) fn measure(
    recording: &Path,
    count: u64,
    is_one_session: bool,
) -> Result<Vec<Cost>, Failure> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    let endpoint = format!("tcp/127.0.0.1:{port}");
    let (tell, matched) = crossbeam_channel::bounded(1);
    let options = WireOptions {
        listen: vec![endpoint.clone()],
        ..WireOptions::default()
    };
    let session = Session::open(&options, move |event| {
        if matches!(event, WireEvent::Matching { matched: true, .. }) {
            let _ = tell.try_send(());
        }
    })?;
    let bag = Bag::open(&[recording])?;
    let topic = bag.topics()[0].clone();
    let played = Played {
        id: TopicId(0),
        name: topic.name.clone(),
        topic,
        qos: None,
    };
    let (out, _) = session.advertise(&[played], None)?;

    let (done, ended) = crossbeam_channel::bounded(1);
    let arrived = Arc::new(AtomicU64::new(0));
    let (sessions, of_each) = if is_one_session {
        (1, count)
    } else {
        (count, 1)
    };
    let (mut open, mut kept) = (Vec::new(), Vec::new());
    for _ in 0..sessions {
        let session = connect(&endpoint)?;
        for _ in 0..of_each {
            let (arrived, done) = (Arc::clone(&arrived), done.clone());
            let callback = move |_| {
                if arrived.fetch_add(1, Ordering::Relaxed) + 1 == MESSAGES * count {
                    let _ = done.try_send(now());
                }
            };
            kept.push(session.declare_subscriber(KEY).callback(callback).wait()?);
        }
        open.push(session);
    }
    matched.recv_timeout(PATIENCE)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing tells how many are known"
    )]
    std::thread::sleep(SETTLED);

    let unpaced = Player::new();
    let cues = Cues::new(bag.clone(), Selection::all(&bag), 64 << 20, unpaced.waker());
    let options = Options {
        pace: Pace::Max,
        ..Options::new(bag.range().ok_or("no messages")?)
    };
    let out = Timed::new(out);
    let (_, out) = unpaced.start(options, Source::of(cues), out)?.join()?;
    let last_arrival = ended.recv_timeout(PATIENCE).map_err(|_| {
        let missing = MESSAGES * count - arrived.load(Ordering::Relaxed);
        format!("{missing} messages did not arrive")
    })?;
    let (nanos, last_put) = out.spent()?;
    drop((kept, open, out, session));
    let after = last_arrival.saturating_duration_since(last_put);
    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
    let for_each = nanos as f64 / 1e3 / MESSAGES as f64;
    Ok(vec![
        Cost::new("thread of the player", for_each, "µs/msg"),
        Cost::new("last put to last arrival", after.as_secs_f64() * 1e6, "µs"),
    ])
}

fn connect(endpoint: &str) -> Result<zenoh::Session, Failure> {
    let mut config = zenoh::Config::default();
    let endpoints = format!("[\"{endpoint}\"]");
    for (key, value) in [
        ("mode", "\"client\""),
        ("connect/endpoints", &endpoints),
        ("scouting/multicast/enabled", "false"),
        ("connect/timeout_ms", "10000"),
    ] {
        config.insert_json5(key, value)?;
    }
    zenoh::open(config).wait()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn now() -> Instant {
    Instant::now()
}
