//! A program that handles a looped recording: it clears its state before the time goes back.
//!
//! `cargo run --example jump`

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::{Arc, Mutex};

use bagplay::clock::{JumpFilter, Phase, TestClock};
use bagplay::time::{Duration, Time};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let test = TestClock::new(Time::from_nanos(100_000_000_000));
    let clock = test.ros();
    let buffer = Arc::new(Mutex::new(Vec::new()));

    let (cleared, view) = (Arc::clone(&buffer), clock.clone());
    let filter = JumpFilter::new()
        .min_backward(Duration::from_nanos(1))
        .clock_changes();
    let _handle = clock.on_jump(filter, move |phase, jump| {
        println!("{phase:?} {:?}: the clock shows {}", jump.kind, view.now());
        if phase == Phase::Before {
            // No thread sees the new time before this returns: now() in other threads waits for it.
            cleared
                .lock()
                .expect("no panic in here")
                .retain(|stamp| *stamp <= jump.after);
        }
    })?;

    for _ in 0..3 {
        // Called before taking the lock that the handler takes: now() may wait for the handler.
        let now = clock.now();
        buffer.lock().expect("no panic in here").push(now);
        test.advance(Duration::from_secs(1));
    }
    test.rewind(Duration::from_millis(2_500)); // the recording begins again
    println!("kept: {:?}", buffer.lock().expect("no panic in here"));
    Ok(())
}
