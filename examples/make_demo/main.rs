//! Makes `testdata/demo.mcap`: 30 s of a small robot that drives a lap in a room.
//!
//! `cargo run --example make_demo [PATH]`. The file is the same, byte for byte, each time.
//! `drive` has the times of the messages, `messages` their contents, `course` and `room` the path of the robot and its
//! surroundings, `recorder` the file.

mod camera;
mod cdr;
mod course;
mod drive;
mod messages;
mod noise;
mod recorder;
mod room;
mod topics;

use std::path::PathBuf;

fn main() -> anyhow::Result<()> {
    let path = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("testdata/demo.mcap"), PathBuf::from);
    let messages = drive::session()?;
    recorder::write(&path, &messages)?;
    eprintln!(
        "wrote {} messages to {}",
        messages.len(),
        path.to_string_lossy()
    );
    Ok(())
}
