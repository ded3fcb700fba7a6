//! Names and keys: the name of a node, a topic's data key, and names as chunks of tokens.

use crate::wire::error::WireError;

/// Namespace (`/` or `/a/b`) and name of a node, from `name`, `/name` or `/a/b/name`.
pub(crate) fn split_node(full: &str) -> Result<(String, String), WireError> {
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let inner = full.strip_prefix('/').unwrap_or(full);
    if !inner.split('/').all(is_word) {
        return Err(WireError::NodeName(full.to_owned()));
    }
    Ok(match inner.rsplit_once('/') {
        Some((namespace, name)) => (format!("/{namespace}"), name.to_owned()),
        None => ("/".to_owned(), inner.to_owned()),
    })
}

/// The key on which a topic's messages are put.
pub fn topic_key(domain: u32, name: &str, dds_type: &str, hash: &str) -> String {
    let name = name.strip_prefix('/').unwrap_or(name);
    let name = name.strip_suffix('/').unwrap_or(name);
    format!("{domain}/{name}/{dds_type}/{hash}")
}

/// A name as one chunk of a token.
pub(crate) fn mangle(name: &str) -> String {
    name.replace('/', "%")
}

/// The name that is written as a chunk of a token.
pub(crate) fn demangle(chunk: &str) -> String {
    chunk.replace('%', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_strip_one_slash_at_either_end() {
        let string = "std_msgs::msg::dds_::String_";
        assert_eq!(
            topic_key(0, "/chatter", string, "H"),
            "0/chatter/std_msgs::msg::dds_::String_/H"
        );
        assert_eq!(
            topic_key(7, "/robot1/tf_static/", "t", "*"),
            "7/robot1/tf_static/t/*"
        );
    }

    #[test]
    fn node_names_may_have_a_namespace() {
        for (full, namespace, name) in [
            ("rosbag2_player", "/", "rosbag2_player"),
            ("/p", "/", "p"),
            ("/robot1/a/p", "/robot1/a", "p"),
        ] {
            assert_eq!(
                split_node(full).unwrap(),
                (namespace.to_owned(), name.to_owned())
            );
        }
        for no in ["", "/", "a b", "1a", "a//b", "a*"] {
            assert!(split_node(no).is_err(), "{no}");
        }
    }
}
