//! Names of the ROS graph, as they are written on the command line.

/// The name of a node, with its namespace if it has one.
pub(super) fn parse_node(text: &str) -> Result<String, String> {
    parse(text, "this is not the name of a ROS node")
}

/// The name of a topic.
pub(super) fn parse_topic(text: &str) -> Result<String, String> {
    parse(text, "this is not the name of a ROS topic")
}

/// Words of letters, digits and `_`, separated by single slashes; no word starts with a digit. Else the reason.
fn parse(text: &str, otherwise: &str) -> Result<String, String> {
    let is_word = |word: &str| {
        let mut characters = word.chars();
        characters.all(|it| it.is_ascii_alphanumeric() || it == '_')
            && word.starts_with(|first: char| !first.is_ascii_digit())
    };
    let words = text.strip_prefix('/').unwrap_or(text);
    if words.split('/').all(is_word) {
        Ok(text.to_owned())
    } else {
        Err(otherwise.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_between_single_slashes() {
        for name in ["/clock", "clock", "/sim/clock", "/_a/b2"] {
            assert_eq!(parse_topic(name).as_deref(), Ok(name));
            assert_eq!(parse_node(name).as_deref(), Ok(name));
        }
        for name in ["", "/", "//x", "/a//b", "/a/", "/2a", "/a b", "/a*"] {
            let error = parse_topic(name).unwrap_err();
            assert!(error.ends_with("ROS topic"), "{name}: {error}");
        }
    }
}
