//! The lateness of messages at 1×, 1,000 a second, compared with a loop that only sleeps to the same instants.
//!
//! `cargo bench --bench lateness [-- SECONDS] [busy|busy-one]`. With `busy`, as many threads compute as there are
//! processors; with `busy-one`, one thread does. Then `--realtime` takes the place of `--precise`, and its limit is a
//! loop with the same scheduling; if the system does not permit that, the benchmark ends with an error. All run in turns in one process on the same machine; the player
//! reads a real file and serves a 100 Hz clock, once with limited spinning and once with `--precise`. Prints
//! percentiles of (instant of the put − its due instant) in microseconds, how much of a core each takes, and ratios to
//! the loop.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod recording;
mod report;

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

use bagplay::bag::{Bag, Cues, Selection};
use bagplay::output::{Event, Recording};
use bagplay::player::{ClockOptions, Options, Player, Scheduling, Source, Spin};
use bagplay::time::{Duration, Ros, Time};
use hdrhistogram::Histogram;
use report::{Figure, QUANTILES, Report, Series};
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

const HZ: u64 = 1_000;
const TURNS: usize = 5;
const LIMIT: &str = "bare absolute sleep loop";
const REALTIME_LIMIT: &str = "the same loop, SCHED_FIFO";
/// The real-time priority of the player, in percent of the range of the system, as in `player/thread/priority.rs`.
const PERCENT: u8 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: u64 = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(5);
    let has = |word: &str| std::env::args().any(|arg| arg == word);
    let (bench, threads) = if has("busy") {
        ("lateness-busy", std::thread::available_parallelism()?.get())
    } else if has("busy-one") {
        ("lateness-busy-one", 1)
    } else {
        ("lateness", 0)
    };
    let is_busy = threads > 0;
    let mut report = Report::begin(bench);
    let work = Work::start(threads);
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("kilohertz.mcap");
    recording::write(&path, seconds * HZ, HZ)?;
    let bag = Bag::open(&[path])?;
    let [mut bare, mut realtime, mut player, mut other] =
        [Row::new()?, Row::new()?, Row::new()?, Row::new()?];
    let (other_name, other_way) = if is_busy {
        ("player --realtime", (Spin::Limited, Scheduling::Realtime))
    } else {
        ("player --precise", (Spin::Unlimited, Scheduling::Normal))
    };
    for turn in 1..=TURNS {
        eprintln!("turn {turn} of {TURNS}: {seconds} s each");
        bare.add(|| bare_loop(seconds * HZ))?;
        if is_busy {
            realtime.add(|| realtime_loop(seconds * HZ))?;
        }
        player.add(|| play(&bag, (Spin::Limited, Scheduling::Normal)))?;
        other.add(|| play(&bag, other_way))?;
    }
    drop(work);
    println!("lateness at 1x, {HZ} messages a second, {TURNS} turns of {seconds} s, microseconds");
    println!(
        "{:<28} {:>8} {:>8} {:>8} {:>9} {:>8}",
        "", "p50", "p99", "p99.9", "max", "of a core"
    );
    let of_player = Some((LIMIT, &bare));
    let mut rows = vec![(LIMIT, &bare, None), ("player", &player, of_player)];
    if is_busy {
        rows.push((REALTIME_LIMIT, &realtime, None));
        rows.push((other_name, &other, Some((REALTIME_LIMIT, &realtime))));
    } else {
        rows.push((other_name, &other, of_player));
    }
    for (name, row, limit) in &rows {
        row.show(name);
        row.report(name, *limit, (bench, is_busy), &mut report);
    }
    for (name, row, limit) in &rows {
        if let Some((limit_name, limit)) = limit {
            row.show_ratio(&format!("{name} / {limit_name}"), limit);
        }
    }
    Ok(report.write()?)
}

/// What one of them did in all turns.
struct Row {
    late: Histogram<u64>,
    /// The processor time and the wall time that it took.
    spent: [Duration; 2],
}

