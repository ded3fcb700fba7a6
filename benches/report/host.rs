//! The machine and its load, from `/proc`. What it does not tell is left out.

use std::fs::read_to_string;
use std::process::Command;
use std::time::Instant;

use super::figure::{Machine, Meanwhile, rounded};

/// A reading of the counters of the system.
pub(super) struct Load {
    at: Instant,
    average: f64,
    /// Processor time that was stolen, and all processor time, in ticks.
    stolen: Option<[f64; 2]>,
    /// For how many microseconds a thread has waited for a processor.
    waited: Option<f64>,
}

impl Load {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
    pub(super) fn now() -> Self {
        Self {
            at: Instant::now(),
            average: average().unwrap_or(f64::NAN),
            stolen: stolen(),
            waited: waited(),
        }
    }

    /// What happened from this reading to a later one.
    pub(super) fn until(&self, end: &Self) -> Meanwhile {
        let seconds = end.at.duration_since(self.at).as_secs_f64();
        let stolen = self.stolen.zip(end.stolen);
        let waited = self.waited.zip(end.waited);
        Meanwhile {
            seconds: rounded(seconds),
            load: [self.average, end.average],
            steal_percent: stolen
                .map(|([s, a], [stolen, all])| rounded(100.0 * (stolen - s) / (all - a).max(1.0))),
            waiting_percent: waited.map(|(a, b)| rounded((b - a) / 1e4 / seconds)),
        }
    }
}

fn average() -> Option<f64> {
    let text = read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

fn stolen() -> Option<[f64; 2]> {
    let text = read_to_string("/proc/stat").ok()?;
    let ticks = text.lines().next()?.split_whitespace().skip(1);
    // After the eighth, guests are counted that the first two have already.
    let ticks: Vec<f64> = ticks.take(8).map_while(|it| it.parse().ok()).collect();
    Some([*ticks.get(7)?, ticks.iter().sum()])
}

fn waited() -> Option<f64> {
    let text = read_to_string("/proc/pressure/cpu").ok()?;
    let (_, total) = text.lines().next()?.rsplit_once("total=")?;
    total.parse().ok()
}

pub(super) fn machine() -> Machine {
    let after = |path: &str, key: &str| -> Option<String> {
        let text = read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let kib = after("/proc/meminfo", "MemTotal").and_then(|it| it.split(' ').next()?.parse().ok());
    let kernel = read_to_string("/proc/sys/kernel/osrelease");
    Machine {
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        processor: after("/proc/cpuinfo", "model name").unwrap_or_default(),
        memory_gib: kib.map_or(0.0, |kib: f64| (kib / f64::from(1 << 20)).round()),
        kernel: kernel.unwrap_or_default().trim().to_owned(),
    }
}

pub(super) fn commit() -> String {
    let described = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=10"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let text = described.ok().filter(|it| it.status.success());
    let text = text.and_then(|it| String::from_utf8(it.stdout).ok());
    text.map_or("unknown".to_owned(), |text| text.trim().to_owned())
}
