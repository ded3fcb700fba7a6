//! How many frames a second the bar draws while the playhead is dragged over a large recording.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::recording;
use crate::report::{Figure, Report};
use crate::tape::Tape;

/// The size of the recording in bytes.
const SIZE: u64 = 5_000_000_000;
/// A terminal reports a mouse that moves about so often.
const MOVES: Duration = Duration::from_millis(10);
/// The bar begins each frame with this.
const FRAME: &[u8] = b"\x1b[?2026h";

/// Drags the playhead to and fro over 5 GB of a camera and two topics of numbers, with a picture and two plots of
/// 200×50, and counts the frames of that time.
pub(crate) fn dragging(seconds: u64, report: &mut Report) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let dir = std::env::var_os("BAGPLAY_BENCH_DIR").map_or(temporary.path().into(), PathBuf::from);
    let path = dir.join("camera-5gb.mcap");
    let images = crate::images()?;
    let bytes: usize = images.iter().map(Vec::len).sum();
    let each_second = 30 * bytes as u64 / images.len() as u64;
    recording::write_camera(&path, SIZE / each_second, &images)?;
    let bag = path.to_string_lossy().into_owned();
    let mut tape = Tape::play_with(&[&bag, "--wire", "null", "--start-paused"], crate::WATCHED)?;
    for text in crate::SHOWN {
        tape.wait_for(text)?;
    }
    let rows = tape.seen.screen().contents();
    let bar = rows.lines().position(|row| row.starts_with('├'));
    let row = bar.context("a bar")? + 1;
    write!(tape.keys, "\x1b[<0;20;{row}M")?;
    while tape.output.try_recv().is_ok() {}
    let begun = Instant::now();
    let mut output = Vec::new();
    for turn in 0..seconds * 100 {
        let due = begun + MOVES * u32::try_from(turn)?;
        while let Ok(more) = tape
            .output
            .recv_timeout(due.saturating_duration_since(Instant::now()))
        {
            output.extend_from_slice(&more);
        }
        let column = 20 + (turn % 320).abs_diff(160);
        write!(tape.keys, "\x1b[<32;{column};{row}M")?;
    }
    let took = begun.elapsed().as_secs_f64();
    let frames = output
        .windows(FRAME.len())
        .filter(|it| *it == FRAME)
        .count();
    #[expect(clippy::cast_precision_loss, reason = "a count for a figure")]
    let rate = frames as f64 / took;
    println!("dragging over 5 GB, a picture and two plots of 200×50: {rate:.1} frames a second");
    let name = "dragging over 5 GB, a picture and two plots of 200×50";
    report.add(Figure::higher(name, "frames a second", rate, "/s"));
    tape.child.kill()?;
    tape.child.wait()?;
    std::fs::remove_file(path)?;
    Ok(())
}
