//! Arbitrary text as three kinds of YAML that are read: a rosbag2 directory's `metadata.yaml`, the profiles
//! in a channel's metadata, a user's overrides.

#![no_main]

use bagplay::bag::Metadata;
use bagplay::ros::{Qos, QosOverrides};
use libfuzzer_sys::fuzz_target;

/// Nobody is shown more than a line, or what a terminal would obey.
fn is_one_line(error: &impl std::fmt::Display) {
    let error = error.to_string();
    assert!(!error.contains(char::is_control), "{error:?}");
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match Metadata::parse(&text) {
        Ok(metadata) => assert!(metadata.files.len() <= text.len()),
        Err(error) => is_one_line(&error),
    }
    assert!(Qos::parse_offers(&text).len() <= text.len());
    match QosOverrides::parse(&text) {
        Ok(overrides) => {
            for name in overrides.names() {
                assert!(overrides.get(name).is_some(), "{name:?}");
            }
        }
        Err(error) => is_one_line(&error),
    }
});
