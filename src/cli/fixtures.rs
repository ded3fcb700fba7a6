//! What tests of this module share: topics and parsed arguments.

use clap::Parser;

use crate::bag::Topic;
use crate::cli::args::argv::spread_lists;
use crate::cli::args::flags::{Cli, PlayArgs};

/// CDR topics with these names and nothing else known.
pub(crate) fn topics(names: &[&str]) -> Vec<Topic> {
    let topic = |name: &&str| Topic {
        name: (*name).into(),
        schema: None,
        encoding: "cdr".into(),
        offered_qos: vec![],
        type_hash: None,
        ros1_md5: None,
        is_latched: false,
        message_count: None,
    };
    names.iter().map(topic).collect()
}

/// The arguments of `play x.mcap LINE`.
pub(crate) fn parse_args(line: &str) -> PlayArgs {
    let words = format!("play x.mcap {line}");
    Cli::parse_from(spread_lists(words.split_whitespace().map(Into::into))).play
}
