//! [`Timeline`]: what happened in a run, thinned out to a bounded number of moments as they come.

use std::collections::BTreeMap;

use super::record::{Happened, Moment};

/// The most moments of one lane that are kept while the run goes on.
const PER_LANE: usize = 4096;

/// Collects moments. Each topic and each gate has a lane; in a lane that is full, of two moments one stays.
///
/// Of two answers the one that took longer stays, so the longest are never lost.
#[derive(Debug, Default)]
pub struct Timeline {
    /// By what happened, then by topic or gate.
    lanes: [BTreeMap<String, Lane>; 4],
}

#[derive(Debug)]
struct Lane {
    /// How many moments one that is kept stands for.
    stride: usize,
    /// How many the last one stands for.
    filled: usize,
    kept: Vec<Moment>,
}

impl Timeline {
    /// Nothing has happened.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what happened. Moments of one lane come in their order.
    pub fn add(&mut self, moment: Moment) {
        let lanes = match moment.what {
            Happened::Input => &mut self.lanes[0],
            Happened::Answer => &mut self.lanes[1],
            Happened::Miss => &mut self.lanes[2],
            Happened::Output => &mut self.lanes[3],
        };
        if let Some(lane) = lanes.get_mut(&moment.of) {
            lane.add(moment);
        } else {
            lanes.entry(moment.of.clone()).or_default().add(moment);
        }
    }

    /// At most this many moments, or a few of each lane, if that is more; in the order of their wall times.
    pub fn moments(mut self, most: usize) -> Vec<Moment> {
        let number: usize = self.lanes.iter().map(BTreeMap::len).sum();
        let share = (most / number.max(1)).max(2);
        let mut moments = Vec::new();
        for lane in self.lanes.iter_mut().flat_map(BTreeMap::values_mut) {
            while lane.kept.len() > share {
                lane.halve();
            }
            moments.append(&mut lane.kept);
        }
        moments.sort_by(|a, b| a.wall_ms.total_cmp(&b.wall_ms));
        moments
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            stride: 1,
            filled: 1,
            kept: Vec::new(),
        }
    }
}

impl Lane {
    fn add(&mut self, moment: Moment) {
        if let Some(last) = self.kept.last_mut().filter(|_| self.filled < self.stride) {
            self.filled += 1;
            if is_longer(&moment, last) {
                *last = moment;
            }
            return;
        }
        if self.kept.len() == PER_LANE {
            self.halve();
            self.stride *= 2;
        }
        self.kept.push(moment);
        self.filled = 1;
    }

    fn halve(&mut self) {
        let mut pairs = std::mem::take(&mut self.kept).into_iter();
        while let Some(first) = pairs.next() {
            let kept = match pairs.next() {
                Some(second) if is_longer(&second, &first) => second,
                _ => first,
            };
            self.kept.push(kept);
        }
    }
}

fn is_longer(one: &Moment, other: &Moment) -> bool {
    one.took_ms.unwrap_or(0.0) > other.took_ms.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(number: u32, what: Happened, of: &str, took_ms: Option<f64>) -> Moment {
        Moment {
            log_ns: i64::from(number) * 1_000_000,
            wall_ms: f64::from(number),
            what,
            of: of.to_owned(),
            took_ms,
        }
    }

    #[test]
    fn a_short_run_keeps_everything_in_the_order_of_time() {
        let mut timeline = Timeline::new();
        for number in 0..100 {
            timeline.add(moment(number, Happened::Input, "/a", None));
            timeline.add(moment(number, Happened::Answer, "/a -> /b", Some(1.0)));
        }
        let moments = timeline.moments(10_000);
        assert_eq!(moments.len(), 200);
        assert!(moments.is_sorted_by(|a, b| a.wall_ms <= b.wall_ms));
    }

    #[test]
    fn a_long_run_keeps_a_share_of_each_lane_and_the_longest_answers() {
        let mut timeline = Timeline::new();
        for number in 0..300_000 {
            timeline.add(moment(number, Happened::Input, "/a", None));
            let slow = number % 99_991 == 17;
            let took = if slow { 500.0 } else { f64::from(number % 7) };
            timeline.add(moment(number, Happened::Answer, "/a -> /b", Some(took)));
        }
        timeline.add(moment(12, Happened::Miss, "/a -> /b", None));
        let lanes = timeline.lanes.iter().flat_map(BTreeMap::values);
        let kept = lanes.map(|lane| lane.kept.len());
        assert!(kept.max() <= Some(PER_LANE));
        let moments = timeline.moments(900);
        assert!(moments.len() <= 900);
        let of = |what: Happened| moments.iter().filter(move |moment| moment.what == what);
        assert!(of(Happened::Input).count() > 150);
        assert_eq!(
            of(Happened::Answer)
                .filter(|m| m.took_ms == Some(500.0))
                .count(),
            4
        );
        assert_eq!(of(Happened::Miss).count(), 1);
        // They are spread over the run.
        let last = of(Happened::Input).map(|moment| moment.log_ns).max();
        assert!(last > Some(295_000_000_000), "{last:?}");
    }
}
