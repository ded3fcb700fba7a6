//! Damage on the bar: from the start, once it was met, and in a part that is written.

use std::path::{Path, PathBuf};

use bagplay::bag::{Bag, DamageKind};

use crate::pty::terminal_session::{ENTER, demo, play_bag};

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
        let is_counted = frame.has("1 damaged  up to ") && frame.has(" messages lost");
        is_on_bar && frame.rows.iter().any(|row| is_lane(&row)) && is_counted
    });
    session.keys("q");
    session.wait_end();
}

#[test]
fn a_part_with_damage_is_written_with_a_warning_before_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let (_, spoiled) = damaged(folder.path());
    let args = ["--wire", "null", "--start-paused"];
    let mut session = play_bag(&spoiled, &args).size(160, 30).run();
    session.wait_for("damage", |frame| {
        frame.has("PAUSED") && frame.row("├").contains('╳')
    });
    session.keys("0l");
    session.wait_text("A at ");
    session.keys("9l");
    session.wait_text("loop A-B");
    session.keys("x");
    session.wait_text("warning: damage between A and B, 1 part: up to ");
    let out = folder.path().join("part.mcap");
    session.keys(&format!("{}{}{ENTER}", "\x15", out.to_str().unwrap()));
    let frame = session.wait_text("; damage: 1 damaged chunk copied unchanged, up to ");
    assert!(
        frame.has("part.mcap: ") && frame.has(" messages lost"),
        "{frame}"
    );
    let kinds: Vec<_> = Bag::open(&[&out])
        .unwrap()
        .check_chunks()
        .into_iter()
        .map(|it| it.kind)
        .collect();
    assert!(
        matches!(kinds[..], [DamageKind::Checksum | DamageKind::Compression]),
        "{kinds:?}"
    );
    session.keys("q");
    session.wait_end();
}
