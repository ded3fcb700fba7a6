//! [`Arrival`]: a message of the system under test, as it was received.

use std::sync::Arc;

use bytes::Bytes;

use crate::ros::{PublishedTopic, Publisher};
use crate::time::{Ros, Time};

/// A message of the system under test.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Its topic.
    pub topic: Arc<PublishedTopic>,
    /// Where playback was when it was received: log time.
    pub position: Time<Ros>,
    /// Its publisher.
    pub publisher: Publisher,
    /// Its number among the messages of its publisher; `None` if it tells none.
    pub sequence: Option<i64>,
    /// When it was published, in nanoseconds since the Unix epoch by the clock of the publisher; `None` if it does not
    /// tell.
    pub source_time: Option<i64>,
    /// The message in CDR.
    pub payload: Bytes,
}
