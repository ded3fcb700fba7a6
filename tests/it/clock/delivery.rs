//! The delivery of times to clocks, where the order of events matters: clocks that are attached late, values that wait
//! in the queue, source code and handlers that run at the same time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::clock::{
    Clock, ClockState, Complaint, Extrapolation, Fallback, Feed, JumpEvent, JumpFilter, JumpHandle,
    JumpKind, MachineSource, OnJump, Phase, SimTime, SleepError, SourceError, TestClock,
    TimeSource, Timer,
};
use bagplay::time::{Duration, Speed, Time};
use crossbeam_channel::bounded;

use super::support::{SYSTEM, at, backward, block_next_tick, fed, log_times_after, ns, returns};
use crate::support::patience::PATIENCE;

const MICROSECOND: Extrapolation = Extrapolation::for_at_most(Duration::from_nanos(1_000));

fn state(time: i64, factor: f64) -> ClockState {
    ClockState::new(at(time), Speed::from_f64(factor).ok())
}

type Start = Box<dyn FnMut(&Feed) -> Result<(), SourceError> + Send>;
type OnCall = Box<dyn FnMut(&Feed) + Send>;

/// A source whose methods call functions of the test.
struct Source {
    feed: Arc<Mutex<Option<Feed>>>,
    attached: OnCall,
    start: Start,
    stop: OnCall,
}

impl Source {
    fn new() -> Self {
        Self {
            feed: Arc::default(),
            attached: Box::new(|_| ()),
            start: Box::new(|_| Ok(())),
            stop: Box::new(|_| ()),
        }
    }
}

impl TimeSource for Source {
    fn attached(&mut self, feed: &Feed) {
        *self.feed.lock().unwrap() = Some(feed.clone());
        (self.attached)(feed);
    }

    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        (self.start)(feed)
    }

    fn stop(&mut self) {
        let feed = self.feed.lock().unwrap().clone();
        (self.stop)(&feed.unwrap());
    }
}

/// A `SimTime` on `source`, and its feed.
fn sim_with(test: &TestClock, source: Source) -> (SimTime, Feed) {
    let feed = Arc::clone(&source.feed);
    let sim = SimTime::on_test_clock(test, source);
    let feed = feed.lock().unwrap().clone();
    (sim, feed.unwrap())
}

/// The thread that runs the handler is the one that delivers the time to the other clocks.
#[test]
fn a_sleep_in_a_handler_of_the_same_source_is_an_error() {
    let test = TestClock::new(at(1));
    let (sim, feed) = fed(&test, 100);
    let (clock, other) = (sim.clock(), sim.clock());
    let (sender, receiver) = bounded(10);
    let (mover, sleeper) = (feed.clone(), other.clone());
    let _handle = clock.on_jump(backward(), move |phase, _| {
        if phase == Phase::After {
            let slept = sleeper.sleep_for(ns(5), OnJump::Continue);
            let timer = Timer::new(&sleeper, ns(5)).unwrap();
            let ticked = timer.wait(OnJump::Continue);
            sender.send((slept, ticked.is_err())).unwrap();
        }
    });
    returns(move || mover.time(at(10)));
    let failed = (Err(SleepError::InHandler), true);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(failed));
    // Other threads can sleep on it, and so can the handler once the clock has another source.
    feed.time(at(20));
    assert_eq!(other.sleep_until(at(20), OnJump::Continue), Ok(()));
    let (its_own, its_feed) = fed(&test, 1_000);
    sim.hand_over(&other, &its_own);
    let moving = thread::spawn(move || feed.time(at(5)));
    let slept = returns(move || {
        (2..)
            .find_map(|second| {
                its_feed.time(at(second * 1_000));
                thread::yield_now();
                receiver.try_recv().ok()
            })
            .unwrap()
    });
    assert_eq!(slept, (Ok(()), false));
    moving.join().unwrap();
}

