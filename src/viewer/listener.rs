//! [`Listener`]: what viewers ask for. The library calls it on its only thread: it must not block there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foxglove::websocket::{
    ChannelView, Client, PlaybackControlRequest, PlaybackState, ServerListener,
};

use super::broadcast::Broadcast;
use super::channels::Channels;
use super::playback::{not_started, refusal, state, wish};
use super::refill::Refills;
use super::requests::Requests;
use crate::player::Control;
use crate::time::TimeRange;

/// Takes requests of viewers.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) broadcast: Arc<Broadcast>,
    pub(super) channels: Arc<Channels>,
    pub(super) refills: Arc<Refills>,
    pub(super) requests: Arc<Requests>,
    /// How many viewers have connected.
    pub(super) connected: Arc<AtomicU64>,
    pub(super) recording: TimeRange,
    pub(super) control: Control,
}

impl ServerListener for Listener {
    fn on_client_connect(&self) {
        self.connected.fetch_add(1, Ordering::Relaxed);
        self.broadcast.welcome();
    }

    fn on_subscribe(&self, client: Client, channel: ChannelView) {
        if let Some(topic) = self.channels.topic(channel.id()) {
            self.refills.subscribed(topic, client.sink_id());
        }
    }

    /// The answer goes to all viewers. It is what is to be expected: the player carries the request out later.
    fn on_playback_control_request(
        &self,
        request: PlaybackControlRequest,
    ) -> Option<PlaybackState> {
        let transport = self.broadcast.transport();
        let now = transport.now();
        let Some(status) = transport.status() else {
            self.broadcast.refuse("the player has not started yet");
            return Some(not_started(self.recording));
        };
        if let Some(refusal) = refusal(&status, self.control) {
            self.broadcast.refuse(&refusal.to_string());
            return Some(state(&status, now));
        }
        let wish = wish(
            &request,
            &status,
            (self.recording, now),
            self.broadcast.requested_speed(),
        );
        let id = request.seek_time.map(|_| request.request_id);
        let commands = (wish.commands, wish.expected.playback_speed);
        if !self.requests.push(commands, id, &self.broadcast) {
            self.broadcast.refuse("too many requests are waiting");
            return Some(state(&status, now));
        }
        Some(wish.expected)
    }
}
