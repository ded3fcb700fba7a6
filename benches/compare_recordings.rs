//! How long the comparison of two recordings takes, compared with reading both.
//!
//! `cargo bench --bench compare_recordings -- [MB]` (default 1000) writes pairs of recordings of about that size, in
//! raw bytes, to `$BAGPLAY_BENCH_DIR` or a temporary directory: images, clouds of points, imu and transforms. For each
//! pair, and in the same run, it reads one after the other, compares them, and prints the ratio: with equal recordings,
//! with recordings of which each message differs in one value, and with clouds of which each coordinate differs, within
//! a tolerance and beyond. `BAGPLAY_BENCH_COMPRESSION` is `zstd` (default) or `none`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod report;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use bagplay::bag::{Bag, Direction, Selection, StartAt};
use bagplay::ci::judge::compare::{Rules, compare};
use bagplay::time::Time;
use mcap::records::MessageHeader;
use mcap::{Compression, WriteOptions, Writer};
use report::{Figure, Report};

const HEADER: &str = "================================================================================\nMSG: std_msgs/Header\n\
    builtin_interfaces/Time stamp\nstring frame_id\n\
    ================================================================================\nMSG: builtin_interfaces/Time\n\
    int32 sec\nuint32 nanosec\n";

/// How a recording differs from the reference.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Change {
    None,
    /// One value of each message.
    OneValue,
    /// Each coordinate of each cloud.
    Coordinates,
}

fn main() -> Result<()> {
    let mut report = Report::begin("compare_recordings");
    let megabytes = std::env::args().find_map(|arg| arg.parse().ok());
    let bytes = megabytes.unwrap_or(1000_usize) * 1_000_000;
    let temporary = tempfile::tempdir()?;
    let dir = std::env::var_os("BAGPLAY_BENCH_DIR").map_or(temporary.path().into(), PathBuf::from);
    let (reference, run) = (dir.join("reference.mcap"), dir.join("run.mcap"));
    write(&reference, bytes, Change::None)?;
    let exact = "";
    let tolerant = "[[rule]]\nabsolute = 0.01\n";
    for (change, rules, name) in [
        (Change::None, exact, "equal"),
        (Change::OneValue, exact, "one value of each message differs"),
        (
            Change::Coordinates,
            exact,
            "each coordinate of each cloud differs",
        ),
        (
            Change::Coordinates,
            tolerant,
            "the same, within a tolerance",
        ),
    ] {
        write(&run, bytes, change)?;
        let rules = Rules::parse(rules, "bench")?;
        // Once before, so that both are in the page cache.
        for is_counted in [false, true] {
            let (a, b) = (Bag::open(&[&reference])?, Bag::open(&[&run])?);
            let started = Instant::now();
            let read = read(&a)? + read(&b)?;
            let reading = started.elapsed().as_secs_f64();
            let started = Instant::now();
            let comparison = compare(&a, &b, &rules)?;
            let comparing = started.elapsed().as_secs_f64();
            if is_counted {
                let different: u64 = comparison.topics.iter().map(|topic| topic.different).sum();
                println!(
                    "{change:?}, {} MB: reading both {reading:.2} s, comparing {comparing:.2} s, ratio {:.2}, {different} messages differ",
                    read / 1_000_000,
                    comparing / reading
                );
                let limit = "reading both";
                report.add(Figure::compared(name, limit, reading, "s"));
                let figure = Figure::lower(name, "comparing", comparing, "s");
                report.add(figure.against(&format!("limit: {limit}"), reading));
            }
        }
        std::fs::remove_file(&run)?;
    }
    std::fs::remove_file(reference)?;
    Ok(report.write()?)
}

fn read(bag: &Bag) -> Result<usize> {
    let all = Selection::all(bag);
    let mut bytes = 0;
    for message in bag.cursor(&all, StartAt::At(Time::MIN), Direction::Forward) {
        bytes += message
            .map_err(|damage| anyhow::anyhow!("{damage}"))?
            .payload
            .len();
    }
    Ok(bytes)
}

