//! Progress without the transport bar: one line that is updated on a terminal, otherwise a line every ten seconds.

use std::time::{Duration, Instant};

use bagplay::bag::{LookUp, Reach};
use bagplay::cli::{count, minutes_seconds};
use bagplay::player::{Pace, State, Status, Transport};
use indicatif::{ProgressBar, ProgressStyle};

use crate::app::log::LogTarget;

const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows the playback position.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    transport: Transport,
    reach: Reach,
    is_quiet: bool,
    last_line: Instant,
}

impl Progress {
    /// How often to call [`Progress::draw`].
    pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

    /// Starts to show the run that `transport` controls, if progress is wanted.
    pub(crate) fn start(
        log_target: &LogTarget,
        (transport, reach): (Transport, Reach),
        is_wanted: bool,
    ) -> Self {
        let bar = (log_target.is_drawn && is_wanted).then(|| {
            let style = ProgressStyle::with_template("{prefix} [{bar:20}] {wide_msg}")
                .expect("the template is valid");
            log_target
                .bars
                .add(ProgressBar::new(1000).with_style(style.progress_chars("━╸─")))
        });
        Self {
            bar,
            transport,
            reach,
            is_quiet: log_target.is_quiet || !is_wanted,
            last_line: now(),
        }
    }

    /// Shows the present state.
    pub(crate) fn draw(&mut self) {
        let Some(status) = self.transport.status() else {
            return;
        };
        let shown = Shown::new(&status, &self.transport, self.reach.looking_up());
        match &self.bar {
            Some(bar) => {
                bar.set_prefix(shown.state);
                bar.set_position(shown.permille);
                bar.set_message(shown.text);
            }
            None if !self.is_quiet && self.last_line.elapsed() >= LINE_EVERY => {
                self.last_line = now();
                tracing::info!("{} {}", shown.state, shown.text);
            }
            None => {}
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "progress is shown in wall time")]
fn now() -> Instant {
    Instant::now()
}

struct Shown {
    state: String,
    permille: u64,
    text: String,
}

impl Shown {
    fn new(status: &Status, transport: &Transport, look_up: Option<LookUp>) -> Self {
        let (segment, range) = (status.segment, status.segment.range());
        let (elapsed, total) = (
            segment
                .position(transport.now())
                .saturating_since(range.start()),
            range.duration(),
        );
        let permille = i128::from(elapsed.as_nanos()) * 1000 / i128::from(total.as_nanos().max(1));
        let pace = match status.pace {
            Pace::At(speed) => format!("×{speed}"),
            Pace::Max => "×max".into(),
            Pace::Follow => "following".into(),
        };
        let state = match status.state {
            State::Playing => "playing",
            State::Paused => "paused",
            State::Starved => "reading",
            State::Gated => "waiting",
            State::Stalled => "stalled",
            State::Ended => "at the end",
            State::Stopped => "stopped",
        };
        let laps = if status.laps > 0 {
            format!("  lap {}", status.laps + 1)
        } else {
            String::new()
        };
        let late = if status.late > 0 {
            format!("  {} late", count(status.late))
        } else {
            String::new()
        };
        let look_up = look_up.filter(|_| status.state == State::Starved);
        let look_up = look_up.map_or_else(String::new, |LookUp { done, of }| {
            format!("  looking up latched messages: {done} of {of} chunks")
        });
        let (elapsed, total) = (minutes_seconds(elapsed), minutes_seconds(total));
        Self {
            state: format!("{state} {pace}"),
            permille: u64::try_from(permille).unwrap_or(0).min(1000),
            text: format!(
                "{elapsed} / {total}  {} messages{laps}{late}{look_up}",
                count(status.sent)
            ),
        }
    }
}
