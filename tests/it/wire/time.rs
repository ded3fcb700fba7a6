//! Following a clock server over the network: a real player, other publishers, none.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command as Process, Stdio};
use std::sync::{Arc, Mutex};

use bagplay::bag::{Bag, Cues, Selection};
use bagplay::clock::{
    Clock, Complaint, Extrapolation, JumpFilter, JumpKind, LateTick, OnJump, Phase, SimTime,
    SleepError,
};
use bagplay::player::{ClockOptions, Command, Options, Pace, Player, Running, Source, Transport};
use bagplay::time::{AtEnd, Duration, Ros, Speed, Time, TimeRange};
use bagplay::wire;
use bagplay::wire::{Follow, Session, WireOutput, encode_clock};
use crossbeam_channel::{Receiver, bounded};
use zenoh::Wait;

use crate::support::network::{CLOCK_KEY, free_endpoint, open, options, peer, router};
use crate::support::patience::{PATIENCE, until};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");

fn demo() -> Bag {
    Bag::open(&[DEMO]).unwrap()
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

/// A session beside the player's, as a program that follows has it.
fn follower(endpoint: &str) -> Session {
    open(&options(&[free_endpoint()], &[endpoint.to_owned()])).0
}

/// Jumps as they come.
fn jumps(
    clock: &Clock<Ros>,
) -> (
    bagplay::clock::JumpHandle,
    Receiver<bagplay::clock::JumpEvent>,
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
fn next(jumps: &Receiver<bagplay::clock::JumpEvent>, kind: JumpKind) -> bagplay::clock::JumpEvent {
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
    let range = transport
        .ask(Command::Query)
        .unwrap()
        .status
        .segment
        .range();
    for clock in &clocks {
        clock
            .wait_started(OnJump::Continue.within(Duration::from_secs(30)))
            .unwrap();
        assert!(range.contains(clock.now()));
    }
    next(&jumps, JumpKind::Started);
    // Half as fast: nobody is there before the player is.
    let half = Pace::At(Speed::from_f64(0.5).unwrap());
    let begun = transport.now();
    let slowed = transport
        .ask(Command::SetPace(half))
        .unwrap()
        .status
        .segment;
    let target = slowed.position(begun) + Duration::from_millis(100);
    clock.sleep_until(target, OnJump::Continue).unwrap();
    assert!(transport.now() >= begun + Duration::from_millis(200));
    // Ten times as fast, asleep until the player is there.
    transport
        .ask(Command::SetPace(Pace::At(Speed::from_f64(10.0).unwrap())))
        .unwrap();
    let target = range.start() + Duration::from_secs(10);
    clock.sleep_until(target, OnJump::Continue).unwrap();
    assert!(clock.now() >= target);
    // Held: the time is where the player is.
    let held = transport
        .ask(Command::Pause)
        .unwrap()
        .status
        .segment
        .position(transport.now());
    until("the time it is held at", || clock.now() == held);

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
    // They are reported one after the other.
    until("the same time on all", || {
        clocks.iter().all(|other| other.now() == clock.now())
    });

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
    until("the publishers there are", || sim.publishers() == 1);
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
    until("the publishers there are", || sim.publishers() == 1);
    assert_eq!(sim.complaints(), [Complaint::Ignored]);
    // Another player, on a host of its own as it were.
    let other = follower(&endpoint);
    let (second, second_running) = serve(&other, |_| ());
    until("the publishers there are", || sim.publishers() == 2);
    assert!(sim.complaints().contains(&Complaint::SeveralPublishers));
    second.send(Command::Stop).unwrap();
    drop(second_running.join().unwrap());
    until("the publishers there are", || sim.publishers() == 1);
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
    until("the publishers there are", || sim.publishers() == 0);
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
    until("somebody who listens", || is_heard(&publisher));
    // The last one has a whole second of nanoseconds.
    let full = [0, 1, 0, 0, 1, 0, 0, 0, 0, 0xca, 0x9a, 0x3b];
    for broken in [&b""[..], &[0, 1, 0, 0, 1], &[9; 12], &full] {
        publisher.put(broken).wait().unwrap();
    }
    for second in 1..=3 {
        let time = Time::from_nanos(second * 1_000_000_000);
        publisher.put(encode_clock(time).bytes).wait().unwrap();
        assert_eq!(told.recv_timeout(PATIENCE), Ok(time));
        assert_eq!(clock.now(), time);
    }
    assert_eq!(ticks.lock().unwrap().len(), 3);
    assert_eq!(sim.malformed(), 4);
    assert!(sim.complaints().contains(&Complaint::Malformed));
    // Switched off and on again: nobody subscribes any more, then somebody does.
    sim.disable();
    until("nobody who listens", || !is_heard(&publisher));
    let unheard = encode_clock(Time::from_nanos(8));
    publisher.put(unheard.bytes).wait().unwrap();
    sim.enable().unwrap();
    until("somebody who listens", || is_heard(&publisher));
    let time = Time::from_nanos(9);
    publisher.put(encode_clock(time).bytes).wait().unwrap();
    assert_eq!(told.recv_timeout(PATIENCE), Ok(time));
}

/// Whether anybody subscribes to it.
fn is_heard(publisher: &zenoh::pubsub::Publisher<'_>) -> bool {
    publisher.matching_status().wait().unwrap().matching()
}

/// While a handler is busy with one message, of the messages after it only the newest is delivered.
#[test]
fn the_newest_message_counts() {
    let (_session, _, endpoint) = router(|_| ());
    let node = follower(&endpoint);
    let sims = [(); 2].map(|()| SimTime::new(node.clock_source(Follow::Clock)));
    let [clock, other] = sims.each_ref().map(SimTime::clock);
    let (tell, told) = bounded(1000);
    let (release, released) = bounded::<()>(1);
    let first = Time::from_nanos(1);
    let _handle = clock.on_tick(move |time| {
        tell.send(time).unwrap();
        if time == first {
            released.recv().unwrap();
        }
    });
    for sim in &sims {
        sim.enable().unwrap();
    }
    let elsewhere = peer(&endpoint);
    let publisher = elsewhere.declare_publisher(CLOCK_KEY).wait().unwrap();
    until("somebody who listens", || is_heard(&publisher));
    let put = |time| publisher.put(encode_clock(time).bytes).wait().unwrap();
    put(first);
    assert_eq!(told.recv_timeout(PATIENCE), Ok(first));
    let last = Time::from_nanos(9);
    (2..=9).map(Time::from_nanos).for_each(put);
    // All but the last one, which is on its way to both, have come to both.
    until("the last tick", || other.now() == last);
    release.send(()).unwrap();
    let mut ticks = Vec::new();
    while ticks.last() != Some(&last) {
        ticks.push(told.recv_timeout(PATIENCE).expect("a tick"));
    }
    let passed_over = |time: &Time<Ros>| *time < Time::from_nanos(8);
    assert!(!ticks.iter().any(passed_over), "{ticks:?}");
}

/// Ends the process, also when the test fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

/// The program itself, at half the speed, through its laps to its end.
#[test]
fn a_program_follows_the_player_that_users_start() {
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
    let mut playing = Ended(playing);
    let mut said = BufReader::new(playing.0.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    assert!(first.contains("router on"), "{first}");

    let node = follower(&endpoint);
    let topic = "/rosbag2_player/clock_state".to_owned();
    // A machine that stands still for some seconds makes no state too old.
    let age = Duration::from_secs(60);
    let how = Extrapolation::for_at_most(age);
    // Time that goes on by itself does so at a lap's end until it hears of the next one.
    let further = TimeRange::between(start, part.stop() + age);
    let follows = [(Follow::Clock, part), (Follow::State(topic, how), further)];
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
        until("the publishers there are", || sim.publishers() == 1);
        assert_eq!(sim.complaints(), []);
        sim
    });
    let clock = sims[0].clock();
    let interrupted = Process::new("kill")
        .args(["-INT", &playing.0.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    assert_eq!(playing.0.wait().unwrap().code(), Some(130));
    until("the publishers there are", || {
        sims.iter().all(|sim| sim.publishers() == 0)
    });
    // Nobody says what time it is: it stays what it was, and is not the system's.
    assert!(clock.is_active() && part.contains(clock.now()));
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
        clock
            .wait_started(OnJump::Continue.within(Duration::from_secs(30)))
            .unwrap();
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
    let range = transport
        .ask(Command::Query)
        .unwrap()
        .status
        .segment
        .range();
    assert!(range.contains(last));
    let held = transport
        .ask(Command::Pause)
        .unwrap()
        .status
        .segment
        .position(transport.now());
    // Once the pause is known, the time stands exactly there; or where it was, if it must not go back.
    until("the time it is held at", || exact.now() == held);
    until("the time it is held at", || clock.now() >= held);
    transport.ask(Command::Seek(range.stop())).unwrap();
    until("the end", || clock.now() == range.stop());
    drop(state);
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
    // A player that is started again is a jump, not a late tick of the one before.
    let (transport, running) = serve(&session, |_| ());
    let state = session.serve_state(&transport, Duration::ZERO).unwrap();
    until("the start again", || clock.now() < range.stop());
    drop(state);
    transport.send(Command::Stop).unwrap();
    drop(running.join().unwrap());
}
