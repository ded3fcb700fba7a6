//! Where a cut is written: nothing is replaced that should not be, and nothing is left behind.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use bagplay::bag::{Bag, MessageOrder, Opening};
use bagplay::cut::{Cut, CutError, CutForm, CutOutcome, Existing};

use crate::cut::{Folder, plain, range};
use crate::support::mcaps::{Note, Spec};

fn source(folder: &Folder) -> Bag {
    let chunk = |c: u64| vec![Note::new(0, c, vec![b'x'; 40_000])];
    let path = folder.path("source.mcap");
    fs::write(&path, Spec::new((0..50).map(chunk).collect()).write()).unwrap();
    Bag::open(&[path]).unwrap()
}

fn write(bag: &Bag, cut: &Cut, out: &Path) -> Result<CutOutcome, CutError> {
    cut.write(bag, out, &mut |_| ControlFlow::Continue(()))
}

fn replacing(bag: &Bag) -> Cut {
    Cut {
        existing: Existing::Replaced,
        ..plain(bag, range(3, 9))
    }
}

fn directory(bag: &Bag) -> Cut {
    Cut {
        form: CutForm::Rosbag2,
        ..replacing(bag)
    }
}

#[test]
fn an_existing_file_is_kept_unless_it_may_be_replaced() {
    let folder = Folder::new();
    let bag = source(&folder);
    let out = folder.path("out.mcap");
    fs::write(&out, "mine").unwrap();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o640)).unwrap();
    let error = write(&bag, &plain(&bag, range(3, 9)), &out).unwrap_err();
    assert!(matches!(error, CutError::Exists { .. }), "{error}");
    assert_eq!(fs::read(&out).unwrap(), b"mine");
    write(&bag, &replacing(&bag), &out).unwrap();
    assert_eq!(Bag::open(&[&out]).unwrap().message_count(), Some(7));
    assert_eq!(
        fs::metadata(&out).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(folder.names(), ["out.mcap", "source.mcap"]);
}

#[test]
fn an_input_is_never_replaced_under_any_of_its_names() {
    let folder = Folder::new();
    let bag = source(&folder);
    let input = folder.path("source.mcap");
    let before = fs::read(&input).unwrap();
    symlink(&input, folder.path("link.mcap")).unwrap();
    fs::hard_link(&input, folder.path("hard.mcap")).unwrap();
    for name in ["source.mcap", "link.mcap", "hard.mcap", "./source.mcap"] {
        let error = write(&bag, &replacing(&bag), &folder.path(name)).unwrap_err();
        assert!(matches!(error, CutError::IsInput { .. }), "{name}: {error}");
    }
    // A directory whose only file is the input.
    fs::create_dir(folder.path("bag")).unwrap();
    fs::hard_link(&input, folder.path("bag/bag_0.mcap")).unwrap();
    let error = write(&bag, &directory(&bag), &folder.path("bag")).unwrap_err();
    assert!(matches!(error, CutError::IsInput { .. }), "{error}");
    assert_eq!(fs::read(&input).unwrap(), before);
    let names = ["bag", "hard.mcap", "link.mcap", "source.mcap"];
    assert_eq!(folder.names(), names);
}

#[test]
fn a_link_to_another_recording_stays_a_link() {
    let folder = Folder::new();
    let bag = source(&folder);
    fs::write(folder.path("there.mcap"), "earlier").unwrap();
    symlink("there.mcap", folder.path("link.mcap")).unwrap();
    let out = folder.path("link.mcap");
    write(&bag, &replacing(&bag), &out).unwrap();
    assert!(fs::symlink_metadata(&out).unwrap().is_symlink());
    let there = Bag::open(&[folder.path("there.mcap")]).unwrap();
    assert_eq!(there.message_count(), Some(7));
}

#[test]
fn a_device_or_a_folder_is_not_replaced_by_a_file() {
    let folder = Folder::new();
    let bag = source(&folder);
    fs::create_dir(folder.path("dir")).unwrap();
    for out in [folder.path("dir"), "/dev/null".into()] {
        // Whether or not it is asked for: nobody is told to ask.
        for cut in [replacing(&bag), plain(&bag, range(3, 9))] {
            let error = write(&bag, &cut, &out).unwrap_err();
            assert!(matches!(error, CutError::NotReplaceable { .. }), "{error}");
        }
    }
    let error = write(
        &bag,
        &replacing(&bag),
        &folder.path("no/such/folder/x.mcap"),
    );
    let error = error.unwrap_err();
    assert!(matches!(error, CutError::Write { .. }), "{error}");
    assert_eq!(folder.names(), ["dir", "source.mcap"]);
}

