//! Arbitrary ROS 1 definitions and payloads in their ROS 2 form.
//!
//! The definition ends at the first zero byte; the payload follows. What is transcoded is decoded by the definition that
//! comes with it, to its last byte, and has no more bytes than its payload allows.

#![no_main]

use bagplay::bag::{Schema, Topic};
use bagplay::decode::{Decoder, Limits};
use bagplay::transcode::Transcoder;
use libfuzzer_sys::fuzz_target;

/// The name that decoders take for the field of a message without fields.
const PLACEHOLDER: &[u8] = b"structure_needs";

fn topic(definition: &[u8]) -> Topic {
    Topic {
        name: "/t".to_owned(),
        schema: Some(Schema {
            name: "p/T".to_owned(),
            encoding: "ros1msg".to_owned(),
            data: definition.to_vec().into(),
        }),
        encoding: "ros1".to_owned(),
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
    let recorded = topic(definition);
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
            let limits = Limits {
                lines: 10_000,
                characters: 1000,
                steps: 200_000,
                ..Limits::default()
            };
            let decoded = Decoder::new(&transcoder.ros2_topic(&recorded)).decode(cdr, limits);
            assert!(
                is_known || decoded.is_cut || decoded.problem.is_none(),
                "{decoded:?}"
            );
        }
    }
});
