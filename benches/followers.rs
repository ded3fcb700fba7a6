//! How far apart two players are that follow one clock, and how far they are behind it. The clock server and the two
//! players with `--follow` are processes of their own, on one router.
//!
//! `cargo bench --bench followers [-- SECONDS]`. Both players play 1,000 messages a second of wall time. The n-th
//! messages of both have the same log time. This process is the router and the subscriber. It prints the time between
//! the arrivals of two such messages, and the time from the instant at which the clock passed their log time to their
//! arrival. That instant is computed from the tick that arrived with the least delay.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod recording;
mod report;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bagplay::time;
use bagplay::wire::{FoundPlayer, PlayerClient, Session, WireOptions, decode_clock};
use report::{Figure, Report};
use zenoh::Wait;
use zenoh::pubsub::Subscriber;

const PLAY: &str = env!("CARGO_BIN_EXE_play");
/// Messages a second of wall time, of each player.
const HZ: u64 = 1_000;
/// The first time of the recording and of the clock, in seconds.
const START: i64 = 1_700_000_000;
const CLOCK_START: &str = "1699999999";
const FOLLOWERS: [&str; 2] = ["a", "b"];
const TIMEOUT: Duration = Duration::from_secs(30);

fn main() -> Result<()> {
    let seconds: u64 = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(10);
    let mut report = Report::begin("followers");
    println!("two followers of one clock, {HZ} messages a second each, {seconds} s, milliseconds");
    println!(
        "{:<34}{:^28}{:^28}",
        "", "between the two", "behind the clock"
    );
    println!(
        "{:<34}{:>9}{:>9}{:>9} {:>9}{:>9}{:>9}",
        "", "p50", "p99", "max", "p50", "p99", "max"
    );
    for rate in [1, 10] {
        for (server, follower) in [
            (&[][..], &[][..]),
            (&["--clock-state"], &[]),
            (&["--clock-state"], &["--extrapolate"]),
        ] {
            let name = [&[format!("x{rate}")][..], &owned(server), &owned(follower)].concat();
            let turn = Turn::new(seconds, rate)?.run(server, follower)?;
            let [apart, behind] = [turn.apart(), turn.behind()?].map(quantiles);
            let name = name.join(" ");
            println!("{name:<34}{}{}", cells(apart), cells(behind));
            for (what, of) in [("between the two", apart), ("behind the clock", behind)] {
                for (quantile, value) in ["p50", "p99", "max"].into_iter().zip(of) {
                    let column = format!("{what}, {quantile}");
                    report.add(Figure::lower(&name, &column, value, "ms"));
                }
            }
        }
    }
    Ok(report.write()?)
}

fn owned(flags: &[&str]) -> Vec<String> {
    flags.iter().map(|&flag| flag.to_owned()).collect()
}

/// The median, p99 and the maximum in milliseconds.
fn quantiles(mut nanos: Vec<i64>) -> [f64; 3] {
    nanos.sort_unstable();
    let last = nanos.len().saturating_sub(1);
    let at = |share: usize| nanos.get(last * share / 100);
    [50, 99, 100].map(|share| at(share).map_or(f64::NAN, |&it| millis(it)))
}

fn cells(millis: [f64; 3]) -> String {
    millis.map(|it| format!("{it:>9.3}")).concat()
}

fn millis(nanos: i64) -> f64 {
    time::Duration::from_nanos(nanos).as_secs_f64() * 1e3
}

/// The network of one turn.
struct Turn {
    seconds: u64,
    rate: u64,
    endpoint: String,
    router: Session,
    subscriber: zenoh::Session,
}

/// A subscription, and what has arrived: when, and what was read.
struct Subscribed<T> {
    arrived: Receiver<(Instant, T)>,
    _subscriber: Subscriber<()>,
}

/// What has arrived: the n-th messages of both players, and the clock with its values.
struct Arrived {
    rate: u64,
    messages: [Vec<Instant>; 2],
    clock: Vec<(Instant, i64)>,
}

