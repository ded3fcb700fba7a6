//! Time between ticks: extrapolation by a declared factor, as rosbag2's time controller does it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::clock::{
    Clock, ClockState, Extrapolation, Fallback, JumpHandle, LateTick, OnJump, Phase, TestClock,
    Timer,
};
use bagplay::time::{Duration, Speed, Time};

use super::support::{SEC, at, log_jumps, ns};

fn speed(factor: f64) -> Option<Speed> {
    Speed::from_f64(factor).ok()
}

const HOW: Extrapolation = Extrapolation::for_at_most(Duration::from_nanos(1_000));
const LATE_TICKS_JUMP: Extrapolation = Extrapolation {
    late: LateTick::Jump,
    ..HOW
};

fn set_state(test: &TestClock, time: i64, factor: f64, generation: u64) {
    let state = ClockState {
        generation,
        ..ClockState::new(at(time), speed(factor))
    };
    test.writer().set_state(state, HOW);
}

/// All jumps of the clock, as kind and difference.
fn log_deltas(test: &TestClock) -> (JumpHandle, impl Fn() -> Vec<String> + use<>) {
    log_jumps(&test.ros(), |jump| jump.delta().as_nanos())
}

#[test]
fn time_goes_on_at_the_factor_until_the_tick_is_too_old() {
    // (factor, what a tick of 10,000 shows 100 ns, 1,000 ns and 5,000 ns later)
    for (factor, shown) in [
        (0.0, [10_000; 3]),
        (1.0, [10_100, 11_000, 11_000]),
        (2.0, [10_200, 12_000, 12_000]),
        (0.5, [10_050, 10_500, 10_500]),
        (-1.0, [9_900, 9_000, 9_000]),
    ] {
        let test = TestClock::new(Time::ZERO);
        set_state(&test, 10_000, factor, 0);
        assert_eq!(test.ros().now(), at(10_000));
        let later = [100, 900, 4_000].map(|span| {
            test.pass(ns(span));
            test.ros().now().as_nanos()
        });
        assert_eq!(later, shown, "factor {factor}");
    }
}

#[test]
fn a_plain_tick_stands_still() {
    let test = TestClock::new(at(5));
    test.pass(ns(100));
    assert_eq!(test.ros().now(), at(5));
}

#[test]
fn pauses_and_jumps_take_effect_at_once() {
    let test = TestClock::new(Time::ZERO);
    let (clock, (_handle, events)) = (test.ros(), log_deltas(&test));
    set_state(&test, 1_000, 1.0, 0);
    test.pass(ns(100));
    set_state(&test, 1_100, 0.0, 0); // paused, exactly where the time is
    test.pass(ns(500));
    assert_eq!(clock.now(), at(1_100));
    set_state(&test, 1_100, 2.0, 0); // goes on
    test.pass(ns(50));
    assert_eq!(clock.now(), at(1_200));
    assert_eq!(events(), ["Started 1000"], "none of this is a jump");
    set_state(&test, 50, 2.0, 1);
    test.pass(ns(5));
    assert_eq!(
        (clock.now(), events()),
        (at(60), vec!["Backward -1150".into()])
    );
    set_state(&test, 5_000, 2.0, 2);
    assert_eq!(
        (clock.now(), events()),
        (at(5_000), vec!["Forward 4940".into()])
    );
}

/// The clock waits for a tick that is behind what was shown; with the other policy it jumps back.
#[test]
fn a_late_tick_is_no_backward_jump_unless_the_policy_says_so() {
    for (how, shown, jumps) in [
        (HOW, [1_100, 1_100, 1_120], &[][..]),
        (LATE_TICKS_JUMP, [1_070, 1_090, 1_120], &["Backward -30"]),
    ] {
        let test = TestClock::new(Time::ZERO);
        let (clock, (_handle, events)) = (test.ros(), log_deltas(&test));
        let set = |time| {
            let state = ClockState::new(at(time), speed(1.0));
            test.writer().set_state(state, how);
        };
        set(1_000);
        test.pass(ns(100));
        events();
        set(1_070);
        let later = [0, 20, 30].map(|span| {
            test.pass(ns(span));
            clock.now().as_nanos()
        });
        assert_eq!(
            (later, events()),
            (shown, jumps.iter().map(ToString::to_string).collect())
        );
    }
    // a pause behind what was shown holds that
    let test = TestClock::new(Time::ZERO);
    set_state(&test, 1_000, 1.0, 0);
    test.pass(ns(100));
    set_state(&test, 1_060, 0.0, 0);
    assert_eq!(test.ros().now(), at(1_100));
}

