//! An algorithm on a recording, without any network: `cargo run --example offline`. Two runs have equal digests.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::{Arc, atomic::AtomicU64, atomic::Ordering::Relaxed};

use bagplay::bag::Bag;
use bagplay::ci::in_process::{InProcess, InProcessError};
use bagplay::time::Duration;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
const UINT64: &str = "std_msgs/msg/UInt64";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let run = InProcess::of(&Bag::open(&[DEMO])?).tail(Duration::from_secs(1));
    let mut replay = run.record(std::env::temp_dir().join("offline.mcap"))?;
    let count = Arc::new(AtomicU64::new(0));
    let (out, seen) = (replay.outputs(), Arc::clone(&count));
    // Once a second of the recording.
    replay.timers().add(Duration::from_secs(1), move |_, _| {
        let number = seen.swap(0, Relaxed);
        out.publish("/inputs_per_second", UINT64, cdr(number));
    })?;
    let done = replay.run::<InProcessError>(|input, out| {
        count.fetch_add(1, Relaxed);
        if input.topic.name == "/scan" {
            out.publish("/scan_size", UINT64, cdr(input.message.payload.len()));
        }
        Ok(())
    })?;
    let (inputs, end) = (done.messages, done.sink.finish());
    println!("{inputs} inputs, {:#?}, digest {}", end.topics, end.digest);
    Ok(())
}

fn cdr(value: impl TryInto<u64>) -> Vec<u8> {
    let value = value.try_into().unwrap_or(u64::MAX);
    [&[0, 1, 0, 0], &value.to_le_bytes()[..]].concat()
}
