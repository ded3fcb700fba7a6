//! [`Ros1Event`]: what happens on a network of ROS 1. The `Display` text says what happened.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::system::{NoPlace, is_want_of_files, steady};
use crate::untrusted::Foreign;

/// What happens on the network. Sent from several threads: the receiver must not block.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ros1Event {
    /// A node has connected to a topic.
    SubscriberJoined {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
    },
    /// A node has closed its connection to a topic.
    SubscriberLeft {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
        /// How many messages waited for it: it has ended in the middle, or was killed.
        waiting: usize,
    },
    /// A node expects another type: it is refused.
    TypeMismatch {
        /// The topic.
        topic: String,
        /// Type and MD5 sum that are published.
        ours: String,
        /// Type and MD5 sum that the node expects.
        theirs: String,
        /// The node.
        node: String,
    },
    /// A node does not keep up, and messages may be dropped: the oldest that wait for it are. Told again only if the
    /// node has read everything in between.
    Slow {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
    },
    /// A message has waited for the whole stall timeout and is dropped: from now on the node loses messages.
    Stalled {
        /// The topic.
        topic: String,
        /// The node that took nothing.
        node: String,
        /// How long the message waited.
        waited: Duration,
    },
    /// A node that was stuck takes messages again.
    Back {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
        /// How long it took nothing after it had lost the first message.
        away: Duration,
        /// How many messages it has lost.
        lost: u64,
    },
    /// This node publishes `/clock` from now on, or no longer: a command has changed it.
    OwnClock {
        /// Whether it is published now.
        is_served: bool,
    },
    /// `/clock` is served, and the parameter `/use_sim_time` is not true: nodes that start do not follow it.
    SimTimeOff,
    /// Another node publishes `/clock` while this one serves it.
    ForeignClock {
        /// The node.
        node: String,
    },
    /// The master does not answer, or answers again.
    Master {
        /// Whether it answers.
        is_there: bool,
    },
    /// The master does not register a topic or a service.
    NotRegistered {
        /// Its name.
        name: String,
        /// The reason that the master gives.
        reason: String,
    },
    /// The master does not set the parameter `/use_sim_time`.
    SimTimeRefused {
        /// Why.
        reason: String,
    },
    /// The master asks this node to end: another node has registered under its name.
    Shutdown {
        /// The reason that the master gives.
        reason: String,
    },
    /// The name under which nodes are to reach this one is not known on this machine.
    UnknownHost {
        /// The name.
        host: String,
    },
    /// Further connections are closed at once, because there are as many as are accepted.
    TooManyConnections {
        /// What they are for.
        what: &'static str,
        /// How many are accepted.
        most: usize,
    },
    /// The system gives no connections, for want of file descriptors, memory or threads. Those of other nodes are
    /// closed, or wait until they are accepted; a call of this node is made again later.
    NoConnections {
        /// What they are for.
        what: &'static str,
        /// Why.
        reason: String,
        /// Whether too many files are open.
        is_want_of_files: bool,
    },
    /// A notice that has come several times since it was given last.
    Repeated {
        /// The notice.
        event: Box<Self>,
        /// How often it was left out.
        times: u64,
    },
    /// Any other warning.
    Warning(String),
}

/// Escaped, because names of nodes may contain anything.
impl fmt::Display for Ros1Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Foreign::text(&self.unescaped()).fmt(f)
    }
}

impl Ros1Event {
    /// Connections are refused. `what`: what they are for.
    pub(crate) fn refused(what: &'static str, refusal: NoPlace) -> Self {
        match refusal {
            NoPlace::Full(most) => Self::TooManyConnections { what, most },
            NoPlace::System(error) => Self::NoConnections {
                what,
                reason: error.to_string(),
                is_want_of_files: is_want_of_files(&error),
            },
        }
    }

    fn unescaped(&self) -> String {
        match self {
            Self::SubscriberJoined { topic, node } => format!("{node} subscribes to {topic}"),
            Self::SubscriberLeft {
                topic,
                node,
                waiting,
            } => match waiting {
                0 => format!("{node} no longer subscribes to {topic}"),
                1 => {
                    format!("{node} closed its connection to {topic} while a message waited for it")
                }
                many => format!(
                    "{node} closed its connection to {topic} while {many} messages waited for it"
                ),
            },
            Self::TypeMismatch {
                topic,
                ours,
                theirs,
                node,
            } => format!(
                "{node} gets nothing of {topic}: it subscribes to {theirs}, and {ours} is published"
            ),
            Self::Slow { topic, node } => format!(
                "{node} does not keep up with {topic}: the oldest messages that wait for it are dropped"
            ),
            Self::Stalled {
                topic,
                node,
                waited,
            } => format!(
                "{node} read nothing for {:.1} s while {topic} was sent: it loses all further messages until it reads again",
                waited.as_secs_f64()
            ),
            Self::Back {
                topic,
                node,
                away,
                lost,
            } => format!(
                "{node}: reading {topic} again after {:.1} s; lost {lost} message{}",
                away.as_secs_f64(),
                if *lost == 1 { "" } else { "s" }
            ),
            Self::OwnClock { is_served: true } => "/clock is published".to_owned(),
            Self::OwnClock { is_served: false } => "/clock is not published any more".to_owned(),
            Self::SimTimeOff => {
                "the parameter /use_sim_time is not true: nodes that start do not follow /clock"
                    .to_owned()
            }
            Self::ForeignClock { node } => format!(
                "{node} publishes /clock too: time will jump between the two for every node with use_sim_time"
            ),
            Self::Master { is_there: false } => {
                "the master of ROS 1 does not answer: no new subscriber can find this player"
                    .to_owned()
            }
            Self::Master { is_there: true } => "the master of ROS 1 answers again".to_owned(),
            Self::NotRegistered { name, reason } => {
                format!("the master of ROS 1 does not register {name}: {reason}")
            }
            Self::SimTimeRefused { reason } => {
                format!("the master of ROS 1 does not set /use_sim_time: {reason}")
            }
            Self::Shutdown { reason } => {
                format!("the master of ROS 1 asks this player to end: {reason}")
            }
            Self::UnknownHost { host } => format!(
                "this machine cannot resolve the host name {host}; nodes that cannot either do not reach this player"
            ),
            Self::TooManyConnections { what, most } => {
                format!("connections for {what} are refused: the limit of {most} is reached")
            }
            Self::NoConnections { what, reason, .. } => {
                format!("the system gives no connections for {what}: {reason}")
            }
            Self::Repeated { event, times } => {
                let s = if *times == 1 { "" } else { "s" };
                format!(
                    "{}; {times} more time{s} since the last such notice",
                    event.unescaped()
                )
            }
            Self::Warning(text) => text.clone(),
        }
    }

