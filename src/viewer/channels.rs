//! [`Channels`]: the topics as viewers know them, and what was sent on each of them.
//!
//! A channel has the name under which the topic is played, and everything else as recorded.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foxglove::{ChannelBuilder, ChannelId, Context, PartialMetadata, RawChannel, Schema, SinkId};

use super::playback::stamp;
use crate::bag::{Key, Message, Topic, TopicId};
use crate::time::{Ros, Time};

/// The channels of the topics that are played.
#[derive(Debug)]
pub(super) struct Channels {
    /// By the index of the topic.
    by_topic: Vec<Option<Channel>>,
    topics: HashMap<ChannelId, TopicId>,
    played: Mutex<Played>,
}

#[derive(Debug)]
struct Channel {
    raw: Arc<RawChannel>,
    is_latched: bool,
    sent: Mutex<Sent>,
}

/// How many messages that were sent are remembered. Latched topics have few.
const MOST_RECENT: usize = 64;
/// How many viewers without last messages are remembered.
const MOST_UNFILLED: usize = 1024;

/// What viewers have received on a channel.
#[derive(Debug, Default)]
struct Sent {
    /// How many messages were sent to all viewers.
    count: u64,
    /// The last ones of them, of a latched topic.
    recent: VecDeque<Key>,
    /// This message is played next, and all viewers but those in `unfilled` have it already.
    refilled: Option<Key>,
    /// Viewers that subscribed before anything was played, and have not been sent the last messages.
    unfilled: VecDeque<SinkId>,
    /// The topic was muted when its last messages were to be sent.
    was_muted: bool,
}

/// To whom the last messages of a topic are sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refill {
    /// `None`: all that subscribe to the topic.
    pub(super) viewer: Option<SinkId>,
    /// How many messages of the topic had been sent to all viewers when the messages were searched for.
    pub(super) count: u64,
    /// How many when they were requested.
    pub(super) requested_at: u64,
}

impl Refill {
    pub(super) const fn new(viewer: Option<SinkId>, count: u64) -> Self {
        Self {
            viewer,
            count,
            requested_at: count,
        }
    }
}

/// How far messages were played since the last jump.
#[derive(Clone, Copy, Debug)]
pub(super) struct Played {
    /// Where playback has begun.
    pub(super) from: Time<Ros>,
    /// The last message of any topic.
    pub(super) last: Option<Key>,
}

