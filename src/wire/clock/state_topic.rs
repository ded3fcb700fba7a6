//! [`StateTopic`]: the topic `~/clock_state`, published by a thread of its own.
//!
//! It publishes the player's status on every change of motion, once per second, and for every new subscriber.
//! The topic is never latched, because a receiver measures the age of a state from its arrival.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::player::{State, Transport};
use crate::time;

use super::state_message::ClockStateMessage;
use crate::wire::error::WireError;
use crate::wire::net::now::unix_nanos;
use crate::wire::publish::publisher::TopicPublisher;

/// How often the state is published if nothing changes.
const EVERY: Duration = Duration::from_secs(1);

/// How long changes are collected after the state was published.
const COLLECT_FOR: Duration = Duration::from_millis(5);

/// What the thread is asked to do.
#[derive(Clone, Copy, Debug)]
enum Request {
    /// Publish the state.
    Publish,
    /// The clock ends.
    End,
}

/// Publishes the state of the clock until this is dropped.
#[derive(Debug)]
pub struct StateTopic {
    requests: Sender<Request>,
    thread: Option<JoinHandle<()>>,
}

/// The clock whose state is published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StateOf {
    /// The position of playback, with this added to log time.
    Playback(time::Duration),
    /// The clock that a player without messages follows.
    Lead,
}

/// What the thread uses.
struct Work {
    publisher: TopicPublisher,
    transport: Transport,
    of: StateOf,
    /// Whether `/clock` was served so far. Once it is no longer served, its state is not published.
    was_served: bool,
    /// The first generation, so that generations of two runs differ.
    first: u64,
}

impl StateTopic {
    pub(crate) fn start(
        publisher: TopicPublisher,
        transport: Transport,
        of: StateOf,
    ) -> Result<Self, WireError> {
        let (requests, received) = bounded(1);
        transport.on_change(waker(&requests));
        let work = Work {
            publisher,
            transport,
            of,
            was_served: false,
            first: unix_nanos().unsigned_abs(),
        };
        let named = thread::Builder::new().name("clock-state".to_owned());
        let thread = named.spawn(move || work.run(&received));
        Ok(Self {
            requests,
            thread: Some(thread.map_err(WireError::Thread)?),
        })
    }

    /// A function to call when the state should be published again; it does not block.
    pub(crate) fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        waker(&self.requests)
    }
}

fn waker(requests: &Sender<Request>) -> Arc<dyn Fn() + Send + Sync> {
    let requests = requests.clone();
    // A request that already waits has the same effect.
    Arc::new(move || {
        let _ = requests.try_send(Request::Publish);
    })
}

impl Work {
    fn run(mut self, requests: &Receiver<Request>) {
        let is_over = |request| {
            matches!(
                request,
                Ok(Request::End) | Err(RecvTimeoutError::Disconnected)
            )
        };
        loop {
            self.publish();
            // Changes that follow at once are published together.
            let first = requests.recv_timeout(COLLECT_FOR);
            if is_over(first) {
                break;
            }
            if first.is_err() && is_over(requests.recv_timeout(EVERY)) {
                break;
            }
            if first.is_ok() && is_over(requests.recv_timeout(COLLECT_FOR)) {
                break;
            }
        }
        // The last message: the clock has ended.
        self.publish();
        self.publisher.undeclare_token();
    }

    fn publish(&mut self) {
        let Some(status) = self.transport.status() else {
            return;
        };
        let is_served = status.clock.is_served();
        self.was_served |= is_served;
        if self.was_served && !is_served && status.state != State::Stopped {
            return;
        }
        let now = self.transport.now();
        let state = match self.of {
            StateOf::Playback(shift) => ClockStateMessage::of(&status, now, shift, unix_nanos()),
            StateOf::Lead => {
                let lead = self.transport.lead().get();
                ClockStateMessage::of_lead(&status, lead, now, unix_nanos())
            }
        };
        let message = ClockStateMessage {
            generation: self.first.wrapping_add(state.generation),
            ..state
        };
        // An error means that the session is closed and has no subscribers any more.
        drop(
            self.publisher
                .put(Bytes::copy_from_slice(&message.encode())),
        );
    }
}

impl Drop for StateTopic {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // An error means that the thread has already ended.
            let _ = self.requests.send(Request::End);
            // The thread has reported its panic itself.
            let _ = thread.join();
        }
    }
}
