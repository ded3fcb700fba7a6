//! The services of a player in this process: steps that take long, and what others see of a loop.

use std::sync::{Arc, Mutex};

use bagplay::bag::{Cue, TopicId};
use bagplay::output::Null;
use bagplay::player::{Intent, Options, Player, Source, State, WhenDone};
use bagplay::time::{self, AtEnd, Time, TimeRange};
use bagplay::wire::services::messages::bagplay::{RangeRequest, StepRequest};
use bagplay::wire::{PlayerClient, ServedPlayer, Session};

use crate::support::network::{open, options, router};
use crate::support::patience::{PATIENCE, until};

fn client(session: &Session) -> PlayerClient<'_> {
    let mut players = Vec::new();
    until("the player", || {
        players = session.players();
        !players.is_empty()
    });
    PlayerClient::new(session, players.remove(0), PATIENCE)
}

#[test]
fn steps_that_wait_hold_up_neither_a_pause_nor_other_calls() {
    let (session, _events, endpoint) = router(|_| {});
    let recording = TimeRange::between(Time::from_secs(1), Time::from_secs(2));
    let player = Player::new();
    let transport = player.transport();
    // The read-ahead never has a message, so that no step is made.
    let (_feed, cue) = Cue::channel();
    let mut cues = vec![cue];
    let source = Source::new(["/a"], move |_| {
        cues.pop().unwrap_or_else(|| Cue::from_items([]))
    });
    let paused = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..Options::new(recording)
    };
    let running = player.start(paused, source, Null).unwrap();
    let served = ServedPlayer {
        recording,
        shift: time::Duration::ZERO,
        topics: vec![("/a".to_owned(), TopicId(0))],
    };
    let services = session.serve_player(&transport, served).unwrap();
    let (caller, _) = open(&options(&[], &[endpoint]));
    std::thread::scope(|scope| {
        // More commands than the services give to the player at a time.
        let clients: Vec<_> = (0..40).map(|_| client(&caller)).collect();
        let steps: Vec<_> = clients
            .into_iter()
            .map(|client| {
                let one = StepRequest {
                    steps: 1,
                    topic: String::new(),
                };
                scope.spawn(move || client.step(&one).unwrap())
            })
            .collect();
        let other = client(&caller);
        assert_eq!(other.status().unwrap().state, State::Paused.name());
        // A pause cancels the steps that wait; those that come after it wait again.
        until("the end of all steps", || {
            other.pause().unwrap();
            steps.iter().all(std::thread::ScopedJoinHandle::is_finished)
        });
        for step in steps {
            assert!(!step.join().unwrap().success);
        }
        other.stop().unwrap();
    });
    drop(services);
    running.join().unwrap();
}

/// Clients take a range that does not loop for the whole range that is played.
#[test]
fn nobody_sees_the_range_of_a_loop_without_the_loop() {
    let (session, _events, endpoint) = router(|_| {});
    let recording = TimeRange::between(Time::from_secs(1), Time::from_secs(9));
    let player = Player::new();
    let transport = player.transport();
    let paused = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..Options::new(recording)
    };
    let running = player.start(paused, Source::empty(), Null).unwrap();
    let served = ServedPlayer {
        recording,
        shift: time::Duration::ZERO,
        topics: Vec::new(),
    };
    let services = session.serve_player(&transport, served).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (observed, sink) = (transport.clone(), Arc::clone(&seen));
    transport.on_change(Arc::new(move || {
        let segment = observed.status().unwrap().segment;
        sink.lock()
            .unwrap()
            .push((segment.range(), segment.at_end()));
    }));
    let (caller, _) = open(&options(&[], &[endpoint]));
    let client = client(&caller);
    let part = TimeRange::between(Time::from_secs(3), Time::from_secs(5));
    client.set_loop(&RangeRequest::of(part, true)).unwrap();
    client.set_loop(&RangeRequest::none(false)).unwrap();
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.dedup();
    let expected = [(part, AtEnd::Loop), (recording, AtEnd::Hold)];
    assert!(seen.ends_with(&expected) && seen.len() <= 3, "{seen:?}");
    client.stop().unwrap();
    drop(services);
    running.join().unwrap();
}
