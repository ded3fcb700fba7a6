//! A program that follows a clock server: it prints when the time starts, when it jumps back, and each second.
//!
//! `play drive.mcap --clock` in one terminal, `cargo run --example follow_clock` in another.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use bagplay::clock::{Clock, JumpFilter, OnJump, Phase, SimTime, SleepError};
use bagplay::time::Duration;
use bagplay::wire::{Follow, Session, WireOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = WireOptions {
        node_name: "follower".into(),
        // The address of the router, if it is not on this machine.
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
            Err(SleepError::TimeJumped(_)) => println!("the sleep ended: the time went back"),
            Err(error) => return Err(error.into()),
        }
    }
}
