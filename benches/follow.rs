//! The cost of following a clock: from a put on `/clock` to the return of a sleeper, and the processor time of fifty
//! clocks at 1 kHz.
//!
//! `cargo bench --bench follow`. The first with two sessions on loopback and a router in this process. For the second,
//! the server and its router are another process, as `play` is; the limit is a zenoh subscriber of the same messages
//! that does nothing.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod report;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use bagplay::clock::{Clock, OnJump, SimTime};
use bagplay::time::{Duration, Time};
use bagplay::wire::{Follow, Session, WireOptions, encode_clock};
use hdrhistogram::Histogram;
use report::{Figure, Report};
use zenoh::Wait;

const KEY: &str = "0/clock/rosgraph_msgs::msg::dds_::Clock_/RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564";
const TICK: Duration = Duration::from_millis(1);
/// As the first argument: be the server, on the endpoint that follows.
const SERVE: &str = "serve";
/// How long the processor time is measured.
const SPAN: std::time::Duration = std::time::Duration::from_secs(5);

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(SERVE) {
        return serve(&arguments.next().context("an endpoint")?);
    }
    let mut report = Report::begin("follow");
    wake_ups(&mut report)?;
    let alone = share_beside_server(|endpoint| {
        let session = client(endpoint)?;
        let subscriber = session.declare_subscriber(KEY).callback(drop);
        Ok((subscriber.wait().map_err(boxed)?, session))
    })?;
    let fifty = share_beside_server(|endpoint| {
        let follower = Session::open(&options("tcp/127.0.0.1:0", Some(endpoint)), |_| ())?;
        let sim = SimTime::new(follower.clock_source(Follow::Clock));
        let clocks: Vec<Clock> = (0..50).map(|_| sim.clock()).collect();
        sim.enable()?;
        let steady = Clock::steady();
        while !clocks.iter().all(Clock::started) {
            steady.sleep_for(TICK, OnJump::Continue)?;
        }
        Ok((clocks, sim, follower))
    })?;
    println!(
        "fifty clocks at 1 kHz: {:.1} % of a core; a subscriber that does nothing: {:.1} %",
        fifty * 100.0,
        alone * 100.0
    );
    let name = "fifty clocks at 1 kHz";
    report.add(
        Figure::lower(name, "of a core", fifty * 100.0, "%")
            .against("limit: a zenoh subscriber", alone * 100.0),
    );
    Ok(report.write()?)
}

fn options(listen: &str, connect: Option<&str>) -> WireOptions {
    WireOptions {
        domain_id: Some(0),
        listen: vec![listen.to_owned()],
        connect: connect.map(str::to_owned).into_iter().collect(),
        ..WireOptions::default()
    }
}

fn free_endpoint() -> Result<String> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    Ok(format!("tcp/{address}"))
}

/// A zenoh session with no other link than to this endpoint.
fn client(endpoint: &str) -> Result<zenoh::Session> {
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", "\"client\"".to_owned()),
        ("connect/endpoints", format!("[{endpoint:?}]")),
        ("connect/timeout_ms", "10000".to_owned()),
        ("scouting/multicast/enabled", "false".to_owned()),
    ] {
        let inserted = config.insert_json5(key, &value);
        inserted.map_err(|error| anyhow::anyhow!("{key}: {error}"))?;
    }
    zenoh::open(config).wait().map_err(boxed)
}

/// From a put on `/clock` to the return of a sleeper.
fn wake_ups(report: &mut Report) -> Result<()> {
    let endpoint = free_endpoint()?;
    let _router = Session::open(&options(&endpoint, None), |_| ())?;
    let follower = Session::open(&options("tcp/127.0.0.1:0", Some(&endpoint)), |_| ())?;
    let server = client(&endpoint)?;
    let publisher = server.declare_publisher(KEY).express(true).wait();
    let publisher = publisher.map_err(boxed)?;

    let sim = SimTime::new(follower.clock_source(Follow::Clock));
    let clock = sim.clock();
    sim.enable()?;
    let steady = Clock::steady();
    let mut time = Time::from_nanos(1_000_000_000);
    let put = |time| publisher.put(encode_clock(time).bytes).wait();
    while !clock.started() {
        put(time).map_err(boxed)?;
        steady.sleep_for(TICK, OnJump::Continue)?;
    }

    let mut woken = Histogram::<u64>::new(3)?;
    for _ in 0..2000 {
        time += TICK;
        let (sleeper, until) = (clock.clone(), time);
        let asleep = std::thread::spawn(move || {
            let slept = sleeper.sleep_until(until, OnJump::Continue);
            (slept, Instant::now())
        });
        steady.sleep_for(TICK, OnJump::Continue)?;
        let begun = Instant::now();
        put(time).map_err(boxed)?;
        let (slept, returned) = asleep.join().map_err(|_| anyhow::anyhow!("a panic"))?;
        slept?;
        woken.record(u64::try_from((returned - begun).as_nanos())?)?;
    }
    let micros = |quantile| std::time::Duration::from_nanos(woken.value_at_quantile(quantile));
    println!(
        "put to return of sleep_until: p50 {:?}, p99 {:?}",
        micros(0.5),
        micros(0.99)
    );
    for (column, quantile) in [("p50", 0.5), ("p99", 0.99)] {
        let millis = micros(quantile).as_secs_f64() * 1e3;
        report.add(Figure::lower(
            "put to return of `sleep_until`",
            column,
            millis,
            "ms",
        ));
    }
    Ok(())
}

/// The share of a core that this process uses while it follows a server of another process.
fn share_beside_server<T>(follow: impl FnOnce(&str) -> Result<T>) -> Result<f64> {
    let endpoint = free_endpoint()?;
    let server = Server::start(&endpoint)?;
    let followed = follow(&endpoint)?;
    let (cpu, wall) = (cpu_seconds()?, Instant::now());
    std::thread::sleep(SPAN);
    let share = (cpu_seconds()? - cpu) / wall.elapsed().as_secs_f64();
    drop((followed, server));
    Ok(share)
}

/// This program as the server, until this is dropped.
struct Server(Child);

impl Server {
    fn start(endpoint: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([SERVE, endpoint]).stdin(Stdio::piped());
        Ok(Self(command.spawn()?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

/// A router that puts a clock at 1 kHz until the end of its input.
fn serve(endpoint: &str) -> Result<()> {
    let session = Session::open(&options(endpoint, None), |_| ())?;
    let server = client(endpoint)?;
    let publisher = server.declare_publisher(KEY).express(true).wait();
    let publisher = publisher.map_err(boxed)?;
    let put = move || -> Result<()> {
        let (steady, mut time) = (Clock::steady(), Time::from_nanos(1_000_000_000));
        loop {
            time += TICK;
            publisher
                .put(encode_clock(time).bytes)
                .wait()
                .map_err(boxed)?;
            steady.sleep_for(TICK, OnJump::Continue)?;
        }
    };
    std::thread::spawn(put);
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    drop(session);
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn boxed(error: zenoh::Error) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}

/// The processor time of this process so far.
fn cpu_seconds() -> Result<f64> {
    let times = std::fs::read_to_string("/proc/self/stat")?;
    let fields = times.rsplit(')').next().context("a name in brackets")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || -> Result<f64> { Ok(fields.next().context("a time")?.parse()?) };
    Ok((ticks()? + ticks()?) / 100.0)
}
