//! [`Requests`]: requests of viewers on their way to the player.
//!
//! The library sends the answer to a request when the function that takes the request has returned. So the commands are
//! given to the player by another thread when the answer has been sent: what they cause is sent after it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::broadcast::Broadcast;
use super::worker::Worker;
use crate::player::{Answer, Command, Outcome, Refusal, Stopped};

/// How many requests may wait.
const MAX_WAITING: usize = 64;

/// The requests that wait.
#[derive(Debug)]
pub(super) struct Requests {
    worker: Worker,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: VecDeque<Request>,
    /// To how many of them, from the first one on, the answer has been sent.
    answered: usize,
}

#[derive(Debug)]
struct Request {
    commands: Vec<Command>,
    /// The id of a request for a seek.
    seek_id: Option<String>,
}

impl Requests {
    pub(super) fn new(worker: Worker) -> Self {
        Self {
            worker,
            waiting: Mutex::default(),
        }
    }

    /// Takes the commands of a request, after which the player has this speed; whether there was room for them.
    /// `seek_id` is the id of a request for a seek. Only to be called by the library, which then sends the answer.
    pub(super) fn push(
        self: &Arc<Self>,
        (commands, speed): (Vec<Command>, f32),
        seek_id: Option<String>,
        broadcast: &Arc<Broadcast>,
    ) -> bool {
        let mut waiting = self.lock();
        if waiting.requests.len() >= MAX_WAITING {
            return false;
        }
        // Before another thread can take the request, and end it.
        broadcast.begin_request(speed);
        waiting.requests.push_back(Request { commands, seek_id });
        drop(waiting);
        let (requests, broadcast) = (Arc::clone(self), Arc::clone(broadcast));
        self.worker.after_queued(move || {
            requests.lock().answered += 1;
            broadcast.wake();
        });
        true
    }

    /// Gives the commands of the requests that have been answered to the player.
    pub(super) fn carry_out(&self, broadcast: &Arc<Broadcast>) {
        while let Some(request) = self.next() {
            send(broadcast, request);
        }
    }

    fn next(&self) -> Option<Request> {
        let mut waiting = self.lock();
        waiting.answered = waiting.answered.checked_sub(1)?;
        waiting.requests.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the commands of one request to the player.
fn send(broadcast: &Arc<Broadcast>, request: Request) {
    let all = request.commands.len();
    for (at, command) in (1..).zip(request.commands) {
        let seek_id = request.seek_id.as_ref();
        let seek_id = seek_id.filter(|_| matches!(command, Command::Seek(_)));
        if let Some(id) = seek_id {
            broadcast.begin_seek(id);
        }
        let then = answered(broadcast, seek_id.cloned(), at == all);
        if !broadcast.transport().try_send_then(command, then) {
            broadcast.refuse("too many commands are waiting");
            broadcast.end_request();
            return;
        }
    }
}

/// What happens when the player has answered a command, the last one of a request or another.
fn answered(
    broadcast: &Arc<Broadcast>,
    seek_id: Option<String>,
    is_last: bool,
) -> impl FnOnce(Result<Answer, Stopped>) + Send + 'static {
    let broadcast = Arc::clone(broadcast);
    move |answer| {
        // A later seek replaces an earlier one: that is what a viewer asks for while its bar is dragged.
        if let Ok(answer) = answer
            && let Outcome::Refused(refusal) = answer.outcome
            && refusal != Refusal::Replaced
        {
            broadcast.refuse(&refusal.to_string());
        }
        if let Some(id) = seek_id {
            broadcast.end_seek(&id);
        }
        if is_last {
            broadcast.end_request();
        }
    }
}
