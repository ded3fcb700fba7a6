//! How the binary prints foreign text: names of files, topics and types, definitions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Output;

use crate::support::mcaps::{Note, Spec, TopicSpec};
use crate::support::network::free_endpoint;

/// Characters that control a terminal, or end a line.
const CONTROL: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\r\n\u{202e}";

fn play(args: &[&OsStr]) -> Output {
    crate::cli::play().args(args).output().unwrap()
}

/// Two chunks whose topic has that name; the second chunk fails its checksum.
fn recording(topic: &str) -> Vec<u8> {
    let spec = Spec {
        topics: vec![TopicSpec::named(topic)],
        ..Spec::new(vec![vec![Note::new(0, 1, "a")], vec![Note::new(0, 2, "b")]])
    };
    let mut bytes = spec.write();
    let chunk = crate::support::mcaps::place(&bytes, mcap::records::op::CHUNK, 1);
    bytes[chunk.at + 9 + chunk.body - 1] ^= 1;
    bytes
}

/// The output as text; asserts that nothing in it controls a terminal.
fn plain(output: &[u8]) -> String {
    let text = std::str::from_utf8(output)
        .expect("output is UTF-8")
        .to_owned();
    let is_control = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(is_control), "{text:?}");
    text
}

#[test]
fn names_of_files_and_topics_are_escaped_in_all_output() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("a{CONTROL}.mcap"));
    std::fs::write(&path, recording(&format!("/t{CONTROL}"))).unwrap();
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
fn what_is_lost_by_damage_is_listed_with_its_times_and_topics() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.mcap");
    std::fs::write(&path, recording("/t")).unwrap();
    let args = ["info", "--check"].map(OsStr::new);
    let done = play(&[&args[..], &[path.as_os_str()]].concat());
    let out = plain(&done.stdout);
    assert!(out.contains("damaged   1 part\n"), "{out}");
    let line = out.lines().find(|line| line.contains("s  /t, up to "));
    let line = line.unwrap_or_else(|| panic!("{out}"));
    assert!(
        line.contains("+0.000 s     0.000 s  /t, up to 1 message: "),
        "{line}"
    );
    let json = ["--format", "json"].map(OsStr::new);
    let done = play(&[&args[..], &json, &[path.as_os_str()]].concat());
    let info: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let part = &info["damaged"][0];
    assert_eq!(part["topics"], serde_json::json!(["/t"]));
    assert_eq!((&part["start_ns"], &part["end_ns"]), (&2.into(), &2.into()));
    assert_eq!(part["kind"], "checksum");
}

/// Replaces each occurrence of a text by one of the same length.
fn replace(bytes: &mut [u8], text: &[u8], by: &[u8]) {
    assert_eq!(text.len(), by.len());
    let found = |bytes: &[u8], from: usize| {
        let mut windows = bytes[from..].windows(text.len());
        windows.position(|window| window == text)
    };
    let mut from = 0;
    while let Some(at) = found(bytes, from) {
        bytes[from + at..from + at + by.len()].copy_from_slice(by);
        from += at + by.len();
    }
    assert!(from > 0, "{text:?} is not in the file");
}

