//! `play --wire ros1 --foxglove`, as a program: nodes of ROS 1 and viewers beside each other.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::free_master;
use super::peer::{Client, Subscriber, publishes, text, try_call};
use super::program::{TRIGGER, WireRun, files, play};
use super::several::summary;
use crate::support::network::free_endpoint;
use crate::support::patience::until;
use crate::support::ros1::string;
use crate::viewer::client::{Client as Viewer, PAUSED, PLAYING, port_in};

#[test]
fn nodes_and_viewers_get_every_message_and_either_moves_the_player() {
    let (master, files) = (free_master(), files());
    let flags = "--foxglove 0 --start-paused --format json -v";
    let flags: Vec<&str> = flags.split(' ').collect();
    let run = WireRun::start(play(&master, &files.paths[0], &flags));
    run.wait_for_text("ws://127.0.0.1:");
    let mut viewer = Viewer::connect(port_in(&run.logged()).unwrap());
    viewer.subscribe(&["/chatter"]);
    viewer.sync();
    publishes(&master, "/chatter");
    let mut node = Subscriber::of_topic(&master, "/listener", "/chatter");
    run.wait_for_text("/listener subscribes to /chatter");
    // The last one that is registered.
    let last = [text("/x"), text("/rosbag2_player/set_parameters")];
    until("the services", || {
        try_call(&master, "lookupService", &last).is_some_and(|(code, _)| code == 1)
    });
    let call = |service: &str| {
        let service = format!("/rosbag2_player/{service}");
        let answer = Client::of_service(&master, &service, TRIGGER).call(b"");
        assert_eq!(answer.unwrap(), b"\x01\0\0\0\0");
    };
    call("resume");
    viewer.state("that it plays", |state| state.status == PLAYING);
    call("pause");
    viewer.state("that it is paused", |state| state.status == PAUSED);
    viewer.ask(true, 1.0, None);
    for n in 0..50 {
        let payload = string(&format!("message {n}"));
        assert_eq!(node.message().unwrap(), payload);
        // `ros1` messages are as recorded, for either.
        assert_eq!(viewer.data().payload, payload);
    }
    let summary = summary(&run.end());
    assert_eq!(summary["messages_sent"], 51);
    assert_eq!(summary["viewers"]["connected"], 1);
}

#[test]
fn nothing_listens_beyond_loopback_unless_it_is_asked_for() {
    let files = files();
    for (address, is_open) in [("0", false), ("0.0.0.0:0", true)] {
        let (master, endpoint) = (free_master(), free_endpoint());
        let flags = ["--wire", "rmw_zenoh", "--listen", &endpoint];
        let flags = [&flags[..], &["--foxglove", address, "--start-paused"]].concat();
        let run = WireRun::start(play(&master, &files.paths[0], &flags));
        publishes(&master, "/chatter");
        run.wait_for_text("ws://");
        let listening = listening(run.process());
        // The master, the node, its topics, the router, a session beside it, the server for viewers.
        assert!(listening.len() >= 6, "{listening:?}");
        let is_beyond = listening.iter().any(|address| !address.is_loopback());
        assert_eq!(is_beyond, is_open, "{listening:?}");
    }
}

/// The addresses on which a process listens.
fn listening(process: u32) -> Vec<IpAddr> {
    let sockets = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let sockets: Vec<String> = sockets
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter_map(|link| {
            let name = link.to_str()?.strip_prefix("socket:[")?;
            Some(name.strip_suffix(']')?.to_owned())
        })
        .collect();
    let mut addresses = Vec::new();
    for table in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap();
        for line in table.lines().skip(1) {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let (address, state, socket) = (columns[1], columns[3], columns[9]);
            // 0A: the socket listens.
            if state == "0A" && sockets.iter().any(|own| own == socket) {
                addresses.push(ip_address(address.split(':').next().unwrap()));
            }
        }
    }
    addresses
}

/// An address as the system writes it: words of 32 bits, in the byte order of the machine.
fn ip_address(hex: &str) -> IpAddr {
    let word = |at: usize| u32::from_str_radix(&hex[at..at + 8], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(8)
        .flat_map(|at| word(at).to_ne_bytes())
        .collect();
    match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ipv4Addr::from(bytes).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()).into(),
    }
}
