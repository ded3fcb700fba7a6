//! Clocks and their jumps: which handlers are called, in which order, and what they and other threads see.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::clock::{
    Clock, Fallback, InvalidFilter, JumpEvent, JumpFilter, JumpHandle, NotStarted, Phase,
    TestClock, Timer,
};
use bagplay::time::{Duration, Ros, Time};

use super::support::{SEC, SYSTEM, at, backward, ns};

/// The lines that handlers wrote. Clones are the same log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Logs each jump's kind and delta, before and after it, under a name.
    fn handler(&self, name: &str, clock: &Clock, filter: JumpFilter) -> JumpHandle {
        let (log, name) = (self.clone(), name.to_owned());
        clock
            .on_jump(filter, move |phase, jump| {
                let phase = if phase == Phase::Before { "<" } else { ">" };
                log.add(format!(
                    "{name}{phase}{:?} {}",
                    jump.kind,
                    jump.delta().as_nanos()
                ));
            })
            .unwrap()
    }
}

fn inactive() -> (TestClock, Clock) {
    let test = TestClock::new(Time::ZERO);
    test.writer().deactivate();
    let clock = test.ros();
    (test, clock)
}

#[test]
fn the_time_of_a_source_is_shown_only_while_it_is_active() {
    let (test, clock) = inactive();
    assert!(!clock.is_active());
    assert_eq!(clock.now(), at(SYSTEM));
    test.set(at(SEC));
    assert_eq!((clock.is_active(), clock.now()), (false, at(SYSTEM)));
    test.writer().activate();
    assert_eq!((clock.is_active(), clock.now()), (true, at(SEC)));
    test.writer().deactivate();
    assert_eq!((clock.is_active(), clock.now()), (false, at(SYSTEM)));
}

#[test]
fn an_active_clock_is_zero_and_not_started_until_the_first_value() {
    let (test, clock) = inactive();
    assert!(clock.started() && test.system().started() && test.steady().started());
    test.writer().activate();
    assert_eq!(
        (clock.now(), clock.try_now()),
        (Time::ZERO, Err(NotStarted))
    );
    test.set(Time::ZERO); // zero is no time
    assert!(!clock.started());
    test.set(at(1));
    assert_eq!(clock.try_now(), Ok(at(1)));
    test.set(Time::ZERO); // after another time, zero is a simulation that begins again
    assert_eq!(clock.try_now(), Ok(Time::ZERO));
}

#[test]
fn the_machines_clocks_are_near_the_hosts_and_never_zero() {
    let steady = Clock::steady();
    let mut last = steady.now();
    for _ in 0..10 {
        let now = steady.now();
        assert!(now >= last && now > Time::ZERO);
        last = now;
    }
    // The monotonic clock begins near boot.
    #[cfg(unix)]
    {
        let monotonic = || {
            let at = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            Duration::from_secs(at.tv_sec) + ns(at.tv_nsec)
        };
        let (before, now, after) = (monotonic(), steady.now() - Time::ZERO, monotonic());
        assert!(before <= now && now <= after, "{before} {now} {after}");
    }
    let host = || Duration::from(std::time::UNIX_EPOCH.elapsed().unwrap());
    let (ros, _writer) = Clock::ros(Fallback::Zero);
    let (system, ros) = (|| Clock::system().now().assume_ros(), || ros.now());
    for shown in [&system as &dyn Fn() -> Time<Ros>, &ros] {
        let (before, shown, after) = (host(), shown(), host());
        let shown = Duration::from_nanos(shown.as_nanos());
        assert!(
            before <= shown && shown <= after,
            "{before} {shown} {after}"
        );
    }
}

/// Without a system clock the steady clock is shown.
#[test]
fn without_a_system_clock_steady_time_is_shown() {
    let (test, clock) = inactive();
    let (steady, system) = (test.steady().now(), test.system());
    test.set_system(None);
    assert_eq!(system.now().as_nanos(), steady.as_nanos());
    assert_eq!(clock.now().as_nanos(), steady.as_nanos());
}

