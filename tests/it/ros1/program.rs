//! `play --wire ros1`, as a program.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crossbeam_channel::bounded;

use super::peer::{Client, Subscriber, Val, authority, call, publishes, text, try_call};
use super::relay::{Fate, Relay};
use super::{Joined, free_master};
use crate::support::cdr::Cdr;
use crate::support::mcaps::Files;
use crate::support::patience::{PATIENCE, until};
use crate::support::ros1::{ChannelSpec, ros1_file, string};

/// The sum of `std_srvs/Trigger`.
pub(super) const TRIGGER: &str = "937c9679a518e3a18d831e57125ea522";

/// The player on the wire of ROS 1.
pub(super) fn play(master: &str, bag: &Path, args: &[&str]) -> Command {
    let args: Vec<&str> = ["--wire", "ros1"]
        .into_iter()
        .chain(args.iter().copied())
        .collect();
    play_on(master, bag, &args)
}

/// The player; `master` is that of ROS 1.
pub(super) fn play_on(master: &str, bag: &Path, args: &[&str]) -> Command {
    let mut play = Command::new(assert_cmd::cargo::cargo_bin("play"));
    play.arg(bag).args(args);
    play.env_remove("RUST_LOG").env("CI", "1");
    play.env("ROS_MASTER_URI", master);
    for variable in ["ROS_HOSTNAME", "ROS_IP", "ROS_DOMAIN_ID"] {
        play.env_remove(variable);
    }
    play.stdin(Stdio::null());
    play
}

/// A player that runs; killed when it is dropped.
#[derive(Debug)]
pub(super) struct WireRun {
    /// `None` when it has ended.
    child: Option<Child>,
    log: tempfile::NamedTempFile,
    results: tempfile::NamedTempFile,
}

impl WireRun {
    /// Starts a player.
    pub(super) fn start(mut play: Command) -> Self {
        // Files, because nobody reads a pipe before the end.
        let [log, results] = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
        play.stderr(File::create(log.path()).unwrap());
        play.stdout(File::create(results.path()).unwrap());
        Self {
            child: Some(play.spawn().unwrap()),
            log,
            results,
        }
    }

    /// Waits until it has logged these words.
    #[track_caller]
    pub(super) fn wait_for_text(&self, words: &str) {
        until(words, || self.logged().contains(words));
    }

