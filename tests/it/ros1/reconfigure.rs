//! The parameters of a player, as clients of `dynamic_reconfigure` read and set them.

use std::io::ErrorKind;

use super::free_master;
use super::peer::{Client, Subscriber, call, publishes, text};
use super::program::{TRIGGER, WireRun, files, play, text_of};

const RECONFIGURE: &str = "bb125d226a21982a4a98760418dc2672";
const UPDATES: &str = "/rosbag2_player/parameter_updates";
const DESCRIPTIONS: &str = "/rosbag2_player/parameter_descriptions";

fn count(count: u32) -> [u8; 4] {
    count.to_le_bytes()
}

fn named(name: &str, value: &[u8]) -> Vec<u8> {
    let length = u32::try_from(name.len()).unwrap();
    [&count(length)[..], name.as_bytes(), value].concat()
}

/// A list, of which each element is written already.
fn list(elements: &[Vec<u8>]) -> Vec<u8> {
    let length = u32::try_from(elements.len()).unwrap();
    [&count(length)[..], &elements.concat()].concat()
}

/// A `Config` with these bools, doubles and groups.
fn config(bools: &[Vec<u8>], doubles: &[Vec<u8>], groups: &[Vec<u8>]) -> Vec<u8> {
    [
        list(bools),
        list(&[]),
        list(&[]),
        list(doubles),
        list(groups),
    ]
    .concat()
}

fn rate(rate: f64) -> Vec<u8> {
    named("rate", &rate.to_le_bytes())
}

/// A request for a rate.
fn set_rate(value: f64) -> Vec<u8> {
    config(&[], &[rate(value)], &[])
}

/// The values of a player.
fn values(value: f64, is_paused: bool) -> Vec<u8> {
    let group = named("Default", &[1, 0, 0, 0, 0, 0, 0, 0, 0]);
    let paused = named("paused", &[is_paused.into()]);
    config(&[paused], &[rate(value)], &[group])
}

struct Reconfigured {
    master: String,
    run: WireRun,
    _files: crate::support::mcaps::Files,
}

impl Reconfigured {
    /// A player that is paused at its start.
    fn start() -> Self {
        let (master, files) = (free_master(), files());
        let flags = ["--start-paused", "--loop"];
        let run = WireRun::start(play(&master, &files.paths[0], &flags));
        publishes(&master, UPDATES);
        run.wait_for_text("paused at the start");
        Self {
            master,
            run,
            _files: files,
        }
    }

    fn updates(&self) -> Subscriber {
        Subscriber::of_topic(&self.master, "/listener", UPDATES)
    }

    fn client(&self, service: &str, md5: &str) -> Client {
        Client::of_service(&self.master, &format!("/rosbag2_player/{service}"), md5)
    }

    fn stop(self) {
        let done = Ok(b"\x01\0\0\0\0".to_vec());
        assert_eq!(self.client("stop", TRIGGER).call(b""), done);
        let output = self.run.end();
        assert!(output.status.success(), "{}", text_of(&output));
    }
}

#[test]
fn parameters_are_described_set_and_follow_the_player() {
    let player = Reconfigured::start();
    let mut descriptions = Subscriber::of_topic(&player.master, "/listener", DESCRIPTIONS);
    assert_eq!(
        descriptions.header["type"],
        "dynamic_reconfigure/ConfigDescription"
    );
    assert_eq!(
        descriptions.header["md5sum"],
        "757ce9d44ba8ddd801bb30bc456f946f"
    );
    assert_eq!(descriptions.header["latching"], "1");
    let described = descriptions.message().unwrap();
    let (most, least) = (values(f64::INFINITY, true), values(-1000.0, false));
    let ranges = [most, least, values(1.0, false)].concat();
    assert!(described.ends_with(&ranges), "{described:?}");

    let mut updates = player.updates();
    assert_eq!(updates.header["md5sum"], "958f16a05573709014982821e6822580");
    assert_eq!(updates.message().unwrap(), values(1.0, true));
    let mut client = player.client("set_parameters", RECONFIGURE);
    assert_eq!(client.header()["type"], "dynamic_reconfigure/Reconfigure");
    for (asked, got) in [
        (2.0, 2.0),
        (5000.0, 1000.0),
        (f64::INFINITY, f64::INFINITY),
        (f64::NEG_INFINITY, -1000.0),
        (0.0, 0.001),
        (0.5, 0.5),
    ] {
        let response = client.call(&set_rate(asked)).unwrap();
        assert_eq!(response, values(got, true), "{asked}");
        assert_eq!(updates.message().unwrap(), values(got, true), "{asked}");
    }
    // All values, as clients of roscpp send them, with the groups.
    assert_eq!(
        client.call(&values(1.5, false)).unwrap(),
        values(1.5, false)
    );
    assert_eq!(updates.message().unwrap(), values(1.5, true));
    assert_eq!(updates.message().unwrap(), values(1.5, false));
    // Another service changes them.
    let done = Ok(b"\x01\0\0\0\0".to_vec());
    assert_eq!(player.client("pause", TRIGGER).call(b""), done);
    assert_eq!(updates.message().unwrap(), values(1.5, true));
    assert_eq!(player.updates().message().unwrap(), values(1.5, true));
    // Nothing is asked, nothing is sent.
    let none = config(&[], &[], &[]);
    assert_eq!(client.call(&none).unwrap(), values(1.5, true));
    assert_eq!(
        client.call(&set_rate(1.0)).unwrap(),
        values(1.0, true),
        "the next one"
    );
    assert_eq!(updates.message().unwrap(), values(1.0, true));
    player.stop();
}