#[test]
fn a_clock_that_is_attached_late_shows_what_the_others_show() {
    let test = TestClock::new(at(1));
    let sim = SimTime::on_test_clock(&test, MachineSource::System);
    let early = sim.clock();
    sim.enable().unwrap();
    let (other, _) = fed(&test, 5);
    let handed = other.clock();
    test.pass(Duration::from_secs(10));
    let late = sim.clock();
    other.hand_over(&handed, &sim);
    for _ in 0..2 {
        let system = test.system().now().assume_ros();
        assert_eq!([&early, &late, &handed].map(Clock::now), [system; 3]);
        test.pass(Duration::from_secs(3));
    }
}

#[test]
fn a_clock_that_is_attached_late_stops_with_the_others() {
    let test = TestClock::new(at(1));
    let (sim, feed) = fed(&test, 1);
    let early = sim.clock();
    feed.state(state(10_000, 2.0), MICROSECOND);
    test.pass(ns(600));
    let late = sim.clock();
    for shown in [11_200, 12_000, 12_000] {
        assert_eq!([&early, &late].map(Clock::now), [at(shown); 2]);
        test.pass(ns(600));
    }
}

#[test]
fn a_state_that_waits_for_a_handler_is_extrapolated_from_its_arrival() {
    let test = TestClock::new(at(1));
    let (sim, feed) = fed(&test, 1);
    let clock = sim.clock();
    let (_handle, is_blocked, release) = block_next_tick(&clock);
    // By its stamp it is fresh when it arrives, and too old when it is delivered.
    let fresh = ClockState {
        sent: Some(test.system().now()),
        ..state(10_000, 1.0)
    };
    thread::scope(|scope| {
        scope.spawn(|| feed.time(at(50)));
        is_blocked.recv_timeout(PATIENCE).unwrap();
        feed.state(fresh, MICROSECOND);
        test.pass(ns(1_500));
        release.send(()).unwrap();
    });
    assert_eq!(clock.now(), at(11_000));
    // The same with a writer, in a handler.
    let (clock, writer) = test.another_ros(Fallback::Zero);
    writer.activate();
    let (_handle, is_blocked, release) = block_next_tick(&clock);
    thread::scope(|scope| {
        scope.spawn(|| writer.set(at(50)));
        is_blocked.recv_timeout(PATIENCE).unwrap();
        writer.set_state(state(10_000, 1.0), MICROSECOND);
        test.pass(ns(500));
        release.send(()).unwrap();
    });
    assert_eq!(clock.now(), at(10_500));
}

#[test]
fn a_clock_that_is_attached_while_handlers_run_shows_the_time_at_once() {
    let test = TestClock::new(at(1));
    let (sim, feed) = fed(&test, 10);
    let (other, _) = fed(&test, 1_000);
    let (clock, handed) = (sim.clock(), other.clock());
    let (mine, writer) = test.another_ros(Fallback::Zero);
    let (_events_handle, events) = log_times_after(&handed);
    let (_handle, is_blocked, release) = block_next_tick(&clock);
    thread::scope(|scope| {
        scope.spawn(|| feed.time(at(50)));
        is_blocked.recv_timeout(PATIENCE).unwrap();
        let made = sim.clock();
        sim.attach(writer);
        other.hand_over(&handed, &sim);
        let shown = [&made, &mine, &handed].map(|it| (it.is_active(), it.now()));
        feed.time(at(60));
        // What is shown later is delivered when the handler has ended.
        let seen = events();
        release.send(()).unwrap();
        assert_eq!(shown, [(true, at(50)); 3]);
        assert_eq!(
            seen,
            [format!("Deactivated {SYSTEM}"), "Activated 50".into()]
        );
        let all = [&made, &mine, &handed, &clock];
        while all.iter().any(|it| it.now() != at(60)) {
            thread::yield_now();
        }
    });
}

#[test]
fn clocks_without_a_handle_are_dropped() {
    let test = TestClock::new(at(1));
    let (sim, feed) = fed(&test, 10);
    let ticks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ticks);
    // A registered handler keeps its clock, also without another handle.
    let handle = sim.clock().on_tick(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let kept = sim.clock();
    for _ in 0..100 {
        drop(sim.clock());
    }
    feed.time(at(20));
    let shown = format!("{sim:?}");
    assert!(shown.contains("clocks: 2,"), "{shown}");
    assert_eq!((ticks.load(Ordering::Relaxed), kept.now()), (1, at(20)));
    drop((handle, kept));
    feed.time(at(30));
    let shown = format!("{sim:?}");
    assert!(shown.contains("clocks: 0,"), "{shown}");
    assert_eq!(ticks.load(Ordering::Relaxed), 1);
}

