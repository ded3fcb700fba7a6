//! Damage on the bar: from the start, and once it was met.

use std::path::{Path, PathBuf};

use crate::pty::terminal_session::{demo, play_bag};

/// The demo cut in half, and with a damaged chunk.
pub(crate) fn damaged(folder: &Path) -> (PathBuf, PathBuf) {
    let mut bytes = std::fs::read(demo()).unwrap();
    let cut = folder.join("cut.mcap");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let chunks = mcap::Summary::read(&bytes).unwrap().unwrap().chunk_indexes;
    let middle = usize::try_from(chunks[chunks.len() / 2].chunk_start_offset).unwrap() + 1_000;
    bytes[middle..middle + 100].fill(0x55);
    let spoiled = folder.join("spoiled.mcap");
    std::fs::write(&spoiled, bytes).unwrap();
    (cut, spoiled)
}

#[test]
fn a_missing_end_is_on_the_bar_and_counted_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (cut, _) = damaged(folder.path());
    let args = ["--wire", "null", "--start-paused"];
    let mut session = play_bag(&cut, &args).size(120, 30).run();
    session.wait_for("damage", |frame| {
        frame.has("╳┤") && frame.has("PAUSED") && frame.has("1 damaged")
    });
    session.keys("\t");
    let frame = session.wait_text(" on: cut.mcap: its last ");
    assert!(frame.has("damage from +00:"), "{frame}");
    session.keys("q");
    session.wait_end();
}

#[test]
fn what_is_lost_by_damage_is_on_the_bar_once_reading_ahead_has_met_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_, spoiled) = damaged(folder.path());
    let args = ["--wire", "null", "--start-paused"];
    let mut session = play_bag(&spoiled, &args).size(120, 30).run();
    // Also in the lanes of the topics that had messages there.
    let is_lane = |row: &&String| row.contains("/imu") && row.contains('╳');
    session.wait_for("damage", |frame| {
        let is_on_bar = frame.has("PAUSED") && frame.row("├").contains('╳');
        is_on_bar && frame.rows.iter().any(|row| is_lane(&row)) && frame.has("1 damaged")
    });
    session.keys("q");
    session.wait_end();
}
