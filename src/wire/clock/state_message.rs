//! `bagplay_interfaces/msg/ClockState`: how the clock of a clock server moves, in CDR and back.
//!
//! The definition is in `share/bagplay_interfaces`, for use in a ROS 2 workspace; the type hash is computed
//! from that text.

use crate::player::{Pace, State, Status};
use crate::ros::SchemaError;
use crate::time::{Duration, Ros, Segment, Steady, Time};

use crate::ros::message_hash;

/// The name of the type.
pub(crate) const TYPE: &str = "bagplay_interfaces/msg/ClockState";
/// The same on the wire.
pub(crate) const DDS_TYPE: &str = "bagplay_interfaces::msg::dds_::ClockState_";
/// The definition, and those of the types that it refers to.
pub(crate) const DEFINITION: &str = concat!(
    include_str!("../../../share/bagplay_interfaces/msg/ClockState.msg"),
    "================================================================================\n",
    "MSG: builtin_interfaces/Time\n",
    "int32 sec\nuint32 nanosec\n",
);
/// Header, time stamp, 64-bit float, time stamp, 64-bit count, byte.
const LENGTH: usize = 4 + 8 + 8 + 8 + 8 + 1;

/// Whether the clock moves, and if not, why.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClockMotion {
    /// It moves.
    Playing,
    /// It is paused by a command.
    Held,
    /// It waits for subscribers, the network or the recording.
    Waiting,
    /// It is at the exit edge of its range.
    Ended,
    /// The run is over: this is the last state.
    Stopped,
}

/// A `ClockState` message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClockStateMessage {
    /// The time of the clock.
    pub clock: Time<Ros>,
    /// Seconds of clock time per second of wall time; NaN if unknown.
    pub real_time_factor: f64,
    /// The sender's system clock in nanoseconds since 1970; 0 if it has none.
    pub system_nanos: i64,
    /// Counts the jumps, from a different start in each run of a player.
    pub generation: u64,
    /// Whether the clock moves, and if not, why.
    pub motion: ClockMotion,
}

/// The hash of the type.
pub(crate) fn hash() -> Result<String, SchemaError> {
    message_hash(TYPE, DEFINITION.as_bytes()).map(|it| it.hash)
}

impl ClockStateMessage {
    /// The state of a player at `now`; `shift` is added to log time, `system_nanos` is the system clock.
    pub(crate) fn of(
        status: &Status,
        now: Time<Steady>,
        shift: Duration,
        system_nanos: i64,
    ) -> Self {
        let (segment, state) = (status.segment, status.state);
        let motion = match state {
            State::Playing => ClockMotion::Playing,
            State::Paused => ClockMotion::Held,
            State::Starved | State::Gated | State::Stalled => ClockMotion::Waiting,
            State::Ended => ClockMotion::Ended,
            State::Stopped => ClockMotion::Stopped,
        };
        let real_time_factor = match (motion, status.pace) {
            (ClockMotion::Playing, Pace::Max | Pace::Follow) => f64::NAN,
            (ClockMotion::Playing, Pace::At(_)) if segment.is_rolling() => segment.speed().as_f64(),
            _ => 0.0,
        };
        let clock = segment.position(now).saturating_add(shift);
        Self {
            // Zero would mean "uninitialised", as on `/clock`.
            clock: if clock == Time::ZERO {
                Time::from_nanos(1)
            } else {
                clock
            },
            real_time_factor,
            system_nanos,
            generation: segment.generation(),
            motion,
        }
    }

    /// The state of a player that has no messages and follows `lead`: that of the clock at `now`.
    pub(crate) fn of_lead(
        status: &Status,
        lead: Option<Segment>,
        now: Time<Steady>,
        system_nanos: i64,
    ) -> Self {
        let state = Self::of(status, now, Duration::ZERO, system_nanos);
        match lead {
            Some(lead) if state.motion == ClockMotion::Playing && lead.is_rolling() => Self {
                clock: lead.position(now),
                real_time_factor: lead.speed().as_f64(),
                ..state
            },
            _ => state,
        }
    }

