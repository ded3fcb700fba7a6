//! [`ToRos1ByType`]: the transcoders of a recording to ROS 1, each made once.

use std::collections::HashMap;
use std::sync::Arc;

use super::transcoder::ToRos1;
use crate::bag::{Schema, Topic};
use crate::transcode::error::NoRos1Form;

/// The transcoder of a type, or why there is none.
pub type MaybeToRos1 = Result<Arc<ToRos1>, NoRos1Form>;

/// The transcoders of types, each made once: many topics may have one type.
#[derive(Debug, Default)]
pub struct ToRos1ByType<'a>(HashMap<(&'a str, &'a Schema), Option<MaybeToRos1>>);

impl<'a> ToRos1ByType<'a> {
    /// That of a topic; `None` if its messages are not CDR.
    pub fn of(&mut self, topic: &'a Topic) -> Option<MaybeToRos1> {
        let make = || ToRos1::for_topic(topic).map(|made| made.map(Arc::new));
        let Some(schema) = &topic.schema else {
            return make();
        };
        let known = self.0.entry((&topic.encoding, schema));
        known.or_insert_with(make).clone()
    }
}
