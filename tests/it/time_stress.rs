//! Many threads on two clocks whose handlers misbehave: nothing is torn, nobody hangs, no wake-up is lost.
//!
//! Seeded, but the interleaving is the machine's. Every time that is written ends in 7, so that half a
//! write would show. At the end the time goes to where everybody's target lies behind: who then still
//! sleeps has lost a wake-up, and the watchdog says so.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration as StdDuration;

use bagplay::time::{
    Cancel, Clock, Duration, JumpFilter, JumpHandle, OnJump, Phase, Ros, SleepError, Steady,
    TestClock, Time, Timers,
};

const SYSTEM: i64 = 1_000_000_000_000_000;
const END: i64 = 1_000_007;
const MOVES: u64 = 4_000;

/// Xorshift: the same numbers for the same seed.
struct Dice(u64);

impl Dice {
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

/// Does all that a handler should not, now and then.
fn misbehave(
    clock: &Clock,
    other: &Arc<TestClock>,
    handles: &Arc<Mutex<Vec<JumpHandle>>>,
    seed: u64,
) -> (JumpHandle, Arc<AtomicU64>) {
    let panics = Arc::new(AtomicU64::new(0));
    let on_purpose = Arc::clone(&panics);
    let (own, others, steady) = (clock.clone(), other.ros(), Clock::<Steady>::steady());
    let (other, handles) = (Arc::clone(other), Arc::clone(handles));
    let dice = Mutex::new(Dice(seed));
    let handle = clock
        .on_jump(JumpFilter::any(), move |phase, jump| {
            let mut dice = dice
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
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
            others.now(); // whose handlers may be reading this clock
            match dice.below(200) {
                0 => {
                    on_purpose.fetch_add(1, Ordering::SeqCst);
                    std::panic::resume_unwind(Box::new("misbehaves"));
                }
                1 => other.set(dice.time()),
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
    (handle, panics)
}

fn check(time: Time<Ros>) {
    let nanos = time.as_nanos();
    assert!(
        nanos % 10 == 7 || nanos == SYSTEM || nanos == 0,
        "torn: {nanos}"
    );
}

fn storm(seed: u64) -> u64 {
    let tests = [0, 1].map(|_| Arc::new(TestClock::new(Time::from_nanos(7))));
    let handles = Arc::new(Mutex::new(Vec::new()));
    let guards = [0, 1].map(|which| {
        let clock = tests[which].ros();
        misbehave(
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
                let mut dice = Dice(seed + 100 + number);
                while !is_over.load(Ordering::SeqCst) {
                    let target = dice.time();
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
            scope.spawn(move || {
                let mut dice = Dice(seed + 1 + which as u64);
                for _ in 0..MOVES {
                    match dice.below(50) {
                        0 => test.writer().deactivate(),
                        1..5 => test.writer().activate(),
                        _ => test.set(dice.time()),
                    }
                }
            })
        });
        for mover in movers {
            mover.join().unwrap();
        }
        for (handle, on_purpose) in guards {
            drop(handles.lock().unwrap().drain(..));
            let on_purpose = on_purpose.load(Ordering::SeqCst);
            assert!(on_purpose > 0, "the handlers were well-behaved");
            assert_eq!(
                handle.panics(),
                on_purpose,
                "a handler's view was not its jump"
            );
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
fn nobody_hangs_and_nothing_is_torn() {
    for seed in [3, 0x5eed, 0xdead_beef] {
        let (done, is_done) = std::sync::mpsc::sync_channel(1);
        thread::spawn(move || done.send(storm(seed)));
        let slept = is_done
            .recv_timeout(StdDuration::from_secs(120))
            .unwrap_or_else(|error| panic!("seed {seed:#x}: hangs or failed: {error}"));
        assert!(slept > 0, "seed {seed:#x}: nobody ever slept to the end");
    }
}
