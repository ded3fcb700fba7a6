//! `play --congestion drop`, as a program: nobody is waited for, and nodes that are slow miss messages.

use std::time::Duration;

use zenoh::Wait;

use super::free_master;
use super::peer::{Subscriber, publishes};
use super::program::{WireRun, play, text_of};
use super::several::{start, summary};
use crate::support::mcaps::Files;
use crate::support::network::{
    Pipe, STRING, STRING_HASH, free_endpoint, peer, subscribe, take, token,
};
use crate::support::ros1::{ChannelSpec, ros1_file, string};

/// How many messages `/large` has: more than queues and buffers of the system take.
const COUNT: u32 = 300;
/// Nobody is waited for as long as this.
const FLAGS: &str = "--congestion drop --stall-timeout 3600";

/// Texts of 200 kB on `/large`, which begin with their numbers, and one message on `/last` behind them.
fn files() -> Files {
    let channel = |topic| ChannelSpec::ros1(topic, "std_msgs/String", "string data\n");
    let body = "x".repeat(200_000);
    let mut payloads: Vec<(usize, Vec<u8>)> = (0..COUNT)
        .map(|n| (0, string(&format!("{n:06}{body}"))))
        .collect();
    payloads.push((1, string("last")));
    let messages = (1..).zip(&payloads);
    let messages: Vec<(usize, u64, &[u8])> = messages
        .map(|(n, (channel, payload))| (*channel, n * 1_000_000, payload.as_slice()))
        .collect();
    Files::of([ros1_file(&[channel("/large"), channel("/last")], &messages)])
}

/// The number of a text whose characters begin at `offset`.
fn number(payload: &[u8], offset: usize) -> u32 {
    let digits = std::str::from_utf8(&payload[offset..offset + 6]).unwrap();
    digits.parse().unwrap()
}

/// What a node gets that begins to read when all has been sent: what waited for it, to the last message.
#[track_caller]
fn late_numbers(node: &mut Subscriber) -> Vec<u32> {
    let mut numbers = Vec::new();
    while numbers.last() != Some(&(COUNT - 1)) {
        numbers.push(number(&node.message().unwrap(), 4));
    }
    assert!(numbers.is_sorted(), "{numbers:?}");
    numbers
}

#[test]
fn a_node_of_ros1_that_is_slow_misses_messages_and_the_summary_counts_them() {
    let (master, files) = (free_master(), files());
    let flags = "--rate max --format json --wait-for-subscribers /large /last";
    let flags: Vec<&str> = FLAGS.split(' ').chain(flags.split(' ')).collect();
    let run = WireRun::start(play(&master, &files.paths[0], &flags));
    publishes(&master, "/last");
    let mut slow = Subscriber::of_topic(&master, "/slow", "/large");
    let mut end = Subscriber::of_topic(&master, "/listener", "/last");
    // It comes although nobody reads what is before it.
    assert_eq!(end.message().unwrap(), string("last"));
    let numbers = late_numbers(&mut slow);
    let output = run.end();
    let summary = summary(&output);
    let lost = summary["lost"].as_u64().unwrap();
    assert!(lost > 0, "{summary}");
    assert_eq!(numbers.len() as u64 + lost, u64::from(COUNT));
    assert_eq!(summary["messages_sent"], COUNT + 1);
}

#[test]
fn a_slow_node_of_ros1_does_not_hold_a_wire_over_zenoh() {
    let (master, endpoint, files) = (free_master(), free_endpoint(), files());
    let flags = format!("{FLAGS} --rate 0.1 --wait-for-subscribers /large=2 /last");
    let wires = "ros1 rmw_zenoh";
    let run = start(&files.paths[0], wires, &endpoint, &master, &flags);
    publishes(&master, "/last");
    let node = peer(&endpoint);
    let (_large, large) = subscribe(&node, &format!("0/large/{STRING}/{STRING_HASH}"));
    let mut slow = Subscriber::of_topic(&master, "/slow", "/large");
    let mut end = Subscriber::of_topic(&master, "/listener", "/last");
    let key = token(&node, "MS", "/large", STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(key).wait().unwrap();
    assert_eq!(end.message().unwrap(), string("last"));
    let late = late_numbers(&mut slow);
    let summary = summary(&run.end());
    let (ros1, rmw) = (&summary["wires"][0], &summary["wires"][1]);
    let lost = ros1["lost"].as_u64().unwrap();
    assert!(lost > 0, "{summary}");
    assert_eq!(late.len() as u64 + lost, u64::from(COUNT));
    // Zenoh does not tell what it drops.
    assert_eq!(
        (&rmw["messages_sent"], &rmw["lost"]),
        (&(COUNT + 1).into(), &0.into())
    );
    let got = large.try_iter();
    let got: Vec<u32> = got
        .map(|sample| number(&sample.payload().to_bytes(), 8))
        .collect();
    assert!(!got.is_empty() && got.is_sorted(), "{got:?}");
}

#[test]
fn a_node_over_zenoh_that_reads_nothing_does_not_hold_ros1() {
    let (master, endpoint, files) = (free_master(), free_endpoint(), files());
    let flags = format!("{FLAGS} --rate max --wait-for-subscribers /large=2 /last");
    let wires = "rmw_zenoh ros1";
    let run = start(&files.paths[0], wires, &endpoint, &master, &flags);
    publishes(&master, "/last");
    let mut reader = Subscriber::of_topic(&master, "/reader", "/large");
    let mut end = Subscriber::of_topic(&master, "/listener", "/last");
    let pipe = Pipe::to_router(&endpoint, Duration::ZERO);
    let node = pipe.node("\"client\"");
    let (_large, large) = subscribe(&node, &format!("0/large/{STRING}/{STRING_HASH}"));
    pipe.block();
    let key = token(&node, "MS", "/large", STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(key).wait().unwrap();
    let late = late_numbers(&mut reader);
    assert_eq!(end.message().unwrap(), string("last"));
    drop(pipe);
    let output = run.end();
    let summary = summary(&output);
    let text = text_of(&output);
    assert!(!text.contains("read nothing for"), "{text}");
    let lost = summary["wires"][1]["lost"].as_u64().unwrap();
    assert_eq!(late.len() as u64 + lost, u64::from(COUNT));
    // What was sent before zenoh began to drop.
    let first = number(&take(&large).payload().to_bytes(), 8);
    assert_eq!(first, 0);
    let rest = large.try_iter();
    let rest: Vec<u32> = rest
        .map(|sample| number(&sample.payload().to_bytes(), 8))
        .collect();
    assert!(
        rest.is_sorted() && rest.len() + 1 < COUNT as usize,
        "{rest:?}"
    );
}
