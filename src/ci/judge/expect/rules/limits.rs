//! [`Limits`]: how long the median, 99 of 100, and all of some spans may be.

use std::fmt;

use crate::time::Duration;

/// Limits of a distribution of spans: a percentile, 1 to 100, and the longest span that is allowed there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Limits(pub(crate) Vec<(u8, Duration)>);

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit =
            |(percent, most): &(u8, Duration)| format!("{} <= {most}", percentile(*percent));
        f.write_str(&self.0.iter().map(limit).collect::<Vec<_>>().join(", "))
    }
}

/// The name of a percentile: `p99`, `max`.
pub(crate) fn percentile(percent: u8) -> String {
    match percent {
        100 => "max".to_owned(),
        _ => format!("p{percent}"),
    }
}
