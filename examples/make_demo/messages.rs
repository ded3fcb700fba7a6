//! The contents of each topic's messages at an instant, as CDR.
//!
//! Times of type `f64` are seconds since the recording's start, `stamp`s are since the epoch.

use std::f64::consts::TAU;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::camera;
use crate::cdr::Cdr;
use crate::course::{HALF_TRACK, Motion, POWER_CUT, STOP_PRESSED, WHEEL_RADIUS, Wheels};
use crate::noise::{Noise, micro, quantised};
use crate::room;

/// Where the sensors are on the robot, in metres (as in `robot.urdf`).
pub(crate) const IMU_AT: (f64, f64, f64) = (0.0, 0.0, 0.1);
pub(crate) const LASER_AT: (f64, f64, f64) = (0.12, 0.0, 0.18);
pub(crate) const CAMERA_AT: (f64, f64, f64) = (camera::AHEAD, 0.0, camera::EYE);
/// Rays of one turn of the laser, and how long the turn takes.
const RAYS: u16 = 360;
const SCAN_TIME: f64 = 0.1;

/// `geometry_msgs/Vector3` and `Point`, then `Quaternion` of a turn about z.
fn pose(cdr: &mut Cdr, (x, y, z): (f64, f64, f64), yaw: f64) {
    cdr.f64s(&[micro(x), micro(y), micro(z)]);
    cdr.f64s(&[0.0, 0.0, micro((yaw / 2.0).sin()), micro((yaw / 2.0).cos())]);
}

/// A square covariance matrix with nothing beside its diagonal.
fn covariance(cdr: &mut Cdr, diagonal: &[f64]) {
    for (row, value) in diagonal.iter().enumerate() {
        for column in 0..diagonal.len() {
            cdr.f64(if row == column { *value } else { 0.0 });
        }
    }
}

/// A gyro of 16.4 LSB per degree/s and an accelerometer of 2048 LSB per g.
pub(crate) fn imu(time: f64, stamp: Duration, noise: &mut Noise) -> Result<Vec<u8>> {
    const GYRO_STEP: f64 = TAU / 360.0 / 16.4;
    const GRAVITY: f64 = 9.806_65;
    let motion = Motion::at(time);
    let (_, _, yaw) = motion.odometry();
    let mut gyro = |rate: f64| quantised(rate + noise.normal(0.0015), GYRO_STEP);
    let rates = [gyro(0.0), gyro(0.0), gyro(motion.turn)];
    let mut force = |value: f64| quantised(value + noise.normal(0.02), GRAVITY / 2048.0);
    let forces = [force(motion.forward), force(motion.left), force(GRAVITY)];
    let mut cdr = Cdr::new();
    cdr.header(stamp, "imu_link")?;
    cdr.f64s(&[0.0, 0.0, micro((yaw / 2.0).sin()), micro((yaw / 2.0).cos())]);
    covariance(&mut cdr, &[1e-4, 1e-4, 4e-4]);
    cdr.f64s(&rates);
    covariance(&mut cdr, &[2.25e-6; 3]);
    cdr.f64s(&forces);
    covariance(&mut cdr, &[4e-4; 3]);
    Ok(cdr.into_bytes())
}

pub(crate) fn odom(time: f64, stamp: Duration) -> Result<Vec<u8>> {
    let motion = Motion::at(time);
    let (x, y, yaw) = motion.odometry();
    let mut cdr = Cdr::new();
    cdr.header(stamp, "odom")?;
    cdr.string("base_link")?;
    pose(&mut cdr, (x, y, 0.0), yaw);
    // What a planar base cannot know is "very uncertain".
    covariance(&mut cdr, &[1e-3, 1e-3, 1e6, 1e6, 1e6, 1e-2]);
    cdr.f64s(&[micro(motion.speed), 0.0, 0.0, 0.0, 0.0, micro(motion.turn)]);
    covariance(&mut cdr, &[1e-4, 1e-6, 1e6, 1e6, 1e6, 1e-3]);
    Ok(cdr.into_bytes())
}

/// The robot in the odometry frame, and its wheels on it.
pub(crate) fn tf(time: f64, stamp: Duration, wheels: &Wheels) -> Result<Vec<u8>> {
    let (x, y, yaw) = Motion::at(time).odometry();
    let mut cdr = Cdr::new();
    cdr.count(3)?;
    cdr.header(stamp, "odom")?;
    cdr.string("base_link")?;
    pose(&mut cdr, (x, y, 0.0), yaw);
    for (name, side, angle) in [
        ("left_wheel", HALF_TRACK, wheels.left),
        ("right_wheel", -HALF_TRACK, wheels.right),
    ] {
        cdr.header(stamp, "base_link")?;
        cdr.string(name)?;
        cdr.f64s(&[
            0.0,
            side,
            WHEEL_RADIUS,
            0.0,
            micro((angle / 2.0).sin()),
            0.0,
            micro((angle / 2.0).cos()),
        ]);
    }
    Ok(cdr.into_bytes())
}

