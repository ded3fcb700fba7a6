//! Cuts of damaged recordings: what is sound is kept, what is lost is reported.

use std::io;
use std::sync::Arc;

use bagplay::bag::{Bag, Cost, DamageKind, Opening, ReadAt, Selection};
use bagplay::cut::{CopiedChunks, Cut, CutError};
use bagplay::time::TimeRange;
use bytes::Bytes;
use mcap::Compression;
use mcap::records::op;

use crate::bag::hostile::{base, chunk_field, put};
use crate::cut::{Folder, contents, plain, range, whole};
use crate::support::mcaps::{Note, Spec, bag, incompressible, place};

/// A cut without the latched state, whose chunks are looked into.
fn checked(bag: &Bag, range: TimeRange) -> Cut {
    Cut {
        chunks: CopiedChunks::Checked,
        ..plain(bag, range)
    }
}

const ALL: (u64, u64) = (0, 99_000_000);

/// Cuts the changed file from within its first chunk on; returns the kinds of damage. What is played is in the cut.
#[track_caller]
fn cut_of(spec: &Spec, change: fn(&mut Vec<u8>), from: u64) -> Vec<DamageKind> {
    let mut bytes = spec.write();
    change(&mut bytes);
    let bag = bag(&bytes);
    let folder = Folder::new();
    let part = range(from, ALL.1);
    let due = contents(&bag, &Selection::all(&bag), part);
    let (written, cut) = folder.cut(&bag, &checked(&bag, part));
    assert_eq!(whole(&cut), due);
    written.damage.iter().map(|damage| damage.kind).collect()
}

#[test]
fn a_recording_without_its_end_is_cut_like_a_whole_one() {
    for compression in [None, Some(Compression::Zstd)] {
        let cut_off: fn(&mut Vec<u8>) = |bytes| {
            let end = place(bytes, op::CHUNK, 4).at + 60;
            bytes.truncate(end);
        };
        let damage = cut_of(&base(compression), cut_off, 3_000_000);
        assert_eq!(damage, [DamageKind::Truncated]);
    }
}

#[test]
fn a_chunk_that_has_to_be_opened_and_is_broken_is_left_out_and_reported() {
    let break_first: fn(&mut Vec<u8>) = |bytes| {
        let at = chunk_field(bytes, 0, 45);
        bytes[at..at + 8].fill(0xff);
    };
    let damage = cut_of(&base(Some(Compression::Zstd)), break_first, 3_000_000);
    assert_eq!(damage, [DamageKind::Compression]);
}

#[test]
fn messages_before_a_broken_record_are_kept() {
    let break_third: fn(&mut Vec<u8>) = |bytes| {
        // The length of a record in the middle of the first chunk.
        let at = chunk_field(bytes, 0, 40) + 500;
        let message = (at..at + 200).find(|i| bytes[*i] == op::MESSAGE && bytes[*i + 1] == 62);
        let message = message.unwrap();
        put(bytes, message + 1, 1 << 40);
    };
    let damage = cut_of(&base(None), break_third, 1_000_000);
    assert!(damage.contains(&DamageKind::Framing), "{damage:?}");
}

#[test]
fn a_chunk_with_a_wrong_message_index_is_opened_and_gets_a_new_one() {
    let spec = base(Some(Compression::Zstd));
    let source = spec.write();
    // A time and an offset in the middle of the first message index of the third chunk.
    let entry = place(&source, op::MESSAGE_INDEX, 4).at + 9 + 6 + 16 * 4;
    for (at, value) in [(entry, 7_000_000_000), (entry + 8, 1 << 40)] {
        let mut bytes = source.clone();
        put(&mut bytes, at, value);
        let bag = bag(&bytes);
        let folder = Folder::new();
        let (written, cut) = folder.cut(&bag, &checked(&bag, bag.range().unwrap()));
        assert_eq!((written.copied_chunks, written.new_chunks), (5, 0));
        assert_eq!(whole(&cut).len(), 100);
    }
}

/// A payload, the compressed data, or the channel of a message in the third chunk is changed. Nothing outside of the
/// chunk tells.
#[test]
fn a_chunk_is_copied_as_it_is_only_if_it_is_sound() {
    let with_sums = base(None).options(|o| o.calculate_chunk_crcs(true));
    let zstd = base(Some(Compression::Zstd));
    let flipped: fn(&mut Vec<u8>) = |bytes| {
        let at = chunk_field(bytes, 2, 500);
        bytes[at] ^= 1;
    };
    let garbled: fn(&mut Vec<u8>) = |bytes| {
        let at = chunk_field(bytes, 2, 45);
        bytes[at..at + 8].fill(0xff);
    };
    for (spec, change, kind) in [
        (with_sums, flipped, DamageKind::Checksum),
        (zstd, garbled, DamageKind::Compression),
    ] {
        let mut bytes = spec.write();
        change(&mut bytes);
        let bag = bag(&bytes);
        let all = bag.range().unwrap();
        let folder = Folder::new();
        let (written, cut) = folder.cut(&bag, &checked(&bag, all));
        let kinds: Vec<_> = written.damage.iter().map(|it| it.kind).collect();
        let is = (kinds, written.messages, written.copied_chunks);
        assert_eq!(is, (vec![kind], 80, 4));
        assert_eq!(whole(&cut), contents(&bag, &Selection::all(&bag), all));

        // If that is not asked for, nothing looks into it.
        let folder = Folder::new();
        let (written, cut) = folder.cut(&bag, &plain(&bag, all));
        assert_eq!((written.damage.len(), written.copied_chunks), (0, 5));
        let found: Vec<_> = cut.check_chunks().iter().map(|it| it.kind).collect();
        assert_eq!(found, [kind]);
        assert_eq!(cut.check_data_sections(), []);
    }

    let mut bytes = base(None).write();
    let start = chunk_field(&bytes, 2, 40);
    let is_message =
        |at: &usize| bytes[*at] == op::MESSAGE && bytes[*at + 1..*at + 9] == 62_u64.to_le_bytes();
    let messages: Vec<usize> = (start..start + 1400).filter(is_message).collect();
    bytes[messages[0] + 9] = bytes[messages[1] + 9];
    let bag = bag(&bytes);
    let folder = Folder::new();
    let all = bag.range().unwrap();
    let (written, cut) = folder.cut(&bag, &checked(&bag, all));
    // Its messages get an index that is right.
    let kinds: Vec<_> = written.damage.iter().map(|it| it.kind).collect();
    let is = (kinds, written.messages, written.copied_chunks);
    assert_eq!(is, (vec![DamageKind::Index], 100, 4));
    assert_eq!(whole(&cut).len(), 100);
}