impl Channels {
    /// The channels of these topics, each with the name under which it is played.
    pub(super) fn new<'a>(
        context: &Arc<Context>,
        all: usize,
        topics: impl Iterator<Item = (TopicId, &'a str, &'a Topic)>,
    ) -> Self {
        let mut channels = Self {
            by_topic: std::iter::repeat_with(|| None).take(all).collect(),
            topics: HashMap::new(),
            played: Mutex::new(Played {
                from: Time::MIN,
                last: None,
            }),
        };
        for (id, name, topic) in topics {
            let builder = ChannelBuilder::new(name)
                .context(context)
                .message_encoding(topic.encoding.as_str())
                .schema(schema(topic));
            // It fails only without an encoding of messages.
            let Ok(raw) = builder.build_raw() else {
                continue;
            };
            channels.topics.entry(raw.id()).or_insert(id);
            channels.by_topic[id.index()] = Some(Channel {
                raw,
                is_latched: topic.is_latched,
                sent: Mutex::default(),
            });
        }
        channels
    }

    /// The topic of a channel.
    pub(super) fn topic(&self, channel: ChannelId) -> Option<TopicId> {
        self.topics.get(&channel).copied()
    }

    /// Playback has jumped to `from`.
    pub(super) fn jump(&self, from: Time<Ros>) {
        *self.lock_played() = Played { from, last: None };
        for channel in self.by_topic.iter().flatten() {
            let mut sent = channel.lock();
            (sent.refilled, sent.was_muted) = (None, false);
            sent.unfilled.clear();
        }
    }

    /// How far messages were played since the last jump.
    pub(super) fn played(&self) -> Played {
        *self.lock_played()
    }

    /// Whether a viewer subscribes to a topic.
    pub(super) fn is_subscribed(&self, topic: TopicId) -> bool {
        let channel = self.get(topic);
        channel.is_some_and(|channel| channel.raw.has_sinks())
    }

    /// Whether a topic was muted when its last messages were to be sent, and a viewer subscribes to it.
    pub(super) fn was_muted(&self, topic: TopicId) -> bool {
        let channel = self.get(topic);
        channel.is_some_and(|channel| channel.lock().was_muted && channel.raw.has_sinks())
    }

    /// The topic is muted: its last messages are not sent now.
    pub(super) fn mute(&self, topic: TopicId) {
        if let Some(channel) = self.get(topic) {
            channel.lock().was_muted = true;
        }
    }

    /// The topics to which viewers subscribe.
    pub(super) fn with_subscribers(&self) -> impl Iterator<Item = TopicId> {
        let channels = (0..).map(TopicId).zip(&self.by_topic);
        channels.filter_map(|(id, channel)| {
            let channel = channel.as_ref()?;
            channel.raw.has_sinks().then_some(id)
        })
    }

    /// Whether late joiners receive the last messages of a topic.
    pub(super) fn is_latched(&self, topic: TopicId) -> bool {
        self.get(topic).is_some_and(|channel| channel.is_latched)
    }

    /// How many messages of a topic were sent to all viewers.
    pub(super) fn count(&self, topic: TopicId) -> u64 {
        self.get(topic).map_or(0, |channel| channel.lock().count)
    }

    /// A message is played: it is sent to all viewers that subscribe to its topic.
    pub(super) fn play(&self, message: &Message) {
        let Some(channel) = self.get(message.topic) else {
            self.lock_played().last = Some(message.key);
            return;
        };
        let mut sent = channel.lock();
        if channel.raw.has_sinks() {
            channel.send(&mut sent, message);
        }
        // Locked, so that a viewer that subscribes now finds this message, if it was not sent it.
        self.lock_played().last = Some(message.key);
    }

    /// Sends a message that was left out because its topic was muted.
    pub(super) fn send(&self, message: &Message) {
        if let Some(channel) = self.get(message.topic) {
            channel.send(&mut channel.lock(), message);
        }
    }

    /// A viewer has subscribed to a topic. Returns how many messages of it were sent to all viewers.
    pub(super) fn subscribed(&self, topic: TopicId, viewer: Option<SinkId>) -> u64 {
        let Some(channel) = self.get(topic) else {
            return 0;
        };
        let mut sent = channel.lock();
        if self.lock_played().last.is_some() {
            // It has none that others have.
            sent.refilled = None;
        } else if let Some(viewer) = viewer {
            sent.unfilled.retain(|it| *it != viewer);
            sent.unfilled.truncate(MOST_UNFILLED - 1);
            sent.unfilled.push_front(viewer);
        }
        sent.count
    }

    /// Sends the last messages of a topic again, to one viewer or to all. `false`: not if others were sent while they
    /// were searched for.
    pub(super) fn refill(&self, topic: TopicId, refill: &Refill, messages: &[Message]) -> bool {
        let Some(channel) = self.get(topic) else {
            return true;
        };
        let mut sent = channel.lock();
        if sent.count != refill.count {
            return false;
        }
        // Those were sent to the viewer, too.
        let since = sent.count.saturating_sub(refill.requested_at);
        let since = usize::try_from(since).unwrap_or(usize::MAX);
        for message in messages {
            let has_come = sent.recent.iter().take(since).any(|it| *it == message.key);
            if !has_come {
                channel.log(message, refill.viewer);
            }
        }
        sent.unfilled
            .retain(|it| refill.viewer.is_some_and(|viewer| viewer != *it));
        if self.lock_played().last.is_none()
            && let Some(last) = messages.last()
        {
            sent.refilled = Some(last.key);
        }
        true
    }

    fn get(&self, topic: TopicId) -> Option<&Channel> {
        self.by_topic.get(topic.index())?.as_ref()
    }

    fn lock_played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channel {
    fn lock(&self) -> MutexGuard<'_, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message to the viewers that do not have it.
    fn send(&self, sent: &mut Sent, message: &Message) {
        if sent.refilled == Some(message.key) {
            sent.refilled = None;
            if sent.unfilled.is_empty() {
                return;
            }
            for viewer in sent.unfilled.drain(..) {
                self.log(message, Some(viewer));
            }
        } else {
            // Others of the same time may come before it.
            sent.refilled = sent.refilled.filter(|key| key.time == message.key.time);
            if sent.refilled.is_none() {
                sent.unfilled.clear();
            }
            self.log(message, None);
        }
        sent.count += 1;
        if self.is_latched {
            sent.recent.truncate(MOST_RECENT - 1);
            sent.recent.push_front(message.key);
        }
    }

    /// The time is that by which the recording is ordered: the log time, unless the user chose otherwise.
    fn log(&self, message: &Message, viewer: Option<SinkId>) {
        let meta = PartialMetadata::with_log_time(stamp(message.key.time));
        let payload = &message.payload;
        self.raw.log_with_meta_to_sink(payload, meta, viewer);
    }
}

