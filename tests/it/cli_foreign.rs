//! What the binary says of text that is not its own: names of files, topics and types, definitions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

use crate::mcaps::{Note, Spec, TopicSpec};
use crate::patience::PATIENCE;

/// What a terminal obeys, or takes for the end of a line.
const STEERING: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\r\n\u{202e}";

fn play(args: &[&OsStr]) -> Output {
    let mut play = Command::cargo_bin("play").unwrap();
    play.env_remove("RUST_LOG").timeout(3 * PATIENCE);
    play.args(args).output().unwrap()
}

/// Two chunks whose topic has that name; the second chunk fails its checksum.
fn recording(topic: &str) -> Vec<u8> {
    let spec = Spec {
        topics: vec![TopicSpec::named(topic)],
        ..Spec::new(vec![vec![Note::new(0, 1, "a")], vec![Note::new(0, 2, "b")]])
    };
    let mut bytes = spec.write();
    let chunk = crate::mcaps::place(&bytes, mcap::records::op::CHUNK, 1);
    bytes[chunk.at + 9 + chunk.body - 1] ^= 1;
    bytes
}

fn plain(said: &[u8]) -> String {
    let said = std::str::from_utf8(said)
        .expect("what is said is UTF-8")
        .to_owned();
    let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!said.contains(steers), "{said:?}");
    said
}

#[test]
fn names_of_files_and_topics_are_escaped_wherever_they_are_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("a{STEERING}.mcap"));
    std::fs::write(&path, recording(&format!("/t{STEERING}"))).unwrap();
    let [null, max] = [["--wire", "null"], ["--rate", "max"]];
    let info = [OsStr::new("info"), path.as_os_str()];
    let check = [info[0], OsStr::new("--check"), info[1]];
    let mut run = vec![path.as_os_str()];
    run.extend(null.iter().chain(&max).map(OsStr::new));
    let log = dir.path().join("log");
    run.extend([OsStr::new("--log-file"), log.as_os_str()]);
    let mut twice = vec![path.as_os_str()];
    twice.extend(&run);
    let mut unknown = run.clone();
    unknown.extend(["--topics", "/nope"].map(OsStr::new));
    let name = "2J\\r\\n\\u{202e}.mcap";
    for args in [&info[..], &check, &run, &twice, &unknown] {
        let done = play(args);
        let (out, err) = (plain(&done.stdout), plain(&done.stderr));
        if args != unknown {
            assert!(
                out.contains(name) || err.contains(name),
                "{args:?}: {out}{err}"
            );
        }
        let lines = err.lines().filter(|line| line.starts_with("owned")).count();
        assert_eq!(lines, 0, "{err}");
    }
    plain(&std::fs::read(log).unwrap());
}

#[test]
fn a_name_that_is_no_utf8_is_marked_in_json_and_the_result_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(Path::new(OsStr::from_bytes(b"a\xff.mcap")));
    std::fs::write(&path, recording("/t")).unwrap();
    let json = ["--format", "json"].map(OsStr::new);
    let due = format!("{}/a\\xff.mcap", dir.path().display());
    let run = ["--wire", "null", "--rate", "max"].map(OsStr::new);
    let run = play(&[&[path.as_os_str()], &run[..], &json].concat());
    assert!(run.status.success());
    let run: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(run["recording"]["files"][0], due);
    assert_eq!(run["damage"][0]["file"], due);
    let info = play(&[&[OsStr::new("info"), path.as_os_str()], &json[..]].concat());
    assert!(info.status.success());
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(info["files"][0]["path"], due);
    let page = play(&[OsStr::new("info"), path.as_os_str()]);
    assert!(plain(&page.stdout).contains("a\\xff.mcap"));
}

#[test]
fn a_name_of_two_megabytes_is_not_printed_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.mcap");
    let topic = format!("/{}", "t".repeat(2 << 20));
    std::fs::write(&path, recording(&topic)).unwrap();
    let run = ["--wire", "null", "--rate", "max"].map(OsStr::new);
    let topics = ["--topics", "/nope"].map(OsStr::new);
    for args in [&[][..], &topics] {
        let done = play(&[&[path.as_os_str()], &run[..], args].concat());
        assert!(done.stderr.len() < 20_000, "{}", done.stderr.len());
    }
    let info = play(&[OsStr::new("info"), OsStr::new("--check"), path.as_os_str()]);
    assert!(info.stdout.len() < 20_000, "{}", info.stdout.len());
}

#[test]
fn a_recording_with_compressed_messages_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a_0.mcap");
    let packed = |text: &str| {
        let cdr = [&[0, 1, 0, 0][..], text.as_bytes()].concat();
        zstd::bulk::compress(&cdr, 1).unwrap()
    };
    let notes = vec![Note::new(0, 1, packed("a")), Note::new(0, 2, packed("b"))];
    std::fs::write(&path, Spec::new(vec![notes]).write()).unwrap();
    let run = ["--rate", "max", "--wire", "null"].map(OsStr::new);
    let info = [OsStr::new("info"), path.as_os_str()];
    for args in [&[&[path.as_os_str()], &run[..]].concat()[..], &info] {
        let done = play(args);
        assert_eq!(done.status.code(), Some(3));
        let said = plain(&done.stderr);
        let name = path.display().to_string();
        for word in [&name, "zstd", "MESSAGE", "hint: `ros2 bag convert`"] {
            assert!(said.contains(word), "{said}");
        }
    }
}

#[test]
fn twenty_thousand_missing_parts_are_one_line_with_their_count() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("r_0.mcap"),
        Spec::new(vec![vec![Note::new(0, 1, "a")]]).write(),
    )
    .unwrap();
    let parts: Vec<String> = (0..20_000).map(|i| format!("r_{i}.mcap")).collect();
    let listing = format!(
        "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n  relative_file_paths: [{}]\n",
        parts.join(", ")
    );
    std::fs::write(dir.path().join("metadata.yaml"), listing).unwrap();
    let run = ["--wire", "null", "--rate", "max", "--format", "json"].map(OsStr::new);
    let done = play(&[&[dir.path().as_os_str()], &run[..]].concat());
    let said = plain(&done.stderr);
    assert_eq!(said.matches("is missing").count(), 1, "{said}");
    assert!(
        said.contains(
            "r_1.mcap: a part of the recording is missing: no such file, and 19,998 more"
        ),
        "{said}"
    );
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(
        (&summary["damaged"], &summary["damage"][0]["count"]),
        (&19_999.into(), &19_999.into())
    );
}
