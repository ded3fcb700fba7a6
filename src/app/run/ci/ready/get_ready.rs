//! Waits until the system under test is there, and looks at what it is, before anything is sent.

use bagplay::ci::drive::{Trouble, Waiting};
use bagplay::ci::gates::Matching;
use bagplay::ci::outputs::Outputs;
use bagplay::ci::settle::{Processes, Unprompted};
use bagplay::cli::{Exit, Plan, PlayArgs};

use super::awaited::{Awaited, NotReady, With};
use super::bursts::{self, Overflow};
use super::loops;
use crate::app::failure::Failure;
use crate::app::network::{Network, PlayOutput};
use crate::app::run::ci::begin::lockstep;
use crate::app::run::ci::setup::Setup;
use crate::app::supervise::Ended;
use crate::app::supervise::under_test::UnderTest;

/// What was found when the system under test was there.
pub(in crate::app::run::ci) struct Ready {
    /// What is to be said.
    pub(in crate::app::run::ci) notes: Vec<String>,
    /// The threads of the program under test that ran meanwhile, again and again.
    pub(in crate::app::run::ci) unprompted: Vec<Unprompted>,
    /// Tells when the processes under test have settled, if the run is in lockstep.
    pub(in crate::app::run::ci) waiting: Option<Waiting>,
    pub(in crate::app::run::ci) overflows: Vec<Overflow>,
    /// How the run ends before its beginning, and why.
    pub(in crate::app::run::ci) refused: Option<(Ended, String)>,
}

/// Waits until the system under test is there. Topics that it publishes are then left out or moved aside: the output may be
/// another one after that.
pub(in crate::app::run::ci) fn get_ready(
    setup: &Setup<'_>,
    (network, mut out): (&mut Network, PlayOutput),
    plan: &mut Plan,
    (outputs, processes): (&Outputs, Option<Processes>),
    under_test: &mut UnderTest,
) -> Result<(Ready, PlayOutput), Failure> {
    let args = setup.args;
    let limit = args.topics.wait_timeout.to_std();
    let wait = |network: &Network, plan: &Plan| {
        Awaited::of(args, plan).wait(&With {
            network,
            plan,
            outputs,
            processes: processes.clone(),
            limit,
            time_limit: &setup.time_limit,
            signals: setup.signals,
            ended: &under_test.ended,
        })
    };
    let mut ready = wait(network, plan);
    let (mut notes, mut unprompted, mut waiting) = (Vec::new(), Vec::new(), None);
    if ready.is_ok() {
        let closed = loops::close(args, network, plan);
        notes = closed.notes;
        if closed.is_any_moved {
            // A session has one output at a time.
            drop(out);
            out = loops::advertise_again(setup, network, plan)?;
            ready = wait(network, plan);
        }
    }
    let looked = ready.and_then(|ran| {
        unprompted = ran;
        check_stamps(args, outputs)?;
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
                let what = "the search for bursts in the recording had not ended".to_owned();
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
    let ready = Ready {
        notes,
        unprompted,
        waiting,
        overflows,
        refused,
    };
    Ok((ready, out))
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
pub(in crate::app::run::ci) fn needs_ros() -> Failure {
    let error = anyhow::anyhow!(
        "--lockstep, --gate, --record and the other flags of CI replay need --wire rmw_zenoh"
    );
    Failure::new(Exit::Usage, error)
}