#[test]
fn a_directory_is_replaced_only_if_it_is_a_recording() {
    let folder = Folder::new();
    let bag = source(&folder);
    let out = folder.path("part");
    write(&bag, &directory(&bag), &out).unwrap();
    assert_eq!(folder.names(), ["part", "source.mcap"]);
    let kept = Cut {
        existing: Existing::Kept,
        ..directory(&bag)
    };
    let error = write(&bag, &kept, &out).unwrap_err();
    assert!(matches!(error, CutError::Exists { .. }), "{error}");
    let longer = Cut {
        range: range(3, 12),
        ..directory(&bag)
    };
    write(&bag, &longer, &out).unwrap();
    assert_eq!(Bag::open(&[&out]).unwrap().message_count(), Some(10));
    fs::write(out.join("marks.yaml"), "marks: []").unwrap();
    let error = write(&bag, &directory(&bag), &out).unwrap_err().to_string();
    assert!(
        error.contains("it has marks.yaml, which no metadata.yaml in it lists"),
        "{error}"
    );
    fs::remove_file(out.join("marks.yaml")).unwrap();
    fs::copy(folder.path("source.mcap"), out.join("other.mcap")).unwrap();
    let error = write(&bag, &directory(&bag), &out).unwrap_err().to_string();
    let why = "it has other.mcap, which no metadata.yaml in it lists";
    assert!(error.contains(why), "{error}");
    fs::remove_file(out.join("other.mcap")).unwrap();
    assert_eq!(Bag::open(&[&out]).unwrap().message_count(), Some(10));
    // Recordings that only have their directory in common.
    let many = folder.path("many");
    fs::create_dir(&many).unwrap();
    write(&bag, &directory(&bag), &many).unwrap();
    fs::remove_file(many.join("metadata.yaml")).unwrap();
    let error = write(&bag, &directory(&bag), &many)
        .unwrap_err()
        .to_string();
    assert!(error.contains("it has many_0.mcap, which no"), "{error}");
    // A description of something else.
    fs::remove_file(many.join("many_0.mcap")).unwrap();
    fs::write(many.join("metadata.yaml"), "title: my pages\n").unwrap();
    let error = write(&bag, &directory(&bag), &many)
        .unwrap_err()
        .to_string();
    assert!(error.contains("it has metadata.yaml, which no"), "{error}");
    // Nothing is lost of an empty one.
    fs::remove_file(many.join("metadata.yaml")).unwrap();
    write(&bag, &directory(&bag), &many).unwrap();
    fs::remove_dir_all(&many).unwrap();
    fs::write(folder.path("file"), "x").unwrap();
    let error = write(&bag, &directory(&bag), &folder.path("file")).unwrap_err();
    assert!(matches!(error, CutError::NotReplaceable { .. }), "{error}");
    assert_eq!(folder.names(), ["file", "part", "source.mcap"]);
}

#[test]
fn what_comes_into_the_place_while_a_cut_is_written_is_kept() {
    for is_there in [false, true] {
        let folder = Folder::new();
        let bag = source(&folder);
        let out = folder.path("part");
        if is_there {
            write(&bag, &directory(&bag), &out).unwrap();
        }
        let mut is_first = true;
        let outcome = directory(&bag).write(&bag, &out, &mut |_| {
            if std::mem::take(&mut is_first) {
                fs::create_dir_all(&out).unwrap();
                fs::write(out.join("notes.txt"), "mine").unwrap();
            }
            ControlFlow::Continue(())
        });
        let error = outcome.unwrap_err();
        let is_refused = match &error {
            CutError::Exists { .. } => !is_there,
            CutError::NotReplaceable { .. } => is_there,
            _ => false,
        };
        assert!(is_refused, "{error}");
        assert_eq!(fs::read(out.join("notes.txt")).unwrap(), b"mine");
        assert_eq!(folder.names(), ["part", "source.mcap"]);
    }
}

#[test]
fn a_cut_that_is_cancelled_leaves_nothing_behind() {
    for form in [CutForm::File, CutForm::Rosbag2] {
        let folder = Folder::new();
        let bag = source(&folder);
        let cut = Cut {
            form,
            ..plain(&bag, bag.range().unwrap())
        };
        let mut calls = 0;
        let mut last = 0;
        let outcome = cut.write(&bag, &folder.path("out"), &mut |progress| {
            calls += 1;
            assert!(last <= progress.done && progress.done <= progress.of);
            last = progress.done;
            if calls < 20 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        assert_eq!(outcome.unwrap(), CutOutcome::Cancelled);
        assert_eq!(calls, 20);
        assert!(last > 0);
        assert_eq!(folder.names(), ["source.mcap"]);
    }
}

#[test]
fn a_recording_in_the_order_of_publish_times_is_not_cut() {
    let folder = Folder::new();
    source(&folder);
    let opening = Opening {
        order: MessageOrder::Sent,
        ..Opening::default()
    };
    let bag = Bag::open_with(&[folder.path("source.mcap")], &opening).unwrap();
    let error = write(&bag, &plain(&bag, range(3, 9)), &folder.path("x.mcap")).unwrap_err();
    assert!(matches!(error, CutError::Order), "{error}");
    assert_eq!(folder.names(), ["source.mcap"]);
}

#[test]
fn a_cut_can_be_read_by_whom_the_umask_allows() {
    let folder = Folder::new();
    let bag = source(&folder);
    fs::write(folder.path("usual"), "").unwrap();
    fs::create_dir(folder.path("usual_dir")).unwrap();
    let mode = |name: &str| {
        fs::metadata(folder.path(name))
            .unwrap()
            .permissions()
            .mode()
    };
    write(&bag, &plain(&bag, range(3, 9)), &folder.path("out.mcap")).unwrap();
    assert_eq!(mode("out.mcap"), mode("usual"));
    write(&bag, &directory(&bag), &folder.path("out")).unwrap();
    assert_eq!(mode("out"), mode("usual_dir"));
    assert_eq!(mode("out/out_0.mcap"), mode("usual"));
}
