//! [`ViewerOutput`]: what is played, for viewers. It never blocks.

use std::sync::Arc;

use super::broadcast::Broadcast;
use super::channels::Channels;
use super::refill::Refills;
use crate::bag::Message;
use crate::output::{Delivery, Occasion, Output};
use crate::time::{Duration, Ros, Segment, Time};

/// Puts messages into the queues of the viewers that subscribe to their topics. The oldest message of a queue that is
/// full is dropped. To be used beside the output of a run, whose [`Delivery`] counts.
#[derive(Debug)]
pub struct ViewerOutput {
    pub(super) broadcast: Arc<Broadcast>,
    pub(super) channels: Arc<Channels>,
    pub(super) refills: Arc<Refills>,
    pub(super) generation: Option<u64>,
}

impl Output for ViewerOutput {
    fn segment(&mut self, segment: &Segment) {
        if self.generation.replace(segment.generation()) == Some(segment.generation()) {
            return;
        }
        let now = self.broadcast.transport().now();
        let tell = || self.broadcast.segment(segment);
        self.refills.jump(segment.position(now), tell);
    }

    /// Viewers are sent the times of the recording, not those of `/clock`, which may be shifted.
    fn clock(&mut self, _: Time<Ros>) {}

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        period.is_some()
    }

    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        match occasion {
            Occasion::Due => {
                if self.channels.is_subscribed(message.topic) {
                    self.broadcast.before_message(message.key.time);
                }
                self.channels.play(message);
            }
            // Last messages are sent by another thread, whatever the player sends again. It leaves out muted topics:
            // they come when they are unmuted.
            Occasion::Refill => {
                if self.channels.was_muted(message.topic) {
                    self.channels.send(message);
                }
            }
        }
        Delivery::Sent
    }

    fn finish(&mut self) {}
}
