//! Waits until the system under test is there: the subscribers and publishers that a run needs, before anything is sent.

use std::collections::BTreeSet;
use std::time::{Duration as StdDuration, Instant};

use bagplay::bag::TopicId;
use bagplay::ci::child::ChildExit;
use bagplay::ci::gates::Trigger;
use bagplay::ci::outputs::Outputs;
use bagplay::cli::{Ending, Exit, Plan, PlayArgs};
use bagplay::untrusted::Foreign;
use crossbeam_channel::{Receiver, select};

use super::begin::close_loops;
use super::bursts::{self, Overflow};
use super::setup::Setup;
use crate::app::failure::Failure;
use crate::app::network::Network;
use crate::app::supervise::Ended;
use crate::app::supervise::under_test::UnderTest;

/// The time between two looks at the graph.
const LOOK: StdDuration = StdDuration::from_millis(20);
/// If no topic is named, the system under test counts as complete when no node has joined for this long.
const QUIET: StdDuration = StdDuration::from_millis(500);
/// How long the player of an earlier run on the same system may still be seen.
const FORMER: StdDuration = StdDuration::from_secs(5);
const CLOCK: &str = "/clock";

/// The subscribers and publishers that a run needs.
#[derive(Debug)]
struct Awaited {
    /// Topics that have to have a subscriber.
    inputs: Vec<(TopicId, String)>,
    /// Topics that have to have a publisher.
    outputs: Vec<String>,
    /// No topic is named, and there are processes under test: a node has to subscribe to some topic, and after that no other
    /// node may join for a while.
    anybody: bool,
    /// The system under test was there before this run: the player of the run before has to be gone.
    after_another: bool,
}

/// Why a run does not begin.
#[derive(Debug)]
enum NotReady {
    /// A signal asked for the end.
    Interrupted(Exit),
    /// The program under test has ended.
    Ended(ChildExit),
    /// What is published cannot be received.
    NotReceived(String),
    /// Not all are there in time.
    Missing(String),
}

/// What was found when the system under test was there.
#[derive(Debug)]
pub(super) struct Ready {
    /// What is to be said.
    pub(super) notes: Vec<String>,
    pub(super) overflows: Vec<Overflow>,
    /// How the run ends before its beginning, and why.
    pub(super) refused: Option<(Ended, String)>,
}

/// Waits until the system under test is there. Topics that it publishes are no longer played.
pub(super) fn get_ready(
    setup: &Setup<'_>,
    network: &Network,
    plan: &mut Plan,
    outputs: &Outputs,
    under_test: &UnderTest,
) -> Ready {
    let args = setup.args;
    let limit = args.topics.wait_timeout.to_std();
    let ends = (setup.signals, &under_test.ended);
    let ready = Awaited::of(args, plan).wait(network, outputs, limit, ends);
    let mut notes = Vec::new();
    let looked = ready.and_then(|()| {
        notes = close_loops(network, plan);
        bursts::overflows(setup, plan, network).map_err(NotReady::Interrupted)
    });
    let overflows = looked.as_deref().unwrap_or_default();
    notes.extend(overflows.iter().map(|it| it.sentence(args.ci.spread)));
    let (overflows, refused) = match looked {
        Ok(overflows) if args.time.strict && !args.ci.spread && !overflows.is_empty() => {
            let why = "a subscriber cannot keep the messages of a burst (--strict)";
            (
                overflows,
                Some((Ended::failed(Exit::Usage), why.to_owned())),
            )
        }
        Ok(overflows) => (overflows, None),
        Err(not_ready) => (Vec::new(), Some(not_ready.ended(limit))),
    };
    Ready {
        notes,
        overflows,
        refused,
    }
}

impl Awaited {
    /// The subscribers of the questions of gates and of the topics of `--wait-for-subscribers`; the publishers of the answers
    /// and of the topics of `--record-topics`.
    fn of(args: &PlayArgs, plan: &Plan) -> Self {
        let questions: BTreeSet<&str> = args
            .ci
            .gate
            .iter()
            .filter_map(|rule| match &rule.trigger {
                Trigger::Topic(topic) => Some(topic.as_str()),
                Trigger::Tick(_) => None,
            })
            .collect();
        let is_awaited = |id| plan.awaited.iter().any(|one| one.id == id);
        let inputs = plan.chosen.iter();
        let inputs = inputs.filter(|one| questions.contains(&*one.name) || is_awaited(one.id));
        let outputs: BTreeSet<String> = args
            .ci
            .outputs()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let inputs: Vec<_> = inputs.map(|one| (one.id, one.name.clone())).collect();
        let ci = &args.ci;
        let has_processes = !ci.command.is_empty() || !ci.pid.is_empty() || ci.cgroup.is_some();
        let is_named = !inputs.is_empty() || !outputs.is_empty();
        Self {
            inputs,
            outputs: outputs.into_iter().collect(),
            anybody: !is_named && has_processes,
            after_another: ci.held_system,
        }
    }

