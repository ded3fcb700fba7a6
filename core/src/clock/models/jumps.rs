//! Models of jumps: which thread sees which time while handlers run, and changes that arrive meanwhile. How they are
//! checked: `mod.rs`.

use std::sync::{Arc, Mutex};

use loom::thread;

use super::{ALL, SOME, at, back, check, ns};
use crate::clock::handle::Clock;
use crate::clock::jump::jump_event::Phase;
use crate::clock::jump::jump_filter::JumpFilter;
use crate::clock::state::extrapolate::{ClockState, Extrapolation};
use crate::clock::sync::{AtomicBool, Ordering};
use crate::clock::test_clock::TestClock;
use crate::time::Speed;

#[test]
fn now_waits_for_the_handlers_of_a_backward_jump_and_then_is_the_new_time() {
    check(SOME, || {
        let test = TestClock::new(at(100));
        let clock = test.ros();
        let [has_begun, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (begin, end) = (Arc::clone(&has_begun), Arc::clone(&is_over));
        let _handle = clock.on_jump(back(), move |phase, _| match phase {
            Phase::Before => begin.store(true, Ordering::Release),
            Phase::After => end.store(true, Ordering::Release),
        });
        let reader = clock.clone();
        let reader = thread::spawn(move || {
            let is_old = !has_begun.load(Ordering::Acquire);
            let now = reader.now();
            assert!(now == at(50) || (is_old && now == at(100)), "{now:?}");
            assert!(
                now == at(100) || is_over.load(Ordering::Acquire),
                "too early"
            );
        });
        test.set(at(50));
        assert_eq!(clock.now(), at(50));
        reader.join().unwrap();
    });
}

#[test]
fn now_waits_for_one_round_of_handlers_where_another_follows() {
    check(SOME, || {
        let test = Arc::new(TestClock::new(at(100)));
        let (clock, own, mover) = (test.ros(), test.ros(), Arc::downgrade(&test));
        let handle = clock.on_jump(back(), move |phase, jump| {
            let test = mover.upgrade().unwrap();
            if jump.after == at(50) {
                match phase {
                    Phase::Before => test.wait_asleep(&own, 1),
                    Phase::After => test.set(at(40)),
                }
            }
        });
        let handle = handle.unwrap();
        let reader = clock.clone();
        let moving = Arc::clone(&test);
        let moving = thread::spawn(move || moving.set(at(50)));
        let mut now = reader.now();
        while now == at(100) {
            thread::yield_now();
            now = reader.now();
        }
        assert_eq!(now, at(50));
        moving.join().unwrap();
        assert_eq!((clock.now(), handle.panics()), (at(40), 0));
    });
}

#[test]
fn a_handler_may_wait_for_a_thread_that_calls_try_now() {
    check(SOME, || {
        let test = TestClock::new(at(100));
        let clock = test.ros();
        let own = clock.clone();
        let handle = clock.on_jump(back(), move |_, _| {
            let other = own.clone();
            let trying = thread::spawn(move || other.try_now());
            assert_eq!(trying.join().unwrap(), Ok(at(100)), "before the jump");
        });
        let handle = handle.unwrap();
        let reader = clock.clone();
        let reader = thread::spawn(move || {
            let now = reader.try_now();
            assert!(
                matches!(now, Ok(now) if now == at(50) || now == at(100)),
                "{now:?}"
            );
        });
        test.set(at(50));
        assert_eq!(clock.try_now(), Ok(at(50)));
        assert_eq!(handle.panics(), 0);
        reader.join().unwrap();
    });
}

#[test]
fn changes_during_handlers_are_made_in_order() {
    check(ALL, || {
        let test = Arc::new(TestClock::new(at(100)));
        let clock = test.ros();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, own) = (Arc::clone(&seen), clock.clone());
        let handle = clock.on_jump(JumpFilter::any(), move |phase, jump| {
            let shown = own.now();
            log.lock().unwrap().push((phase, jump, shown));
        });
        let other = Arc::clone(&test);
        let other = thread::spawn(move || other.set(at(70)));
        test.set(at(50));
        test.set(at(60));
        other.join().unwrap();
        drop(handle);
        let mut last = at(100);
        let mut afters = Vec::new();
        for calls in seen.lock().unwrap().chunks(2) {
            let [(Phase::Before, jump, before), (Phase::After, same, after)] = calls else {
                panic!("{calls:?}");
            };
            assert_eq!((jump, jump.before, *before), (same, last, last));
            assert_eq!(jump.after, *after);
            last = *after;
            afters.push(last.as_nanos());
        }
        assert_eq!(clock.now(), last);
        assert!(
            [[50, 60, 70], [50, 70, 60], [70, 50, 60]].contains(&afters[..].try_into().unwrap()),
            "{afters:?}"
        );
    });
}

