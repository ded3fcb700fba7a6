//! [`subject`]: what a latched message is about: for transforms the frames that it defines. Messages about the same
//! replace each other.
//!
//! Parses `tf2_msgs/TFMessage` as little-endian CDR and in the format of ROS 1: a list of transforms, each with a
//! header, the name of the frame that it defines, and seven doubles.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::bag::index::topic::Topic;

/// The seven doubles of a transform, in bytes.
const DOUBLES: usize = 56;

/// How a payload is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Fields are aligned to their size; strings end with a zero byte.
    Cdr,
    /// Fields are packed; headers have a sequence number.
    Ros1,
}

/// The subject of a message: for transforms the frames that they define; for others its content.
pub(crate) fn subject(topic: Option<&Topic>, payload: &[u8]) -> u128 {
    match topic.and_then(|topic| frames(topic, payload)) {
        Some(frames) => {
            let mut hash = Xxh3::new();
            for frame in frames {
                hash.update(frame);
                hash.update(&[0]);
            }
            hash.digest128()
        }
        None => xxh3_128(payload),
    }
}

/// The names of the frames that `payload` defines; `None` if it is not a valid message of transforms.
fn frames<'a>(topic: &Topic, payload: &'a [u8]) -> Option<BTreeSet<&'a [u8]>> {
    let is_one = matches!(
        topic.type_name(),
        "tf2_msgs/msg/TFMessage" | "tf2_msgs/TFMessage" | "tf/tfMessage"
    );
    let form = match topic.encoding.as_str() {
        "cdr" if is_one => Form::Cdr,
        "ros1" if is_one => Form::Ros1,
        _ => return None,
    };
    let body = match form {
        Form::Cdr => payload.strip_prefix(&[0, 1])?.get(2..)?,
        Form::Ros1 => payload,
    };
    let mut fields = Fields { body, at: 0, form };
    let mut frames = BTreeSet::new();
    for _ in 0..fields.word()? {
        fields.take(match form {
            Form::Cdr => 8,
            Form::Ros1 => 12,
        })?;
        fields.text()?;
        frames.insert(fields.text()?);
        fields.align(8);
        fields.take(DOUBLES)?;
    }
    Some(frames)
}

struct Fields<'a> {
    body: &'a [u8],
    at: usize,
    form: Form,
}

impl<'a> Fields<'a> {
    fn align(&mut self, to: usize) {
        if self.form == Form::Cdr {
            self.at = self.at.next_multiple_of(to);
        }
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.body.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn word(&mut self) -> Option<u32> {
        self.align(4);
        let bytes = self.take(4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.word()?;
        let text = self.take(usize::try_from(length).ok()?)?;
        Some(text.strip_suffix(&[0]).unwrap_or(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::index::topic::Schema;

    fn topic(type_name: &str, encoding: &str) -> Topic {
        Topic {
            name: "/tf_static".to_owned(),
            schema: Some(Schema {
                name: type_name.to_owned(),
                encoding: String::new(),
                data: bytes::Bytes::new(),
            }),
            encoding: encoding.to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched: true,
            message_count: None,
        }
    }

    fn written(form: Form, children: &[&str]) -> Vec<u8> {
        let (head, tail) = match form {
            Form::Cdr => (&[0, 1, 0, 0][..], &b"\0"[..]),
            Form::Ros1 => (&[][..], &b""[..]),
        };
        let mut body = Vec::new();
        let align = |body: &mut Vec<u8>, to: usize| {
            if form == Form::Cdr {
                body.resize(body.len().next_multiple_of(to), 0);
            }
        };
        let word = |body: &mut Vec<u8>, value: usize| {
            align(body, 4);
            body.extend(u32::try_from(value).unwrap().to_le_bytes());
        };
        word(&mut body, children.len());
        for child in children {
            if form == Form::Ros1 {
                word(&mut body, 7);
            }
            word(&mut body, 1);
            word(&mut body, 2);
            for text in ["map", child] {
                word(&mut body, text.len() + tail.len());
                body.extend(text.as_bytes());
                body.extend(tail);
            }
            align(&mut body, 8);
            body.extend([9; DOUBLES]);
        }
        [head, &body].concat()
    }

    #[test]
    fn frames_are_the_children_of_the_transforms() {
        for (form, topic) in [
            (Form::Cdr, topic("tf2_msgs/msg/TFMessage", "cdr")),
            (Form::Ros1, topic("tf2_msgs/TFMessage", "ros1")),
            (Form::Ros1, topic("tf/tfMessage", "ros1")),
        ] {
            for children in [&[][..], &["a"], &["base", "laser_link", "a"]] {
                let payload = written(form, children);
                let told = frames(&topic, &payload).unwrap();
                let due: BTreeSet<&[u8]> = children.iter().map(|name| name.as_bytes()).collect();
                assert_eq!(told, due, "{form:?}");
                for end in 0..payload.len() {
                    assert_eq!(frames(&topic, &payload[..end]), None, "{form:?} {end}");
                }
            }
        }
    }

    #[test]
    fn other_payloads_have_no_frames() {
        let payload = written(Form::Cdr, &["a"]);
        assert_eq!(frames(&topic("std_msgs/msg/String", "cdr"), &payload), None);
        let transforms = |encoding| topic("tf2_msgs/msg/TFMessage", encoding);
        assert_eq!(frames(&transforms("json"), &payload), None);
        assert_eq!(frames(&transforms("cdr"), &[0, 0, 0, 0, 0, 0, 0, 1]), None);
        let endless = [0, 1, 0, 0, 255, 255, 255, 255];
        assert_eq!(frames(&transforms("cdr"), &endless), None);
    }
}
