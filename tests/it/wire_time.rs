//! Following a clock server over the network: a real player, other publishers, none.

use std::sync::{Arc, Mutex};

use bagplay::bag::{Bag, Cues, Selection};
use bagplay::player::{ClockOptions, Command, Options, Pace, Player, Running, Transport};
use bagplay::time::{
    AtEnd, Clock, Complaint, Duration, Extrapolation, JumpFilter, JumpKind, LateTick, OnJump,
    Phase, Ros, SimTime, SleepError, Speed, Time, TimeRange,
};
use bagplay::wire::{self, Follow, Session, WireOutput, encode_clock};
use crossbeam_channel::{Receiver, bounded};
use zenoh::Wait;

use crate::wire_net::{CLOCK_KEY, PATIENCE, open, options, peer, router};

fn demo() -> Bag {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
    Bag::open(&[demo]).unwrap()
}

/// A player of the demo's clock alone.
fn serve(session: &Session, change: impl FnOnce(&mut Options)) -> (Transport, Running<WireOutput>) {
    let bag = demo();
    let served = wire::ClockOptions {
        hz: Some(200.0),
        per_message: false,
    };
    let (out, _) = session.advertise(&[], Some(served)).unwrap();
    let player = Player::new();
    let transport = player.transport();
    let mut cues = Cues::new(bag.clone(), Selection::all(&bag), 8 << 20, player.waker());
    let topics = bag.topics().iter().map(|it| it.name.clone()).collect();
    let mut options = Options {
        clock: ClockOptions {
            period: Some(Duration::from_millis(5)),
            ..ClockOptions::default()
        },
        ..Options::new(bag.range().unwrap(), topics)
    };
    change(&mut options);
    let running = player.start(options, Box::new(move |at| cues.start(at)), out);
    (transport, running.unwrap())
}

/// A session beside the player's, as a program that follows has it.
fn follower(endpoint: &str) -> Session {
    open(&options(
        &["tcp/127.0.0.1:0".to_owned()],
        &[endpoint.to_owned()],
    ))
    .0
}

/// Jumps as they come.
fn jumps(
    clock: &Clock<Ros>,
) -> (
    bagplay::time::JumpHandle,
    Receiver<bagplay::time::JumpEvent>,
) {
    let (tell, jumps) = bounded(100_000);
    let filter = JumpFilter::new()
        .min_backward(Duration::from_nanos(1))
        .clock_changes()
        .start();
    let handle = clock.on_jump(filter, move |phase, jump| {
        if phase == Phase::After {
            tell.send(jump).unwrap();
        }
    });
    (handle.unwrap(), jumps)
}

#[track_caller]
fn next(jumps: &Receiver<bagplay::time::JumpEvent>, kind: JumpKind) -> bagplay::time::JumpEvent {
    loop {
        let jump = jumps.recv_timeout(PATIENCE).expect("a jump");
        if jump.kind == kind {
            return jump;
        }
    }
}

