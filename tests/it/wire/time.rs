//! Following a clock server over the network: a player, other publishers, and no publisher.

use std::io::{BufRead, BufReader};
use std::process::{Command as Process, Stdio};
use std::sync::{Arc, Mutex};

use bagplay::bag::{Bag, Cues, Selection};
use bagplay::clock::{
    Clock, Complaint, Extrapolation, JumpFilter, JumpKind, LateTick, OnJump, Phase, SimTime,
    SleepError,
};
use bagplay::player::{ClockOptions, Command, Options, Pace, Player, Running, Source, Transport};
use bagplay::time::{AtEnd, Duration, Ros, Segment, Speed, Time, TimeRange};
use bagplay::wire;
use bagplay::wire::{Follow, Session, WireOutput, encode_clock};
use crossbeam_channel::{Receiver, bounded};
use zenoh::Wait;

use crate::support::network::{
    CLOCK_KEY, KilledWhenDropped, free_endpoint, open, options, peer, router,
};
use crate::support::patience::{PATIENCE, until};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");

fn demo() -> Bag {
    Bag::open(&[DEMO]).unwrap()
}

/// A player of the demo that publishes the clock alone.
fn serve(session: &Session, change: impl FnOnce(&mut Options)) -> (Transport, Running<WireOutput>) {
    let bag = demo();
    let served = wire::ClockOptions {
        hz: Some(200.0),
        per_message: false,
    };
    let (out, _) = session.advertise(&[], Some(served)).unwrap();
    let player = Player::new();
    let transport = player.transport();
    let cues = Cues::new(bag.clone(), Selection::all(&bag), 8 << 20, player.waker());
    let mut options = Options {
        clock: ClockOptions {
            period: Some(Duration::from_millis(5)),
            ..ClockOptions::default()
        },
        ..Options::new(bag.range().unwrap())
    };
    change(&mut options);
    let running = player.start(options, Source::of(cues), out);
    (transport, running.unwrap())
}

/// Where playback is after this command.
fn segment_after(transport: &Transport, command: Command) -> Segment {
    transport.ask(command).unwrap().status.segment
}

/// The session of a program that follows the player's clock.
fn follower(endpoint: &str) -> Session {
    open(&options(&[free_endpoint()], &[endpoint.to_owned()])).0
}

/// The jumps of a clock: its start, steps back, changes of source.
fn jumps(
    clock: &Clock<Ros>,
) -> (
    bagplay::clock::JumpHandle,
    Receiver<bagplay::clock::JumpEvent>,
) {
    let (sender, jumps) = bounded(100_000);
    let filter = JumpFilter::new()
        .min_backward(Duration::from_nanos(1))
        .clock_changes()
        .start();
    let handle = clock.on_jump(filter, move |phase, jump| {
        if phase == Phase::After {
            sender.send(jump).unwrap();
        }
    });
    (handle.unwrap(), jumps)
}

#[track_caller]
fn next(jumps: &Receiver<bagplay::clock::JumpEvent>, kind: JumpKind) -> bagplay::clock::JumpEvent {
    loop {
        let jump = jumps.recv_timeout(PATIENCE).expect("a jump");
        if jump.kind == kind {
            return jump;
        }
    }
}

