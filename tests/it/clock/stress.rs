//! Many threads on two clocks whose handlers misbehave: no torn values, no deadlock, no lost wake-up.
//!
//! The random numbers are seeded; the interleaving differs from run to run. Every time that is written ends in 7, which
//! half a write would not. At the end the time moves past all targets: a thread that still sleeps then has lost a
//! wake-up, and the time limit fails the test.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration as StdDuration;

use bagplay::clock::{
    Cancel, Clock, ClockState, Extrapolation, JumpFilter, JumpHandle, OnJump, Phase, SimTime,
    SleepError, TestClock, Timers,
};
use bagplay::time::{Duration, Ros, Speed, Steady, Time};

use super::support::{OpenSource, SYSTEM};
use crate::support::patience::until;

const END: i64 = 1_000_007;
const MOVES: u64 = 4_000;

/// Xorshift: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn time(&mut self) -> Time<Ros> {
        let tens = i64::try_from(self.below(90_000)).unwrap();
        Time::from_nanos(tens * 10 + 7)
    }
}

/// A handler that misbehaves until it is told to stop.
struct BadHandler {
    handle: JumpHandle,
    /// How many panics were intended.
    panics: Arc<AtomicU64>,
    /// Locked while it runs; `None` when it does nothing any more.
    random: Arc<Mutex<Option<Random>>>,
}

impl BadHandler {
    /// When this returns, it does nothing any more.
    fn stop(&self) {
        *locked(&self.random) = None;
    }
}

/// What a panic on purpose may have poisoned.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a handler that now and then does what handlers should not do. Counts the panics that are intended.
fn register_bad_handler(
    clock: &Clock,
    other: &Arc<TestClock>,
    handles: &Arc<Mutex<Vec<JumpHandle>>>,
    seed: u64,
) -> BadHandler {
    let panics = Arc::new(AtomicU64::new(0));
    let on_purpose = Arc::clone(&panics);
    let (own, others, steady) = (clock.clone(), other.ros(), Clock::<Steady>::steady());
    let (other, handles) = (Arc::clone(other), Arc::clone(handles));
    let random = Arc::new(Mutex::new(Some(Random(seed))));
    let of_handler = Arc::clone(&random);
    let handle = clock
        .on_jump(JumpFilter::any(), move |phase, jump| {
            let mut random = locked(&of_handler);
            let Some(random) = &mut *random else {
                return;
            };
            let view = if phase == Phase::Before {
                jump.before
            } else {
                jump.after
            };
            assert_eq!(
                own.now(),
                view,
                "a handler sees its jump, whatever the others do"
            );
            others.now(); // its handlers may read this clock meanwhile
            match random.below(200) {
                0 => {
                    on_purpose.fetch_add(1, Ordering::SeqCst);
                    std::panic::resume_unwind(Box::new("misbehaves"));
                }
                1 => other.set(random.time()),
                2 => handles.lock().unwrap().clear(),
                3 => {
                    let handle = own.on_jump(JumpFilter::any(), |_, _| {}).unwrap();
                    handles.lock().unwrap().push(handle);
                }
                4 => drop(steady.sleep_for(Duration::from_micros(20), OnJump::Continue)),
                5 => {
                    let error = own.sleep_for(Duration::from_secs(1), OnJump::Continue);
                    assert_eq!(error, Err(SleepError::InHandler));
                }
                _ => {}
            }
        })
        .unwrap();
    BadHandler {
        handle,
        panics,
        random,
    }
}

fn check(time: Time<Ros>) {
    let nanos = time.as_nanos();
    assert!(
        nanos % 10 == 7 || nanos == SYSTEM || nanos == 0,
        "torn: {nanos}"
    );
}

/// Moves two clocks while threads sleep on them and handlers misbehave. Returns how many sleeps reached their target.
fn stress_handlers(seed: u64) -> u64 {
    let tests = [0, 1].map(|_| Arc::new(TestClock::new(Time::from_nanos(7))));
    let handles = Arc::new(Mutex::new(Vec::new()));
    let guards = [0, 1].map(|which| {
        let clock = tests[which].ros();
        register_bad_handler(
            &clock,
            &tests[1 - which],
            &handles,
            seed + 11 + which as u64,
        )
    });
    let (is_over, slept, cancel) = (AtomicBool::new(false), AtomicU64::new(0), Cancel::new());
    thread::scope(|scope| {
        for (number, test) in (0..).zip(tests.iter().cycle().take(6)) {
            let (clock, is_over, slept) = (test.ros(), &is_over, &slept);
            scope.spawn(move || {
                let mut random = Random(seed + 100 + number);
                while !is_over.load(Ordering::SeqCst) {
                    let target = random.time();
                    match clock.sleep_until(target, OnJump::Continue) {
                        Ok(()) => slept.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert_eq!(error, SleepError::SourceChanged);
                            0
                        }
                    };
                    check(clock.now());
                    let _ = clock.try_now().map(check);
                }
            });
        }
        for test in &tests {
            let (clock, options) = (test.ros(), OnJump::Continue.unless(&cancel));
            scope.spawn(move || {
                let mut timers = Timers::new(&clock);
                timers
                    .add(Duration::from_nanos(1_000), |_, tick| check(tick.actual))
                    .unwrap();
                assert_eq!(timers.run(options), SleepError::Cancelled);
            });
        }
        let movers = [0, 1].map(|which| {
            let test = Arc::clone(&tests[which]);
            let purposes = guards.each_ref().map(|it| Arc::clone(&it.panics));
            scope.spawn(move || {
                let mut random = Random(seed + 1 + which as u64);
                // Times that wait for a slow handler are skipped, so the number of moves is not that of its calls.
                let has_misbehaved = || {
                    purposes
                        .iter()
                        .all(|count| count.load(Ordering::SeqCst) > 0)
                };
                let mut moves = 0;
                while moves < MOVES || !has_misbehaved() {
                    moves += 1;
                    match random.below(50) {
                        0 => test.writer().deactivate(),
                        1..5 => test.writer().activate(),
                        _ => test.set(random.time()),
                    }
                }
            })
        });
        for mover in movers {
            mover.join().unwrap();
        }
        // Handlers set times themselves: not after the last ones.
        for guard in &guards {
            guard.stop();
        }
        drop(handles.lock().unwrap().drain(..));
        for BadHandler { handle, panics, .. } in &guards {
            let on_purpose = panics.load(Ordering::SeqCst);
            until("the end of the last panic", || {
                let panics = handle.panics();
                assert!(panics <= on_purpose, "a handler's view was not its jump");
                panics == on_purpose
            });
        }
        is_over.store(true, Ordering::SeqCst);
        for test in &tests {
            test.writer().activate();
            test.set(Time::from_nanos(END));
        }
        cancel.cancel();
    });
    slept.into_inner()
}

