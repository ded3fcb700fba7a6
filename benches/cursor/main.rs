//! How fast recordings open, seek and play, compared with bare decompression of the same chunks.
//!
//! `cargo bench --bench cursor -- [MB]…` (default 100 and 4000) writes synthetic recordings of about
//! that size to `$BAGPLAY_BENCH_DIR` or a temporary directory and prints everything in one run. Each is written with
//! and without message indexes; jumps that give latched topics their state are compared between the sizes.
//! Directories of which nearly all listed parts are missing are opened, too: the time per part must not grow with their
//! number.
//! `BAGPLAY_BENCH_COMPRESSION` is `zstd`, `lz4` or `none`; by default everything is measured with zstd and reading also
//! with lz4.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
#![expect(clippy::cast_precision_loss, reason = "prints rates")]

mod recording;
#[path = "../report/mod.rs"]
mod report;

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bagplay::bag::{Bag, CueAt, CuePoll, Cued, Cues, Direction, Selection, StartAt, Waker};
use bagplay::cli::Findings;
use bagplay::time::{Time, TimeRange};
use crossbeam_channel::{Receiver, bounded};
use mcap::Compression;
use mcap::records::op;
use recording::{Noise, compressions, write};
use report::{Figure, Report};

const SEEKS: usize = 300;
/// How often a file is opened, and how often a large one is read. An odd number.
const TURNS: usize = 5;
/// How often a file below a gigabyte is read: one turn takes a few tens of milliseconds.
const MORE_TURNS: usize = 25;

fn main() -> Result<()> {
    let mut report = Report::begin("cursor");
    let sizes: Vec<u64> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![100, 4000]
    } else {
        sizes
    };
    let temporary = tempfile::tempdir()?;
    let dir = std::env::var_os("BAGPLAY_BENCH_DIR").map_or(temporary.path().into(), PathBuf::from);
    let (first, rest) = {
        let mut all = compressions()?.into_iter();
        (all.next().and_then(|(_, it)| it), all)
    };
    let mut medians = [Vec::new(), Vec::new()];
    for megabytes in sizes {
        for (medians, is_indexed) in medians.iter_mut().zip([true, false]) {
            let kind = if is_indexed { "" } else { "-unindexed" };
            let path = dir.join(format!("bench-{megabytes}{kind}.mcap"));
            write(&path, megabytes * 1_000_000, is_indexed, first)?;
            println!(
                "{} MB: {}",
                File::open(&path)?.metadata()?.len() / 1_000_000,
                path.to_string_lossy()
            );
            let row = format!("{megabytes} MB");
            let mut of_file = |figure: Figure| report.add(figure);
            if is_indexed {
                measure(&path, &row, &mut of_file)?;
                medians.push(jumps(&path, &row, &mut of_file)?);
            } else {
                let row = format!("{row}, without message indexes");
                medians.push(jumps(&path, &row, &mut of_file)?);
            }
            std::fs::remove_file(path)?;
        }
        for (name, compression) in rest.clone() {
            let path = dir.join(format!("bench-{megabytes}-{name}.mcap"));
            write(&path, megabytes * 1_000_000, true, compression)?;
            println!("{megabytes} MB, {name}: {}", path.to_string_lossy());
            let row = format!("{megabytes} MB, {name}");
            throughput(&path, &Bag::open(&[&path])?, &row, &mut |figure| {
                report.add(figure);
            })?;
            std::fs::remove_file(path)?;
        }
    }
    for (medians, kind) in medians.iter().zip(["with", "without"]) {
        if let (Some(first), Some(last)) = (medians.first(), medians.last()) {
            let ratio = last / first;
            println!("jumps {kind} message indexes, last size to first: {ratio:.2}");
            let row = format!("jumps {kind} message indexes");
            report.add(Figure::lower(&row, "last size to first", ratio, "×"));
        }
    }
    missing_parts(&mut report)?;
    Ok(report.write()?)
}