/// 30 Hz images of 1 MB with three noisy bits a byte, 10 Hz clouds of 100,000 points, 200 Hz imu, 100 Hz transforms.
fn write(path: &Path, bytes: usize, change: Change) -> Result<()> {
    let compression = match std::env::var("BAGPLAY_BENCH_COMPRESSION").as_deref() {
        Ok("none") => None,
        Ok("zstd") | Err(_) => Some(Compression::Zstd),
        Ok(other) => bail!("unknown compression {other}"),
    };
    let options = WriteOptions::new().compression(compression);
    let options = options.chunk_size(Some(768 << 10)).profile("ros2");
    let mut writer = Writer::with_options(BufWriter::new(File::create(path)?), options)?;
    let mut channel = |name, type_name, fields: &str| -> Result<u16> {
        let text = format!("std_msgs/Header header\n{fields}\n{HEADER}");
        let schema = writer.add_schema(type_name, "ros2msg", text.as_bytes())?;
        Ok(writer.add_channel(schema, name, "cdr", &[].into())?)
    };
    let image = channel("/image", "p/msg/Image", "uint32 width\nuint8[] data")?;
    let cloud = channel("/points", "p/msg/Cloud", "float32[] points")?;
    let imu = channel("/imu", "p/msg/Imu", "float64[37] values")?;
    let tf = channel("/tf", "p/msg/Tf", "string child\nfloat64[7] transform")?;
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise
    };
    let pixels: Vec<u8> = (0..130_000)
        .flat_map(|_| (next() & 0x0707_0707_0707_0707).to_le_bytes())
        .collect();
    let points: Vec<f32> = (0..300_000_u32)
        .map(|n| f32::from(u16::try_from(n % 60_000).unwrap_or(0)) * 0.001)
        .collect();
    let mut raw = 0;
    for tick in 0_u64.. {
        let stamp = tick * 5_000_000;
        let is_one = u8::from(change == Change::OneValue);
        let mut put = |id, body: &[u8]| -> Result<()> {
            let sec = u32::try_from(stamp / 1_000_000_000)?;
            let nanosec = u32::try_from(stamp % 1_000_000_000)?;
            let mut payload = vec![0, 1, 0, 0];
            payload.extend(sec.to_le_bytes());
            payload.extend(nanosec.to_le_bytes());
            payload.extend([4, 0, 0, 0, b'm', b'a', b'p', 0]);
            payload.extend(body);
            raw += payload.len();
            let header = MessageHeader {
                channel_id: id,
                sequence: 0,
                log_time: stamp,
                publish_time: stamp,
            };
            Ok(writer.write_to_known_channel(&header, &payload)?)
        };
        let mut values = vec![0_u8; 37 * 8];
        values[200] = is_one;
        put(imu, &values)?;
        if tick % 2 == 0 {
            let mut values = vec![4, 0, 0, 0, b'l', b'e', b'g', 0];
            values.extend([0_u8; 56]);
            values[40] = is_one;
            put(tf, &values)?;
        }
        if tick % 7 == 0 {
            let from = usize::try_from(tick % 1000)?;
            let mut body = 1000_u32.to_le_bytes().to_vec();
            body.extend(u32::try_from(pixels.len() - from)?.to_le_bytes());
            body.extend(&pixels[from..]);
            let last = body.len() - 1;
            body[last] ^= is_one;
            put(image, &body)?;
        }
        if tick % 20 == 0 {
            let added = if change == Change::Coordinates {
                0.001
            } else {
                0.0
            };
            let mut body = u32::try_from(points.len())?.to_le_bytes().to_vec();
            body.extend(points.iter().flat_map(|it| (it + added).to_le_bytes()));
            let last = body.len() - 4;
            body[last] ^= is_one;
            put(cloud, &body)?;
        }
        if raw > bytes {
            break;
        }
    }
    writer.finish()?;
    Ok(())
}
