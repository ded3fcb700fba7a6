//! Writing outputs to a file while they arrive.

mod file;
mod queue;
mod recorder;

pub use file::RecordError;
#[cfg(feature = "wire")]
pub(super) use recorder::Intake;
pub use recorder::{DEFINITION_LIMIT, Recorded, Recorder, RecorderOptions};