/// Calls `is_enabled` in each jump of the clock.
fn asks_whether_enabled(sim: &SimTime, clock: &Clock) -> JumpHandle {
    let asked = sim.clone();
    let ask = move |_: Phase, _| {
        asked.is_enabled();
    };
    clock.on_jump(JumpFilter::any(), ask).unwrap()
}

#[test]
fn what_a_source_feeds_when_it_is_attached_is_delivered_after_that_call() {
    let test = TestClock::new(at(1));
    let (sim, _) = fed(&test, 10);
    let clock = sim.clock();
    let _handle = asks_whether_enabled(&sim, &clock);
    let source = Source {
        attached: Box::new(|feed| feed.publishers(1)),
        ..Source::new()
    };
    let replaced = sim.clone();
    returns(move || replaced.replace_source(source)).unwrap();
    assert!(clock.is_active() && !clock.started());
    assert_eq!(sim.publishers(), 1);
}

#[test]
fn what_a_source_feeds_when_it_stops_is_ignored() {
    let test = TestClock::new(at(1));
    let source = || Source {
        stop: Box::new(|feed| feed.time(at(77))),
        ..Source::new()
    };
    let (sim, feed) = sim_with(&test, source());
    let clock = sim.clock();
    let (_handle, events) = log_times_after(&clock);
    let _asks = asks_whether_enabled(&sim, &clock);
    sim.enable().unwrap();
    feed.time(at(10));
    let stopped = sim.clone();
    returns(move || stopped.disable());
    sim.enable().unwrap();
    let off = format!("Deactivated {SYSTEM}");
    let seen = ["Activated 0", "Started 10", &off, "Activated 10"];
    assert_eq!(events(), seen);
    let replaced = sim.clone();
    returns(move || replaced.replace_source(source())).unwrap();
    assert_eq!(events(), [&off, "Activated 0"]);
}

#[test]
fn a_source_that_panics_when_it_stops_is_off() {
    let test = TestClock::new(at(1));
    let source = Source {
        stop: Box::new(|_| panic!("broken")),
        ..Source::new()
    };
    let (sim, feed) = sim_with(&test, source);
    let clock = sim.clock();
    sim.enable().unwrap();
    feed.time(at(10));
    catch_unwind(AssertUnwindSafe(|| sim.disable())).unwrap_err();
    assert!(!sim.is_enabled() && !clock.is_active());
    sim.enable().unwrap();
    assert_eq!(clock.now(), at(10));
    // It is replaced all the same.
    let (next, next_feed) = (Source::new(), Arc::new(Mutex::new(None)));
    let next = Source {
        feed: Arc::clone(&next_feed),
        ..next
    };
    catch_unwind(AssertUnwindSafe(|| sim.replace_source(next))).unwrap_err();
    assert!(sim.is_enabled() && clock.is_active() && !clock.started());
    next_feed.lock().unwrap().take().unwrap().time(at(3));
    assert_eq!(clock.now(), at(3));
}

#[test]
fn no_value_of_a_source_that_cannot_start_is_delivered() {
    let test = TestClock::new(at(1));
    let mut starts = 0;
    let source = Source {
        start: Box::new(move |feed| {
            starts += 1;
            if starts == 2 {
                feed.time(at(77));
                feed.publishers(1);
                return Err(SourceError::Failed("no network".into()));
            }
            Ok(())
        }),
        ..Source::new()
    };
    let (sim, feed) = sim_with(&test, source);
    let clock = sim.clock();
    let (_handle, events) = log_times_after(&clock);
    let (switch, mut is_first) = (sim.clone(), true);
    let _toggles = clock.on_tick(move |_| {
        if std::mem::take(&mut is_first) {
            switch.disable();
            switch.enable().unwrap_err();
        }
    });
    sim.enable().unwrap();
    feed.time(at(5));
    assert!(!sim.is_enabled() && !clock.is_active());
    assert_eq!(sim.publishers(), 1, "it still counts publishers");
    sim.enable().unwrap();
    let off = format!("Deactivated {SYSTEM}");
    assert_eq!(events(), ["Activated 0", "Started 5", &off, "Activated 5"]);
}