/// The program chooses the fallback; the clock still counts as not started.
#[test]
fn an_active_clock_falls_back_only_if_it_was_told_to() {
    let test = TestClock::with_fallback(Time::ZERO, Fallback::Machine);
    let (clock, log) = (test.ros(), Log::default());
    let _handle = log.handler("", &clock, JumpFilter::any());
    assert_eq!(
        (clock.now(), clock.try_now()),
        (at(SYSTEM), Err(NotStarted))
    );
    test.set_system(None);
    assert_eq!(clock.now(), at(1_000 * SEC));
    test.set(at(5));
    assert_eq!(clock.try_now(), Ok(at(5)));
    let delta = 5 - 1_000 * SEC;
    assert_eq!(
        log.take(),
        [format!("<Started {delta}"), format!(">Started {delta}")]
    );
}

/// What is done, and for which jump a handler is called before and after it.
type Step<'a> = (Do, Option<&'a str>);

enum Do {
    On,
    Off,
    Set(i64),
    Now,
}
use Do::{Now, Off, On, Set};

impl Do {
    fn run(&self, test: &TestClock) {
        match self {
            On => test.writer().activate(),
            Off => test.writer().deactivate(),
            Set(secs) => test.set(at(secs * SEC)),
            Now => drop(test.ros().now()),
        }
    }
}

/// As in rcl.
#[test]
fn handlers_are_called_for_the_jumps_that_their_filter_matches() {
    let changes = JumpFilter::new().clock_changes();
    let forward = JumpFilter::new().min_forward(ns(1));
    let backward = JumpFilter::new().min_backward(ns(1));
    let up = format!("Activated {}", 2 * SEC - SYSTEM);
    let down = format!("Deactivated {}", SYSTEM - 2 * SEC);
    let unset = format!("Activated -{SYSTEM}");
    let gone = format!("Deactivated {SYSTEM}");
    let script: [(JumpFilter, &[Step]); 4] = [
        (
            changes,
            &[
                (Now, None),
                (On, Some(&unset)),
                (On, None),
                (Off, Some(&gone)),
                (Off, None),
            ],
        ),
        (
            forward,
            &[
                (Set(1), None),
                (On, None),
                (Set(2), Some("Forward 1000000000")),
                (Set(2), None),
                (Set(1), None),
                (Off, None),
            ],
        ),
        (
            backward,
            &[
                (Set(2), None),
                (On, None),
                (Set(1), Some("Backward -1000000000")),
                (Set(1), None),
                (Set(2), None),
                (Off, None),
            ],
        ),
        (
            JumpFilter::any(),
            &[(Set(2), None), (On, Some(&up)), (Off, Some(&down))],
        ),
    ];
    for (filter, steps) in script {
        let (test, clock) = inactive();
        let log = Log::default();
        let _handle = log.handler("", &clock, filter);
        for (number, (step, jump)) in steps.iter().enumerate() {
            step.run(&test);
            let expected: Vec<_> = jump
                .iter()
                .flat_map(|jump| [format!("<{jump}"), format!(">{jump}")])
                .collect();
            assert_eq!(log.take(), expected, "{filter:?}, step {number}");
        }
    }
}

/// The first value is a jump of its own kind, whatever its size.
#[test]
fn the_first_value_is_no_forward_jump() {
    let test = TestClock::new(Time::ZERO);
    let (clock, log) = (test.ros(), Log::default());
    let _forward = log.handler("f", &clock, JumpFilter::new().min_forward(ns(1)));
    let _start = log.handler("s", &clock, JumpFilter::new().start());
    test.set(at(1_700_000_000 * SEC));
    let (before, after) = (
        "s<Started 1700000000000000000",
        "s>Started 1700000000000000000",
    );
    assert_eq!(log.take(), [before, after]);
    test.advance(ns(1));
    assert_eq!(log.take(), ["f<Forward 1", "f>Forward 1"]);
}

