//! [`RecordInputs`]: an output that passes messages on and records them, in the file that also has the outputs of the
//! system under test.

use std::fmt;
use std::sync::Arc;

use super::arrival::Arrival;
use super::define::{Definition, Known};
use super::record::Intake;
use crate::bag::{Message, Topic, TopicId};
use crate::output::{Delivery, Occasion, Output};
use crate::ros::{PublishedTopic, Publisher};
use crate::time::{Duration, Ros, Segment, Time};

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
    /// The topic as it is sent: in its ROS 2 form, if its messages are transcoded.
    pub as_sent: &'a Topic,
    /// Its name on the network.
    pub name: &'a str,
}

/// Passes everything on to another output, and records the messages that it has sent, with the position of playback as
/// their time.
pub struct RecordInputs<O> {
    inner: O,
    intake: Option<Intake>,
    /// By the index of the recorded topic.
    topics: Vec<Option<Arc<PublishedTopic>>>,
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
        for PlayedTopic { id, as_sent, name } in topics {
            let Some(InputRecorder { known, .. }) = &recorder else {
                break;
            };
            let index = id.index();
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
            by_index[index] = Some(Arc::new(topic));
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
        let payload = match &delivery {
            Delivery::Sent => &message.payload,
            Delivery::Transcoded(payload) => payload,
            Delivery::Dropped => return delivery,
        };
        let topic = self.topics.get(message.topic.index());
        let topic = topic.and_then(Option::as_ref);
        if let (Some(intake), Some(topic)) = (&self.intake, topic) {
            intake.add(Arrival {
                topic: Arc::clone(topic),
                position: (self.position)(),
                publisher: Publisher::unknown(),
                sequence: Some(message.sequence.into()),
                source_time: Some(message.publish_time.as_nanos()),
                payload: payload.clone(),
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
