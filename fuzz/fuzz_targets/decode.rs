//! Arbitrary definitions and payloads, decoded within small limits and within large ones.
//!
//! The first byte selects the format and the limits. The definition ends at the first zero byte; the payload follows.

#![no_main]

use bagplay::bag::{Schema, Topic};
use bagplay::decode::{Decoded, Decoder, Limits};
use libfuzzer_sys::fuzz_target;

fn topic(form: u8, definition: &[u8]) -> Topic {
    let (encoding, schema, name) = match form % 4 {
        0 => ("cdr", "ros2msg", "p/msg/T"),
        1 => ("protobuf", "protobuf", "p.T"),
        2 => ("ros1", "ros1msg", "p/msg/T"),
        _ => ("json", "jsonschema", "p/msg/T"),
    };
    Topic {
        name: "/t".to_owned(),
        schema: Some(Schema {
            name: name.to_owned(),
            encoding: schema.to_owned(),
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

/// Within the limits, and without control characters.
fn assert_fits(decoded: &Decoded, limits: Limits) {
    assert!(decoded.lines.len() <= limits.lines);
    for line in &decoded.lines {
        assert!(line.depth <= limits.depth);
        for text in [&line.name, &line.value] {
            assert!(text.chars().count() <= limits.characters.max(40), "{text}");
            assert!(!text.contains(char::is_control), "{text:?}");
        }
    }
    if let Some(problem) = &decoded.problem {
        assert!(!problem.contains(char::is_control), "{problem:?}");
        assert!(problem.chars().count() <= 200, "{problem}");
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((form, rest)) = data.split_first() else {
        return;
    };
    let end = rest.iter().position(|byte| *byte == 0);
    let (definition, payload) = rest.split_at(end.unwrap_or(rest.len()));
    let payload = payload.get(1..).unwrap_or_default();
    let decoder = Decoder::new(&topic(*form, definition));
    let most = usize::from(form >> 2);
    let small = Limits {
        lines: most,
        characters: most,
        elements: most % 5,
        depth: most % 4,
        steps: most * 3,
    };
    let whole = Limits {
        lines: 10_000,
        characters: 1000,
        steps: 20_000,
        ..Limits::default()
    };
    let (part, all) = (
        decoder.decode(payload, small),
        decoder.decode(payload, whole),
    );
    assert_fits(&part, small);
    assert_fits(&all, whole);
    // Of a ROS message all is read, shown or not, so a problem is found by both or neither.
    if form % 2 == 0 && !part.is_cut && !all.is_cut {
        assert_eq!(part.problem.is_some(), all.problem.is_some());
    }
});
