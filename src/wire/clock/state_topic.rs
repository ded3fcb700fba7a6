//! [`StateTopic`]: the topic `~/clock_state`, kept by a thread of its own.
//!
//! It reads the player's status and says it again: on every change of motion, once a second, and when
//! somebody new listens. Never latched: a receiver starts its stopwatch when a state arrives.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::player::Transport;
use crate::time;

use super::state_message::ClockStateMessage;
use crate::wire::error::WireError;
use crate::wire::net::now::unix_nanos;
use crate::wire::publish::publisher::TopicPublisher;

/// How often it is said although nothing changes.
const EVERY: Duration = Duration::from_secs(1);

/// How long after saying it more changes wait for each other.
const WINK: Duration = Duration::from_millis(5);

/// What the thread is asked.
#[derive(Clone, Copy, Debug)]
enum Request {
    /// Something is new: say it.
    Say,
    /// The clock is over.
    End,
}

/// Says what the clock does, until it is dropped.
#[derive(Debug)]
pub struct StateTopic {
    requests: Sender<Request>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread works with.
struct Work {
    publisher: TopicPublisher,
    transport: Transport,
    /// From log time to what the clock shows.
    shift: time::Duration,
    /// Where generations begin, so that those of two runs are not taken for each other.
    first: u64,
}

impl StateTopic {
    pub(crate) fn start(
        publisher: TopicPublisher,
        transport: Transport,
        shift: time::Duration,
    ) -> Result<Self, WireError> {
        let (requests, asked) = bounded(1);
        transport.on_change(waker(&requests));
        let work = Work {
            publisher,
            transport,
            shift,
            first: unix_nanos().unsigned_abs(),
        };
        let named = thread::Builder::new().name("clock-state".to_owned());
        let thread = named.spawn(move || work.run(&asked));
        Ok(Self {
            requests,
            thread: Some(thread.map_err(WireError::Thread)?),
        })
    }

    /// What to call when it should be said again; waits for nothing.
    pub(crate) fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        waker(&self.requests)
    }
}

fn waker(requests: &Sender<Request>) -> Arc<dyn Fn() + Send + Sync> {
    let requests = requests.clone();
    // A request that waits already says the same.
    Arc::new(move || {
        let _ = requests.try_send(Request::Say);
    })
}

impl Work {
    fn run(mut self, asked: &Receiver<Request>) {
        let is_over = |request| {
            matches!(
                request,
                Ok(Request::End) | Err(RecvTimeoutError::Disconnected)
            )
        };
        loop {
            self.say();
            // What follows at once is said together.
            let first = asked.recv_timeout(WINK);
            if is_over(first) {
                break;
            }
            if first.is_err() && is_over(asked.recv_timeout(EVERY)) {
                break;
            }
            if first.is_ok() && is_over(asked.recv_timeout(WINK)) {
                break;
            }
        }
        // The last word: it has ended.
        self.say();
        self.publisher.undeclare_token();
    }

    fn say(&mut self) {
        let Some(status) = self.transport.status() else {
            return;
        };
        let now = self.transport.now();
        let state = ClockStateMessage::of(&status, now, self.shift, unix_nanos());
        let message = ClockStateMessage {
            generation: self.first.wrapping_add(state.generation),
            ..state
        };
        // An error means that the session is closed, and nobody is left to hear it.
        drop(
            self.publisher
                .put(&Bytes::copy_from_slice(&message.encode())),
        );
    }
}

impl Drop for StateTopic {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // An error means that the thread is gone already.
            let _ = self.requests.send(Request::End);
            // A panic has been reported by its thread.
            let _ = thread.join();
        }
    }
}
