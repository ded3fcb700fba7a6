//! Tasks that sleep on a clock, polled by hand: no runtime takes part.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use bagplay::clock::{Cancel, Clock, Fallback, OnJump, SimTime, Sleep, SleepError, TestClock};
use bagplay::time::{Duration, Ros, Time};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::support::patience::{PATIENCE, until};

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

/// Tells that a task is to be polled.
struct Tells(Sender<()>);

impl Wake for Tells {
    fn wake(self: Arc<Self>) {
        // Woken more often than it is polled.
        let _ = self.0.try_send(());
    }
}

fn waker() -> (Waker, Receiver<()>) {
    let (tell, told) = bounded(1);
    (Waker::from(Arc::new(Tells(tell))), told)
}

/// Polls whenever it is woken, until it is done.
#[track_caller]
fn block_on<T>(task: impl Future<Output = T>) -> T {
    let (waker, told) = waker();
    let mut task = pin!(task);
    loop {
        if let Poll::Ready(outcome) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
            return outcome;
        }
        told.recv_timeout(PATIENCE).expect("it is not woken");
    }
}

/// What comes of a sleep when this happens.
fn after(
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
    assert_eq!(after(steady, |test| test.set(at(150))), Ok(()));
    let jumped = after(steady, |test| test.set(at(99)));
    assert!(matches!(jumped, Err(SleepError::TimeJumped(_))));
    let changed = after(steady, |test| test.writer().deactivate());
    assert_eq!(changed, Err(SleepError::SourceChanged));
    let shut = after(steady, |test| test.writer().shut_down());
    assert_eq!(shut, Err(SleepError::Shutdown));
    let target = |clock: &Clock| {
        let options = OnJump::Continue.unless(&cancel).within(ns(50));
        clock.sleep_until_async(at(1_000), options)
    };
    let timed_out = after(target, |test| test.pass(ns(50)));
    assert_eq!(timed_out, Err(SleepError::TimedOut));
    assert_eq!(
        after(target, |_| cancel.cancel()),
        Err(SleepError::Cancelled)
    );
}

#[test]
fn what_has_come_is_not_waited_for() {
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

/// Also from the first time there is, and again and again.
#[test]
fn a_span_counts_from_the_first_time() {
    let test = TestClock::new(Time::ZERO);
    let clock = test.ros();
    let (waker, told) = waker();
    let mut context = Context::from_waker(&waker);
    let mut sleep = pin!(clock.sleep_for_async(ns(50), OnJump::Continue));
    test.wait_asleep(&clock, 1);
    for time in [at(1_000), at(1_049)] {
        test.set(time);
        test.wait_asleep(&clock, 1);
        assert_eq!(sleep.as_mut().poll(&mut context), Poll::Pending);
    }
    test.set(at(1_050));
    told.recv_timeout(PATIENCE).unwrap();
    for _ in 0..2 {
        assert_eq!(sleep.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    }
}

/// One thread waits for all of them, and each is woken by its own deadline.
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
                let (waker, told) = waker();
                (Box::pin(sleep), waker, told)
            })
            .collect();
        test.wait_asleep(&clock, 1);
        for (task, waker, _) in &mut tasks {
            let polled = task.as_mut().poll(&mut Context::from_waker(waker));
            assert_eq!(polled, Poll::Pending);
        }
        test.advance(ns(400));
        for (task, waker, told) in tasks.drain(..400) {
            told.recv_timeout(PATIENCE).unwrap();
            let mut task = task;
            let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
            assert_eq!(polled, Poll::Ready(Ok(())));
        }
        test.wait_asleep(&clock, 1);
        assert!(tasks.iter().all(|(_, _, told)| told.is_empty()));
        drop(tasks);
    }
}

/// Remembers which threads wake the task.
struct Remembers {
    threads: Mutex<HashSet<ThreadId>>,
    tell: Sender<()>,
}

impl Wake for Remembers {
    fn wake(self: Arc<Self>) {
        self.threads.lock().unwrap().insert(thread::current().id());
        self.tell.send(()).unwrap();
    }
}

/// The thread stays for a second after the last sleep, so only a machine that stands still for so long takes another.
#[test]
fn a_loop_of_sleeps_does_not_start_a_thread_for_each() {
    let test = TestClock::new(at(1));
    let clock = test.ros();
    let (tell, told) = bounded(1);
    let remembers = Arc::new(Remembers {
        threads: Mutex::default(),
        tell,
    });
    let waker = Waker::from(Arc::clone(&remembers));
    let mut context = Context::from_waker(&waker);
    for _ in 0..200 {
        let mut sleep = pin!(clock.sleep_for_async(ns(1), OnJump::Continue));
        assert_eq!(sleep.as_mut().poll(&mut context), Poll::Pending);
        test.wait_asleep(&clock, 1);
        test.advance(ns(1));
        told.recv_timeout(PATIENCE).unwrap();
        assert_eq!(sleep.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    }
    let threads = remembers.threads.lock().unwrap().len();
    assert!(threads <= 10, "{threads} threads for 200 sleeps");
}

#[test]
fn a_sleep_that_is_not_the_first_to_end_wakes_no_thread() {
    let test = TestClock::new(at(1));
    let clock = test.ros();
    let first = clock.sleep_until_async(at(10), OnJump::Continue);
    test.wait_asleep(&clock, 1);
    let woken = test.wakeups(&clock);
    let later = |time| clock.sleep_until_async(at(time), OnJump::Continue);
    let others: Vec<_> = (100..1_100).map(later).collect();
    test.wait_asleep(&clock, 1);
    assert_eq!(test.wakeups(&clock), woken);
    // One that ends before the others does.
    let earliest = clock.sleep_until_async(at(5), OnJump::Continue);
    test.wait_asleep(&clock, 1);
    assert_eq!(test.wakeups(&clock), woken + 1);
    drop((first, others, earliest));
}

/// In a process of its own, in which every thread would need a stack that no memory can hold.
#[cfg(target_os = "linux")]
#[test]
fn a_sleep_tells_that_no_thread_can_be_started() {
    const CHILD: &str = "BAGPLAY_TEST_NO_THREAD";
    if std::env::var_os(CHILD).is_some() {
        let sleep = Clock::steady().sleep_for_async(Duration::from_secs(3_600), OnJump::Continue);
        assert_eq!(block_on(sleep), Err(SleepError::NoThread));
        println!("no thread could be started");
        return;
    }
    let name = "clock::async_sleep::a_sleep_tells_that_no_thread_can_be_started";
    let child = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--test-threads=1", "--nocapture"])
        .env("RUST_MIN_STACK", (usize::MAX >> 4).to_string())
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}");
    assert!(said.contains("no thread could be started"), "{said}");
}

/// On clocks of the machine nobody rings.
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

/// And lets go of it with the last sleep.
#[test]
fn a_sleep_keeps_the_source() {
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
    until("let go", || Arc::strong_count(&owned) == 1);
}
