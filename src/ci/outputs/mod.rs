//! What the system under test publishes: received, digested, recorded, and handed to whoever waits for it.
//!
//! [`Outputs`] does all of it with one session. Its parts work without a network, too: [`Digest`], [`Recorder`],
//! [`Tally`] take [`Arrival`]s from anywhere.

mod arrival;
mod define;
mod digest;
mod file_digest;
mod in_hand;
#[cfg(feature = "wire")]
mod inputs;
#[cfg(feature = "wire")]
mod live;
mod record;
mod sequence;
mod tally;

pub use arrival::Arrival;
pub use define::{AmentError, AmentIndex, Definition, Definitions, Known};
pub use digest::{Digest, PayloadHash, RunDigest};
pub use file_digest::file_digest;
pub use in_hand::{Held, InHand};
#[cfg(feature = "wire")]
pub use inputs::{InputRecorder, PlayedTopic, RecordInputs};
#[cfg(feature = "wire")]
pub use live::{OutputError, OutputOptions, Outputs, OutputsEnd, Stamp};
pub use record::{DEFINITION_LIMIT, RecordError, Recorded, Recorder, RecorderOptions};
pub use tally::Tally;
