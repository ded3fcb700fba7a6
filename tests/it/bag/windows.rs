//! Chunks whose zstd frames refer back over more than 128 MiB, and frames that only declare such a window.

use std::io::Write as _;
#[cfg(feature = "cli")]
use std::process::Command;

use bagplay::bag::{Bag, DamageKind, Direction, Message, StartAt};
use mcap::records::op;
use zstd::stream::Encoder;

use crate::support::mcap_features::MAGIC;
#[cfg(feature = "cli")]
use crate::support::mcaps::Files;
use crate::support::mcaps::{all, at, bag, incompressible, record};

/// More compressed bytes than are read of a chunk at once.
const LARGE: usize = 17 << 20;

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The records of a chunk with one message of this payload.
fn records(payload: &[u8]) -> Vec<u8> {
    let head = [0; 2 + 4 + 8 + 8];
    record(op::MESSAGE, &[&head, payload].concat())
}

/// A file without summary, with one chunk of zstd.
fn file(uncompressed: usize, data: &[u8]) -> Vec<u8> {
    let text = |text: &[u8]| [&u32::try_from(text.len()).unwrap().to_le_bytes(), text].concat();
    let channel = [&[0; 4][..], &text(b"/t"), &text(b"cdr"), &[0; 4]].concat();
    let chunk = [
        &[0; 16][..],
        &(uncompressed as u64).to_le_bytes(),
        &[0; 4],
        &4_u32.to_le_bytes(),
        b"zstd",
        &(data.len() as u64).to_le_bytes(),
        data,
    ]
    .concat();
    [
        MAGIC,
        &record(op::HEADER, &[0; 8]),
        &record(op::CHANNEL, &channel),
        &record(op::CHUNK, &chunk),
        &record(op::DATA_END, &[0; 4]),
        &record(op::FOOTER, &[0; 20]),
        MAGIC,
    ]
    .concat()
}

/// One frame of `records` with a window of 2^`log` bytes, as `zstd --long` writes it.
fn frame(records: &[u8], log: u32, is_sized: bool) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(log).unwrap();
    encoder.long_distance_matching(true).unwrap();
    if is_sized {
        let size = records.len() as u64;
        encoder.set_pledged_src_size(Some(size)).unwrap();
    }
    encoder.write_all(records).unwrap();
    encoder.finish().unwrap()
}

fn play(bag: &Bag) -> (Vec<Message>, Vec<DamageKind>) {
    let (mut messages, mut damage) = (Vec::new(), Vec::new());
    for item in bag.cursor(&all(bag), StartAt::At(at(0)), Direction::Forward) {
        match item {
            Ok(message) => messages.push(message),
            Err(it) => damage.push(it.kind),
        }
    }
    (messages, damage)
}

#[test]
fn a_large_chunk_with_a_large_window_plays() {
    let part = incompressible(SEED, LARGE);
    // The second part repeats the first, 145 MiB before it.
    let payload = [&part[..], &vec![0; 128 << 20], &part].concat();
    let records = records(&payload);
    for is_sized in [true, false] {
        let data = frame(&records, 28, is_sized);
        assert!(data.len() < LARGE + LARGE / 2);
        let bag = bag(&file(records.len(), &data));
        let (messages, damage) = play(&bag);
        assert_eq!(damage, [], "{is_sized}");
        assert_eq!(messages.len(), 1, "{is_sized}");
        assert!(messages[0].payload == payload, "{is_sized}");
    }
}

/// A frame that declares a window of 2 GiB is valid, and needs no more memory than others.
#[cfg(feature = "cli")]
#[test]
fn a_window_that_is_declared_and_not_used_takes_no_memory() {
    let records = records(&incompressible(SEED, LARGE));
    let mut data = frame(&records, 20, false);
    // Magic, descriptor, window.
    data[5] = (31 - 10) << 3;
    let skipped = [
        &0x184d_2a50_u32.to_le_bytes()[..],
        &3_u32.to_le_bytes(),
        b"abc",
    ]
    .concat();
    let (first, rest) = records.split_at(LARGE / 2);
    let frames = [frame(first, 20, true), skipped, frame(rest, 20, false)].concat();
    for data in [data, frames] {
        let files = Files::of([file(records.len(), &data)]);
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"ulimit -v 1000000; exec "$0" "$@""#]);
        shell.arg(env!("CARGO_BIN_EXE_play"));
        shell.args(["info", "--check"]).args(&files.paths);
        let output = shell.output().unwrap();
        let result = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{result}{errors}");
    }
}

#[test]
fn large_frames_that_are_cut_or_too_long_are_damage() {
    let records = records(&incompressible(SEED, LARGE));
    let data = frame(&records, 28, false);
    let longer = [&data[..], &frame(b"more", 20, true)].concat();
    let rubbish = [&data[..], b"rubbish"].concat();
    let size = records.len();
    for (data, size) in [
        (&data[..data.len() - 1], size),
        (&data[..], size - 1),
        (&data[..], size + 1),
        (&longer[..], size),
        (&rubbish[..], size),
    ] {
        let bag = bag(&file(size, data));
        let (messages, damage) = play(&bag);
        assert_eq!(messages.len(), 0);
        assert_eq!(damage, [DamageKind::Compression]);
    }
}
