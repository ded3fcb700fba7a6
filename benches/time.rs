//! The cost of `now()`, and the cost of a tick with many waiting threads.
//!
//! `cargo bench --bench time`. Nanoseconds for each call, the median of turns: `Instant::now()` beside the
//! clocks of the time library, alone and by eight threads at once, while a source ticks at 1 kHz.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
#![expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]

mod report;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration as StdDuration, Instant};

use bagplay::clock::{
    Cancel, Clock, ClockState, Extrapolation, Fallback, InvalidPeriod, JumpFilter, OnJump,
    TestClock, Timer, Timers,
};
use bagplay::time::{Duration, Speed, Time};
use report::{Figure, Report};

const CALLS: u32 = 1_000_000;
const TURNS: usize = 9;
const READERS: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut calls = Calls {
        report: Report::begin("time"),
        limit: None,
    };
    println!("{:<42} {:>8} {:>12}", "ns a call", "alone", "8 threads");
    let (held, held_writer) = Clock::ros(Fallback::Zero);
    held_writer.set(Time::from_nanos(1));
    held_writer.activate();
    let (moving, moving_writer) = Clock::ros(Fallback::Zero);
    let state = ClockState::new(Time::from_nanos(1), Some(Speed::NORMAL));
    let how = Extrapolation::for_at_most(Duration::from_secs(3_600));
    moving_writer.set_state(state, how);
    moving_writer.activate();
    let (inactive, _inactive_writer) = Clock::ros(Fallback::Zero);
    let steady = Clock::steady();
    calls.row("Instant::now()", || {
        black_box(Instant::now());
    });
    calls.row("ROS clock, active", || {
        black_box(held.now());
    });
    calls.row("ROS clock, extrapolating", || {
        black_box(moving.now());
    });
    calls.row("ROS clock, inactive (system time)", || {
        black_box(inactive.now());
    });
    calls.row("steady clock", || {
        black_box(steady.now());
    });
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for tick in 2.. {
                held_writer.set(Time::from_nanos(tick));
                thread::sleep(StdDuration::from_millis(1));
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        calls.row("ROS clock, active, ticks at 1 kHz", || {
            black_box(held.now());
        });
        is_over.store(true, Ordering::Relaxed);
    });

    let mut report = calls.report;
    println!("\n{:<42} {:>8}", "ns a tick", "");
    let mut tick = 10_000_000;
    let mut ticks = |name: &str| {
        let cost = alone(100_000, &mut || {
            tick += 1;
            held_writer.set(Time::from_nanos(tick));
        });
        single(&mut report, name, "a tick", cost);
    };
    ticks("nobody waits");
    let handle = held.on_jump(
        JumpFilter::new().min_backward(Duration::from_nanos(1)),
        |_, _| {},
    )?;
    let timers: Vec<_> = (0..1_000)
        .map(|_| Timer::new(&held, Duration::from_secs(3_600)))
        .collect::<Result<_, _>>()?;
    ticks("1,000 timers, a handler of backward jumps");
    drop((timers, handle));
    waiting(&mut report)?;
    Ok(report.write()?)
}

/// Ticks with waiting timers and threads, each on a clock of its own.
fn waiting(report: &mut Report) -> Result<(), Box<dyn std::error::Error>> {
    let start = Time::from_nanos(1);
    let mut row = |name: &str, cost: f64| single(report, name, "a tick", cost);
    let timers = |clock: &Clock, count, period| -> Result<Vec<Timer>, InvalidPeriod> {
        (0..count).map(|_| Timer::new(clock, period)).collect()
    };
    let ticks = |clock: &TestClock, calls| {
        let (writer, mut tick) = (clock.writer(), 10_000_000);
        alone(calls, &mut || {
            tick += 1;
            writer.set(Time::from_nanos(tick));
        })
    };

    let test = TestClock::new(start);
    let overdue = timers(&test.ros(), 1_000, Duration::from_nanos(1))?;
    row("1,000 timers that are overdue", ticks(&test, 1_000));
    drop(overdue);

    for count in [1_000, 10_000] {
        let test = TestClock::new(start);
        let (clock, cancel) = (test.ros(), Cancel::new());
        let far = timers(&clock, count, Duration::from_secs(3_600))?;
        let any = OnJump::ErrorOnAny {
            min_forward: Duration::from_secs(3_600),
        };
        thread::scope(|scope| {
            let options = any.unless(&cancel);
            scope.spawn(|| clock.sleep_for(Duration::from_secs(3_600), options));
            test.wait_asleep(&clock, 1);
            let name = format!("{count} timers, a sleeper that minds jumps");
            row(&name, ticks(&test, 1_000));
            cancel.cancel();
        });
        drop(far);
    }

    let test = TestClock::new(start);
    let mut set = Timers::new(&test.ros());
    for _ in 0..999 {
        set.add(Duration::from_secs(3_600), |_, _| {})?;
    }
    set.add(Duration::from_nanos(1), |_, _| {})?;
    let (writer, mut tick) = (test.writer(), 10_000_000);
    let cost = alone(1_000, &mut || {
        tick += 1;
        writer.set(Time::from_nanos(tick));
        set.run_due();
    });
    row("a set of 1,000, one due, its callback", cost);

    let test = TestClock::new(start);
    let timer = Timer::new(&test.ros(), Duration::from_nanos(1))?;
    let call = alone(100_000, &mut || {
        black_box(timer.call().ok());
    });
    single(report, "Timer::call", "a call", call);
    Ok(())
}

/// The rows of clocks; the first is the limit of the others.
struct Calls {
    report: Report,
    limit: Option<[f64; 2]>,
}

impl Calls {
    fn row(&mut self, name: &str, mut call: impl Fn() + Sync) {
        let figures = [alone(CALLS, &mut call), together(&call)];
        let [alone, together] = figures;
        println!("{name:<42} {alone:>8.1} {together:>12.1}");
        for (at, column) in ["alone", "8 threads"].into_iter().enumerate() {
            let figure = Figure::lower(name, column, figures[at], "ns");
            self.report.add(match self.limit {
                Some(limit) => figure.against("limit: Instant::now()", limit[at]),
                None => Figure::compared(name, column, figures[at], "ns"),
            });
        }
        self.limit.get_or_insert(figures);
    }
}

fn single(report: &mut Report, name: &str, column: &str, nanos: f64) {
    println!("{name:<42} {nanos:>8.1}");
    report.add(Figure::lower(name, column, nanos, "ns"));
}

/// The closure is not taken as `&F`: the standard library's `call_mut` of a reference is not inlined in every build.
fn alone(calls: u32, call: &mut impl FnMut()) -> f64 {
    median(|| {
        let began = Instant::now();
        for _ in 0..calls {
            call();
        }
        began.elapsed().as_nanos() as f64 / f64::from(calls)
    })
}

/// Wall time of all threads together, by calls and by the cores that could share them.
fn together(call: &(impl Fn() + Sync)) -> f64 {
    let cores = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(READERS);
    median(|| {
        let began = Instant::now();
        thread::scope(|scope| {
            for _ in 0..READERS {
                scope.spawn(|| (0..CALLS / 4).for_each(|_| call()));
            }
        });
        let calls = f64::from(CALLS / 4) * READERS as f64;
        began.elapsed().as_nanos() as f64 * cores as f64 / calls
    })
}

fn median(mut turn: impl FnMut() -> f64) -> f64 {
    let mut figures: Vec<f64> = (0..TURNS).map(|_| turn()).collect();
    figures.sort_by(f64::total_cmp);
    figures[TURNS / 2]
}
