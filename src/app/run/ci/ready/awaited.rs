//! [`Awaited`]: the subscribers, publishers and nodes that a run needs before it begins.

use std::collections::BTreeSet;
use std::time::Duration as StdDuration;

use bagplay::bag::TopicId;
use bagplay::ci::child::ChildExit;
use bagplay::ci::drive::Trouble;
use bagplay::ci::gates::Trigger;
use bagplay::ci::outputs::Outputs;
use bagplay::ci::settle::{Idle, Named, Processes, ThreadSet, Unprompted};
use bagplay::cli::{Ending, Exit, Plan, PlayArgs};
use bagplay::time::Duration;
use bagplay::untrusted::Foreign;
use crossbeam_channel::{Receiver, select};

use crate::app::network::Network;
use crate::app::run::ci::limit::{Deadline, TimeLimit};
use crate::app::supervise::Ended;
use crate::app::supervise::under_test::exit_of_end;

/// The time between two looks at the graph.
const LOOK: StdDuration = StdDuration::from_millis(20);
/// The system under test counts as complete when no node has joined, and none has declared anything, for this long.
const QUIET: StdDuration = StdDuration::from_millis(500);
/// How long the player of an earlier run on the same system may still be seen.
const FORMER: StdDuration = StdDuration::from_secs(5);
const CLOCK: &str = "/clock";
const JUST_JOINED: &str = "the nodes had just joined";

/// The subscribers and publishers that a run needs.
#[derive(Debug)]
pub(super) struct Awaited {
    /// Topics that have to have a subscriber.
    inputs: Vec<(TopicId, String)>,
    /// Topics that have to have a publisher.
    outputs: Vec<String>,
    /// The full names of the nodes that have to have joined.
    nodes: Vec<String>,
    /// No topic is named, and there are processes under test: a node has to subscribe to some topic, and after that no
    /// other node may join for a while.
    anybody: bool,
    /// The system under test was there before this run: the player of the run before has to be gone.
    after_another: bool,
}

/// What [`Awaited::wait`] reads.
pub(super) struct With<'a> {
    pub(super) network: &'a Network,
    pub(super) plan: &'a Plan,
    pub(super) outputs: &'a Outputs,
    /// The processes under test, if they are known.
    pub(super) processes: Option<Processes>,
    /// How long they are waited for.
    pub(super) limit: StdDuration,
    pub(super) time_limit: &'a TimeLimit,
    pub(super) signals: &'a Receiver<Exit>,
    pub(super) ended: &'a Receiver<ChildExit>,
}

impl With<'_> {
    /// What is missing, after the processes under test that are stopped: those cannot join.
    fn explained(&self, missing: &str) -> String {
        let set = self.processes.clone();
        let set = set.and_then(|them| ThreadSet::new(them, &[]).ok());
        // Where threads cannot be read, none is reported.
        let stopped = set.and_then(|set| set.stopped().ok());
        let named = |one: Named| {
            let (id, name) = (one.id.process, Foreign::text(&one.process));
            format!("process {id} ({name}) is stopped; ")
        };
        let stopped = stopped.unwrap_or_default().into_iter().map(named);
        stopped.collect::<String>() + missing
    }
}

