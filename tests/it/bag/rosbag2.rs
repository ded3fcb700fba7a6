//! rosbag2 directories: which files are found in them, and what is refused.

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bagplay::bag::{Bag, Directory, DirectoryError, Note, spool};

use crate::bag::data::data;
use crate::support::mcaps::make_pipe;

/// A directory that is removed when this is dropped. Its files are empty, because they are not opened.
struct Dir(tempfile::TempDir);

impl Dir {
    fn with(names: &[&str]) -> Self {
        let dir = Self(tempfile::tempdir().unwrap());
        for name in names {
            let path = dir.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        dir
    }

    /// The same with a `metadata.yaml` that lists these files and has these further lines.
    fn listing(self, listed: &[&str], lines: &str) -> Self {
        let text = format!(
            "rosbag2_bagfile_information:\n  version: 9\n  relative_file_paths: {listed:?}\n{lines}"
        );
        fs::write(self.path("metadata.yaml"), text).unwrap();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn resolve(&self) -> Result<Directory, DirectoryError> {
        Directory::resolve(self.0.path())
    }

    /// The names of the files found, relative to it.
    fn names(&self) -> Vec<String> {
        self.below(&self.resolve().unwrap().files)
    }

    fn below(&self, paths: &[PathBuf]) -> Vec<String> {
        let name = |path: &PathBuf| {
            path.strip_prefix(self.0.path())
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        paths.iter().map(name).collect()
    }

    fn error(&self) -> String {
        self.resolve().unwrap_err().to_string()
    }
}

#[test]
fn listed_files_keep_their_order_and_are_found_under_other_names() {
    for (on_disk, listed, found) in [
        (
            &["b_0.mcap", "b_1.mcap"][..],
            &["b_1.mcap", "b_0.mcap"][..],
            &["b_1.mcap", "b_0.mcap"][..],
        ),
        (&["b_0.mcap.zstd"], &["b_0.mcap"], &["b_0.mcap.zstd"]),
        (&["b_0.mcap.zstd"], &["b_0"], &["b_0.mcap.zstd"]),
        (&["b_0.mcap"], &["b_0"], &["b_0.mcap"]),
        (&["b_0.mcap"], &["b_0.mcap.zstd"], &["b_0.mcap"]),
        (&["b_0.mcap"], &["b/b_0.mcap"], &["b_0.mcap"]),
        (&["b_0.mcap.zstd"], &["old/b/b_0.mcap"], &["b_0.mcap.zstd"]),
        (&["b/b_0.mcap"], &["b/b_0.mcap"], &["b/b_0.mcap"]),
        (&["b_0.mcap"], &["./b_0.mcap"], &["./b_0.mcap"]),
        // The player of ROS leaves an unpacked copy beside the packed file.
        (
            &["b_0.mcap", "b_0.mcap.zstd"],
            &["b_0.mcap.zstd"],
            &["b_0.mcap.zstd"],
        ),
        (&["b_0.mcap", "b_0.mcap.zstd"], &["b_0.mcap"], &["b_0.mcap"]),
        // A file that is listed twice is used once.
        (
            &["b_0.mcap"],
            &["b_0.mcap", "b_0.mcap", "b/b_0.mcap", "b_0"],
            &["b_0.mcap"],
        ),
        (
            &["b_0.mcap", "b_0.mcap.zstd"],
            &["b_0.mcap.zstd", "b_0.mcap"],
            &["b_0.mcap.zstd"],
        ),
        (&["b_0.mcap", "notes.txt"], &["b_0.mcap"], &["b_0.mcap"]),
    ] {
        let dir = Dir::with(on_disk).listing(listed, "");
        let directory = dir.resolve().unwrap();
        let found: Vec<_> = found.iter().map(|name| dir.path(name)).collect();
        assert_eq!(directory.files, found, "{on_disk:?} {listed:?}");
        assert_eq!(
            (&directory.missing[..], &directory.notes[..]),
            (&[][..], &[][..]),
            "{listed:?}"
        );
        assert_eq!(directory.metadata.unwrap().version, Some(9));
    }
}

#[test]
fn a_missing_part_is_reported_and_the_others_are_used() {
    let listed = ["b_0.mcap", "b_1.mcap", "b_1.mcap", "b_2.mcap"];
    let dir = Dir::with(&["b_0.mcap", "b_2.mcap"]).listing(&listed, "");
    assert_eq!(dir.names(), ["b_0.mcap", "b_2.mcap"]);
    let missing = dir.resolve().unwrap().missing;
    assert_eq!(missing.len(), 1);
    assert_eq!(
        missing[0].to_string(),
        format!("{}: no such file", dir.path("b_1.mcap").to_string_lossy())
    );

    fs::create_dir(dir.path("b_1.mcap")).unwrap();
    assert_eq!(dir.resolve().unwrap().missing[0].detail, "not a file");
    symlink("/nowhere/b_1.mcap", dir.path("gone.mcap")).unwrap();
    let dir = dir.listing(&["b_0.mcap", "gone.mcap", "", "a\0b"], "");
    assert_eq!(dir.resolve().unwrap().missing.len(), 3);
}

#[test]
fn files_missing_in_the_metadata_follow_the_listed_ones() {
    let dir = Dir::with(&[
        "b_0.mcap",
        "b_10.mcap",
        "b_9.mcap",
        "b_1.mcap",
        ".b_2.mcap",
        "._b_0.mcap",
    ]);
    let dir = dir.listing(&["b_1.mcap", "b_0.mcap"], "");
    assert_eq!(
        dir.names(),
        ["b_1.mcap", "b_0.mcap", "b_9.mcap", "b_10.mcap"]
    );
    let notes = dir.resolve().unwrap().notes;
    assert_eq!(notes.len(), 1);
    let text = "not in metadata.yaml, but played: b_9.mcap, b_10.mcap";
    assert!(notes[0].to_string().ends_with(text), "{}", notes[0]);
    let names: Vec<String> = (0..9).map(|n| format!("{n}.mcap")).collect();
    let many = Note::Unlisted {
        dir: "bag".into(),
        names,
    };
    assert!(
        many.to_string().ends_with("3.mcap, 4.mcap and 4 more"),
        "{many}"
    );
}

#[test]
fn without_metadata_files_are_ordered_by_their_numbers() {
    for (on_disk, found) in [
        (
            &["b_10.mcap", "b_2.mcap", "b_0.mcap"][..],
            &["b_0.mcap", "b_2.mcap", "b_10.mcap"][..],
        ),
        (&["10_b.mcap", "2_b.mcap"], &["2_b.mcap", "10_b.mcap"]),
        (
            &["b_2.mcap.zstd", "b_10.mcap", "b_1.mcap"],
            &["b_1.mcap", "b_2.mcap.zstd", "b_10.mcap"],
        ),
        // Both forms of one file: the recorder was killed while it compressed it.
        (
            &["b_0.mcap", "b_0.mcap.zstd", "b_1.mcap.zstd"],
            &["b_0.mcap", "b_1.mcap.zstd"],
        ),
        (
            &[
                "b.mcap",
                "b.db3",
                "b.txt",
                "mcap",
                "b.zstd",
                "sub/b_1.mcap",
                ".mcap",
            ],
            &["b.mcap"],
        ),
    ] {
        let dir = Dir::with(on_disk);
        assert_eq!(dir.names(), found, "{on_disk:?}");
        let directory = dir.resolve().unwrap();
        assert!(directory.notes.is_empty() && directory.metadata.is_none());
        // Metadata that lists no files changes nothing.
        assert_eq!(dir.listing(&[], "").names(), found, "{on_disk:?}");
    }
}

#[test]
fn links_are_followed_and_each_file_is_used_once() {
    let elsewhere = Dir::with(&["far.mcap"]);
    let dir = Dir::with(&["b_0.mcap"]);
    symlink(elsewhere.path("far.mcap"), dir.path("b_1.mcap")).unwrap();
    symlink("b_0.mcap", dir.path("b_2.mcap")).unwrap();
    symlink(elsewhere.path("gone.mcap"), dir.path("b_3.mcap")).unwrap();
    assert_eq!(dir.names(), ["b_0.mcap", "b_1.mcap"]);
    let dir = dir.listing(&["b_2.mcap", "b_1.mcap"], "");
    assert_eq!(dir.names(), ["b_2.mcap", "b_1.mcap"]);
    assert_eq!(dir.resolve().unwrap().notes, []);
}

#[test]
fn entries_named_like_recordings_that_are_no_files_are_reported() {
    let dir = Dir::with(&["b_0.mcap", "b_4.mcap.zstd", "notes.txt"]);
    for pipe in ["b_10.mcap", "._b_0.mcap"] {
        make_pipe(&dir.path(pipe));
    }
    fs::create_dir(dir.path("b_2.mcap")).unwrap();
    fs::create_dir(dir.path("b_2")).unwrap();
    symlink("/nowhere/b_3.mcap", dir.path("b_3.mcap")).unwrap();
    // The recordings of these names exist in another form.
    symlink("/nowhere/b_4.mcap", dir.path("b_4.mcap")).unwrap();
    symlink("b_0.mcap", dir.path("b_5.mcap")).unwrap();
    let reported = |directory: &Directory| -> Vec<String> {
        let missing = directory.missing.iter();
        let name = |gone: &bagplay::bag::Missing| dir.below(std::slice::from_ref(&gone.path));
        missing
            .flat_map(|gone| [name(gone).concat(), gone.detail.clone()])
            .collect()
    };
    let by_name = dir.resolve().unwrap();
    assert_eq!(dir.below(&by_name.files), ["b_0.mcap", "b_4.mcap.zstd"]);
    let (no_file, gone) = ("not a file", "no such file");
    assert_eq!(
        reported(&by_name),
        ["b_2.mcap", no_file, "b_3.mcap", gone, "b_10.mcap", no_file]
    );

    // With metadata, the listed files are the parts.
    let listed = dir.listing(&["b_0.mcap", "b_2.mcap"], "");
    let missing = listed.resolve().unwrap().missing;
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].path, listed.path("b_2.mcap"));
}

#[test]
fn broken_metadata_is_reported_and_files_are_ordered_by_name() {
    let path = |dir: &Dir| dir.path("metadata.yaml");
    let check = |dir: &Dir, said: &str| {
        assert_eq!(dir.names(), ["b_2.mcap", "b_10.mcap"], "{said}");
        let directory = dir.resolve().unwrap();
        assert_eq!(
            (directory.notes.len(), directory.metadata),
            (1, None),
            "{said}"
        );
        let note = directory.notes[0].to_string();
        assert!(
            note.contains(said) && note.contains("metadata.yaml"),
            "{note}"
        );
        assert_eq!(note.lines().count(), 1);
    };
    let long = vec![b'#'; (4 << 20) + 1];
    for (text, said) in [
        (&b"rosbag2_bagfile_information: ["[..], "line "),
        (b"", "no `rosbag2_bagfile_information`"),
        (b"\xff\xfe\x00", "UTF-8"),
        (&long, "longer than the 4194304 bytes"),
    ] {
        let dir = Dir::with(&["b_10.mcap", "b_2.mcap"]);
        fs::write(path(&dir), text).unwrap();
        check(&dir, said);
    }
    let dir = Dir::with(&["b_10.mcap", "b_2.mcap"]);
    fs::create_dir(path(&dir)).unwrap();
    check(&dir, "not a file");
}

#[test]
fn unsupported_directories_are_refused_with_a_hint() {
    let with = |listed: &[&str], lines: &str| Dir::with(&["b_0.mcap"]).listing(listed, lines);
    let files = &["b_0.mcap"][..];
    for (listed, lines, message) in [
        (
            files,
            "  storage_identifier: sqlite3\n",
            "the storage is `sqlite3`, but only mcap",
        ),
        (
            files,
            "  compression_mode: MESSAGE\n  compression_format: zstd\n",
            "each message",
        ),
        (
            files,
            "  compression_mode: FILE\n  compression_format: lz4\n",
            "with `lz4`",
        ),
        (files, "  compression_mode: COSMIC\n", "compression_mode"),
        (&["../b_0.mcap"], "", "`../b_0.mcap` is outside"),
        (&["b_0.mcap", "x/../../b_0.mcap"], "", "is outside"),
        (&["/etc/passwd"], "", "`/etc/passwd` is outside"),
    ] {
        let error = with(listed, lines).error();
        assert!(error.contains(message), "{message}: {error}");
        assert!(
            error.contains("metadata.yaml: ") && error.contains("; hint: "),
            "{error}"
        );
    }
    for fine in [
        "  storage_identifier: mcap\n",
        "  storage_identifier: ''\n  compression_mode: FILE\n",
        "  compression_mode: ''\n  compression_format: zstd\n",
        "  compression_mode: file\n  compression_format: zstd\n",
    ] {
        assert_eq!(with(files, fine).names(), files, "{fine}");
    }
}

#[test]
fn a_directory_without_recordings_is_an_error_with_a_fitting_hint() {
    let hint = |dir: &Dir| {
        let error = dir.error();
        assert!(error.contains("no recording in it; hint: "), "{error}");
        error.rsplit("hint: ").next().unwrap().to_owned()
    };
    assert!(hint(&Dir::with(&["notes.txt"])).starts_with("a rosbag2 directory holds"));
    assert!(hint(&Dir::with(&["b_0.db3"])).contains("ros2 bag convert"));
    assert!(hint(&Dir::with(&["b_0.mcap/b_0.db3"])).contains("not regular files"));
    let gone = Dir::with(&[]).listing(&["b_0.mcap"], "");
    assert!(hint(&gone).starts_with("none of the files"));
    let dir = Dir::with(&["file"]);
    for path in [dir.path("file"), dir.path("nowhere")] {
        let error = Directory::resolve(&path).unwrap_err();
        assert!(
            matches!(error, DirectoryError::Unreadable { .. }),
            "{error}"
        );
    }
}

/// All directories with a `metadata.yaml` below a folder, sorted.
fn directories(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            directories(&path, found);
        } else if path.ends_with("metadata.yaml") {
            found.push(dir.to_owned());
        }
    }
    found.sort();
}

