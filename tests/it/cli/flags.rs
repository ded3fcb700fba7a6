//! Command lines as users and scripts write them.

use std::process::Stdio;

use predicates::str::contains;
use zenoh::Wait;

use crate::bag::hostile::base;
use crate::cli::{demo, json, play, play_process};
use crate::support::mcaps::{Files, Note, Spec, TopicSpec, place};
use crate::support::network::{STRING, STRING_HASH, free_endpoint, hearing, node, token};

#[test]
fn global_flags_may_precede_a_subcommand() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let log = log.to_str().unwrap();
    for flags in [&["-vvv"][..], &["--verbose"], &["-q"], &["--log-file", log]] {
        let shown = play().args(flags).arg("info").arg(demo()).assert();
        shown.code(0).stdout(contains("12,247 messages"));
    }
}

#[test]
fn a_hint_names_the_recorded_topic_and_not_the_published_one() {
    let endpoint = free_endpoint();
    let listen = format!("[\"{endpoint}\"]");
    let other = node("\"router\"", "", &[("listen/endpoints", listen.as_str())]);
    let publish = |topic: &str| {
        let key = token(&other, "MP", topic, STRING, STRING_HASH);
        other.liveliness().declare_token(key).wait().unwrap()
    };
    let _imu = publish("/robot1/imu");
    let mut child = play_process()
        .arg(demo())
        .args(["--clock", "--clock-state", "--prefix", "robot1"])
        .args(["--rate", "0.01"])
        .args(["--connect", &endpoint])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut wait_for = hearing(&mut child);
    wait_for(
        "/robot1/imu too: subscribers get both; hint: stop it, --exclude-topics /imu, or --remap /imu:=/other",
    );
    let _state = publish("/rosbag2_player/clock_state");
    wait_for(
        "/clock_state too: subscribers get both; hint: stop it, or give this player another name with --node-name",
    );
    let _clock = publish("/clock");
    wait_for("hint: stop it, or play without --clock");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The effect of a flag of `ros2 bag play`.
enum Effect {
    /// The run is the same as without it.
    Nothing,
    /// These of the recorded topics are played.
    Plays(&'static [&'static str]),
    /// The command ends with 2 and prints this.
    Refused(&'static str),
}

/// The flags of `ros2 bag play`, Humble to Rolling, that `play` accepts only for compatibility.
const ROS_FLAGS: [(&[&str], Effect); 30] = {
    use Effect::{Nothing, Plays, Refused};
    const NO_SERVICE: &[&str] = &["/go/_action/feedback", "/imu", "/odom"];
    const NO_ACTION: &[&str] = &[
        "/get/_service_event",
        "/imu",
        "/odom",
        "/set/_service_event",
    ];
    [
        (&["-s", "mcap"], Nothing),
        (&["--storage", "mcap"], Nothing),
        (&["-s", "sqlite3"], Refused("`ros2 bag convert` writes")),
        (
            &["--storage", "rosbag_v2"],
            Refused("only mcap is supported"),
        ),
        (&["--read-ahead-queue-size", "100"], Nothing),
        (
            &["--read-ahead-queue-size", "0"],
            Refused("0 is not in 1.."),
        ),
        (&["--storage-config-file", "any.yaml"], Nothing),
        (&["--disable-keyboard-controls"], Nothing),
        (&["--disable-loan-message"], Nothing),
        (&["--wait-for-all-acked", "0"], Nothing),
        (&["--wait-for-all-acked", "-1"], Nothing),
        (&["--progress-bar-update-rate", "0"], Nothing),
        (&["--progress-bar-update-rate", "-1"], Nothing),
        (&["--progress-bar-separation-lines", "2"], Nothing),
        (&["--log-level", "debug"], Nothing),
        (&["--log-level", "info"], Nothing),
        (&["--log-level", "warn"], Nothing),
        (&["--log-level", "fatal"], Nothing),
        (
            &["--service-requests-source", "client_introspection"],
            Nothing,
        ),
        (
            &["--publish-service-requests"],
            Refused("are played as topics"),
        ),
        (
            &["--send-actions-as-client"],
            Refused("is played as topics"),
        ),
        (
            &["--services", "/get"],
            Plays(&[
                "/get/_service_event",
                "/go/_action/feedback",
                "/imu",
                "/odom",
            ]),
        ),
        (
            &["--services", "get", "--topics", "/imu"],
            Plays(&["/get/_service_event", "/imu"]),
        ),
        (
            &["--services", "/none"],
            Refused("no service `/none` in the recording; recorded are: /get, /set"),
        ),
        (&["--exclude-services", "/get", "/set"], Plays(NO_SERVICE)),
        (
            &["--actions", "/go", "--topics", "/odom"],
            Plays(&["/go/_action/feedback", "/odom"]),
        ),
        (
            &["--actions", "/stop"],
            Refused("no action `/stop` in the recording; recorded are: /go"),
        ),
        (&["--exclude-actions", "/go"], Plays(NO_ACTION)),
        (
            &["--exclude", ".*_service_event|.*_action.*|/imu"],
            Plays(&["/odom"]),
        ),
        (&["--services"], Refused("a value is required")),
    ]
};

#[test]
fn flags_of_ros2_bag_play_are_accepted_mapped_or_refused() {
    let topics = [
        "/imu",
        "/odom",
        "/get/_service_event",
        "/set/_service_event",
        "/go/_action/feedback",
    ];
    let notes = (0..topics.len()).map(|topic| Note::new(topic, 1_000 + topic as u64, [0, 1, 0, 0]));
    let mut spec = Spec::new(vec![notes.collect()]);
    spec.topics = topics.map(TopicSpec::named).to_vec();
    let files = Files::of([spec.write()]);
    let bag = &files.paths[0];
    let run = |words: &[&str]| {
        let mut play = play();
        play.arg(bag)
            .args(words)
            .args(["--wire", "null", "--rate", "max", "--format", "json"]);
        play.output().unwrap()
    };
    let plain = json(&run(&[]).stdout);
    for (words, effect) in ROS_FLAGS {
        let done = run(words);
        let log = String::from_utf8_lossy(&done.stderr);
        if let Effect::Refused(reason) = effect {
            assert_eq!(done.status.code(), Some(2), "{words:?}: {log}");
            assert!(
                log.contains(reason) && done.stdout.is_empty(),
                "{words:?}: {log}"
            );
            continue;
        }
        assert_eq!(done.status.code(), Some(0), "{words:?}: {log}");
        let ran = json(&done.stdout);
        if let Effect::Plays(expected) = effect {
            let played = ran["topics"].as_array().unwrap();
            let mut played: Vec<_> = played
                .iter()
                .map(|topic| topic["name"].as_str().unwrap())
                .collect();
            played.sort_unstable();
            assert_eq!(played, expected, "{words:?}");
        } else {
            assert_eq!(
                (&ran["digest"], &ran["topics"]),
                (&plain["digest"], &plain["topics"]),
                "{words:?}"
            );
        }
    }
}

#[test]
fn inputs_are_accepted_with_and_without_a_storage() {
    let bag = demo().to_string_lossy().into_owned();
    for words in [
        &["-i", &bag][..],
        &["--input", &bag, "mcap"],
        &["-i", &bag, "mcap", "--clock"],
        &[&format!("--input={bag}")],
    ] {
        play()
            .args(words)
            .args(["--wire", "null", "--rate", "max"])
            .assert()
            .code(0);
    }
    let two = [
        "-i", &bag, "mcap", "-i", &bag, "--wire", "null", "--rate", "max",
    ];
    play()
        .args(two)
        .assert()
        .code(0)
        .stderr(contains("played 24,494 messages"));
    play()
        .args(["-i", &bag, "sqlite3"])
        .assert()
        .code(2)
        .stderr(contains("only mcap is supported"));
}

#[test]
fn the_log_level_limits_what_is_logged() {
    let logged = |level: &str| {
        let mut play = play();
        play.arg(demo()).args([
            "--wire",
            "null",
            "--rate",
            "max",
            "--clock",
            "--clock-start",
            "0",
        ]);
        let done = play.args(["--log-level", level]).assert().code(0);
        let log = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        (
            log.contains("warning: /clock reaches"),
            log.contains("played 9,647 messages"),
        )
    };
    assert_eq!(logged("info"), (true, true));
    assert_eq!(logged("warn"), (true, false));
    assert_eq!(logged("error"), (false, false));
}

#[test]
fn the_guide_lists_every_flag_of_ros2_bag_play() {
    use clap::CommandFactory;
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(root.join("docs/user-guide.md")).unwrap();
    let (_, rest) = guide.split_once("### Flags of `ros2 bag play`").unwrap();
    let table = rest.split("\n## ").next().unwrap();
    let command = bagplay::cli::Cli::command();
    let heading = Some("Compatibility with ros2 bag play");
    let flags = command
        .get_arguments()
        .filter(|arg| arg.get_help_heading() == heading);
    let flags: Vec<String> = flags
        .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
        .collect();
    assert!(flags.len() >= 16, "{flags:?}");
    for flag in flags {
        assert!(
            table.contains(&format!("`{flag}`")),
            "{flag} is not in the guide"
        );
        let is_tested = ROS_FLAGS
            .iter()
            .any(|(words, _)| words.contains(&flag.as_str()));
        assert!(is_tested || flag == "--input", "{flag} has no row");
    }
}

#[test]
fn a_recording_without_a_readable_chunk_ends_with_3() {
    let spec = base(Some(mcap::Compression::Zstd));
    let mut bytes = spec.write();
    for n in 0..spec.chunks.len() {
        let chunk = place(&bytes, mcap::records::op::CHUNK, n);
        let end = chunk.at + 9 + chunk.body;
        bytes[end - 16..end].fill(0xff);
    }
    let files = Files::of([bytes]);
    let mut play = play();
    play.arg(&files.paths[0]).args(["--wire", "null"]);
    let ended = play.args(["--rate", "max", "--no-tui"]).assert();
    ended
        .code(3)
        .stderr(contains("nothing was played: the recording is damaged"));
}

#[test]
fn strict_fails_if_messages_counted_in_the_metadata_are_missing() {
    let dir = tempfile::tempdir().unwrap();
    let note = Note::new(0, 1, "x");
    std::fs::write(
        dir.path().join("a.mcap"),
        Spec::new(vec![vec![note]]).write(),
    )
    .unwrap();
    let listing = |count: u64| {
        format!(
            "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n  message_count: {count}\n  \
             relative_file_paths: [a.mcap]\n"
        )
    };
    for (count, code) in [(1, 0), (2, 3)] {
        std::fs::write(dir.path().join("metadata.yaml"), listing(count)).unwrap();
        let mut play = play();
        play.arg(dir.path()).args(["--wire", "null", "--no-tui"]);
        play.args(["--rate", "max", "--strict"]).assert().code(code);
    }
}

#[test]
fn a_topic_that_cannot_be_published_is_not_waited_for() {
    let mut spec = Spec::new(vec![vec![Note::new(0, 1, "x")]]);
    spec.topics = vec![TopicSpec::named("/a#b")];
    let files = Files::of([spec.write()]);
    let wait = |topics: &[&str]| {
        let mut play = play();
        play.arg(&files.paths[0])
            .args(["--clock", "--listen", "tcp/127.0.0.1:0"])
            .arg("--wait-for-subscribers")
            .args(topics);
        play.assert()
    };
    wait(&[]).code(0);
    wait(&["/a#b"]).code(2).stderr(contains(
        "--wait-for-subscribers names /a#b, which is not played",
    ));
}