/// What a recording has, what it has instead, and what `info` and the log of a run over the network show of it.
const HOSTILE: [(&[u8], &[u8], &str, &str); 10] = [
    (
        b"std_msgs/msg/String",
        b"a/msg/\x1b[2J\x07\xc2\x9b\r\n\0Bcd",
        r"a/msg/\u{1b}[2J\u{7}\u{9b}\r\n\0Bcd ",
        r"`a/msg/\u{1b}[2J\u{7}\u{9b}\r\n\0Bcd` is no ROS 2 type",
    ),
    (
        b"std_msgs/msg/String",
        b"a/msg/\x1b[2J\x07\xc2\x9b\r\n\0B\xff\x9b",
        r"a/msg/\u{1b}[2J\u{7}\u{9b}\r\n\0B",
        r"`a/msg/\u{1b}[2J\u{7}\u{9b}\r\n\0B",
    ),
    (
        b"string data",
        b"\x1b[2J\x07\xc2\x9b\r\n\0x",
        "",
        r"`\u{1b}[2J\u{7}\u{9b}` in",
    ),
    (
        b"string data",
        b"\x1b[2J\x07\xc2\x9b\xff\r\n\0",
        "",
        "not UTF-8",
    ),
    (
        b"string data",
        b"string \x1b\x07\r\0",
        "",
        r"`string \u{1b}\u{7}\r\0` in",
    ),
    (
        b"string data",
        b"a/\x1b\x07\xc2\x9b\0 b\r\n",
        "",
        r"`a/\u{1b}\u{7}\u{9b}\0 b` in",
    ),
    (
        b"ros2msg",
        b"\x1b[2J\x07\r\n",
        "",
        r"\u{1b}[2J\u{7}\r\n, not ros2msg",
    ),
    (
        b"\x03\0\0\0cdr",
        b"\x03\0\0\0\x1b\x07\n",
        r"(\u{1b}\u{7}\n)",
        r"`\u{1b}\u{7}\n`",
    ),
    (
        b"\x04\0\0\0ros2",
        b"\x04\0\0\0\x1b\xc2\x9b\n",
        r"\u{1b}\u{9b}\n, by test",
        "",
    ),
    (
        b"\x04\0\0\0test",
        b"\x04\0\0\0\x1b\x07\r\n",
        r"by \u{1b}\u{7}\r\n",
        "",
    ),
];

/// ESC, BEL, the C1 character CSI, CR, LF and NUL in what a recording says of itself; also bytes that are not UTF-8.
#[test]
fn types_and_definitions_are_escaped_in_all_output() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.mcap");
    let log = dir.path().join("log");
    let spec = Spec::new(vec![vec![Note::new(0, 1, "a"), Note::new(0, 2, "b")]]);
    let spec = spec.options(|o| {
        o.calculate_chunk_crcs(false)
            .calculate_data_section_crc(false)
            .calculate_summary_section_crc(false)
    });
    for (text, by, in_info, in_log) in HOSTILE {
        let mut bytes = spec.write();
        replace(&mut bytes, text, by);
        std::fs::write(&path, bytes).unwrap();
        let endpoint = free_endpoint();
        let runs: [(&[&str], &str); 4] = [
            (&["info"], in_info),
            (&["info", "--check"], in_info),
            (&["--wire", "null", "--rate", "max"], ""),
            (&["--listen", &endpoint, "--rate", "max"], in_log),
        ];
        for (args, shown) in runs {
            let mut words: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
            words.push(path.as_os_str());
            let is_info = args[0] == "info";
            if !is_info {
                words.extend([OsStr::new("--log-file"), log.as_os_str()]);
            }
            let done = play(&words);
            let (out, err) = (plain(&done.stdout), plain(&done.stderr));
            let name = format!("{} {args:?}: {out}{err}", by.escape_ascii());
            // A topic that cannot be published is the only one: that ends a run with 3.
            assert!(matches!(done.status.code(), Some(0 | 3)), "{name}");
            let text = if is_info { &out } else { &err };
            assert!(text.contains(shown), "{name}");
            let is_rest = |line: &str| line.starts_with("\\0") || line.starts_with("Bcd");
            assert!(!out.lines().chain(err.lines()).any(is_rest), "{name}");
            if !is_info {
                assert!(
                    plain(&std::fs::read(&log).unwrap()).contains(shown),
                    "{name}"
                );
                std::fs::remove_file(&log).unwrap();
            }
        }
    }
}

