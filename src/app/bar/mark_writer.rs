//! [`MarkWriter`]: saves marks when they change, on a thread of its own, because the disk may be slow.

use std::convert::Infallible;
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use bagplay::marks::{Mark, Marks};
use bagplay::time::{Ros, Time};
use crossbeam_channel::{Receiver, Sender, bounded};

/// How many changes may wait for the disk.
const WAITING: usize = 256;

#[derive(Debug)]
enum Change {
    Add(Mark),
    Remove(Time<Ros>),
}

/// Saves marks; when it is dropped, everything has been written.
#[derive(Debug)]
pub(crate) struct MarkWriter {
    changes: Option<Sender<Change>>,
    done: Receiver<Infallible>,
    thread: Option<JoinHandle<()>>,
}

impl MarkWriter {
    /// Saves changes of `marks`; does nothing if that is `None`.
    pub(crate) fn start(marks: Option<Marks>) -> io::Result<Self> {
        let (alive, done) = bounded(0);
        let Some(marks) = marks else {
            return Ok(Self {
                changes: None,
                done,
                thread: None,
            });
        };
        let (send, changes) = bounded(WAITING);
        let thread = std::thread::Builder::new()
            .name("marks".into())
            .spawn(move || {
                let _alive: Sender<Infallible> = alive;
                save_changes(marks, &changes);
            })?;
        Ok(Self {
            changes: Some(send),
            done,
            thread: Some(thread),
        })
    }

    /// Saves a mark.
    pub(crate) fn add(&self, mark: Mark) {
        self.send(Change::Add(mark));
    }

    /// Deletes the mark at a time.
    pub(crate) fn remove(&self, time: Time<Ros>) {
        self.send(Change::Remove(time));
    }

    fn send(&self, change: Change) {
        let is_sent = |changes: &Sender<Change>| changes.try_send(change).is_ok();
        if !self.changes.as_ref().is_some_and(is_sent) {
            tracing::warn!("this mark is not saved");
        }
    }
}

impl MarkWriter {
    /// Waits until everything has been written, for a limited time: before an immediate end.
    pub(crate) fn finish(&mut self, timeout: Duration) {
        self.changes = None;
        // Nothing is ever sent: the channel is disconnected when the thread ends.
        let _ = self.done.recv_timeout(timeout);
    }
}

impl Drop for MarkWriter {
    fn drop(&mut self) {
        self.changes = None;
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has printed its message.
            let _ = thread.join();
        }
    }
}

/// Writes after each change, or once after several changes.
fn save_changes(mut marks: Marks, changes: &Receiver<Change>) {
    while let Ok(change) = changes.recv() {
        for change in std::iter::once(change).chain(changes.try_iter()) {
            match change {
                Change::Add(mark) => marks.add(mark),
                Change::Remove(time) => {
                    marks.remove(time);
                }
            }
        }
        save(&mut marks);
    }
    if marks.is_changed() {
        save(&mut marks);
    }
}

fn save(marks: &mut Marks) {
    if let Err(error) = marks.save() {
        tracing::warn!("the marks are not saved: {error}");
    }
}
