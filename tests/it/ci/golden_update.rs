//! A recording becomes the new reference.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use bagplay::ci::judge::compare::{Rules, Updated, update};

use crate::support::cdr::Cdr;
use crate::support::typed::{Typed, string};

fn recording(texts: &[&str]) -> Vec<u8> {
    let mut file = Typed::new();
    let topic = file.topic("/t", &string());
    for (time, text) in (1..).zip(texts) {
        file.message(topic, time, &Cdr::little().text(text).done());
    }
    file.write()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_reference_is_created_kept_and_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (run, golden) = (
        dir.path().join("out.mcap"),
        dir.path().join("ref/golden.mcap"),
    );
    let rules = Rules::default();
    fs::write(&run, recording(&["a", "b"])).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(update(&run, &golden, &rules).unwrap(), Updated::Created);
    assert_eq!(fs::read(&golden).unwrap(), recording(&["a", "b"]));
    assert_eq!(
        golden.metadata().unwrap().permissions().mode() & 0o777,
        0o644
    );

    // Equal, but other bytes.
    let mut same = Typed::new();
    let topic = same.topic("/t", &string());
    for text in ["a", "b"] {
        same.message(topic, 7, &Cdr::big().text(text).done());
    }
    fs::write(&run, same.write()).unwrap();
    let updated = update(&run, &golden, &rules).unwrap();
    assert!(matches!(&updated, Updated::Unchanged(comparison) if comparison.is_equal()));
    assert_eq!(fs::read(&golden).unwrap(), recording(&["a", "b"]));

    fs::write(&run, recording(&["a", "c"])).unwrap();
    let Updated::Replaced(comparison) = update(&run, &golden, &rules).unwrap() else {
        panic!("not replaced");
    };
    let first = comparison.first.unwrap();
    assert_eq!(first.values, ("\"b\"".to_owned(), "\"c\"".to_owned()));
    assert_eq!(fs::read(&golden).unwrap(), recording(&["a", "c"]));
    assert_eq!(names(&dir.path().join("ref")), ["golden.mcap"]);
}

#[test]
fn a_link_stays_a_link_and_an_unreadable_reference_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (run, golden) = (dir.path().join("out.mcap"), dir.path().join("golden.mcap"));
    let real = dir.path().join("real.mcap");
    fs::write(&run, recording(&["a"])).unwrap();
    fs::write(&real, "version https://git-lfs.github.com/spec/v1\n").unwrap();
    symlink(&real, &golden).unwrap();
    let updated = update(&run, &golden, &Rules::default()).unwrap();
    assert!(matches!(updated, Updated::Unreadable(_)), "{updated:?}");
    assert!(golden.is_symlink());
    assert_eq!(fs::read(&real).unwrap(), recording(&["a"]));
}

#[test]
fn what_is_no_reference_replaces_none() {
    let dir = tempfile::tempdir().unwrap();
    let (run, golden) = (dir.path().join("out.mcap"), dir.path().join("golden.mcap"));
    fs::write(&golden, recording(&["a"])).unwrap();
    let whole = recording(&["a", "b"]);
    for (bytes, reason) in [
        (recording(&[]), "has no messages"),
        (b"no recording".to_vec(), "the recording of the run: "),
        (whole[..whole.len() / 2].to_vec(), "out.mcap"),
    ] {
        fs::write(&run, bytes).unwrap();
        let error = update(&run, &golden, &Rules::default()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(fs::read(&golden).unwrap(), recording(&["a"]));
    }
    fs::write(&run, whole).unwrap();
    // A folder cannot be replaced.
    let folder = dir.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let error = update(&run, &folder, &Rules::default());
    assert!(error.is_err() || folder.is_file(), "{error:?}");
    assert!(folder.is_dir());
    assert_eq!(names(dir.path()), ["folder", "golden.mcap", "out.mcap"]);
}
