//! [`Outputs`]: receives, digests and records what other nodes publish, and hands each message on while zenoh's thread
//! has it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::bounded;

use super::arrival::Arrival;
use super::define::{Definitions, Known, LookUp};
use super::digest::{Digest, PayloadHash, RunDigest};
use super::in_hand::InHand;
use super::inputs::InputRecorder;
use super::record::{Intake, RecordError, Recorded, Recorder, RecorderOptions};
use super::tally::Tally;
use crate::ci::report::OutputTopic;
use crate::time::{Ros, Time};
use crate::wire::{NotReceived, Received, Session, Subscribed, Subscriptions, Which, WireError};

/// How many topics may wait for a request to their nodes. While so many wait, no further topic is looked up.
const MOST_ASKED: usize = 1024;

/// What to do with outputs.
#[derive(Clone, Debug)]
pub struct OutputOptions {
    /// Which topics are outputs.
    pub topics: Which,
    /// Where to record them; `None`: nowhere.
    pub record: Option<RecorderOptions>,
    /// Where to record them together with the inputs that [`Outputs::input_recorder`] gets; `None`: nowhere.
    pub record_with_inputs: Option<RecorderOptions>,
    /// Where to look for the definitions of their types, besides asking their nodes.
    pub definitions: Definitions,
    /// Whether publishers that appear later are new. If not, what they published before their first message that was
    /// received is not counted as [`OutputTopic::earlier`].
    pub are_publishers_new: bool,
}

impl OutputOptions {
    /// Outputs of new publishers that are not recorded.
    pub const fn new(topics: Which, definitions: Definitions) -> Self {
        Self {
            topics,
            record: None,
            record_with_inputs: None,
            definitions,
            are_publishers_new: true,
        }
    }
}

/// The stamp with which a message begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stamp {
    /// It begins with this one.
    Read(Time<Ros>),
    /// It begins with none, or its type has no definition.
    Absent,
    /// The definition of its type is still looked up: see [`Outputs::undefined`].
    NotYetKnown,
}

impl Stamp {
    /// The stamp, if there is one.
    pub fn time(self) -> Option<Time<Ros>> {
        match self {
            Self::Read(time) => Some(time),
            Self::Absent | Self::NotYetKnown => None,
        }
    }
}

/// Why outputs cannot be received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// They cannot be subscribed to.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// They cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A thread could not be started.
    #[error("the thread that looks up definitions cannot be started: {0}")]
    Thread(std::io::Error),
}

/// The outputs of a run. What was recorded is finished when this is dropped.
pub struct Outputs {
    inner: Arc<Inner>,
    recorder: Option<Recorder>,
    with_inputs: Option<Recorder>,
    /// `None` once they have ended.
    subscriptions: Option<Arc<Subscriptions>>,
    look_up: Vec<JoinHandle<()>>,
}

/// What became of the outputs of a run.
#[derive(Debug)]
pub struct OutputsEnd {
    /// The digest of all of them.
    pub digest: RunDigest,
    /// What was received, by topic.
    pub topics: Vec<OutputTopic>,
    /// The publishers whose messages could not be received: the first 1000.
    pub not_received: Vec<NotReceived>,
    /// The recording, if there is one.
    pub recorded: Option<Recorded>,
    /// The recording with inputs and outputs, if there is one.
    pub with_inputs: Option<Recorded>,
    /// How many messages came before the run had begun: they are not among its outputs.
    pub before: u64,
}

type Position = Box<dyn Fn() -> Option<Time<Ros>> + Send + Sync>;
type OnArrival = Box<dyn Fn(&Arrival, Stamp) + Send + Sync>;

struct Inner {
    state: Mutex<State>,
    /// Not in `state`: a thread that waits for the disk must not hold its lock.
    intakes: Vec<Intake>,
    in_hand: InHand,
    known: Known,
    position: Position,
    on_arrival: OnArrival,
}

struct State {
    digest: Digest,
    tally: Tally,
    /// What comes now is not of the run any more.
    is_over: bool,
    before: u64,
}