#[test]
fn a_recording_of_broken_chunks_makes_no_cut_and_the_error_has_the_damage() {
    let note = |i| Note::new(0, i, vec![7; 90]);
    let mut bytes = Spec::new(vec![vec![note(1), note(2)]])
        .compression(Some(Compression::Zstd))
        .write();
    let at = chunk_field(&bytes, 0, 45);
    bytes[at..at + 8].fill(0xff);
    let bag = bag(&bytes);
    let folder = Folder::new();
    match folder.try_cut(&bag, &checked(&bag, range(2, 2))) {
        Err(CutError::Empty { damage, .. }) => {
            let kinds: Vec<_> = damage.iter().map(|it| it.kind).collect();
            assert_eq!(kinds, [DamageKind::Compression]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(folder.names(), [""; 0]);
}

/// Chunks of a hostile file may lie inside each other. Each byte is copied at most once, or opened as for playing.
#[test]
fn overlapping_chunks_do_not_multiply_the_output() {
    let mut bytes = base(None).write();
    // The index lists the first chunk five times.
    let first = place(&bytes, op::CHUNK_INDEX, 0);
    for n in 1..5 {
        let other = place(&bytes, op::CHUNK_INDEX, n);
        bytes.copy_within(first.at..first.at + 9 + first.body, other.at);
    }
    let bag = bag(&bytes);
    let folder = Folder::new();
    let part = bag.range().unwrap();
    let (_, cut) = folder.cut(&bag, &checked(&bag, part));
    assert_eq!(whole(&cut), contents(&bag, &Selection::all(&bag), part));
}

#[test]
fn messages_of_a_channel_without_definition_are_left_out() {
    let spec = base(None).options(|o| o.repeat_channels(false));
    let mut bytes = spec.write();
    // Message 3 of the first chunk gets a channel that nothing defines.
    let at = chunk_field(&bytes, 0, 40);
    let found: Vec<usize> = (at..at + 1400)
        .filter(|i| {
            bytes[*i] == op::MESSAGE && bytes[*i + 1] == 62 && bytes[*i + 2..*i + 9] == [0; 7]
        })
        .collect();
    bytes[found[3] + 9] = 77;
    let bag = bag(&bytes);
    let folder = Folder::new();
    let part = range(1_000_000, ALL.1);
    let (written, cut) = folder.cut(&bag, &checked(&bag, part));
    assert!(!written.damage.is_empty());
    assert_eq!(whole(&cut), contents(&bag, &Selection::all(&bag), part));
}

/// A file with a place that cannot be read.
#[derive(Debug)]
struct Scratched {
    bytes: Bytes,
    bad: u64,
}

impl ReadAt for Scratched {
    fn length(&self) -> u64 {
        self.bytes.length()
    }

    fn identity(&self) -> String {
        "scratched".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::Local
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if (offset..offset + buffer.len() as u64).contains(&self.bad) {
            return Err(io::Error::other("bad sector"));
        }
        self.bytes.read_exact_at(buffer, offset)
    }
}

#[test]
fn a_place_that_cannot_be_read_costs_only_its_chunk() {
    let note = |i: u64| Note::new(0, i, incompressible(i + 1, 16 << 10));
    let chunk = |c: u64| (c * 4..c * 4 + 4).map(note).collect();
    let bytes = Spec::new((0..5).map(chunk).collect()).write();
    for n in 0..5 {
        let scratched = Scratched {
            bytes: Bytes::copy_from_slice(&bytes),
            bad: place(&bytes, op::CHUNK, n).at as u64 + 30_000,
        };
        let sources = [("x.mcap".into(), Arc::new(scratched) as Arc<dyn ReadAt>)];
        let bag = Bag::open_sources(sources, &Opening::default()).unwrap();
        let folder = Folder::new();
        let (written, cut) = folder.cut(&bag, &checked(&bag, bag.range().unwrap()));
        let kinds: Vec<_> = written.damage.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [DamageKind::Unreadable]);
        assert_eq!((written.messages, written.copied_chunks), (16, 4));
        assert_eq!(whole(&cut).len(), 16);
    }
}

#[test]
fn a_missing_split_is_reported_and_the_others_are_cut() {
    let folder = Folder::new();
    let dir = folder.path("bag");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("a.mcap"), base(None).write()).unwrap();
    let text =
        "rosbag2_bagfile_information:\n  version: 9\n  relative_file_paths: [a.mcap, b.mcap]\n";
    std::fs::write(dir.join("metadata.yaml"), text).unwrap();
    let bag = Bag::open(&[dir]).unwrap();
    let (written, cut) = folder.cut(&bag, &checked(&bag, bag.range().unwrap()));
    let kinds: Vec<_> = written.damage.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [DamageKind::Missing]);
    assert_eq!(whole(&cut).len(), 100);
}