#[test]
fn a_program_follows_the_time_of_a_player() {
    let (session, _, endpoint) = router(|_| ());
    let node = follower(&endpoint);
    let sim = SimTime::new(node.clock_source(Follow::Clock));
    let clocks: Vec<Clock<Ros>> = (0..5).map(|_| sim.clock()).collect();
    let clock = &clocks[0];
    let (_handle, jumps) = jumps(clock);
    sim.enable().unwrap();
    assert!(!clock.started() && clock.now() == Time::ZERO);

    let (transport, running) = serve(&session, |options| options.played.at_end = AtEnd::Loop);
    let range = segment_after(&transport, Command::Query).range();
    for clock in &clocks {
        clock
            .wait_started(OnJump::Continue.within(Duration::from_secs(30)))
            .unwrap();
        assert!(range.contains(clock.now()));
    }
    next(&jumps, JumpKind::Started);
    // At half the speed: the sleep does not end before the player is there.
    let half = Pace::At(Speed::from_f64(0.5).unwrap());
    let begun = transport.now();
    let slowed = segment_after(&transport, Command::SetPace(half));
    let target = slowed.position(begun) + Duration::from_millis(100);
    clock.sleep_until(target, OnJump::Continue).unwrap();
    assert!(transport.now() >= begun + Duration::from_millis(200));
    // At ten times the speed.
    transport
        .ask(Command::SetPace(Pace::At(Speed::from_f64(10.0).unwrap())))
        .unwrap();
    let target = range.start() + Duration::from_secs(10);
    clock.sleep_until(target, OnJump::Continue).unwrap();
    assert!(clock.now() >= target);
    // Paused: the clock shows the player's position.
    let held = segment_after(&transport, Command::Pause).position(transport.now());
    until("the time it is held at", || clock.now() == held);

    // A seek back is a jump for handlers and for a sleep that ends on steps back.
    let sleeper = clock.clone();
    let far = range.stop() + Duration::from_secs(100);
    let asleep = std::thread::spawn(move || sleeper.sleep_until(far, OnJump::ErrorOnBackward));
    let back = range.start() + Duration::from_secs(3);
    transport.ask(Command::Seek(back)).unwrap();
    let jump = next(&jumps, JumpKind::Backward);
    assert_eq!((jump.before, jump.after), (held, back));
    // If the sleep began after the seek, it waits for another one.
    let mut further = back;
    while !asleep.is_finished() {
        further -= Duration::from_millis(1);
        transport.ask(Command::Seek(further)).unwrap();
        next(&jumps, JumpKind::Backward);
    }
    let slept = asleep.join().unwrap();
    assert!(matches!(slept, Err(SleepError::TimeJumped(_))), "{slept:?}");
    // The clocks get the time one after the other.
    until("the same time on all", || {
        clocks.iter().all(|other| other.now() == clock.now())
    });

    // Backwards: every tick is a jump.
    transport
        .ask(Command::SetPace(Pace::At(Speed::from_f64(-1.0).unwrap())))
        .unwrap();
    transport.ask(Command::Play).unwrap();
    for _ in 0..5 {
        next(&jumps, JumpKind::Backward);
    }
    // After the end of the player another one starts; sim time stays on.
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
    let start = range.start() + Duration::from_secs(20);
    let (transport, running) = serve(&session, |options| {
        options.played.range = TimeRange::between(start, range.stop());
    });
    clock.sleep_until(start, OnJump::Continue).unwrap();
    // Drop the remaining jumps of the run backwards.
    jumps.try_iter().for_each(drop);
    // Each lap is a jump.
    transport
        .send(Command::SetRange(
            TimeRange::between(start, start + Duration::from_millis(100)),
            None,
        ))
        .unwrap();
    transport.send(Command::SetAtEnd(AtEnd::Loop)).unwrap();
    transport.send(Command::Seek(start)).unwrap();
    for _ in 0..3 {
        assert!(next(&jumps, JumpKind::Backward).after >= start);
    }
    until("the number of publishers", || sim.publishers() == 1);
    assert_eq!(sim.complaints(), []);

    sim.disable();
    next(&jumps, JumpKind::Deactivated);
    assert!(clock.now() > range.stop(), "the system's time");
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
}

#[test]
fn several_publishers_and_ignored_publishers_are_complaints() {
    let (session, _, endpoint) = router(|_| ());
    let node = follower(&endpoint);
    let sim = SimTime::new(node.clock_source(Follow::Clock));
    let (transport, running) = serve(&session, |_| ());
    until("the number of publishers", || sim.publishers() == 1);
    assert_eq!(sim.complaints(), [Complaint::Ignored]);
    // Another player, with a session of its own.
    let other = follower(&endpoint);
    let (second, second_running) = serve(&other, |_| ());
    until("the number of publishers", || sim.publishers() == 2);
    assert!(sim.complaints().contains(&Complaint::SeveralPublishers));
    second.send(Command::Stop).unwrap();
    drop(second_running.join().unwrap());
    until("the number of publishers", || sim.publishers() == 1);
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
    until("the number of publishers", || sim.publishers() == 0);
}

