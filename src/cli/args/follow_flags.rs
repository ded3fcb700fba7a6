//! [`FollowArgs`]: flags of a run that follows another clock, and those that contradict it.

#![expect(clippy::doc_markdown, reason = "clap shows these texts as they stand")]

use clap::Args;

use super::values::{Wire, parse_topic};
use crate::player::FollowOptions;
use crate::time::{Duration, Unreadable, parse_span};

/// The clock that is followed.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clock")]
pub struct FollowArgs {
    /// Follow another node's clock on this topic [without a value: /clock]
    #[arg(long, value_name = "TOPIC", value_parser = parse_topic, conflicts_with_all = [
        "clock", "clock_topics", "clock_topics_all", "clock_start", "clock_state", "strict_clock",
        "rate", "begin_at", "start_paused", "delay", "is_loop", "loop_range", "skip_empty",
    ])]
    pub follow: Option<String>,
    /// Play what was recorded this much later than the clock shows; earlier if negative
    #[arg(long, value_name = "SPAN", requires = "follow", default_value = "0", value_parser = parse_offset, hide_short_help = true, allow_hyphen_values = true)]
    pub follow_offset: Duration,
    /// Assume that the clock moves on between two of its messages
    #[arg(long, requires = "follow", hide_short_help = true)]
    pub extrapolate: bool,
    /// Topic with the state of the clock, if it is not ~/clock_state of the node that publishes the clock
    #[arg(
        long,
        value_name = "TOPIC",
        value_parser = parse_topic,
        requires = "follow",
        hide_short_help = true
    )]
    pub follow_state: Option<String>,
    /// Hold playback when the clock has sent nothing for this long
    #[arg(long, value_name = "SPAN", requires = "follow", default_value = "2", value_parser = parse_timeout, hide_short_help = true, allow_hyphen_values = true)]
    pub follow_timeout: Duration,
    /// End when the clock passes the end of the recording, instead of waiting for it to go back
    #[arg(long, requires = "follow", hide_short_help = true)]
    pub follow_to_end: bool,
}

impl FollowArgs {
    /// How the clock is followed.
    pub fn options(&self) -> FollowOptions {
        FollowOptions {
            offset: self.follow_offset,
            extrapolates: self.extrapolate,
            timeout: self.follow_timeout,
        }
    }

    /// Why these flags are refused on these wires.
    pub(crate) fn refused(&self, wires: &[Wire]) -> Option<&'static str> {
        let is_refused = self.follow.is_some() && !wires.contains(&Wire::RmwZenoh);
        is_refused.then_some("--follow: a clock is followed with --wire rmw_zenoh only")
    }
}

/// A span that may be negative.
fn parse_offset(text: &str) -> Result<Duration, Unreadable> {
    match text.trim().strip_prefix('-') {
        Some(span) => parse_span(span).map(|span| -span),
        None => parse_span(text.trim().strip_prefix('+').unwrap_or(text)),
    }
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    let span = parse_span(text).map_err(|error| error.to_string())?;
    if span > Duration::ZERO {
        Ok(span)
    } else {
        Err("the timeout must be longer than zero".to_owned())
    }
}
