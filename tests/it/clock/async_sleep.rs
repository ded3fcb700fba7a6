//! Tasks that sleep on a clock. The tests poll them; there is no runtime.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use bagplay::clock::{Cancel, Clock, Fallback, OnJump, SimTime, Sleep, SleepError, TestClock};
use bagplay::time::{Duration, Time};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::support::{at, ns};
use crate::support::patience::{PATIENCE, until};

/// Sends when a task is to be polled.
struct SendsWakeUp(Sender<()>);

impl Wake for SendsWakeUp {
    fn wake(self: Arc<Self>) {
        // The channel is full if the task was woken before and has not been polled since.
        let _ = self.0.try_send(());
    }
}

/// A waker, and a receiver that tells when it was woken.
fn waker() -> (Waker, Receiver<()>) {
    let (sender, woken) = bounded(1);
    (Waker::from(Arc::new(SendsWakeUp(sender))), woken)
}

/// Polls whenever it is woken, until it is done.
#[track_caller]
fn block_on<T>(task: impl Future<Output = T>) -> T {
    let (waker, woken) = waker();
    let mut task = pin!(task);
    loop {
        if let Poll::Ready(outcome) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
            return outcome;
        }
        woken.recv_timeout(PATIENCE).expect("it is not woken");
    }
}

/// How a sleep ends if `event` happens during it.
fn sleep_during_event(
    sleep: impl FnOnce(&Clock) -> Sleep,
    event: impl FnOnce(&TestClock),
) -> Result<(), SleepError> {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let sleep = sleep(&clock);
    thread::scope(|scope| {
        let task = scope.spawn(move || block_on(sleep));
        test.wait_asleep(&clock, 1);
        event(&test);
        task.join().unwrap()
    })
}

#[test]
fn a_task_sleeps_as_a_thread_does() {
    let cancel = Cancel::new();
    let steady = |clock: &Clock| clock.sleep_for_async(ns(50), OnJump::ErrorOnBackward);
    assert_eq!(sleep_during_event(steady, |test| test.set(at(150))), Ok(()));
    let jumped = sleep_during_event(steady, |test| test.set(at(99)));
    assert!(matches!(jumped, Err(SleepError::TimeJumped(_))));
    let changed = sleep_during_event(steady, |test| test.writer().deactivate());
    assert_eq!(changed, Err(SleepError::SourceChanged));
    let shut = sleep_during_event(steady, |test| test.writer().shut_down());
    assert_eq!(shut, Err(SleepError::Shutdown));
    let target = |clock: &Clock| {
        let options = OnJump::Continue.unless(&cancel).within(ns(50));
        clock.sleep_until_async(at(1_000), options)
    };
    let timed_out = sleep_during_event(target, |test| test.pass(ns(50)));
    assert_eq!(timed_out, Err(SleepError::TimedOut));
    assert_eq!(
        sleep_during_event(target, |_| cancel.cancel()),
        Err(SleepError::Cancelled)
    );
}

#[test]
fn a_sleep_whose_target_has_come_is_ready_at_once() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    assert_eq!(
        block_on(clock.sleep_for_async(ns(0), OnJump::Continue)),
        Ok(())
    );
    assert_eq!(
        block_on(clock.sleep_until_async(at(100), OnJump::Continue)),
        Ok(())
    );
    test.wait_asleep(&clock, 0);
}

