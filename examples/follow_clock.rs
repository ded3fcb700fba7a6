//! A program on the time of a clock server: it says when that starts, jumps back, and each second of it.
//!
//! `play drive.mcap --clock` in one terminal, `cargo run --example follow_clock` in another.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use bagplay::clock::{Clock, JumpFilter, OnJump, Phase, SimTime, SleepError};
use bagplay::time::Duration;
use bagplay::wire::{Follow, Session, WireOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = WireOptions {
        node_name: "follower".into(),
        // Where to look for the router, if not on this machine.
        connect: std::env::args().skip(1).collect(),
        ..WireOptions::default()
    };
    let session = Session::open(&options, |event| eprintln!("{event:?}"))?;
    let sim = SimTime::new(session.clock_source(Follow::Clock));
    let clock: Clock = sim.clock();
    let filter = JumpFilter::new()
        .min_backward(Duration::from_nanos(1))
        .start();
    let _handle = clock.on_jump(filter, |phase, jump| {
        if phase == Phase::After {
            println!("{:?} {} {}", jump.kind, jump.before, jump.after);
        }
    })?;
    sim.enable()?;
    println!("ready");
    loop {
        match clock.sleep_for(Duration::from_secs(1), OnJump::ErrorOnBackward) {
            Ok(()) => println!("now {}", clock.now()),
            Err(SleepError::TimeJumped(_)) => println!("slept no longer: the time went back"),
            Err(error) => return Err(error.into()),
        }
    }
}
