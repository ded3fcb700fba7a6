//! What `play ctl` prints: the status of a player, and the result of a command.

use std::fmt;

use serde::Serialize;

use super::units::{count, minutes_seconds, plural};
use crate::cli::plan::clock_server::clock_range;
use crate::time::{Duration, Ros, Time};
use crate::untrusted::Foreign;
use crate::wire::services::messages::bagplay::PlayerStatus;
use crate::wire::services::messages::service::Stamp;

/// The status of a player on the network.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RemoteStatus {
    state: String,
    /// The closed gates.
    gates: Vec<String>,
    pace: RemotePace,
    /// The factor; `null` for the other paces.
    rate: Option<f64>,
    /// The clock that is followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    followed: Option<String>,
    clock_ns: i64,
    recording: Span,
    range: Span,
    /// Whether the range is played again at its end.
    #[serde(rename = "loop")]
    is_loop: bool,
    ab_loop: Option<Span>,
    generation: u64,
    laps: u64,
    messages_sent: u64,
    bytes_sent: u64,
    late: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum RemotePace {
    /// At a rate.
    Rate,
    /// As fast as possible.
    Max,
    /// By another clock.
    Follow,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct Span {
    start_ns: i64,
    end_ns: i64,
}

impl Span {
    fn new(start: Stamp, end: Stamp) -> Self {
        Self {
            start_ns: nanos(start),
            end_ns: nanos(end),
        }
    }
}

fn nanos(stamp: Stamp) -> i64 {
    stamp.time().map_or(0, Time::as_nanos)
}

impl RemoteStatus {
    /// The status in a response of the player.
    pub fn new(status: &PlayerStatus) -> Self {
        Self {
            state: status.state.clone(),
            gates: status.gates.clone(),
            pace: match status.rate {
                f64::INFINITY => RemotePace::Max,
                rate if rate.is_finite() => RemotePace::Rate,
                _ => RemotePace::Follow,
            },
            rate: Some(status.rate).filter(|rate| rate.is_finite()),
            followed: Some(status.followed.clone()).filter(|it| !it.is_empty()),
            clock_ns: nanos(status.clock),
            recording: Span::new(status.recording_start, status.recording_end),
            range: Span::new(status.range_start, status.range_end),
            is_loop: status.is_loop,
            ab_loop: status
                .has_ab_loop
                .then(|| Span::new(status.loop_start, status.loop_end)),
            generation: status.generation,
            laps: status.laps,
            messages_sent: status.messages,
            bytes_sent: status.bytes,
            late: status.late,
        }
    }

    /// Whether anything has changed but the time and the counts.
    pub fn differs_from(&self, other: &Self) -> bool {
        let steady = |status: &Self| Self {
            clock_ns: 0,
            messages_sent: 0,
            bytes_sent: 0,
            late: 0,
            ..status.clone()
        };
        steady(self) != steady(other)
    }
}

impl fmt::Display for RemoteStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.state)?;
        if !self.gates.is_empty() {
            write!(f, " ({})", self.gates.join(", "))?;
        }
        match (self.pace, self.rate, &self.followed) {
            (RemotePace::Rate, Some(rate), _) => write!(f, " ×{rate}")?,
            (RemotePace::Max, _, _) => write!(f, " ×max")?,
            (_, _, Some(clock)) => write!(f, " following {}", Foreign::text(clock))?,
            _ => write!(f, " following")?,
        }
        let since_start = |ns: i64| {
            let span = Duration::from_nanos(ns.saturating_sub(self.recording.start_ns));
            minutes_seconds(span)
        };
        if self.recording.start_ns == clock_range().start().as_nanos() {
            // A clock without a recording: its range is all that `/clock` can show.
            let seconds = |ns| Time::<Ros>::from_nanos(ns).as_secs_f64();
            write!(f, "  {:.1} s", seconds(self.clock_ns))?;
            if let Some(Span { start_ns, end_ns }) = self.ab_loop {
                write!(
                    f,
                    "  loop {:.1}..{:.1} s",
                    seconds(start_ns),
                    seconds(end_ns)
                )?;
            }
            return Ok(());
        }
        write!(
            f,
            "  {} / {}",
            since_start(self.clock_ns),
            since_start(self.recording.end_ns)
        )?;
        let shown = match self.ab_loop {
            Some(ab_loop) => Some(("loop", ab_loop)),
            None if self.is_loop => Some(("loop", self.range)),
            None => Some(("range", self.range)).filter(|_| self.range != self.recording),
        };
        if let Some((name, Span { start_ns, end_ns })) = shown {
            let (start, end) = (since_start(start_ns), since_start(end_ns));
            write!(f, "  {name} {start}..{end}")?;
        }
        if (self.is_loop || self.ab_loop.is_some()) && self.laps > 0 {
            write!(f, "  lap {}", self.laps + 1)?;
        }
        write!(f, "  {} messages", count(self.messages_sent))?;
        if self.late > 0 {
            write!(f, "  {} late", count(self.late))?;
        }
        Ok(())
    }
}

/// The result of a command.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RemoteResult {
    /// The player's node.
    pub node: String,
    /// The command.
    pub command: &'static str,
    /// Whether it was carried out.
    pub success: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How many messages were published for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<u64>,
    /// The position after a jump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landed_ns: Option<i64>,
    /// Whether it is paused, of a player that tells no more than this and its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// The rate of such a player.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// What the player is doing after the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RemoteStatus>,
}

impl fmt::Display for RemoteResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(published) = self.published {
            writeln!(f, "{} published", plural(published, "message"))?;
        }
        if let Some(status) = &self.status {
            return write!(f, "{status}");
        }
        match (self.paused, self.rate) {
            (Some(paused), rate) => {
                write!(f, "{}", if paused { "paused" } else { "playing" })?;
                rate.map_or(Ok(()), |rate| write!(f, " ×{rate}"))
            }
            (None, _) => write!(f, "done: {}", self.command),
        }
    }
}