#[test]
fn a_tick_that_is_old_by_its_stamp_is_shown_but_not_extrapolated() {
    let test = TestClock::new(Time::ZERO);
    let now = test.system().now();
    for (age, later) in [
        (0, 1_100),
        (1_000, 1_100),
        (1_001, 1_000),
        (-1_000_000, 1_100),
    ] {
        let state = ClockState {
            sent: Some(now - ns(age)),
            generation: age.unsigned_abs(),
            ..ClockState::new(at(1_000), speed(1.0))
        };
        test.set_system(Some(now));
        test.writer().set_state(state, HOW);
        test.pass(ns(100));
        assert_eq!(test.ros().now(), at(later), "age {age}");
    }
    test.set_system(None); // nothing to compare the stamp with
    let state = ClockState {
        sent: Some(now - ns(1_001)),
        generation: 7,
        ..ClockState::new(at(1_000), speed(1.0))
    };
    test.writer().set_state(state, HOW);
    test.pass(ns(100));
    assert_eq!(test.ros().now(), at(1_100));
}

/// `on_reverse` reports a change of direction. Time that runs backwards does not jump at each tick.
#[test]
fn a_change_of_direction_is_reported_and_is_one_event() {
    let test = TestClock::new(Time::ZERO);
    let (clock, (_handle, events)) = (test.ros(), log_deltas(&test));
    let turns = Arc::new(Mutex::new(Vec::new()));
    let (log, seen) = (Arc::clone(&turns), clock.clone());
    let _reversals = clock.on_reverse(move |phase, reversal| {
        let now = seen.now().as_nanos();
        log.lock().unwrap().push((
            phase,
            reversal.at.as_nanos(),
            reversal.speed.as_f64() < 0.0,
            now,
        ));
    });
    set_state(&test, 1_000, 1.0, 0);
    test.pass(ns(100));
    set_state(&test, 1_090, -1.0, 1);
    test.pass(ns(40));
    assert_eq!(clock.now(), at(1_050));
    set_state(&test, 1_050, -1.0, 1);
    set_state(&test, 1_055, -1.0, 1); // late: the time stands still until the extrapolation has caught up
    assert_eq!(clock.now(), at(1_050));
    test.pass(ns(10));
    assert_eq!(clock.now(), at(1_045));
    let expected = [
        (Phase::Before, 1_090, true, 1_100),
        (Phase::After, 1_090, true, 1_090),
    ];
    assert_eq!(*turns.lock().unwrap(), expected);
    assert_eq!(events(), ["Started 1000", "Backward -10"]);
}

/// The direction before a pause is the last one that was not zero.
#[test]
fn a_change_of_direction_is_reported_after_a_pause() {
    // (factors one after the other, how many of them change the direction)
    for (factors, turns) in [
        (&[0.0, -1.0][..], 1),
        (&[0.0, 1.0], 0),
        (&[1.0, 0.0, -1.0], 1),
        (&[-1.0, 0.0, -1.0], 0),
        (&[-1.0, 0.0, 1.0, 0.0, -1.0], 2),
    ] {
        let test = TestClock::new(Time::ZERO);
        let reported = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&reported);
        let _handle = test.ros().on_reverse(move |phase, reversal| {
            log.lock().unwrap().push((phase, reversal.at));
        });
        for (generation, factor) in (0..).zip(factors) {
            set_state(&test, 10_000, *factor, generation);
        }
        let turn = [Phase::Before, Phase::After].map(|phase| (phase, at(10_000)));
        assert_eq!(*reported.lock().unwrap(), turn.repeat(turns), "{factors:?}");
    }
}

/// (time and factor that are set, how long the machine's time passes, what is shown then), in tenths of a second
type Row<'a> = &'a [(Option<(i64, f64)>, i64, i64)];

#[test]
fn the_clock_shows_what_rosbag2s_time_controller_shows() {
    const TENTH: i64 = 100_000_000;
    let how = Extrapolation::for_at_most(Duration::MAX);
    let rows: [Row<'_>; 6] = [
        &[
            (Some((10, 0.0)), 10, 10),
            (Some((10, 1.0)), 10, 20),
            (Some((20, 0.0)), 80, 20),
        ],
        &[
            (Some((10, 1.0)), 10, 20),
            (Some((20, 2.0)), 10, 40),
            (Some((40, 0.0)), 10, 40),
            (Some((40, 0.5)), 20, 50),
        ],
        &[
            (Some((100, 1.0)), 100, 200),
            (Some((1_000, 1.0)), 10, 1_010),
            (Some((500, 1.0)), 20, 520),
        ],
        &[(Some((10, 1.5)), 0, 10), (Some((40, 1.5)), 50, 115)],
        &[(Some((50, 1.5)), 0, 50), (Some((20, 1.5)), 50, 95)],
        &[
            (Some((12_345_678_900, 1.0)), 10, 12_345_678_910),
            (None, 90, 12_345_679_000),
        ],
    ];
    for row in rows {
        let test = TestClock::new(Time::ZERO);
        for (generation, (state, pass, shown)) in (0..).zip(row) {
            if let Some((time, factor)) = state {
                let state = ClockState {
                    generation,
                    ..ClockState::new(at(time * TENTH), speed(*factor))
                };
                test.writer().set_state(state, how);
            }
            test.pass(ns(pass * TENTH));
            assert_eq!(test.ros().now(), at(shown * TENTH), "{row:?}");
        }
    }
    // Exact where a product of floats is not: 2^61 + 1.
    let test = TestClock::new(at(1));
    test.writer()
        .set_state(ClockState::new(at(1), speed(1.0)), how);
    test.pass(ns(1 << 61));
    assert_eq!(test.ros().now(), at((1 << 61) + 1));
}

