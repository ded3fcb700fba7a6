//! Searches a recording for messages whose fields satisfy a condition.
//!
//! An [`Expression`] names a topic and a condition: `/diagnostics status[].level >= WARN`. [`Conditions`] finds its
//! fields in the recorded definitions, and refuses what does not fit before anything is read. A [`Search`] reads the
//! topics once, for all expressions; it can be stopped between chunks. [`alerts`] are the expressions for what ROS
//! nodes report themselves. Only the fields of the conditions are decoded, with
//! [`FieldReader`](crate::decode::FieldReader).
//!
//! ```no_run
//! # use bagplay_core as bagplay;
//! use bagplay::bag::{Bag, Direction};
//! use bagplay::find::{Conditions, Expression, Found, Search};
//! use bagplay::time::TimeRange;
//!
//! let bag = Bag::open(&["drive.mcap"])?;
//! let expression: Expression = "/imu angular_velocity.z > 0.5".parse()?;
//! let conditions = Conditions::new(bag.topics(), &[expression])?;
//! for found in Search::new(&bag, conditions, TimeRange::ALL, Direction::Forward) {
//!     if let Found::Hit(hit) = found {
//!         println!("{} {}", hit.log_time, hit.matched.text());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alerts;
mod char_start;
mod condition;
mod expression;
mod pattern;
mod search;

pub use alerts::{Severity, alerts};
pub use condition::conditions::Conditions;
pub use condition::error::FindError;
pub use condition::matched::{Match, MatchedValue};
pub use expression::error::ExpressionError;
pub use expression::syntax::Expression;
pub use pattern::{InvalidPattern, Pattern};
pub use search::{Found, Hit, Search, SearchProgress, Unreadable};