/// Handlers are called in the order of registration.
#[test]
fn thresholds_are_closed_and_each_handler_has_its_own() {
    let test = TestClock::new(at(SEC));
    let (clock, log) = (test.ros(), Log::default());
    let half = ns(SEC / 2);
    let filter = |forward, backward| {
        JumpFilter::new()
            .min_forward(forward)
            .min_backward(backward)
    };
    let _a = log.handler("a", &clock, filter(ns(SEC), half));
    let _b = log.handler("b", &clock, filter(half, ns(SEC)));
    let _c = log.handler("c", &clock, JumpFilter::new().clock_changes());
    let _d = log.handler("d", &clock, filter(ns(SEC), ns(SEC)).clock_changes());
    for (to, called) in [
        (1_750_000_000, "b<b>"),
        (SEC, "a<a>"),
        (SEC + SEC / 2 - 1, ""),
        (2 * SEC - 1, "b<b>"), // exactly the threshold
        (3 * SEC - 1, "a<b<d<a>b>d>"),
        (2 * SEC - 1, "a<b<d<a>b>d>"),
        (2 * SEC - 2, ""),
    ] {
        test.set(at(to));
        let names: String = log.take().iter().map(|line| line[..2].to_owned()).collect();
        assert_eq!(names, called, "to {to}");
    }
    test.writer().deactivate();
    let names: String = log.take().iter().map(|line| line[..2].to_owned()).collect();
    assert_eq!(names, "c<d<c>d>");
}

#[test]
fn an_activation_calls_the_handlers_of_clock_changes_once() {
    let (test, clock) = inactive();
    let log = Log::default();
    let second = JumpFilter::new().min_forward(ns(SEC)).min_backward(ns(SEC));
    let changes = JumpFilter::new().clock_changes();
    let _handles = [("a", second), ("b", changes), ("c", second.clock_changes())]
        .map(|(name, filter)| log.handler(name, &clock, filter));
    for called in ["b<c<b>c>", ""] {
        test.writer().activate();
        let names: String = log.take().iter().map(|line| line[..2].to_owned()).collect();
        assert_eq!(names, called);
    }
}

#[test]
fn filters_that_cannot_match_are_refused() {
    let clock = TestClock::new(at(1)).ros();
    for (filter, error) in [
        (JumpFilter::new(), InvalidFilter::Empty),
        (
            JumpFilter::new().min_forward(ns(0)),
            InvalidFilter::NotPositive(ns(0)),
        ),
        (
            JumpFilter::new().min_forward(ns(-1)),
            InvalidFilter::NotPositive(ns(-1)),
        ),
        (
            JumpFilter::new().clock_changes().min_backward(ns(0)),
            InvalidFilter::NotPositive(ns(0)),
        ),
        (
            JumpFilter::new().min_backward(ns(-1)),
            InvalidFilter::NotPositive(ns(-1)),
        ),
    ] {
        assert_eq!(clock.on_jump(filter, |_, _| {}).map(drop), Err(error));
    }
}

/// A handle may outlive its clock.
#[test]
fn the_handler_of_a_dropped_handle_is_not_called_and_the_others_are() {
    let test = TestClock::new(at(1));
    let (clock, log) = (test.ros(), Log::default());
    let any = JumpFilter::any();
    let mut handles: Vec<_> = ["a", "b", "c", "d"]
        .map(|name| log.handler(name, &clock, any))
        .into();
    for (remove, rest) in [(2, "abd"), (2, "ab"), (0, "b"), (0, "")] {
        drop(handles.remove(remove));
        test.advance(ns(1));
        let names: String = log.take().iter().map(|line| &line[..1]).collect::<String>();
        assert_eq!(names, rest.repeat(2));
    }
    let outlives = log.handler("e", &clock, any);
    drop((clock, test));
    assert_eq!(
        log.take().len(),
        2,
        "the drop of the writer is a change of source"
    );
    drop(outlives);
}

