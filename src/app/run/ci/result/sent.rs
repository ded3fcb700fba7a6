//! The messages that were sent in a run, and how late they were.

use bagplay::bag::{Bag, Note};
use bagplay::ci::report::{Input, Pacing, Spans, Unsent};
use bagplay::cli::{LeftOut, Plan, PlayArgs, as_sent};
use bagplay::player::Report;
use bagplay::time::Duration;
use bagplay::wire::TopicState;

use crate::app::network::Network;

/// What was sent, by topic.
pub(in crate::app::run::ci) fn inputs(
    args: &PlayArgs,
    network: &Network,
    plan: &Plan,
    bag: &Bag,
) -> Vec<Input> {
    let sent = network.topics().into_iter();
    let sent = sent.filter(|topic| plan.chosen.iter().any(|one| one.name == topic.name));
    let input = |topic: TopicState| Input {
        type_name: topic
            .ids
            .first()
            .and_then(|id| bag.topics().get(id.index()))
            .and_then(|topic| as_sent(args, topic))
            .map_or_else(String::new, |topic| topic.type_name().to_owned()),
        messages: topic.sent,
        bytes: topic.bytes,
        lost: topic.missed.lost + topic.missed.possibly_lost,
        subscribers: network.subscriber_nodes(&topic.name),
        topic: topic.name,
    };
    sent.map(input).collect()
}

/// What was to be sent and could not be, by topic.
pub(in crate::app::run::ci) fn unsent(network: &Network, plan: &Plan) -> Vec<Unsent> {
    let is_lost = |one: &&LeftOut| one.is_loss && one.messages != Some(0);
    let topics = plan.left_out.iter().filter(is_lost).map(|one| Unsent {
        topic: one.topic.clone(),
        messages: one.messages,
        why: one.reason.clone(),
    });
    let dropped = network.topics().into_iter().filter(|it| it.dropped > 0);
    let messages = dropped.map(|topic| Unsent {
        topic: topic.name,
        messages: Some(topic.dropped),
        why: topic
            .first_problem
            .unwrap_or_else(|| "zenoh did not take them".to_owned()),
    });
    topics.chain(messages).collect()
}

/// How late messages were sent. `None` in lockstep, where messages are not due at given times, whatever the rate.
pub(in crate::app::run::ci) fn lateness(report: &Report, pacing: Pacing) -> Option<Spans> {
    let is_timed = matches!(pacing, Pacing::Time | Pacing::Gates);
    let lateness = &report.lateness;
    let millis = |span: Duration| span.as_secs_f64() * 1e3;
    (is_timed && lateness.messages() > 0).then(|| Spans {
        count: lateness.messages(),
        p50: millis(lateness.quantile(0.5)),
        p99: millis(lateness.quantile(0.99)),
        max: millis(lateness.max()),
    })
}

/// A sentence, if the recording does not have the number of messages that it states.
pub(in crate::app::run::ci) fn miscounted(bag: &Bag) -> Option<String> {
    let is_count = |note: &&Note| matches!(note, Note::Counts { .. });
    let note = bag.notes().iter().find(is_count);
    note.map(ToString::to_string)
}
