//! The services of a player that a screen elsewhere needs: timeline, densities, messages as text, marks. What they tell
//! comes from a [`TimelineSource`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::extended::done_by;
use super::handler::{Handler, Reaction};
use super::served::Services;
use crate::bag::{Outline, Reach, TopicId};
use crate::player::{Command, TopicCounts, Transport};
use crate::ros::Qos;
use crate::time::{Duration, Ros, Time, TimeRange};
use crate::wire::error::WireError;
use crate::wire::rmw_zenoh::qos_chunk::encode_qos;
use crate::wire::services::messages::bagplay::Done;
use crate::wire::services::messages::service::{Failed, Service, Stamp};
use crate::wire::services::messages::timeline::{
    Density, DensityRequest, GetDensity, GetMarks, GetMessage, GetProgress, GetTimeline,
    MAX_SCHEMA_BYTES, MAX_SCHEMA_BYTES_OF_ALL, MarkAt, MarkRequest, Marks, MessageRequest,
    MessageText, MuteRequest, Progress, SetMark, SetMuted, Timeline, TimelineTopic, TopicDensity,
    TopicProgress,
};
use crate::wire::session::Session;

/// Why a request with such a time is refused.
const NO_TIME: &str = "the nanoseconds of the time are a second or more";

/// The density of a range, as far as it is known.
#[derive(Clone, PartialEq, Debug)]
pub struct KnownDensity {
    /// Whether all of the range has been read.
    pub is_whole: bool,
    /// What is known so far; `None` if nothing is known yet.
    pub outline: Option<Arc<Outline>>,
}

/// What the services tell of a recording. All times are log time.
pub trait TimelineSource: Send + Sync {
    /// The density of a range as far as it is known. Must not block; a later call gets more.
    fn density(&self, range: TimeRange) -> KnownDensity;

    /// The last message of a topic at or before a time, as text. May take long. The times in the text are log time.
    fn message(&self, topic: TopicId, at: Time<Ros>) -> FoundText;

    /// How many subscribe, by topic, and how many follow `/clock`; `None` where it is not known.
    fn subscribers(&self) -> (Vec<Option<usize>>, Option<usize>);

    /// The marks, and a number that grows with each change. The error is the reason why there are none.
    fn marks(&self) -> Result<Vec<(Time<Ros>, String)>, String>;

    /// The number of changes of the marks so far.
    fn marks_revision(&self) -> u64;

    /// Adds a mark with this name, or removes the one at this time.
    fn set_mark(&self, time: Time<Ros>, name: Option<String>) -> Result<(), String>;
}

/// A message as text, or why there is none.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FoundText {
    /// When it was received and sent; `None` if there is no message.
    pub times: Option<(Time<Ros>, Time<Ros>)>,
    /// The rest; its times are ignored.
    pub text: MessageText,
}

/// What a player plays, for a screen elsewhere.
pub struct ServedTimeline {
    /// The name of the recording, for display; empty without a recording.
    pub name: String,
    /// Added to log time to get the time of the clock, which is the time in requests.
    pub shift: Duration,
    /// All topics of the recording, by id.
    pub topics: Vec<ServedTopic>,
    /// How far the player has read ahead.
    pub reach: Reach,
    /// Answers questions about the recording.
    pub source: Box<dyn TimelineSource>,
}

/// A topic of the recording.
#[derive(Clone, Debug)]
pub struct ServedTopic {
    /// The topic as it was recorded.
    pub recorded: crate::bag::Topic,
    /// The name on the network; for a topic that is not played, the recorded name.
    pub name: String,
    /// The QoS profile that it is published with.
    pub qos: Option<Qos>,
    /// Why it is not played, if it is not.
    pub left_out: Option<String>,
}

impl fmt::Debug for ServedTimeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedTimeline")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Offers the services that a screen elsewhere needs, below this node's name. Searches for messages have a thread
    /// of their own, so that a slow one holds up nothing else.
    pub fn serve_timeline(
        &self,
        transport: &Transport,
        served: ServedTimeline,
    ) -> Result<[Services; 2], WireError> {
        self.node.announce()?;
        let served = Arc::new(Server {
            ids: ids(&served.topics),
            transport: transport.clone(),
            served,
        });
        let look_ups = vec![vec![on::<GetMessage>(
            &served,
            "get_message",
            |server, request| server.message(&request),
        )]];
        let others = [
            on::<GetTimeline>(&served, "get_timeline", |server, _| {
                Reaction::Respond(server.timeline())
            }),
            on::<GetDensity>(&served, "get_density", Server::density),
            on::<GetProgress>(&served, "get_progress", |server, _| {
                Reaction::Respond(server.progress())
            }),
            on::<SetMuted>(&served, "set_muted", |server, request| {
                server.set_muted(&request)
            }),
            on::<GetMarks>(&served, "get_marks", |server, _| {
                Reaction::Respond(server.marks())
            }),
            on::<SetMark>(&served, "set_mark", Server::set_mark),
        ];
        let others = others.into_iter().map(|handler| vec![handler]).collect();
        Ok([
            self.serve("message-look-up", look_ups, transport)?,
            self.serve("timeline", others, transport)?,
        ])
    }
}

