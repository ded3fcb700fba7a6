//! `play --congestion drop`, as a program: nobody is waited for, and nodes that are slow miss messages.

use std::time::Duration;

use zenoh::Wait;

use super::free_master;
use super::peer::{Subscriber, publishes};
use super::program::{LARGE, WireRun, large_files, play, text_of};
use super::several::{start, summary};
use crate::support::network::{
    Pipe, STRING, STRING_HASH, free_endpoint, node, peer, subscribe, take, token,
};
use crate::support::patience::until;
use crate::support::ros1::string;

/// A send that waited would wait for this long.
const FLAGS: &str = "--congestion drop --stall-timeout 3600";

/// The number of a text whose characters begin at `offset`.
fn number(payload: &[u8], offset: usize) -> u32 {
    let digits = std::str::from_utf8(&payload[offset..offset + 6]).unwrap();
    digits.parse().unwrap()
}

/// The numbers that a node gets, up to the last message.
#[track_caller]
fn numbers_to_the_last(node: &mut Subscriber) -> Vec<u32> {
    let mut numbers = Vec::new();
    while numbers.last() != Some(&(LARGE - 1)) {
        numbers.push(number(&node.message().unwrap(), 4));
    }
    assert!(numbers.is_sorted(), "{numbers:?}");
    numbers
}

#[test]
fn a_node_of_ros1_that_is_slow_misses_messages_and_the_summary_counts_them() {
    let (master, files) = (free_master(), large_files(Some("/then")));
    let flags = "--rate max --format json --wait-for-subscribers /large /then";
    let flags: Vec<&str> = FLAGS.split(' ').chain(flags.split(' ')).collect();
    let run = WireRun::start(play(&master, &files.paths[0], &flags));
    publishes(&master, "/then");
    let mut slow = Subscriber::of_topic(&master, "/slow", "/large");
    let mut then = Subscriber::of_topic(&master, "/listener", "/then");
    // It comes although nobody reads what is before it.
    assert_eq!(then.message().unwrap(), string("end"));
    let numbers = numbers_to_the_last(&mut slow);
    let output = run.end();
    let text = text_of(&output);
    let named =
        "/slow does not keep up with /large: the oldest messages that wait for it are dropped";
    assert!(text.contains(named), "{text}");
    let summary = summary(&output);
    let lost = summary["lost"].as_u64().unwrap();
    assert!(lost > 0, "{summary}");
    assert_eq!(numbers.len() as u64 + lost, u64::from(LARGE));
    assert_eq!(summary["messages_sent"], LARGE + 1);
}

#[test]
fn a_slow_node_of_ros1_does_not_hold_a_wire_over_zenoh() {
    let (master, endpoint) = (free_master(), free_endpoint());
    let files = large_files(Some("/then"));
    // A node over zenoh that reads can keep up with one message in 10 ms.
    let flags = format!("{FLAGS} --rate 0.1 --wait-for-subscribers /large=2 /then");
    let wires = "ros1 rmw_zenoh";
    let run = start(&files.paths[0], wires, &endpoint, &master, &flags);
    publishes(&master, "/then");
    let node = peer(&endpoint);
    let (_large, large) = subscribe(&node, &format!("0/large/{STRING}/{STRING_HASH}"));
    let mut slow = Subscriber::of_topic(&master, "/slow", "/large");
    let mut then = Subscriber::of_topic(&master, "/listener", "/then");
    let key = token(&node, "MS", "/large", STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(key).wait().unwrap();
    assert_eq!(then.message().unwrap(), string("end"));
    let late = numbers_to_the_last(&mut slow);
    let summary = summary(&run.end());
    let (ros1, rmw) = (&summary["wires"][0], &summary["wires"][1]);
    let lost = ros1["lost"].as_u64().unwrap();
    assert!(lost > 0, "{summary}");
    assert_eq!(late.len() as u64 + lost, u64::from(LARGE));
    // Zenoh does not tell what it drops.
    assert_eq!(
        (&rmw["messages_sent"], &rmw["lost"]),
        (&(LARGE + 1).into(), &0.into())
    );
    let first = number(&take(&large).payload().to_bytes(), 8);
    let rest = large.try_iter();
    let rest = rest.map(|sample| number(&sample.payload().to_bytes(), 8));
    let got: Vec<u32> = [first].into_iter().chain(rest).collect();
    assert!(got.is_sorted(), "{got:?}");
}

#[test]
fn a_node_over_zenoh_that_reads_nothing_holds_neither_ros1_nor_other_nodes() {
    let (master, endpoint) = (free_master(), free_endpoint());
    let files = large_files(Some("/then"));
    let flags = format!("{FLAGS} --rate 0.1 --wait-for-subscribers /large=3 /then");
    let wires = "rmw_zenoh ros1";
    let run = start(&files.paths[0], wires, &endpoint, &master, &flags);
    publishes(&master, "/then");
    let mut reader = Subscriber::of_topic(&master, "/reader", "/large");
    let mut then = Subscriber::of_topic(&master, "/listener", "/then");
    // Both get their messages from the router of the player, which has one thread for them.
    let pipe = Pipe::to_router(&endpoint, Duration::ZERO);
    let stuck = pipe.node("\"client\"");
    let other = node("\"client\"", &endpoint, &[]);
    let key = format!("0/large/{STRING}/{STRING_HASH}");
    let (_stuck, to_stuck) = subscribe(&stuck, &key);
    let (_other, to_other) = subscribe(&other, &key);
    pipe.block();
    let tokens = [&stuck, &other].map(|node| {
        let key = token(node, "MS", "/large", STRING, STRING_HASH);
        node.liveliness().declare_token(key).wait().unwrap()
    });
    // Long after the buffers of the other link are full.
    while number(&take(&to_other).payload().to_bytes(), 8) < LARGE / 2 {}
    let numbers = numbers_to_the_last(&mut reader);
    assert_eq!(then.message().unwrap(), string("end"));
    drop(pipe);
    drop(tokens);
    let summary = summary(&run.end());
    let lost = summary["wires"][1]["lost"].as_u64().unwrap();
    assert_eq!(numbers.len() as u64 + lost, u64::from(LARGE));
    // With the player, its router has ended: nothing is on its way any more.
    until("the end of the link", || {
        stuck.info().routers_zid().wait().next().is_none()
    });
    let got = to_stuck.try_iter();
    let got: Vec<u32> = got
        .map(|sample| number(&sample.payload().to_bytes(), 8))
        .collect();
    assert!(got.is_sorted() && got.len() < LARGE as usize, "{got:?}");
}
