//! [`Summary`]: the result of a run, for people and for programs.

use std::fmt;

use serde::Serialize;

use super::followed::FollowedSummary;
use super::missing::findings::Findings;
use super::missing::left_out::LeftOutMessages;
use super::missing::losses::Losses;
use super::missing::skipped::Skipped;
use super::units::{bytes, count, factor, millis, plural, times};
use super::wire_summary::WireSummary;
use crate::bag::{Bag, Lost, MessageOrder};
use crate::cli::plan::{Plan, pace_factor};
use crate::player::Report;
use crate::time::Duration;
use crate::untrusted::FileName;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// Everything that was requested has been played.
    End,
    /// A user or client asked it to stop.
    Stopped,
    /// A signal arrived.
    Interrupted,
    /// It failed.
    Failed,
}

/// What a run did, as `--format json` writes it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    recording: Recording,
    messages_sent: u64,
    bytes_sent: u64,
    unsent_bytes: u64,
    stalled: u64,
    lost: u64,
    possibly_lost: u64,
    digest: Option<String>,
    order: &'static str,
    rate: Rate,
    lateness_us: Quantiles,
    held_ms: Held,
    jumps: u64,
    laps: u64,
    damaged: u64,
    /// At most, of the topics and in the range that were played; `null`: it is not known.
    damaged_messages: Option<u64>,
    damage: Findings,
    skipped: Vec<Skipped>,
    topics: Vec<TopicSummary>,
    ended: Ending,
    #[serde(skip_serializing_if = "Option::is_none")]
    followed: Option<FollowedSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    viewers: Option<ViewerSummary>,
    /// If there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wires: Vec<WireSummary>,
}

