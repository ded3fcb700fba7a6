//! The command line: its clap types and what they mean, in values of the other modules.

mod args;
mod exit;
#[cfg(test)]
mod fixtures;
mod plan;
mod report;

pub use crate::time::{Unreadable, When, WhenRange, parse_span};
pub use args::argv::{spread_lists, verb_first};
pub use args::ci_flags::{CiArgs, FromScenario, SourceStamp};
pub use args::flags::*;
pub use args::follow_flags::FollowArgs;
pub use args::given::Given;
pub use args::ros_flags::{KindSelection, RequestsSource, RosArgs};
pub use args::topic_flags::{TopicArgs, TopicSelection};
pub use args::values::{
    Color, CongestionArg, Format, LogLevel, MessageOrder, OnDisconnect, OrderOf, RosDistro,
    SharedMemoryArg, TranscodeArg, Wire, parse_size,
};
pub use args::verbs::attach::AttachArgs;
pub use args::verbs::clock_server::{ClockServerArgs, ClockSourceArg};
pub use args::verbs::convert::ConvertArgs;
pub use args::verbs::ctl::{CtlArgs, CtlCommand, LoopArg, ReachArgs};
pub use args::verbs::cut::CutArgs;
pub use args::verbs::find::FindArgs;
pub use args::verbs::info::InfoArgs;
pub use args::verbs::suite::{
    HoldSystemArgs, InvalidFilter, ReportFiles, SuiteArgs, SuiteFilter, SuiteReportArgs,
    SuiteRunArgs, SuiteVerb,
};
pub use args::verbs::verb::Verb;
pub use args::wire_args::WireArgs;
pub use exit::{EXIT_CODES, Exit};
pub use plan::clock_server::{ClockPlanError, clock_plan, clock_range};
pub use plan::cut::{CutPlanError, convert_plan, cut_hint, cut_plan};
pub use plan::files::{Overwrites, check_reports, check_written};
pub use plan::names::{InOtherForm, as_sent};
pub use plan::range::{EmptyRange, find_range};
pub use plan::resume::{command_line, same_command_line};
pub use plan::select::{Chosen, SelectError, choose, ids_of, select};
pub use plan::{LeftOut, Plan, PlanError, pace_factor, plan};
pub use report::clock_summary::ClockSummary;
pub use report::followed::FollowedSummary;
pub use report::hints::Hints;
pub use report::missing::findings::{Finding, Findings};
pub use report::missing::losses::Losses;
pub use report::recording::check::Check;
pub use report::recording::info::Info;
pub use report::remote::{RemoteResult, RemoteStatus};
pub use report::summary::{Ending, Summary};
pub use report::units::{bytes, count, minutes_seconds, plural};
pub use report::verbs::cut::{CutReport, refused_lines};
pub use report::verbs::find::{FindEnd, FindReport, FindTotals, HitLine};
pub use report::wire_summary::WireSummary;
