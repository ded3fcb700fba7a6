//! Plain keys: the recorded bytes, for subscribers that are not ROS 2 nodes.
//!
//! The key is the topic's name without its first slash. There are no liveliness tokens, no attachments and no types,
//! so a subscriber is known only by the route that zenoh reports. The clock, if served, is CDR on the key `clock`.

use super::interface::{Latched, MessageForm, Plan, TopicSpec, Transcoders};
use super::plan::{CLOCK, Group, OwnClock, clock_qos, group, require_any};
use crate::bag::TopicId;
use crate::ros::Qos;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::options::{Played, Skipped};

/// How many samples a latched topic keeps if its profile leaves the depth open.
const DEFAULT_DEPTH: u32 = 42;

/// Plans all topics whose name is valid as a key.
pub(crate) fn plan(played: &[Played], clock: OwnClock, events: &Events) -> Result<Plan, WireError> {
    let grouped = grouped(played, clock);
    require_any(played, &grouped, clock)?;
    let (groups, skipped) = grouped;
    let topics = groups.into_iter();
    let topics = topics.map(|group| topic(group.ids(), group.qos(events), group.name));
    Ok(Plan {
        topics: topics.collect(),
        clock: (clock == OwnClock::Served).then(self::clock),
        skipped,
        transcoders: Transcoders::new(),
        ours: Vec::new(),
    })
}

/// The topics that can be published, and those that cannot.
pub(crate) fn grouped(played: &[Played], clock: OwnClock) -> (Vec<Group<'_>>, Vec<Skipped>) {
    group(played, clock, |_| Ok(String::new()))
}

/// What to declare for the clock.
pub(crate) fn clock() -> TopicSpec {
    topic(Vec::new(), clock_qos(), CLOCK.to_owned())
}

fn topic(ids: Vec<TopicId>, qos: Qos, name: String) -> TopicSpec {
    TopicSpec {
        ids,
        key: name.trim_start_matches('/').to_owned(),
        name,
        token: None,
        offered: None,
        reliability: qos.reliability,
        latched: Latched::of(&qos, DEFAULT_DEPTH),
        form: MessageForm::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::Topic;

    fn played(name: &str, encoding: &str) -> Played {
        Played {
            id: TopicId(0),
            name: name.to_owned(),
            topic: Topic {
                name: name.to_owned(),
                schema: None,
                encoding: encoding.to_owned(),
                offered_qos: Vec::new(),
                type_hash: None,
                ros1_md5: None,
                is_latched: false,
                message_count: Some(3),
            },
            qos: None,
        }
    }

    fn plan(played: &[Played], clock: OwnClock) -> Result<(usize, usize), WireError> {
        let plan = super::plan(played, clock, &Events::new(|_| ()))?;
        Ok((plan.topics.len(), plan.skipped.len()))
    }

    #[test]
    fn nothing_left_because_of_a_name_is_an_error() {
        let bad = [played("/a*", "json")];
        let error = plan(&bad, OwnClock::NotServed).unwrap_err();
        assert!(error.to_string().contains("/a*"));
        assert_eq!(plan(&bad, OwnClock::Served).unwrap(), (0, 1));
    }

    #[test]
    fn a_recorded_clock_is_skipped_beside_ours_however_it_is_written() {
        for name in ["/clock", "clock", "/clock/"] {
            let recorded = [played(name, "cdr")];
            assert_eq!(plan(&recorded, OwnClock::Served).unwrap(), (0, 1), "{name}");
            let (planned, _) = plan(&recorded, OwnClock::NotServed).unwrap();
            assert_eq!(planned, 1, "{name}");
        }
    }
}