#[test]
fn bad_handlers_cause_no_deadlock_and_no_torn_time() {
    for seed in [3, 0x5eed, 0xdead_beef] {
        let (done, is_done) = std::sync::mpsc::sync_channel(1);
        thread::spawn(move || done.send(stress_handlers(seed)));
        let slept = is_done
            .recv_timeout(StdDuration::from_secs(120))
            .unwrap_or_else(|error| panic!("seed {seed:#x}: hangs or failed: {error}"));
        assert!(slept > 0, "seed {seed:#x}: no sleep reached its target");
    }
}

/// Switches sim time on and off and replaces its source while threads sleep and are cancelled. Returns how many sleeps
/// reached their target.
fn stress_source(seed: u64) -> u64 {
    let test = TestClock::new(Time::from_nanos(7));
    let source = OpenSource::default();
    let sim = SimTime::on_test_clock(&test, source.clone());
    let clocks: Vec<Clock> = (0..4).map(|_| sim.clock()).collect();
    let how = Extrapolation::for_at_most(Duration::from_secs(1));
    let (is_over, slept) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for (number, clock) in (0..).zip(&clocks) {
            let (is_over, slept) = (&is_over, &slept);
            scope.spawn(move || {
                let mut random = Random(seed + 50 + number);
                while !is_over.load(Ordering::SeqCst) {
                    let cancel = Cancel::new();
                    if random.below(3) == 0 {
                        cancel.cancel();
                    }
                    let options = OnJump::Continue.unless(&cancel);
                    match clock.sleep_until(random.time(), options) {
                        Ok(()) => slept.fetch_add(1, Ordering::Relaxed),
                        Err(SleepError::Cancelled | SleepError::SourceChanged) => 0,
                        Err(error) => panic!("{error}"),
                    };
                }
            });
        }
        let feeders = [1, 2].map(|number| {
            let (source, mut random) = (source.clone(), Random(seed + number));
            scope.spawn(move || {
                for _ in 0..MOVES {
                    let Some(feed) = source.try_feed() else {
                        continue;
                    };
                    let state = ClockState {
                        generation: random.below(3),
                        ..ClockState::new(random.time(), Speed::from_f64(-1.0).ok())
                    };
                    match random.below(3) {
                        0 => feed.state(state, how),
                        _ => feed.time(random.time()),
                    }
                }
            })
        });
        let switches = [3, 4].map(|number| {
            let (sim, source, mut random) = (sim.clone(), source.clone(), Random(seed + number));
            scope.spawn(move || {
                for _ in 0..MOVES / 4 {
                    match random.below(8) {
                        0 => sim.disable(),
                        1 => sim.replace_source(source.clone()).unwrap(),
                        2 => drop(sim.clock()),
                        _ => sim.enable().unwrap(),
                    }
                }
            })
        });
        for worker in feeders.into_iter().chain(switches) {
            worker.join().unwrap();
        }
        is_over.store(true, Ordering::SeqCst);
        sim.enable().unwrap();
        source.feed().time(Time::from_nanos(END));
        // Another thread may deliver it.
        let is_at_end = |clock: &Clock| clock.is_active() && clock.now() == Time::from_nanos(END);
        until("the end", || clocks.iter().all(is_at_end));
    });
    slept.into_inner()
}

#[test]
fn changes_of_the_source_lose_no_wake_up() {
    for seed in [5, 0xfeed, 0xbeef] {
        let (done, is_done) = std::sync::mpsc::sync_channel(1);
        thread::spawn(move || done.send(stress_source(seed)));
        let slept = is_done
            .recv_timeout(StdDuration::from_secs(120))
            .unwrap_or_else(|error| panic!("seed {seed:#x}: hangs or failed: {error}"));
        assert!(slept > 0, "seed {seed:#x}: no sleep reached its target");
    }
}
