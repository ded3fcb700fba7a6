//! The thread `node-topics`, which publishes what a node says about itself: `/parameter_events`, `/rosout` and
//! `events/read_split`.

use std::sync::Arc;

use bytes::Bytes;
use crossbeam_channel::{Receiver, select};

use crate::player::{State, Transport};
use crate::time::Time;
use crate::wire::net::now::unix_nanos;
use crate::wire::publish::publisher::TopicPublisher;
use crate::wire::services::messages::cdr::to_cdr;
use crate::wire::services::messages::node_topics::{
    Log, OwnMessage, ParameterEvent, ReadSplitEvent,
};
use crate::wire::services::messages::parameters::Parameter;
use crate::wire::services::messages::service::Stamp;

use super::feed::{LogLine, Told};
use super::parameters::Parameters;

/// The publishers of these topics.
#[derive(Debug)]
pub(crate) struct Publishers {
    pub(crate) parameter_events: TopicPublisher,
    pub(crate) rosout: TopicPublisher,
    pub(crate) read_split: TopicPublisher,
}

/// What the thread uses.
#[derive(Debug)]
pub(crate) struct Topics {
    pub(crate) publishers: Publishers,
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) transport: Transport,
    /// The full name of the node.
    pub(crate) node: String,
    /// The parameters that show how playback is, as they were last published.
    pub(crate) live: Vec<Parameter>,
}

impl Topics {
    /// Publishes all parameters, and what has been told by now.
    pub(crate) fn begin(&mut self, told: &Receiver<Told>) {
        self.announce();
        // Only what is in the channel now: while more keeps coming, a loop until it is empty would not end. The thread
        // publishes the rest.
        let by_now = told.try_iter().take(told.len());
        by_now.for_each(|told| self.publish(told));
    }

    /// Publishes until `end` is closed, and then what has been told by then.
    pub(crate) fn run(mut self, moved: &Receiver<()>, told: &Receiver<Told>, end: &Receiver<()>) {
        loop {
            select! {
                recv(moved) -> _ => self.compare(),
                recv(told) -> told => match told {
                    Ok(told) => self.publish(told),
                    Err(_) => break,
                },
                recv(end) -> _ => break,
            }
        }
        self.compare();
        told.try_iter().for_each(|told| self.publish(told));
        for publisher in [
            &mut self.publishers.parameter_events,
            &mut self.publishers.rosout,
            &mut self.publishers.read_split,
        ] {
            publisher.undeclare_token();
        }
    }

    /// Publishes all parameters as new ones.
    fn announce(&mut self) {
        let status = self.transport.status();
        let new_parameters = self.parameters.all(status.as_ref());
        self.live = status.map_or_else(Vec::new, |status| Parameters::live(&status));
        self.publish_event(ParameterEvent {
            new_parameters,
            ..ParameterEvent::default()
        });
    }

    /// Publishes the parameters that have changed. The end of the run changes none.
    fn compare(&mut self) {
        let status = self.transport.status();
        let Some(status) = status.filter(|status| status.state != State::Stopped) else {
            return;
        };
        let live = Parameters::live(&status);
        let is_new = |parameter: &&Parameter| !self.live.contains(parameter);
        let changed_parameters: Vec<Parameter> = live.iter().filter(is_new).cloned().collect();
        self.live = live;
        if !changed_parameters.is_empty() {
            self.publish_event(ParameterEvent {
                changed_parameters,
                ..ParameterEvent::default()
            });
        }
    }

    fn publish_event(&mut self, event: ParameterEvent) {
        let event = ParameterEvent {
            stamp: stamp(unix_nanos()),
            node: self.node.clone(),
            ..event
        };
        put(&mut self.publishers.parameter_events, &event);
    }

    fn publish(&mut self, told: Told) {
        match told {
            Told::Log(LogLine {
                unix_nanos,
                severity,
                text,
            }) => {
                let line = Log {
                    stamp: stamp(unix_nanos),
                    level: severity.level(),
                    name: self.node.trim_start_matches('/').replace('/', "."),
                    msg: text,
                    ..Log::default()
                };
                put(&mut self.publishers.rosout, &line);
            }
            Told::Split { closed, opened } => {
                let event = ReadSplitEvent {
                    closed_file: closed.to_string(),
                    opened_file: opened.to_string(),
                    node_name: self.node.clone(),
                };
                put(&mut self.publishers.read_split, &event);
            }
        }
    }
}

fn stamp(unix_nanos: i64) -> Stamp {
    Stamp::of(Time::from_nanos(unix_nanos))
}

fn put(publisher: &mut TopicPublisher, message: &impl OwnMessage) {
    // Only sequences of unknown length cannot be written, and no message has one.
    if let Ok(payload) = to_cdr(message) {
        // An error means that the session is closed and has no subscribers any more.
        drop(publisher.put(Bytes::from(payload)));
    }
}
