//! How much of a recording is read to copy its chunks.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bagplay::bag::{Bag, Cost, Opening, ReadAt};
use bytes::Bytes;

use super::{Folder, plain, whole};
use crate::support::mcaps::{Note, Spec, incompressible};

/// A file that counts the bytes that are read of it.
#[derive(Debug)]
struct Counted {
    bytes: Bytes,
    read: AtomicU64,
}

impl ReadAt for Counted {
    fn length(&self) -> u64 {
        self.bytes.length()
    }

    fn identity(&self) -> String {
        "counted".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::Local
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.bytes.read_exact_at(buffer, offset)
    }
}

/// Before a chunk is copied, only its message indexes and its header are read.
#[test]
fn little_more_is_read_than_what_is_copied() {
    const CHUNKS: u64 = 50;
    let note = |i: u64| Note::new(0, i, incompressible(i + 1, 4 << 10));
    let chunk = |c: u64| (c * 4..c * 4 + 4).map(note).collect();
    let bytes = Bytes::from(Spec::new((0..CHUNKS).map(chunk).collect()).write());
    let length = bytes.length();
    let read = AtomicU64::new(0);
    let counted = Arc::new(Counted { bytes, read });
    let source: Arc<dyn ReadAt> = Arc::clone(&counted) as _;
    let bag = Bag::open_sources([("x.mcap".into(), source)], &Opening::default()).unwrap();
    counted.read.store(0, Ordering::Relaxed);
    let folder = Folder::new();
    let (written, cut) = folder.cut(&bag, &plain(&bag, bag.range().unwrap()));
    assert_eq!(
        (written.copied_chunks, written.messages),
        (CHUNKS, CHUNKS * 4)
    );
    let read = counted.read.load(Ordering::Relaxed);
    let most = length + CHUNKS * 512;
    assert!(
        (CHUNKS * 16_000..most).contains(&read),
        "{read} of {length}"
    );
    assert_eq!(whole(&cut).len() as u64, CHUNKS * 4);
}