/// The thread that delivers may finish before the source has started.
#[test]
fn no_handler_runs_in_the_start_of_a_source() {
    let test = TestClock::new(at(1));
    let ((may, begins), (sender, is_off)) = (bounded::<()>(1), bounded::<()>(1));
    let mut starts = 0;
    let source = Source {
        start: Box::new(move |feed| {
            starts += 1;
            if starts == 2 {
                may.send(()).unwrap();
                is_off.recv_timeout(PATIENCE).unwrap();
                feed.time(at(7));
            }
            Ok(())
        }),
        ..Source::new()
    };
    let (sim, _) = sim_with(&test, source);
    let clock = sim.clock();
    sim.enable().unwrap();
    let _asks = asks_whether_enabled(&sim, &clock);
    let (tell_held, is_blocked) = bounded(1);
    let _handle = clock
        .on_jump(JumpFilter::new().clock_changes(), move |phase, jump| {
            if phase == Phase::After && jump.after != Time::ZERO {
                let _ = tell_held.send(());
                let _ = begins.recv_timeout(PATIENCE);
            }
        })
        .unwrap();
    let off = sim.clone();
    let switching = thread::spawn(move || {
        off.disable();
        sender.send(()).unwrap();
    });
    is_blocked.recv_timeout(PATIENCE).unwrap();
    let on = sim.clone();
    returns(move || on.enable()).unwrap();
    switching.join().unwrap();
    assert_eq!((clock.is_active(), clock.now()), (true, at(7)));
}

#[test]
fn complaints_are_of_one_source_and_not_of_the_moment_of_a_replacement() {
    let test = TestClock::new(at(1));
    let (sim, feed) = fed(&test, 10);
    feed.publishers(1);
    // It counts publishers before it is started.
    let source = || Source {
        attached: Box::new(|feed| feed.publishers(1)),
        ..Source::new()
    };
    sim.replace_source(source()).unwrap();
    assert_eq!((sim.publishers(), sim.complaints()), (1, vec![]));
    sim.disable();
    sim.replace_source(source()).unwrap();
    assert_eq!(sim.complaints(), [Complaint::Ignored]);
    sim.enable().unwrap();
    sim.replace_source(source()).unwrap();
    assert_eq!(sim.complaints(), []);
}

#[test]
fn shut_down_ends_all_sleeps_on_all_clocks() {
    let test = TestClock::new(at(1));
    let (sim, feed) = sim_with(&test, Source::new());
    let (clock, left) = (sim.clock(), sim.clock());
    let far = at(SYSTEM) + Duration::from_secs(1_000);
    thread::scope(|scope| {
        // Sim time is off, so otherwise only the date would end these sleeps.
        let asleep = scope.spawn(|| clock.sleep_until(far, OnJump::Continue));
        let waits = scope.spawn(|| left.sleep_until(far, OnJump::Continue));
        test.wait_asleep(&clock, 1);
        test.wait_asleep(&left, 1);
        sim.shut_down();
        assert_eq!(asleep.join().unwrap(), Err(SleepError::Shutdown));
        assert_eq!(waits.join().unwrap(), Err(SleepError::Shutdown));
    });
    sim.release(&left);
    sim.enable().unwrap();
    feed.time(at(5));
    for clock in [&clock, &left, &sim.clock()] {
        let slept = clock.sleep_for(Duration::from_secs(1), OnJump::Continue);
        assert_eq!(slept, Err(SleepError::Shutdown));
    }
    assert_eq!(clock.now(), at(5));
}

