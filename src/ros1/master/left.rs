//! [`Ros1Left`]: what stays at a master when a node ends.

use std::fmt;

use crate::untrusted::Foreign;

/// How many names the text has.
const NAMED: usize = 3;

/// What a node leaves at a master that does not answer at its end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ros1Left {
    /// Whether `/use_sim_time` is still true.
    pub sim_time: bool,
    /// The topics and services that are still registered.
    pub registered: Vec<String>,
}

impl Ros1Left {
    /// Whether nothing stays.
    pub fn is_empty(&self) -> bool {
        !self.sim_time && self.registered.is_empty()
    }
}

impl fmt::Display for Ros1Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing stays at the master of ROS 1");
        }
        f.write_str("the master of ROS 1 does not answer: ")?;
        if self.sim_time {
            f.write_str("/use_sim_time stays true")?;
        }
        let [first, others @ ..] = &self.registered[..] else {
            return Ok(());
        };
        f.write_str(if self.sim_time { "; " } else { "" })?;
        write!(f, "{}", Foreign::text(first))?;
        for name in others.iter().take(NAMED - 1) {
            write!(f, ", {}", Foreign::text(name))?;
        }
        match self.registered.len() {
            1 => f.write_str(" stays registered"),
            all if all <= NAMED => f.write_str(" stay registered"),
            all => write!(f, " and {} more stay registered", all - NAMED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_named() {
        for (sim_time, count, text) in [
            (true, 0, "/use_sim_time stays true"),
            (false, 1, "/0 stays registered"),
            (true, 2, "/use_sim_time stays true; /0, /1 stay registered"),
            (false, 5, "/0, /1, /2 and 2 more stay registered"),
        ] {
            let registered = (0..count).map(|n| format!("/{n}")).collect();
            let left = Ros1Left {
                sim_time,
                registered,
            };
            let expected = format!("the master of ROS 1 does not answer: {text}");
            assert_eq!(left.to_string(), expected);
        }
        assert!(Ros1Left::default().is_empty());
    }
}