#[test]
fn any_publisher_of_the_clock_is_followed_and_malformed_messages_are_ignored() {
    let (_session, _, endpoint) = router(|_| ());
    let node = follower(&endpoint);
    let sim = SimTime::new(node.clock_source(Follow::Clock));
    let clock = sim.clock();
    let ticks = Arc::new(Mutex::new(Vec::new()));
    let (seen, (sender, receiver)) = (Arc::clone(&ticks), bounded(1000));
    let _handle = clock.on_tick(move |time| {
        seen.lock().unwrap().push(time);
        sender.send(time).unwrap();
    });
    sim.enable().unwrap();
    let other = peer(&endpoint);
    let publisher = other.declare_publisher(CLOCK_KEY).wait().unwrap();
    until("a subscription", || has_subscriber(&publisher));
    // Its nanosecond field is a whole second.
    let whole_second = [0, 1, 0, 0, 1, 0, 0, 0, 0, 0xca, 0x9a, 0x3b];
    for malformed in [&b""[..], &[0, 1, 0, 0, 1], &[9; 12], &whole_second] {
        publisher.put(malformed).wait().unwrap();
    }
    for second in 1..=3 {
        let time = Time::from_nanos(second * 1_000_000_000);
        publisher.put(encode_clock(time).bytes).wait().unwrap();
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok(time));
        assert_eq!(clock.now(), time);
    }
    assert_eq!(ticks.lock().unwrap().len(), 3);
    assert_eq!(sim.malformed(), 4);
    assert!(sim.complaints().contains(&Complaint::Malformed));
    // While sim time is off there is no subscription.
    sim.disable();
    until("the end of the subscription", || {
        !has_subscriber(&publisher)
    });
    let lost = encode_clock(Time::from_nanos(8));
    publisher.put(lost.bytes).wait().unwrap();
    sim.enable().unwrap();
    until("a subscription", || has_subscriber(&publisher));
    let time = Time::from_nanos(9);
    publisher.put(encode_clock(time).bytes).wait().unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(time));
}

fn has_subscriber(publisher: &zenoh::pubsub::Publisher<'_>) -> bool {
    publisher.matching_status().wait().unwrap().matching()
}

/// While a handler is busy with one message, of the messages after it only the newest is delivered.
#[test]
fn the_newest_message_counts() {
    let (_session, _, endpoint) = router(|_| ());
    let node = follower(&endpoint);
    let sims = [(); 2].map(|()| SimTime::new(node.clock_source(Follow::Clock)));
    let [clock, other] = sims.each_ref().map(SimTime::clock);
    let (sender, receiver) = bounded(1000);
    let (release, released) = bounded::<()>(1);
    let first = Time::from_nanos(1);
    let _handle = clock.on_tick(move |time| {
        sender.send(time).unwrap();
        if time == first {
            released.recv().unwrap();
        }
    });
    for sim in &sims {
        sim.enable().unwrap();
    }
    let elsewhere = peer(&endpoint);
    let publisher = elsewhere.declare_publisher(CLOCK_KEY).wait().unwrap();
    until("a subscription", || has_subscriber(&publisher));
    let put = |time| publisher.put(encode_clock(time).bytes).wait().unwrap();
    put(first);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(first));
    let last = Time::from_nanos(9);
    (2..=9).map(Time::from_nanos).for_each(put);
    // `other` shows the last message, so `clock` has received all of them, except perhaps the last.
    until("the last tick", || other.now() == last);
    release.send(()).unwrap();
    let mut ticks = Vec::new();
    while ticks.last() != Some(&last) {
        ticks.push(receiver.recv_timeout(PATIENCE).expect("a tick"));
    }
    let must_be_skipped = |time: &Time<Ros>| *time < Time::from_nanos(8);
    assert!(!ticks.iter().any(must_be_skipped), "{ticks:?}");
}

