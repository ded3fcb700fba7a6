//! The QoS chunk of a token: policies as digits; a field equal to the default of `rmw_zenoh` is empty.

use std::fmt::Display;

use crate::ros::{Durability, History, Liveliness, Qos, QosDuration, Reliability};

/// The depth whose field is left empty, and the meaning of a depth of 0.
pub(crate) const DEFAULT_DEPTH: u32 = 42;

/// Writes a profile. Zero durations and depths become the defaults, as in the middleware.
pub fn encode_qos(qos: &Qos) -> String {
    let reliability = match qos.reliability {
        Reliability::Reliable => "",
        Reliability::BestEffort => "2",
    };
    let durability = match qos.durability {
        Durability::Volatile => "",
        Durability::TransientLocal => "1",
    };
    let (history, depth) = match qos.history {
        History::KeepLast(0 | DEFAULT_DEPTH) => ("", String::new()),
        History::KeepLast(depth) => ("", depth.to_string()),
        History::KeepAll => ("2", String::new()),
    };
    let liveliness = match qos.liveliness {
        Liveliness::Automatic => "",
        Liveliness::ManualByTopic => "3",
    };
    format!(
        "{reliability}:{durability}:{history},{depth}:{}:{}:{liveliness},{}",
        duration(qos.deadline),
        duration(qos.lifespan),
        duration(qos.lease),
    )
}

fn duration(span: QosDuration) -> String {
    if span == (QosDuration { sec: 0, nsec: 0 }) {
        return ",".to_owned();
    }
    let unless = |value: u64, default: u64| -> Box<dyn Display> {
        if value == default {
            Box::new("")
        } else {
            Box::new(value)
        }
    };
    format!(
        "{},{}",
        unless(span.sec, QosDuration::INFINITE.sec),
        unless(span.nsec, QosDuration::INFINITE.nsec)
    )
}

/// Reads a profile; `None` if the chunk is not valid. Unknown policies (best available) are read as the
/// default.
pub fn decode_qos(chunk: &str) -> Option<Qos> {
    let fields: Vec<&str> = chunk.split(':').collect();
    let [
        reliability,
        durability,
        history,
        deadline,
        lifespan,
        liveliness,
    ] = fields[..]
    else {
        return None;
    };
    let (history, depth) = history.split_once(',')?;
    let (liveliness, lease) = liveliness.split_once(',')?;
    let depth = match number(depth, u64::from(DEFAULT_DEPTH))? {
        0 => DEFAULT_DEPTH,
        depth => u32::try_from(depth).unwrap_or(u32::MAX),
    };
    Some(Qos {
        reliability: match number(reliability, 1)? {
            2 => Reliability::BestEffort,
            _ => Reliability::Reliable,
        },
        durability: match number(durability, 2)? {
            1 => Durability::TransientLocal,
            _ => Durability::Volatile,
        },
        history: match number(history, 1)? {
            2 => History::KeepAll,
            _ => History::KeepLast(depth),
        },
        deadline: span(deadline)?,
        lifespan: span(lifespan)?,
        liveliness: match number(liveliness, 1)? {
            3 => Liveliness::ManualByTopic,
            _ => Liveliness::Automatic,
        },
        lease: span(lease)?,
    })
}

fn number(field: &str, default: u64) -> Option<u64> {
    if field.is_empty() {
        Some(default)
    } else {
        field.parse().ok()
    }
}

fn span(field: &str) -> Option<QosDuration> {
    let (sec, nsec) = field.split_once(',')?;
    Some(QosDuration {
        sec: number(sec, QosDuration::INFINITE.sec)?,
        nsec: number(nsec, QosDuration::INFINITE.nsec)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(depth: u32) -> Qos {
        Qos {
            history: History::KeepLast(depth),
            ..Qos::default()
        }
    }

    #[test]
    fn profiles_have_the_chunks_of_the_reference() {
        let latched = Qos {
            durability: Durability::TransientLocal,
            ..keep(1)
        };
        let sensor = Qos {
            reliability: Reliability::BestEffort,
            ..keep(5)
        };
        let clock = Qos {
            reliability: Reliability::BestEffort,
            ..keep(1)
        };
        let rosout = Qos {
            durability: Durability::TransientLocal,
            lifespan: QosDuration { sec: 10, nsec: 0 },
            ..keep(1000)
        };
        let fast_dds = Qos {
            deadline: QosDuration {
                sec: 2_147_483_647,
                nsec: 4_294_967_295,
            },
            ..keep(10)
        };
        for (qos, chunk) in [
            (Qos::default(), "::,10:,:,:,,"),
            (latched, ":1:,1:,:,:,,"),
            (sensor, "2::,5:,:,:,,"),
            (clock, "2::,1:,:,:,,"),
            (
                Qos {
                    history: History::KeepAll,
                    ..Qos::default()
                },
                "::2,:,:,:,,",
            ),
            (keep(42), "::,:,:,:,,"),
            (rosout, ":1:,1000:,:10,0:,,"),
            (keep(1000), "::,1000:,:,:,,"),
            (fast_dds, "::,10:2147483647,4294967295:,:,,"),
        ] {
            assert_eq!(encode_qos(&qos), chunk);
            assert_eq!(decode_qos(chunk), Some(qos), "{chunk}");
        }
    }

    #[test]
    fn nothing_set_is_written_as_the_default() {
        let zero = QosDuration { sec: 0, nsec: 0 };
        let qos = Qos {
            deadline: zero,
            lifespan: zero,
            lease: zero,
            ..keep(0)
        };
        assert_eq!(encode_qos(&qos), "::,:,:,:,,");
    }

    #[test]
    fn unknown_policies_read_as_defaults_and_invalid_chunks_are_refused() {
        assert_eq!(decode_qos("4:4:,10:,:,:5,,"), Some(Qos::default()));
        for chunk in [
            "",
            "::,10:,:,:,",
            "::,10:,:,",
            "x::,10:,:,:,,",
            "::,10,:,:,:,,",
            "::,-1:,:,:,,",
        ] {
            assert_eq!(decode_qos(chunk), None, "{chunk}");
        }
    }
}