#[test]
fn requests_that_are_wrong_change_nothing() {
    let player = Reconfigured::start();
    let mut updates = player.updates();
    assert_eq!(updates.message().unwrap(), values(1.0, true));
    let other = player.client("set_parameters", TRIGGER);
    assert!(
        other.header()["error"].contains("is dynamic_reconfigure/Reconfigure"),
        "{other:?}"
    );
    let mut client = player.client("set_parameters", "*");
    let cut_off = "the request is cut off";
    for (request, says) in [
        (set_rate(f64::NAN), "the rate is not a number"),
        (
            config(&[named("rate", &[1])], &[rate(2.0)], &[]),
            "there is no parameter `rate` of type bool: `rate` is a double, `paused` a bool",
        ),
        (
            config(&[], &[rate(2.0), named("speed", &[0; 8])], &[]),
            "there is no parameter `speed` of type double: `rate` is a double, `paused` a bool",
        ),
        (set_rate(2.0)[..30].to_vec(), cut_off),
        (vec![0xff; 60_000], cut_off),
        (count(u32::MAX).to_vec(), cut_off),
        (vec![], cut_off),
        (
            [set_rate(2.0), vec![0]].concat(),
            "the request is followed by 1 byte",
        ),
    ] {
        assert_eq!(client.call(&request).unwrap_err(), says);
    }
    let too_long = "the request has 500000 bytes: at most 65536 are accepted";
    assert_eq!(client.call(&vec![0; 500_000]).unwrap_err(), too_long);
    assert_eq!(client.call(&set_rate(2.0)).unwrap(), values(2.0, true));
    assert_eq!(updates.message().unwrap(), values(2.0, true));
    // More than is read: the connection is closed.
    let error = client.try_call(&vec![0; 17 << 20]).unwrap_err();
    let closed = [
        ErrorKind::UnexpectedEof,
        ErrorKind::ConnectionReset,
        ErrorKind::BrokenPipe,
    ];
    assert!(closed.contains(&error.kind()), "{error}");
    let mut client = player.client("set_parameters", RECONFIGURE);
    assert_eq!(client.call(&set_rate(3.0)).unwrap(), values(3.0, true));
    // The next change after all of that.
    assert_eq!(updates.message().unwrap(), values(3.0, true));
    player.stop();
}

#[test]
fn a_recorded_topic_with_the_name_of_one_of_the_parameters_is_left_out() {
    use crate::support::mcaps::Files;
    use crate::support::ros1::{ChannelSpec, ros1_file, string};
    let channel = |topic| ChannelSpec::ros1(topic, "std_msgs/String", "string data\n");
    let channels = [channel("/chatter"), channel(UPDATES)];
    let payload = string("recorded");
    let messages = [(0, 1, payload.as_slice()), (1, 2, payload.as_slice())];
    let files = Files::of([ros1_file(&channels, &messages)]);
    let master = free_master();
    let flags = ["--start-paused"];
    let run = WireRun::start(play(&master, &files.paths[0], &flags));
    run.wait_for_text("the node publishes its own parameters there");
    publishes(&master, UPDATES);
    let mut updates = Subscriber::of_topic(&master, "/listener", UPDATES);
    assert_eq!(updates.message().unwrap(), values(1.0, true));
    let kinds = call(&master, "getTopicTypes", &[text("/x")]);
    let kind = kinds.list().iter().find(|it| it.list()[0].str() == UPDATES);
    let kind = kind.unwrap().list()[1].str();
    assert_eq!(kind, "dynamic_reconfigure/Config");
}