/// A sleep that is ready stays ready.
#[test]
fn a_span_counts_from_the_first_time() {
    let test = TestClock::new(Time::ZERO);
    let clock = test.ros();
    let (waker, woken) = waker();
    let mut context = Context::from_waker(&waker);
    let mut sleep = pin!(clock.sleep_for_async(ns(50), OnJump::Continue));
    test.wait_asleep(&clock, 1);
    for time in [at(1_000), at(1_049)] {
        test.set(time);
        test.wait_asleep(&clock, 1);
        assert_eq!(sleep.as_mut().poll(&mut context), Poll::Pending);
    }
    test.set(at(1_050));
    woken.recv_timeout(PATIENCE).unwrap();
    for _ in 0..2 {
        assert_eq!(sleep.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    }
}

/// Each task is woken at its own target.
#[test]
fn a_thousand_tasks_need_one_thread() {
    let test = TestClock::new(at(0));
    let clock = test.ros();
    test.set(at(1));
    for _ in 0..2 {
        let start = clock.now();
        let mut tasks: Vec<_> = (1..=1_000)
            .map(|nth| {
                let sleep = clock.sleep_until_async(start + ns(nth), OnJump::Continue);
                let (waker, woken) = waker();
                (Box::pin(sleep), waker, woken)
            })
            .collect();
        test.wait_asleep(&clock, 1);
        for (task, waker, _) in &mut tasks {
            let polled = task.as_mut().poll(&mut Context::from_waker(waker));
            assert_eq!(polled, Poll::Pending);
        }
        test.advance(ns(400));
        for (task, waker, woken) in tasks.drain(..400) {
            woken.recv_timeout(PATIENCE).unwrap();
            let mut task = task;
            let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
            assert_eq!(polled, Poll::Ready(Ok(())));
        }
        test.wait_asleep(&clock, 1);
        assert!(tasks.iter().all(|(_, _, woken)| woken.is_empty()));
        drop(tasks);
    }
}

/// Records which threads wake the task.
struct RecordsThreads {
    threads: Mutex<HashSet<ThreadId>>,
    sender: Sender<()>,
}

impl Wake for RecordsThreads {
    fn wake(self: Arc<Self>) {
        self.threads.lock().unwrap().insert(thread::current().id());
        self.sender.send(()).unwrap();
    }
}

/// The thread ends a second after the last sleep, so another one is started only if the machine stands still that long.
#[test]
fn a_loop_of_sleeps_does_not_start_a_thread_for_each() {
    let test = TestClock::new(at(1));
    let clock = test.ros();
    let (sender, woken) = bounded(1);
    let records = Arc::new(RecordsThreads {
        threads: Mutex::default(),
        sender,
    });
    let waker = Waker::from(Arc::clone(&records));
    let mut context = Context::from_waker(&waker);
    for _ in 0..200 {
        let mut sleep = pin!(clock.sleep_for_async(ns(1), OnJump::Continue));
        assert_eq!(sleep.as_mut().poll(&mut context), Poll::Pending);
        test.wait_asleep(&clock, 1);
        test.advance(ns(1));
        woken.recv_timeout(PATIENCE).unwrap();
        assert_eq!(sleep.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    }
    let threads = records.threads.lock().unwrap().len();
    assert!(threads <= 10, "{threads} threads for 200 sleeps");
}

#[test]
fn a_new_sleep_wakes_the_thread_only_if_it_ends_first() {
    let test = TestClock::new(at(1));
    let clock = test.ros();
    let first = clock.sleep_until_async(at(10), OnJump::Continue);
    test.wait_asleep(&clock, 1);
    let woken = test.wakeups(&clock);
    let later = |time| clock.sleep_until_async(at(time), OnJump::Continue);
    let others: Vec<_> = (100..1_100).map(later).collect();
    test.wait_asleep(&clock, 1);
    assert_eq!(test.wakeups(&clock), woken);
    // This one ends before the others.
    let earliest = clock.sleep_until_async(at(5), OnJump::Continue);
    test.wait_asleep(&clock, 1);
    assert_eq!(test.wakeups(&clock), woken + 1);
    drop((first, others, earliest));
}

/// In a process of its own, in which every thread would need a stack that does not fit into memory.
#[cfg(target_os = "linux")]
#[test]
fn without_a_thread_a_sleep_ends_with_an_error() {
    const CHILD: &str = "BAGPLAY_TEST_NO_THREAD";
    if std::env::var_os(CHILD).is_some() {
        let sleep = Clock::steady().sleep_for_async(Duration::from_secs(3_600), OnJump::Continue);
        assert_eq!(block_on(sleep), Err(SleepError::NoThread));
        println!("no thread could be started");
        return;
    }
    let name = "clock::async_sleep::without_a_thread_a_sleep_ends_with_an_error";
    let child = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--test-threads=1", "--nocapture"])
        .env("RUST_MIN_STACK", (usize::MAX >> 4).to_string())
        .env(CHILD, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output}");
    assert!(output.contains("no thread could be started"), "{output}");
}

/// Where no test moves the time.
#[test]
fn a_task_sleeps_on_the_machines_clocks() {
    let millis = Duration::from_millis(3);
    let steady = Clock::steady();
    let begun = steady.now();
    assert_eq!(
        block_on(steady.sleep_for_async(millis, OnJump::Continue)),
        Ok(())
    );
    assert!(steady.now() >= begun + millis);
    assert_eq!(
        block_on(Clock::system().sleep_for_async(millis, OnJump::Continue)),
        Ok(())
    );
    let (clock, writer) = Clock::ros(Fallback::Zero);
    writer.activate();
    let timed_out = clock.sleep_for_async(millis, OnJump::Continue.within(millis));
    assert_eq!(block_on(timed_out), Err(SleepError::TimedOut));
}

#[test]
fn an_async_sleep_keeps_the_source_until_it_ends() {
    let (sim, feed) = SimTime::fed();
    let clock = sim.clock();
    sim.enable().unwrap();
    feed.time(at(5));
    let owned = Arc::new(());
    let inner = Arc::clone(&owned);
    let handle = clock.on_tick(move |_| drop(Arc::clone(&inner)));
    let sleep = clock.sleep_for_async(ns(5), OnJump::Continue);
    drop((sim, clock));
    feed.time(at(10));
    assert_eq!(block_on(sleep), Ok(()));
    drop(handle);
    until("the drop of the source", || Arc::strong_count(&owned) == 1);
}
