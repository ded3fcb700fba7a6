//! [`Lateness`]: when a message is late, and how late the messages of a run were.

use hdrhistogram::Histogram;

use crate::time::Duration;

/// A message sent later than this after it was due is late.
pub const LATE: Duration = Duration::from_millis(1);

/// The wall time between the instant at which each message was due and its sending. Messages without a schedule
/// ([`Pace::Max`](crate::player::Pace::Max)) have none.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// In nanoseconds, with three significant digits. More than an hour counts as one hour.
    spans: Histogram<u64>,
    late: u64,
}

impl Lateness {
    /// No messages yet.
    pub(crate) fn new() -> Self {
        Self {
            spans: Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds are valid"),
            late: 0,
        }
    }

    /// Adds a message; whether it is late.
    pub(crate) fn add(&mut self, after_due: Duration) -> bool {
        let is_late = after_due > LATE;
        self.late += u64::from(is_late);
        let nanos = u64::try_from(after_due.as_nanos()).unwrap_or(0);
        self.spans.saturating_record(nanos);
        is_late
    }

    /// How many messages were late.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// How many messages had a schedule.
    pub fn messages(&self) -> u64 {
        self.spans.len()
    }

    /// The span that the given share of the messages, 0 to 1, does not exceed; zero without messages.
    pub fn quantile(&self, share: f64) -> Duration {
        nanos(self.spans.value_at_quantile(share))
    }

    /// The longest span; zero without messages.
    pub fn max(&self) -> Duration {
        nanos(self.spans.max())
    }
}

fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
