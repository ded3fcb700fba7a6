//! QoS profiles as ROS 2 nodes see them: those of `--qos-profile-overrides-path`, recorded ones, and what becomes of
//! recorded ones that differ. Also invalid files.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};

use crossbeam_channel::bounded;
use predicates::prelude::*;
use predicates::str::contains;
use zenoh::Wait;

use crate::cli::{demo, play_process};
use crate::support::mcaps::{Files, Note, Spec, TopicSpec};
use crate::support::network::{free_endpoint, node};
use crate::support::patience::PATIENCE;

/// A file with these profiles.
fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

/// Ends the process, also when the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

/// The profile that each of these topics is announced with when the recording is played.
fn announced(bag: &Path, args: &[&str], topics: &[&str]) -> BTreeMap<String, String> {
    let endpoint = free_endpoint();
    let listen = format!("[\"{endpoint}\"]");
    let router = node("\"router\"", "", &[("listen/endpoints", listen.as_str())]);
    let (tell, tokens) = bounded(1000);
    let _watch = router
        .liveliness()
        .declare_subscriber("@ros2_lv/0/*/*/*/MP/**")
        .history(true)
        .callback(move |sample| drop(tell.try_send(sample.key_expr().to_string())))
        .wait()
        .unwrap();
    let playing = play_process()
        .arg(bag)
        .args(["--connect", &endpoint, "--start-paused"])
        .args(args)
        .env_remove("RUST_LOG")
        .env_remove("ROS_DOMAIN_ID")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _playing = Killed(playing);
    let mut profiles = BTreeMap::new();
    while !topics.iter().all(|topic| profiles.contains_key(*topic)) {
        let token = tokens.recv_timeout(PATIENCE).expect("a token");
        // … / topic / type / hash / profile
        let mut chunks = token.rsplit('/');
        let profile = chunks.next().unwrap().to_owned();
        let topic = chunks.nth(2).unwrap().replace('%', "/");
        profiles.insert(topic, profile);
    }
    profiles
}

#[test]
fn an_override_replaces_recorded_policies_and_the_others_stay() {
    let overrides = file(
        "/imu:\n  reliability: reliable\n  durability: transient_local\n  history: keep_last\n  depth: 3\n  \
         deadline: {sec: 1, nsec: 5}\nodom: {history: KEEP_ALL, reliability: 2}\n\
         /tf_static: {durability: volatile}\n/robot_description: {durability: 1, depth: 7}\n",
    );
    let path = overrides.path().to_str().unwrap();
    let topics = [
        "/imu",
        "/r/odom",
        "/tf_static",
        "/robot_description",
        "/scan",
        "/tf",
    ];
    let args = ["--qos-profile-overrides-path", path, "-m", "/odom:=/r/odom"];
    let found = announced(&demo(), &args, &topics);
    let profiles = topics.map(|topic| found[topic].as_str());
    let expected = [
        ":1:,3:1,5:,:,,",
        "2::2,:,:,:,,",
        "::,10:,:,:,,",
        ":1:,7:,:,:,,",
        "2::,10:,:,:,,",
        "::,10:,:,:,,",
    ];
    assert_eq!(profiles, expected);
}

#[test]
fn differing_publishers_become_one_that_is_compatible_with_each() {
    let offered = |profiles: &str| TopicSpec::named("/t").with("offered_qos_profiles", profiles);
    let named = |name: &str, profiles: &str| TopicSpec {
        name: name.to_owned(),
        ..offered(profiles)
    };
    let latched =
        "- {reliability: best_effort, durability: transient_local, history: keep_last, depth: 1}\n";
    let plain = "- {reliability: reliable, durability: volatile, history: unknown, depth: 0}\n";
    let lossy = "- {reliability: 2, durability: 2, deadline: {sec: 2, nsec: 0}}\n";
    let both = format!("{lossy}{plain}");
    let spec = Spec {
        topics: vec![
            // Two channels of one topic, as two publishers make them in some recorders.
            named("/latched", latched),
            named("/latched", plain),
            named("/hurried", &both),
            named("/lossy", &format!("{lossy}{lossy}")),
        ],
        ..Spec::new(vec![(0..4).map(|n| Note::new(n, 1, "x")).collect()])
    };
    let files = Files::of([spec.write()]);
    let topics = ["/latched", "/hurried", "/lossy"];
    let found = announced(&files.paths[0], &[], &topics);
    let profiles = topics.map(|topic| found[topic].as_str());
    assert_eq!(
        profiles,
        [":1:,2:,:,:,,", "::,10:2,0:,:,,", "2::,10:2,0:,:,,"]
    );
}

fn play(args: &[&str]) -> assert_cmd::assert::Assert {
    crate::cli::play()
        .arg(demo())
        .args([
            "--wire",
            "null",
            "--rate",
            "max",
            "--qos-profile-overrides-path",
        ])
        .args(args)
        .assert()
}

#[test]
fn an_invalid_overrides_file_ends_with_2_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.yaml");
    for path in [
        missing.to_str().unwrap(),
        dir.path().to_str().unwrap(),
        "/dev/zero",
    ] {
        let message = format!("--qos-profile-overrides-path: {path}: ");
        play(&[path]).code(2).stdout("").stderr(contains(message));
    }
    for (text, message) in [
        (
            "/imu:\n  reliability: maybe\n",
            "line 2: /imu: reliability: `maybe` is not a valid value",
        ),
        (
            "/imu:\n  depht: 1\n",
            "line 2: /imu: unknown policy `depht`",
        ),
        (
            "/imu: [\n",
            "not a mapping of topics to QoS profiles: line ",
        ),
    ] {
        let file = file(text);
        let path = file.path().to_str().unwrap();
        let error = contains(message).and(contains(path));
        play(&[path]).code(2).stdout("").stderr(error);
    }
}

#[test]
fn a_profile_of_a_topic_that_is_not_played_is_a_warning() {
    let file = file("/imu: {depth: 1}\nlidar: {depth: 1}\n/odom: {depth: 1}\n");
    let path = file.path().to_str().unwrap();
    let warning = |name: &str| contains(format!("`{name}` has a profile but is not played"));
    play(&[path, "--exclude-topics", "/odom"]).code(0).stderr(
        warning("lidar")
            .and(warning("/odom"))
            .and(warning("/imu").not()),
    );
}
