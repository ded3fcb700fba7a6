//! [`Missed`]: a question that was not answered in time, and what came in place of its answer.

use std::fmt;

use super::open_questions::Question;
use super::rule::Trigger;
use crate::time::{Duration, Ros, Steady, Time};

/// A message that answered nothing because of its stamp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Its topic.
    pub topic: String,
    /// Its stamp.
    pub stamp: Time<Ros>,
    /// The stamp is later than everything that was sent. Otherwise it is earlier than that of the open questions.
    pub is_ahead: bool,
    pub(super) at: Time<Steady>,
}

/// A question that was not answered in time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missed {
    /// The rule, by its place among those of the ledger.
    pub rule: usize,
    /// What was a question.
    pub trigger: Trigger,
    /// How long an answer was waited for.
    pub within: Duration,
    /// The number of the question among those of its rule, from 0.
    pub number: u64,
    /// The question.
    pub question: Question,
    /// The outputs of which messages are missing.
    pub missing: Vec<String>,
    /// The last message that came meanwhile and answered nothing because of its stamp.
    pub refused: Option<Refused>,
}

impl fmt::Display for Refused {
    /// A clause: what came, and what is wrong with it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, stamp, .. } = self;
        write!(f, "a message of {topic} has the wrong stamp {stamp}, ")?;
        f.write_str(if self.is_ahead {
            "which is later than everything that was sent"
        } else {
            "which is earlier than that of the message that it should answer"
        })
    }
}

impl fmt::Display for Missed {
    /// One sentence that names the input.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing.join(", ");
        let Question {
            log_time, stamp, ..
        } = self.question;
        match &self.trigger {
            Trigger::Topic(topic) => {
                write!(f, "message {} of {topic}, at {log_time}", self.number)?;
                match stamp.filter(|stamp| *stamp != log_time) {
                    Some(stamp) => write!(f, " with stamp {stamp},")?,
                    None => write!(f, ",")?,
                }
            }
            Trigger::Tick(span) => write!(
                f,
                "the step of the clock to {log_time} (step {} of {span}, counted from where playing starts)",
                self.number
            )?,
        }
        let within = self.within;
        write!(f, " was not answered by {missing} within {within}")?;
        if let Some(refused) = &self.refused {
            write!(f, "; {refused}")?;
        }
        if let Trigger::Tick(span) = &self.trigger {
            write!(
                f,
                "; a timer with another phase, or with a longer period than {span}, does not answer each step: hint: --in-flight 2"
            )?;
        }
        Ok(())
    }
}