#[test]
fn handlers_of_two_clocks_that_read_each_other_do_not_wait_in_a_circle() {
    check(SOME, || {
        let [one, other] = [(); 2].map(|()| Arc::new(TestClock::new(at(100))));
        let (mine, theirs) = (one.ros(), other.ros());
        let handles = [(&mine, &theirs), (&theirs, &mine)].map(|(clock, read)| {
            let read = read.clone();
            clock.on_jump(back(), move |_, _| {
                let now = read.now();
                assert!([at(50), at(100)].contains(&now), "{now:?}");
            })
        });
        let handles = handles.map(Result::unwrap);
        let also = Arc::clone(&other);
        let also = thread::spawn(move || also.set(at(50)));
        one.set(at(50));
        also.join().unwrap();
        assert_eq!([mine.now(), theirs.now()], [at(50); 2]);
        assert!(handles.iter().all(|handle| handle.panics() == 0));
    });
}

#[test]
fn a_handle_is_dropped_while_its_handler_is_called() {
    check(ALL, || {
        let test = TestClock::new(at(100));
        let calls = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&calls);
        let handle = test.ros().on_jump(back(), move |phase, _| {
            log.lock().unwrap().push(phase);
        });
        let dropping = thread::spawn(move || drop(handle));
        test.set(at(50));
        dropping.join().unwrap();
        let before = calls.lock().unwrap().clone();
        assert!([Phase::Before, Phase::After].starts_with(&before));
        test.set(at(10));
        assert_eq!(*calls.lock().unwrap(), before, "after it was dropped");
    });
}

/// ReadsWhenDropped the time when it is dropped.
struct ReadsWhenDropped(Clock);

impl Drop for ReadsWhenDropped {
    fn drop(&mut self) {
        let now = self.0.now();
        assert!([at(50), at(100)].contains(&now), "{now:?}");
    }
}

#[test]
fn a_value_that_a_handler_owns_may_read_the_clock_in_its_drop() {
    check(SOME, || {
        let test = TestClock::new(at(100));
        let reads = ReadsWhenDropped(test.ros());
        let handle = test.ros().on_jump(back(), move |_, _| {
            let _owned = &reads;
        });
        let dropping = thread::spawn(move || drop(handle));
        test.set(at(50));
        dropping.join().unwrap();
        assert_eq!(test.ros().now(), at(50));
    });
}

#[test]
fn extrapolated_time_does_not_run_back_at_a_late_tick() {
    check(SOME, || {
        let test = Arc::new(TestClock::new(at(1)));
        let how = Extrapolation::for_at_most(ns(1_000));
        let tick = |time| ClockState::new(at(time), Some(Speed::NORMAL));
        test.writer().set_state(tick(100), how);
        test.pass(ns(3));
        let (clock, machine) = (test.ros(), Arc::clone(&test));
        let passing = thread::spawn(move || machine.pass(ns(5)));
        let motion = thread::spawn(move || {
            let before = clock.now();
            let after = clock.now();
            assert!(after >= before, "{after:?} after {before:?}");
        });
        test.writer().set_state(tick(101), how);
        passing.join().unwrap();
        motion.join().unwrap();
    });
}