#[test]
fn arguments_are_escaped_in_every_usage_error() {
    let control = OsStr::new(CONTROL);
    let after = |flag: &str| {
        let mut word = OsStr::new(flag).to_owned();
        word.push(CONTROL);
        word
    };
    let demo = OsStr::new(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap"));
    // An unknown flag, subcommand and shell; values that clap, our parsers or later checks refuse.
    let mut rows = vec![
        vec![after("--unknown")],
        vec!["completions".into(), control.into()],
        vec!["info".into(), after("--check")],
        vec![control.into()],
    ];
    for flag in [
        "--rate",
        "--format",
        "--start",
        "--loop-range",
        "--read-ahead",
        "--storage",
        "--clock",
        "--remap",
        "--prefix",
        "--topics",
        "--node-name",
        "--listen",
        "--qos-profile-overrides-path",
    ] {
        rows.push(vec![after(&format!("{flag}=")), demo.into()]);
    }
    for row in rows {
        let row: Vec<&OsStr> = row.iter().map(AsRef::as_ref).collect();
        let done = play(&row);
        assert_ne!(done.status.code(), Some(0), "{row:?}");
        plain(&done.stdout);
        let log = plain(&done.stderr);
        assert!(log.contains("]0;owned\\"), "{row:?}: {log}");
        assert!(
            !log.lines().any(|line| line.starts_with("\\u{202e}")),
            "{log}"
        );
    }
}

#[test]
fn the_program_name_is_not_printed_unescaped() {
    use std::os::unix::process::CommandExt as _;

    for flag in ["--unknown", "--help"] {
        let mut play = std::process::Command::new(assert_cmd::cargo::cargo_bin("play"));
        let done = play
            .arg0(format!("play{CONTROL}"))
            .arg(flag)
            .output()
            .unwrap();
        plain(&done.stdout);
        plain(&done.stderr);
    }
}

#[test]
fn json_has_only_printable_characters() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("a{CONTROL}.mcap"));
    let topic = format!("/t{CONTROL}");
    std::fs::write(&path, recording(&topic)).unwrap();
    let json = ["--format", "json"].map(OsStr::new);
    let run = ["--wire", "null", "--rate", "max"].map(OsStr::new);
    let info = play(&[&[OsStr::new("info"), path.as_os_str()], &json[..]].concat());
    let info: serde_json::Value = serde_json::from_str(&plain(&info.stdout)).unwrap();
    assert_eq!(info["topics"][0]["name"], topic);
    let run = play(&[&[path.as_os_str()], &run[..], &json].concat());
    let run: serde_json::Value = serde_json::from_str(&plain(&run.stdout)).unwrap();
    assert_eq!(run["recording"]["files"][0], path.to_str().unwrap());
}

#[test]
fn errors_of_the_library_are_printable() {
    use std::error::Error;

    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(format!("{name}{CONTROL}"));
    std::fs::write(path("text.mcap"), "no recording").unwrap();
    std::fs::write(path("packed.mcap.zstd"), "no recording").unwrap();
    std::fs::create_dir(path("empty")).unwrap();
    for (name, storage, part) in [("other", r"\e\a", "a"), ("outside", "mcap", r"../\e\a")] {
        std::fs::create_dir(path(name)).unwrap();
        let listing = format!(
            "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: \"{storage}\"\n  relative_file_paths: [\"{part}\"]\n"
        );
        std::fs::write(path(name).join("metadata.yaml"), listing).unwrap();
    }
    for name in [
        "none.mcap",
        "text.mcap",
        "packed.mcap.zstd",
        "empty",
        "other",
        "outside",
    ] {
        let error = bagplay::bag::Bag::open(&[path(name)]).unwrap_err();
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        assert!(!text.contains(char::is_control), "{text:?}");
        assert!(text.contains("owned\\u{7}"), "{text}");
    }
}

#[test]
fn a_name_that_is_not_utf8_is_escaped_in_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(Path::new(OsStr::from_bytes(b"a\xff.mcap")));
    std::fs::write(&path, recording("/t")).unwrap();
    let json = ["--format", "json"].map(OsStr::new);
    let due = format!("{}/a\\xff.mcap", dir.path().to_string_lossy());
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
fn a_recording_with_compressed_messages_is_refused_with_a_hint() {
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
        let log = plain(&done.stderr);
        let name = path.to_string_lossy().into_owned();
        for word in [&name, "zstd", "MESSAGE", "hint: `ros2 bag convert`"] {
            assert!(log.contains(word), "{log}");
        }
    }
}

#[test]
fn twenty_thousand_missing_parts_are_reported_in_one_line_with_their_count() {
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
    let log = plain(&done.stderr);
    assert_eq!(log.matches("is missing").count(), 1, "{log}");
    assert!(
        log.contains("r_1.mcap: a part of the recording is missing: no such file, and 19,998 more"),
        "{log}"
    );
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(
        (&summary["damaged"], &summary["damage"][0]["count"]),
        (&19_999.into(), &19_999.into())
    );
}
