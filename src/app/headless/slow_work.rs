//! [`SlowWork`]: progress of work that may be over at once: nothing is shown at first, then a bar on a terminal, or a
//! line every ten seconds.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::app::log::LogTarget;

/// Progress is not shown before this time.
const PATIENCE: Duration = Duration::from_millis(300);
/// The interval of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far work has come; from any thread.
pub(crate) struct SlowWork<'a> {
    log_target: &'a LogTarget,
    /// The bar, as indicatif writes it.
    template: &'static str,
    state: Mutex<State>,
}

struct State {
    began: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl<'a> SlowWork<'a> {
    /// The work begins now. The template may use `{msg}` or `{wide_msg}` for the subject.
    pub(crate) fn begin(log_target: &'a LogTarget, template: &'static str) -> Self {
        Self {
            log_target,
            template,
            state: Mutex::new(State {
                began: now(),
                last_line: now(),
                bar: None,
            }),
        }
    }

    /// `done` of `of` is done. A line is `line` with the percentage behind it.
    pub(crate) fn show(
        &self,
        done: u64,
        of: u64,
        subject: impl FnOnce() -> String,
        line: impl FnOnce() -> String,
    ) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.began.elapsed() < PATIENCE {
            return;
        }
        if !self.log_target.is_drawn {
            if !self.log_target.is_quiet && state.last_line.elapsed() >= LINE_EVERY {
                state.last_line = now();
                let percent = u128::from(done) * 100 / u128::from(of.max(1));
                tracing::info!("{}: {percent} %", line());
            }
            return;
        }
        let bar = state.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(self.template);
            let style = style.expect("the template is valid");
            let bar = ProgressBar::new(of).with_style(style.progress_chars("━╸─"));
            self.log_target.bars.add(bar)
        });
        bar.set_length(of);
        bar.set_position(done);
        bar.set_message(subject());
    }

    /// Takes the bar off the screen; the next call of [`SlowWork::show`] brings it back.
    pub(crate) fn hide(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
            self.log_target.bars.remove(&bar);
        }
    }
}

impl Drop for SlowWork<'_> {
    fn drop(&mut self) {
        self.hide();
    }
}

#[expect(clippy::disallowed_methods, reason = "progress is shown in wall time")]
fn now() -> Instant {
    Instant::now()
}