    /// The number of its process.
    pub(super) fn process(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Waits for its end; the output has the log. If it does not end in time, this fails, and it is killed.
    #[track_caller]
    pub(super) fn end(mut self) -> Output {
        let mut status = None;
        until("the end of the player", || {
            let child = self.child.as_mut().unwrap();
            status = child.try_wait().unwrap();
            status.is_some()
        });
        self.child = None;
        Output {
            status: status.unwrap(),
            stdout: std::fs::read(self.results.path()).unwrap(),
            stderr: self.logged().into_bytes(),
        }
    }

    /// What it has logged so far.
    pub(super) fn logged(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }
}

/// Sends a process a signal, as a terminal or a supervisor does.
fn send_signal(process: u32, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

impl Drop for WireRun {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The log of a player.
pub(super) fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Two topics; the second one has a single message.
pub(super) fn files() -> Files {
    let channel = |topic| ChannelSpec::ros1(topic, "std_msgs/String", "string data\n");
    let channels = [channel("/chatter"), channel("/map")];
    let second = 1_000_000_000;
    let chatter: Vec<Vec<u8>> = (0..50).map(|n| string(&format!("message {n}"))).collect();
    let mut messages: Vec<(usize, u64, &[u8])> = vec![(1, second, &chatter[0][..])];
    for (n, payload) in (1..).zip(&chatter) {
        messages.push((0, second + n * 10_000_000, payload.as_slice()));
    }
    Files::of([ros1_file(&channels, &messages)])
}

/// How many messages `/large` of [`large_files`] has: more than a subscriber that reads nothing takes.
pub(super) const LARGE: u32 = 300;

/// Texts of 200 kB on `/large`, which begin with their numbers, one in each millisecond; behind them one message on a
/// topic `then`.
pub(super) fn large_files(then: Option<&str>) -> Files {
    let body = "x".repeat(200_000);
    let texts = (0..LARGE).map(|n| (0, string(&format!("{n:06}{body}"))));
    let payloads: Vec<(usize, Vec<u8>)> = texts.chain(then.map(|_| (1, string("end")))).collect();
    let messages = (1..).zip(&payloads);
    let messages: Vec<(usize, u64, &[u8])> = messages
        .map(|(n, (channel, payload))| (*channel, n * 1_000_000, payload.as_slice()))
        .collect();
    let channels = ["/large"].into_iter().chain(then);
    let channels: Vec<ChannelSpec<'_>> = channels
        .map(|topic| ChannelSpec::ros1(topic, "std_msgs/String", "string data\n"))
        .collect();
    Files::of([ros1_file(&channels, &messages)])
}

#[test]
fn a_recording_is_played_to_nodes_and_no_master_has_to_be_started() {
    let (master, files) = (free_master(), files());
    let flags = "--clock --use-sim-time --wait-for-subscribers /chatter --format json";
    let flags: Vec<&str> = flags.split(' ').collect();
    let run = WireRun::start(play(&master, &files.paths[0], &flags));
    // The last one, by name.
    publishes(&master, "/map");
    let sim_time = call(&master, "getParam", &[text("/x"), text("/use_sim_time")]);
    assert_eq!(sim_time, Val::Bool(true));
    let mut clock = Subscriber::of_topic(&master, "/clock_listener", "/clock");
    let mut chatter = Subscriber::of_topic(&master, "/listener", "/chatter");
    for n in 0..50 {
        assert_eq!(chatter.message().unwrap(), string(&format!("message {n}")));
    }
    let mut times = Vec::new();
    while let Some(time) = clock.message() {
        times.push(<[u8; 8]>::try_from(time).unwrap());
    }
    let seconds = times.iter().map(|time| (&time[..4], &time[4..]));
    let seconds: Vec<(u32, u32)> = seconds
        .map(|(sec, nsec)| {
            let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
            (number(sec), number(nsec))
        })
        .collect();
    assert!(seconds.len() > 5 && seconds.is_sorted(), "{seconds:?}");
    assert_eq!(chatter.message(), None);
    let output = run.end();
    assert!(output.status.success(), "{}", text_of(&output));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["messages_sent"], 51);
    assert!(
        text_of(&output).contains("master of ROS 1 at"),
        "{}",
        text_of(&output)
    );
}

#[test]
fn a_wait_for_several_subscribers_says_how_many_came() {
    let (master, files) = (free_master(), files());
    let flags = "--wait-for-subscribers /chatter=2 --wait-timeout 5";
    let flags: Vec<&str> = flags.split(' ').collect();
    let run = WireRun::start(play(&master, &files.paths[0], &flags));
    run.wait_for_text("waiting for subscribers of /chatter");
    let _subscriber = Subscriber::of_topic(&master, "/listener", "/chatter");
    let output = run.end();
    assert_eq!(output.status.code(), Some(4));
    let text = text_of(&output);
    let says = "1 of 2 subscribers of /chatter within 5s";
    assert!(text.contains(says), "{text}");
}

#[test]
fn a_player_that_may_open_no_more_files_says_so_and_goes_on_when_it_may() {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    let (master, files) = (free_master(), files());
    let flags = ["--wait-for-subscribers", "/chatter"];
    let run = WireRun::start(play(&master, &files.paths[0], &flags));
    run.wait_for_text("waiting for subscribers of /chatter");
    let pid = Pid::from_raw(run.process().cast_signed()).unwrap();
    // The player inherits this limit.
    let before = getrlimit(Resource::Nofile);
    // Only descriptors 0 to 2 may be opened. `poll` of two descriptors fails if the limit is below two.
    let none = Rlimit {
        current: Some(3),
        ..before
    };
    prlimit(Some(pid), Resource::Nofile, none).unwrap();
    // The system takes the connection, and the player gets no descriptor for it.
    let mut waiting = std::net::TcpStream::connect(authority(&master)).unwrap();
    run.wait_for_text("the system gives no connections for calls");
    prlimit(Some(pid), Resource::Nofile, before).unwrap();
    std::io::Write::write_all(&mut waiting, b"nonsense\r\n\r\n").unwrap();
    waiting.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut waiting, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let mut chatter = Subscriber::of_topic(&master, "/listener", "/chatter");
    for n in 0..50 {
        assert_eq!(chatter.message().unwrap(), string(&format!("message {n}")));
    }
    assert!(run.end().status.success());
}

#[test]
fn what_ros1_does_not_have_is_refused_or_left_out_with_the_reason() {
    let (master, files) = (free_master(), files());
    for (args, says) in [
        (
            &["--congestion", "block-first"][..],
            "--wire ros1 has block and drop",
        ),
        (&["--follow"], "with --wire rmw_zenoh only"),
        (
            &["--node-name", "bad name"],
            "`/bad name` is not a node name of ROS 1",
        ),
        (
            &["--connect", "tcp/robot:7447"],
            "ROS_MASTER_URI says where the network of --wire ros1 is",
        ),
        (&["--domain-id", "3"], "ROS_MASTER_URI says which one it is"),
        (&["--shm", "on"], "--wire ros1 has no shared memory"),
        (&["--any-type-hash"], "types of --wire ros1 have sums"),
        (
            &["--clock", "--clock-state"],
            "--wire ros1 has no such topic",
        ),
    ] {
        let output = WireRun::start(play(&master, &files.paths[0], args)).end();
        assert_eq!(output.status.code(), Some(2), "{}", text_of(&output));
        assert!(text_of(&output).contains(says), "{}", text_of(&output));
    }
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
    let flags = ["--transcode", "off"];
    let output = WireRun::start(play(&master, Path::new(demo), &flags)).end();
    assert!(!output.status.success());
    let text = text_of(&output);
    assert!(
        text.contains("messages are `cdr`, and ROS 1 nodes read only ros1"),
        "{text}"
    );
    for (variable, value, says) in [
        (
            "ROS_IP",
            "not-an-ip",
            "ROS_IP: `not-an-ip` is not an IP address",
        ),
        (
            "ROS_HOSTNAME",
            "10.255.255.1",
            "10.255.255.1 is no address of this machine",
        ),
        (
            "ROS_HOSTNAME",
            "a b",
            "ROS_HOSTNAME: `a b` is no name of a host",
        ),
    ] {
        let mut play = play(&master, &files.paths[0], &[]);
        play.env(variable, value);
        let output = WireRun::start(play).end();
        assert_eq!(output.status.code(), Some(2), "{}", text_of(&output));
        assert!(text_of(&output).contains(says), "{}", text_of(&output));
    }
    let output = WireRun::start(play("localhost", &files.paths[0], &[])).end();
    assert_eq!(output.status.code(), Some(2));
    assert!(text_of(&output).contains("ROS_MASTER_URI: `localhost` is not of the form"));
}

#[test]
fn ros2_messages_are_sent_as_ros1_messages() {
    const IMU: &str = "6a62c6daae103f4ff57a132d6f95cec2";
    const TRANSFORMS: &str = "94810edda583a504dfda3829e70d7eec";
    let master = free_master();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
    let flags = "--topics /imu /tf_static --wait-for-subscribers /imu --rate max --format json";
    let flags: Vec<&str> = flags.split(' ').collect();
    let run = WireRun::start(play(&master, Path::new(demo), &flags));
    run.wait_for_text("2 topics with ROS 2 messages, which are sent as ROS 1 messages");
    publishes(&master, "/tf_static");
    let mut transforms = Subscriber::of_topic(&master, "/listener", "/tf_static");
    let mut imu = Subscriber::of_topic(&master, "/listener", "/imu");
    for (subscriber, kind, sum) in [
        (&imu, "sensor_msgs/Imu", IMU),
        (&transforms, "tf2_msgs/TFMessage", TRANSFORMS),
    ] {
        let header = &subscriber.header;
        assert_eq!(
            (header["type"].as_str(), header["md5sum"].as_str()),
            (kind, sum)
        );
    }
    let mut count = 0;
    while let Some(message) = imu.message() {
        // No sequence number, then the frame after the time.
        let frame = u32::from_le_bytes(message[12..16].try_into().unwrap()) as usize;
        assert_eq!(message[..4], [0; 4]);
        assert_eq!(message.len(), 16 + frame + 37 * 8);
        count += 1;
    }
    assert!(transforms.message().is_some());
    let output = run.end();
    assert!(output.status.success(), "{}", text_of(&output));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let sent = summary["topics"].as_array().unwrap().iter();
    let sent = sent.filter(|topic| topic["name"] == "/imu");
    let sent: Vec<_> = sent.map(|topic| topic["sent"].as_u64().unwrap()).collect();
    assert_eq!(sent, [count]);
}

#[test]
fn fields_that_ros1_does_not_have_are_named() {
    const FIELDS: &str = "builtin_interfaces/Time stamp\nstring frame_id\n";
    let rule = "=".repeat(80);
    let text = format!(
        "std_msgs/Header header\nuint8 radiation_type\nfloat32 field_of_view\nfloat32 min_range\n\
         float32 max_range\nfloat32 range\nfloat32 variance\n{rule}\nMSG: std_msgs/Header\n{FIELDS}{rule}\n\
         MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    );
    let channel = ChannelSpec {
        topic: "/sonar",
        schema: ("sensor_msgs/msg/Range", "ros2msg", &text),
        encoding: "cdr",
        metadata: &[],
    };
    let payload = Cdr::little().header(0, "s").u8(0);
    let payload = payload.f32(0.1).f32(0.2).f32(9.0).f32(3.0).f32(0.5);
    let file = ros1_file(&[channel], &[(0, 1_000_000_000, &payload.done())]);
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("sonar.mcap");
    std::fs::write(&bag, file).unwrap();
    let info = |format: &str| {
        let mut info = Command::new(assert_cmd::cargo::cargo_bin("play"));
        info.args(["info", "--format", format]).arg(&bag);
        info.output().unwrap()
    };
    let page = String::from_utf8(info("text").stdout).unwrap();
    assert!(
        page.contains("not in ROS 1: /sonar: sensor_msgs/Range.variance\n"),
        "{page}"
    );
    let fields = serde_json::json!(["sensor_msgs/Range.variance"]);
    let page: serde_json::Value = serde_json::from_slice(&info("json").stdout).unwrap();
    assert_eq!(page["topics"][0]["not_in_ros1"], fields);
    let master = free_master();
    let output = play(&master, &bag, &["--rate", "max", "--format", "json"])
        .output()
        .unwrap();
    let warning = "sensor_msgs/Range.variance is not sent to ROS 1 nodes: ROS 1 does not have it";
    let text = text_of(&output);
    assert!(output.status.success() && text.contains(warning), "{text}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["topics"][0]["not_in_ros1"], fields);
}

#[test]
fn nodes_drive_the_player_by_its_services() {
    const SET_BOOL: &str = "09fb03525b03e7ea1fd3992bafd87e16";
    let (master, files) = (free_master(), files());
    let flags = ["--start-paused", "--loop"];
    let run = WireRun::start(play(&master, &files.paths[0], &flags));
    let stop = [text("/x"), text("/rosbag2_player/stop")];
    until("the services", || {
        try_call(&master, "lookupService", &stop).is_some_and(|(code, _)| code == 1)
    });
    let client =
        |name: &str, md5| Client::of_service(&master, &format!("/rosbag2_player/{name}"), md5);
    let mut map = Subscriber::of_topic(&master, "/listener", "/map");
    let mut chatter = Subscriber::of_topic(&master, "/listener", "/chatter");
    let mut next = client("play_next", TRIGGER);
    assert_eq!(next.header()["type"], "std_srvs/Trigger");
    let done = Ok(b"\x01\0\0\0\0".to_vec());
    assert_eq!(next.call(b""), done);
    assert_eq!(next.call(b""), done);
    assert_eq!(map.message().unwrap(), string("message 0"));
    assert_eq!(chatter.message().unwrap(), string("message 0"));
    assert_eq!(
        next.call(b"x").unwrap_err(),
        "1 bytes are no request of std_srvs/Trigger"
    );
    let refused = client("pause", SET_BOOL);
    assert!(
        refused.header()["error"].contains("is std_srvs/Trigger"),
        "{refused:?}"
    );
    let mut playback = client("pause_playback", SET_BOOL);
    assert_eq!(playback.call(&[0]), done);
    for n in 1..50 {
        assert_eq!(chatter.message().unwrap(), string(&format!("message {n}")));
    }
    assert_eq!(client("stop", "*").call(b""), done);
    let output = run.end();
    assert!(output.status.success(), "{}", text_of(&output));
    assert!(text_of(&output).contains("hint: rosservice call /rosbag2_player/resume"));
    assert!(try_call(&master, "getPid", &[text("/x")]).is_none());
}

#[test]
fn a_signal_while_the_player_joins_leaves_no_parameter_behind() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        // The last calls have a time limit. What stays at the master is named.
        assert!((0..5).any(|_| no_parameter_stays_after(signal, code)));
    }
}

/// Whether a signal that a player gets while it sets its parameter leaves nothing at the master; false if the log says
/// that the parameter stays there.
fn no_parameter_stays_after(signal: &'static str, code: i32) -> bool {
    let (master, files) = (Joined::player(), files());
    let (told, of_player) = bounded::<u32>(1);
    let relay = Relay::before(&master.master, move |(method, body)| {
        if method == "setParam"
            && body.contains(">/use_sim_time<")
            && let Ok(process) = of_player.recv_timeout(PATIENCE)
        {
            send_signal(process, signal);
        }
        Fate::Pass
    });
    let flags = ["--clock", "--use-sim-time", "--start-paused"];
    let run = WireRun::start(play(&relay.uri, &files.paths[0], &flags));
    told.send(run.process()).unwrap();
    let output = run.end();
    let log = text_of(&output);
    assert_eq!(output.status.code(), Some(code), "{log}");
    if log.contains("/use_sim_time stays true") {
        return false;
    }
    let sim_time = [text("/x"), text("/use_sim_time")];
    until("the last call", || relay.is_idle());
    let (found, _) = try_call(&master.master, "getParam", &sim_time).unwrap();
    assert_eq!(found, -1, "{log}");
    true
}

#[test]
fn a_player_whose_name_another_one_takes_ends_with_a_hint() {
    let (master, files) = (Joined::player(), files());
    let start = || WireRun::start(play(&master.master, &files.paths[0], &["--start-paused"]));
    let first = start();
    publishes(&master.master, "/chatter");
    let _second = start();
    let output = first.end();
    let log = text_of(&output);
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(log.contains("same name; hint: --node-name"), "{log}");
}

#[test]
fn a_name_of_this_machine_that_nobody_knows_is_named() {
    let (master, files) = (free_master(), files());
    let mut play = play(&master, &files.paths[0], &["--start-paused"]);
    play.env("ROS_HOSTNAME", "no-such-host.invalid");
    let run = WireRun::start(play);
    run.wait_for_text("this machine cannot resolve the host name no-such-host.invalid");
    run.wait_for_text("hint: ROS_HOSTNAME, or else ROS_IP, says how nodes reach it");
}

#[test]
fn what_stays_at_a_master_that_does_not_answer_is_named_with_what_helps() {
    let (master, files) = (Joined::player(), files());
    let (relay, switch) = Relay::with_switch(&master.master, Fate::Silence);
    let flags = ["--use-sim-time", "--start-paused"];
    let run = WireRun::start(play(&relay.uri, &files.paths[0], &flags));
    // The last one that is registered.
    let last = [text("/x"), text("/rosbag2_player/set_parameters")];
    until("the services", || {
        try_call(&master.master, "lookupService", &last).is_some_and(|(code, _)| code == 1)
    });
    switch.off();
    send_signal(run.process(), "-INT");
    let output = run.end();
    let text = text_of(&output);
    assert_eq!(output.status.code(), Some(130), "{text}");
    for words in [
        "/use_sim_time stays true: the master of ROS 1 has not taken the last call; /chatter, /map, ",
        "more stay registered at a master of ROS 1 that has not taken the last calls; hint: rosparam delete /use_sim_time, rosnode cleanup",
    ] {
        assert!(text.contains(words), "{text}");
    }
}
