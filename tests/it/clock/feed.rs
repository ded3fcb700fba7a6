//! Smaller parts of the API: sources that are fed by hand or chosen at run time, sums and quotients of spans, the known
//! pace of a clock, warnings.

use std::thread;

use bagplay::clock::{
    Cancel, Clock, ClockPace, ClockState, Complaint, Extrapolation, Fallback, MachineSource,
    NoSource, OnJump, SimTime, SleepError, TestClock, TimeSource, TimerOptions, Timers,
};
use bagplay::time::{Duration, Ros, Speed, System, Time};
use crossbeam_channel::bounded;

use crate::support::patience::PATIENCE;

fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

#[test]
fn points_are_made_of_seconds_and_their_parts() {
    const START: Time<System> = Time::from_secs(1);
    assert_eq!(Time::<Ros>::from_secs(-2), at(-2_000_000_000));
    assert_eq!(Time::<Ros>::from_millis(3), at(3_000_000));
    assert_eq!(Time::<Ros>::from_micros(4), at(4_000));
    assert_eq!(Time::<Ros>::from_secs(i64::MAX), Time::MAX);
    assert_eq!(Time::<Ros>::from_millis(i64::MIN), Time::MIN);
    assert_eq!(START.as_nanos(), 1_000_000_000);
}

#[test]
fn points_and_spans_are_so_far_apart() {
    for (one, other, apart) in [
        (5, 8, 3),
        (8, 5, 3),
        (-5, 8, 13),
        (7, 7, 0),
        (i64::MIN, 0, i64::MAX),
        (i64::MIN, i64::MAX, i64::MAX),
    ] {
        assert_eq!(at(one).abs_diff(at(other)), ns(apart));
        assert_eq!(ns(one).abs_diff(ns(other)), ns(apart));
    }
}

#[test]
#[expect(clippy::float_cmp, reason = "these quotients are exact")]
fn a_span_by_a_span_is_a_number() {
    assert_eq!(ns(3) / ns(2), 1.5);
    assert_eq!(Duration::from_secs(1) / Duration::from_millis(-10), -100.0);
    assert_eq!(ns(1) / Duration::ZERO, f64::INFINITY);
    assert!((Duration::ZERO / Duration::ZERO).is_nan());
}

#[test]
fn spans_are_summed() {
    let spans = [ns(1), ns(-5), ns(10)];
    assert_eq!(spans.iter().sum::<Duration>(), ns(6));
    assert_eq!(spans.into_iter().sum::<Duration>(), ns(6));
    assert_eq!([].iter().sum::<Duration>(), Duration::ZERO);
    let over = std::panic::catch_unwind(|| [Duration::MAX, ns(1)].iter().sum::<Duration>());
    assert!(over.is_err());
}

#[test]
fn a_source_is_fed_by_hand() {
    let test = TestClock::new(at(1));
    let (sim, feed) = SimTime::fed_on_test_clock(&test);
    let clock = sim.clock();
    feed.time(at(3)); // to nobody: it is off
    sim.enable().unwrap();
    assert!(!clock.started());
    feed.time(at(5));
    assert_eq!(clock.now(), at(5));
    feed.publishers(2);
    assert_eq!(sim.complaints(), [Complaint::SeveralPublishers]);
    sim.replace_source(NoSource).unwrap();
    feed.time(at(6)); // to nobody: it is another source
    assert!(!clock.started());
}

/// Which source it is may be known at run time only.
#[test]
fn a_source_in_a_box_is_one() {
    let (fed, _feed) = SimTime::fed();
    for source in [MachineSource::System, MachineSource::Steady] {
        let source: Box<dyn TimeSource> = Box::new(source);
        let sim = SimTime::new(source);
        sim.enable().unwrap();
        assert!(sim.clock().started());
    }
    fed.replace_source(Box::new(MachineSource::Steady) as Box<dyn TimeSource>)
        .unwrap();
    fed.enable().unwrap();
    assert!(fed.clock().started());
}

#[test]
fn a_clock_says_how_its_time_goes() {
    let test = TestClock::new(at(1));
    let (sim, feed) = SimTime::fed_on_test_clock(&test);
    let clock: Clock = sim.clock();
    let how = Extrapolation::for_at_most(Duration::MAX);
    let double = Speed::from_f64(2.0).unwrap();
    assert_eq!(clock.pace(), ClockPace::Machine);
    sim.enable().unwrap();
    assert_eq!(clock.pace(), ClockPace::NotStarted);
    feed.time(at(5));
    assert_eq!(clock.pace(), ClockPace::Unknown);
    feed.state(ClockState::new(at(6), Some(double)), how);
    assert_eq!(clock.pace(), ClockPace::At(double));
    feed.state(ClockState::new(at(7), None), how);
    assert_eq!((clock.pace(), clock.now()), (ClockPace::Paused, at(7)));
    feed.time(at(8));
    assert_eq!(clock.pace(), ClockPace::Unknown);
    sim.disable();
    assert_eq!(clock.pace(), ClockPace::Machine);
    let machine = sim.clock_with(Fallback::Machine);
    sim.replace_source(NoSource).unwrap();
    sim.enable().unwrap();
    assert_eq!(machine.pace(), ClockPace::NotStarted);
}

