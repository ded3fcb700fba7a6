//! Marks are saved beside the recording, or elsewhere if that is impossible; existing files are never damaged.

use std::fs;
use std::path::{Path, PathBuf};

use bagplay::bag::Bag;
use bagplay::marks::{Mark, Marks, MarksError};

use crate::support::mcaps::{Files, Note, Spec, at};

fn mark(time: u64, name: &str) -> Mark {
    Mark {
        time: at(time),
        name: name.to_owned(),
    }
}

fn recordings(count: usize) -> Files {
    let spec = Spec::new(vec![vec![Note::new(0, 1, "x")]]).write();
    Files::of(std::iter::repeat_n(spec, count))
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".marks.yaml");
    name.into()
}

#[track_caller]
fn names(paths: &[PathBuf], state_dir: Option<&Path>) -> Vec<String> {
    let marks = Marks::read(paths, state_dir).unwrap();
    marks.list().iter().map(|mark| mark.name.clone()).collect()
}

#[test]
fn marks_are_saved_beside_the_recording_in_order_of_time() {
    let files = recordings(1);
    let mut marks = Marks::read(&files.paths, None).unwrap();
    assert!(marks.list().is_empty() && !marks.is_changed());
    let hostile = "a \"b\" \\ \n\t\u{1b}[2J \u{85}\u{2028}\u{feff} ü 🚗 # - : {}";
    for mark in [
        mark(30, "c"),
        mark(10, "a"),
        mark(20, hostile),
        mark(10, "a"),
    ] {
        marks.add(mark);
    }
    assert_eq!(marks.save().unwrap(), beside(&files.paths[0]));
    assert!(!marks.is_changed());
    let mut again = Marks::read(&files.paths, None).unwrap();
    assert_eq!(
        again.list(),
        [mark(10, "a"), mark(20, hostile), mark(30, "c")]
    );
    let text = fs::read_to_string(beside(&files.paths[0])).unwrap();
    assert!(
        text.contains("\nmarks:\n  - time_ns: 10\n    name: \"a\"\n"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));

    assert!(again.remove(at(20)) && !again.remove(at(21)));
    again.save().unwrap();
    assert_eq!(names(&files.paths, None), ["a", "c"]);
    again.remove(at(10));
    again.remove(at(30));
    again.save().unwrap();
    assert_eq!(names(&files.paths, None), [""; 0]);
}

#[test]
fn marks_added_to_the_file_by_hand_are_kept() {
    let files = recordings(1);
    let path = beside(&files.paths[0]);
    fs::write(
        &path,
        "# mine\nmarks:\n- {time_ns: 5, name: by hand}\n- time_ns: -7\n",
    )
    .unwrap();
    let mut marks = Marks::read(&files.paths, None).unwrap();
    assert_eq!(marks.list().len(), 2);
    marks.add(mark(6, "added"));
    marks.remove(at(5));
    fs::write(
        &path,
        "marks: [{time_ns: 5, name: x}, {time_ns: 8, name: late}]",
    )
    .unwrap();
    marks.save().unwrap();
    assert_eq!(names(&files.paths, None), ["added", "late"]);
    assert_eq!(marks.list(), [mark(6, "added"), mark(8, "late")]);
    for nothing in ["", "marks:\n", "# nothing yet\n", "---\n"] {
        fs::write(&path, nothing).unwrap();
        assert_eq!(names(&files.paths, None), [""; 0], "{nothing:?}");
    }
    // Without a change nothing is written.
    marks.save().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "---\n");
}

#[test]
fn a_file_whose_last_mark_is_removed_is_removed() {
    let files = recordings(1);
    let path = beside(&files.paths[0]);
    let mut marks = Marks::read(&files.paths, None).unwrap();
    marks.add(mark(1, "one"));
    assert_eq!(marks.save().unwrap(), path);
    assert!(path.exists());
    marks.remove(at(1));
    assert_eq!(marks.save().unwrap(), path);
    assert!(!path.exists());
    // Also if there never was one.
    marks.add(mark(2, "two"));
    marks.remove(at(2));
    marks.save().unwrap();
    assert!(!path.exists());
}