/// Why a run does not begin.
#[derive(Debug)]
pub(super) enum NotReady {
    /// A signal asked for the end; what was missing, if something was awaited.
    Interrupted(Exit, Option<String>),
    /// The program under test has ended.
    Ended(ChildExit),
    /// What is published cannot be received.
    NotReceived(String),
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
    /// The subscribers of the questions of gates and of the topics of `--wait-for-subscribers`; the publishers of the
    /// answers and of the topics of `--record-topics`; the nodes of `--wait-for-nodes`.
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
        let mut awaited = Self {
            inputs,
            outputs: outputs.into_iter().collect(),
            nodes: ci.nodes().collect(),
            anybody: false,
            after_another: ci.held_system,
        };
        awaited.anybody = ci.has_program() && !awaited.is_named();
        awaited
    }

    /// Whether a topic or a node is named.
    fn is_named(&self) -> bool {
        !(self.inputs.is_empty() && self.outputs.is_empty() && self.nodes.is_empty())
    }

    /// Waits until they are there, and until no node has joined or declared anything for a while: one that subscribes
    /// to several topics does it one after the other. Returns the threads that ran meanwhile.
    pub(super) fn wait(&self, with: &With<'_>) -> Result<Vec<Unprompted>, NotReady> {
        let deadline = Deadline::after(with.limit);
        let is_named = self.is_named();
        let time_is_up = with.time_limit.passes();
        let mut joined = Joined::default();
        let former = Deadline::after(FORMER);
        loop {
            let missing = self.missing(with);
            // The topics of the player of the run before would be taken for topics that the system publishes.
            let has_former = self.after_another
                && with.network.publisher(CLOCK).is_some()
                && !former.has_passed();
            if has_former {
                joined = Joined::default();
            }
            let has_all = missing.is_none() && with.network.path().is_up && !has_former;
            if has_all && (!(is_named || self.anybody) || joined.is_quiet(with)) {
                return Ok(joined.unprompted());
            }
            let mut refused = with.outputs.not_received().into_iter();
            if let Some(one) = refused.find(|it| self.outputs.contains(&it.topic)) {
                let (topic, node) = (Foreign::text(&one.topic), Foreign::text(&one.node));
                let why = format!("{topic} by {node} is not received: {}", one.why);
                return Err(NotReady::NotReceived(why));
            }
            let missing = missing.unwrap_or_else(|| "other nodes keep joining".to_owned());
            let explained = || {
                if has_all {
                    JUST_JOINED.to_owned()
                } else {
                    with.explained(&missing)
                }
            };
            if deadline.has_passed() {
                return match has_all {
                    _ if !with.network.path().is_up => Err(NotReady::Pathless),
                    // Those that are named are there.
                    true if is_named => Ok(Vec::new()),
                    _ => Err(NotReady::Missing(with.explained(&missing))),
                };
            }
            select! {
                recv(with.signals) -> exit => {
                    let exit = exit.unwrap_or(Exit::Interrupted);
                    return Err(NotReady::Interrupted(exit, Some(explained())));
                }
                recv(with.ended) -> exit => if let Ok(exit) = exit {
                    return Err(NotReady::Ended(exit));
                },
                recv(time_is_up) -> _ => {
                    return Err(NotReady::TooLong(with.time_limit.span(), explained()));
                }
                default(LOOK) => {}
            }
        }
    }

    /// The subscribers and publishers that are missing, as text.
    fn missing(&self, with: &With<'_>) -> Option<String> {
        let (network, outputs) = (with.network, with.outputs);
        let inputs = self.inputs.iter();
        let inputs = inputs.filter(|(id, _)| !network.has_subscribers(with.plan, *id));
        let inputs = inputs.map(|(id, name)| (*id, name.as_str()));
        let inputs = network.missing_subscribers(with.plan, inputs);
        let published = outputs.wait_for(&self.outputs, StdDuration::ZERO);
        let mut words = Vec::new();
        if !inputs.is_empty() {
            words.push(inputs);
        }
        words.extend(self.missing_nodes(network));
        if !published.is_empty() {
            let topics = network.published();
            let topics: Vec<String> = topics
                .iter()
                .map(|it| Foreign::text(it).to_string())
                .collect();
            let others = match topics.as_slice() {
                [] => "nothing is published".to_owned(),
                _ => format!("published are {}", topics.join(", ")),
            };
            words.push(format!(
                "no publisher of {} ({others})",
                published.join(", ")
            ));
        }
        if self.anybody && !network.has_subscribed_topics() && !network.has_clock_subscriber() {
            let nodes = shown(&network.joined().0);
            words.push(if nodes.is_empty() {
                "no node has joined the network; hint: the program needs RMW_IMPLEMENTATION=rmw_zenoh_cpp and, without \
                 --isolated, the router and the domain of play"
                    .to_owned()
            } else {
                format!("no subscriber of any topic that is played; the nodes are {nodes}")
            });
        }
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// The nodes that have not joined and, in brackets, those that have, as text.
    fn missing_nodes(&self, network: &Network) -> Option<String> {
        if self.nodes.is_empty() {
            return None;
        }
        let (joined, _) = network.joined();
        let missing = self.nodes.iter().filter(|node| !joined.contains(node));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        let others = match shown(&joined) {
            joined if joined.is_empty() => "no node has joined".to_owned(),
            joined => format!("the nodes are {joined}"),
        };
        (!missing.is_empty()).then(|| format!("no node {} ({others})", missing.join(", ")))
    }
}

/// Names from the network, as one text.
fn shown(names: &[String]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|it| Foreign::text(it).to_string())
        .collect();
    names.join(", ")
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
            // Where threads cannot be read, none is reported.
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
            Self::Interrupted(exit, missing) => {
                let (how, exit) = (Ending::Interrupted, *exit);
                let missing = missing.as_ref().map(|it| format!(": {it}"));
                let missing = missing.unwrap_or_default();
                let why = format!("interrupted, before anything was sent{missing}");
                (Ended { how, exit }, why)
            }
            Self::Ended(exit) => {
                let why = format!("{exit}, before the run began");
                (Ended::failed(exit_of_end(exit)), why)
            }
            Self::NotReceived(why) => (Ended::failed(Exit::Failed), why.clone()),
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
