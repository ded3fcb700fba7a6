//! [`ClockSummary`]: the result of `play clock`, for people and for programs.

use std::fmt;

use serde::Serialize;

use super::summary::Ending;
use super::units::factor;
use crate::cli::args::verbs::clock_server::ClockSourceArg;
use crate::cli::plan::{Plan, pace_factor};
use crate::player::{Report, Status};
use crate::time::{Duration, Ros, Speed, Steady, Time};

/// What a clock server did, as `--format json` writes it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClockSummary {
    source: &'static str,
    start_ns: i64,
    end_ns: i64,
    rate: Rate,
    held_ms: Held,
    jumps: u64,
    ended: Ending,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct Rate {
    asked: f64,
    achieved: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct Held {
    gated: f64,
    paused: f64,
    stalled: f64,
}

impl ClockSummary {
    /// Summarizes a run that began at `start` and whose last status is `last`.
    pub fn new(
        source: ClockSourceArg,
        plan: &Plan,
        report: &Report,
        (start, last): (Time<Ros>, Option<Status>),
        ended: Ending,
    ) -> Self {
        // The run is over: its segment is held.
        let end = last.map_or(start, |status| status.segment.position(Time::<Steady>::MAX));
        // A clock of the machine runs at its own rate.
        let asked = pace_factor(plan.options.pace).unwrap_or(Speed::NORMAL.as_f64());
        let achieved = report.achieved_rate().map(|rate| rate * asked.signum());
        let millis = |span: Duration| span.as_secs_f64() * 1e3;
        // That the player joins a clock of the machine is a jump of the player, not of that clock.
        let joined = u64::from(source.is_of_machine());
        Self {
            source: source.name(),
            start_ns: start.as_nanos(),
            end_ns: end.as_nanos(),
            rate: Rate { asked, achieved },
            held_ms: Held {
                gated: millis(report.held.gated),
                paused: millis(report.held.paused),
                stalled: millis(report.held.stalled),
            },
            jumps: report.jumps.saturating_sub(joined),
            ended,
        }
    }
}

impl fmt::Display for ClockSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = match self.ended {
            Ending::End | Ending::Stopped => "stopped",
            Ending::Interrupted => "interrupted",
            Ending::Failed => "failed",
        };
        let [start, end] = [self.start_ns, self.end_ns].map(Time::<Ros>::from_nanos);
        write!(f, "{ended}: /clock went from {start} s to {end} s")?;
        if let Some(achieved) = self.rate.achieved {
            write!(
                f,
                ", rate {} (asked ×{})",
                factor(achieved, false),
                self.rate.asked
            )?;
        }
        match self.jumps {
            0 => Ok(()),
            1 => write!(f, ", 1 jump"),
            jumps => write!(f, ", {jumps} jumps"),
        }
    }
}
