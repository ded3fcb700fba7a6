//! [`Ros1Topics`]: the recorded ROS 1 topics in their ROS 2 form, for dialects whose subscribers are ROS 2 nodes.

use std::collections::HashMap;
use std::sync::Arc;

use super::interface::Transcoders;
use crate::bag::TopicId;
use crate::transcode::{NoRos2Form, Transcoder};
use crate::wire::options::{Played, Ros1Messages};

/// What is played, after ROS 1 topics have got their ROS 2 form.
#[derive(Debug, Default)]
pub(crate) struct Ros1Topics {
    /// All topics. Those with a transcoder have the type and definition of ROS 2, and are CDR.
    pub(crate) played: Vec<Played>,
    pub(crate) transcoders: Transcoders,
    /// Why topics have no ROS 2 form; they are as recorded.
    pub(crate) refused: HashMap<TopicId, NoRos2Form>,
}

impl Ros1Topics {
    pub(crate) fn of(played: &[Played], ros1: Ros1Messages) -> Self {
        let mut found = Self::default();
        for one in played {
            let transcoder = match ros1 {
                Ros1Messages::Transcoded => Transcoder::for_topic(&one.topic),
                Ros1Messages::LeftOut => None,
            };
            let mut one = one.clone();
            match transcoder {
                None => {}
                Some(Ok(transcoder)) => {
                    one.topic = transcoder.ros2_topic(&one.topic);
                    found.transcoders.insert(one.id, Arc::new(transcoder));
                }
                Some(Err(refused)) => {
                    found.refused.insert(one.id, refused);
                }
            }
            found.played.push(one);
        }
        found
    }
}