impl Outputs {
    /// Starts to receive. `position` gives the log time at which playback is, `None` before the run has begun: what
    /// comes then is counted and left out. It is called for one message after the other and must not block.
    /// `on_arrival` is called with each message after it has been digested and queued for recording, in the thread of
    /// zenoh that received it: what waits for an answer goes on without a change of thread. Messages of different links
    /// may come in several threads at once. While the disk is too slow, that thread waits before the call, without a
    /// lock; [`Outputs::in_hand`] tells so.
    ///
    /// # Errors
    /// A topic name that zenoh cannot carry; a file that cannot be made.
    pub fn start(
        session: &Session,
        options: OutputOptions,
        position: impl Fn() -> Option<Time<Ros>> + Send + Sync + 'static,
        on_arrival: impl Fn(&Arrival, Stamp) + Send + Sync + 'static,
    ) -> Result<Self, OutputError> {
        let OutputOptions {
            topics,
            record,
            record_with_inputs,
            definitions,
            are_publishers_new,
        } = options;
        let known = Known::default();
        let start = |options| Recorder::start(options, known.clone());
        let recorder = record.map(start).transpose()?;
        let with_inputs = record_with_inputs.map(start).transpose()?;
        let recorders = recorder.iter().chain(&with_inputs);
        let inner = Arc::new(Inner {
            state: Mutex::new(State {
                digest: Digest::default(),
                tally: Tally::new(are_publishers_new),
                is_over: false,
                before: 0,
            }),
            intakes: recorders.map(Recorder::intake).collect(),
            in_hand: InHand::default(),
            known,
            position: Box::new(position),
            on_arrival: Box::new(on_arrival),
        });
        let receiver = Arc::clone(&inner);
        let receive = move |message| receiver.receive(message);
        let subscriptions = Arc::new(session.receive(topics, receive)?);
        let descriptions = session.type_descriptions()?;
        let (ask, asked) = bounded(MOST_ASKED);
        let look_up = LookUp {
            known: inner.known.clone(),
            subscriptions: Arc::clone(&subscriptions),
            definitions,
        };
        let asking = look_up.clone();
        let mut outputs = Self {
            inner,
            recorder,
            with_inputs,
            subscriptions: Some(subscriptions),
            look_up: Vec::new(),
        };
        outputs.look_up("definitions", move || look_up.work(&ask))?;
        outputs.look_up("descriptions", move || asking.ask(&descriptions, &asked))?;
        Ok(outputs)
    }

    fn look_up(
        &mut self,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), OutputError> {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(work).map_err(OutputError::Thread)?;
        self.look_up.push(thread);
        Ok(())
    }

    /// The publishers whose messages are received, sorted.
    pub fn subscribed(&self) -> Vec<Subscribed> {
        let subscriptions = self.subscriptions.as_ref();
        subscriptions.map_or_else(Vec::new, |it| it.publishers())
    }

    /// The publishers whose messages cannot be received, sorted: the first 1000.
    pub fn not_received(&self) -> Vec<NotReceived> {
        let subscriptions = self.subscriptions.as_ref();
        subscriptions.map_or_else(Vec::new, |it| it.not_received())
    }

    /// Waits until there is a publisher of each of these topics that is received and whose type has been looked up, for
    /// `longest` at most; returns the topics for which there is none.
    pub fn wait_for(&self, topics: &[String], longest: Duration) -> Vec<String> {
        let Some(subscriptions) = &self.subscriptions else {
            return topics.to_vec();
        };
        let mut missing = Vec::new();
        subscriptions.wait(longest, |subscriptions| {
            let subscribed = subscriptions.publishers();
            let undefined = self.undefined();
            let is_there = |topic: &String| {
                subscribed.iter().any(|it| it.topic == *topic) && !undefined.contains(topic)
            };
            missing = topics.iter().filter(|it| !is_there(it)).cloned().collect();
            missing.is_empty()
        });
        missing
    }

    /// The topics whose definition is still looked up. Until then their stamps are not read.
    pub fn undefined(&self) -> Vec<String> {
        let Some(subscriptions) = &self.subscriptions else {
            return Vec::new();
        };
        let topics = subscriptions.topics().into_iter();
        let undefined = topics.filter(|topic| self.inner.known.get(topic.number).is_none());
        undefined.map(|topic| topic.name.clone()).collect()
    }