#[test]
fn a_tick_farther_behind_than_time_can_have_run_ahead_is_a_jump_back() {
    let test = TestClock::new(Time::ZERO);
    let (clock, writer) = (test.ros(), test.writer());
    let (_handle, events) = log_times_after(&clock);
    let set_and_check = |time, factor, shown: i64| {
        writer.set_state(state(time, factor), MICROSECOND);
        assert_eq!(clock.now(), at(shown), "{time} at {factor}");
    };
    set_and_check(1_000_000, 2.0, 1_000_000);
    test.pass(ns(1_000));
    // The clock ran ahead at factor 2, so these states are late, although their factor is smaller.
    set_and_check(1_000_000, 0.5, 1_002_000);
    test.pass(ns(100));
    set_and_check(1_000_050, 0.5, 1_002_000);
    set_and_check(1_000_000, 0.5, 1_002_000);
    assert_eq!(events(), ["Started 1000000"]);
    set_and_check(999_999, 0.5, 999_999);
    assert_eq!(events(), ["Backward 999999"]);
    // Since then the clock can have run ahead only at factor 0.5.
    test.pass(ns(100));
    set_and_check(999_600, 0.5, 1_000_049);
    set_and_check(999_548, 0.5, 999_548);
    set_and_check(50_000, 0.0, 50_000);
    test.pass(ns(100));
    set_and_check(50_100, 1.0, 50_100);
    assert_eq!(
        events(),
        ["Backward 999548", "Backward 50000", "Forward 50100"]
    );
    // The same backwards.
    set_and_check(50_100, -1.0, 50_100);
    test.pass(ns(100));
    set_and_check(50_999, -1.0, 50_000);
    set_and_check(51_001, -1.0, 51_001);
    assert_eq!(events(), ["Forward 51001"]);
}

#[test]
fn a_turn_to_run_backwards_ends_the_sleeps_that_end_on_steps_back() {
    let test = TestClock::new(Time::ZERO);
    let (clock, writer) = (test.ros(), test.writer());
    let (_handle, events) = log_times_after(&clock);
    let state = |time, factor, generation| ClockState {
        generation,
        ..state(time, factor)
    };
    writer.set_state(state(10_000, 0.0, 0), MICROSECOND);
    let options = [
        OnJump::ErrorOnBackward,
        OnJump::ErrorOnAny {
            min_forward: ns(1_000_000),
        },
    ];
    let clock = &clock;
    thread::scope(|scope| {
        let sleep = |on_jump| scope.spawn(move || clock.sleep_until(at(10_500), on_jump));
        let ended = options.map(sleep);
        let stays = sleep(OnJump::Continue);
        test.wait_asleep(clock, 3);
        writer.set_state(state(10_000, -1.0, 1), MICROSECOND);
        let turn = JumpEvent {
            kind: JumpKind::Backward,
            before: at(10_000),
            after: at(10_000),
        };
        for sleeper in ended {
            let slept = sleeper.join().unwrap();
            assert_eq!(slept, Err(SleepError::TimeJumped(turn)));
        }
        test.pass(ns(100));
        assert_eq!(clock.now(), at(9_900));
        // The turn forwards is no step back.
        let sleeper = sleep(OnJump::ErrorOnBackward);
        test.wait_asleep(clock, 2);
        writer.set_state(state(9_900, 1.0, 2), MICROSECOND);
        test.pass(ns(600));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
        assert_eq!(stays.join().unwrap(), Ok(()));
    });
    assert_eq!(events(), ["Started 10000"], "on_reverse reports the turn");
}

/// The ticks of a clock if `times` are fed while a handler of the tick 99 runs.
fn ticks_behind_a_handler(times: &[i64]) -> Vec<i64> {
    let test = TestClock::new(at(1));
    let (sim, feed) = fed(&test, 1);
    let clock = sim.clock();
    let (_handle, is_blocked, release) = block_next_tick(&clock);
    let ticks = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ticks);
    let _ticks = clock.on_tick(move |time| seen.lock().unwrap().push(time.as_nanos()));
    thread::scope(|scope| {
        scope.spawn(|| feed.time(at(99)));
        is_blocked.recv_timeout(PATIENCE).unwrap();
        for time in times {
            feed.time(at(*time));
        }
        release.send(()).unwrap();
    });
    let ticks = ticks.lock().unwrap();
    ticks.clone()
}

