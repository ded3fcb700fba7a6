//! `~/clock_state` on the wire: every change of motion is published, with the complete state.

use bagplay::bag::{Bag, Cues, Selection};
use bagplay::output::Null;
use bagplay::player::{ClockOptions, Command, Intent, Options, Pace, Player, Source, WhenDone};
use bagplay::time::{Duration, Speed, Time, TimeRange};
use bagplay::wire::{ClockMotion, ClockStateMessage, WireEvent};
use crossbeam_channel::Receiver;
use zenoh::Wait;
use zenoh::sample::Sample;

use crate::support::network::{peer, router, subscribe, take, token};

const TYPE: &str = "bagplay_interfaces::msg::dds_::ClockState_";
const KEY: &str = "0/rosbag2_player/clock_state/bagplay_interfaces::msg::dds_::ClockState_/*";

/// The first state from now on that is wanted.
#[track_caller]
fn state(
    samples: &Receiver<Sample>,
    is_wanted: impl Fn(&ClockStateMessage) -> bool,
) -> ClockStateMessage {
    loop {
        let sample = take(samples);
        let payload = sample.payload().to_bytes();
        let state = ClockStateMessage::decode(&payload).expect("a clock state");
        if is_wanted(&state) {
            return state;
        }
    }
}

#[test]
#[expect(clippy::float_cmp, reason = "factors are exact")]
fn every_change_of_motion_is_published() {
    let (session, events, endpoint) = router(|_| ());
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
    let bag = Bag::open(&[demo]).unwrap();
    let range = bag.range().unwrap();
    let shift = Duration::from_secs(1000);
    let (out, _) = session.advertise(&[], None).unwrap();
    let player = Player::new();
    let transport = player.transport();
    let topic = session.serve_state(&transport, shift).unwrap();
    let listener = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&listener, KEY);
    let hash = type_hash();
    let token = token(&listener, "MS", "/rosbag2_player/clock_state", TYPE, &hash);
    let _token = listener.liveliness().declare_token(token).wait().unwrap();
    events.wait("listener", |event| {
        matches!(event, WireEvent::SubscriberJoined { .. })
    });

    let cues = Cues::new(bag.clone(), Selection::all(&bag), 8 << 20, player.waker());
    let options = Options {
        when_done: WhenDone::Stay,
        ..Options::new(range)
    };
    let running = player.start(options, Source::of(cues), Null).unwrap();
    let rolling = state(&samples, |it| it.real_time_factor == 1.0);
    assert_eq!(rolling.motion, ClockMotion::Playing);
    assert!(rolling.clock >= range.start() + shift && rolling.clock < range.stop() + shift);
    assert!(rolling.system_nanos > 1_700_000_000_000_000_000);

    let half = Pace::At(Speed::from_f64(0.5).unwrap());
    transport.send(Command::SetPace(half)).unwrap();
    state(&samples, |it| it.real_time_factor == 0.5);
    transport.send(Command::Pause).unwrap();
    let held = state(&samples, |it| it.motion == ClockMotion::Held);
    assert_eq!(
        (held.real_time_factor, held.generation),
        (0.0, rolling.generation)
    );
    assert!(held.clock >= rolling.clock);
    // Published again once a second, without a change.
    let again = state(&samples, |_| true);
    assert_eq!((again.clock, again.motion), (held.clock, ClockMotion::Held));

    let target = range.start() + Duration::from_secs(20);
    transport.send(Command::Seek(target)).unwrap();
    let jumped = state(&samples, |it| it.generation > held.generation);
    assert_eq!(jumped.clock, target + shift);
    let backwards = Pace::At(Speed::from_f64(-2.0).unwrap());
    transport.send(Command::SetPace(backwards)).unwrap();
    transport.send(Command::Play).unwrap();
    let turned = state(&samples, |it| it.real_time_factor == -2.0);
    assert!(turned.generation > jumped.generation && turned.clock <= target + shift);
    transport.send(Command::SetPace(Pace::Max)).unwrap();
    state(&samples, |it| it.motion == ClockMotion::Ended);
    transport.send(Command::Stop).unwrap();
    running.join().unwrap();
    state(&samples, |it| it.motion == ClockMotion::Stopped);
    drop(topic);
    drop(out);
}

