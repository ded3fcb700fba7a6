//! Damage on the bar: from the start, once it was met, and in a part that is written.

use std::path::{Path, PathBuf};

use bagplay::bag::Bag;

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
    let frame = session.wait_text(" on: cut.mcap: the file ends in the middle of a record");
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

/// Playback has not come there.
#[test]
fn header_and_summary_count_the_same_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (_, spoiled) = damaged(folder.path());
    let args = ["--wire", "null", "--start-paused"];
    let mut session = play_bag(&spoiled, &args).size(120, 30).run();
    session.wait_text("1 damaged");
    session.keys("q");
    let (code, frame) = session.wait_end();
    assert_eq!(code, 0);
    let said = "1 damaged place in the recording (checksum 1), up to ";
    assert!(frame.has(said), "{frame}");
}

#[test]
fn a_part_with_damage_is_written_without_it_and_the_same_is_said_before_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let (_, spoiled) = damaged(folder.path());
    // The recorded /clock is not played then, but is a part of the recording.
    let args = ["--wire", "null", "--start-paused", "--clock"];
    let mut session = play_bag(&spoiled, &args).size(160, 30).run();
    session.wait_for("damage", |frame| {
        frame.has("PAUSED") && frame.row("├").contains('╳')
    });
    session.keys("0l");
    session.wait_text("A at ");
    session.keys("9l");
    session.wait_text("loop A-B");
    session.keys("x");
    let said = "1 damaged part, up to ";
    let frame = session.wait_text(&format!("warning: between A and B: {said}"));
    let row = frame.row(said);
    let lost = row
        .split(said)
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let said = format!("{said}{} messages lost", lost.unwrap());
    let out = folder.path().join("part.mcap");
    session.keys(&format!("{}{}{ENTER}", "\x15", out.to_str().unwrap()));
    session.wait_for("the part", |frame| {
        let is_written = |row: &String| row.contains("part.mcap: ") && row.contains(&said);
        frame.rows.iter().any(is_written)
    });
    let part = Bag::open(&[&out]).unwrap();
    assert_eq!(
        (part.check_chunks(), part.check_data_sections()),
        (vec![], vec![])
    );
    let clock = part.topics().iter().find(|topic| topic.name == "/clock");
    assert!(clock.and_then(|topic| topic.message_count) > Some(1_000));
    session.keys("q");
    session.wait_end();
}

#[test]
fn a_part_that_is_nothing_but_damage_is_not_written_and_the_reason_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (_, spoiled) = damaged(folder.path());
    let bytes = std::fs::read(demo()).unwrap();
    let chunks = mcap::Summary::read(&bytes).unwrap().unwrap().chunk_indexes;
    let lost = &chunks[chunks.len() / 2];
    let (from, to) = (lost.message_start_time + 1, lost.message_end_time - 1);
    let range = format!("{from}..{to}");
    let args = ["--wire", "null", "--start-paused", "--loop-range", &range];
    let mut session = play_bag(&spoiled, &args).size(240, 30).run();
    session.wait_text("PAUSED");
    session.keys("x");
    session.wait_text("write A-B to: ");
    let out = folder.path().join("part.mcap");
    session.keys(&format!("{}{}{ENTER}", "\x15", out.to_str().unwrap()));
    session.wait_for("the reason", |frame| {
        let has_reason = |row: &String| {
            row.contains("no message of the selected topics between ")
                && row.contains("; ")
                && row.contains("spoiled.mcap: byte ")
        };
        frame.rows.iter().any(has_reason)
    });
    assert!(!out.exists());
    session.keys("\x03");
    session.wait_end();
}
