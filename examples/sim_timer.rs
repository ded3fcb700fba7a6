//! A timer on simulated time, driven by a simulator that runs at ten times real time.
//!
//! `cargo run --example sim_timer`

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::thread;

use bagplay::clock::{Cancel, Clock, Fallback, OnJump, Rate, Timers};
use bagplay::time::{Duration, Time};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (clock, simulator) = Clock::ros(Fallback::Zero);
    simulator.activate(); // use_sim_time; there is no time yet

    let done = Cancel::new();
    let is_done = done.clone();
    let mut timers = Timers::new(&clock);
    timers.add(Duration::from_millis(500), move |_, tick| {
        println!("{} (due {})", tick.actual, tick.expected);
        if tick.actual >= Time::from_nanos(13_000_000_000) {
            is_done.cancel();
        }
    })?;

    let mut pace = Rate::from_hz(&Clock::steady(), 1_000.0)?;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut time = Time::from_nanos(10_000_000_000);
            while pace.sleep(OnJump::Continue.unless(&done)).is_ok() {
                simulator.set(time);
                time += Duration::from_millis(10);
            }
        });
        println!("{}", timers.run(OnJump::Continue.unless(&done)));
    });
    Ok(())
}
