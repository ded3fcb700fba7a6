//! A source and its clocks, where the order of events matters: clocks that attach late, states that wait, source code
//! and handlers that run at the same time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::clock::{
    Clock, ClockState, Complaint, Extrapolation, Fallback, Feed, JumpEvent, JumpFilter, JumpHandle,
    JumpKind, MachineSource, OnJump, Phase, SimTime, SleepError, SourceError, TestClock,
    TimeSource, Timer,
};
use bagplay::time::{Duration, Ros, Speed, Time};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::support::patience::PATIENCE;

const SYSTEM: i64 = 1_000_000_000_000_000;
const MICROSECOND: Extrapolation = Extrapolation::for_at_most(Duration::from_nanos(1_000));

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

fn state(time: i64, factor: f64) -> ClockState {
    ClockState::new(at(time), Speed::from_f64(factor).ok())
}

type Start = Box<dyn FnMut(&Feed) -> Result<(), SourceError> + Send>;
type Tell = Box<dyn FnMut(&Feed) + Send>;

/// A source that does what the test says.
struct Source {
    feed: Arc<Mutex<Option<Feed>>>,
    attached: Tell,
    start: Start,
    stop: Tell,
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

/// One that is on and has said `time`.
fn said(test: &TestClock, time: i64) -> (SimTime, Feed) {
    let (sim, feed) = sim_with(test, Source::new());
    sim.enable().unwrap();
    feed.time(at(time));
    (sim, feed)
}

/// What happens to the clock, as kind and time after.
fn events(clock: &Clock) -> (JumpHandle, impl Fn() -> Vec<String> + use<>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&log);
    let handle = clock.on_jump(JumpFilter::any(), move |phase, jump| {
        if phase == Phase::After {
            let line = format!("{:?} {}", jump.kind, jump.after.as_nanos());
            told.lock().unwrap().push(line);
        }
    });
    let take = move || std::mem::take(&mut *log.lock().unwrap());
    (handle.unwrap(), take)
}

/// Holds up the thread that ticks `clock` the next time, from when it says so until it may go on.
fn hold_up(clock: &Clock) -> (JumpHandle, Receiver<()>, Sender<()>) {
    let ((tell, is_held), (go, goes)) = (bounded(1), bounded(1));
    let mut is_first = true;
    let handle = clock.on_tick(move |_| {
        if std::mem::take(&mut is_first) {
            tell.send(()).unwrap();
            goes.recv_timeout(PATIENCE).unwrap();
        }
    });
    (handle, is_held, go)
}

/// What `work` does, in a thread of its own; a failure if that does not end.
#[track_caller]
fn ends<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = bounded(1);
    thread::spawn(move || tell.send(work()));
    told.recv_timeout(PATIENCE).expect("it does not end")
}

/// Nobody would bring the others their time: the thread that does is in the handler.
#[test]
fn a_handler_that_sleeps_on_a_clock_of_the_same_source_is_told_so() {
    let test = TestClock::new(at(1));
    let (sim, feed) = said(&test, 100);
    let (clock, other) = (sim.clock(), sim.clock());
    let (tell, told) = bounded(10);
    let (mover, sleeper) = (feed.clone(), other.clone());
    let _handle = clock.on_jump(JumpFilter::new().min_backward(ns(1)), move |phase, _| {
        if phase == Phase::After {
            let slept = sleeper.sleep_for(ns(5), OnJump::Continue);
            let timer = Timer::new(&sleeper, ns(5)).unwrap();
            let ticked = timer.wait(OnJump::Continue);
            tell.send((slept, ticked.is_err())).unwrap();
        }
    });
    ends(move || mover.time(at(10)));
    let failed = (Err(SleepError::InHandler), true);
    assert_eq!(told.recv_timeout(PATIENCE), Ok(failed));
    // Elsewhere it can be slept on, and once it has another source, there too.
    feed.time(at(20));
    assert_eq!(other.sleep_until(at(20), OnJump::Continue), Ok(()));
    let (its_own, its_feed) = said(&test, 1_000);
    sim.hand_over(&other, &its_own);
    let moving = thread::spawn(move || feed.time(at(5)));
    let slept = ends(move || {
        (2..)
            .find_map(|second| {
                its_feed.time(at(second * 1_000));
                thread::yield_now();
                told.try_recv().ok()
            })
            .unwrap()
    });
    assert_eq!(slept, (Ok(()), false));
    moving.join().unwrap();
}

