//! Between the command line and the wire: which session, which output, and what its events mean.

use bagplay::bag::{Bag, Message};
use bagplay::cli::{
    Chosen, CongestionArg, Exit, LeftOut, Plan, PlayArgs, RosDistro, Wire, WireArgs,
};
use bagplay::output::{Delivery, Null, Occasion, Output};
use bagplay::player::Before;
use bagplay::time::{Ros, Segment, Time};
use bagplay::wire::{
    ClockOptions, Congestion, Distro, Monitor, Played, RawOutput, RosOutput, Session, Skipped,
    WireEvent, WireOptions,
};
use crossbeam_channel::{Receiver, bounded};

use super::failure::{Failure, OrExit};

/// How many events may wait for the main thread; more are dropped, which only a flood brings about.
const EVENTS: usize = 4096;

/// The way out of the program.
#[derive(Debug)]
pub(crate) enum Exits {
    Ros(RosOutput),
    Raw(RawOutput),
    Null(Null),
}

impl Output for Exits {
    fn segment(&mut self, segment: &Segment) {
        self.inner().segment(segment);
    }
    fn clock(&mut self, time: Time<Ros>) {
        self.inner().clock(time);
    }
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        self.inner().message(message, occasion)
    }
    fn flush(&mut self) {
        self.inner().flush();
    }
}

impl Exits {
    fn inner(&mut self) -> &mut dyn Output {
        match self {
            Self::Ros(output) => output,
            Self::Raw(output) => output,
            Self::Null(output) => output,
        }
    }
}

/// The network as the run sees it.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) session: Option<Session>,
    pub(crate) events: Receiver<WireEvent>,
    monitor: Option<Monitor>,
    is_ros: bool,
}

impl Network {
    /// Joins the network that the arguments name; none at all for `--wire null`.
    pub(crate) fn join(args: &WireArgs) -> Result<Self, Failure> {
        let (sender, events) = bounded(EVENTS);
        if args.wire == Wire::Null {
            return Ok(Self {
                session: None,
                events,
                monitor: None,
                is_ros: args.wire == Wire::RmwZenoh,
            });
        }
        let options = options(args);
        let tell = move |event| {
            // Full only if the main thread is stuck; an event is worth less than not waiting in zenoh.
            let _ = sender.try_send(event);
        };
        let session = Session::open(&options, tell).or_exit(Exit::Failed)?;
        tracing::info!("{}", session.describe());
        Ok(Self {
            session: Some(session),
            events,
            monitor: None,
            is_ros: args.wire == Wire::RmwZenoh,
        })
    }

    /// Refuses to serve a second clock.
    pub(crate) fn require_sole_clock(&self) -> Result<(), Failure> {
        match self
            .session
            .as_ref()
            .and_then(|session| session.graph().foreign_clock())
        {
            None => Ok(()),
            Some(node) => {
                let error = anyhow::anyhow!(
                    "{node} publishes /clock already; hint: stop it, or play without --strict-clock"
                );
                Err(Failure::new(Exit::Failed, error))
            }
        }
    }

    /// Puts the chosen topics and the clock on the network. Those that it cannot carry leave the plan.
    pub(crate) fn advertise(
        &mut self,
        args: &PlayArgs,
        bag: &Bag,
        plan: &mut Plan,
    ) -> Result<Exits, Failure> {
        let Some(session) = &self.session else {
            return Ok(Exits::Null(Null));
        };
        let played: Vec<Played> = plan
            .chosen
            .iter()
            .map(|chosen| played(chosen, bag))
            .collect();
        let clock = plan.options.clock.is_served().then(|| ClockOptions {
            hz: args.clock.clock,
            per_message: plan.options.clock.before != Before::None,
        });
        let (exits, skipped) = match args.wire.wire {
            Wire::RmwZenoh | Wire::Null => {
                let (output, skipped) = session.advertise(&played, clock).or_exit(Exit::Failed)?;
                self.monitor = Some(output.monitor());
                (Exits::Ros(output), skipped)
            }
            Wire::Zenoh => {
                let (output, skipped) = session
                    .advertise_raw(&played, clock)
                    .or_exit(Exit::Failed)?;
                self.monitor = Some(output.monitor());
                (Exits::Raw(output), skipped)
            }
        };
        leave_out(plan, skipped);
        Ok(exits)
    }

    /// Whether messages of an outgoing topic have somebody to go to. Without a network there is nobody
    /// to wait for.
    pub(crate) fn is_followed(&self, topic: &str) -> bool {
        let Some(monitor) = &self.monitor else {
            return true;
        };
        let is_ros = self.is_ros;
        monitor
            .topics()
            .iter()
            .any(|row| row.name == topic && row.has_match && (row.subscribers > 0 || !is_ros))
    }

    /// Waits until what was sent has left: to be called while the topics are still declared.
    pub(crate) fn drain(&self) {
        if let Some(session) = &self.session {
            session.drain();
        }
    }

    /// Leaves the network.
    pub(crate) fn leave(self) {
        if let Some(session) = self.session {
            session.close();
        }
    }
}

fn played(chosen: &Chosen, bag: &Bag) -> Played {
    let topic = bag.topics()[chosen.id.index()].clone();
    Played {
        id: chosen.id,
        name: chosen.name.clone(),
        topic,
        qos: None,
    }
}

fn leave_out(plan: &mut Plan, skipped: Vec<Skipped>) {
    for Skipped { topic, reason } in skipped {
        tracing::warn!("{topic} is not played: {reason}");
        plan.chosen.retain(|chosen| chosen.name != topic);
        plan.awaited.retain(|name| *name != topic);
        plan.left_out.push(LeftOut { topic, reason });
    }
}

fn options(args: &WireArgs) -> WireOptions {
    WireOptions {
        domain_id: args.domain_id,
        node_name: args.node_name.clone(),
        connect: args.connect.clone(),
        listen: args.listen.clone(),
        config_file: args.zenoh_config.clone(),
        congestion: match args.congestion {
            CongestionArg::Block => Congestion::Block,
            CongestionArg::BlockFirst => Congestion::BlockFirst,
            CongestionArg::Drop => Congestion::Drop,
        },
        stall_timeout: args.stall_timeout.to_std(),
        distro: match args.ros_distro {
            RosDistro::Auto => Distro::Auto,
            RosDistro::Humble => Distro::Humble,
            RosDistro::Jazzy => Distro::Jazzy,
            RosDistro::Kilted => Distro::Kilted,
            RosDistro::Lyrical => Distro::Lyrical,
            RosDistro::Rolling => Distro::Rolling,
        },
        any_type_hash: args.any_type_hash,
    }
}
