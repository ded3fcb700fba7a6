//! [`Requests`]: requests of viewers on their way to the player.
//!
//! The library sends the answer to a request when the function that takes the request has returned. So the commands are
//! given to the player by another thread, a moment later: what they cause is sent after the answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::broadcast::Broadcast;
use crate::player::{Answer, Command, Outcome, Refusal, Stopped};
use crate::time::{Duration, Steady, Time};

/// Longer than the library usually takes to send an answer.
const A_MOMENT: Duration = Duration::from_millis(2);
/// How many requests may wait.
const MAX_WAITING: usize = 64;

/// The requests that wait.
#[derive(Debug, Default)]
pub(super) struct Requests(Mutex<VecDeque<Request>>);

#[derive(Debug)]
struct Request {
    due: Time<Steady>,
    commands: Vec<Command>,
    /// The id of a request for a seek.
    seek_id: Option<String>,
}

impl Requests {
    /// Takes the commands of a request, after which the player has this speed; whether there was room for them.
    /// `seek_id` is the id of a request for a seek.
    pub(super) fn push(
        &self,
        (commands, speed): (Vec<Command>, f32),
        seek_id: Option<String>,
        broadcast: &Broadcast,
    ) -> bool {
        let mut waiting = self.lock();
        if waiting.len() >= MAX_WAITING {
            return false;
        }
        let due = broadcast.transport().now().saturating_add(A_MOMENT);
        // Before another thread can take the request, and end it.
        broadcast.begin_request(speed);
        waiting.push_back(Request {
            due,
            commands,
            seek_id,
        });
        drop(waiting);
        broadcast.wake();
        true
    }

    /// Gives the commands that are due to the player. Returns how long it takes until others are due; `None`: there are
    /// none.
    pub(super) fn carry_out(&self, broadcast: &Arc<Broadcast>) -> Option<Duration> {
        loop {
            let now = broadcast.transport().now();
            let mut waiting = self.lock();
            let due = waiting.front()?.due;
            if due > now {
                return Some(due.saturating_since(now));
            }
            let request = waiting.pop_front()?;
            drop(waiting);
            send(broadcast, request);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
