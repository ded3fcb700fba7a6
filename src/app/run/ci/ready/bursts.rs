//! Bursts of messages that are longer than the queue of a subscriber. They are found before a run, because a node does
//! not report the messages that it drops.

use std::collections::BTreeMap;

use bagplay::bag::{Direction, Selection, StartAt};
use bagplay::ci::child::ChildExit;
use bagplay::ci::gates::{Burst, Bursts};
use bagplay::cli::{Chosen, CiArgs, Exit, Plan, count};
use bagplay::player::Pace;
use bagplay::untrusted::Foreign;
use crossbeam_channel::Receiver;

use crate::app::network::Network;
use crate::app::run::ci::setup::Setup;

/// A subscriber whose queue is shorter than a burst.
#[derive(Debug)]
pub(in crate::app::run::ci) struct Overflow {
    node: String,
    depth: u32,
    burst: Burst,
}

/// Why the recording was not read to its end.
#[derive(Debug)]
pub(in crate::app::run::ci) enum Stop {
    /// A signal asked for the end of the run.
    Signal(Exit),
    /// The program under test has ended.
    Ended(ChildExit),
    /// The time limit of the run has passed.
    TimeIsUp,
}

/// The subscribers that may drop messages in a run that is not in lockstep. Without gates the whole recording is one
/// burst. The recording is read from the start of playback, once for all repetitions. At a given rate messages have the
/// intervals that they had on the robot, so no bursts are searched for.
///
/// # Errors
/// Why the run ended during the search.
pub(in crate::app::run::ci) fn overflows(
    setup: &Setup<'_>,
    plan: &Plan,
    network: &Network,
    is_lockstep: bool,
    ended: &Receiver<ChildExit>,
) -> Result<Vec<Overflow>, Stop> {
    if is_lockstep || plan.options.pace != Pace::Max {
        return Ok(Vec::new());
    }
    let has_queue = |chosen: &Chosen| !network.depths(&chosen.name).is_empty();
    if !plan.chosen.iter().any(has_queue) {
        return Ok(Vec::new());
    }
    let known = setup.bursts.take();
    let longest = match known.filter(|(chosen, _)| *chosen == plan.chosen) {
        Some((_, longest)) => longest,
        None => longest(setup, plan, ended)?,
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

fn longest(
    setup: &Setup<'_>,
    plan: &Plan,
    ended: &Receiver<ChildExit>,
) -> Result<Vec<Burst>, Stop> {
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
    // Damage is reported during playback.
    for message in messages.flatten() {
        if let Some(exit) = setup.stopped() {
            return Err(Stop::Signal(exit));
        }
        if let Ok(exit) = ended.try_recv() {
            return Err(Stop::Ended(exit));
        }
        if setup.time_limit.has_passed() {
            return Err(Stop::TimeIsUp);
        }
        if let Some(name) = names[message.topic.index()] {
            bursts.message(name, message.key.time);
        }
    }
    Ok(bursts.longest())
}

/// The depth of the shortest queue of each of these topics, in messages.
pub(in crate::app::run::ci) fn depths(overflows: &[Overflow]) -> BTreeMap<String, u64> {
    let mut depths = BTreeMap::new();
    for Overflow { depth, burst, .. } in overflows {
        let depth = u64::from(*depth);
        let least = depths.entry(burst.topic.clone()).or_insert(depth);
        *least = depth.min(*least);
    }
    depths
}

impl Overflow {
    /// A sentence that names the burst and what the user can do.
    pub(in crate::app::run::ci) fn sentence(&self, ci: &CiArgs) -> String {
        let Self { node, depth, burst } = self;
        let (node, topic) = (Foreign::text(node), Foreign::text(&burst.topic));
        let (messages, at) = (count(burst.messages), burst.at);
        let what = format!(
            "{node} queues at most {depth} messages of {topic}, but {messages} are sent back to back from {at} on"
        );
        if ci.spread {
            return format!("{what}: playback pauses between them");
        }
        let hint = if ci.gate.is_empty() {
            "--lockstep, --rate 1"
        } else {
            "--spread, --lockstep"
        };
        format!("{what}: it may drop some; hint: {hint}, or a gate for {topic}")
    }
}

#[cfg(test)]
mod tests {
    use bagplay::cli::Cli;
    use bagplay::time::Time;

    use super::*;

    #[test]
    fn the_sentence_names_the_place_and_what_helps() {
        let overflow = Overflow {
            node: "/slow".to_owned(),
            depth: 10,
            burst: Burst {
                topic: "/imu".to_owned(),
                messages: 40,
                at: Time::from_millis(1_500),
            },
        };
        let what = "/slow queues at most 10 messages of /imu, but 40 are sent back to back from 1.500000000 on";
        for (words, end) in [
            (
                vec![],
                ": it may drop some; hint: --lockstep, --rate 1, or a gate for /imu",
            ),
            (
                vec!["--gate", "/a -> /b"],
                ": it may drop some; hint: --spread, --lockstep, or a gate for /imu",
            ),
            (
                vec!["--gate", "/a -> /b", "--spread"],
                ": playback pauses between them",
            ),
        ] {
            let words = ["play", "bag.mcap"].into_iter().chain(words);
            let cli = Cli::read(words.map(Into::into)).unwrap();
            assert_eq!(overflow.sentence(&cli.play.ci), format!("{what}{end}"));
        }
    }
}
