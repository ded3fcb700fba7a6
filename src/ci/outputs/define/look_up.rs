//! [`LookUp`]: finds the definitions of topics as they appear.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};

use super::definitions::{Definition, Definitions, Known};
use crate::bag::Schema;
use crate::ros::PublishedTopic;
use crate::untrusted::Foreign;
use crate::wire::{CallError, DescribeError, Subscriptions, TypeDescriptions};

/// Looks up the definitions of topics as they appear.
#[derive(Clone)]
pub(in crate::ci::outputs) struct LookUp {
    pub(in crate::ci::outputs) known: Known,
    pub(in crate::ci::outputs) subscriptions: Arc<Subscriptions>,
    pub(in crate::ci::outputs) definitions: Definitions,
}

impl LookUp {
    /// Looks in the recording and in installed packages. Sends the topics that are in neither to the thread of
    /// [`Self::ask`].
    pub(in crate::ci::outputs) fn work(self, ask: &Sender<Arc<PublishedTopic>>) {
        let mut done = 0;
        while let Some(topics) = self.subscriptions.wait_for_topics(done) {
            for topic in &topics[done..] {
                let offers = || self.subscriptions.offers(topic);
                match self.definitions.find_here(topic, offers) {
                    Some(found) => self.found(topic, found),
                    // The thread that receives ends after this one.
                    None => drop(ask.send(Arc::clone(topic))),
                }
            }
            done = topics.len();
        }
    }

    /// Asks the nodes that publish topics, one topic after the other. After the end of the run it asks no more nodes.
    pub(in crate::ci::outputs) fn ask(
        self,
        descriptions: &TypeDescriptions,
        topics: &Receiver<Arc<PublishedTopic>>,
    ) {
        let mut silent = HashMap::new();
        for topic in topics {
            let asked = self.ask_nodes(&topic, descriptions, &mut silent);
            let offers = self.subscriptions.offers(&topic);
            let found = self.definitions.find(&topic, || asked, offers);
            self.found(&topic, found);
        }
    }

    fn found(&self, topic: &PublishedTopic, found: Definition) {
        self.known.add(topic.number, found);
        self.subscriptions.look_again();
    }

    /// `silent` are the nodes that have not answered or have no such service, with the reason: none of them is asked
    /// again.
    fn ask_nodes(
        &self,
        topic: &PublishedTopic,
        descriptions: &TypeDescriptions,
        silent: &mut HashMap<String, String>,
    ) -> Result<Schema, String> {
        let hash = topic.type_hash.as_ref().ok_or("it has no type hash")?;
        let mut problem = "it has left the network".to_owned();
        for node in self.subscriptions.nodes(topic) {
            if self.subscriptions.is_over() {
                break;
            }
            let name = Foreign::text(&node);
            if let Some(why) = silent.get(&node) {
                problem.clone_from(why);
                continue;
            }
            let limit = self.definitions.describe_limit();
            match descriptions.ask(&node, &topic.type_name, hash, limit) {
                Ok(schema) => return Ok(schema),
                Err(error) => {
                    problem = format!("{name}: {error}");
                    if is_silent(&error) {
                        silent.insert(node, problem.clone());
                    }
                }
            }
        }
        Err(problem)
    }
}

/// Whether asking this node for another type would end in the same way, after the same wait.
fn is_silent(error: &DescribeError) -> bool {
    matches!(
        error,
        DescribeError::NotOffered
            | DescribeError::Call(CallError::NoAnswer(_) | CallError::NoServer)
    )
}
