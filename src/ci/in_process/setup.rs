//! [`InProcess`]: what is played to an algorithm in this process.

use std::path::PathBuf;

use super::error::InProcessError;
use super::outputs::{Output, Sink};
use super::record::Record;
use super::replay::Replay;
use crate::bag::{Bag, Selection, TopicId};
use crate::ci::outputs::RecordError;
use crate::time::{Duration, Ros, Time, TimeRange};

/// A recorded clock: the run has a clock of its own.
const CLOCK: &str = "/clock";

/// What is played, from where to where. A value: nothing is read before [`InProcess::start`].
#[derive(Clone, Debug)]
pub struct InProcess {
    bag: Bag,
    topics: Vec<TopicId>,
    from: Option<Time<Ros>>,
    until: Option<Time<Ros>>,
    tail: Duration,
    patience: Duration,
}

impl InProcess {
    /// All messages of a recording, except a recorded `/clock`.
    pub fn of(bag: &Bag) -> Self {
        let this = Self {
            bag: bag.clone(),
            topics: Vec::new(),
            from: None,
            until: None,
            tail: Duration::ZERO,
            patience: Duration::from_secs(10),
        };
        let topics = this.ids(|name| name != CLOCK);
        Self { topics, ..this }
    }

    fn ids(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<TopicId> {
        let topics = (0..).map(TopicId).zip(self.bag.topics());
        let wanted = topics.filter(|(_, topic)| is_wanted(&topic.name));
        wanted.map(|(id, _)| id).collect()
    }

    fn named(&self, name: &str) -> Result<Vec<TopicId>, InProcessError> {
        let ids = self.ids(|other| other == name);
        if ids.is_empty() {
            return Err(InProcessError::NoTopic(name.to_owned()));
        }
        Ok(ids)
    }

    /// These topics only.
    ///
    /// # Errors
    /// If the recording does not have one of them.
    pub fn topics<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InProcessError> {
        let ids: Result<Vec<_>, _> = names.into_iter().map(|name| self.named(name)).collect();
        self.topics = ids?.concat();
        Ok(self)
    }

    /// Not these topics: those that the algorithm publishes itself.
    ///
    /// # Errors
    /// If the recording does not have one of them.
    pub fn without<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InProcessError> {
        for name in names {
            let ids = self.named(name)?;
            self.topics.retain(|id| !ids.contains(id));
        }
        Ok(self)
    }

    /// Messages from this time on, it included. Before them come the messages of latched topics that a subscriber would
    /// get which joins then.
    #[must_use]
    pub const fn from(mut self, time: Time<Ros>) -> Self {
        self.from = Some(time);
        self
    }

    /// Messages up to this time, it included.
    #[must_use]
    pub const fn until(mut self, time: Time<Ros>) -> Self {
        self.until = Some(time);
        self
    }

    /// How far the clock goes on after the last message, so that timers can do what is left to be done.
    #[must_use]
    pub const fn tail(mut self, span: Duration) -> Self {
        self.tail = span;
        self
    }

    /// How long, in wall time, a thread with a [`Sleeper`](super::timeline::Sleeper) may be awake; 10 s by default.
    #[must_use]
    pub const fn patience(mut self, span: Duration) -> Self {
        self.patience = span;
        self
    }

    /// Begins; the outputs are kept in memory.
    pub fn start(self) -> Replay<Vec<Output>> {
        self.start_into(Vec::new())
    }

    /// Begins; the outputs are digested, and recorded to this file.
    ///
    /// # Errors
    /// If the file cannot be made or written.
    pub fn record(self, path: impl Into<PathBuf>) -> Result<Replay<Record>, RecordError> {
        let sink = Record::new(path, &self.bag)?;
        Ok(self.start_into(sink))
    }

    /// Begins; the outputs go to `sink`. The clock shows the time of the start.
    pub fn start_into<S: Sink>(self, sink: S) -> Replay<S> {
        let recorded = self.bag.range();
        let first = recorded.map_or(Time::from_nanos(0), TimeRange::start);
        let last = recorded.map_or(first, TimeRange::stop);
        let (from, until) = (self.from.unwrap_or(first), self.until.unwrap_or(last));
        let range = (from <= until).then(|| TimeRange::between(from, until));
        let topics = Selection::of(self.topics, &self.bag);
        Replay::new(
            &self.bag,
            &topics,
            (from, range),
            (self.tail, self.patience),
            sink,
        )
    }
}
