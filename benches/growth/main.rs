//! What opening, seeking, memory and each message cost, against the size of the recording and the number of its topics,
//! its files and its subscribers.
//!
//! `cargo bench --bench growth -- [size] [topics] [splits] [subscribers] [MOST]` measures the parts that are named, or
//! all. `MOST` leaves out sizes above it: MB, topics, files, subscribers. Recordings of up to 50 GB are sparse files:
//! their index is real, and the payload of each message is a hole. They are written to a temporary folder and take up
//! to 400 MB of the disk.
//!
//! Each part prints a table, and for each cost its slope between the two largest sizes with both axes logarithmic: 0 is
//! a cost that does not depend on the size, 1 one that is proportional to it.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod curve;
mod process;
mod recording;
#[path = "../report/mod.rs"]
mod report;
mod subscribers;
#[path = "../timed/mod.rs"]
mod timed;

use std::path::Path;

use curve::Curves;
use report::Report;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const MEGABYTES: [u64; 6] = [1, 10, 100, 1_000, 10_000, 50_000];
const TOPICS: [u64; 5] = [1, 10, 100, 1_000, 10_000];
const SPLITS: [u64; 4] = [1, 10, 100, 1_000];
const SUBSCRIBERS: [u64; 4] = [1, 10, 100, 500];
const SESSIONS: [u64; 4] = [1, 5, 10, 20];

/// Messages of a recording with many topics or files.
const MESSAGES: u64 = 200_000;

/// Messages of a megabyte that are played, from the begin of a large recording.
const PLAYED: u64 = 1_000;
/// From the first of them to the last.
const PLAYED_SPAN: &str = "999ms";

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, path] = arguments.as_slice()
        && word == process::CHILD
    {
        return process::child(Path::new(path));
    }
    let most = arguments.iter().find_map(|word| word.parse().ok());
    let chosen = |part: &str| {
        let parts = ["size", "topics", "splits", "subscribers"];
        let is_named = |word: &String| parts.contains(&word.as_str());
        !arguments.iter().any(is_named) || arguments.iter().any(|word| word == part)
    };
    let is_part = arguments.iter().any(|word| word != "--bench");
    let mut report = Report::begin(if is_part { "growth-part" } else { "growth" });
    let sizes = |all: &[u64]| -> Vec<u64> {
        let kept = all
            .iter()
            .filter(|size| most.is_none_or(|most| **size <= most));
        kept.copied().collect()
    };
    if chosen("size") {
        recordings("size", &sizes(&MEGABYTES), &mut report, &|folder, size| {
            recording::sparse(&folder.join("sparse.mcap"), size)
        })?;
    }
    if chosen("topics") {
        recordings("topics", &sizes(&TOPICS), &mut report, &|folder, topics| {
            recording::write(folder, topics, 1, MESSAGES)
        })?;
    }
    if chosen("splits") {
        recordings("splits", &sizes(&SPLITS), &mut report, &|folder, files| {
            recording::write(folder, 10, files, MESSAGES)
        })?;
    }
    if chosen("subscribers") {
        let dir = tempfile::tempdir()?;
        recording::write(dir.path(), 1, 1, subscribers::MESSAGES)?;
        for (part, counts) in [
            ("subscribers", sizes(&SUBSCRIBERS)),
            ("sessions", sizes(&SESSIONS)),
        ] {
            let mut curves = Curves::new(part);
            for count in counts {
                let is_one_session = part == "subscribers";
                let costs = subscribers::measure(dir.path(), count, is_one_session)?;
                curves.add(count, &costs);
            }
            curves.finish(&mut report);
        }
    }
    Ok(report.write()?)
}

/// Measures recordings of several sizes. `write` writes one to a folder and tells its number of messages.
fn recordings(
    part: &'static str,
    sizes: &[u64],
    report: &mut Report,
    write: &dyn Fn(&Path, u64) -> Result<u64, Failure>,
) -> Result<(), Failure> {
    let mut curves = Curves::new(part);
    for size in sizes {
        let dir = tempfile::tempdir()?;
        let messages = write(dir.path(), *size)?;
        let mut costs = process::open(dir.path())?;
        let (messages, part_of_it) = match part {
            "size" => (
                messages.min(PLAYED),
                ["--playback-duration", PLAYED_SPAN].as_slice(),
            ),
            _ => (messages, [].as_slice()),
        };
        costs.extend(process::play(dir.path(), messages, part_of_it)?);
        curves.add(*size, &costs);
    }
    curves.finish(report);
    Ok(())
}