#[test]
fn a_clock_that_joins_late_shows_what_the_others_show() {
    let test = TestClock::new(at(1));
    let sim = SimTime::on_test_clock(&test, MachineSource::System);
    let early = sim.clock();
    sim.enable().unwrap();
    let (other, _) = said(&test, 5);
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
fn a_clock_that_joins_late_stops_with_the_others() {
    let test = TestClock::new(at(1));
    let (sim, feed) = said(&test, 1);
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
fn a_state_that_waits_behind_a_handler_goes_on_from_when_it_came() {
    let test = TestClock::new(at(1));
    let (sim, feed) = said(&test, 1);
    let clock = sim.clock();
    let (_handle, is_held, go) = hold_up(&clock);
    // By its stamp it is fresh when it comes, and old when its turn has come.
    let fresh = ClockState {
        sent: Some(test.system().now()),
        ..state(10_000, 1.0)
    };
    thread::scope(|scope| {
        scope.spawn(|| feed.time(at(50)));
        is_held.recv_timeout(PATIENCE).unwrap();
        feed.state(fresh, MICROSECOND);
        test.pass(ns(1_500));
        go.send(()).unwrap();
    });
    assert_eq!(clock.now(), at(11_000));
    // The same with a writer, in a handler.
    let (clock, writer) = test.another_ros(Fallback::Zero);
    writer.activate();
    let (_handle, is_held, go) = hold_up(&clock);
    thread::scope(|scope| {
        scope.spawn(|| writer.set(at(50)));
        is_held.recv_timeout(PATIENCE).unwrap();
        writer.set_state(state(10_000, 1.0), MICROSECOND);
        test.pass(ns(500));
        go.send(()).unwrap();
    });
    assert_eq!(clock.now(), at(10_500));
}

#[test]
fn a_clock_that_comes_while_handlers_run_is_driven_at_once() {
    let test = TestClock::new(at(1));
    let (sim, feed) = said(&test, 10);
    let (other, _) = said(&test, 1_000);
    let (clock, handed) = (sim.clock(), other.clock());
    let (mine, writer) = test.another_ros(Fallback::Zero);
    let (_events_handle, events) = events(&handed);
    let (_handle, is_held, go) = hold_up(&clock);
    thread::scope(|scope| {
        scope.spawn(|| feed.time(at(50)));
        is_held.recv_timeout(PATIENCE).unwrap();
        let made = sim.clock();
        sim.attach(writer);
        other.hand_over(&handed, &sim);
        let shown = [&made, &mine, &handed].map(|it| (it.is_active(), it.now()));
        feed.time(at(60));
        go.send(()).unwrap();
        assert_eq!(shown, [(true, at(50)); 3]);
        assert_eq!(
            events(),
            [format!("Deactivated {SYSTEM}"), "Activated 50".into()]
        );
        let all = [&made, &mine, &handed, &clock];
        while all.iter().any(|it| it.now() != at(60)) {
            thread::yield_now();
        }
    });
}

#[test]
fn clocks_that_nobody_has_any_more_are_forgotten() {
    let test = TestClock::new(at(1));
    let (sim, feed) = said(&test, 10);
    let ticks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ticks);
    // A handler is a reason to live, also without the clock.
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

/// Asks the source's lock from within each of the clock's jumps.
fn asks(sim: &SimTime, clock: &Clock) -> JumpHandle {
    let asked = sim.clone();
    let ask = move |_: Phase, _| {
        asked.is_enabled();
    };
    clock.on_jump(JumpFilter::any(), ask).unwrap()
}

#[test]
fn what_a_source_feeds_as_it_comes_waits_until_its_lock_is_open() {
    let test = TestClock::new(at(1));
    let (sim, _) = said(&test, 10);
    let clock = sim.clock();
    let _handle = asks(&sim, &clock);
    let source = Source {
        attached: Box::new(|feed| feed.publishers(1)),
        ..Source::new()
    };
    let replaced = sim.clone();
    ends(move || replaced.replace_source(source)).unwrap();
    assert!(clock.is_active() && !clock.started());
    assert_eq!(sim.publishers(), 1);
}

#[test]
fn what_a_source_feeds_as_it_stops_is_ignored() {
    let test = TestClock::new(at(1));
    let source = || Source {
        stop: Box::new(|feed| feed.time(at(77))),
        ..Source::new()
    };
    let (sim, feed) = sim_with(&test, source());
    let clock = sim.clock();
    let (_handle, events) = events(&clock);
    let _asks = asks(&sim, &clock);
    sim.enable().unwrap();
    feed.time(at(10));
    let stopped = sim.clone();
    ends(move || stopped.disable());
    sim.enable().unwrap();
    let off = format!("Deactivated {SYSTEM}");
    let seen = ["Activated 0", "Started 10", &off, "Activated 10"];
    assert_eq!(events(), seen);
    let replaced = sim.clone();
    ends(move || replaced.replace_source(source())).unwrap();
    assert_eq!(events(), [&off, "Activated 0"]);
}

#[test]
fn a_source_that_panics_as_it_stops_is_off() {
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
    // It goes all the same.
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
fn a_source_that_cannot_start_is_not_seen_by_whoever_hands_on() {
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
    let (_handle, events) = events(&clock);
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
    assert_eq!(sim.publishers(), 1, "it goes on counting");
    sim.enable().unwrap();
    let off = format!("Deactivated {SYSTEM}");
    assert_eq!(events(), ["Activated 0", "Started 5", &off, "Activated 5"]);
}

/// Who hands on may be done before the source has started.
#[test]
fn no_handler_runs_in_the_start_of_a_source() {
    let test = TestClock::new(at(1));
    let ((may, begins), (tell, is_off)) = (bounded::<()>(1), bounded::<()>(1));
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
    let _asks = asks(&sim, &clock);
    let (tell_held, is_held) = bounded(1);
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
        tell.send(()).unwrap();
    });
    is_held.recv_timeout(PATIENCE).unwrap();
    let on = sim.clone();
    ends(move || on.enable()).unwrap();
    switching.join().unwrap();
    assert_eq!((clock.is_active(), clock.now()), (true, at(7)));
}

#[test]
fn complaints_are_of_one_source_and_of_no_moment_between_two() {
    let test = TestClock::new(at(1));
    let (sim, feed) = said(&test, 10);
    feed.publishers(1);
    // It counts before it is started.
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
fn a_source_that_is_shut_down_ends_all_sleeps() {
    let test = TestClock::new(at(1));
    let (sim, feed) = sim_with(&test, Source::new());
    let (clock, left) = (sim.clock(), sim.clock());
    let far = at(SYSTEM) + Duration::from_secs(1_000);
    thread::scope(|scope| {
        // Sim time is off: only the date would wake it.
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
    let (_handle, events) = events(&clock);
    let said = |time, factor, shown: i64| {
        writer.set_state(state(time, factor), MICROSECOND);
        assert_eq!(clock.now(), at(shown), "{time} at {factor}");
    };
    said(1_000_000, 2.0, 1_000_000);
    test.pass(ns(1_000));
    // It ran ahead at factor 2: late, also if it is slower from here on.
    said(1_000_000, 0.5, 1_002_000);
    test.pass(ns(100));
    said(1_000_050, 0.5, 1_002_000);
    said(1_000_000, 0.5, 1_002_000);
    assert_eq!(events(), ["Started 1000000"]);
    said(999_999, 0.5, 999_999);
    assert_eq!(events(), ["Backward 999999"]);
    // No more than factor 0.5 can do from here on.
    test.pass(ns(100));
    said(999_600, 0.5, 1_000_049);
    said(999_548, 0.5, 999_548);
    said(50_000, 0.0, 50_000);
    test.pass(ns(100));
    said(50_100, 1.0, 50_100);
    assert_eq!(
        events(),
        ["Backward 999548", "Backward 50000", "Forward 50100"]
    );
    // The same the other way round.
    said(50_100, -1.0, 50_100);
    test.pass(ns(100));
    said(50_999, -1.0, 50_000);
    said(51_001, -1.0, 51_001);
    assert_eq!(events(), ["Forward 51001"]);
}

#[test]
fn a_turn_to_run_backwards_ends_the_sleeps_that_mind_going_back() {
    let test = TestClock::new(Time::ZERO);
    let (clock, writer) = (test.ros(), test.writer());
    let (_handle, events) = events(&clock);
    let state = |time, factor, generation| ClockState {
        generation,
        ..state(time, factor)
    };
    writer.set_state(state(10_000, 0.0, 0), MICROSECOND);
    let minds = [
        OnJump::ErrorOnBackward,
        OnJump::ErrorOnAny {
            min_forward: ns(1_000_000),
        },
    ];
    let clock = &clock;
    thread::scope(|scope| {
        let sleep = |on_jump| scope.spawn(move || clock.sleep_until(at(10_500), on_jump));
        let ended = minds.map(sleep);
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
        // Forward again is no step back.
        let sleeper = sleep(OnJump::ErrorOnBackward);
        test.wait_asleep(clock, 2);
        writer.set_state(state(9_900, 1.0, 2), MICROSECOND);
        test.pass(ns(600));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
        assert_eq!(stays.join().unwrap(), Ok(()));
    });
    assert_eq!(
        events(),
        ["Started 10000"],
        "handlers are told by on_reverse"
    );
}

/// What the clock shows at each tick, where `times` come while a handler of the tick 99 runs.
fn ticks_behind_a_handler(times: &[i64]) -> Vec<i64> {
    let test = TestClock::new(at(1));
    let (sim, feed) = said(&test, 1);
    let clock = sim.clock();
    let (_handle, is_held, go) = hold_up(&clock);
    let ticks = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ticks);
    let _ticks = clock.on_tick(move |time| seen.lock().unwrap().push(time.as_nanos()));
    thread::scope(|scope| {
        scope.spawn(|| feed.time(at(99)));
        is_held.recv_timeout(PATIENCE).unwrap();
        for time in times {
            feed.time(at(*time));
        }
        go.send(()).unwrap();
    });
    let ticks = ticks.lock().unwrap();
    ticks.clone()
}

#[test]
fn times_that_wait_are_passed_over_but_no_turn_is() {
    for (times, told) in [
        (&[100, 105][..], &[99, 105][..]),
        (&[100, 90, 105], &[99, 100, 90, 105]),
        (&[100, 110, 109, 111, 112], &[99, 110, 109, 112]),
        (&[98, 97, 96], &[99, 96]),
        (&[99, 99], &[99, 99]),
    ] {
        assert_eq!(ticks_behind_a_handler(times), told, "{times:?}");
    }
    let to_and_fro: Vec<i64> = (0..1_000).map(|turn| turn % 2).chain([7]).collect();
    let ticks = ticks_behind_a_handler(&to_and_fro);
    assert!(ticks.len() < 100 && ticks.ends_with(&[7]), "{ticks:?}");
}

/// States that wait for a slow handler are passed over for newer ones; what is handed on is the last.
#[test]
fn states_that_wait_are_passed_over() {
    let test = TestClock::new(at(1));
    let (sim, feed) = said(&test, 100);
    let clock = sim.clock();
    let (_held, is_held, go) = hold_up(&clock);
    let ticks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ticks);
    let _ticks = clock.on_tick(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let first = feed.clone();
    let first = thread::spawn(move || first.state(state(200, 1.0), MICROSECOND));
    is_held.recv_timeout(PATIENCE).unwrap();
    for tick in 201..10_000 {
        feed.state(state(tick, 1.0), MICROSECOND);
    }
    go.send(()).unwrap();
    first.join().unwrap();
    assert_eq!(clock.now(), at(9_999));
    assert_eq!(ticks.load(Ordering::Relaxed), 2, "the first and the last");
}

/// The same for two threads with one writer.
#[test]
fn times_that_wait_for_a_writer_are_passed_over() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let (_held, is_held, go) = hold_up(&clock);
    let ticks = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&ticks);
    let _ticks = clock.on_tick(move |time| told.lock().unwrap().push(time));
    thread::scope(|scope| {
        let first = scope.spawn(|| test.set(at(200)));
        is_held.recv_timeout(PATIENCE).unwrap();
        for tick in (201..10_000).chain([150, 160]) {
            test.set(at(tick));
        }
        go.send(()).unwrap();
        first.join().unwrap();
    });
    let ticks = ticks.lock().unwrap();
    assert!(ticks.len() < 200, "{} ticks waited", ticks.len());
    assert!(
        ticks.ends_with(&[9_999, 150, 160].map(at)),
        "a turn was passed over"
    );
}

/// Two threads switch one clock off and on, and set it, while its handler runs: what waits for the handler stays bounded.
#[test]
fn switches_that_wait_for_a_writer_are_bounded() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let (_held, is_held, go) = hold_up(&clock);
    let jumps = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&jumps);
    let handle = clock.on_jump(JumpFilter::any(), move |phase, jump| {
        if phase == Phase::After {
            told.lock().unwrap().push(jump.kind);
        }
    });
    let _handle = handle.unwrap();
    thread::scope(|scope| {
        let first = scope.spawn(|| test.set(at(200)));
        is_held.recv_timeout(PATIENCE).unwrap();
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
        go.send(()).unwrap();
        first.join().unwrap();
    });
    let jumps = jumps.lock().unwrap();
    assert!(jumps.len() < 200, "{} jumps waited", jumps.len());
    let last = [JumpKind::Deactivated, JumpKind::Activated];
    assert!(jumps.ends_with(&last), "{jumps:?}");
    assert_eq!((clock.is_active(), clock.now()), (true, at(7)));
}
