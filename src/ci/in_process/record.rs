//! [`Record`]: a sink that digests outputs and records them to a file, as those of programs are.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::outputs::{Output, OutputKey, Sink};
use crate::bag::{Bag, Schema, Topic};
use crate::ci::outputs::{
    AmentIndex, Arrival, Definitions, Digest, Known, PayloadHash, RecordError, Recorded, Recorder,
    RecorderOptions, RunDigest, Tally,
};
use crate::ci::report::OutputTopic;
use crate::ros::{PublishedTopic, Publisher, Qos};

/// Digests and counts outputs, and records them to an MCAP file, which expectations, a golden comparison and other
/// programs can read. Messages wait for the disk: none is left out because it is slow.
///
/// The definition of a type is taken from [`Record::define`], from the recording that is played, or from the installed
/// packages of ROS 2.
#[derive(Debug)]
pub struct Record {
    recorder: Recorder,
    known: Known,
    own: HashMap<String, Schema>,
    recorded: Vec<Topic>,
    definitions: Definitions,
    topics: HashMap<OutputKey, Arc<PublishedTopic>>,
    publisher: Publisher,
    digest: Digest,
    tally: Tally,
}

/// What became of recorded outputs.
#[derive(Debug)]
pub struct RecordEnd {
    /// The digest of all of them: equal for equal runs.
    pub digest: RunDigest,
    /// What was published, by topic.
    pub topics: Vec<OutputTopic>,
    /// The recording.
    pub recorded: Recorded,
}

impl Record {
    /// Into this file, which is made or emptied. `played` is the recording that is played.
    ///
    /// # Errors
    /// If the file cannot be made or written.
    pub fn new(path: impl Into<PathBuf>, played: &Bag) -> Result<Self, RecordError> {
        let known = Known::default();
        let options = RecorderOptions {
            longest_wait: Duration::MAX,
            ..RecorderOptions::new(path)
        };
        Ok(Self {
            recorder: Recorder::start(options, known.clone())?,
            known,
            own: HashMap::new(),
            recorded: played.topics().to_vec(),
            definitions: Definitions::new(played.topics(), AmentIndex::of_environment()),
            topics: HashMap::new(),
            publisher: Publisher {
                node: "/in_process".into(),
                ..Publisher::unknown()
            },
            digest: Digest::new(),
            tally: Tally::new(true),
        })
    }

    /// The definition of a type that neither the recording nor an installed package has.
    #[must_use]
    pub fn define(mut self, definition: Schema) -> Self {
        self.own.insert(definition.name.clone(), definition);
        self
    }

    /// Waits until everything is recorded, and writes the index of the file. An error of the file is in the result.
    pub fn finish(mut self) -> RecordEnd {
        let recorded = self.recorder.finish();
        let mut topics = self.tally.topics();
        for topic in &mut topics {
            let count = recorded.unrecorded.get(&topic.topic);
            topic.unrecorded = count.copied().unwrap_or(0);
        }
        RecordEnd {
            digest: self.digest.finish(),
            topics,
            recorded,
        }
    }

    fn topic(&mut self, output: &Output) -> Arc<PublishedTopic> {
        let key = output.key();
        if let Some(topic) = self.topics.get(&key) {
            return Arc::clone(topic);
        }
        let mut recorded = self.recorded.iter();
        let of_type = recorded.find(|topic| topic.type_name() == &*output.type_name);
        let topic = Arc::new(PublishedTopic {
            number: self.topics.len(),
            name: output.topic.to_string(),
            type_name: output.type_name.to_string(),
            type_hash: of_type.and_then(|topic| topic.type_hash.clone()),
            qos: Qos::default(),
        });
        let own = self.own.get(&*output.type_name).cloned();
        let own = own.ok_or_else(|| "there is none".to_owned());
        let found = self.definitions.find(&topic, || own, Vec::new());
        self.known.add(topic.number, found);
        self.topics.insert(key, Arc::clone(&topic));
        topic
    }
}

impl Sink for Record {
    fn take(&mut self, output: Output) {
        let arrival = Arrival {
            topic: self.topic(&output),
            position: output.position,
            publisher: self.publisher.clone(),
            sequence: i64::try_from(output.sequence).ok(),
            // No wall clock is in the file: two runs are equal.
            source_time: Some(output.position.as_nanos()),
            payload: output.payload,
        };
        let hash = PayloadHash::of(&arrival.payload);
        self.tally.add(&arrival);
        let (at, number) = (arrival.position, arrival.sequence);
        self.digest
            .add(at, &arrival.topic, &arrival.publisher, number, hash);
        self.recorder.put(arrival);
    }
}
