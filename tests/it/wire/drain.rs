//! Waiting until all data has been sent, with slow or stuck subscribers, on real connections.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bagplay::output::{Occasion, Output};
use bagplay::wire::{Drained, Session, WireOutput};
use crossbeam_channel::{Receiver, after};
use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::qos::CongestionControl;
use zenoh::sample::Sample;

use crate::support::mcaps::{Files, Note, Spec, TopicSpec};
use crate::support::network::{
    self, Pipe, STRING, STRING_HASH, free_endpoint, hearing, interrupt, message, node, number,
    payload, peer, played, router, start_player, start_player_of, subscribe, summary, take,
};
use crate::support::patience::until;

/// A few of these are more than the system's buffers hold at first.
const SIZE: usize = 200_000;

const ODOMETRY: &str = "nav_msgs::msg::dds_::Odometry_";
const ODOMETRY_HASH: &str =
    "RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0";

/// A player and a subscriber at the other end of a pipe, which opens first when they go: a closed link that is
/// stuck lingers, on a thread that all sessions of a process share.
struct Pair {
    pipe: Pipe,
    node: (zenoh::Session, Subscriber<()>),
    samples: Receiver<Sample>,
    output: WireOutput,
    session: Session,
}

/// How the subscriber is linked to the player.
#[derive(Clone, Copy)]
enum Link {
    /// As a peer, directly.
    Direct,
    /// As a client of the player's router, which carries what is sent to it.
    OverRouter,
}

/// They know each other; the pipe carries 64 KiB a `pause` at most.
fn pair(link: Link, stall_timeout: Duration, pause: Duration) -> Pair {
    let (session, events, endpoint) = router(|options| options.stall_timeout = stall_timeout);
    let (output, _) = session
        .advertise(&[played(0, "/image", None)], None)
        .unwrap();
    let (pipe, node) = match link {
        Link::Direct => {
            let pipe = Pipe::slow(&endpoint, pause);
            let node = pipe.peer();
            (pipe, node)
        }
        Link::OverRouter => {
            let pipe = Pipe::to_router(&endpoint, pause);
            let node = pipe.node("\"client\"");
            (pipe, node)
        }
    };
    let (subscriber, samples) = subscribe(&node, "0/image/**");
    events.wait_for_match();
    Pair {
        session,
        output,
        pipe,
        samples,
        node: (node, subscriber),
    }
}

#[test]
fn a_slow_subscriber_gets_everything() {
    slow_gets_all(Link::Direct);
}

#[test]
fn a_slow_client_of_our_router_gets_everything() {
    slow_gets_all(Link::OverRouter);
}

fn slow_gets_all(link: Link) {
    const MESSAGES: u32 = 14;
    const STALL_TIMEOUT: Duration = Duration::from_secs(3);
    let Pair {
        session,
        mut output,
        samples,
        pipe: _pipe,
        node: _node,
        ..
    } = pair(link, STALL_TIMEOUT, Duration::from_millis(250));
    for n in 0..MESSAGES {
        output.message(&message(0, payload(n, SIZE)), Occasion::Due);
    }
    let (timeout, mut is_longer) = (after(STALL_TIMEOUT), false);
    let drained = session.drain(|| {
        is_longer |= timeout.try_recv().is_ok();
        false
    });
    assert_eq!((drained, is_longer), (Drained::Whole, true));
    drop(output);
    session.close();
    for n in 0..MESSAGES {
        assert_eq!(number(take(&samples).payload()), n);
    }
}

#[test]
fn a_subscriber_that_reads_nothing_is_reported_with_the_bytes_left() {
    takes_nothing(Link::Direct);
}

#[test]
fn a_client_of_our_router_that_reads_nothing_is_reported_too() {
    takes_nothing(Link::OverRouter);
}

/// Waits until data is held back by the pipe, where it stays. Before, zenoh's sending thread may not have got to it.
fn wait_until_held(session: &Session) {
    until("data that is held back", || {
        let drained = session.drain(|| true);
        matches!(drained, Drained::CalledOff { bytes } if bytes > 0)
    });
}

fn takes_nothing(link: Link) {
    let pair = pair(link, Duration::from_millis(300), Duration::ZERO);
    let mut output = pair.output;
    pair.pipe.block();
    // So few that no put has to wait, or zenoh would close the link.
    for n in 0..5 {
        output.message(&message(0, payload(n, SIZE)), Occasion::Due);
    }
    assert_eq!(output.monitor().topics()[0].missed.stalled, 0);
    wait_until_held(&pair.session);
    let drained = pair.session.drain(|| false);
    assert!(
        matches!(drained, Drained::Untaken { bytes } if bytes > 0),
        "{drained:?}"
    );
}

