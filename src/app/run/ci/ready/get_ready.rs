//! Waits until the system under test is ready, and checks it before anything is sent.

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
use crate::app::run::ci::held::System;
use crate::app::run::ci::setup::Setup;
use crate::app::supervise::Ended;
use crate::app::supervise::under_test::UnderTest;

/// The result of [`get_ready`].
pub(in crate::app::run::ci) struct Ready {
    /// Notes for the reports.
    pub(in crate::app::run::ci) notes: Vec<String>,
    /// The threads of the program under test that ran repeatedly during the wait.
    pub(in crate::app::run::ci) unprompted: Vec<Unprompted>,
    /// Tells when the processes under test have settled, if the run is in lockstep.
    pub(in crate::app::run::ci) waiting: Option<Waiting>,
    pub(in crate::app::run::ci) overflows: Vec<Overflow>,
    /// How and why the run ends before it begins; `None` if it begins.
    pub(in crate::app::run::ci) refused: Option<(Ended, String)>,
}

/// Waits until the system under test is ready. Recorded topics that it publishes are then left out or, with `--aside`,
/// renamed. Returns the output for playback: a new one if topics were renamed.
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
        // The process that holds a system is one of this program.
        let holder = setup.system.map(System::root);
        unprompted = ran;
        unprompted.retain(|it| Some(it.thread.id.process) != holder);
        check_stamps(args, outputs)?;
        under_test.played = plan.chosen.iter().map(|one| one.name.clone()).collect();
        let (settling, note) = lockstep(args, processes, plan);
        waiting = settling;
        notes.extend(note);
        let overflows =
            bursts::overflows(setup, plan, network, waiting.is_some(), &under_test.ended);
        overflows.map_err(|stop| match stop {
            bursts::Stop::Signal(exit) => NotReady::Interrupted(exit, None),
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

/// The error of a gate `by stamp` on a topic whose type has no stamp. All outputs have appeared, so their types are
/// known.
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
