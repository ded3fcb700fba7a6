//! The calls of [`PlayerClient`] that a screen makes: timeline, densities, messages as text, marks.

use super::player::{PlayerClient, done};
use super::request_error::RequestError;
use crate::time::{Ros, Time, TimeRange};
use crate::wire::services::messages::service::{Empty, Stamp};
use crate::wire::services::messages::timeline::{
    Density, DensityRequest, GetDensity, GetMarks, GetMessage, GetProgress, GetTimeline, MarkAt,
    MarkRequest, MessageRequest, MessageText, MuteRequest, Progress, SetMark, SetMuted, Timeline,
};

/// Only players of this program have these services. All times are those of the player's clock.
impl PlayerClient<'_> {
    /// What the player plays.
    pub fn timeline(&self) -> Result<Timeline, RequestError> {
        self.call::<GetTimeline>("get_timeline", &Empty::default())
    }

    /// What was sent so far, and who receives it.
    pub fn progress(&self) -> Result<Progress, RequestError> {
        self.call::<GetProgress>("get_progress", &Empty::default())
    }

    /// How many messages lie where, as far as the player knows by now.
    pub fn density(&self, range: TimeRange) -> Result<Density, RequestError> {
        let request = DensityRequest {
            start: Stamp::of(range.start()),
            end: Stamp::of(range.stop()),
        };
        let density = self.call::<GetDensity>("get_density", &request)?;
        if density.message.is_empty() {
            Ok(density)
        } else {
            Err(RequestError::Refused(density.message))
        }
    }

    /// The last message of a topic at or before a time, as text.
    pub fn message(&self, topic: &str, time: Time<Ros>) -> Result<MessageText, RequestError> {
        let request = MessageRequest {
            topic: topic.to_owned(),
            time: Stamp::of(time),
        };
        self.call::<GetMessage>("get_message", &request)
    }

    /// Stops to publish a topic, or publishes it again.
    pub fn set_muted(&self, topic: &str, is_muted: bool) -> Result<(), RequestError> {
        let request = MuteRequest {
            topic: topic.to_owned(),
            is_muted,
        };
        done(&self.call::<SetMuted>("set_muted", &request)?)
    }

    /// The marks of the recording, in the order of time.
    pub fn marks(&self) -> Result<Vec<MarkAt>, RequestError> {
        let answer = self.call::<GetMarks>("get_marks", &Empty::default())?;
        if answer.message.is_empty() {
            Ok(answer.marks)
        } else {
            Err(RequestError::Refused(answer.message))
        }
    }

    /// Adds a mark.
    pub fn add_mark(&self, time: Time<Ros>, name: &str) -> Result<(), RequestError> {
        self.set_mark(time, name, false)
    }

    /// Removes the mark at a time.
    pub fn remove_mark(&self, time: Time<Ros>) -> Result<(), RequestError> {
        self.set_mark(time, "", true)
    }

    fn set_mark(&self, time: Time<Ros>, name: &str, is_removed: bool) -> Result<(), RequestError> {
        let mark = MarkAt {
            time: Stamp::of(time),
            name: name.to_owned(),
        };
        let request = MarkRequest { mark, is_removed };
        done(&self.call::<SetMark>("set_mark", &request)?)
    }
}
