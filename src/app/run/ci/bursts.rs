//! Bursts of messages that are longer than the queue of a subscriber: they are found before a run, because the node that drops
//! messages of them tells nobody.

use std::collections::BTreeMap;

use bagplay::bag::{Direction, Selection, StartAt};
use bagplay::ci::gates::{Burst, Bursts};
use bagplay::cli::{Exit, Plan, count};
use bagplay::player::Pace;
use bagplay::untrusted::Foreign;

use super::setup::Setup;
use crate::app::network::Network;

/// A subscriber whose queue is shorter than a burst.
#[derive(Debug)]
pub(super) struct Overflow {
    node: String,
    depth: u32,
    burst: Burst,
}

/// The subscribers that may lose messages of a run with gates that is not in lockstep. It reads the recording from where playing
/// starts, once for all repetitions. At a given rate messages come as they came on the robot, so nothing is looked for.
///
/// # Errors
/// The exit code of a signal that came meanwhile.
pub(super) fn overflows(
    setup: &Setup<'_>,
    plan: &Plan,
    network: &Network,
) -> Result<Vec<Overflow>, Exit> {
    let args = setup.args;
    if args.ci.lockstep || args.ci.gate.is_empty() || plan.options.pace != Pace::Max {
        return Ok(Vec::new());
    }
    let known = setup.bursts.take();
    let longest = match known.filter(|(chosen, _)| *chosen == plan.chosen) {
        Some((_, longest)) => longest,
        None => longest(setup, plan)?,
    };
    let again = (plan.chosen.clone(), longest.clone());
    setup.bursts.replace(Some(again));
    let overflows = longest.into_iter().flat_map(|burst| {
        let subscribers = network.depths(&burst.topic).into_iter();
        let short = subscribers.filter({
            let messages = burst.messages;
            move |queue| u64::from(queue.depth) < messages
        });
        short.map(move |queue| Overflow {
            node: queue.node,
            depth: queue.depth,
            burst: burst.clone(),
        })
    });
    Ok(overflows.collect())
}

fn longest(setup: &Setup<'_>, plan: &Plan) -> Result<Vec<Burst>, Exit> {
    let Setup { args, bag, .. } = setup;
    let mut names = vec![None; bag.topics().len()];
    for chosen in &plan.chosen {
        names[chosen.id.index()] = Some(chosen.name.as_str());
    }
    let topics = Selection::of(plan.chosen.iter().map(|chosen| chosen.id), bag);
    let (range, start) = (plan.options.played.range, plan.options.entry());
    let from = StartAt::At(start);
    let messages = bag.cursor_within(&topics, from, Direction::Forward, range);
    let in_flight = args.ci.limits().in_flight;
    let mut bursts = Bursts::new(&args.ci.gate, in_flight, start);
    // Damage is reported when it is played.
    for message in messages.flatten() {
        if let Some(exit) = setup.stopped() {
            return Err(exit);
        }
        if let Some(name) = names[message.topic.index()] {
            bursts.message(name, message.key.time);
        }
    }
    Ok(bursts.longest())
}

/// How many messages of each of these topics the shortest queue keeps.
pub(super) fn depths(overflows: &[Overflow]) -> BTreeMap<String, u64> {
    let mut depths = BTreeMap::new();
    for Overflow { depth, burst, .. } in overflows {
        let depth = u64::from(*depth);
        let least = depths.entry(burst.topic.clone()).or_insert(depth);
        *least = depth.min(*least);
    }
    depths
}

impl Overflow {
    /// One sentence, with what can be done.
    pub(super) fn sentence(&self, is_spread: bool) -> String {
        let Self { node, depth, burst } = self;
        let (node, topic) = (Foreign::text(node), Foreign::text(&burst.topic));
        let (messages, at) = (count(burst.messages), burst.at);
        let what = format!(
            "{node} keeps {depth} messages of {topic}, and {messages} of them go out without a wait from {at} on"
        );
        if is_spread {
            format!("{what}: playback pauses between them")
        } else {
            format!("{what}: it may drop some; hint: --spread, --lockstep, or a gate for {topic}")
        }
    }
}
