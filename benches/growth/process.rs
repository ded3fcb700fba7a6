//! What a process costs that opens a recording, or plays it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bagplay::bag::{Bag, Direction, Selection, StartAt};
use bagplay::time::Time;

use super::Failure;
use super::curve::Cost;

/// The argument with which this benchmark starts itself, to open a recording in a process of its own.
pub(crate) const CHILD: &str = "--open";

/// The memory that is drawn.
pub(crate) const PLAYING: &str = "memory while playing";

const OPENINGS: usize = 7;
const SEEKS: usize = 200;
/// A recording is played again until the processor time is this long, or the number of runs is reached.
const ENOUGH: f64 = 1.0;
const RUNS: u32 = 10;

/// Opens a recording in a process of its own.
pub(crate) fn open(path: &Path) -> Result<Vec<Cost>, Failure> {
    let output = Command::new(std::env::current_exe()?)
        .arg(CHILD)
        .arg(path)
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let values: Vec<f64> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [open, memory, seek] = values[..] else {
        return Err(format!("opening told {text:?}").into());
    };
    Ok(vec![
        Cost::new("open", open, "µs"),
        Cost::new("memory after opening", memory, "MiB"),
        Cost::new("seek p50", seek, "µs"),
    ])
}

/// What the process does that [`open`] starts.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
pub(crate) fn child(path: &Path) -> Result<(), Failure> {
    let before = status("self", "VmRSS:").unwrap_or(0.0);
    let bag = Bag::open(&[path])?;
    let memory = status("self", "VmRSS:").ok_or("no memory in /proc")? - before;
    let open = median((0..OPENINGS).map(|_| {
        let started = Instant::now();
        let opened = Bag::open(&[path])?;
        let micros = started.elapsed().as_secs_f64() * 1e6;
        drop(opened);
        Ok(micros)
    }))?;

    let range = bag.range().ok_or("no messages")?;
    let span = u64::try_from(range.duration().as_nanos())?;
    let all = Selection::all(&bag);
    let mut noise = 42_u64;
    let times: Vec<u64> = (0..SEEKS)
        .map(|_| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            range.start().to_mcap() + noise % span.max(1)
        })
        .collect();
    let seek = |time: &u64| -> Result<f64, Failure> {
        let from = StartAt::At(Time::from_mcap(*time));
        let started = Instant::now();
        let first = bag.cursor(&all, from, Direction::Forward).next();
        let micros = started.elapsed().as_secs_f64() * 1e6;
        // The last message may be before that time.
        first.transpose().map_err(|damage| damage.to_string())?;
        Ok(micros)
    };
    // The first time, the system fills its page cache.
    median(times.iter().map(seek))?;
    let seek = median(times.iter().map(seek))?;
    println!("{open} {memory} {seek}");
    Ok(())
}

/// Plays a recording at full speed into nothing. `arguments` say how much of it, if not all.
pub(crate) fn play(path: &Path, messages: u64, arguments: &[&str]) -> Result<Vec<Cost>, Failure> {
    // The first time, the system fills its page cache.
    play_once(path, arguments)?;
    let before = seconds_of_children()?;
    let mut runs = 0;
    let mut peak = 0.0;
    while runs < RUNS && seconds_of_children()? - before < ENOUGH {
        peak = f64::max(peak, play_once(path, arguments)?);
        runs += 1;
    }
    let seconds = (seconds_of_children()? - before) / f64::from(runs);
    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
    let for_each = seconds * 1e6 / messages as f64;
    Ok(vec![
        Cost::new("processor time", for_each, "µs/msg"),
        Cost::new(PLAYING, peak, "MiB"),
    ])
}

/// The result is the most memory that the process had when it was looked at.
#[expect(
    clippy::disallowed_methods,
    reason = "it looks again and again while the process runs"
)]
fn play_once(path: &Path, arguments: &[&str]) -> Result<f64, Failure> {
    let mut process = Command::new(env!("CARGO_BIN_EXE_play"))
        .arg(path)
        .args(["--wire", "null", "--rate", "max"])
        .args(arguments)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let id = process.id().to_string();
    let mut peak = 0.0;
    let ended = loop {
        if let Some(ended) = process.try_wait()? {
            break ended;
        }
        peak = status(&id, "VmHWM:").unwrap_or(peak);
        std::thread::sleep(Duration::from_millis(2));
    };
    if ended.success() {
        Ok(peak)
    } else {
        Err(format!("play ended with {ended}").into())
    }
}

/// A line of the status of a process, in MiB.
fn status(process: &str, name: &str) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// The processor time of all processes that this one started and that have ended.
fn seconds_of_children() -> Result<f64, Failure> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields = text.rsplit(')').next().ok_or("a name in brackets")?;
    let ticks: Vec<f64> = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

fn median(values: impl Iterator<Item = Result<f64, Failure>>) -> Result<f64, Failure> {
    let mut values: Vec<f64> = values.collect::<Result<_, _>>()?;
    values.sort_by(f64::total_cmp);
    Ok(values.get(values.len() / 2).copied().unwrap_or(f64::NAN))
}
