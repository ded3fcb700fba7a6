//! [`Advertiser`]: adds topics to the node and removes them, also while the player runs.

use std::sync::Arc;
use std::thread;

use bytes::Bytes;

use crate::bag::TopicId;
use crate::ros1::data::publication::{Advertised, Latching, Publication};
use crate::ros1::data::publications::{CLOCK, Publications};
use crate::ros1::data::queue::QueueRules;
use crate::ros1::event::{Events, Ros1Event};
use crate::ros1::master::keeper::Keeper;
use crate::ros1::options::{Ros1Options, SlowSubscriber};

/// The most messages that wait for a subscriber if the player waits for it.
const MOST_WAITING: usize = 1000;
/// The same if older ones are dropped: as many as `rosbag play` keeps.
const MOST_KEPT: usize = 100;
/// The most times that wait for a subscriber.
const MOST_TIMES: usize = 10;
const CLOCK_TYPE: &str = "rosgraph_msgs/Clock";
const CLOCK_DEFINITION: &str = "time clock\n";
const CLOCK_MD5: &str = "a9c97c1d230cfc112e270351a944ee47";

/// The topics of the node, as the output changes them.
#[derive(Clone, Debug)]
pub(in crate::ros1) struct Advertiser {
    pub(in crate::ros1) publications: Arc<Publications>,
    pub(in crate::ros1) keeper: Arc<Keeper>,
    pub(in crate::ros1) events: Events,
    pub(in crate::ros1) rules: QueueRules,
}

/// What happens to messages for slow subscribers, by the options of the node.
pub(in crate::ros1) fn rules_of(options: &Ros1Options) -> QueueRules {
    QueueRules {
        slow_subscriber: options.slow_subscriber,
        stall_timeout: options.stall_timeout,
        most_messages: match options.slow_subscriber {
            SlowSubscriber::Wait => MOST_WAITING,
            SlowSubscriber::DropOldest => MOST_KEPT,
        },
    }
}

impl Advertiser {
    /// Adds a topic; it has to be registered afterwards.
    pub(in crate::ros1) fn add(&self, topic: Advertised, ids: Vec<TopicId>) -> Arc<Publication> {
        let publication = Arc::new(Publication::new(topic, ids, self.rules));
        self.publications.add(Arc::clone(&publication));
        publication
    }

    /// Adds the clock; it has to be registered afterwards. A subscriber that does not keep up gets the last times.
    pub(in crate::ros1) fn add_clock(&self) -> Arc<Publication> {
        let clock = Advertised {
            name: CLOCK.to_owned(),
            type_name: CLOCK_TYPE.to_owned(),
            md5: CLOCK_MD5.to_owned(),
            definition: Bytes::from_static(CLOCK_DEFINITION.as_bytes()),
            latching: Latching::No,
        };
        let rules = QueueRules {
            slow_subscriber: SlowSubscriber::DropOldest,
            most_messages: MOST_TIMES,
            ..self.rules
        };
        let publication = Arc::new(Publication::new(clock, Vec::new(), rules));
        self.publications.add(Arc::clone(&publication));
        publication
    }

    /// Adds the clock and registers it soon.
    pub(super) fn advertise_clock(&self) -> Arc<Publication> {
        let clock = self.add_clock();
        self.register_soon();
        self.events.send(Ros1Event::OwnClock { is_served: true });
        clock
    }

    /// Removes the clock, and ends its registration soon.
    pub(super) fn withdraw_clock(&self, clock: &Publication) {
        self.publications.remove(CLOCK);
        clock.end();
        // Times that are not sent do not count as lost.
        clock.close();
        self.register_soon();
        self.events.send(Ros1Event::OwnClock { is_served: false });
    }

    /// The player must not wait for the master. If the thread cannot be started, the keeper does it at its next look.
    fn register_soon(&self) {
        let keeper = Arc::clone(&self.keeper);
        let thread = thread::Builder::new().name("ros1-register".to_owned());
        let register = move || {
            if let Err(error) = keeper.register() {
                tracing::debug!("ROS 1 master: {error}");
            }
        };
        let _ = thread.spawn(register);
    }
}
