//! Names of ROS 2: types in their two forms, type hashes, topics that may be meant, `/tf_static`.

/// Names of topics that are at least so similar may be meant for each other.
#[cfg(feature = "find")]
const SIMILAR: f64 = 0.85;

/// The DDS form of a ROS 2 type: `std_msgs/msg/String` → `std_msgs::msg::dds_::String_`, also for `srv` and `action`.
/// `std_msgs/String` counts as `msg`. `None` if it is not a type name.
pub fn dds_type(ros: &str) -> Option<String> {
    let is_word = |word: &&str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let parts: Vec<&str> = ros.split('/').collect();
    if !parts.iter().all(is_word) {
        return None;
    }
    match parts[..] {
        [package, name] => Some(format!("{package}::msg::dds_::{name}_")),
        [package, kind @ ("msg" | "srv" | "action"), name] => {
            Some(format!("{package}::{kind}::dds_::{name}_"))
        }
        _ => None,
    }
}

/// The ROS 2 form of a DDS type, for display; any other text is returned as it is.
pub fn ros_type(dds: &str) -> String {
    match dds
        .strip_suffix('_')
        .and_then(|rest| rest.split_once("dds_::"))
    {
        Some((path, name)) => format!("{}{name}", path.replace("::", "/")),
        None => dds.to_owned(),
    }
}

/// Whether a topic is `/tf_static`, by its recorded name, also in a namespace. All its messages are kept for late
/// joiners.
pub fn is_tf_static(recorded_name: &str) -> bool {
    recorded_name.rsplit('/').next() == Some("tf_static")
}

/// Why ROS 2 nodes cannot subscribe to a topic of this name; `None` if they can. These are the rules of
/// `rmw_validate_full_topic_name`; a leading slash may be missing.
pub fn unreachable_name(name: &str) -> Option<&'static str> {
    let mut parts = name.trim_matches('/').split('/');
    let is_word = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !parts.clone().all(is_word) {
        Some("a name has only letters, digits, `_` and `/`")
    } else if parts.any(|part| part.starts_with(|c: char| c.is_ascii_digit())) {
        Some("a part of the name begins with a digit")
    } else {
        None
    }
}

/// Whether two names are those of one topic: a leading slash does not count.
pub fn is_same_topic(one: &str, other: &str) -> bool {
    one.trim_start_matches('/') == other.trim_start_matches('/')
}

/// The name that is most like one that does not exist, if one is like it.
#[cfg(feature = "find")]
pub fn nearest_topic<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Similarity is computed in the square of the length.
    let short = |name: &str| -> String { name.trim_start_matches('/').chars().take(64).collect() };
    let wanted = short(wanted);
    let likeness = |known| strsim::jaro_winkler(&short(known), &wanted);
    let all = names.into_iter().map(|known| (likeness(known), known));
    let (likeness, known) = all.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (likeness > SIMILAR).then_some(known)
}

/// Whether a recorded text is a type hash: `RIHS01_` and 64 lower-case hexadecimal digits. For an unknown hash,
/// recorders write an empty text or zeroes, which do not count.
pub fn is_type_hash(text: &str) -> bool {
    text.strip_prefix("RIHS01_").is_some_and(|digits| {
        let is_digit = |digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        digits.len() == 64
            && digits.bytes().all(is_digit)
            && digits.bytes().any(|digit| digit != b'0')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ros_types_convert_to_dds_types_and_back() {
        for (ros, dds) in [
            ("std_msgs/msg/String", "std_msgs::msg::dds_::String_"),
            (
                "rosbag2_interfaces/srv/Pause",
                "rosbag2_interfaces::srv::dds_::Pause_",
            ),
            (
                "pkg/action/Fib_FeedbackMessage",
                "pkg::action::dds_::Fib_FeedbackMessage_",
            ),
            ("pkg/srv/X_Event", "pkg::srv::dds_::X_Event_"),
        ] {
            assert_eq!(dds_type(ros).as_deref(), Some(dds));
            assert_eq!(ros_type(dds), ros);
        }
        assert_eq!(
            dds_type("std_msgs/String").as_deref(),
            Some("std_msgs::msg::dds_::String_")
        );
        for no in [
            "",
            "foxglove.Log",
            "a/b/c/d",
            "a//b",
            "pkg/idl/X",
            "a/msg/*",
        ] {
            assert_eq!(dds_type(no), None, "{no}");
        }
        assert_eq!(ros_type("custom"), "custom");
    }

    #[cfg(feature = "find")]
    #[test]
    fn the_nearest_topic_is_one_that_is_like_the_name() {
        let names = ["/imu", "/rosout", "/diagnostics", "odom"];
        for (wanted, nearest) in [
            ("/rosuot", Some("/rosout")),
            ("diagnostic", Some("/diagnostics")),
            ("/odo", Some("odom")),
            ("/camera", None),
        ] {
            assert_eq!(nearest_topic(wanted, names), nearest, "{wanted}");
        }
        assert_eq!(nearest_topic("/imu", []), None);
        assert!(is_same_topic("imu", "/imu") && !is_same_topic("/imu", "/imu2"));
    }

    #[test]
    fn tf_static_is_recognized_in_any_namespace() {
        for (name, is_one) in [
            ("/tf_static", true),
            ("tf_static", true),
            ("/robot1/tf_static", true),
            ("/my_tf_static", false),
            ("/tf_static/map", false),
        ] {
            assert_eq!(is_tf_static(name), is_one, "{name}");
        }
    }

    #[test]
    fn names_are_judged_by_the_rules_of_ros2() {
        for (name, is_reachable) in [
            ("/a/b_1", true),
            ("a", true),
            ("/_hidden", true),
            ("/a/1b", false),
            ("/1", false),
            ("/a-b", false),
            ("/caf\u{e9}", false),
        ] {
            assert_eq!(unreachable_name(name).is_none(), is_reachable, "{name}");
        }
    }

    #[test]
    fn a_type_hash_is_not_empty_and_not_zero() {
        let hash = |digits: &str| format!("RIHS01_{digits}");
        assert!(is_type_hash(&hash(&"0a".repeat(32))));
        for wrong in [
            String::new(),
            hash(""),
            hash(&"00".repeat(32)),
            hash(&"0A".repeat(32)),
            hash(&"0a".repeat(31)),
            "0a".repeat(32),
        ] {
            assert!(!is_type_hash(&wrong), "{wrong}");
        }
    }
}
