//! Gates: what has to be answered before playback goes on.
//!
//! A [`GateRule`] says which messages of a recording are *questions*, and which messages of the system under test are
//! their answers. A [`Ledger`] keeps which questions are open. Both are values without a network, a thread or a clock.
//!
//! ```
//! use bagplay::ci::gates::{GateRule, Ledger, Limits, Question};
//! use bagplay::time::{Duration, Time};
//!
//! let rule: GateRule = "/points -> /odom by stamp within 2s".parse()?;
//! let limits = Limits { in_flight: 1, within: Duration::from_secs(5) };
//! let mut ledger = Ledger::new(vec![rule], limits);
//! let (stamp, now) = (Time::from_secs(10), Time::from_millis(1));
//! ledger.asked("/points", Question { log_time: stamp, stamp: Some(stamp), shown: stamp, asked_at: now });
//! assert!(!ledger.is_open());
//! ledger.answered("/odom", Some(stamp), Time::from_millis(4));
//! assert!(ledger.is_open());
//! # Ok::<(), bagplay::ci::gates::InvalidGate>(())
//! ```

mod bursts;
mod ledger;
mod missed;
mod open_questions;
mod rule;

pub use bursts::{Burst, Bursts};
pub use ledger::{Answered, Ledger, Limits, Tally};
pub use missed::{Missed, Refused};
pub use open_questions::Question;
pub use rule::{GateRule, InvalidGate, Matching, Trigger};