#[test]
fn real_directories_hold_the_files_that_they_list() {
    let Some(data) = data() else { return };
    let mut found = Vec::new();
    directories(&data, &mut found);
    assert!(
        found.len() >= 17,
        "{} under {}",
        found.len(),
        data.to_string_lossy()
    );
    for dir in found {
        let name = dir.to_string_lossy();
        let directory = Directory::resolve(&dir).unwrap();
        assert_eq!(
            (&directory.missing[..], &directory.notes[..]),
            (&[][..], &[][..]),
            "{name}"
        );
        let metadata = directory
            .metadata
            .expect("a metadata.yaml that can be read");
        assert_eq!(directory.files.len(), metadata.files.len(), "{name}");
        assert_eq!(metadata.storage, "mcap", "{name}");
        assert!((4..=9).contains(&metadata.version.unwrap()), "{name}");
        let counts = metadata
            .topics
            .iter()
            .map(|topic| topic.message_count.unwrap());
        assert_eq!(Some(counts.sum::<u64>()), metadata.message_count, "{name}");
        // Metadata and channels agree on a topic where both describe it.
        let plain = |path: &PathBuf| path.extension().is_some_and(|it| it == "mcap");
        if !directory.files.iter().all(plain) {
            continue;
        }
        let bag = Bag::open(&directory.files).unwrap();
        for topic in bag.topics() {
            let listed = metadata.topics.iter().find(|it| it.name == topic.name);
            let listed = listed.unwrap_or_else(|| panic!("{name}: {}", topic.name));
            assert_eq!(
                listed.type_name,
                topic.type_name(),
                "{name}: {}",
                topic.name
            );
            if !listed.offered_qos.is_empty() && !topic.offered_qos.is_empty() {
                assert_eq!(
                    listed.offered_qos, topic.offered_qos,
                    "{name}: {}",
                    topic.name
                );
            }
            if let (Some(listed), Some(hash)) = (&listed.type_hash, &topic.type_hash) {
                assert_eq!(listed, hash, "{name}: {}", topic.name);
            }
        }
    }
    let split = Directory::resolve(&data.join("derived/split_file_zstd")).unwrap();
    let names = [0, 1].map(|n| {
        data.join(format!(
            "derived/split_file_zstd/split_file_zstd_{n}.mcap.zstd"
        ))
    });
    assert_eq!(split.files, names);
    let flight = Directory::resolve(&data.join("crazyflie/bag8"))
        .unwrap()
        .metadata
        .unwrap();
    assert_eq!(flight.ros_distro.as_deref(), Some("jazzy"));
    assert!(
        flight
            .topics
            .iter()
            .all(|topic| topic.offered_qos.len() == 1 && topic.type_hash.is_some())
    );
}

#[test]
fn real_compressed_recordings_unpack_to_their_originals() {
    let Some(data) = data() else { return };
    let unpack = |path: &Path| {
        let mut spooled = spool(path, &mut |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!(spooled.damage, None, "{}", path.to_string_lossy());
        let mut bytes = Vec::new();
        spooled.file.read_to_end(&mut bytes).unwrap();
        bytes
    };
    let sample = data.join("truncated/test_sample.mcap");
    assert_eq!(
        unpack(&sample.with_extension("mcap.zstd")),
        fs::read(&sample).unwrap()
    );
    let split = Directory::resolve(&data.join("derived/split_file_zstd")).unwrap();
    let unpacked = tempfile::tempdir().unwrap();
    let parts = split.files.iter().zip(0..).map(|(packed, n)| {
        let path = unpacked.path().join(format!("{n}.mcap"));
        fs::write(&path, unpack(packed)).unwrap();
        path
    });
    let bag = Bag::open(&parts.collect::<Vec<_>>()).unwrap();
    assert_eq!(bag.message_count(), split.metadata.unwrap().message_count);
}
