//! What `play ctl` prints: the status of a player, and the result of a command.

use std::fmt;

use serde::Serialize;

use super::units::{count, minutes_seconds, plural};
use crate::cli::plan::clock_server::clock_range;
use crate::player::{Gate, Pace, State};
use crate::time::{AtEnd, Duration, Ros, Time, TimeRange};
use crate::untrusted::Foreign;
use crate::wire::PlayerView;

/// The status of a player on the network.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RemoteStatus {
    state: &'static str,
    /// The closed gates.
    gates: Vec<&'static str>,
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
    const fn new(range: TimeRange) -> Self {
        Self {
            start_ns: range.start().as_nanos(),
            end_ns: range.stop().as_nanos(),
        }
    }
}

impl RemoteStatus {
    /// As the player told it.
    pub fn new(view: &PlayerView) -> Self {
        let (pace, rate) = match view.pace {
            Pace::At(speed) => (RemotePace::Rate, Some(speed.as_f64())),
            Pace::Max => (RemotePace::Max, None),
            Pace::Follow => (RemotePace::Follow, None),
        };
        Self {
            state: view.state_name(),
            gates: view.gates.iter().map(Gate::name).collect(),
            pace,
            rate,
            followed: view.followed.clone(),
            clock_ns: view.clock.as_nanos(),
            recording: Span::new(view.recording),
            range: Span::new(view.played.range),
            is_loop: view.played.at_end == AtEnd::Loop,
            ab_loop: view.played.ab_loop.map(Span::new),
            generation: view.generation,
            laps: view.laps,
            messages_sent: view.sent,
            bytes_sent: view.bytes,
            late: view.late,
        }
    }

    /// The same, of a run that is over.
    #[must_use]
    pub fn stopped(self) -> Self {
        Self {
            state: State::Stopped.name(),
            gates: Vec::new(),
            ..self
        }
    }

    /// The range in which playback is, such as `00:10.0..00:20.0`: that of the A–B loop, if there is one.
    pub fn range_in_words(&self) -> String {
        self.in_words(self.ab_loop.unwrap_or(self.range))
    }

    fn in_words(&self, Span { start_ns, end_ns }: Span) -> String {
        if self.is_clock_alone() {
            format!("{:.1}..{:.1} s", seconds(start_ns), seconds(end_ns))
        } else {
            format!(
                "{}..{}",
                self.since_start(start_ns),
                self.since_start(end_ns)
            )
        }
    }

    /// Whether it has no recording.
    fn is_clock_alone(&self) -> bool {
        self.recording.start_ns == clock_range().start().as_nanos()
    }

    fn since_start(&self, ns: i64) -> String {
        let span = Duration::from_nanos(ns.saturating_sub(self.recording.start_ns));
        minutes_seconds(span)
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
        if self.is_clock_alone() {
            // Its range is all that `/clock` can show.
            write!(f, "  {:.1} s", seconds(self.clock_ns))?;
            if let Some(ab_loop) = self.ab_loop {
                write!(f, "  loop {}", self.in_words(ab_loop))?;
            } else if self.is_loop {
                write!(f, "  loop")?;
            }
            return Ok(());
        }
        write!(
            f,
            "  {} / {}",
            self.since_start(self.clock_ns),
            self.since_start(self.recording.end_ns)
        )?;
        let shown = match self.ab_loop {
            Some(ab_loop) => Some(("loop", ab_loop)),
            None if self.is_loop => Some(("loop", self.range)),
            None => Some(("range", self.range)).filter(|_| self.range != self.recording),
        };
        if let Some((name, range)) = shown {
            write!(f, "  {name} {}", self.in_words(range))?;
        }
        if (self.is_loop || self.ab_loop.is_some()) && self.laps > 0 {
            write!(f, "  lap {}", self.laps + 1)?;
        }
        write!(f, "  {}", plural(self.messages_sent, "message"))?;
        if self.late > 0 {
            write!(f, "  {} late", count(self.late))?;
        }
        Ok(())
    }
}

fn seconds(ns: i64) -> f64 {
    Time::<Ros>::from_nanos(ns).as_secs_f64()
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