    /// The messages that have been received and not handed on yet: a thread may wait with one of them until the disk
    /// has taken others.
    pub fn in_hand(&self) -> InHand {
        self.inner.in_hand.clone()
    }

    /// The topics whose messages begin with no stamp that could be read, with their types: the type begins with none,
    /// or no definition of it was found.
    pub fn unstamped(&self) -> Vec<(String, String)> {
        let Some(subscriptions) = &self.subscriptions else {
            return Vec::new();
        };
        let topics = subscriptions.topics().into_iter();
        let unstamped = topics.filter(|topic| {
            let definition = self.inner.known.get(topic.number);
            definition.is_some_and(|it| it.stamp.is_none())
        });
        unstamped
            .map(|topic| (topic.name.clone(), topic.type_name.clone()))
            .collect()
    }

    /// Where inputs are recorded, if [`OutputOptions::record_with_inputs`] says so.
    pub fn input_recorder(&self) -> Option<InputRecorder> {
        self.with_inputs.as_ref().map(|recorder| InputRecorder {
            intake: recorder.intake(),
            known: self.inner.known.clone(),
        })
    }

    /// How many messages have been received.
    pub fn messages(&self) -> u64 {
        self.inner.state().digest.messages()
    }

    /// What has been received, by topic.
    pub fn topics(&self) -> Vec<OutputTopic> {
        self.inner.state().tally.topics()
    }

    /// Ends the subscriptions, and waits until everything is recorded.
    pub fn finish(mut self) -> OutputsEnd {
        let not_received = self.not_received();
        self.end();
        let mut state = self.inner.state();
        state.is_over = true;
        let (digest, mut topics) = (state.digest.finish(), state.tally.topics());
        let before = state.before;
        drop(state);
        let recorded = self.recorder.take().map(Recorder::finish);
        let with_inputs = self.with_inputs.take().map(Recorder::finish);
        for topic in &mut topics {
            let unrecorded = recorded.as_ref().map(|it| &it.unrecorded);
            let count = unrecorded.and_then(|it| it.get(&topic.topic));
            topic.unrecorded = count.copied().unwrap_or(0);
        }
        OutputsEnd {
            digest,
            topics,
            not_received,
            recorded,
            with_inputs,
            before,
        }
    }

    fn end(&mut self) {
        if let Some(subscriptions) = self.subscriptions.take() {
            subscriptions.end();
        }
        for look_up in self.look_up.drain(..) {
            // A panic there has been reported.
            let _ = look_up.join();
        }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs")
            .field("subscribed", &self.subscribed())
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(&self, message: Received) {
        // Held before the locks below are taken: a thread that waits for one of them has not handed on its message.
        let _held = self.in_hand.hold();
        let hash = PayloadHash::of(&message.payload);
        let stamp = match self.known.get(message.topic.number) {
            None => Stamp::NotYetKnown,
            Some(definition) => {
                let read = definition.stamp.and_then(|it| it.read(&message.payload));
                read.map_or(Stamp::Absent, Stamp::Read)
            }
        };
        let mut state = self.state();
        if state.is_over {
            return;
        }
        // Under the lock: positions rise as messages are digested and recorded.
        let Some(position) = (self.position)() else {
            state.before += 1;
            return;
        };
        let arrival = Arrival {
            position,
            topic: message.topic,
            publisher: message.publisher,
            sequence: message.sequence,
            source_time: message.source_time,
            payload: message.payload,
        };
        let Arrival {
            topic,
            position,
            publisher,
            sequence,
            ..
        } = &arrival;
        state.tally.add(&arrival);
        state
            .digest
            .add(*position, topic, publisher, *sequence, hash);
        for intake in &self.intakes {
            intake.add(arrival.clone());
        }
        drop(state);
        for intake in &self.intakes {
            intake.wait_for_room();
        }
        (self.on_arrival)(&arrival, stamp);
    }
}
