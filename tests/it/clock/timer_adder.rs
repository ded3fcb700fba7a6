//! Timers that are added to a set from its callbacks and from other threads.

use std::thread;

use bagplay::clock::{Cancel, OnJump, SleepError, TestClock, TimerOptions, Timers};
use crossbeam_channel::bounded;

use super::support::{at, ns};
use crate::support::patience::PATIENCE;

/// The first tick is due a period after the timer was added.
#[test]
fn a_callback_may_add_timers() {
    let test = TestClock::new(at(1_000));
    let (sender, receiver) = bounded(100);
    let mut timers = Timers::new(&test.ros());
    let adder = timers.adder();
    let once = TimerOptions::once(ns(100));
    timers
        .add(once, move |_, _| {
            let sender = sender.clone();
            let inner = adder.add(ns(30), move |_, tick| {
                sender.send(tick.actual.as_nanos()).unwrap();
            });
            inner.unwrap();
        })
        .unwrap();
    test.drive(&mut timers, ns(200));
    assert_eq!(
        receiver.try_iter().collect::<Vec<_>>(),
        [1_130, 1_160, 1_190]
    );
}

/// The set sleeps until a later deadline, or has no timer yet.
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
        let (sender, receiver) = bounded(10);
        thread::scope(|scope| {
            let running = scope.spawn(|| timers.run(OnJump::Continue.unless(&cancel)));
            test.wait_asleep(&clock, 1);
            let timer = adder.add(ns(50), move |_, tick| {
                sender.send(tick.actual.as_nanos()).unwrap();
            });
            test.wait_asleep(&clock, 1);
            for tick in [1_050, 1_100] {
                test.advance(ns(50));
                assert_eq!(receiver.recv_timeout(PATIENCE), Ok(tick));
            }
            timer.unwrap().cancel();
            cancel.cancel();
            assert_eq!(running.join().unwrap(), SleepError::Cancelled);
        });
    }
}

/// Their deadlines count at once. If the set was dropped, their callbacks are never called.
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
    let orphan = adder.add(ns(50), |_, _| panic!("the set is gone")).unwrap();
    test.advance(ns(100));
    assert!(orphan.is_ready());
}
