//! [`Ros1Output`]: the player's output to nodes of ROS 1.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::advertiser::Advertiser;
use crate::bag::Message;
use crate::output::{Delivery, Occasion, Output};
use crate::ros1::data::publication::Publication;
use crate::ros1::event::{Events, Ros1Event};
use crate::time::{Duration, Ros, Segment, Time};

/// Publishes messages as they are recorded, and the clock.
pub struct Ros1Output {
    /// The topic of each recorded topic, by its index.
    pub(in crate::ros1) routes: Vec<Option<Arc<Publication>>>,
    pub(in crate::ros1) clock: Option<Arc<Publication>>,
    /// The last time, as it was sent: it is repeated while a message waits.
    pub(in crate::ros1) last_time: Bytes,
    pub(in crate::ros1) advertiser: Advertiser,
    pub(in crate::ros1) events: Events,
    /// Whether it was told that a time cannot be sent.
    pub(in crate::ros1) has_complained: bool,
}

impl Output for Ros1Output {
    fn segment(&mut self, _: &Segment) {}

    fn clock(&mut self, time: Time<Ros>) {
        let Some(clock) = &self.clock else {
            return;
        };
        match time.to_ros1() {
            Ok((sec, nsec)) => {
                let mut payload = [0; 8];
                payload[..4].copy_from_slice(&sec.to_le_bytes());
                payload[4..].copy_from_slice(&nsec.to_le_bytes());
                self.last_time = Bytes::copy_from_slice(&payload);
                clock.send_volatile(&self.last_time);
            }
            Err(error) => {
                if !std::mem::replace(&mut self.has_complained, true) {
                    let warning = format!("/clock cannot show this time: {error}");
                    self.events.send(Ros1Event::Warning(warning));
                }
            }
        }
    }

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.clock = match (period, self.clock.take()) {
            (None, Some(clock)) => {
                self.advertiser.withdraw_clock(&clock);
                None
            }
            (None, None) => None,
            (Some(_), Some(clock)) => Some(clock),
            (Some(_), None) => Some(self.advertiser.advertise_clock()),
        };
        self.clock.is_some()
    }

    fn message(&mut self, message: &Message, _: Occasion) -> Delivery {
        let route = self.routes.get(message.topic.index());
        let Some(publication) = route.and_then(Option::as_ref) else {
            return Delivery::Dropped;
        };
        let (clock, last) = (&self.clock, &self.last_time);
        let mut repeat_time = || {
            if let Some(clock) = clock.as_ref().filter(|_| !last.is_empty()) {
                clock.send_volatile(last);
            }
        };
        let source = (message.publisher, message.key);
        publication.send(source, &message.payload, &mut repeat_time);
        Delivery::Sent
    }

    fn finish(&mut self) {}
}

impl fmt::Debug for Ros1Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics = self.routes.iter().flatten();
        let names: Vec<&str> = topics.map(|it| it.advertised.name.as_str()).collect();
        f.debug_struct("Ros1Output")
            .field("topics", &names)
            .field("clock", &self.clock.is_some())
            .finish_non_exhaustive()
    }
}
