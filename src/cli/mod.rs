//! The command line: its clap types and what they mean, in values of the other rooms.

mod args;
mod argv;
mod check;
mod exit;
mod findings;
mod hints;
mod info;
mod kinds;
mod page;
mod plan;
mod printable;
mod ros_flags;
mod select;
mod summary;
mod units;
mod values;
mod when;

pub use args::*;
pub use argv::{spread_lists, verb_first};
pub use check::Check;
pub use exit::{EXIT_CODES, Exit};
pub use findings::{Finding, Findings};
pub use hints::Hints;
pub use info::Info;
pub use plan::{LeftOut, Plan, PlanError, pace_factor, plan};
pub use ros_flags::{RequestsSource, RosArgs};
pub use select::{Chosen, SelectError, choose, ids_of};
pub use summary::{Ending, Summary, Untaken};
pub use units::{bytes, count};
pub use values::{
    Color, CongestionArg, Format, LogLevel, MessageOrder, OnDisconnect, RosDistro, Wire,
};
pub use when::{Unreadable, When, WhenRange, parse_size, parse_span};