#[test]
fn a_program_lives_on_a_players_time() {
    let (session, _, endpoint) = router(|_| ());
    let node = follower(&endpoint);
    let sim = SimTime::new(node.clock_source(Follow::Clock));
    let clocks: Vec<Clock<Ros>> = (0..5).map(|_| sim.clock()).collect();
    let clock = &clocks[0];
    let (_handle, jumps) = jumps(clock);
    sim.enable().unwrap();
    assert!(!clock.started() && clock.now() == Time::ZERO);

    let (transport, running) = serve(&session, |options| options.at_end = AtEnd::Loop);
    let range = transport.ask(Command::Query).unwrap().segment.range();
    for clock in &clocks {
        assert!(clock.wait_started(Duration::from_secs(30)));
        assert!(range.contains(clock.now()));
    }
    next(&jumps, JumpKind::Started);
    // Ten times as fast, asleep until the player is there.
    transport
        .ask(Command::SetPace(Pace::At(Speed::from_f64(10.0).unwrap())))
        .unwrap();
    let target = range.start() + Duration::from_secs(10);
    clock.sleep_until(target, OnJump::Continue).unwrap();
    assert!(clock.now() >= target);
    // Held: the time stands where the player stands.
    let held = transport
        .ask(Command::Pause)
        .unwrap()
        .segment
        .position(transport.now());
    clock.sleep_until(held, OnJump::Continue).unwrap();
    assert_eq!(clock.now(), held);

    // Back: told as a jump, and a sleeper that asked for it is told too.
    let sleeper = clock.clone();
    let far = range.stop() + Duration::from_secs(100);
    let asleep = std::thread::spawn(move || sleeper.sleep_until(far, OnJump::ErrorOnBackward));
    let back = range.start() + Duration::from_secs(3);
    transport.ask(Command::Seek(back)).unwrap();
    let jump = next(&jumps, JumpKind::Backward);
    assert_eq!((jump.before, jump.after), (held, back));
    // A sleeper that began after a jump waits for another one.
    let mut further = back;
    while !asleep.is_finished() {
        further -= Duration::from_millis(1);
        transport.ask(Command::Seek(further)).unwrap();
        next(&jumps, JumpKind::Backward);
    }
    let slept = asleep.join().unwrap();
    assert!(matches!(slept, Err(SleepError::TimeJumped(_))), "{slept:?}");
    // They are told one after the other.
    wait_for(|| clocks.iter().all(|other| other.now() == clock.now()));

    // Backwards: every step is one.
    transport
        .ask(Command::SetPace(Pace::At(Speed::from_f64(-1.0).unwrap())))
        .unwrap();
    transport.ask(Command::Play).unwrap();
    for _ in 0..5 {
        next(&jumps, JumpKind::Backward);
    }
    // The player goes and another one comes: nothing is enabled again.
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
    let start = range.start() + Duration::from_secs(20);
    let (transport, running) = serve(&session, |options| {
        options.range = TimeRange::between(start, range.stop());
    });
    clock.sleep_until(start, OnJump::Continue).unwrap();
    // Of the steps backwards there were as many as there was time for.
    jumps.try_iter().for_each(drop);
    // Loops are jumps.
    transport
        .send(Command::SetRange(TimeRange::between(
            start,
            start + Duration::from_millis(100),
        )))
        .unwrap();
    transport.send(Command::SetAtEnd(AtEnd::Loop)).unwrap();
    transport.send(Command::Seek(start)).unwrap();
    for _ in 0..3 {
        assert!(next(&jumps, JumpKind::Backward).after >= start);
    }
    wait_for(|| sim.publishers() == 1);
    assert_eq!(sim.complaints(), []);

    sim.disable();
    next(&jumps, JumpKind::Deactivated);
    assert!(clock.now() > range.stop(), "the system's time");
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
}

#[test]
fn several_publishers_and_ignored_ones_are_complained_of() {
    let (session, _, endpoint) = router(|_| ());
    let node = follower(&endpoint);
    let sim = SimTime::new(node.clock_source(Follow::Clock));
    let (transport, running) = serve(&session, |_| ());
    wait_for(|| sim.publishers() == 1);
    assert_eq!(sim.complaints(), [Complaint::Ignored]);
    // Another player, on a host of its own as it were.
    let other = follower(&endpoint);
    let (second, second_running) = serve(&other, |_| ());
    wait_for(|| sim.publishers() == 2);
    assert!(sim.complaints().contains(&Complaint::SeveralPublishers));
    second.send(Command::Stop).unwrap();
    drop(second_running.join().unwrap());
    wait_for(|| sim.publishers() == 1);
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
    wait_for(|| sim.publishers() == 0);
}