#[test]
fn a_drain_that_is_called_off_ends() {
    // The stall timeout is too long to end this.
    let pair = pair(Link::Direct, Duration::from_secs(3600), Duration::ZERO);
    let mut output = pair.output;
    pair.pipe.block();
    for n in 0..5 {
        output.message(&message(0, payload(n, SIZE)), Occasion::Due);
    }
    wait_until_held(&pair.session);
    let mut looks = 0;
    let drained = pair.session.drain(|| {
        looks += 1;
        looks > 20
    });
    assert!(
        matches!(drained, Drained::CalledOff { bytes } if bytes > 0),
        "{drained:?}"
    );
}

/// Sets the flag when it is dropped, also by a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The player is a process of its own: a router that waits for room on a link blocks threads that all zenoh sessions of
/// its process share, and the subscriber needs them to make room.
#[test]
fn data_of_other_sessions_in_our_router_is_not_waited_for() {
    const MESSAGES: u32 = 10;
    let notes = (0..MESSAGES).map(|n| Note::new(0, n.into(), payload(n, SIZE)));
    let spec = Spec {
        topics: vec![TopicSpec::named("/image")],
        ..Spec::new(vec![notes.collect()])
    };
    let recording = Files::of([spec.write()]);
    let endpoint = free_endpoint();
    let output = ["--listen", &endpoint, "--format", "json"];
    let rest = ["--wait-for-subscribers", "--rate", "max"];
    let mut child = start_player_of(&recording.paths[0], &[&output[..], &rest].concat());
    let mut hear = hearing(&mut child);
    hear("waiting for subscribers");
    let pipe = Pipe::to_router(&endpoint, Duration::from_millis(10));
    let listener = pipe.node("\"client\"");
    let (_other, others) = subscribe(&listener, "other");
    // No peer, which would go round the router.
    let talker = node("\"client\"", &endpoint, &[]);
    let publisher = talker.declare_publisher("other");
    let publisher = publisher
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until("a match", || {
        publisher.matching_status().wait().unwrap().matching()
    });
    let is_over = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        let _over = Over(&is_over);
        // More than the link carries, for as long as this takes.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // Fails once the player, and with it the router, has ended.
                drop(publisher.put(vec![0; SIZE]).wait());
            }
        });
        for _ in 0..30 {
            take(&others);
        }
        let (_images, samples) = subscribe(&listener, "0/image/**");
        let token = network::token(&listener, "MS", "/image", STRING, STRING_HASH);
        let _token = listener.liveliness().declare_token(token).wait().unwrap();
        let ended = summary(child, 0);
        for n in 0..MESSAGES {
            assert_eq!(number(take(&samples).payload()), n);
        }
        ended
    });
    assert_eq!(ended["messages_sent"], MESSAGES);
    assert_eq!(ended["unsent_bytes"], 0, "{ended}");
}

/// The program, playing to a subscriber that takes nothing, until it says `words`; and what that takes.
fn stuck(stall_timeout: &str, words: &str) -> (Child, impl Sized) {
    let endpoint = free_endpoint();
    let topics = [
        "--topics",
        "/odom",
        "/robot_description",
        "--wait-for-subscribers",
    ];
    let rest = ["-v", "--rate", "max", "--stall-timeout", stall_timeout];
    let output = ["--format", "json", "--listen", &endpoint];
    let mut child = start_player(&[&topics[..], &rest, &output].concat());
    let mut hear = hearing(&mut child);
    hear("waiting for subscribers");
    let pipe = Pipe::to(&endpoint);
    let (stuck, other) = (pipe.peer(), peer(&endpoint));
    let odometry = subscribe(&stuck, &format!("0/odom/{ODOMETRY}/{ODOMETRY_HASH}"));
    hear("/odom has a subscriber");
    let token = |node: &zenoh::Session, topic, dds_type, hash| {
        let key = network::token(node, "MS", topic, dds_type, hash);
        node.liveliness().declare_token(key).wait().unwrap()
    };
    let first = token(&stuck, "/odom", ODOMETRY, ODOMETRY_HASH);
    hear("subscribes to /odom");
    pipe.block();
    // The last that it waited for.
    let description = subscribe(
        &other,
        &format!("0/robot_description/{STRING}/{STRING_HASH}"),
    );
    let last = token(&other, "/robot_description", STRING, STRING_HASH);
    hear(words);
    (
        child,
        (hear, pipe, stuck, other, odometry, description, first, last),
    )
}

#[test]
fn the_summary_has_the_bytes_that_were_not_sent() {
    let (child, _others) = stuck("2", "a subscriber did not take the last messages,");
    let summary = summary(child, 0);
    assert!(summary["unsent_bytes"].as_u64() > Some(0), "{summary}");
    assert_eq!(summary["ended"], "end");
}

#[test]
fn ctrl_c_ends_the_wait_for_a_subscriber_that_reads_nothing() {
    let words = "subscribers are still taking the last messages; ctrl-C ends now";
    let (child, _others) = stuck("3600", words);
    interrupt(&child);
    let summary = summary(child, 130);
    assert!(summary["unsent_bytes"].as_u64() > Some(0), "{summary}");
    assert_eq!(summary["ended"], "interrupted");
}