impl Row {
    fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            late: histogram()?,
            spent: [Duration::ZERO; 2],
        })
    }

    fn add(
        &mut self,
        turn: impl FnOnce() -> Result<Histogram<u64>, Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let clocks = [ClockId::ProcessCPUTime, ClockId::Monotonic];
        let before = clocks.map(nanos);
        self.late.add(turn()?)?;
        for ((spent, clock), before) in self.spent.iter_mut().zip(clocks).zip(before) {
            *spent = spent.saturating_add(Duration::from_nanos(nanos(clock) - before));
        }
        Ok(())
    }

    fn share(&self) -> f64 {
        let [processor, wall] = self.spent.map(Duration::as_secs_f64);
        processor / wall
    }

    fn show(&self, name: &str) {
        let at = |q| micros(self.late.value_at_quantile(q));
        println!(
            "{name:<28} {:>8.2} {:>8.2} {:>8.2} {:>9.2} {:>7.2} %",
            at(0.5),
            at(0.99),
            at(0.999),
            micros(self.late.max()),
            self.share() * 100.0
        );
    }

    /// `limit`: what it is compared with, unless it is a limit itself.
    fn report(
        &self,
        name: &str,
        limit: Option<(&str, &Self)>,
        (bench, is_busy): (&str, bool),
        report: &mut Report,
    ) {
        let figures = [
            ("p50", 0.5, "µs"),
            ("p99", 0.99, "µs"),
            ("p99.9", 0.999, "µs"),
            ("max", 1.0, "µs"),
        ];
        let at = |row: &Self, q| micros(row.late.value_at_quantile(q));
        let mut add = |column, of: &dyn Fn(&Self) -> f64, unit| {
            report.add(match limit {
                None => Figure::compared(name, column, of(self), unit),
                Some((limit, row)) => Figure::lower(name, column, of(self), unit)
                    .against(&format!("limit: {limit}"), of(row)),
            });
        };
        for (column, q, unit) in figures {
            add(column, &|row| at(row, q), unit);
        }
        // The threads that compute are part of this process.
        if !is_busy {
            add("of a core", &|row| row.share() * 100.0, "%");
        }
        let points = QUANTILES.map(|q| [q, at(self, q)]);
        report.draw(Series::new(bench, name, points));
    }

    fn show_ratio(&self, name: &str, bare: &Self) {
        let at = |row: &Self, q| micros(row.late.value_at_quantile(q));
        let ratio = |q| at(self, q) / at(bare, q).max(0.001);
        println!(
            "{name:<28} {:>8.2} {:>8.2} {:>8.2} {:>9} {:>8.2}",
            ratio(0.5),
            ratio(0.99),
            ratio(0.999),
            "",
            self.share() / bare.share()
        );
    }
}

/// Threads that compute until this is dropped.
struct Work {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Work {
    fn start(threads: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let threads = (0..threads).map(|_| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        });
        Self {
            threads: threads.collect(),
            is_over,
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

fn nanos(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn histogram() -> Result<Histogram<u64>, Box<dyn Error>> {
    Ok(Histogram::new_with_bounds(1, 60_000_000_000, 3)?)
}

#[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// The same as [`bare_loop`], scheduled as the player is with `--realtime`.
fn realtime_loop(ticks: u64) -> Result<Histogram<u64>, Box<dyn Error>> {
    let realtime = move || -> Result<_, String> {
        let priority = ThreadPriority::Crossplatform(PERCENT.try_into()?);
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
        set_thread_priority_and_policy(thread_native_id(), priority, policy)
            .map_err(|error| format!("SCHED_FIFO is not permitted: {error:?}"))?;
        bare_loop(ticks).map_err(|error| error.to_string())
    };
    let done = std::thread::spawn(realtime).join();
    Ok(done.map_err(|_| "the loop panicked")??)
}

/// Sleeps to each instant of a 1 kHz grid, with the finest timer slack, and nothing else.
fn bare_loop(ticks: u64) -> Result<Histogram<u64>, Box<dyn Error>> {
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
    let mut late = histogram()?;
    let now = || nanos(ClockId::Monotonic);
    let start = now();
    for tick in 0..ticks {
        let due = start + i64::try_from(tick * 1_000_000_000 / HZ)?;
        let deadline = Timespec {
            tv_sec: due / 1_000_000_000,
            tv_nsec: due % 1_000_000_000,
        };
        while clock_nanosleep_absolute(ClockId::Monotonic, &deadline).is_err() {}
        late.saturating_record(u64::try_from(now() - due)?);
    }
    Ok(late)
}

/// Plays the recording and takes the instant of each message; the earliest anchors the schedule.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn play(
    bag: &Bag,
    (spin, scheduling): (Spin, Scheduling),
) -> Result<Histogram<u64>, Box<dyn Error>> {
    let player = Player::new();
    let cues = Cues::new(bag.clone(), Selection::all(bag), 64 << 20, player.waker());
    let recording = bag.range().ok_or("no messages")?;
    let clock = ClockOptions {
        period: Some(Duration::from_millis(10)),
        ..ClockOptions::default()
    };
    let options = Options {
        clock,
        spin,
        scheduling,
        ..Options::new(recording)
    };
    let (sender, sent) = mpsc::sync_channel(1 << 20);
    let out = Recording(move |event| {
        if let Event::Message(_, log_time, _) = event {
            let _ = sender.send((Instant::now(), log_time));
        }
    });
    player.start(options, Source::of(cues), out)?.join()?;
    let sent: Vec<_> = sent.try_iter().collect();
    let (origin, first) = *sent.first().ok_or("nothing was played")?;
    let offset = |(at, t): &(Instant, Time<Ros>)| {
        let wall = i64::try_from(at.duration_since(origin).as_nanos()).unwrap_or(i64::MAX);
        wall - t.saturating_since(first).as_nanos()
    };
    let earliest = sent.iter().map(offset).min().unwrap_or(0);
    let mut late = histogram()?;
    for one in &sent {
        late.saturating_record(u64::try_from(offset(one) - earliest)?);
    }
    Ok(late)
}