/// Twenty times as long as changes are collected before a state is published.
const A_WHILE: Duration = Duration::from_millis(100);

#[test]
fn no_state_is_published_while_the_clock_is_turned_off() {
    let (session, events, endpoint) = router(|_| ());
    let recording = TimeRange::between(Time::from_secs(10), Time::from_secs(20));
    let (out, _) = session.advertise(&[], None).unwrap();
    let player = Player::new();
    let transport = player.transport();
    let topic = session.serve_state(&transport, Duration::ZERO).unwrap();
    let listener = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&listener, KEY);
    let token = token(
        &listener,
        "MS",
        "/rosbag2_player/clock_state",
        TYPE,
        &type_hash(),
    );
    let _token = listener.liveliness().declare_token(token).wait().unwrap();
    events.wait("listener", |event| {
        matches!(event, WireEvent::SubscriberJoined { .. })
    });
    let period = Duration::from_millis(25);
    let options = Options {
        when_done: WhenDone::Stay,
        intent: Intent::Pause,
        clock: ClockOptions {
            period: Some(period),
            ..ClockOptions::default()
        },
        ..Options::new(recording)
    };
    let running = player.start(options, Source::empty(), Null).unwrap();
    let at = |secs| Time::from_secs(secs);
    state(&samples, |it| it.clock == at(10));
    transport.ask(Command::EndClock).unwrap();
    transport.ask(Command::Seek(at(12))).unwrap();
    let since = transport.now();
    while transport.now() < since + A_WHILE {
        std::thread::yield_now();
    }
    transport.ask(Command::Seek(at(15))).unwrap();
    transport.ask(Command::ServeClock(period)).unwrap();
    let back = state(&samples, |it| {
        assert_ne!(it.clock, at(12), "published while off");
        it.clock == at(15)
    });
    assert_eq!(back.motion, ClockMotion::Held);
    transport.send(Command::Stop).unwrap();
    running.join().unwrap();
    // The end is published in any case.
    state(&samples, |it| it.motion == ClockMotion::Stopped);
    drop((topic, out));
}

#[test]
fn a_new_subscriber_gets_the_state_at_once() {
    let (session, _, endpoint) = router(|_| ());
    let (_out, _) = session.advertise(&[], None).unwrap();
    let player = Player::new();
    let transport = player.transport();
    let _topic = session.serve_state(&transport, Duration::ZERO).unwrap();
    let empty = Options::new(bagplay::time::TimeRange::between(
        Time::from_nanos(5),
        Time::from_nanos(6),
    ));
    let options = Options {
        intent: bagplay::player::Intent::Pause,
        ..empty
    };
    let none = |_| bagplay::bag::Cue::from_items([]);
    let running = player
        .start(options, Source::new([""; 0], none), Null)
        .unwrap();
    transport.ask(Command::Query).unwrap();
    let hash = type_hash();
    for _ in 0..3 {
        let listener = peer(&endpoint);
        let (_subscriber, samples) = subscribe(&listener, KEY);
        let token = token(&listener, "MS", "/rosbag2_player/clock_state", TYPE, &hash);
        let _token = listener.liveliness().declare_token(token).wait().unwrap();
        let told = state(&samples, |_| true);
        assert_eq!(
            (told.clock, told.motion),
            (Time::from_nanos(5), ClockMotion::Held)
        );
    }
    transport.send(Command::Stop).unwrap();
    running.join().unwrap();
}

/// The hash of the type.
fn type_hash() -> String {
    let definition = concat!(
        include_str!("../../../share/bagplay_interfaces/msg/ClockState.msg"),
        "================================================================================\n",
        "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n",
    );
    let name = "bagplay_interfaces/msg/ClockState";
    bagplay::ros::message_hash(name, definition.as_bytes())
        .unwrap()
        .hash
}
