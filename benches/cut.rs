//! How long a cut of a whole recording takes, compared with a copy of its file.
//!
//! `cargo bench --bench cut [-- MB]` (default 500) writes recordings of about that size, whose chunks have different
//! sizes, to `$BAGPLAY_BENCH_DIR` or a temporary directory. It copies and cuts each in turns, to the same directory.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod recording;
mod report;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bagplay::bag::Bag;
use bagplay::cut::{CopiedChunks, Cut, CutOutcome};
use report::{Figure, Report};

const TURNS: usize = 7;
/// The size of a message in bytes.
const MESSAGE: usize = 4_000;
/// The sizes of chunks in bytes: small ones, those of another recorder, and the usual size of rosbag2.
const CHUNKS: [(u64, &str); 3] = [
    (20_000, "chunks of 20 kB"),
    (160_000, "chunks of 160 kB"),
    (768 << 10, "chunks of 768 KiB"),
];

fn main() -> Result<()> {
    let mut report = Report::begin("cut");
    let megabytes = std::env::args().find_map(|arg| arg.parse().ok());
    let bytes = megabytes.unwrap_or(500_u64) * 1_000_000;
    let temporary = tempfile::tempdir()?;
    let dir = std::env::var_os("BAGPLAY_BENCH_DIR").map_or(temporary.path().into(), PathBuf::from);
    let (original, made) = (dir.join("original.mcap"), dir.join("made.mcap"));
    for (chunk, name) in CHUNKS {
        recording::write_sized(&original, bytes / MESSAGE as u64, MESSAGE, chunk)?;
        let size = fs::metadata(&original)?.len();
        let (mut copying, mut cutting, mut checking) = (Vec::new(), Vec::new(), Vec::new());
        // The first turn brings the original into the page cache.
        for turn in 0..=TURNS {
            for (seconds, make) in [
                (&mut copying, copy as fn(&Path, &Path) -> Result<()>),
                (&mut cutting, cut_as_it_is),
                (&mut checking, cut_checked),
            ] {
                let begun = Instant::now();
                make(&original, &made)?;
                if turn > 0 {
                    seconds.push(begun.elapsed().as_secs_f64());
                }
                fs::remove_file(&made)?;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a size for a figure")]
        let speed = |seconds| size as f64 / 1e6 / median(seconds);
        let (copying, cutting) = (speed(copying), speed(cutting));
        let checking = speed(checking);
        println!(
            "{name}: copy {copying:.0} MB/s, cut {cutting:.0} MB/s, ratio {:.2}, \
             with --check {checking:.0} MB/s",
            cutting / copying
        );
        report.add(Figure::compared(name, "copy", copying, "MB/s"));
        let figure = Figure::higher(name, "cut", cutting, "MB/s");
        report.add(figure.against("limit: copy", copying));
        report.add(Figure::higher(name, "cut --check", checking, "MB/s"));
    }
    fs::remove_file(original)?;
    Ok(report.write()?)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)?;
    Ok(())
}

fn cut_as_it_is(from: &Path, to: &Path) -> Result<()> {
    cut(from, to, CopiedChunks::Unchecked)
}

fn cut_checked(from: &Path, to: &Path) -> Result<()> {
    cut(from, to, CopiedChunks::Checked)
}

/// Cuts all of it; every chunk has to be copied as it is.
fn cut(from: &Path, to: &Path, chunks: CopiedChunks) -> Result<()> {
    let bag = Bag::open(&[from])?;
    let whole = Cut {
        chunks,
        ..Cut::new(&bag, bag.range().context("no messages")?)
    };
    let outcome = whole.write(&bag, to, &mut |_| ControlFlow::Continue(()))?;
    let CutOutcome::Written(written) = outcome else {
        anyhow::bail!("nothing was written");
    };
    ensure!(written.new_chunks == 0, "not all chunks were copied");
    Ok(())
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}
