//! [`Recorder`]: writes outputs to an MCAP file, on a thread of its own.
//!
//! The messages of a topic wait until its definition is known, for [`DEFINITION_LIMIT`] at most, or until the queue is
//! full; those of other topics are written meanwhile. A chunk is written when it is full, and once per second. When the
//! file cannot be written any more, recording ends with one error, and everything that comes later is counted.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::file::{RecordError, RecordingFile};
use super::queue::{Queue, size_of};
use crate::ci::outputs::arrival::Arrival;
use crate::ci::outputs::define::{Definition, Known};
use crate::ros::PublishedTopic;
use crate::untrusted::Foreign;

/// How long the first messages of a topic wait for its definition.
pub const DEFINITION_LIMIT: Duration = Duration::from_secs(10);
/// How long what was received may be missing in the file.
const FLUSH: Duration = Duration::from_secs(1);
/// How long a few messages wait until the recorder comes for them.
const GATHER: Duration = Duration::from_millis(100);
/// How often the recorder looks whether a definition is known.
const LOOK: Duration = Duration::from_millis(20);

/// How a recorder records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecorderOptions {
    /// The file.
    pub path: PathBuf,
    /// How many bytes of messages may wait for the disk.
    pub queue_bytes: usize,
    /// How long a thread that has added a message waits for room in the queue. If there is none by then, messages are
    /// not recorded, and no thread waits, until there is room again.
    pub longest_wait: Duration,
}

impl RecorderOptions {
    /// 256 MiB in the queue, and 5 s of waiting.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            queue_bytes: 256 << 20,
            longest_wait: Duration::from_secs(5),
        }
    }
}

/// Records outputs. Dropping it without [`Recorder::finish`] finishes the file, too.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    intake: Intake,
    thread: Option<JoinHandle<Recorded>>,
}

/// Where messages come in. Clones are the same.
#[derive(Clone, Debug)]
pub(in crate::ci::outputs) struct Intake {
    queue: Arc<Queue>,
    /// How many messages of each topic found no room.
    refused: Arc<Mutex<BTreeMap<String, u64>>>,
}

/// What became of a recording.
#[derive(Debug, Default)]
pub struct Recorded {
    /// How many messages the file has.
    pub messages: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many messages of each topic are not in it.
    pub unrecorded: BTreeMap<String, u64>,
    /// What was noticed, one sentence each: topics without a definition, topics beyond the limit.
    pub notes: Vec<String>,
    /// Why recording ended early.
    pub error: Option<RecordError>,
}