    /// The key by which repetitions are counted; `None`: every one is given. Only what other nodes cause has one, so
    /// they cannot hold back what this node itself has to say.
    fn notice(&self) -> Option<String> {
        match self {
            Self::TypeMismatch { .. }
            | Self::Slow { .. }
            | Self::TooManyConnections { .. }
            | Self::NoConnections { .. } => Some(self.unescaped()),
            // The number may be another one each time.
            Self::SubscriberLeft {
                topic,
                node,
                waiting: 1..,
            } => Some(format!("{topic} {node}")),
            _ => None,
        }
    }
}

/// For how long a notice is not given again.
const QUIET: Duration = Duration::from_secs(10);
/// How many different notices are given in that time. Nodes can cause any number.
const MOST_NOTICES: usize = 64;

/// The notices that were given.
#[derive(Debug, Default)]
struct Given {
    /// When each was given, and how often it was left out since.
    notices: BTreeMap<String, (Instant, u64)>,
}

impl Given {
    /// What is to be given instead of an event; `None`: nothing.
    fn admit(&mut self, event: Ros1Event, now: Instant) -> Option<Ros1Event> {
        let Some(notice) = event.notice() else {
            return Some(event);
        };
        let is_quiet = |given: Instant| now.saturating_duration_since(given) < QUIET;
        let left_out = match self.notices.get_mut(&notice) {
            Some((given, left_out)) if is_quiet(*given) => {
                *left_out += 1;
                return None;
            }
            Some((_, left_out)) => *left_out,
            None => 0,
        };
        if self.notices.len() >= MOST_NOTICES && left_out == 0 {
            self.notices.retain(|_, (given, _)| is_quiet(*given));
            if self.notices.len() >= MOST_NOTICES {
                return None;
            }
        }
        self.notices.insert(notice, (now, 0));
        Some(match left_out {
            0 => event,
            times => Ros1Event::Repeated {
                event: Box::new(event),
                times,
            },
        })
    }
}

/// The receiver of events; cheap to clone. Of what other nodes cause, a repetition is given after 10 s at the
/// earliest.
#[derive(Clone)]
pub(crate) struct Events {
    receiver: Arc<dyn Fn(Ros1Event) + Send + Sync>,
    given: Arc<Mutex<Given>>,
}

impl Events {
    pub(crate) fn new(receiver: impl Fn(Ros1Event) + Send + Sync + 'static) -> Self {
        Self {
            receiver: Arc::new(receiver),
            given: Arc::default(),
        }
    }

    pub(crate) fn send(&self, event: Ros1Event) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = given.admit(event, steady());
        drop(given);
        if let Some(event) = admitted {
            (self.receiver)(event);
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(most: usize) -> Ros1Event {
        let what = "calls";
        Ros1Event::TooManyConnections { what, most }
    }

    #[test]
    fn a_notice_that_comes_again_and_again_is_given_once_in_a_while() {
        let mut given = Given::default();
        let begin = steady();
        assert_eq!(given.admit(notice(9), begin), Some(notice(9)));
        for _ in 0..3 {
            assert_eq!(given.admit(notice(9), begin), None);
        }
        let later = given.admit(notice(9), begin + QUIET).unwrap();
        assert_eq!(
            later.to_string(),
            "connections for calls are refused: the limit of 9 is reached; 3 more times since the last such notice"
        );
        assert_eq!(given.admit(notice(9), begin + QUIET), None);
    }

    #[test]
    fn different_notices_are_limited_and_other_events_are_not() {
        let mut given = Given::default();
        let begin = steady();
        let count = |given: &mut Given, now| {
            let notices = (0..1000).filter_map(|n| given.admit(notice(n), now));
            notices.count()
        };
        assert_eq!(count(&mut given, begin), MOST_NOTICES);
        assert!(given.notices.len() <= MOST_NOTICES);
        assert!(count(&mut given, begin + QUIET) >= MOST_NOTICES);
        assert!(given.notices.len() <= MOST_NOTICES);
        // What this node says itself, whatever others have caused.
        let own = Ros1Event::Warning("a".to_owned());
        for event in [Ros1Event::Master { is_there: true }, own] {
            for _ in 0..100 {
                assert_eq!(
                    given.admit(event.clone(), begin + QUIET),
                    Some(event.clone())
                );
            }
        }
    }
}
