//! [`Ros1Left`]: what stays at a master when a node ends.

use std::fmt;

use crate::untrusted::Foreign;

/// How many names the text has.
const NAMED: usize = 3;

/// What a node leaves at its master.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ros1Left {
    /// Why `/use_sim_time` is still true, if it is, and if no other player is known to need it.
    pub sim_time: Option<SimTimeLeft>,
    /// The topics and services that are still registered, because the master has not taken the calls.
    pub registered: Vec<String>,
}

/// Why `/use_sim_time` stays true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SimTimeLeft {
    /// The master has not taken the call that restores it.
    NotTaken,
    /// Another player has set it, too, and it is not known whether that one still runs.
    OtherPlayer {
        /// Its address.
        uri: String,
    },
}

impl Ros1Left {
    /// Whether nothing stays.
    pub fn is_empty(&self) -> bool {
        self.sim_time.is_none() && self.registered.is_empty()
    }
}

impl fmt::Display for Ros1Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sim_time = self.sim_time.as_ref().map(|left| match left {
            SimTimeLeft::NotTaken => {
                "/use_sim_time stays true: the master of ROS 1 has not taken the last call"
                    .to_owned()
            }
            SimTimeLeft::OtherPlayer { uri } => format!(
                "/use_sim_time stays true: it is not known whether the player at {} needs it",
                Foreign::text(uri)
            ),
        });
        let registered = registered(&self.registered);
        let parts: Vec<String> = sim_time.into_iter().chain(registered).collect();
        if parts.is_empty() {
            return f.write_str("nothing stays at the master of ROS 1");
        }
        f.write_str(&parts.join("; "))
    }
}

/// Names what stays registered; `None` if nothing does.
fn registered(names: &[String]) -> Option<String> {
    let first = names.iter().take(NAMED);
    let first: Vec<String> = first.map(|name| Foreign::text(name).to_string()).collect();
    let first = first.join(", ");
    let still = "at a master of ROS 1 that has not taken the last calls";
    match names.len() {
        0 => None,
        1 => Some(format!("{first} stays registered {still}")),
        all if all <= NAMED => Some(format!("{first} stay registered {still}")),
        all => Some(format!(
            "{first} and {} more stay registered {still}",
            all - NAMED
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_named() {
        let other = SimTimeLeft::OtherPlayer {
            uri: "http://h:1/".to_owned(),
        };
        let not_taken = "/use_sim_time stays true: the master of ROS 1 has not taken the last call";
        let at_a_master = "at a master of ROS 1 that has not taken the last calls";
        for (sim_time, count, text) in [
            (Some(SimTimeLeft::NotTaken), 0, not_taken.to_owned()),
            (
                Some(other),
                0,
                "/use_sim_time stays true: it is not known whether the player at http://h:1/ needs it".to_owned(),
            ),
            (None, 1, format!("/0 stays registered {at_a_master}")),
            (
                Some(SimTimeLeft::NotTaken),
                2,
                format!("{not_taken}; /0, /1 stay registered {at_a_master}"),
            ),
            (None, 5, format!("/0, /1, /2 and 2 more stay registered {at_a_master}")),
        ] {
            let registered = (0..count).map(|n| format!("/{n}")).collect();
            let left = Ros1Left {
                sim_time,
                registered,
            };
            assert_eq!(left.to_string(), text);
        }
        assert!(Ros1Left::default().is_empty());
    }
}
