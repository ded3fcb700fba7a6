//! Opens recordings: shows progress if that takes long, and reports what is wrong with them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bagplay::bag::{Bag, MessageOrder, Opening, Progress};
use bagplay::cli::{Exit, Findings};
use indicatif::{ProgressBar, ProgressStyle};

use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;

/// Progress is not shown before this time.
const PATIENCE: Duration = Duration::from_millis(300);
/// The interval of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Opens recordings in a given order.
pub(crate) fn open(
    paths: &[PathBuf],
    order: MessageOrder,
    log_target: &LogTarget,
) -> Result<Bag, Failure> {
    let watch = Watch {
        log_target,
        state: Mutex::new(State {
            began: now(),
            last_line: now(),
            bar: None,
        }),
    };
    let show = |progress: Progress<'_>| watch.show(progress);
    let opening = Opening {
        order,
        progress: Some(&show),
    };
    let bag = Bag::open_with(paths, &opening);
    watch.finish();
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
            tracing::warn!("{}: given twice, so it is played twice", file.name);
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

struct Watch<'a> {
    log_target: &'a LogTarget,
    state: Mutex<State>,
}

struct State {
    began: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl Watch<'_> {
    fn show(&self, progress: Progress<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.began.elapsed() < PATIENCE {
            return;
        }
        if !self.log_target.is_drawn {
            if !self.log_target.is_quiet && state.last_line.elapsed() >= LINE_EVERY {
                state.last_line = now();
                let percent = u128::from(progress.done) * 100 / u128::from(progress.of.max(1));
                tracing::info!("reading through {}: {percent} %", progress.file);
            }
            return;
        }
        let bar = state.bar.get_or_insert_with(|| {
            let template = "reading through {wide_msg} [{bar:20}] {bytes} / {total_bytes}";
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            let bar = ProgressBar::new(progress.of).with_style(style.progress_chars("━╸─"));
            self.log_target.bars.add(bar)
        });
        bar.set_length(progress.of);
        bar.set_position(progress.done);
        bar.set_message(progress.file.to_string());
    }

    fn finish(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "progress is shown in wall time")]
fn now() -> Instant {
    Instant::now()
}
