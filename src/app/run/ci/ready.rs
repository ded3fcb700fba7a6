//! Waits until the system under test is there: the subscribers and publishers that a run needs, before anything is sent.

use std::collections::BTreeSet;
use std::time::Duration as StdDuration;

use bagplay::bag::TopicId;
use bagplay::ci::child::ChildExit;
use bagplay::ci::drive::Trouble;
use bagplay::ci::gates::{Matching, Trigger};
use bagplay::ci::outputs::Outputs;
use bagplay::ci::settle::{Idle, Processes, Unprompted};
use bagplay::cli::{Ending, Exit, Plan, PlayArgs};
use bagplay::time::Duration;
use crossbeam_channel::{Receiver, select};

use super::limit::{Deadline, TimeLimit};
use crate::app::failure::Failure;
use crate::app::network::Network;
use crate::app::supervise::Ended;

/// The time between two looks at the graph.
const LOOK: StdDuration = StdDuration::from_millis(20);
/// The system under test counts as complete when no node has joined, and none has declared anything, for this long.
const QUIET: StdDuration = StdDuration::from_millis(500);

/// The subscribers and publishers that a run needs.
#[derive(Debug)]
pub(super) struct Awaited {
    /// Topics that have to have a subscriber.
    inputs: Vec<(TopicId, String)>,
    /// Topics that have to have a publisher.
    outputs: Vec<String>,
    /// No topic is named, and there are processes under test: a node has to subscribe to some topic, and after that no other
    /// node may join for a while.
    anybody: bool,
}

/// What is looked at while they are waited for.
pub(super) struct With<'a> {
    pub(super) network: &'a Network,
    pub(super) outputs: &'a Outputs,
    /// The processes under test, if they are known.
    pub(super) processes: Option<Processes>,
    /// How long they are waited for.
    pub(super) limit: StdDuration,
    pub(super) time_limit: &'a TimeLimit,
    pub(super) signals: &'a Receiver<Exit>,
    pub(super) ended: &'a Receiver<ChildExit>,
}

/// Why a run does not begin.
#[derive(Debug)]
pub(super) enum NotReady {
    /// A signal asked for the end.
    Interrupted(Exit),
    /// The program under test has ended.
    Ended(ChildExit),
    /// Not all are there in time.
    Missing(String),
    /// There is no connection to the network.
    Pathless,
    /// The longest time of the run has passed. What was missing.
    TooLong(Duration, String),
    /// A gate goes by the stamps of a topic that has none.
    Unstamped(Box<Trouble>),
}

impl Awaited {
    /// The subscribers of the questions of gates and of the topics of `--wait-for-subscribers`; the publishers of the answers
    /// and of the topics of `--record-topics`.
    pub(super) fn of(args: &PlayArgs, plan: &Plan) -> Self {
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
        }
    }

    /// Waits until they are there, and until no node has joined or declared anything for a while: one that subscribes to
    /// several topics does it one after the other. Returns the threads that ran meanwhile.
    pub(super) fn wait(&self, with: &With<'_>) -> Result<Vec<Unprompted>, NotReady> {
        let deadline = Deadline::after(with.limit);
        let is_named = !self.inputs.is_empty() || !self.outputs.is_empty();
        let time_is_up = with.time_limit.passes();
        let mut joined = Joined::default();
        loop {
            let missing = self.missing(with.network, with.outputs);
            let has_all = missing.is_none() && with.network.path().is_up;
            if has_all && (!(is_named || self.anybody) || joined.is_quiet(with)) {
                return Ok(joined.unprompted());
            }
            let missing = missing.unwrap_or_else(|| "other nodes keep joining".to_owned());
            if deadline.has_passed() {
                return match has_all {
                    _ if !with.network.path().is_up => Err(NotReady::Pathless),
                    // Those that are named are there.
                    true if is_named => Ok(Vec::new()),
                    _ => Err(NotReady::Missing(missing)),
                };
            }
            select! {
                recv(with.signals) -> exit => {
                    return Err(NotReady::Interrupted(exit.unwrap_or(Exit::Interrupted)));
                }
                recv(with.ended) -> exit => if let Ok(exit) = exit {
                    return Err(NotReady::Ended(exit));
                },
                recv(time_is_up) -> _ => {
                    return Err(NotReady::TooLong(with.time_limit.span(), missing));
                }
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

/// The nodes that have joined, when the last one did, and what has run since then.
#[derive(Default)]
struct Joined {
    nodes: (Vec<String>, usize),
    since: Option<Deadline>,
    idle: Option<Idle>,
}

impl Joined {
    /// Whether no node has joined for a while. Each call looks at the graph.
    fn is_quiet(&mut self, with: &With<'_>) -> bool {
        let nodes = with.network.joined();
        if nodes != self.nodes || self.since.is_none() {
            self.nodes = nodes;
            self.since = Some(Deadline::after(QUIET));
            // Where threads cannot be looked at, nothing is said of them.
            let processes = with.processes.clone();
            self.idle = processes.and_then(|them| Idle::watch(them).ok());
        }
        if self.idle.as_mut().is_some_and(|idle| idle.look().is_err()) {
            self.idle = None;
        }
        self.since.as_ref().is_some_and(Deadline::has_passed)
    }

    fn unprompted(&self) -> Vec<Unprompted> {
        let idle = self.idle.as_ref();
        idle.map_or_else(Vec::new, Idle::unprompted)
    }
}

impl NotReady {
    /// How the run ended, and why.
    pub(super) fn ended(&self, limit: StdDuration) -> (Ended, String) {
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
            Self::Missing(who) => {
                let why = format!("not ready within {limit} s: {who}; hint: --wait-timeout");
                (Ended::failed(Exit::Timeout), why)
            }
            Self::Pathless => {
                let why = format!("no connection to the zenoh router within {limit} s");
                (Ended::failed(Exit::Failed), why)
            }
            Self::TooLong(span, missing) => {
                let why = format!(
                    "the run took longer than {span} (--timeout), before anything was sent: {missing}"
                );
                (Ended::failed(Exit::Timeout), why)
            }
            Self::Unstamped(trouble) => (Ended::failed(Exit::Usage), trouble.to_string()),
        }
    }
}

/// A gate that goes by the stamps of a topic whose type has none. The types of all outputs are known when they are there.
pub(super) fn check_stamps(args: &PlayArgs, outputs: &Outputs) -> Result<(), NotReady> {
    let unstamped = outputs.unstamped();
    let mut rules = args.ci.gate.iter();
    let found = rules.find_map(|rule| {
        let is_answer = |(topic, _): &&(String, String)| rule.outputs.contains(topic);
        let found = unstamped.iter().find(is_answer)?;
        (rule.matching == Matching::Stamp).then(|| (rule.to_string(), found.clone()))
    });
    found.map_or(Ok(()), |(rule, (topic, type_name))| {
        Err(NotReady::Unstamped(Box::new(Trouble::Unstamped {
            rule,
            topic,
            type_name,
        })))
    })
}

/// The usage error of flags that need a network of ROS 2 nodes.
pub(super) fn needs_ros() -> Failure {
    let error = anyhow::anyhow!(
        "--lockstep, --gate, --record and the other flags of CI replay need --wire rmw_zenoh"
    );
    Failure::new(Exit::Usage, error)
}
