//! [`RecordInputs`]: an output that passes messages on and records them, in the file that also has the outputs of the
//! system under test.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::arrival::Arrival;
use super::define::{Definition, Known};
use super::record::Intake;
use crate::bag::{Message, Topic, TopicId};
use crate::output::{Delivery, Occasion, Output};
use crate::ros::{PublishedTopic, Publisher};
use crate::time::{Duration, Ros, Segment, Time};
use crate::transcode::Transcoder;

/// The first topic number of inputs in a recording. The numbers of outputs begin with 0 and stay below this.
const FIRST_NUMBER: usize = 1 << 30;

/// Where inputs are recorded.
#[derive(Clone, Debug)]
pub struct InputRecorder {
    pub(super) intake: Intake,
    pub(super) known: Known,
}

/// A topic that is played.
#[derive(Clone, Copy, Debug)]
pub struct PlayedTopic<'a> {
    /// Its id in the recording.
    pub id: TopicId,
    /// The topic in the recording.
    pub recorded: &'a Topic,
    /// Its name on the network.
    pub name: &'a str,
}

/// How the messages of a topic are recorded: as they are sent.
#[derive(Clone)]
struct Recorded {
    topic: Arc<PublishedTopic>,
    /// For messages of ROS 1.
    transcoder: Option<Arc<Transcoder>>,
}

impl Recorded {
    /// The payload that was sent; `None` if there is none.
    fn payload(&self, message: &Message) -> Option<Bytes> {
        let Some(transcoder) = &self.transcoder else {
            return Some(message.payload.clone());
        };
        let mut payload = Vec::new();
        transcoder.transcode(&message.payload, &mut payload).ok()?;
        Some(payload.into())
    }
}

/// Passes everything on to another output, and records the messages that it has sent, with the position of playback as
/// their time.
pub struct RecordInputs<O> {
    inner: O,
    intake: Option<Intake>,
    /// By the index of the recorded topic.
    topics: Vec<Option<Recorded>>,
    position: Box<dyn Fn() -> Time<Ros> + Send>,
}

impl<O> RecordInputs<O> {
    /// Wraps `inner`; without a recorder it records nothing. `position` returns the position of playback.
    pub fn new<'a>(
        inner: O,
        recorder: Option<InputRecorder>,
        topics: impl IntoIterator<Item = PlayedTopic<'a>>,
        position: impl Fn() -> Time<Ros> + Send + 'static,
    ) -> Self {
        let mut by_index = Vec::new();
        for PlayedTopic { id, recorded, name } in topics {
            let Some(InputRecorder { known, .. }) = &recorder else {
                break;
            };
            let index = id.index();
            let transcoder = Transcoder::for_topic(recorded).and_then(Result::ok);
            let ros2 = transcoder.as_ref().map(|it| it.ros2_topic(recorded));
            let as_sent = ros2.as_ref().unwrap_or(recorded);
            let offers = &as_sent.offered_qos;
            let topic = PublishedTopic {
                number: FIRST_NUMBER + index,
                name: name.to_owned(),
                type_name: as_sent.type_name().to_owned(),
                type_hash: as_sent.type_hash.clone(),
                qos: offers.first().copied().unwrap_or_default(),
            };
            let definition = Definition {
                schema: as_sent.schema.clone(),
                stamp: None,
                offers: offers.clone(),
                note: None,
            };
            known.add(topic.number, definition);
            if by_index.len() <= index {
                by_index.resize(index + 1, None);
            }
            by_index[index] = Some(Recorded {
                topic: Arc::new(topic),
                transcoder: transcoder.map(Arc::new),
            });
        }
        Self {
            inner,
            intake: recorder.map(|recorder| recorder.intake),
            topics: by_index,
            position: Box::new(position),
        }
    }

    /// The wrapped output.
    pub fn into_inner(self) -> O {
        self.inner
    }
}

impl<O: Output> Output for RecordInputs<O> {
    fn segment(&mut self, segment: &Segment) {
        self.inner.segment(segment);
    }

    fn finish(&mut self) {
        self.inner.finish();
    }

    fn clock(&mut self, time: Time<Ros>) {
        self.inner.clock(time);
    }

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.inner.serve_clock(period)
    }

    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        let delivery = self.inner.message(message, occasion);
        let recorded = self.topics.get(message.topic.index());
        let recorded = recorded.and_then(Option::as_ref);
        if let (Some(intake), Some(recorded), Delivery::Sent) = (&self.intake, recorded, delivery)
            && let Some(payload) = recorded.payload(message)
        {
            intake.add(Arrival {
                topic: Arc::clone(&recorded.topic),
                position: (self.position)(),
                publisher: Publisher::unknown(),
                sequence: Some(message.sequence.into()),
                source_time: Some(message.publish_time.as_nanos()),
                payload,
            });
            // As for outputs, the bytes that wait for the disk are limited.
            intake.wait_for_room();
        }
        delivery
    }
}

impl<O: fmt::Debug> fmt::Debug for RecordInputs<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordInputs")
            .field("inner", &self.inner)
            .field("intake", &self.intake)
            .finish_non_exhaustive()
    }
}