/// While the handlers of a backward jump run, `now()` in other threads waits; `try_now()` returns the old time at once.
/// The handler sees the old time before the jump and the new time after it.
#[test]
fn no_thread_sees_the_new_time_before_the_handlers_are_done() {
    for held_in in [Phase::Before, Phase::After] {
        let test = Arc::new(TestClock::new(at(100)));
        let clock = test.ros();
        let (reached, is_reached) = sync_channel(1);
        let (release, released) = sync_channel::<()>(1);
        let seen = clock.clone();
        let _handle = clock
            .on_jump(backward(), move |phase, _| {
                if phase == held_in {
                    reached.send((seen.now(), seen.try_now())).unwrap();
                    released.recv().unwrap();
                }
            })
            .unwrap();
        thread::scope(|scope| {
            let mover = Arc::clone(&test);
            scope.spawn(move || mover.set(at(10)));
            let view = at(if held_in == Phase::Before { 100 } else { 10 });
            assert_eq!(is_reached.recv().unwrap(), (view, Ok(view)));
            assert_eq!(clock.try_now(), Ok(at(100)));
            let other = clock.clone();
            let reader = scope.spawn(move || other.now());
            test.wait_asleep(&clock, 1);
            release.send(()).unwrap();
            assert_eq!(reader.join().unwrap(), at(10));
        });
    }
}

#[test]
fn a_forward_jump_blocks_no_reader() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let (sender, receiver) = sync_channel(2);
    let other = clock.clone();
    let _handle = clock
        .on_jump(JumpFilter::any(), move |_, _| {
            let other = other.clone();
            sender
                .send(thread::spawn(move || other.now()).join().unwrap())
                .unwrap();
        })
        .unwrap();
    test.set(at(200));
    assert_eq!(
        (receiver.recv().unwrap(), receiver.recv().unwrap()),
        (at(100), at(200))
    );
}

/// In the order in which they were set.
#[test]
fn times_that_a_handler_sets_take_effect_after_the_jump() {
    let test = Arc::new(TestClock::new(at(100)));
    let (clock, log) = (test.ros(), Log::default());
    let nested = Arc::clone(&test);
    let nesting = clock
        .on_jump(
            JumpFilter::new().min_backward(ns(50)),
            move |phase, jump| {
                if phase == Phase::Before && jump.after == at(10) {
                    nested.set(at(20));
                    nested.set(at(15));
                    assert_eq!(nested.ros().now(), at(100));
                }
            },
        )
        .unwrap();
    let _log = log.handler("", &clock, JumpFilter::any());
    test.set(at(10));
    assert_eq!(clock.now(), at(15));
    assert_eq!(
        log.take(),
        [
            "<Backward -90",
            ">Backward -90",
            "<Forward 10",
            ">Forward 10",
            "<Backward -5",
            ">Backward -5"
        ]
    );
    drop(nesting);
}

#[test]
fn a_handler_may_add_and_drop_handlers() {
    let test = TestClock::new(at(100));
    let (clock, log) = (test.ros(), Log::default());
    let doomed = Arc::new(Mutex::new(None));
    let added = Arc::new(Mutex::new(Vec::new()));
    let (inner_clock, inner_log) = (clock.clone(), log.clone());
    let (inner_doomed, inner_added) = (Arc::clone(&doomed), Arc::clone(&added));
    let _changing = clock
        .on_jump(JumpFilter::any(), move |phase, _| {
            if phase == Phase::Before && inner_added.lock().unwrap().is_empty() {
                inner_doomed.lock().unwrap().take();
                let handle = inner_log.handler("new", &inner_clock, JumpFilter::any());
                inner_added.lock().unwrap().push(handle);
            }
        })
        .unwrap();
    *doomed.lock().unwrap() = Some(log.handler("doomed", &clock, JumpFilter::any()));
    test.set(at(10));
    assert_eq!(log.take(), [""; 0], "neither the dropped nor the added one");
    test.set(at(9));
    assert_eq!(log.take(), ["new<Backward -1", "new>Backward -1"]);
}

#[test]
fn panics_of_a_handler_are_counted_and_other_handlers_are_called() {
    let test = TestClock::new(at(100));
    let (clock, log) = (test.ros(), Log::default());
    let bad = clock
        .on_jump(JumpFilter::any(), |_, _| panic!("the handler's own fault"))
        .unwrap();
    let _good = log.handler("", &clock, JumpFilter::any());
    test.set(at(10));
    assert_eq!(log.take(), ["<Backward -90", ">Backward -90"]);
    assert_eq!((bad.panics(), clock.now()), (2, at(10)));
}