/// The viewers of a run that had a server for them. It is not known which messages they missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct ViewerSummary {
    /// The number of connections.
    connected: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Recording {
    files: Vec<FileName>,
    start_ns: i64,
    end_ns: i64,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct Rate {
    /// `null` means as fast as possible.
    asked: Option<f64>,
    achieved: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct Quantiles {
    p50: f64,
    p99: f64,
    max: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct Held {
    starved: f64,
    gated: f64,
    paused: f64,
    stalled: f64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct TopicSummary {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    sent: u64,
    bytes: u64,
    late: u64,
    dropped: u64,
    /// Why the first of those was dropped.
    dropped_because: Option<String>,
    refilled: u64,
    muted: u64,
    stalled: u64,
    lost: u64,
    possibly_lost: u64,
    /// The fields that ROS 1 nodes did not get, because ROS 1 does not have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_in_ros1: Vec<String>,
}

impl Summary {
    /// Summarizes the run of a plan over a bag, with all damage of it that is known.
    pub fn new(bag: &Bag, plan: &Plan, report: &Report, ended: Ending, losses: &Losses) -> Self {
        let (topics, recording) = (bag.topics(), plan.options.recording);
        let direction = pace_factor(plan.options.pace).map_or(1.0, f64::signum);
        let micros = |span: Duration| span.as_secs_f64() * 1e6;
        let counted = report.topics();
        let played = plan.chosen.iter().map(|chosen| {
            let (topic, counts) = (&topics[chosen.id.index()], counted[chosen.id.index()]);
            let missed = losses.topic(chosen.id);
            TopicSummary {
                name: chosen.name.clone(),
                type_name: topic.type_name().to_owned(),
                sent: counts.sent,
                bytes: counts.bytes,
                late: counts.late,
                dropped: counts.dropped,
                dropped_because: losses
                    .problem(chosen.id)
                    .filter(|_| counts.dropped > 0)
                    .cloned(),
                refilled: counts.refilled,
                muted: counts.muted,
                stalled: missed.stalled,
                lost: missed.lost,
                possibly_lost: missed.possibly_lost,
                not_in_ros1: plan
                    .in_other_form
                    .not_in_ros1
                    .get(&chosen.id)
                    .cloned()
                    .unwrap_or_default(),
            }
        });
        let damage = Findings::of_kinds(report.damage());
        Self {
            recording: Recording {
                files: bag.files().iter().map(|file| file.name.clone()).collect(),
                start_ns: recording.start().as_nanos(),
                end_ns: recording.stop().as_nanos(),
            },
            messages_sent: report.sent,
            bytes_sent: report.bytes,
            unsent_bytes: losses.unsent_bytes(),
            stalled: losses.total(|missed| missed.stalled),
            lost: losses.total(|missed| missed.lost),
            possibly_lost: losses.total(|missed| missed.possibly_lost),
            digest: report.digest.as_ref().map(crate::player::Digest::hex),
            order: match bag.order() {
                MessageOrder::Received => "received",
                MessageOrder::Sent => "sent",
            },
            rate: Rate {
                asked: pace_factor(plan.options.pace),
                achieved: report.achieved_rate().map(|rate| rate * direction),
            },
            lateness_us: Quantiles {
                p50: micros(report.lateness.quantile(0.5)),
                p99: micros(report.lateness.quantile(0.99)),
                max: micros(report.lateness.max()),
            },
            held_ms: Held {
                starved: report.held.starved.as_secs_f64() * 1e3,
                gated: report.held.gated.as_secs_f64() * 1e3,
                paused: report.held.paused.as_secs_f64() * 1e3,
                stalled: report.held.stalled.as_secs_f64() * 1e3,
            },
            jumps: report.jumps,
            laps: report.laps,
            damaged: damage.total(),
            damaged_messages: if damage.total() == 0 {
                Some(0)
            } else {
                messages_lost(bag, plan)
            },
            damage,
            skipped: plan.left_out.iter().cloned().map(Skipped::from).collect(),
            topics: played.collect(),
            ended,
            followed: None,
            viewers: None,
            wires: Vec::new(),
        }
    }

    /// Adds the clock that was followed.
    #[must_use]
    pub fn with_followed(self, followed: Option<FollowedSummary>) -> Self {
        Self { followed, ..self }
    }

    /// Adds how often viewers connected, if there was a server for them.
    #[must_use]
    pub fn with_viewers(self, connected: Option<u64>) -> Self {
        let viewers = connected.map(|connected| ViewerSummary { connected });
        Self { viewers, ..self }
    }

    /// Adds what was sent on each wire, if there are several.
    #[must_use]
    pub fn with_wires(self, wires: Vec<WireSummary>) -> Self {
        Self { wires, ..self }
    }

    /// Whether no message was sent.
    pub fn is_empty(&self) -> bool {
        self.messages_sent == 0
    }

    /// Whether a subscriber is known to have missed something, or may have.
    pub fn has_losses(&self) -> bool {
        self.lost > 0 || self.possibly_lost > 0 || self.unsent_bytes > 0
    }

    /// Whether the output could not take a message of a topic that was played.
    pub fn has_dropped(&self) -> bool {
        self.topics.iter().any(|topic| topic.dropped > 0)
    }

    /// Whether there are messages that should have been sent and could not be, on all wires or on one of several:
    /// dropped ones, and those of topics that cannot be transcoded.
    pub fn has_unsent(&self) -> bool {
        self.unsent().topics() > 0 || self.wires.iter().any(WireSummary::has_unsent)
    }

    /// The messages that were to be sent and were not.
    fn unsent(&self) -> LeftOutMessages<'_> {
        let mut all = LeftOutMessages::default();
        for one in &self.skipped {
            if one.is_unsent() {
                all.add(&one.reason, &one.topic, one.messages);
            }
        }
        for topic in self.topics.iter().filter(|topic| topic.dropped > 0) {
            let reason = topic.dropped_because.as_deref();
            let reason = reason.unwrap_or("the output could not take them");
            all.add(reason, &topic.name, Some(topic.dropped));
        }
        all
    }

    /// The damage of the recording.
    pub fn damage(&self) -> &Findings {
        &self.damage
    }
}

/// How many messages are lost because of damage, at most; `None` if that is not known.
fn messages_lost(bag: &Bag, plan: &Plan) -> Option<u64> {
    let is_played = |topic| plan.chosen.iter().any(|chosen| chosen.id == topic);
    let range = plan.options.played.range;
    Lost::of(&bag.damaged_parts(), range, is_played)?.messages
}

impl fmt::Display for Summary {
    /// One line for the run, one for its timing, and one for each problem. With `{:#}` its own signs are in ASCII.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics = self.topics.iter().filter(|topic| topic.sent > 0).count() as u64;
        let ended = match self.ended {
            Ending::End => "played",
            Ending::Stopped => "stopped after",
            Ending::Interrupted => "interrupted after",
            Ending::Failed => "failed after",
        };
        let (sent, topics) = (
            plural(self.messages_sent, "message"),
            plural(topics, "topic"),
        );
        let size = bytes(self.bytes_sent);
        let is_ascii = f.alternate();
        let rate = match (self.rate.asked, self.rate.achieved) {
            (Some(asked), Some(achieved)) => {
                format!(
                    ", rate {} (asked {}{asked})",
                    factor(achieved, is_ascii),
                    times(is_ascii)
                )
            }
            (None, Some(achieved)) => format!(", rate {}", factor(achieved, is_ascii)),
            (_, None) => String::new(),
        };
        write!(f, "{ended} {sent} on {topics}, {size}{rate}")?;
        if self.rate.asked.is_some() && self.messages_sent > 0 {
            let late: u64 = self.topics.iter().map(|topic| topic.late).sum();
            let Quantiles { p50, p99, max } = self.lateness_us;
            write!(
                f,
                "\n{} late by over 1 ms; lateness p50 {}, p99 {}, max {}",
                count(late),
                millis(p50),
                millis(p99),
                millis(max)
            )?;
        }
        if let Some(followed) = &self.followed {
            f.write_str("\n")?;
            fmt::Display::fmt(followed, f)?;
        }
        if let Some(viewers) = &self.viewers {
            write!(
                f,
                "\n{} of viewers",
                plural(viewers.connected, "connection")
            )?;
        }
        let gates = if self.followed.is_some() {
            "for the followed clock, for subscribers, or for the network"
        } else {
            "for --delay, for subscribers, or for the network"
        };
        for (span, why) in [
            (self.held_ms.starved, "waiting for the recording"),
            (self.held_ms.gated, gates),
            (
                self.held_ms.stalled,
                "by blocked sends, or while the process was suspended",
            ),
        ] {
            if span >= 100.0 {
                write!(f, "\nheld {:.1} s {why}", span / 1e3)?;
            }
        }
        if self.lost > 0 {
            write!(
                f,
                "\nat least {} lost by subscribers that did not keep up (--congestion, --stall-timeout)",
                plural(self.lost, "message")
            )?;
        }
        if self.possibly_lost > 0 {
            write!(
                f,
                "\nat most {} lost by subscribers that took no data before their links closed",
                plural(self.possibly_lost, "message")
            )?;
        }
        for wire in &self.wires {
            write!(f, "\n{wire}")?;
        }
        for line in self.unsent().lines() {
            write!(f, "\nmessages not sent: {line}")?;
        }
        if self.damaged > 0 {
            let places = plural(self.damaged, "damaged place");
            write!(f, "\n{places} in the recording ({})", self.damage.kinds())?;
            if let Some(messages) = self.damaged_messages {
                write!(f, ", up to {} lost", plural(messages, "message"))?;
            }
        }
        Ok(())
    }
}