#[test]
fn sleepers_and_timers_follow_extrapolated_time() {
    let test = TestClock::new(Time::ZERO);
    set_state(&test, 1_000, 2.0, 0);
    let clock = test.ros();
    let timer = Timer::new(&clock, ns(100)).unwrap();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| clock.sleep_until(at(1_100), OnJump::ErrorOnBackward));
        test.wait_asleep(&clock, 1);
        test.pass(ns(49));
        assert!(!sleeper.is_finished() && !timer.is_ready());
        test.pass(ns(1));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
    assert!(timer.is_ready());
}

/// A sleep on rosbag2's paused clock ends early; here it lasts longer by the pause.
#[test]
fn a_pause_does_not_end_a_sleep() {
    for begins_paused in [true, false] {
        let test = TestClock::new(Time::ZERO);
        let clock = test.ros();
        set_state(&test, 1_000, if begins_paused { 0.0 } else { 1.0 }, 0);
        let any = OnJump::ErrorOnAny {
            min_forward: ns(1_000),
        };
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| clock.sleep_until(at(1_100), any));
            test.wait_asleep(&clock, 1);
            if !begins_paused {
                test.pass(ns(99));
                set_state(&test, 1_099, 0.0, 0);
            }
            test.pass(ns(900));
            test.wait_asleep(&clock, 1);
            assert!(!sleeper.is_finished());
            let held = clock.now().as_nanos();
            set_state(&test, held, 1.0, 0);
            test.pass(at(1_100) - at(held));
            assert_eq!(sleeper.join().unwrap(), Ok(()));
        });
        assert_eq!(clock.now(), at(1_100));
    }
}

/// On the machine's clock a sleep ends without another tick.
#[test]
fn a_sleep_on_extrapolated_time_needs_no_tick() {
    let (clock, writer) = Clock::ros(Fallback::Zero);
    let how = Extrapolation::for_at_most(Duration::from_secs(60));
    writer.set_state(ClockState::new(at(1), speed(10.0)), how);
    writer.activate();
    let target = clock.now() + Duration::from_millis(20);
    assert_eq!(clock.sleep_until(target, OnJump::Continue), Ok(()));
    assert!(clock.now() >= target);
}

/// Each tick is late by a different span.
#[test]
fn no_reader_sees_an_earlier_time_after_late_ticks() {
    let (clock, writer) = Clock::ros(Fallback::Zero);
    let how = Extrapolation::for_at_most(Duration::from_secs(60));
    let (steady, start) = (Clock::steady(), at(1_000_000_000));
    let origin = steady.now();
    writer.set_state(ClockState::new(start, speed(1.0)), how);
    writer.activate();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = clock.now();
                while !is_over.load(Ordering::Relaxed) {
                    let now = clock.now();
                    assert!(now >= last, "{now} after {last}");
                    last = now;
                }
            });
        }
        for tick in 0..200_000 {
            let late = ns(tick * 7_919 % 50_000);
            let true_time = start + (steady.now() - origin);
            writer.set_state(ClockState::new(true_time - late, speed(1.0)), how);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn extrapolated_time_is_exact_for_long_spans_and_any_factor() {
    let start = 1_234_567_890;
    for (factor, passed, due) in [
        (1.0, SEC, SEC),
        (1.0, 10 * SEC, 10 * SEC),
        (1.0, 100 * SEC, 100 * SEC),
        (1.0, 1 << 61, 1 << 61),
        // With a product of floats the error would be up to 10 ns.
        (1.0, (1 << 61) + 1, (1 << 61) + 1),
        (2.5, 3 * SEC, 7_500_000_000),
        (0.4, 12 * SEC, 4_800_000_000),
    ] {
        let test = TestClock::new(at(1));
        let state = ClockState::new(at(start), speed(factor));
        let how = Extrapolation::for_at_most(Duration::MAX);
        test.writer().set_state(state, how);
        test.pass(ns(passed));
        assert_eq!(
            test.ros().now(),
            at(start + due),
            "{factor} for {passed} ns"
        );
    }
}