/// `now()` waits for a handler that panics no longer than for one that returns.
#[test]
fn readers_do_not_wait_longer_for_a_handler_that_panics() {
    for panics_in in [Phase::Before, Phase::After] {
        let test = Arc::new(TestClock::new(at(100)));
        let clock = test.ros();
        let (reached, is_reached) = sync_channel(1);
        let (release, released) = sync_channel::<()>(1);
        let handle = clock
            .on_jump(backward(), move |phase, _| {
                if phase == panics_in {
                    reached.send(()).unwrap();
                    released.recv().unwrap();
                    panic!("the handler's own fault");
                }
            })
            .unwrap();
        thread::scope(|scope| {
            let mover = Arc::clone(&test);
            let mover = scope.spawn(move || mover.set(at(10)));
            is_reached.recv().unwrap();
            let readers = [(); 2].map(|()| {
                let other = clock.clone();
                scope.spawn(move || other.now())
            });
            test.wait_asleep(&clock, 2);
            release.send(()).unwrap();
            for reader in readers {
                assert_eq!(reader.join().unwrap(), at(10));
            }
            mover.join().unwrap();
        });
        assert_eq!((handle.panics(), clock.try_now()), (1, Ok(at(10))));
    }
}

/// There is one event, with that time.
#[test]
fn an_activation_shows_the_last_time_of_the_source_at_once() {
    let (test, clock) = inactive();
    let log = Log::default();
    let seen = clock.clone();
    let views = log.clone();
    let _handle = clock
        .on_jump(JumpFilter::any(), move |_, jump: JumpEvent| {
            views.add(format!(
                "{:?} {} {}",
                jump.kind,
                jump.after.as_nanos(),
                seen.now().as_nanos()
            ));
        })
        .unwrap();
    test.set(at(7));
    test.writer().activate();
    assert_eq!(
        log.take(),
        [format!("Activated 7 {SYSTEM}"), "Activated 7 7".into()]
    );
    test.writer().deactivate();
    test.set(at(9)); // kept while it is not active
    log.take();
    test.writer().activate();
    assert_eq!(
        log.take(),
        [format!("Activated 9 {SYSTEM}"), "Activated 9 9".into()]
    );
}

/// Also one that repeats the time.
#[test]
fn every_time_that_is_fed_is_a_tick() {
    let test = TestClock::new(at(1));
    let log = Log::default();
    let ticks = log.clone();
    let _handle = test
        .ros()
        .on_tick(move |time| ticks.add(time.as_nanos().to_string()));
    for time in [2, 2, 1] {
        test.set(at(time));
    }
    test.writer().deactivate();
    test.set(at(5));
    assert_eq!(log.take(), ["2", "2", "1"]);
}

/// They are dropped without the clock's lock.
#[test]
fn a_handler_may_own_handles_of_its_own_clock() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let own = Arc::new(Mutex::new(None));
    let timer = Timer::new(&clock, ns(5)).unwrap();
    let inner = clock.on_jump(JumpFilter::any(), |_, _| {}).unwrap();
    let slot = Arc::clone(&own);
    let handle = clock
        .on_jump(JumpFilter::any(), move |_, _| {
            let _owned = (&timer, &inner);
            slot.lock().unwrap().take();
        })
        .unwrap();
    *own.lock().unwrap() = Some(handle);
    test.set(at(10));
    assert_eq!(clock.now(), at(10));
}

/// Only for handlers of jumps does `now()` wait.
#[test]
fn a_handler_of_ticks_blocks_no_reader() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let (sender, receiver) = sync_channel(1);
    let other = clock.clone();
    let _handle = clock.on_tick(move |_| {
        let other = other.clone();
        sender
            .send(thread::spawn(move || other.now()).join().unwrap())
            .unwrap();
    });
    test.set(at(10));
    assert_eq!(receiver.recv().unwrap(), at(10));
}
