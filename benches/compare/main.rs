//! `play` beside `ros2 bag play` and a bare loop of puts, measured from outside: a subscriber in this process, each
//! sender in a process of its own, in turns.
//!
//! `cargo bench --bench compare [-- SECONDS [TURNS]]` (default 20 and 3). `scenario.rs` makes the recordings: `small`,
//! 1,000 strings of 69 bytes a second, and `image`, 30 images of 1 MB and 200 imu messages a second in zstd chunks.
//! Each sender sends each of them at ×1 and as fast as it can. `ros2 bag play` takes part if `ros2` is on the path; it
//! uses `rmw_zenoh_cpp`. The loop has all messages in memory: what it takes is the limit of the machine. Figures are
//! medians over the turns.
//!
//! At full speed, the loop and `play` wait for the subscriber before the first message. At ×1 `play` waits for the
//! links to nodes that it finds at its start, and `ros2 bag play` for none: messages that are sent before a link is
//! there count as lost.
//!
//! The path of a message: a sender (`sender.rs`) starts a process, which puts the message with its log time in the
//! payload; the subscriber (`subscriber.rs`) notes log time and instant of arrival; `outcome.rs` makes figures of both.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod bare_loop;
mod outcome;
#[path = "../report/mod.rs"]
mod report;
mod scenario;
mod sender;
mod subscriber;
mod table;

use std::path::Path;

use anyhow::Result;
use outcome::Outcome;
use scenario::{SCENARIOS, Scenario};
use sender::{Pace, Sender};
use subscriber::Network;
use table::Measured;

fn main() -> Result<()> {
    if bare_loop::is_asked_for() {
        return bare_loop::run();
    }
    let mut numbers = std::env::args().filter_map(|arg| arg.parse().ok());
    let seconds: u64 = numbers.next().unwrap_or(20);
    let turns = numbers.next().unwrap_or(3);
    let senders = Sender::installed();
    let mut report = report::Report::begin("compare");
    println!("measured at a subscriber, {seconds} s of recording, median of {turns} turns");
    if !senders.contains(&Sender::Ros2) {
        println!("ros2 is not installed: compared with the bare loop alone");
    }
    let dir = tempfile::tempdir()?;
    for scenario in SCENARIOS {
        let bag = dir.path().join(format!("{}.mcap", scenario.name));
        scenario.write(&bag, seconds)?;
        let mut measured = Measured::new(&scenario, &senders);
        for turn in 1..=turns {
            eprintln!("{}, turn {turn} of {turns}", scenario.name);
            for sender in &senders {
                for pace in [Pace::Recorded, Pace::Fastest] {
                    let outcome = measure(&scenario, seconds, &bag, *sender, pace)?;
                    measured.add(*sender, pace, outcome);
                }
            }
        }
        measured.print();
        measured.report(&mut report);
        std::fs::remove_file(bag)?;
    }
    Ok(report.write()?)
}

/// One sender sends one recording once.
fn measure(
    scenario: &Scenario,
    seconds: u64,
    bag: &Path,
    sender: Sender,
    pace: Pace,
) -> Result<Outcome> {
    let network = Network::open(scenario)?;
    let process = sender.run(scenario, seconds, bag, pace, network.endpoint())?;
    let arrivals = network.close()?;
    Outcome::of(scenario, seconds, &process, &arrivals)
}
