//! Settling with zenoh between a sender and a receiver: the zenoh threads of both are looked at.
//!
//! The sender is a program of its own: in this process the sessions of other tests have threads of the same names.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use bagplay::ci::settle::{Processes, Settler};
use zenoh::Wait as _;
use zenoh::qos::CongestionControl;

use super::programs::{Program, command, compute, ready};
use crate::support::network::free_endpoint;
use crate::support::patience::{PATIENCE, until};

const KEY: &str = "settle/message";
const ROUNDS: u32 = 1_000;
/// The time limit of an answer is for as many rounds.
const ROUNDS_PER_ANSWER: u32 = 50;

#[test]
fn a_callback_has_run_when_its_process_has_settled() {
    let endpoint = free_endpoint();
    let (_, port) = endpoint.rsplit_once(':').unwrap();
    let mut program = Program::start(&format!("publisher {port}"));
    program.send(0);
    for _ in 0..ROUNDS / ROUNDS_PER_ANSWER {
        assert_eq!(program.wait_answer(), 0, "messages without a callback");
    }
}

fn session(mode: &str, place: &str, port: u64) -> zenoh::Session {
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", format!("\"{mode}\"")),
        (place, format!("[\"tcp/127.0.0.1:{port}\"]")),
        ("scouting/multicast/enabled", "false".to_owned()),
    ] {
        config.insert_json5(key, &value).unwrap();
    }
    zenoh::open(config).wait().unwrap()
}

/// Answers each message of zenoh on its socket.
pub(super) fn subscriber(mut socket: UnixStream, port: u64) {
    let session = session("client", "connect/endpoints", port);
    let answers = socket.try_clone().unwrap();
    let subscriber = session.declare_subscriber(KEY).callback(move |sample| {
        compute(std::time::Duration::from_micros(200));
        (&answers).write_all(&sample.payload().to_bytes()).unwrap();
    });
    let _subscriber = subscriber.wait().unwrap();
    socket.write_all(&[super::programs::READY]).unwrap();
    // Until the other end is closed.
    let _ = socket.read_exact(&mut [0]);
}

/// Sends messages to a subscriber in a process of its own, each when it has settled. The answers on the socket are how
/// many of the last ones had not reached the callback then.
pub(super) fn publisher(mut socket: UnixStream, port: u64) {
    let session = session("peer", "listen/endpoints", port);
    let (mut answers, of_child) = UnixStream::pair().unwrap();
    let mut child = command(&format!("subscriber {port}"), of_child)
        .spawn()
        .unwrap();
    ready(&mut answers);
    answers.set_nonblocking(true).unwrap();
    let publisher = session.declare_publisher(KEY);
    let publisher = publisher
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until("the subscriber is known", || {
        publisher.matching_status().wait().unwrap().matching()
    });
    ready_for(&mut socket);
    let processes = Processes::Tree(vec![child.id()]);
    let mut settler = Settler::new(processes, &["tx-"]).unwrap();
    let mut missing = 0_u8;
    for round in 0..ROUNDS {
        let message = round.to_le_bytes()[0];
        settler.mark().unwrap();
        publisher.put([message].as_slice()).wait().unwrap();
        settler.settle(PATIENCE).unwrap();
        let mut byte = [0];
        if answers.read(&mut byte).ok() != Some(1) || byte != [message] {
            missing += 1;
        }
        if (round + 1) % ROUNDS_PER_ANSWER == 0 {
            socket.write_all(&[std::mem::take(&mut missing)]).unwrap();
        }
    }
    drop(answers);
    child.wait().unwrap();
}

fn ready_for(socket: &mut UnixStream) {
    socket.write_all(&[super::programs::READY]).unwrap();
    socket.read_exact(&mut [0]).unwrap();
}
