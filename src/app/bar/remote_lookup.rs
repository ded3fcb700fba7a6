//! Answers what the screen asks for by asking the player elsewhere: densities, and messages as text.

use std::convert::Infallible;
use std::time::Duration;

use bagplay::bag::{Outline, TopicId, TopicOutline};
use bagplay::decode::{Decoded, FieldLine, MessageAt, PayloadFormat};
use bagplay::time::{Ros, Time, TimeRange};
use bagplay::tui::{Event, EventSink, Lane, LookupRequest, LookupResult};
use bagplay::wire::services::messages::timeline::{Density, MessageText};
use bagplay::wire::{Attached, RequestError};
use crossbeam_channel::{Receiver, after, never, select};

/// How soon the player is asked again for a density that is not whole yet.
const AGAIN: Duration = Duration::from_millis(200);

/// Answers requests through `sink` until `until` is disconnected or the screen has ended.
pub(crate) fn look_up(
    attached: &Attached<'_>,
    requests: &Receiver<LookupRequest>,
    until: &Receiver<Infallible>,
    sink: &EventSink,
) {
    let (mut range, mut message) = (None, None);
    loop {
        let again = match (range, message) {
            (None, None) => never(),
            (_, Some(_)) => after(Duration::ZERO),
            (Some(_), None) => after(AGAIN),
        };
        select! {
            recv(until) -> _ => return,
            recv(requests) -> request => match request {
                Ok(request) => {
                    let waiting = requests.try_iter();
                    for request in std::iter::once(request).chain(waiting) {
                        match request {
                            LookupRequest::Outline(of) => range = Some(of),
                            LookupRequest::Message(topic, at) => message = Some((topic, at)),
                            // No service of a player lists these.
                            LookupRequest::Holes
                            | LookupRequest::Damaged
                            | LookupRequest::Watch(..)
                            | LookupRequest::Pictures(_)
                            | LookupRequest::Alerts
                            | LookupRequest::Find(_) => {}
                        }
                    }
                }
                Err(_) => return,
            },
            recv(again) -> _ => {}
        }
        if let Some((topic, at)) = message.take() {
            let outcome = find(attached, topic, at);
            sink(Event::Lookup(LookupResult { topic, at, outcome }));
        }
        if let Some(of) = range {
            match density(attached, of) {
                Ok(lane) => {
                    range = range.filter(|_| !lane.is_whole);
                    sink(Event::Lane(lane));
                }
                // There is no density: the screen shows an empty lane.
                Err(RequestError::Refused(reason)) => {
                    tracing::warn!("no density of messages: {reason}");
                    range = None;
                }
                // The player does not answer, and the screen shows that. Ask again.
                Err(_) => {}
            }
        }
    }
}

fn density(attached: &Attached<'_>, range: TimeRange) -> Result<Lane, RequestError> {
    let on_clock = TimeRange::between(
        attached.clock_time(range.start()),
        attached.clock_time(range.stop()),
    );
    let Density {
        is_whole, topics, ..
    } = attached.client().density(on_clock)?;
    let topics = topics.into_iter().map(|topic| TopicOutline {
        density: topic.messages.into_iter().map(f64::from).collect(),
        bytes: u64::try_from(topic.bytes).ok(),
    });
    let mut topics: Vec<TopicOutline> = topics.collect();
    topics.resize_with(attached.recording().topics.len(), TopicOutline::default);
    Ok(Lane {
        range,
        outline: Outline { topics },
        is_whole,
    })
}

fn find(attached: &Attached<'_>, topic: TopicId, at: Time<Ros>) -> MessageAt {
    let Some(topic) = attached.recording().topics.get(topic.index()) else {
        return MessageAt::NoMessage;
    };
    let found = attached
        .client()
        .message(&topic.name, attached.clock_time(at));
    match found {
        Ok(found) => message_at(attached, found),
        Err(error) => MessageAt::Damaged(error.to_string()),
    }
}

fn message_at(attached: &Attached<'_>, found: MessageText) -> MessageAt {
    if !found.is_found && found.message.is_empty() {
        return MessageAt::NoMessage;
    }
    let times = (
        attached.log_time(found.log_time),
        attached.log_time(found.publish_time),
    );
    let (true, (Some(log_time), Some(publish_time))) = (found.is_found, times) else {
        return MessageAt::Damaged(found.message);
    };
    let lines = found.lines.into_iter().map(|line| FieldLine {
        depth: usize::try_from(line.depth).unwrap_or(usize::MAX),
        name: line.name,
        value: line.value,
    });
    MessageAt::Message {
        log_time,
        publish_time,
        header_stamp: None,
        bytes: usize::try_from(found.bytes).unwrap_or(usize::MAX),
        decoded: Decoded {
            lines: lines.collect(),
            format: match found.format.as_str() {
                "cdr" => PayloadFormat::Cdr,
                "ros1" => PayloadFormat::Ros1,
                "protobuf" => PayloadFormat::Protobuf,
                "json" => PayloadFormat::Json,
                _ => PayloadFormat::Hex,
            },
            problem: Some(found.problem).filter(|problem| !problem.is_empty()),
            is_cut: found.is_cut,
        },
    }
}
