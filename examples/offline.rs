//! An algorithm that runs on a recording without any network: `cargo run --example offline [FILE]`, twice with equal results.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bagplay::bag::Bag;
use bagplay::ci::in_process::InProcess;
use bagplay::time::Duration;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bag = Bag::open(&[std::env::args().nth(1).unwrap_or(DEMO.into())])?;
    let mut replay = InProcess::of(&bag).tail(Duration::from_secs(1)).start();
    let seen = Arc::new(AtomicU64::new(0));

    // A timer of ROS time: once a second of the recording.
    let (out, count) = (replay.outputs(), Arc::clone(&seen));
    replay.timers().add(Duration::from_secs(1), move |_, _| {
        let count = count.swap(0, Ordering::Relaxed);
        out.publish("/messages_per_second", "std_msgs/msg/UInt64", cdr(count));
    })?;
    // A callback: the size of each scan.
    let done = replay.run::<Box<dyn std::error::Error>>(|input, out| {
        seen.fetch_add(1, Ordering::Relaxed);
        if input.topic.name == "/scan" {
            let size = input.message.payload.len() as u64;
            out.publish("/scan_size", "std_msgs/msg/UInt64", cdr(size));
        }
        Ok(())
    })?;
    println!(
        "{} messages in, {} out; the last:",
        done.messages,
        done.sink.len()
    );
    println!("{:?}", done.sink.last());
    Ok(())
}

fn cdr(value: u64) -> Vec<u8> {
    [&[0, 1, 0, 0], &value.to_le_bytes()[..]].concat()
}
