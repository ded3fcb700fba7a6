//! [`ShallowQueues`]: finds subscriptions with queues that are too short for the rate of a topic. A node drops messages
//! that its callbacks do not keep up with, and neither the node nor the publisher is informed; so the user is warned.

use std::collections::BTreeSet;

use bagplay::bag::Bag;
use bagplay::cli::Plan;
use bagplay::player::Pace;
use bagplay::wire::QueueDepth;

/// A queue that fills within this time at the played rate is too short: a callback may well take as long.
const SHORT_SECONDS: f64 = 0.02;

/// The size of a recorded topic.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// Its name on the network.
    name: String,
    /// The number of messages, if known.
    count: Option<u64>,
    /// Messages per second of the recording.
    hz: f64,
}

/// The nodes that a warning was given for.
#[derive(Debug, Default)]
pub(crate) struct ShallowQueues {
    nodes: BTreeSet<String>,
}

/// The recorded topics that are played.
pub(crate) fn streams(bag: &Bag, plan: &Plan) -> Vec<Stream> {
    let seconds = plan.options.recording.duration().as_secs_f64();
    let stream = |chosen: &bagplay::cli::Chosen| {
        let count = bag.topics()[chosen.id.index()].message_count;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let hz = count.map_or(0.0, |count| count as f64 / seconds.max(1e-9));
        Stream {
            name: chosen.name.clone(),
            count,
            hz,
        }
    };
    plan.chosen.iter().map(stream).collect()
}

impl ShallowQueues {
    /// At most one warning for each node that has a queue too short for this pace. `depths` are the nodes and the
    /// depths of the subscriptions of a topic.
    pub(crate) fn check(
        &mut self,
        pace: Pace,
        streams: &[Stream],
        depths: impl Fn(&str) -> Vec<QueueDepth>,
    ) -> Vec<String> {
        let mut warnings = Vec::new();
        for stream in streams {
            for QueueDepth { node, depth } in depths(&stream.name) {
                let Some(how) = stream.is_too_much_for(depth, pace) else {
                    continue;
                };
                if self.nodes.insert(node.clone()) {
                    warnings.push(format!(
                        "{node} queues at most {depth} message{} of {}, and {how}: if its callbacks are slower, it drops \
                         messages without notice; hint: a lower --rate, or a deeper queue in the node",
                        if depth == 1 { "" } else { "s" },
                        stream.name
                    ));
                }
            }
        }
        warnings
    }
}

impl Stream {
    /// The rate of a topic, if it may be too much for a queue.
    fn is_too_much_for(&self, depth: u32, pace: Pace) -> Option<String> {
        match pace {
            Pace::Max => {
                let is_all_kept = self.count.is_some_and(|count| count <= u64::from(depth));
                (!is_all_kept).then(|| "--rate max does not wait for callbacks".to_owned())
            }
            // How fast the other clock goes is not known here.
            Pace::Follow => None,
            Pace::At(speed) => {
                let factor = speed.as_f64().abs();
                let hz = self.hz * factor;
                // At the recorded rate the queue is filled as it was on the robot.
                let is_short = factor > 1.0 && f64::from(depth) < hz * SHORT_SECONDS;
                is_short.then(|| format!("at this rate {hz:.0} arrive per second"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bagplay::time::Speed;

    use super::*;

    fn warns(pace: Pace, depth: u32, count: u64, hz: f64) -> bool {
        let streams = ["/a", "/b"].map(|name| Stream {
            name: name.to_owned(),
            count: Some(count),
            hz,
        });
        let mut shallow_queues = ShallowQueues::default();
        let mut check = || {
            shallow_queues.check(pace, &streams, |topic| {
                assert!(["/a", "/b"].contains(&topic));
                let node = "/node".to_owned();
                vec![QueueDepth { node, depth }]
            })
        };
        let first = check().len();
        assert!(first <= 1 && check().is_empty(), "a node is warns of once");
        first == 1
    }

    #[test]
    fn a_queue_is_too_short_if_it_is_full_before_a_callback_ran() {
        let at = |factor| Pace::At(Speed::from_f64(factor).unwrap());
        assert!(warns(Pace::Max, 10, 11, 1.0));
        assert!(!warns(Pace::Max, 10, 10, 1.0), "all of them fit");
        assert!(warns(at(10.0), 10, 5000, 200.0));
        assert!(warns(at(-10.0), 10, 5000, 200.0));
        assert!(!warns(at(1.0), 10, 5000, 2000.0), "as it was recorded");
        assert!(!warns(at(2.0), 10, 5000, 200.0));
        assert!(!warns(at(10.0), 100, 5000, 200.0));
    }
}
