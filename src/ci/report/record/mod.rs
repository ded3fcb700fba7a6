//! Everything that is known of a run, as values.

mod exit;
mod number;
mod output;
mod reported;
mod run;
mod system;

pub use exit::{Exit, ExitClass};
pub use number::Series;
pub use output::{OutputPublisher, OutputTopic, Unreceived};
pub use reported::Reported;
pub use run::{
    ChildRecord, Divergence, Ended, FieldDifference, GateRecord, Happened, Host, Input, Moment,
    Pacing, ReadFile, RecordedFile, Repeated, RunRecord, Spans, UnpromptedThread, Unsent,
};
pub use system::SystemRecord;
