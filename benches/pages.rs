//! Two ways to read chunks that are not compressed: `pread` into a buffer, as the player does, and a mapping of the file.
//!
//! `cargo bench --bench pages [-- MEGABYTES]`. Reads a file of this size (1,000 without a number) in chunks of 4 MiB and
//! copies each in pieces of 64 KiB, as a link does. In turns: with all of the file in the page cache, and with nothing
//! of it there, as on a machine that is short of memory. Prints gigabytes a second, and the processor time of the
//! thread.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod report;
mod timed;

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::time::Instant;

use memmap2::{Advice, Mmap};
use report::{Figure, Report};
use rustix::fs::{Advice as Cached, fadvise};
use rustix::time::ClockId;
use timed::processor_nanos;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const TURNS: usize = 5;
const CHUNK: usize = 4 << 20;
const PIECE: usize = 64 << 10;

/// Reads a whole file of a length and copies it into the buffer of a link.
type Way = fn(&File, usize, &mut [u8]) -> Result<(), Failure>;

const WAYS: [(&str, Way); 2] = [("pread", by_pread), ("mapping", by_mapping)];

fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let megabytes: usize = words.find_map(|word| word.parse().ok()).unwrap_or(1_000);
    let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR"))?;
    let chunks = (megabytes << 20).div_ceil(CHUNK);
    let chunk: Vec<u8> = (0..CHUNK)
        .map(|at| u8::try_from(at % 251).unwrap_or(0))
        .collect();
    for _ in 0..chunks {
        file.write_all(&chunk)?;
    }
    // Pages that are not written yet would stay in the cache.
    file.sync_all()?;
    let mut report = Report::begin("pages");
    println!("chunks of 4 MiB, {megabytes} MiB, median of {TURNS} turns");
    for (row, is_cached) in [("in the page cache", true), ("on the disk", false)] {
        let mut turns = WAYS.map(|_| Vec::new());
        for _ in 0..TURNS {
            for ((_, way), turns) in WAYS.iter().zip(&mut turns) {
                turns.push(turn(&file, chunks * CHUNK, *way, is_cached)?);
            }
        }
        let figures = turns.map(|turns| {
            let (rates, seconds): (Vec<f64>, Vec<f64>) = turns.into_iter().unzip();
            (median(rates), median(seconds))
        });
        let [(pread, pread_spent), (mapping, mapping_spent)] = figures;
        for ((name, _), (rate, spent)) in WAYS.iter().zip(figures) {
            println!(
                "{row:<20} {name:<8} {rate:>8.2} GB/s {spent:>8.3} s of processor time per GB"
            );
        }
        report.add(Figure::compared(row, "mapping", mapping, "GB/s"));
        report.add(Figure::higher(row, "pread", pread, "GB/s").against("a mapping", mapping));
        let (mapped, read) = ("mapping, processor time", "pread, processor time");
        report.add(Figure::compared(row, mapped, mapping_spent, "s/GB"));
        let figure = Figure::lower(row, read, pread_spent, "s/GB");
        report.add(figure.against("a mapping", mapping_spent));
    }
    Ok(report.write()?)
}

/// Gigabytes a second, and seconds of processor time for each gigabyte.
#[expect(
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark measures wall time"
)]
fn turn(file: &File, length: usize, way: Way, is_cached: bool) -> Result<(f64, f64), Failure> {
    let mut link = vec![0; PIECE];
    if is_cached {
        way(file, length, &mut link)?;
    } else {
        fadvise(file, 0, None, Cached::DontNeed)?;
    }
    let (began, before) = (Instant::now(), processor_nanos(ClockId::ThreadCPUTime));
    way(file, length, &mut link)?;
    let spent = processor_nanos(ClockId::ThreadCPUTime) - before;
    let gigabytes = length as f64 / 1e9;
    let rate = gigabytes / began.elapsed().as_secs_f64();
    Ok((rate, spent as f64 / 1e9 / gigabytes))
}

fn by_pread(file: &File, length: usize, link: &mut [u8]) -> Result<(), Failure> {
    // The memory of a chunk is used again, as in the player.
    let mut chunk = vec![0; CHUNK];
    for at in (0..length).step_by(CHUNK) {
        file.read_exact_at(&mut chunk, at as u64)?;
        send(&chunk, link);
    }
    Ok(())
}

#[expect(
    unsafe_code,
    reason = "a file of this program alone is mapped, which nobody changes"
)]
fn by_mapping(file: &File, length: usize, link: &mut [u8]) -> Result<(), Failure> {
    // SAFETY: the file has no name, and nothing writes to it any more.
    let mapping = unsafe { Mmap::map(file) }?;
    mapping.advise(Advice::Sequential)?;
    for chunk in mapping[..length].chunks(CHUNK) {
        send(chunk, link);
    }
    Ok(())
}

fn send(chunk: &[u8], link: &mut [u8]) {
    for piece in chunk.chunks(link.len()) {
        link[..piece.len()].copy_from_slice(piece);
        std::hint::black_box(&mut *link);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
