//! A subscriber whose link closes after it took no data: what it may have lost is reported and counted.

use bagplay::output::{Occasion, Output};
use bagplay::wire::{Missed, WireEvent, WireOutput};
use crossbeam_channel::Receiver;
use zenoh::Wait;
use zenoh::sample::Sample;

use crate::support::network::{
    self, Events, Pipe, STRING, STRING_HASH, message, number, payload, played, router, subscribe,
    take,
};

const SENT_MEANWHILE: u32 = 20;
const TOPICS: [&str; 2] = ["/image", "/points"];

/// A peer that subscribes to a topic as a ROS 2 node does, with a short lease, and what it receives.
fn listener(
    pipe: &Pipe,
    events: &Events,
    topic: &str,
) -> (zenoh::Session, impl Sized + use<>, Receiver<Sample>) {
    let node = pipe.node_with("\"peer\"", "3000");
    let token = network::token(&node, "MS", topic, STRING, STRING_HASH);
    let token = node.liveliness().declare_token(token).wait().unwrap();
    let (subscriber, received) = subscribe(&node, &format!("0{topic}/**"));
    events.wait_for_match();
    (node, (token, subscriber), received)
}

/// Stops a subscriber that has received the first message, and sends until its link has expired. Returns the text of
/// the event.
fn stop(
    pipe: &Pipe,
    received: &Receiver<Sample>,
    output: &mut WireOutput,
    events: &Events,
    topic: u32,
) -> String {
    output.message(&message(topic, payload(0, 8)), Occasion::Due);
    assert_eq!(number(take(received).payload()), 0);
    pipe.stop();
    for n in 1..=SENT_MEANWHILE {
        output.message(&message(topic, payload(n, 100_000)), Occasion::Due);
    }
    let gone = events.wait("end", |event| matches!(event, WireEvent::Gone { .. }));
    gone.to_string()
}

#[test]
fn a_subscriber_whose_link_expires_may_have_lost_what_was_sent_since_it_stopped() {
    let (session, events, endpoint) = router(|_| ());
    let topics = [played(0, TOPICS[0], None)];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    let pipe = Pipe::to(&endpoint);
    let (_node, _subscription, received) = listener(&pipe, &events, TOPICS[0]);
    let report = stop(&pipe, &received, &mut output, &events, 0);
    let received = u64::try_from(received.try_iter().count()).unwrap();
    let missed = output.monitor().topics()[0].missed;
    assert!(
        missed.possibly_lost + received >= u64::from(SENT_MEANWHILE)
            && missed.possibly_lost <= u64::from(SENT_MEANWHILE) + 1,
        "{missed:?}, {received} received"
    );
    assert_eq!((missed.stalled, missed.lost), (0, 0));
    assert!(report.starts_with("/listener read nothing for"), "{report}");
    let up_to = format!("up to {} messages", missed.possibly_lost);
    assert!(report.ends_with(&up_to), "{report}");
}

#[test]
fn a_subscriber_that_closes_its_session_has_lost_nothing() {
    let (session, events, endpoint) = router(|_| ());
    let topics = [played(0, TOPICS[0], None), played(1, TOPICS[1], None)];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    let pipe = Pipe::to(&endpoint);
    let (node, _subscription, received) = listener(&pipe, &events, TOPICS[0]);
    for n in 0..100 {
        output.message(&message(0, payload(n, 100_000)), Occasion::Due);
        take(&received);
    }
    node.close().wait().unwrap();
    events.wait("no match", |event| {
        matches!(event, WireEvent::Matching { matched: false, .. })
    });
    // When the closed link of another subscriber is reported, that of the first was handled before.
    let pipe = Pipe::to(&endpoint);
    let (_node, _subscription, received) = listener(&pipe, &events, TOPICS[1]);
    stop(&pipe, &received, &mut output, &events, 1);
    let topics = output.monitor().topics();
    assert_eq!(topics[0].missed, Missed::default());
    assert!(topics[1].missed.possibly_lost >= 1);
}
