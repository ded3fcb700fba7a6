//! ROS 1 messages as ROS 2 messages, and the other way round: types, definitions and payloads.
//!
//! A [`Transcoder`] is made from the recorded definition of a topic. It has the definition that ROS 2 nodes know
//! ([`Ros2Definition`]), and turns each payload into little-endian CDR. Fields without a counterpart are left out;
//! nothing is rounded, and bytes that both formats have are copied in blocks. Definitions and payloads are not trusted:
//! each declared length is compared with the bytes that are left, and the size of the result is limited by that of
//! the payload.

mod constants;
mod counterpart;
mod definition;
mod error;
mod plan;
mod to_ros1;
mod transcoder;
mod walk;

pub use definition::Ros2Definition;
pub use error::{NoRos1Form, NoRos2Form, Problem, TranscodeError};
pub use to_ros1::by_type::{MaybeToRos1, ToRos1ByType};
pub use to_ros1::transcoder::{Ros1Definition, ToRos1};
pub use transcoder::Transcoder;