impl Recorder {
    /// Makes the file and starts to record. `known` has the definitions of topics, or gets them later.
    ///
    /// # Errors
    /// If the file cannot be made or written.
    pub fn start(options: RecorderOptions, known: Known) -> Result<Self, RecordError> {
        let RecorderOptions {
            path,
            queue_bytes,
            longest_wait,
        } = options;
        let file = RecordingFile::create(&path)?;
        let queue = Arc::new(Queue::new(queue_bytes, longest_wait));
        let of_thread = Arc::clone(&queue);
        let writing = Writing {
            file: Some(file),
            known,
            topics: HashMap::new(),
            unflushed: HashMap::new(),
            recorded: Recorded::default(),
        };
        let thread = std::thread::Builder::new().name("recorder".to_owned());
        let thread = thread.spawn(move || writing.work(&of_thread));
        let thread = thread.map_err(|source| RecordError::Thread {
            path: path.clone(),
            source,
        })?;
        Ok(Self {
            path,
            intake: Intake {
                queue,
                refused: Arc::default(),
            },
            thread: Some(thread),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records a message, and waits for room if the queue is full; returns whether it is recorded.
    pub fn put(&self, arrival: Arrival) -> bool {
        let is_taken = self.intake.add(arrival);
        self.intake.wait_for_room();
        is_taken
    }

    /// Where messages come in.
    #[cfg(feature = "wire")]
    pub(in crate::ci::outputs) fn intake(&self) -> Intake {
        self.intake.clone()
    }

    /// Waits until all messages are written, and writes the index.
    pub fn finish(mut self) -> Recorded {
        let mut recorded = self.end().unwrap_or_else(|| Recorded {
            error: Some(RecordError::Panicked {
                path: self.path.clone(),
            }),
            ..Recorded::default()
        });
        let refused = std::mem::take(&mut *self.intake.refused());
        for (topic, count) in refused {
            *recorded.unrecorded.entry(topic).or_default() += count;
        }
        recorded
    }

    fn end(&mut self) -> Option<Recorded> {
        self.intake.queue.close();
        // A panic there has been reported.
        self.thread.take()?.join().ok()
    }
}

impl Intake {
    /// Adds a message without waiting; returns whether it is recorded. To be followed by [`Intake::wait_for_room`].
    pub(in crate::ci::outputs) fn add(&self, arrival: Arrival) -> bool {
        let topic = Arc::clone(&arrival.topic);
        let is_taken = self.queue.add(arrival);
        if !is_taken {
            *self.refused().entry(topic.name.clone()).or_default() += 1;
        }
        is_taken
    }

    /// Waits until what waits for the disk fits, up to the limit of the recorder. No lock is to be held.
    pub(in crate::ci::outputs) fn wait_for_room(&self) {
        self.queue.wait_for_room();
    }

    fn refused(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

/// The recorder's thread.
struct Writing {
    /// `None` after an error.
    file: Option<RecordingFile>,
    known: Known,
    topics: HashMap<usize, Writable>,
    /// How many messages of each topic the file does not have yet.
    unflushed: HashMap<usize, (Arc<PublishedTopic>, u64)>,
    recorded: Recorded,
}

/// What is known of a topic.
enum Writable {
    /// Its definition is looked up: its messages, and until when they wait.
    Undefined(VecDeque<Arrival>, Instant),
    Channel(u16),
    /// It cannot be written.
    Refused,
}

impl Writing {
    fn work(mut self, queue: &Queue) -> Recorded {
        let mut flush_at: Option<Instant> = None;
        loop {
            let now = now();
            let is_waiting = |topic: &Writable| matches!(topic, Writable::Undefined(..));
            let until_flush = flush_at.map_or(GATHER, |at| at.saturating_duration_since(now));
            let longest = if self.topics.values().any(is_waiting) {
                LOOK
            } else {
                GATHER
            };
            let longest = until_flush.min(longest);
            let taken = queue.take(longest);
            let now = self::now();
            let mut done: usize = taken
                .messages
                .into_iter()
                .map(|arrival| self.take(arrival, now))
                .sum();
            done += self.define(|deadline| taken.is_last || taken.is_full || now >= deadline);
            if done > 0 {
                queue.release(done);
            }
            let has_open_chunk = |file: &RecordingFile| file.has_open_chunk();
            if !self.file.as_ref().is_some_and(has_open_chunk) {
                flush_at = None;
            } else if now >= *flush_at.get_or_insert(now + FLUSH.saturating_sub(GATHER)) {
                flush_at = None;
                self.try_file(|file| file.flush().map(|()| true));
            }
            if taken.is_last {
                return self.finish();
            }
        }
    }

    /// Writes a message, or keeps it until its topic is defined; returns the bytes that are done with.
    fn take(&mut self, arrival: Arrival, now: Instant) -> usize {
        let number = arrival.topic.number;
        if let Some(Writable::Undefined(waiting, _)) = self.topics.get_mut(&number) {
            waiting.push_back(arrival);
            return 0;
        }
        if !self.topics.contains_key(&number) {
            let Some(definition) = self.known.get(number) else {
                let until = now + DEFINITION_LIMIT;
                let waiting = VecDeque::from([arrival]);
                self.topics
                    .insert(number, Writable::Undefined(waiting, until));
                return 0;
            };
            self.add_topic(&arrival, &definition);
        }
        self.write(&arrival);
        size_of(&arrival)
    }

    /// Writes the messages of topics whose definition has become known, or of which `is_due` says that they have waited
    /// long enough; returns their bytes.
    fn define(&mut self, is_due: impl Fn(Instant) -> bool) -> usize {
        let ready = self.topics.iter().filter(|(number, topic)| match topic {
            Writable::Undefined(_, deadline) => {
                is_due(*deadline) || self.known.get(**number).is_some()
            }
            _ => false,
        });
        let mut ready: Vec<usize> = ready.map(|(number, _)| *number).collect();
        ready.sort_unstable();
        let mut done = 0;
        for number in ready {
            let Some(Writable::Undefined(waiting, _)) = self.topics.remove(&number) else {
                continue;
            };
            if let Some(first) = waiting.front() {
                let definition = self.known.get(number).unwrap_or_else(|| too_late(first));
                self.add_topic(first, &definition);
            }
            for arrival in &waiting {
                self.write(arrival);
                done += size_of(arrival);
            }
        }
        done
    }

    fn add_topic(&mut self, first: &Arrival, definition: &Definition) {
        let topic = &first.topic;
        self.recorded.notes.extend(definition.note.clone());
        let file = self.file.as_mut();
        let writable = match file.map(|file| file.add_topic(topic, definition)) {
            Some(Ok(channel)) => Writable::Channel(channel),
            Some(Err(error)) => {
                self.recorded.notes.push(error.to_string());
                Writable::Refused
            }
            None => Writable::Refused,
        };
        self.topics.insert(topic.number, writable);
    }

    fn write(&mut self, arrival: &Arrival) {
        let channel = match self.topics.get(&arrival.topic.number) {
            Some(Writable::Channel(channel)) => Some(*channel),
            _ => None,
        };
        let topic = &arrival.topic;
        let Some(channel) = channel else {
            return self.not_recorded(topic, 1);
        };
        // If that finishes a chunk, the message is the first of the next one.
        self.try_file(|file| file.write(channel, arrival));
        if self.file.is_none() {
            return self.not_recorded(topic, 1);
        }
        let counted = self.unflushed.entry(topic.number);
        let (_, count) = counted.or_insert_with(|| (Arc::clone(topic), 0));
        *count += 1;
    }

    fn not_recorded(&mut self, topic: &PublishedTopic, count: u64) {
        let unrecorded = &mut self.recorded.unrecorded;
        *unrecorded.entry(topic.name.clone()).or_default() += count;
    }

    /// Does something with the file, if it can still be written; an error ends recording. `what` returns whether the
    /// file has all messages from before it.
    fn try_file(&mut self, what: impl FnOnce(&mut RecordingFile) -> Result<bool, RecordError>) {
        match self.file.as_mut().map(what) {
            Some(Ok(true)) => {
                let counts = self.unflushed.drain().map(|(_, (_, count))| count);
                self.recorded.messages += counts.sum::<u64>();
            }
            Some(Err(error)) => {
                self.recorded.error = Some(error);
                self.file = None;
                for (_, (topic, count)) in std::mem::take(&mut self.unflushed) {
                    self.not_recorded(&topic, count);
                }
            }
            Some(Ok(false)) | None => {}
        }
    }

    fn finish(mut self) -> Recorded {
        self.try_file(|file| file.flush().map(|()| true));
        match self.file.take().map(RecordingFile::finish) {
            Some(Ok(bytes)) => self.recorded.bytes = bytes,
            Some(Err(error)) => self.recorded.error = Some(error),
            None => {}
        }
        self.recorded
    }
}

fn too_late(first: &Arrival) -> Arc<Definition> {
    let name = Foreign::text(&first.topic.name);
    Arc::new(Definition {
        schema: None,
        stamp: None,
        offers: Vec::new(),
        note: Some(format!(
            "{name} has no definition, so its messages cannot be decoded: it was not found in time"
        )),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "what was received is written within a second of wall time"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::{Publisher, Qos};
    use crate::time::Time;

    #[test]
    fn after_the_end_of_the_file_a_topic_without_definition_is_said_once() {
        let known = Known::default();
        let mut writing = Writing {
            file: None,
            known: known.clone(),
            topics: HashMap::new(),
            unflushed: HashMap::new(),
            recorded: Recorded::default(),
        };
        let arrival = Arrival {
            topic: Arc::new(PublishedTopic {
                number: 0,
                name: "/late".to_owned(),
                type_name: "test_msgs/msg/Unknown".to_owned(),
                type_hash: None,
                qos: Qos::default(),
            }),
            position: Time::ZERO,
            publisher: Publisher::unknown(),
            sequence: None,
            source_time: None,
            payload: vec![0; 8].into(),
        };
        known.add(0, (*too_late(&arrival)).clone());
        for _ in 0..100 {
            writing.take(arrival.clone(), now());
        }
        let Recorded {
            notes, unrecorded, ..
        } = writing.finish();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(unrecorded, BTreeMap::from([("/late".to_owned(), 100)]));
    }
}