    /// The message in little-endian CDR. Times beyond 32-bit seconds are clamped.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[1] = 1;
        bytes[4..12].copy_from_slice(&stamp(self.clock));
        bytes[12..20].copy_from_slice(&self.real_time_factor.to_le_bytes());
        bytes[20..28].copy_from_slice(&stamp(Time::from_nanos(self.system_nanos)));
        bytes[28..36].copy_from_slice(&self.generation.to_le_bytes());
        bytes[36] = match self.motion {
            ClockMotion::Playing => 1,
            ClockMotion::Held => 2,
            ClockMotion::Waiting => 3,
            ClockMotion::Ended => 4,
            ClockMotion::Stopped => 5,
        };
        bytes
    }

    /// Reads a message in CDR of either byte order; `None` if it is not valid.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = payload.get(..LENGTH)?.try_into().ok()?;
        let is_little = match bytes[..2] {
            [0, 1] => true,
            [0, 0] => false,
            _ => return None,
        };
        let word = |at: usize| -> Option<u64> {
            let word = bytes.get(at..at + 8)?.try_into().ok()?;
            Some(if is_little {
                u64::from_le_bytes(word)
            } else {
                u64::from_be_bytes(word)
            })
        };
        let time = |at: usize| -> Option<Time<Ros>> {
            let half = |at: usize| -> Option<u32> {
                let half = bytes.get(at..at + 4)?.try_into().ok()?;
                Some(if is_little {
                    u32::from_le_bytes(half)
                } else {
                    u32::from_be_bytes(half)
                })
            };
            let (sec, nanosec) = (half(at)?.cast_signed(), half(at + 4)?);
            (nanosec < 1_000_000_000)
                .then(|| Time::from_nanos(i64::from(sec) * 1_000_000_000 + i64::from(nanosec)))
        };
        Some(Self {
            clock: time(4)?,
            real_time_factor: f64::from_bits(word(12)?),
            system_nanos: time(20)?.as_nanos(),
            generation: word(28)?,
            motion: match bytes[36] {
                1 => ClockMotion::Playing,
                2 => ClockMotion::Held,
                3 => ClockMotion::Waiting,
                4 => ClockMotion::Ended,
                5 => ClockMotion::Stopped,
                _ => return None,
            },
        })
    }
}

/// Seconds and nanoseconds, as in `/clock`.
fn stamp(time: Time<Ros>) -> [u8; 8] {
    let bytes = super::payload::encode_clock(time).bytes;
    let mut stamp = [0; 8];
    stamp.copy_from_slice(&bytes[4..]);
    stamp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_definition() {
        let message = ClockStateMessage {
            clock: Time::from_nanos(7_000_000_009),
            real_time_factor: -2.0,
            system_nanos: 1_760_000_000_000_000_001,
            generation: 5,
            motion: ClockMotion::Waiting,
        };
        let bytes = message.encode();
        let due = [
            0, 1, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0x78, 0xe7, 0x68, 1,
            0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 3,
        ];
        assert_eq!(bytes, due);
        assert_eq!(ClockStateMessage::decode(&bytes), Some(message));
        for cut in 0..bytes.len() {
            assert_eq!(ClockStateMessage::decode(&bytes[..cut]), None);
        }
        for (at, value) in [(0, 1), (1, 2), (11, 0x7f), (36, 0), (36, 6)] {
            let mut bytes = bytes;
            bytes[at] = value;
            assert_eq!(ClockStateMessage::decode(&bytes), None, "{at}");
        }
    }

    #[test]
    fn the_other_byte_order_is_read_too() {
        let bytes = [
            0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9, 0x3f, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 5, 1,
        ];
        let message = ClockStateMessage::decode(&bytes).unwrap();
        assert_eq!(message.clock, Time::from_nanos(7_000_000_009));
        assert_eq!((message.real_time_factor, message.generation), (0.5, 5));
    }

    #[test]
    fn the_definition_has_a_hash() {
        // Computed once from the definition by another program.
        let due = "RIHS01_83c6025ad864a2bc41ffe52b92c81e50db1f03c7c05f5c75142d844fd4712274";
        assert_eq!(hash().unwrap(), due);
    }
}
