//! The wire of ROS 1: with nodes written by hand, over real connections on the loopback interface.

#[cfg(feature = "cli")]
mod congestion;
mod data;
mod leave;
mod master;
mod peer;
#[cfg(feature = "cli")]
mod program;
mod publish;
#[cfg(feature = "cli")]
mod reconfigure;
mod relay;
#[cfg(feature = "cli")]
mod several;
mod slow;
#[cfg(all(feature = "cli", feature = "foxglove"))]
mod with_viewers;

use bagplay::bag::{Key, Message, PublisherId, Schema, Topic, TopicId};
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::ros1::{Ros1Event, Ros1Left, Ros1Node, Ros1Options, Ros1Output, Ros1Played};
use bagplay::time::{AtEnd, Segment, Speed, Time, TimeRange};
use bytes::Bytes;
use crossbeam_channel::{Receiver, bounded};

use crate::support::patience::PATIENCE;
use crate::support::ports::free_port;

const STRING: &str = "992ce8a1687cec8c8bd883ec73ca41d1";

/// The address of a master at a port that nobody uses.
fn free_master() -> String {
    format!("http://127.0.0.1:{}/", free_port())
}

/// A node and its events.
struct Joined {
    node: Ros1Node,
    events: Receiver<Ros1Event>,
    master: String,
}

impl Joined {
    /// The player, which serves its master.
    fn player() -> Self {
        Self::with(&free_master(), |_| ())
    }

    fn with(master: &str, change: impl FnOnce(&mut Ros1Options)) -> Self {
        let mut options = Ros1Options::new(master.parse().unwrap(), "player");
        // A slow machine is no reason to leave anything behind, nor to take anything for stuck.
        options.leaving = PATIENCE;
        options.patience = PATIENCE;
        options.stall_timeout = PATIENCE;
        change(&mut options);
        let (send, events) = bounded(1000);
        let forward = move |event| {
            let _ = send.try_send(event);
        };
        Self {
            node: Ros1Node::start(&options, forward).unwrap(),
            events,
            master: master.to_owned(),
        }
    }

    /// Leaves the network; returns what stays there.
    fn leave(mut self) -> Ros1Left {
        self.node.leave()
    }

    /// Publishes these topics and no clock.
    fn advertise(&self, topics: &[Ros1Played]) -> Ros1Output {
        let (output, _, skipped) = self.node.advertise(topics, false).unwrap();
        assert_eq!(skipped, []);
        output
    }

    /// The next event that passes.
    #[track_caller]
    fn event<T>(&self, what: &str, take: impl Fn(&Ros1Event) -> Option<T>) -> T {
        loop {
            let event = self.events.recv_timeout(PATIENCE);
            let event = event.unwrap_or_else(|_| panic!("no {what}"));
            if let Some(taken) = take(&event) {
                return taken;
            }
        }
    }

    /// Waits until it says that the master has gone, or is there again.
    #[track_caller]
    fn wait_for_master(&self, wanted: bool) {
        self.event("change", |event| match event {
            Ros1Event::Master { is_there } => (*is_there == wanted).then_some(()),
            _ => None,
        });
    }

    /// Waits until a node has connected.
    #[track_caller]
    fn joined(&self, name: &str) {
        self.event(name, |event| match event {
            Ros1Event::SubscriberJoined { node, .. } => (node == name).then_some(()),
            _ => None,
        });
    }
}

/// A topic of texts.
fn strings(id: u32, name: &str) -> Ros1Played {
    Ros1Played {
        id: TopicId(id),
        name: name.to_owned(),
        topic: Topic {
            name: name.to_owned(),
            schema: Some(Schema {
                name: "std_msgs/String".to_owned(),
                encoding: "ros1msg".to_owned(),
                data: "string data\n".into(),
            }),
            encoding: "ros1".to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        },
        durability: None,
    }
}

fn latched(id: u32, name: &str) -> Ros1Played {
    let mut topic = strings(id, name);
    topic.topic.is_latched = true;
    topic
}

fn message(topic: u32, publisher: u32, at: i64, payload: impl Into<Bytes>) -> Message {
    let time = Time::from_millis(at);
    Message {
        key: Key {
            time,
            input: 0,
            chunk: 0,
            record: 0,
        },
        topic: TopicId(topic),
        publisher: PublisherId(publisher),
        log_time: time,
        publish_time: time,
        sequence: 0,
        payload: payload.into(),
    }
}

/// A segment over the first hour.
fn hour() -> Segment {
    let range = TimeRange::between(Time::from_secs(0), Time::from_secs(3600));
    Segment::new(range, Speed::from_f64(1.0).unwrap(), AtEnd::Hold)
}

#[track_caller]
fn send(output: &mut Ros1Output, message: &Message) {
    assert_eq!(output.message(message, Occasion::Due), Delivery::Sent);
}
