//! [`ZenohWire`]: a wire over zenoh.

use std::time::Duration;

use bagplay::bag::{Bag, Message, TopicId};
use bagplay::cli::{Chosen, Exit, Hints, Losses, Plan, PlayArgs, Wire};
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::player::{Before, Transport};
use bagplay::time::{Ros, Segment, Time};
use bagplay::wire::{
    ClockOptions, Monitor, NodeDescription, NodeFeed, Played, ServedNode, Session, Skipped,
    SplitWatch, WireOutput,
};

use super::{CLOCK_TYPE, failure};
use crate::app::failure::Failure;
use crate::app::network::parameters;

/// This program on a wire over zenoh.
#[derive(Debug)]
pub(in crate::app::network) struct ZenohWire {
    pub(super) wire: Wire,
    session: Session,
    /// Known once topics are advertised.
    pub(super) monitor: Option<Monitor>,
    /// What the node says about itself, also before it is served.
    feed: NodeFeed,
    node: Option<ServedNode>,
}

impl ZenohWire {
    pub(super) fn new(wire: Wire, session: Session) -> Self {
        Self {
            wire,
            session,
            monitor: None,
            feed: NodeFeed::default(),
            node: None,
        }
    }

    /// The session.
    pub(in crate::app::network) const fn session(&self) -> &Session {
        &self.session
    }

    /// Declares the chosen topics and the clock; returns the topics that cannot be sent, too.
    pub(super) fn advertise(
        &mut self,
        args: &PlayArgs,
        (bag, plan): (&Bag, &Plan),
        hints: &Hints,
    ) -> Result<(ZenohOutput, Vec<Skipped>), Failure> {
        let played: Vec<Played> = plan
            .chosen
            .iter()
            .map(|chosen| played(chosen, bag))
            .collect();
        let clock = plan.options.clock.is_served().then(|| ClockOptions {
            hz: args.clock.clock,
            per_message: plan.options.clock.before != Before::None
                || !plan.options.clock.steps.is_empty(),
        });
        let advertised = self.session.advertise(&played, clock);
        let (output, skipped) = advertised.map_err(|error| match hints.error(&error) {
            Some(hint) => Failure::new(Exit::Usage, anyhow::anyhow!("{error}; hint: {hint}")),
            None => failure(error),
        })?;
        self.monitor = Some(output.monitor());
        let splits = self.feed.watch(parameters::files(args, bag));
        Ok((ZenohOutput { output, splits }, skipped))
    }

    /// Declares a clock without topics.
    pub(super) fn advertise_clock(&mut self, hz: f64) -> Result<ZenohOutput, Failure> {
        let clock = ClockOptions {
            hz: Some(hz),
            per_message: false,
        };
        let (output, _) = self.session.advertise(&[], Some(clock)).map_err(failure)?;
        self.monitor = Some(output.monitor());
        let splits = self.feed.watch(Vec::new());
        Ok(ZenohOutput { output, splits })
    }

    /// Waits for links to the nodes that are there, for this long at most.
    pub(super) fn wait_for_routes(&self, longest: Duration) {
        if let Some(monitor) = &self.monitor {
            monitor.wait_for_routes(longest);
        }
    }

    /// Whether messages of a topic can reach a subscriber.
    pub(super) fn has_subscriber(&self, topic: TopicId) -> bool {
        let monitor = self.monitor.as_ref();
        monitor.is_some_and(|monitor| monitor.is_ready(topic))
    }

    /// How many nodes subscribe to the clock; `None` with plain keys, where subscribers are not known.
    pub(super) fn clock_subscribers(&self) -> Option<usize> {
        let graph = || self.session.graph();
        let is_node = self.wire.is_ros2();
        is_node.then(|| graph().subscribers("/clock", CLOCK_TYPE))
    }

    pub(super) fn losses(&self) -> Losses {
        self.monitor.as_ref().map(Losses::of).unwrap_or_default()
    }

    /// Takes what the node's topics for the log and other events publish, also before they are served.
    pub(in crate::app::network) const fn feed(&self) -> &NodeFeed {
        &self.feed
    }

    /// Adds to the node its parameters, descriptions of types, and topics for the log and other events.
    pub(in crate::app::network) fn serve_node(
        &mut self,
        transport: &Transport,
        description: NodeDescription,
    ) -> Result<(), Failure> {
        let served = self.session.serve_node(transport, description, &self.feed);
        self.node = Some(served.map_err(failure)?);
        Ok(())
    }

    /// Leaves the network.
    pub(super) fn leave(self) {
        drop(self.node);
        self.session.close();
    }
}

/// The output to a wire over zenoh. It also tells the node when playback comes to another file.
#[derive(Debug)]
pub(in crate::app::network) struct ZenohOutput {
    output: WireOutput,
    splits: SplitWatch,
}

impl Output for ZenohOutput {
    fn segment(&mut self, segment: &Segment) {
        self.splits.segment(segment);
        self.output.segment(segment);
    }
    fn clock(&mut self, time: Time<Ros>) {
        self.output.clock(time);
    }
    fn serve_clock(&mut self, period: Option<bagplay::time::Duration>) -> bool {
        self.output.serve_clock(period)
    }
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        if occasion == Occasion::Due {
            self.splits.message(message.key);
        }
        self.output.message(message, occasion)
    }
    fn waits_elsewhere(&mut self, is_waiting: bool) {
        self.output.waits_elsewhere(is_waiting);
    }
    fn finish(&mut self) {
        self.output.finish();
    }
}

fn played(chosen: &Chosen, bag: &Bag) -> Played {
    let topic = bag.topics()[chosen.id.index()].clone();
    Played {
        id: chosen.id,
        name: chosen.name.clone(),
        topic,
        qos: chosen.qos,
    }
}