    /// Waits until they are there, for `limit` at most.
    fn wait(
        &self,
        network: &Network,
        outputs: &Outputs,
        limit: StdDuration,
        (signals, ended): (&Receiver<Exit>, &Receiver<ChildExit>),
    ) -> Result<(), NotReady> {
        let deadline = Deadline::after(limit);
        let mut joined = Joined::default();
        let former = Deadline::after(FORMER);
        loop {
            let missing = self.missing(network, outputs);
            // Its topics would be taken for topics that the system publishes itself.
            let has_former = self.after_another && network.publisher(CLOCK).is_some();
            if has_former && !former.has_passed() {
                joined = Joined::default();
            } else if missing.is_none() && (!self.anybody || joined.is_quiet(network)) {
                return Ok(());
            }
            let mut refused = outputs.not_received().into_iter();
            if let Some(one) = refused.find(|it| self.outputs.contains(&it.topic)) {
                let (topic, node) = (Foreign::text(&one.topic), Foreign::text(&one.node));
                let why = format!("{topic} by {node} is not received: {}", one.why);
                return Err(NotReady::NotReceived(why));
            }
            if deadline.has_passed() {
                let missing = missing.unwrap_or_else(|| "other nodes keep joining".to_owned());
                return Err(NotReady::Missing(missing));
            }
            select! {
                recv(signals) -> exit => {
                    return Err(NotReady::Interrupted(exit.unwrap_or(Exit::Interrupted)));
                }
                recv(ended) -> exit => if let Ok(exit) = exit {
                    return Err(NotReady::Ended(exit));
                },
                default(LOOK) => {}
            }
        }
    }

    /// The subscribers and publishers that are missing, as text.
    fn missing(&self, network: &Network, outputs: &Outputs) -> Option<String> {
        let inputs = self.inputs.iter();
        let inputs = inputs.filter(|(id, _)| !network.has_subscriber(*id));
        let inputs: Vec<&str> = inputs.map(|(_, name)| name.as_str()).collect();
        let published = outputs.wait_for(&self.outputs, StdDuration::ZERO);
        let mut words = Vec::new();
        if !inputs.is_empty() {
            words.push(format!("no subscriber of {}", inputs.join(", ")));
        }
        if !published.is_empty() {
            words.push(format!("no publisher of {}", published.join(", ")));
        }
        if self.anybody && network.subscribed_topics().is_empty() && !network.has_clock_subscriber()
        {
            words.push("no subscriber of any topic that is played".to_owned());
        }
        (!words.is_empty()).then(|| words.join("; "))
    }
}

/// The nodes that have joined, and when the last one did.
#[derive(Default)]
struct Joined {
    nodes: (Vec<String>, usize),
    since: Option<Deadline>,
}

impl Joined {
    /// Whether no node has joined for a while. Each call looks at the graph.
    fn is_quiet(&mut self, network: &Network) -> bool {
        let nodes = network.joined();
        if nodes != self.nodes || self.since.is_none() {
            self.nodes = nodes;
            self.since = Some(Deadline::after(QUIET));
        }
        self.since.as_ref().is_some_and(Deadline::has_passed)
    }
}

struct Deadline(Instant, StdDuration);

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "the rim of the program")]
    fn after(span: StdDuration) -> Self {
        Self(Instant::now(), span)
    }

    fn has_passed(&self) -> bool {
        self.0.elapsed() >= self.1
    }
}

impl NotReady {
    /// How the run ended, and why.
    fn ended(&self, limit: StdDuration) -> (Ended, String) {
        let limit = limit.as_secs_f64();
        match self {
            Self::Interrupted(exit) => {
                let (how, exit) = (Ending::Interrupted, *exit);
                (Ended { how, exit }, "interrupted".to_owned())
            }
            Self::Ended(exit) => {
                let why = format!("{exit}, before the run began");
                (Ended::failed(Exit::Child), why)
            }
            Self::NotReceived(why) => (Ended::failed(Exit::Failed), why.clone()),
            Self::Missing(who) => {
                let why = format!("not ready within {limit} s: {who}; hint: --wait-timeout");
                (Ended::failed(Exit::Timeout), why)
            }
        }
    }
}

/// The usage error of flags that need a network of ROS 2 nodes.
pub(super) fn needs_ros() -> Failure {
    let error = anyhow::anyhow!(
        "--lockstep, --gate, --record and the other flags of CI replay need --wire rmw_zenoh"
    );
    Failure::new(Exit::Usage, error)
}