/// Fixed transforms from `base_link`: (child, position).
pub(crate) fn tf_static(stamp: Duration, children: &[(&str, (f64, f64, f64))]) -> Result<Vec<u8>> {
    let mut cdr = Cdr::new();
    cdr.count(children.len())?;
    for (child, position) in children {
        cdr.header(stamp, "base_link")?;
        cdr.string(child)?;
        pose(&mut cdr, *position, 0.0);
    }
    Ok(cdr.into_bytes())
}

pub(crate) fn robot_description() -> Result<Vec<u8>> {
    let mut cdr = Cdr::new();
    cdr.string(include_str!("robot.urdf"))?;
    Ok(cdr.into_bytes())
}

/// One turn of the laser from `time` on, in millimetres; each ray from where the robot is by then.
pub(crate) fn scan(time: f64, stamp: Duration, noise: &mut Noise) -> Result<Vec<u8>> {
    let step = TAU / f64::from(RAYS);
    let mut cdr = Cdr::new();
    cdr.header(stamp, "laser_link")?;
    cdr.f32(-TAU / 2.0);
    cdr.f32(TAU / 2.0 - step);
    cdr.f32(step);
    cdr.f32(SCAN_TIME / f64::from(RAYS));
    cdr.f32(SCAN_TIME);
    cdr.f32(0.12);
    cdr.f32(12.0);
    cdr.count(RAYS.into())?;
    for ray in 0..RAYS {
        let turned = f64::from(ray) / f64::from(RAYS);
        let motion = Motion::at(time + turned * SCAN_TIME);
        let angle = motion.yaw - TAU / 2.0 + turned * TAU;
        let hit =
            room::cast(motion.point(LASER_AT.0), angle).context("the laser is outside the room")?;
        // A ray without a return reads infinite.
        let range = if noise.uniform() < 0.003 {
            f64::INFINITY
        } else {
            quantised(hit.distance + noise.normal(0.003), 0.001)
        };
        cdr.f32(range);
    }
    cdr.count(0)?;
    Ok(cdr.into_bytes())
}

pub(crate) fn camera(time: f64, stamp: Duration) -> Result<Vec<u8>> {
    let mut cdr = Cdr::new();
    cdr.header(stamp, "camera_link")?;
    cdr.string("png")?;
    cdr.bytes(&camera::frame(&Motion::at(time))?)?;
    Ok(cdr.into_bytes())
}

/// The clock of a simulator on the same network: it began at 1 s and is unrelated to the robot.
pub(crate) fn clock(time: f64) -> Result<Vec<u8>> {
    let mut cdr = Cdr::new();
    cdr.time(Duration::from_secs(1) + Duration::from_secs_f64(quantised(time, 0.01)))?;
    Ok(cdr.into_bytes())
}

const OK: u8 = 0;
const WARN: u8 = 1;
const ERROR: u8 = 2;

pub(crate) fn diagnostics(time: f64, stamp: Duration) -> Result<Vec<u8>> {
    let motion = Motion::at(time);
    let stopped = (STOP_PRESSED..POWER_CUT.end + 1.0).contains(&time);
    let motors = if stopped {
        (ERROR, "emergency stop pressed")
    } else {
        (OK, "running")
    };
    let back = (POWER_CUT.end..POWER_CUT.end + 2.0).contains(&time);
    let battery = if back {
        (WARN, "sensor power was interrupted")
    } else {
        (OK, "discharging")
    };
    let volts = 12.58 - 0.004 * time - 0.05 * motion.speed;
    let mut cdr = Cdr::new();
    cdr.header(stamp, "")?;
    cdr.count(3)?;
    status(
        &mut cdr,
        motors,
        ("base: motors", "base"),
        &[
            ("speed (m/s)", format!("{:.3}", motion.speed)),
            ("turn rate (rad/s)", format!("{:.3}", motion.turn + 0.0)),
        ],
    )?;
    status(
        &mut cdr,
        battery,
        ("power: battery", "power"),
        &[
            ("voltage (V)", format!("{volts:.2}")),
            ("charge (%)", format!("{:.0}", (volts - 10.5) / 2.1 * 100.0)),
        ],
    )?;
    status(
        &mut cdr,
        (OK, "streaming"),
        ("camera: stream", "camera"),
        &[
            ("format", "png".to_owned()),
            ("rate (Hz)", "10.0".to_owned()),
        ],
    )?;
    Ok(cdr.into_bytes())
}

/// `diagnostic_msgs/DiagnosticStatus`.
fn status(
    cdr: &mut Cdr,
    (level, message): (u8, &str),
    (name, hardware): (&str, &str),
    values: &[(&str, String)],
) -> Result<()> {
    cdr.u8(level);
    cdr.string(name)?;
    cdr.string(message)?;
    cdr.string(hardware)?;
    cdr.count(values.len())?;
    for (key, value) in values {
        cdr.string(key)?;
        cdr.string(value)?;
    }
    Ok(())
}