impl Turn {
    fn new(seconds: u64, rate: u64) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let endpoint = format!("tcp/127.0.0.1:{port}");
        let options = WireOptions {
            domain_id: Some(0),
            listen: vec![endpoint.clone()],
            ..WireOptions::default()
        };
        let router = Session::open(&options, |_| ())?;
        let mut config = zenoh::Config::default();
        for (key, value) in [
            ("mode", "\"client\"".to_owned()),
            ("connect/endpoints", format!("[{endpoint:?}]")),
            ("scouting/multicast/enabled", "false".to_owned()),
        ] {
            let inserted = config.insert_json5(key, &value);
            inserted.map_err(|error| anyhow::anyhow!("{key}: {error}"))?;
        }
        Ok(Self {
            seconds,
            rate,
            endpoint,
            router,
            subscriber: zenoh::open(config).wait().map_err(boxed)?,
        })
    }

    fn run(&self, server: &[&str], follower: &[&str]) -> Result<Arrived> {
        let dir = tempfile::tempdir()?;
        let bag = dir.path().join("steady.mcap");
        let messages = self.seconds * HZ;
        recording::write(&bag, messages, HZ / self.rate)?;
        let a = self.subscribe("0/a/chatter/**", |_| Some(()))?;
        let b = self.subscribe("0/b/chatter/**", |_| Some(()))?;
        let value = |bytes: &[u8]| Some(decode_clock(bytes)?.as_nanos());
        let clock = self.subscribe("0/clock/**", value)?;

        let rate = self.rate.to_string();
        let usual = [
            "clock",
            "--start",
            CLOCK_START,
            "--start-paused",
            "--rate",
            &rate,
        ];
        let _server = self.start("server", Path::new(""), &[&usual[..], server].concat())?;
        let mut followers = Vec::new();
        for name in FOLLOWERS {
            let usual = ["--follow", "--follow-to-end", "--prefix", name, "--no-tui"];
            followers.push(self.start(name, &bag, &[&usual[..], follower].concat())?);
        }
        for name in FOLLOWERS {
            let player = self.player(name)?;
            wait_until("a follower", || {
                Ok(player.status()?.followed.ends_with("of /server"))
            })?;
        }
        self.player("server")?.resume()?;
        for Process(follower) in &mut followers {
            let code = follower.wait()?;
            ensure!(code.success(), "a follower ended with {code}");
        }
        let instants = |of: &Subscribed<()>| -> Vec<Instant> {
            of.arrived.try_iter().map(|(at, ())| at).collect()
        };
        let arrived = Arrived {
            rate: self.rate,
            messages: [instants(&a), instants(&b)],
            clock: clock.arrived.try_iter().collect(),
        };
        for of_one in &arrived.messages {
            let number = of_one.len() as u64;
            ensure!(
                number == messages,
                "{number} of {messages} messages arrived"
            );
        }
        Ok(arrived)
    }

    fn subscribe<T: Send + 'static>(
        &self,
        key: &str,
        read: impl Fn(&[u8]) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Subscribed<T>> {
        let (tell, told) = channel();
        let subscriber = self.subscriber.declare_subscriber(key.to_owned());
        let subscriber = subscriber.callback(move |sample| {
            let at = Instant::now();
            if let Some(value) = read(&sample.payload().to_bytes()) {
                // The receiver may be gone.
                let _ = tell.send((at, value));
            }
        });
        Ok(Subscribed {
            arrived: told,
            _subscriber: subscriber.wait().map_err(boxed)?,
        })
    }

    fn start(&self, name: &str, bag: &Path, args: &[&str]) -> Result<Process> {
        let bag = Some(bag).filter(|bag| !bag.as_os_str().is_empty());
        let child = Command::new(PLAY)
            .args(bag)
            .args(args)
            .args(["--node-name", name, "--connect", &self.endpoint])
            .env_remove("RUST_LOG")
            .env_remove("ROS_DOMAIN_ID")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Process(child))
    }

    fn player(&self, name: &str) -> Result<PlayerClient<'_>> {
        let node = format!("/{name}");
        let mut found: Option<FoundPlayer> = None;
        wait_until(name, || {
            let players = self.router.players();
            found = players.into_iter().find(|player| player.node == node);
            Ok(found.is_some())
        })?;
        let player = found.context("a player")?;
        Ok(PlayerClient::new(&self.router, player, TIMEOUT))
    }
}

impl Arrived {
    /// The time between the arrivals of messages of the same number, in nanoseconds.
    fn apart(&self) -> Vec<i64> {
        let [a, b] = &self.messages;
        a.iter().zip(b).map(|(a, b)| nanos(*a, *b).abs()).collect()
    }

    /// How long after the clock passed their time the messages arrived, in nanoseconds.
    fn behind(&self) -> Result<Vec<i64>> {
        let &(first, _) = self.clock.first().context("no clock")?;
        let rate = i64::try_from(self.rate)?;
        let start = START * 1_000_000_000;
        let wall_of = |time: i64| (time - start) / rate;
        // While it was paused, its first value was repeated.
        let held = self.clock.first().map(|(_, value)| *value);
        let ticks = self.clock.iter().filter(|(_, value)| Some(*value) != held);
        let passes_start = ticks.map(|(at, value)| nanos(first, *at) - wall_of(*value));
        let passes_start = passes_start.min().context("the clock stood")?;
        let period = 1_000_000_000 / i64::try_from(HZ)?;
        let behind = |(n, at): (i64, &Instant)| nanos(first, *at) - passes_start - n * period;
        let of_both = self.messages.iter();
        Ok(of_both
            .flat_map(|messages| (0..).zip(messages).map(behind))
            .collect())
    }
}

/// From `a` to `b`.
fn nanos(a: Instant, b: Instant) -> i64 {
    let ahead = b.saturating_duration_since(a).as_nanos();
    let back = a.saturating_duration_since(b).as_nanos();
    i64::try_from(ahead).unwrap_or(i64::MAX) - i64::try_from(back).unwrap_or(i64::MAX)
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !is_so()? {
        ensure!(begun.elapsed() < TIMEOUT, "no {what}");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn boxed(error: zenoh::Error) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}

/// A process that is killed when this is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