/// The state behind the handlers.
struct Server {
    transport: Transport,
    served: ServedTimeline,
    /// The topics by name; several may have one name.
    ids: BTreeMap<String, Vec<TopicId>>,
}

fn ids(topics: &[ServedTopic]) -> BTreeMap<String, Vec<TopicId>> {
    let mut ids: BTreeMap<String, Vec<TopicId>> = BTreeMap::new();
    for (topic, id) in topics.iter().zip(0..) {
        ids.entry(topic.name.clone()).or_default().push(TopicId(id));
    }
    ids
}

fn on<S: Service>(
    server: &Arc<Server>,
    name: &'static str,
    react: fn(&Server, S::Request) -> Reaction<S::Response>,
) -> Handler
where
    S::Request: 'static,
    S::Response: Failed + 'static,
{
    let server = Arc::clone(server);
    Handler::new::<S>(name, move |request| react(&server, request))
}

impl Server {
    fn log_time(&self, clock: Stamp) -> Option<Time<Ros>> {
        Some(clock.time()?.saturating_sub(self.served.shift))
    }

    fn stamp(&self, log: Time<Ros>) -> Stamp {
        Stamp::of(log.saturating_add(self.served.shift))
    }

    fn timeline(&self) -> Timeline {
        Timeline {
            name: self.served.name.clone(),
            clock: self.clock(),
            clock_shift: Stamp::of(Time::ZERO.saturating_add(self.served.shift)),
            topics: describe_all(&self.served.topics),
        }
    }