/// Looks again and again, for nobody tells.
fn wait_for(is_so: impl Fn() -> bool) {
    let steady = Clock::steady();
    let end = steady.now() + Duration::from_secs(30);
    while !is_so() {
        assert!(steady.now() < end, "it never was so");
        std::thread::yield_now();
    }
}

#[test]
fn whoever_publishes_a_clock_is_followed_and_broken_messages_are_not() {
    let (_session, _, endpoint) = router(|_| ());
    let node = follower(&endpoint);
    let sim = SimTime::new(node.clock_source(Follow::Clock));
    let clock = sim.clock();
    let ticks = Arc::new(Mutex::new(Vec::new()));
    let (seen, (tell, told)) = (Arc::clone(&ticks), bounded(1000));
    let _handle = clock.on_tick(move |time| {
        seen.lock().unwrap().push(time);
        tell.send(time).unwrap();
    });
    sim.enable().unwrap();
    let other = peer(&endpoint);
    let publisher = other.declare_publisher(CLOCK_KEY).wait().unwrap();
    let listener = publisher.matching_listener().wait().unwrap();
    while !publisher.matching_status().wait().unwrap().matching() {
        listener.recv().unwrap();
    }
    for broken in [&b""[..], &[0, 1, 0, 0, 1], &[9; 12]] {
        publisher.put(broken).wait().unwrap();
    }
    for second in 1..=3 {
        let time = Time::from_nanos(second * 1_000_000_000);
        publisher.put(encode_clock(time).bytes).wait().unwrap();
        assert_eq!(told.recv_timeout(PATIENCE), Ok(time));
        assert_eq!(clock.now(), time);
    }
    assert_eq!(ticks.lock().unwrap().len(), 3);
    // Switched off and on again: heard no more, then heard again.
    sim.disable();
    sim.enable().unwrap();
    while !publisher.matching_status().wait().unwrap().matching() {
        listener.recv().unwrap();
    }
    let time = Time::from_nanos(9);
    publisher.put(encode_clock(time).bytes).wait().unwrap();
    assert_eq!(told.recv_timeout(PATIENCE), Ok(time));
}

#[test]
fn time_goes_on_between_the_states_of_a_player() {
    let (session, _, endpoint) = router(|_| ());
    let node = follower(&endpoint);
    let (transport, running) = serve(&session, |_| ());
    let state = session.serve_state(&transport, Duration::ZERO).unwrap();
    let topic = "/rosbag2_player/clock_state".to_owned();
    let how = Extrapolation::for_at_most(Duration::from_secs(5));
    let exact = Extrapolation {
        late: LateTick::Jump,
        ..how
    };
    let follow = |how| {
        let sim = SimTime::new(node.clock_source(Follow::State(topic.clone(), how)));
        let clock = sim.clock();
        sim.enable().unwrap();
        assert!(clock.wait_started(Duration::from_secs(30)));
        (sim, clock)
    };
    let ((_sim, clock), (_exact_sim, exact)) = (follow(how), follow(exact));
    // States come once a second, the time goes on in between.
    let (mut seen, mut last) = (0, clock.now());
    while seen < 100 {
        let now = clock.now();
        assert!(now >= last);
        seen += usize::from(now > last);
        last = now;
    }
    let range = transport.ask(Command::Query).unwrap().segment.range();
    assert!(range.contains(last));
    let held = transport
        .ask(Command::Pause)
        .unwrap()
        .segment
        .position(transport.now());
    // Once the pause is known, the time stands exactly there; or where it was, if it must not go back.
    wait_for(|| exact.now() == held);
    wait_for(|| clock.now() >= held);
    transport.ask(Command::Seek(range.stop())).unwrap();
    wait_for(|| clock.now() == range.stop());
    drop(state);
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
    // A player that is started again is a jump, not a late tick of the one before.
    let (transport, running) = serve(&session, |_| ());
    let state = session.serve_state(&transport, Duration::ZERO).unwrap();
    wait_for(|| clock.now() < range.stop());
    drop(state);
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
}
