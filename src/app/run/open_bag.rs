//! Opens recordings: shows progress if that takes long, and reports what is wrong with them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bagplay::bag::{Bag, MessageOrder, Opening, Progress};
use bagplay::cli::{Exit, Findings};

use crate::app::failure::{Failure, OrExit};
use crate::app::headless::slow_work::SlowWork;
use crate::app::log::LogTarget;

/// The progress bar.
const BAR: &str = "reading through {wide_msg} [{bar:20}] {bytes} / {total_bytes}";

/// Opens recordings in a given order.
pub(crate) fn open(
    paths: &[PathBuf],
    order: MessageOrder,
    log_target: &LogTarget,
) -> Result<Bag, Failure> {
    let work = SlowWork::begin(log_target, BAR);
    let show = |progress: Progress<'_>| {
        let file = progress.file;
        let line = || format!("reading through {file}");
        work.show(progress.done, progress.of, || file.to_string(), line);
    };
    let opening = Opening {
        order,
        progress: Some(&show),
    };
    let bag = Bag::open_with(paths, &opening);
    drop(work);
    let bag = bag.or_exit(Exit::Recording)?;
    for note in bag.notes() {
        tracing::warn!("{note}");
    }
    if let Some(file) = bag.compressed_by_message() {
        let error = anyhow::anyhow!(
            "{file}: rosbag2 compressed each message with zstd (compression_mode MESSAGE), which is not supported; \
             hint: `ros2 bag convert` writes a recording without that"
        );
        return Err(Failure::new(Exit::Recording, error));
    }
    let mut named = BTreeSet::new();
    for file in bag.files() {
        if !named.insert(&file.identity) {
            tracing::warn!(
                "{}: given twice, so each of its messages counts twice",
                file.name
            );
        }
    }
    Ok(bag)
}

/// Reports the damage that was found while opening.
pub(crate) fn warn(bag: &Bag) {
    for finding in Findings::of(bag.damage()).list() {
        tracing::warn!("{finding}");
    }
}