    fn density(&self, request: DensityRequest) -> Reaction<Density> {
        let times = (self.log_time(request.start), self.log_time(request.end));
        let (Some(start), Some(end)) = times else {
            return Reaction::Respond(Density::failed(NO_TIME));
        };
        if start > end {
            return Reaction::Respond(Density::failed("the end is before the start"));
        }
        let known = self.served.source.density(TimeRange::between(start, end));
        let outline = known.outline.as_deref();
        let topics = outline.map_or(&[][..], |outline| &outline.topics).iter();
        #[expect(clippy::cast_possible_truncation, reason = "it is drawn as a height")]
        let density = |topic: &crate::bag::TopicOutline| TopicDensity {
            messages: topic.density.iter().map(|count| *count as f32).collect(),
            bytes: topic
                .bytes
                .map_or(-1, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
        };
        Reaction::Respond(Density {
            is_whole: known.is_whole,
            topics: topics.map(density).collect(),
            message: String::new(),
        })
    }

    fn message(&self, request: &MessageRequest) -> Reaction<MessageText> {
        let Some(at) = self.log_time(request.time) else {
            return Reaction::Respond(MessageText::failed(NO_TIME));
        };
        let ids = self.ids.get(&request.topic);
        let Some(ids) = ids else {
            return Reaction::Respond(MessageText::failed(&no_topic(&request.topic)));
        };
        let FoundText { times, text } = self.last_of(ids, at);
        let (log_time, publish_time) = times.map_or_else(Default::default, |(log, publish)| {
            (self.stamp(log), self.stamp(publish))
        });
        Reaction::Respond(MessageText {
            is_found: times.is_some(),
            log_time,
            publish_time,
            ..text
        })
    }

    /// The last message of several topics of one name.
    fn last_of(&self, ids: &[TopicId], at: Time<Ros>) -> FoundText {
        let found = ids.iter().map(|id| self.served.source.message(*id, at));
        let order = |found: &FoundText| {
            let has_failed = !found.text.message.is_empty();
            (found.times.map(|(log_time, _)| log_time), has_failed)
        };
        found.max_by_key(order).unwrap_or_default()
    }

    /// How `/clock` is served now; empty if it is not.
    fn clock(&self) -> String {
        let mode = self.transport.status().map(|status| status.clock);
        let served = mode.filter(|mode| mode.is_served());
        served.map_or_else(String::new, |mode| mode.to_string())
    }

    fn progress(&self) -> Progress {
        let Self {
            transport, served, ..
        } = self;
        let (read_to, looking_up) = (served.reach.get(), served.reach.looking_up());
        let (subscribers, clock) = served.source.subscribers();
        let count = |number: Option<usize>| {
            number.map_or(-1, |number| i32::try_from(number).unwrap_or(i32::MAX))
        };
        let topic = |(counts, id): (TopicCounts, u32)| TopicProgress {
            sent: counts.sent,
            bytes: counts.bytes,
            late: counts.late,
            dropped: counts.dropped,
            refilled: counts.refilled,
            skipped: counts.muted,
            subscribers: count(subscribers.get(id as usize).copied().flatten()),
            is_muted: transport.is_muted(TopicId(id)),
        };
        let topics = transport.topic_counts().into_iter().zip(0..);
        Progress {
            has_read: read_to.is_some(),
            read_to: read_to.map_or_else(Stamp::default, |time| self.stamp(time)),
            searched: looking_up.map_or(0, |look_up| look_up.done as u64),
            to_search: looking_up.map_or(0, |look_up| look_up.of as u64),
            clock: self.clock(),
            clock_subscribers: count(clock),
            marks_revision: served.source.marks_revision(),
            topics: topics.map(topic).collect(),
        }
    }

    fn set_muted(&self, request: &MuteRequest) -> Reaction<Done> {
        let ids = self.ids.get(&request.topic).map_or(&[][..], Vec::as_slice);
        let is_played = |id: &&TopicId| {
            let topic = self.served.topics.get(id.index());
            topic.is_some_and(|topic| topic.left_out.is_none())
        };
        let played = ids.iter().filter(is_played);
        let commands: Vec<Command> = if request.is_muted {
            played.map(|id| Command::Mute(*id)).collect()
        } else {
            played.map(|id| Command::Unmute(*id)).collect()
        };
        if commands.is_empty() {
            return Reaction::Respond(Done::failed(&format!("{} is not played", request.topic)));
        }
        done_by(&self.transport, commands)
    }

    fn marks(&self) -> Marks {
        match self.served.source.marks() {
            Ok(marks) => {
                let mark = |(time, name)| MarkAt {
                    time: self.stamp(time),
                    name,
                };
                Marks {
                    marks: marks.into_iter().map(mark).collect(),
                    message: String::new(),
                }
            }
            Err(reason) => Marks::failed(&reason),
        }
    }

    fn set_mark(&self, request: MarkRequest) -> Reaction<Done> {
        let Some(time) = self.log_time(request.mark.time) else {
            return Reaction::Respond(Done::failed(NO_TIME));
        };
        let name = (!request.is_removed).then_some(request.mark.name);
        Reaction::Respond(match self.served.source.set_mark(time, name) {
            Ok(()) => Done {
                success: true,
                message: String::new(),
            },
            Err(reason) => Done::failed(&reason),
        })
    }
}

fn no_topic(name: &str) -> String {
    format!("the recording has no topic {name}")
}

/// Thousands of topics may have one long definition, which is sent with each of them: so the bytes of all are limited.
fn describe_all(topics: &[ServedTopic]) -> Vec<TimelineTopic> {
    let mut left = MAX_SCHEMA_BYTES_OF_ALL;
    let describe = |topic| {
        let told = describe(topic, left.min(MAX_SCHEMA_BYTES));
        left = left.saturating_sub(told.schema.len());
        told
    };
    topics.iter().map(describe).collect()
}

fn describe(topic: &ServedTopic, most: usize) -> TimelineTopic {
    let recorded = &topic.recorded;
    let schema = recorded.schema.as_ref();
    let told = schema.filter(|schema| schema.data.len() <= most);
    TimelineTopic {
        name: topic.name.clone(),
        type_name: recorded.type_name().to_owned(),
        schema_encoding: told.map_or_else(String::new, |schema| schema.encoding.clone()),
        schema: told.map_or_else(Vec::new, |schema| schema.data.to_vec()),
        encoding: recorded.encoding.clone(),
        messages: recorded
            .message_count
            .map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX)),
        is_latched: recorded.is_latched,
        recorded_qos: recorded.offered_qos.iter().map(encode_qos).collect(),
        qos: topic.qos.as_ref().map_or_else(String::new, encode_qos),
        left_out: topic.left_out.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::bag::{Schema, Topic};

    fn topic(definition: usize) -> ServedTopic {
        ServedTopic {
            recorded: Topic {
                name: "/a".into(),
                schema: Some(Schema {
                    name: "a/msg/A".into(),
                    encoding: "ros2msg".into(),
                    data: Bytes::from(vec![b'#'; definition]),
                }),
                encoding: "cdr".into(),
                offered_qos: Vec::new(),
                type_hash: None,
                ros1_md5: None,
                is_latched: false,
                message_count: None,
            },
            name: "/a".into(),
            qos: None,
            left_out: None,
        }
    }

    #[test]
    fn definitions_are_sent_up_to_a_limit_of_each_and_of_all() {
        let fits = MAX_SCHEMA_BYTES_OF_ALL / MAX_SCHEMA_BYTES;
        let mut topics = vec![topic(MAX_SCHEMA_BYTES + 1)];
        topics.resize_with(fits, || topic(MAX_SCHEMA_BYTES));
        topics.extend([topic(1), topic(MAX_SCHEMA_BYTES), topic(2)]);
        let told = describe_all(&topics);
        assert!(told.iter().all(|topic| topic.type_name == "a/msg/A"));
        let told: Vec<usize> = told.iter().map(|topic| topic.schema.len()).collect();
        assert_eq!(told[0], 0);
        assert!(told[1..fits].iter().all(|len| *len == MAX_SCHEMA_BYTES));
        assert_eq!(told[fits..], [1, 0, 2]);
    }
}
