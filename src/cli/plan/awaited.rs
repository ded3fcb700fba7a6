//! Which subscribers have to be there before playing starts.

use std::collections::BTreeMap;

use super::select::{Chosen, ids_of};
use super::{LeftOut, PlanError};
use crate::bag::{Topic, TopicId};
use crate::cli::args::flags::PlayArgs;

/// The topics that must have a subscriber, and of those that need several: how many.
pub(super) fn awaited(
    args: &PlayArgs,
    chosen: &[Chosen],
    left_out: &[LeftOut],
    topics: &[Topic],
) -> Result<(Vec<Chosen>, BTreeMap<TopicId, u32>), PlanError> {
    let asked = &args.topics.wait_for_subscribers;
    let (mut named, mut least) = (Vec::new(), BTreeMap::new());
    for word in asked.iter().filter(|word| !word.is_empty()) {
        let (name, count) = word.split_once('=').unwrap_or((word, "1"));
        let count = count.parse().ok().filter(|count| *count > 0);
        let count: u32 = count.ok_or_else(|| PlanError::AwaitsNoNumber(word.clone()))?;
        let name = [name.to_owned()];
        if count > 1 {
            let ids = ids_of("--wait-for-subscribers", &name, topics)?;
            least.extend(ids.into_iter().map(|id| (id, count)));
        }
        named.extend(name);
    }
    let ids = ids_of("--wait-for-subscribers", &named, topics)?;
    let is_chosen = |id: &&TopicId| chosen.iter().any(|chosen| chosen.id == **id);
    if let Some(id) = ids.iter().find(|id| !is_chosen(id)) {
        let topic = topics[id.index()].name.clone();
        let known = left_out.iter().find(|one| one.topic == topic);
        let reason = known.map_or_else(|| "it is not selected".into(), |one| one.reason.clone());
        return Err(PlanError::AwaitsUnplayed { topic, reason });
    }
    let is_awaited =
        |chosen: &&Chosen| !asked.is_empty() && (named.is_empty() || ids.contains(&chosen.id));
    Ok((chosen.iter().filter(is_awaited).cloned().collect(), least))
}
