//! The cost of following a clock: from a put on `/clock` to the return of a sleeper, and the processor time of fifty
//! clocks at 1 kHz.
//!
//! `cargo bench --bench follow`: two sessions on loopback in this process.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod report;

use std::net::TcpListener;
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

fn main() -> Result<()> {
    let mut report = Report::begin("follow");
    let endpoint = format!("tcp/{}", TcpListener::bind("127.0.0.1:0")?.local_addr()?);
    let options = |listen: &str, connect: Vec<String>| WireOptions {
        domain_id: Some(0),
        listen: vec![listen.to_owned()],
        connect,
        ..WireOptions::default()
    };
    let _router = Session::open(&options(&endpoint, Vec::new()), |_| ())?;
    let follower = Session::open(&options("tcp/127.0.0.1:0", vec![endpoint.clone()]), |_| ())?;
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", "\"client\"".to_owned()),
        ("connect/endpoints", format!("[{endpoint:?}]")),
        ("scouting/multicast/enabled", "false".to_owned()),
    ] {
        let inserted = config.insert_json5(key, &value);
        inserted.map_err(|error| anyhow::anyhow!("{key}: {error}"))?;
    }
    let server = zenoh::open(config).wait().map_err(boxed)?;
    let publisher = server.declare_publisher(KEY).express(true).wait();
    let publisher = publisher.map_err(boxed)?;

    let sim = SimTime::new(follower.clock_source(Follow::Clock));
    let clocks: Vec<Clock> = (0..50).map(|_| sim.clock()).collect();
    let clock = clocks.first().context("fifty")?;
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

    let (cpu, wall) = (cpu_seconds()?, Instant::now());
    for _ in 0..5000 {
        time += TICK;
        put(time).map_err(boxed)?;
        steady.sleep_for(TICK, OnJump::Continue)?;
    }
    let share = (cpu_seconds()? - cpu) / wall.elapsed().as_secs_f64();
    println!(
        "fifty clocks at 1 kHz, server and router in the same process: {:.1} % of a core",
        share * 100.0
    );
    let name = "fifty clocks at 1 kHz, with server and router";
    report.add(Figure::lower(name, "of a core", share * 100.0, "%"));
    Ok(report.write()?)
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