#[test]
fn marks_of_several_recordings_are_merged_and_new_ones_go_to_the_first() {
    let files = recordings(3);
    for (time, path) in (1..).zip(&files.paths) {
        let text = format!("marks: [{{time_ns: {time}, name: m{time}}}]");
        fs::write(beside(path), text).unwrap();
    }
    let mut marks = Marks::read(&files.paths, None).unwrap();
    marks.add(mark(9, "new"));
    assert_eq!(marks.save().unwrap(), beside(&files.paths[0]));
    assert_eq!(names(&files.paths[..1], None), ["m1", "new"]);
    assert_eq!(names(&files.paths[1..], None), ["m2", "m3"]);
    // A mark of another recording is removed from the file of that recording, or it would return.
    marks.remove(at(3));
    assert_eq!(marks.save().unwrap(), beside(&files.paths[2]));
    assert_eq!(names(&files.paths, None), ["m1", "m2", "new"]);
}

#[test]
fn a_new_mark_replaces_the_mark_at_its_time_in_whichever_file_has_it() {
    let files = recordings(2);
    let second =
        "marks: [{time_ns: 3, name: theirs}, {time_ns: 3, name: too}, {time_ns: 4, name: x}]";
    fs::write(beside(&files.paths[1]), second).unwrap();
    let mut marks = Marks::read(&files.paths, None).unwrap();
    for (time, name) in [(1, "one"), (1, "uno"), (3, "three")] {
        marks.add(mark(time, name));
    }
    let all = [mark(1, "uno"), mark(3, "three"), mark(4, "x")];
    assert_eq!(marks.list(), all);
    marks.save().unwrap();
    assert_eq!(marks.list(), all);
    assert_eq!(names(&files.paths[..1], None), ["uno"]);
    assert_eq!(names(&files.paths[1..], None), ["three", "x"]);
    // Marks that the file got meanwhile are replaced, too; where several files have a mark at a time, one keeps it.
    let first = "marks: [{time_ns: 1, name: eins}, {time_ns: 4, name: y}]";
    fs::write(beside(&files.paths[0]), first).unwrap();
    marks.add(mark(1, "un"));
    marks.save().unwrap();
    assert_eq!(names(&files.paths, None), ["un", "three", "x", "y"]);
    marks.add(mark(4, "four"));
    marks.save().unwrap();
    assert_eq!(names(&files.paths[..1], None), ["un", "four"]);
    assert_eq!(names(&files.paths[1..], None), ["three"]);
}

/// Another path of a directory, so long that files in it can be read, but no temporary file can be created beside them.
#[cfg(target_os = "linux")]
fn read_only(dir: &Path) -> PathBuf {
    const LONGEST_PATH: usize = 4095;
    fs::create_dir(dir.join("x")).unwrap();
    let mut long = dir.to_owned();
    while long.as_os_str().len() + "/x/../marks.yaml".len() <= LONGEST_PATH {
        long.push("x/..");
    }
    long
}

