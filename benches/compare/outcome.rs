//! The figures of one run, from what arrived when.

use std::collections::HashSet;

use anyhow::{Context, Result};

use crate::scenario::Scenario;
use crate::sender::Ended;
use crate::subscriber::Arrival;

pub(crate) struct Outcome {
    /// How late each message arrived, sorted, in milliseconds. The message that was least late counts as zero.
    pub(crate) late: Vec<f64>,
    pub(crate) seconds_to_first: f64,
    /// Processor time for each second of the recording.
    pub(crate) processor: f64,
    pub(crate) peak_mib: f64,
    pub(crate) messages_per_second: f64,
    pub(crate) megabytes_per_second: f64,
    pub(crate) lost: f64,
}

impl Outcome {
    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
    pub(crate) fn of(
        scenario: &Scenario,
        seconds: u64,
        process: &Ended,
        arrivals: &[Arrival],
    ) -> Result<Self> {
        let schedule = scenario.schedule(seconds);
        let first = *arrivals.first().context("no message arrived")?;
        let end = arrivals.last().map_or(first.at, |it| it.at);
        let span = end.duration_since(first.at).as_secs_f64();
        let begin = schedule.first().context("no messages")?.1;
        let mut late: Vec<f64> = arrivals
            .iter()
            .map(|it| {
                let arrived = it.at.duration_since(first.at).as_secs_f64();
                arrived * 1e3 - (it.log_time - begin) as f64 / 1e6
            })
            .collect();
        late.sort_by(f64::total_cmp);
        let earliest = late.first().copied().unwrap_or(0.0);
        for one in &mut late {
            *one -= earliest;
        }
        let bytes: usize = arrivals.iter().map(|it| it.bytes).sum();
        let seen: HashSet<_> = arrivals.iter().map(|it| (it.topic, it.log_time)).collect();
        let lost = schedule.iter().filter(|it| !seen.contains(it)).count();
        Ok(Self {
            late,
            seconds_to_first: first.at.duration_since(process.started).as_secs_f64(),
            processor: process.processor_seconds.unwrap_or(f64::NAN) / seconds as f64,
            peak_mib: process.peak_mib.unwrap_or(f64::NAN),
            messages_per_second: arrivals.len() as f64 / span,
            megabytes_per_second: bytes as f64 / 1e6 / span,
            lost: lost as f64,
        })
    }

    pub(crate) fn late_at(&self, share: f64) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index below the length"
        )]
        let at = (self.late.len() as f64 * share) as usize;
        let at = at.min(self.late.len().saturating_sub(1));
        self.late.get(at).copied().unwrap_or(f64::NAN)
    }
}
