//! Playing at unlimited rate to a subscriber, compared with a loop that puts the same payloads from memory.
//!
//! `cargo bench --bench unpaced`. One process, two zenoh sessions on loopback, in turns. The loop has the
//! payloads in memory already and puts them with a plain zenoh publisher of the same settings; `play`
//! reads, decompresses, orders, keeps its clock and its counts. Prints both rates and their ratio, and
//! checks that nothing was lost. The processor time of the thread that puts shows what a put costs when nothing else
//! needs its core. Words after `--` select rows: `-- strings`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod recording;
mod report;
mod timed;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bagplay::bag::{Bag, Cues, Direction, Selection, StartAt, TopicId};
use bagplay::player::{Options, Pace, Player, Source};
use bagplay::wire::{Played, Session, WireEvent, WireOptions};
use report::{Figure, Report, Series};
use timed::{Timed, processor_nanos};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const TURNS: usize = 5;

/// The key of the topic, as ROS 2 nodes publish and subscribe to it.
const KEY: &str = "0/chatter/std_msgs::msg::dds_::String_/\
                   RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

/// A recording: its name, messages, bytes per message, chunk size.
const RECORDINGS: [(&str, u64, usize, u64); 3] = [
    ("strings of 69 B", 400_000, 69, 1 << 20),
    ("scans of 10 kB", 40_000, 10_000, 1 << 20),
    ("images of 1 MB", 600, 1_000_000, 4 << 20),
];

fn main() -> Result<(), Failure> {
    println!("unpaced on loopback, median of {TURNS} turns");
    println!(
        "{:<18} {:>14} {:>14} {:>7} {:>6} {:>13} {:>13} {:>7}",
        "", "loop msg/s", "player msg/s", "ratio", "lost", "loop µs/msg", "player µs/msg", "ratio"
    );
    let dir = tempfile::tempdir()?;
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let is_chosen =
        |name: &str| chosen.is_empty() || chosen.iter().any(|word| name.contains(word.as_str()));
    let mut report = Report::begin(if chosen.is_empty() {
        "unpaced"
    } else {
        "unpaced-part"
    });
    let mut by_size = [Vec::new(), Vec::new()];
    for (name, messages, size, chunk) in RECORDINGS {
        if !is_chosen(name) {
            continue;
        }
        let path = dir.path().join("unpaced.mcap");
        recording::write_sized(&path, messages, size, chunk)?;
        let bag = Bag::open(&[&path])?;
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
    for (name, points) in ["put loop", "player"].into_iter().zip(by_size) {
        report.draw(Series::new("throughput", name, points));
    }
    Ok(report.write()?)
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

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Sends all messages of a bag to the subscriber at an endpoint on which it listens. The session is kept until they have
/// arrived: closing it does not wait for them.
type Sender = fn(&str, &Bag, &Listener) -> Result<Box<dyn Any>, Failure>;

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
fn turn(bag: &Bag, messages: u64, send: Sender) -> Result<Turn, Failure> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    let endpoint = format!("tcp/127.0.0.1:{port}");
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
            let session = open("peer", "connect", &endpoint)?;
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

fn open(mode: &str, role: &str, endpoint: &str) -> zenoh::Result<zenoh::Session> {
    let mut config = zenoh::Config::default();
    let settings = [
        ("mode".to_owned(), format!("\"{mode}\"")),
        (format!("{role}/endpoints"), format!("[\"{endpoint}\"]")),
        ("scouting/multicast/enabled".to_owned(), "false".to_owned()),
        ("connect/timeout_ms".to_owned(), "10000".to_owned()),
        (
            "transport/shared_memory/enabled".to_owned(),
            "false".to_owned(),
        ),
        // As in the player's session.
        (
            "transport/link/tx/queue/size/data".to_owned(),
            "16".to_owned(),
        ),
    ];
    for (key, value) in settings {
        config.insert_json5(&key, &value)?;
    }
    zenoh::open(config).wait()
}

fn put_from_memory(
    endpoint: &str,
    bag: &Bag,
    listener: &Listener,
) -> Result<Box<dyn Any>, Failure> {
    let all = Selection::all(bag);
    let first = bag.range().ok_or("no messages")?.start();
    let messages: Vec<ZBytes> = bag
        .cursor(&all, StartAt::At(first), Direction::Forward)
        .map(|message| message.map(|message| ZBytes::from(message.payload.to_vec())))
        .collect::<Result<_, _>>()
        .map_err(|damage| damage.to_string())?;
    let session = open("router", "listen", endpoint)?;
    let publisher = session
        .declare_publisher(KEY)
        .congestion_control(CongestionControl::Block)
        .wait()?;
    let matching = publisher.matching_listener().wait()?;
    while !publisher.matching_status().wait()?.matching() {
        matching.recv()?;
    }
    listener.begin();
    let before = processor_nanos();
    for payload in messages {
        publisher.put(payload).attachment(&[0_u8; 33][..]).wait()?;
    }
    listener.spent.set(processor_nanos() - before);
    drop((matching, publisher));
    Ok(Box::new(session))
}

fn play(endpoint: &str, bag: &Bag, listener: &Listener) -> Result<Box<dyn Any>, Failure> {
    let (tell, matched) = crossbeam_channel::bounded(1);
    let options = WireOptions {
        listen: vec![endpoint.to_owned()],
        ..WireOptions::default()
    };
    let session = Session::open(&options, move |event| {
        if matches!(event, WireEvent::Matching { matched: true, .. }) {
            let _ = tell.try_send(());
        }
    })?;
    let topic = bag.topics()[0].clone();
    let played = Played {
        id: TopicId(0),
        name: topic.name.clone(),
        topic,
        qos: None,
    };
    let (out, _) = session.advertise(&[played], None)?;
    matched.recv_timeout(std::time::Duration::from_secs(10))?;
    let unpaced = Player::new();
    let cues = Cues::new(bag.clone(), Selection::all(bag), 64 << 20, unpaced.waker());
    let recording = bag.range().ok_or("no messages")?;
    let options = Options {
        pace: Pace::Max,
        ..Options::new(recording)
    };
    let messages = bag
        .message_count()
        .ok_or("the recording does not say how many messages it has")?;
    let out = Timed::new(out, messages);
    listener.begin();
    let (_, out) = unpaced.start(options, Source::of(cues), out)?.join()?;
    listener.spent.set(out.spent()?.0);
    Ok(Box::new((out, session)))
}
