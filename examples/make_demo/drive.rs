//! The recording session: when each topic's messages were made, sent and received.

use std::time::Duration;

use anyhow::Result;

use crate::course::{LENGTH, POWER_CUT, Wheels};
use crate::messages;
use crate::noise::Noise;
use crate::topics::{self, Topic};

/// When the recording began: 2025-10-09 08:53:20 UTC.
pub(crate) const START: Duration = Duration::from_secs(1_760_000_000);
/// When most of the robot's nodes were started.
const NODES_STARTED: Duration = Duration::from_secs(1_759_999_994);

/// A message as the recorder received it; times since the epoch.
pub(crate) struct Recorded {
    pub(crate) topic: &'static Topic,
    /// Received, which is `log_time`.
    pub(crate) received: Duration,
    /// Sent, which is `publish_time`.
    pub(crate) sent: Duration,
    pub(crate) data: Vec<u8>,
}

/// The timing of a topic's messages, in seconds.
struct Pace {
    period: f64,
    /// When the first one is sampled.
    phase: f64,
    /// Between sampling and sending.
    work: f64,
    /// How much the sampling may be late.
    jitter: f64,
}

impl Pace {
    const fn new(period: f64, phase: f64, work: f64, jitter: f64) -> Self {
        Self {
            period,
            phase,
            work,
            jitter,
        }
    }
}

/// All messages of the session in the order of the file.
pub(crate) fn session() -> Result<Vec<Recorded>> {
    let mut all = latched()?;
    let mut noise = Noise::new(200);
    let pace = Pace::new(0.005, 0.0021, 0.0003, 20e-6);
    all.extend(stream(&topics::IMU, &pace, |t, stamp| {
        messages::imu(t, stamp, &mut noise)
    })?);
    let pace = Pace::new(0.02, 0.0042, 0.0004, 100e-6);
    all.extend(stream(&topics::ODOM, &pace, messages::odom)?);
    let mut wheels = Wheels::default();
    let mut before = 0.0;
    let pace = Pace::new(0.01, 0.0042, 0.0006, 100e-6);
    all.extend(stream(&topics::TF, &pace, |t, stamp| {
        wheels = wheels.rolled(before, t);
        before = t;
        messages::tf(t, stamp, &wheels)
    })?);
    let mut noise = Noise::new(10);
    let pace = Pace::new(0.1, 0.013, 0.1012, 200e-6);
    all.extend(stream(&topics::SCAN, &pace, |t, stamp| {
        messages::scan(t, stamp, &mut noise)
    })?);
    let pace = Pace::new(0.1, 0.037, 0.0125, 300e-6);
    all.extend(stream(&topics::CAMERA, &pace, messages::camera)?);
    let pace = Pace::new(1.0, 0.5, 0.001, 0.002);
    all.extend(stream(&topics::DIAGNOSTICS, &pace, messages::diagnostics)?);
    let pace = Pace::new(0.01, 0.0, 0.0002, 50e-6);
    all.extend(stream(&topics::CLOCK, &pace, |t, _| messages::clock(t))?);
    all.sort_by_key(|message| message.received);
    Ok(out_of_order(all))
}

/// Messages of `topic` over the whole session, except those that the power cut prevented.
fn stream(
    topic: &'static Topic,
    pace: &Pace,
    mut message: impl FnMut(f64, Duration) -> Result<Vec<u8>>,
) -> Result<Vec<Recorded>> {
    let mut noise = Noise::new(topic.name.bytes().map(u64::from).sum());
    (0u32..)
        .map(|n| pace.phase + f64::from(n) * pace.period)
        .map(|time| {
            let sampled = time + noise.uniform() * pace.jitter;
            let sent = sampled + noise.delay(pace.work, 0.0008);
            (sampled, sent, sent + noise.delay(0.000_06, 0.0015))
        })
        .take_while(|(.., received)| *received < LENGTH)
        .filter(|(sampled, .., received)| *received < POWER_CUT.start || *sampled >= POWER_CUT.end)
        .map(|(sampled, sent, received)| {
            let [stamp, sent, received] = [sampled, sent, received].map(since_epoch);
            Ok(Recorded {
                topic,
                received,
                sent,
                data: message(sampled, stamp)?,
            })
        })
        .collect()
}

/// Latched messages: sent when their node started, received when recorder and node found each other.
/// The camera's node came up later than the recorder.
fn latched() -> Result<Vec<Recorded>> {
    let description = Recorded {
        topic: &topics::ROBOT_DESCRIPTION,
        received: since_epoch(0.000_412_377),
        sent: NODES_STARTED + Duration::from_nanos(786_359_882),
        data: messages::robot_description()?,
    };
    let sent = NODES_STARTED + Duration::from_nanos(786_088_598);
    let sensors = [
        ("imu_link", messages::IMU_AT),
        ("laser_link", messages::LASER_AT),
    ];
    let state_publisher = Recorded {
        topic: &topics::TF_STATIC,
        received: since_epoch(0.000_731_902),
        sent,
        data: messages::tf_static(sent, &sensors)?,
    };
    let sent = since_epoch(1.700_218_553);
    let camera = Recorded {
        topic: &topics::TF_STATIC,
        received: since_epoch(1.700_604_071),
        sent,
        data: messages::tf_static(sent, &[("camera_link", messages::CAMERA_AT)])?,
    };
    Ok(vec![description, state_publisher, camera])
}

fn since_epoch(time: f64) -> Duration {
    START + Duration::from_secs_f64(time)
}

/// The threads of a recorder sometimes write two messages in the wrong order: here one pair in 800.
fn out_of_order(mut messages: Vec<Recorded>) -> Vec<Recorded> {
    let mut noise = Noise::new(800);
    for at in 1..messages.len() {
        if messages[at - 1].topic.name != messages[at].topic.name && noise.uniform() < 1.0 / 800.0 {
            messages.swap(at - 1, at);
        }
    }
    messages
}
