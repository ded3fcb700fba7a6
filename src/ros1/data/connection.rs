//! [`Connection`]: the messages of one topic on their way to one subscriber: a queue, and a thread that writes.

use std::io::{self, IoSlice, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::header::length;
use super::patience::NodePatience;
use super::queue::{Away, COPIED, QueueRules, Queued, QueuedMessage, Waiting};
use crate::ros1::event::{Events, Ros1Event};
use crate::ros1::options::SlowSubscriber;
use crate::ros1::system::{Budget, Share, steady};

/// The most messages that are written together, and the bytes at which no further one is added.
const TOGETHER: (usize, usize) = (64, 1 << 20);
/// How long a write waits before it is known whether the subscriber takes anything.
const WRITE_SLICE: Duration = Duration::from_millis(100);

/// One connection. It ends when it is closed; dropping it is not enough.
#[derive(Debug)]
pub(crate) struct Connection {
    topic: String,
    node: String,
    stream: Arc<TcpStream>,
    rules: QueueRules,
    events: Events,
    /// Shared with all connections of the same node.
    patience: Arc<NodePatience>,
    state: Mutex<Waiting>,
    /// Tells the thread that writes of a message, or of the end.
    work: Condvar,
    /// Tells the thread that sends of room, or of the end.
    room: Condvar,
    /// How many bytes the system has taken.
    taken: AtomicU64,
    /// Messages for it were dropped, and since then some have always waited.
    is_slow: AtomicBool,
}

impl Connection {
    /// A connection to a node. The header is written before it is started. The stream is shared with the thread that
    /// waits for its end: a copy of it would be another file descriptor.
    pub(crate) fn new(
        (topic, node): (&str, String),
        stream: Arc<TcpStream>,
        (rules, patience): (QueueRules, Arc<NodePatience>),
        (events, together): (Events, Arc<Budget>),
    ) -> io::Result<Self> {
        // The messages that wait are written together, so small packets need not wait for others.
        stream.set_nodelay(true)?;
        Ok(Self {
            topic: topic.to_owned(),
            node,
            stream,
            rules,
            events,
            patience,
            state: Mutex::new(Waiting::new(together)),
            work: Condvar::new(),
            room: Condvar::new(),
            taken: AtomicU64::new(0),
            is_slow: AtomicBool::new(false),
        })
    }

    /// The name of the subscriber.
    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// How many bytes wait to be taken by the system.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.lock().bytes
    }

    /// How many messages wait to be taken by the system; after the end, how many it has not taken.
    pub(crate) fn waiting_messages(&self) -> usize {
        self.lock().messages
    }

    /// How many bytes the system has taken.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Whether a message waits that a subscriber may still take: one that is stuck may not.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.lock();
        state.messages > 0 && !state.is_closed && state.away.is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread that writes. Messages may be added before.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<()> {
        self.stream.set_write_timeout(Some(WRITE_SLICE))?;
        let connection = Arc::clone(self);
        let thread = thread::Builder::new().name("ros1-write".to_owned());
        let run = move || {
            if let Err(error) = connection.write_all() {
                let (topic, node) = (&connection.topic, &connection.node);
                tracing::debug!("{topic} to {node}: {error}");
            }
            connection.close();
        };
        thread.spawn(run).map(drop)
    }

    /// Adds a message whatever waits, here or for all: those that a subscriber gets when it connects. They count, so
    /// what is sent afterwards waits for them.
    pub(crate) fn begin_with(&self, message: Bytes) {
        self.lock().push(message);
        self.work.notify_one();
    }

    /// Adds a message. Waits as the rules say, and calls `meanwhile` about ten times a second. Does not wait while
    /// another connection of the same node is stuck: one stall timeout for a node is enough.
    pub(crate) fn send(&self, message: &Bytes, meanwhile: &mut dyn FnMut()) -> Queued {
        let mut state = self.lock();
        if let Some(away) = &mut state.away {
            away.lost += 1;
            return Queued::Lost(1);
        }
        let mut dropped = 0;
        // How much was taken when the subscriber was last seen to take something, and when that was.
        let mut moved: Option<(u64, Instant)> = None;
        while !state.is_closed && !state.is_ending && !state.has_room(message.len(), &self.rules) {
            if self.rules.slow_subscriber == SlowSubscriber::DropOldest {
                dropped += u64::from(state.drop_oldest());
                continue;
            }
            let now = steady();
            if self.patience.is_used_up() {
                self.goes_away(&mut state, now);
                drop(state);
                return Queued::Lost(dropped + 1);
            }
            let taken = self.taken_bytes();
            if moved.is_none_or(|(before, _)| before != taken) {
                moved = Some((taken, now));
            }
            let since = moved.map_or(now, |(_, since)| since);
            let waited = now.saturating_duration_since(since);
            if waited >= self.rules.stall_timeout {
                self.goes_away(&mut state, since);
                drop(state);
                self.events.send(Ros1Event::Stalled {
                    topic: self.topic.clone(),
                    node: self.node.clone(),
                    waited,
                });
                return Queued::Stalled;
            }
            let left = self.rules.stall_timeout.saturating_sub(waited);
            let slice = left.min(WRITE_SLICE);
            let waited = self.room.wait_timeout(state, slice);
            let timed_out;
            (state, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
            if timed_out.timed_out() {
                drop(state);
                meanwhile();
                state = self.lock();
            }
        }
        if state.is_closed || state.is_ending {
            return Queued::Closed;
        }
        let is_copied = self.rules.slow_subscriber == SlowSubscriber::DropOldest
            && !state.queue.is_empty()
            && message.len() >= COPIED;
        state.push(if is_copied {
            Bytes::copy_from_slice(message)
        } else {
            message.clone()
        });
        drop(state);
        self.work.notify_one();
        match dropped {
            0 => Queued::Taken,
            dropped => Queued::Lost(dropped),
        }
    }

    /// Waits before a jump until everything has been written, until `until` at most, and calls `meanwhile` about ten
    /// times a second. If messages may be dropped, drops those that still wait; returns their number. Does not wait for
    /// a node that is stuck, also on another topic, nor again for a connection that was too slow.
    pub(crate) fn await_written(&self, until: Instant, meanwhile: &mut dyn FnMut()) -> u64 {
        let mut state = self.lock();
        while state.is_awaited() && !self.patience.is_used_up() {
            let left = until.saturating_duration_since(steady());
            if left.is_zero() {
                state.is_passed_over = true;
                break;
            }
            let waited = self.room.wait_timeout(state, left.min(WRITE_SLICE));
            let timed_out;
            (state, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
            if timed_out.timed_out() {
                drop(state);
                meanwhile();
                state = self.lock();
            }
        }
        match self.rules.slow_subscriber {
            SlowSubscriber::Wait => 0,
            SlowSubscriber::DropOldest => state.empty(),
        }
    }

    /// Messages for it were dropped, which the rules allow: told once until nothing waits for it.
    pub(crate) fn tell_slow(&self) {
        let may_drop = self.rules.slow_subscriber == SlowSubscriber::DropOldest;
        if may_drop && !self.is_slow.swap(true, Ordering::Relaxed) {
            self.events.send(Ros1Event::Slow {
                topic: self.topic.clone(),
                node: self.node.clone(),
            });
        }
    }

    /// Writes what waits, then closes; nothing is added any more.
    pub(crate) fn end(&self) {
        self.lock().is_ending = true;
        self.work.notify_one();
        self.room.notify_all();
    }

    /// Closes the connection at once.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.is_closed, true) {
            return;
        }
        state.queue.clear();
        if state.away.take().is_some() {
            self.patience.is_back();
        }
        drop(state);
        self.work.notify_one();
        self.room.notify_all();
        // An error means that it is closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Writes until the connection is closed or has ended.
    fn write_all(&self) -> io::Result<()> {
        while let Some(messages) = self.next_messages() {
            let bytes = messages.iter().map(|held| held.message.len()).sum();
            let count = messages.len();
            self.write(messages)?;
            let mut state = self.lock();
            state.taken(count, bytes);
            // A subscriber is back only when no message waits for it. Bytes that the system has taken are no proof:
            // they may lie in its buffers while the subscriber is stopped.
            let away = if state.messages == 0 {
                self.is_slow.store(false, Ordering::Relaxed);
                state.away.take()
            } else {
                None
            };
            if away.is_some() {
                self.patience.is_back();
            }
            drop(state);
            self.room.notify_all();
            if let Some(away) = away {
                self.tell_back(away);
            }
        }
        Ok(())
    }

    /// Waits for messages; `None` at the end.
    fn next_messages(&self) -> Option<Vec<QueuedMessage>> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if !state.queue.is_empty() {
                break;
            }
            if state.is_ending {
                return None;
            }
            let woken = self.work.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let (mut messages, mut bytes) = (Vec::new(), 0);
        while messages.len() < TOGETHER.0
            && bytes < TOGETHER.1
            && let Some(message) = state.pop()
        {
            bytes += message.message.len();
            messages.push(message);
        }
        Some(messages)
    }

    /// Writes messages. If the subscriber takes nothing for a moment, all that waits for it is copied, so that it keeps
    /// no chunk in memory: the read-ahead has to go on.
    fn write(&self, messages: Vec<QueuedMessage>) -> io::Result<()> {
        let lengths = messages.iter().map(|it| length(it.message.len()));
        let lengths: Vec<[u8; 4]> = lengths.collect();
        let parts = lengths.iter().zip(&messages);
        let parts = parts.flat_map(|(length, held)| [&length[..], held.message.as_ref()]);
        let mut slices: Vec<IoSlice<'_>> = parts.map(IoSlice::new).collect();
        let mut rest = &mut slices[..];
        let mut left = Vec::new();
        while !rest.is_empty() {
            if let Some(count) = self.write_some(rest)? {
                IoSlice::advance_slices(&mut rest, count);
            } else {
                for part in rest.iter() {
                    left.extend_from_slice(part);
                }
                break;
            }
        }
        // The copy counts until it is written.
        let _shares: Vec<Share> = messages
            .into_iter()
            .map(QueuedMessage::into_share)
            .collect();
        let mut left = &left[..];
        while !left.is_empty() {
            self.copy_queue();
            let count = self.write_some(&[IoSlice::new(left)])?;
            left = &left[count.unwrap_or(0)..];
        }
        Ok(())
    }

    /// Writes what the system takes; `None` if it has taken nothing for a moment.
    fn write_some(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        match (&*self.stream).write_vectored(parts) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                self.taken.fetch_add(count as u64, Ordering::Relaxed);
                Ok(Some(count))
            }
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => Ok(Some(0)),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if !self.lock().is_closed => {
                    Ok(None)
                }
                _ => Err(error),
            },
        }
    }

    /// Copies what waits, with the lock for one message at a time.
    fn copy_queue(&self) {
        while self.lock().copy_one() {}
    }

    /// The subscriber is stuck, and this message is the first that it loses. With the lock: the thread that writes must
    /// see it before it has written all that waits.
    fn goes_away(&self, state: &mut Waiting, since: Instant) {
        state.away = Some(Away { since, lost: 1 });
        self.patience.is_stuck();
    }

    fn tell_back(&self, Away { since, lost }: Away) {
        self.events.send(Ros1Event::Back {
            topic: self.topic.clone(),
            node: self.node.clone(),
            away: steady().saturating_duration_since(since),
            lost,
        });
    }
}