fn measure(path: &Path, row: &str, add: &mut impl FnMut(Figure)) -> Result<()> {
    let started = Instant::now();
    let bag = Bag::open(&[path])?;
    let first = millis(started);
    let mut opened = Vec::new();
    for _ in 0..TURNS {
        let started = Instant::now();
        Bag::open(&[path])?;
        opened.push(millis(started));
    }
    opened.sort_by(f64::total_cmp);
    let opened = opened[TURNS / 2];
    println!(
        "  first open {first:.2} ms, then {opened:.2} ms, {} chunks",
        bag.files()[0].chunks
    );
    add(Figure::lower(row, "first open", first, "ms"));
    add(Figure::lower(row, "open", opened, "ms"));

    throughput(path, &bag, row, add)?;
    let all = Selection::all(&bag);
    let range = bag.range().context("there are messages")?;
    let span = u64::try_from(range.duration().as_nanos())?;
    let mut noise = Noise(42);
    let mut times = Vec::new();
    for _ in 0..SEEKS {
        let time = Time::from_mcap(range.start().to_mcap() + noise.next() % span.max(1));
        let started = Instant::now();
        let first = bag
            .cursor(&all, StartAt::At(time), Direction::Forward)
            .next();
        times.push(millis(started));
        first
            .context("there is a message")?
            .map_err(|it| anyhow::anyhow!("{it}"))?;
    }
    times.sort_by(f64::total_cmp);
    let (p50, p99) = (times[SEEKS / 2], times[SEEKS * 99 / 100]);
    println!("  seek p50 {p50:.2} ms, p99 {p99:.2} ms");
    add(Figure::lower(row, "seek p50", p50, "ms"));
    add(Figure::lower(row, "seek p99", p99, "ms"));
    Ok(())
}

/// How fast the whole recording is read, in MB a second of decompressed data: medians of [`TURNS`] or [`MORE_TURNS`]
/// turns.
fn throughput(path: &Path, bag: &Bag, row: &str, add: &mut impl FnMut(Figure)) -> Result<()> {
    let all = Selection::all(bag);
    let (file, chunks) = (File::open(path)?, chunks(path)?);
    let is_large = file.metadata()?.len() > 1_000_000_000;
    let count = if is_large { TURNS } else { MORE_TURNS };
    let mut turns: Vec<Vec<(String, f64)>> = Vec::new();
    for _ in 0..count {
        let mut rates = Vec::new();
        let mut measure = |what: String, read: &mut dyn FnMut() -> Result<usize>| {
            let started = Instant::now();
            let bytes = read()?;
            let rate = bytes as f64 / 1e6 / started.elapsed().as_secs_f64();
            rates.push((what, rate));
            anyhow::Ok(())
        };
        measure("decompression".to_owned(), &mut || {
            decompress(&file, &chunks, 1)
        })?;
        measure("decompression, two threads".to_owned(), &mut || {
            decompress(&file, &chunks, 2)
        })?;
        for (direction, from) in [
            (Direction::Forward, StartAt::At(Time::MIN)),
            (Direction::Reverse, StartAt::At(Time::MAX)),
        ] {
            measure(format!("cursor {direction:?}"), &mut || {
                let mut walked = 0;
                for message in bag.cursor(&all, from, direction) {
                    let message = message.map_err(|damage| anyhow::anyhow!("{damage}"))?;
                    walked += message.payload.len();
                }
                Ok(walked)
            })?;
            measure(format!("cue {direction:?}"), &mut || {
                cue(bag, from, direction)
            })?;
        }
        turns.push(rates);
    }
    let rates = (0..turns[0].len()).map(|at| {
        let mut rates: Vec<f64> = turns.iter().map(|turn| turn[at].1).collect();
        rates.sort_by(f64::total_cmp);
        (turns[0][at].0.as_str(), rates[count / 2])
    });
    let mut bare = None;
    for (what, rate) in rates {
        let limit = *bare.get_or_insert(rate);
        println!(
            "  {what} {rate:.0} MB/s, {:.2} of decompression",
            rate / limit
        );
        let figure = if what.starts_with("decompression") {
            Figure::compared(row, what, rate, "MB/s")
        } else {
            Figure::higher(row, what, rate, "MB/s")
        };
        add(if what == "decompression" {
            figure
        } else {
            figure.against("limit: decompression", limit)
        });
    }
    Ok(())
}

