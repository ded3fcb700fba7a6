//! [`Received`]: one message of another node, as the callback of a subscription gets it.

use std::sync::Arc;

use bytes::Bytes;
use zenoh::bytes::ZBytes;

use crate::ros::{PublishedTopic, Publisher};

/// Shorter payloads are copied. Others stay where zenoh has them. What fits into one of its buffers for receiving,
/// which have 64 KiB, would keep the whole buffer, and zenoh would make another one for the next message.
const COPIED: usize = 64 << 10;

/// A message of another node.
#[derive(Clone, Debug)]
pub struct Received {
    /// The topic.
    pub topic: Arc<PublishedTopic>,
    /// Who published it; unknown if the message has no attachment, without a name if its publisher has no token.
    pub publisher: Publisher,
    /// Its number among the messages of its publisher; `None` if it has no attachment.
    pub sequence: Option<i64>,
    /// When it was published, in nanoseconds since the Unix epoch by the clock of the publisher; `None` if it has no
    /// attachment.
    pub source_time: Option<i64>,
    /// The message in CDR.
    pub payload: Bytes,
}

/// The bytes of a payload, copied only if they are short or not in one piece.
pub(crate) fn bytes_of(payload: &ZBytes) -> Bytes {
    if payload.len() < COPIED || payload.slices().nth(1).is_some() {
        return Bytes::from(payload.to_bytes().into_owned());
    }
    Bytes::from_owner(InOnePiece(payload.clone()))
}

/// A payload that is one slice.
struct InOnePiece(ZBytes);

impl AsRef<[u8]> for InOnePiece {
    fn as_ref(&self) -> &[u8] {
        self.0.slices().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_payload_in_one_piece_is_not_copied() {
        let long = vec![7_u8; COPIED];
        let place = long.as_ptr();
        let bytes = bytes_of(&ZBytes::from(long));
        assert_eq!((bytes.as_ptr(), bytes.len()), (place, COPIED));
        let mut writer = ZBytes::writer();
        writer.append(ZBytes::from(vec![1; COPIED]));
        writer.append(ZBytes::from(vec![2; COPIED]));
        let pieces = bytes_of(&writer.finish());
        assert_eq!(pieces, [vec![1; COPIED], vec![2; COPIED]].concat());
        assert_eq!(bytes_of(&ZBytes::from(vec![3; 5])), [3; 5].as_slice());
        assert!(bytes_of(&ZBytes::new()).is_empty());
    }
}
