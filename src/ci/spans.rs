//! [`SpanHistogram`]: the distribution of spans of wall time, in constant memory.

use hdrhistogram::Histogram;

use super::report::Spans;
use crate::time::Duration;

/// Spans of wall time with three significant digits. More than an hour counts as one hour.
#[derive(Clone, PartialEq, Debug)]
pub struct SpanHistogram(Histogram<u64>);

impl SpanHistogram {
    /// Adds a span. A negative one counts as zero.
    pub fn add(&mut self, span: Duration) {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(0);
        self.0.saturating_record(nanos);
    }

    /// How many spans there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The span that the given share of the spans, 0 to 1, does not exceed; zero without spans.
    pub fn quantile(&self, share: f64) -> Duration {
        let nanos = self.0.value_at_quantile(share);
        Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }

    /// In milliseconds.
    pub fn summary(&self) -> Spans {
        let millis = |share| self.quantile(share).as_secs_f64() * 1e3;
        Spans {
            count: self.count(),
            p50: millis(0.5),
            p99: millis(0.99),
            max: millis(1.0),
        }
    }
}

impl Default for SpanHistogram {
    fn default() -> Self {
        const HOUR: u64 = 3_600_000_000_000;
        Self(Histogram::new_with_bounds(1, HOUR, 3).expect("the bounds are valid"))
    }
}
