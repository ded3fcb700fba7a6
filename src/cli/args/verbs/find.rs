//! The arguments of `play find`.

use std::path::PathBuf;

use clap::Args;

use crate::find::{Expression, ExpressionError};
use crate::time::When;

const EXAMPLES: &str = "\
An expression names a topic and a condition on the fields of its messages:
  play find drive.mcap '/rosout level >= ERROR show msg'
  play find drive.mcap '/diagnostics status[].level >= 2' '/rosout msg contains \"timeout\"'
  play find drive.mcap '/imu angular_velocity.z > 0.5 and not linear_acceleration.x < -2'

Operators: == != < <= > >=, contains and =~ \"REGEX\" for texts, and, or, not, parentheses.
path[] stands for any element. Constants of the message have their names, texts are in quotes.
Exit code 5 if nothing is found.";

/// The arguments of `play find`.
#[derive(Args, Clone, Debug)]
#[command(override_usage = "play find [OPTIONS] <BAG>... <EXPR>...", after_help = EXAMPLES)]
pub struct FindArgs {
    /// Recordings, then expressions; a message that satisfies any of them is found
    #[arg(value_names = ["BAG", "EXPR"], required = true, num_args = 1..)]
    words: Vec<PathBuf>,
    /// First time to search: ns, seconds, RFC 3339, +10s, -5s from the end, 50%
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub start: Option<When>,
    /// Last time to search, as --start
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub end: Option<When>,
    /// Stop after this many messages were found
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Show only how many messages were found
    #[arg(long)]
    pub count: bool,
    /// The recordings.
    #[arg(skip)]
    pub bags: Vec<PathBuf>,
    /// What is searched for.
    #[arg(skip)]
    pub expressions: Vec<Expression>,
}

/// Words that are no recordings and expressions.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(in crate::cli) enum InvalidFind {
    #[error(
        "there is no expression; write one in quotes after the recordings, such as '/rosout level >= 40'"
    )]
    NoExpression,
    #[error("{0}")]
    Expression(#[from] ExpressionError),
}

impl FindArgs {
    /// Sorts the words. The first is a recording. Another is an expression if it has a space and there is no file of
    /// that name: an expression has at least a topic and a condition.
    pub(in crate::cli) fn sort_words(&mut self) -> Result<(), InvalidFind> {
        for (index, word) in std::mem::take(&mut self.words).into_iter().enumerate() {
            match word.to_str() {
                Some(text) if index > 0 && is_spaced(text) && !word.exists() => {
                    self.expressions.push(text.parse()?);
                }
                _ => self.bags.push(word),
            }
        }
        if self.expressions.is_empty() {
            return Err(InvalidFind::NoExpression);
        }
        Ok(())
    }
}

fn is_spaced(text: &str) -> bool {
    text.trim().contains(char::is_whitespace)
}