#[test]
fn times_that_wait_are_skipped_except_where_the_time_turns() {
    for (times, ticks) in [
        (&[100, 105][..], &[99, 105][..]),
        (&[100, 90, 105], &[99, 100, 90, 105]),
        (&[100, 110, 109, 111, 112], &[99, 110, 109, 112]),
        (&[98, 97, 96], &[99, 96]),
        (&[99, 99], &[99, 99]),
    ] {
        assert_eq!(ticks_behind_a_handler(times), ticks, "{times:?}");
    }
    let to_and_fro: Vec<i64> = (0..1_000).map(|turn| turn % 2).chain([7]).collect();
    let ticks = ticks_behind_a_handler(&to_and_fro);
    assert!(ticks.len() < 100 && ticks.ends_with(&[7]), "{ticks:?}");
}

#[test]
fn states_that_wait_for_a_handler_are_skipped() {
    let test = TestClock::new(at(1));
    let (sim, feed) = fed(&test, 100);
    let clock = sim.clock();
    let (_held, is_blocked, release) = block_next_tick(&clock);
    let ticks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ticks);
    let _ticks = clock.on_tick(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let first = feed.clone();
    let first = thread::spawn(move || first.state(state(200, 1.0), MICROSECOND));
    is_blocked.recv_timeout(PATIENCE).unwrap();
    for tick in 201..10_000 {
        feed.state(state(tick, 1.0), MICROSECOND);
    }
    release.send(()).unwrap();
    first.join().unwrap();
    assert_eq!(clock.now(), at(9_999));
    assert_eq!(ticks.load(Ordering::Relaxed), 2, "the first and the last");
}

#[test]
fn times_that_a_writer_sets_while_a_handler_runs_are_skipped() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let (_held, is_blocked, release) = block_next_tick(&clock);
    let ticks = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&ticks);
    let _ticks = clock.on_tick(move |time| written.lock().unwrap().push(time));
    thread::scope(|scope| {
        let first = scope.spawn(|| test.set(at(200)));
        is_blocked.recv_timeout(PATIENCE).unwrap();
        for tick in (201..10_000).chain([150, 160]) {
            test.set(at(tick));
        }
        release.send(()).unwrap();
        first.join().unwrap();
    });
    let ticks = ticks.lock().unwrap();
    assert!(ticks.len() < 200, "{} ticks waited", ticks.len());
    assert!(
        ticks.ends_with(&[9_999, 150, 160].map(at)),
        "a turn was skipped"
    );
}

/// Two threads activate, deactivate and set one clock while its handler runs.
#[test]
fn changes_that_wait_for_a_handler_are_bounded() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let (_held, is_blocked, release) = block_next_tick(&clock);
    let jumps = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&jumps);
    let handle = clock.on_jump(JumpFilter::any(), move |phase, jump| {
        if phase == Phase::After {
            written.lock().unwrap().push(jump.kind);
        }
    });
    let _handle = handle.unwrap();
    thread::scope(|scope| {
        let first = scope.spawn(|| test.set(at(200)));
        is_blocked.recv_timeout(PATIENCE).unwrap();
        let flood = || {
            for time in 201..10_000 {
                test.writer().deactivate();
                test.writer().set(at(time));
                test.writer().activate();
            }
        };
        let floods = [scope.spawn(flood), scope.spawn(flood)];
        for flood in floods {
            flood.join().unwrap();
        }
        test.writer().deactivate();
        test.writer().set(at(7));
        test.writer().activate();
        release.send(()).unwrap();
        first.join().unwrap();
    });
    let jumps = jumps.lock().unwrap();
    assert!(jumps.len() < 200, "{} jumps waited", jumps.len());
    let last = [JumpKind::Deactivated, JumpKind::Activated];
    assert!(jumps.ends_with(&last), "{jumps:?}");
    assert_eq!((clock.is_active(), clock.now()), (true, at(7)));
}
