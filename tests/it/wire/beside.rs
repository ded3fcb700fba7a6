//! A second session of one process, for another protocol.

use bagplay::output::{Occasion, Output};
use bagplay::wire::{ClockOptions, Protocol, Session, WireEvent, WireOptions};

use crate::support::network::{
    Events, Relay, STRING, STRING_HASH, free_endpoint, message, number, open, open_beside, options,
    payload, peer, played, router, subscribe, take,
};
use crate::support::patience::until;

const CLOCK: ClockOptions = ClockOptions {
    hz: None,
    per_message: false,
};

fn beside(session: &Session, protocol: Protocol) -> (Session, Events) {
    // Nobody listens there: these endpoints have no effect.
    let options = WireOptions {
        protocol,
        connect: vec![free_endpoint()],
        ..WireOptions::default()
    };
    open_beside(session, &options)
}

#[test]
fn two_sessions_send_in_their_own_form_and_neither_takes_the_other_for_a_stranger() {
    let (first, events, endpoint) = router(|_| ());
    let (second, second_events) = beside(&first, Protocol::PlainKeys);
    assert_eq!(first.describe(), second.describe());
    let topics = [played(0, "/chatter", None)];
    let (mut ros, _) = first.advertise(&topics, Some(CLOCK)).unwrap();
    let (mut plain, _) = second.advertise(&topics, Some(CLOCK)).unwrap();
    let node = peer(&endpoint);
    let (_ros, on_ros) = subscribe(&node, &format!("0/chatter/{STRING}/{STRING_HASH}"));
    let (_plain, on_plain) = subscribe(&node, "chatter");
    events.wait_for_match();
    second_events.wait_for_match();
    for n in 0..3 {
        ros.message(&message(0, payload(n, 8)), Occasion::Due);
        plain.message(&message(0, payload(n + 10, 8)), Occasion::Due);
        assert_eq!(number(take(&on_ros).payload()), n);
        assert_eq!(number(take(&on_plain).payload()), n + 10);
    }
    for event in events.drain().into_iter().chain(second_events.drain()) {
        let is_of_stranger = matches!(
            event,
            WireEvent::ForeignClock { .. }
                | WireEvent::ForeignPublisher { .. }
                | WireEvent::SameNodeName { .. }
                | WireEvent::Warning(_)
        );
        assert!(!is_of_stranger, "{event:?}");
    }
}

#[test]
fn the_first_session_keeps_its_router_when_the_second_one_leaves() {
    let (first, events, endpoint) = router(|_| ());
    let (second, _) = beside(&first, Protocol::Ros2Dds);
    second.close();
    assert_eq!(first.router_endpoint().as_deref(), Some(&*endpoint));
    let (mut output, _) = first
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let node = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&node, &format!("0/chatter/{STRING}/{STRING_HASH}"));
    events.wait_for_match();
    output.message(&message(0, payload(7, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 7);
    assert!(first.has_path());
}

#[test]
fn a_lost_path_of_one_session_is_a_lost_path_of_both() {
    let (_router, _, endpoint) = router(|_| ());
    let relay = Relay::to(&endpoint);
    let (first, _) = open(&options(&[], std::slice::from_ref(&relay.endpoint)));
    until("a link", || first.has_path());
    let of_first = relay.count();
    let (second, _) = beside(&first, Protocol::PlainKeys);
    until("a link of both", || second.has_path() && first.has_path());
    assert_eq!(second.path().losses, 0);
    relay.cut(of_first..relay.count());
    // zenoh may lose the new link once more before it stays.
    until("the loss and the return of the second, for both", || {
        let path = first.path();
        path.losses > 0 && path.is_up && path == second.path()
    });
    relay.close();
}