/// The command `play` at half the speed, through laps to its end.
#[test]
fn a_program_follows_the_play_command() {
    let bag = demo();
    let start = bag.range().unwrap().start();
    let part = TimeRange::between(start, start + Duration::from_millis(300));
    let endpoint = free_endpoint();
    let playing = Process::new(assert_cmd::cargo::cargo_bin("play"))
        .arg(DEMO)
        .args(["--listen", &endpoint, "--no-tui", "--clock", "--loop"])
        .args(["--clock-state", "--end", "+0.3s", "--rate", "0.5"])
        .env_remove("RUST_LOG")
        .env_remove("ROS_DOMAIN_ID")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut playing = KilledWhenDropped(playing);
    let mut lines = BufReader::new(playing.0.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("router on"), "{first}");

    let node = follower(&endpoint);
    let topic = "/rosbag2_player/clock_state".to_owned();
    // A machine that stands still for some seconds makes no state too old.
    let age = Duration::from_secs(60);
    let how = Extrapolation::for_at_most(age);
    // Extrapolated time runs past the end of a lap until the state of the next lap arrives.
    let with_extrapolation = TimeRange::between(start, part.stop() + age);
    let follows = [
        (Follow::Clock, part),
        (Follow::State(topic, how), with_extrapolation),
    ];
    let sims = follows.map(|(follow, part)| {
        let sim = SimTime::new(node.clock_source(follow));
        let clock = sim.clock();
        let (_handle, jumps) = jumps(&clock);
        sim.enable().unwrap();
        clock
            .wait_started(OnJump::Continue.within(Duration::from_secs(30)))
            .unwrap();
        assert!(part.contains(clock.now()), "{clock:?}");
        for into in [100, 200] {
            let target = start + Duration::from_millis(into);
            clock.sleep_until(target, OnJump::Continue).unwrap();
        }
        for _lap in 0..2 {
            let lap = next(&jumps, JumpKind::Backward);
            assert!(
                part.contains(lap.before) && part.contains(lap.after),
                "{lap:?}"
            );
        }
        let never = part.stop() + Duration::from_secs(1);
        let slept = clock.sleep_until(never, OnJump::ErrorOnBackward);
        assert!(matches!(slept, Err(SleepError::TimeJumped(_))), "{slept:?}");
        until("the number of publishers", || sim.publishers() == 1);
        assert_eq!(sim.complaints(), []);
        sim
    });
    let clock = sims[0].clock();
    let interrupted = Process::new("kill")
        .args(["-INT", &playing.0.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    assert_eq!(playing.0.wait().unwrap().code(), Some(130));
    until("the number of publishers", || {
        sims.iter().all(|sim| sim.publishers() == 0)
    });
    // Without a publisher the clock keeps the last time; it does not show system time.
    assert!(clock.is_active() && part.contains(clock.now()));
}

#[test]
fn time_is_extrapolated_between_the_states_of_a_player() {
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
        clock
            .wait_started(OnJump::Continue.within(Duration::from_secs(30)))
            .unwrap();
        (sim, clock)
    };
    let ((_sim, clock), (_exact_sim, exact)) = (follow(how), follow(exact));
    // A state arrives once a second; the time moves in between.
    let (mut seen, mut last) = (0, clock.now());
    while seen < 100 {
        let now = clock.now();
        assert!(now >= last);
        seen += usize::from(now > last);
        last = now;
    }
    let range = segment_after(&transport, Command::Query).range();
    assert!(range.contains(last));
    let held = segment_after(&transport, Command::Pause).position(transport.now());
    // After the pause the clock shows exactly its time, or the time before if that was later and must not run back.
    until("the time it is held at", || exact.now() == held);
    until("the time it is held at", || clock.now() >= held);
    transport.ask(Command::Seek(range.stop())).unwrap();
    until("the end", || clock.now() == range.stop());
    drop(state);
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
    // A new player's first state is a jump, not a late tick of the former player.
    let (transport, running) = serve(&session, |_| ());
    let state = session.serve_state(&transport, Duration::ZERO).unwrap();
    until("the time of the new player", || clock.now() < range.stop());
    drop(state);
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
}
