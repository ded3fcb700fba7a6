//! [`Timeline`]: when what happened in a run, thinned out so that its size does not depend on the length of the run.

use std::collections::BTreeMap;

use crate::ci::report::{Happened, Moment};

/// How many moments of one kind and topic are kept at most.
const MOST: usize = 1024;

/// The moments of a run.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    lanes: BTreeMap<(Happened, String), Lane>,
}

/// Every `stride`-th moment of one kind and topic. The stride is a power of two, so that those which are kept stay evenly
/// spread over the run.
#[derive(Debug)]
struct Lane {
    moments: Vec<Moment>,
    stride: u64,
    count: u64,
}

impl Timeline {
    /// Adds a moment.
    pub(super) fn add(&mut self, moment: Moment) {
        // Questions that were given up are few, and each of them matters.
        let key = (moment.what, moment.of.clone());
        self.lanes.entry(key).or_default().add(moment);
    }

    /// The moments that were kept, in the order of wall time.
    pub(super) fn moments(&self) -> Vec<Moment> {
        let lanes = self.lanes.values();
        let mut all: Vec<Moment> = lanes.flat_map(|lane| lane.moments.clone()).collect();
        all.sort_by(|a, b| a.wall_ms.total_cmp(&b.wall_ms));
        all
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            moments: Vec::new(),
            stride: 1,
            count: 0,
        }
    }
}

impl Lane {
    fn add(&mut self, moment: Moment) {
        if self.count.is_multiple_of(self.stride) {
            if self.moments.len() == MOST {
                let mut index = 0_u32;
                self.moments.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            if self.count.is_multiple_of(self.stride) {
                self.moments.push(moment);
            }
        }
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_moments_that_are_evenly_spread() {
        let mut timeline = Timeline::default();
        for n in 0..100_000_i32 {
            timeline.add(Moment {
                log_ns: i64::from(n),
                wall_ms: f64::from(n),
                what: Happened::Input,
                of: "/imu".into(),
                took_ms: None,
            });
        }
        let times: Vec<i64> = timeline
            .moments()
            .iter()
            .map(|moment| moment.log_ns)
            .collect();
        assert!((MOST / 2..=MOST).contains(&times.len()), "{}", times.len());
        let apart = times[1] - times[0];
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == apart));
        assert_eq!(times[0], 0);
        assert!(100_000 - times[times.len() - 1] <= apart);
    }
}