/// The schema as recorded. The protocol has text for all but two encodings; what is not UTF-8 there is replaced. Some
/// encodings of messages need a schema: then an empty one.
fn schema(topic: &Topic) -> Option<Schema> {
    const BINARY: [&str; 2] = ["protobuf", "flatbuffer"];
    const NEEDED: [&str; 4] = ["cdr", "ros1", "protobuf", "flatbuffer"];
    let Some(schema) = &topic.schema else {
        let is_needed = NEEDED.contains(&topic.encoding.as_str());
        return is_needed.then(|| Schema::new("", "", Vec::new()));
    };
    let data = if BINARY.contains(&schema.encoding.as_str()) {
        schema.data.to_vec()
    } else {
        String::from_utf8_lossy(&schema.data)
            .into_owned()
            .into_bytes()
    };
    Some(Schema::new(
        schema.name.as_str(),
        schema.encoding.as_str(),
        data,
    ))
}

#[cfg(test)]
mod tests {
    use foxglove::{FoxgloveError, Metadata, Sink};

    use super::*;
    use crate::bag::PublisherId;

    /// A viewer that subscribes to everything, and the payloads that it has received.
    struct Viewer(SinkId, Mutex<Vec<u8>>);

    impl Sink for Viewer {
        fn id(&self) -> SinkId {
            self.0
        }

        fn log(&self, _: &RawChannel, payload: &[u8], _: &Metadata) -> Result<(), FoxgloveError> {
            self.1.lock().unwrap().extend(payload);
            Ok(())
        }
    }

    fn message(number: u8) -> Message {
        let time = Time::from_nanos(number.into());
        Message {
            key: Key {
                time,
                input: 0,
                chunk: 0,
                record: 0,
            },
            topic: TopicId(0),
            publisher: PublisherId(number.into()),
            log_time: time,
            publish_time: time,
            sequence: 0,
            payload: vec![number].into(),
        }
    }

    /// Channels of one topic, which is latched or not, with two viewers, and what has to be kept for them.
    fn of_two_viewers(is_latched: bool) -> (Channels, [Arc<Viewer>; 2], Arc<Context>) {
        let context = Context::new();
        let topic = Topic {
            name: "/map".to_owned(),
            schema: None,
            encoding: "json".to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched,
            message_count: None,
        };
        let topics = [(TopicId(0), "/map", &topic)].into_iter();
        let channels = Channels::new(&context, 1, topics);
        let viewers = [(); 2].map(|()| {
            let viewer = Arc::new(Viewer(SinkId::next(), Mutex::default()));
            assert!(context.add_sink(Arc::clone(&viewer) as Arc<dyn Sink>));
            viewer
        });
        (channels, viewers, context)
    }

    /// A viewer subscribes.
    fn subscribe(channels: &Channels, viewer: &Viewer) -> Refill {
        let viewer = Some(viewer.0);
        Refill::new(viewer, channels.subscribed(TopicId(0), viewer))
    }

    impl Viewer {
        fn received(&self) -> Vec<u8> {
            self.1.lock().unwrap().clone()
        }
    }

    #[test]
    fn what_is_played_while_last_messages_are_searched_for_comes_once() {
        let (channels, [viewer, _], _context) = of_two_viewers(true);
        channels.play(&message(1));
        // It subscribes now, as far as its request knows, and two more are played before the last ones are found.
        let mut refill = subscribe(&channels, &viewer);
        channels.play(&message(2));
        channels.play(&message(3));
        let last = [1, 2, 3].map(message);
        assert!(!channels.refill(TopicId(0), &refill, &last));
        refill.count = channels.count(TopicId(0));
        assert!(channels.refill(TopicId(0), &refill, &last));
        assert_eq!(viewer.received(), [1, 2, 3, 1]);
    }

    #[test]
    fn what_one_viewer_has_been_sent_before_is_sent_to_the_other_when_it_is_played() {
        for is_latched in [false, true] {
            let (channels, [filled, other], _context) = of_two_viewers(is_latched);
            let refills = [&filled, &other].map(|viewer| subscribe(&channels, viewer));
            // The search for the other one takes longer than the pause at the start.
            assert!(channels.refill(TopicId(0), &refills[0], &[message(1)]));
            channels.play(&message(1));
            assert!(!channels.refill(TopicId(0), &refills[1], &[message(1)]));
            let mut again = refills[1];
            again.count = channels.count(TopicId(0));
            // Only requests for latched topics are carried out again.
            if is_latched {
                assert!(channels.refill(TopicId(0), &again, &[message(1)]));
            }
            channels.play(&message(2));
            for viewer in [filled, other] {
                assert_eq!(viewer.received(), [1, 2]);
            }
        }
    }
}