#[cfg(target_os = "linux")]
#[test]
fn a_mark_removed_from_a_file_that_cannot_be_written_stays_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, state) = (dir.path().join("folder"), dir.path().join("state"));
    fs::create_dir(&folder).unwrap();
    let file = folder.join("marks.yaml");
    let text = "marks: [{time_ns: 1, name: one}, {time_ns: 2, name: two}]";
    fs::write(&file, text).unwrap();
    let paths = [read_only(&folder)];
    let mut marks = Marks::read(&paths, Some(&state)).unwrap();
    marks.remove(at(1));
    marks.add(mark(2, "renamed"));
    marks.add(mark(3, "mine"));
    let away = marks.save().unwrap();
    assert!(away.starts_with(&state), "{}", away.to_string_lossy());
    assert_eq!(names(&paths, Some(&state)), ["renamed", "mine"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    // What others change in the file is read all the same.
    let text = "marks: [{time_ns: 1, name: one}, {time_ns: 4, name: theirs}]";
    fs::write(&file, text).unwrap();
    assert_eq!(names(&paths, Some(&state)), ["renamed", "mine", "theirs"]);
    let mut marks = Marks::read(&paths, Some(&state)).unwrap();
    marks.remove(at(2));
    marks.save().unwrap();
    assert_eq!(names(&paths, Some(&state)), ["mine", "theirs"]);
    // Without a difference from the file there is nothing to keep.
    marks.remove(at(3));
    marks.add(mark(1, "one"));
    marks.save().unwrap();
    assert!(!away.exists());
    marks.remove(at(1));
    marks.add(mark(3, "mine"));
    assert_eq!(marks.save().unwrap(), away);
    // Once the file can be written, marks are saved in it.
    let mut marks = Marks::read(&[&folder], Some(&state)).unwrap();
    marks.remove(at(3));
    assert_eq!(marks.save().unwrap(), file);
    assert!(!away.exists());
    assert_eq!(names(&[folder], Some(&state)), ["theirs"]);
}

#[test]
fn marks_go_to_the_state_directory_if_none_can_be_written_beside_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    // Not even root can create a file below a file.
    let file = dir.path().join("plain");
    fs::write(&file, "x").unwrap();
    let paths = [file.join("drive\u{1b} one.mcap")];
    let mut marks = Marks::read(&paths, Some(&state)).unwrap();
    marks.add(mark(1, "kept"));
    let path = marks.save().unwrap();
    assert_eq!(path.parent(), Some(&*state.join("bagplay/marks")));
    let name = path.file_stem().unwrap().to_str().unwrap();
    assert!(name.starts_with("drive__one.mcap-"), "{name}");
    assert_eq!(path.extension().unwrap(), "yaml");
    assert_eq!(names(&paths, Some(&state)), ["kept"]);
    // A recording of the same name elsewhere does not have them.
    let other = [dir.path().join("other").join("drive\u{1b} one.mcap")];
    assert_eq!(names(&other, Some(&state)), [""; 0]);
    let refused = Marks::read(&paths, None).and_then(|mut marks| {
        marks.add(mark(1, "lost"));
        marks.save()
    });
    assert!(
        matches!(refused, Err(MarksError::Unwritable { .. })),
        "{refused:?}"
    );
    let nowhere = Marks::read(&[] as &[PathBuf], None).unwrap().save();
    assert!(matches!(nowhere, Err(MarksError::NoRecording)));
}

#[test]
fn a_recording_name_too_long_for_a_marks_file_loses_no_mark() {
    let files = recordings(2);
    let state = tempfile::tempdir().unwrap();
    // So long that no file name can be made by adding to it.
    let long = files.paths[0].with_file_name(format!("{}.mcap", "x".repeat(245)));
    fs::rename(&files.paths[0], &long).unwrap();
    let paths = [long, files.paths[1].clone()];
    for state_dir in [Some(state.path()), None] {
        let mut marks = Marks::read(&paths, state_dir).unwrap();
        marks.add(mark(7, "a"));
        let saved = marks.save();
        match state_dir {
            Some(state) => {
                assert!(saved.unwrap().starts_with(state));
                assert_eq!(names(&paths, Some(state)), ["a"]);
            }
            None => assert!(matches!(saved, Err(MarksError::Unwritable { .. }))),
        }
    }
    // Marks of the other recording are written all the same; those that were not are still unsaved.
    let mut other = Marks::read(&paths[1..], None).unwrap();
    other.add(mark(9, "b"));
    other.save().unwrap();
    let mut both = Marks::read(&paths, None).unwrap();
    both.add(mark(8, "lost"));
    both.add(mark(9, "c"));
    assert!(both.save().is_err() && both.is_changed());
    assert_eq!(names(&paths[1..], None), ["c"]);
}

