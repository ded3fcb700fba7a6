//! Arbitrary ROS 1 definitions and payloads in their ROS 2 form, and the same bytes as those of ROS 2 in their ROS 1 form.
//!
//! The definition ends at the first zero byte; the payload follows. What is transcoded is decoded by the definition that
//! comes with it, to its last byte, and has no more bytes than its payload allows.

#![no_main]

use bagplay::bag::{Schema, Topic};
use bagplay::decode::{Decoder, Limits};
use bagplay::transcode::{ToRos1, Transcoder};
use libfuzzer_sys::fuzz_target;

/// The name that decoders take for the field of a message without fields.
const PLACEHOLDER: &[u8] = b"structure_needs";

fn topic(encoding: &str, language: &str, definition: &[u8]) -> Topic {
    Topic {
        name: "/t".to_owned(),
        schema: Some(Schema {
            name: "p/T".to_owned(),
            encoding: language.to_owned(),
            data: definition.to_vec().into(),
        }),
        encoding: encoding.to_owned(),
        offered_qos: Vec::new(),
        type_hash: None,
        ros1_md5: None,
        is_latched: false,
        message_count: None,
    }
}

fuzz_target!(|data: &[u8]| {
    let end = data.iter().position(|byte| *byte == 0);
    let (definition, payload) = data.split_at(end.unwrap_or(data.len()));
    let payload = payload.get(1..).unwrap_or_default();
    to_ros2(definition, payload);
    to_ros1(definition, payload);
});

fn limits() -> Limits {
    Limits {
        lines: 10_000,
        characters: 1000,
        steps: 200_000,
        ..Limits::default()
    }
}

fn to_ros1(definition: &[u8], payload: &[u8]) {
    let recorded = topic("cdr", "ros2msg", definition);
    let transcoder = match ToRos1::for_topic(&recorded) {
        None => return,
        Some(Err(refused)) => {
            let text = refused.to_string();
            assert!(!text.contains(char::is_control), "{text:?}");
            return;
        }
        Some(Ok(transcoder)) => transcoder,
    };
    let mut ros1 = b"before".to_vec();
    match transcoder.transcode(payload, &mut ros1) {
        Err(error) => {
            assert_eq!(ros1, b"before");
            assert!(error.at <= payload.len());
        }
        Ok(()) => {
            let ros1 = ros1.strip_prefix(b"before").expect("it is appended");
            assert!(ros1.len() <= 2 * payload.len() + 64);
            let decoded = Decoder::new(&transcoder.ros1_topic(&recorded)).decode(ros1, limits());
            assert!(decoded.is_cut || decoded.problem.is_none(), "{decoded:?}");
        }
    }
}

fn to_ros2(definition: &[u8], payload: &[u8]) {
    let recorded = topic("ros1", "ros1msg", definition);
    let transcoder = match Transcoder::for_topic(&recorded) {
        None => return,
        Some(Err(refused)) => {
            let text = refused.to_string();
            assert!(!text.contains(char::is_control), "{text:?}");
            return;
        }
        Some(Ok(transcoder)) => transcoder,
    };
    let mut cdr = b"before".to_vec();
    match transcoder.transcode(payload, &mut cdr) {
        Err(error) => {
            assert_eq!(cdr, b"before");
            assert!(error.at <= payload.len());
            let text = error.to_string();
            assert!(!text.contains(char::is_control), "{text:?}");
        }
        Ok(()) => {
            let cdr = cdr.strip_prefix(b"before").expect("it is appended");
            assert!(cdr.len() <= 4 * payload.len() + (64 << 10) + 4);
            let is_known = definition
                .windows(PLACEHOLDER.len())
                .any(|it| it == PLACEHOLDER);
            let decoded = Decoder::new(&transcoder.ros2_topic(&recorded)).decode(cdr, limits());
            assert!(
                is_known || decoded.is_cut || decoded.problem.is_none(),
                "{decoded:?}"
            );
        }
    }
}
