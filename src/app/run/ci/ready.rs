//! Waits until the system under test is there: the subscribers and publishers that a run needs, before anything is sent.

use std::collections::BTreeSet;
use std::time::Duration as StdDuration;

use bagplay::bag::TopicId;
use bagplay::ci::child::ChildExit;
use bagplay::ci::drive::{Trouble, Waiting};
use bagplay::ci::gates::{Matching, Trigger};
use bagplay::ci::outputs::Outputs;
use bagplay::ci::settle::{Idle, Processes, Unprompted};
use bagplay::cli::{Ending, Exit, Plan, PlayArgs};
use bagplay::time::Duration;
use bagplay::untrusted::Foreign;
use crossbeam_channel::{Receiver, select};

use super::begin::{close_loops, lockstep};
use super::bursts::{self, Overflow};
use super::limit::{Deadline, TimeLimit};
use super::setup::Setup;
use crate::app::failure::Failure;
use crate::app::network::Network;
use crate::app::supervise::Ended;
use crate::app::supervise::under_test::{UnderTest, exit_of_end};

/// The time between two looks at the graph.
const LOOK: StdDuration = StdDuration::from_millis(20);
/// The system under test counts as complete when no node has joined, and none has declared anything, for this long.
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

/// What is looked at while they are waited for.
struct With<'a> {
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
enum NotReady {
    /// A signal asked for the end.
    Interrupted(Exit),
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

/// What was found when the system under test was there.
pub(super) struct Ready {
    /// What is to be said.
    pub(super) notes: Vec<String>,
    /// The threads of the program under test that ran meanwhile, again and again.
    pub(super) unprompted: Vec<Unprompted>,
    /// Tells when the processes under test have settled, if the run is in lockstep.
    pub(super) waiting: Option<Waiting>,
    pub(super) overflows: Vec<Overflow>,
    /// How the run ends before its beginning, and why.
    pub(super) refused: Option<(Ended, String)>,
}

/// Waits until the system under test is there. Topics that it publishes are no longer played.
pub(super) fn get_ready(
    setup: &Setup<'_>,
    network: &Network,
    plan: &mut Plan,
    (outputs, processes): (&Outputs, Option<Processes>),
    under_test: &mut UnderTest,
) -> Ready {
    let args = setup.args;
    let limit = args.topics.wait_timeout.to_std();
    let ready = Awaited::of(args, plan).wait(&With {
        network,
        outputs,
        processes: processes.clone(),
        limit,
        time_limit: &setup.time_limit,
        signals: setup.signals,
        ended: &under_test.ended,
    });
    let (mut notes, mut unprompted, mut waiting) = (Vec::new(), Vec::new(), None);
    let looked = ready.and_then(|ran| {
        unprompted = ran;
        check_stamps(args, outputs)?;
        notes = close_loops(network, plan);
        under_test.played = plan.chosen.iter().map(|one| one.name.clone()).collect();
        let (settling, note) = lockstep(args, processes, plan);
        waiting = settling;
        notes.extend(note);
        let overflows =
            bursts::overflows(setup, plan, network, waiting.is_some(), &under_test.ended);
        overflows.map_err(|stop| match stop {
            bursts::Stop::Signal(exit) => NotReady::Interrupted(exit),
            bursts::Stop::Ended(exit) => NotReady::Ended(exit),
            bursts::Stop::TimeIsUp => {
                let what = "the recording was looked through for bursts".to_owned();
                NotReady::TooLong(setup.time_limit.span(), what)
            }
        })
    });
    let overflows = looked.as_deref().unwrap_or_default();
    notes.extend(overflows.iter().map(|it| it.sentence(&args.ci)));
    let (overflows, refused) = match looked {
        Ok(overflows) if args.time.strict && !args.ci.spread && !overflows.is_empty() => {
            let why = "a subscriber cannot keep the messages of a burst (--strict)";
            let ended = Ended::failed(Exit::Usage);
            (overflows, Some((ended, why.to_owned())))
        }
        Ok(overflows) => (overflows, None),
        Err(not_ready) => (Vec::new(), Some(not_ready.ended(limit))),
    };
    Ready {
        notes,
        unprompted,
        waiting,
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

    /// Waits until they are there, and until no node has joined or declared anything for a while: one that subscribes to
    /// several topics does it one after the other. Returns the threads that ran meanwhile.
    fn wait(&self, with: &With<'_>) -> Result<Vec<Unprompted>, NotReady> {
        let deadline = Deadline::after(with.limit);
        let is_named = !self.inputs.is_empty() || !self.outputs.is_empty();
        let time_is_up = with.time_limit.passes();
        let mut joined = Joined::default();
        let former = Deadline::after(FORMER);
        loop {
            let missing = self.missing(with.network, with.outputs);
            // Its topics would be taken for topics that the system publishes itself.
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
            let mut topics: Vec<String> = outputs
                .subscribed()
                .into_iter()
                .map(|it| it.topic)
                .collect();
            topics.dedup();
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
        if self.anybody && network.subscribed_topics().is_empty() && !network.has_clock_subscriber()
        {
            let (nodes, _) = network.joined();
            let nodes: Vec<String> = nodes
                .iter()
                .map(|it| Foreign::text(it).to_string())
                .collect();
            words.push(if nodes.is_empty() {
                "no node has joined the network; hint: the program needs RMW_IMPLEMENTATION=rmw_zenoh_cpp and, without \
                 --isolated, the router and the domain of play"
                    .to_owned()
            } else {
                let nodes = nodes.join(", ");
                format!("no subscriber of any topic that is played; the nodes are {nodes}")
            });
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
    fn ended(&self, limit: StdDuration) -> (Ended, String) {
        let limit = limit.as_secs_f64();
        match self {
            Self::Interrupted(exit) => {
                let (how, exit) = (Ending::Interrupted, *exit);
                (Ended { how, exit }, "interrupted".to_owned())
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

/// A gate that goes by the stamps of a topic whose type has none. The types of all outputs are known when they are there.
fn check_stamps(args: &PlayArgs, outputs: &Outputs) -> Result<(), NotReady> {
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