#[test]
fn marks_move_beside_the_recording_once_its_folder_can_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let folder = dir.path().join("folder");
    fs::write(&folder, "in the way").unwrap();
    let paths = [folder.join("a.mcap")];
    let mut marks = Marks::read(&paths, Some(&state)).unwrap();
    marks.add(mark(1, "old"));
    marks.add(mark(2, "gone"));
    let away = marks.save().unwrap();
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let mut marks = Marks::read(&paths, Some(&state)).unwrap();
    marks.remove(at(2));
    assert_eq!(marks.save().unwrap(), beside(&paths[0]));
    assert!(!away.exists());
    assert_eq!(names(&paths, Some(&state)), ["old"]);
}

#[test]
fn marks_of_a_directory_are_inside_it_and_do_not_affect_its_recording() {
    let dir = tempfile::tempdir().unwrap();
    let spec = Spec::new(vec![vec![Note::new(0, 1, "x")]]).write();
    fs::write(dir.path().join("bag_0.mcap"), spec).unwrap();
    let paths = [dir.path().to_owned()];
    let mut marks = Marks::read(&paths, None).unwrap();
    marks.add(mark(1, "a"));
    assert_eq!(marks.save().unwrap(), dir.path().join("marks.yaml"));
    let bag = Bag::open(&paths).unwrap();
    assert_eq!(bag.message_count(), Some(1));
    assert_eq!((bag.damage().len(), bag.notes().len()), (0, 0));
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "no temporary file is left: {left:?}");
}

#[test]
fn an_invalid_marks_file_is_an_error_with_its_line_and_is_never_overwritten() {
    let files = recordings(1);
    let path = beside(&files.paths[0]);
    let bomb = (1..40).fold("a0: &a0 [x, x, x, x]\n".to_owned(), |text, n| {
        let before = format!("*a{}", n - 1);
        format!("{text}a{n}: &a{n} [{}]\n", vec![before; 9].join(", "))
    });
    let long = "#".repeat(5 << 20);
    for broken in [
        "marks:\n- time_ns: 1\n- time_ns: soon\n",
        "marks:\n- time_ns: 1\n- tme_ns: 1\n",
        "marks:\n\n- [",
        "marks: 7",
        "[]",
        &bomb,
        &long,
    ] {
        fs::write(&path, "").unwrap();
        let mut marks = Marks::read(&files.paths, None).unwrap();
        marks.add(mark(1, "a"));
        fs::write(&path, broken).unwrap();
        // The file is invalid when it is read first, or became so before the marks are saved.
        for error in [
            Marks::read(&files.paths, None).unwrap_err(),
            marks.save().unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(
                text.starts_with(&path.to_string_lossy().into_owned()),
                "{text}"
            );
            assert!(text.contains("line ") || text.contains("longer"), "{text}");
            assert_eq!(text.lines().count(), 1);
        }
        assert!(marks.is_changed());
        assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = Marks::read(&files.paths, None).unwrap_err();
    assert!(matches!(error, MarksError::Unreadable { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn saving_marks_keeps_the_permissions_of_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let files = recordings(1);
    let path = beside(&files.paths[0]);
    for mode in [0o640, 0o666] {
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let mut marks = Marks::read(&files.paths, None).unwrap();
        marks.add(mark(1, "a"));
        marks.save().unwrap();
        let kept = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(kept & 0o777, mode);
    }
}

#[test]
fn marks_too_long_to_be_read_again_are_not_written() {
    let files = recordings(1);
    let mut marks = Marks::read(&files.paths, None).unwrap();
    marks.add(mark(1, &"x".repeat(5 << 20)));
    let error = marks.save().unwrap_err();
    assert!(matches!(error, MarksError::Unwritable { .. }), "{error}");
    assert!(!beside(&files.paths[0]).exists());
}