/// By the stamps: one old state may have waited on its way, one after the other means that the clocks differ.
#[test]
fn states_that_are_always_too_old_are_complained_of() {
    let test = TestClock::new(at(1));
    let (sim, feed) = SimTime::fed_on_test_clock(&test);
    let clock = sim.clock();
    sim.enable().unwrap();
    let how = Extrapolation::for_at_most(ns(100));
    let say = |time, age: i64, speed| {
        let state = ClockState {
            sent: Some(test.system().now() - ns(age)),
            ..ClockState::new(at(time), speed)
        };
        feed.state(state, how);
    };
    let runs = Some(Speed::NORMAL);
    for round in 0..5 {
        say(10 + 2 * round, 101, runs);
        say(11 + 2 * round, 100, runs);
        say(12 + 2 * round, 101, None);
    }
    assert_eq!(sim.complaints(), []);
    for time in 30..33 {
        assert_eq!(sim.complaints(), []);
        say(time, 101, runs);
    }
    assert_eq!(sim.complaints(), [Complaint::Stale]);
    test.pass(ns(50));
    assert_eq!(clock.now(), at(32));
    // Another source, another chance.
    sim.replace_source(NoSource).unwrap();
    assert_eq!(sim.complaints(), []);
}

#[test]
fn what_a_source_cannot_read_is_counted() {
    let (sim, feed) = SimTime::fed();
    assert_eq!((sim.malformed(), sim.complaints()), (0, vec![]));
    feed.malformed();
    feed.malformed();
    let complaints = sim.complaints();
    assert_eq!(
        (sim.malformed(), complaints),
        (2, vec![Complaint::Malformed])
    );
    sim.replace_source(NoSource).unwrap();
    feed.malformed(); // of a source that is gone
    assert_eq!((sim.malformed(), sim.complaints()), (0, vec![]));
}

#[cfg(feature = "serde")]
mod saved {
    use bagplay::time::{Duration, Ros, Time};
    use serde::de::Visitor;
    use serde::de::value::Error;
    use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

    use super::{at, ns};

    /// As a binary format has them.
    struct Nanos(i64);

    impl<'de> Deserializer<'de> for Nanos {
        type Error = Error;

        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.visit_i64(self.0)
        }

        fn is_human_readable(&self) -> bool {
            false
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
        }
    }

    #[test]
    fn times_and_spans_are_saved_exactly() {
        for nanos in [0, 1, -1, 1_700_000_000_000_000_001, i64::MIN, i64::MAX] {
            let text = serde_json::to_string(&(at(nanos), ns(nanos))).unwrap();
            let read: (Time<Ros>, Duration) = serde_json::from_str(&text).unwrap();
            assert_eq!(read, (at(nanos), ns(nanos)), "{text}");
            assert_eq!(Time::deserialize(Nanos(nanos)).unwrap(), at(nanos));
            assert_eq!(Duration::deserialize(Nanos(nanos)).unwrap(), ns(nanos));
        }
        let text = serde_json::to_string(&(at(1_500_000_000), ns(-1_500_000_000))).unwrap();
        assert_eq!(text, r#"["1.500000000","-1.5s"]"#);
        let wrong = serde_json::from_str::<Duration>(r#""soon""#).unwrap_err();
        assert!(
            wrong
                .to_string()
                .starts_with("`soon` is not a number of seconds")
        );
    }
}

/// Its first tick is a period after it was added, whoever adds it.
#[test]
fn a_callback_may_add_timers() {
    let test = TestClock::new(at(1_000));
    let (tell, told) = bounded(100);
    let mut timers = Timers::new(&test.ros());
    let adder = timers.adder();
    let once = TimerOptions::once(ns(100));
    timers
        .add(once, move |_, _| {
            let tell = tell.clone();
            let inner = adder.add(ns(30), move |_, tick| {
                tell.send(tick.actual.as_nanos()).unwrap();
            });
            inner.unwrap();
        })
        .unwrap();
    test.drive(&mut timers, ns(200));
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [1_130, 1_160, 1_190]);
}

/// The set sleeps until a later deadline, or has none.
#[test]
fn another_thread_may_add_timers_to_a_set_that_runs() {
    for has_others in [true, false] {
        let test = TestClock::new(at(1_000));
        let clock = test.ros();
        let cancel = Cancel::new();
        let mut timers = Timers::new(&clock);
        if has_others {
            timers.add(ns(5_000), |_, _| panic!("not due")).unwrap();
        }
        let adder = timers.adder();
        let (tell, told) = bounded(10);
        thread::scope(|scope| {
            let running = scope.spawn(|| timers.run(OnJump::Continue.unless(&cancel)));
            test.wait_asleep(&clock, 1);
            let timer = adder.add(ns(50), move |_, tick| {
                tell.send(tick.actual.as_nanos()).unwrap();
            });
            test.wait_asleep(&clock, 1);
            for tick in [1_050, 1_100] {
                test.advance(ns(50));
                assert_eq!(told.recv_timeout(PATIENCE), Ok(tick));
            }
            timer.unwrap().cancel();
            cancel.cancel();
            assert_eq!(running.join().unwrap(), SleepError::Cancelled);
        });
    }
}

/// What was added counts at once, and is removed as any; without a set nobody calls back.
#[test]
fn timers_that_were_added_belong_to_the_set() {
    let test = TestClock::new(at(1_000));
    let mut timers = Timers::new(&test.ros());
    let adder = timers.adder().clone();
    let timer = adder.add(ns(50), |_, _| panic!("it was removed")).unwrap();
    assert_eq!(timers.time_until(), Some(ns(50)));
    assert!(adder.add(ns(-1), |_, _| ()).is_err());
    timers.remove(&timer);
    test.advance(ns(100));
    assert_eq!((timers.run_due(), timers.time_until()), (0, None));
    drop(timers);
    let orphan = adder.add(ns(50), |_, _| panic!("nobody runs it")).unwrap();
    test.advance(ns(100));
    assert!(orphan.is_ready());
}