/// Jumps to random places as the player does, until the first message: the median in milliseconds.
fn jumps(path: &Path, row: &str, add: &mut impl FnMut(Figure)) -> Result<f64> {
    let (mut immediate, span) = jumper(path)?;
    let first = immediate(span - 1)?.millis;
    drop(immediate);
    // The same on a bag that was opened again, after the look-up in the background.
    let (mut jump, _) = jumper(path)?;
    let started = Instant::now();
    while jump(0)?.is_learning {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let learned = millis(started);
    let prepared = jump(span - 1)?.millis;
    let mut noise = Noise(42);
    let mut times = Vec::new();
    for _ in 0..SEEKS {
        times.push(jump(noise.next() % span)?.millis);
    }
    times.sort_by(f64::total_cmp);
    let (p50, p99) = (times[SEEKS / 2], times[SEEKS * 99 / 100]);
    println!(
        "  jump with latched topics: first to the end {first:.1} ms at once, {prepared:.1} ms after the look-up in the \
         background ({learned:.0} ms), then p50 {p50:.2} ms, p99 {p99:.2} ms"
    );
    for (column, millis) in [
        ("first jump at once", first),
        ("first jump after the look-up", prepared),
        ("the look-up takes", learned),
        ("later jumps p50", p50),
        ("later jumps p99", p99),
    ] {
        add(Figure::lower(row, column, millis, "ms"));
    }
    Ok(p50)
}

/// The figures of one jump.
struct Jumped {
    millis: f64,
    /// Whether latched messages are still being looked up in the background.
    is_learning: bool,
}

/// Jumps on a bag of its own, by nanoseconds from its start. The second value is the length of the recording.
fn jumper(path: &Path) -> Result<(impl FnMut(u64) -> Result<Jumped> + use<>, u64)> {
    let bag = Bag::open(&[path])?;
    let range = bag.range().context("there are messages")?;
    let span = u64::try_from(range.duration().as_nanos())?;
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), Selection::all(&bag), 64 << 20, wake);
    let jump = move |offset: u64| {
        let from = StartAt::At(Time::from_mcap(range.start().to_mcap() + offset));
        let started = Instant::now();
        let mut cue = cues.start(CueAt {
            from,
            direction: Direction::Forward,
            range: TimeRange::ALL,
            refill: true,
            only: None,
        });
        loop {
            match cue.poll() {
                CuePoll::Item(Cued::Refill(_)) => {}
                CuePoll::Item(Cued::Message(_)) => {
                    return Ok(Jumped {
                        millis: millis(started),
                        is_learning: cues.is_learning(),
                    });
                }
                CuePoll::Item(Cued::Damage(damage)) => bail!("{damage}"),
                CuePoll::Pending => woken.recv()?,
                CuePoll::End => bail!("no message"),
            }
        }
    };
    Ok((jump, span))
}

/// Reads and decompresses every chunk. Each thread takes the next chunk when it is ready. Returns the size of the
/// decompressed data in bytes.
fn decompress(file: &File, chunks: &[(u64, usize)], threads: usize) -> Result<usize> {
    let next = AtomicUsize::new(0);
    let run = || -> Result<usize> {
        let mut buffers = Buffers::default();
        let mut zstd = zstd::bulk::Decompressor::new()?;
        let mut total = 0;
        while let Some(&chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
            total += decompress_chunk(file, chunk, &mut zstd, &mut buffers)?;
        }
        Ok(total)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut total = run()?;
        for other in others {
            total += other
                .join()
                .map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        Ok(total)
    })
}

