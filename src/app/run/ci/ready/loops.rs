//! [`close`]: recorded topics that the system under test publishes, too, are left out or moved aside.

use bagplay::cli::{Hints, Plan, PlayArgs};

use crate::app::failure::Failure;
use crate::app::network::{Network, PlayOutput};
use crate::app::run::ci::setup::Setup;

/// The result of [`close`].
pub(super) struct Closed {
    /// Notes for the reports.
    pub(super) notes: Vec<String>,
    /// Whether a topic was renamed in the plan. Its publisher on the network still has the former name.
    pub(super) is_any_moved: bool,
}

/// Leaves out or renames the topics of the plan that the system under test publishes: its nodes would receive the
/// recorded messages, too.
pub(super) fn close(args: &PlayArgs, network: &Network, plan: &mut Plan) -> Closed {
    let mut closed = Closed {
        notes: Vec::new(),
        is_any_moved: false,
    };
    plan.chosen.retain_mut(|chosen| {
        let Some(node) = network.publisher(&chosen.name) else {
            return true;
        };
        let name = &chosen.name;
        let aside = args
            .ci
            .aside(name)
            .filter(|aside| network.publisher(aside).is_none());
        let Some(aside) = aside else {
            closed
                .notes
                .push(format!("{name} is not played, because {node} publishes it"));
            return false;
        };
        closed.notes.push(format!(
            "{name} is played as {aside}, because {node} publishes it"
        ));
        closed.is_any_moved = true;
        chosen.name = aside;
        true
    });
    for awaited in &mut plan.awaited {
        if let Some(chosen) = plan.chosen.iter().find(|one| one.id == awaited.id) {
            awaited.name.clone_from(&chosen.name);
        }
    }
    closed
}

/// Declares the topics by their new names.
pub(super) fn advertise_again(
    setup: &Setup<'_>,
    network: &mut Network,
    plan: &mut Plan,
) -> Result<PlayOutput, Failure> {
    let hints = Hints::new(setup.args, plan, setup.bag.topics());
    network.advertise(setup.args, setup.bag, plan, &hints)
}
