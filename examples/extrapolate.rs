//! Time that advances between the ticks of a slow clock server that publishes its factor.
//!
//! `cargo run --example extrapolate`

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use bagplay::clock::{Clock, ClockState, Extrapolation, Fallback, OnJump};
use bagplay::time::{Duration, Speed, Time};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (clock, server) = Clock::ros(Fallback::Zero);
    server.activate();
    // Time is extrapolated for at most 250 ms after a tick, so it stops when the server dies.
    let how = Extrapolation::for_at_most(Duration::from_millis(250));
    let start = Time::from_nanos(50_000_000_000);
    let steady = Clock::steady();
    let wait = |millis| steady.sleep_for(Duration::from_millis(millis), OnJump::Continue);

    server.set_state(ClockState::new(start, Some(Speed::from_f64(2.0)?)), how);
    wait(100)?;
    println!("at double speed, 100 ms after the tick: {}", clock.now());
    clock.sleep_until(start + Duration::from_millis(400), OnJump::Continue)?;
    println!("slept until 400 ms without another tick: {}", clock.now());
    wait(500)?;
    println!("no tick for 500 ms, the time stands: {}", clock.now());
    server.set_state(ClockState::new(start + Duration::from_secs(1), None), how);
    wait(50)?;
    println!("paused: {}", clock.now());
    Ok(())
}