/// The chunks of a file: where the content of the record begins, and its length.
fn chunks(path: &Path) -> Result<Vec<(u64, usize)>> {
    let file = File::open(path)?;
    let (mut chunks, mut at, mut frame) = (Vec::new(), 8, [0; 9]);
    loop {
        file.read_exact_at(&mut frame, at)?;
        let length = u64::from_le_bytes(frame[1..].try_into()?);
        match frame[0] {
            op::DATA_END => return Ok(chunks),
            op::CHUNK => chunks.push((at + 9, usize::try_from(length)?)),
            _ => {}
        }
        at += 9 + length;
    }
}

#[derive(Default)]
struct Buffers {
    chunk: Vec<u8>,
    out: Vec<u8>,
}

/// Reads and decompresses one chunk. Returns the size of its data in bytes.
fn decompress_chunk(
    file: &File,
    (at, length): (u64, usize),
    zstd: &mut zstd::bulk::Decompressor<'_>,
    Buffers { chunk, out }: &mut Buffers,
) -> Result<usize> {
    chunk.resize(length, 0);
    file.read_exact_at(chunk, at)?;
    let size = usize::try_from(u64::from_le_bytes(chunk[16..24].try_into()?))?;
    let name = usize::try_from(u32::from_le_bytes(chunk[28..32].try_into()?))?;
    let (name, data) = (&chunk[32..32 + name], &chunk[32 + name + 8..]);
    out.clear();
    out.reserve(size);
    match name {
        b"zstd" => {
            zstd.decompress_to_buffer(data, out)?;
        }
        b"lz4" => {
            lz4_flex::frame::FrameDecoder::new(data).read_to_end(out)?;
        }
        _ => out.extend_from_slice(data),
    }
    Ok(out.len())
}

/// A waker for a read-ahead, and the channel in which its calls arrive.
fn waker() -> (Waker, Receiver<()>) {
    let (wake, woken) = bounded(1);
    let waker: Waker = Arc::new(move || {
        let _ = wake.try_send(());
    });
    (waker, woken)
}

fn cue(bag: &Bag, from: StartAt, direction: Direction) -> Result<usize> {
    let (wake, woken) = waker();
    let mut cues = Cues::new(bag.clone(), Selection::all(bag), 64 << 20, wake);
    let mut cue = cues.start(CueAt {
        from,
        direction,
        range: TimeRange::ALL,
        refill: false,
        only: None,
    });
    let mut bytes = 0;
    loop {
        match cue.poll() {
            CuePoll::Item(Cued::Message(message)) => bytes += message.payload.len(),
            CuePoll::Item(other) => bail!("{other:?}"),
            CuePoll::Pending => woken.recv()?,
            CuePoll::End => return Ok(bytes),
        }
    }
}

fn millis(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e3
}

/// Opens directories whose `metadata.yaml` lists many parts, of which only the first is there, and folds the damage
/// into findings.
fn missing_parts(report: &mut Report) -> Result<()> {
    let mut each = Vec::new();
    for parts in [2_000, 20_000] {
        let dir = tempfile::tempdir()?;
        write(
            &dir.path().join("r_0.mcap"),
            1_000_000,
            true,
            Some(Compression::Zstd),
        )?;
        let names: Vec<String> = (0..parts).map(|i| format!("r_{i}.mcap")).collect();
        let listing = format!(
            "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n  relative_file_paths: [{}]\n",
            names.join(", ")
        );
        std::fs::write(dir.path().join("metadata.yaml"), listing)?;
        let started = Instant::now();
        let bag = Bag::open(&[dir.path()])?;
        let findings = Findings::of(bag.damage());
        let spent = millis(started);
        if findings.total() != parts - 1 || findings.list().len() != 1 {
            bail!("{} findings of {parts} parts", findings.total());
        }
        println!("open with {parts} parts, all but one missing: {spent:.1} ms");
        let row = format!("{parts} parts, all but one missing");
        report.add(Figure::lower(&row, "open", spent, "ms"));
        each.push(spent / parts as f64);
    }
    if let [few, many] = each[..] {
        println!(
            "missing parts, time per part, 20,000 to 2,000: {:.2}",
            many / few
        );
    }
    Ok(())
}
