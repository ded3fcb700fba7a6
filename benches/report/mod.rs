//! The figures of a benchmark, kept for the summary.
//!
//! A benchmark begins a [`Report`], adds its figures, and writes it at its end to `<bench>.json` in a folder: that of
//! the variable `BAGPLAY_BENCH_FIGURES`, or `bench` in the target directory. A file is replaced as a whole, so that it
//! holds the figures of one run. `z_summary` reads all of them.

#![allow(dead_code, unused_imports, reason = "each benchmark uses a part of it")]

mod figure;
mod host;

use std::path::{Path, PathBuf};

pub(crate) use figure::{
    Better, Figure, Machine, Meanwhile, Reference, Run, Series, Summary, rounded,
};

/// The shares of messages of which plots of lateness show the lateness.
pub(crate) const QUANTILES: [f64; 11] = [
    0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999,
];

/// A benchmark that runs.
pub(crate) struct Report {
    bench: String,
    figures: Vec<Figure>,
    series: Vec<Series>,
    /// As it is at the begin: a benchmark may leave processors to other processes.
    machine: Machine,
    begun: host::Load,
}

impl Report {
    /// `bench` is the name of the benchmark. If it was started to measure something else than usual, a word follows
    /// after `-`.
    pub(crate) fn begin(bench: &str) -> Self {
        Self {
            bench: bench.to_owned(),
            figures: Vec::new(),
            series: Vec::new(),
            machine: host::machine(),
            begun: host::Load::now(),
        }
    }

    pub(crate) fn add(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    pub(crate) fn draw(&mut self, series: Series) {
        self.series.push(series);
    }

    /// Writes the file of this benchmark.
    pub(crate) fn write(self) -> std::io::Result<()> {
        let arguments = std::env::args().skip(1);
        let run = Run {
            // Cargo adds `--bench`. Names of folders are of no interest to others.
            arguments: arguments
                .filter(|it| it != "--bench" && !it.contains('/'))
                .collect(),
            when: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            commit: host::commit(),
            machine: self.machine,
            meanwhile: self.begun.until(&host::Load::now()),
            bench: self.bench,
            // JSON has no such numbers.
            figures: self
                .figures
                .into_iter()
                .filter(|it| it.value.is_finite())
                .collect(),
            series: self.series,
        };
        write_json(&folder().join(format!("{}.json", run.bench)), &run)
    }
}

/// Where the files of all benchmarks are.
pub(crate) fn folder() -> PathBuf {
    let of_target = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
    std::env::var_os("BAGPLAY_BENCH_FIGURES").map_or_else(of_target, PathBuf::from)
}

/// Writes a file in one step: whoever reads it finds all of it, or what was there before.
pub(crate) fn write_json(path: &Path, value: &impl serde::Serialize) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)?;
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    let written = path.with_extension("json.new");
    std::fs::write(&written, text)?;
    std::fs::rename(written, path)
}
