//! Time sources and the clocks they drive, without a network; the default of the process.

use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::clock::{
    Clock, ClockState, Complaint, Extrapolation, Fallback, Feed, JumpFilter, MachineSource,
    NotStarted, OnJump, Phase, SimTime, SourceError, TestClock, TimeSource,
};
use bagplay::time::{Duration, Speed, Time};

use super::support::{SYSTEM, log_times_after};

/// A source whose feed the test uses. It logs the calls of its methods. Clones are the same source.
#[derive(Clone, Default)]
struct LoggedSource {
    feed: Arc<Mutex<Option<Feed>>>,
    log: Arc<Mutex<Vec<&'static str>>>,
    /// What it feeds in its start.
    first: Option<i64>,
    fails: bool,
}

impl LoggedSource {
    fn feed(&self) -> Feed {
        self.feed.lock().unwrap().clone().unwrap()
    }

    fn time(&self, nanos: i64) {
        self.feed().time(Time::from_nanos(nanos));
    }

    fn log(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

impl TimeSource for LoggedSource {
    fn attached(&mut self, feed: &Feed) {
        *self.feed.lock().unwrap() = Some(feed.clone());
    }

    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        self.log.lock().unwrap().push("start");
        if let Some(first) = self.first {
            feed.time(Time::from_nanos(first));
        }
        if self.fails {
            return Err(SourceError::Failed("no network".into()));
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.log.lock().unwrap().push("stop");
    }
}

fn source_on_test_clock() -> (TestClock, LoggedSource, SimTime) {
    let test = TestClock::new(Time::from_nanos(1));
    let source = LoggedSource::default();
    let sim = SimTime::on_test_clock(&test, source.clone());
    (test, source, sim)
}

fn nanos(clock: &Clock) -> i64 {
    clock.now().as_nanos()
}

/// The source runs only while sim time is on.
#[test]
fn sim_time_is_switched_on_and_off() {
    let (_test, source, sim) = source_on_test_clock();
    let clock = sim.clock();
    assert!(!sim.is_enabled() && !clock.is_active());
    source.time(5); // fed while it is off
    assert_eq!((nanos(&clock), source.log().len()), (SYSTEM, 0));
    sim.enable().unwrap();
    sim.enable().unwrap();
    assert_eq!(source.log(), ["start"]);
    assert_eq!(
        (clock.is_active(), clock.try_now()),
        (true, Err(NotStarted))
    );
    for time in 1_000..1_005 {
        source.time(time);
    }
    assert_eq!(nanos(&clock), 1_004);
    sim.disable();
    sim.disable();
    assert_eq!(source.log(), ["stop"]);
    source.time(2_000);
    assert_eq!((clock.is_active(), nanos(&clock)), (false, SYSTEM));
    sim.enable().unwrap();
    assert_eq!(
        nanos(&clock),
        1_004,
        "the last time of the source before it was disabled"
    );
}

/// Whatever happens to clocks and sources meanwhile.
#[test]
fn while_sim_time_is_off_no_clock_is_active() {
    let (test, source, sim) = source_on_test_clock();
    let others = SimTime::on_test_clock(&test, LoggedSource::default());
    let clock = sim.clock();
    let (mine, writer) = test.another_ros(Fallback::Zero);
    writer.set(Time::from_nanos(99));
    writer.activate();
    assert_eq!((mine.is_active(), nanos(&mine)), (true, 99));
    sim.attach(writer); // an active clock becomes inactive
    let (_handle, events) = log_times_after(&clock);
    let next = LoggedSource {
        first: Some(5),
        ..LoggedSource::default()
    };
    let steps: [(&str, &dyn Fn()); 7] = [
        ("attached", &|| {}),
        ("fed", &|| source.time(7)),
        ("released", &|| sim.release(&mine)),
        ("released twice", &|| sim.release(&mine)),
        ("handed over", &|| sim.hand_over(&clock, &others)),
        ("and back", &|| others.hand_over(&clock, &sim)),
        ("replaced", &|| sim.replace_source(next.clone()).unwrap()),
    ];
    for (step, act) in steps {
        act();
        let late = sim.clock();
        for clock in [&clock, &mine, &late] {
            assert_eq!((clock.is_active(), nanos(clock)), (false, SYSTEM), "{step}");
        }
    }
    assert_eq!(
        (events(), source.log(), next.log()),
        (vec![], vec![], vec![])
    );
    sim.enable().unwrap();
    assert_eq!([&clock, &mine].map(nanos), [5, SYSTEM]);
}

#[test]
fn a_source_reaches_the_handlers_whose_filters_match() {
    let (_test, source, sim) = source_on_test_clock();
    let clock = sim.clock();
    let half = Duration::from_millis(500);
    let log = Arc::new(Mutex::new(Vec::new()));
    let filters = [
        ("f", JumpFilter::new().min_forward(half)),
        ("b", JumpFilter::new().min_backward(half)),
        ("c", JumpFilter::new().clock_changes()),
    ];
    let _handles = filters.map(|(name, filter)| {
        let log = Arc::clone(&log);
        clock
            .on_jump(filter, move |phase, jump| {
                if phase == Phase::After {
                    log.lock().unwrap().push(format!("{name} {:?}", jump.kind));
                }
            })
            .unwrap()
    });
    let called = || std::mem::take(&mut *log.lock().unwrap());
    for second in 0..5 {
        source.time(second * 1_000_000_000);
    }
    assert_eq!(called(), [""; 0], "nothing while it is off");
    sim.enable().unwrap();
    assert_eq!(called(), ["c Activated"]);
    for second in 1..=6 {
        source.time(second * 1_000_000_000);
    }
    assert_eq!(called(), ["f Forward"; 5], "the first one is the start");
    source.time(6_499_999_999);
    source.time(6_000_000_000);
    assert_eq!(called(), [""; 0], "half a second less one nanosecond");
    source.time(2_000_000_000);
    assert_eq!(called(), ["b Backward"]);
    sim.disable();
    sim.enable().unwrap();
    assert_eq!(called(), ["c Deactivated", "c Activated"]);
}

/// A clock that is attached while the time stands still gets it at once.
#[test]
fn every_clock_is_driven_whenever_it_was_attached() {
    let (test, source, sim) = source_on_test_clock();
    let early = sim.clock();
    sim.enable().unwrap();
    source.time(7);
    let late = sim.clock();
    let (mine, writer) = test.another_ros(Fallback::Zero);
    writer.set(Time::from_nanos(99)); // forgotten when it is attached
    let (_handle, events) = log_times_after(&mine);
    sim.attach(writer);
    assert_eq!([&early, &late, &mine].map(nanos), [7; 3]);
    assert_eq!(events(), ["Activated 7"]);
    source.time(8);
    assert_eq!([&early, &late, &mine].map(nanos), [8; 3]);
    sim.release(&mine);
    sim.release(&mine);
    source.time(9);
    assert_eq!([&early, &late, &mine].map(nanos), [9, 9, SYSTEM]);
}

#[test]
fn a_clock_that_joins_a_paused_source_has_its_time_at_once() {
    let (test, source, sim) = source_on_test_clock();
    sim.enable().unwrap();
    let how = Extrapolation::for_at_most(Duration::MAX);
    let rolls = ClockState::new(Time::from_nanos(5), Some(Speed::NORMAL));
    source.feed().state(rolls, how);
    let stands = ClockState::new(Time::from_nanos(7), None);
    source.feed().state(stands, how);
    test.pass(Duration::from_secs(3));
    let late = sim.clock();
    assert_eq!(late.try_now(), Ok(Time::from_nanos(7)));
    test.pass(Duration::from_secs(3));
    assert_eq!(nanos(&late), 7);
}

#[test]
fn a_clock_that_is_handed_over_is_extrapolated_as_its_new_source_says() {
    let (test, source, sim) = source_on_test_clock();
    let (clock, other) = (sim.clock(), sim.clock());
    sim.enable().unwrap();
    let how = Extrapolation::for_at_most(Duration::MAX);
    let state = |time, factor| {
        let speed = Speed::from_f64(factor).unwrap();
        ClockState::new(Time::from_nanos(time), Some(speed))
    };
    source.feed().state(state(100, 1.0), how);
    let fast = LoggedSource::default();
    let by_fast = SimTime::on_test_clock(&test, fast.clone());
    by_fast.enable().unwrap();
    fast.feed().state(state(1_000, 10.0), how);
    sim.hand_over(&clock, &by_fast);
    test.pass(Duration::from_nanos(50));
    assert_eq!([&clock, &other].map(nanos), [1_500, 150]);
    fast.feed().state(state(2_000, 2.0), how);
    test.pass(Duration::from_nanos(50));
    assert_eq!([&clock, &other].map(nanos), [2_100, 200]);
}

/// The source of one clock is replaced, then the source of all.
#[test]
fn sources_are_replaced_for_one_clock_or_for_all() {
    let (test, source, sim) = source_on_test_clock();
    let (clock, other) = (sim.clock(), sim.clock());
    let (_handle, events) = log_times_after(&clock);
    sim.enable().unwrap();
    source.time(100);
    let gps = LoggedSource {
        first: Some(50),
        ..LoggedSource::default()
    };
    let by_gps = SimTime::on_test_clock(&test, gps.clone());
    by_gps.enable().unwrap();
    sim.hand_over(&clock, &by_gps);
    by_gps.hand_over(&other, &sim); // not attached there: nothing happens
    assert_eq!((nanos(&clock), nanos(&other)), (50, 100));
    let back = format!("Deactivated {SYSTEM}");
    assert_eq!(
        events(),
        ["Activated 0", "Started 100", &back, "Activated 50"]
    );
    gps.time(51);
    let next = LoggedSource::default();
    by_gps.replace_source(next.clone()).unwrap();
    gps.time(52); // ignored: it was replaced
    assert_eq!(
        (gps.log(), next.log()),
        (vec!["start", "stop"], vec!["start"])
    );
    assert_eq!(clock.try_now(), Err(NotStarted));
    next.time(1);
    assert_eq!(events(), ["Forward 51", &back, "Activated 0", "Started 1"]);
}

#[test]
fn a_source_that_cannot_start_leaves_the_clocks_alone() {
    let (_test, _, sim) = source_on_test_clock();
    let clock = sim.clock();
    let (_handle, events) = log_times_after(&clock);
    let bad = LoggedSource {
        fails: true,
        first: Some(5),
        ..LoggedSource::default()
    };
    sim.replace_source(bad).unwrap();
    let error = sim.enable().unwrap_err();
    assert_eq!(error.to_string(), "the time source cannot start");
    assert!(!sim.is_enabled() && !clock.is_active() && events().is_empty());
}

/// Its source feeds nothing until it is replaced.
#[test]
fn the_process_has_a_default_source() {
    let sim = SimTime::process();
    let clock = SimTime::process().clock();
    sim.enable().unwrap();
    assert_eq!(clock.try_now(), Err(NotStarted));
    let source = LoggedSource::default();
    sim.replace_source(source.clone()).unwrap();
    source.time(5);
    assert_eq!(nanos(&clock), 5);
    sim.disable();
}

/// Without a system clock the source of that kind cannot start.
#[test]
fn the_machines_clocks_are_sources() {
    let test = TestClock::new(Time::from_nanos(1));
    let (system, steady) = (test.system(), test.steady());
    let sim = SimTime::on_test_clock(&test, MachineSource::System);
    let clock = sim.clock();
    sim.enable().unwrap();
    for _ in 0..2 {
        assert_eq!(nanos(&clock), system.now().as_nanos());
        test.pass(Duration::from_secs(3));
    }
    sim.replace_source(MachineSource::Steady).unwrap();
    for _ in 0..2 {
        assert_eq!(nanos(&clock), steady.now().as_nanos());
        test.pass(Duration::from_secs(3));
    }
    test.set_system(None);
    let error = sim.replace_source(MachineSource::System).unwrap_err();
    assert!(matches!(error, SourceError::NoSystemClock), "{error}");
    assert!(!sim.is_enabled());
}

/// Each complaint is reported once: several publishers, and a publisher while sim time is off.
#[test]
fn publishers_are_counted_and_complained_of_once() {
    let (_test, source, sim) = source_on_test_clock();
    let feed = source.feed();
    assert!(sim.complaints().is_empty());
    feed.publishers(1);
    feed.publishers(1);
    assert_eq!(sim.complaints(), [Complaint::Ignored]);
    sim.enable().unwrap();
    feed.publishers(2);
    feed.publishers(3);
    let both = [Complaint::SeveralPublishers, Complaint::Ignored];
    assert_eq!((sim.complaints(), sim.publishers()), (both.into(), 3));

    let (_test, source, sim) = source_on_test_clock();
    sim.enable().unwrap();
    source.feed().publishers(1);
    sim.disable();
    assert_eq!(
        sim.complaints(),
        [],
        "the publisher was known when sim time was switched off"
    );
    source.feed().publishers(1);
    assert_eq!(sim.complaints(), [Complaint::Ignored]);
}

/// What a handler feeds is delivered to all clocks after the jump.
#[test]
fn handlers_may_feed_switch_and_make_clocks() {
    let (_test, source, sim) = source_on_test_clock();
    let (clock, other) = (sim.clock(), sim.clock());
    let (again, switch, made) = (source.clone(), sim.clone(), Arc::new(Mutex::new(None)));
    let makes = Arc::clone(&made);
    let _handle = clock
        .on_jump(
            JumpFilter::new().min_backward(Duration::from_nanos(1)),
            move |phase, _| {
                if phase == Phase::Before {
                    again.time(20);
                    *makes.lock().unwrap() = Some(switch.clock());
                    switch.disable();
                    switch.enable().unwrap();
                    again.time(30);
                }
            },
        )
        .unwrap();
    sim.enable().unwrap();
    source.time(100);
    source.time(10);
    let made = made.lock().unwrap().take().unwrap();
    assert_eq!([&clock, &other, &made].map(nanos), [30; 3]);
    assert_eq!(source.log(), ["start", "stop", "start"]);
}

#[test]
fn a_sleeper_follows_a_feeding_thread() {
    let (test, source, sim) = source_on_test_clock();
    let clock = sim.clock();
    sim.enable().unwrap();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let soon = OnJump::Continue.within(Duration::from_secs(60));
            clock.wait_started(soon).unwrap();
            let target = clock.now() + Duration::from_nanos(500);
            clock.sleep_until(target, OnJump::Continue)
        });
        test.wait_asleep(&clock, 1);
        for tick in 1.. {
            source.time(tick * 100);
            if sleeper.is_finished() {
                break;
            }
        }
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
    drop(sim);
    assert!(clock.is_active(), "its source stays with it");
    source.time(1);
    assert_eq!(clock.now(), Time::from_nanos(1));
    drop(clock);
    assert_eq!(source.log(), ["start", "stop"]);
    source.time(2); // no clock is left
}

/// No lock of the source is held meanwhile.
#[test]
fn a_handler_may_release_its_clock() {
    let (_test, source, sim) = source_on_test_clock();
    let clock = sim.clock();
    let (inner, own) = (sim.clone(), clock.clone());
    let _handle = clock
        .on_jump(JumpFilter::any(), move |phase, _| {
            if phase == Phase::Before && inner.is_enabled() {
                inner.release(&own);
                assert_eq!(inner.complaints(), []);
            }
        })
        .unwrap();
    sim.enable().unwrap();
    source.time(5);
    assert!(!clock.is_active());
}
