//! Cuts of the demo, and with `BAGPLAY_DATA` of real recordings.

use std::path::{Path, PathBuf};

use bagplay::bag::{Bag, IndexOrigin, Selection};
use bagplay::cut::Cut;
use bagplay::time::{Time, TimeRange};

use crate::bag::data::{data, recordings};
use crate::cut::{Content, Folder, contents, plain, whole};

/// Cuts the whole and the middle, and compares them with what is played.
fn check(name: &str, bag: &Bag) {
    let Some(range) = bag.range() else { return };
    let all = Selection::all(bag);
    let due = contents(bag, &all, range);
    let folder = Folder::new();
    let (written, cut) = folder.cut(bag, &Cut::new(bag, range));
    assert_eq!(written.latched, 0, "{name}");
    let found = whole(&cut);
    assert!(found == due, "{name}: the cut of everything differs");
    let is_indexed = bag
        .files()
        .iter()
        .all(|file| file.origin == IndexOrigin::Summary);
    if is_indexed && bag.files().len() == 1 && bag.files()[0].chunks > 0 {
        assert_eq!(written.new_chunks, 0, "{name}");
    }
    let span = i64::try_from(due.len()).unwrap();
    let time = |part: i64| Time::from_nanos(due[usize::try_from(span * part / 10).unwrap()].1);
    if span >= 10 {
        let middle = TimeRange::between(time(3), time(6));
        let within = |message: &&Content| middle.contains(Time::from_nanos(message.1));
        let due: Vec<&Content> = due.iter().filter(within).collect();
        let folder = Folder::new();
        let (_, cut) = folder.cut(bag, &plain(bag, middle));
        let found = whole(&cut);
        assert!(
            found.iter().eq(due),
            "{name}: the cut of the middle differs"
        );
    }
}

#[test]
fn the_demo_is_cut_without_a_difference() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap");
    check("demo", &Bag::open(&[demo]).unwrap());
}

#[test]
fn real_recordings_are_cut_without_a_difference() {
    let Some(data) = data() else { return };
    let mut checked = 0;
    for path in recordings(&data) {
        let name = path.to_string_lossy().into_owned();
        check(&name, &Bag::open(&[&path]).unwrap());
        checked += 1;
    }
    let splits = ["split_humble", "split_jazzy", "split_file_zstd"];
    let splits: Vec<PathBuf> = splits.map(|name| data.join("derived").join(name)).into();
    for path in &splits {
        check(&path.to_string_lossy(), &Bag::open(&[path]).unwrap());
    }
    // Recordings of unlike robots, whose ids mean different topics.
    let bag = Bag::open(&splits).unwrap();
    check("three at once", &bag);
    assert!(checked >= 30, "{checked}");
}
